"""plan_memory: which dense intermediate results share memory.

Each entry gets a storage id:

=============  ==============================================================================
``EXTERNAL``   variables, and entries that outlive the run (outputs, gradients)
``DYNAMIC``    not default storage: allocated in the operator, at run time (kDynamicStorageID)
``RELEASED``   dense, but its operator makes a new array: freed after the last use
0, 1, ...      a buffer of the pool; entries with the same number take turns
=============  ==============================================================================

Buffers go from entry to entry by reference counts, the smallest that fits first, as long as it is
not more than ``MATCH_RANGE`` times too large.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from ndsparse.graph import Entry, Graph

EXTERNAL = -2
DYNAMIC = -3
RELEASED = -4
MATCH_RANGE = 16


def plan_memory(graph: Graph, external: Collection[Entry] = ()) -> Graph:
    """Return the graph with ``storage_id`` (by entry) and ``pool`` (bytes of each buffer).

    Parameters
    ----------
    graph : Graph
        With shapes, dtypes, storage types and decisions.
    external : collection of Entry
        Entries whose memory is provided from outside.
    """
    ids = [_class_of(graph, entry, external) for entry in graph.entries]
    uses = [len(u) for u in graph.consumers()]
    pool: list[int] = []
    free: list[int] = []
    for node in graph.nodes:
        for i in graph.output_ids(node):
            if ids[i] is None:
                ids[i] = _take(_size(graph, i), pool, free)
        for entry in node.inputs:
            j = graph.entry_id(entry)
            uses[j] -= 1
            place = ids[j]
            if uses[j] == 0 and place is not None and place >= 0:
                free.append(place)
        for i in graph.output_ids(node):
            place = ids[i]
            if uses[i] == 0 and place is not None and place >= 0:
                free.append(place)  # nobody reads it
    return graph.with_attributes(storage_id=ids, pool=pool)


def _class_of(graph: Graph, entry: Entry, external: Collection[Entry]) -> int | None:
    """Return the fixed id of an entry, None if it takes part in sharing."""
    if entry.node.op is None or entry in external:
        return EXTERNAL
    if graph.attributes["stype"][graph.entry_id(entry)] != "default":
        return DYNAMIC
    decision = graph.attributes["decision"][graph.node_id(entry.node)]
    writes = decision.row is not None and decision.row.kernel is not None
    return None if writes or entry.node.op.into else RELEASED


def _size(graph: Graph, i: int) -> int:
    return int(math.prod(graph.attributes["shape"][i]) * graph.attributes["dtype"][i].itemsize)


def _take(size: int, pool: list[int], free: list[int]) -> int:
    fitting = [p for p in free if size <= pool[p] <= max(size, 1) * MATCH_RANGE]
    if fitting:
        chosen = min(fitting, key=lambda p: pool[p])
    elif free:
        chosen = max(free, key=lambda p: pool[p])
        if pool[chosen] * MATCH_RANGE < size or pool[chosen] > size:
            pool.append(size)
            return len(pool) - 1
        pool[chosen] = size
    else:
        pool.append(size)
        return len(pool) - 1
    free.remove(chosen)
    return chosen


def report(graph: Graph) -> dict[str, int]:
    """Return bytes of dense intermediate results: ``planned`` (the pool) and ``naive`` (one buffer each)."""
    ids = graph.attributes["storage_id"]
    naive = sum(_size(graph, i) for i, place in enumerate(ids) if place >= 0)
    return {"planned": sum(graph.attributes["pool"]), "naive": naive}
