"""fold_constants: what depends on no variable is computed once, when the graph is bound.

::

    ones(2, 3) ── * 3 ── + ── f           [3 3 3] ── + ── f
                    x ───┘          ->         x ────┘

Constants are operators without inputs, ``zeros_like`` and ``ones_like`` (of a known shape), and
pure operators on constants.  The result becomes a variable whose array lies in the graph attribute
``constants``.  Results above ``LIMIT`` bytes are not kept: memory that is held between steps would
cost more than filling it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.executor.passes.infer_storage_type import decided
from ndsparse.graph import Entry, Graph, Node
from ndsparse.graph.rewrite import rewrite
from ndsparse.ops import dispatch
from ndsparse.ops.registry import WRITE, OpContext
from ndsparse.storage import Chunk, storage_class

LIMIT = 1 << 20
"""Bytes of a dense constant that is kept at most."""

CONSTANTS = "constants"
FILLERS = frozenset({"zeros_like", "ones_like"})


def fold_constants(graph: Graph) -> Graph:
    """Return the graph with constants computed; needs shape, dtype, stype and decision."""
    constants: dict[str, Chunk] = dict(graph.attributes.get(CONSTANTS, {}))
    held = {id(e.node) for e in graph.outputs}
    inner: dict[str, Chunk] = {}  # constants that stand for the outputs of a folded node

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if not _folds(node, inputs, inner) or id(node) in held or _size(graph, node) > LIMIT:
            return None
        entries = []
        for i, chunk in enumerate(_computed(graph, node, [inner.get(e.node.name) for e in inputs])):
            name = f"{node.name}_constant{i}"
            inner[name] = chunk
            entries.append(Entry(Node(None, {}, (), name)))
        return entries

    result = rewrite(graph, replace, decided)
    used = {n.name for n in result.variables}
    constants |= {k: v for k, v in inner.items() if k in used}
    return result if result is graph else result.with_attributes(constants=constants)


def _folds(node: Node, inputs: Sequence[Entry], constants: dict[str, Chunk]) -> bool:
    if node.has_effect or node.after or node.op is None:
        return False
    if node.op.name in FILLERS:
        return True
    return all(e.node.op is None and e.node.name in constants for e in inputs)


def _size(graph: Graph, node: Node) -> int:
    shapes, dtypes = graph.attributes["shape"], graph.attributes["dtype"]
    return max(int(math.prod(shapes[i])) * int(dtypes[i].itemsize) for i in graph.output_ids(node))


def _computed(graph: Graph, node: Node, inputs: Sequence[Chunk | None]) -> list[Chunk]:
    """Run the node; an input that is no constant (of ``zeros_like``) counts by its shape only."""
    given = [
        c if c is not None else _empty(graph, graph.entry_id(e))
        for c, e in zip(inputs, node.inputs, strict=True)
    ]
    outputs = [_empty(graph, i) for i in graph.output_ids(node)]
    decision = graph.attributes["decision"][graph.node_id(node)]
    assert node.op is not None  # noqa: S101  (variables are not folded)
    run = dispatch.runner(node.op, decision, node.attrs)
    with np.errstate(all="ignore"):
        run(given, outputs, OpContext(False, (WRITE,) * len(outputs)))
    return outputs


def _empty(graph: Graph, i: int) -> Any:
    return storage_class(graph.attributes["stype"][i])(
        graph.attributes["shape"][i], graph.attributes["dtype"][i]
    )
