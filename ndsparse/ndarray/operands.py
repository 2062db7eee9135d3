"""Arrays of others as operands: numpy and scipy sparse arrays become NDArrays on the same memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentTypeError
from ndsparse.ndarray.invoke import dense
from ndsparse.storage import as_dtype
from ndsparse.storage.chunk import DTYPES

_READY = frozenset(DTYPES)


def is_scipy_sparse(value: Any) -> bool:
    """Whether ``value`` is a scipy sparse matrix or array (without importing scipy)."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and bool(scipy_sparse.issparse(value))


def operand(value: Any) -> Any:
    """Return a numpy or scipy array as an NDArray to read from; None if ``value`` is neither.

    Raises
    ------
    DTypeError
        The dtype is not supported.
    """
    if isinstance(value, np.ndarray):
        if value.dtype in _READY and value.flags.c_contiguous:
            return dense(value)
        return dense(value.astype(as_dtype(value.dtype), order="C", copy=False))
    if is_scipy_sparse(value):
        from ndsparse.ndarray.sparse_creation import csr_matrix

        return csr_matrix(value)
    return None


def numbers_of(value: Any, name: str = "source_array") -> np.ndarray[Any, Any]:
    """Return an array_like as a numpy array of numbers (the memory of ``value`` where it has one)."""
    if hasattr(value, "_chunk"):
        found: np.ndarray[Any, Any] = value._chunk.data if value.stype == "default" else value.asnumpy()
        return found
    try:
        found = np.asarray(value)
    except ValueError:
        found = np.empty(0, object)  # a ragged list
    if found.dtype.kind not in "biufc":
        raise ArgumentTypeError(
            f"{name}: expected numbers in a regular array, got {type(value).__name__}: {value!r:.80}"
        )
    return found


def as_values(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return what is to be written into an array as numpy values of ``dtype``, dense.

    Raises
    ------
    ArgumentTypeError
        ``value`` holds no numbers.
    """
    found = value.toarray() if is_scipy_sparse(value) else numbers_of(value, "value")
    if found.dtype.kind == "c":
        raise ArgumentTypeError(f"value: expected real numbers, got {found.dtype}")
    result: np.ndarray[Any, Any] = found.astype(dtype, copy=False)
    return result
