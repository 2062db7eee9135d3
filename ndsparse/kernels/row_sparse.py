"""Operations on row_sparse arrays: sorted, distinct row ids and a dense row for each.

Data may have any number of axes; all after the first are one here.  Rows are shared among threads by
ranges of the result, so the bits do not depend on the number of threads.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndsparse.kernels.border import AnyArray, index, values
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.opcodes import ADD, INEXACT, MUL, REPLACE, Op, put
from ndsparse.kernels.operands import (
    DType,
    RowsArrays,
    compute_dtype,
    deliver,
    flat_rows,
    indexes,
    target,
)
from ndsparse.kernels.row_ids import group_by_slot, intersect_count, locate, union_size
from ndsparse.kernels.row_moves import (
    gather_rows,
    retain_count,
    retain_dense,
    retain_fill,
    scatter_add_rows,
    scatter_rows,
)
from ndsparse.kernels.threads import balanced_bounds, even_bounds, run_blocks, threads_for

__all__ = [
    "gather_rows",
    "intersection_count",
    "intersection_fill",
    "left_fill",
    "retain_count",
    "retain_dense",
    "retain_fill",
    "row_dense_gather",
    "row_dense_sum",
    "scatter_add_rows",
    "scatter_rows",
    "sum_duplicates",
    "sum_many",
    "union_count",
    "union_fill",
]


def union_count(lhs_ids: AnyArray, rhs_ids: AnyArray) -> int:
    """Return how many rows the union of two row_sparse arrays stores.  O(nnr)."""
    return union_size(*indexes(lhs_ids, rhs_ids))


def union_fill(op: Op, lhs: RowsArrays, rhs: RowsArrays, out: RowsArrays) -> None:
    """Write ``lhs op rhs`` where either stores a row.

    Parameters
    ----------
    op : Op
        ADD, SUB, RSUB, MAXIMUM, MINIMUM, HYPOT with absent rows as zero; REPLACE takes the row of
        ``rhs`` where it has one (set rows, merge into a store).
    lhs, rhs : row_sparse arrays
        Ids sorted and distinct, rows of equal shape.
    out : row_sparse arrays
        Allocated for :func:`union_count` rows.

    Notes
    -----
    O(rows * width).
    """
    _combine(op, lhs, rhs, out, union=True)


def intersection_count(lhs_ids: AnyArray, rhs_ids: AnyArray) -> int:
    """Return how many rows both row_sparse arrays store.  O(nnr)."""
    return intersect_count(lhs_ids, rhs_ids)


def intersection_fill(op: Op, lhs: RowsArrays, rhs: RowsArrays, out: RowsArrays) -> None:
    """Write ``lhs op rhs`` where both store a row (MUL; REPLACE takes the rows of ``rhs``).

    ``out`` is allocated for :func:`intersection_count` rows.  O(rows * width).
    """
    _combine(op, lhs, rhs, out, union=False)


def left_fill(op: Op, lhs: RowsArrays, rhs: RowsArrays, out_data: AnyArray) -> None:
    """Write ``lhs op rhs`` at the rows of ``lhs``; rows absent in ``rhs`` are zero.  O(rows * width)."""
    dtype = _dtype(op, lhs[1], rhs[1])
    rows = np.arange(len(lhs[0]))
    _apply(op, dtype, lhs[1], rows, rhs[1], locate(rhs[0], lhs[0]), out_data)


def sum_many(many: Sequence[RowsArrays], ids: AnyArray, out_data: AnyArray) -> None:
    """Write the sum of several row_sparse arrays.

    Parameters
    ----------
    many : sequence of row_sparse arrays
        Ids sorted and distinct in each.
    ids : (u,) int64
        ``union_ids`` of all.
    out_data : (u, ...)

    Notes
    -----
    O(rows * width); rows are added in the order of the arrays.  One pass over the result for each
    array after the first two.
    """
    first, *others = many
    retain_dense(first, ids, out_data)
    for other in others:
        scatter_add_rows(locate(ids, other[0]), other[1], out_data, distinct=True)


def sum_duplicates(data: AnyArray, slots: AnyArray, out: AnyArray) -> None:
    """Write the sums of the rows that share a slot.

    Parameters
    ----------
    data : (n, ...)
    slots : (n,) ints
        Where each row goes; from ``unique_ids``.
    out : (u, ...)
        A slot without rows becomes zero.

    Notes
    -----
    O(n * width); rows are added in the order given, by one thread for each slot.
    """
    dtype = compute_dtype(data)
    result = target(out, dtype)
    starts, order = group_by_slot(slots, len(out))
    source, written = flat_rows(values(data, dtype)), flat_rows(result)
    bounds = balanced_bounds(starts, threads_for(source.size + written.size))
    run_blocks(_sum_groups, bounds, starts, order, source, written)
    deliver(result, out)


def row_dense_gather(op: Op, rows: RowsArrays, dense: AnyArray, out_data: AnyArray) -> None:
    """Write ``rows op dense`` at the stored rows (MUL, DIV, RDIV).

    Parameters
    ----------
    op : Op
    rows : row_sparse arrays, (m, ...)
    dense : (m, ...)
    out_data : (nnr, ...)
        May be the data of ``rows``.

    Notes
    -----
    O(nnr * width).
    """
    dtype = _dtype(op, rows[1], dense)
    _apply(op, dtype, rows[1], np.arange(len(rows[0])), dense, rows[0], out_data)


def row_dense_sum(op: Op, rows: RowsArrays, dense: AnyArray, out: AnyArray) -> None:
    """Write the dense ``rows + dense`` (ADD), ``rows - dense`` (SUB) or ``dense - rows`` (RSUB).

    Parameters
    ----------
    op : Op
    rows : row_sparse arrays, (m, ...)
        Ids distinct.
    dense, out : (m, ...)
        May be the same array.

    Notes
    -----
    O(m * width); O(nnr * width) in place, except SUB.
    """
    dtype = compute_dtype(rows[1], dense)
    if out is not dense:
        np.copyto(out, dense, casting="unsafe")
    if op == Op.SUB:
        np.negative(out, out=out)
    result = target(out, dtype, load=True)
    ids, data = index(rows[0]), flat_rows(values(rows[1], dtype))
    bounds = even_bounds(len(ids), threads_for(data.size))
    run_blocks(_add_rows, bounds, op == Op.RSUB, ids, data, flat_rows(result))
    deliver(result, out)


def _combine(op: Op, lhs: RowsArrays, rhs: RowsArrays, out: RowsArrays, *, union: bool) -> None:
    dtype = _dtype(op, lhs[1], rhs[1])
    a, b = indexes(lhs[0], rhs[0])
    left, right = np.empty(len(out[0]), np.int64), np.empty(len(out[0]), np.int64)
    ids = target(out[0], a.dtype)
    _pair(union, a, b, ids, left, right)
    deliver(ids, out[0])
    _apply(op, dtype, lhs[1], left, rhs[1], right, out[1])


def _apply(
    op: Op, dtype: DType, lhs: AnyArray, left: AnyArray, rhs: AnyArray, right: AnyArray, out: AnyArray
) -> None:
    """Write ``lhs[left[i]] op rhs[right[i]]`` to ``out[i]``, where a slot of -1 is a row of zeros."""
    result = target(out, dtype)
    written = flat_rows(result)
    bounds = even_bounds(len(written), threads_for(written.size))
    x, y = flat_rows(values(lhs, dtype)), flat_rows(values(rhs, dtype))
    run_blocks(_apply_rows, bounds, int(op), x, index(left), y, index(right), written)
    deliver(result, out)


def _dtype(op: Op, *arrays: AnyArray) -> DType:
    dtype = compute_dtype(*arrays)
    return np.dtype(np.float64) if op in INEXACT and dtype.kind == "i" else dtype


@kernel
def _pair(union, a, b, ids, left, right):
    """Merge ids and note where the rows of each result row stand (-1: absent)."""
    p = q = at = 0
    while p < len(a) or q < len(b):
        if q >= len(b) or (p < len(a) and a[p] < b[q]):
            if union:
                ids[at], left[at], right[at] = a[p], p, -1
                at += 1
            p += 1
        elif p >= len(a) or b[q] < a[p]:
            if union:
                ids[at], left[at], right[at] = b[q], -1, q
                at += 1
            q += 1
        else:
            ids[at], left[at], right[at] = a[p], p, q
            at += 1
            p += 1
            q += 1


@kernel
def _apply_rows(begin, end, op, x, left, y, right, out):
    """Apply an operator by rows; the branch on the operator is outside of the loop over a row."""
    zero = x.dtype.type(0)
    width = out.shape[1]
    for i in range(begin, end):
        p, q = left[i], right[i]
        if p >= 0 and q >= 0:
            if op == ADD:
                for j in range(width):
                    out[i, j] = x[p, j] + y[q, j]
            elif op == MUL:
                for j in range(width):
                    out[i, j] = x[p, j] * y[q, j]
            else:
                for j in range(width):
                    put(out, (i, j), op, x[p, j], y[q, j])
        elif p >= 0:
            for j in range(width):
                if op == REPLACE:
                    out[i, j] = x[p, j]
                else:
                    put(out, (i, j), op, x[p, j], zero)
        else:
            for j in range(width):
                put(out, (i, j), op, zero, y[q, j])


@kernel
def _sum_groups(begin, end, starts, order, data, out):
    for g in range(begin, end):
        for j in range(out.shape[1]):
            out[g, j] = 0
        for p in range(starts[g], starts[g + 1]):
            i = order[p]
            for j in range(out.shape[1]):
                out[g, j] += data[i, j]


@kernel
def _add_rows(begin, end, negate, ids, data, out):
    for i in range(begin, end):
        r = ids[i]
        if negate:
            for j in range(out.shape[1]):
                out[r, j] -= data[i, j]
        else:
            for j in range(out.shape[1]):
                out[r, j] += data[i, j]
