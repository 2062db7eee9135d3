"""Broadcasting itself: an array repeated to a shape.

The result is dense.  Of a sparse array only what is repeated is made dense first, not the result
twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.ops import shapes
from ndsparse.ops.binary_gradient import aligned
from ndsparse.ops.broadcast import sum_like
from ndsparse.ops.registry import operator
from ndsparse.storage import DefaultChunk

Shape = tuple[int, ...]


def _summed(g: Any, data: Any) -> Any:
    return sum_like(g, data)


def _target(op: str, shape: Shape, wanted: tuple[int, ...]) -> Shape:
    """Return the shape to broadcast to; a 0 keeps the dimension, as in MXNet."""
    if len(wanted) < len(shape):
        raise ShapeError(f"{op}: cannot broadcast an array of shape {shape} to {wanted}")
    own = aligned(shape, len(wanted))
    target = tuple(n if w == 0 and n != 0 else w for n, w in zip(own, wanted, strict=True))
    if any(n not in (1, -1, w) for n, w in zip(own, target, strict=True)):
        raise ShapeError(f"{op}: cannot broadcast an array of shape {shape} to {wanted}")
    return target


@operator("data(*s) -> (*t)")
def broadcast_to(data: Any, *, shape: tuple[int, ...] = ()) -> Any:
    """Return ``data`` repeated to ``shape``; a 0 in ``shape`` keeps the dimension.  Dense."""
    return np.broadcast_to(data, _target("broadcast_to", data.shape, shape))


@broadcast_to.shape
def _(inputs: Any, outputs: Any, *, shape: tuple[int, ...]) -> Any:
    if inputs[0] is None:
        return inputs, outputs
    return inputs, [_target("broadcast_to", inputs[0], shape)]


broadcast_to.grad(_summed)


@operator("lhs(*a), rhs(*b) -> (*b)", dtypes="T, * -> T")
def broadcast_like(
    lhs: Any, rhs: Any, *, lhs_axes: tuple[int, ...] | None = None, rhs_axes: tuple[int, ...] | None = None
) -> Any:
    """Return ``lhs`` repeated to the shape of ``rhs``, or along ``lhs_axes`` to its ``rhs_axes``.  Dense."""
    return np.broadcast_to(lhs, _like_shape(lhs.shape, rhs.shape, lhs_axes, rhs_axes))


def _like_shape(lhs: Shape, rhs: Shape, lhs_axes: Any, rhs_axes: Any) -> Shape:
    if lhs_axes is None or rhs_axes is None:
        return _target("broadcast_like", lhs, rhs)
    result = list(lhs)
    for a, b in zip(lhs_axes, rhs_axes, strict=True):
        result[shapes.normalize_axis("broadcast_like", a, len(lhs))] = rhs[
            shapes.normalize_axis("broadcast_like", b, len(rhs))
        ]
    return _target("broadcast_like", lhs, tuple(result))


@broadcast_like.shape
def _(inputs: Any, outputs: Any, *, lhs_axes: Any, rhs_axes: Any) -> Any:
    if inputs[0] is None or inputs[1] is None:
        return inputs, outputs
    return inputs, [_like_shape(inputs[0], inputs[1], lhs_axes, rhs_axes)]


broadcast_like.grad(lambda g, lhs, rhs: (sum_like(g, lhs), None))


@operator("data(*s) -> (*t)", aliases=("broadcast_axes",))
def broadcast_axis(data: Any, *, axis: tuple[int, ...] = (), size: tuple[int, ...] = ()) -> Any:
    """Return ``data`` with the axes ``axis``, which have length 1, repeated ``size`` times.  Dense."""
    return np.broadcast_to(data, _axis_shape(data.shape, axis, size))


def _axis_shape(shape: Shape, axis: tuple[int, ...], size: tuple[int, ...]) -> Shape:
    result = list(shape)
    for a, n in zip(axis, size, strict=True):
        a = shapes.normalize_axis("broadcast_axis", a, len(shape))
        if shape[a] not in (1, -1):
            raise ShapeError(f"broadcast_axis: axis {a} of shape {shape} has length {shape[a]}; wanted 1")
        result[a] = n
    return tuple(result)


@broadcast_axis.shape
def _(inputs: Any, outputs: Any, *, axis: tuple[int, ...], size: tuple[int, ...]) -> Any:
    return (inputs, outputs) if inputs[0] is None else (inputs, [_axis_shape(inputs[0], axis, size)])


broadcast_axis.grad(_summed)


@broadcast_to.on("csr|row_sparse -> default")
def _(data: Any, out: DefaultChunk) -> None:
    _spread(data, out)


@broadcast_like.on("csr|row_sparse, * -> default")
def _(lhs: Any, rhs: Any, out: DefaultChunk) -> None:
    _spread(lhs, out)


@broadcast_like.on("default, csr|row_sparse -> default")
def _(lhs: DefaultChunk, rhs: Any, out: DefaultChunk) -> None:
    np.copyto(out.check_and_alloc_data(out.shape), np.broadcast_to(lhs.data, out.shape), casting="unsafe")


def _spread(data: Any, out: DefaultChunk) -> None:
    """Write a sparse array, repeated, into a dense one; only what is repeated is made dense first."""
    target = out.check_and_alloc_data(out.shape)
    np.copyto(target, np.broadcast_to(data.to_dense(), out.shape), casting="unsafe")
