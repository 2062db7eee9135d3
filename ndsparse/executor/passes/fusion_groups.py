"""fusion_groups: which pointwise nodes can become one kernel.

::

    x ── dot ── + ── tanh ── * ── dot            level   0    1   1    1    1   2
                y ────┘      │                           dot [+  tanh  *]   sum
                             └── sum                          one group

A node is *pointwise* if each element of its output depends on the same element of its inputs.
Its level is the number of other (not pointwise) nodes on the longest way to it, so whatever leaves
a level through such a node never comes back to it.  Therefore pointwise nodes of one level that
are connected can run as one without a cycle.  Forward and backward parts are never mixed.

The result is the attribute ``fusion_group``: by node a number, or None; groups have two nodes or
more.  The executor does not use it yet: generated kernels will.
"""

from __future__ import annotations

from collections import Counter

from ndsparse.executor.passes.partition import schedule
from ndsparse.graph import Graph, Node
from ndsparse.ops.registry import FCOMPUTE

FUSION_GROUP = "fusion_group"


def fusion_groups(graph: Graph) -> Graph:
    """Return the graph with ``fusion_group``; needs shape, stype and decision.  Linear."""
    order, early = schedule(graph)
    forward = {id(n) for n in order[:early]}
    levels: list[tuple[bool, int]] = []
    parent = list(range(len(graph.nodes)))
    pointwise = [_is_pointwise(graph, i, n) for i, n in enumerate(graph.nodes)]
    for i, node in enumerate(graph.nodes):
        inputs = [graph.node_id(e.node) for e in node.inputs]
        level = max((levels[j][1] for j in inputs), default=0)
        if node.op is not None and not pointwise[i]:
            level += 1
        levels.append((id(node) in forward, level))
        if pointwise[i]:
            for j in inputs:
                if pointwise[j] and levels[j] == levels[i]:
                    parent[_root(parent, j)] = _root(parent, i)
    roots = [_root(parent, i) for i in range(len(parent))]
    sizes = Counter(r for r, p in zip(roots, pointwise, strict=True) if p)
    numbers: dict[int, int] = {}
    groups = [
        numbers.setdefault(r, len(numbers)) if p and sizes[r] > 1 else None
        for r, p in zip(roots, pointwise, strict=True)
    ]
    return graph.with_attributes(fusion_group=groups)


def _is_pointwise(graph: Graph, i: int, node: Node) -> bool:
    """Whether the node can write over its input, all arrays being dense and of one shape."""
    if node.op is None or node.has_effect or graph.attributes["decision"][i].mode != FCOMPUTE:
        return False
    shapes = graph.attributes["shape"]
    shape = shapes[graph.entry_id_of(node)]
    if not node.op.inplace and node.op.name != "add_n":
        return False
    return all(shapes[graph.entry_id(e)] == shape for e in node.inputs)


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = i = parent[parent[i]]
    return i
