"""numpy's functions on NDArrays."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse import nd
from ndsparse.errors import NotSupportedForSparse
from ndsparse.ndarray import protocols
from ndsparse.ops import registry

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
UNIT = DENSE / 8


@pytest.fixture
def x():
    return nd.array(DENSE)


@pytest.mark.parametrize("ufunc", protocols.UNARY, ids=lambda f: f.__name__)
def test_functions_of_one_array(ufunc):
    assert protocols.UNARY[ufunc] in registry.operators()
    values = UNIT + 1 if ufunc is np.arccosh else UNIT
    with np.errstate(all="ignore"):
        wanted = ufunc(values)
    found = ufunc(nd.array(values))
    assert isinstance(found, nd.NDArray)
    assert np.allclose(found.asnumpy(), wanted, equal_nan=True, rtol=1e-5)


@pytest.mark.parametrize("ufunc", protocols.BINARY, ids=lambda f: f.__name__)
def test_functions_of_two_arrays(ufunc):
    left, right = UNIT + 1, UNIT[::-1] + 2
    wanted = ufunc(left, right).astype(np.float32)
    for a, b in ((nd.array(left), nd.array(right)), (left, nd.array(right)), (nd.array(left), right)):
        found = ufunc(a, b)
        assert isinstance(found, nd.NDArray)
        assert np.allclose(found.asnumpy(), wanted)
    assert np.allclose(ufunc(nd.array(left), 2.0).asnumpy(), ufunc(left, 2.0))
    assert np.allclose(ufunc(2.0, nd.array(left)).asnumpy(), ufunc(2.0, left))


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_sparse_arrays_stay_sparse(stype, x):
    a = x.tostype(stype)
    for found, wanted in (
        (np.square(a), DENSE**2),
        (np.sqrt(a), np.sqrt(DENSE)),
        (np.add(a, a), 2 * DENSE),
        (np.multiply(a, 3), 3 * DENSE),
        (np.multiply(DENSE, a), DENSE * DENSE),
    ):
        assert found.stype == stype
        assert np.array_equal(found.asnumpy(), wanted)


def test_functions_without_an_operator(x):
    assert np.array_equal(np.isnan(x), np.isnan(DENSE))
    assert np.array_equal(np.add.reduce(x), DENSE.sum(0))
    assert np.array_equal(np.median(x, axis=0), np.median(DENSE, axis=0))
    assert np.allclose(x, DENSE)
    np.testing.assert_array_equal(x, DENSE)
    np.testing.assert_allclose(x, DENSE)
    a = x.tostype("csr")
    for call in (
        lambda: np.isnan(a),
        lambda: np.median(a),
        lambda: np.add.reduce(a),
        lambda: np.vstack([a, a]),
    ):
        with pytest.raises(
            NotSupportedForSparse, match=r"np\.\w+: there is no operator for a csr array; call"
        ):
            call()


def test_out(x):
    out = nd.zeros((3, 4))
    assert np.add(x, x, out=out) is out
    assert np.array_equal(out.asnumpy(), 2 * DENSE)
    plain = np.zeros((3, 4), np.float32)
    assert np.add(x, 1, out=plain) is plain
    assert np.array_equal(plain, DENSE + 1)
    plain += x
    assert isinstance(plain, np.ndarray)
    assert np.array_equal(plain, 2 * DENSE + 1)
    bits = np.zeros((3, 4), bool)
    np.isnan(x, out=bits)
    assert not bits.any()


REDUCTIONS = [np.sum, np.mean, np.prod, np.max, np.min, np.argmax, np.argmin]


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
def test_reductions(function, x):
    for axis in (0, 1):
        found = function(x, axis=axis)
        assert isinstance(found, nd.NDArray)
        assert np.allclose(found.asnumpy(), function(DENSE, axis=axis))
    if function not in (np.argmax, np.argmin):
        assert float(function(x)) == pytest.approx(float(function(DENSE)))
        assert function(x, axis=1, keepdims=True).shape == (3, 1)


def test_reductions_of_sparse_arrays(x):
    a = x.tostype("csr")
    assert np.array_equal(np.sum(a, axis=0).asnumpy(), DENSE.sum(0))
    assert float(np.sum(a)) == DENSE.sum()


def test_reductions_with_what_an_operator_does_not_take(x):
    assert np.array_equal(np.sum(x, axis=0, dtype=np.float64), DENSE.sum(0))
    assert np.sum(x, initial=5.0) == DENSE.sum() + 5


def test_other_functions(x):
    for found, wanted in (
        (np.dot(x, x.T), DENSE @ DENSE.T),
        (np.dot(x, DENSE.T), DENSE @ DENSE.T),
        (np.matmul(x, x.T), DENSE @ DENSE.T),
        (np.concatenate([x, x]), np.concatenate([DENSE, DENSE])),
        (np.concatenate([x, DENSE], axis=1), np.concatenate([DENSE, DENSE], axis=1)),
        (np.stack([x, x], axis=1), np.stack([DENSE, DENSE], axis=1)),
        (np.transpose(x), DENSE.T),
        (np.reshape(x, (4, 3)), DENSE.reshape(4, 3)),
        (np.squeeze(x[None], axis=0), DENSE),
        (np.expand_dims(x, 0), DENSE[None]),
        (np.clip(x, 1, 2), DENSE.clip(1, 2)),
        (np.copy(x), DENSE),
        (np.zeros_like(x), np.zeros_like(DENSE)),
        (np.ones_like(x), np.ones_like(DENSE)),
    ):
        assert isinstance(found, nd.NDArray)
        assert np.array_equal(found.asnumpy(), wanted)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((3, 4), 2, 12)
    assert np.concatenate([x, x], axis=None).shape == (24,)
    assert np.concatenate([x.tostype("csr")] * 2).stype == "csr"
