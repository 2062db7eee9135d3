"""FullyConnected, Dropout, and the output layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import ArgumentError, IndexOutOfBounds, ShapeError


def gradients(symbol: Any, heads: Any = None, **arrays: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the output and the gradients of all arguments."""
    grads = {k: nd.zeros(v.shape) for k, v in arrays.items()}
    executor = symbol.bind(mx.cpu(), arrays, grads)
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward(heads)
    return out, {k: g.asnumpy() for k, g in executor.grad_dict.items()}


@pytest.mark.parametrize("data", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("weight", ["default", "row_sparse", "csr"])
def test_fully_connected(rng: np.random.Generator, data: str, weight: str) -> None:
    x = (rng.integers(-3, 4, (5, 4)) * (rng.random((5, 4)) < 0.5)).astype("f")
    w = (rng.integers(-3, 4, (3, 4)) * np.array([[1], [0], [1]])).astype("f")
    b = np.array([1, 2, 3], "f")
    arrays = {"x": nd.array(x).tostype(data), "w": nd.array(w).tostype(weight), "b": nd.array(b)}
    symbol = mx.sym.FullyConnected(*map(mx.sym.Variable, "xwb"), num_hidden=3)
    heads = rng.integers(-3, 4, (5, 3)).astype("f")
    out, grads = gradients(symbol, nd.array(heads), **arrays)
    np.testing.assert_array_equal(out, x @ w.T + b)
    np.testing.assert_array_equal(grads["x"], heads @ w)
    np.testing.assert_array_equal(grads["w"], heads.T @ x)
    np.testing.assert_array_equal(grads["b"], heads.sum(0))


def test_fully_connected_infers_its_parameters() -> None:
    x = mx.sym.Variable("x")
    args, outs, _ = mx.sym.FullyConnected(x, num_hidden=7, name="fc").infer_shape(x=(5, 2, 3))
    assert args == [(5, 2, 3), (7, 6), (7,)]
    assert outs == [(5, 7)]
    assert mx.sym.FullyConnected(x, num_hidden=7, flatten=False).infer_shape(x=(5, 2, 3))[1] == [(5, 2, 7)]
    with pytest.raises(ShapeError, match=r"weight must have shape \(2, 4\)"):
        nd.FullyConnected(nd.ones((3, 4)), nd.ones((2, 5)), num_hidden=2, no_bias=True)


def test_dropout_in_training_and_out_of_it() -> None:
    x = nd.ones((200, 50))
    symbol = mx.sym.Dropout(mx.sym.Variable("x"), p=0.25)
    executor = symbol.bind(mx.cpu(), {"x": x}, {"x": nd.zeros((200, 50))})
    assert (executor.forward(is_train=False)[0].asnumpy() == 1).all()
    out = executor.forward(is_train=True)[0].asnumpy()
    executor.backward(nd.full((200, 50), 3))
    assert abs((out == 0).mean() - 0.25) < 0.03
    np.testing.assert_allclose(out[out != 0], 1 / 0.75)
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 3 * out)


def test_dropout_finds_its_mask_among_zeros() -> None:
    executor = mx.sym.Dropout(mx.sym.Variable("x"), p=0.5).bind(
        mx.cpu(), {"x": nd.zeros((1000,))}, {"x": nd.zeros((1000,))}
    )
    executor.forward(is_train=True)
    executor.backward(nd.ones((1000,)))
    grad = executor.grad_dict["x"].asnumpy()
    assert set(np.unique(grad)) == {0.0, 2.0}
    assert 400 < np.count_nonzero(grad) < 600


def test_dropout_along_axes() -> None:
    out = nd.Dropout(nd.ones((100, 20)), p=0.5, mode="always", axes=(1,)).asnumpy()
    assert ((out == 0).all(1) | (out == 2).all(1)).all()
    with pytest.raises(ArgumentError, match="p must be in"):
        nd.Dropout(nd.ones((2,)), p=1.5)


@pytest.mark.parametrize(
    ("name", "layer"), [("g96", "LinearRegressionOutput"), ("g97", "LogisticRegressionOutput")]
)
def test_recorded_regressions(golden: Callable[[str], Any], name: str, layer: str) -> None:
    case = golden(name)
    x, w, label = (mx.sym.Variable(k, stype=case.inputs[k].stype) for k in "xwl")
    symbol = getattr(mx.sym, layer)(mx.sym.dot(x, w), label)
    shapes = {k: v.shape for k, v in case.inputs.items()}
    executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "write"}, **shapes)
    for key, value in case.inputs.items():
        value.copyto(executor.arg_dict[key])
    out = executor.forward(is_train=True)[0]
    executor.backward()
    np.testing.assert_allclose(out.asnumpy(), case.outputs["out"], rtol=1e-5, atol=1e-6)
    assert executor.grad_dict["w"].stype == case.stypes["grad_w"]
    np.testing.assert_allclose(
        executor.grad_dict["w"].asnumpy(), case.outputs["grad_w"], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("stype", ["default", "csr"])
def test_regressions_average_over_the_outputs_of_a_sample(stype: str) -> None:
    x, y = np.array([[1, -2], [0.5, 0]], "f"), np.array([[0, 1], [0, 0]], "f")
    arrays = {"x": nd.array(x), "y": nd.array(y).tostype(stype)}
    variables = mx.sym.Variable("x"), mx.sym.Variable("y")
    sigmoid = 1 / (1 + np.exp(-x))
    for layer, out, slope in (
        ("LinearRegressionOutput", x, x - y),
        ("LogisticRegressionOutput", sigmoid, sigmoid - y),
        ("MAERegressionOutput", x, np.sign(x - y)),
    ):
        got, grads = gradients(getattr(mx.sym, layer)(*variables, grad_scale=3), nd.full((2, 2), 9), **arrays)
        np.testing.assert_allclose(got, out, rtol=1e-6)
        np.testing.assert_allclose(grads["x"], slope * 3 / 2, rtol=1e-5)


def test_regressions_take_a_vector_of_labels() -> None:
    x, label = mx.sym.Variable("x"), mx.sym.Variable("y")
    symbol = mx.sym.LinearRegressionOutput(x, label)
    assert symbol.infer_shape(x=(4, 1))[0] == [(4, 1), (4,)]
    assert symbol.infer_shape(x=(4, 3))[0] == [(4, 3), (4, 3)]
    _, grads = gradients(symbol, x=nd.array([[1], [2]]), y=nd.array([0, 5]))
    assert grads["x"].tolist() == [[1], [-3]]


X = np.array([[1, 2, 3], [3, 1, 0], [0, 0, 5], [1, 1, 1]], np.float32)
LABEL = np.array([0, 2, 2, 1], np.float32)
SOFT = np.exp(X) / np.exp(X).sum(1, keepdims=True)
SLOPE = SOFT - np.eye(3)[LABEL.astype(int)]
KEPT = (LABEL != 2)[:, None]


@pytest.mark.parametrize(
    ("attrs", "wanted"),
    [
        ({}, SLOPE),
        ({"grad_scale": 2}, 2 * SLOPE),
        ({"normalization": "batch"}, SLOPE / 4),
        ({"normalization": "valid"}, SLOPE / 4),
        ({"normalization": "valid", "ignore_label": 2}, SLOPE / 2),
        ({"use_ignore": True, "ignore_label": 2}, SLOPE * KEPT),
        ({"use_ignore": True, "ignore_label": 2, "normalization": "valid"}, SLOPE * KEPT / 2),
        ({"out_grad": True}, 9 * SLOPE),
        ({"smooth_alpha": 0.2}, SOFT - np.where(np.eye(3)[LABEL.astype(int)] == 1, 0.8, 0.1)),
    ],
)
def test_softmax_output(attrs: dict[str, Any], wanted: np.ndarray) -> None:
    symbol = mx.sym.SoftmaxOutput(mx.sym.Variable("x"), mx.sym.Variable("y"), **attrs)
    out, grads = gradients(symbol, nd.full((4, 3), 9), x=nd.array(X), y=nd.array(LABEL))
    np.testing.assert_allclose(out, SOFT, rtol=1e-5)
    np.testing.assert_allclose(grads["x"], wanted, rtol=1e-4, atol=1e-6)


def test_softmax_output_of_places() -> None:
    x, y = np.stack([X, X + 1, X * 0], 1), np.array([[0, 1, 2]] * 4)
    symbol = mx.sym.SoftmaxOutput(mx.sym.Variable("x"), mx.sym.Variable("y"), multi_output=True)
    out, grads = gradients(symbol, x=nd.array(x), y=nd.array(y))
    soft = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(out, soft, rtol=1e-5)
    np.testing.assert_allclose(
        grads["x"], (soft - np.moveaxis(np.eye(3)[y], -1, 1)) / 3, rtol=1e-4, atol=1e-6
    )
    assert symbol.infer_shape(x=(2, 3, 4, 5))[0][1] == (2, 20)


def test_softmax_output_with_probabilities_or_wrong_labels() -> None:
    symbol = mx.sym.SoftmaxOutput(mx.sym.Variable("x"), mx.sym.Variable("y"))
    assert symbol.infer_shape(x=(4, 3))[0][1] == (4,)
    _, grads = gradients(symbol, x=nd.array(X), y=nd.array(SOFT))
    np.testing.assert_allclose(grads["x"], 0, atol=1e-6)
    with pytest.raises(IndexOutOfBounds, match="SoftmaxOutput: label 7"):
        gradients(symbol, x=nd.array(X), y=nd.array([0, 7, 1, 1]))


def test_softmax_cross_entropy() -> None:
    symbol = mx.sym.softmax_cross_entropy(mx.sym.Variable("x"), mx.sym.Variable("y"))
    out, grads = gradients(symbol, nd.array([2.0]), x=nd.array(X), y=nd.array(LABEL))
    np.testing.assert_allclose(out, [-np.log(SOFT[range(4), LABEL.astype(int)]).sum()], rtol=1e-5)
    np.testing.assert_allclose(grads["x"], 2 * SLOPE, rtol=1e-4, atol=1e-6)


def test_svm_output() -> None:
    x = np.array([[0.5, 2, -3]], "f")
    variables = mx.sym.Variable("x"), mx.sym.Variable("y")
    arrays = {"x": nd.array(x), "y": nd.array([0])}
    _, grads = gradients(mx.sym.SVMOutput(*variables), **arrays)
    np.testing.assert_allclose(grads["x"], [[-2 * 0.5, 2 * 3, 0]])
    _, grads = gradients(
        mx.sym.SVMOutput(*variables, use_linear=True, regularization_coefficient=2), **arrays
    )
    np.testing.assert_allclose(grads["x"], [[-2, 2, 0]])
