"""``SVMOutput``: scores whose gradient is that of a hinge loss, whatever arrives from above."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.ops import shapes
from ndsparse.ops.operands import as_ids
from ndsparse.ops.registry import operator


@operator("data(n, *s), label(*t) -> (n, *s)")
def SVMOutput(
    data: Any,
    label: Any,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> Any:
    """Return ``data``; the gradient is that of a hinge loss, squared unless ``use_linear``.

    Parameters
    ----------
    data : NDArray, shape (n, k)
    label : NDArray, shape (n,)
        Class numbers.
    margin, regularization_coefficient : float
    use_linear : bool
        The hinge itself instead of its square.
    """
    return data


@SVMOutput.shape
def _(inputs: Any, outputs: Any, **attrs: Any) -> Any:
    data, label = inputs
    data = shapes.merge(data, outputs[0]) or data
    if data is None:
        return inputs, outputs
    return [data, data[:-1] if label is None else label], [data]


@SVMOutput.grad
def _(g: Any, data: Any, label: Any, **attrs: Any) -> Any:
    return _backward_SVMOutput(data, label, **attrs), None


@operator("data(n, *s), label(*t) -> (n, *s)")
def _backward_SVMOutput(
    data: Any,
    label: Any,
    *,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> Any:
    """Return the gradient of the hinge loss of SVMOutput with respect to ``data``."""
    scores = data.reshape(len(data), -1)
    side = np.where(as_ids(label).reshape(-1, 1) == np.arange(scores.shape[1]), 1, -1).astype(data.dtype)
    slack = margin - side * scores
    grad = -side * (slack > 0) * (1 if use_linear else 2 * slack)
    return (grad * regularization_coefficient).astype(data.dtype).reshape(data.shape)
