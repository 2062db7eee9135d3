"""``one_hot``: class numbers as rows with a single entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.ops.operands import as_ids
from ndsparse.ops.registry import operator
from ndsparse.storage import CSRChunk, DefaultChunk


@operator("indices(*s) -> (*s, depth)", dtypes="* -> @dtype")
def one_hot(
    indices: Any, *, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: str = "float32"
) -> Any:
    """Return an array with ``on_value`` at the place that each index names, ``off_value`` elsewhere.

    Parameters
    ----------
    indices : NDArray
        Class numbers of any dtype; one outside of ``0 <= index < depth`` gives no ``on_value``.
    depth : int
        Size of the new last dimension.
    on_value, off_value : float
    dtype : str

    Notes
    -----
    ``one_hot(..., out=...)`` into a csr array costs O(indices).
    """
    ids = as_ids(indices)[..., None]
    return np.where(ids == np.arange(depth), on_value, off_value).astype(dtype)


@one_hot.grad
def _(g: Any, indices: Any) -> Any:
    return None


@one_hot.on("default -> default")
def _(indices: DefaultChunk, out: DefaultChunk, *, depth: int, on_value: float, off_value: float) -> None:
    ids = as_ids(indices.data)
    target = out.check_and_alloc_data(out.shape)
    target[...] = off_value
    places = np.nonzero((ids >= 0) & (ids < depth))
    target[(*places, ids[places])] = on_value


@one_hot.on("default -> csr", off_value=0.0)
def _(indices: DefaultChunk, out: CSRChunk, *, depth: int, on_value: float) -> None:
    ids = as_ids(indices.data)
    inside = (ids >= 0) & (ids < depth)
    out.set_coo((np.flatnonzero(inside), ids[inside]), np.full(int(inside.sum()), on_value, out.dtype))
