"""eliminate_common: what is computed twice is computed once.

::

    x ──┬── square ── a                x ── square ──┬── a
        └── square ── b       ->                     └── b

Two nodes are one computation if operator, attributes and inputs are the same.  Only pure operators
count: two draws of random numbers are two draws, and what reads an array that some node writes may
read it before or after.  Nodes that recompute a value on purpose (mirrored, see ``gradient``) are
left alone.  Inputs are compared after their own replacement, so equal chains fall together from
the bottom up, in one walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ndsparse.executor.passes.gradient import MIRRORED
from ndsparse.executor.passes.infer_storage_type import decided
from ndsparse.graph import Entry, Graph, Node
from ndsparse.graph.rewrite import rewrite


def eliminate_common(graph: Graph) -> Graph:
    """Return the graph with common subexpressions merged into their first instance."""
    written = graph.written()
    first: dict[Any, list[Entry]] = {}

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.has_effect or node.after or MIRRORED in node.annotations:
            return None
        if written and any(id(e.node) in written for e in node.inputs):
            return None
        key = (node.kind, *[(id(e.node), e.index) for e in inputs])
        found = first.get(key)
        if found is None:
            kept = node if inputs is node.inputs else twin_of(node, inputs)
            first[key] = [Entry(kept, i) for i in range(kept.num_outputs)]
            return None if kept is node else first[key]
        return found

    return rewrite(graph, replace, decided)


def twin_of(node: Node, inputs: tuple[Entry, ...]) -> Node:
    """Return the same node on other inputs."""
    return Node(node.op, node.attrs, inputs, node.name, node.annotations, node.after)
