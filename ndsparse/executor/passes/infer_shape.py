"""infer_shape: shapes of all entries, from those that are given, forwards and backwards.

Sweeps over the nodes in order and in reverse until nothing more follows, as MXNet's pass of the
same name; a node whose shapes are all known is not visited again.  Unknown dimensions are -1, unknown
shapes None; contradictions name the node.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.errors import GraphError, ShapeError
from ndsparse.graph import Graph, Node
from ndsparse.ops.shapes import MaybeShape, known, merge

SHAPE_KEY = "__shape__"


def infer_shape(graph: Graph, given: Mapping[str, MaybeShape] | None = None) -> Graph:
    """Return the graph with the attribute ``shape``, a list by entry.

    Parameters
    ----------
    graph : Graph
    given : mapping, optional
        Variable name to shape; -1 marks an unknown dimension.

    Raises
    ------
    ShapeError
        Shapes contradict each other; the message names the node.
    """
    shapes: list[MaybeShape] = [None] * len(graph.entries)
    for node in graph.variables:
        shapes[graph.entry_id_of(node)] = _declared(node, given or {})
    open_nodes = [n for n in graph.nodes if n.op is not None]
    memo: dict[Any, Any] = {}  # deep graphs repeat themselves
    pending = True
    while pending and open_nodes:
        pending, open_nodes = _sweep(graph, shapes, open_nodes, memo)
        open_nodes.reverse()
        if open_nodes:
            again, open_nodes = _sweep(graph, shapes, open_nodes, memo)
            open_nodes.reverse()
            pending = pending or again
    return graph.with_attributes(shape=shapes)


def _declared(node: Node, given: Mapping[str, MaybeShape]) -> MaybeShape:
    text = node.annotations.get(SHAPE_KEY)
    shape = None
    if text is not None:
        shape = tuple(n if n > 0 else -1 for n in ast.literal_eval(text))
    wanted = given.get(node.name)
    merged = merge(shape, wanted)
    if merged is None and wanted is not None:
        raise ShapeError(f"variable {node.name!r} was declared with shape {shape}, but {wanted} is given")
    return merged


def _sweep(
    graph: Graph, shapes: list[MaybeShape], nodes: Sequence[Node], memo: dict[Any, Any]
) -> tuple[bool, list[Node]]:
    """Apply each node's rule once; return whether anything followed, and the nodes that are not settled."""
    changed, rest = False, []
    for node in nodes:
        ids = [*[graph.entry_id(e) for e in node.inputs], *graph.output_ids(node)]
        before = [shapes[i] for i in ids]
        after = _inferred(node, before, len(node.inputs), memo)
        for i, old, new in zip(ids, before, after, strict=True):
            if new == shapes[i]:
                continue
            merged = merge(shapes[i], new)
            if merged is None and new is not None:
                raise ShapeError(
                    f"node {node.name!r} ({node.op_name}): {_name(graph, i)} has shape {old}, needs {new}"
                )
            if merged != shapes[i]:
                shapes[i] = merged
                changed = True
        settled = all(known(s) for s in before[: len(node.inputs)])
        if not settled or not all(known(shapes[i]) for i in ids):
            rest.append(node)  # what was inferred backwards is checked once more
    return changed, rest


def _inferred(
    node: Node, before: Sequence[MaybeShape], inputs: int, memo: dict[Any, Any]
) -> Sequence[MaybeShape]:
    key = (node.kind, *before)
    found = memo.get(key)
    if found is None:
        assert node.op is not None  # noqa: S101  (variables have no rule)
        try:
            ins, outs = node.op.infer_shape(before[:inputs], before[inputs:], node.attrs)
        except ShapeError as error:
            raise ShapeError(f"node {node.name!r}: {error}") from None
        found = memo[key] = (*ins, *outs)
    result: Sequence[MaybeShape] = found
    return result


def require_known(graph: Graph) -> None:
    """Raise GraphError unless every shape is known."""
    shapes = graph.attributes["shape"]
    unknown = [e.name for e, s in zip(graph.entries, shapes, strict=True) if s is None or -1 in s]
    variables = [n.name for n in graph.variables if n.name in unknown]
    if unknown:
        raise GraphError(
            f"shapes cannot be inferred for {variables or unknown}; "
            "give their shapes, or those of what they meet"
        )


def _name(graph: Graph, i: int) -> str:
    return graph.entries[i].name
