"""``nd``: arrays and the functions on them.

Operators of the registry are functions of this module (``nd.dot``), found when first asked for.
"""

from __future__ import annotations

from typing import Any

from ndsparse.ndarray import _internal, contrib, random, sparse
from ndsparse.ndarray.base_sparse import BaseSparseNDArray
from ndsparse.ndarray.creation import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    linspace,
    ones,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
    zeros,
)
from ndsparse.ndarray.csr import CSRNDArray
from ndsparse.ndarray.methods import install
from ndsparse.ndarray.namespace import operator_function
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ndarray.row_sparse import RowSparseNDArray
from ndsparse.ndarray.serialize import load, load_frombuffer, save
from ndsparse.ops import catalogue as _catalogue  # noqa: F401  (registers what becomes methods)

__all__ = [
    "BaseSparseNDArray", "CSRNDArray", "NDArray", "RowSparseNDArray", "_internal", "arange", "array",
    "concatenate", "contrib", "empty", "eye", "from_dlpack", "from_numpy", "full", "linspace", "load",
    "load_frombuffer", "ones", "random", "save", "sparse",
    "to_dlpack_for_read", "to_dlpack_for_write", "waitall", "zeros",
]  # fmt: skip

install(NDArray)


def __getattr__(name: str) -> Any:
    found = globals()[name] = operator_function(name, __name__)  # asked for once
    return found
