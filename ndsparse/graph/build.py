"""Building nodes, and the names they get."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from ndsparse.errors import ArgumentTypeError
from ndsparse.graph.node import Entry, Node
from ndsparse.ops.registry import Operator


class NameManager:
    """Gives unnamed nodes the names ``dot0``, ``dot1``, ...; a ``with`` block starts its own count."""

    def __init__(self) -> None:
        self._counters: dict[str, itertools.count[int]] = {}
        self._lock = threading.Lock()
        self._tokens: list[Any] = []

    def get(self, name: str | None, hint: str) -> str:
        """Return ``name``, or the next free name for ``hint``."""
        if name:
            return name
        hint = hint.lower().lstrip("_")
        with self._lock:
            return f"{hint}{next(self._counters.setdefault(hint, itertools.count()))}"

    def __enter__(self) -> NameManager:
        self._tokens.append(_names.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        _names.reset(self._tokens.pop())


class Prefix(NameManager):
    """Puts a prefix before every name, given ones too."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the prefixed name."""
        return self._prefix + super().get(name, hint)


_default_names = NameManager()
_names: ContextVar[NameManager] = ContextVar("ndsparse_names", default=_default_names)


def fresh_name(name: str | None, hint: str) -> str:
    """Return ``name``, or a new one from the current :class:`NameManager`."""
    return _names.get().get(name, hint)


def variable(name: str, annotations: Mapping[str, str] | None = None) -> Entry:
    """Return the entry of a new variable."""
    return Entry(Node(None, {}, (), name, annotations))


def apply(
    op: Operator,
    inputs: Sequence[Entry],
    attrs: Mapping[str, Any],
    *,
    name: str | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Node:
    """Return a node that applies ``op``; attributes are checked and completed."""
    normalized = op.normalize(attrs)
    if not op.variadic:
        wanted = op.inputs_of(normalized)
        if len(inputs) != len(wanted):
            raise ArgumentTypeError(f"{op.name}: expected inputs {', '.join(wanted)}; got {len(inputs)}")
    return Node(op, normalized, tuple(inputs), fresh_name(name, op.name), annotations)
