"""Storage type ``row_sparse``: the rows that hold anything, and their ids.

::

    dense            indices  data
    [[0, 0],         [1, 3]   [[1, 2],
     [1, 2],                   [0, 3]]
     [0, 0],
     [0, 3]]

``indices`` is ascending and unique.  A *row* is everything below one index of the first axis, so
arrays of any number of dimensions from 1 up can be row_sparse.  Gradients of embeddings and of
``dot(csr, weight)`` have this form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.errors import FormatCheckError, ShapeError
from ndsparse.kernels import border, csr_check, row_ids, row_sparse
from ndsparse.kernels import cast as cast_kernels
from ndsparse.storage.chunk import INT64, Array, Chunk, Shape, register


@register
class RowSparseChunk(Chunk):
    """Stored rows ``data`` of shape (nnr, ...) and their ids ``indices`` of shape (nnr,)."""

    stype = "row_sparse"
    code = 1
    aux_names = ("indices",)
    __slots__ = ()

    @classmethod
    def check_shape(cls, shape: Shape) -> None:
        """Raise unless there is at least one dimension."""
        if not shape:
            raise ShapeError("shape: a row_sparse array has at least 1 dimension, got ()")

    def _empty_data_shape(self) -> Shape:
        return (0, *self.shape[1:])

    @property
    def indices(self) -> Array:
        """Ids of the stored rows, ascending, shape (nnr,)."""
        return self.aux(0)

    @property
    def rows(self) -> tuple[Array, Array]:
        """``(indices, data)``, as kernels take them."""
        return self.aux(0), self.data

    def check_and_alloc(self, count: int, dtype: np.dtype[Any] | None = None) -> tuple[Array, Array]:
        """Return ``(indices, data)`` for ``count`` rows, to be written.

        ``dtype`` (default: that of the ids before) is a wish: the ids are int64 where rows need it.
        """
        wanted = border.index_dtype(self.index_extent(count), self.aux_types[0] if dtype is None else dtype)
        ids = self.check_and_alloc_aux(0, (count,), wanted)
        return ids, self.check_and_alloc_data((count, *self.shape[1:]))

    def check_format(self, full_check: bool = True) -> None:
        """Check that ids and rows agree; in full, that ids are ascending, unique and in range."""
        ids, data = self.rows
        if ids.ndim != 1 or data.shape != (len(ids), *self.shape[1:]):
            raise FormatCheckError(
                f"row_sparse: {ids.shape} ids and rows {data.shape} do not fit the shape {self.shape}"
            )
        if not full_check:
            return
        code, at = csr_check.check_row_ids(ids, self.shape[0])
        if code:
            wanted = f"0 <= id < {self.shape[0]}, ascending and unique"
            raise FormatCheckError(f"row_sparse: indices[{at}] is {int(ids[at])}; wanted {wanted}")

    def index_extent(self, stored: int) -> int:
        """Return the largest row id: there are no offsets to hold."""
        return self.shape[0] - 1

    def in_bounds(self) -> bool:
        """Whether the ids are in range.  O(nnr)."""
        ids = self.aux(0)
        return not len(ids) or bool(ids.min() >= 0 and ids.max() < self.shape[0])

    def is_canonical(self) -> bool:
        """Whether the ids ascend without duplicates.  O(nnr)."""
        return csr_check.check_row_ids(self.aux(0), self.shape[0])[0] == 0

    def canonicalize(self) -> None:
        """Sort the ids; rows with the same id are summed.  O(nnr log nnr)."""
        if self.is_canonical():
            return
        ids, data = self.rows
        unique, slots = row_ids.unique_ids(ids)
        summed = np.zeros((len(unique), *data.shape[1:]), data.dtype)
        row_sparse.sum_duplicates(data, slots, summed)
        self.adopt(summed, unique.astype(ids.dtype, copy=False))

    def to_coo(self) -> tuple[tuple[Array, ...], Array]:
        """Return coordinates and values of the nonzero elements of the stored rows."""
        ids, data = self.rows
        if csr_check.check_row_ids(ids, self.shape[0])[0]:
            twin = RowSparseChunk(self.shape, self.dtype)
            twin.adopt(data, ids)
            twin.canonicalize()
            ids, data = twin.rows
        inner = np.nonzero(data)
        return (ids[inner[0]].astype(INT64, copy=False), *inner[1:]), data[inner]

    def set_coo(self, coords: Sequence[Array], values: Array) -> None:
        """Store the rows that the coordinates touch; duplicates are summed."""
        unique, slots = row_ids.unique_ids(np.asarray(coords[0], INT64))
        ids, data = self.check_and_alloc(len(unique), border.index_dtype(self.shape[0], coords[0].dtype))
        np.copyto(ids, unique)
        data[...] = 0
        np.add.at(data, (slots, *coords[1:]), values.astype(data.dtype, copy=False))

    def to_dense(self, out: Array | None = None) -> Array:
        """Return the dense array.  Cost: one write of the result and one read of the rows."""
        fresh = out is None
        if out is None:
            out = np.zeros(self.shape, self.dtype)
        cast_kernels.rows_to_dense(self.rows, out, zeroed=fresh)
        return out

    def set_dense(self, array: Array) -> None:
        """Store the rows of ``array`` that hold a nonzero."""
        ids = cast_kernels.dense_to_rows_count(array)
        out_ids, data = self.check_and_alloc(len(ids))
        np.copyto(out_ids, ids)
        cast_kernels.dense_to_rows_fill(array, ids, data)

    @property
    def width(self) -> int:
        """Elements of one row."""
        return math.prod(self.shape[1:])

    @property
    def complete(self) -> bool:
        """Whether every row is stored, so that row ``i`` is ``data[i]``."""
        return len(self.aux(0)) == self.shape[0]
