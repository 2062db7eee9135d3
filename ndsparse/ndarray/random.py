"""``nd.random``: arrays of random numbers, drawn from the generator that ``mx.random.seed`` sets.

Parameters of distributions are numbers, or arrays; an array of shape ``s`` gives a result of shape
``s + shape``, with ``shape`` draws for each parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.ndarray.generator import generator, seed
from ndsparse.ndarray.invoke import dense
from ndsparse.ndarray.ndarray import NDArray, context_or_current
from ndsparse.storage import as_dtype, as_shape

__all__ = [
    "bernoulli", "exponential", "gamma", "multinomial", "negative_binomial", "normal", "poisson", "randint",
    "randn", "seed", "shuffle", "uniform",
]  # fmt: skip

Draw = Callable[..., "np.ndarray[Any, Any]"]


def uniform(
    low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return numbers that are uniform in [low, high).

    Parameters
    ----------
    low, high : float or NDArray
    shape : int or tuple of int, optional
        Draws for each parameter; default one.
    dtype : dtype, optional
        Default float32.
    ctx : Context, optional
    out : NDArray, optional
        Written instead; gives shape and dtype.

    Examples
    --------
    >>> from ndsparse import nd
    >>> nd.random.uniform(-1, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _sample(
        "uniform", lambda rng, a, b, size: rng.uniform(a, b, size), (low, high), shape, dtype, ctx, out
    )


def normal(
    loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return numbers of a normal distribution with mean ``loc`` and standard deviation ``scale``."""
    return _sample(
        "normal", lambda rng, a, b, size: rng.normal(a, b, size), (loc, scale), shape, dtype, ctx, out
    )


def randn(*shape: int, loc: Any = 0, scale: Any = 1, **kwargs: Any) -> Any:
    """Return ``normal(loc, scale, shape)``."""
    return normal(loc, scale, shape or None, **kwargs)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Return numbers of a Poisson distribution with mean ``lam``."""
    return _sample("poisson", lambda rng, a, size: rng.poisson(a, size), (lam,), shape, dtype, ctx, out)


def exponential(
    scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return numbers of an exponential distribution with mean ``scale``."""
    return _sample(
        "exponential", lambda rng, a, size: rng.exponential(a, size), (scale,), shape, dtype, ctx, out
    )


def gamma(
    alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return numbers of a gamma distribution of shape ``alpha`` and scale ``beta``."""
    return _sample(
        "gamma", lambda rng, a, b, size: rng.gamma(a, b, size), (alpha, beta), shape, dtype, ctx, out
    )


def negative_binomial(
    k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Return failures before the ``k``-th success, each of probability ``p``."""
    return _sample(
        "negative_binomial",
        lambda rng, a, b, size: rng.negative_binomial(a, b, size),
        (k, p),
        shape,
        dtype,
        ctx,
        out,
    )


def bernoulli(prob: Any = 0.5, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Return ones with probability ``prob``, else zeros."""
    return _sample("bernoulli", lambda rng, a, size: rng.random(size) < a, (prob,), shape, dtype, ctx, out)


def randint(
    low: Any, high: Any, shape: Any = None, dtype: Any = "int32", ctx: Any = None, out: Any = None
) -> Any:
    """Return whole numbers that are uniform in [low, high) (int32 unless int64 is asked for)."""
    draw: Draw = lambda rng, a, b, size: rng.integers(a, b, size, dtype=np.int64)  # noqa: E731
    return _sample("randint", draw, (low, high), shape, dtype, ctx, out)


def multinomial(data: Any, shape: Any = None, get_prob: bool = False, dtype: Any = "int32") -> Any:
    """Return class numbers drawn with the probabilities in the last axis of ``data``.

    Parameters
    ----------
    data : NDArray
        (k,) or (n, k), each row sums to 1.
    shape : int or tuple of int, optional
        Draws for each row; default one.
    get_prob : bool
        Return also the logarithm of the probability of each draw.
    dtype : dtype
    """
    if not isinstance(data, NDArray) or data.ndim not in (1, 2):
        raise ArgumentTypeError("multinomial: data must be an NDArray of 1 or 2 dimensions")
    table = data.asnumpy().astype(np.float64)
    if table.shape[-1] == 0 or (table < 0).any() or not np.allclose(table.sum(axis=-1), 1, atol=1e-4):
        raise ArgumentError("multinomial: every row of data must hold probabilities that sum to 1")
    dims = () if shape is None else as_shape(shape)
    size = (*table.shape[:-1], *dims)
    edges = np.cumsum(np.atleast_2d(table), axis=1)
    draws = generator().random((len(edges), int(np.prod(dims, dtype=np.int64)))) * edges[:, -1:]
    found = np.stack([np.searchsorted(e, d, side="right") for e, d in zip(edges, draws, strict=True)])
    found = np.minimum(found, table.shape[-1] - 1)
    result = dense(found.astype(as_dtype(dtype)).reshape(size or (1,)))
    if not get_prob:
        return result
    with np.errstate(divide="ignore"):
        log = np.log(np.take_along_axis(np.atleast_2d(table), found, axis=1))
    return [result, dense(log.astype(data.dtype).reshape(size or (1,)))]


def shuffle(data: Any, **kwargs: Any) -> Any:
    """Return a dense array with its rows in random order."""
    if not isinstance(data, NDArray):
        raise ArgumentTypeError(f"shuffle: expected an NDArray, got {type(data).__name__}")
    return dense(generator().permutation(data.asnumpy(), axis=0))


def _sample(
    name: str, draw: Draw, params: tuple[Any, ...], shape: Any, dtype: Any, ctx: Any, out: Any
) -> Any:
    if out is not None and shape is None:
        shape = out.shape
    dims = () if shape is None else as_shape(shape)
    arrays = [p.asnumpy() if isinstance(p, NDArray) else p for p in params]
    outer = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    arrays = [np.reshape(a, np.shape(a) + (1,) * len(dims)) if np.ndim(a) else a for a in arrays]
    try:
        values = draw(generator(), *arrays, (*outer, *dims) or (1,))
    except ValueError as error:
        raise ArgumentError(f"{name}: {error}") from None
    if out is not None:
        out[:] = values.astype(out.dtype, copy=False)
        return out
    result = dense(np.ascontiguousarray(values.astype(as_dtype(dtype or np.float32), copy=False)))
    result._ctx = context_or_current(ctx)
    return result
