import numpy as np
import pytest

import ndsparse as mx
from ndsparse.errors import GraphError
from ndsparse.executor.passes.plan_memory import report
from ndsparse.executor.passes.verify import verify

sym = mx.sym


def mlp(layers, width=32):
    x = sym.Variable("data")
    for i in range(layers):
        x = sym.Activation(sym.FullyConnected(x, num_hidden=width, name=f"fc{i}"), act_type="relu")
    return sym.LinearRegressionOutput(x, sym.Variable("label"), name="out")


def place(executor, name):
    graph = executor.graph
    node = next(n for n in graph.nodes if n.name == name)
    return graph.attributes["storage_id"][graph.entry_id_of(node)]


def test_elementwise_operators_write_over_a_dying_input():
    x = sym.Variable("x", shape=(8, 8))
    a = sym.dot(x, x, name="a")
    b = sym.exp(a, name="b")
    c = sym.tanh(b + a, name="c")
    executor = sym.sum(c).simple_bind(mx.cpu(), grad_req="null")
    assert place(executor, "a") != place(executor, "b")  # a is read once more
    assert place(executor, "c") in (place(executor, "a"), place(executor, "b"))
    assert len(executor.graph.attributes["pool"]) == 2


def test_a_deep_perceptron_trains_in_less_than_half_the_memory():
    executor = mlp(50).simple_bind(mx.cpu(), data=(64, 32), label=(64, 32))
    sizes = report(executor.graph)
    assert sizes["planned"] <= 0.45 * sizes["naive"]


def test_executors_share_buffers():
    big = mlp(3).simple_bind(mx.cpu(), data=(64, 32), label=(64, 32))
    small = mlp(3).simple_bind(mx.cpu(), data=(16, 32), label=(16, 32), shared_exec=big)
    assert small._pool
    assert all(any(np.shares_memory(a, b) for b in big._pool) for a in small._pool)
    assert small.arg_dict["fc0_weight"] is big.arg_dict["fc0_weight"]
    for array in big.arg_dict.values():
        array[:] = 0.1
    for executor in (big, small):
        executor.arg_dict["data"][:] = 1
        executor.arg_dict["label"][:] = 0
        executor.forward(is_train=True)
        executor.backward()
    ratio = big.grad_dict["fc0_weight"].asnumpy() / small.grad_dict["fc0_weight"].asnumpy()
    np.testing.assert_allclose(ratio, 4, rtol=1e-4)


def test_the_check_finds_two_living_entries_in_one_buffer():
    x = sym.Variable("x", shape=(8, 8))
    a, b = sym.dot(x, x, name="a"), sym.dot(x, x, transpose_a=True, name="b")
    graph = sym.sum(a + b).simple_bind(mx.cpu(), grad_req="null").graph
    same = [0 if i >= 0 else i for i in graph.attributes["storage_id"]]
    with pytest.raises(GraphError, match="buffer 0 holds"):
        verify(graph.with_attributes(storage_id=same), "plan_memory")
