"""The generator of first values against its definition in plain integers, and published vectors."""

import math

import numpy as np
import pytest

from ndsparse.kernels.random_rows import mix64, normal_rows, uniform_rows

MASK = (1 << 64) - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def unit(stream, row_id, j):
    row = mix(stream ^ mix(row_id & MASK))
    return (mix((row + (j + 1) * 0x9E3779B97F4A7C15) & MASK) >> 11) * 2.0**-53


IDS = np.array([0, 1, -1, 7, 2**40 + 3, 5_000_000_000, -(2**63), 2**63 - 1])


def rows(function, stream, ids, a, b, width=5, dtype=np.float64):
    out = np.full((len(ids), width), np.nan, dtype)
    function(out, np.arange(len(ids)), ids, stream, a, b)
    return out


def test_mix_is_splitmix64():
    # The first outputs of SplitMix64 seeded with 1234567, as its users publish them.
    state, outputs = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        outputs.append(int(mix64(np.uint64(state))))
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("stream", [0, 42, MASK])
def test_uniform_is_as_defined(stream):
    wanted = [[-2 + 5 * unit(stream, int(i), j) for j in range(5)] for i in IDS]
    np.testing.assert_array_equal(rows(uniform_rows, stream, IDS, -2, 3), wanted)


@pytest.mark.parametrize("width", [1, 4, 5])
def test_normal_is_as_defined(width):
    wanted = np.empty((len(IDS), width + 1))
    for r, i in enumerate(IDS):
        for j in range(0, width, 2):
            radius = math.sqrt(-2 * math.log(1 - unit(9, int(i), j)))
            angle = 2 * math.pi * unit(9, int(i), j + 1)
            wanted[r, j : j + 2] = 1 + 0.5 * radius * math.cos(angle), 1 + 0.5 * radius * math.sin(angle)
    got = rows(normal_rows, 9, IDS, 1.0, 0.5, width)
    np.testing.assert_allclose(got, wanted[:, :width], rtol=1e-14)


def test_published_vectors():
    """These numbers never change: a store written by one version is read by the next."""
    np.testing.assert_array_equal(
        rows(uniform_rows, 42, np.array([0, 5_000_000_000, -1]), 0, 1, 3), UNIFORM_STREAM_42
    )
    np.testing.assert_allclose(rows(normal_rows, 42, np.array([0, 7]), 0, 1, 3), NORMAL_STREAM_42, rtol=1e-13)


UNIFORM_STREAM_42 = [
    [0.5961188718302076, 0.1603653875985772, 0.16639780398145976],
    [0.9986607030204453, 0.7686391496988579, 0.7852235081177765],
    [0.8736955580221993, 0.477471514405414, 0.18882959201957095],
]
NORMAL_STREAM_42 = [
    [0.7189198751663963, 1.138605979315142, 0.5760621378390508],
    [0.25434907221882774, 1.079860218483217, 0.807129375176235],
]


def test_float32_is_float64_rounded():
    for function in (uniform_rows, normal_rows):
        wide, narrow = (rows(function, 3, IDS, 0, 1, dtype=d) for d in (np.float64, np.float32))
        np.testing.assert_array_equal(narrow, wide.astype(np.float32))


def test_a_row_does_not_depend_on_its_company():
    ids = np.random.default_rng(0).integers(-(2**62), 2**62, 40_000)
    together = rows(uniform_rows, 1, ids, 0, 1, 8)  # enough for two threads
    one = rows(uniform_rows, 1, ids[123:124], 0, 1, 8)
    np.testing.assert_array_equal(together[123:124], one)


def test_places_receive_their_rows():
    out = np.zeros((6, 2))
    uniform_rows(out, np.array([4, 1]), np.array([10, 20]), 5, 1, 2)
    wanted = rows(uniform_rows, 5, np.array([10, 20]), 1, 2, 2)
    np.testing.assert_array_equal(out[[4, 1]], wanted)
    assert not out[[0, 2, 3, 5]].any()


def test_moments():
    uniform = rows(uniform_rows, 11, np.arange(20_000), 0, 1, 16)
    assert abs(uniform.mean() - 0.5) < 0.003
    assert abs(uniform.var() - 1 / 12) < 0.001
    normal = rows(normal_rows, 11, np.arange(20_000), 0, 1, 16)
    assert abs(normal.mean()) < 0.006
    assert abs(normal.std() - 1) < 0.005
    assert abs((normal**4).mean() - 3) < 0.1
    neighbours = np.corrcoef(uniform[:-1].ravel(), uniform[1:].ravel())[0, 1]
    assert abs(neighbours) < 0.01
