"""ndsparse: arrays that know their storage type, graphs that infer it, and a store that trains them.

``import ndsparse as mx`` gives MXNet's sparse programs the names they know.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ndsparse import config, context, errors
from ndsparse.context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from ndsparse.errors import NDSparseError
from ndsparse.ops import catalogue as _catalogue  # noqa: F401  (registers the operators)

# isort: split
from ndsparse import ndarray, symbol
from ndsparse import ndarray as nd
from ndsparse import symbol as sym
from ndsparse.executor.scope import AttrScope

if TYPE_CHECKING:
    from ndsparse import (
        callback,
        executor,
        initializer,
        io,
        kvstore,
        lr_scheduler,
        metric,
        model,
        module,
        monitor,
        operator,
        optimizer,
        random,
        test_utils,
        testing,
    )
    from ndsparse import initializer as init
    from ndsparse import kvstore as kv
    from ndsparse import module as mod
    from ndsparse import monitor as mon

__version__ = "0.1.0.dev0"

MXNetError = NDSparseError

_ON_DEMAND = {
    "callback": "callback",
    "executor": "executor",
    "init": "initializer",
    "initializer": "initializer",
    "io": "io",
    "kv": "kvstore",
    "kvstore": "kvstore",
    "lr_scheduler": "lr_scheduler",
    "metric": "metric",
    "mod": "module",
    "model": "model",
    "module": "module",
    "mon": "monitor",
    "monitor": "monitor",
    "operator": "operator",
    "optimizer": "optimizer",
    "random": "random",
    "test_utils": "test_utils",
    "testing": "testing",
}
"""Names of this module to the submodules that are imported when they are first asked for."""

__all__ = [
    "AttrScope", "Context", "MXNetError", "NDSparseError", "callback", "config", "context", "cpu",
    "cpu_pinned", "current_context", "errors", "executor", "gpu", "init", "initializer", "io", "kv",
    "kvstore", "lr_scheduler", "metric", "mod", "model", "module", "mon", "monitor", "nd", "ndarray",
    "num_gpus", "operator", "optimizer", "random", "sym", "symbol", "test_utils",
    "testing",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return importlib.import_module(f"ndsparse.{_ON_DEMAND[name]}")
    raise AttributeError(f"module 'ndsparse' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
