"""Products of a csr matrix with a dense or a row_sparse one.

Two facts of memory decide the form of the kernels.

* Rows of the dense matrix are read in the order of the column indices, which no hardware guesses:
  they are asked for ahead of time (:mod:`ndsparse.kernels.prefetch`), and four of them are added to
  a row of the result at once, so that it is loaded and stored a quarter as often.
* The product with the transpose would scatter to rows of the result, which two threads may not do to
  the same row.  A transpose by counting sort costs less than the scattered writes it saves, and
  leaves each row of the result to one thread, summed in the order of the rows: the same bits with any
  number of threads.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ndsparse.config import settings
from ndsparse.kernels.border import AnyArray, values
from ndsparse.kernels.csr_structure import take_rows_count, take_rows_fill
from ndsparse.kernels.csr_transpose import transpose
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import CsrArrays, RowsArrays, compute_dtype, csr_operand, deliver, target
from ndsparse.kernels.prefetch import AHEAD, prefetch_read
from ndsparse.kernels.row_ids import locate, unique_ids
from ndsparse.kernels.threads import balanced_bounds, even_bounds, run_blocks, threads_for

_CACHED_BYTES = 1 << 18
"""A dense operand up to this size stays in the second-level cache: no use in prefetching."""


def csr_dense(csr: CsrArrays, rhs: AnyArray, out: AnyArray, *, accumulate: bool = False) -> None:
    """Write ``csr @ rhs``.

    Parameters
    ----------
    csr : csr arrays, (m, k)
        Any order in a row; duplicates count as their sum.
    rhs : (k, n) or (k,)
    out : (m, n) or (m,)
        Any dtype; computed in that of the operands.
    accumulate : bool
        Add to ``out`` instead.

    Notes
    -----
    O((nnz + m) n).  Float32 sums are float32, element by element in stored order.
    """
    dtype = compute_dtype(csr[2], rhs)
    indptr, indices, data = csr_operand(csr, dtype)
    result = target(out, dtype, load=accumulate)
    _multiply(indptr, indices, data, values(rhs, dtype), result, accumulate)
    deliver(result, out)


def csr_t_dense(csr: CsrArrays, rhs: AnyArray, out: AnyArray, *, accumulate: bool = False) -> None:
    """Write ``csr.T @ rhs``.

    Parameters
    ----------
    csr : csr arrays, (m, k)
    rhs : (m, n) or (m,)
    out : (k, n) or (k,)
        Any dtype; computed in that of the operands.
    accumulate : bool
        Add to ``out`` instead.

    Notes
    -----
    O((nnz + k) n) and scratch memory for a transposed copy of the elements (none for one column).
    """
    dtype = compute_dtype(csr[2], rhs)
    csr = csr_operand(csr, dtype)
    rhs = values(rhs, dtype)
    result = target(out, dtype, load=accumulate)
    columns = len(out)
    if rhs.ndim == 1 or rhs.shape[1] == 1:
        _scatter_column(csr, rhs.reshape(-1), result.reshape(-1), accumulate)
    else:
        nnz = len(csr[1])
        turned = (np.empty(columns + 1, csr[0].dtype), np.empty(nnz, csr[0].dtype), np.empty(nnz, dtype))
        transpose(csr, columns, turned)
        _multiply(*turned, rhs, result, accumulate)
    deliver(result, out)


def touched_columns(indices: AnyArray, columns: int) -> tuple[AnyArray, AnyArray]:
    """Return the columns that have elements: the rows of a row_sparse ``csr.T @ rhs``.

    Parameters
    ----------
    indices : (nnz,) ints
    columns : int
        Extent; the cost does not depend on it.

    Returns
    -------
    row_ids : (nnr,) int64
        Ascending, distinct.
    slots : (nnz,) int64
        ``row_ids[slots] == indices``.

    Notes
    -----
    O(nnz).
    """
    return unique_ids(indices)


def csr_t_dense_rows(
    csr: CsrArrays, slots: AnyArray, rhs: AnyArray, out: AnyArray, *, accumulate: bool = False
) -> None:
    """Write the stored rows of ``csr.T @ rhs``.

    Parameters
    ----------
    csr : csr arrays, (m, k)
    slots : (nnz,) ints
        From :func:`touched_columns`.
    rhs : (m, n) or (m,)
    out : (nnr, n) or (nnr,)
        Row i is that of ``row_ids[i]``.
    accumulate : bool
        Add to ``out`` instead.

    Notes
    -----
    O((nnz + nnr) n), whatever k is.
    """
    csr_t_dense((csr[0], slots, csr[2]), rhs, out, accumulate=accumulate)


def csr_row_sparse(
    csr: CsrArrays, rhs: RowsArrays, out: AnyArray, *, columns: int, accumulate: bool = False
) -> None:
    """Write ``csr @ rhs`` for a row_sparse ``rhs``, whose absent rows are zero.

    Parameters
    ----------
    csr : csr arrays, (m, k)
    rhs : row_sparse arrays, (k, n) or (k,)
        Ids sorted and distinct.
    out : (m, n) or (m,)
    columns : int
        The extent k.
    accumulate : bool
        Add to ``out`` instead.

    Notes
    -----
    As :func:`csr_dense` where all rows are stored; else O(nnz log nnr) more at worst to find them.
    """
    ids, rows = rhs
    if len(ids) != columns:
        csr = _restrict(csr, locate(ids, csr[1]))
    csr_dense(csr, rows, out, accumulate=accumulate)


def csr_t_row_sparse_select(csr: CsrArrays, row_ids: AnyArray) -> CsrArrays:
    """Return the rows of a csr matrix that a row_sparse right operand stores.

    ``csr.T @ row_sparse`` is the product of the transpose of these rows with the stored data: use
    :func:`touched_columns` and :func:`csr_t_dense_rows` (or :func:`csr_t_dense`) on the result.

    Parameters
    ----------
    csr : csr arrays, (m, k)
    row_ids : (nnr,) ints
        Ids of stored rows, sorted and distinct.

    Returns
    -------
    csr arrays, (nnr, k)
        The operand itself if all its rows are stored.
    """
    indptr, indices, data = csr
    if len(row_ids) == len(indptr) - 1:
        return csr
    out_indptr = np.empty(len(row_ids) + 1, indptr.dtype)
    nnz = take_rows_count(indptr, row_ids, out_indptr)
    out = out_indptr, np.empty(nnz, indices.dtype), np.empty(nnz, data.dtype)
    take_rows_fill(csr, row_ids, out)
    return out


def _multiply(
    indptr: AnyArray, indices: AnyArray, data: AnyArray, rhs: AnyArray, out: AnyArray, accumulate: bool
) -> None:
    width = 1 if rhs.ndim == 1 else rhs.shape[1]
    work = (len(indices) + len(out)) * width
    bounds = balanced_bounds(indptr, threads_for(work))
    if width == 1:
        run_blocks(_times_vector, bounds, indptr, indices, data, rhs.reshape(-1), accumulate, out.reshape(-1))
        return
    cached = rhs.nbytes <= _CACHED_BYTES
    line = width if cached else max(1, 64 // rhs.itemsize)
    ahead = 0 if cached else AHEAD
    run_blocks(_times_matrix, bounds, indptr, indices, data, rhs, ahead, line, accumulate, out)


def _scatter_column(csr: CsrArrays, rhs: AnyArray, out: AnyArray, accumulate: bool) -> None:
    """Add to one column of results; each thread has its own where that is small beside the work."""
    indptr, indices, data = csr
    nnz = len(indices)
    threads = 1 if settings.deterministic else min(threads_for(nnz), 1 + nnz // max(len(out), 1))
    if not accumulate:
        out.fill(0)
    bounds = balanced_bounds(indptr, threads)
    own = np.zeros((threads - 1, len(out)), out.dtype)
    run_blocks(_scatter, range(threads + 1), np.asarray(bounds), indptr, indices, data, rhs, own, out)
    if threads > 1:
        run_blocks(_add_all, even_bounds(len(out), threads), own, out)


def _restrict(csr: CsrArrays, slots: AnyArray) -> CsrArrays:
    """Return the elements whose slot is not -1, with the slots as columns."""
    keep = slots >= 0
    before = np.zeros(len(slots) + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    return before[csr[0]], slots[keep], csr[2][: len(slots)][keep]


@kernel(fastmath={"contract"})
def _times_vector(begin, end, indptr, indices, data, rhs, accumulate, out):
    for i in range(begin, end):
        total = out[i] if accumulate else out.dtype.type(0)
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * rhs[indices[p]]
        out[i] = total


@kernel(fastmath={"contract"})
def _times_matrix(begin, end, indptr, indices, data, rhs, ahead, line, accumulate, out):
    n = out.shape[1]
    last = indptr[end] - 1
    for i in range(begin, end):
        if not accumulate:
            for j in range(n):
                out[i, j] = 0
        p = indptr[i]
        stop = indptr[i + 1]
        while p + 4 <= stop:
            if ahead:
                for q in range(p + ahead, p + ahead + 4):
                    start = np.int64(indices[min(q, last)]) * n
                    for at in range(start, start + n, line):
                        prefetch_read(rhs, at)
            a, b, c, d = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
            s, t, u, v = data[p], data[p + 1], data[p + 2], data[p + 3]
            for j in range(n):
                out[i, j] += s * rhs[a, j] + t * rhs[b, j] + u * rhs[c, j] + v * rhs[d, j]
            p += 4
        while p < stop:
            if ahead:
                start = np.int64(indices[min(p + ahead, last)]) * n
                for at in range(start, start + n, line):
                    prefetch_read(rhs, at)
            a, s = indices[p], data[p]
            for j in range(n):
                out[i, j] += s * rhs[a, j]
            p += 1


@kernel(fastmath={"contract"})
def _scatter(begin, end, bounds, indptr, indices, data, rhs, own, out):
    for block in range(begin, end):
        for i in range(bounds[block], bounds[block + 1]):
            v = rhs[i]
            if block == 0:
                for p in range(indptr[i], indptr[i + 1]):
                    out[indices[p]] += data[p] * v
            else:
                for p in range(indptr[i], indptr[i + 1]):
                    own[block - 1, indices[p]] += data[p] * v


@kernel
def _add_all(begin, end, own, out):
    for t in range(len(own)):
        for c in range(begin, end):
            out[c] += own[t, c]
