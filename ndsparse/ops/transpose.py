"""Operators that reorder axes: transpose and SwapAxis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import csr_structure
from ndsparse.ops import shapes
from ndsparse.ops.operands import canonical_rows, give
from ndsparse.ops.registry import operator
from ndsparse.storage import Chunk, CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.structure import canonical


@operator("data(*s) -> (*r)")
def transpose(data: Any, *, axes: tuple[int, ...] = ()) -> Any:
    """Return the array with its axes reversed, or in the order of ``axes``.

    Notes
    -----
    As in MXNet, the transpose of a sparse array is dense.  ``transpose(csr, out=...)`` into a csr
    array transposes in O(nnz + rows + columns).
    """
    return np.transpose(data, axes or None)


def _permutation(axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    if not axes:
        return tuple(range(ndim))[::-1]
    order = tuple(shapes.normalize_axis("transpose", a, ndim) for a in axes)
    if sorted(order) != list(range(ndim)):
        raise ShapeError(f"transpose: axes {axes} are no order of {ndim} dimensions")
    return order


@transpose.shape
def _(inputs: Any, outputs: Any, *, axes: tuple[int, ...]) -> Any:
    (data,), (out,) = inputs, outputs
    known = data if data is not None else out
    if known is None:
        return inputs, outputs
    order = _permutation(axes, len(known))
    back = [order.index(i) for i in range(len(order))]
    found = shapes.merge(None if data is None else tuple(data[i] for i in order), out)
    if found is None:
        raise ShapeError(f"transpose: data of shape {data} does not fit an output of {out}")
    return [tuple(found[i] for i in back)], [found]


@transpose.grad
def _(g: Any, data: Any, *, axes: tuple[int, ...]) -> Any:
    order = [a % len(axes) for a in axes]
    return transpose(g, axes=tuple(order.index(i) for i in range(len(order))))


@operator("data(*s) -> (*r)", aliases=("swapaxes", "SwapAxes"))
def SwapAxis(data: Any, *, dim1: int = 0, dim2: int = 0) -> Any:
    """Return the array with two axes exchanged."""
    return np.swapaxes(data, dim1, dim2)


@SwapAxis.shape
def _(inputs: Any, outputs: Any, *, dim1: int, dim2: int) -> Any:
    (data,), (out,) = inputs, outputs
    found = shapes.merge(_swapped(data, dim1, dim2), out)
    if found is None and data is not None and out is not None:
        raise ShapeError(f"SwapAxis: data of shape {data} does not fit an output of {out}")
    return [_swapped(found, dim1, dim2)], [found]


def _swapped(shape: shapes.MaybeShape, dim1: int, dim2: int) -> shapes.MaybeShape:
    if shape is None:
        return None
    order = list(shape)
    a, b = (shapes.normalize_axis("SwapAxis", d, len(shape)) for d in (dim1, dim2))
    order[a], order[b] = order[b], order[a]
    return tuple(order)


@SwapAxis.grad
def _(g: Any, data: Any, *, dim1: int, dim2: int) -> Any:
    return SwapAxis(g, dim1=dim1, dim2=dim2)


# -- rows -------------------------------------------------------------------------------------------


def _transposed(data: CSRChunk, out: CSRChunk) -> None:
    """Transpose a matrix, whatever the axes say (two-dimensional: same or exchanged)."""
    indptr = out.alloc_indptr(data.indptr.dtype, data.indices.dtype)
    target = (indptr, *out.alloc_elements(data.nnz)[1:])
    csr_structure.transpose(data.csr, data.shape[1], target)
    out.canonicalize()


def _exchanges(axes: tuple[int, ...], ndim: int = 2) -> bool:
    return _permutation(axes, ndim) == (1, 0)


@transpose.on("csr -> default")
def _(data: CSRChunk, out: DefaultChunk, *, axes: tuple[int, ...]) -> None:
    _csr_to_dense(data, out, _exchanges(axes))


@transpose.on("csr -> csr")
def _(data: CSRChunk, out: CSRChunk, *, axes: tuple[int, ...]) -> None:
    if _exchanges(axes):
        _transposed(data, out)
    else:
        out.copy_from(canonical(data))


@transpose.on("row_sparse -> default")
def _(data: RowSparseChunk, out: DefaultChunk, *, axes: tuple[int, ...]) -> None:
    give(out, _scattered(data, out.shape, _permutation(axes, len(data.shape))))


@SwapAxis.on("csr -> default")
def _(data: CSRChunk, out: DefaultChunk, *, dim1: int, dim2: int) -> None:
    _csr_to_dense(data, out, dim1 % 2 != dim2 % 2)


@SwapAxis.on("csr -> csr")
def _(data: CSRChunk, out: CSRChunk, *, dim1: int, dim2: int) -> None:
    if dim1 % 2 != dim2 % 2:
        _transposed(data, out)
    else:
        out.copy_from(canonical(data))


@SwapAxis.on("row_sparse -> default")
def _(data: RowSparseChunk, out: DefaultChunk, *, dim1: int, dim2: int) -> None:
    order = list(range(len(data.shape)))
    order[dim1], order[dim2] = order[dim2], order[dim1]
    give(out, _scattered(data, out.shape, tuple(order)))


def _csr_to_dense(data: CSRChunk, out: DefaultChunk, exchanged: bool) -> None:
    source: Chunk = data
    if exchanged:
        source = CSRChunk(out.shape, data.dtype)
        _transposed(data, source)
    give(out, source.to_dense())


def _scattered(data: RowSparseChunk, shape: tuple[int, ...], order: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return zeros with the stored rows written through a view that has the source's axes."""
    result = np.zeros(shape, data.dtype)
    back = [order.index(i) for i in range(len(order))]
    ids, rows = canonical_rows(data).rows
    result.transpose(back)[ids] = rows
    return result
