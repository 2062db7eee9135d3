"""Parts and joins of csr matrices: slices, rows, concatenation, points.

Elements are moved, not computed with: data may have any dtype, and the output has the same.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndsparse.kernels.border import AnyArray, index, moved
from ndsparse.kernels.csr_transpose import column_counts, transpose, transpose_touched
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import (
    CsrArrays,
    compute_dtype,
    csr_moved,
    csr_operand,
    deliver,
    indexes,
    target,
)
from ndsparse.kernels.threads import balanced_bounds, even_bounds, run_blocks, threads_for

__all__ = [
    "column_counts",
    "concat_columns",
    "concat_rows",
    "expand_rows",
    "get_elements",
    "row_counts",
    "slice_count",
    "slice_fill",
    "slice_rows",
    "take_rows_count",
    "take_rows_fill",
    "transpose",
    "transpose_touched",
]


def slice_rows(csr: CsrArrays, begin: int, end: int, out: CsrArrays) -> None:
    """Write the rows ``begin:end``; ``nnz = indptr[end] - indptr[begin]``.  A copy of memory."""
    indptr, indices, data = csr
    first, last = int(indptr[begin]), int(indptr[end])
    np.subtract(indptr[begin : end + 1], first, out=out[0], casting="unsafe")
    np.copyto(out[1], indices[first:last], casting="unsafe")
    np.copyto(out[2], data[first:last], casting="unsafe")


def slice_count(csr: CsrArrays, rows: tuple[int, int], columns: tuple[int, int], out_indptr: AnyArray) -> int:
    """Write the indptr of a rectangle and return its number of elements.

    Parameters
    ----------
    csr : csr arrays, (m, n)
        Columns in any order.
    rows, columns : (begin, end)
        Half-open ranges inside the matrix.
    out_indptr : (end - begin + 1,) of the rows

    Returns
    -------
    int

    Notes
    -----
    O(elements of the rows).
    """
    indptr, indices = indexes(csr[0], csr[1])
    counts = target(out_indptr, indptr.dtype)
    bounds = _row_bounds(indptr[rows[0] : rows[1] + 1])
    run_blocks(_slice_count, bounds, indptr, indices, rows[0], columns[0], columns[1], counts)
    return _finish(counts, out_indptr)


def slice_fill(csr: CsrArrays, rows: tuple[int, int], columns: tuple[int, int], out: CsrArrays) -> None:
    """Write the elements of a rectangle; ``out`` has the indptr of :func:`slice_count`."""
    indptr, indices, data = csr_moved(csr)
    bounds = _row_bounds(indptr[rows[0] : rows[1] + 1])
    written = target(out[1], indices.dtype)
    region = rows[0], columns[0], columns[1]
    run_blocks(_slice_fill, bounds, indptr, indices, data, *region, index(out[0]), written, moved(out[2]))
    deliver(written, out[1])


def take_rows_count(indptr: AnyArray, rows: AnyArray, out_indptr: AnyArray) -> int:
    """Write the indptr of the matrix of the given rows and return its number of elements.

    Parameters
    ----------
    indptr : (m + 1,) ints
    rows : (r,) ints
        In ``range(m)``, any order, repeats allowed.
    out_indptr : (r + 1,)

    Returns
    -------
    int

    Notes
    -----
    O(r).
    """
    out_indptr[0] = 0
    rows = index(rows)
    np.cumsum(indptr[rows + 1] - indptr[rows], out=out_indptr[1:])
    return int(out_indptr[-1])


def take_rows_fill(csr: CsrArrays, rows: AnyArray, out: CsrArrays) -> None:
    """Write the elements of the given rows; ``out`` has the indptr of :func:`take_rows_count`."""
    indptr, indices, data = csr_moved(csr)
    out_indptr, written = index(out[0]), target(out[1], indices.dtype)
    bounds = _row_bounds(out_indptr)
    run_blocks(_take, bounds, indptr, indices, data, index(rows), out_indptr, written, moved(out[2]))
    deliver(written, out[1])


def concat_rows(csrs: Sequence[CsrArrays], out: CsrArrays) -> None:
    """Write matrices of equal width below each other; ``nnz`` is the sum.  A copy of memory."""
    row = at = 0
    out[0][0] = 0
    for indptr, indices, data in csrs:
        rows, first, last = len(indptr) - 1, int(indptr[0]), int(indptr[-1])
        np.add(indptr[1:], at - first, out=out[0][row + 1 : row + rows + 1], casting="unsafe")
        end = at + last - first
        np.copyto(out[1][at:end], indices[first:last], casting="unsafe")
        np.copyto(out[2][at:end], data[first:last], casting="unsafe")
        row, at = row + rows, end


def concat_columns(csrs: Sequence[CsrArrays], widths: Sequence[int], out: CsrArrays) -> None:
    """Write matrices of equal height beside each other.

    Parameters
    ----------
    csrs : sequence of csr arrays, (m, widths[i])
    widths : sequence of int
    out : csr arrays, (m, sum(widths))
        Allocated for the sum of the elements; the dtype of data is that of the parts.

    Notes
    -----
    O(nnz + m parts).
    """
    out_indptr, out_indices, out_data = out
    out_indptr[0] = 0
    np.cumsum(sum(np.diff(indptr).astype(np.int64) for indptr, _, _ in csrs), out=out_indptr[1:])
    place = out_indptr[:-1].astype(np.int64)
    offset = 0
    for csr, width in zip(csrs, widths, strict=True):
        part = csr_moved((csr[0], csr[1], csr[2].astype(out_data.dtype, copy=False)))
        run_blocks(_put_beside, _row_bounds(part[0]), *part, offset, place, out_indices, moved(out_data))
        offset += width


def expand_rows(indptr: AnyArray, out: AnyArray) -> None:
    """Write the row id of each stored element to ``out`` (nnz,).  O(nnz + m)."""
    rows = target(out, np.dtype(np.int64))
    run_blocks(_expand, _row_bounds(indptr), index(indptr), rows)
    deliver(rows, out)


def row_counts(indptr: AnyArray) -> AnyArray:
    """Return how many elements each row stores, in the dtype of ``indptr``.  O(m)."""
    return np.diff(indptr)


def get_elements(csr: CsrArrays, rows: AnyArray, columns: AnyArray, out: AnyArray) -> None:
    """Write the elements at some points.

    Parameters
    ----------
    csr : csr arrays, (m, n)
        Any order; duplicates are summed.
    rows, columns : (p,) ints
        Inside the matrix.
    out : (p,)

    Notes
    -----
    O(elements of the rows met).
    """
    dtype = compute_dtype(csr[2])
    result = target(out, dtype)
    points = indexes(rows, columns)
    run_blocks(_get, even_bounds(len(out), 1), *csr_operand(csr, dtype), *points, result)
    deliver(result, out)


def _row_bounds(indptr: AnyArray) -> list[int]:
    return balanced_bounds(indptr, threads_for(int(indptr[-1]) - int(indptr[0])) if len(indptr) > 1 else 1)


def _finish(counts: AnyArray, out_indptr: AnyArray) -> int:
    """Turn counts at ``[1:]`` into an indptr."""
    counts[0] = 0
    np.cumsum(counts, out=counts)
    deliver(counts, out_indptr)
    return int(counts[-1])


@kernel
def _slice_count(begin, end, indptr, indices, row, low, high, counts):
    for i in range(begin, end):
        count = 0
        for p in range(indptr[row + i], indptr[row + i + 1]):
            count += low <= indices[p] < high
        counts[i + 1] = count


@kernel
def _slice_fill(begin, end, indptr, indices, data, row, low, high, out_indptr, out_indices, out_data):
    for i in range(begin, end):
        q = out_indptr[i]
        for p in range(indptr[row + i], indptr[row + i + 1]):
            if low <= indices[p] < high:
                out_indices[q] = indices[p] - low
                out_data[q] = data[p]
                q += 1


@kernel
def _take(begin, end, indptr, indices, data, rows, out_indptr, out_indices, out_data):
    for i in range(begin, end):
        q = out_indptr[i]
        for p in range(indptr[rows[i]], indptr[rows[i] + 1]):
            out_indices[q] = indices[p]
            out_data[q] = data[p]
            q += 1


@kernel
def _put_beside(begin, end, indptr, indices, data, offset, place, out_indices, out_data):
    for i in range(begin, end):
        q = place[i]
        for p in range(indptr[i], indptr[i + 1]):
            out_indices[q] = indices[p] + offset
            out_data[q] = data[p]
            q += 1
        place[i] = q


@kernel
def _expand(begin, end, indptr, rows):
    for i in range(begin, end):
        for p in range(indptr[i], indptr[i + 1]):
            rows[p] = i


@kernel
def _get(begin, end, indptr, indices, data, rows, columns, out):
    for q in range(begin, end):
        total = out.dtype.type(0)
        for p in range(indptr[rows[q]], indptr[rows[q] + 1]):
            if indices[p] == columns[q]:
                total += data[p]
        out[q] = total
