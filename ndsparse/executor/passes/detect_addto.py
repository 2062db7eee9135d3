"""detect_addto: terms of a sum are added where they are made.

::

    dot1 ── a ──┐                       dot1 ── writes s
    dot2 ── b ──┴─ add_n ── s    ->     dot2 ── adds to s          no add_n, no a and b

Gradients of an array that is used several times end in such sums.  The first term (in the order of
the run) writes the sum's memory, the others must have a kernel that adds to its output.  Only dense
sums: what a sparse result needs is known at run time (MXNet has the same rule).

The result is the attribute ``accumulate``: by entry the id of the sum that the entry is a term of,
or None.
"""

from __future__ import annotations

from ndsparse.executor.passes.overwriting import accumulates, writes
from ndsparse.executor.passes.partition import schedule
from ndsparse.graph import Graph, Node

ACCUMULATE = "accumulate"
SUMS = frozenset({"add_n", "_grad_add", "elemwise_add"})


def detect_addto(graph: Graph) -> Graph:
    """Return the graph with ``accumulate``; needs dtype, stype and decision.  Linear."""
    order, forward = schedule(graph)
    position = {id(n): i for i, n in enumerate(order)}
    into: list[int | None] = [None] * len(graph.entries)
    for node in order[forward:]:
        if node.op_name in SUMS and _can(graph, node, position, forward, into):
            for entry in node.inputs:
                into[graph.entry_id(entry)] = graph.entry_id_of(node)
    return graph.with_attributes(accumulate=into)


def _can(graph: Graph, node: Node, position: dict[int, int], forward: int, into: list[int | None]) -> bool:
    """Whether every term can be made in place."""
    stypes, dtypes, shapes = (graph.attributes[k] for k in ("stype", "dtype", "shape"))
    result, uses, outputs = graph.entry_id_of(node), graph.consumers(), {id(e.node) for e in graph.outputs}
    terms = sorted(node.inputs, key=lambda e: position[id(e.node)])
    for i, entry in enumerate(terms):
        k, maker = graph.entry_id(entry), entry.node
        decision = graph.attributes["decision"][graph.node_id(maker)]
        alone = len(uses[k]) == 1 and id(maker) not in outputs and into[k] is None
        same = (stypes[k], dtypes[k], shapes[k]) == (stypes[result], dtypes[result], shapes[result])
        if not alone or not same or stypes[k] != "default" or position[id(maker)] < forward:
            return False
        if not (accumulates(maker, decision) if i else writes(maker, decision) and maker.num_outputs == 1):
            return False
        if maker.op_name in SUMS:  # it may not be there itself
            return False
    return True
