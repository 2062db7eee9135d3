"""Nodes and entries.

A node is one executed instance of an operator (or a variable); an entry is one of its outputs.
Nodes have identity: two nodes that look alike are two computations, and only a pass may merge them.
What is known of an entry (shape, dtype, storage type, dispatch) is not kept here but in the
attributes of a :class:`ndsparse.graph.Graph`, filled in by passes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ndsparse.errors import GraphError
from ndsparse.ops.registry import Operator

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Entry:
    """Output ``index`` of ``node``.  Entries are equal if they are the same output of the same node."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int = 0) -> None:
        self.node = node
        self.index = index

    @staticmethod
    def __ndsparse_apply__(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from ndsparse.graph.build import apply

        inputs, given = op.bind(args, kwargs)
        node = apply(op, [e for e in inputs if e is not None], given)
        count = op.num_outputs(node.attrs)
        return Entry(node) if count == 1 else tuple(Entry(node, i) for i in range(count))

    @property
    def name(self) -> str:
        """MXNet's name of an output: ``fc1_output``, or the variable's own name."""
        node = self.node
        if node.op is None:
            return node.name
        count = node.op.num_outputs(node.attrs)
        return f"{node.name}_output" if count == 1 else f"{node.name}_output{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.node is other.node and self.index == other.index

    def __hash__(self) -> int:
        return hash((id(self.node), self.index))

    def __repr__(self) -> str:
        return f"<entry {self.name}>"


class Node:
    """An operator applied to entries, or a variable (``op`` is None).

    Attributes
    ----------
    op : Operator or None
    attrs : mapping
        Normalised attributes of the operator.
    inputs : tuple of Entry
    name : str
    annotations : mapping of str to str
        What the user attached: ``__shape__``, ``__storage_type__``, ``__lr_mult__``, ``ctx_group``.
    after : tuple of Node
        Nodes whose effects come first (random draws, in-place writes), besides the inputs.
    num_outputs : int
    """

    __slots__ = (
        "__weakref__",
        "_kind",
        "after",
        "annotations",
        "attrs",
        "inputs",
        "name",
        "num_outputs",
        "op",
    )

    _kind: Hashable
    op: Operator | None
    attrs: Mapping[str, Any]
    inputs: tuple[Entry, ...]
    name: str
    annotations: Mapping[str, str]
    after: tuple[Node, ...]
    num_outputs: int

    def __init__(
        self,
        op: Operator | None,
        attrs: Mapping[str, Any],
        inputs: tuple[Entry, ...],
        name: str,
        annotations: Mapping[str, str] | None = None,
        after: tuple[Node, ...] = (),
    ) -> None:
        put = object.__setattr__
        put(self, "op", op)
        put(self, "attrs", MappingProxyType(dict(attrs)) if attrs else _EMPTY)
        put(self, "inputs", inputs)
        put(self, "name", name)
        put(self, "annotations", MappingProxyType(dict(annotations)) if annotations else _EMPTY)
        put(self, "after", after)
        put(self, "num_outputs", 1 if op is None else op.num_outputs(self.attrs))
        put(self, "_kind", None)

    def __setattr__(self, name: str, value: Any) -> None:
        raise GraphError(f"{self!r}: nodes do not change; build another")

    @property
    def is_variable(self) -> bool:
        """Whether the node is a variable."""
        return self.op is None

    @property
    def has_effect(self) -> bool:
        """Whether running the node does more than compute its outputs (draws, writes, keeps a state)."""
        return self.op is not None and (not self.op.pure or self.op.make_state is not None)

    @property
    def kind(self) -> Hashable:
        """What is computed, the same for nodes of one operator with the same attributes.

        A node whose attributes cannot be compared is of a kind of its own.
        """
        if self._kind is None:
            values = [(k, repr(v)) for k, v in self.attrs.items() if _comparable(v)]  # 2, 2.0, -0.0 differ
            whole = len(values) == len(self.attrs)
            object.__setattr__(self, "_kind", (id(self.op), *values) if whole else (id(self),))
        return self._kind

    @property
    def op_name(self) -> str:
        """The operator's name, ``null`` for a variable (as in MXNet's JSON)."""
        return "null" if self.op is None else self.op.name

    def __repr__(self) -> str:
        return f"<{'variable' if self.op is None else self.op.name} {self.name}>"


def _comparable(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_comparable(v) for v in value)
    return value is None or isinstance(value, (str, int, float, np.dtype, np.generic))
