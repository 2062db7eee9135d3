"""``pick``: one element of each row."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import csr_structure
from ndsparse.ops import shapes
from ndsparse.ops.operands import give
from ndsparse.ops.registry import operator
from ndsparse.ops.take import resolved_ids
from ndsparse.storage import CSRChunk, DefaultChunk
from ndsparse.storage.chunk import Array, Shape
from ndsparse.storage.structure import canonical

Mode = Literal["clip", "wrap"]


@operator("data(*s), index(*i) -> (*r)", dtypes="T, * -> T")
def pick(data: Any, index: Any, *, axis: int | None = -1, keepdims: bool = False, mode: Mode = "clip") -> Any:
    """Return the element of ``data`` that ``index`` names along ``axis``, for each place on the other axes.

    Parameters
    ----------
    data : NDArray
    index : NDArray
        Shape of ``data`` without ``axis``, or with 1 there; any dtype.
    axis : int or None
        None: ``data`` seen as a vector.
    keepdims : bool
        Keep the axis, with size 1.
    mode : str
        What an index out of range means: "clip" the first or last element, "wrap" counting on.
    """
    source = data.reshape(-1) if axis is None else data
    at = 0 if axis is None else shapes.normalize_axis("pick", axis, data.ndim)
    ids = _indices(index, source.shape, at, mode)
    result = np.take_along_axis(source, ids, at)
    return result if keepdims else result.squeeze(at).reshape(_result(data.shape, axis, False))


def _indices(index: Array, shape: Shape, axis: int, mode: str) -> Array:
    """Return the indices with a dimension of size 1 at ``axis``."""
    ids = resolved_ids(index, shape[axis], mode, "pick")
    return ids.reshape(*shape[:axis], 1, *shape[axis + 1 :])


def _result(shape: Shape, axis: int | None, keepdims: bool) -> Shape:
    if axis is None:
        return (1,) * len(shape) if keepdims else (1,)
    at = shapes.normalize_axis("pick", axis, len(shape))
    middle = (1,) if keepdims else ()
    return (*shape[:at], *middle, *shape[at + 1 :]) or (1,)


@pick.shape
def _(inputs: Any, outputs: Any, *, axis: int | None, keepdims: bool, mode: str) -> Any:
    data, index = inputs
    if data is None:
        return inputs, outputs
    plain = _result(data, axis, False)
    if index is None:
        index = _result(data, axis, keepdims)
    elif shapes.merge(index, plain) is None and shapes.merge(index, _result(data, axis, True)) is None:
        raise ShapeError(f"pick: index must have shape {plain} for data of shape {data}, got {index}")
    return [data, index], [_result(data, axis, keepdims)]


@pick.grad
def _(g: Any, data: Any, index: Any, *, axis: int | None, mode: str) -> Any:
    return _backward_pick(g, index, data, axis=axis, mode=mode), None


@operator("g(*r), index(*i), data(*s) -> (*s)", dtypes="T, *, * -> T")
def _backward_pick(g: Any, index: Any, data: Any, *, axis: int | None = -1, mode: Mode = "clip") -> Any:
    """Return zeros of the shape of ``data`` with ``g`` at the picked places."""
    shape = (data.size,) if axis is None else data.shape
    at = 0 if axis is None else shapes.normalize_axis("pick", axis, data.ndim)
    ids = _indices(index, shape, at, mode)
    result = np.zeros(shape, g.dtype)
    np.put_along_axis(result, ids, g.reshape(ids.shape), at)
    return result.reshape(data.shape)


@pick.on("csr, default -> default", when=lambda attrs: attrs["axis"] in (-1, 1))
def _(data: CSRChunk, index: DefaultChunk, out: DefaultChunk, *, mode: str) -> None:
    columns = resolved_ids(index.data, data.shape[1], mode, "pick").ravel()
    found = np.empty(data.shape[0], data.dtype)
    csr_structure.get_elements(canonical(data).csr, np.arange(data.shape[0]), columns, found)
    give(out, found)
