"""Copying a run of elements inside a kernel: the C library's copy, which numba's loops do not become."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ndsparse.kernels.prefetch import Intrinsic


def _copy_run(target, to, source, at, count):
    """Do ``target[to:to + count] = source[at:at + count]``, in flat positions."""
    target.reshape(-1)[to : to + count] = source.reshape(-1)[at : at + count]


def _make() -> Callable[..., Any]:
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def copy_run(context, target, to, source, at, count):
        def generate(context, builder, signature, args):
            into = context.make_array(signature.args[0])(context, builder, args[0])
            out_of = context.make_array(signature.args[2])(context, builder, args[2])
            target, source = builder.gep(into.data, [args[1]]), builder.gep(out_of.data, [args[3]])
            cgutils.raw_memcpy(builder, target, source, args[4], into.itemsize)
            return context.get_dummy_value()

        return types.void(target, types.int64, source, types.int64, types.int64), generate

    made: Callable[..., Any] = intrinsic(copy_run)
    return made


copy_run: Any = Intrinsic(_copy_run, _make)
"""``copy_run(target, to, source, at, count)``: contiguous arrays of one dtype, flat positions."""
