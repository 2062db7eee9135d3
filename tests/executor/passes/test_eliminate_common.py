import numpy as np

import ndsparse as mx

sym = mx.sym


def operators(executor):
    return [n.op.name for n in executor.graph.nodes if n.op is not None]


def test_equal_chains_fall_together():
    x = sym.Variable("x", shape=(3,))
    y = sym.exp(sym.square(x)) * sym.exp(sym.square(x))
    executor = y.simple_bind(mx.cpu(), grad_req="null")
    assert operators(executor) == ["square", "exp", "elemwise_mul"]
    executor.arg_dict["x"][:] = mx.nd.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), np.exp([0.0, 2.0, 8.0]), rtol=1e-6)


def test_attributes_tell_computations_apart():
    x = sym.Variable("x", shape=(3,))
    y = x * 2 + x * 2.5 + x * 2
    assert operators(y.simple_bind(mx.cpu(), grad_req="null")).count("_mul_scalar") == 2
    zeros = (1 / (x * 0.0)) - (1 / (x * -0.0))
    executor = zeros.simple_bind(mx.cpu(), grad_req="null")
    executor.arg_dict["x"][:] = 1
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [np.inf] * 3)


def test_two_draws_are_two_draws():
    x = sym.Variable("x", shape=(1000,))
    executor = sym.Group([sym.Dropout(x), sym.Dropout(x)]).simple_bind(mx.cpu(), grad_req="null")
    executor.arg_dict["x"][:] = 1
    first, second = (a.asnumpy() for a in executor.forward(is_train=True))
    assert (first != second).any()


def test_two_outputs_stay_two_arrays():
    x = sym.Variable("x", shape=(3,))
    executor = sym.Group([x + 1, x + 1]).simple_bind(mx.cpu(), grad_req="null")
    first, second = executor.forward()
    first[:] = 7
    np.testing.assert_array_equal(second.asnumpy(), [1, 1, 1])
