"""RowSparseNDArray: rows and their ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentTypeError, IndexOutOfBounds, ShapeError
from ndsparse.kernels import row_ids, row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.ndarray.base_sparse import BaseSparseNDArray, whole
from ndsparse.ndarray.invoke import dense, register_class, wrap
from ndsparse.ndarray.ndarray import NDArray, checked_row
from ndsparse.ops import registry
from ndsparse.storage import RowSparseChunk


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

    def asscipy(self) -> Any:
        """Return a ``scipy.sparse.csr_matrix`` with the nonzeros (two-dimensional arrays only)."""
        return self.tostype("csr").asscipy()

    def __getitem__(self, key: Any) -> Any:
        """Rows and elements.

        ``a[i]`` is the dense row, ``a[b:e]`` a row_sparse array, ``a[i, j]`` an array of shape
        (1,), an array of ids gives dense rows in that order.
        """
        if whole(key):
            return self
        if isinstance(key, slice):
            return self._range(key)
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        if isinstance(first, (int, np.integer)):
            row = self._gather([checked_row(int(first), self.shape[0])])
            return dense(row)[(0, *rest)] if self.ndim > 1 else dense(row)
        if isinstance(first, (list, np.ndarray, NDArray)):
            ids = first.asnumpy() if isinstance(first, NDArray) else np.asarray(first)
            ids = np.flatnonzero(ids) if ids.dtype == np.bool_ else ids.astype(np.int64)
            rows = dense(self._gather([checked_row(int(i), self.shape[0]) for i in ids.ravel()]))
            return rows[(slice(None), *rest)] if rest else rows
        if isinstance(first, slice) and all(isinstance(k, (slice, int, np.integer)) for k in rest):
            return self._range(first)._inner(rest)
        raise IndexOutOfBounds(f"index {key!r}: expected integers, slices, or an array of row ids")

    def _gather(self, ids: Sequence[int]) -> np.ndarray[Any, Any]:
        out = np.empty((len(ids), *self.shape[1:]), self._chunk.dtype)
        row_sparse.retain_dense(self._chunk.rows, np.asarray(ids, np.int64), out)
        return out

    def _range(self, key: slice) -> Any:
        if key.step not in (None, 1):
            raise IndexOutOfBounds("a row_sparse array is sliced with step 1 along its rows")
        begin, end, _ = key.indices(self.shape[0])
        end = max(begin, end)
        ids, data = self._chunk.rows
        lo, hi = np.searchsorted(ids, [begin, end])
        chunk = RowSparseChunk((end - begin, *self.shape[1:]), self._chunk.dtype)
        chunk.adopt(data[lo:hi].copy(), ids[lo:hi] - begin)
        return wrap(chunk)

    def _inner(self, rest: tuple[Any, ...]) -> Any:
        ids, data = self._chunk.rows
        if any(not isinstance(k, slice) for k in rest):
            return dense(self.asnumpy()[(slice(None), *rest)])
        inner = np.ascontiguousarray(data[(slice(None), *rest)])
        chunk = RowSparseChunk((self.shape[0], *inner.shape[1:]), self._chunk.dtype)
        chunk.adopt(inner, ids.copy())
        return wrap(chunk)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set everything, rows, or elements; rows that are set become stored."""
        if whole(key):
            self._replace(value)
            return
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        ids = _row_selection(first, self.shape[0])
        rows = self._gather(ids) if len(ids) else np.empty((0, *self.shape[1:]), self._chunk.dtype)
        new = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
        target = rows[(0, *rest)] if isinstance(first, (int, np.integer)) and rest else None
        try:
            if isinstance(first, (int, np.integer)):
                rows[(0, *rest)] = new.reshape(target.shape) if target is not None and new.size == 1 else new
            else:
                rows[(slice(None), *rest)] = new
        except ValueError as error:
            raise ShapeError(f"setting {key!r} of an array of shape {self.shape}: {error}") from None
        order, slots = row_ids.unique_ids(np.asarray(ids, np.int64))
        last = np.zeros(len(order), np.int64)
        last[slots] = np.arange(len(ids))
        self._merge(order, rows[last])

    def _merge(self, ids: np.ndarray[Any, Any], rows: np.ndarray[Any, Any]) -> None:
        mine = self._chunk
        result = RowSparseChunk(mine.shape, mine.dtype)
        out = result.check_and_alloc(row_sparse.union_count(mine.indices, ids))
        row_sparse.union_fill(Op.REPLACE, mine.rows, (ids, np.ascontiguousarray(rows)), out)
        mine.move_from(result)


def _row_selection(key: Any, rows: int) -> list[int]:
    if isinstance(key, slice):
        return list(range(rows)[key])
    if isinstance(key, (int, np.integer)):
        return [checked_row(int(key), rows)]
    if isinstance(key, (list, np.ndarray, NDArray)):
        ids = key.asnumpy() if isinstance(key, NDArray) else np.asarray(key)
        ids = np.flatnonzero(ids) if ids.dtype == np.bool_ else ids
        return [checked_row(int(i), rows) for i in ids.ravel()]
    raise ArgumentTypeError(f"index {key!r}: expected integers, slices, or an array of row ids")


register_class(RowSparseNDArray, RowSparseChunk)
