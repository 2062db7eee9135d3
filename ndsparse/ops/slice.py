"""Operators that cut out a block: slice, slice_axis, slice_like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.kernels import csr_structure
from ndsparse.ops import shapes
from ndsparse.ops.operands import canonical_rows, dense_of, give
from ndsparse.ops.registry import Attrs, operator
from ndsparse.storage import Chunk, CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.chunk import Array, Shape

Bounds = tuple[int | None, ...]
Slices = tuple[slice, ...]


@operator("data(*s) -> (*r)", name="slice", aliases=("crop", "_sparse_slice"))
def slice_block(data: Any, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Any:
    """Return the block ``data[begin[0]:end[0]:step[0], ...]``.

    Parameters
    ----------
    data : NDArray
        A csr array gives a csr array where no ``step`` is given.
    begin, end, step : tuple
        One entry for each of the first dimensions; None and negative numbers as in Python.

    Notes
    -----
    csr: O(rows + stored elements of the rows).
    """
    return data[_slices("slice", data.shape, begin, end, step)]


def _slices(op: str, shape: Shape, begin: Bounds, end: Bounds, step: Bounds = ()) -> Slices:
    """Return the slices of all dimensions, as non-negative numbers where the step is positive."""
    if len(begin) != len(end) or len(begin) > len(shape) or len(step) not in (0, len(begin)):
        raise ShapeError(f"{op}: begin {begin}, end {end} and step {step} do not fit the shape {shape}")
    if 0 in step:
        raise ArgumentError(f"{op}: step must not be 0, got {step}")
    strides = step or (None,) * len(begin)
    result = [
        _bounded(slice(b, e, s), n)
        for b, e, s, n in zip(begin, end, strides, shape[: len(begin)], strict=True)
    ]
    return (*result, *(slice(0, n, 1) for n in shape[len(begin) :]))


def _bounded(key: slice, n: int) -> slice:
    b, e, s = key.indices(n)
    return slice(b, None if e < 0 else e, s)


def _length(key: slice, n: int) -> int:
    return shapes.UNKNOWN if n == shapes.UNKNOWN else len(range(*key.indices(n)))


def _block_shape(shape: Shape, slices: Slices) -> Shape:
    return tuple(_length(k, n) for k, n in zip(slices, shape, strict=True))


@slice_block.shape
def _(inputs: Any, outputs: Any, *, begin: Bounds, end: Bounds, step: Bounds) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    sizes = tuple(0 if n == shapes.UNKNOWN else n for n in data)
    slices = _slices("slice", sizes, begin, end, step)
    untouched = [b in (None, 0) and e is None for b, e in zip(begin, end, strict=True)]
    untouched += [True] * (len(data) - len(begin))
    out = _block_shape(data, slices)
    return inputs, [
        tuple(n if same and not step else m for n, m, same in zip(data, out, untouched, strict=True))
    ]


@slice_block.grad
def _(g: Any, data: Any, *, begin: Bounds, end: Bounds, step: Bounds) -> Any:
    return _backward_slice(g, data, begin=begin, end=end, step=step)


@operator("g(*r), data(*s) -> (*s)")
def _backward_slice(g: Any, data: Any, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Any:
    """Return zeros of the shape of ``data`` with ``g`` in the block."""
    result = np.zeros(data.shape, g.dtype)
    result[_slices("slice", data.shape, begin, end, step)] = g
    return result


@operator("data(*s) -> (*r)")
def slice_axis(data: Any, *, axis: int, begin: int, end: int | None) -> Any:
    """Return the part ``begin:end`` of one axis."""
    return data[_axis_slices(data.shape, axis, begin, end)]


def _axis_slices(shape: Shape, axis: int, begin: int, end: int | None) -> Slices:
    axis = shapes.normalize_axis("slice_axis", axis, len(shape))
    lead = (None,) * axis
    return _slices("slice_axis", shape, (*lead, begin), (*lead, end))


@slice_axis.shape
def _(inputs: Any, outputs: Any, *, axis: int, begin: int, end: int | None) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    at = shapes.normalize_axis("slice_axis", axis, len(data))
    return inputs, [(*data[:at], _length(slice(begin, end), data[at]), *data[at + 1 :])]


@slice_axis.grad
def _(g: Any, data: Any, *, axis: int, begin: int, end: int | None) -> Any:
    return _backward_slice_axis(g, data, axis=axis, begin=begin, end=end)


@operator("g(*r), data(*s) -> (*s)")
def _backward_slice_axis(g: Any, data: Any, *, axis: int, begin: int, end: int | None) -> Any:
    """Return zeros of the shape of ``data`` with ``g`` in its part of the axis."""
    result = np.zeros(data.shape, g.dtype)
    result[_axis_slices(data.shape, axis, begin, end)] = g
    return result


@operator("data(*s), shape_like(*t) -> (*r)", dtypes="T, * -> T")
def slice_like(data: Any, shape_like: Any, *, axes: tuple[int, ...] = ()) -> Any:
    """Return the first part of ``data`` that is as large as ``shape_like`` (on all axes, or on ``axes``)."""
    return data[_like_slices(data.shape, shape_like.shape, axes)]


def _like_slices(shape: Shape, like: Shape, axes: tuple[int, ...]) -> Slices:
    chosen = {shapes.normalize_axis("slice_like", a, len(shape)) for a in axes or range(len(shape))}
    if max(chosen, default=-1) >= len(like) or (not axes and len(like) != len(shape)):
        raise ShapeError(f"slice_like: an array of shape {shape} cannot be cut like one of {like}")
    for a in chosen:
        if like[a] > shape[a] != shapes.UNKNOWN:
            raise ShapeError(f"slice_like: axis {a} has size {shape[a]}, shape_like {like[a]}")
    return tuple(slice(0, like[a] if a in chosen else n, 1) for a, n in enumerate(shape))


@slice_like.shape
def _(inputs: Any, outputs: Any, *, axes: tuple[int, ...]) -> Any:
    data, like = inputs
    if data is None or like is None:
        return inputs, outputs
    slices = _like_slices(data, like, axes)
    return inputs, [tuple(n if k.stop == n else k.stop for k, n in zip(slices, data, strict=True))]


@slice_like.grad
def _(g: Any, data: Any, shape_like: Any) -> Any:
    return _backward_slice_like(g, data), None


@operator("g(*r), data(*s) -> (*s)")
def _backward_slice_like(g: Any, data: Any) -> Any:
    """Return zeros of the shape of ``data`` with ``g`` in the first corner."""
    result = np.zeros(data.shape, g.dtype)
    result[tuple(slice(0, n) for n in g.shape)] = g
    return result


# -- rows ---------------------------------------------------------------------------------------------


def _cut_csr(data: CSRChunk, slices: Slices, out: CSRChunk) -> None:
    """Write a block of a csr array (steps 1)."""
    rows, columns = ((k.start, max(k.start, k.stop)) for k in slices)
    indptr = out.alloc_indptr(data.indptr.dtype, data.indices.dtype)
    if columns == (0, data.shape[1]):
        nnz = int(data.indptr[rows[1]]) - int(data.indptr[rows[0]])
        csr_structure.slice_rows(data.csr, *rows, out.alloc_elements(nnz))
    else:
        nnz = csr_structure.slice_count(data.csr, rows, columns, indptr)
        csr_structure.slice_fill(data.csr, rows, columns, out.alloc_elements(nnz))
    out.canonicalize()  # the block, so that the cost is not that of the array


def _cut_to_dense(data: CSRChunk, slices: Slices, out: DefaultChunk) -> None:
    part = CSRChunk(out.shape, data.dtype)
    _cut_csr(data, slices, part)
    give(out, part.to_dense())


def _cut_rows(data: RowSparseChunk, slices: Slices, out: DefaultChunk) -> None:
    """Write a block of a row_sparse array, with any steps."""
    ids, rows = canonical_rows(data).rows
    first, *rest = slices
    step = first.step or 1
    offset = ids.astype(np.int64) - first.start
    place = offset // step
    found = (offset % step == 0) & (place >= 0) & (place < out.shape[0])
    result = np.zeros(out.shape, data.dtype)
    result[place[found]] = rows[found][(slice(None), *rest)]
    give(out, result)


def _unit(attrs: Attrs) -> bool:
    return all(s in (None, 1) for s in attrs["step"])


@slice_block.on("csr -> csr", when=lambda attrs: not attrs["step"])
def _(data: CSRChunk, out: CSRChunk, *, begin: Bounds, end: Bounds) -> None:
    _cut_csr(data, _slices("slice", data.shape, begin, end), out)


@slice_block.on("csr -> default", when=_unit)
def _(data: CSRChunk, out: DefaultChunk, *, begin: Bounds, end: Bounds) -> None:
    _cut_to_dense(data, _slices("slice", data.shape, begin, end), out)


@slice_block.on("row_sparse -> default")
def _(data: RowSparseChunk, out: DefaultChunk, *, begin: Bounds, end: Bounds, step: Bounds) -> None:
    _cut_rows(data, _slices("slice", data.shape, begin, end, step), out)


@slice_axis.on("csr -> default")
def _(data: CSRChunk, out: DefaultChunk, *, axis: int, begin: int, end: int | None) -> None:
    _cut_to_dense(data, _axis_slices(data.shape, axis, begin, end), out)


@slice_axis.on("csr -> csr")
def _(data: CSRChunk, out: CSRChunk, *, axis: int, begin: int, end: int | None) -> None:
    _cut_csr(data, _axis_slices(data.shape, axis, begin, end), out)


@slice_axis.on("row_sparse -> default")
def _(data: RowSparseChunk, out: DefaultChunk, *, axis: int, begin: int, end: int | None) -> None:
    _cut_rows(data, _axis_slices(data.shape, axis, begin, end), out)


@slice_like.on("default, * -> default")
def _(data: DefaultChunk, shape_like: Chunk, out: DefaultChunk, *, axes: tuple[int, ...]) -> None:
    give(out, data.data[_like_slices(data.shape, shape_like.shape, axes)].copy())


@slice_like.on("csr, * -> default")
def _(data: CSRChunk, shape_like: Chunk, out: DefaultChunk, *, axes: tuple[int, ...]) -> None:
    _cut_to_dense(data, _like_slices(data.shape, shape_like.shape, axes), out)


@slice_like.on("row_sparse, * -> default")
def _(data: RowSparseChunk, shape_like: Chunk, out: DefaultChunk, *, axes: tuple[int, ...]) -> None:
    _cut_rows(data, _like_slices(data.shape, shape_like.shape, axes), out)


_ANY = "default|csr|row_sparse, * -> default"


@_backward_slice.on(_ANY)
def _(g: Chunk, data: Chunk, out: DefaultChunk, *, begin: Bounds, end: Bounds, step: Bounds) -> None:
    _put_back(g, _slices("slice", data.shape, begin, end, step), out)


@_backward_slice_axis.on(_ANY)
def _(g: Chunk, data: Chunk, out: DefaultChunk, *, axis: int, begin: int, end: int | None) -> None:
    _put_back(g, _axis_slices(data.shape, axis, begin, end), out)


@_backward_slice_like.on(_ANY)
def _(g: Chunk, data: Chunk, out: DefaultChunk) -> None:
    _put_back(g, tuple(slice(0, n) for n in g.shape), out)


def _put_back(g: Chunk, slices: Slices, out: DefaultChunk) -> None:
    target: Array = out.check_and_alloc_data(out.shape)
    target[...] = 0
    target[slices] = dense_of(g)
