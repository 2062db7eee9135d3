"""infer_type: dtypes of all entries, forwards and backwards; what stays unknown is float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndsparse.graph import Graph, Node

DTYPE_KEY = "__dtype__"
CODES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
"""MXNet's numbers of dtypes, by position."""


def infer_type(graph: Graph, given: Mapping[str, Any] | None = None) -> Graph:
    """Return the graph with the attribute ``dtype``, a list of numpy dtypes by entry.

    Parameters
    ----------
    given : mapping, optional
        Variable name to dtype.
    """
    dtypes: list[Any] = [None] * len(graph.entries)
    for node in graph.variables:
        dtypes[graph.entry_id_of(node)] = _declared(node, given or {})
    open_nodes = [n for n in graph.nodes if n.op is not None]
    memo: dict[Any, Any] = {}
    for unknown in (None, *graph.nodes):
        if unknown is not None:
            if dtypes[graph.entry_id_of(unknown)] is not None:
                continue
            dtypes[graph.entry_id_of(unknown)] = np.dtype(np.float32)
        changed = True
        while changed and open_nodes:
            changed, open_nodes = _sweep(graph, dtypes, open_nodes, memo)
            open_nodes.reverse()
            again, open_nodes = _sweep(graph, dtypes, open_nodes, memo)
            open_nodes.reverse()
            changed = changed or again
    return graph.with_attributes(dtype=dtypes)


def _declared(node: Node, given: Mapping[str, Any]) -> Any:
    if given.get(node.name) is not None:
        return np.dtype(given[node.name])
    code = node.annotations.get(DTYPE_KEY)
    if code is None or code == "-1":
        return None
    return np.dtype(CODES[int(code)] if code.isdigit() else code)


def _sweep(
    graph: Graph, dtypes: list[Any], nodes: Sequence[Node], memo: dict[Any, Any]
) -> tuple[bool, list[Node]]:
    """Apply each node's rule once; return whether anything followed, and the nodes with unknown dtypes."""
    changed, rest = False, []
    for node in nodes:
        ids = [*[graph.entry_id(e) for e in node.inputs], *graph.output_ids(node)]
        before = [dtypes[i] for i in ids]
        key = (node.kind, *before)
        after = memo.get(key)
        if after is None:
            count = len(node.inputs)
            assert node.op is not None  # noqa: S101  (variables have no rule)
            ins, outs = node.op.infer_dtype(before[:count], before[count:], node.attrs)
            after = memo[key] = (*ins, *outs)
        for i, new in zip(ids, after, strict=True):
            if dtypes[i] is None and new is not None:
                dtypes[i] = new
                changed = True
        if any(dtypes[i] is None for i in ids):
            rest.append(node)
    return changed, rest
