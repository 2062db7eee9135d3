"""Operators of an array and a number: ``x + 2``, ``2 / x``, ``x > 0``, ...

One table; an entry is a function of the array and the number, its derivative, and when sparse
storage is kept.  It is kept wherever the function maps 0 to 0 for that number: ``x * 2`` always,
``x + s`` for s = 0 only, ``x > s`` for s >= 0.  ``x * s`` and ``x / s`` keep it for every number, nan and
0 too, as in MXNet.  Integer arrays keep their dtype: the result is computed exactly, then cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ndsparse.ops.elementwise import SPARSE, chain_rule, dense_body, evaluate, stored_rows
from ndsparse.ops.functions import OF_FLOATS, divide, hypot_slope, mod, power
from ndsparse.ops.registry import Attrs, Operator, get, operator

Function = Callable[..., Any]
Number = float | int


class Scalar(NamedTuple):
    """One operator."""

    function: Function  # of (x, scalar)
    gradient: Function | str | None  # derivative of (x, scalar); or how to say it with other operators
    doc: str
    always: bool = False  # keep sparse storage whatever the number
    aliases: tuple[str, ...] = ()


SCALARS: dict[str, Scalar] = {
    "_plus_scalar": Scalar(np.add, "pass", "x + scalar", False, ("_PlusScalar",)),
    "_minus_scalar": Scalar(np.subtract, "pass", "x - scalar", False, ("_MinusScalar",)),
    "_rminus_scalar": Scalar(
        lambda x, s: np.subtract(s, x), "negative", "scalar - x", False, ("_RMinusScalar",)
    ),
    "_mul_scalar": Scalar(np.multiply, "_mul_scalar", "x * scalar", True, ("_MulScalar",)),
    "_div_scalar": Scalar(divide, "_div_scalar", "x / scalar", True, ("_DivScalar",)),
    "_rdiv_scalar": Scalar(
        lambda x, s: divide(s, x), lambda x, s: -s / (x * x), "scalar / x", False, ("_RDivScalar",)
    ),
    "_power_scalar": Scalar(power, lambda x, s: s * power(x, s - 1), "x ** scalar", False, ("_PowerScalar",)),
    "_rpower_scalar": Scalar(
        lambda x, s: power(s, x), lambda x, s: power(s, x) * _log(s), "scalar ** x", False, ("_RPowerScalar",)
    ),
    "_mod_scalar": Scalar(
        mod, "pass", "x modulo scalar, with the sign of the scalar", False, ("_ModScalar",)
    ),
    "_rmod_scalar": Scalar(
        lambda x, s: mod(s, x), lambda x, s: -np.floor(s / x), "scalar modulo x", False, ("_RModScalar",)
    ),
    "_maximum_scalar": Scalar(
        np.maximum, lambda x, s: x >= s, "the larger of x and scalar", False, ("_MaximumScalar",)
    ),
    "_minimum_scalar": Scalar(
        np.minimum, lambda x, s: x <= s, "the smaller of x and scalar", False, ("_MinimumScalar",)
    ),
    "_hypot_scalar": Scalar(np.hypot, hypot_slope, "sqrt(x^2 + scalar^2)", False, ("_HypotScalar",)),
    "_equal_scalar": Scalar(np.equal, None, "1 where x == scalar, else 0", False, ("_EqualScalar",)),
    "_not_equal_scalar": Scalar(
        np.not_equal, None, "1 where x != scalar, else 0", False, ("_NotEqualScalar",)
    ),
    "_greater_scalar": Scalar(np.greater, None, "1 where x > scalar, else 0", False, ("_GreaterScalar",)),
    "_greater_equal_scalar": Scalar(
        np.greater_equal, None, "1 where x >= scalar, else 0", False, ("_GreaterEqualScalar",)
    ),
    "_lesser_scalar": Scalar(np.less, None, "1 where x < scalar, else 0", False, ("_LesserScalar",)),
    "_lesser_equal_scalar": Scalar(
        np.less_equal, None, "1 where x <= scalar, else 0", False, ("_LesserEqualScalar",)
    ),
    "_logical_and_scalar": Scalar(np.logical_and, None, "1 where both are not 0, else 0", False),
    "_logical_or_scalar": Scalar(np.logical_or, None, "1 where either is not 0, else 0", False),
    "_logical_xor_scalar": Scalar(np.logical_xor, None, "1 where exactly one is not 0, else 0", False),
}


def _log(scalar: Number) -> float:
    return math.log(scalar) if scalar > 0 else (-math.inf if scalar == 0 else math.nan)


def _fitting(x: Any, scalar: Number) -> Any:
    """Return ``x`` in a dtype in which numpy computes with ``scalar``: integers widened where needed."""
    if x.dtype.kind in "iu" and isinstance(scalar, int):
        limits = np.iinfo(x.dtype)
        if not limits.min <= scalar <= limits.max:
            return x.astype(np.int64 if -(2**63) <= scalar < 2**63 else np.float64)
    return x


def _applied(function: Function) -> Function:
    """Return ``function(x, scalar)`` in the form of a dense body, the number as an attribute."""

    def apply(data: Any, *, scalar: Number = 0.0) -> Any:
        return function(_fitting(data, scalar), scalar)

    return apply


def _into(function: np.ufunc, general: Function) -> Function:
    """Return a dense body that writes floats into ``out`` without a temporary array."""

    def body(data: Any, out: Any = None, *, scalar: Number = 0.0) -> Any:
        if data.dtype.kind != "f":
            return evaluate(_applied(general), (data,), out, scalar=scalar)
        if out is None:
            return function(data, scalar)
        return function(data, scalar, out=out, casting="unsafe")

    return body


def _maps_zero_to_zero(function: Function) -> Callable[[Attrs], bool]:
    def holds(attrs: Attrs) -> bool:
        with np.errstate(all="ignore"):
            return bool(function(np.zeros(1), attrs["scalar"])[0] == 0)

    return holds


def _register(name: str, entry: Scalar) -> None:
    kept = "always" if entry.always else "where 0 is mapped to 0"
    doc = f"Return {entry.doc}, elementwise.  Sparse storage is kept {kept}."
    ufunc = OF_FLOATS.get(entry.function, entry.function)
    if isinstance(ufunc, np.ufunc):
        body = _into(ufunc, entry.function)
        body.__doc__ = doc
    else:
        body = dense_body(_applied(entry.function), doc)
    op = operator("data(*s) -> (*s)", name=name, aliases=entry.aliases, into=True, inplace=True)(body)
    when = None if entry.always else _maps_zero_to_zero(entry.function)
    stored_rows(op, _applied(entry.function), when=when)
    if name in ("_plus_scalar", "_minus_scalar"):
        _shifted_rows(op, entry.function)
    _gradient(op, entry.gradient)


def _shifted_rows(op: Operator, function: Function) -> None:
    """Add ``x + s`` of sparse x: dense, without a temporary."""

    @op.on([f"{kind} -> default" for kind in SPARSE])
    def _(data: Any, out: Any, *, scalar: Number) -> None:
        if data.dtype != out.dtype:
            np.copyto(out.check_and_alloc_data(out.shape), data.to_dense(), casting="unsafe")
        else:
            data.to_dense(out.check_and_alloc_data(out.shape))
        evaluate(_applied(function), (out.data,), out.data, scalar=scalar)


def _gradient(op: Operator, rule: Function | str | None) -> None:
    if rule is None:
        op.grad(lambda g, data: None)
    elif rule == "pass":
        op.grad(lambda g, data: g)
    elif rule == "negative":
        op.grad(lambda g, data: get("negative")(g))
    elif isinstance(rule, str):
        op.grad(lambda g, data, *, scalar: op(g, scalar=scalar))
    else:
        backward = chain_rule(f"_backward{op.name}", _slope(rule))
        op.grad(lambda g, data, *, scalar: backward(g, data, scalar=scalar))


def _slope(derivative: Function) -> Function:
    def slope(data: Any, *, scalar: Number = 0.0) -> Any:
        return derivative(data, scalar)

    return slope


for _name, _entry in SCALARS.items():
    _register(_name, _entry)


def _scatter(name: str, function: Function, doc: str) -> None:
    """Register an operator that shifts what is stored and leaves absent elements alone."""
    op = operator("data(*s) -> (*s)", name=name, inplace=True)(dense_body(_applied(function), doc))
    stored_rows(op, _applied(function))
    op.grad(lambda g, data: g)


_scatter("_scatter_plus_scalar", np.add, "Return x + scalar of the stored elements; absent ones stay absent.")
_scatter(
    "_scatter_minus_scalar", np.subtract, "Return x - scalar of the stored elements; absent ones stay absent."
)
