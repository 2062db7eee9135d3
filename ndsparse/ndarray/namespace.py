"""Operators as functions: ``nd.dot(a, b)``, with true signatures, made when they are first asked for."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

from ndsparse.errors import ArgumentTypeError
from ndsparse.ndarray import arithmetic
from ndsparse.ndarray.ndarray import NDArray, coerce_operand
from ndsparse.ops import registry
from ndsparse.ops.registry import Operator

PREFIXES = ("", "_contrib_", "_sparse_", "_random_")
"""Where a short name may be found: ``nd.sparse.retain`` is the operator ``_sparse_retain``."""

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY

BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "modulo": "mod", "power": "pow", "maximum": "maximum", "minimum": "minimum", "hypot": "hypot",
    "equal": "eq", "not_equal": "ne", "greater": "gt", "greater_equal": "ge", "lesser": "lt",
    "lesser_equal": "le",
}  # fmt: skip
"""Functions that take arrays or numbers on either side: MXNet's name to Python's."""

PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "mod", "pow")},
    **{name: getattr(operator, name) for name in ("eq", "ne", "gt", "ge", "lt", "le")},
    "maximum": max, "minimum": min, "hypot": math.hypot,
}  # fmt: skip
"""What they do to two numbers."""


@functools.cache
def operator_function(name: str, module: str) -> Callable[..., Any]:
    """Return the function of an operator for NDArrays.

    Raises
    ------
    AttributeError
        There is no operator of that name.
    """
    if name in BINARY:
        return _binary_function(name, module)
    op = find(name, module)
    return function_of(op, name, module, NDArray.__ndsparse_apply__)


def find(name: str, module: str) -> Operator:
    """Return the operator that a name in a namespace means, else raise AttributeError."""
    table = registry.operators()
    if not name.startswith("__"):
        for prefix in PREFIXES:
            if prefix + name in table:
                return table[prefix + name]
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def function_of(op: Operator, name: str, module: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the operator's signature that calls ``apply(op, args, kwargs)``."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return apply(op, args, kwargs)

    parameters = [inspect.Parameter(n, _POSITIONAL, default=None) for n in op.input_names]
    if op.variadic:
        parameters = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
    parameters += [inspect.Parameter(a.name, _KEYWORD, default=a.default) for a in op.attributes.values()]
    taken = {p.name for p in parameters}
    parameters += [inspect.Parameter(n, _KEYWORD, default=None) for n in ("out", "name") if n not in taken]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__module__ = op.doc, module
    return function


def _binary_function(name: str, module: str) -> Callable[..., Any]:
    def function(lhs: Any, rhs: Any, out: Any = None) -> Any:
        if not isinstance(lhs, NDArray) and not isinstance(rhs, NDArray):
            if not (arithmetic.is_number(lhs) and arithmetic.is_number(rhs)):
                kinds = f"{type(lhs).__name__} and {type(rhs).__name__}"
                raise ArgumentTypeError(f"{name}: expected NDArrays or numbers, got {kinds}")
            return PLAIN[BINARY[name]](lhs, rhs)
        lhs, rhs = (x if isinstance(x, NDArray) else coerce_operand(x, x) for x in (lhs, rhs))
        if lhs is NotImplemented or rhs is NotImplemented:
            raise ArgumentTypeError(f"{name}: expected NDArrays or numbers for lhs and rhs")
        return arithmetic.binary(BINARY[name], lhs, rhs, out=out)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"Return ``{name}(lhs, rhs)``, elementwise, of arrays (broadcast) and numbers."
    return function
