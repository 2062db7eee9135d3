"""Passes: each takes a graph and returns it with more known, or another graph.

In the order in which an executor runs them:

=========================  ====================================================================
``infer_shape``            shapes of all entries, from those of variables, in both directions
``infer_type``             dtypes, likewise
``gradient``               the graph of gradients
``infer_storage_type``     storage types of all entries and the dispatch decision of each node
``plan_memory``            which dense entries share memory; what is allocated at run time
=========================  ====================================================================

``verify`` has a check for each; :class:`ndsparse.executor.executor.Executor` runs it after the pass.
"""

from ndsparse.executor.passes.gradient import gradient
from ndsparse.executor.passes.infer_shape import infer_shape
from ndsparse.executor.passes.infer_storage_type import infer_storage_type
from ndsparse.executor.passes.infer_type import infer_type
from ndsparse.executor.passes.plan_memory import plan_memory

__all__ = ["gradient", "infer_shape", "infer_storage_type", "infer_type", "plan_memory"]
