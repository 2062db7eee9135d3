"""``Dropout``: zeros at random in training."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.errors import ArgumentError
from ndsparse.ops.registry import OpContext, operator
from ndsparse.storage.chunk import Array


@operator("data(*s) -> (*s)", pure=False)
def Dropout(
    data: Any,
    *,
    p: float = 0.5,
    mode: Literal["training", "always"] = "training",
    axes: tuple[int, ...] = (),
    cudnn_off: bool = False,
    ctx: OpContext,
) -> Any:
    """Return ``data`` with each element zeroed with probability ``p``, the others divided by ``1 - p``.

    Parameters
    ----------
    data : NDArray
    p : float
        Probability of a zero, ``0 <= p < 1``.
    mode : str
        "training": the identity outside of training; "always": at all times.
    axes : tuple of int
        Axes along which the same elements are dropped.
    cudnn_off : bool
        Accepted and not used.

    Notes
    -----
    What was dropped is written as -0.0, and a zero that was kept as +0.0, so that the output is its own
    mask: the gradient needs no second array.
    """
    if not 0 <= p < 1:
        raise ArgumentError(f"Dropout: p must be in 0 <= p < 1, got {p}")
    if p == 0 or not (mode == "always" or ctx.is_train):
        return data + data.dtype.type(0)
    rng = ctx.rng if ctx.rng is not None else np.random.default_rng()
    shape = tuple(1 if i in {a % data.ndim for a in axes} else n for i, n in enumerate(data.shape))
    kept = rng.random(shape, dtype=np.float32) >= np.float32(p)
    scale = data.dtype.type(1 / (1 - p)) if data.dtype.kind == "f" else 1 / (1 - p)
    return np.where(kept, data * scale + data.dtype.type(0), -0.0).astype(data.dtype, copy=False)


@Dropout.grad
def _(g: Any, data: Any, *, outputs: Any, p: float) -> Any:
    return _backward_Dropout(g, data, outputs, p=p)


@operator("g(*s), data(*s), out(*s) -> (*s)")
def _backward_Dropout(g: Any, data: Any, out: Any, *, p: float) -> Any:
    """Return ``g / (1 - p)`` where ``out`` was kept, 0 where it was dropped; ``g`` if nothing was done."""
    dropped = _dropped(out)
    if p == 0 or (not dropped.any() and np.array_equal(out, data)):
        return g
    return np.where(dropped, g.dtype.type(0), g * g.dtype.type(1 / (1 - p)))


def _dropped(out: Array) -> Array:
    dropped: Array = np.signbit(out) & (out == 0)
    return dropped
