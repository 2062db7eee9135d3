"""Updating NDArrays: which rows of which buffers an update is about.

==========  ==========  ====================================================================
weight      gradient    what is updated
==========  ==========  ====================================================================
default     default     all rows
default     row_sparse  the gradient's rows; all others as with 0 unless ``lazy_update``
row_sparse  row_sparse  the same, among the rows stored; the gradient's rows become stored
row_sparse  default     all rows, which become stored
any         csr         as with the dense gradient (rows without an element have gradient 0)
==========  ==========  ====================================================================

A row that a row_sparse weight does not store is a row of zeros with states of zero; no update here
moves such a row when its gradient is zero, so leaving it out is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from ndsparse.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, StorageTypeError
from ndsparse.kernels import row_ids, row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.optimizer.base import Optimizer
from ndsparse.storage import Chunk, converted, storage_class

AnyArray = NumpyArray[Any]


def create_states(optimizer: Optimizer, weight: Any) -> list[Any]:
    """Return states of zeros: row_sparse for a row_sparse weight that is updated lazily, else dense."""
    stype = weight.stype if optimizer.lazy_update else "default"
    states = []
    for column in optimizer.columns():
        shape = (weight.shape[0], 1) if column.per_row else weight.shape
        states.append(wrap(storage_class(stype)(shape, np.dtype(weight.dtype))))
    return states


def check_arguments(optimizer: Optimizer, weight: Any, grad: Any, state: Any) -> None:
    """Raise unless ``grad`` and ``state`` fit ``weight``."""
    for name, array in (("weight", weight), ("grad", grad)):
        if not isinstance(array, NDArray):
            raise ArgumentTypeError(f"update: {name}: expected an NDArray, got {type(array).__name__}")
    if weight.shape != grad.shape:
        raise ShapeError(f"update: grad has shape {grad.shape}, weight {weight.shape}; they must agree")
    if weight.stype == "csr":
        raise StorageTypeError("update: a csr weight is not updated; wanted default or row_sparse")
    if np.dtype(weight.dtype).kind != "f":
        raise DTypeError(f"update: the weight is {np.dtype(weight.dtype)}; wanted a floating point type")
    _check_state(optimizer, weight, _listed(state))


def _check_state(optimizer: Optimizer, weight: Any, states: list[Any]) -> None:
    columns = optimizer.columns()
    who = f"update: state: {type(optimizer).__name__}"
    hint = "; create_state(index, weight) makes it"
    for array in states:
        if not isinstance(array, NDArray):
            raise ArgumentTypeError(f"{who} expects NDArrays, got {type(array).__name__}{hint}")
    if len(states) != len(columns) and (columns or len(states) > 1):  # momentum may be turned off
        names = ", ".join(c.name for c in columns) or "none"
        raise ArgumentError(f"{who} keeps {len(columns)} arrays ({names}), got {len(states)}{hint}")
    for column, array in zip(columns, states, strict=False):
        shape = (weight.shape[0], 1) if column.per_row else weight.shape
        if array.shape != shape:
            raise ShapeError(f"{who} wants {column.name} of shape {shape}, got {array.shape}{hint}")
        if array.stype not in ("default", "row_sparse"):
            raise StorageTypeError(f"{who}: {column.name} is {array.stype}; wanted default or row_sparse")


def update_array(
    optimizer: Optimizer, weight: Any, grad: Any, state: Any, numbers: Mapping[str, Any]
) -> None:
    """Update ``weight`` and ``state`` in place."""
    target, source = weight._chunk, grad._chunk
    states = [s._chunk for s in _listed(state)]
    exact = not optimizer.lazy_update
    if source.stype == "csr":
        source, exact = converted(source, "row_sparse"), True
    if source.stype == "default":
        if target.stype == "row_sparse":
            _store_rows([target, *states], np.arange(target.shape[0]))
        where: dict[str, Any] = {}
    else:
        where = {"rows": _rows_of(target, states, source.indices, exact), "exact": exact}
    _apply(optimizer, target, states, source.data, numbers, where)


def _listed(state: Any) -> list[Any]:
    if state is None:
        return []
    return list(state) if isinstance(state, list | tuple) else [state]


def _rows_of(weight: Any, states: list[Any], ids: AnyArray, exact: bool) -> AnyArray:
    """Return where the rows ``ids`` stand in the buffers of the weight and its states, storing them."""
    arrays = [weight, *states]
    if all(a.stype == "default" for a in arrays):
        return ids
    if any(a.stype == "default" for a in arrays):  # dense states: positions must be ids
        _store_rows(arrays, np.arange(weight.shape[0]))
        return ids
    _store_rows(arrays, ids)
    if len(weight.indices) == weight.shape[0]:
        return ids
    return row_ids.locate(weight.indices, ids, extent=weight.shape[0])


def _store_rows(arrays: list[Any], ids: AnyArray) -> None:
    """Make row_sparse arrays store the rows ``ids`` and each other's; new rows are zeros."""
    sparse = [a for a in arrays if a.stype == "row_sparse"]
    stored = sparse[0].indices
    if all(len(a.indices) == a.shape[0] for a in sparse):
        return
    wanted = row_ids.union_ids([ids, *(a.indices for a in sparse)])
    if len(wanted) == len(stored) and all(len(a.indices) == len(stored) for a in sparse):
        return
    for array in sparse:
        grown = array.fresh()
        out = grown.check_and_alloc(len(wanted))
        zeros = np.zeros((len(wanted), *array.shape[1:]), array.dtype)
        row_sparse.union_fill(Op.ADD, array.rows, (wanted, zeros), out)
        array.move_from(grown)


def _apply(
    optimizer: Optimizer,
    weight: Chunk,
    states: list[Chunk],
    grad: AnyArray,
    numbers: Mapping[str, Any],
    where: Mapping[str, Any],
) -> None:
    """Call ``apply`` on buffers that may be written; others are copied and written back."""
    half = weight.dtype == np.float16  # kernels have no float16
    buffers = [_buffer(chunk, half) for chunk in (weight, *states)]
    optimizer.apply(buffers[0], buffers[1:], grad, numbers, **where)
    for chunk, buffer in zip((weight, *states), buffers, strict=True):
        if buffer is not chunk.data:
            np.copyto(chunk.data, buffer, casting="unsafe")


def _buffer(chunk: Chunk, half: bool) -> AnyArray:
    if chunk.pinned:  # somebody else holds this memory
        old = chunk.data
        np.copyto(chunk.check_and_alloc_data(old.shape), old)
    data = chunk.data
    if half:
        return data.astype(np.float32)
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)
