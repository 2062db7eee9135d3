"""Checks of the numbers that optimizers are made with."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError


def require_number(owner: Any, name: str, value: Any, *, signed: bool = False) -> None:
    """Raise unless ``value`` is a number, and unless ``signed`` not below 0."""
    wanted = "a number" if signed else "a number of at least 0"
    message = f"{type(owner).__name__}: {name}: expected {wanted}, got {value!r:.80}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real | np.number):
        raise ArgumentTypeError(message)
    if np.isnan(float(value)) or (value < 0 and not signed):
        raise ArgumentError(message)


def refuse_unknown(optimizer: type, given: Mapping[str, Any]) -> None:
    """Raise an error that names the parameters an optimizer does not have, and those it has."""
    known: dict[str, None] = {}
    for cls in optimizer.__mro__[:-1]:
        signature = inspect.signature(vars(cls).get("__init__", object.__init__))
        for parameter in list(signature.parameters.values())[1:]:
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                known[parameter.name] = None
    raise ArgumentTypeError(
        f"{optimizer.__name__}: unknown parameter {', '.join(map(repr, given))}; there are {', '.join(known)}"
    )
