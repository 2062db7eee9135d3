"""Making sparse arrays: csr_matrix, row_sparse_array, array, zeros, empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError, StorageTypeError
from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray, context_or_current
from ndsparse.ndarray.operands import is_scipy_sparse, numbers_of
from ndsparse.storage import (
    CSRChunk,
    DefaultChunk,
    RowSparseChunk,
    as_dtype,
    as_shape,
    cast,
    converted,
    storage_class,
)

INT64 = np.dtype(np.int64)
INT32 = np.dtype(np.int32)
FLOAT32 = np.dtype(np.float32)


def csr_matrix(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> Any:
    """Return a csr array.

    Parameters
    ----------
    arg1
        One of: ``(data, indices, indptr)``; ``(data, (row, col))``, in any order, duplicates
        summed; ``(M, N)``, an empty matrix; a dense array of 2 dimensions; an NDArray of any
        storage type; a scipy sparse array.
    shape : (int, int), optional
        Default: what the arrays need at least.
    ctx : Context, optional
    dtype : dtype, optional
        Default: that of the data; of lists float32, in the form ``(data, (row, col))`` what numpy
        makes of them, as in MXNet.

    Returns
    -------
    CSRNDArray
        Arrays of the three-array form are taken over as they are, int32 indices included.  numpy
        and scipy arrays of a fitting dtype are shared, not copied: this array never writes into
        them, but shows what others write.

    Raises
    ------
    ShapeError, IndexOutOfBounds
        Arrays that do not fit one another or the shape.  The order and uniqueness of columns is
        not checked here: ``check_format(full_check=True)`` does.

    Examples
    --------
    >>> from ndsparse import nd
    >>> a = nd.sparse.csr_matrix(([1, 2, 3], [1, 0, 2], [0, 1, 1, 3]), shape=(3, 3))
    >>> a.asnumpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 3.0]]
    """
    dims = None if shape is None else _matrix_shape(shape)
    if isinstance(arg1, tuple):
        if len(arg1) >= 2 and all(isinstance(n, (int, np.integer)) for n in arg1):
            chunk = CSRChunk(_matrix_shape(arg1), _given(dtype, FLOAT32))
            _same_shape(dims, chunk.shape)
        elif len(arg1) == 2:
            if len(arg1[1]) != 2:
                raise ArgumentError(
                    "csr_matrix: expected (data, (row, col)), (data, indices, indptr) or (M, N)"
                )
            chunk = _from_coo(arg1[0], arg1[1], dims, dtype)
        elif len(arg1) == 3:
            chunk = _from_arrays(*arg1, dims, dtype)
        else:
            raise ArgumentError(f"csr_matrix: unexpected length of input tuple: {len(arg1)}")
    else:
        chunk = _from_array(arg1, CSRChunk, dims, dtype)
    return _placed(chunk, ctx)


def row_sparse_array(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> Any:
    """Return a row_sparse array.

    Parameters
    ----------
    arg1
        One of: ``(data, indices)`` with rows ``data`` (nnr, ...) and ids (nnr,), sorted here,
        duplicates summed; a tuple of ints, an empty array of that shape; a dense array; an
        NDArray of any storage type; a scipy sparse array.
    shape : tuple of int, optional
        Default: the largest id + 1, and the shape of a row.
    ctx : Context, optional
    dtype : dtype, optional
        Default: that of the data; float32 for lists.

    Examples
    --------
    >>> from ndsparse import nd
    >>> a = nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [1, 4]), shape=(6, 2))
    >>> a.indices.asnumpy().tolist()
    [1, 4]
    """
    dims = None if shape is None else as_shape(shape)
    if isinstance(arg1, tuple):
        if len(arg1) < 2:
            raise ArgumentError(f"row_sparse_array: unexpected length of input tuple: {len(arg1)}")
        if len(arg1) > 2 or all(isinstance(n, (int, np.integer)) for n in arg1):
            chunk = RowSparseChunk(as_shape(arg1), _given(dtype, FLOAT32))
            _same_shape(dims, chunk.shape)
        else:
            chunk = _from_rows(arg1[0], arg1[1], dims, dtype)
    else:
        chunk = _from_array(arg1, RowSparseChunk, dims, dtype)
    return _placed(chunk, ctx)


def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> Any:
    """Return a sparse copy of a sparse array (csr for scipy, else the storage type of the source)."""
    if isinstance(source_array, NDArray):
        if source_array.stype == "default":
            raise ArgumentTypeError("source_array: expected a sparse array; use tostype() on a dense one")
        result = source_array.copy() if dtype is None else source_array.astype(dtype)
        result._ctx = context_or_current(ctx)
        return result
    if is_scipy_sparse(source_array):
        return csr_matrix(source_array.copy(), ctx=ctx, dtype=dtype)
    raise ArgumentTypeError(f"source_array: expected a sparse array, got {type(source_array).__name__}")


def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Return an array of zeros of a storage type: it stores nothing."""
    kind = storage_class(stype)
    dims = as_shape(shape)
    kind.check_shape(dims)
    return _placed(kind(dims, _given(dtype, FLOAT32)), ctx)


def empty(stype: str, shape: Any, ctx: Any = None, dtype: Any = None) -> Any:
    """Return ``zeros(stype, shape)``, for sparse storage types."""
    if stype == "default":
        raise StorageTypeError("stype: sparse.empty makes sparse arrays; got 'default'")
    return zeros(stype, shape, ctx, dtype)


# -- parts ------------------------------------------------------------------------------------------


def _placed(chunk: Any, ctx: Any) -> Any:
    result = wrap(chunk)
    result._ctx = context_or_current(ctx)
    return result


def _given(dtype: Any, default: np.dtype[Any]) -> np.dtype[Any]:
    return as_dtype(default if dtype is None else dtype)


def _matrix_shape(shape: Any) -> tuple[int, ...]:
    dims = as_shape(shape)
    CSRChunk.check_shape(dims)
    return dims


def _same_shape(wanted: tuple[int, ...] | None, found: tuple[int, ...]) -> None:
    if wanted is not None and wanted != found:
        raise ShapeError(f"shape: {wanted} was asked for, the array has {found}")


def _numpy(value: Any, name: str) -> Any:
    """Return an array_like as numpy; what is shared is memory of numpy arrays, never of NDArrays."""
    found = numbers_of(value, name)
    return found.copy() if isinstance(value, NDArray) else found


def _values(value: Any, dtype: Any, *, lists_too: bool = False) -> Any:
    """Return stored values as a C-contiguous array of a supported dtype.

    Lists become float32, or, with ``lists_too``, what numpy makes of them.
    """
    array = _numpy(value, "data")
    typed = lists_too or isinstance(value, (NDArray, np.ndarray))
    return array.astype(_given(dtype, array.dtype if typed else FLOAT32), order="C", copy=False)


def _index(value: Any, name: str) -> Any:
    """Return an index array: int32 is kept, everything else becomes int64 (floats must be whole)."""
    array = _numpy(value, name)
    if array.ndim != 1:
        raise ShapeError(f"{name}: expected 1 dimension, got shape {array.shape}")
    if array.dtype.kind == "f":
        whole = array.astype(INT64)
        if not np.array_equal(whole, array):
            raise ArgumentError(f"{name}: expected whole numbers, got {array[whole != array][0]}")
        return whole
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentTypeError(f"{name}: expected whole numbers, got dtype {array.dtype}")
    if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ArgumentError(f"{name}: {int(array.max())} does not fit in int64")
    wanted = INT32 if array.dtype.newbyteorder("=") == INT32 else INT64
    return np.ascontiguousarray(array, dtype=wanted)


def _from_arrays(data: Any, indices: Any, indptr: Any, shape: Any, dtype: Any) -> CSRChunk:
    values, columns, starts = _values(data, dtype), _index(indices, "indices"), _index(indptr, "indptr")
    if values.ndim != 1 or values.shape != columns.shape:
        raise ShapeError(f"csr_matrix: data {values.shape} and indices {columns.shape} must be equally long")
    if len(starts) == 0:
        raise ShapeError("indptr: expected rows + 1 numbers, got none")
    if shape is None:
        if len(columns) == 0:
            raise ShapeError("shape: give a shape where there are no indices to take it from")
        shape = (len(starts) - 1, int(columns.max()) + 1)
    chunk = CSRChunk(shape, values.dtype)
    if len(starts) != shape[0] + 1 or int(starts[-1]) != len(values) or int(starts[0]) != 0:
        raise ShapeError(
            f"indptr: expected {shape[0] + 1} numbers from 0 to {len(values)} for shape {shape}; "
            f"got {len(starts)} from {int(starts[0])} to {int(starts[-1])}"
        )
    chunk.take_over(values, starts, columns)
    chunk.pin()
    return chunk


def _from_coo(data: Any, coords: Sequence[Any], shape: Any, dtype: Any) -> CSRChunk:
    rows, columns = _index(coords[0], "row"), _index(coords[1], "col")
    values = _values(data, dtype, lists_too=True)
    if values.ndim == 0:
        values = np.full(rows.shape, values)
    if not values.shape == rows.shape == columns.shape:
        raise ShapeError(
            f"csr_matrix: data {values.shape}, row {rows.shape} and col {columns.shape} must be equally long"
        )
    if shape is None:
        if len(rows) == 0:
            raise ShapeError("shape: give a shape where there are no indices to take it from")
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    for name, ids, extent in (("row", rows, shape[0]), ("col", columns, shape[1])):
        if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= extent):
            bad = ids[(ids < 0) | (ids >= extent)][0]
            raise ShapeError(f"{name}: index {int(bad)} is outside of the shape {shape}")
    chunk = CSRChunk(shape, values.dtype)
    chunk.set_coo((rows, columns), values)
    return chunk


def _from_rows(data: Any, indices: Any, shape: Any, dtype: Any) -> RowSparseChunk:
    values, ids = _values(data, dtype), _index(indices, "indices")
    if shape is not None and len(ids) == 0 and values.shape == (0,):
        values = values.reshape(0, *shape[1:])  # lists of nothing
    if values.ndim == 0 or len(values) != len(ids):
        raise ShapeError(
            f"row_sparse_array: data {values.shape} and indices {ids.shape} must have the same number of rows"
        )
    if shape is None:
        shape = (int(ids.max()) + 1 if len(ids) else 0, *values.shape[1:])
    if values.shape[1:] != shape[1:]:
        raise ShapeError(f"row_sparse_array: rows of shape {values.shape[1:]} do not fit the shape {shape}")
    if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= shape[0]):
        bad = ids[(ids < 0) | (ids >= shape[0])][0]
        raise ShapeError(f"indices: row {int(bad)} is outside of the shape {shape}")
    chunk = RowSparseChunk(shape, values.dtype)
    chunk.take_over(values, ids)
    chunk.pin()
    chunk.canonicalize()
    return chunk


def _from_array(source: Any, kind: type[Any], shape: Any, dtype: Any) -> Any:
    """Return a chunk of storage type ``kind`` from an array of any sort."""
    if is_scipy_sparse(source):
        chunk: Any = _from_scipy(source, dtype)
    elif isinstance(source, NDArray):
        chunk = source._chunk
        if dtype is not None and as_dtype(dtype) != chunk.dtype:
            chunk = type(chunk)(chunk.shape, as_dtype(dtype))
            cast(source._chunk, chunk)
    else:
        values = _numpy(source, kind.stype)
        typed = isinstance(source, np.ndarray)
        chunk = DefaultChunk.of(values.astype(_given(dtype, values.dtype if typed else FLOAT32), copy=False))
    _same_shape(shape, chunk.shape)
    fresh = (isinstance(source, NDArray) and chunk is not source._chunk) or is_scipy_sparse(source)
    return chunk if fresh and chunk.stype == kind.stype else converted(chunk, kind.stype)


def _from_scipy(source: Any, dtype: Any) -> CSRChunk:
    """Return a canonical csr chunk, on scipy's memory where nothing had to change."""
    if source.ndim != 2:
        raise ShapeError(f"csr_matrix: expected a matrix, got a scipy array of {source.ndim} dimensions")
    matrix = source.tocsr()
    stored = int(matrix.nnz)  # scipy allows unused room behind the last row
    values = np.ascontiguousarray(matrix.data[:stored], dtype=_given(dtype, matrix.dtype))
    chunk = CSRChunk(tuple(int(n) for n in matrix.shape), values.dtype)
    chunk.take_over(values, _index(matrix.indptr, "indptr"), _index(matrix.indices[:stored], "indices"))
    chunk.pin()  # buffers of scipy
    chunk.canonicalize()
    return chunk
