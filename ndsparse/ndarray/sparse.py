"""``nd.sparse``: sparse arrays and the operators that have sparse kernels (MXNet's namespace)."""

from __future__ import annotations

from typing import Any

from ndsparse.ndarray.base_sparse import BaseSparseNDArray
from ndsparse.ndarray.csr import CSRNDArray
from ndsparse.ndarray.namespace import operator_function
from ndsparse.ndarray.row_sparse import RowSparseNDArray
from ndsparse.ndarray.sparse_creation import array, csr_matrix, empty, row_sparse_array, zeros

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "array",
    "csr_matrix",
    "empty",
    "row_sparse_array",
    "zeros",
]


def __getattr__(name: str) -> Any:
    found = globals()[name] = operator_function(name, __name__)  # asked for once
    return found


def retain(data: Any, indices: Any) -> Any:
    """Return ``data`` (row_sparse) with only the rows whose ids are given, sorted."""
    return operator_function("_sparse_retain", __name__)(data, indices)
