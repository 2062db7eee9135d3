import numpy as np

import ndsparse as mx

sym = mx.sym
X = np.array([[0, 1.5, 0], [2, 0, 0]], np.float32)


def names(executor):
    return [n.op.name for n in executor.graph.nodes if n.op is not None]


def bound(symbol, **arrays):
    return symbol.bind(mx.cpu(), arrays, grad_req="null")


def test_a_cast_to_the_same_storage_type_vanishes():
    x = sym.Variable("x", stype="csr")
    y = sym.square(sym.cast_storage(x, stype="csr"))
    executor = bound(y, x=mx.nd.array(X).tostype("csr"))
    assert names(executor) == ["square"]
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), X * X)


def test_back_and_forth_vanishes_and_a_chain_becomes_one_cast():
    x = sym.Variable("x", stype="csr")
    there = sym.cast_storage(x, stype="default")
    back = sym.square(sym.cast_storage(there, stype="csr"))
    assert names(bound(back, x=mx.nd.array(X).tostype("csr"))) == ["square"]
    onward = sym.square(sym.cast_storage(there, stype="row_sparse"))
    executor = bound(onward, x=mx.nd.array(X).tostype("csr"))
    assert names(executor) == ["cast_storage", "square"]
    assert executor.outputs[0].stype == "row_sparse"
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), X * X)


def test_consumers_share_a_cast():
    x = sym.Variable("x", stype="csr")
    y = sym.exp(sym.cast_storage(x, stype="default")) + sym.cos(sym.cast_storage(x, stype="default"))
    executor = bound(y, x=mx.nd.array(X).tostype("csr"))
    assert names(executor).count("cast_storage") == 1
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), np.exp(X) + np.cos(X), rtol=1e-6)


def test_copies_vanish_but_what_the_user_holds_is_no_alias():
    x = sym.Variable("x")
    executor = bound(sym.exp(sym.identity(sym.BlockGrad(sym.Reshape(x, shape=(2, 3))))), x=mx.nd.array(X))
    assert names(executor) == ["exp"]
    executor = bound(sym.Group([sym.identity(x), sym.identity(x)]), x=mx.nd.array(X))
    first, second = executor.forward()
    first[:] = 0
    np.testing.assert_array_equal(second.asnumpy(), X)
    np.testing.assert_array_equal(executor.arg_dict["x"].asnumpy(), X)
