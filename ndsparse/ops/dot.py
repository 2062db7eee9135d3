"""``dot``: the product of matrices and vectors, in every storage type."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import border, csr_csr, csr_dot, dense_csr
from ndsparse.ops import products
from ndsparse.ops.products import Matrix
from ndsparse.ops.registry import ADD, OpContext, operator
from ndsparse.storage import Chunk, CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.chunk import Shape

Stype = Literal["default", "csr", "row_sparse"]

_DIRECT = "default|csr|row_sparse"


@operator("lhs(*m, k), rhs(k, *n) -> (*m, *n)", hint="forward_stype", aliases=("_sparse_dot",), into=True)
def dot(
    lhs: Any,
    rhs: Any,
    out: Any = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Stype | None = None,
) -> Any:
    """Return the product of two arrays: the sum over the last axis of ``lhs`` and the first of ``rhs``.

    Parameters
    ----------
    lhs, rhs : NDArray
        Vectors, matrices, or arrays of more dimensions (dense only).
    transpose_a, transpose_b : bool
        Use a matrix transposed.  Of an array of more dimensions the first axis of ``lhs`` is moved
        to the end, the last of ``rhs`` to the front; vectors stay as they are.
    forward_stype : str, optional
        The storage type wanted for the result.

    Notes
    -----
    ======================  ==================  ==================================
    lhs, rhs                result              cost
    ======================  ==================  ==================================
    csr, dense              default             O(nnz n)
    csr.T, dense            row_sparse          O(nnz n), the rows with elements
    csr.T, dense            default, if asked   O((nnz + k) n)
    dense, csr              csr                 O(m (k + nnz))
    dense, csr              default, if asked   O(m (k + nnz + n))
    csr, csr                default             O(products + m n)
    csr, csr                csr, if asked       O(products)
    ======================  ==================  ==================================

    A row_sparse operand costs what its stored rows cost.
    """
    a = np.moveaxis(lhs, 0, -1) if transpose_a and lhs.ndim > 1 else lhs
    b = np.moveaxis(rhs, -1, 0) if transpose_b and rhs.ndim > 1 else rhs
    if a.ndim == b.ndim == 2:
        return np.matmul(a, b, out=out)
    result = np.tensordot(a, b, axes=(-1, 0))
    result = result.reshape(1) if result.ndim == 0 else result
    if out is not None:
        np.copyto(out, result)
    return result


@dot.shape
def _(inputs: Any, outputs: Any, *, transpose_a: bool, transpose_b: bool, forward_stype: str | None) -> Any:
    lhs, rhs = inputs
    if lhs == () or rhs == ():
        raise ShapeError(f"dot: the operands must have at least 1 dimension, got {lhs} and {rhs}")
    out = outputs[0]
    if lhs is None or rhs is None:
        return _from_output(lhs, rhs, out, transpose_a, transpose_b), outputs
    a = (*lhs[1:], lhs[0]) if transpose_a and len(lhs) > 1 else lhs
    b = (rhs[-1], *rhs[:-1]) if transpose_b and len(rhs) > 1 else rhs
    if a[-1] != b[0] and -1 not in (a[-1], b[0]):
        raise ShapeError(f"dot: dimension 'k' is {a[-1]} in lhs but rhs has {b[0]} (shapes {lhs}, {rhs})")
    k = max(a[-1], b[0])
    if a[-1] == -1:
        lhs = (k, *lhs[1:]) if transpose_a and len(lhs) > 1 else (*lhs[:-1], k)
    if b[0] == -1:
        rhs = (*rhs[:-1], k) if transpose_b and len(rhs) > 1 else (k, *rhs[1:])
    return [lhs, rhs], [(*a[:-1], *b[1:]) or (1,)]


def _from_output(lhs: Any, rhs: Any, out: Any, transpose_a: bool, transpose_b: bool) -> Any:
    """Infer one matrix from the other and the output, where all are matrices."""
    if out is None or len(out) != 2:
        return [lhs, rhs]
    if lhs is not None and len(lhs) == 2:
        k = lhs[0] if transpose_a else lhs[1]
        return [lhs, (out[1], k) if transpose_b else (k, out[1])]
    if rhs is not None and len(rhs) == 2:
        k = rhs[1] if transpose_b else rhs[0]
        return [(k, out[0]) if transpose_a else (out[0], k), rhs]
    return [lhs, rhs]


@dot.grad
def _(g: Any, lhs: Any, rhs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return _backward_dot_lhs(g, rhs, lhs, **flags), _backward_dot_rhs(g, lhs, rhs, **flags)


@operator("g(*g), rhs(*r), lhs(*s) -> (*s)")
def _backward_dot_lhs(
    g: Any, rhs: Any, lhs: Any, *, transpose_a: bool = False, transpose_b: bool = False
) -> Any:
    """Return the gradient of ``dot`` with respect to ``lhs``, whose values are not read."""
    b = rhs.reshape(_right_dims(rhs.shape, transpose_b))
    b = b.T if _turned(rhs.shape, transpose_b) else b
    grad = g.reshape(_result_dims(lhs.shape, rhs.shape, transpose_a, transpose_b)) @ b.T
    return (grad.T if _turned(lhs.shape, transpose_a) else grad).reshape(lhs.shape)


@operator("g(*g), lhs(*s), rhs(*r) -> (*r)")
def _backward_dot_rhs(
    g: Any, lhs: Any, rhs: Any, *, transpose_a: bool = False, transpose_b: bool = False
) -> Any:
    """Return the gradient of ``dot`` with respect to ``rhs``, whose values are not read."""
    a = lhs.reshape(_left_dims(lhs.shape, transpose_a))
    a = a.T if _turned(lhs.shape, transpose_a) else a
    grad = a.T @ g.reshape(_result_dims(lhs.shape, rhs.shape, transpose_a, transpose_b))
    return (grad.T if _turned(rhs.shape, transpose_b) else grad).reshape(rhs.shape)


# -- operands as matrices -----------------------------------------------------------------------------


def _turned(shape: Shape, transpose: bool) -> bool:
    return transpose and len(shape) > 1


def _left_dims(shape: Shape, transpose: bool) -> tuple[int, int]:
    """Return ``lhs`` as (free, summed), or (summed, free) if it is transposed."""
    if _turned(shape, transpose):
        return shape[0], math.prod(shape[1:])
    return math.prod(shape[:-1]), shape[-1]


def _right_dims(shape: Shape, transpose: bool) -> tuple[int, int]:
    """Return ``rhs`` as (summed, free), or (free, summed) if it is transposed."""
    if _turned(shape, transpose):
        return math.prod(shape[:-1]), shape[-1]
    return shape[0], math.prod(shape[1:])


def _result_dims(lhs: Shape, rhs: Shape, transpose_a: bool, transpose_b: bool) -> tuple[int, int]:
    """Return the dimensions of the result as a matrix."""
    m, n = _left_dims(lhs, transpose_a), _right_dims(rhs, transpose_b)
    return m[_turned(lhs, transpose_a)], n[not _turned(rhs, transpose_b)]


def _left(chunk: Chunk, transpose: bool) -> Matrix:
    return _operand(chunk, _left_dims(chunk.shape, transpose), _turned(chunk.shape, transpose))


def _right(chunk: Chunk, transpose: bool) -> Matrix:
    return _operand(chunk, _right_dims(chunk.shape, transpose), _turned(chunk.shape, transpose))


def _operand(chunk: Chunk, dims: tuple[int, int], turned: bool) -> Matrix:
    if chunk.stype != "default" and dims[0] != chunk.shape[0]:  # rows that are not the stored rows
        chunk = DefaultChunk.of(chunk.to_dense())
    return products.matrix(chunk, dims, turned)


def _into(lhs: Matrix, rhs: Matrix, out: Chunk, add: bool) -> None:
    """Multiply into a dense chunk of any number of dimensions."""
    target = out.data if add else out.check_and_alloc_data(out.shape)
    dims = (lhs.rows, rhs.columns)
    if target.flags.c_contiguous:
        products.into(lhs, rhs, target.reshape(dims), add)
        return
    part = products.product(lhs, rhs, target.dtype).reshape(target.shape)
    np.copyto(target, target + part if add else part)


def _into_rows(lhs: CSRChunk, rhs: Chunk, dims: tuple[int, int], out: RowSparseChunk) -> None:
    """Write ``lhs.T @ rhs``, ``rhs`` seen as a matrix: the rows of the result that have elements."""
    csr = lhs.csr
    if rhs.stype == "default":
        rows = rhs.data.reshape(dims)
    else:
        operand = _operand(rhs, dims, False)
        rows = operand.content
        if operand.stype == "row_sparse":
            ids, rows = rows
            csr = csr_dot.csr_t_row_sparse_select(csr, ids)
    columns, slots = csr_dot.touched_columns(csr[1], lhs.shape[1])
    row_ids, data = out.check_and_alloc(len(columns), border.index_dtype(lhs.shape[1], csr[1].dtype))
    row_ids[:] = columns
    csr_dot.csr_t_dense_rows(csr, slots, rows, data.reshape(len(columns), dims[1]))


# -- rows: the first of those that match gives the storage type where no other is asked for ----------------


def _to_dense(
    lhs: Chunk, rhs: Chunk, out: DefaultChunk, *, transpose_a: bool, transpose_b: bool, ctx: OpContext
) -> None:
    _into(_left(lhs, transpose_a), _right(rhs, transpose_b), out, ctx.req[0] == ADD)


@dot.on("csr, default -> default", transpose_a=False, transpose_b=False, req=("add",))
def _(lhs: CSRChunk, rhs: DefaultChunk, out: DefaultChunk, *, ctx: OpContext) -> None:
    add, values = ctx.req[0] == ADD, rhs.data
    if values.ndim <= 2:
        target = out.data if add else out.check_and_alloc_data(out.shape)
        csr_dot.csr_dense(lhs.csr, values, target, accumulate=add)
    else:
        _into(_left(lhs, False), _right(rhs, False), out, add)


dot.on("csr, default|row_sparse -> default", transpose_a=False, req=("add",))(_to_dense)
dot.on("csr, default|row_sparse -> default", transpose_b=True, req=("add",))(_to_dense)


@dot.on("csr, default|row_sparse -> row_sparse", transpose_a=True, transpose_b=False)
def _(lhs: CSRChunk, rhs: Chunk, out: RowSparseChunk) -> None:
    _into_rows(lhs, rhs, _right_dims(rhs.shape, False), out)


dot.on("csr, default|row_sparse -> default", req=("add",))(_to_dense)
dot.on("csr, csr -> default", req=("add",))(_to_dense)


@dot.on("csr, csr -> csr")
def _(lhs: CSRChunk, rhs: CSRChunk, out: CSRChunk, *, transpose_a: bool, transpose_b: bool) -> None:
    a = products.plain(products.matrix(lhs, transposed=transpose_a))
    b = products.plain(products.matrix(rhs, transposed=transpose_b))
    indptr = out.alloc_indptr(*(array.dtype for array in (*a[:2], *b[:2])), nnz=math.prod(out.shape))
    nnz = csr_csr.csr_csr_count(a, b, out.shape[1], indptr)
    csr_csr.csr_csr_fill(a, b, out.shape[1], out.alloc_elements(nnz))


def _dense_csr(
    lhs: DefaultChunk, rhs: CSRChunk, out: CSRChunk, *, transpose_a: bool, transpose_b: bool
) -> None:
    a = _left(lhs, transpose_a).array()
    b = products.plain(products.matrix(rhs, transposed=transpose_b))
    columns, slots = csr_dot.touched_columns(b[1], out.shape[1])
    nnz = out.shape[0] * len(columns)
    out.alloc_indptr(b[0].dtype, b[1].dtype, nnz=nnz)
    dense_csr.dense_csr_sparse(a, b, columns, slots, out.alloc_elements(nnz))


dot.on("default, csr -> csr", transpose_a=False)(_dense_csr)
dot.on("default, csr -> default", req=("add",))(_to_dense)
dot.on("default, csr -> csr", transpose_a=True)(_dense_csr)
dot.on("default, row_sparse -> default", req=("add",))(_to_dense)
dot.on(f"row_sparse, {_DIRECT} -> default", req=("add",))(_to_dense)


@dot.on("row_sparse, default -> row_sparse", transpose_a=False)
def _(lhs: RowSparseChunk, rhs: DefaultChunk, out: RowSparseChunk, *, transpose_b: bool) -> None:
    left, right = _left(lhs, False), _right(rhs, transpose_b)
    if left.stype == "default":
        out.set_dense(products.product(left, right, out.dtype).reshape(out.shape))
        return
    ids, rows = left.content
    row_ids, data = out.check_and_alloc(len(ids), ids.dtype)
    np.copyto(row_ids, ids)
    stored = Matrix("default", rows, rows.shape, False)
    products.into(stored, right, data.reshape(len(ids), right.columns))


# -- rows of the gradients --------------------------------------------------------------------------------


@_backward_dot_lhs.on(f"{_DIRECT}, {_DIRECT}, * -> default", req=("add",))
def _(
    g: Chunk,
    rhs: Chunk,
    lhs: Chunk,
    out: DefaultChunk,
    *,
    transpose_a: bool,
    transpose_b: bool,
    ctx: OpContext,
) -> None:
    right = _right(rhs, transpose_b)
    head = _operand(g, _result_dims(lhs.shape, rhs.shape, transpose_a, transpose_b), False)
    if _turned(lhs.shape, transpose_a):
        _into(right, head.T, out, ctx.req[0] == ADD)
    else:
        _into(head, right.T, out, ctx.req[0] == ADD)


@_backward_dot_rhs.on("default|row_sparse, csr, * -> row_sparse", transpose_a=False, transpose_b=False)
def _(g: Chunk, lhs: CSRChunk, rhs: Chunk, out: RowSparseChunk) -> None:
    _into_rows(lhs, g, _result_dims(lhs.shape, rhs.shape, False, False), out)


@_backward_dot_rhs.on(f"{_DIRECT}, {_DIRECT}, * -> default", req=("add",))
def _(
    g: Chunk,
    lhs: Chunk,
    rhs: Chunk,
    out: DefaultChunk,
    *,
    transpose_a: bool,
    transpose_b: bool,
    ctx: OpContext,
) -> None:
    left = _left(lhs, transpose_a)
    head = _operand(g, _result_dims(lhs.shape, rhs.shape, transpose_a, transpose_b), False)
    if _turned(rhs.shape, transpose_b):
        _into(head.T, left, out, ctx.req[0] == ADD)
    else:
        _into(left.T, head, out, ctx.req[0] == ADD)


@operator("lhs(*b, m, k), rhs(*b, k, n) -> (*b, m, n)")
def batch_dot(
    lhs: Any,
    rhs: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Stype | None = None,
) -> Any:
    """Return the products of the matrices in the last two axes, one for each index before them."""
    a = np.swapaxes(lhs, -1, -2) if transpose_a else lhs
    b = np.swapaxes(rhs, -1, -2) if transpose_b else rhs
    return np.matmul(a, b)


@batch_dot.shape
def _(inputs: Any, outputs: Any, *, transpose_a: bool, transpose_b: bool, forward_stype: str | None) -> Any:
    lhs, rhs = inputs
    if lhs is None or rhs is None:
        return inputs, outputs
    if len(lhs) < 3 or len(lhs) != len(rhs) or lhs[:-2] != rhs[:-2]:
        raise ShapeError(f"batch_dot: expected two stacks of as many matrices, got {lhs} and {rhs}")
    m, k = lhs[-2:][::-1] if transpose_a else lhs[-2:]
    j, n = rhs[-2:][::-1] if transpose_b else rhs[-2:]
    if k != j and -1 not in (k, j):
        raise ShapeError(f"batch_dot: dimension 'k' is {k} in lhs but rhs has {j} (shapes {lhs}, {rhs})")
    return inputs, [(*lhs[:-2], m, n)]


@batch_dot.grad
def _(g: Any, lhs: Any, rhs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    if transpose_a:
        grad_lhs = batch_dot(rhs, g, transpose_a=transpose_b, transpose_b=True)
    else:
        grad_lhs = batch_dot(g, rhs, transpose_b=not transpose_b)
    if transpose_b:
        grad_rhs = batch_dot(g, lhs, transpose_a=True, transpose_b=transpose_a)
    else:
        grad_rhs = batch_dot(lhs, g, transpose_a=not transpose_a)
    return grad_lhs, grad_rhs
