"""``sym``: symbols and the functions that make them.

Operators of the registry are functions of this module (``sym.dot``), found when first asked for.
Inputs that are not given become variables named ``<name>_<input>``.
"""

from __future__ import annotations

from typing import Any

from ndsparse.executor.compose import Group, Variable, load, load_json, var
from ndsparse.executor.symbol import Symbol
from ndsparse.ndarray.methods import METHODS, install
from ndsparse.symbol import _internal, contrib, sparse
from ndsparse.symbol.namespace import symbol_function

fromjson = load_json

SYMBOL_METHODS = METHODS | {
    "astype": "Cast",
    "broadcast_like": "broadcast_like",
    "broadcast_to": "broadcast_to",
    "reshape": "Reshape",
    "reshape_like": "reshape_like",
    "tostype": "cast_storage",
    "zeros_like": "zeros_like",
}
"""What arrays do by themselves, symbols do by operators."""

install(Symbol, SYMBOL_METHODS)

__all__ = [
    "Group", "Symbol", "Variable", "_internal", "contrib", "fromjson", "load", "load_json", "ones", "sparse",
    "var", "zeros",
]  # fmt: skip


def zeros(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of zeros."""
    return symbol_function("_zeros", __name__)(shape=shape, dtype=dtype, **kwargs)  # type: ignore[no-any-return]


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Return a symbol of ones."""
    return symbol_function("_ones", __name__)(shape=shape, dtype=dtype, **kwargs)  # type: ignore[no-any-return]


def __getattr__(name: str) -> Any:
    found = globals()[name] = symbol_function(name, __name__)  # asked for once
    return found
