"""The same values in many layouts: what an operator may be handed.

=============  ==================================================================================
canonical      as conversions leave it
unsorted       csr: columns in any order, elements split into duplicates, zeros stored; row_sparse:
               ids in any order, a row of zeros stored; dense: a view that is not contiguous
empty          nothing stored, never written
int32          int32 index arrays
read_only      arrays that cannot be written
=============  ==================================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.storage import Chunk, CSRChunk, DefaultChunk, RowSparseChunk, storage_class

LAYOUTS = ("canonical", "unsorted", "empty", "int32", "read_only")


def make_chunk(array: Any, stype: str, layout: str, rng: np.random.Generator) -> Chunk:
    """Return a chunk with the values of ``array`` (of zeros, for ``empty`` sparse ones)."""
    if stype == "default":
        return DefaultChunk.of(_dense(array, layout, rng))
    kind = storage_class(stype)
    chunk = kind(array.shape, array.dtype)
    if layout == "empty":
        return chunk
    if layout == "int32":
        chunk.aux_types = [np.dtype(np.int32)] * len(chunk.aux_types)
    chunk.set_dense(np.ascontiguousarray(array))
    if layout == "unsorted":
        _disorder(chunk, rng)
    if layout == "read_only":
        for part in (chunk.data, *(chunk.aux(i) for i in range(len(chunk.aux_names)))):
            part.flags.writeable = False
    return chunk


def _dense(array: Any, layout: str, rng: np.random.Generator) -> Any:
    if layout == "unsorted" and array.ndim:
        wide = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    result = array.copy()
    result.flags.writeable = layout != "read_only"
    return result


def _disorder(chunk: Chunk, rng: np.random.Generator) -> None:
    """Make a chunk say the same in a way that is not canonical."""
    if isinstance(chunk, CSRChunk):
        _disorder_csr(chunk, rng)
    elif isinstance(chunk, RowSparseChunk):
        _disorder_rows(chunk, rng)


def _disorder_csr(chunk: CSRChunk, rng: np.random.Generator) -> None:
    (rows, columns), values = chunk.to_coo()
    if chunk.shape[1] == 0:
        return
    half = np.trunc(values / 2) if values.dtype.kind == "f" else values // 2
    half = half.astype(values.dtype) if values.dtype != np.bool_ else values
    rest = values if values.dtype == np.bool_ else values - half
    zero_rows = np.arange(chunk.shape[0])
    rows = np.concatenate([rows, rows, zero_rows])
    columns = np.concatenate([columns, columns, rng.integers(0, chunk.shape[1], len(zero_rows))])
    values = np.concatenate([half, rest, np.zeros(len(zero_rows), values.dtype)])
    order = np.lexsort((rng.permutation(len(rows)), rows))
    indptr = np.zeros(chunk.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=chunk.shape[0]), out=indptr[1:])
    chunk.adopt(values[order], indptr, columns[order].astype(np.int64))


def _disorder_rows(chunk: RowSparseChunk, rng: np.random.Generator) -> None:
    ids, data = chunk.rows
    absent = np.setdiff1d(np.arange(chunk.shape[0]), ids)[:1]
    ids = np.concatenate([ids, absent])
    data = np.concatenate([data, np.zeros((len(absent), *data.shape[1:]), data.dtype)])
    order = rng.permutation(len(ids))[::-1]
    chunk.adopt(np.ascontiguousarray(data[order]), ids[order])


def contents(chunk: Chunk) -> list[bytes]:
    """Return the bytes of everything stored, to see whether it changes."""
    return [chunk.data.tobytes(), *(chunk.aux(i).tobytes() for i in range(len(chunk.aux_names)))]
