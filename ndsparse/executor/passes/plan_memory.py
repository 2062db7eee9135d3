"""plan_memory: which dense intermediate results share memory.

Each entry gets a storage id:

=============  ==============================================================================
``EXTERNAL``   variables, and entries that outlive the run (outputs, gradients)
``DYNAMIC``    not default storage: allocated in the operator, at run time (kDynamicStorageID)
``RELEASED``   dense, but its operator makes a new array: freed after the last use
0, 1, ...      a buffer of the pool; entries with the same number take turns
=============  ==============================================================================

Buffers go from entry to entry by reference counts, the smallest that fits first, as long as it is
not more than ``MATCH_RANGE`` times too large.  An operator that can work in place writes over an
input that nobody reads afterwards::

    x ── dot ── + bias ── relu ── dot          buffer   0     0     0    1
                                                       dot   +    relu  dot

What forward makes and backward reads stays until the next forward: ``backward`` may be called again.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Collection, Sequence

from ndsparse.executor.passes.detect_addto import ACCUMULATE
from ndsparse.executor.passes.overwriting import overwritable, writes
from ndsparse.executor.passes.partition import schedule
from ndsparse.graph import Entry, Graph, Node
from ndsparse.graph.show import DYNAMIC, EXTERNAL, RELEASED

__all__ = ["DYNAMIC", "EXTERNAL", "RELEASED", "plan_memory", "report", "use_counts"]

MATCH_RANGE = 16


def plan_memory(graph: Graph, external: Collection[Entry] | None = None) -> Graph:
    """Return the graph with ``storage_id`` (by entry) and ``pool`` (bytes of each buffer).

    Parameters
    ----------
    graph : Graph
        With shapes, dtypes, storage types and decisions.
    external : collection of Entry
        Entries whose memory is provided from outside; default: the outputs.
    """
    outside = set(graph.outputs if external is None else external)
    order, forward = schedule(graph)
    ids = [_class_of(graph, entry, outside) for entry in graph.entries]
    uses = use_counts(graph, order, forward)
    into = graph.attributes.get(ACCUMULATE) or [None] * len(ids)
    pool = Pool()
    for node in order:
        inputs = [graph.entry_id(e) for e in node.inputs]
        outputs = graph.output_ids(node)
        for i in outputs:
            target = i if into[i] is None else into[i]
            if ids[target] is None:
                over = _overwritten(graph, node, i, ids, uses)
                ids[target] = pool.take(_size(graph, i)) if over is None else ids[over]
                if over is not None:
                    uses[over] = -1  # its buffer lives on
            ids[i] = ids[target]
        for j in inputs:
            uses[j] -= 1
            if uses[j] == 0 and into[j] is None:
                pool.give(ids[j])
        for i in outputs:
            if uses[i] == 0 and into[i] is None:
                pool.give(ids[i])  # nobody reads it
    return graph.with_attributes(storage_id=ids, pool=pool.sizes)


def use_counts(graph: Graph, order: Sequence[Node], forward: int) -> list[int]:
    """Return how often each entry is read; one more for what must outlive a run of ``backward``."""
    uses = [len(u) for u in graph.consumers()]
    early = {id(n) for n in order[:forward]}
    kept = {graph.entry_id(e) for n in order[forward:] for e in n.inputs if id(e.node) in early}
    return [n + (i in kept) for i, n in enumerate(uses)]


def _class_of(graph: Graph, entry: Entry, external: Collection[Entry]) -> int | None:
    """Return the fixed id of an entry, None if it takes part in sharing."""
    if entry.node.op is None or entry in external:
        return EXTERNAL
    if graph.attributes["stype"][graph.entry_id(entry)] != "default":
        return DYNAMIC
    decision = graph.attributes["decision"][graph.node_id(entry.node)]
    return None if writes(entry.node, decision) else RELEASED


def _overwritten(
    graph: Graph, node: Node, i: int, ids: Sequence[int | None], uses: Sequence[int]
) -> int | None:
    """Return the input whose buffer output ``i`` can take over, if there is one."""
    decision = graph.attributes["decision"][graph.node_id(node)]
    dtypes = graph.attributes["dtype"]
    for position in overwritable(node, decision):
        if position >= len(node.inputs):
            break
        entry = node.inputs[position]
        j = graph.entry_id(entry)
        place = ids[j]
        dying = place is not None and place >= 0 and uses[j] == node.inputs.count(entry)
        if dying and dtypes[j] == dtypes[i] and _size(graph, j) == _size(graph, i):
            return j
    return None


def _size(graph: Graph, i: int) -> int:
    return int(math.prod(graph.attributes["shape"][i]) * graph.attributes["dtype"][i].itemsize)


class Pool:
    """Buffers that take turns.

    Attributes
    ----------
    sizes : list of int
        Bytes of each buffer.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._free: list[tuple[int, int]] = []  # (size, buffer), sorted

    def take(self, size: int) -> int:
        """Return the smallest free buffer that fits, else a free one that grows, else a new one."""
        at = bisect.bisect_left(self._free, (size, -1))
        if at < len(self._free) and self._free[at][0] <= max(size, 1) * MATCH_RANGE:
            return self._free.pop(at)[1]
        if at > 0 and self._free[at - 1][0] * MATCH_RANGE >= size:
            buffer = self._free.pop(at - 1)[1]
            self.sizes[buffer] = size
            return buffer
        self.sizes.append(size)
        return len(self.sizes) - 1

    def give(self, buffer: int | None) -> None:
        """Take a buffer back; ids that are no buffer are ignored."""
        if buffer is not None and buffer >= 0:
            bisect.insort(self._free, (self.sizes[buffer], buffer))


def report(graph: Graph) -> dict[str, int]:
    """Return bytes of dense intermediate results.

    Returns
    -------
    dict
        ``planned``: the pool, and the most that released arrays occupy at once; ``naive``: one
        array each; ``pool``: the pool alone.
    """
    ids = graph.attributes["storage_id"]
    naive = sum(_size(graph, i) for i, place in enumerate(ids) if place >= 0 or place == RELEASED)
    pool = sum(graph.attributes["pool"])
    return {"planned": pool + _released_peak(graph), "naive": naive, "pool": pool}


def _released_peak(graph: Graph) -> int:
    order, forward = schedule(graph)
    ids, uses = graph.attributes["storage_id"], use_counts(graph, order, forward)
    live = peak = 0
    for node in order:
        for i in graph.output_ids(node):
            live += _size(graph, i) if ids[i] == RELEASED else 0
        peak = max(peak, live)
        for entry in node.inputs:
            j = graph.entry_id(entry)
            uses[j] -= 1
            live -= _size(graph, j) if uses[j] == 0 and ids[j] == RELEASED else 0
    return peak
