"""Writing libsvm rows as text.

Most numbers are a whole number of at most 53 bits over a power of ten: :func:`short_forms` finds the
smallest such power, and by the same division that a reader does it knows that the number reads back
exactly.  The few others come as text from the caller.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndsparse.kernels.border import index, values
from ndsparse.kernels.decimal import TENS, unsure_as_single
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for

NO_SHORT_FORM = -1
_MOST_DECIMALS = 18
WHOLE = 2.0**53
_ELEMENT_BYTES = 48
"""More than a space, 19 digits of an id, a colon, a sign, and 20 characters of a number."""


class Forms(NamedTuple):
    """Numbers as ``mantissa / 10**decimals`` with a sign; decimals is NO_SHORT_FORM where that fails."""

    negative: NDArray[np.bool_]
    mantissas: NDArray[np.int64]
    decimals: NDArray[np.int64]


class Texts(NamedTuple):
    """Texts one after the other, and where each of them ends."""

    pool: NDArray[np.uint8]
    ends: NDArray[np.int64]


def short_forms(numbers: NDArray[Any], *, single: bool) -> Forms:
    """Find short forms of float64s, of which ``single`` says that they stand for float32s.

    Cost: up to 19 divisions a number, as many as it has decimals in most cases.
    """
    count = len(numbers)
    forms = Forms(np.signbit(numbers), np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64))
    wide = values(np.abs(numbers), np.dtype(np.float64))
    run_blocks(
        _short, even_bounds(count, threads_for(16 * count)), wide, single, forms.mantissas, forms.decimals
    )
    return forms


def write_rows(
    indptr: NDArray[Any], indices: NDArray[Any], base: int, forms: Forms, texts: Texts, heads: Texts
) -> NDArray[np.uint8]:
    """Return the text of rows.

    Parameters
    ----------
    indptr : (rows + 1,)
        Positions from 0 into the other arrays.
    indices : (nnz,)
    base : int
        Added to every id.
    forms : Forms, (nnz,)
    texts : Texts
        Of the numbers without a short form, in order.
    heads : Texts, (rows,)
        What every row starts with.
    """
    rows = len(indptr) - 1
    size = len(heads.pool) + len(texts.pool) + rows + _ELEMENT_BYTES * len(indices)
    out = np.empty(size, dtype=np.uint8)
    length = _write(index(indptr), index(indices), np.uint64(base), *forms, *texts, *heads, out)
    return out[:length]


@kernel
def _short(begin, end, numbers, single, mantissas, decimals):
    for i in range(begin, end):
        number = numbers[i]
        mantissas[i], decimals[i] = 0, NO_SHORT_FORM
        for k in range(_MOST_DECIMALS + 1):
            scaled = np.rint(number * TENS[k])
            if not scaled <= WHOLE:  # too large, infinite, or no number
                break
            back = scaled / TENS[k]
            if single:
                same = np.float32(back) == np.float32(number) and (k == 0 or not unsure_as_single(back))
            else:
                same = back == number
            if same:
                mantissas[i], decimals[i] = np.int64(scaled), k
                break


@kernel
def _put_number(out, at, number, width):
    """Write a whole number in at least ``width`` digits; return where it ends."""
    ten = np.uint64(10)
    digits, rest = 1, number // ten
    while rest > np.uint64(0):
        digits, rest = digits + 1, rest // ten
    digits = max(digits, width)
    for place in range(at + digits - 1, at - 1, -1):
        rest = number // ten
        out[place] = np.uint8(48) + np.uint8(number - rest * ten)
        number = rest
    return at + digits


@kernel
def _put_text(out, at, pool, ends, k):
    """Write the k-th text; return where it ends."""
    for i in range(ends[k - 1] if k else 0, ends[k]):
        out[at] = pool[i]
        at += 1
    return at


@kernel
def _write(indptr, indices, base, negative, mantissas, decimals, pool, ends, head_pool, head_ends, out):
    at, text = 0, 0
    for row in range(len(indptr) - 1):
        at = _put_text(out, at, head_pool, head_ends, row)
        for p in range(indptr[row], indptr[row + 1]):
            out[at] = 32
            at = _put_number(out, at + 1, np.uint64(indices[p]) + base, 1)
            out[at] = 58
            at += 1
            if decimals[p] == NO_SHORT_FORM:
                at = _put_text(out, at, pool, ends, text)
                text += 1
                continue
            if negative[p]:
                out[at] = 45
                at += 1
            whole, scale = np.uint64(mantissas[p]), np.uint64(1)
            for _ in range(decimals[p]):
                scale *= np.uint64(10)
            at = _put_number(out, at, whole // scale, 1)
            if decimals[p]:
                out[at] = 46
                at = _put_number(out, at + 1, whole % scale, decimals[p])
        out[at] = 10
        at += 1
    return at
