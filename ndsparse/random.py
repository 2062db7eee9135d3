"""``mx.random``: the seed and the samplers.

Examples
--------
>>> import ndsparse as mx
>>> mx.random.seed(7)
>>> a = mx.random.uniform(shape=(3,)).asnumpy()
>>> mx.random.seed(7)
>>> bool((mx.random.uniform(shape=(3,)).asnumpy() == a).all())
True
"""

from __future__ import annotations

from ndsparse.ndarray.generator import generator, get_state, seed, set_state
from ndsparse.ndarray.random import (
    bernoulli,
    exponential,
    gamma,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)

__all__ = [
    "bernoulli", "exponential", "gamma", "generator", "get_state", "multinomial", "negative_binomial",
    "normal",
    "poisson", "randint", "randn", "seed", "set_state", "shuffle", "uniform",
]  # fmt: skip
