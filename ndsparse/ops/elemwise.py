"""Elementwise operators of two arrays of one shape: sums, products, quotients, comparisons.

====================  ==============================================================================
sum, difference       row_sparse with row_sparse and csr with csr keep their type (union of what is
                      stored); with a dense operand the result is dense, no copy of the sparse one
product               any sparse operand makes the result sparse (intersection)
quotient              dense: 0 / 0 is not 0
``_scatter_*_div``    only at the stored rows of the left operand
max, min, hypot       of two arrays of one sparse type keep it (union)
comparisons, ...      dense
====================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.kernels import csr_elementwise, row_ids, row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.ops.binary_gradient import binary_gradient
from ndsparse.ops.elementwise import evaluate
from ndsparse.ops.functions import divide, mod, power
from ndsparse.ops.registry import Operator, get, operator
from ndsparse.storage import CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.structure import canonical, gather, like

Function = Callable[..., Any]

SIGNATURE = "lhs(*s), rhs(*s) -> (*s)"


def _binary(name: str, function: Function, doc: str, aliases: tuple[str, ...] = ()) -> Operator:
    """Register the dense meaning of an operator."""

    def body(lhs: Any, rhs: Any, out: Any = None) -> Any:
        return evaluate(function, (lhs, rhs), out)

    body.__doc__ = f"Return {doc}, elementwise, of two arrays of one shape."
    return operator(SIGNATURE, name=name, aliases=aliases, into=True, inplace=True)(body)


add = _binary("elemwise_add", np.add, "lhs + rhs", ("_add", "_plus", "_Plus", "_sparse_elemwise_add"))
sub = _binary("elemwise_sub", np.subtract, "lhs - rhs", ("_sub", "_minus", "_Minus"))
mul = _binary("elemwise_mul", np.multiply, "lhs * rhs", ("_mul", "_Mul"))
div = _binary("elemwise_div", divide, "lhs / rhs", ("_div", "_Div"))
grad_add = _binary("_grad_add", np.add, "lhs + rhs, two gradients of one array")

add.grad(lambda g, lhs, rhs: (g, g))
grad_add.grad(lambda g, lhs, rhs: (g, g))
sub.grad(lambda g, lhs, rhs: (g, get("negative")(g)))
mul.grad(lambda g, lhs, rhs: (mul(g, rhs), mul(g, lhs)))


@div.grad
def _(g: Any, lhs: Any, rhs: Any) -> Any:
    return div(g, rhs), get("negative")(div(mul(g, lhs), get("square")(rhs)))


# -- two arrays of one sparse type: union and intersection --------------------------------------------


def _union_rows(op: Operator, code: Op) -> None:
    """Add rows for two csr and two row_sparse arrays, stored where either is."""

    @op.on("csr, csr -> csr")
    def _(lhs: CSRChunk, rhs: CSRChunk, out: CSRChunk) -> None:
        _merge_csr(code, lhs, rhs, out)

    @op.on("row_sparse, row_sparse -> row_sparse")
    def _(lhs: RowSparseChunk, rhs: RowSparseChunk, out: RowSparseChunk) -> None:
        lhs, rhs = canonical(lhs), canonical(rhs)
        count = row_sparse.union_count(lhs.indices, rhs.indices)
        row_sparse.union_fill(code, lhs.rows, rhs.rows, out.check_and_alloc(count, _id_dtype(lhs, rhs)))


def _merge_csr(code: Op, lhs: CSRChunk, rhs: CSRChunk, out: CSRChunk) -> None:
    lhs, rhs = canonical(lhs), canonical(rhs)
    kinds = (c.aux(i).dtype for c in (lhs, rhs) for i in (0, 1))
    indptr = out.alloc_indptr(*kinds, nnz=lhs.nnz + rhs.nnz)
    nnz = csr_elementwise.csr_csr_count(code, lhs.csr, rhs.csr, indptr)
    csr_elementwise.csr_csr_fill(code, lhs.csr, rhs.csr, out.alloc_elements(nnz))


def _id_dtype(*chunks: RowSparseChunk) -> Any:
    return np.result_type(*(c.indices.dtype for c in chunks))


for _op, _code in ((add, Op.ADD), (sub, Op.SUB), (grad_add, Op.ADD)):
    _union_rows(_op, _code)


@mul.on("csr, csr -> csr")
def _(lhs: CSRChunk, rhs: CSRChunk, out: CSRChunk) -> None:
    _merge_csr(Op.MUL, lhs, rhs, out)


@mul.on("row_sparse, row_sparse -> row_sparse")
def _(lhs: RowSparseChunk, rhs: RowSparseChunk, out: RowSparseChunk) -> None:
    lhs, rhs = canonical(lhs), canonical(rhs)
    count = row_sparse.intersection_count(lhs.indices, rhs.indices)
    row_sparse.intersection_fill(Op.MUL, lhs.rows, rhs.rows, out.check_and_alloc(count, _id_dtype(lhs, rhs)))


# -- a sparse and a dense array -----------------------------------------------------------------------


def _dense_sum_rows(op: Operator, code: Op, reflected: Op) -> None:
    """Add rows ``sparse op dense`` and ``dense op sparse`` with a dense result."""

    def sum_csr(code: Op, csr: CSRChunk, dense: DefaultChunk, out: DefaultChunk) -> None:
        source = dense.data
        csr_elementwise.csr_dense_sum(code, csr.csr, source, out.check_and_alloc_data(out.shape))

    def sum_rows(code: Op, rows: RowSparseChunk, dense: DefaultChunk, out: DefaultChunk) -> None:
        source, rows = dense.data, canonical(rows)
        target = out.check_and_alloc_data(out.shape)
        if target.dtype == np.bool_:  # differences need a sign
            signed = np.empty(target.shape, np.int8)
            row_sparse.row_dense_sum(code, rows.rows, source, signed)
            np.not_equal(signed, 0, out=target)
        else:
            row_sparse.row_dense_sum(code, rows.rows, source, target)

    for kind, kernel in (("csr", sum_csr), ("row_sparse", sum_rows)):
        _both_orders(op, kind, "default", kernel, code, reflected)


def _both_orders(
    op: Operator, kind: str, result: str, kernel: Callable[..., None], code: Op, reflected: Op
) -> None:
    """Register ``kernel(code, sparse, dense, out)`` for the sparse operand on either side."""

    @op.on(f"{kind}, default -> {result}", req=("inplace",))
    def _(lhs: Any, rhs: Any, out: Any) -> None:
        kernel(code, lhs, rhs, out)

    @op.on(f"default, {kind} -> {result}", req=("inplace",))
    def _(lhs: Any, rhs: Any, out: Any) -> None:
        kernel(reflected, rhs, lhs, out)


def _scale_csr(code: Op, csr: CSRChunk, dense: DefaultChunk, out: CSRChunk) -> None:
    source = canonical(csr)
    arrays = source.csr
    csr_elementwise.csr_dense_gather(code, arrays, dense.data, like(out, source))


def _scale_rows(code: Op, rows: RowSparseChunk, dense: DefaultChunk, out: RowSparseChunk) -> None:
    source = canonical(rows)
    arrays = source.rows
    row_sparse.row_dense_gather(code, arrays, dense.data, like(out, source))


_dense_sum_rows(add, Op.ADD, Op.ADD)
_dense_sum_rows(grad_add, Op.ADD, Op.ADD)
_dense_sum_rows(sub, Op.SUB, Op.RSUB)
_both_orders(mul, "csr", "csr", _scale_csr, Op.MUL, Op.MUL)
_both_orders(mul, "row_sparse", "row_sparse", _scale_rows, Op.MUL, Op.MUL)


# -- quotients ----------------------------------------------------------------------------------------


@div.on("row_sparse, row_sparse -> default")
def _(lhs: RowSparseChunk, rhs: RowSparseChunk, out: DefaultChunk) -> None:
    lhs, rhs = canonical(lhs), canonical(rhs)
    ids = row_ids.union_ids([lhs.indices, rhs.indices])
    touched = RowSparseChunk(lhs.shape, lhs.dtype)
    touched.adopt(np.empty((len(ids), *lhs.shape[1:]), np.bool_), ids)
    target = out.check_and_alloc_data(out.shape)
    target[...] = np.nan if out.dtype.kind == "f" else 0
    target[ids] = evaluate(divide, (gather(touched, lhs), gather(touched, rhs)))


scatter_div = _binary("_scatter_elemwise_div", divide, "lhs / rhs at the stored rows of lhs")


@scatter_div.grad
def _(g: Any, lhs: Any, rhs: Any) -> Any:
    by_rhs = scatter_div(mul(g, lhs), get("square")(rhs))
    return scatter_div(g, rhs), get("negative")(by_rhs)


@scatter_div.on("row_sparse, default|row_sparse|csr -> row_sparse")
def _(lhs: RowSparseChunk, rhs: Any, out: RowSparseChunk) -> None:
    source = canonical(lhs)
    divisors = gather(source, canonical(rhs))
    evaluate(divide, (source.data, divisors), like(out, source))


# -- maximum and others that keep 0 op 0 = 0 ----------------------------------------------------------

UNIONS: list[tuple[str, Function, Op, str, tuple[str, ...]]] = [
    ("_maximum", np.maximum, Op.MAXIMUM, "the larger of both", ("_Maximum",)),
    ("_minimum", np.minimum, Op.MINIMUM, "the smaller of both", ("_Minimum",)),
    ("_hypot", np.hypot, Op.HYPOT, "sqrt(lhs^2 + rhs^2)", ()),
]
"""Functions with f(0, 0) = 0 and rows for two arrays of one sparse type."""

DENSE: list[tuple[str, Function, str, tuple[str, ...]]] = [
    ("_mod", mod, "lhs modulo rhs, with the sign of rhs and 0 where rhs is 0", ("_Mod",)),
    ("_power", power, "lhs ** rhs", ("_Power",)),
]
"""Functions with a dense result."""

TESTS: list[tuple[str, Function, str, tuple[str, ...]]] = [
    ("_equal", np.equal, "1 where lhs == rhs, else 0", ("_Equal",)),
    ("_not_equal", np.not_equal, "1 where lhs != rhs, else 0", ("_Not_Equal",)),
    ("_greater", np.greater, "1 where lhs > rhs, else 0", ("_Greater",)),
    ("_greater_equal", np.greater_equal, "1 where lhs >= rhs, else 0", ("_Greater_Equal",)),
    ("_lesser", np.less, "1 where lhs < rhs, else 0", ("_Lesser",)),
    ("_lesser_equal", np.less_equal, "1 where lhs <= rhs, else 0", ("_Lesser_Equal",)),
    ("_logical_and", np.logical_and, "1 where both are not 0, else 0", ("_Logical_And",)),
    ("_logical_or", np.logical_or, "1 where either is not 0, else 0", ("_Logical_Or",)),
    ("_logical_xor", np.logical_xor, "1 where exactly one is not 0, else 0", ("_Logical_Xor",)),
]
"""Comparisons and logic: 0 or 1 in the dtype of the operands, without a gradient."""

for _name, _function, _code, _doc, _aliases in UNIONS:
    _op = _binary(_name, _function, _doc, _aliases)
    _union_rows(_op, _code)
    binary_gradient(_op, _name.removeprefix("_"))
for _name, _function, _doc, _aliases in DENSE:
    binary_gradient(_binary(_name, _function, _doc, _aliases), _name.removeprefix("_"))
for _name, _function, _doc, _aliases in TESTS:
    _binary(_name, _function, _doc, _aliases).grad(lambda g, lhs, rhs: None)
