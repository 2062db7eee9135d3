"""Writing whole arrays of any storage type."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.ndarray.generator import generator
from ndsparse.ndarray.ndarray import NDArray


def fill(arr: NDArray, value: Any) -> None:
    """Set all elements to ``value`` (a number, or values of the same shape).

    A sparse array of zeros stores nothing; any other row_sparse array stores every row.
    """
    constant = np.ndim(value) == 0
    if arr.stype != "default" and constant and value == 0:
        arr._chunk.release()
    elif arr.stype == "row_sparse":
        ids, data = arr._chunk.check_and_alloc(arr.shape[0])  # type: ignore[attr-defined]
        ids[...] = np.arange(arr.shape[0])
        data[...] = value
    else:
        arr[:] = value if arr.stype == "default" else np.broadcast_to(np.asarray(value, arr.dtype), arr.shape)


def float_type(arr: NDArray) -> Any:
    """Return the type that numbers for ``arr`` are drawn in."""
    return np.float64 if arr.dtype == np.float64 else np.float32


def fill_uniform(arr: NDArray, low: float, high: float) -> None:
    """Draw all elements uniformly from [low, high)."""
    values = generator().random(arr.shape, dtype=float_type(arr))
    values *= high - low
    values += low
    fill(arr, values)


def fill_normal(arr: NDArray, mean: float, sigma: float) -> None:
    """Draw all elements from a normal distribution."""
    values = generator().standard_normal(arr.shape, dtype=float_type(arr))
    values *= sigma
    values += mean
    fill(arr, values)
