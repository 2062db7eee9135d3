"""What the sparse arrays share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ndsparse.errors import NotSupportedForSparse, ShapeError
from ndsparse.ndarray.invoke import dense
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ndarray.operands import as_values, is_scipy_sparse, operand
from ndsparse.storage import Chunk, DefaultChunk, cast


class BaseSparseNDArray(NDArray):
    """What the sparse arrays share."""

    __slots__ = ()

    @property
    def data(self) -> Any:
        """The stored values as a dense array, a copy."""
        return dense(self._chunk.data.copy())

    def _dense(self, array: np.ndarray[Any, Any]) -> Any:
        return self._beside(DefaultChunk.of(array))

    def _aux(self, i: int) -> Any:
        return dense(self._chunk.aux(i).copy())

    @property
    def num_aux(self) -> int:
        """Number of auxiliary arrays."""
        return len(self._chunk.aux_names)

    @property
    def aux_types(self) -> list[Any]:
        """Types of the elements of the auxiliary arrays."""
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
            f"a {self.stype} array does not become dense by itself; call asnumpy() or tostype('default'), "
            "or asscipy() for a scipy matrix"
        )

    def _export(self) -> np.ndarray[Any, np.dtype[Any]]:
        raise NotSupportedForSparse(
            f"DLPack carries dense arrays; export the data and indices of this {self.stype} array"
        )

    def _replace(self, value: Any) -> None:
        """Become ``value``: an array of any storage type, a numpy or scipy array, or a number."""
        source = self._source(value)
        if source is None:
            self._chunk.copy_from(self._chunk.fresh())
        elif source is not self._chunk:
            if source.shape != self.shape:
                raise ShapeError(f"setting an array of shape {self.shape} from one of shape {source.shape}")
            cast(source, self._chunk)

    def _source(self, value: Any) -> Chunk | None:
        """Return the content that ``value`` stands for; None for the number 0."""
        if isinstance(value, NDArray):
            return value._chunk
        if is_scipy_sparse(value):
            found: Chunk = operand(value)._chunk
            return found
        values = as_values(value, self._chunk.dtype)
        if values.ndim == 0:
            if values == 0:
                return None
            values = np.full(self.shape, values)
        return DefaultChunk.of(values)

    def _sync_copyfrom(self, source: Any) -> None:
        """Copy from a dense numpy array of the same shape."""
        self._replace(np.asarray(source))

    @property
    def nnz(self) -> int:
        """Number of stored elements (zeros among them too)."""
        return math.prod(self._chunk.storage_shape)


def true_places(mask: Any) -> tuple[Any, ...]:
    """Return the coordinates of the elements of a mask that are not zero."""
    if isinstance(mask, NDArray) and mask.stype != "default":
        coords, values = mask._chunk.to_coo()
        return tuple(c[values != 0] for c in coords)
    return np.nonzero(mask._chunk.data if isinstance(mask, NDArray) else mask)
