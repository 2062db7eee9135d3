"""partition: the order of a run, which nodes run in ``forward`` and which in ``backward``.

::

    x ── a ── b ── loss          forward    x a b loss
         │    │                  backward   c d e
         e ── d ── c ── head
"""

from __future__ import annotations

from ndsparse.graph import Graph, Node
from ndsparse.graph.graph import topological
from ndsparse.graph.rewrite import held_outputs

SCHEDULE = "schedule"
HEAD_PREFIX = "_head_gradient_"
"""Names of the variables through which gradients arrive at the outputs."""


def forward_part(graph: Graph) -> set[int]:
    """Return the ids (``id(node)``) of the nodes that run forward.

    They are what the outputs that the user holds need, and the effects that no gradient reaches.
    """
    found = {id(n) for n in topological([e.node for e in held_outputs(graph)])}
    if not graph.effects:
        return found
    late = set()
    for node in graph.nodes:
        arrives = node.op is None and node.name.startswith(HEAD_PREFIX)
        if arrives or any(id(e.node) in late for e in node.inputs):
            late.add(id(node))
    early = [n for n in graph.effects if id(n) not in late]
    return found | {id(n) for n in topological(early)}


def schedule(graph: Graph) -> tuple[list[Node], int]:
    """Return the nodes in the order in which they run, and how many of them run forward."""
    known = graph.attributes.get(SCHEDULE)
    if known is not None:
        return known  # type: ignore[no-any-return]
    forward = forward_part(graph)
    early = [n for n in graph.nodes if id(n) in forward]
    return early + [n for n in graph.nodes if id(n) not in forward], len(early)


def partition(graph: Graph) -> Graph:
    """Return the graph with ``schedule``; what later passes plan is planned for this order."""
    return graph.with_attributes(**{SCHEDULE: schedule(graph)})
