import numpy as np

import ndsparse as mx
from ndsparse.executor.passes import fold_constants as module

sym = mx.sym


def bound():
    x = sym.Variable("x", shape=(3,))
    y = x + (sym.ones_like(x) + 1) * 3
    executor = y.simple_bind(mx.cpu(), grad_req="null")
    executor.arg_dict["x"][:] = mx.nd.array([1, 2, 3])
    return executor


def test_what_depends_on_no_variable_is_computed_at_bind():
    executor = bound()
    assert [n.op.name for n in executor.graph.nodes if n.op is not None] == ["elemwise_add"]
    (chunk,) = executor.graph.attributes["constants"].values()
    np.testing.assert_array_equal(chunk.data, [6, 6, 6])
    for _ in range(2):
        np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [7, 8, 9])


def test_large_constants_are_not_kept(monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 8)
    executor = bound()
    assert "ones_like" in [n.op_name for n in executor.graph.nodes]
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [7, 8, 9])


def test_an_output_is_no_constant():
    x = sym.Variable("x", shape=(3,))
    executor = sym.zeros_like(x).simple_bind(mx.cpu(), grad_req="null")
    executor.forward()[0][:] = 5
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [0, 0, 0])
