"""Rows of dense and csr chunks: cutting, picking, stacking and filling up, never through dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import StorageTypeError
from ndsparse.kernels import csr_structure
from ndsparse.storage import Chunk, CSRChunk, DefaultChunk

STYPES = ("default", "csr")


def cut(chunk: Chunk, begin: int, end: int) -> Chunk:
    """Return the rows ``begin:end`` as a view.

    The view is pinned: an operator that writes to it takes memory of its own first.
    Cost: O(rows) for csr (its row starts), O(1) for dense.
    """
    if isinstance(chunk, CSRChunk):
        indptr, indices, data = chunk.csr
        first, last = int(indptr[begin]), int(indptr[end])
        rows = indptr[begin : end + 1] - first if first else indptr[begin : end + 1]
        part: Chunk = csr(rows, indices[first:last], data[first:last], chunk.shape[1])
    else:
        part = DefaultChunk.of(_dense(chunk).data[begin:end])
    part.pin()
    return part


def pick(chunk: Chunk, ids: NDArray[np.int64]) -> Chunk:
    """Return rows by id, in the order given.  A copy."""
    if not isinstance(chunk, CSRChunk):
        return DefaultChunk.of(_dense(chunk).data[ids])
    picked = CSRChunk((len(ids), chunk.shape[1]), chunk.dtype)
    nnz = csr_structure.take_rows_count(
        chunk.indptr, ids, picked.alloc_indptr(chunk.indptr.dtype, chunk.indices.dtype)
    )
    csr_structure.take_rows_fill(chunk.csr, ids, picked.alloc_elements(nnz))
    return picked


def stack(chunks: Sequence[Chunk]) -> Chunk:
    """Return chunks of equal width below each other; a single one as it is."""
    first = chunks[0]
    if len(chunks) == 1:
        return first
    if not isinstance(first, CSRChunk):
        return DefaultChunk.of(np.concatenate([_dense(c).data for c in chunks]))
    parts = [c.csr for c in chunks if isinstance(c, CSRChunk)]
    stacked = CSRChunk((sum(c.shape[0] for c in chunks), first.shape[1]), first.dtype)
    nnz = sum(int(indptr[-1] - indptr[0]) for indptr, _, _ in parts)
    stacked.alloc_indptr(*(array.dtype for part in parts for array in part[:2]), nnz=nnz)
    csr_structure.concat_rows(parts, stacked.alloc_elements(nnz))
    return stacked


def blank(like: Chunk, count: int) -> Chunk:
    """Return ``count`` rows of zeros that stack with ``like``."""
    return type(like)((count, *like.shape[1:]), like.dtype, like.aux_types)


def csr(indptr: NDArray[Any], indices: NDArray[Any], values: NDArray[Any], width: int) -> CSRChunk:
    """Return a csr chunk on the memory of arrays."""
    chunk = CSRChunk((len(indptr) - 1, width), values.dtype)
    chunk.adopt(values, indptr, indices)
    return chunk


def _dense(chunk: Chunk) -> DefaultChunk:
    if not isinstance(chunk, DefaultChunk):
        raise StorageTypeError(f"rows of {chunk.stype} arrays cannot be cut; there are {STYPES}")
    return chunk
