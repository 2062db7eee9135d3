"""Operators that pass values on, or put constants in their place: copies, zeros, ones, stopped gradients."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.ops.registry import Operator, get, operator
from ndsparse.storage import CSRChunk, RowSparseChunk
from ndsparse.storage.structure import canonical

SPARSE = ("csr -> csr", "row_sparse -> row_sparse")


def copying(name: str, aliases: tuple[str, ...], doc: str, *, scaled: bool = False) -> Operator:
    """Register an operator that returns its input; ``scaled``: with an attribute ``scalar``."""

    def plain(data: Any, out: Any = None) -> Any:
        if out is None:
            return data
        np.copyto(out, data)
        return out

    def with_scalar(data: Any, out: Any = None, *, scalar: float = 1.0) -> Any:
        return plain(data, out)

    body = with_scalar if scaled else plain
    body.__doc__ = doc
    op = operator("data(*s) -> (*s)", name=name, aliases=aliases, into=True, inplace=True)(body)

    @op.on(SPARSE, req=("inplace",))
    def _(data: Any, out: Any) -> None:
        out.copy_from(canonical(data))

    return op


identity = copying("_copy", ("identity", "_backward_copy"), "Return a copy.  The storage type is kept.")
identity.grad(lambda g, data: g)

block_grad = copying(
    "BlockGrad",
    ("stop_gradient",),
    "Return the array unchanged; no gradient passes through.  The storage type is kept.",
)
block_grad.grad(lambda g, data: None)

make_loss = copying(
    "make_loss", (), "Return the array unchanged, as a loss: its gradient is 1 whatever arrives from above."
)
make_loss.grad(lambda g, data: get("ones_like")(data))


@operator("data(*s) -> (*s)", inplace=True)
def zeros_like(data: Any) -> Any:
    """Return zeros of the same shape.  The storage type is kept: a sparse result stores nothing."""
    return np.zeros_like(data)


zeros_like.grad(lambda g, data: None)


@zeros_like.on("csr -> csr")
def _(data: CSRChunk, out: CSRChunk) -> None:
    out.alloc_indptr(data.indptr.dtype, data.indices.dtype)[...] = 0
    out.alloc_elements(0)


@zeros_like.on("row_sparse -> row_sparse")
def _(data: RowSparseChunk, out: RowSparseChunk) -> None:
    out.check_and_alloc(0, data.indices.dtype)


@operator("data(*s) -> (*s)", inplace=True)
def ones_like(data: Any) -> Any:
    """Return ones of the same shape, dense."""
    return np.ones_like(data)


ones_like.grad(lambda g, data: None)


@ones_like.on("csr|row_sparse -> default")
def _(data: Any, out: Any) -> None:
    out.check_and_alloc_data(out.shape)[...] = 1


@operator("data(*s) -> (*s)", name="MakeLoss", inplace=True)
def make_loss_layer(
    data: Any,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["null", "batch", "valid"] = "null",
) -> Any:
    """Return the array unchanged, as a loss whose gradient is ``grad_scale``.

    Parameters
    ----------
    data : NDArray
        The loss of each example.
    grad_scale : float
        The gradient.
    valid_thresh : float
        Elements above it are counted as valid.
    normalization : str
        ``batch`` divides the gradient by the number of rows, ``valid`` by that of valid elements.
    """
    return data


@operator("data(*s) -> (*s)", name="_backward_MakeLoss")
def _backward_make_loss(
    data: Any,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["null", "batch", "valid"] = "null",
) -> Any:
    """Return the gradient of MakeLoss, which does not depend on what arrives from above."""
    scale = grad_scale
    if normalization == "batch":
        scale /= max(data.shape[0], 1)
    elif normalization == "valid":
        scale /= max(int(np.count_nonzero(data > valid_thresh)), 1)
    return np.full_like(data, scale)


@make_loss_layer.grad
def _(g: Any, data: Any, *, grad_scale: float, valid_thresh: float, normalization: str) -> Any:
    return _backward_make_loss(
        data, grad_scale=grad_scale, valid_thresh=valid_thresh, normalization=normalization
    )


@operator("lhs(*s), rhs(*s) -> (*s)", name="_identity_with_attr_like_rhs", dtypes="T, * -> T", inplace=True)
def identity_like(lhs: Any, rhs: Any) -> Any:
    """Return ``lhs``; its shape follows from that of ``rhs``."""
    return lhs


@identity_like.on(("csr, * -> csr", "row_sparse, * -> row_sparse", "default, csr|row_sparse -> default"))
def _(lhs: Any, rhs: Any, out: Any) -> None:
    out.copy_from(canonical(lhs))


identity_like.grad(lambda g, lhs, rhs: (g, None))
