"""Which operators can write over an input, and which can add to their output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ndsparse.graph import Node
from ndsparse.ops.registry import ADD, FALLBACK

INPLACE = "inplace"


def writes(node: Node, decision: Any) -> bool:
    """Whether the node writes its result into memory that it is given."""
    if node.op is None:
        return False
    return bool(decision.row is not None and decision.row.kernel is not None) or node.op.into


def overwritable(node: Node, decision: Any) -> Sequence[int]:
    """Return the positions of the inputs that the node may write its (one) output over."""
    if node.op is None or node.num_outputs != 1 or decision.mode == FALLBACK:
        return ()
    if node.op.name == "add_n":  # the first two go to the output, then the others are added
        dense = decision.row is not None and decision.row.text.startswith("default")
        return [i for i, e in enumerate(node.inputs[:2]) if dense and node.inputs.count(e) == 1]
    if decision.row is not None and decision.row.kernel is not None:
        return range(len(node.inputs)) if INPLACE in decision.row.reqs else ()
    return range(len(node.inputs)) if node.op.inplace and node.op.into else ()


def accumulates(node: Node, decision: Any) -> bool:
    """Whether the node can add its (one) result to what is in its output."""
    if node.op is None or node.num_outputs != 1:
        return False
    return decision.row is not None and decision.row.kernel is not None and ADD in decision.row.reqs
