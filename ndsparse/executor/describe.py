"""A bound graph as text: one line a node, with storage types, dispatch mode and memory."""

from __future__ import annotations

from ndsparse.executor.passes.fusion_groups import FUSION_GROUP
from ndsparse.executor.passes.plan_memory import DYNAMIC, EXTERNAL, RELEASED, report
from ndsparse.graph import Graph, Node
from ndsparse.ops.registry import VARIABLE

PLACES = {EXTERNAL: "given", DYNAMIC: "dynamic", RELEASED: "released"}
"""Words for the storage ids that are no buffer of the pool."""

HEADER = ("node", "operator", "storage types", "dispatch", "shape", "memory", "group")


def describe(graph: Graph) -> str:
    """Return a table of the nodes of a graph that all passes have run over.

    The column *memory* has ``given`` for arrays from outside, ``dynamic`` for sparse results,
    ``released`` for dense arrays that are freed after their last use, else the buffer's number.
    The column *group* has the fusion group of pointwise nodes.
    """
    rows = [HEADER, *(_row(graph, node) for node in graph.nodes)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(HEADER))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows]
    sizes = report(graph)
    lines.append(f"shared buffers: {sizes['planned']:,} bytes for {sizes['naive']:,}")
    return "\n".join(lines)


def _row(graph: Graph, node: Node) -> tuple[str, ...]:
    stypes, shapes, places = (graph.attributes[k] for k in ("stype", "shape", "storage_id"))
    outs = list(graph.output_ids(node))
    ins = ", ".join(stypes[graph.entry_id(e)] for e in node.inputs)
    result = ", ".join(stypes[i] for i in outs)
    decision = graph.attributes["decision"][graph.node_id(node)]
    return (
        node.name,
        node.op_name if node.op is not None else "",
        f"{ins} -> {result}" if node.op is not None else result,
        VARIABLE if decision is None else decision.mode,
        ", ".join("x".join(str(n) for n in shapes[i]) for i in outs),
        ", ".join(PLACES.get(places[i], str(places[i])) for i in outs),
        _group(graph, node),
    )


def _group(graph: Graph, node: Node) -> str:
    group = graph.attributes[FUSION_GROUP][graph.node_id(node)]
    return "" if group is None else f"f{group}"
