"""Joining and splitting arrays: Concat, stack, SliceChannel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import csr_structure
from ndsparse.ops import shapes
from ndsparse.ops.operands import canonical_rows, dense_of, give
from ndsparse.ops.registry import operator
from ndsparse.storage import Chunk, CSRChunk, RowSparseChunk
from ndsparse.storage.chunk import Array, Shape


@operator("data(*s) -> (*r)", name="Concat", aliases=("concat", "_sparse_concat"), variadic=True)
def concat(*data: Any, dim: int = 1) -> Any:
    """Return the arrays joined along ``dim``.

    Parameters
    ----------
    *data : NDArray
        Of equal shape but for ``dim``.  csr arrays joined along 0 give a csr array.
    dim : int
        Default 1, as in MXNet.

    Notes
    -----
    csr: one copy of the stored elements.  With ``out=`` a csr array, csr arrays stay csr along 1 too,
    and row_sparse ones stay row_sparse along 0.
    """
    return np.concatenate(data, axis=dim)


@concat.shape
def _(inputs: Any, outputs: Any, *, dim: int) -> Any:
    given = next((s for s in (*inputs, *outputs) if s is not None), None)
    if given is None:
        return inputs, outputs
    axis = shapes.normalize_axis("concat", dim, len(given))
    common: Any = None
    for shape in (*inputs, *outputs):
        if shape is None:
            continue
        rest = (*shape[:axis], shapes.UNKNOWN, *shape[axis + 1 :])
        merged = shapes.merge(common, rest)
        if merged is None:
            raise ShapeError(f"concat: shapes {list(inputs)} differ on other axes than {dim}")
        common = merged
    filled = [_with(common, axis, shapes.UNKNOWN if s is None else s[axis]) for s in inputs]
    sizes = [s[axis] for s in filled]
    total = outputs[0][axis] if outputs[0] is not None else shapes.UNKNOWN
    if sizes.count(shapes.UNKNOWN) == 1 and total != shapes.UNKNOWN:
        at = sizes.index(shapes.UNKNOWN)
        sizes[at] = total - (sum(sizes) - shapes.UNKNOWN)
        filled[at] = _with(common, axis, sizes[at])
    if shapes.UNKNOWN not in sizes:
        total = sum(sizes)
    return filled, [_with(common, axis, total)]


def _with(shape: Shape, axis: int, size: int) -> Shape:
    return (*shape[:axis], size, *shape[axis + 1 :])


@concat.grad
def _(g: Any, *data: Any, dim: int) -> Any:
    return _backward_Concat(g, *data, dim=dim, pieces=len(data))


@operator("g(*r) -> (*s)", variadic=True, outputs=lambda attrs: attrs["pieces"])
def _backward_Concat(g: Any, *data: Any, pieces: int, dim: int = 1) -> Any:
    """Return the parts of ``g`` that belong to each array of ``data`` (of which the shapes are used)."""
    parts = [g[k].copy() for k in _parts(g.shape, [d.shape for d in data], dim)]
    return parts if pieces > 1 else parts[0]


def _parts(shape: Shape, members: list[Shape], dim: int) -> list[tuple[slice, ...]]:
    axis = dim % len(shape)
    ends = np.cumsum([m[axis] for m in members]).tolist()
    lead = (slice(None),) * axis
    return [(*lead, slice(b, e)) for b, e in zip([0, *ends[:-1]], ends, strict=True)]


@_backward_Concat.shape
def _(inputs: Any, outputs: Any, *, pieces: int, dim: int) -> Any:
    return inputs, list(inputs[1:])


@_backward_Concat.dtype
def _(inputs: Any, outputs: Any, *, pieces: int, dim: int) -> Any:
    return inputs, [inputs[0]] * pieces


@operator("data(*s) -> (*r)", variadic=True)
def stack(*data: Any, axis: int = 0) -> Any:
    """Return the arrays joined along a new axis."""
    return np.stack(data, axis=axis)


@stack.shape
def _(inputs: Any, outputs: Any, *, axis: int) -> Any:
    common: Any = None
    if outputs[0] is not None:
        at = shapes.normalize_axis("stack", axis, len(outputs[0]))
        common = (*outputs[0][:at], *outputs[0][at + 1 :])
    for shape in inputs:
        merged = shapes.merge(common, shape)
        if merged is None and common is not None:
            raise ShapeError(f"stack: the shapes differ: {common} and {shape}")
        common = merged
    if common is None:
        return inputs, outputs
    at = shapes.normalize_axis("stack", axis, len(common) + 1)
    return [common] * len(inputs), [(*common[:at], len(inputs), *common[at:])]


@stack.grad
def _(g: Any, *data: Any, axis: int) -> Any:
    return split(g, num_outputs=len(data), axis=axis, squeeze_axis=True)


@operator(
    "data(*s) -> (*r)",
    name="SliceChannel",
    aliases=("split",),
    outputs=lambda attrs: attrs["num_outputs"],
)
def split(data: Any, *, num_outputs: int, axis: int = 1, squeeze_axis: bool = False) -> Any:
    """Return ``data`` cut into equal parts along ``axis``.

    Parameters
    ----------
    data : NDArray
    num_outputs : int
        Number of parts; it must divide the size of the axis.
    axis : int
        Default 1, as in MXNet.
    squeeze_axis : bool
        Drop the axis, where each part has size 1 there.
    """
    axis = axis % data.ndim
    parts = [np.squeeze(p, axis) if squeeze_axis else p for p in np.split(data, num_outputs, axis)]
    return parts if num_outputs > 1 else parts[0]


@split.shape
def _(inputs: Any, outputs: Any, *, num_outputs: int, axis: int, squeeze_axis: bool) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    at = shapes.normalize_axis("split", axis, len(data))
    size = data[at]
    if size != shapes.UNKNOWN and (size % num_outputs or (squeeze_axis and size != num_outputs)):
        wanted = f"{num_outputs} (squeeze_axis)" if squeeze_axis else f"a multiple of {num_outputs}"
        raise ShapeError(f"split: axis {axis} has size {size}, wanted {wanted} (shape {data})")
    part = () if squeeze_axis else (size if size == shapes.UNKNOWN else size // num_outputs,)
    return inputs, [(*data[:at], *part, *data[at + 1 :])] * num_outputs


@split.dtype
def _(inputs: Any, outputs: Any, *, num_outputs: int, axis: int, squeeze_axis: bool) -> Any:
    dtype = inputs[0] or next((o for o in outputs if o is not None), None)
    return [dtype], [dtype] * num_outputs


@split.grad
def _(g: Any, data: Any, *, num_outputs: int, axis: int, squeeze_axis: bool) -> Any:
    parts = g if num_outputs > 1 else (g,)
    return stack(*parts, axis=axis) if squeeze_axis else concat(*parts, dim=axis)


# -- rows ---------------------------------------------------------------------------------------------


def _join_csr(chunks: tuple[CSRChunk, ...], out: CSRChunk, axis: int) -> None:
    nnz = sum(c.nnz for c in chunks)
    indptr = out.alloc_indptr(*(c.aux(i).dtype for c in chunks for i in (0, 1)), nnz=nnz)
    target = (indptr, *out.alloc_elements(nnz)[1:])
    arrays = [(c.indptr, c.indices, c.data.astype(out.dtype, copy=False)) for c in chunks]
    if axis == 0:
        csr_structure.concat_rows(arrays, target)
    else:
        csr_structure.concat_columns(arrays, [c.shape[1] for c in chunks], target)
    out.canonicalize()


@concat.on("csr... -> csr", when=lambda attrs: attrs["dim"] in (0, -2))
def _(*chunks: Any, dim: int) -> None:
    _join_csr(chunks[:-1], chunks[-1], dim % 2)


@concat.on("csr... -> default")
def _(*chunks: Any, dim: int) -> None:
    joined = CSRChunk(chunks[-1].shape, chunks[-1].dtype)
    _join_csr(chunks[:-1], joined, dim % 2)
    give(chunks[-1], joined.to_dense())


@concat.on("csr... -> csr")
def _(*chunks: Any, dim: int) -> None:
    _join_csr(chunks[:-1], chunks[-1], dim % 2)


@concat.on("default|csr|row_sparse... -> default")
def _(*chunks: Any, dim: int) -> None:
    """Write each array into its part of the result."""
    *data, out = chunks
    target: Array = out.check_and_alloc_data(out.shape)
    for part, chunk in zip(_parts(out.shape, [c.shape for c in data], dim), data, strict=True):
        target[part] = dense_of(chunk)


@concat.on("row_sparse... -> row_sparse", dim=0)
def _(*chunks: Any) -> None:
    *data, out = chunks
    sources: list[RowSparseChunk] = [canonical_rows(c) for c in data]
    starts = np.cumsum([0, *(c.shape[0] for c in sources)])
    ids, rows = out.check_and_alloc(sum(len(c.indices) for c in sources))
    np.concatenate(
        [c.indices + s for c, s in zip(sources, starts, strict=False)], out=ids, casting="same_kind"
    )
    np.concatenate([c.data for c in sources], out=rows, casting="unsafe")


@_backward_Concat.on("default|csr|row_sparse, *... -> default")
def _(g: Chunk, *rest: Any, pieces: int, dim: int) -> None:
    data, outs = rest[:pieces], rest[pieces:]
    arrived = dense_of(g)
    for part, out in zip(_parts(g.shape, [c.shape for c in data], dim), outs, strict=True):
        np.copyto(out.check_and_alloc_data(out.shape), arrived[part])


@stack.on("default|csr|row_sparse... -> default")
def _(*chunks: Any, axis: int) -> None:
    *data, out = chunks
    target = np.moveaxis(out.check_and_alloc_data(out.shape), axis, 0)
    for i, chunk in enumerate(data):
        target[i] = dense_of(chunk)
