"""First values of rows: reproducible, configurable by name and numbers."""

import json

import numpy as np
import pytest

from ndsparse.errors import ArgumentError, ArgumentTypeError, DTypeError
from ndsparse.kvstore.row_init import RowInit, row_init, stream_of

IDS = np.array([3, 1, 5_000_000_000])


class Named:
    """Looks like MXNet's initializers."""

    def dumps(self):
        return json.dumps(["uniform", {"scale": 0.5}])


@pytest.mark.parametrize(
    ("initializer", "kind", "a", "b"),
    [
        (None, "constant", 0, 0),
        (2, "constant", 2, 0),
        ("zeros", "constant", 0, 0),
        ("ones", "constant", 1, 0),
        (("constant", {"value": -1.5}), "constant", -1.5, 0),
        ("uniform", "uniform", -0.07, 0.07),
        (Named(), "uniform", -0.5, 0.5),
        ('["normal", {"sigma": 0.2}]', "normal", 0, 0.2),
        ("normal", "normal", 0, 0.01),
        (("xavier", {}), "uniform", -((3 / 55) ** 0.5), (3 / 55) ** 0.5),
        (("xavier", {"rnd_type": "gaussian", "factor_type": "in", "magnitude": 2}), "normal", 0, 0.2**0.5),
        (("xavier", {"factor_type": "out", "fan_out": 12}), "uniform", -0.5, 0.5),
    ],
)
def test_initializers_by_name(initializer, kind, a, b):
    made = row_init(initializer, (100, 10))
    assert made.kind == kind
    assert made.a == pytest.approx(a)
    assert made.b == pytest.approx(b)


def test_config_round_trip():
    made = row_init(("uniform", {"scale": 1}), (4, 2), seed=3, key="w")
    config = json.loads(json.dumps(made.to_config()))
    assert RowInit.from_config(config) == made
    assert row_init(made, (4, 2)) is made


def test_the_row_depends_on_seed_and_key_only():
    def rows(seed, key):
        return row_init("uniform", (10, 4), seed=seed, key=key).rows(IDS, 4, np.float32)

    np.testing.assert_array_equal(rows(1, "w"), rows(1, "w"))
    assert (rows(1, "w") != rows(2, "w")).all()
    assert (rows(1, "w") != rows(1, "v")).all()
    assert stream_of(0, 3) != stream_of(0, "3")
    assert stream_of(42, "w") == 12747513148008248737


def test_constants_take_any_dtype():
    np.testing.assert_array_equal(row_init(3, (9, 2)).rows(IDS, 2, np.int32), np.full((3, 2), 3))
    assert row_init("zeros", (9, 2)).is_zero
    assert not row_init("uniform", (9, 2)).is_zero


def test_refusals():
    with pytest.raises(ArgumentError, match="'orthogonal' does not make rows"):
        row_init("orthogonal", (4, 2))
    with pytest.raises(ArgumentTypeError, match="wanted a name"):
        row_init(object(), (4, 2))
    with pytest.raises(DTypeError, match="int64"):
        row_init("uniform", (4, 2), dtype=np.int64)
    with pytest.raises(ArgumentError, match="factor_type"):
        row_init(("xavier", {"factor_type": "sum"}), (4, 2))
    with pytest.raises(ArgumentError, match="kind is 'gamma'"):
        RowInit("gamma")
