import numpy as np
import pytest

import ndsparse as mx

sym = mx.sym
X = np.random.default_rng(3).standard_normal((4, 4)).astype(np.float32)


def bound(req):
    w = sym.Variable("w", shape=(4, 4))
    x = sym.Variable("x", shape=(4, 4))
    y = sym.dot(x, w) + sym.dot(x, sym.dot(x, w)) + sym.dot(w, x)
    executor = y.simple_bind(mx.cpu(), grad_req={"w": req})
    executor.arg_dict["w"][:] = mx.nd.array(X)
    executor.arg_dict["x"][:] = mx.nd.array(X.T.copy())
    return executor


@pytest.mark.parametrize("req", ["write", "add"])
def test_terms_of_a_gradient_are_added_where_they_are_made(req):
    executor = bound(req)
    sums = [i for i in executor.graph.attributes["accumulate"] if i is not None]
    assert len(sums) == 3
    assert all("add_n" not in step.name for step in executor._backward)
    x, ones = X.T, np.ones((4, 4), np.float32)
    wanted = x.T @ ones + x.T @ (x.T @ ones) + ones @ x.T
    for repeat in (1, 2):
        executor.forward(is_train=True)
        executor.backward()
        times = repeat if req == "add" else 1
        np.testing.assert_allclose(executor.grad_dict["w"].asnumpy(), times * wanted, rtol=1e-4, atol=1e-4)


def test_sparse_sums_are_left_to_add_n():
    w = sym.Variable("w", shape=(4, 4), stype="row_sparse")
    x = sym.Variable("x", shape=(4, 4), stype="csr")
    executor = (sym.dot(x, w) + 2 * sym.dot(x, w * 3)).simple_bind(mx.cpu(), grad_req={"w": "write"})
    assert all(i is None for i in executor.graph.attributes["accumulate"])
    assert "add_n" in [n.op_name for n in executor.graph.nodes]
