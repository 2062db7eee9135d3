"""Making dense arrays: array, zeros, ones, full, empty, arange, eye, linspace; and ``array`` of anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.ndarray import sparse_creation
from ndsparse.ndarray.invoke import dense, wrap
from ndsparse.ndarray.ndarray import NDArray, context_or_current
from ndsparse.ndarray.operands import is_scipy_sparse, numbers_of
from ndsparse.ops import registry
from ndsparse.storage import as_dtype, as_shape, storage_class

FLOAT32 = np.dtype(np.float32)


def _placed(array: NDArray, ctx: Any) -> Any:
    array._ctx = context_or_current(ctx)
    return array


def _dtype(dtype: Any) -> np.dtype[Any]:
    return FLOAT32 if dtype is None else as_dtype(dtype)


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> Any:
    """Return an array with a copy of the values of ``source_array``.

    Parameters
    ----------
    source_array : array_like, NDArray or scipy sparse array
        Sparse sources give sparse arrays (csr; row_sparse for a RowSparseNDArray).
    ctx : Context, optional
    dtype : dtype, optional
        Default: that of an NDArray or a scipy array, float32 for everything else, numpy arrays
        included, as in MXNet.  Whole numbers beyond 2**24, which float32 does not hold, keep
        their dtype (MXNet rounds them).

    Examples
    --------
    >>> from ndsparse import nd
    >>> nd.array([[1, 2], [3, 4]]).dtype
    <class 'numpy.float32'>
    """
    if is_scipy_sparse(source_array) or (
        isinstance(source_array, NDArray) and source_array.stype != "default"
    ):
        return sparse_creation.array(source_array, ctx=ctx, dtype=dtype)
    values = numbers_of(source_array)
    if dtype is not None:
        wanted = as_dtype(dtype)
    elif isinstance(source_array, NDArray) or not _fits_float32(values):
        wanted = as_dtype(values.dtype, "source_array (dtype= converts it)")
    else:
        wanted = FLOAT32
    return _placed(dense(np.array(values, dtype=wanted, order="C", copy=True)), ctx)


def _fits_float32(values: Any) -> bool:
    """Whether float32 is a fair default: real numbers, and no whole numbers that it cannot hold."""
    if values.dtype.kind not in "iu":
        return values.dtype.kind in "fb"
    return not values.size or -(1 << 24) <= int(values.min()) <= int(values.max()) <= 1 << 24


def zeros(shape: Any, ctx: Any = None, dtype: Any = None, stype: str | None = None, **kwargs: Any) -> Any:
    """Return zeros of a storage type (default: dense, float32)."""
    return _new(shape, ctx, dtype, stype or "default")


def empty(shape: Any, ctx: Any = None, dtype: Any = None, stype: str | None = None) -> Any:
    """Return an array whose dense content is undefined; sparse ones hold nothing."""
    if stype not in (None, "default"):
        return _new(shape, ctx, dtype, str(stype))
    return _placed(dense(np.empty(as_shape(shape), _dtype(dtype))), ctx)


def _new(shape: Any, ctx: Any, dtype: Any, stype: str) -> Any:
    dims = as_shape(shape)
    kind = storage_class(stype)
    kind.check_shape(dims)
    return _placed(wrap(kind(dims, _dtype(dtype))), ctx)


def ones(shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Return ones (float32 by default)."""
    return full(shape, 1, ctx, dtype)


def full(shape: Any, val: Any, ctx: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return an array filled with ``val`` (float32 by default)."""
    if out is not None:
        out[:] = val
        return out
    return _placed(dense(np.full(as_shape(shape), val, _dtype(dtype))), ctx)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Any = None,
    dtype: Any = None,
) -> Any:
    """Return ``start, start + step, ...`` below ``stop``, each ``repeat`` times (float32 by default)."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ArgumentError("arange: step must not be 0")
    values = np.arange(start, stop, step).astype(_dtype(dtype))
    return _placed(dense(np.repeat(values, repeat) if repeat != 1 else values), ctx)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Any = None, dtype: Any = None
) -> Any:
    """Return ``num`` evenly spaced numbers (float32 by default)."""
    return _placed(dense(np.linspace(start, stop, num, endpoint).astype(_dtype(dtype))), ctx)


def eye(N: int, M: int = 0, k: int = 0, ctx: Any = None, dtype: Any = None) -> Any:
    """Return a matrix with ones on the ``k``-th diagonal (float32 by default)."""
    return _placed(dense(np.eye(N, M or N, k, dtype=_dtype(dtype))), ctx)


def concatenate(arrays: Any, axis: int = 0, always_copy: bool = True) -> Any:
    """Return arrays joined along an axis (``nd.concat`` with a list); one array is not copied unasked."""
    arrays = list(arrays)
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return registry.get("Concat")(*arrays, dim=axis)


def from_numpy(ndarray: Any, zero_copy: bool = True) -> Any:
    """Return an array on the memory of a C-contiguous numpy array, or a copy."""
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(f"ndarray: expected a numpy array, got {type(ndarray).__name__}")
    if not zero_copy or ndarray.dtype.newbyteorder("=") != ndarray.dtype or not ndarray.flags.c_contiguous:
        return array(ndarray)
    as_dtype(ndarray.dtype)
    return dense(ndarray)


def from_dlpack(dlpack: Any) -> Any:
    """Return an array on the memory of a DLPack exporter (numpy, torch, jax, ...)."""
    if type(dlpack).__name__ == "PyCapsule":
        dlpack = _Capsule(dlpack)
    found = np.from_dlpack(dlpack)
    as_dtype(found.dtype, "dlpack")
    return dense(found)


class _Capsule:
    """An exporter of a DLPack capsule that exists already, once."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def to_dlpack_for_read(data: NDArray) -> Any:
    """Return a DLPack capsule on the memory of a dense array."""
    return data.__dlpack__()


to_dlpack_for_write = to_dlpack_for_read


def waitall() -> None:
    """Do nothing: calls return when their results are there."""
