"""A graph: output entries, the nodes they need in order, and what passes found out about them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TextIO

from ndsparse.graph.node import Entry, Node
from ndsparse.graph.show import as_dot, as_html, as_table


class Graph:
    """An immutable graph.

    Parameters
    ----------
    outputs : sequence of Entry
    attributes : mapping, optional
        Name to a list with one value for each entry (``shape``, ``dtype``, ``stype``) or for each
        node (``decision``), in the order of ``entries`` or ``nodes``.
    effects : sequence of Node, optional
        Nodes that run although no output needs them (they draw, write, keep a state).

    Attributes
    ----------
    nodes : tuple of Node
        In topological order: depth first, inputs before users, as MXNet orders them.
    entries : tuple of Entry
        All outputs of all nodes.
    """

    __slots__ = (
        "_consumers",
        "_entry_ids",
        "_node_ids",
        "attributes",
        "effects",
        "entries",
        "nodes",
        "outputs",
    )

    def __init__(
        self,
        outputs: Sequence[Entry],
        attributes: Mapping[str, Any] | None = None,
        effects: Sequence[Node] = (),
    ) -> None:
        self.outputs = tuple(outputs)
        self.effects = tuple(effects)
        self.nodes = tuple(topological([*(e.node for e in self.outputs), *self.effects]))
        self._consumers: tuple[tuple[int, ...], ...] | None = None
        self.entries = tuple(Entry(n, i) for n in self.nodes for i in range(n.num_outputs))
        self.attributes: Mapping[str, Any] = MappingProxyType(dict(attributes or {}))
        self._node_ids = {id(n): i for i, n in enumerate(self.nodes)}
        self._entry_ids: dict[int, int] = {}
        position = 0
        for node in self.nodes:
            self._entry_ids[id(node)] = position
            position += node.num_outputs

    def with_attributes(self, **attributes: Any) -> Graph:
        """Return the same graph with further attributes."""
        graph = object.__new__(Graph)
        for name in Graph.__slots__:
            setattr(graph, name, getattr(self, name))
        graph.attributes = MappingProxyType({**self.attributes, **attributes})
        return graph

    def node_id(self, node: Node) -> int:
        """Return the position of a node in ``nodes``."""
        return self._node_ids[id(node)]

    def entry_id(self, entry: Entry) -> int:
        """Return the position of an entry in ``entries``."""
        return self._entry_ids[id(entry.node)] + entry.index

    def entry_id_of(self, node: Node) -> int:
        """Return the position of the first output of a node."""
        return self._entry_ids[id(node)]

    def output_ids(self, node: Node) -> range:
        """Return the positions of all outputs of a node."""
        first = self._entry_ids[id(node)]
        return range(first, first + node.num_outputs)

    def __contains__(self, node: Node) -> bool:
        return id(node) in self._node_ids

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        """Return a table of the nodes and what is known of them."""
        return as_table(self)

    def print(self, file: TextIO | None = None) -> None:
        """Write the table to ``file``, by default to standard output."""
        (file or sys.stdout).write(f"{self}\n")

    def dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        return as_dot(self)

    def html(self) -> str:
        """Return a page of HTML with a drawing and the table; it needs no other file."""
        return as_html(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def variables(self) -> list[Node]:
        """The variables, in order of first use."""
        return [n for n in self.nodes if n.is_variable]

    def auxiliary(self) -> set[int]:
        """Return the ids (``id(node)``) of the variables that are auxiliary states."""
        found = set()
        for node in self.nodes:
            states = () if node.op is None else node.op.aux_of(node.attrs)
            if node.op is None or not states:
                continue
            for name, entry in zip(node.op.inputs_of(node.attrs), node.inputs, strict=False):
                if name in states and entry.node.is_variable:
                    found.add(id(entry.node))
        return found

    def written(self) -> set[int]:
        """Return the ids (``id(node)``) of the nodes whose outputs another node writes.

        Their values depend on when they are read, so passes leave their readers alone.
        """
        found = set()
        for node in self.nodes:
            if node.op is not None and node.op.mutates:
                names = node.op.inputs_of(node.attrs)
                pairs = zip(names, node.inputs, strict=False)
                found |= {id(e.node) for name, e in pairs if name in node.op.mutates}
        return found

    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each entry, the ids of the nodes that read it (once for each use)."""
        if self._consumers is None:
            users: list[list[int]] = [[] for _ in self.entries]
            for i, node in enumerate(self.nodes):
                for entry in node.inputs:
                    users[self._entry_ids[id(entry.node)] + entry.index].append(i)
            self._consumers = tuple(map(tuple, users))
        return self._consumers


def topological(roots: Sequence[Node]) -> list[Node]:
    """Return the nodes that ``roots`` need, inputs first; no recursion, so depth is no limit."""
    order: list[Node] = []
    done: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        missing = [e.node for e in node.inputs if id(e.node) not in done]
        if node.after:
            missing += [n for n in node.after if id(n) not in done]
        if missing:
            missing.reverse()
            stack += missing
        else:
            order.append(node)
            done.add(id(node))
            stack.pop()
    return order
