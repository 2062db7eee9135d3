"""Conversions between dense and row_sparse.  Any dtype."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.kernels.border import AnyArray, index, moved
from ndsparse.kernels.copying import copy_run
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import DType, RowsArrays, flat_rows
from ndsparse.kernels.row_moves import gather_rows, scatter_rows
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for


def significant_bits(dtype: DType) -> Any:
    """Return the bits (an unsigned scalar of the dtype's size) that must be 0 in a zero."""
    size = dtype.itemsize
    everything = (1 << 8 * size) - 1
    unsigned = np.dtype(f"u{size}").type
    return unsigned(everything >> 1 if dtype.kind == "f" else everything)


def dense_to_rows_count(dense: AnyArray) -> AnyArray:
    """Return the ids (int64) of the rows that are not all zero.

    Parameters
    ----------
    dense : (m, ...)
        Any dtype.

    Notes
    -----
    O(m * width) at most: a row is read up to its first element that is not zero.
    """
    dense = np.ascontiguousarray(dense)
    if dense.size == 0:
        return np.empty(0, np.int64)
    source = flat_rows(moved(dense))
    ids = np.empty(len(source), np.int64)
    bounds = even_bounds(len(source), threads_for(source.size))
    counts = run_blocks(_nonzero_rows, bounds, source, significant_bits(dense.dtype), ids)
    return np.concatenate([ids[b : b + c] for b, c in zip(bounds, counts, strict=False)])


def dense_to_rows_fill(dense: AnyArray, ids: AnyArray, out_data: AnyArray) -> None:
    """Write the rows ``ids`` of a dense array to ``out_data`` (nnr, ...).  O(nnr * width)."""
    gather_rows(dense, ids, out_data)


def rows_to_dense(rows: RowsArrays, out: AnyArray, *, zeroed: bool = False) -> None:
    """Write the dense array.

    Parameters
    ----------
    rows : row_sparse arrays, (m, ...)
        Of rows named twice the last one wins.
    out : (m, ...)
        C-contiguous, any dtype.
    zeroed : bool
        Promise that ``out`` is zero, as fresh memory from ``numpy.zeros`` is.

    Notes
    -----
    O(m * width); O(nnr * width) if ``zeroed``.
    """
    ids, data = rows
    if not zeroed:
        if bool(np.all(ids[1:] > ids[:-1])):
            _write_rows(ids, data.astype(out.dtype, copy=False), out)
            return
        out.fill(0)
    scatter_rows(ids, data, out)


def _write_rows(ids: AnyArray, data: AnyArray, out: AnyArray) -> None:
    source, written = flat_rows(moved(np.ascontiguousarray(data))), flat_rows(moved(out))
    bounds = even_bounds(len(written), threads_for(written.size))
    first = np.searchsorted(ids, bounds)
    run_blocks(_fill_rows, range(len(bounds)), np.asarray(bounds), first, index(ids), source, written)


@kernel
def _nonzero_rows(begin, end, dense, bits, ids):
    count = 0
    n = dense.shape[1]
    for i in range(begin, end):
        for start in range(0, n, 64):
            seen = bits & ~bits
            for j in range(start, min(start + 64, n)):
                seen |= dense[i, j]
            if seen & bits:
                ids[begin + count] = i
                count += 1
                break
    return count


@kernel
def _fill_rows(begin, end, bounds, first, ids, data, out):
    """Write the stored rows and, in one run each, the zeros between them."""
    width = out.shape[1]
    flat = out.reshape(-1)
    for block in range(begin, end):
        row = bounds[block]
        for i in range(first[block], first[block + 1]):
            flat[row * width : ids[i] * width] = 0
            row = ids[i] + 1
            copy_run(out, ids[i] * width, data, i * width, width)
        flat[row * width : bounds[block + 1] * width] = 0
