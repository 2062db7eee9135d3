"""What the sparse arrays share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import IndexOutOfBounds, NotSupportedForSparse, ShapeError
from ndsparse.ndarray.invoke import dense
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.storage import cast


class BaseSparseNDArray(NDArray):
    """What the sparse arrays share."""

    __slots__ = ()

    @property
    def data(self) -> Any:
        """The stored values as a dense array, a copy."""
        return dense(self._chunk.data.copy())

    def _aux(self, i: int) -> Any:
        return dense(self._chunk.aux(i).copy())

    @property
    def num_aux(self) -> int:
        """Number of auxiliary arrays."""
        return len(self._chunk.aux_names)

    @property
    def aux_types(self) -> list[Any]:
        """dtypes of the auxiliary arrays."""
        return [t.type for t in self._chunk.aux_types]

    @property
    def storage_shape(self) -> tuple[int, ...]:
        """Shape of ``data``."""
        return self._chunk.storage_shape

    @property
    def aux_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the auxiliary arrays."""
        return self._chunk.aux_shapes

    @property
    def writable(self) -> bool:
        """Whether the array can be written."""
        return True

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.shape)
        return f"\n<{type(self).__name__} {shape} @{self.context}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, np.dtype[Any]]:
        raise NotSupportedForSparse(
            f"a {self.stype} array does not become dense by itself; call asnumpy(), or tostype('default')"
        )

    def _export(self) -> np.ndarray[Any, np.dtype[Any]]:
        raise NotSupportedForSparse(
            f"DLPack carries dense arrays; export the data and indices of this {self.stype} array"
        )

    def _replace(self, value: Any) -> None:
        """Become ``value``: an array of any storage type, a numpy or scipy array, or a number."""
        if isinstance(value, NDArray):
            source = value._chunk
        else:
            from ndsparse.ndarray.creation import array

            if np.ndim(value) == 0 and not hasattr(value, "tocsr"):
                value = np.full(self.shape, value, self._chunk.dtype)
            source = array(value, dtype=self._chunk.dtype)._chunk
        if source is self._chunk:
            return
        if source.shape != self.shape:
            raise ShapeError(f"setting an array of shape {self.shape} from one of shape {source.shape}")
        cast(source, self._chunk)

    def _sync_copyfrom(self, source: Any) -> None:
        """Copy from a dense numpy array of the same shape."""
        self._replace(np.asarray(source))

    def _element_key(self, key: Any) -> tuple[int, ...] | None:
        """Return ``key`` as checked element coordinates, None if it is something else."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != self.ndim or not all(isinstance(k, (int, np.integer)) for k in keys):
            return None
        for k, n in zip(keys, self.shape, strict=True):
            if not -n <= k < n:
                raise IndexOutOfBounds(f"index {key!r} does not fit the shape {self.shape}")
        return tuple(int(k) % n for k, n in zip(keys, self.shape, strict=True))


def whole(key: Any) -> bool:
    """Whether an index key means the whole array."""
    if isinstance(key, tuple):
        return all(whole(k) for k in key)
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


