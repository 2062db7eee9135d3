import numpy as np

import ndsparse as mx
from ndsparse.executor.passes.plan_memory import report

sym = mx.sym


def tower(mirror):
    x = sym.Variable("x", shape=(64, 64))
    w = sym.Variable("w", shape=(64, 64))
    for i in range(8):
        x = sym.dot(x, w, name=f"d{i}")
        with mx.AttrScope(**({"__force_mirroring__": "True"} if mirror else {})):
            x = sym.tanh(sym.sin(x, name=f"s{i}") * 2, name=f"t{i}")
    return sym.sum(x)


def run(mirror):
    executor = tower(mirror).simple_bind(mx.cpu(), grad_req={"w": "write"})
    rng = np.random.default_rng(0)
    for name in ("x", "w"):
        executor.arg_dict[name][:] = mx.nd.array(rng.standard_normal((64, 64)) / 8)
    executor.forward(is_train=True)
    executor.backward()
    return executor


def test_mirrored_nodes_are_computed_again_and_kept_no_longer():
    plain, mirrored = run(False), run(True)
    np.testing.assert_array_equal(plain.grad_dict["w"].asnumpy(), mirrored.grad_dict["w"].asnumpy())
    names = [n.name for n in mirrored.graph.nodes]
    assert "t0_mirror" in names and "s7_mirror" in names and "d0_mirror" not in names
    assert not any(n.name.endswith("_mirror") for n in plain.graph.nodes)
    assert report(mirrored.graph)["planned"] < 0.8 * report(plain.graph)["planned"]


def test_mirrors_run_in_backward():
    executor = run(True)
    assert not any(s.name.endswith("_mirror") for s in executor._forward)
    assert any(s.name.endswith("_mirror") for s in executor._backward)
