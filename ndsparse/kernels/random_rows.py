"""First values of rows: a pure function of (stream, row id, column).

A counter-based generator: element ``j`` of row ``id`` is made from the 64 bits

    bits(stream, id, j) = mix(mix(stream ^ mix(id)) + (j + 1) * 0x9E3779B97F4A7C15)

where ``mix`` is the finaliser of SplitMix64 and all arithmetic is modulo 2^64.  So a row has the same
value whatever rows were made before it, in whatever process.  A uniform number in [0, 1) is the upper
53 bits times 2^-53.  Values are computed in float64 and rounded to the dtype of the row, so that
float32 rows are float64 rows rounded.  The published test vectors are in the tests of this module.

References
----------
G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number generators (2014), section 5.
J. Salmon et al.: Parallel random numbers: as easy as 1, 2, 3 (2011), on counter-based generators.
G. Box, M. Muller: A note on the generation of random normal deviates (1958).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.kernels.jit import kernel
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for

GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
ONE = np.uint64(1)
UNIT = 2.0**-53


@kernel
def mix64(value: Any) -> Any:
    """Return 64 bits that all depend on all bits of ``value`` (uint64): SplitMix64's finaliser."""
    z = value
    z = (z ^ (z >> S30)) * MIX1
    z = (z ^ (z >> S27)) * MIX2
    return z ^ (z >> S31)


@kernel
def unit(row: Any, counter: Any) -> Any:
    """Return draw ``counter`` (uint64, from 1) of a row's stream, uniform in [0, 1)."""
    return (mix64(row + counter * GAMMA) >> S11) * UNIT


@kernel
def fill_uniform(
    begin: Any, end: Any, out: Any, places: Any, ids: Any, stream: Any, low: Any, high: Any
) -> None:
    """Write rows that are uniform in [low, high)."""
    for i in range(begin, end):
        row, place = mix64(stream[0] ^ mix64(np.uint64(ids[i]))), places[i]
        for j in range(out.shape[1]):
            out[place, j] = low + (high - low) * unit(row, np.uint64(j) + ONE)


@kernel
def fill_normal(
    begin: Any, end: Any, out: Any, places: Any, ids: Any, stream: Any, mean: Any, sigma: Any
) -> None:
    """Write rows that are normal, two elements from two draws (Box and Muller)."""
    width = out.shape[1]
    for i in range(begin, end):
        row, place = mix64(stream[0] ^ mix64(np.uint64(ids[i]))), places[i]
        for j in range(0, width, 2):
            first, second = unit(row, np.uint64(j) + ONE), unit(row, np.uint64(j) + ONE + ONE)
            radius = sigma * math.sqrt(-2.0 * math.log(1.0 - first))
            angle = 2.0 * math.pi * second
            out[place, j] = mean + radius * math.cos(angle)
            if j + 1 < width:
                out[place, j + 1] = mean + radius * math.sin(angle)


def uniform_rows(
    out: NDArray[Any], places: NDArray[Any], ids: NDArray[Any], stream: int, low: float, high: float
) -> None:
    """Write the first values of rows ``ids`` into rows ``places`` of ``out``, uniform in [low, high).

    Parameters
    ----------
    out : ndarray of float32 or float64, (n, width), C-contiguous
    places, ids : ndarray of int64
        Of equal length; ``places`` are distinct.
    stream : int
        0 <= stream < 2^64; different streams give unrelated values.
    low, high : float
    """
    _fill(fill_uniform, out, places, ids, stream, low, high)


def normal_rows(
    out: NDArray[Any], places: NDArray[Any], ids: NDArray[Any], stream: int, mean: float, sigma: float
) -> None:
    """Write the first values of rows ``ids``, normal with that mean and standard deviation.

    The parameters are those of :func:`uniform_rows`.
    """
    _fill(fill_normal, out, places, ids, stream, mean, sigma)


def _fill(
    step: Any, out: NDArray[Any], places: NDArray[Any], ids: NDArray[Any], stream: int, a: float, b: float
) -> None:
    bounds = even_bounds(len(ids), max(1, threads_for(4 * len(ids) * out.shape[1])))
    run_blocks(step, bounds, out, places, ids, np.array([stream], np.uint64), float(a), float(b))
