"""AttrScope: attributes for all symbols made in a ``with`` block."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token

from ndsparse.errors import ArgumentTypeError


class AttrScope:
    """Adds attributes (names and values are text) to the symbols made inside a ``with`` block."""

    def __init__(self, **attributes: str) -> None:
        for key, value in attributes.items():
            if not isinstance(value, str):
                raise ArgumentTypeError(f"AttrScope: {key} must be text, got {value!r}")
        self._attributes = dict(attributes)
        self._tokens: list[Token[Mapping[str, str]]] = []

    def __enter__(self) -> AttrScope:
        self._tokens.append(_current.set({**_current.get(), **self._attributes}))
        return self

    def __exit__(self, *exc: object) -> None:
        _current.reset(self._tokens.pop())


_current: ContextVar[Mapping[str, str]] = ContextVar("ndsparse_attributes", default={})  # noqa: B039


def current_attributes(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the attributes of the scopes around, updated by ``own``."""
    return {**_current.get(), **(own or {})}
