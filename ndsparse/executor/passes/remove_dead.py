"""remove_dead: only what outputs and effects need stays.

::

    recorded:  x ── a ── b          wanted: b          x ── a ── b
               │                                       │
               ├─── c               nobody reads c     └─── dropout  (draws random numbers: an effect)
               └─── dropout

A graph holds what its outputs and its *effects* reach.  This pass makes the effects exactly those
nodes that do more than compute outputs; whatever else was listed there (a recording lists every
node that ran) goes unless an output needs it.  From here on later passes may cut an effect off
from the outputs, and it runs nevertheless.
"""

from __future__ import annotations

from ndsparse.graph import Graph
from ndsparse.graph.rewrite import restricted


def remove_dead(graph: Graph) -> Graph:
    """Return the graph without nodes that neither an output nor an effect needs."""
    effects = [n for n in graph.nodes if n.has_effect]
    if list(graph.effects) == effects:
        return graph
    return restricted(graph, effects)
