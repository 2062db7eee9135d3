"""argmax and argmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.ops.axes import axes_of, reduced_shape, shape_rule
from ndsparse.ops.registry import operator

Function = Callable[..., Any]


def _dtype_rule(inputs: Any, outputs: Any) -> Any:
    """Keep float32 and float64, as MXNet does; use a dtype that holds indices for the others."""
    given = inputs[0]
    if given is None:
        return inputs, outputs
    if given in (np.float32, np.float64):
        return inputs, [given]
    return inputs, [np.dtype(np.float32 if given == np.float16 else np.int64)]


def _register(name: str, function: Function, doc: str) -> None:
    def body(data: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
        axes = axes_of(name, axis, data.ndim)
        result = np.asarray(function(data, axis=axis))
        return result.reshape(reduced_shape(data.shape, axes, keepdims))

    body.__doc__ = f"""Return the index of {doc} element along an axis, the first of equal ones.

    Parameters
    ----------
    data : NDArray
    axis : int, optional
        Default: the index into the flattened array, of shape (1,).
    keepdims : bool
        Keep the axis, with length 1.

    Returns
    -------
    NDArray
        In the dtype of the data if that is float32 or float64 (exact up to 2^24 and 2^53).
    """
    op = operator("data(*s) -> (*t)", name=name)(body)
    op.shape(shape_rule(name))
    op.dtype(lambda inputs, outputs, **attrs: _dtype_rule(inputs, outputs))
    op.grad(lambda g, data: None)


_register("argmax", np.argmax, "the largest")
_register("argmin", np.argmin, "the smallest")
