import pytest

import ndsparse as mx
from ndsparse.errors import GraphError
from ndsparse.executor.passes.verify import verify

sym = mx.sym


def groups(executor):
    found = executor.graph.attributes["fusion_group"]
    return {n.name: g for n, g in zip(executor.graph.nodes, found, strict=True) if n.op is not None}


def test_connected_pointwise_nodes_are_one_group():
    x = sym.Variable("x", shape=(4, 4))
    a = sym.tanh(x * 2, name="a")
    product = sym.dot(a, x, name="product")
    y = sym.exp(sym.relu(product, name="b"), name="c") + a
    found = groups(y.simple_bind(mx.cpu(), grad_req="null"))
    assert found["product"] is None
    assert found["a"] == found["mul_scalar0" if "mul_scalar0" in found else next(iter(found))] is not None
    assert found["b"] == found["c"] is not None
    assert found["a"] != found["b"]  # a -> product -> b: one kernel would wait for itself


def test_a_node_alone_is_no_group_and_sparse_nodes_take_no_part():
    x = sym.Variable("x", shape=(4, 4))
    assert set(groups(sym.exp(x).simple_bind(mx.cpu(), grad_req="null")).values()) == {None}
    s = sym.Variable("x", shape=(4, 4), stype="csr")
    assert set(groups(sym.square(sym.square(s)).simple_bind(mx.cpu(), grad_req="null")).values()) == {None}


def test_the_check_finds_a_group_that_waits_for_itself():
    x = sym.Variable("x", shape=(4, 4))
    y = sym.exp(sym.dot(sym.tanh(x), x))
    graph = y.simple_bind(mx.cpu(), grad_req="null").graph
    wrong = [0 if n.op_name in ("tanh", "exp") else None for n in graph.nodes]
    with pytest.raises(GraphError, match="left and entered again"):
        verify(graph.with_attributes(fusion_group=wrong), "fusion_groups")
