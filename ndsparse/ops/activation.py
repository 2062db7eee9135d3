"""Activation functions as layers: Activation and LeakyReLU."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.ops.registry import get, operator

ActType = Literal["relu", "sigmoid", "tanh", "softrelu", "softsign"]
LeakyType = Literal["leaky", "elu", "selu", "gelu", "prelu"]

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def _softrelu(x: Any) -> Any:
    return np.logaddexp(x.dtype.type(0), x)


@operator("data(*s) -> (*s)", name="Activation", inplace=True)
def activation(data: Any, *, act_type: ActType) -> Any:
    """Return an activation function of each element.

    Parameters
    ----------
    data : NDArray
    act_type : {"relu", "sigmoid", "tanh", "softrelu", "softsign"}
        ``softrelu`` is log(1 + exp(x)), ``softsign`` is x / (1 + |x|).

    Returns
    -------
    NDArray
        Dense; the operators ``relu`` and ``tanh`` keep sparse storage.
    """
    if act_type == "softrelu":
        return _softrelu(data)
    return get(act_type).body(data)


@operator("ograd(*s), out(*s) -> (*s)", name="_backward_softrelu", inplace=True)
def _backward_softrelu(ograd: Any, out: Any) -> Any:
    """Return the gradient of softrelu from its output: the sigmoid is 1 - exp(-out)."""
    return -ograd * np.expm1(-out)


@activation.grad
def _(g: Any, data: Any, *, outputs: Any, act_type: str) -> Any:
    of = data if act_type == "softsign" else outputs
    return get(f"_backward_{act_type}")(g, of)


def _prelu_slope(data: Any, gamma: Any) -> Any:
    """Return gamma, one number or one a channel (axis 1), as an array that broadcasts to ``data``."""
    if gamma.size == 1 or data.ndim < 2:
        return gamma.reshape(-1)
    return gamma.reshape((1, -1) + (1,) * (data.ndim - 2))


@operator(
    "data(*s), gamma(*g) -> (*s)",
    name="LeakyReLU",
    omit={"gamma": lambda attrs: attrs["act_type"] != "prelu"},
)
def leaky_relu(data: Any, gamma: Any = None, *, act_type: LeakyType = "leaky", slope: float = 0.25) -> Any:
    """Return a rectifier that lets something through below 0.

    Parameters
    ----------
    data : NDArray
    gamma : NDArray
        For ``prelu``: the slope below 0, one number or one a channel (axis 1).
    act_type : {"leaky", "elu", "selu", "gelu", "prelu"}
    slope : float
        Of ``leaky``, and the scale of ``elu``.
    """
    zero = data.dtype.type(0)
    if act_type == "leaky":
        return np.where(data > 0, data, slope * data)
    if act_type == "prelu":
        return np.where(data > 0, data, _prelu_slope(data, gamma) * data)
    if act_type == "elu":
        return np.where(data > 0, data, slope * np.expm1(np.minimum(data, zero)))
    if act_type == "selu":
        return SELU_SCALE * np.where(data > 0, data, SELU_ALPHA * np.expm1(np.minimum(data, zero)))
    from scipy.special import ndtr

    return data * ndtr(data)


@leaky_relu.shape
def _(inputs: Any, outputs: Any, *, act_type: str, slope: float) -> Any:
    data = inputs[0] if inputs[0] is not None else outputs[0]
    if act_type == "prelu" and data is not None and inputs[1] is None:
        inputs = [data, data[1:2] or (1,)]
    return [data, *inputs[1:]], [data]


@operator(
    "ograd(*s), data(*s), gamma(*g) -> (*s), (*g)",
    name="_backward_LeakyReLU",
    omit={"gamma": lambda attrs: attrs["act_type"] != "prelu"},
    outputs=lambda attrs: 2 if attrs["act_type"] == "prelu" else 1,
)
def _backward_leaky_relu(
    ograd: Any, data: Any, gamma: Any = None, *, act_type: LeakyType = "leaky", slope: float = 0.25
) -> Any:
    """Return the gradients that LeakyReLU passes to data and gamma."""
    below = np.minimum(data, data.dtype.type(0))
    if act_type == "leaky":
        return ograd * np.where(data > 0, 1, slope).astype(data.dtype)
    if act_type == "elu":
        return ograd * np.where(data > 0, 1, slope * np.exp(below))
    if act_type == "selu":
        return ograd * SELU_SCALE * np.where(data > 0, 1, SELU_ALPHA * np.exp(below))
    if act_type == "gelu":
        from scipy.special import ndtr

        return ograd * (ndtr(data) + data * np.exp(-0.5 * data * data) / np.sqrt(2 * np.pi))
    factor = _prelu_slope(data, gamma)
    by_gamma = ograd * below
    axes = tuple(i for i in range(data.ndim) if i != 1) if gamma.size > 1 and data.ndim > 1 else None
    return ograd * np.where(data > 0, 1, factor), np.sum(by_gamma, axis=axes).reshape(gamma.shape)


@_backward_leaky_relu.shape
def _(inputs: Any, outputs: Any, *, act_type: str, slope: float) -> Any:
    return inputs, list(inputs[1:])


@leaky_relu.grad
def _(g: Any, *inputs: Any, act_type: str, slope: float) -> Any:
    return _backward_leaky_relu(g, *inputs, act_type=act_type, slope=slope)
