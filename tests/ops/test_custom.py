"""Operators written in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import ArgumentError, ArgumentTypeError


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        y, label = out_data[0].asnumpy(), in_data[1].asnumpy().astype(int)
        y[np.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], nd.array(y))


@mx.operator.register("test_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        return Softmax()


class Scale(mx.operator.CustomOp):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor
        self.seen: Any = None

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.seen = in_data[0].asnumpy()
        self.assign(out_data[0], req[0], in_data[0] * self.factor)
        aux[0][:] = aux[0] + 1

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        np.testing.assert_array_equal(self.seen, in_data[0].asnumpy())  # the object that ran forward
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor)


@mx.operator.register("test_scale")
class ScaleProp(mx.operator.CustomOpProp):
    def __init__(self, factor: str) -> None:
        super().__init__()
        assert isinstance(factor, str)
        self.factor = float(factor)

    def list_auxiliary_states(self) -> list[str]:
        return ["count"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [in_shape[0]], [(1,)]

    def infer_storage_type(self, in_stype: Any) -> Any:
        return in_stype, [in_stype[0]], ["default"]

    def infer_storage_type_backward(self, ograd: Any, data: Any, out: Any, igrad: Any, aux: Any) -> Any:
        return ograd, data, out, [ograd[0]], aux

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        assert dtypes == [np.float32, np.float32][: len(dtypes)]
        return Scale(self.factor)


def test_a_loss_in_a_graph() -> None:
    symbol = mx.sym.Custom(data=mx.sym.Variable("x"), name="softmax", op_type="test_softmax")
    assert symbol.list_arguments() == ["x", "softmax_label"]
    assert symbol.infer_shape(x=(3, 4))[0] == [(3, 4), (3,)]
    executor = symbol.simple_bind(mx.cpu(), x=(2, 2))
    executor.arg_dict["x"][:] = nd.array([[0, 0], [1, 1]])
    executor.arg_dict["softmax_label"][:] = nd.array([0, 1])
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    executor.backward()
    assert executor.grad_dict["x"].asnumpy().tolist() == [[-0.5, 0.5], [0.5, -0.5]]


@pytest.mark.parametrize("stype", ["default", "csr"])
def test_storage_types_and_states(stype: str) -> None:
    x = mx.sym.Variable("x", stype=stype)
    symbol = mx.sym.Custom(x, op_type="test_scale", factor=3, name="s")
    assert symbol.list_auxiliary_states() == ["s_count"]
    assert symbol.infer_storage_type(x=stype)[1] == [stype]
    executor = symbol.simple_bind(mx.cpu(), x=(2, 3), grad_req={"x": "write"})
    executor.arg_dict["x"][:] = nd.array([[0, 1, 0], [2, 0, 0]])
    for step in (1, 2):
        out = executor.forward(is_train=True)[0]
        executor.backward(nd.array([[0, 1, 0], [1, 0, 0]]).tostype(stype))
        assert out.stype == executor.grad_dict["x"].stype == stype
        assert out.asnumpy().tolist() == [[0, 3, 0], [6, 0, 0]]
        assert executor.grad_dict["x"].asnumpy().tolist() == [[0, 3, 0], [3, 0, 0]]
        assert executor.aux_dict["s_count"].asscalar() == step


def test_two_nodes_have_two_objects() -> None:
    x = mx.sym.Variable("x")
    symbol = mx.sym.Custom(mx.sym.Custom(x, op_type="test_scale", factor=3), op_type="test_scale", factor=3)
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    executor.arg_dict["x"][:] = 1
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [9, 9]
    executor.backward(nd.ones((2,)))
    assert executor.grad_dict["x"].asnumpy().tolist() == [9, 9]


def test_calls_on_arrays() -> None:
    count = nd.zeros((1,))
    result = nd.Custom(nd.array([1, 2]), count, op_type="test_scale", factor=2)
    assert result.asnumpy().tolist() == [2, 4]
    assert count.asscalar() == 1
    soft = nd.Custom(data=nd.zeros((1, 2)), label=nd.zeros((1,)), op_type="test_softmax")
    assert soft.asnumpy().tolist() == [[0.5, 0.5]]


@pytest.mark.fallback
def test_sparse_arguments_of_an_operator_that_does_not_know_them_become_dense() -> None:
    with pytest.warns(mx.errors.StorageFallbackWarning, match="Custom"):
        result = nd.Custom(nd.zeros((1, 2), stype="csr"), nd.zeros((1,)), op_type="test_softmax")
    assert result.asnumpy().tolist() == [[0.5, 0.5]]


def test_saved_and_loaded() -> None:
    symbol = mx.sym.Custom(mx.sym.Variable("x"), op_type="test_scale", factor=3, name="s")
    again = mx.sym.load_json(symbol.tojson())
    assert again.list_auxiliary_states() == ["s_count"]
    assert again.infer_shape(x=(2,))[1] == [(2,)]


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match="op_type must be one of .*test_scale"):
        nd.Custom(nd.ones((1,)), op_type="nothing")
    with pytest.raises(ArgumentTypeError, match=r"Custom\(test_softmax\): expected the arrays data, label"):
        nd.Custom(nd.ones((1,)), nd.ones((1,)), nd.ones((1,)), op_type="test_softmax")
    with pytest.raises(ArgumentTypeError, match="must derive from CustomOpProp"):
        mx.operator.register("test_bad")(int)
    assert "test_scale" in mx.operator.get_all_registered_operators()
