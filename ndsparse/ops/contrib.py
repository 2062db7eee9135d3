"""Operators of MXNet's ``contrib`` namespace: elementwise ones, and the number of stored elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ndsparse.kernels import csr_structure
from ndsparse.ops.elementwise import chain_rule, dense_body, stored_rows
from ndsparse.ops.identity import copying
from ndsparse.ops.registry import get, operator
from ndsparse.storage import CSRChunk, DefaultChunk


def _quadratic(data: Any, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Any:
    return (a * data + b) * data + c


def _quadratic_slope(data: Any, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Any:
    return 2 * a * data + b


quadratic = operator("data(*s) -> (*s)", name="_contrib_quadratic", aliases=("quadratic",), inplace=True)(
    dense_body(_quadratic, "Return ``a x^2 + b x + c``.  Sparse storage is kept where c is 0.")
)
stored_rows(quadratic, _quadratic, when=lambda attrs: attrs["c"] == 0)
_backward_quadratic = chain_rule("_contrib_backward_quadratic", _quadratic_slope)


@quadratic.grad
def _(g: Any, data: Any, *, a: float, b: float, c: float) -> Any:
    return _backward_quadratic(g, data, a=a, b=b, c=c)


gradient_multiplier = copying(
    "_contrib_gradientmultiplier",
    (),
    "Return the array unchanged; its gradient is multiplied by ``scalar``.  The storage type is kept.",
    scaled=True,
)


@gradient_multiplier.grad
def _(g: Any, data: Any, *, scalar: float) -> Any:
    return get("_mul_scalar")(g, scalar=scalar)


def _straight_through(name: str, function: Callable[..., Any], doc: str) -> None:
    """Register a step function whose gradient passes unchanged."""
    op = operator("data(*s) -> (*s)", name=name, inplace=True, into=True)(
        dense_body(function, f"Return {doc}; the gradient passes unchanged.  The storage type is kept.")
    )
    stored_rows(op, function)
    op.grad(lambda g, data: g)


_straight_through("_contrib_round_ste", lambda x: get("round").body(x), "the nearest whole number")
_straight_through("_contrib_sign_ste", np.sign, "the sign")


@operator("data(*s) -> (*s)", name="_contrib_div_sqrt_dim", inplace=True)
def div_sqrt_dim(data: Any) -> Any:
    """Return the data divided by the square root of its last extent."""
    return data / np.sqrt(data.dtype.type(data.shape[-1]))


div_sqrt_dim.grad(lambda g, data: div_sqrt_dim(g))


@operator("data(m, n) -> (*r)", name="_contrib_getnnz", dtypes="T -> int64")
def getnnz(data: Any, *, axis: Literal[0, 1] | None = None) -> Any:
    """Return how many elements a csr matrix stores, in all (shape (1,)), per column or per row.

    Of a dense array, how many are not 0.
    """
    return np.reshape(np.count_nonzero(data, axis=axis), (-1,))


@getnnz.shape
def _(inputs: Any, outputs: Any, *, axis: int | None) -> Any:
    if axis is None or inputs[0] is None:
        return inputs, [(1,) if axis is None else outputs[0]]
    return inputs, [(inputs[0][1 - axis],)]


@getnnz.on("csr -> default")
def _(data: CSRChunk, out: DefaultChunk, *, axis: int | None) -> None:
    target = out.check_and_alloc_data(out.shape)
    if axis is None:
        target[...] = data.nnz
    elif axis == 1:
        target[...] = csr_structure.row_counts(data.indptr)
    else:
        target[...] = np.bincount(data.indices, minlength=data.shape[1])


getnnz.grad(lambda g, data: None)


@operator("data(*s) -> (1)", dtypes="T -> float32")
def all_finite(data: Any, *, init_output: bool = True) -> Any:
    """Return 1 if no element is nan or infinite, else 0; shape (1,)."""
    return np.asarray([np.isfinite(data).all()])


@all_finite.on("csr|row_sparse -> default")
def _(data: Any, out: DefaultChunk) -> None:
    out.check_and_alloc_data((1,))[...] = np.isfinite(data.data).all()


all_finite.grad(lambda g, data: None)
