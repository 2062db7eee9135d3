"""Functions of two arrays (or an array and a number) where MXNet's meaning is not numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np


def _whole(*arrays: Any) -> bool:
    """Whether all operands are integers, so that the result is one."""
    return all(isinstance(a, int) or getattr(a, "dtype", np.dtype(float)).kind in "iub" for a in arrays)


def divide(a: Any, b: Any) -> Any:
    """Return ``a / b``; of integers the quotient cut towards zero, and 0 for a division by zero."""
    if not _whole(a, b):
        return np.true_divide(a, b)
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    quotient, rest = np.floor_divide(a, b), np.remainder(a, b)
    return quotient + ((rest != 0) & ((a < 0) != (b < 0)))


def mod(a: Any, b: Any) -> Any:
    """Return ``a`` modulo ``b`` with the sign of ``b``; 0 where ``b`` is 0."""
    if _whole(a, b):
        return np.remainder(np.asarray(a, np.int64), np.asarray(b, np.int64))
    rest = np.remainder(a, b)
    return np.where(np.equal(b, 0), rest.dtype.type(0), rest)


def power(a: Any, b: Any) -> Any:
    """Return ``a ** b``; of integers by way of floats, so that negative exponents give 0."""
    if _whole(a, b):
        return np.power(np.asarray(a, np.float64), b)
    return np.power(a, b)


def hypot_slope(x: Any, y: Any) -> Any:
    """Return the derivative of ``hypot(x, y)`` by ``x``, 0 at the origin."""
    length = np.hypot(x, y)
    return np.divide(x, length, out=np.zeros_like(length), where=length != 0)


OF_FLOATS: dict[Any, np.ufunc] = {divide: np.true_divide, power: np.power}
"""Functions that are numpy's where all operands are floats."""
