"""Storage type ``default``: a dense array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.storage.chunk import Array, Chunk, Shape, register


@register
class DefaultChunk(Chunk):
    """A dense array; ``data`` has the shape of the array and may be a view of another's memory."""

    stype = "default"
    code = 0
    __slots__ = ()

    def _empty_data_shape(self) -> Shape:
        return self.shape

    def owned(self) -> Array:
        """Return the values to be changed in place: a copy of them first, where others hold the memory."""
        if self._pinned:
            self.adopt(self.data.copy())
        return self.data

    def check_format(self, full_check: bool = True) -> None:
        """Do nothing: any dense array is valid."""

    def to_coo(self) -> tuple[tuple[Array, ...], Array]:
        """Return coordinates and values of the nonzero elements (NaN is one, -0.0 is none)."""
        data = self.data
        coords = np.nonzero(data)
        return coords, data[coords]

    def set_coo(self, coords: Sequence[Array], values: Array) -> None:
        """Become the array with these elements, duplicates summed."""
        out = self.check_and_alloc_data(self.shape)
        out[...] = 0
        np.add.at(out, tuple(coords), values.astype(out.dtype, copy=False))

    def to_dense(self, out: Array | None = None) -> Array:
        """Return a copy."""
        if out is None:
            return self.data.copy()
        np.copyto(out, self.data, casting="unsafe")
        return out

    def set_dense(self, array: Array) -> None:
        """Copy the values in."""
        np.copyto(self.check_and_alloc_data(self.shape), array, casting="unsafe")

    @classmethod
    def of(cls, array: Any) -> DefaultChunk:
        """Return a chunk on the memory of ``array``."""
        chunk = cls(array.shape, array.dtype)
        chunk.adopt(array)
        return chunk
