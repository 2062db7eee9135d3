"""Operators of two arrays whose shapes are broadcast.

``csr * vector`` and ``csr / vector`` (one number a row, or a column) keep csr; so does row_sparse.
Sums with a dense array are dense, without a dense copy of the sparse operand.  Shapes follow
numpy's rule: they are aligned at the end.

Gradients are summed to the shape of the operand by ``_sum_like``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.kernels import csr_elementwise, reduce, row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.ops import shapes
from ndsparse.ops.binary_gradient import aligned, binary_gradient, sum_to
from ndsparse.ops.elementwise import evaluate
from ndsparse.ops.functions import divide, mod, power
from ndsparse.ops.reduce_sparse import at_places
from ndsparse.ops.registry import Operator, get, operator
from ndsparse.storage import CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.structure import canonical, like

Function = Callable[..., Any]
Shape = tuple[int, ...]


def _broadcast_shape(inputs: Any, outputs: Any, name: str) -> Any:
    return inputs, [shapes.merge(shapes.broadcast(name, *inputs), outputs[0]) or outputs[0]]


def _binary(name: str, function: Function, doc: str, aliases: tuple[str, ...] = ()) -> Operator:
    def body(lhs: Any, rhs: Any, out: Any = None) -> Any:
        return evaluate(function, (lhs, rhs), out)

    body.__doc__ = f"Return {doc}, elementwise; the shapes are broadcast."
    op = operator("lhs(*a), rhs(*b) -> (*c)", name=name, aliases=aliases, into=True)(body)
    op.shape(lambda inputs, outputs: _broadcast_shape(inputs, outputs, name))
    return op


add = _binary("broadcast_add", np.add, "lhs + rhs", ("broadcast_plus",))
sub = _binary("broadcast_sub", np.subtract, "lhs - rhs", ("broadcast_minus",))
mul = _binary("broadcast_mul", np.multiply, "lhs * rhs")
div = _binary("broadcast_div", divide, "lhs / rhs")

OTHERS: list[tuple[str, Function, str]] = [
    ("maximum", np.maximum, "the larger of both"),
    ("minimum", np.minimum, "the smaller of both"),
    ("hypot", np.hypot, "sqrt(lhs^2 + rhs^2)"),
    ("mod", mod, "lhs modulo rhs, with the sign of rhs and 0 where rhs is 0"),
    ("power", power, "lhs ** rhs"),
]
TESTS: list[tuple[str, Function, str]] = [
    ("equal", np.equal, "1 where lhs == rhs, else 0"),
    ("not_equal", np.not_equal, "1 where lhs != rhs, else 0"),
    ("greater", np.greater, "1 where lhs > rhs, else 0"),
    ("greater_equal", np.greater_equal, "1 where lhs >= rhs, else 0"),
    ("lesser", np.less, "1 where lhs < rhs, else 0"),
    ("lesser_equal", np.less_equal, "1 where lhs <= rhs, else 0"),
    ("logical_and", np.logical_and, "1 where both are not 0, else 0"),
    ("logical_or", np.logical_or, "1 where either is not 0, else 0"),
    ("logical_xor", np.logical_xor, "1 where exactly one is not 0, else 0"),
]
for _name, _function, _doc in OTHERS:
    binary_gradient(_binary(f"broadcast_{_name}", _function, _doc), _name)
for _name, _function, _doc in TESTS:
    _binary(f"broadcast_{_name}", _function, _doc).grad(lambda g, lhs, rhs: None)


# -- gradients ------------------------------------------------------------------------------------------


@operator("data(*s), like(*t) -> (*t)", name="_sum_like", dtypes="T, * -> T")
def sum_like(data: Any, like: Any) -> Any:
    """Return ``data`` summed over the axes in which ``like`` would be repeated to its shape.

    The gradient of broadcasting.  Sparse gradients stay sparse where the operand is of the same
    storage type.
    """
    return sum_to(data, like.shape)


sum_like.grad(lambda g, data, like: (get("broadcast_like")(g, data), None))
add.grad(lambda g, lhs, rhs: (sum_like(g, lhs), sum_like(g, rhs)))
sub.grad(lambda g, lhs, rhs: (sum_like(g, lhs), get("negative")(sum_like(g, rhs))))
mul.grad(lambda g, lhs, rhs: (sum_like(mul(g, rhs), lhs), sum_like(_product(g, lhs), rhs)))


def _product(g: Any, lhs: Any) -> Any:
    """Return ``g * lhs`` for the gradient by the right operand; the sparse one of both comes first."""
    return get("_backward_broadcast_product")(g, lhs)


@operator("lhs(*a), rhs(*b) -> (*a)", name="_backward_broadcast_product")
def backward_product(lhs: Any, rhs: Any) -> Any:
    """Return ``lhs * rhs`` where ``rhs`` is broadcast to the shape of ``lhs``; sparse if either is."""
    return lhs * rhs


backward_product.grad(lambda g, lhs, rhs: (mul(g, rhs), sum_like(mul(g, lhs), rhs)))


@div.grad
def _(g: Any, lhs: Any, rhs: Any) -> Any:
    by_rhs = div(_product(g, lhs), get("square")(rhs))
    return sum_like(div(g, rhs), lhs), get("negative")(sum_like(by_rhs, rhs))


@sum_like.on("csr, default|row_sparse -> default")
def _(data: CSRChunk, like: Any, out: DefaultChunk) -> None:
    target = out.check_and_alloc_data(out.shape)
    rows, columns = _repeated(like.shape, data.shape)
    if rows and columns:
        target[...] = reduce.csr_reduce_all("sum", canonical(data).csr, 1)
    elif rows:
        reduce.csr_reduce_columns("sum", data.csr, data.shape[0], target.reshape(-1))
    elif columns:
        reduce.csr_reduce_rows("sum", data.csr, data.shape[1], target.reshape(-1))
    else:
        np.copyto(target, data.to_dense(), casting="unsafe")


def _repeated(shape: Shape, whole: Shape) -> tuple[bool, bool]:
    """Return whether rows and columns of ``whole`` are summed away to get ``shape``."""
    rows = len(shape) < 2 or (shape[0] == 1 and whole[0] != 1)
    return rows, not shape or (shape[-1] == 1 and whole[1] != 1)


@sum_like.on("csr, csr -> csr")
def _(data: CSRChunk, like: CSRChunk, out: CSRChunk) -> None:
    if data.shape == out.shape:
        out.copy_from(canonical(data))
        return
    (rows, columns), values = data.to_coo()
    by_rows, by_columns = _repeated(out.shape, data.shape)
    out.set_coo((rows * (not by_rows), columns * (not by_columns)), values)


@sum_like.on("default, csr|row_sparse -> default")
def _(data: DefaultChunk, like: Any, out: DefaultChunk) -> None:
    np.copyto(out.check_and_alloc_data(out.shape), sum_to(data.data, out.shape), casting="unsafe")


@sum_like.on("row_sparse, * -> row_sparse")
def _(data: RowSparseChunk, like: Any, out: RowSparseChunk) -> None:
    source = canonical(data)
    lead = len(source.shape) - len(out.shape)
    if lead == 0 and (out.shape[0] != 1 or source.shape[0] == 1):  # rows are kept apart
        ids, target = out.check_and_alloc(len(source.indices), source.indices.dtype)
        np.copyto(ids, source.indices)
        np.copyto(target, sum_to(source.data, target.shape), casting="unsafe")
        return
    ids, target = out.check_and_alloc(out.shape[0])  # all rows of what is small
    ids[...] = np.arange(len(ids))
    np.copyto(target, sum_to(source.data, out.shape), casting="unsafe")


# -- products and quotients of a sparse array and a dense one ---------------------------------------------


def _scaled(code: Op, csr: CSRChunk, dense: DefaultChunk, out: CSRChunk) -> None:
    """Write ``csr op dense`` for a dense operand that is broadcast to the matrix."""
    source = canonical(_expanded(csr, out.shape))
    arrays, shape = source.csr, aligned(dense.shape, 2)
    factors = np.ascontiguousarray(dense.data).reshape(shape)
    data = like(out, source)
    if code == Op.DIV and out.dtype.kind != "f":
        evaluate(divide, (arrays[2], at_places(source, factors)), data)
    elif shape == source.shape:
        csr_elementwise.csr_dense_gather(code, arrays, factors, data)
    elif shape[0] == source.shape[0]:
        csr_elementwise.csr_scale_rows(code, arrays, np.broadcast_to(factors, (shape[0], 1)), data)
    else:
        csr_elementwise.csr_scale_columns(code, arrays, np.broadcast_to(factors, (1, source.shape[1])), data)


def _expanded(csr: CSRChunk, shape: Shape) -> CSRChunk:
    """Return a csr matrix repeated to ``shape``: itself if it has that shape.  O(nnz of the result)."""
    if csr.shape == shape:
        return csr
    (rows, columns), values = canonical(csr).to_coo()
    for axis, coords in ((0, rows), (1, columns)):
        if csr.shape[axis] != shape[axis]:
            count = shape[axis]
            repeated = np.tile(np.arange(count), len(coords))
            rows, columns, values = (np.repeat(a, count) for a in (rows, columns, values))
            rows, columns = (repeated, columns) if axis == 0 else (rows, repeated)
    result = CSRChunk(shape, csr.dtype)
    result.set_coo((rows, columns), values)
    return result


def _scaled_rows(function: Function, rows: RowSparseChunk, dense: DefaultChunk, out: RowSparseChunk) -> None:
    """Write ``function(rows, dense)`` at the stored rows; ``dense`` is broadcast."""
    source = canonical(rows)
    if source.shape != out.shape:  # repeated itself: as good as dense
        whole = np.broadcast_to(source.to_dense(), out.shape)
        out.set_dense(np.ascontiguousarray(evaluate(function, (whole, dense.data)), dtype=out.dtype))
        return
    factors, ids = dense.data, source.indices
    if factors.ndim == len(out.shape) and factors.shape[0] != 1:
        factors = factors[ids]
    values = source.data
    evaluate(function, (values, factors), like(out, source))


for _op, _code, _function in ((mul, Op.MUL, np.multiply), (div, Op.DIV, divide)):

    @_op.on("csr, default -> csr")
    def _(lhs: CSRChunk, rhs: DefaultChunk, out: CSRChunk, *, _code: Op = _code) -> None:
        _scaled(_code, lhs, rhs, out)

    @_op.on("row_sparse, default -> row_sparse")
    def _(
        lhs: RowSparseChunk, rhs: DefaultChunk, out: RowSparseChunk, *, _function: Function = _function
    ) -> None:
        _scaled_rows(_function, lhs, rhs, out)


@backward_product.on("default, csr -> csr")
def _(lhs: DefaultChunk, rhs: CSRChunk, out: CSRChunk) -> None:
    _scaled(Op.MUL, rhs, lhs, out)


@backward_product.on("csr, default -> csr")
def _(lhs: CSRChunk, rhs: DefaultChunk, out: CSRChunk) -> None:
    _scaled(Op.MUL, lhs, rhs, out)


@backward_product.on("csr, csr -> csr")
def _(lhs: CSRChunk, rhs: CSRChunk, out: CSRChunk) -> None:
    left, right = canonical(lhs), canonical(_expanded(rhs, out.shape))
    indptr = out.alloc_indptr(*(c.aux(i).dtype for c in (left, right) for i in (0, 1)))
    nnz = csr_elementwise.csr_csr_count(Op.MUL, left.csr, right.csr, indptr)
    csr_elementwise.csr_csr_fill(Op.MUL, left.csr, right.csr, out.alloc_elements(nnz))


@backward_product.on("row_sparse, default -> row_sparse")
def _(lhs: RowSparseChunk, rhs: DefaultChunk, out: RowSparseChunk) -> None:
    _scaled_rows(np.multiply, lhs, rhs, out)


@backward_product.on("default, row_sparse -> row_sparse")
def _(lhs: DefaultChunk, rhs: RowSparseChunk, out: RowSparseChunk) -> None:
    _scaled_rows(np.multiply, rhs, lhs, out)


@backward_product.on("row_sparse, row_sparse -> row_sparse")
def _(lhs: RowSparseChunk, rhs: RowSparseChunk, out: RowSparseChunk) -> None:
    if rhs.shape != out.shape:  # what is repeated is small
        _scaled_rows(np.multiply, lhs, DefaultChunk.of(rhs.to_dense()), out)
        return
    left, right = canonical(lhs), canonical(rhs)
    count = row_sparse.intersection_count(left.indices, right.indices)
    dtype = np.result_type(left.indices.dtype, right.indices.dtype)
    row_sparse.intersection_fill(Op.MUL, left.rows, right.rows, out.check_and_alloc(count, dtype))


# -- sums with a dense array --------------------------------------------------------------------------------


def _sum_rows(op: Operator, code: Op, reflected: Op) -> None:
    def kernel(code: Op, csr: CSRChunk, dense: DefaultChunk, out: DefaultChunk) -> None:
        target, source = out.check_and_alloc_data(out.shape), np.broadcast_to(dense.data, out.shape)
        arrays = _expanded(csr, out.shape[-2:]).csr
        for i in np.ndindex(out.shape[:-2]):  # every matrix of the result
            csr_elementwise.csr_dense_sum(code, arrays, source[i], target[i])

    @op.on("csr, default -> default")
    def _(lhs: CSRChunk, rhs: DefaultChunk, out: DefaultChunk) -> None:
        kernel(code, lhs, rhs, out)

    @op.on("default, csr -> default")
    def _(lhs: DefaultChunk, rhs: CSRChunk, out: DefaultChunk) -> None:
        kernel(reflected, rhs, lhs, out)


_sum_rows(add, Op.ADD, Op.ADD)
_sum_rows(sub, Op.SUB, Op.RSUB)
