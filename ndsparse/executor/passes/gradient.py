"""gradient: the graph of gradients, by reverse accumulation over operators' gradient rules.

A gradient that several uses contribute to is summed by ``add_n``, whose rows keep row_sparse terms
row_sparse; so a weight that occurs twice in a model keeps a sparse gradient.

**Mirroring.**  A node with the attribute ``__force_mirroring__`` is computed again where a gradient
needs its result, so that the result need not be kept in between (cheap operators with large
results: activations).  A chain of such nodes is recomputed from the last value that is kept::

    forward    x ── dot ── relu ── dot ── loss
                     │
    backward         └── relu' ── _backward_relu          relu' is the mirror of relu

Source: Chen, Xu, Zhang and Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016), section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.errors import GraphError
from ndsparse.graph import Entry, Node
from ndsparse.graph.build import Prefix
from ndsparse.graph.graph import topological
from ndsparse.ops import registry

MIRROR_KEY = "__force_mirroring__"
MIRRORED = "__mirrored__"
"""Annotation of the nodes that compute a value again."""


def gradient(outputs: Sequence[Entry], heads: Sequence[Entry | None], wrt: Sequence[Entry]) -> list[Entry]:
    """Return the entries that compute d(outputs)/d(wrt), weighted by ``heads``.

    Parameters
    ----------
    outputs : sequence of Entry
    heads : sequence of Entry or None
        The gradient that arrives at each output; None stands for ones.
    wrt : sequence of Entry
        Usually variables.

    Returns
    -------
    list of Entry
        One for each of ``wrt``; zeros where an entry has no influence.

    Raises
    ------
    GraphError
        An operator on the way has no gradient.
    """
    with Prefix("grad_"):  # names of their own, the same in every run
        return _accumulated(outputs, heads, wrt)


def _accumulated(
    outputs: Sequence[Entry], heads: Sequence[Entry | None], wrt: Sequence[Entry]
) -> list[Entry]:
    nodes = topological([e.node for e in outputs])
    mirrors = _mirrors(nodes)
    needed = _influenced(nodes, wrt)
    arriving: dict[Entry, list[Entry]] = {}
    for output, head in zip(outputs, heads, strict=True):
        if id(output.node) in needed or output in wrt:
            arriving.setdefault(output, []).append(head or registry.get("ones_like")(output))
    for node in reversed(nodes):
        if node.op is None or id(node) not in needed:
            continue
        own = [Entry(node, i) for i in range(node.num_outputs)]
        if any(e in arriving for e in own):
            for entry, term in zip(node.inputs, _node_gradient(node, own, arriving, mirrors), strict=False):
                if term is not None and (id(entry.node) in needed or entry in wrt):
                    arriving.setdefault(entry, []).append(term)
    return [_total(arriving.get(e, ())) or registry.get("zeros_like")(e) for e in wrt]


def _influenced(nodes: Sequence[Node], wrt: Sequence[Entry]) -> set[int]:
    """Return the ids of the nodes that depend on an entry of ``wrt`` (and of its nodes)."""
    found = {id(e.node) for e in wrt}
    for node in nodes:
        if any(id(e.node) in found for e in node.inputs):
            found.add(id(node))
    return found


def _total(terms: Sequence[Entry]) -> Entry | None:
    if not terms:
        return None
    if len(terms) == 1:
        return terms[0]
    total: Entry = registry.get("add_n")(*terms)
    return total


def _node_gradient(
    node: Node,
    own: Sequence[Entry],
    arriving: Mapping[Entry, Sequence[Entry]],
    mirrors: Mapping[int, Node],
) -> Sequence[Entry | None]:
    op = node.op
    if op is None or op.gradient is None:
        raise GraphError(f"node {node.name!r}: the operator {node.op_name} has no gradient")
    incoming: list[Any] = [_total(arriving.get(e, ())) or registry.get("zeros_like")(e) for e in own]
    named = registry.keywords(op.gradient, node.attrs)
    if registry.takes(op.gradient, "outputs"):
        outputs = [_mirrored(e, mirrors) for e in own]
        named["outputs"] = outputs[0] if len(own) == 1 else tuple(outputs)
    inputs = [_mirrored(e, mirrors) for e in node.inputs]
    result = op.gradient(incoming[0] if len(own) == 1 else tuple(incoming), *inputs, **named)
    if result is None:
        return [None] * len(node.inputs)
    return [result] if isinstance(result, Entry) else list(result)


def _mirrors(nodes: Sequence[Node]) -> dict[int, Node]:
    """Return, by ``id(node)``, a second instance of each node that is to be recomputed."""
    found: dict[int, Node] = {}
    for node in nodes:
        asked = node.annotations.get(MIRROR_KEY) in ("1", "True", "true")
        if node.op is None or node.has_effect or not asked:
            continue
        inputs = tuple(_mirrored(e, found) for e in node.inputs)
        notes = {**node.annotations, MIRRORED: "1"}
        found[id(node)] = Node(node.op, node.attrs, inputs, f"{node.name}_mirror", notes, node.after)
    return found


def _mirrored(entry: Entry, mirrors: Mapping[int, Node]) -> Entry:
    mirror = mirrors.get(id(entry.node))
    return entry if mirror is None else Entry(mirror, entry.index)
