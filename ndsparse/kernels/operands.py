"""Operands of the drivers: a csr matrix as three arrays, row_sparse as two, and where results go."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ndsparse.kernels import border
from ndsparse.kernels.border import AnyArray

CsrArrays: TypeAlias = tuple[AnyArray, AnyArray, AnyArray]
"""``(indptr, indices, data)``: int32/int64 (m + 1,), int32/int64 (nnz,), (nnz,)."""

RowsArrays: TypeAlias = tuple[AnyArray, AnyArray]
"""``(row_ids, data)``: int32/int64 (nnr,), (nnr, ...)."""

DType: TypeAlias = np.dtype[Any]

_INT64 = np.dtype(np.int64)
_INT32 = np.dtype(np.int32)


def indexes(*arrays: AnyArray) -> list[AnyArray]:
    """Return index arrays for reading, all of one dtype, so that kernels are compiled for two."""
    if all(a.dtype == _INT32 for a in arrays):
        return [border.index(a) for a in arrays]
    return [border.index(a if a.dtype == _INT64 else a.astype(_INT64)) for a in arrays]


def compute_dtype(*arrays: AnyArray) -> DType:
    """Return the dtype in which an operation on these arrays is computed."""
    dtype = arrays[0].dtype
    if any(a.dtype != dtype for a in arrays[1:]):
        dtype = np.result_type(*(a.dtype for a in arrays))
    return border.compute_dtype(dtype)


def csr_operand(csr: CsrArrays, dtype: DType) -> CsrArrays:
    """Return the three arrays as kernels that compute in ``dtype`` want them."""
    indptr, indices = indexes(csr[0], csr[1])
    return indptr, indices, border.values(csr[2], dtype)


def csr_moved(csr: CsrArrays) -> CsrArrays:
    """Return the three arrays for kernels that only move elements."""
    indptr, indices = indexes(csr[0], csr[1])
    return indptr, indices, border.moved(np.ascontiguousarray(csr[2]))


def flat_rows(data: AnyArray) -> AnyArray:
    """Return row_sparse data (or a dense array) as a matrix, one row a row (a view if contiguous)."""
    rows = data.shape[0]
    width = 1
    for extent in data.shape[1:]:
        width *= extent
    return data.reshape(rows, width)


def target(out: AnyArray, dtype: DType, *, load: bool = False) -> AnyArray:
    """Return the array a kernel writes: ``out``, or a temporary one where its type or layout differs.

    Parameters
    ----------
    out : ndarray
        What the caller wants filled.
    dtype : dtype
        What the kernel writes.
    load : bool
        Whether the kernel reads it first.
    """
    if out.dtype == dtype and out.flags.c_contiguous:
        return out
    return np.ascontiguousarray(out, dtype=dtype) if load else np.empty(out.shape, dtype)


def deliver(written: AnyArray, out: AnyArray) -> None:
    """Copy what was written into ``out`` if it is another array."""
    if written is not out:
        np.copyto(out, written, casting="unsafe")
