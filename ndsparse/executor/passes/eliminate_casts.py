"""eliminate_casts: copies, and casts to what an array is already, vanish.

::

    x ── _copy ── f            ->   x ── f
    x:csr ── cast(csr) ── f    ->   x ── f
    x:csr ── cast(default) ── cast(row_sparse) ── f   ->   x ── cast(row_sparse) ── f
    x:csr ── cast(default) ── cast(csr) ── f          ->   x ── f          (back and forth)

``BlockGrad`` and ``make_loss`` say something to ``gradient`` and are copies afterwards; a Reshape
to the same shape is a copy, too.  A copy stays where the user holds its result, where its input is
an array that some node writes (it keeps the old values), and where it changes the dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ndsparse.executor.passes.infer_storage_type import decided
from ndsparse.graph import Entry, Graph, Node
from ndsparse.graph.rewrite import rewrite

COPIES = frozenset({"_copy", "BlockGrad", "make_loss", "MakeLoss", "_identity_with_attr_like_rhs"})
"""Operators that return their first input."""

RENAMES = frozenset({"Reshape", "Flatten", "expand_dims", "squeeze", "reshape_like", "Cast", "amp_cast"})
"""Operators that return their first input where shape and dtype stay."""

CAST = "cast_storage"


def eliminate_casts(graph: Graph) -> Graph:
    """Return the graph without copies and superfluous casts; needs shape, dtype and stype."""
    written = graph.written()
    facts = {id(n): _facts(graph, n) for n in graph.nodes}  # of the first output

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        name = node.op_name
        if name not in COPIES and name not in RENAMES and name != CAST:
            return None
        source = _source(inputs[0]) if name == CAST else inputs[0]
        if node.after or id(source.node) in written:
            return None
        if source.index == 0 and facts.get(id(source.node)) == facts[id(node)]:
            return [source]
        if name == CAST and source != inputs[0]:
            twin = Node(node.op, node.attrs, (source,), node.name, node.annotations)
            facts[id(twin)] = facts[id(node)]
            return [Entry(twin)]
        return None

    return rewrite(graph, replace, decided)


def _source(entry: Entry) -> Entry:
    """Return what a cast was made of, through any number of casts."""
    while entry.node.op_name == CAST:
        entry = entry.node.inputs[0]
    return entry


def _facts(graph: Graph, node: Node) -> tuple[Any, ...]:
    i = graph.entry_id_of(node)
    return tuple([graph.attributes[name][i] for name in ("shape", "dtype", "stype")])
