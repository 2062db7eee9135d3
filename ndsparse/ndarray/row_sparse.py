"""RowSparseNDArray: rows and their ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import IndexOutOfBounds, ShapeError
from ndsparse.kernels import row_ids, row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.ndarray.base_sparse import BaseSparseNDArray, true_places
from ndsparse.ndarray.invoke import dense, register_class, wrap
from ndsparse.ndarray.keys import (
    Axis,
    IdArray,
    axis,
    everything,
    expanded,
    is_mask,
    numpy_key,
    places,
    taken,
    whole,
    within,
)
from ndsparse.ndarray.ndarray import NDArray, reshape_codes
from ndsparse.ndarray.operands import as_values
from ndsparse.ops import registry
from ndsparse.ops.shape_codes import resolve_reshape
from ndsparse.storage import RowSparseChunk
from ndsparse.storage.structure import canonical


class RowSparseNDArray(BaseSparseNDArray):
    """Rows and their ids.  Made by :func:`ndsparse.nd.sparse.row_sparse_array`."""

    __slots__ = ()
    _chunk: RowSparseChunk

    @property
    def indices(self) -> Any:
        """Ids of the stored rows, ascending, a copy."""
        return self._aux(0)

    def retain(self, indices: Any) -> Any:
        """Return the array with only the rows whose ids are given."""
        ids = indices if isinstance(indices, NDArray) else dense(np.asarray(indices))
        return registry.get("_sparse_retain")(self, ids)

    def asscipy(self, copy: bool = False) -> Any:
        """Return a ``scipy.sparse.csr_matrix`` with the nonzeros (of arrays of two dimensions)."""
        return self.tostype("csr").asscipy(copy)

    def __getitem__(self, key: Any) -> Any:
        """Return rows or elements.

        ``a[i]`` is the dense row and ``a[i, j]`` an array of shape (1,); ``a[b:e]`` is row_sparse,
        with steps too, and so is ``a[b:e, c:f]``; a list, an array or a mask of rows gives those
        rows, dense, in that order; a mask of the shape of the array gives elements.
        """
        if whole(key, self.shape):
            return self
        if is_mask(key, self.shape):
            coords = true_places(key)
            found = self._gather(coords[0])
            return self._dense(found[(np.arange(len(found)), *coords[1:])])
        first, *rest = expanded(key, self.shape)
        rows = axis(first, self.shape[0])
        if rows.single:
            found = self._dense(self._gather(rows.array))
            return found[(0, *rest)] if rest else found
        if not isinstance(rows.ids, range):
            found = self._dense(self._gather(rows.array))
            return found if all(map(everything, rest)) else found[(slice(None), *rest)]
        part = self._range(rows.ids)
        return part if all(map(everything, rest)) else part._inner(tuple(rest))

    def _gather(self, ids: IdArray) -> np.ndarray[Any, Any]:
        out = np.empty((len(ids), *self.shape[1:]), self._chunk.dtype)
        row_sparse.retain_dense(canonical(self._chunk).rows, ids, out)
        return out

    def _range(self, wanted: range) -> Any:
        ids, data = canonical(self._chunk).rows
        at, new = places(ids, wanted)
        if wanted.step < 0:
            at, new = at[::-1], new[::-1]
        chunk = RowSparseChunk((len(wanted), *self.shape[1:]), self._chunk.dtype)
        chunk.adopt(data[at], np.ascontiguousarray(new, ids.dtype))
        return self._beside(chunk)

    def _inner(self, rest: tuple[Any, ...]) -> Any:
        """Return a part of every row: row_sparse where rows keep a shape of their own."""
        ids, data = self._chunk.rows
        try:
            inner = np.ascontiguousarray(data[(slice(None), *numpy_key(rest))])
        except IndexError as error:
            raise IndexOutOfBounds(
                f"index {rest!r} does not fit rows of shape {self.shape[1:]}: {error}"
            ) from None
        chunk = RowSparseChunk((self.shape[0], *inner.shape[1:]), self._chunk.dtype)
        chunk.adopt(inner, ids.copy())
        return (
            self._beside(chunk) if all(isinstance(k, slice) for k in rest) else self._dense(chunk.to_dense())
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set everything, rows, or elements; rows that are set become stored, also if they are zero.

        The number 0 stores nothing: rows that are stored lose what is set.  O(stored + set rows).
        """
        if whole(key, self.shape):
            self._replace(value)
            return
        if is_mask(key, self.shape):
            self._set_masked(key, value)
            return
        first, *rest = expanded(key, self.shape)
        rows, inner = axis(first, self.shape[0]), numpy_key(tuple(rest))
        all_of_them = all(map(everything, rest))
        part = (len(rows.ids), *self.shape[1:])
        sparse = isinstance(value, NDArray) and value.stype == "row_sparse" and value.shape == part
        if np.ndim(value) == 0 and as_values(value, self._chunk.dtype) == 0:
            self._clear(rows, None if all_of_them else inner)
        elif sparse and all_of_them and isinstance(rows.ids, range) and rows.ids.step > 0:
            self._clear(rows, None)
            ids, data = canonical(value._chunk).rows
            self._merge(taken(rows.ids, ids), data)
        else:
            self._set_rows(key, rows, inner, value)

    def _clear(self, rows: Axis, inner: Any) -> None:
        """Drop rows (``inner`` None), or zero a part of those that are stored."""
        ids, data = canonical(self._chunk).rows
        chosen = within(ids, rows.ids)
        result = RowSparseChunk(self.shape, self._chunk.dtype)
        if inner is None:
            result.adopt(data[~chosen], ids[~chosen])
        else:
            changed = data.copy()
            part = changed[chosen]
            part[(slice(None), *inner)] = 0
            changed[chosen] = part
            result.adopt(changed, ids.copy())
        self._chunk.move_from(result)

    def _set_rows(self, key: Any, along: Axis, inner: tuple[Any, ...], value: Any) -> None:
        ids = along.array
        rows = self._gather(ids)
        values = as_values(value, self._chunk.dtype)
        target = rows[0] if along.single and self.ndim > 1 else rows
        where = inner if along.single and self.ndim > 1 else (slice(None), *inner)
        try:
            if values.shape == (1,) and target[where].ndim == 0:
                values = values.reshape(())
            target[where] = values
        except IndexError as error:
            raise IndexOutOfBounds(f"index {key!r} does not fit the shape {self.shape}: {error}") from None
        except ValueError as error:
            raise ShapeError(f"setting {key!r} of an array of shape {self.shape}: {error}") from None
        order, slots = row_ids.unique_ids(ids)
        last = np.zeros(len(order), np.int64)
        last[slots] = np.arange(len(ids))
        self._merge(order, rows[last])

    def _set_masked(self, key: Any, value: Any) -> None:
        coords = true_places(key)
        order, slots = row_ids.unique_ids(coords[0])
        rows = self._gather(order)
        try:
            rows[(slots, *coords[1:])] = as_values(value, self._chunk.dtype)
        except ValueError as error:
            raise ShapeError(f"setting {len(slots)} elements by a mask: {error}") from None
        self._merge(order, rows)

    def _merge(self, ids: IdArray, rows: np.ndarray[Any, Any]) -> None:
        mine = canonical(self._chunk)
        result = RowSparseChunk(mine.shape, mine.dtype)
        count = row_sparse.union_count(mine.indices, ids)
        out = result.check_and_alloc(count, mine.indices.dtype)
        row_sparse.union_fill(Op.REPLACE, mine.rows, (ids, np.ascontiguousarray(rows)), out)
        self._chunk.move_from(result)

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Return the array in another shape: row_sparse where rows stay rows, dense otherwise."""
        codes, reverse = reshape_codes(shape, kwargs)
        target = resolve_reshape(self.shape, codes, reverse)
        kept = target[:1] == self.shape[:1]
        out = wrap(RowSparseChunk(target, self._chunk.dtype)) if kept else None
        return registry.get("Reshape")(self, shape=codes, reverse=reverse, out=out)


register_class(RowSparseNDArray, RowSparseChunk)
