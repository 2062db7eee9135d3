"""The arithmetic operators of arrays: ``a + b``, ``a * 2``, ``a > 0``, ``a += b``, ...

A table says which registered operator serves two arrays of one shape, two arrays to be broadcast,
and a number on either side.  NDArray, Symbol and everything else with ``_binary`` shares it.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ndsparse.ops import registry
from ndsparse.ops.registry import Operator


class Forms(NamedTuple):
    """Names of the operators behind one Python operator."""

    same: str  # both arrays of one shape
    broadcast: str
    scalar: str  # array op number
    reflected: str  # number op array


FORMS: dict[str, Forms] = {
    "add": Forms("elemwise_add", "broadcast_add", "_plus_scalar", "_plus_scalar"),
    "sub": Forms("elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "mul": Forms("elemwise_mul", "broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "truediv": Forms("elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "mod": Forms("_mod", "broadcast_mod", "_mod_scalar", "_rmod_scalar"),
    "pow": Forms("_power", "broadcast_power", "_power_scalar", "_rpower_scalar"),
    "eq": Forms("_equal", "broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "ne": Forms("_not_equal", "broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    "gt": Forms("_greater", "broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "ge": Forms("_greater_equal", "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "lt": Forms("_lesser", "broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "le": Forms("_lesser_equal", "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "maximum": Forms("_maximum", "broadcast_maximum", "_maximum_scalar", "_maximum_scalar"),
    "minimum": Forms("_minimum", "broadcast_minimum", "_minimum_scalar", "_minimum_scalar"),
    "hypot": Forms("_hypot", "broadcast_hypot", "_hypot_scalar", "_hypot_scalar"),
}
"""Python's name of an operator to the names of the registered ones."""

IN_PLACE = ("add", "sub", "mul", "truediv", "mod", "pow")
COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")

Apply = Callable[..., Any]
"""``apply(operator, arrays, attributes, out)``: how a class runs an operator."""

_PLAIN_NUMBERS = (float, int)


class _MinusZero(float):
    """-0.0, told apart from 0.0 where calls are remembered by their attributes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _MinusZero)

    def __hash__(self) -> int:
        return 0x2D30


_MINUS_ZERO = _MinusZero(-0.0)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a scalar of Python or numpy (bool included)."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, (numbers.Number, np.bool_))


def call(op: Operator, arrays: tuple[Any, ...], given: dict[str, Any], out: Any = None) -> Any:
    """Apply an operator to whatever its arguments are."""
    return op(*arrays, **given) if out is None else op(*arrays, **given, out=out)


def binary(name: str, lhs: Any, rhs: Any, *, out: Any = None, apply: Apply = call) -> Any:
    """Apply ``lhs <name> rhs`` where at least one is an array (or a Symbol).

    What a comparison of arrays gives is remembered to be a mask: as an index it selects.
    """
    forms = FORMS[name]
    if hasattr(lhs, "_chunk") and hasattr(rhs, "_chunk"):
        same = lhs._chunk.shape == rhs._chunk.shape
        result = apply(registry.get(forms.same if same else forms.broadcast), (lhs, rhs), {}, out)
    elif is_number(rhs):
        result = apply(registry.get(forms.scalar), (lhs,), {"scalar": _number(rhs)}, out)
    elif is_number(lhs):
        result = apply(registry.get(forms.reflected), (rhs,), {"scalar": _number(lhs)}, out)
    else:
        result = apply(registry.get(forms.same), (lhs, rhs), {}, out)
    if name in COMPARISONS and out is None and hasattr(result, "_chunk"):
        result._mask = True
    return result


def _number(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    if not value and isinstance(value, float) and math.copysign(1.0, value) < 0:
        return _MINUS_ZERO
    return value


def install(cls: type[Any], coerce: Callable[[Any, Any], Any], apply: Apply = call) -> None:
    """Give a class the operators of :data:`FORMS`; ``coerce(self, other)`` may refuse with NotImplemented."""
    for name in IN_PLACE:
        setattr(cls, f"__{name}__", _forward(name, coerce, apply))
        setattr(cls, f"__r{name}__", _reflected(name, coerce, apply))
    for name in COMPARISONS:
        setattr(cls, f"__{name}__", _forward(name, coerce, apply))
    type.__setattr__(cls, "__hash__", object.__hash__)


def install_in_place(cls: type[Any], coerce: Callable[[Any, Any], Any], apply: Apply = call) -> None:
    """Give a class ``+=`` and its kin: the result is cast into the array's own storage type."""
    for name in IN_PLACE:
        setattr(cls, f"__i{name}__", _in_place(name, coerce, apply))


def _forward(name: str, coerce: Callable[[Any, Any], Any], apply: Apply) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) not in _PLAIN_NUMBERS:
            other = coerce(self, other)
            if other is NotImplemented:
                return other
        return binary(name, self, other, apply=apply)

    return _named(method, f"__{name}__")


def _reflected(name: str, coerce: Callable[[Any, Any], Any], apply: Apply) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        other = coerce(self, other)
        return other if other is NotImplemented else binary(name, other, self, apply=apply)

    return _named(method, f"__r{name}__")


def _in_place(name: str, coerce: Callable[[Any, Any], Any], apply: Apply) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        other = coerce(self, other)
        return other if other is NotImplemented else binary(name, self, other, out=self, apply=apply)

    return _named(method, f"__i{name}__")


def _named(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    method.__name__ = method.__qualname__ = name
    return method
