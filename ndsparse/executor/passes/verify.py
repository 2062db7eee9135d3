"""What must hold after each pass.  A violation is a fault of the project and names the pass."""

from __future__ import annotations

import itertools
from typing import Any, NoReturn

from ndsparse.errors import GraphError
from ndsparse.executor.passes.detect_addto import ACCUMULATE
from ndsparse.executor.passes.eliminate_casts import CAST
from ndsparse.executor.passes.fold_constants import CONSTANTS
from ndsparse.executor.passes.fusion_groups import FUSION_GROUP
from ndsparse.executor.passes.gradient import MIRRORED
from ndsparse.executor.passes.overwriting import accumulates, overwritable
from ndsparse.executor.passes.partition import schedule
from ndsparse.executor.passes.plan_memory import DYNAMIC, EXTERNAL
from ndsparse.graph import Graph, Node
from ndsparse.graph.rewrite import held_outputs
from ndsparse.ops.registry import FALLBACK, FCOMPUTE, FCOMPUTE_EX


def verify(graph: Graph, after: str) -> Graph:
    """Return the graph if it keeps the contract of the pass ``after``."""
    seen: set[int] = set()
    for node in graph.nodes:
        for entry in node.inputs:
            if id(entry.node) not in seen or not 0 <= entry.index < entry.node.num_outputs:
                _fail(after, f"{node.name} comes before its input {entry.name}, or there is no such output")
        seen.add(id(node))
    if after in _CHECKS:
        _CHECKS[after](graph)
    return graph


def _require(condition: bool, after: str, message: str) -> None:
    if not condition:
        _fail(after, message)


def _fail(after: str, message: str) -> NoReturn:
    raise GraphError(f"after {after}: {message}")


def _shapes(graph: Graph) -> None:
    shapes = graph.attributes["shape"]
    for entry, shape in zip(graph.entries, shapes, strict=True):
        if shape is None or not all(isinstance(n, int) and n >= 0 for n in shape):
            _fail("infer_shape", f"{entry.name} has shape {shape}")


def _types(graph: Graph) -> None:
    for entry, dtype in zip(graph.entries, graph.attributes["dtype"], strict=True):
        if dtype is None:
            _fail("infer_type", f"{entry.name} has no dtype")


def _stypes(graph: Graph) -> None:
    stypes, decisions = graph.attributes["stype"], graph.attributes["decision"]
    for node, decision in zip(graph.nodes, decisions, strict=True):
        if node.op is None:
            continue
        found = [stypes[graph.entry_id(e)] for e in node.inputs]
        result = [stypes[i] for i in graph.output_ids(node)]
        after = "infer_storage_type"
        if tuple(result) != decision.stypes:
            _fail(after, f"{node.name} disagrees with its row")
        if decision.mode == FCOMPUTE and any(s != "default" for s in (*found, *result)):
            _fail(after, f"{node.name} is fcompute with {found} -> {result}")
        if decision.mode == FCOMPUTE_EX and decision.row is None:
            _fail(after, f"{node.name} is fcompute_ex without a row")
        if decision.mode not in (FCOMPUTE, FCOMPUTE_EX, FALLBACK):
            _fail(after, f"{node.name} has mode {decision.mode}")


def _memory(graph: Graph) -> None:
    stypes, storage = graph.attributes["stype"], graph.attributes["storage_id"]
    for entry, stype, place in zip(graph.entries, stypes, storage, strict=True):
        if stype != "default" and place not in (DYNAMIC, EXTERNAL):
            _fail("plan_memory", f"{entry.name} ({stype}) shares memory {place}")
    order, forward = schedule(graph)
    position = {id(n): i for i, n in enumerate(order)}
    uses, into = graph.consumers(), graph.attributes.get(ACCUMULATE) or [None] * len(storage)
    spans: dict[int, list[tuple[int, int, int]]] = {}
    born = {i: position[id(e.node)] for i, e in enumerate(graph.entries) if into[i] is None}
    for i, target in enumerate(into):
        if target is not None:  # a sum lives from its first term on
            born[target] = min(born[target], position[id(graph.entries[i].node)])
    for i, start in born.items():
        if storage[i] < 0:
            continue
        readers = [position[id(graph.nodes[k])] for k in uses[i]]
        last = max(readers, default=start)
        if position[id(graph.entries[i].node)] < forward <= last:
            last = len(order)  # backward may run again
        spans.setdefault(storage[i], []).append((start, last, i))
    for place, lives in spans.items():
        lives.sort()
        for (_, last, i), (start, _, k) in itertools.pairwise(lives):
            free = last < start or (last == start and _may_overwrite(graph, order[start], i))
            if not free:
                _fail(
                    "plan_memory", f"buffer {place} holds {graph.entries[i]} and {graph.entries[k]} at once"
                )


def _may_overwrite(graph: Graph, node: Node, i: int) -> bool:
    """Whether the node can work in place over entry ``i``."""
    decision = graph.attributes["decision"][graph.node_id(node)]
    positions = overwritable(node, decision)
    return any(graph.entry_id(e) == i and p in positions for p, e in enumerate(node.inputs))


def _no_dead_nodes(graph: Graph) -> None:
    for node in graph.effects:
        _require(node.has_effect, "remove_dead", f"{node.name} is kept without an effect")


def _no_copies(graph: Graph) -> None:
    held, written = {id(e.node) for e in held_outputs(graph)}, graph.written()
    stypes = graph.attributes["stype"]
    for node in graph.nodes:
        if node.op_name == CAST and id(node) not in held and not node.after:
            source = node.inputs[0]
            same = stypes[graph.entry_id(source)] == stypes[graph.entry_id_of(node)]
            stays = id(source.node) in written or source.index > 0
            _require(stays or not same, "eliminate_casts", f"{node.name} casts to the same storage type")


def _no_duplicates(graph: Graph) -> None:
    seen: set[Any] = set()
    held, written = {id(e.node) for e in held_outputs(graph)}, graph.written()
    for node in graph.nodes:
        if node.op is None or node.has_effect or node.after or MIRRORED in node.annotations:
            continue
        if id(node) in held or any(id(e.node) in written for e in node.inputs):
            continue
        key = (node.kind, *node.inputs)
        if key in seen:
            _fail("eliminate_common", f"{node.name} is computed twice")
        seen.add(key)


def _constants(graph: Graph) -> None:
    for name, chunk in graph.attributes.get(CONSTANTS, {}).items():
        nodes = [n for n in graph.variables if n.name == name]
        _require(len(nodes) == 1, "fold_constants", f"{len(nodes)} nodes read the constant {name}")
        i = graph.entry_id_of(nodes[0])
        same = (chunk.stype, chunk.shape) == (graph.attributes["stype"][i], graph.attributes["shape"][i])
        _require(same, "fold_constants", f"{name} is {chunk}")


def _groups(graph: Graph) -> None:
    """Require that no group is left and entered again: then it can run as one."""
    groups = graph.attributes[FUSION_GROUP]
    passed: list[set[int]] = []  # groups that were left on a way to the node
    for i, node in enumerate(graph.nodes):
        behind: set[int] = set()
        for entry in node.inputs:
            j = graph.node_id(entry.node)
            behind |= passed[j]
            if groups[j] is not None and groups[j] != groups[i]:
                behind.add(groups[j])
        if groups[i] in behind:
            _fail("fusion_groups", f"group {groups[i]} is left and entered again")
        passed.append(behind)


def _order(graph: Graph) -> None:
    order, _ = schedule(graph)
    ran: set[int] = set()
    for node in order:
        if any(id(e.node) not in ran for e in node.inputs):
            _fail("partition", f"{node.name} runs before its inputs")
        ran.add(id(node))
    _require(len(order) == len(graph.nodes), "partition", "nodes are missing")


def _sums(graph: Graph) -> None:
    order, _ = schedule(graph)
    position = {id(n): i for i, n in enumerate(order)}
    first: dict[int, int] = {}
    into = graph.attributes[ACCUMULATE]
    for i, target in enumerate(into):
        if target is not None:
            start = position[id(graph.entries[i].node)]
            first[target] = min(first.get(target, start), start)
    for i, target in enumerate(into):
        node = graph.entries[i].node
        if target is None or position[id(node)] == first[target]:
            continue
        decision = graph.attributes["decision"][graph.node_id(node)]
        _require(accumulates(node, decision), "detect_addto", f"{node.name} cannot add to its output")


_CHECKS = {
    "infer_shape": _shapes,
    "infer_type": _types,
    "infer_storage_type": _stypes,
    "remove_dead": _no_dead_nodes,
    "eliminate_casts": _no_copies,
    "eliminate_common": _no_duplicates,
    "fold_constants": _constants,
    "partition": _order,
    "fusion_groups": _groups,
    "detect_addto": _sums,
    "plan_memory": _memory,
}
