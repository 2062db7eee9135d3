"""``gather_nd`` and ``scatter_nd``: elements or slices by their coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.ops import shapes
from ndsparse.ops.operands import as_ids, check_ids
from ndsparse.ops.registry import operator
from ndsparse.storage.chunk import Array, Shape


@operator("data(*s), indices(m, *y) -> (*r)", dtypes="T, * -> T")
def gather_nd(data: Any, indices: Any) -> Any:
    """Return ``data[indices[0], indices[1], ...]``.

    Parameters
    ----------
    data : NDArray
    indices : NDArray, shape (m, ...)
        Coordinates on the first ``m`` axes of ``data``; negative ones count from the end.

    Raises
    ------
    IndexOutOfBounds
        A coordinate is outside of ``data``.
    """
    return data[_coordinates("gather_nd", indices, data.shape)]


def _coordinates(op: str, indices: Array, shape: Shape) -> tuple[Array, ...]:
    ids = as_ids(indices)
    result = []
    for row, extent in zip(ids, shape, strict=False):
        place = np.where(row < 0, row + extent, row)
        check_ids(place, extent, op, "index")
        result.append(place)
    return tuple(result)


@gather_nd.shape
def _(inputs: Any, outputs: Any) -> Any:
    data, indices = inputs
    if data is None or indices is None or not indices or indices[0] == shapes.UNKNOWN:
        return inputs, outputs
    if indices[0] > len(data):
        raise ShapeError(f"gather_nd: indices of shape {indices} name more axes than data {data} has")
    return inputs, [(*indices[1:], *data[indices[0] :])]


@gather_nd.grad
def _(g: Any, data: Any, indices: Any) -> Any:
    return _backward_gather_nd(g, indices, data), None


@operator("g(*r), indices(m, *y), data(*s) -> (*s)", dtypes="T, *, * -> T")
def _backward_gather_nd(g: Any, indices: Any, data: Any) -> Any:
    """Return zeros of the shape of ``data`` with ``g`` added at the coordinates."""
    result = np.zeros(data.shape, g.dtype)
    np.add.at(result, _coordinates("gather_nd", indices, data.shape), g)
    return result


@operator("data(*r), indices(m, *y) -> (*s)", dtypes="T, * -> T")
def scatter_nd(data: Any, indices: Any, *, shape: tuple[int, ...]) -> Any:
    """Return zeros of ``shape`` with ``data`` put at the coordinates; the last of equal ones wins."""
    result = np.zeros(shape, data.dtype)
    result[_coordinates("scatter_nd", indices, shape)] = data
    return result


@scatter_nd.shape
def _(inputs: Any, outputs: Any, *, shape: tuple[int, ...]) -> Any:
    return inputs, [shape]


@scatter_nd.grad
def _(g: Any, data: Any, indices: Any) -> Any:
    return gather_nd(g, indices), None
