"""Products with a dense matrix on the left and a csr one on the right.

Rows of the dense matrix are taken sixteen at a time and turned, so that the sixteen elements of one
column lie side by side.  Each element of the csr matrix then works on sixteen rows at once, with
vector instructions, and the csr matrix is read once for sixteen rows instead of once for each.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ndsparse.kernels.border import AnyArray, values
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import CsrArrays, DType, compute_dtype, csr_operand, deliver, target
from ndsparse.kernels.row_product import gather_rows_product, scatter_rows_product
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for

_LANES = 16


def dense_csr(lhs: AnyArray, csr: CsrArrays, out: AnyArray, *, accumulate: bool = False) -> None:
    """Write ``lhs @ csr``.

    Parameters
    ----------
    lhs : (m, k)
        C-contiguous, or a transposed view of such an array; nothing is copied then either.
    csr : csr arrays, (k, n)
        Any order; duplicates count as their sum.
    out : (m, n)
    accumulate : bool
        Add to ``out`` instead.

    Notes
    -----
    O(m (k + nnz + n)); scratch memory of ``16 (k + n)`` elements for each thread.
    """
    _run(False, lhs, csr, out, accumulate)


def dense_csr_t(lhs: AnyArray, csr: CsrArrays, out: AnyArray, *, accumulate: bool = False) -> None:
    """Write ``lhs @ csr.T``.

    Parameters
    ----------
    lhs : (m, n)
        C-contiguous, or a transposed view of such an array; nothing is copied then either.
    csr : csr arrays, (k, n)
    out : (m, k)
    accumulate : bool
        Add to ``out`` instead.

    Notes
    -----
    As :func:`dense_csr`.
    """
    _run(True, lhs, csr, out, accumulate)


def dense_csr_sparse(
    lhs: AnyArray, csr: CsrArrays, columns: AnyArray, slots: AnyArray, out: CsrArrays
) -> None:
    """Write ``lhs @ csr`` as csr: in each row the columns that have elements in the csr operand.

    Parameters
    ----------
    lhs : (m, k)
    csr : csr arrays, (k, n)
    columns, slots
        From ``csr_dot.touched_columns(csr[1], n)``.
    out : csr arrays, (m, n)
        Allocated for ``m * len(columns)`` elements.

    Notes
    -----
    O(m (k + nnz)), whatever n is.
    """
    m, width = lhs.shape[0], len(columns)
    out[0][:] = np.arange(m + 1) * width
    out[1].reshape(m, width)[:] = columns
    dense_csr(lhs, (csr[0], slots, csr[2]), out[2].reshape(m, width))


def _run(turned: bool, lhs: AnyArray, csr: CsrArrays, out: AnyArray, accumulate: bool) -> None:
    dtype = compute_dtype(lhs, csr[2])
    indptr, indices, data = csr_operand(csr, dtype)
    result = target(out, dtype, load=accumulate)
    by_columns, source = _readable(lhs, dtype)
    blocks = -(-len(out) // _LANES)
    threads = min(threads_for(len(out) * (len(indices) + 1)), max(blocks, 1))
    bounds = even_bounds(blocks, threads)
    function = _times_transpose if turned else _times
    run_blocks(function, bounds, by_columns, source, indptr, indices, data, accumulate, result)
    deliver(result, out)


def _readable(lhs: AnyArray, dtype: DType) -> tuple[bool, AnyArray]:
    """Return whether the array is transposed, and the contiguous array behind it."""
    if lhs.flags.c_contiguous or not lhs.T.flags.c_contiguous:
        return False, values(lhs, dtype)
    return True, values(lhs.T, dtype)


@kernel
def _pack(by_columns, lhs, row, rows, packed):
    """Write the rows ``row:row + rows`` as columns of ``packed``, zeros beyond them."""
    if by_columns:
        for c in range(len(packed)):
            for t in range(_LANES):
                packed[c, t] = lhs[c, row + t] if t < rows else 0
    else:
        for t in range(_LANES):
            for c in range(len(packed)):
                packed[c, t] = lhs[row + t, c] if t < rows else 0


@kernel
def _unpack(packed, row, rows, accumulate, out):
    for t in range(rows):
        for c in range(out.shape[1]):
            if accumulate:
                out[row + t, c] += packed[c, t]
            else:
                out[row + t, c] = packed[c, t]


@kernel
def _times(begin, end, by_columns, lhs, indptr, indices, data, accumulate, out):
    m, n = out.shape
    packed = np.empty((len(indptr) - 1, _LANES), data.dtype)
    sums = np.empty((n, _LANES), data.dtype)
    for block in range(begin, end):
        row = block * _LANES
        rows = min(_LANES, m - row)
        _pack(by_columns, lhs, row, rows, packed)
        sums[:] = 0
        scatter_rows_product(0, len(packed), indptr, indices, data, packed, 0, _LANES, sums)
        _unpack(sums, row, rows, accumulate, out)


@kernel
def _times_transpose(begin, end, by_columns, lhs, indptr, indices, data, accumulate, out):
    m, k = out.shape
    packed = np.empty((lhs.shape[0] if by_columns else lhs.shape[1], _LANES), data.dtype)
    sums = np.empty((k, _LANES), data.dtype)
    for block in range(begin, end):
        row = block * _LANES
        rows = min(_LANES, m - row)
        _pack(by_columns, lhs, row, rows, packed)
        gather_rows_product(0, k, indptr, indices, data, packed, False, sums)
        _unpack(sums, row, rows, accumulate, out)
