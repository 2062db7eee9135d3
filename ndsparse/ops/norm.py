"""Norms and sums of squares, with gradients that are as sparse as the data."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.kernels import row_sparse
from ndsparse.ops.axes import Axis, axes_of, reduced_shape, shape_rule, spread
from ndsparse.ops.reduce_sparse import at_places, sparse_rows
from ndsparse.ops.registry import operator
from ndsparse.storage import DefaultChunk, RowSparseChunk
from ndsparse.storage.structure import canonical, like

Real = Literal["float16", "float32", "float64"]


@operator("data(*s) -> (*t)")
def norm(
    data: Any,
    *,
    ord: Literal[1, 2] = 2,
    axis: Axis = None,
    keepdims: bool = False,
    out_dtype: Real | None = None,
) -> Any:
    """Return the 2-norm, or the 1-norm, over axes.

    Parameters
    ----------
    data : NDArray
    ord : {1, 2}
    axis : int or tuple of int, optional
        Default: all, which gives shape (1,).
    keepdims : bool
        Keep the axes that are reduced, with length 1.
    out_dtype : str, optional
        Default: that of the data; float32 for integers.
    """
    axes = axes_of("norm", axis, data.ndim)
    dtype = np.float64 if data.dtype.kind != "f" or out_dtype == "float64" else None
    data = data.astype(dtype or data.dtype, copy=False)
    if ord == 1:
        result = np.sum(np.abs(data), axis=axes, keepdims=keepdims)
    else:
        result = np.sqrt(np.sum(np.square(data), axis=axes, keepdims=keepdims))
    return np.reshape(result, reduced_shape(data.shape, axes, keepdims))


norm.shape(shape_rule("norm"))


@norm.dtype
def _(inputs: Any, outputs: Any, *, out_dtype: str | None, **rest: Any) -> Any:
    given = inputs[0]
    if out_dtype is not None:
        return inputs, [np.dtype(out_dtype)]
    if given is None:
        return inputs, outputs
    return inputs, [given if given.kind == "f" else np.dtype(np.float32)]


def _root(target: Any, attrs: Any) -> None:
    if attrs["ord"] == 2:
        np.sqrt(target, out=target)


sparse_rows(norm, lambda attrs: "sumabs" if attrs["ord"] == 1 else "sumsq", _root)


@operator("ograd(*r), data(*s), out(*t) -> (*s)", name="_backward_norm")
def _backward_norm(
    ograd: Any, data: Any, out: Any, *, ord: Literal[1, 2] = 2, axis: Axis = None, keepdims: bool = False
) -> Any:
    """Return the gradient that ``norm`` passes on; 0 where the norm is 0."""
    axes = axes_of("norm", axis, data.ndim)
    ograd, out = (spread(a, data.shape, axes) for a in (ograd, out))
    return _norm_slope(ograd, data, out, ord)


def _norm_slope(ograd: Any, data: Any, out: Any, ord: int) -> Any:
    if ord == 1:
        return ograd * np.sign(data)
    return data * np.divide(ograd, out, out=np.zeros_like(ograd), where=out != 0)


@norm.grad
def _(g: Any, data: Any, *, outputs: Any, ord: int, axis: Axis, keepdims: bool) -> Any:
    return _backward_norm(g, data, outputs, ord=ord, axis=axis, keepdims=keepdims)


@_backward_norm.on(("default, csr, default -> csr", "default, row_sparse, default -> row_sparse"))
def _(ograd: DefaultChunk, data: Any, out: DefaultChunk, result: Any, *, ord: int, axis: Axis) -> None:
    source = canonical(data)
    axes = axes_of("norm", axis, len(source.shape))
    g, length = (at_places(source, spread(a.data, source.shape, axes)) for a in (ograd, out))
    values = _norm_slope(g, source.data, length, ord)
    np.copyto(like(result, source), values, casting="unsafe")


# -- sums of squares -----------------------------------------------------------------------------------


@operator("data(*s) -> (*t)", name="_square_sum")
def square_sum(data: Any, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False) -> Any:
    """Return the sum of the squares over axes; of a row_sparse array, per row it can stay row_sparse."""
    axes = axes_of("_square_sum", axis, data.ndim, exclude)
    result = np.sum(np.square(data), axis=axes, keepdims=keepdims)
    return np.reshape(result, reduced_shape(data.shape, axes, keepdims))


square_sum.shape(shape_rule("_square_sum"))


@square_sum.on(
    "row_sparse -> row_sparse", when=lambda a: a["keepdims"] and a["axis"] in (1, (1,)) and not a["exclude"]
)
def _(data: RowSparseChunk, out: RowSparseChunk) -> None:
    source = canonical(data)
    ids, values = out.check_and_alloc(len(source.indices), source.indices.dtype)
    np.copyto(ids, source.indices)
    np.copyto(values, np.sum(np.square(source.data), axis=1, keepdims=True), casting="unsafe")


sparse_rows(square_sum, "sumsq")


@operator("ograd(*r), data(*s) -> (*s)", name="_backward_square_sum")
def _backward_square_sum(
    ograd: Any, data: Any, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False
) -> Any:
    """Return the gradient that ``_square_sum`` passes on; it is as sparse as the data."""
    axes = axes_of("_square_sum", axis, data.ndim, exclude)
    return 2 * spread(ograd, data.shape, axes) * data


@square_sum.grad
def _(g: Any, data: Any, *, axis: Axis, keepdims: bool, exclude: bool) -> Any:
    return _backward_square_sum(g, data, axis=axis, keepdims=keepdims, exclude=exclude)


@_backward_square_sum.on(("default, csr -> csr", "default, row_sparse -> row_sparse"))
def _(ograd: DefaultChunk, data: Any, out: Any, *, axis: Axis, exclude: bool) -> None:
    source = canonical(data)
    axes = axes_of("_square_sum", axis, len(source.shape), exclude)
    g = at_places(source, spread(ograd.data, source.shape, axes))
    values = 2 * g * source.data
    np.copyto(like(out, source), values, casting="unsafe")


@_backward_square_sum.on(
    "row_sparse, row_sparse -> row_sparse",
    when=lambda a: a["keepdims"] and a["axis"] in (1, (1,)) and not a["exclude"],
)
def _(ograd: RowSparseChunk, data: RowSparseChunk, out: RowSparseChunk) -> None:
    source = canonical(data)
    g = np.empty((len(source.indices), *ograd.shape[1:]), ograd.dtype)
    row_sparse.retain_dense(canonical(ograd).rows, source.indices, g)
    values = 2 * g * source.data
    np.copyto(like(out, source), values, casting="unsafe")
