"""Graphs as MXNet's JSON, both ways."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.errors import GraphError
from ndsparse.graph.graph import Graph
from ndsparse.graph.node import Entry, Node
from ndsparse.ops import registry
from ndsparse.ops.attrs import as_text

MXNET_VERSION = 10901


def to_json(outputs: Sequence[Entry]) -> str:
    """Return the graph of ``outputs`` as MXNet writes it (attributes at their defaults left out)."""
    graph = Graph(outputs)
    nodes, row = [], [0]
    for node in graph.nodes:
        item: dict[str, Any] = {"op": node.op_name, "name": node.name}
        attrs = {**own_attributes(node), **node.annotations}
        if attrs:
            item["attrs"] = attrs
        item["inputs"] = [[graph.node_id(e.node), e.index, 0] for e in node.inputs]
        nodes.append(item)
        row.append(row[-1] + node.num_outputs)
    document = {
        "nodes": nodes,
        "arg_nodes": [i for i, n in enumerate(graph.nodes) if n.is_variable],
        "node_row_ptr": row,
        "heads": [[graph.node_id(e.node), e.index, 0] for e in graph.outputs],
        "attrs": {"mxnet_version": ["int", MXNET_VERSION]},
    }
    return json.dumps(document, indent=2)


def own_attributes(node: Node) -> dict[str, str]:
    """Return the attributes of a node's operator that are not at their defaults, as text."""
    if node.op is None:
        return {}
    declared = node.op.attributes
    return {
        k: as_text(v)
        for k, v in node.attrs.items()
        if k not in declared or declared[k].required or v != declared[k].default
    }


def from_json(text: str) -> list[Entry]:
    """Return the outputs of a graph written by :func:`to_json` or by MXNet 1.x.

    Raises
    ------
    GraphError
        The text is no such JSON; the message says where.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphError(f"symbol JSON: line {error.lineno}, column {error.colno}: {error.msg}") from None
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise GraphError("symbol JSON: expected an object with a list 'nodes'")
    built: list[Node] = []
    for position, item in enumerate(document["nodes"]):
        try:
            built.append(_node(item, built))
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            raise GraphError(f"symbol JSON: node {position} ({_label(item)}): {error}") from None
    try:
        return [_entry(built, head) for head in document["heads"]]
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise GraphError(f"symbol JSON: heads: {error}") from None


def _label(item: Any) -> str:
    return str(item.get("name")) if isinstance(item, dict) else repr(item)


def _node(item: Mapping[str, Any], built: Sequence[Node]) -> Node:
    given: dict[str, Any] = {}
    for key in ("param", "attr", "attrs"):  # the names that MXNet's versions used
        given.update(item.get(key) or {})
    name, op_name = str(item["name"]), str(item["op"])
    inputs = tuple(_entry(built, e) for e in item["inputs"])
    if op_name == "null":
        return Node(None, {}, inputs, name, {k: str(v) for k, v in given.items()})
    op = registry.get(op_name)
    own = {
        k: v for k, v in given.items() if k in op.attributes or ("kwargs" in op.attributes and k[:2] != "__")
    }
    notes = {k: str(v) for k, v in given.items() if k not in own and k != "num_args"}
    return Node(op, op.normalize(own), inputs, name, notes)


def _entry(built: Sequence[Node], reference: Sequence[int]) -> Entry:
    position, index = int(reference[0]), int(reference[1])
    if not 0 <= position < len(built) or not 0 <= index < built[position].num_outputs:
        raise IndexError(f"there is no entry {list(reference)}")
    return Entry(built[position], index)
