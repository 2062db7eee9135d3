"""infer_storage_type: storage types of all entries, and with them how each node is dispatched.

Variables have the storage type they were given or declared with.  A node's rows say what comes out
(forwards); where an output's storage type is known and an input's is not, the first row that fits
says what goes in (backwards).  Variables about which nothing is known are dense.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.errors import NDSparseError, StorageTypeError
from ndsparse.graph import Entry, Graph, Node
from ndsparse.ops import dispatch
from ndsparse.ops.registry import Operator
from ndsparse.storage import storage_class

STYPE_KEY = "__storage_type__"

MaybeStype = str | None


def infer_storage_type(
    graph: Graph,
    given: Mapping[str, str] | None = None,
    wanted: Mapping[Entry, str] | None = None,
) -> Graph:
    """Return the graph with ``stype`` (a list by entry) and ``decision`` (a list by node).

    Parameters
    ----------
    given : mapping, optional
        Variable name to storage type; goes before what the variable declares.
    wanted : mapping, optional
        Storage types that entries must have.

    Raises
    ------
    StorageTypeError
        A storage type is unknown, or an operator refuses; the message names the node.
    """
    stypes: list[MaybeStype] = [None] * len(graph.entries)
    for node in graph.variables:
        stypes[graph.entry_id_of(node)] = _declared(node, given or {})
    targets = {graph.entry_id(e): s for e, s in (wanted or {}).items()}
    for i, stype in targets.items():
        storage_class(stype)
        if stypes[i] is None:
            stypes[i] = stype
    for node in reversed(graph.nodes):
        _backward(graph, node, stypes)
    decisions: list[Any] = [None] * len(graph.nodes)
    memo: dict[Any, dispatch.Decision] = {}  # deep graphs repeat themselves
    for k, node in enumerate(graph.nodes):
        first = graph.entry_id_of(node)
        if node.op is None:
            stypes[first] = stypes[first] or "default"
            continue
        inputs = [stypes[graph.entry_id(e)] for e in node.inputs]
        key = (node.kind, *inputs, targets.get(first))
        decision = memo.get(key)
        if decision is None:
            decision = memo[key] = _decide(node, node.op, inputs, targets.get(first))
        decisions[k] = decision
        stypes[first : first + node.num_outputs] = decision.stypes
    return graph.with_attributes(stype=stypes, decision=decisions)


def _declared(node: Node, given: Mapping[str, str]) -> MaybeStype:
    stype = given.get(node.name)
    if stype is None:
        text = node.annotations.get(STYPE_KEY)
        if text is None or text == "-1":
            return None
        stype = storage_class(int(text) if text.isdigit() else text).stype
    try:
        return storage_class(stype).stype
    except StorageTypeError as error:
        raise StorageTypeError(f"variable {node.name!r}: {error}") from None


def _decide(node: Node, op: Operator, inputs: Sequence[MaybeStype], wanted: MaybeStype) -> dispatch.Decision:
    try:
        return dispatch.decide(op, [s or "default" for s in inputs], node.attrs, wanted)
    except NDSparseError as error:
        attrs = ", ".join(f"{k}={v!r}" for k, v in node.attrs.items())
        raise StorageTypeError(f"node {node.name!r}, {op.name}({attrs}): {error}") from None


def decided(node: Node, inputs: Sequence[str], wanted: str) -> dispatch.Decision | None:
    """Return the decision for a node that a pass made, whose first output is ``wanted``."""
    return None if node.op is None else _decide(node, node.op, inputs, wanted)


def _backward(graph: Graph, node: Node, stypes: list[MaybeStype]) -> None:
    """Fill unknown inputs from a known first output, by the first row that fits."""
    if node.op is None:
        return
    target = stypes[graph.entry_id_of(node)]
    ids = [graph.entry_id(e) for e in node.inputs]
    if target is None or target == "default" or all(stypes[i] is not None for i in ids):
        return
    for row in node.op.rows:
        wanted = row.inputs + (row.inputs[-1],) * (len(ids) - len(row.inputs))
        guess = [_choice(stypes[i], options, target) for i, options in zip(ids, wanted, strict=False)]
        if len(guess) != len(ids) or not row.matches(guess, node.attrs) or row.refusal:
            continue
        if row.result(guess)[0] == target:
            for i, stype in zip(ids, guess, strict=True):
                stypes[i] = stype
            return


def _choice(known: MaybeStype, options: Sequence[str], target: str) -> str:
    if known is not None:
        return known
    return target if target in options or "*" in options else options[0]
