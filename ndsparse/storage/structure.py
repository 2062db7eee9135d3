"""The places of stored elements: copying a structure, reading and writing values at its places.

Elementwise operators on sparse arrays compute on the stored values only.  What they need besides
is here, for every pair of storage types: the values of another array at the same places
(:func:`gather`), and writing values at these places of a dense array (:func:`scatter`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ndsparse.errors import StorageTypeError
from ndsparse.kernels import csr_elementwise, csr_structure, row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.storage.chunk import INT64, Array, Chunk
from ndsparse.storage.csr import CSRChunk
from ndsparse.storage.row_sparse import RowSparseChunk

C = TypeVar("C", bound=Chunk)


def canonical(chunk: C) -> C:
    """Return ``chunk``, or a canonical copy if its elements are unsorted or duplicate.

    Read it only: it may be ``chunk`` itself.
    Cost: one read of the index arrays.
    """
    if chunk.is_canonical():
        return chunk
    twin = type(chunk)(chunk.shape, chunk.dtype, chunk.aux_types)
    twin.adopt(chunk.data, *(chunk.aux(i) for i in range(len(chunk.aux_names))))
    twin.canonicalize()
    return twin


def like(out: Chunk, source: Chunk) -> Array:
    """Give ``out`` the structure of ``source`` and return its values, to be written.

    An output that has memory of its own gets a copy, so that repeated steps allocate nothing; a new
    one shares the index arrays.  Read the values of ``source`` before the call if ``out`` may be ``source``.
    """
    if out is source:
        return out.check_and_alloc_data(source.data.shape)
    if not out.initialized:
        out.share_structure(source)
        return out.check_and_alloc_data(source.data.shape)
    for i in range(len(source.aux_names)):
        aux = source.aux(i)
        np.copyto(out.check_and_alloc_aux(i, aux.shape, aux.dtype), aux)
    return out.check_and_alloc_data(source.data.shape)


def same_structure(a: Chunk, b: Chunk) -> bool:
    """Whether two chunks of one storage type store the same places in the same order."""
    for i in range(len(a.aux_names)):
        mine, theirs = a.aux(i), b.aux(i)
        if mine is not theirs and not np.array_equal(mine, theirs):
            return False
    return True


def gather(structure: Chunk, source: Chunk) -> Array:
    """Return the values of ``source`` at the places that ``structure`` stores, 0 where it stores none.

    Both have the same shape and are canonical.  The result has the form of ``structure.data``; it
    may be the data of ``source`` itself.
    """
    found = _GATHER.get((structure.stype, source.stype))
    if found is None:
        raise StorageTypeError(f"gather: no way from {source.stype} to the places of {structure.stype}")
    return found(structure, source)


def scatter(structure: Chunk, values: Array, out: Array) -> None:
    """Write ``values``, in the form of ``structure.data``, at the stored places of a dense array."""
    if isinstance(structure, RowSparseChunk):
        out[structure.indices] = values
    elif isinstance(structure, CSRChunk):
        out[csr_rows(structure), structure.indices] = values
    else:
        raise StorageTypeError(f"scatter: expected csr or row_sparse, got {structure.stype}")


def csr_rows(chunk: CSRChunk) -> Array:
    """Return the row id of each stored element, int64."""
    rows = np.empty(len(chunk.indices), INT64)
    csr_structure.expand_rows(chunk.indptr, rows)
    return rows


def _csr_from_dense(structure: Any, source: Any) -> Array:
    out = np.empty(structure.data.shape, source.dtype)
    csr_elementwise.csr_dense_gather(Op.REPLACE, structure.csr, source.data, out)
    return out


def _csr_from_csr(structure: Any, source: Any) -> Array:
    if same_structure(structure, source):
        result: Array = source.data
        return result
    out = np.empty(structure.data.shape, source.dtype)
    csr_structure.get_elements(source.csr, csr_rows(structure), structure.indices, out)
    return out


def _rows_from_dense(structure: Any, source: Any) -> Array:
    out = np.empty(structure.data.shape, source.dtype)
    row_sparse.gather_rows(source.data, structure.indices, out)
    return out


def _rows_from_rows(structure: Any, source: Any) -> Array:
    if same_structure(structure, source):
        result: Array = source.data
        return result
    out = np.empty(structure.data.shape, source.dtype)
    row_sparse.retain_dense(source.rows, structure.indices, out)
    return out


def _rows_from_csr(structure: Any, source: Any) -> Array:
    """Return rows of a csr matrix, made dense."""
    ids = structure.indices
    picked = CSRChunk((len(ids), source.shape[1]), source.dtype)
    nnz = csr_structure.take_rows_count(source.indptr, ids, picked.alloc_indptr(source.indptr.dtype))
    csr_structure.take_rows_fill(source.csr, ids, picked.alloc_elements(nnz))
    return picked.to_dense()


_GATHER: dict[tuple[str, str], Callable[[Any, Any], Array]] = {
    ("csr", "default"): _csr_from_dense,
    ("csr", "csr"): _csr_from_csr,
    ("row_sparse", "default"): _rows_from_dense,
    ("row_sparse", "row_sparse"): _rows_from_rows,
    ("row_sparse", "csr"): _rows_from_csr,
    ("default", "default"): lambda structure, source: source.data,
}

__all__ = ["canonical", "csr_rows", "gather", "like", "same_structure", "scatter"]
