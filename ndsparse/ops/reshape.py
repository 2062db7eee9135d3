"""Operators that only rename positions: Reshape, Flatten, expand_dims, squeeze, reshape_like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.ops import shapes
from ndsparse.ops.operands import canonical_rows, give
from ndsparse.ops.registry import Operator, operator
from ndsparse.ops.shape_codes import resolve_reshape
from ndsparse.storage import Chunk, CSRChunk, RowSparseChunk


@operator("data(*s) -> (*r)", name="Reshape", aliases=("reshape",), inplace=True)
def reshape(
    data: Any,
    *,
    shape: tuple[int, ...] = (),
    reverse: bool = False,
    target_shape: tuple[int, ...] = (),
    keep_highest: bool = False,
) -> Any:
    """Return the array in another shape, its elements in the same order.

    Parameters
    ----------
    data : NDArray
    shape : tuple of int
        Sizes and codes: 0 copies a dimension, -1 is inferred, -2 copies all that are left, -3 merges
        two, -4 splits one into the next two numbers.
    reverse : bool
        Read the codes from right to left.
    target_shape, keep_highest
        MXNet's former form: 0 is inferred; ``keep_highest`` keeps the first dimension.
    """
    return data.reshape(_target(data.shape, shape, reverse, target_shape, keep_highest))


def _target(
    source: tuple[int, ...], shape: tuple[int, ...], reverse: bool, former: tuple[int, ...], keep: bool
) -> tuple[int, ...]:
    if not shape and any(former):
        codes = tuple(-1 if n == 0 else n for n in former)
        return resolve_reshape(source, (0, *codes[1:]) if keep else codes)
    return resolve_reshape(source, shape, reverse)


@reshape.shape
def _(
    inputs: Any,
    outputs: Any,
    *,
    shape: tuple[int, ...],
    reverse: bool,
    target_shape: tuple[int, ...],
    keep_highest: bool,
) -> Any:
    (data,), (out,) = inputs, outputs
    if data is not None:
        found = _target(data, shape, reverse, target_shape, keep_highest)
        merged = shapes.merge(found, out)
        if merged is None:
            raise ShapeError(f"Reshape: the result has shape {found} but {out} is wanted")
        out = merged
    return [_completed(data, out)], [_completed(out, data)]


def _completed(shape: shapes.MaybeShape, other: shapes.MaybeShape) -> shapes.MaybeShape:
    """Fill in the one unknown dimension of a shape that has as many elements as ``other``."""
    if shape is None or other is None or shapes.UNKNOWN in other or shape.count(shapes.UNKNOWN) != 1:
        return shape
    rest = math.prod(n for n in shape if n != shapes.UNKNOWN)
    if rest == 0:
        return shape
    return tuple(math.prod(other) // rest if n == shapes.UNKNOWN else n for n in shape)


@operator("data(n, *s) -> (n, w)", name="Flatten", aliases=("flatten",), inplace=True)
def flatten(data: Any) -> Any:
    """Return the array as a matrix: all dimensions but the first become one."""
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))


@flatten.shape
def _(inputs: Any, outputs: Any) -> Any:
    (data,), (out,) = inputs, outputs
    if data is None:
        return inputs, outputs
    if not data:
        raise ShapeError("Flatten: the array must have at least 1 dimension")
    rest = data[1:]
    width = shapes.UNKNOWN if shapes.UNKNOWN in rest else math.prod(rest)
    found = shapes.merge((data[0], width), out)
    if found is None:
        raise ShapeError(f"Flatten: data of shape {data} does not fit an output of {out}")
    return [_completed((found[0], *rest), found)], [found]


@operator("data(*s) -> (*r)", inplace=True)
def expand_dims(data: Any, *, axis: int) -> Any:
    """Return the array with a dimension of size 1 inserted at ``axis``."""
    return np.expand_dims(data, axis)


@expand_dims.shape
def _(inputs: Any, outputs: Any, *, axis: int) -> Any:
    (data,), (out,) = inputs, outputs
    if data is None:
        if out is None:
            return inputs, outputs
        at = shapes.normalize_axis("expand_dims", axis, len(out))
        return [(*out[:at], *out[at + 1 :])], [out]
    at = shapes.normalize_axis("expand_dims", axis, len(data) + 1)
    found = shapes.merge((*data[:at], 1, *data[at:]), out)
    if found is None:
        raise ShapeError(f"expand_dims: data of shape {data} does not fit an output of {out}")
    return [(*found[:at], *found[at + 1 :])], [found]


@operator("data(*s) -> (*r)", inplace=True)
def squeeze(data: Any, *, axis: tuple[int, ...] | None = None) -> Any:
    """Return the array without the dimensions of size 1 (all, or those in ``axis``).

    An array of one element keeps one dimension, as in MXNet.
    """
    return data.reshape(_squeezed(data.shape, axis))


def _squeezed(shape: tuple[int, ...], axis: tuple[int, ...] | None) -> tuple[int, ...]:
    if axis is None:
        gone = {i for i, n in enumerate(shape) if n == 1}
    else:
        gone = {shapes.normalize_axis("squeeze", a, len(shape)) for a in axis}
        for a in gone:
            if shape[a] not in (1, shapes.UNKNOWN):
                raise ShapeError(f"squeeze: axis {a} has size {shape[a]}, wanted 1 (shape {shape})")
    return tuple(n for i, n in enumerate(shape) if i not in gone) or (1,)


@squeeze.shape
def _(inputs: Any, outputs: Any, *, axis: tuple[int, ...] | None) -> Any:
    data = inputs[0]
    if data is None or (axis is None and shapes.UNKNOWN in data):
        return inputs, outputs
    return inputs, [_squeezed(data, axis)]


@operator("lhs(*s), rhs(*r) -> (*q)", dtypes="T, * -> T", inplace=True)
def reshape_like(
    lhs: Any,
    rhs: Any,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Any:
    """Return ``lhs`` in the shape of ``rhs``; bounds say which dimensions are replaced by which."""
    return lhs.reshape(_like(lhs.shape, rhs.shape, lhs_begin, lhs_end, rhs_begin, rhs_end))


def _like(
    lhs: tuple[int, ...], rhs: tuple[int, ...], b0: int | None, e0: int | None, b1: int | None, e1: int | None
) -> tuple[int, ...]:
    begin, end, _ = slice(b0, e0).indices(len(lhs))
    result = (*lhs[:begin], *rhs[slice(b1, e1)], *lhs[end:])
    if shapes.UNKNOWN not in (*lhs, *result) and math.prod(lhs) != math.prod(result):
        raise ShapeError(f"reshape_like: lhs of shape {lhs} cannot take the shape {result}")
    return result


@reshape_like.shape
def _(
    inputs: Any,
    outputs: Any,
    *,
    lhs_begin: int | None,
    lhs_end: int | None,
    rhs_begin: int | None,
    rhs_end: int | None,
) -> Any:
    lhs, rhs = inputs
    if rhs is None:
        return inputs, outputs
    whole = (lhs_begin, lhs_end, rhs_begin, rhs_end) == (None,) * 4
    if lhs is None:
        return inputs, [rhs] if whole else outputs
    return inputs, [_like(lhs, rhs, lhs_begin, lhs_end, rhs_begin, rhs_end)]


def _reshape_back(g: Any, data: Any) -> Any:
    return reshape_like(g, data)


for _op in (reshape, flatten, expand_dims, squeeze):
    _op.grad(_reshape_back)


@reshape_like.grad
def _(g: Any, lhs: Any, rhs: Any) -> Any:
    return reshape_like(g, lhs), None


# -- rows: a dense result is written once, in its final shape; csr stays csr where that is asked for -------


def _to_dense(data: Chunk, out: Chunk) -> None:
    give(out, data.to_dense())


def _like_dense(lhs: Chunk, rhs: Chunk, out: Chunk) -> None:
    give(out, lhs.data.reshape(out.shape).copy() if lhs.stype == "default" else lhs.to_dense())


def _csr_to_csr(data: CSRChunk, out: CSRChunk) -> None:
    if math.prod(data.shape) > np.iinfo(np.int64).max:
        raise ShapeError(f"reshape: a csr array of shape {data.shape} has too many elements to number")
    (rows, columns), values = data.to_coo()  # set_coo sorts what is not sorted
    flat = rows * data.shape[1] + columns
    width = max(out.shape[1], 1)
    out.set_coo((flat // width, flat % width), values)


def _rows_to_rows(data: RowSparseChunk, out: RowSparseChunk) -> None:
    source = canonical_rows(data)
    if out.shape[0] != data.shape[0]:
        coords, values = source.to_coo()
        out.set_coo(np.unravel_index(np.ravel_multi_index(coords, data.shape), out.shape), values)
        return
    ids, rows = out.check_and_alloc(len(source.indices), source.indices.dtype)
    np.copyto(ids, source.indices)
    np.copyto(rows, source.data.reshape(rows.shape))


def _add_rows(op: Operator) -> None:
    op.on("csr|row_sparse -> default")(_to_dense)
    op.on("csr -> csr")(_csr_to_csr)
    op.on("row_sparse -> row_sparse")(_rows_to_rows)


for _op in (reshape, flatten, expand_dims, squeeze):
    _add_rows(_op)
reshape_like.on("default|csr|row_sparse, * -> default")(_like_dense)
