"""softmax and its kin, over one axis of a dense array."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.ops.registry import get, operator

Real = Literal["float16", "float32", "float64"]


def _masked(data: Any, length: Any, axis: int) -> Any:
    """Return ``data`` with -inf from ``length`` on along ``axis``."""
    if length is None:
        return data
    positions = np.arange(data.shape[axis]).reshape(
        [-1 if i == axis % data.ndim else 1 for i in range(data.ndim)]
    )
    return np.where(positions < np.expand_dims(length, axis), data, -np.inf)


def _exp(data: Any, axis: int) -> tuple[Any, Any, Any]:
    """Return data less its largest, the exponentials of it, and their sum."""
    top = np.max(data, axis=axis, keepdims=True, initial=-np.inf)
    shifted = data - np.where(np.isfinite(top), top, 0)
    exps = np.exp(shifted)
    return shifted, exps, np.sum(exps, axis=axis, keepdims=True)


def _softmax(data: Any, axis: int) -> Any:
    _, exps, total = _exp(data, axis)
    return np.divide(exps, total, out=np.zeros_like(exps), where=total != 0)


def _log_softmax(data: Any, axis: int) -> Any:
    shifted, _, total = _exp(data, axis)
    return shifted - np.log(total)


_DOC = """Return {} over an axis.

Parameters
----------
data : NDArray
length : NDArray, optional
    With ``use_length``: how many elements along the axis count, for each of the others.
axis : int
temperature : float, optional
    What the data is divided by.
dtype : str, optional
    Of the result.
"""


def _register(name: str, doc: str, sign: int) -> None:
    """Register a softmax of ``sign * data / temperature``."""
    log = name == "log_softmax"

    def body(
        data: Any,
        length: Any = None,
        *,
        axis: int = -1,
        temperature: float | None = None,
        dtype: Real | None = None,
        use_length: bool = False,
    ) -> Any:
        factor = sign / (temperature or 1.0)
        data = data if data.dtype.kind == "f" else data.astype(np.float32)
        scaled = data if factor == 1 else data * factor
        scaled = _masked(scaled.astype(dtype or data.dtype, copy=False), length, axis)
        return _log_softmax(scaled, axis) if log else _softmax(scaled, axis)

    body.__doc__ = _DOC.format(doc)
    omit = {"length": lambda attrs: not attrs["use_length"]}
    op = operator("data(*s), length(*l) -> (*s)", name=name, dtypes="T, * -> @dtype", omit=omit)(body)
    passed = "_backward_log_softmax" if log else "_backward_softmax"

    @op.grad
    def _(g: Any, *inputs: Any, outputs: Any, axis: int, temperature: float | None) -> Any:
        result = get(passed)(g, outputs, axis=axis, factor=sign / (temperature or 1.0))
        return (result, None)[: len(inputs)]


_register("softmax", "exp(x) divided by its sum", 1)
_register("softmin", "exp(-x) divided by its sum", -1)
_register("log_softmax", "the logarithm of softmax", 1)


@operator("ograd(*s), out(*s) -> (*s)", name="_backward_softmax")
def _backward_softmax(ograd: Any, out: Any, *, axis: int = -1, factor: float = 1.0) -> Any:
    """Return the gradient that softmax passes on."""
    return out * (ograd - np.sum(ograd * out, axis=axis, keepdims=True)) * factor


@operator("ograd(*s), out(*s) -> (*s)", name="_backward_log_softmax")
def _backward_log_softmax(ograd: Any, out: Any, *, axis: int = -1, factor: float = 1.0) -> Any:
    """Return the gradient that log_softmax passes on."""
    return (ograd - np.exp(out) * np.sum(ograd, axis=axis, keepdims=True)) * factor
