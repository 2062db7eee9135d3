"""Checks of what users hand to modules: iterators, batches, ids of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ArgumentTypeError, ShapeError
from ndsparse.ndarray.ndarray import NDArray


def require_iterator(name: str, value: Any, *wanted: str) -> None:
    """Raise unless ``value`` gives batches; ``wanted`` names what else it must have."""
    array = isinstance(value, (NDArray, np.ndarray))
    lacking = [n for n in ("__iter__", *wanted) if not hasattr(value, n)]
    if array or lacking:
        why = "" if array else f" without {lacking[0]}"
        raise ArgumentTypeError(
            f"{name}: expected a DataIter, got {type(value).__name__}{why}; "
            "mx.io.NDArrayIter(data, label, batch_size) makes one of arrays"
        )


def require_batch(name: str, value: Any) -> None:
    """Raise unless ``value`` has lists of data and labels."""
    data = None if isinstance(value, np.ndarray) else getattr(value, "data", None)
    if not isinstance(data, (list, tuple)) or not hasattr(value, "label"):
        raise ArgumentTypeError(
            f"{name}: expected a DataBatch with a list of data, got {type(value).__name__}; "
            "mx.io.DataBatch([data], [label]) makes one of arrays"
        )


def require_row_ids(name: str, ids: Any) -> None:
    """Raise unless ``ids`` are row ids of a parameter: an array, or one for each context."""
    arrays = isinstance(ids, (list, tuple)) and any(np.ndim(i) or isinstance(i, NDArray) for i in ids)
    for one in ids if arrays else [ids]:
        _require_flat_integers(name, one)


def _require_flat_integers(name: str, ids: Any) -> None:
    start = f"sparse_row_id_fn: the row ids of {name!r}: expected a 1-d array of whole numbers, got "
    hint = "; of a csr array, the row ids are its .indices"
    if isinstance(ids, NDArray):
        if ids.stype != "default":
            raise ArgumentTypeError(f"{start}a {ids.stype} array of shape {ids.shape}{hint}")
        array = ids._chunk.data
    else:
        array = np.asarray(ids)
        if array.dtype == object:
            raise ArgumentTypeError(f"{start}{type(ids).__name__}{hint}")
    if array.ndim != 1:
        raise ShapeError(f"{start}shape {array.shape}{hint if array.ndim else ''}")
    if array.dtype.kind not in "iuf":
        raise ArgumentTypeError(f"{start}{array.dtype} values")
    if array.dtype.kind == "f" and not np.array_equal(array, np.floor(array)):
        raise ArgumentTypeError(f"{start}fractions ({array[array != np.floor(array)][0]}){hint}")
