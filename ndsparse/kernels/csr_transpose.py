"""Transposition of csr arrays by counting sort, in threads.

Each thread counts the columns of its rows; a prefix sum over (column, thread) then tells each where
its elements of each column go.  The result is the same with any number of threads, and sorted in
each row because the rows of the source are visited in order.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ndsparse.kernels.border import AnyArray, index
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import CsrArrays, csr_moved, deliver, target
from ndsparse.kernels.row_ids import group_by_slot, unique_ids
from ndsparse.kernels.threads import balanced_bounds, run_blocks, threads_for


def transpose(csr: CsrArrays, columns: int, out: CsrArrays) -> None:
    """Write the transpose.

    Parameters
    ----------
    csr : csr arrays, (m, columns)
        Columns in any order; duplicates stay.
    columns : int
    out : csr arrays, (columns, m)
        Allocated: indptr (columns + 1,), indices (nnz,), data (nnz,) of the dtype of the source.

    Notes
    -----
    O(nnz + columns); scratch memory of ``threads * columns`` indices, at most twice the elements.
    """
    indptr, indices, data = csr_moved(csr)
    rows = len(indptr) - 1
    nnz = len(indices)
    threads = min(threads_for(nnz), max(1, 2 * nnz // max(columns, 1)))
    bounds = balanced_bounds(indptr, threads)
    places = np.zeros((threads, columns), indptr.dtype)
    out_indptr = target(out[0], indptr.dtype)
    out_indices = target(out[1], indptr.dtype)
    out_data = target(out[2], csr[2].dtype)
    blocks = np.asarray(bounds)
    run_blocks(_count, range(threads + 1), blocks, indptr, indices, places)
    _offsets(places, out_indptr)
    moved = out_data.view(data.dtype)
    run_blocks(_place, range(threads + 1), blocks, indptr, indices, data, places, out_indices, moved)
    if rows == 0:
        out_indptr.fill(0)
    for written, given in zip((out_indptr, out_indices, out_data), out, strict=True):
        deliver(written, given)


def transpose_touched(indices: AnyArray, columns: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the columns that have elements, and the elements of each: a transpose without empty rows.

    Parameters
    ----------
    indices : (nnz,) ints
        Column of each element, elements ordered by row.
    columns : int
        Extent; the cost does not depend on it.

    Returns
    -------
    ids : (u,) int64
        Touched columns, ascending.
    starts : (u + 1,) int64
    order : (nnz,) int64
        The elements of column ``ids[i]`` are ``order[starts[i]:starts[i + 1]]``, by row.

    Notes
    -----
    O(nnz).
    """
    ids, slots = unique_ids(indices)
    starts, order = group_by_slot(slots, len(ids))
    return ids, starts, order


def column_counts(indices: AnyArray, columns: int, out: AnyArray) -> None:
    """Write how many elements each column stores to ``out`` (columns,).  O(nnz + columns)."""
    counts = target(out, np.dtype(np.int64))
    counts.fill(0)
    _count_columns(index(indices), counts)
    deliver(counts, out)


@kernel
def _count(begin, end, bounds, indptr, indices, places):
    for block in range(begin, end):
        for p in range(indptr[bounds[block]], indptr[bounds[block + 1]]):
            places[block, indices[p]] += 1


@kernel
def _offsets(places, out_indptr):
    """Turn counts into the places where each block's elements of each column begin."""
    threads, columns = places.shape
    at = 0
    for c in range(columns):
        out_indptr[c] = at
        for t in range(threads):
            count = places[t, c]
            places[t, c] = at
            at += count
    out_indptr[columns] = at


@kernel
def _place(begin, end, bounds, indptr, indices, data, places, out_indices, out_data):
    for block in range(begin, end):
        for i in range(bounds[block], bounds[block + 1]):
            for p in range(indptr[i], indptr[i + 1]):
                q = places[block, indices[p]]
                places[block, indices[p]] = q + 1
                out_indices[q] = i
                out_data[q] = data[p]


@kernel
def _count_columns(indices, counts):
    for p in range(len(indices)):
        counts[indices[p]] += 1
