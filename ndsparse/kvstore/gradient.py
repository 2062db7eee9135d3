"""What is pushed: a dense array, or rows and their ids; checked once, summed in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentTypeError, DTypeError, IndexOutOfBounds, ShapeError
from ndsparse.kernels import row_ids, row_sparse
from ndsparse.kernels.csr_check import RowFault, check_row_ids

AnyArray = NDArray[Any]


class Gradient(NamedTuple):
    """A dense array (``ids`` is None), or rows with ascending, distinct ids."""

    ids: AnyArray | None
    rows: AnyArray


def as_ids(ids: Any, extent: int, name: str = "row_ids") -> AnyArray:
    """Return row ids as a flat int64 array, exactly.

    Parameters
    ----------
    ids : array_like of integers, any shape
        Floating point values are taken if they are whole numbers that int64 holds.
    extent : int
        Ids lie in ``range(extent)``.
    name : str
        What to call them in an error.

    Raises
    ------
    ArgumentTypeError
        If they are no whole numbers.
    IndexOutOfBounds
        If one is outside of the weight.
    """
    array = np.asarray(ids).reshape(-1)
    if array.dtype.kind == "f":
        whole = array.astype(np.float64)
        bad = ~((whole == np.floor(whole)) & (np.abs(whole) < 2.0**63))
        if bad.any():
            raise ArgumentTypeError(f"{name}: {whole[bad][0]} is not a whole number")
    elif array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{name}: {array.dtype} values; wanted integers")
    if array.dtype == np.uint64 and len(array) and int(array.max()) >= extent:
        raise IndexOutOfBounds(f"{name}: id {int(array.max())} is outside of the {extent} rows")
    result = np.ascontiguousarray(array, np.int64)
    if len(result):
        low, high = int(result.min()), int(result.max())
        if low < 0 or high >= extent:
            raise IndexOutOfBounds(f"{name}: id {low if low < 0 else high} is outside of the {extent} rows")
    return result


def checked(key: Any, ids: Any, rows: AnyArray, shape: Sequence[int]) -> Gradient:
    """Return a gradient of a weight of that shape; ids may come unsorted and repeated (then summed)."""
    trailing = tuple(shape[1:])
    if rows.dtype.kind not in "biuf":
        raise DTypeError(f"push of key {key!r}: the value is {rows.dtype}; wanted real numbers")
    if ids is None:
        if rows.shape != tuple(shape):
            raise ShapeError(
                f"push of key {key!r}: the value has shape {rows.shape}, the weight {tuple(shape)}"
            )
        return Gradient(None, rows)
    count = int(np.size(ids))
    if rows.shape != (count, *trailing):
        raise ShapeError(f"push of key {key!r}: rows of shape {rows.shape}; wanted {(count, *trailing)}")
    given = np.asarray(ids)
    if given.dtype == np.int64 and check_row_ids(given, shape[0])[0] == RowFault.OK:
        return Gradient(np.ascontiguousarray(given), rows)
    whole = as_ids(given, shape[0], f"push of key {key!r}: ids")
    unique, slots = row_ids.unique_ids(whole)
    summed = np.empty((len(unique), *trailing), rows.dtype)
    row_sparse.sum_duplicates(rows, slots, summed)
    return Gradient(unique, summed)


def merged(parts: Sequence[Gradient]) -> Gradient:
    """Return the sum, added in the order given, so that the bits do not depend on who came first.

    Sparse parts stay sparse; with a dense part the sum is dense.
    """
    if len(parts) == 1:
        return parts[0]
    dtype = np.result_type(*(part.rows.dtype for part in parts))
    if all(part.ids is not None for part in parts):
        rows = [(part.ids, part.rows) for part in parts if part.ids is not None]
        ids = row_ids.union_ids([i for i, _ in rows])
        total = np.empty((len(ids), *parts[0].rows.shape[1:]), dtype)
        row_sparse.sum_many(rows, ids, total)
        return Gradient(ids, total)
    shape = next(part.rows.shape for part in parts if part.ids is None)
    total = np.zeros(shape, dtype)
    for part in parts:
        if part.ids is None:
            total += part.rows
        else:
            row_sparse.scatter_add_rows(part.ids, part.rows, total, distinct=True)
    return Gradient(None, total)
