"""Conversions between csr and the other storage types, by elements of any dtype.

What is zero is seen on the bits: all of them for integers, all but the sign for floats, so that NaN
counts and -0.0 does not.  Kernels are compiled for the four sizes of an element.

A dense matrix is read once: counting lists the pieces of 16 elements that have some which are
not zero, with a bit for each, and the fill reads only those.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndsparse.kernels.bits import LANES, lowest_bit, nonzero_mask, popcount
from ndsparse.kernels.border import AnyArray, index, moved, values
from ndsparse.kernels.cast_rows import (
    dense_to_rows_count,
    dense_to_rows_fill,
    rows_to_dense,
    significant_bits,
)
from ndsparse.kernels.csr_check import is_canonical
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import CsrArrays, RowsArrays, csr_moved, deliver, flat_rows, target
from ndsparse.kernels.prefetch import prefetch_read
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for

__all__ = [
    "DenseToCsr",
    "RowsToCsr",
    "csr_to_dense",
    "csr_to_rows_count",
    "csr_to_rows_fill",
    "dense_to_csr_count",
    "dense_to_csr_fill",
    "dense_to_rows_count",
    "dense_to_rows_fill",
    "rows_to_csr_count",
    "rows_to_csr_fill",
    "rows_to_dense",
]


@dataclass(frozen=True)
class DenseToCsr:
    """Where the elements of a dense matrix are.

    Attributes
    ----------
    nnz : int
    pieces : (m, ceil(n / 16)) int64
        The pieces of 16 elements of each row that have some, ascending: first column times 2^16, and a
        bit for each element.  What follows the last piece of a row is undefined.
    """

    nnz: int
    pieces: AnyArray


@dataclass(frozen=True)
class RowsToCsr:
    """Where the elements of the rows of a row_sparse matrix are."""

    nnz: int
    rows: DenseToCsr


def dense_to_csr_count(dense: AnyArray, out_indptr: AnyArray) -> DenseToCsr:
    """Write the indptr of the elements that are not zero and return the plan to fill them.

    Parameters
    ----------
    dense : (m, n)
        Any dtype.
    out_indptr : (m + 1,)

    Returns
    -------
    DenseToCsr
        With ``nnz``; for :func:`dense_to_csr_fill`.

    Notes
    -----
    O(m n): the matrix is read once.
    """
    dense = np.ascontiguousarray(dense)
    m, n = dense.shape
    pieces = np.empty((m, (n + LANES - 1) // LANES), np.int64)
    totals = target(out_indptr, np.dtype(np.int64))
    source = moved(dense)
    bounds = even_bounds(m, threads_for(dense.size))
    run_blocks(_count_dense, bounds, source, significant_bits(dense.dtype), pieces, totals)
    totals[0] = 0
    np.cumsum(totals, out=totals)
    deliver(totals, out_indptr)
    return DenseToCsr(int(totals[-1]), pieces)


def dense_to_csr_fill(dense: AnyArray, plan: DenseToCsr, out: CsrArrays) -> None:
    """Write the elements; ``out`` has the indptr of :func:`dense_to_csr_count` and the dtype of ``dense``.

    O(m n / 16 + nnz), reading the matrix only where it has elements.
    """
    dense = np.ascontiguousarray(dense)
    out_indices, out_data = target(out[1], np.dtype(np.int64)), target(out[2], dense.dtype)
    bounds = even_bounds(len(dense), threads_for(dense.size))
    arguments = moved(dense), plan.pieces, index(out[0]), out_indices, moved(out_data)
    run_blocks(_fill_csr, bounds, *arguments)
    deliver(out_indices, out[1])
    deliver(out_data, out[2])


def csr_to_dense(csr: CsrArrays, out: AnyArray, *, zeroed: bool = False) -> None:
    """Write the dense matrix.

    Parameters
    ----------
    csr : csr arrays, (m, n)
        Any order; duplicates are summed.
    out : (m, n)
        Of the dtype of the csr data (another one costs a copy).
    zeroed : bool
        Promise that ``out`` is zero, as fresh memory from ``numpy.zeros`` is.

    Notes
    -----
    O(m n + nnz); O(m + nnz) if ``zeroed``.
    """
    if is_canonical(csr[0], csr[1]):
        result, kernel_, source = target(out, csr[2].dtype), _put_dense, csr_moved(csr)
        written = moved(result)
    else:  # sums are computed, in the dtype where kernels do
        data = values(csr[2])
        result, kernel_, source = target(out, data.dtype), _add_dense, csr_moved(csr)[:2] + (data,)
        written = result
    if result is not out:
        zeroed = False
    bounds = even_bounds(len(written), threads_for(len(source[1]) if zeroed else written.size))
    run_blocks(kernel_, bounds, *source, zeroed, written)
    deliver(result, out)


def csr_to_rows_count(indptr: AnyArray) -> AnyArray:
    """Return the ids (int64) of the rows that store elements (zeros too).  O(m)."""
    return np.flatnonzero(indptr[1:] != indptr[:-1])


def csr_to_rows_fill(csr: CsrArrays, ids: AnyArray, out_data: AnyArray) -> None:
    """Write the dense rows ``ids`` of a csr matrix.

    Parameters
    ----------
    csr : csr arrays, (m, n)
        Any order; duplicates are summed.
    ids : (nnr,) ints
        From :func:`csr_to_rows_count`: all rows that store elements.
    out_data : (nnr, n)

    Notes
    -----
    O(nnr n + nnz).
    """
    indptr = csr[0]
    packed = np.append(indptr[ids], indptr[-1:])
    csr_to_dense((packed, csr[1], csr[2]), out_data)


def rows_to_csr_count(rows: RowsArrays, m: int, out_indptr: AnyArray) -> RowsToCsr:
    """Write the indptr of a row_sparse matrix as csr and return the plan to fill it.

    Parameters
    ----------
    rows : row_sparse arrays, (m, n)
        Ids sorted and distinct.
    m : int
        Number of rows.
    out_indptr : (m + 1,)

    Returns
    -------
    RowsToCsr
        With ``nnz``; zeros inside of rows are left out.

    Notes
    -----
    O(m + nnr n).
    """
    ids, data = rows
    starts = np.empty(len(ids) + 1, np.int64)
    plan = dense_to_csr_count(flat_rows(data), starts)
    counts = np.zeros(m + 1, np.int64)
    counts[1:][ids] = np.diff(starts)
    np.cumsum(counts, out=out_indptr, dtype=out_indptr.dtype)
    return RowsToCsr(plan.nnz, plan)


def rows_to_csr_fill(rows: RowsArrays, plan: RowsToCsr, out: CsrArrays) -> None:
    """Write the elements; ``out`` has the indptr of :func:`rows_to_csr_count`.  O(nnr n / 16 + nnz)."""
    ids, data = rows
    starts = np.empty(len(ids) + 1, out[0].dtype)
    starts[:-1] = out[0][:-1][ids]
    starts[-1] = plan.nnz
    dense_to_csr_fill(flat_rows(data), plan.rows, (starts, out[1], out[2]))


@kernel
def _count_dense(begin, end, dense, bits, pieces, totals):
    """Count the elements of each row, and list the pieces that have some with a bit for each."""
    n = dense.shape[1]
    for i in range(begin, end):
        total = np.int64(0)
        listed = 0
        for j in range(0, n, 16):
            if j + 16 <= n:
                mask = nonzero_mask(dense, i * n + j, bits)
            else:
                mask = np.int64(0)
                for rest in range(n - j):
                    mask |= np.int64((dense[i, j + rest] & bits) != 0) << rest
            pieces[i, listed] = (j << 16) | mask  # written over by the next if there are none
            listed += mask != 0
            total += popcount(np.uint64(mask))
        totals[i + 1] = total


@kernel
def _fill_csr(begin, end, dense, pieces, indptr, indices, data):
    n = dense.shape[1]
    for i in range(begin, end):
        q, stop = indptr[i], indptr[i + 1]
        listed = 0
        while q < stop:
            piece = pieces[i, listed]
            if i + 1 < end:  # what is listed there in the next row, or rubbish past its end: no harm
                prefetch_read(dense, (i + 1) * n + (pieces[i + 1, listed] >> 16))
            mask = np.uint64(piece & 0xFFFF)
            while mask != 0:
                j = (piece >> 16) + lowest_bit(mask)
                indices[q] = j
                data[q] = dense[i, j]
                q += 1
                mask &= mask - np.uint64(1)
            listed += 1


@kernel
def _put_dense(begin, end, indptr, indices, data, zeroed, out):
    for i in range(begin, end):
        if not zeroed:
            for j in range(out.shape[1]):
                out[i, j] = 0
        for p in range(indptr[i], indptr[i + 1]):
            out[i, indices[p]] = data[p]


@kernel
def _add_dense(begin, end, indptr, indices, data, zeroed, out):
    for i in range(begin, end):
        if not zeroed:
            for j in range(out.shape[1]):
                out[i, j] = 0
        for p in range(indptr[i], indptr[i + 1]):
            out[i, indices[p]] += data[p]
