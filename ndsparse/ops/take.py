"""``take``: rows (or slices along an axis) by their numbers."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ndsparse.errors import IndexOutOfBounds, ShapeError
from ndsparse.kernels import csr_structure, row_ids, row_sparse
from ndsparse.ops import shapes
from ndsparse.ops.operands import as_ids, canonical_rows, check_ids, dense_of, flat, give
from ndsparse.ops.registry import Attrs, operator
from ndsparse.storage import Chunk, CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.chunk import Array, Shape

Mode = Literal["clip", "wrap", "raise"]


@operator("a(*s), indices(*i) -> (*r)", dtypes="T, * -> T")
def take(a: Any, indices: Any, *, axis: int = 0, mode: Mode = "clip") -> Any:
    """Return the slices of ``a`` along ``axis`` that ``indices`` name.

    Parameters
    ----------
    a : NDArray
        A csr array gives a csr array on axis 0 for one dimension of indices, except with "raise".
    indices : NDArray
        Numbers of any dtype (floats are cut), of any shape; the result has their dimensions in the
        place of ``axis``.
    axis : int
    mode : str
        What an index out of range means: "clip" the first or last slice, "wrap" counting on around
        the axis, "raise" IndexOutOfBounds.

    Notes
    -----
    csr and row_sparse on axis 0: O(indices + what they select).
    """
    axis = shapes.normalize_axis("take", axis, a.ndim)
    return np.take(a, resolved_ids(indices, a.shape[axis], mode), axis=axis)


def resolved_ids(indices: Array, extent: int, mode: str, op: str = "take") -> Array:
    """Return indices as int64 within the extent, as ``mode`` says."""
    ids = as_ids(indices)
    if mode == "raise":
        check_ids(ids, extent, op, "index")
        return ids
    if extent == 0 and ids.size:
        raise IndexOutOfBounds(f"{op}: there is nothing to take from an axis of size 0")
    return np.clip(ids, 0, extent - 1) if mode == "clip" else ids % max(extent, 1)


@take.shape
def _(inputs: Any, outputs: Any, *, axis: int, mode: str) -> Any:
    a, indices = inputs
    if a is None or indices is None:
        return inputs, outputs
    if not a:
        raise ShapeError("take: a must have at least 1 dimension")
    at = shapes.normalize_axis("take", axis, len(a))
    return inputs, [(*a[:at], *indices, *a[at + 1 :])]


@take.grad
def _(g: Any, a: Any, indices: Any, *, axis: int, mode: str) -> Any:
    return _backward_take(g, indices, a, axis=axis, mode=mode), None


@operator("g(*r), indices(*i), a(*s) -> (*s)", dtypes="T, *, * -> T")
def _backward_take(g: Any, indices: Any, a: Any, *, axis: int = 0, mode: Mode = "clip") -> Any:
    """Return the gradient of ``take``: each slice of ``g`` added at its index; ``a`` gives the shape only."""
    return _added(g, indices, a.shape, axis, mode)


def _added(g: Array, indices: Array, shape: Shape, axis: int, mode: str) -> Array:
    axis = shapes.normalize_axis("take", axis, len(shape))
    ids = resolved_ids(indices, shape[axis], mode).ravel()
    result = np.zeros(shape, g.dtype)
    slices = g.reshape(*shape[:axis], len(ids), *shape[axis + 1 :])
    np.add.at(np.moveaxis(result, axis, 0), ids, np.moveaxis(slices, axis, 0))
    return result


# -- rows -------------------------------------------------------------------------------------------


def _first_axis(attrs: Attrs) -> Any:
    return attrs["axis"] == 0


def _take_csr(data: CSRChunk, ids: Array, out: CSRChunk) -> None:
    starts = data.indptr
    repeated = int((starts[ids + 1].astype(np.int64) - starts[ids]).sum())
    indptr = out.alloc_indptr(starts.dtype, data.indices.dtype, nnz=repeated)
    nnz = csr_structure.take_rows_count(data.indptr, ids, indptr)
    csr_structure.take_rows_fill(data.csr, ids, out.alloc_elements(nnz))
    out.canonicalize()


@take.on("csr, default -> csr", when=lambda attrs: attrs["axis"] == 0 and attrs["mode"] != "raise")
def _(a: CSRChunk, indices: DefaultChunk, out: CSRChunk, *, mode: str) -> None:
    _take_csr(a, resolved_ids(indices.data, a.shape[0], mode).ravel(), out)


@take.on("csr, default -> default", when=_first_axis)
def _(a: CSRChunk, indices: DefaultChunk, out: DefaultChunk, *, mode: str) -> None:
    ids = resolved_ids(indices.data, a.shape[0], mode).ravel()
    part = CSRChunk((len(ids), a.shape[1]), a.dtype)
    _take_csr(a, ids, part)
    give(out, part.to_dense())


@take.on("csr, default -> csr", axis=0, mode="raise")
def _(a: CSRChunk, indices: DefaultChunk, out: CSRChunk) -> None:
    _take_csr(a, resolved_ids(indices.data, a.shape[0], "raise").ravel(), out)


@take.on("row_sparse, default -> default", when=_first_axis)
def _(a: RowSparseChunk, indices: DefaultChunk, out: DefaultChunk, *, mode: str) -> None:
    ids = resolved_ids(indices.data, a.shape[0], mode).ravel()
    with flat(out, (len(ids), *a.shape[1:])) as rows:
        row_sparse.retain_dense(canonical_rows(a).rows, ids, rows)


def _into_rows(g: Chunk, indices: Chunk, out: RowSparseChunk, mode: str) -> None:
    ids = resolved_ids(dense_of(indices), out.shape[0], mode).ravel()
    rows = np.ascontiguousarray(dense_of(g)).reshape(len(ids), *out.shape[1:])
    sum_rows(ids, rows, out)


def sum_rows(ids: Array, rows: Array, out: RowSparseChunk) -> None:
    """Write rows with ids in any order, those of one id summed.  O(rows)."""
    found, slots = row_ids.unique_ids(ids)
    out_ids, data = out.check_and_alloc(len(found))
    np.copyto(out_ids, found)
    row_sparse.sum_duplicates(rows, slots, data)


def add_rows(ids: Array, rows: Array, out: DefaultChunk, add: bool) -> None:
    """Write (or add to) the dense array with rows added at their ids.  O(size of out + rows)."""
    target = out.data if add else out.check_and_alloc_data(out.shape)
    if not add:
        target[...] = 0
    if math.prod(target.shape) == 0 or not len(ids):
        return
    if target.flags.c_contiguous:
        row_sparse.scatter_add_rows(ids, rows, target)
    else:
        np.add.at(target, ids, rows)


@_backward_take.on("default, default, row_sparse -> row_sparse", when=_first_axis)
def _(g: DefaultChunk, indices: DefaultChunk, a: Chunk, out: RowSparseChunk, *, mode: str) -> None:
    _into_rows(g, indices, out, mode)


@_backward_take.on("default|csr, default, * -> default", when=_first_axis, req=("add",))
def _(g: Chunk, indices: Chunk, a: Chunk, out: DefaultChunk, *, mode: str, ctx: Any) -> None:
    ids = resolved_ids(dense_of(indices), a.shape[0], mode).ravel()
    rows = np.ascontiguousarray(dense_of(g)).reshape(len(ids), *a.shape[1:])
    add_rows(ids, rows, out, ctx.req[0] == "add")


@_backward_take.on("default|csr, default, * -> row_sparse", when=_first_axis)
def _(g: Chunk, indices: Chunk, a: Chunk, out: RowSparseChunk, *, mode: str) -> None:
    _into_rows(g, indices, out, mode)


@_backward_take.on("default, default, * -> default")
def _(g: DefaultChunk, indices: DefaultChunk, a: Chunk, out: DefaultChunk, *, axis: int, mode: str) -> None:
    give(out, _added(g.data, indices.data, a.shape, axis, mode))
