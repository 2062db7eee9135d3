"""What stands between the brackets of ``a[...]``, made into selections along axes.

A selection is a ``range`` (of an integer or a slice, so that huge axes cost nothing) or an int64
array of ids (of lists, arrays and masks).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ndsparse.errors import IndexOutOfBounds

IdArray = np.ndarray[Any, np.dtype[np.int64]]
Selection = range | IdArray
WHOLE = slice(None)


class Axis(NamedTuple):
    """What a key selects along one axis."""

    ids: Selection
    single: bool = False  # an integer: the axis goes away

    @property
    def contiguous(self) -> bool:
        """Whether it is a run of neighbours in ascending order."""
        return isinstance(self.ids, range) and (self.ids.step == 1 or len(self.ids) <= 1)

    @property
    def array(self) -> IdArray:
        """The ids as an array."""
        ids = self.ids
        return np.arange(ids.start, ids.stop, ids.step) if isinstance(ids, range) else ids


def is_integer(key: Any) -> bool:
    """Whether a key is one integer (bool is none)."""
    return isinstance(key, (int, np.integer)) and not isinstance(key, bool)


def everything(key: Any) -> bool:
    """Whether a key of one axis selects all of it."""
    return key is Ellipsis or (isinstance(key, slice) and key == WHOLE)


def _single(key: Any) -> bool:
    """Whether a key is an integer, or an array of no dimensions that holds one."""
    if isinstance(key, np.ndarray) or hasattr(key, "_chunk"):
        return key.ndim == 0 and np.dtype(key.dtype).kind in "iu"
    return is_integer(key)


def whole(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether a key means the whole array."""
    return all(map(everything, expanded(key, shape))) if isinstance(key, tuple) else everything(key)


def expanded(key: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return a key as a tuple with an entry for each axis; Ellipsis and missing ends select everything."""
    keys = key if isinstance(key, tuple) else (key,)
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), None)
    missing = len(shape) - len(keys) + (at is not None)
    if missing < 0 or sum(k is Ellipsis for k in keys) > 1:
        raise IndexOutOfBounds(f"index {key!r}: too many indices for the shape {shape}")
    if at is None:
        return (*keys, *[WHOLE] * missing)
    return (*keys[:at], *[WHOLE] * missing, *keys[at + 1 :])


def axis(key: Any, extent: int, name: str = "row") -> Axis:
    """Return what ``key`` selects of ``extent`` places.

    Raises
    ------
    IndexOutOfBounds
        An id is outside, a mask has another length, or the key is of no use.
    """
    if isinstance(key, slice):
        try:
            return Axis(range(extent)[key])
        except (TypeError, ValueError) as error:
            raise IndexOutOfBounds(f"index {key!r}: {error}") from None
    if _single(key):
        row = checked_row(int(key), extent, name)
        return Axis(range(row, row + 1), single=True)
    if isinstance(key, (list, range, np.ndarray)) or hasattr(key, "_chunk"):
        return Axis(_ids(key, extent, name))
    raise IndexOutOfBounds(
        f"index {key!r}: expected an integer, a slice, an array of {name} ids or a mask of booleans"
    )


def _ids(key: Any, extent: int, name: str) -> IdArray:
    found = index_array(key)
    if found.dtype == np.bool_:
        if found.shape != (extent,):
            raise IndexOutOfBounds(f"a mask of shape {found.shape} does not fit {extent} {name}s")
        return np.flatnonzero(found)
    if found.ndim != 1:
        raise IndexOutOfBounds(f"{name} ids must have 1 dimension, got shape {found.shape}")
    outside = (found < -extent) | (found >= extent)
    if outside.any():
        checked_row(int(found[outside][0]), extent, name)
    result: IdArray = np.where(found < 0, found + extent, found)
    return result


def index_array(key: Any) -> np.ndarray[Any, Any]:
    """Return a list or an array of ids as int64, a mask as booleans.

    NDArrays may hold ids as floats, as in MXNet; what a comparison gave is a mask.
    """
    if hasattr(key, "_chunk"):
        found: np.ndarray[Any, Any] = key.asnumpy()
        if getattr(key, "_mask", False):
            found = found != 0
    else:
        found = np.asarray(key)
    if found.dtype == np.bool_:
        return found
    if found.size == 0 and found.dtype.kind == "f":
        return found.astype(np.int64)
    if found.dtype.kind not in ("iu" if not hasattr(key, "_chunk") else "iuf"):
        raise IndexOutOfBounds(f"index {key!r:.80}: expected whole numbers or booleans")
    return found.astype(np.int64, copy=False)


def is_mask(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether a key is a mask over all elements of an array of more than one dimension."""
    if hasattr(key, "_chunk"):
        boolean = getattr(key, "_mask", False) or key.dtype is np.bool_
    else:
        boolean = isinstance(key, np.ndarray) and key.dtype == np.bool_
    return bool(boolean) and len(shape) > 1 and key.shape == shape


def checked_row(index: int, rows: int, name: str = "row") -> int:
    """Return an index counted from the front; IndexOutOfBounds if there is no such row."""
    if not -rows <= index < rows:
        raise IndexOutOfBounds(f"{name} {index} is out of range for an array of {rows} {name}s")
    return index % rows


def numpy_key(key: Any) -> Any:
    """Return a key with NDArrays and lists made numpy arrays."""
    if isinstance(key, tuple):
        return tuple([numpy_key(k) for k in key])
    if isinstance(key, (int, slice)) and not isinstance(key, bool):
        return key
    if hasattr(key, "_chunk") or isinstance(key, list):
        return index_array(key)
    if isinstance(key, (bool, np.bool_)):
        raise IndexOutOfBounds("a boolean is no index; use an array of booleans")
    return key


def within(ids: IdArray, selection: Selection) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which ids are in a selection.  O(ids) for a range."""
    if not isinstance(selection, range):
        return np.isin(ids, selection)
    if len(selection) == 0:
        return np.zeros(len(ids), np.bool_)
    low, high = min(selection[0], selection[-1]), max(selection[0], selection[-1])
    found = (ids >= low) & (ids <= high)
    if abs(selection.step) > 1:
        found &= (ids - low) % abs(selection.step) == 0
    return found


def taken(selection: Selection, places: IdArray) -> IdArray:
    """Return ``selection[places]``."""
    if isinstance(selection, range):
        return selection.start + places * selection.step
    return selection[places]


def places(ids: IdArray, selection: Selection) -> tuple[IdArray, IdArray]:
    """Return where each id stands in a selection: (position in ``ids``, place in the selection).

    An id that is selected several times gives as many pairs.  O(ids log selection).
    """
    if isinstance(selection, range):
        at = np.flatnonzero(within(ids, selection))
        return at, (ids[at] - selection.start) // selection.step
    order = np.argsort(selection, kind="stable")
    ranked = selection[order]
    first = np.searchsorted(ranked, ids, side="left")
    counts = np.searchsorted(ranked, ids, side="right") - first
    at = np.repeat(np.arange(len(ids)), counts)
    ends = np.cumsum(counts)
    offsets = np.arange(len(at)) - np.repeat(ends - counts, counts)
    return at, order[np.repeat(first, counts) + offsets]
