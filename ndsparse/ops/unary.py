"""Functions of one array, elementwise: one table for those that map 0 to 0, one for the others.

A function that maps 0 to 0 keeps csr and row_sparse; the others give dense arrays.  Each entry
names the function, its derivative, and whether the derivative is written in terms of the input or
of the output (which costs less where the output is at hand: ``tanh' = 1 - tanh^2``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ndsparse.ops.elementwise import chain_rule, dense_body, stored_rows
from ndsparse.ops.registry import Operator, get, operator

Function = Callable[..., Any]

ROOT_PI = math.sqrt(math.pi)


class Unary(NamedTuple):
    """One function."""

    function: Function
    derivative: Function | None  # None: zero wherever it is defined
    of: str  # "input" or "output": what the derivative is a function of
    doc: str
    aliases: tuple[str, ...] = ()


# -- functions that numpy lacks, or has with another meaning ------------------------------------------


def _whole(function: Function) -> Function:
    """Return ``function`` for floats; integers are whole already."""
    return lambda x: function(x) if x.dtype.kind == "f" else x


def _round(x: Any) -> Any:
    """Round half away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x).astype(x.dtype)


def _rint(x: Any) -> Any:
    """Round to the nearest, half down, as MXNet does: 2.5 to 2, -1.5 to -2."""
    low, high = np.floor(x), np.ceil(x)
    return np.where(x - low <= high - x, low, high)


def _relu(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


def _sigmoid(x: Any) -> Any:
    from scipy.special import expit

    return expit(x)


def _special(name: str) -> Function:
    """Return a function of scipy.special, imported when it is first called."""

    def function(x: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return function


def _softsign(x: Any) -> Any:
    return x / (1 + np.abs(x))


def _log_sigmoid(x: Any) -> Any:
    return -np.logaddexp(0, -x)


def _logical_not(x: Any) -> Any:
    return x == 0


def _trigamma(x: Any) -> Any:
    from scipy.special import polygamma

    return polygamma(1, x)


_digamma = _special("digamma")

# -- the tables ---------------------------------------------------------------------------------------

ZERO_PRESERVING: dict[str, Unary] = {
    "abs": Unary(np.abs, np.sign, "input", "the absolute value", ("_abs",)),
    "arcsin": Unary(np.arcsin, lambda x: 1 / np.sqrt(1 - x * x), "input", "the inverse sine"),
    "arcsinh": Unary(np.arcsinh, lambda x: 1 / np.sqrt(1 + x * x), "input", "the inverse hyperbolic sine"),
    "arctan": Unary(np.arctan, lambda x: 1 / (1 + x * x), "input", "the inverse tangent"),
    "arctanh": Unary(np.arctanh, lambda x: 1 / (1 - x * x), "input", "the inverse hyperbolic tangent"),
    "cbrt": Unary(np.cbrt, lambda y: 1 / (3 * y * y), "output", "the cube root"),
    "ceil": Unary(_whole(np.ceil), None, "input", "the smallest whole number not below"),
    "fix": Unary(_whole(np.trunc), None, "input", "the nearest whole number towards zero"),
    "floor": Unary(_whole(np.floor), None, "input", "the largest whole number not above"),
    "rint": Unary(_whole(_rint), None, "input", "the nearest whole number, half down"),
    "round": Unary(_whole(_round), None, "input", "the nearest whole number, half away from zero"),
    "sign": Unary(np.sign, None, "input", "the sign: -1, 0 or 1"),
    "trunc": Unary(_whole(np.trunc), None, "input", "the value without its fraction"),
    "expm1": Unary(np.expm1, lambda y: y + 1, "output", "exp(x) - 1"),
    "log1p": Unary(np.log1p, lambda x: 1 / (1 + x), "input", "log(1 + x)"),
    "relu": Unary(_relu, lambda y: y > 0, "output", "max(x, 0)"),
    "sin": Unary(np.sin, np.cos, "input", "the sine"),
    "sinh": Unary(np.sinh, np.cosh, "input", "the hyperbolic sine"),
    "sqrt": Unary(np.sqrt, lambda y: 0.5 / y, "output", "the square root"),
    "square": Unary(np.square, lambda x: 2 * x, "input", "the square"),
    "tan": Unary(np.tan, lambda y: y * y + 1, "output", "the tangent"),
    "tanh": Unary(np.tanh, lambda y: 1 - y * y, "output", "the hyperbolic tangent"),
}
"""Functions with f(0) = 0 whose rows keep csr and row_sparse."""

OTHERS: dict[str, Unary] = {
    "arccos": Unary(np.arccos, lambda x: -1 / np.sqrt(1 - x * x), "input", "the inverse cosine"),
    "arccosh": Unary(np.arccosh, lambda x: 1 / np.sqrt(x * x - 1), "input", "the inverse hyperbolic cosine"),
    "cos": Unary(np.cos, lambda x: -np.sin(x), "input", "the cosine"),
    "cosh": Unary(np.cosh, np.sinh, "input", "the hyperbolic cosine"),
    "digamma": Unary(_digamma, _trigamma, "input", "the logarithmic derivative of the gamma function"),
    "erf": Unary(_special("erf"), lambda x: 2 / ROOT_PI * np.exp(-x * x), "input", "the error function"),
    "erfinv": Unary(
        _special("erfinv"),
        lambda y: ROOT_PI / 2 * np.exp(y * y),
        "output",
        "the inverse of the error function",
    ),
    "exp": Unary(np.exp, lambda y: y, "output", "the exponential"),
    "gamma": Unary(
        _special("gamma"), lambda x: _special("gamma")(x) * _digamma(x), "input", "the gamma function"
    ),
    "gammaln": Unary(
        _special("gammaln"), _digamma, "input", "the logarithm of the absolute value of the gamma function"
    ),
    "log": Unary(np.log, np.reciprocal, "input", "the natural logarithm"),
    "log10": Unary(np.log10, lambda x: 1 / (x * math.log(10)), "input", "the logarithm to base 10"),
    "log2": Unary(np.log2, lambda x: 1 / (x * math.log(2)), "input", "the logarithm to base 2"),
    "log_sigmoid": Unary(_log_sigmoid, lambda y: 1 - np.exp(y), "output", "the logarithm of the sigmoid"),
    "logical_not": Unary(_logical_not, None, "input", "1 where the value is 0, else 0,"),
    "rcbrt": Unary(lambda x: 1 / np.cbrt(x), lambda y: -(y**4) / 3, "output", "1 / the cube root"),
    "reciprocal": Unary(lambda x: 1 / x, lambda y: -y * y, "output", "1 / x"),
    "rsqrt": Unary(lambda x: 1 / np.sqrt(x), lambda y: -0.5 * y**3, "output", "1 / the square root"),
    "sigmoid": Unary(_sigmoid, lambda y: y * (1 - y), "output", "1 / (1 + exp(-x))"),
    "softsign": Unary(_softsign, lambda x: 1 / np.square(1 + np.abs(x)), "input", "x / (1 + |x|)"),
}
"""Functions whose result is dense."""

LINEAR: dict[str, tuple[Function, float, str]] = {
    "degrees": (np.degrees, 180 / math.pi, "the angle in degrees of one in radians"),
    "radians": (np.radians, math.pi / 180, "the angle in radians of one in degrees"),
    "negative": (np.negative, -1.0, "the negative"),
}
"""Multiples: the function, the factor, what it is."""


def _doc(text: str, keeps: bool) -> str:
    kept = "The storage type is kept." if keeps else "The result is dense."
    return f"Return {text} of each element.  {kept}"


def _with_gradient(op: Operator, derivative: Function | None, of: str) -> None:
    if derivative is None:
        op.grad(lambda g, data: None)
        return
    backward = chain_rule(f"_backward_{op.name}", derivative)
    if of == "output":
        op.grad(lambda g, data, *, outputs: backward(g, outputs))
    else:
        op.grad(backward)


def _register(name: str, entry: Unary, keeps: bool) -> None:
    body = dense_body(entry.function, _doc(entry.doc, keeps))
    op = operator("data(*s) -> (*s)", name=name, aliases=entry.aliases, into=True, inplace=True)(body)
    if keeps:
        stored_rows(op, entry.function)
    _with_gradient(op, entry.derivative, entry.of)


def _register_linear(name: str, function: Function, factor: float, doc: str) -> None:
    body = dense_body(function, _doc(doc, True))
    op = operator("data(*s) -> (*s)", name=name, into=True, inplace=True)(body)
    stored_rows(op, function)
    if name == "negative":
        op.grad(lambda g, data: op(g))
    else:
        op.grad(lambda g, data: get("_mul_scalar")(g, scalar=factor))


for _name, _entry in ZERO_PRESERVING.items():
    _register(_name, _entry, keeps=True)
for _name, _entry in OTHERS.items():
    _register(_name, _entry, keeps=False)
for _name, _linear in LINEAR.items():
    _register_linear(_name, *_linear)


@operator("data(*s) -> (*s)", inplace=True)
def hard_sigmoid(data: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    """Return ``alpha x + beta`` cut to the range from 0 to 1."""
    return np.clip(alpha * data + beta, 0, 1)


def _hard_sigmoid_slope(data: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    line = alpha * data + beta
    return alpha * ((line > 0) & (line < 1)).astype(data.dtype)


_backward_hard_sigmoid = chain_rule("_backward_hard_sigmoid", _hard_sigmoid_slope)


@hard_sigmoid.grad
def _(g: Any, data: Any, *, alpha: float, beta: float) -> Any:
    return _backward_hard_sigmoid(g, data, alpha=alpha, beta=beta)


@operator("data(*s) -> (*s)", inplace=True)
def smooth_l1(data: Any, *, scalar: float = 1.0) -> Any:
    """Return ``0.5 (scalar x)^2`` near 0 and ``|x| - 0.5 / scalar^2`` where ``|x| >= 1 / scalar^2``."""
    square = scalar * scalar
    size = np.abs(data)
    return np.where(size < 1 / square, 0.5 * square * data * data, size - 0.5 / square)


def _smooth_l1_slope(data: Any, *, scalar: float = 1.0) -> Any:
    square = scalar * scalar
    return np.where(np.abs(data) < 1 / square, square * data, np.sign(data))


_backward_smooth_l1 = chain_rule("_backward_smooth_l1", _smooth_l1_slope)


@smooth_l1.grad
def _(g: Any, data: Any, *, scalar: float) -> Any:
    return _backward_smooth_l1(g, data, scalar=scalar)
