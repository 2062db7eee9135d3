"""``clip``: values cut to a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.ops.elementwise import chain_rule, dense_body, stored_rows
from ndsparse.ops.registry import Attrs, operator


def _clip(data: Any, *, a_min: float | None = None, a_max: float | None = None) -> Any:
    low, high = _bounds(data.dtype, a_min, a_max)
    return np.clip(data, low, high)


def _bounds(dtype: Any, a_min: float | None, a_max: float | None) -> tuple[Any, Any]:
    """Return the bounds as numbers of ``dtype``: those of integers rounded inwards."""
    low = -np.inf if a_min is None else a_min
    high = np.inf if a_max is None else a_max
    if dtype.kind not in "iu":
        return low, high
    limits = np.iinfo(dtype)
    clamp = (max(min(np.ceil(low), limits.max), limits.min), max(min(np.floor(high), limits.max), limits.min))
    return dtype.type(int(clamp[0])), dtype.type(int(clamp[1]))


def _inside(data: Any, *, a_min: float | None = None, a_max: float | None = None) -> Any:
    low, high = _bounds(data.dtype, a_min, a_max)
    return (data >= low) & (data <= high)


def _keeps_zero(attrs: Attrs) -> bool:
    low, high = attrs["a_min"], attrs["a_max"]
    return (low is None or low <= 0) and (high is None or high >= 0)


clip = operator("data(*s) -> (*s)", name="clip", into=True, inplace=True)(
    dense_body(
        _clip,
        """Return the elements cut to the range from ``a_min`` to ``a_max``.

    Parameters
    ----------
    data : NDArray
    a_min, a_max : float, optional
        None: no bound.

    Returns
    -------
    NDArray
        Of the same storage type where 0 is in the range, else dense.
    """,
    )
)
stored_rows(clip, _clip, when=_keeps_zero)
_backward_clip = chain_rule("_backward_clip", _inside)


@clip.grad
def _(g: Any, data: Any, *, a_min: float | None, a_max: float | None) -> Any:
    return _backward_clip(g, data, a_min=a_min, a_max=a_max)
