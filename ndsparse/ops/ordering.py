"""Operators that sort: sort, argsort, topk (dense)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.errors import ArgumentError
from ndsparse.ops import shapes
from ndsparse.ops.registry import Attrs, operator
from ndsparse.storage.chunk import Array, Shape

Returned = Literal["value", "indices", "mask", "both"]


def _order(data: Array, axis: int, ascending: bool) -> Array:
    """Return the stable order along an axis; equal elements keep theirs, NaN comes last."""
    if ascending:
        return np.argsort(data, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return np.flip(data.shape[axis] - 1 - flipped, axis)


def _seen(data: Array, axis: int | None) -> tuple[Array, int]:
    """Return the array, flattened where there is no axis, and the axis."""
    return (data.reshape(-1), 0) if axis is None else (data, shapes.normalize_axis("sort", axis, data.ndim))


@operator("data(*s) -> (*r)")
def sort(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    """Return the elements sorted along ``axis`` (None: all of them, as a vector)."""
    source, at = _seen(data, axis)
    return np.take_along_axis(source, _order(source, at, is_ascend), at)


@operator("data(*s) -> (*r)", dtypes="* -> @dtype")
def argsort(data: Any, *, axis: int | None = -1, is_ascend: bool = True, dtype: str = "float32") -> Any:
    """Return the positions of the elements in sorted order along ``axis`` (None: of the flat array)."""
    source, at = _seen(data, axis)
    return _order(source, at, is_ascend).astype(dtype)


def _same_or_flat(inputs: Any, outputs: Any, *, axis: int | None, **attrs: Any) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    if axis is None:
        return inputs, [(shapes.UNKNOWN if shapes.UNKNOWN in data else int(np.prod(data)),)]
    shapes.normalize_axis("sort", axis, len(data))
    return inputs, [data]


sort.shape(_same_or_flat)
argsort.shape(_same_or_flat)


@argsort.grad
def _(g: Any, data: Any) -> Any:
    return None


@sort.grad
def _(g: Any, data: Any, *, axis: int | None, is_ascend: bool) -> Any:
    return _backward_sort(g, data, axis=axis, is_ascend=is_ascend)


@operator("g(*r), data(*s) -> (*s)", name="_backward_sort", dtypes="T, * -> T")
def _backward_sort(g: Any, data: Any, *, axis: int | None = -1, is_ascend: bool = True, k: int = 0) -> Any:
    """Return ``g`` put where the sorted elements came from; only the first ``k``, if that is not 0."""
    source, at = _seen(data, axis)
    order = _order(source, at, is_ascend)
    if k:
        order = np.take(order, range(min(k, order.shape[at])), at)
    result = np.zeros(source.shape, g.dtype)
    np.put_along_axis(result, order, g, at)
    return result.reshape(data.shape)


@operator("data(*s) -> (*r)", outputs=lambda attrs: 2 if attrs["ret_typ"] == "both" else 1)
def topk(
    data: Any,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Returned = "indices",
    is_ascend: bool = False,
    dtype: str = "float32",
) -> Any:
    """Return the ``k`` largest (smallest, if ``is_ascend``) elements along ``axis``, in order.

    Parameters
    ----------
    data : NDArray
    axis : int or None
        None: of all elements.
    k : int
        Less than 1: all.
    ret_typ : str
        "indices" their positions, "value" their values, "both" values and positions, "mask" an array
        like ``data`` with 1 at them and 0 elsewhere.
    is_ascend : bool
    dtype : str
        dtype of the positions.
    """
    source, at = _seen(data, axis)
    order = np.take(_order(source, at, is_ascend), range(_count(k, source.shape[at])), at)
    if ret_typ == "indices":
        return order.astype(dtype)
    if ret_typ == "mask":
        mask = np.zeros(source.shape, data.dtype)
        np.put_along_axis(mask, order, np.ones((), data.dtype), at)
        return mask.reshape(data.shape)
    values = np.take_along_axis(source, order, at)
    return values if ret_typ == "value" else (values, order.astype(dtype))


def _count(k: int, size: int) -> int:
    if k > size:
        raise ArgumentError(f"topk: k is {k}, the axis has {size} elements")
    return k if k > 0 else size


@topk.shape
def _(
    inputs: Any, outputs: Any, *, axis: int | None, k: int, ret_typ: str, is_ascend: bool, dtype: str
) -> Any:
    data = inputs[0]
    if data is None or shapes.UNKNOWN in data:
        return inputs, outputs
    result = data if ret_typ == "mask" else _chosen(data, axis, k)
    return inputs, [result] * (2 if ret_typ == "both" else 1)


def _chosen(shape: Shape, axis: int | None, k: int) -> Shape:
    if axis is None:
        return (_count(k, int(np.prod(shape))),)
    at = shapes.normalize_axis("topk", axis, len(shape))
    return (*shape[:at], _count(k, shape[at]), *shape[at + 1 :])


@topk.dtype
def _(inputs: Any, outputs: Any, **attrs: Any) -> Any:
    return inputs, _topk_dtypes(inputs[0], attrs)


def _topk_dtypes(data: Any, attrs: Attrs) -> list[Any]:
    positions = np.dtype(attrs["dtype"])
    kinds = {"indices": [positions], "both": [data, positions]}
    return kinds.get(attrs["ret_typ"], [data])


@topk.grad
def _(g: Any, data: Any, *, axis: int | None, k: int, ret_typ: str, is_ascend: bool) -> Any:
    if ret_typ in ("indices", "mask"):
        return None
    values = g[0] if ret_typ == "both" else g
    return _backward_sort(values, data, axis=axis, is_ascend=is_ascend, k=max(k, 0))
