"""Gradients of functions of two arrays, with broadcasting: one operator with two outputs for each.

``_backward_maximum(ograd, lhs, rhs)`` gives the gradients by ``lhs`` and by ``rhs``, each summed over
the axes in which that operand was repeated, so that ``_maximum`` and ``broadcast_maximum`` share it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.ops.functions import hypot_slope, power
from ndsparse.ops.registry import Operator, operator

Function = Callable[..., Any]

SLOPES: dict[str, tuple[Function, Function]] = {
    "maximum": (lambda a, b: a >= b, lambda a, b: a < b),
    "minimum": (lambda a, b: a <= b, lambda a, b: a > b),
    "hypot": (hypot_slope, lambda a, b: hypot_slope(b, a)),
    "mod": (lambda a, b: np.ones_like(a), lambda a, b: -np.floor(a / b)),
    "power": (lambda a, b: b * power(a, b - 1), lambda a, b: power(a, b) * np.log(a)),
}
"""Name to the derivatives by the left and the right operand."""


def sum_to(array: Any, shape: tuple[int, ...]) -> Any:
    """Return ``array`` summed over the axes that numpy's broadcasting of ``shape`` to it repeats."""
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        i + lead for i, n in enumerate(shape) if n == 1 and array.shape[i + lead] != 1
    )
    if axes:
        array = array.sum(axis=axes, dtype=array.dtype, keepdims=True)
    return array.reshape(shape)


def aligned(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Return ``shape`` with ones in front, so that it has ``ndim`` dimensions."""
    return (1,) * (ndim - len(shape)) + shape


def _register(name: str, by_lhs: Function, by_rhs: Function) -> Operator:
    def body(ograd: Any, lhs: Any, rhs: Any) -> Any:
        return (
            sum_to(ograd * by_lhs(lhs, rhs), lhs.shape),
            sum_to(ograd * by_rhs(lhs, rhs), rhs.shape),
        )

    body.__doc__ = f"Return the gradients that ``{name}`` passes to both operands."
    op = operator("ograd(*s), lhs(*a), rhs(*b) -> (*a), (*b)", name=f"_backward_{name}", outputs=2)(body)
    return op


OPERATORS = {name: _register(name, *slopes) for name, slopes in SLOPES.items()}


def binary_gradient(op: Operator, name: str) -> None:
    """Give ``op`` the gradient of the function ``name``."""
    backward = OPERATORS[name]
    op.grad(backward)
