"""``dot``: the product of matrices and vectors, in every storage type."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import csr_csr, csr_dot, csr_structure, dense_csr
from ndsparse.ops.registry import ADD, OpContext, operator
from ndsparse.storage import CSRChunk, DefaultChunk, RowSparseChunk

Stype = Literal["default", "csr", "row_sparse"]


@operator("lhs(*m, k), rhs(k, *n) -> (*m, *n)", hint="forward_stype", aliases=("_sparse_dot",))
def dot(
    lhs: Any,
    rhs: Any,
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
        Use the operand with its axes reversed (MXNet: with its first, respectively last, axis
        moved to the other end).
    forward_stype : str, optional
        The storage type wanted for the result.

    Notes
    -----
    ``csr`` times dense costs O(nnz n).  ``csr`` transposed times dense gives a row_sparse array
    with the rows that ``csr`` has columns for, unless ``forward_stype`` says "default".
    """
    lhs = np.moveaxis(lhs, 0, -1) if transpose_a and lhs.ndim > 1 else lhs
    rhs = np.moveaxis(rhs, -1, 0) if transpose_b and rhs.ndim > 1 else rhs
    result = np.tensordot(lhs, rhs, axes=(-1, 0))
    return result.reshape(1) if result.ndim == 0 else result


@dot.shape
def _(inputs: Any, outputs: Any, *, transpose_a: bool, transpose_b: bool, forward_stype: str | None) -> Any:
    lhs, rhs = inputs
    if lhs is None or rhs is None:
        return inputs, outputs
    a = (*lhs[1:], lhs[0]) if transpose_a and len(lhs) > 1 else lhs
    b = (rhs[-1], *rhs[:-1]) if transpose_b and len(rhs) > 1 else rhs
    if not a or not b:
        raise ShapeError(f"dot: the operands must have at least 1 dimension, got {lhs} and {rhs}")
    if a[-1] != b[0] and -1 not in (a[-1], b[0]):
        raise ShapeError(f"dot: dimension 'k' is {a[-1]} in lhs but rhs has {b[0]} (shapes {lhs}, {rhs})")
    return inputs, [(*a[:-1], *b[1:]) or (1,)]


@dot.grad
def _(g: Any, lhs: Any, rhs: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    if transpose_a:
        grad_lhs = dot(rhs, g, transpose_a=transpose_b, transpose_b=True)
    else:
        grad_lhs = dot(g, rhs, transpose_b=not transpose_b)
    if transpose_b:
        grad_rhs = dot(g, lhs, transpose_a=True, transpose_b=transpose_a)
    else:
        grad_rhs = dot(lhs, g, transpose_a=not transpose_a)
    return grad_lhs, grad_rhs


# -- csr on the left --------------------------------------------------------------------------------


@dot.on("csr, default -> default", transpose_a=False, transpose_b=False, req=("add",))
def _(lhs: CSRChunk, rhs: DefaultChunk, out: DefaultChunk, *, ctx: OpContext) -> None:
    add = ctx.req[0] == ADD
    target = out.data if add else out.check_and_alloc_data(out.shape)
    csr_dot.csr_dense(lhs.csr, rhs.data, target, accumulate=add)


@dot.on("csr, default -> row_sparse", transpose_a=True, transpose_b=False)
def _(lhs: CSRChunk, rhs: DefaultChunk, out: RowSparseChunk) -> None:
    ids, slots = csr_dot.touched_columns(lhs.indices, lhs.shape[1])
    row_ids, data = out.check_and_alloc(len(ids))
    np.copyto(row_ids, ids)
    csr_dot.csr_t_dense_rows(lhs.csr, slots, rhs.data, data)


@dot.on("csr, default -> default", transpose_a=True, transpose_b=False, req=("add",))
def _(lhs: CSRChunk, rhs: DefaultChunk, out: DefaultChunk, *, ctx: OpContext) -> None:
    add = ctx.req[0] == ADD
    target = out.data if add else out.check_and_alloc_data(out.shape)
    csr_dot.csr_t_dense(lhs.csr, rhs.data, target, accumulate=add)
