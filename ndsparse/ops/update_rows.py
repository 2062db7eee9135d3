"""How an optimizer update meets storage types: which rows it touches, and where they stand.

A kernel of :mod:`ndsparse.kernels.updates` works on plain arrays and row positions.  Here a weight,
its states and a gradient, each dense or row_sparse, are brought to that form:

=============  ============  ===========================================================================
weight         states        what happens
=============  ============  ===========================================================================
default        default       rows of the gradient are positions in the weight
row_sparse     row_sparse    all get the same stored rows (rows that are new are zero), then positions
row_sparse     default       the weight gets all rows, and every row is updated (as in MXNet)
=============  ============  ===========================================================================

A lazy update touches the rows of the gradient only.  An exact one gives the others a gradient of 0;
rows that neither a row_sparse weight nor its states store stay zero under that, so they are left out.
MXNet demands that a row_sparse weight stores all its rows; here rows appear when they are updated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ndsparse.kernels import row_ids, row_sparse
from ndsparse.ops.operands import canonical_rows
from ndsparse.ops.registry import Operator
from ndsparse.storage import Chunk, RowSparseChunk
from ndsparse.storage.chunk import Array

Driver = Callable[..., None]

_FEW = 1 << 14

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def whole(
    driver: Driver, out: Array | None, weight: Array, states: Sequence[Array], grad: Array, **numbers: Any
) -> Array:
    """Update a dense weight and its states, in place where ``out`` is the weight; return the new weight."""
    result = weight.copy() if out is None else out
    if out is not None and out is not weight:
        grad = grad.copy() if np.may_share_memory(out, grad) else grad
        np.copyto(out, weight)
    _apply(driver, [result, *states], grad, None, False, numbers)
    return result


def declare(op: Operator, driver: Driver, states: int) -> None:
    """Add the rows of an update with a row_sparse gradient."""

    def run(*chunks: Any, lazy_update: bool, **numbers: Any) -> None:
        weight, grad, *rest, out = chunks
        if out is not weight:
            grad = grad.copy() if out is grad else grad
            out.copy_from(weight)
        touch(driver, out, rest, canonical_rows(grad), lazy_update, numbers)

    dense, sparse = ", default" * states, ", row_sparse" * states
    op.on(f"default, row_sparse{dense} -> default", req=("inplace",))(run)
    op.on(f"row_sparse, row_sparse{sparse} -> row_sparse", req=("inplace",))(run)
    if states:
        op.on(f"row_sparse, row_sparse{dense} -> row_sparse", req=("inplace",))(run)


def touch(
    driver: Driver, weight: Chunk, states: Sequence[Any], grad: RowSparseChunk, lazy: bool, numbers: Any
) -> Array:
    """Update the rows of ``grad`` (lazy) or all rows; return the positions of the rows of ``grad``."""
    ids, data = grad.rows
    sparse = [c for c in (weight, *states) if isinstance(c, RowSparseChunk)]
    positions = ids
    if sparse:
        full = len(sparse) <= len(states)  # dense states beside a row_sparse weight
        lazy = lazy and not full
        positions = _align(sparse, ids, full)
    arrays = [writable(c) for c in (weight, *states)]
    _apply(driver, arrays, data, positions.astype(np.int64, copy=False), not lazy, numbers)
    return positions


def writable(chunk: Chunk) -> Array:
    """Return the data of a chunk to be changed in place: a copy of it where others hold the memory."""
    data = chunk.data
    target = chunk.check_and_alloc_data(data.shape)
    if target is not data:
        np.copyto(target, data)
    return target


def _apply(
    driver: Driver, arrays: list[Array], grad: Array, rows: Array | None, exact: bool, numbers: Any
) -> None:
    """Run the kernel; arrays it cannot work on (float16, views) go through copies of what it touches."""
    dtype = arrays[0].dtype
    if (
        all(a.dtype == dtype and a.flags.c_contiguous and a.flags.writeable for a in arrays)
        and dtype in _FLOATS
    ):
        driver(*arrays, grad, rows=rows, exact=exact, **numbers)
        return
    compute = dtype if dtype in _FLOATS else _FLOATS[0]
    if rows is None or exact:
        copies = [np.ascontiguousarray(a, dtype=compute) for a in arrays]
        copies = [c.copy() if c is a else c for c, a in zip(copies, arrays, strict=True)]
        driver(*copies, grad, rows=rows, exact=exact, **numbers)
        for array, copy in zip(arrays, copies, strict=True):
            np.copyto(array, copy, casting="unsafe")
        return
    copies = [a[rows].astype(compute) for a in arrays]
    driver(*copies, grad, **numbers)
    for array, copy in zip(arrays, copies, strict=True):
        array[rows] = copy


def _align(chunks: Sequence[RowSparseChunk], ids: Array, full: bool) -> Array:
    """Give all chunks the same stored rows, among them ``ids``, and return the positions of these.

    ``full``: all rows of the shape.  Costs nothing but a comparison of ids where they agree already.
    """
    rows = chunks[0].shape[0]
    for chunk in chunks:
        _sort(chunk, ids)
    if all(c.complete for c in chunks):
        return ids
    first = chunks[0].indices
    if not full and all(np.array_equal(first, c.indices) for c in chunks[1:]):
        positions = row_ids.locate(first, ids)
        if not len(positions) or int(positions.min()) >= 0:
            return positions
    union = (
        np.arange(rows) if full else row_ids.union_ids([ids, *(canonical_rows(c).indices for c in chunks)])
    )
    for chunk in chunks:
        if len(chunk.indices) != len(union):
            _spread(chunk, union)
    return ids if len(union) == rows else row_ids.locate(union, ids)


def _sort(chunk: RowSparseChunk, ids: Array) -> None:
    """Make a chunk canonical; of many rows, all stored, only those that are touched are looked at."""
    own = chunk.indices
    if not chunk.complete or len(own) <= _FEW or not np.array_equal(own[ids], ids):
        chunk.canonicalize()


def _spread(chunk: RowSparseChunk, ids: Array) -> None:
    """Make a chunk store the rows ``ids``, a superset of those it has; new ones are zero."""
    wider = RowSparseChunk(chunk.shape, chunk.dtype)
    out_ids, data = wider.check_and_alloc(len(ids), chunk.indices.dtype)
    np.copyto(out_ids, ids, casting="same_kind")
    row_sparse.retain_dense(canonical_rows(chunk).rows, ids, data)
    chunk.move_from(wider)
