"""Operands and results of rows: what a kernel may rely on, brought about in one place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ndsparse.errors import IndexOutOfBounds
from ndsparse.storage import Chunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.chunk import Array, Shape
from ndsparse.storage.structure import canonical

INT64 = np.dtype(np.int64)


def canonical_rows(chunk: RowSparseChunk) -> RowSparseChunk:
    """Return ``chunk``, or a copy with ascending, unique row ids if it is not so already.  O(nnr)."""
    if not chunk.is_canonical():
        check_ids(chunk.indices, chunk.shape[0], "a row_sparse operand", "row")
    return canonical(chunk)


def dense_of(chunk: Chunk) -> Array:
    """Return the dense values of a chunk: its own memory if it is dense, a new array otherwise."""
    return chunk.data if isinstance(chunk, DefaultChunk) else chunk.to_dense()


def give(out: Chunk, array: Array) -> None:
    """Make ``array`` the content of a dense output: its very memory if the output has none yet."""
    if (
        out.initialized
        or array.dtype != out.dtype
        or not array.flags.c_contiguous
        or not array.flags.writeable
    ):
        np.copyto(out.check_and_alloc_data(out.shape), array.reshape(out.shape), casting="unsafe")
    else:
        out.adopt(array.reshape(out.shape))


@contextmanager
def flat(out: Chunk, shape: Shape) -> Iterator[Array]:
    """Give the array of a dense output to write, seen in another shape (through a copy if it must be)."""
    target = out.check_and_alloc_data(out.shape)
    view = target.reshape(shape) if target.flags.c_contiguous else np.empty(shape, target.dtype)
    yield view
    if not target.flags.c_contiguous:
        np.copyto(target, view.reshape(target.shape))


def as_ids(array: Array) -> Array:
    """Return ids that may be floats (MXNet's default dtype) as int64, same shape."""
    return array if array.dtype == INT64 else array.astype(INT64)


def check_ids(ids: Array, extent: int, op: str, what: str) -> None:
    """Raise IndexOutOfBounds unless all ids are in ``0 <= id < extent``."""
    if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < extent:
        bad = ids[(ids < 0) | (ids >= extent)].ravel()[0]
        raise IndexOutOfBounds(f"{op}: {what} {int(bad)} is out of bounds; wanted 0 <= {what} < {extent}")
