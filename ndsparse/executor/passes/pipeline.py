"""The pipeline: passes in order, each followed by its check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ndsparse.executor.passes.detect_addto import detect_addto
from ndsparse.executor.passes.eliminate_casts import eliminate_casts
from ndsparse.executor.passes.eliminate_common import eliminate_common
from ndsparse.executor.passes.fold_constants import fold_constants
from ndsparse.executor.passes.fusion_groups import fusion_groups
from ndsparse.executor.passes.partition import partition
from ndsparse.executor.passes.plan_memory import plan_memory
from ndsparse.executor.passes.remove_dead import remove_dead
from ndsparse.executor.passes.verify import verify
from ndsparse.graph import Graph

Pass = tuple[str, Callable[[Graph], Graph]]

REWRITES: tuple[Pass, ...] = (
    ("remove_dead", remove_dead),
    ("eliminate_casts", eliminate_casts),
    ("fold_constants", fold_constants),
    ("eliminate_common", eliminate_common),
)
"""Give another graph that computes the same."""

PLANS: tuple[Pass, ...] = (
    ("partition", partition),
    ("fusion_groups", fusion_groups),
    ("detect_addto", detect_addto),
    ("plan_memory", plan_memory),
)
"""Say how the graph runs."""


def run_passes(graph: Graph, passes: Sequence[Pass]) -> Graph:
    """Return the graph after all ``passes``, checked after each."""
    for name, function in passes:
        graph = verify(function(graph), name)
    return graph
