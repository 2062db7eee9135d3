"""What must hold after each pass.  A violation is a fault of the project and names the pass."""

from __future__ import annotations

import itertools

from ndsparse.errors import GraphError
from ndsparse.executor.passes.plan_memory import DYNAMIC, EXTERNAL
from ndsparse.graph import Graph
from ndsparse.ops.registry import FALLBACK, FCOMPUTE, FCOMPUTE_EX


def verify(graph: Graph, after: str) -> Graph:
    """Return the graph if it keeps the contract of the pass ``after``."""
    seen: set[int] = set()
    for node in graph.nodes:
        for entry in node.inputs:
            _require(id(entry.node) in seen, after, f"{node.name} comes before its input {entry.name}")
            _require(entry.index < entry.node.num_outputs, after, f"{node.name} reads {entry} out of range")
        seen.add(id(node))
    if after in _CHECKS:
        _CHECKS[after](graph)
    return graph


def _require(condition: bool, after: str, message: str) -> None:
    if not condition:
        raise GraphError(f"after {after}: {message}")


def _shapes(graph: Graph) -> None:
    shapes = graph.attributes["shape"]
    for entry, shape in zip(graph.entries, shapes, strict=True):
        known = shape is not None and all(isinstance(n, int) and n >= 0 for n in shape)
        _require(known, "infer_shape", f"{entry.name} has shape {shape}")


def _types(graph: Graph) -> None:
    for entry, dtype in zip(graph.entries, graph.attributes["dtype"], strict=True):
        _require(dtype is not None, "infer_type", f"{entry.name} has no dtype")


def _stypes(graph: Graph) -> None:
    stypes, decisions = graph.attributes["stype"], graph.attributes["decision"]
    for node, decision in zip(graph.nodes, decisions, strict=True):
        if node.op is None:
            continue
        found = [stypes[graph.entry_id(e)] for e in node.inputs]
        result = [stypes[i] for i in graph.output_ids(node)]
        _require(
            tuple(result) == decision.stypes, "infer_storage_type", f"{node.name} disagrees with its row"
        )
        if decision.mode == FCOMPUTE:
            dense = all(s == "default" for s in (*found, *result))
            _require(dense, "infer_storage_type", f"{node.name} is fcompute with {found} -> {result}")
        if decision.mode == FCOMPUTE_EX:
            _require(
                decision.row is not None, "infer_storage_type", f"{node.name} is fcompute_ex without a row"
            )
        _require(
            decision.mode in (FCOMPUTE, FCOMPUTE_EX, FALLBACK),
            "infer_storage_type",
            f"{node.name} has mode {decision.mode}",
        )


def _memory(graph: Graph) -> None:
    stypes, storage = graph.attributes["stype"], graph.attributes["storage_id"]
    for entry, stype, place in zip(graph.entries, stypes, storage, strict=True):
        if stype != "default":
            _require(
                place in (DYNAMIC, EXTERNAL), "plan_memory", f"{entry.name} ({stype}) shares memory {place}"
            )
    users = graph.consumers()
    position = {id(n): i for i, n in enumerate(graph.nodes)}
    spans: dict[int, list[tuple[int, int]]] = {}
    for i, entry in enumerate(graph.entries):
        if storage[i] >= 0:
            born = position[id(entry.node)]
            spans.setdefault(storage[i], []).append((born, max(users[i], default=born)))
    for place, lives in spans.items():
        lives.sort()
        for (_, last), (born, _) in itertools.pairwise(lives):
            _require(last < born, "plan_memory", f"buffer {place} holds two living entries")


_CHECKS = {
    "infer_shape": _shapes,
    "infer_type": _types,
    "infer_storage_type": _stypes,
    "plan_memory": _memory,
}
