"""Bringing elements into canonical order: rows by rows, columns ascending, no duplicates.

Elements that come in another order are not moved about: a permutation is sorted, row by row, and the
fill reads the data once, through it.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndsparse.kernels.border import AnyArray, index, moved, values
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import (
    CsrArrays,
    compute_dtype,
    csr_operand,
    deliver,
    indexes,
    target,
)
from ndsparse.kernels.prefetch import prefetch_read
from ndsparse.kernels.row_ids import group_by_slot
from ndsparse.kernels.threads import balanced_bounds, even_bounds, run_blocks, threads_for

_AHEAD = 16
CANONICAL, DUPLICATES, UNSORTED = 0, 1, 2


@dataclass(frozen=True)
class Canonical:
    """How elements become canonical.

    Attributes
    ----------
    nnz : int
        Elements of the result.
    state : int
        0: the source is canonical; 1: sorted, with duplicates; 2: unsorted.
    indptr : (m + 1,) ints
        Rows of the source.
    indices : (source nnz,) ints
        Columns, sorted in each row.
    order : (source nnz,) int64 or None
        Where each of ``indices`` stands in the source; None if it was sorted.
    """

    nnz: int
    state: int
    indptr: AnyArray
    indices: AnyArray
    order: AnyArray | None


def canonical_count(csr: CsrArrays, out_indptr: AnyArray, *, order: AnyArray | None = None) -> Canonical:
    """Write the indptr of the canonical form and return the plan to fill it.

    Parameters
    ----------
    csr : csr arrays, (m, n)
        Columns in any order, with duplicates.
    out_indptr : (m + 1,)
    order : (nnz,) int64, optional
        Where each element stands in the data, if not in this order; it is changed.

    Returns
    -------
    Canonical
        For :func:`canonical_fill`.

    Notes
    -----
    O(m + nnz), and O(nnz log length) where rows must be sorted.
    """
    indptr, indices = indexes(csr[0], csr[1])
    bounds = balanced_bounds(indptr, threads_for(len(indices)))
    counts = target(out_indptr, indptr.dtype)
    state = max(run_blocks(_scan, bounds, indptr, indices, counts))
    if state == UNSORTED:
        indices, order = indices.copy(), np.arange(len(indices)) if order is None else order
        spare = np.empty(len(indices), indices.dtype), np.empty(len(indices), np.int64)
        run_blocks(_sort_rows, bounds, indptr, indices, order, *spare)
        run_blocks(_scan, bounds, indptr, indices, counts)
    counts[0] = 0
    np.cumsum(counts, out=counts)
    deliver(counts, out_indptr)
    return Canonical(int(counts[-1]), state, indptr, indices, order)


def canonical_fill(csr: CsrArrays, plan: Canonical, out: CsrArrays) -> None:
    """Write the canonical form: duplicates are summed in stored order.

    Parameters
    ----------
    csr : csr arrays
        As given to :func:`canonical_count`.
    plan : Canonical
    out : csr arrays
        With the indptr written there.

    Notes
    -----
    O(m + nnz).
    """
    _fill(plan, csr[2], out)


def drop_zeros_count(csr: CsrArrays, out_indptr: AnyArray) -> int:
    """Write the indptr without stored zeros and return the number of elements.

    Parameters
    ----------
    csr : csr arrays, (m, n)
    out_indptr : (m + 1,)

    Returns
    -------
    int

    Notes
    -----
    O(m + nnz).  NaN is kept; -0.0 is dropped.
    """
    indptr, _, data = csr_operand(csr, compute_dtype(csr[2]))
    counts = target(out_indptr, indptr.dtype)
    run_blocks(_count_nonzero, balanced_bounds(indptr, threads_for(len(data))), indptr, data, counts)
    counts[0] = 0
    np.cumsum(counts, out=counts)
    deliver(counts, out_indptr)
    return int(counts[-1])


def drop_zeros_fill(csr: CsrArrays, out: CsrArrays) -> None:
    """Write the elements that are not zero; ``out`` has the indptr of :func:`drop_zeros_count`."""
    dtype = compute_dtype(csr[2])
    indptr, indices, data = csr_operand(csr, dtype)
    out_indices, out_data = target(out[1], indices.dtype), target(out[2], dtype)
    bounds = balanced_bounds(indptr, threads_for(len(data)))
    run_blocks(_copy_nonzero, bounds, indptr, indices, data, index(out[0]), out_indices, out_data)
    deliver(out_indices, out[1])
    deliver(out_data, out[2])


def coo_count(rows: AnyArray, columns: AnyArray, shape: tuple[int, ...], out_indptr: AnyArray) -> Canonical:
    """Write the indptr of the canonical csr form of coordinates and return the plan to fill it.

    Parameters
    ----------
    rows, columns : (nnz,) ints
        Inside ``shape``; any order, with duplicates.
    shape : (m, n)
    out_indptr : (m + 1,)

    Returns
    -------
    Canonical
        For :func:`coo_fill`.

    Notes
    -----
    O(m + nnz), and O(nnz log length) where the columns of a row must be sorted.
    """
    rows, columns = indexes(rows, columns)
    m = shape[0]
    if len(rows) == 0 or _ascends(rows):
        starts = np.empty(m + 1, np.int64)
        _row_starts(rows, starts)
        by_row = None
    else:
        starts, by_row = group_by_slot(rows, m)
        columns = columns[by_row]
    return canonical_count((starts, columns, columns), out_indptr, order=by_row)


def coo_fill(plan: Canonical, data: AnyArray, out: CsrArrays) -> None:
    """Write the csr form of coordinates; duplicates are summed in the order given.

    Parameters
    ----------
    plan : Canonical
        From :func:`coo_count`.
    data : (nnz,)
        Values of the coordinates.
    out : csr arrays
        With the indptr written there.

    Notes
    -----
    O(m + nnz).
    """
    _fill(plan, data, out)


def _fill(plan: Canonical, data: AnyArray, out: CsrArrays) -> None:
    out_indices = target(out[1], plan.indices.dtype)
    if plan.nnz == len(plan.indices):  # nothing to sum: any dtype is moved as it is
        np.copyto(out_indices, plan.indices)
        if plan.order is None:
            np.copyto(out[2], data)
        else:
            result, source = target(out[2], data.dtype), moved(np.ascontiguousarray(data))
            bounds = even_bounds(len(source), threads_for(len(source)))
            run_blocks(_permute, bounds, source, plan.order, moved(result))
            deliver(result, out[2])
    else:
        dtype = compute_dtype(data)
        out_data = target(out[2], dtype)
        order = np.arange(len(data)) if plan.order is None else plan.order
        bounds = balanced_bounds(plan.indptr, threads_for(len(data)))
        arguments = plan.indptr, plan.indices, order, values(data, dtype)
        run_blocks(_sum_runs, bounds, *arguments, index(out[0]), out_indices, out_data)
        deliver(out_data, out[2])
    deliver(out_indices, out[1])


@kernel
def _scan(begin, end, indptr, indices, counts):
    """Count the runs of equal columns of each row; return whether rows are sorted and distinct."""
    descends = repeats = False
    for i in range(begin, end):
        count = indptr[i + 1] - indptr[i]
        for p in range(indptr[i] + 1, indptr[i + 1]):
            same = indices[p] == indices[p - 1]
            count -= same
            repeats |= same
            descends |= indices[p] < indices[p - 1]
        counts[i + 1] = count
    return UNSORTED if descends else DUPLICATES if repeats else CANONICAL


@kernel
def _sort_rows(begin, end, indptr, indices, order, spare_indices, spare_order):
    """Sort each row stably: short runs by insertion, merged bottom up."""
    for i in range(begin, end):
        first, last = indptr[i], indptr[i + 1]
        for start in range(first, last, 16):
            for p in range(start + 1, min(start + 16, last)):
                c, o = indices[p], order[p]
                q = p
                while q > start and indices[q - 1] > c:
                    indices[q], order[q] = indices[q - 1], order[q - 1]
                    q -= 1
                indices[q], order[q] = c, o
        width = 16
        while width < last - first:
            for start in range(first, last, 2 * width):
                middle, stop = min(start + width, last), min(start + 2 * width, last)
                if middle < stop and indices[middle - 1] > indices[middle]:
                    _merge(start, middle, stop, indices, order, spare_indices, spare_order)
            width *= 2


@kernel
def _merge(start, middle, stop, indices, order, spare_indices, spare_order):
    for p in range(start, middle):
        spare_indices[p], spare_order[p] = indices[p], order[p]
    a, b, q = start, middle, start
    while a < middle:
        if b < stop and indices[b] < spare_indices[a]:
            indices[q], order[q] = indices[b], order[b]
            b += 1
        else:
            indices[q], order[q] = spare_indices[a], spare_order[a]
            a += 1
        q += 1


@kernel
def _permute(begin, end, data, order, out):
    for p in range(begin, end):
        prefetch_read(data, order[min(p + _AHEAD, end - 1)])
        out[p] = data[order[p]]


@kernel
def _sum_runs(begin, end, indptr, indices, order, data, out_indptr, out_indices, out_data):
    for i in range(begin, end):
        q = out_indptr[i] - 1
        for p in range(indptr[i], indptr[i + 1]):
            prefetch_read(data, order[min(p + _AHEAD, len(order) - 1)])
            if p > indptr[i] and indices[p] == indices[p - 1]:
                out_data[q] += data[order[p]]
            else:
                q += 1
                out_indices[q] = indices[p]
                out_data[q] = data[order[p]]


@kernel
def _count_nonzero(begin, end, indptr, data, counts):
    for i in range(begin, end):
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            count += data[p] != 0
        counts[i + 1] = count


@kernel
def _copy_nonzero(begin, end, indptr, indices, data, out_indptr, out_indices, out_data):
    for i in range(begin, end):
        q = out_indptr[i]
        for p in range(indptr[i], indptr[i + 1]):
            if data[p] != 0:
                out_indices[q] = indices[p]
                out_data[q] = data[p]
                q += 1


@kernel
def _ascends(ids):
    ascending = True
    for i in range(1, len(ids)):
        ascending = ascending and ids[i] >= ids[i - 1]
    return ascending


@kernel
def _row_starts(rows, starts):
    """Write where each row begins in sorted row ids."""
    i = 0
    for p in range(len(rows)):
        while i <= rows[p]:
            starts[i] = p
            i += 1
    starts[i:] = len(rows)
