"""infer_shape: shapes of all entries, from those that are given, forwards and backwards.

Sweeps over the nodes in order and in reverse until nothing more follows, as MXNet's pass of the
same name.  Unknown dimensions are -1, unknown shapes None; contradictions name the node.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ndsparse.errors import GraphError, ShapeError
from ndsparse.graph import Graph, Node
from ndsparse.ops.shapes import MaybeShape, merge

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
    pending = True
    while pending:
        forward = _sweep(graph, shapes, graph.nodes)
        backward = _sweep(graph, shapes, graph.nodes[::-1])
        pending = forward or backward
    return graph.with_attributes(shape=shapes)


def _declared(node: Node, given: Mapping[str, MaybeShape]) -> MaybeShape:
    text = node.annotations.get(SHAPE_KEY)
    shape = None
    if text is not None:
        shape = tuple(n if n > 0 else -1 for n in ast.literal_eval(text))
    known = given.get(node.name)
    merged = merge(shape, known)
    if merged is None and known is not None:
        raise ShapeError(f"variable {node.name!r} was declared with shape {shape}, but {known} is given")
    return merged


def _sweep(graph: Graph, shapes: list[MaybeShape], nodes: tuple[Node, ...]) -> bool:
    changed = False
    for node in nodes:
        if node.op is None:
            continue
        ins = [graph.entry_id(e) for e in node.inputs]
        outs = graph.output_ids(node)
        before = [shapes[i] for i in (*ins, *outs)]
        try:
            new_in, new_out = node.op.infer_shape(before[: len(ins)], before[len(ins) :], node.attrs)
        except ShapeError as error:
            raise ShapeError(f"node {node.name!r}: {error}") from None
        for i, old, new in zip((*ins, *outs), before, (*new_in, *new_out), strict=True):
            merged = merge(shapes[i], new)
            if merged is None and new is not None:
                raise ShapeError(
                    f"node {node.name!r} ({node.op.name}): {_name(graph, i)} has shape {old}, needs {new}"
                )
            if merged != shapes[i]:
                shapes[i] = merged
                changed = True
    return changed


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
