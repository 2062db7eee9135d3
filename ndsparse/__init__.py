"""ndsparse: arrays that know their storage type, graphs that infer it, and a store that trains them.

``import ndsparse as mx`` gives MXNet's sparse programs the names they know.
"""

from __future__ import annotations

from ndsparse import (
    config,
    context,
    errors,
    ndarray,
    operator,
    symbol,
)
from ndsparse import ndarray as nd
from ndsparse import symbol as sym
from ndsparse.context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from ndsparse.errors import NDSparseError
from ndsparse.executor.scope import AttrScope
from ndsparse.ops import catalogue as _catalogue  # noqa: F401  (registers the operators)

__version__ = "0.1.0.dev0"

MXNetError = NDSparseError

__all__ = [
    "AttrScope", "Context", "MXNetError", "NDSparseError", "config", "context", "cpu", "cpu_pinned",
    "current_context", "errors", "gpu", "nd", "ndarray", "num_gpus", "operator", "sym", "symbol",
]  # fmt: skip
