"""infer_type: dtypes of all entries, forwards and backwards; what stays unknown is float32."""

from __future__ import annotations

from collections.abc import Mapping
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
    while True:
        while _sweep(graph, dtypes, graph.nodes) | _sweep(graph, dtypes, graph.nodes[::-1]):
            pass
        unknown = next((n for n in graph.nodes if dtypes[graph.entry_id_of(n)] is None), None)
        if unknown is None:
            return graph.with_attributes(dtype=dtypes)
        dtypes[graph.entry_id_of(unknown)] = np.dtype(np.float32)


def _declared(node: Node, given: Mapping[str, Any]) -> Any:
    if given.get(node.name) is not None:
        return np.dtype(given[node.name])
    code = node.annotations.get(DTYPE_KEY)
    if code is None or code == "-1":
        return None
    return np.dtype(CODES[int(code)] if code.isdigit() else code)


def _sweep(graph: Graph, dtypes: list[Any], nodes: tuple[Node, ...]) -> bool:
    changed = False
    for node in nodes:
        if node.op is None:
            continue
        ids = [*(graph.entry_id(e) for e in node.inputs), *graph.output_ids(node)]
        before = [dtypes[i] for i in ids]
        count = len(node.inputs)
        ins, outs = node.op.infer_dtype(before[:count], before[count:], node.attrs)
        for i, new in zip(ids, (*ins, *outs), strict=True):
            if dtypes[i] is None and new is not None:
                dtypes[i] = new
                changed = True
    return changed
