"""Embedding and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import IndexOutOfBounds

SIZES: dict[str, Any] = {"input_dim": 5, "output_dim": 2}


def test_rows_of_a_dense_weight() -> None:
    weight = nd.array(np.arange(10).reshape(5, 2))
    result = nd.Embedding(nd.array([[4, 0], [1, 1]]), weight, **SIZES)
    assert result.asnumpy().tolist() == [[[8, 9], [0, 1]], [[2, 3], [2, 3]]]


def test_rows_that_a_sparse_weight_lacks_are_zero() -> None:
    weight = nd.sparse.row_sparse_array((np.array([[1, 2], [3, 4]], "f"), [1, 3]), shape=(5, 2))
    result = nd.sparse.Embedding(nd.array([3, 0, 1]), weight, **SIZES)
    assert result.asnumpy().tolist() == [[3, 4], [0, 0], [1, 2]]
    assert nd.contrib.SparseEmbedding(nd.array([3]), weight, **SIZES).asnumpy().tolist() == [[3, 4]]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("bad", [-1, 5])
def test_ids_outside_are_an_error(stype: str, bad: int) -> None:
    weight = nd.ones((5, 2)).tostype(stype)
    with pytest.raises(IndexOutOfBounds, match=rf"Embedding: id {bad} is out of bounds; wanted 0 <= id < 5"):
        nd.Embedding(nd.array([0, bad]), weight, **SIZES)


@pytest.mark.parametrize("weight", ["default", "row_sparse"])
@pytest.mark.parametrize("sparse_grad", [False, True])
def test_gradient(weight: str, sparse_grad: bool) -> None:
    w = mx.sym.Variable("w", stype=weight)
    symbol = mx.sym.Embedding(mx.sym.Variable("x"), w, sparse_grad=sparse_grad, **SIZES)
    executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "write"}, x=(2, 2))
    assert executor.arg_dict["w"].shape == (5, 2)
    executor.arg_dict["x"][:] = nd.array([[4, 1], [1, 4]])
    executor.forward(is_train=True)
    executor.backward(nd.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
    grad = executor.grad_dict["w"]
    assert grad.stype == ("row_sparse" if sparse_grad else "default")
    assert grad.asnumpy().tolist() == [[0, 0], [8, 10], [0, 0], [0, 0], [8, 10]]
    if sparse_grad:
        assert grad.indices.asnumpy().tolist() == [1, 4]


def test_a_gradient_is_added_to_what_is_there() -> None:
    symbol = mx.sym.Embedding(mx.sym.Variable("x"), mx.sym.Variable("w"), sparse_grad=True, **SIZES)
    executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "add"}, x=(1,))
    for row in (1, 1, 4):
        executor.arg_dict["x"][:] = row
        executor.forward(is_train=True)
        executor.backward(nd.ones((1, 2)))
    assert executor.grad_dict["w"].stype == "row_sparse"
    assert executor.grad_dict["w"].asnumpy()[:, 0].tolist() == [0, 2, 0, 0, 1]


def test_a_table_of_a_trillion_rows() -> None:
    rows = 10**12
    weight = nd.sparse.row_sparse_array((np.ones((1, 2), "f"), [rows - 1]), shape=(rows, 2))
    ids = nd.array([rows - 1, 3], dtype="int64")
    result = nd.Embedding(ids, weight, input_dim=rows, output_dim=2)
    assert result.asnumpy().tolist() == [[1, 1], [0, 0]]
