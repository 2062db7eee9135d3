"""Operators as functions on symbols, made when they are first asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ndsparse.executor.compose import compose
from ndsparse.executor.symbol import Symbol
from ndsparse.ndarray import arithmetic
from ndsparse.ndarray.namespace import BINARY, find, function_of


@functools.cache
def symbol_function(name: str, module: str) -> Callable[..., Any]:
    """Return the function of an operator for Symbols; AttributeError if there is none."""
    if name in BINARY:
        return _binary_function(name)
    return function_of(find(name, module), name, module, compose)


def _binary_function(name: str) -> Callable[..., Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        if not isinstance(lhs, Symbol) and not isinstance(rhs, Symbol):
            raise TypeError(f"{name}: at least one of the arguments must be a Symbol")
        return arithmetic.binary(BINARY[name], lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the symbol of ``{name}(lhs, rhs)``, of two symbols or a symbol and a number."
    return function
