"""int32 indices are kept as long as everything they count fits; a small limit stands for 2^31."""

import numpy as np
import pytest

import ndsparse as mx
from ndsparse.kernels import border

nd = mx.nd
DENSE = np.eye(6, 5, dtype=np.float32) + 1  # 30 elements, more than the limit in pairs only


@pytest.fixture
def narrow(monkeypatch):
    """Let int32 hold 40."""
    monkeypatch.setattr(border, "_INT32_MAX", 40)


def csr32(array):
    indices = np.tile(np.arange(5, dtype=np.int32), 6)
    return nd.sparse.csr_matrix((array.ravel(), indices, np.arange(0, 31, 5, dtype=np.int32)), shape=(6, 5))


@pytest.mark.parametrize(
    "many",
    [
        lambda a: a + a,
        lambda a: nd.add_n(a, a),
        lambda a: nd.concat(a, a, dim=0),
        lambda a: nd.take(a, nd.array([0] * 20, dtype="int64")),
        lambda a: nd.dot(nd.ones((20, 6)), a),
    ],
    ids=["add", "add_n", "concat", "take", "dot"],
)
def test_results_that_may_hold_more_than_int32_counts_have_int64(narrow, many):
    a = csr32(DENSE)
    assert a.aux_types == [np.int32, np.int32]
    result = many(a)
    assert result.stype == "csr"
    assert result.aux_types == [np.int64, np.int64]
    result.check_format()


def test_results_that_fit_keep_int32(narrow):
    a = csr32(DENSE)
    for result in (
        a[1:3],
        nd.square(a),
        nd.take(a, nd.array([5, 0], dtype="int64")),
        nd.slice(a, (0, 1), (6, 3)),
    ):
        assert result.aux_types == [np.int32, np.int32]
