"""Every gradient rule against finite differences, and the checker against a rule that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndsparse.ops import registry
from ndsparse.ops.registry import Operator
from ndsparse.testing import Sample, check_gradient
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
