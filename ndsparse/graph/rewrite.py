"""rewrite: another graph from replacements of single nodes, the form in which passes change graphs.

::

    replace(b, inputs) = [a:0]          a ── b ── c      becomes      a ── c'

Nodes above a replaced one are built anew, the others are kept.  A replacement must be what it
replaces in shape, dtype and storage type; so what passes found out is carried over, and only the
dispatch of a node whose inputs changed their storage type is decided again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ndsparse.graph.graph import Graph
from ndsparse.graph.node import Entry, Node

Replace = Callable[[Node, tuple[Entry, ...]], Sequence[Entry] | None]
Decide = Callable[[Node, Sequence[str], str], Any]

HELD = "held"
"""Graph attribute: how many of the first outputs the user holds (the rest are gradients).

Each of them stays an entry of its own that is no variable, so that writing one array never
changes another.
"""


def held_outputs(graph: Graph) -> tuple[Entry, ...]:
    """Return the outputs that the user holds."""
    return graph.outputs[: graph.attributes.get(HELD, len(graph.outputs))]


def rewrite(graph: Graph, replace: Replace, decide: Decide | None = None) -> Graph:
    """Return the graph with nodes replaced.

    Parameters
    ----------
    graph : Graph
    replace : callable
        ``replace(node, inputs)``: the entries that take the place of the node's outputs, or None to
        keep it; ``inputs`` are the node's inputs after replacement.
    decide : callable, optional
        ``decide(node, input storage types, wanted)``: the dispatch decision of a new node.
    """
    moved: dict[int, tuple[Entry, ...]] = {}
    held = {id(e.node) for e in held_outputs(graph)}
    for node in graph.nodes:
        inputs, after = _moved(node, moved)
        found = replace(node, inputs) if node.op is not None else None
        if found is not None and not (id(node) in held and _taken(found, held)):
            moved[id(node)] = tuple(found)
            if id(node) in held:
                held |= {id(e.node) for e in found}
        elif inputs is not node.inputs or after is not node.after:
            twin = Node(node.op, node.attrs, inputs, node.name, node.annotations, after)
            moved[id(node)] = tuple(Entry(twin, i) for i in range(twin.num_outputs))
            if id(node) in held:
                held.add(id(twin))
    return _rebuilt(graph, moved, decide) if moved else graph


def _taken(found: Sequence[Entry], held: set[int]) -> bool:
    return any(e.node.op is None or id(e.node) in held for e in found)


def _moved(node: Node, moved: Mapping[int, Sequence[Entry]]) -> tuple[tuple[Entry, ...], tuple[Node, ...]]:
    inputs, after = node.inputs, node.after
    if any(id(e.node) in moved for e in inputs):
        inputs = tuple([now(e, moved) for e in inputs])
    if after and any(id(n) in moved for n in after):
        after = tuple(moved[id(n)][0].node if id(n) in moved else n for n in after)
    return inputs, after


def now(entry: Entry, moved: Mapping[int, Sequence[Entry]]) -> Entry:
    """Return what an entry was replaced by."""
    found = moved.get(id(entry.node))
    return entry if found is None else found[entry.index]


def _rebuilt(graph: Graph, moved: Mapping[int, Sequence[Entry]], decide: Decide | None) -> Graph:
    effects = [moved[id(n)][0].node if id(n) in moved else n for n in graph.effects]
    result = Graph([now(e, moved) for e in graph.outputs], None, effects)
    carried = {k: v for k, v in graph.attributes.items() if not isinstance(v, list)}
    for name in ("shape", "dtype", "stype"):
        if name in graph.attributes:
            carried[name] = _by_entry(graph, result, moved, graph.attributes[name])
    if "decision" in graph.attributes and decide is not None:
        carried["decision"] = _decisions(graph, result, moved, carried["stype"], decide)
    return result.with_attributes(**carried)


def _by_entry(
    graph: Graph, result: Graph, moved: Mapping[int, Sequence[Entry]], values: Sequence[Any]
) -> list[Any]:
    """Carry a list by entry over: a new node has what the one had whose place it takes."""
    new: list[Any] = [None] * len(result.entries)
    for node in graph.nodes:
        for i, entry in zip(graph.output_ids(node), moved.get(id(node), ()), strict=False):
            if entry.node in result:
                new[result.entry_id(entry)] = values[i]
    for node in result.nodes:
        if node in graph:
            for i, j in zip(result.output_ids(node), graph.output_ids(node), strict=True):
                new[i] = values[j]
    return new


def _decisions(
    graph: Graph, result: Graph, moved: Mapping[int, Sequence[Entry]], stypes: Sequence[str], decide: Decide
) -> list[Any]:
    before: dict[int, Node] = {}
    for old in graph.nodes:
        if id(old) in moved:
            before.setdefault(id(moved[id(old)][0].node), old)
    known, old_stypes = graph.attributes["decision"], graph.attributes["stype"]
    found = []
    for node in result.nodes:
        old = node if node in graph else before.get(id(node), node)
        inputs = [stypes[result.entry_id(e)] for e in node.inputs]
        same = old in graph and old.kind == node.kind
        if same and inputs == [old_stypes[graph.entry_id(e)] for e in old.inputs]:
            found.append(known[graph.node_id(old)])
        else:
            found.append(None if node.op is None else decide(node, inputs, stypes[result.entry_id_of(node)]))
    return found


def restricted(graph: Graph, effects: Sequence[Node]) -> Graph:
    """Return the part of a graph that its outputs and ``effects`` need, attributes carried over."""
    result = Graph(graph.outputs, None, effects)
    carried = {k: v for k, v in graph.attributes.items() if not isinstance(v, list)}
    for name in ("shape", "dtype", "stype"):
        if name in graph.attributes:
            carried[name] = _by_entry(graph, result, {}, graph.attributes[name])
    if "decision" in graph.attributes:
        known = graph.attributes["decision"]
        carried["decision"] = [known[graph.node_id(n)] for n in result.nodes]
    return result.with_attributes(**carried)
