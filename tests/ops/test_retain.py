"""sparse.retain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import IndexOutOfBounds


@pytest.mark.parametrize("name", ["f64", "f65"])
def test_recorded_values(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    result = nd.sparse.retain(case.inputs["data"], case.inputs["indices"])
    result.check_format(full_check=True)  # MXNet leaves the ids unsorted
    np.testing.assert_array_equal(result.asnumpy(), case.outputs["0"])


def test_rows_that_are_absent_become_rows_of_zeros() -> None:
    x = nd.sparse.row_sparse_array((np.array([[1, 2], [3, 4]], "f"), [1, 3]), shape=(6, 2))
    kept = nd.sparse.retain(x, nd.array([5, 3, 3]))
    assert kept.indices.asnumpy().tolist() == [3, 5]
    assert kept.data.asnumpy().tolist() == [[3, 4], [0, 0]]
    assert x.retain([1]).asnumpy()[1].tolist() == [1, 2]
    empty = nd.sparse.retain(nd.zeros((6, 2), stype="row_sparse"), nd.array([1]))
    assert empty.indices.shape == (0,)


def test_ids_outside_are_an_error() -> None:
    x = nd.sparse.row_sparse_array((np.ones((1, 2), "f"), [1]), shape=(6, 2))
    with pytest.raises(IndexOutOfBounds, match="row id 6 is out of bounds"):
        nd.sparse.retain(x, nd.array([6]))


@pytest.mark.parametrize("head", ["default", "row_sparse"])
def test_gradient(head: str) -> None:
    w, i = mx.sym.Variable("w", stype="row_sparse"), mx.sym.Variable("i")
    executor = mx.sym.sparse.retain(w, i).simple_bind(mx.cpu(), grad_req={"w": "write"}, w=(6, 2), i=(2,))
    executor.arg_dict["w"][:] = nd.ones((6, 2))
    executor.arg_dict["i"][:] = nd.array([4, 1])
    executor.forward(is_train=True)
    executor.backward(nd.array(np.arange(12).reshape(6, 2)).tostype(head))
    grad = executor.grad_dict["w"]
    assert grad.stype == "row_sparse"
    assert grad.indices.asnumpy().tolist() == [1, 4]
    assert grad.data.asnumpy().tolist() == [[2, 3], [8, 9]]
