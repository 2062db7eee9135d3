"""Elementwise operators and reductions against values recorded from MXNet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ndsparse.ops import registry

CASES = {
    "f10": "elemwise_add", "f11": "elemwise_add", "f14": "elemwise_mul", "f15": "elemwise_mul",
    "f16": "elemwise_div", "f17": "elemwise_div", "f18": "elemwise_mul", "f20": "elemwise_add",
    "f22": "_scatter_elemwise_div", "f23": "broadcast_mul", "f26": "broadcast_add", "f27": "square",
    "f28": "sqrt", "f29": "sign", "f30": "relu", "f32": "log1p", "f33": "sin", "f34": "abs",
    "f35": "negative", "f36": "sigmoid", "f37": "cos", "f38": "tanh", "f40": "rint", "f41": "clip",
    "f43": "_mul_scalar", "f44": "_plus_scalar", "f45": "_plus_scalar", "f46": "_greater_scalar",
    "f47": "_lesser_scalar", "f48": "_scatter_plus_scalar", "f49": "sum", "f50": "mean", "f52": "mean",
    "f53": "sum", "f54": "sum", "f55": "norm", "f56": "norm", "f59": "_square_sum", "f74": "where",
    "f75": "add_n", "f78": "zeros_like", "f83": "_contrib_quadratic",
}  # fmt: skip

FALLBACKS = {"f17", "f36", "f37", "f47"}
"""Cases that run on dense copies, as in MXNet."""


def _check(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    result = registry.get(CASES[name])(*case.inputs.values(), **case.attrs)
    assert result.stype == case.stypes["0"]
    result.check_format(full_check=True)
    np.testing.assert_allclose(result.asnumpy(), case.outputs["0"], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", sorted(CASES.keys() - FALLBACKS))
def test_recorded_values(golden: Callable[[str], Any], name: str) -> None:
    _check(golden, name)


@pytest.mark.fallback
@pytest.mark.filterwarnings("ignore::ndsparse.errors.StorageFallbackWarning")
@pytest.mark.parametrize("name", sorted(FALLBACKS))
def test_recorded_values_of_fallbacks(golden: Callable[[str], Any], name: str) -> None:
    _check(golden, name)
