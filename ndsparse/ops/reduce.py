"""Reductions over axes: sum, mean, prod, max, min, and those that skip nan.

One table.  Sums and means have rows for csr and row_sparse over any axes; their result is dense.  A
reduction over everything gives shape (1,), as in MXNet 1.x; ``exclude`` reduces over the axes that are
not named.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.ops.axes import Axis, axes_of, reduced_shape, shape_rule, spread
from ndsparse.ops.reduce_sparse import sparse_rows
from ndsparse.ops.registry import Operator, operator
from ndsparse.storage import DefaultChunk

Function = Callable[..., Any]
Axes = tuple[int, ...]


def _count(shape: tuple[int, ...], axes: Axes) -> int:
    return math.prod(shape[a] for a in axes)


def _mean(data: Any, axis: Axes, keepdims: bool) -> Any:
    return np.sum(data, axis=axis, keepdims=keepdims) / np.float64(_count(data.shape, axis))


def _extreme(function: Function, empty: float) -> Function:
    """Return a maximum or minimum that is ``empty`` (for integers the limit of the dtype) of nothing."""

    def reduce(data: Any, axis: Axes, keepdims: bool) -> Any:
        if data.size or _count(data.shape, axis) != 0:
            return function(data, axis=axis, keepdims=keepdims)
        start: Any = empty
        if data.dtype.kind in "iu":
            limits = np.iinfo(data.dtype)
            start = limits.min if empty < 0 else limits.max
        return function(data, axis=axis, keepdims=keepdims, initial=start)

    return reduce


def _product_slope(x: Any, y: Any, axes: Axes) -> Any:
    """Return the product of the other elements, also where an element is 0."""
    zero = x == 0
    zeros = zero.sum(axis=axes, keepdims=True)
    rest = np.where(zero, 1, x).prod(axis=axes, keepdims=True)
    return np.where(zeros == 0, rest / np.where(zero, 1, x), np.where((zeros == 1) & zero, rest, 0))


def _nan_product_slope(x: Any, y: Any, axes: Axes) -> Any:
    missing = np.isnan(x)
    return np.where(missing, 0, _product_slope(np.where(missing, 1, x), y, axes))


REDUCTIONS: dict[str, tuple[Function, Function, str, tuple[str, ...]]] = {
    "sum": (np.sum, lambda x, y, axes: np.ones_like(x), "the sum", ("sum_axis",)),
    "mean": (_mean, lambda x, y, axes: np.ones_like(x), "the mean", ()),
    "prod": (np.prod, _product_slope, "the product", ()),
    "nansum": (np.nansum, lambda x, y, axes: ~np.isnan(x), "the sum of what is not nan", ()),
    "nanprod": (np.nanprod, _nan_product_slope, "the product of what is not nan", ()),
    "max": (_extreme(np.max, -math.inf), lambda x, y, axes: x == y, "the largest element", ("max_axis",)),
    "min": (_extreme(np.min, math.inf), lambda x, y, axes: x == y, "the smallest element", ("min_axis",)),
}
"""Name to the function, its derivative by an element (of input, output, axes), what it is, aliases."""


def _dtype_rule(inputs: Any, outputs: Any) -> Any:
    """Keep the dtype; booleans are counted in int64."""
    given = inputs[0]
    if given is None:
        return outputs, outputs
    return inputs, [np.dtype(np.int64) if given == np.bool_ else given]


def _register(name: str, function: Function, slope: Function, doc: str, aliases: tuple[str, ...]) -> Operator:
    def body(data: Any, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> Any:
        axes = axes_of(name, axis, data.ndim, exclude)
        result = np.asarray(function(data, axis=axes, keepdims=keepdims))
        return result.reshape(reduced_shape(data.shape, axes, keepdims))

    body.__doc__ = f"""Return {doc} over axes.

    Parameters
    ----------
    data : NDArray
    axis : int or tuple of int, optional
        Default: all, which gives shape (1,).
    keepdims : bool
        Keep the axes that are reduced, with length 1.
    exclude : bool
        Reduce over the axes that are not named.
    """
    op = operator("data(*s) -> (*t)", name=name, aliases=aliases)(body)
    op.shape(shape_rule(name))
    op.dtype(lambda inputs, outputs, **attrs: _dtype_rule(inputs, outputs))
    _gradient(op, slope)
    return op


def _gradient(op: Operator, slope: Function) -> None:
    """Give a reduction the operator ``_backward_<name>(ograd, data, out)`` as its gradient."""

    def arriving(ograd: Any, shape: tuple[int, ...], axes: Axes) -> Any:
        ograd = spread(ograd, shape, axes)
        return ograd / max(_count(shape, axes), 1) if op.name == "mean" else ograd

    def body(
        ograd: Any, data: Any, out: Any, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False
    ) -> Any:
        axes = axes_of(op.name, axis, data.ndim, exclude)
        return arriving(ograd, data.shape, axes) * slope(data, spread(out, data.shape, axes), axes)

    body.__doc__ = f"Return the gradient that ``{op.name}`` passes on."
    backward = operator("ograd(*r), data(*s), out(*t) -> (*s)", name=f"_backward_{op.name}")(body)

    @op.grad
    def _(g: Any, data: Any, *, outputs: Any, axis: Axis, keepdims: bool, exclude: bool) -> Any:
        return backward(g, data, outputs, axis=axis, keepdims=keepdims, exclude=exclude)

    if op.name not in ("sum", "mean"):
        return

    @backward.on("default, csr|row_sparse, default -> default")  # of the data, only the shape matters
    def _(ograd: Any, data: Any, out: Any, result: DefaultChunk, *, axis: Axis, exclude: bool) -> None:
        axes = axes_of(op.name, axis, len(data.shape), exclude)
        values = np.broadcast_to(arriving(ograd.data, data.shape, axes), data.shape)
        np.copyto(result.check_and_alloc_data(result.shape), values, casting="unsafe")


for _name, _entry in REDUCTIONS.items():
    _operator = _register(_name, *_entry)
    if _name in ("sum", "mean"):
        sparse_rows(_operator, _name)
