"""The helpers of ``mx.test_utils`` find what is wrong, and pass what is right."""

from __future__ import annotations

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import test_utils as tu
from ndsparse.errors import ArgumentError


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_random_arrays(stype, dtype):
    mx.random.seed(1)
    array = tu.rand_ndarray((30, 20), stype, density=0.2, dtype=dtype)
    array.check_format(full_check=True)
    assert (array.stype, array.shape, array.dtype) == (stype, (30, 20), np.dtype(dtype).type)
    if stype != "default":
        assert 0 < np.count_nonzero(array.asnumpy()) < 300
        empty, parts = tu.rand_sparse_ndarray((3, 4), stype, density=0)
        assert empty.asnumpy().tolist() == [[0] * 4] * 3
        assert len(parts) == (3 if stype == "csr" else 2)
    assert all(1 <= n <= 10 for _ in range(20) for n in (*tu.rand_shape_2d(), *tu.rand_shape_3d()))
    assert len(tu.rand_shape_nd(4, 3)) == 4


def test_powerlaw_rows_double():
    array, _ = tu.rand_sparse_ndarray((5, 8), "csr", 0.5, distribution="powerlaw")
    assert np.diff(array.indptr.asnumpy()).tolist() == [1, 2, 4, 8, 5]
    for bad in ({"density": 2}, {"stype": "coo"}):
        with pytest.raises(ArgumentError):
            tu.rand_sparse_ndarray(**{"shape": (2, 2), "stype": "csr", **bad})


def test_comparisons():
    a = mx.nd.array([1, 2])
    assert tu.same(a, [1, 2])
    assert not tu.same(a, [1, 2, 3])
    assert tu.almost_equal(a, [1.00001, 2])
    assert not tu.almost_equal(a, [1.1, 2])
    tu.assert_almost_equal(a.tostype("row_sparse"), a)
    with pytest.raises(AssertionError, match="x and y"):
        tu.assert_almost_equal(a, [1.1, 2], names=("x", "y"))
    tu.assert_exception(lambda: a.reshape(3), ValueError)
    with pytest.raises(AssertionError):
        tu.assert_exception(lambda: None, ValueError)
    assert tu.default_context() == mx.cpu()
    assert tu.default_dtype() is np.float32


def test_symbols_are_checked():
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    product = x * y
    values = {"x": np.array([[1.0, 2]]), "y": np.array([[3.0, 4]])}
    np.testing.assert_array_equal(tu.simple_forward(product, **values), [[3, 8]])
    tu.check_symbolic_forward(product, values, [np.array([[3, 8]])])
    tu.check_symbolic_backward(product, values, [np.ones((1, 2))], {"x": [[3, 4]], "y": [[1, 2]]})
    tu.check_numeric_gradient(product, [values["x"], values["y"]])
    with pytest.raises(AssertionError, match="expected"):
        tu.check_symbolic_forward(product, values, [np.array([[3, 9]])])
    with pytest.raises(AssertionError, match="gradient of x"):
        tu.check_symbolic_backward(product, values, None, {"x": [[3, 5]]})
    with pytest.raises(ArgumentError, match="location"):
        tu.check_symbolic_forward(product, {"x": [1]}, [1])


def test_sparse_gradients_are_checked():
    mx.random.seed(2)
    x, w = mx.sym.Variable("x", stype="csr"), mx.sym.Variable("w")
    dot = mx.sym.sparse.dot(x, w)
    location = {"x": tu.rand_ndarray((4, 5), "csr", 0.4), "w": tu.rand_ndarray((5, 2))}
    tu.check_numeric_gradient(dot, location, grad_nodes=["w"], grad_stype_dict={"w": "row_sparse"})
    with pytest.raises(AssertionError, match="row_sparse; expected default"):
        tu.check_numeric_gradient(dot, location, grad_nodes=["w"], grad_stype_dict={"w": "default"})


def test_a_wrong_gradient_is_found():
    wrong = mx.sym.BlockGrad(mx.sym.Variable("x")) * mx.sym.Variable("y")
    with pytest.raises(AssertionError, match="gradient of x"):
        tu.check_numeric_gradient(wrong, [np.ones(2), np.full(2, 3.0)])
