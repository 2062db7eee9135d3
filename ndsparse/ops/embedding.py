"""``Embedding``: rows of a weight by their ids, with a gradient that has the touched rows only."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.kernels import row_sparse
from ndsparse.ops.operands import as_ids, canonical_rows, check_ids, dense_of, flat
from ndsparse.ops.registry import Operator, operator
from ndsparse.ops.take import add_rows, sum_rows
from ndsparse.storage import Chunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.chunk import Array


@operator("data(*i), weight(input_dim, output_dim) -> (*i, output_dim)")
def Embedding(
    data: Any,
    weight: Any,
    *,
    input_dim: int,
    output_dim: int,
    dtype: str = "float32",
    sparse_grad: bool = False,
) -> Any:
    """Return the rows of ``weight`` whose ids stand in ``data``.

    Parameters
    ----------
    data : NDArray
        Ids of any dtype and shape.
    weight : NDArray, default or row_sparse
        Shape (input_dim, output_dim); rows that a row_sparse weight does not store are zero.
    input_dim, output_dim : int
    dtype : str
        dtype of the weight where nothing else says it.
    sparse_grad : bool
        Whether the gradient with respect to ``weight`` is row_sparse.

    Raises
    ------
    IndexOutOfBounds
        An id is not in ``0 <= id < input_dim``.

    Notes
    -----
    O(ids x output_dim), forward; the gradient too if it is row_sparse.
    """
    return weight[_ids(data, input_dim)]


@operator("data(*i), weight(input_dim, output_dim) -> (*i, output_dim)", name="_contrib_SparseEmbedding")
def sparse_embedding(
    data: Any,
    weight: Any,
    *,
    input_dim: int,
    output_dim: int,
    dtype: str = "float32",
    deterministic: bool = False,
) -> Any:
    """Return the rows of ``weight`` whose ids stand in ``data``: Embedding with a row_sparse gradient."""
    return weight[_ids(data, input_dim)]


def _ids(data: Array, input_dim: int) -> Array:
    ids = as_ids(data)
    check_ids(ids, input_dim, "Embedding", "id")
    return ids


def _dtypes(inputs: Any, outputs: Any, *, dtype: str, **attrs: Any) -> Any:
    data, weight = inputs
    weight = weight or outputs[0] or np.dtype(dtype)
    return [data, weight], [weight]


@Embedding.grad
def _(g: Any, data: Any, weight: Any, *, input_dim: int, output_dim: int, sparse_grad: bool) -> Any:
    grad = _backward_Embedding(g, data, input_dim=input_dim, output_dim=output_dim, sparse_grad=sparse_grad)
    return None, grad


@sparse_embedding.grad
def _(g: Any, data: Any, weight: Any, *, input_dim: int, output_dim: int) -> Any:
    return None, _backward_Embedding(g, data, input_dim=input_dim, output_dim=output_dim, sparse_grad=True)


@operator("g(*i, output_dim), data(*i) -> (input_dim, output_dim)", dtypes="T, * -> T")
def _backward_Embedding(
    g: Any, data: Any, *, input_dim: int, output_dim: int, sparse_grad: bool = False
) -> Any:
    """Return the gradient of Embedding: each row of ``g`` added at its id."""
    result = np.zeros((input_dim, output_dim), g.dtype)
    np.add.at(result, _ids(data, input_dim).ravel(), g.reshape(-1, output_dim))
    return result


# -- rows ---------------------------------------------------------------------------------------------


def _from_dense(data: DefaultChunk, weight: DefaultChunk, out: DefaultChunk, *, input_dim: int) -> None:
    ids = _ids(data.data, input_dim).ravel()
    with flat(out, (len(ids), weight.shape[1])) as rows:
        row_sparse.gather_rows(np.ascontiguousarray(weight.data), ids, rows)


def _from_rows(data: DefaultChunk, weight: RowSparseChunk, out: DefaultChunk, *, input_dim: int) -> None:
    ids = _ids(data.data, input_dim).ravel()
    with flat(out, (len(ids), weight.shape[1])) as rows:
        row_sparse.retain_dense(canonical_rows(weight).rows, ids, rows)


def _declare(op: Operator) -> None:
    op.dtype(_dtypes)
    op.on("default, default -> default")(_from_dense)
    op.on("default, row_sparse -> default")(_from_rows)


_declare(Embedding)
_declare(sparse_embedding)


def _gradient_rows(g: Chunk, input_dim: int, data: Chunk) -> tuple[Array, Array]:
    ids = _ids(dense_of(data), input_dim).ravel()
    return ids, np.ascontiguousarray(dense_of(g)).reshape(len(ids), g.shape[-1])


@_backward_Embedding.on("default, default -> row_sparse", sparse_grad=True)
def _(g: DefaultChunk, data: DefaultChunk, out: RowSparseChunk, *, input_dim: int) -> None:
    sum_rows(*_gradient_rows(g, input_dim, data), out)


@_backward_Embedding.on("default, default -> default", req=("add",))
def _(g: DefaultChunk, data: DefaultChunk, out: DefaultChunk, *, input_dim: int, ctx: Any) -> None:
    add_rows(*_gradient_rows(g, input_dim, data), out, ctx.req[0] == "add")


@_backward_Embedding.on("default, default -> row_sparse", sparse_grad=False)
def _(g: DefaultChunk, data: DefaultChunk, out: RowSparseChunk, *, input_dim: int) -> None:
    sum_rows(*_gradient_rows(g, input_dim, data), out)
