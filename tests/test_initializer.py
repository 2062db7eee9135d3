"""Initializers: rules by name, values, and their JSON."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

from ndsparse import initializer as init
from ndsparse import nd
from ndsparse import random as mx_random
from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError


def made(initializer, shape, name="fc_weight", stype="default", dtype="float32", attrs=None):
    array = nd.zeros(shape, stype=stype, dtype=dtype)
    initializer(init.InitDesc(name, attrs), array)
    return array


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fc_bias", 0), ("bn_gamma", 1), ("bn_beta", 0), ("bn_moving_mean", 0), ("bn_moving_var", 1),
        ("bn_running_var", 1), ("q_min", 0), ("q_max", 1),
    ],
)  # fmt: skip
def test_the_end_of_the_name_decides(name, value):
    for desc in (name, init.InitDesc(name)):
        array = nd.full((3,), 9)
        init.Uniform()(desc, array)
        assert array.asnumpy().tolist() == [value] * 3


def test_an_unknown_name_is_refused_by_those_that_are_no_constants():
    for kind in (init.Uniform(), init.Normal(), init.Xavier(), init.Orthogonal()):
        with pytest.raises(ArgumentError, match="Unknown initialization pattern for embedding"):
            made(kind, (2, 2), "embedding")
    assert made(init.Zero(), (2,), "embedding").asnumpy().tolist() == [0, 0]
    assert made(init.Constant(3), (2,), "embedding").asnumpy().tolist() == [3, 3]


def test_the_attribute_of_the_variable_goes_first():
    attrs = {"__init__": init.Constant(5).dumps()}
    assert made(init.Zero(), (2,), "fc_bias", attrs=attrs).asnumpy().tolist() == [5, 5]
    assert made(init.Zero(), (2,), "anything", attrs={"__init__": "ones"}).asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_distributions(stype):
    mx_random.seed(5)
    uniform = made(init.Uniform(0.5), (400, 50), stype=stype)
    values = uniform.asnumpy()
    assert -0.5 <= values.min() < -0.49
    assert 0.49 < values.max() < 0.5
    assert abs(values.std() - 0.5 / 3**0.5) < 0.005
    normal = made(init.Normal(0.2), (400, 50), stype=stype).asnumpy()
    assert abs(normal.mean()) < 0.01
    assert abs(normal.std() - 0.2) < 0.005
    uniform.check_format(full_check=True)
    if stype == "row_sparse":
        assert uniform.indices.shape == (400,)


def test_zeros_of_a_sparse_array_store_nothing():
    for stype in ("row_sparse", "csr"):
        array = nd.ones((3, 2)).tostype(stype)
        init.Zero()("w_weight", array)
        assert array.asnumpy().tolist() == [[0, 0]] * 3
        assert array.data.shape[0] == 0
    array = nd.zeros((1 << 40, 2), stype="row_sparse")
    init.Zero()("w_weight", array)
    assert array.indices.shape == (0,)


def test_constants_of_sparse_arrays():
    array = made(init.One(), (3, 2), stype="row_sparse")
    assert array.indices.asnumpy().tolist() == [0, 1, 2]
    assert array.asnumpy().tolist() == [[1, 1]] * 3
    assert made(init.Constant(2), (2, 2), stype="csr").asnumpy().tolist() == [[2, 2]] * 2
    values = init.Constant([[1, 2], [3, 4]])
    assert made(values, (2, 2), stype="row_sparse").asnumpy().tolist() == [[1, 2], [3, 4]]
    assert made(init.Constant(nd.array([1, 2])), (2,), dtype="float64").asnumpy().tolist() == [1, 2]
    with pytest.raises(ShapeError, match="fc_weight"):
        made(init.Constant([1, 2, 3]), (2, 2))


@pytest.mark.parametrize(
    ("kind", "variance"),
    [
        (init.Xavier(), 3 / 300 / 3),  # (400 + 200) / 2 = 300; uniform: a third of it
        (init.Xavier("gaussian", "in", 2), 2 / 200),
        (init.Xavier("gaussian", "out", 2), 2 / 400),
        (init.MSRAPrelu(), 2 / (1 + 0.0625) / 300),
        (init.MSRAPrelu("in", 0), 2 / 200),
    ],
)
def test_xavier(kind, variance):
    mx_random.seed(1)
    values = made(kind, (400, 200)).asnumpy()
    assert abs(values.var() / variance - 1) < 0.03


def test_xavier_counts_the_field_and_needs_two_dimensions():
    mx_random.seed(1)
    values = made(init.Xavier(), (64, 32, 3, 3)).asnumpy()
    assert abs(np.abs(values).max() - (3 / (48 * 9)) ** 0.5) < 1e-3
    with pytest.raises(ShapeError, match="fc_weight"):
        made(init.Xavier(), (3,))


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (3, 2, 4)])
def test_orthogonal(shape):
    for rand_type in ("uniform", "normal"):
        matrix = made(init.Orthogonal(1.414, rand_type), shape).asnumpy().reshape(shape[0], -1)
        small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        np.testing.assert_allclose(small, np.eye(len(small)) * 1.414**2, atol=1e-5)


def test_bilinear_and_lstm_bias():
    kernel = made(init.Bilinear(), (2, 1, 4, 4)).asnumpy()
    line = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(kernel[1, 0], np.outer(line, line), rtol=1e-6)
    odd = made(init.Bilinear(), (1, 1, 5, 5)).asnumpy()
    np.testing.assert_allclose(odd[0, 0, 2], np.array([1, 2, 3, 2, 1]) / 3, rtol=1e-6)
    bias = made(init.LSTMBias(2), (8,), "lstm", attrs={"__init__": init.LSTMBias(2).dumps()})
    assert bias.asnumpy().tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "kind",
    [
        init.Zero(), init.One(), init.Constant(2.5), init.Constant([1, 2]), init.Uniform(0.1), init.Normal(2),
        init.Orthogonal(2, "normal"), init.Xavier("gaussian", "in", 2), init.MSRAPrelu("out", 0.1),
        init.Bilinear(),
        init.LSTMBias(3),
    ],
)  # fmt: skip
def test_json_gives_the_initializer_again(kind):
    name, _ = json.loads(kind.dumps())
    assert name == type(kind).__name__.lower()
    again = init.create(kind.dumps())
    assert again == kind
    assert hash(again) == hash(kind)
    assert again is not kind


def test_create():
    assert init.create("zeros") == init.Zero()
    assert init.create("Xavier", magnitude=2) == init.Xavier(magnitude=2)
    kind = init.Normal()
    assert init.create(kind) is kind
    for bad in ("nothing", '["nothing", {}]', "[1", '["normal", {"size": 3}]'):
        with pytest.raises(ArgumentError):
            init.create(bad)
    with pytest.raises(ArgumentTypeError):
        init.create(3)
    with pytest.raises(ArgumentTypeError):
        init.register(int)


def test_load_and_mixed(tmp_path):
    nd.save(tmp_path / "p", {"arg:a": nd.array([1, 2]), "aux:b": nd.array([3])})
    load = init.Load(tmp_path / "p", init.One(), verbose=True)
    assert made(load, (2,), "a").asnumpy().tolist() == [1, 2]
    assert made(load, (1,), "b").asnumpy().tolist() == [3]
    assert made(load, (1,), "c").asnumpy().tolist() == [1]
    with pytest.raises(ShapeError, match="a has shape"):
        made(load, (3,), "a")
    with pytest.raises(ArgumentError, match="not among"):
        made(init.Load({}), (1,), "c")
    mixed = init.Mixed(["emb.*", ".*"], [init.One(), "zeros"])
    assert made(mixed, (1,), "emb_in").asnumpy().tolist() == [1]
    assert made(mixed, (1,), "other").asnumpy().tolist() == [0]
    with pytest.raises(ArgumentError, match="did not match any pattern"):
        made(init.Mixed(["x"], [init.One()]), (1,), "y")


def test_the_seed_decides_and_verbosity_logs(caplog):
    mx_random.seed(9)
    a = made(init.Normal(), (4,)).asnumpy()
    mx_random.seed(9)
    with caplog.at_level(logging.INFO):
        b = made(init.Normal().set_verbosity(True), (4,)).asnumpy()
    np.testing.assert_array_equal(a, b)
    assert "fc_weight initialized by weight" in caplog.text
