"""Conversion between storage types.

Direct ways are a table; whatever is not in it goes through coordinates, O(nnz) apart from sorting.
No conversion between sparse types makes a dense array.

===========  =========================  ==========================================
from         to                         cost
===========  =========================  ==========================================
default      any                        one read of the dense array, one write of the result
any          default                    one write of the dense array, one read of the source
csr          row_sparse                 O(rows + nnz + stored rows x width)
row_sparse   csr                        O(rows + stored rows x width)
others       others                     O(nnz) and a sort
===========  =========================  ==========================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import border
from ndsparse.kernels import cast as kernels
from ndsparse.storage.chunk import Chunk, storage_class
from ndsparse.storage.csr import CSRChunk
from ndsparse.storage.default import DefaultChunk
from ndsparse.storage.row_sparse import RowSparseChunk

Conversion = Callable[[Any, Any], None]


def cast(source: Chunk, target: Chunk) -> None:
    """Write ``source`` into ``target``, of the same shape and any storage type and dtype.

    Raises
    ------
    ShapeError
        The shapes differ.
    """
    if source.shape != target.shape:
        raise ShapeError(f"cast_storage: the shapes differ: {source.shape} and {target.shape}")
    if type(source) is type(target):
        target.copy_from(source)
        return
    if isinstance(target, DefaultChunk):
        _to_default(source, target)
        return
    if source.dtype != target.dtype:
        same = type(target)(target.shape, source.dtype, target.aux_types)
        cast(source, same)
        target.copy_from(same)
        return
    if isinstance(source, DefaultChunk):
        target.set_dense(np.ascontiguousarray(source.data))
        return
    direct = _DIRECT.get((source.stype, target.stype))
    if direct is not None:
        direct(source, target)
        return
    target.set_coo(*source.to_coo())


def converted(source: Chunk, stype: str) -> Chunk:
    """Return a new chunk with the content of ``source`` in another storage type."""
    kind = storage_class(stype)
    kind.check_shape(source.shape)
    target = kind(source.shape, source.dtype)
    cast(source, target)
    return target


def _to_default(source: Chunk, target: DefaultChunk) -> None:
    if not target.initialized:
        target.adopt(source.to_dense().astype(target.dtype, copy=False))
        return
    out = target.check_and_alloc_data(target.shape)
    if source.dtype == target.dtype and out.flags.c_contiguous:
        source.to_dense(out)
    else:
        np.copyto(out, source.to_dense(), casting="unsafe")


def _csr_to_row_sparse(source: CSRChunk, target: RowSparseChunk) -> None:
    found = kernels.csr_to_rows_count(source.indptr)
    ids, data = target.check_and_alloc(len(found), _index_dtype(source))
    np.copyto(ids, found)
    kernels.csr_to_rows_fill(source.csr, found, data)


def _row_sparse_to_csr(source: RowSparseChunk, target: CSRChunk) -> None:
    indptr = target.alloc_indptr(_index_dtype(source, source.data.size))
    plan = kernels.rows_to_csr_count(source.rows, source.shape[0], indptr)
    kernels.rows_to_csr_fill(source.rows, plan, target.alloc_elements(plan.nnz))


def _index_dtype(source: Chunk, nnz: int = 0) -> np.dtype[Any]:
    """Return the dtype of index arrays derived from those of ``source``: int32 where all are."""
    return border.index_dtype(max(*source.shape, nnz), *source.aux_types)


_DIRECT: dict[tuple[str, str], Conversion] = {
    ("csr", "row_sparse"): _csr_to_row_sparse,
    ("row_sparse", "csr"): _row_sparse_to_csr,
}
