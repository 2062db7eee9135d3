"""The one graph: immutable nodes under Symbols, autograd tapes and lazy traces."""

from ndsparse.graph.build import apply, variable
from ndsparse.graph.graph import Graph
from ndsparse.graph.node import Entry, Node

__all__ = ["Entry", "Graph", "Node", "apply", "variable"]
