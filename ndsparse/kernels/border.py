"""Arrays as kernels want them.

A kernel is compiled once for each combination of types it meets.  To keep these few, arrays are
brought into one of a small set of types before a kernel sees them: values are float32 or float64
(float16 is computed in float32, integers and bool in int64), index arrays int32 or int64, all
C-contiguous, aligned, in native byte order and writable to the type checker of numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

AnyArray = NDArray[Any]

_COMPUTE: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.float32): np.dtype(np.float32),
    np.dtype(np.float64): np.dtype(np.float64),
}
_INT64: np.dtype[Any] = np.dtype(np.int64)
_INT32: np.dtype[Any] = np.dtype(np.int32)
_MOVE: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
}


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which kernels compute on values of ``dtype``."""
    return _COMPUTE.get(dtype, _INT64)


def values(array: AnyArray, dtype: np.dtype[Any] | None = None) -> AnyArray:
    """Return ``array`` for reading by a kernel that computes (a view where nothing must change).

    Parameters
    ----------
    array : ndarray
        Any layout and dtype.
    dtype : dtype, optional
        The compute dtype when operands must agree; default ``compute_dtype(array.dtype)``.
    """
    wanted = _COMPUTE.get(array.dtype, _INT64) if dtype is None else dtype
    return readable(np.ascontiguousarray(array, dtype=wanted) if array.ndim else array.astype(wanted))


def index(array: AnyArray) -> AnyArray:
    """Return an index array as contiguous int32 or int64 for reading."""
    dtype = array.dtype
    if dtype != _INT64 and dtype != _INT32:
        dtype = _INT64
    return readable(np.ascontiguousarray(array, dtype=dtype))


def moved(array: AnyArray) -> AnyArray:
    """Return the same bytes as unsigned integers, for kernels that only move elements.

    The view has the item size of ``array``, so gather and scatter kernels are compiled for four
    types and serve all dtypes.  ``array`` must be C-contiguous.
    """
    return readable(array).view(_MOVE[array.dtype.itemsize])


def readable(array: AnyArray) -> AnyArray:
    """Return ``array`` as numba's ordinary array type even if it is read-only.

    numba compiles read-only arrays as a type of their own.  The view made here shares the memory;
    the kernels that receive it as an input do not write.
    """
    if array.flags.writeable:
        return array
    return _Unlocked(array).array()


class _Unlocked:
    """The array interface of an array without its read-only flag."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, owner: AnyArray) -> None:
        interface = dict(owner.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface
        self._owner = owner

    def array(self) -> AnyArray:
        return np.asarray(self)


def index_dtype(extent: int, *given: np.dtype[Any]) -> np.dtype[Any]:
    """Choose the dtype of an index array: the one function that does.

    Parameters
    ----------
    extent : int
        The largest value that must fit (a dimension, or a number of stored elements).
    *given : dtype
        Dtypes of the index arrays it derives from; int32 is kept only if all are int32.

    Returns
    -------
    dtype
        int64, or int32 where every given dtype is int32 and ``extent`` fits.
    """
    if given and all(d == _INT32 for d in given) and extent <= _INT32_MAX:
        return _INT32
    return _INT64


_INT32_MAX = int(np.iinfo(np.int32).max)
