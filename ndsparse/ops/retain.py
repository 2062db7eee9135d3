"""``_sparse_retain``: keep the rows that are named, drop all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.kernels import row_ids, row_sparse
from ndsparse.ops.operands import as_ids, canonical_rows, check_ids, dense_of
from ndsparse.ops.registry import operator
from ndsparse.storage import Chunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.chunk import Array


@operator("data(n, *s), indices(m) -> (n, *s)", name="_sparse_retain", dtypes="T, * -> T")
def sparse_retain(data: Any, indices: Any) -> Any:
    """Return ``data`` with zeros in all rows but those of ``indices``.

    Parameters
    ----------
    data : row_sparse or dense NDArray
    indices : NDArray
        Row ids of any dtype, in any order, repeated or not.

    Returns
    -------
    NDArray, row_sparse
        With exactly the rows of ``indices`` stored, ascending; rows that ``data`` lacks are zero.

    Raises
    ------
    IndexOutOfBounds
        An id is no row of ``data``.

    Notes
    -----
    O(indices + data rows found).  MXNet leaves the ids as they were given; here the result is
    canonical.
    """
    ids = as_ids(indices)
    check_ids(ids, data.shape[0], "retain", "row id")
    result = np.zeros_like(data)
    result[ids] = data[ids]
    return result


@sparse_retain.grad
def _(g: Any, data: Any, indices: Any) -> Any:
    return sparse_retain(g, indices), None


def _wanted(indices: Chunk, rows: int) -> Array:
    ids = as_ids(dense_of(indices)).ravel()
    check_ids(ids, rows, "retain", "row id")
    return row_ids.unique_ids(ids)[0]


@sparse_retain.on("row_sparse, default -> row_sparse")
def _(data: RowSparseChunk, indices: DefaultChunk, out: RowSparseChunk) -> None:
    wanted = _wanted(indices, data.shape[0])
    source = canonical_rows(data)
    if not len(source.indices):
        wanted = wanted[:0]  # as in MXNet: nothing stored, nothing retained
    ids, rows = out.check_and_alloc(len(wanted))
    np.copyto(ids, wanted)
    row_sparse.retain_dense(source.rows, wanted, rows)


@sparse_retain.on("default, default -> row_sparse")
def _(data: DefaultChunk, indices: DefaultChunk, out: RowSparseChunk) -> None:
    wanted = _wanted(indices, data.shape[0])
    ids, rows = out.check_and_alloc(len(wanted))
    np.copyto(ids, wanted)
    row_sparse.gather_rows(data.data, wanted, rows)
