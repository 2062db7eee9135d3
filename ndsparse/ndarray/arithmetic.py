"""The arithmetic operators of arrays: ``a + b``, ``a * 2``, ``a > 0``, ``a += b``, ...

A table says which registered operator serves two arrays of one shape, two arrays to be broadcast,
and a number on either side.  NDArray, Symbol and everything else with ``_binary`` shares it.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ndsparse.ops import registry


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


def is_number(value: Any) -> bool:
    """Whether ``value`` is a scalar of Python or numpy (bool included)."""
    return isinstance(value, (numbers.Number, np.bool_)) or (isinstance(value, np.ndarray) and value.ndim == 0)


def binary(name: str, lhs: Any, rhs: Any, *, out: Any = None) -> Any:
    """Apply ``lhs <name> rhs`` where at least one is an array with ``_binary``."""
    forms = FORMS[name]
    extra = {} if out is None else {"out": out}
    if is_number(rhs):
        return registry.get(forms.scalar)(lhs, scalar=_number(rhs), **extra)
    if is_number(lhs):
        return registry.get(forms.reflected)(rhs, scalar=_number(lhs), **extra)
    same = lhs.shape == rhs.shape if hasattr(lhs, "_chunk") else True
    return registry.get(forms.same if same else forms.broadcast)(lhs, rhs, **extra)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


def install(cls: type[Any], coerce: Callable[[Any, Any], Any]) -> None:
    """Give a class the operators of :data:`FORMS`; ``coerce(self, other)`` may refuse with NotImplemented."""
    for name in ("add", "sub", "mul", "truediv", "mod", "pow"):
        setattr(cls, f"__{name}__", _forward(name, coerce))
        setattr(cls, f"__r{name}__", _reflected(name, coerce))
    for name in ("eq", "ne", "gt", "ge", "lt", "le"):
        setattr(cls, f"__{name}__", _forward(name, coerce))
    cls.__hash__ = object.__hash__  # type: ignore[method-assign,assignment]


def install_in_place(cls: type[Any], coerce: Callable[[Any, Any], Any]) -> None:
    """Give a class ``+=`` and its kin: the result is cast into the array's own storage type."""
    for name in IN_PLACE:
        setattr(cls, f"__i{name}__", _in_place(name, coerce))


def _forward(name: str, coerce: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        other = coerce(self, other)
        return other if other is NotImplemented else binary(name, self, other)

    return _named(method, f"__{name}__")


def _reflected(name: str, coerce: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        other = coerce(self, other)
        return other if other is NotImplemented else binary(name, other, self)

    return _named(method, f"__r{name}__")


def _in_place(name: str, coerce: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        other = coerce(self, other)
        return other if other is NotImplemented else binary(name, self, other, out=self)

    return _named(method, f"__i{name}__")


def _named(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    method.__name__ = method.__qualname__ = name
    return method
