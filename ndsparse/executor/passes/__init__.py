"""Passes: each takes a graph and returns it with more known, or another graph.

In the order in which an executor runs them:

=========================  ====================================================================
``gradient``               the graph of gradients
``infer_shape``            shapes of all entries, from those of variables, in both directions
``infer_type``             dtypes, likewise
``infer_storage_type``     storage types of all entries and the dispatch decision of each node
``remove_dead``            only what outputs and effects need stays
``eliminate_casts``        copies, and casts to what an array is already, vanish
``fold_constants``         what depends on no variable is computed at once
``eliminate_common``       what is computed twice is computed once
``partition``              the order of a run: forward, then backward
``fusion_groups``          which pointwise nodes can become one kernel
``detect_addto``           terms of a sum are added where they are made
``plan_memory``            which dense entries share memory; what is allocated at run time
=========================  ====================================================================

``pipeline`` has the table; ``verify`` has a check for each pass, which runs after it.
"""

from ndsparse.executor.passes.gradient import gradient
from ndsparse.executor.passes.infer_shape import infer_shape
from ndsparse.executor.passes.infer_storage_type import infer_storage_type
from ndsparse.executor.passes.infer_type import infer_type
from ndsparse.executor.passes.plan_memory import plan_memory

__all__ = ["gradient", "infer_shape", "infer_storage_type", "infer_type", "plan_memory"]
