"""Every gradient rule against finite differences, and the checker against a rule that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndsparse import nd
from ndsparse.executor.passes.gradient import gradient
from ndsparse.graph import variable
from ndsparse.ops import registry
from ndsparse.ops.registry import Operator
from ndsparse.testing import Sample, check_gradient
from ndsparse.testing.gradients import evaluate
from ndsparse.testing.samples import samples_of

OPERATORS = {o.name: o for o in registry.operators().values() if o.gradient is not None}

UNLIKE_THE_DERIVATIVE = {
    "BlockGrad", "make_loss", "MakeLoss", "SVMOutput", "SoftmaxOutput", "LinearRegressionOutput",
    "LogisticRegressionOutput", "MAERegressionOutput", "_contrib_gradientmultiplier",
    "_contrib_round_ste", "_contrib_sign_ste",
}  # fmt: skip
"""Operators whose gradient is by intention not the derivative; their own tests have the values."""


@pytest.mark.parametrize("name", sorted(n for n, o in OPERATORS.items() if samples_of(o)))
def test_the_gradient_is_the_derivative(name: str) -> None:
    checked = check_gradient(name)
    assert (checked == 0) == (name in UNLIKE_THE_DERIVATIVE)


def test_a_wrong_rule_is_found() -> None:
    def body(data: Any) -> Any:
        return np.sin(data)

    op = Operator(body, "data(*s) -> (*s)", name="wrong")
    op.grad(lambda g, data: registry.get("elemwise_mul")(g, registry.get("sin")(data)))
    with pytest.raises(AssertionError, match=r"gradient of wrong\(default\)"):
        check_gradient(op, samples=[Sample(((3, 2),))])


def test_kinks_are_left_out() -> None:
    assert check_gradient("abs", samples=[Sample(((6, 4),))])


# -- gradients that are not the derivative, and their storage ---------------------------------------------


def _gradients(name: str, *arrays: Any, head: Any = None, **attrs: Any) -> list[Any]:
    """Return the gradients of an operator by all its inputs."""
    inputs = [variable(f"x{i}") for i in range(len(arrays))]
    output = registry.get(name)(*inputs, **attrs)
    arriving = variable("head")
    entries = gradient([output], [None if head is None else arriving], inputs)
    return evaluate(entries, {**dict(zip(inputs, arrays, strict=True)), arriving: head})


X = nd.array([[1.0, -2.0], [0.0, 3.0]])
HEAD = nd.array([[2.0, 2.0], [5.0, 5.0]])


@pytest.mark.parametrize(
    ("name", "attrs", "wanted"),
    [
        ("BlockGrad", {}, [[0, 0], [0, 0]]),
        ("make_loss", {}, [[1, 1], [1, 1]]),
        ("MakeLoss", {"grad_scale": 3.0}, [[3, 3], [3, 3]]),
        ("MakeLoss", {"normalization": "batch"}, [[0.5, 0.5], [0.5, 0.5]]),
        ("MakeLoss", {"normalization": "valid", "valid_thresh": 0.5}, [[0.5, 0.5], [0.5, 0.5]]),
        ("_contrib_gradientmultiplier", {"scalar": -2.0}, [[-4, -4], [-10, -10]]),
        ("_contrib_round_ste", {}, [[2, 2], [5, 5]]),
        ("_contrib_sign_ste", {}, [[2, 2], [5, 5]]),
        ("sign", {}, [[0, 0], [0, 0]]),
        ("_greater_scalar", {"scalar": 0.0}, [[0, 0], [0, 0]]),
    ],
)
def test_gradients_by_intention(name: str, attrs: dict[str, Any], wanted: list[Any]) -> None:
    (found,) = _gradients(name, X, head=HEAD, **attrs)
    assert found.asnumpy().tolist() == wanted


@pytest.mark.parametrize("name", ["square", "abs", "relu"])
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("head_stype", ["default", "same"])
def test_gradients_of_functions_flat_at_zero_are_as_sparse_as_the_data(
    name: str, stype: str, head_stype: str
) -> None:
    data = X.tostype(stype)
    head = HEAD if head_stype == "default" else HEAD.tostype(stype)
    (found,) = _gradients(name, data, head=head)
    assert found.stype == stype
    assert found.data.shape == (data if head_stype == "default" else head).data.shape


@pytest.mark.parametrize("name", ["sin", "tanh", "sqrt", "log1p", "expm1"])
def test_a_sparse_gradient_stays_sparse(name: str) -> None:
    data = nd.abs(X).tostype("row_sparse")
    (found,) = _gradients(name, data, head=HEAD.tostype("row_sparse"))
    assert found.stype == "row_sparse"
    (found,) = _gradients(name, nd.abs(X), head=HEAD.tostype("row_sparse"))
    assert found.stype == "row_sparse"


def test_the_gradient_of_a_vector_that_scales_a_csr_matrix_is_dense() -> None:
    by_matrix, by_vector = _gradients("broadcast_mul", X.tostype("csr"), nd.array([1.0, 2.0]), head=HEAD)
    assert by_vector.asnumpy().tolist() == [2, 11]
    assert by_matrix.asnumpy().tolist() == [[2, 4], [5, 10]]


def test_a_row_sparse_gradient_passes_through_a_broadcast_product() -> None:
    head = nd.sparse.row_sparse_array(([[1.0, 1.0]], [1]), shape=(2, 2))
    by_matrix, by_vector = _gradients("broadcast_mul", X, nd.array([[1.0, 2.0]]), head=head)
    assert by_matrix.stype == "row_sparse"
    assert by_matrix.asnumpy().tolist() == [[0, 0], [1, 2]]
    assert by_vector.asnumpy().tolist() == [[0, 3]]


def test_the_gradient_of_a_norm_is_as_sparse_as_the_data() -> None:
    data = nd.sparse.row_sparse_array(([[3.0, 4.0]], [1]), shape=(3, 2))
    (found,) = _gradients("norm", data)
    assert found.stype == "row_sparse"
    np.testing.assert_allclose(found.data.asnumpy(), [[0.6, 0.8]], rtol=1e-6)


def test_a_gradient_used_twice_stays_row_sparse() -> None:
    x = variable("x")
    total = registry.get("elemwise_add")(registry.get("square")(x), registry.get("abs")(x))
    head = variable("head")
    data = X.tostype("row_sparse")
    (found,) = evaluate(gradient([total], [head], [x]), {x: data, head: HEAD.tostype("row_sparse")})
    assert found.stype == "row_sparse"
    assert found.asnumpy().tolist() == [[6, -10], [0, 35]]


def test_the_product_of_others_is_the_gradient_of_a_product_with_a_zero() -> None:
    (found,) = _gradients("prod", nd.array([2.0, 0.0, 3.0]))
    assert found.asnumpy().tolist() == [0, 6, 0]
