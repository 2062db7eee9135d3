"""CSRNDArray: a matrix in compressed sparse row storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.errors import IndexOutOfBounds
from ndsparse.kernels import csr_structure
from ndsparse.ndarray.base_sparse import BaseSparseNDArray, whole
from ndsparse.ndarray.invoke import dense, register_class
from ndsparse.ndarray.ndarray import NDArray, checked_row
from ndsparse.ops import registry
from ndsparse.storage import CSRChunk


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse row storage.  Made by :func:`ndsparse.nd.sparse.csr_matrix`."""

    __slots__ = ()
    _chunk: CSRChunk

    @property
    def indptr(self) -> Any:
        """Row starts, shape (rows + 1,), a copy."""
        return self._aux(0)

    @property
    def indices(self) -> Any:
        """Column ids, shape (nnz,), a copy."""
        return self._aux(1)

    @property
    def nnz(self) -> int:
        """Number of stored elements."""
        return self._chunk.nnz

    def asscipy(self) -> Any:
        """Return a ``scipy.sparse.csr_matrix`` on the same memory.

        The memory is the caller's from then on: this array takes new buffers before it is next
        written by an operator.
        """
        import scipy.sparse

        chunk = self._chunk
        result = scipy.sparse.csr_matrix(self.shape, dtype=chunk.dtype)
        result.indptr, result.indices = _same_index_type(*(chunk.aux(i) for i in (0, 1)))
        result.data = chunk.data
        chunk.pin()
        return result

    def __getitem__(self, key: Any) -> Any:
        """Rows, blocks and elements.

        ``a[i]`` is a csr of one row, ``a[b:e]`` and ``a[b:e, c:f]`` are csr, ``a[i, j]`` an array
        of shape (1,), an array of row ids or a boolean mask selects rows.
        """
        if whole(key):
            return self
        point = self._element_key(key)
        if point is not None:
            return dense(_elements(self._chunk, [point[0]], [point[1]]))
        if isinstance(key, (int, np.integer)):
            row = checked_row(int(key), self.shape[0])
            return self._block(slice(row, row + 1), slice(None))
        if isinstance(key, slice):
            return self._block(key, slice(None))
        if isinstance(key, tuple) and len(key) == 2:
            if all(isinstance(k, (slice, int, np.integer)) for k in key):
                return self._block(*(_as_slice(k, n) for k, n in zip(key, self.shape, strict=True)))
            if isinstance(key[1], slice) and key[1] == slice(None):
                key = key[0]
        if isinstance(key, (list, np.ndarray, NDArray)):
            return self._take(key)
        raise IndexOutOfBounds(f"index {key!r}: expected integers, slices, or one array of row ids")

    def _block(self, rows: slice, columns: slice) -> Any:
        if rows.step not in (None, 1):
            return self._take(np.arange(self.shape[0])[rows])[:, columns]
        if columns.step not in (None, 1):
            raise IndexOutOfBounds("a csr array is sliced with step 1 along its columns")
        (r0, r1, _), (c0, c1, _) = (s.indices(n) for s, n in zip((rows, columns), self.shape, strict=True))
        return registry.get("slice")(self, begin=(r0, c0), end=(max(r0, r1), max(c0, c1)))

    def _take(self, key: Any) -> Any:
        ids = key.asnumpy() if isinstance(key, NDArray) else np.asarray(key)
        if ids.dtype == np.bool_:
            if ids.shape != self.shape[:1]:
                raise IndexOutOfBounds(f"a mask of shape {ids.shape} does not fit {self.shape[0]} rows")
            ids = np.flatnonzero(ids)
        ids = ids.astype(np.int64)
        if ids.ndim != 1:
            raise IndexOutOfBounds(f"row ids must have 1 dimension, got {ids.ndim}")
        outside = (ids < -self.shape[0]) | (ids >= self.shape[0])
        if outside.any():
            raise IndexOutOfBounds(f"row {int(ids[outside][0])} is out of range for {self.shape[0]} rows")
        return registry.get("take")(self, dense(ids % max(self.shape[0], 1)))

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set everything, a block, or an element; what was stored in the block is replaced."""
        if whole(key):
            self._replace(value)
            return
        rows, columns = self._region(key)
        chunk = self._chunk
        (old_rows, old_columns), old_values = chunk.to_coo()
        keep = ~(np.isin(old_rows, rows) & np.isin(old_columns, columns))
        new = np.broadcast_to(
            value.asnumpy() if isinstance(value, NDArray) else np.asarray(value), (len(rows), len(columns))
        )
        at = np.nonzero(new)
        result = chunk.fresh()
        result.set_coo(
            (
                np.concatenate([old_rows[keep], rows[at[0]]]),
                np.concatenate([old_columns[keep], columns[at[1]]]),
            ),
            np.concatenate([old_values[keep], new[at].astype(chunk.dtype)]),
        )
        chunk.move_from(result)

    def _region(self, key: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        keys = key if isinstance(key, tuple) else (key, slice(None))
        if len(keys) != 2 or not all(isinstance(k, (slice, int, np.integer)) for k in keys):
            raise IndexOutOfBounds(f"index {key!r}: expected integers and slices")
        parts = [np.arange(n)[_as_slice(k, n)] for k, n in zip(keys, self.shape, strict=True)]
        return parts[0], parts[1]


def _as_slice(key: Any, n: int) -> slice:
    if isinstance(key, slice):
        return key
    row = checked_row(int(key), n)
    return slice(row, row + 1)


def _elements(chunk: CSRChunk, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray[Any, Any]:
    out = np.empty(len(rows), chunk.dtype)
    csr_structure.get_elements(chunk.csr, np.asarray(rows, np.int64), np.asarray(columns, np.int64), out)
    return out


def _same_index_type(indptr: Any, indices: Any) -> tuple[Any, Any]:
    if indptr.dtype == indices.dtype:
        return indptr, indices
    return indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False)


register_class(CSRNDArray, CSRChunk)
