"""CSRNDArray: a matrix in compressed sparse row storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import IndexOutOfBounds, ShapeError
from ndsparse.kernels import csr_structure
from ndsparse.ndarray.base_sparse import BaseSparseNDArray, true_places
from ndsparse.ndarray.invoke import dense, register_class, wrap
from ndsparse.ndarray.keys import Axis, Selection, axis, expanded, is_mask, places, taken, whole, within
from ndsparse.ndarray.ndarray import NDArray, reshape_codes
from ndsparse.ndarray.operands import as_values, is_scipy_sparse, operand
from ndsparse.ops import registry
from ndsparse.ops.shape_codes import resolve_reshape
from ndsparse.storage import CSRChunk
from ndsparse.storage.structure import canonical


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

    def asscipy(self, copy: bool = False) -> Any:
        """Return a ``scipy.sparse.csr_matrix``.

        Parameters
        ----------
        copy : bool
            False: on the same memory, which scipy can read but not write; this array takes new
            buffers before it is next written.  True: on memory of its own.

        Notes
        -----
        Unsorted or repeated columns are copied in any case: scipy puts those right in place.
        """
        import scipy.sparse

        chunk = self._chunk
        shared = not copy and canonical(chunk) is chunk
        if not shared:
            chunk = chunk.copy()
        parts = [*_same_index_type(chunk.indptr, chunk.indices), chunk.data]
        if shared:
            chunk.pin()
            parts = [part.view() for part in parts]
            for part in parts:
                part.flags.writeable = False
        result = scipy.sparse.csr_matrix(self.shape, dtype=chunk.dtype)
        result.indptr, result.indices, result.data = parts
        return result

    def __getitem__(self, key: Any) -> Any:
        """Return rows, blocks or elements.

        ``a[i]`` is a csr of one row, ``a[b:e]`` and ``a[b:e, c:f]`` are csr, with steps too;
        ``a[i, j]`` is an array of shape (1,).  A list, an array or a mask in place of a slice
        selects rows or columns, in that order; two of them name elements one by one, and so does
        a mask of the shape of the array: the result is dense, of one dimension.
        """
        if whole(key, self.shape):
            return self
        if is_mask(key, self.shape):
            return self._dense(self._elements(*true_places(key)))
        rows, columns = self._axes(key)
        if rows.single and columns.single:
            return self._dense(self._elements(rows.array, columns.array))
        if _pointwise(rows, columns):
            return self._dense(self._elements(*_paired(key, rows, columns)))
        return self._block(rows, columns)

    def _axes(self, key: Any) -> tuple[Axis, Axis]:
        first, second = expanded(key, self.shape)
        return axis(first, self.shape[0]), axis(second, self.shape[1], "column")

    def _block(self, rows: Axis, columns: Axis) -> Any:
        if not rows.contiguous:
            picked = registry.get("take")(self, dense(rows.array))
            return picked._block(Axis(range(len(rows.ids))), columns)
        if not columns.contiguous:
            return self._block(rows, Axis(range(self.shape[1])))._columns(columns.ids)
        bounds = [(a.ids.start, a.ids.start + len(a.ids)) for a in (rows, columns)]  # type: ignore[union-attr]
        return registry.get("slice")(self, begin=tuple(b for b, _ in bounds), end=tuple(e for _, e in bounds))

    def _columns(self, ids: Selection) -> Any:
        (rows, columns), values = self._chunk.to_coo()
        at, new = places(columns, ids)
        chunk = CSRChunk((self.shape[0], len(ids)), self._chunk.dtype)
        kept = self._chunk.aux_types[1]
        chunk.set_coo((rows[at].astype(kept), new.astype(kept)), values[at])
        return self._beside(chunk)

    def _elements(self, rows: Any, columns: Any) -> np.ndarray[Any, Any]:
        chunk = self._chunk
        out = np.empty(len(rows), chunk.dtype)
        csr_structure.get_elements(
            canonical(chunk).csr, np.ascontiguousarray(rows), np.ascontiguousarray(columns), out
        )
        return out

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set everything, a block, or elements, with the keys of ``a[key]``; zeros are not stored.

        O(nnz + block), and a sort of the elements.
        """
        if whole(key, self.shape):
            self._replace(value)
            return
        if is_mask(key, self.shape):
            self._set_points(key, true_places(key), value)
            return
        rows, columns = self._axes(key)
        if _pointwise(rows, columns):
            self._set_points(key, _paired(key, rows, columns), value)
        elif _distinct(rows) and _distinct(columns):
            self._set_block(key, rows, columns, value)
        else:
            grid = np.meshgrid(rows.array, columns.array, indexing="ij")
            values = self._broadcast(key, value, grid[0].shape)
            self._set_points(key, (grid[0].ravel(), grid[1].ravel()), values.ravel())

    def _broadcast(self, key: Any, value: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        values = as_values(value, self._chunk.dtype)
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            raise ShapeError(
                f"setting {key!r} of an array of shape {self.shape}: the place has shape {shape}, "
                f"the value {values.shape}"
            ) from None

    def _set_points(self, key: Any, coords: Any, value: Any) -> None:
        values = self._broadcast(key, value, coords[0].shape)
        before, old = self._chunk.to_coo()
        rows, columns = (np.concatenate(pair) for pair in zip(before, coords, strict=True))
        values = np.concatenate([old, values])
        order = np.lexsort((columns, rows))  # stable: of one place, what came last is last
        rows, columns = rows[order], columns[order]
        last = np.ones(len(order), np.bool_)
        last[:-1] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        added = order[last] >= len(old)
        kept = np.flatnonzero(last)[~added | (values[order[last]] != 0)]
        self._become(rows[kept], columns[kept], values[order[kept]])

    def _set_block(self, key: Any, rows: Axis, columns: Axis, value: Any) -> None:
        if columns.single and not rows.single and np.ndim(value) == 1:
            value = as_values(value, self._chunk.dtype).reshape(-1, 1)
        (at_rows, at_columns), new = self._block_elements(key, (len(rows.ids), len(columns.ids)), value)
        (old_rows, old_columns), old = self._chunk.to_coo()
        keep = ~(within(old_rows, rows.ids) & within(old_columns, columns.ids))
        self._become(
            np.concatenate([old_rows[keep], taken(rows.ids, at_rows)]),
            np.concatenate([old_columns[keep], taken(columns.ids, at_columns)]),
            np.concatenate([old[keep], new.astype(old.dtype, copy=False)]),
        )

    def _block_elements(self, key: Any, shape: tuple[int, ...], value: Any) -> Any:
        """Return coordinates and values of what is to be stored in a block."""
        found = value if isinstance(value, NDArray) else operand(value) if is_scipy_sparse(value) else None
        if found is not None and found.stype != "default" and found.shape == shape:
            return found._chunk.to_coo()
        if found is None and np.ndim(value) == 0 and as_values(value, self._chunk.dtype) == 0:
            nothing = np.empty(0, np.int64)
            return (nothing, nothing), np.empty(0, self._chunk.dtype)
        values = self._broadcast(key, value, shape)
        coords = np.nonzero(values)
        return coords, values[coords]

    def _become(self, rows: Any, columns: Any, values: Any) -> None:
        chunk = self._chunk
        kept = chunk.aux_types[1]
        result = CSRChunk(chunk.shape, chunk.dtype)
        result.set_coo((rows.astype(kept, copy=False), columns.astype(kept, copy=False)), values)
        chunk.move_from(result)

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Return the array in another shape: csr where that is a matrix, dense otherwise."""
        codes, reverse = reshape_codes(shape, kwargs)
        target = resolve_reshape(self.shape, codes, reverse)
        out = wrap(CSRChunk(target, self._chunk.dtype)) if len(target) == 2 else None
        return registry.get("Reshape")(self, shape=codes, reverse=reverse, out=out)


def _pointwise(rows: Axis, columns: Axis) -> bool:
    """Whether both keys are arrays: they name elements."""
    return isinstance(rows.ids, np.ndarray) and isinstance(columns.ids, np.ndarray)


def _paired(key: Any, rows: Axis, columns: Axis) -> Any:
    try:
        return np.broadcast_arrays(rows.array, columns.array)
    except ValueError:
        counts = f"{len(rows.ids)} row ids and {len(columns.ids)} column ids"
        raise IndexOutOfBounds(f"index {key!r}: {counts} name no pairs") from None


def _distinct(along: Axis) -> bool:
    return isinstance(along.ids, range) or len(np.unique(along.ids)) == len(along.ids)


def _same_index_type(indptr: Any, indices: Any) -> tuple[Any, Any]:
    if indptr.dtype == indices.dtype:
        return indptr, indices
    return indptr.astype(np.int64, copy=False), indices.astype(np.int64, copy=False)


register_class(CSRNDArray, CSRChunk)
