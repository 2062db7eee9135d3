"""Instructions on bits that numba has no names for."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ndsparse.kernels.prefetch import Intrinsic

LANES = 16


def _nonzero_mask(array, at, bits):
    """Return bit j set where ``array[at + j] & bits`` is not 0, j < 16; ``at`` is a flat position."""
    mask = 0
    for j, value in enumerate(array.reshape(-1)[at : at + LANES]):
        mask |= int(value & bits != 0) << j
    return mask


def _make_mask() -> Callable[..., Any]:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    def nonzero_mask(context, array, at, bits):
        def generate(context, builder, signature, args):
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            element, word = data.type.pointee, ir.IntType(64)
            vector = ir.VectorType(element, LANES)
            elements = builder.load(builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer()))
            elements.align = element.width // 8
            undefined = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(undefined, args[2], ir.IntType(32)(0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            all_bits = builder.shuffle_vector(first, undefined, zeros)
            differ = builder.icmp_unsigned("!=", builder.and_(elements, all_bits), ir.Constant(vector, None))
            return builder.zext(builder.bitcast(differ, ir.IntType(LANES)), word)

        return types.int64(array, types.int64, array.dtype), generate

    made: Callable[..., Any] = intrinsic(nonzero_mask)
    return made


def _popcount(word):
    """Return the number of set bits."""
    return int(word).bit_count()


def _lowest_bit(word):
    """Return the place of the lowest set bit of a word that is not 0."""
    word = int(word)
    return (word & -word).bit_length() - 1


def _make_word(name: str) -> Callable[..., Any]:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    def instruction(context, word):
        def generate(context, builder, signature, args):
            return builder.ctpop(args[0]) if name == "ctpop" else builder.cttz(args[0], ir.IntType(1)(1))

        return types.int64(types.uint64), generate

    made: Callable[..., Any] = intrinsic(instruction)
    return made


popcount: Any = Intrinsic(_popcount, functools.partial(_make_word, "ctpop"))
"""``popcount(word)`` of a uint64, as int64."""

lowest_bit: Any = Intrinsic(_lowest_bit, functools.partial(_make_word, "cttz"))
"""``lowest_bit(word)`` of a uint64 that is not 0, as int64."""

nonzero_mask: Any = Intrinsic(_nonzero_mask, _make_mask)
"""``nonzero_mask(array, at, bits)`` of an array of unsigned integers, which is read up to ``at + 16``."""
