"""Graphs to look at: a table, Graphviz text, and a page of HTML that needs nothing else.

All three show what is known: storage types, dispatch mode, shapes, buffers and fusion groups of a
bound graph; names and operators of any graph.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndsparse.graph.graph import Graph
    from ndsparse.graph.node import Node

EXTERNAL = -2
DYNAMIC = -3
RELEASED = -4
PLACES = {EXTERNAL: "given", DYNAMIC: "dynamic", RELEASED: "released"}
"""Words for the storage ids that are no buffer of the pool."""

COLOURS = {"default": "#dfe7f5", "row_sparse": "#fde7c8", "csr": "#d8f0d8"}
OTHER_COLOUR = "#eee0f5"

Column = tuple[str, str, "Callable[[Graph, Node, Any], str]"]


def _stypes(graph: Graph, node: Node, known: Any) -> str:
    result = ", ".join(known[i] for i in graph.output_ids(node))
    if node.op is None:
        return result
    return f"{', '.join(known[graph.entry_id(e)] for e in node.inputs)} -> {result}"


def _mode(graph: Graph, node: Node, known: Any) -> str:
    decision = known[graph.node_id(node)]
    return "variable" if decision is None else str(decision.mode)


def _shape(graph: Graph, node: Node, known: Any) -> str:
    return ", ".join(_one_shape(known[i]) for i in graph.output_ids(node))


def _one_shape(shape: Any) -> str:
    return "?" if shape is None else "x".join("?" if n == -1 else str(n) for n in shape)


def _place(graph: Graph, node: Node, known: Any) -> str:
    return ", ".join(PLACES.get(known[i], str(known[i])) for i in graph.output_ids(node))


def _group(graph: Graph, node: Node, known: Any) -> str:
    group = known[graph.node_id(node)]
    return "" if group is None else f"f{group}"


COLUMNS: tuple[Column, ...] = (
    ("storage types", "stype", _stypes),
    ("dispatch", "decision", _mode),
    ("shape", "shape", _shape),
    ("memory", "storage_id", _place),
    ("group", "fusion_group", _group),
)
"""Heading, the attribute that it needs, and how a node's cell is made of it."""


def facts(graph: Graph, node: Node) -> list[tuple[str, str]]:
    """Return (heading, text) of what is known about a node."""
    return [
        (heading, cell(graph, node, graph.attributes[name]))
        for heading, name, cell in COLUMNS
        if name in graph.attributes
    ]


def as_table(graph: Graph) -> str:
    """Return one line a node.

    The column *memory* has ``given`` for arrays from outside, ``dynamic`` for sparse results,
    ``released`` for dense arrays that are freed after their last use, else the buffer's number.
    The column *group* has the fusion group of pointwise nodes.
    """
    known = [heading for heading, name, _ in COLUMNS if name in graph.attributes]
    rows = [["node", "operator", *known, *([] if known else ["inputs"])]]
    for node in graph.nodes:
        cells = [text for _, text in facts(graph, node)] or [", ".join(e.name for e in node.inputs)]
        rows.append([node.name, "" if node.op is None else node.op.name, *cells])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _colour(graph: Graph, node: Node) -> str:
    stypes = graph.attributes.get("stype")
    if stypes is None:
        return "#f2f2f2"
    return COLOURS.get(stypes[graph.entry_id_of(node)], OTHER_COLOUR)


def as_dot(graph: Graph) -> str:
    """Return the graph in the language of Graphviz; arrows carry storage type and shape."""
    lines = [
        "digraph {",
        "  rankdir=BT;",
        '  node [shape=box, style="filled,rounded", fontname="monospace"];',
    ]
    for i, node in enumerate(graph.nodes):
        title = node.name if node.op is None else f"{node.name}\n{node.op.name}"
        rest = [text for heading, text in facts(graph, node) if text and heading != "storage types"]
        label = _quoted("\n".join([title, *rest]))
        shape = ", shape=ellipse" if node.op is None else ""
        lines.append(f'  n{i} [label={label}, fillcolor="{_colour(graph, node)}"{shape}];')
    for i, node in enumerate(graph.nodes):
        for entry in node.inputs:
            label = _quoted(_edge(graph, graph.entry_id(entry)))
            lines.append(f"  n{graph.node_id(entry.node)} -> n{i} [label={label}];")
    return "\n".join([*lines, "}"])


def _edge(graph: Graph, i: int) -> str:
    parts = [graph.attributes["stype"][i]] if "stype" in graph.attributes else []
    if "shape" in graph.attributes:
        parts.append(_one_shape(graph.attributes["shape"][i]))
    return " ".join(parts)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


WIDTH, HEIGHT, GAP = 190, 46, 34
STYLE = (
    "body{font:13px sans-serif;margin:1em}svg{border:1px solid #ccc}rect{stroke:#667;rx:6}"
    "text{font:11px monospace}path{fill:none;stroke:#99a}table{border-collapse:collapse;margin-top:1em}"
    "td,th{border:1px solid #ccc;padding:2px 8px;text-align:left;font:12px monospace}"
)


def as_html(graph: Graph) -> str:
    """Return a page with a drawing (inputs below, names and facts of a node under the mouse) and the table.

    It needs no other file and no script.
    """
    where = _positions(graph)
    width = max((x for x, _ in where), default=0) + WIDTH + GAP
    height = max((y for _, y in where), default=0) + HEIGHT + GAP
    flipped = [(x, height - y - HEIGHT) for x, y in where]
    parts = [_arrow(graph, flipped, i, e) for i, n in enumerate(graph.nodes) for e in n.inputs]
    parts += [_box(graph, node, *flipped[i]) for i, node in enumerate(graph.nodes)]
    legend = " ".join(
        f'<span style="background:{colour};padding:2px 8px">{name}</span>' for name, colour in COLOURS.items()
    )
    rows = [["node", "operator", *(heading for heading, name, _ in COLUMNS if name in graph.attributes)]]
    rows += [[n.name, n.op_name, *(text for _, text in facts(graph, n))] for n in graph.nodes]
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>graph</title><style>{STYLE}</style></head>'
        f'<body><p>{legend}</p><svg width="{width}" height="{height}">{"".join(parts)}</svg>'
        f"<table>{body}</table></body></html>"
    )


def _positions(graph: Graph) -> list[tuple[int, int]]:
    """Place each node one row above its highest input, rows filled from the left."""
    level: list[int] = []
    filled: dict[int, int] = {}
    where = []
    for node in graph.nodes:
        row = max((level[graph.node_id(e.node)] + 1 for e in node.inputs), default=0)
        level.append(row)
        column = filled[row] = filled.get(row, -1) + 1
        where.append((GAP // 2 + column * (WIDTH + GAP), GAP // 2 + row * (HEIGHT + GAP)))
    return where


def _arrow(graph: Graph, where: list[tuple[int, int]], i: int, entry: Any) -> str:
    (x0, y0), (x1, y1) = where[graph.node_id(entry.node)], where[i]
    x0, x1, y1, middle = x0 + WIDTH // 2, x1 + WIDTH // 2, y1 + HEIGHT, (y0 + y1 + HEIGHT) // 2
    title = escape(f"{entry.name} {_edge(graph, graph.entry_id(entry))}")
    return f'<path d="M{x0},{y0} C{x0},{middle} {x1},{middle} {x1},{y1}"><title>{title}</title></path>'


def _box(graph: Graph, node: Node, x: int, y: int) -> str:
    known = facts(graph, node)
    title = "\n".join([node.name, node.op_name, *(f"{heading}: {text}" for heading, text in known if text)])
    second = " ".join(text for heading, text in known if text and heading in ("dispatch", "memory", "group"))
    label = node.name if node.op is None else f"{node.name}: {node.op.name}"
    return (
        f'<g><title>{escape(title)}</title><rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" '
        f'fill="{_colour(graph, node)}"/><text x="{x + 6}" y="{y + 18}">{escape(label[:27])}</text>'
        f'<text x="{x + 6}" y="{y + 36}">{escape(second[:27])}</text></g>'
    )
