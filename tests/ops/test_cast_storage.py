"""cast_storage: every pair of storage types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ndsparse import nd
from ndsparse.errors import ShapeError, StorageTypeError

STYPES = ("default", "csr", "row_sparse")
VALUES = st.sampled_from([0.0, -0.0, 1.0, -2.5, float("nan")])


@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6), elements=VALUES)
)
def test_round_trips(array: np.ndarray) -> None:
    for first in STYPES:
        for second in STYPES:
            result = nd.cast_storage(nd.cast_storage(nd.array(array), stype=first), stype=second)
            assert result.stype == second
            result.check_format(full_check=True)
            np.testing.assert_array_equal(result.asnumpy(), array)


@pytest.mark.parametrize("name", ["f62", "f63"])
def test_recorded_values(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    result = nd.cast_storage(case.inputs["data"], **case.attrs)
    assert result.stype == case.stypes["0"]
    np.testing.assert_array_equal(result.asnumpy(), case.outputs["0"])


def test_nan_is_stored_and_negative_zero_is_not() -> None:
    x = nd.cast_storage(nd.array([[float("nan"), -0.0], [0.0, 1.0]]), stype="csr")
    assert x.indices.asnumpy().tolist() == [0, 1]


def test_stored_zeros_survive_a_copy() -> None:
    x = nd.sparse.csr_matrix(([0.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    assert nd.cast_storage(x, stype="csr").nnz == 2


def test_what_is_refused() -> None:
    with pytest.raises(StorageTypeError, match="foo"):
        nd.cast_storage(nd.ones((2, 2)), stype="foo")
    with pytest.raises(ShapeError, match="2 dimensions"):
        nd.cast_storage(nd.ones((2, 2, 2)), stype="csr")
