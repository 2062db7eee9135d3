"""Attributes of operators: what a keyword may be, and how text becomes a value.

An operator declares its attributes as the keyword-only parameters of its dense body, with
annotations and defaults.  MXNet's JSON and many programs give them as text (``"True"``,
``"(1, 2)"``, ``"None"``); :func:`normalize` accepts both and returns hashable values.
"""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError

REQUIRED = inspect.Parameter.empty

RESERVED = ("ctx", "state")
"""Keywords that the executor supplies; they are no attributes."""


class Attribute(NamedTuple):
    """One attribute of an operator."""

    name: str
    default: Any
    kinds: tuple[type, ...]  # accepted types, bool/int/float/str/tuple
    optional: bool  # None is allowed
    choices: tuple[Any, ...]  # empty = any value

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED


def declared(function: Callable[..., Any]) -> dict[str, Attribute]:
    """Read the attributes off the keyword-only parameters of ``function``."""
    parameters = inspect.signature(function).parameters.values()
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in RESERVED]
    if not named:
        return {}
    hints = typing.get_type_hints(function)
    return {p.name: _attribute(p.name, p.default, hints.get(p.name, object)) for p in named}


def _attribute(name: str, default: Any, hint: Any) -> Attribute:
    kinds: list[type] = []
    choices: list[Any] = []
    optional = default is None
    for part in _parts(hint):
        origin = typing.get_origin(part)
        if part is type(None):
            optional = True
        elif origin is typing.Literal:
            choices += typing.get_args(part)
            kinds += {type(c) for c in typing.get_args(part)}
        elif origin is not None:
            kinds.append(origin)
        elif isinstance(part, type) and part is not object:
            kinds.append(part)
    return Attribute(name, default, tuple(kinds), optional, tuple(choices))


def _parts(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def normalize(op: str, table: Mapping[str, Attribute], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all attributes of an operator: the given ones checked, the others at their defaults.

    Raises
    ------
    ArgumentTypeError
        An attribute is unknown, missing, or of a type that is not accepted.
    ArgumentError
        A value is not among the choices.
    """
    for name in given:
        if name not in table:
            raise ArgumentTypeError(f"{op}: unknown attribute {name!r}; there are {sorted(table)}")
    result = {}
    for name, attribute in table.items():
        if name in given:
            result[name] = _convert(op, attribute, given[name])
        elif attribute.required:
            raise ArgumentTypeError(f"{op}: attribute {name!r} is required")
        else:
            result[name] = attribute.default
    return result


def _convert(op: str, attribute: Attribute, value: Any) -> Any:
    if isinstance(value, str) and str not in attribute.kinds:
        value = _parse(value)
    elif isinstance(value, str) and attribute.optional and value == "None":
        value = None
    value = hashable(value)
    if value is None and attribute.optional:
        return None
    if attribute.kinds:
        value = _coerce(op, attribute, value)
    if attribute.choices and value not in attribute.choices:
        raise ArgumentError(f"{op}: {attribute.name} must be one of {attribute.choices}, got {value!r}")
    return value


def _parse(text: str) -> Any:
    lowered = {"true": True, "false": False, "none": None}.get(text.strip().lower(), text)
    if not isinstance(lowered, str):
        return lowered
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        try:
            return float(text)  # "inf", "nan"
        except ValueError:
            return text


def _coerce(op: str, attribute: Attribute, value: Any) -> Any:
    kinds = attribute.kinds
    if type(value) in kinds:
        return value
    if isinstance(value, (bool, int)) and bool in kinds and value in (0, 1):
        return bool(value)
    if isinstance(value, (bool, int)) and int in kinds:
        return int(value)
    if isinstance(value, (bool, int, float)) and float in kinds:
        return float(value)
    if isinstance(value, float) and int in kinds and value.is_integer():
        return int(value)
    if isinstance(value, int) and tuple in kinds:
        return (value,)
    if isinstance(value, kinds):
        return value
    wanted = " or ".join(k.__name__ for k in kinds)
    raise ArgumentTypeError(f"{op}: {attribute.name} must be {wanted}, got {value!r}")


def hashable(value: Any) -> Any:
    """Return lists and numpy arrays as tuples, numpy scalars as Python's, dtypes as their names."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return tuple(hashable(v) for v in value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).name
    if value in (float, int, bool) and isinstance(value, type):
        return {float: "float32", int: "int32", bool: "bool"}[value]
    return value


def as_text(value: Any) -> str:
    """Return a value as MXNet's JSON spells it."""
    if isinstance(value, bool):
        return "True" if value else "False"
    return str(value)
