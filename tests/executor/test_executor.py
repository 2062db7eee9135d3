import numpy as np
import pytest

import ndsparse as mx
from ndsparse.errors import ArgumentError, ArgumentTypeError, GraphError, ShapeError
from ndsparse.executor.passes.plan_memory import DYNAMIC, report

nd, sym = mx.nd, mx.sym
RNG = np.random.default_rng(7)
X = ((RNG.random((6, 5)) < 0.4) * RNG.standard_normal((6, 5))).astype(np.float32)
W = RNG.standard_normal((5, 3)).astype(np.float32)


def csr(array=X):
    return nd.array(array).tostype("csr")


def linear(weight_stype="row_sparse"):
    w = sym.Variable("w", shape=(5, 3), stype=weight_stype)
    return sym.dot(sym.Variable("x", stype="csr"), w, name="y")


def bound(**options):
    executor = linear().simple_bind(mx.cpu(), x=(6, 5), grad_req={"w": "write"}, **options)
    nd.array(W).copyto(executor.arg_dict["w"])
    return executor


def test_simple_bind_makes_arrays_of_the_inferred_storage_types():
    executor = linear().simple_bind(mx.cpu(), x=(6, 5))
    assert [a.stype for a in executor.arg_arrays] == ["csr", "row_sparse"]
    assert executor.grad_dict["w"].stype == "row_sparse"
    assert executor.arg_dict["w"].indices.shape == (0,)
    dense_weight = linear("default").simple_bind(mx.cpu(), x=(6, 5))
    assert dense_weight.grad_dict["w"].stype == "row_sparse"  # as MXNet has it


def test_forward_and_backward():
    executor = bound()
    (y,) = executor.forward(is_train=True, x=csr())
    np.testing.assert_allclose(y.asnumpy(), X @ W, rtol=1e-5)
    head = RNG.standard_normal((6, 3)).astype(np.float32)
    executor.backward(nd.array(head))
    gradient = executor.grad_dict["w"]
    np.testing.assert_allclose(gradient.asnumpy(), X.T @ head, rtol=1e-5)
    assert gradient.indices.asnumpy().tolist() == np.flatnonzero((X != 0).any(axis=0)).tolist()
    executor.backward()
    np.testing.assert_allclose(gradient.asnumpy(), X.T @ np.ones((6, 3)), rtol=1e-5)
    assert executor.grad_dict["x"] is None


def test_outputs_are_the_same_arrays_at_every_call():
    executor = bound()
    first = executor.forward(x=csr())[0]
    second = executor.forward(x=csr(2 * X))[0]
    assert first is second
    np.testing.assert_allclose(first.asnumpy(), 2 * X @ W, rtol=1e-5)
    assert executor.output_dict == {"y_output": first}


def test_adding_to_a_row_sparse_gradient_accumulates():
    executor = linear().simple_bind(mx.cpu(), x=(6, 5), grad_req={"w": "add"})
    nd.array(W).copyto(executor.arg_dict["w"])
    expected = np.zeros((5, 3), np.float32)
    for scale in (1, -3, 2):
        executor.forward(is_train=True, x=csr(scale * X))
        executor.backward()
        expected += scale * X.T @ np.ones((6, 3), np.float32)
    assert executor.grad_dict["w"].stype == "row_sparse"
    np.testing.assert_allclose(executor.grad_dict["w"].asnumpy(), expected, atol=1e-5)


@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
@pytest.mark.parametrize("req", ["write", "add"])
def test_a_gradient_is_cast_into_the_array_that_is_given(stype, req):
    grad = nd.ones((5, 3)).tostype(stype)
    executor = linear().bind(
        mx.cpu(), {"x": csr(), "w": nd.array(W).tostype("row_sparse")}, {"w": grad}, {"w": req}
    )
    executor.forward(is_train=True)
    executor.backward()
    expected = X.T @ np.ones((6, 3)) + (1 if req == "add" else 0)
    assert grad.stype == stype
    np.testing.assert_allclose(grad.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_weight_used_twice_keeps_a_row_sparse_gradient():
    w = sym.Variable("w", shape=(5, 3), stype="row_sparse")
    a = sym.dot(sym.Variable("a", stype="csr"), w)
    b = sym.dot(sym.Variable("b", stype="csr"), w)
    executor = (a + b).simple_bind(mx.cpu(), a=(6, 5), b=(6, 5), grad_req={"w": "write"})
    nd.array(W).copyto(executor.arg_dict["w"])
    executor.forward(is_train=True, a=csr(), b=csr(X[::-1].copy()))
    executor.backward()
    assert executor.grad_dict["w"].stype == "row_sparse"
    np.testing.assert_allclose(
        executor.grad_dict["w"].asnumpy(), (X + X[::-1]).T @ np.ones((6, 3)), rtol=1e-5
    )


def test_an_argument_without_influence_has_a_zero_gradient():
    w, v = sym.Variable("w", shape=(2, 2)), sym.Variable("v", shape=(2, 2))
    executor = (w + sym.BlockGrad(v)).simple_bind(mx.cpu())
    executor.grad_dict["v"][:] = 5
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_array_equal(executor.grad_dict["v"].asnumpy(), np.zeros((2, 2)))
    np.testing.assert_array_equal(executor.grad_dict["w"].asnumpy(), np.ones((2, 2)))


def test_a_variable_that_is_an_output_has_its_head_as_gradient():
    x = sym.Variable("x", shape=(3,))
    executor = sym.Group([x, sym.square(x)]).simple_bind(mx.cpu())
    executor.arg_dict["x"][:] = nd.array([1, 2, 3])
    executor.forward(is_train=True)
    executor.backward([nd.array([10, 20, 30]), nd.ones(3)])
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [12, 24, 36])


def test_a_dense_array_bound_to_a_csr_variable_takes_the_dense_path():
    y = sym.dot(sym.Variable("x", stype="csr"), sym.Variable("w"))
    executor = y.bind(mx.cpu(), {"x": nd.array(X), "w": nd.array(W)}, grad_req="null")
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), X @ W, rtol=1e-5)


def test_lists_work_as_dicts_do():
    w, grad = nd.array(W).tostype("row_sparse"), nd.sparse.zeros("row_sparse", (5, 3))
    executor = linear().bind(mx.cpu(), [csr(), w], [None, grad], ["null", "write"])
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_allclose(grad.asnumpy(), X.T @ np.ones((6, 3)), rtol=1e-5)


def test_bad_bindings_are_refused():
    y, w = linear(), nd.array(W)
    with pytest.raises(ArgumentError, match="'w' is missing"):
        y.bind(mx.cpu(), {"x": csr()})
    with pytest.raises(ArgumentError, match="no argument 'z'"):
        y.bind(mx.cpu(), {"x": csr(), "w": w, "z": w})
    with pytest.raises(ArgumentError, match="1 arrays for 2 arguments"):
        y.bind(mx.cpu(), [w])
    with pytest.raises(ArgumentTypeError, match="x must be an NDArray"):
        y.bind(mx.cpu(), {"x": X, "w": w})
    with pytest.raises(ShapeError, match="w has shape"):
        y.bind(mx.cpu(), {"x": csr(), "w": w}, {"w": nd.zeros((1, 1))})
    with pytest.raises(ArgumentError, match="grad_req"):
        y.bind(mx.cpu(), {"x": csr(), "w": w}, grad_req="sometimes")
    with pytest.raises(ArgumentError, match="grad_req: there is no argument 'v'"):
        y.bind(mx.cpu(), {"x": csr(), "w": w}, grad_req={"v": "write"})
    with pytest.raises(ShapeError, match="node 'y'"):
        y.bind(mx.cpu(), {"x": nd.sparse.zeros("csr", (6, 4)), "w": w})
    with pytest.raises(GraphError, match="the shape of 'w' cannot be inferred"):
        sym.dot(sym.Variable("x"), sym.Variable("w")).simple_bind(mx.cpu(), x=(2, 3))
    with pytest.raises(ShapeError, match="Argument x, need: .6, 5., received: .2, 5."):
        bound().forward(x=csr(X[:2]))
    with pytest.raises(ArgumentTypeError, match="2 gradients for 1 outputs"):
        bound().backward([w, w])


def test_reshape_shares_what_stays():
    executor = bound()
    small = executor.reshape(x=(2, 5))
    assert small.arg_dict["w"] is executor.arg_dict["w"]
    np.testing.assert_allclose(small.forward(x=csr(X[:2]))[0].asnumpy(), X[:2] @ W, rtol=1e-5)
    with pytest.raises(ShapeError, match="allow_up_sizing"):
        executor.reshape(x=(9, 5))
    assert executor.reshape(x=(9, 5), allow_up_sizing=True).outputs[0].shape == (9, 3)
    fc = sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc").simple_bind(mx.cpu(), data=(4, 3))
    with pytest.raises(ShapeError, match="partial_shaping"):
        fc.reshape(data=(4, 2))
    assert fc.reshape(data=(4, 2), partial_shaping=True).arg_dict["fc_weight"].shape == (2, 2)


def test_parameters_are_copied_by_name():
    executor = bound()
    executor.copy_params_from({"w": nd.array(2 * W)})
    np.testing.assert_allclose(executor.arg_dict["w"].asnumpy(), 2 * W)
    with pytest.raises(ArgumentError, match="no argument 'v'"):
        executor.copy_params_from({"v": nd.array(W)})
    executor.copy_params_from({"v": nd.array(W)}, allow_extra_params=True)


def test_the_monitor_sees_every_node():
    executor = bound()
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    executor.forward(x=csr())
    assert seen == [("y_output", (6, 3))]


def test_sparse_results_keep_their_capacity_between_steps():
    executor = bound()
    executor.forward(is_train=True, x=csr())
    executor.backward()
    chunk = executor.grad_dict["w"]._chunk
    capacity, memory = chunk.capacity, chunk.data.__array_interface__["data"][0]
    smaller = X.copy()
    smaller[:, 1:] = 0
    executor.forward(is_train=True, x=csr(smaller))
    executor.backward()
    assert chunk.capacity == capacity
    assert chunk.data.__array_interface__["data"][0] == memory


def test_dense_buffers_are_shared_and_sparse_entries_are_dynamic():
    x = sym.Variable("x")
    for _ in range(8):
        x = x + x
    executor = x.simple_bind(mx.cpu(), x=(100, 100), grad_req="null")
    sizes = report(executor.graph)
    assert sizes["planned"] < sizes["naive"] / 2
    executor.arg_dict["x"][:] = 1
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), np.full((100, 100), 256))
    sparse = sym.square(sym.square(sym.Variable("x", stype="csr")))
    graph = sparse.simple_bind(mx.cpu(), x=(6, 5), grad_req="null").graph
    assert DYNAMIC in graph.attributes["storage_id"]


def test_a_deep_graph_trains():
    x = sym.Variable("x")
    y = x
    for _ in range(300):
        y = y * 1.01
    executor = y.simple_bind(mx.cpu(), x=(3,))
    executor.arg_dict["x"][:] = 1
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), np.full(3, 1.01**300), rtol=1e-4)


def test_eval():
    (y,) = linear().eval(mx.cpu(), x=csr(), w=nd.array(W).tostype("row_sparse"))
    np.testing.assert_allclose(y.asnumpy(), X @ W, rtol=1e-5)


def test_the_bound_graph_prints_as_a_table():
    text = bound().debug_str().splitlines()
    assert text[0].split()[:2] == ["node", "operator"]
    assert text[3].split() == [
        "y",
        "dot",
        "csr,",
        "row_sparse",
        "->",
        "default",
        "fcompute_ex",
        "6x3",
        "given",
    ]
    assert text[-1].startswith("shared buffers: ")


def test_csr_data_have_no_gradient_unless_it_is_asked_for_by_name():
    executor = linear().simple_bind(mx.cpu(), x=(6, 5))
    assert executor.grad_dict["x"] is None
    assert executor.grad_dict["w"] is not None
    named = linear().simple_bind(mx.cpu(), x=(6, 5), grad_req={"x": "write", "w": "write"})
    assert named.grad_dict["x"].shape == (6, 5)
