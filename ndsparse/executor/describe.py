"""A bound graph as text: one line a node, with storage types, dispatch mode and memory."""

from __future__ import annotations

from ndsparse.executor.passes.plan_memory import report
from ndsparse.graph import Graph


def describe(graph: Graph) -> str:
    """Return the table of a graph that all passes have run over, and what sharing memory saves."""
    sizes = report(graph)
    return f"{graph}\nshared buffers: {sizes['planned']:,} bytes for {sizes['naive']:,}"
