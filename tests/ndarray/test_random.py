"""Random numbers: seeds, states, shapes and moments."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ndsparse import nd
from ndsparse import random as mx_random
from ndsparse.errors import ArgumentError, ArgumentTypeError


def test_a_seed_gives_the_same_numbers_and_another_gives_others():
    mx_random.seed(3)
    a = mx_random.normal(shape=(5,)).asnumpy()
    mx_random.seed(3)
    np.testing.assert_array_equal(mx_random.normal(shape=(5,)).asnumpy(), a)
    for other in (4, -3, 0):
        mx_random.seed(other, ctx="all")
        assert not np.array_equal(mx_random.normal(shape=(5,)).asnumpy(), a)


def test_without_a_seed_every_run_draws_the_same(run_python):
    code = "import ndsparse as mx; print(mx.nd.random.uniform(shape=(3,)).asnumpy().tolist())"
    assert run_python(code) == run_python(code)


def test_a_state_goes_through_json():
    state = json.loads(json.dumps(mx_random.get_state()))
    a = nd.random.uniform(shape=4).asnumpy()
    mx_random.set_state(state)
    np.testing.assert_array_equal(nd.random.uniform(shape=4).asnumpy(), a)
    with pytest.raises(ArgumentError, match="state"):
        mx_random.set_state({"bit_generator": "other"})
    with pytest.raises(ArgumentTypeError, match="seed_state"):
        mx_random.seed(1.5)


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        (lambda n: nd.random.uniform(-2, 4, shape=n), 1, 6 / 12**0.5),
        (lambda n: nd.random.normal(3, 2, shape=n), 3, 2),
        (lambda n: nd.random.randn(n, loc=-1, scale=3), -1, 3),
        (lambda n: nd.random.poisson(4, shape=n), 4, 2),
        (lambda n: nd.random.exponential(5, shape=n), 5, 5),
        (lambda n: nd.random.gamma(4, 0.5, shape=n), 2, 1),
        (lambda n: nd.random.bernoulli(0.2, shape=n), 0.2, 0.4),
        (lambda n: nd.random.negative_binomial(3, 0.5, shape=n), 3, 6**0.5),
        (lambda n: nd.random.randint(0, 11, shape=n), 5, 10**0.5),
    ],
)
def test_moments(draw, mean, deviation):
    mx_random.seed(1)
    values = draw(20_000).asnumpy()
    assert values.shape == (20_000,)
    assert abs(values.mean() - mean) < 5 * deviation / 20_000**0.5
    assert abs(values.std() / deviation - 1) < 0.05


def test_shapes_dtypes_and_out():
    assert nd.random.uniform().shape == (1,)
    assert nd.random.uniform(shape=(2, 0)).shape == (2, 0)
    assert nd.random.normal(dtype="float64", shape=2).dtype == np.float64
    assert nd.random.randint(0, 5, shape=2).dtype == np.int32
    low = nd.array([0, 10])
    found = nd.random.uniform(low, low + 1, shape=(3,))
    assert found.shape == (2, 3)
    assert (found.asnumpy()[1] >= 10).all()
    out = nd.zeros((2, 2))
    assert nd.random.uniform(1, 2, out=out) is out
    assert (out.asnumpy() >= 1).all()
    with pytest.raises(ArgumentError, match="normal"):
        nd.random.normal(0, -1, shape=3)


def test_multinomial_and_shuffle():
    mx_random.seed(2)
    draws, log = nd.random.multinomial(nd.array([[0.0, 1.0], [0.5, 0.5]]), shape=1000, get_prob=True)
    assert draws.shape == log.shape == (2, 1000)
    assert (draws.asnumpy()[0] == 1).all()
    assert abs(draws.asnumpy()[1].mean() - 0.5) < 0.1
    np.testing.assert_allclose(log.asnumpy()[1], np.log(0.5), rtol=1e-6)
    assert nd.random.multinomial(nd.array([1.0, 0.0])).asnumpy().tolist() == [0]
    with pytest.raises(ArgumentError, match="sum to 1"):
        nd.random.multinomial(nd.array([0.5, 0.2]))
    rows = nd.random.shuffle(nd.array(np.arange(40).reshape(20, 2))).asnumpy()
    assert sorted(rows[:, 0]) == list(range(0, 40, 2))
    assert (rows[:, 1] == rows[:, 0] + 1).all()
