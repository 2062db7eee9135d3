"""Products of a csr matrix with a dense or a row_sparse one.

Two facts of memory decide the form of the kernels.

* Rows of the dense matrix are read in the order of the column indices, which no hardware guesses:
  they are asked for ahead of time, and a row of the result stays in registers until it is complete
  (:mod:`ndsparse.kernels.row_product`).
* The product with the transpose scatters to rows of the result, which two threads may not do to the
  same row.  So each thread does some of the columns, whole cache lines of them, for all rows; every
  element is summed in the order of the rows, and has the same bits with any number of threads.  With
  too few columns for that, each thread sums some rows in memory of its own (unless the setting
  ``deterministic`` forbids it).  A transpose by counting sort before a product that gathers took twice
  as long (6M elements, 64 columns: 450-550 ms of processor time, 245-310 by scattering).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ndsparse.config import settings
from ndsparse.kernels.border import AnyArray, values
from ndsparse.kernels.csr_structure import take_rows_count, take_rows_fill
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import CsrArrays, RowsArrays, compute_dtype, csr_operand, deliver, target
from ndsparse.kernels.row_ids import locate, unique_ids
from ndsparse.kernels.row_product import gather_rows_product, scatter_rows_product
from ndsparse.kernels.threads import balanced_bounds, even_bounds, run_blocks, threads_for

_LINE_BYTES = 64
"""A cache line: two threads that write to the same one slow each other down (measured: by 1.5)."""


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
    O((nnz + k) n).  With two threads or more and few columns, scratch memory of the size of ``out``
    for each.
    """
    dtype = compute_dtype(csr[2], rhs)
    csr = csr_operand(csr, dtype)
    rhs = values(rhs, dtype)
    result = target(out, dtype, load=accumulate)
    if not accumulate:
        result.fill(0)
    _scatter_product(csr, _as_matrix(rhs), _as_matrix(result))
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
    return unique_ids(indices, extent=columns)


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
    else:
        run_blocks(gather_rows_product, bounds, indptr, indices, data, rhs, accumulate, out)


def _scatter_product(csr: CsrArrays, rhs: AnyArray, out: AnyArray) -> None:
    """Add ``csr.T @ rhs``: threads share the columns, or else the rows, with sums of their own."""
    indptr, indices, data = csr
    width = rhs.shape[1]
    threads = threads_for(len(indices) * width)
    if threads == 1 or width * out.itemsize >= _LINE_BYTES * threads:
        cuts = _column_cuts(out, threads)
        run_blocks(_scatter_columns, range(threads + 1), np.asarray(cuts), *csr, rhs, out)
        return
    if settings.deterministic or len(indices) < 4 * len(out):
        threads = 1
    own = np.zeros((threads - 1, *out.shape), out.dtype)
    parts = np.asarray(balanced_bounds(indptr, threads))
    run_blocks(_scatter_parts, range(threads + 1), parts, indptr, indices, data, rhs, own, out)
    if threads > 1:
        run_blocks(_add_all, even_bounds(out.size, threads), own.reshape(threads - 1, -1), out.reshape(-1))


def _column_cuts(out: AnyArray, threads: int) -> list[int]:
    """Cut the columns where a cache line ends, if that is at the same column in every row."""
    width, lane = out.shape[1], _LINE_BYTES // out.itemsize
    shift = 0
    if width % lane == 0:
        shift = -out.__array_interface__["data"][0] % _LINE_BYTES // out.itemsize
    return [0, *((width * t // threads - shift) // lane * lane + shift for t in range(1, threads)), width]


def _as_matrix(array: AnyArray) -> AnyArray:
    return array[:, None] if array.ndim == 1 else array


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


@kernel
def _scatter_columns(begin, end, cuts, indptr, indices, data, rhs, out):
    for part in range(begin, end):
        scatter_rows_product(0, len(rhs), indptr, indices, data, rhs, cuts[part], cuts[part + 1], out)


@kernel
def _scatter_parts(begin, end, parts, indptr, indices, data, rhs, own, out):
    for part in range(begin, end):
        result = out if part == 0 else own[part - 1]
        scatter_rows_product(
            parts[part], parts[part + 1], indptr, indices, data, rhs, 0, out.shape[1], result
        )


@kernel
def _add_all(begin, end, own, out):
    for t in range(len(own)):
        for c in range(begin, end):
            out[c] += own[t, c]
