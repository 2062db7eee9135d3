"""Optimizer updates of whole weights or of some of their rows, in place.

All functions take the weight, its states (of the weight's shape and dtype unless said otherwise) and a
gradient, then numbers by keyword.  ``q`` below is the gradient as it acts: times ``rescale_grad``, and
clipped to ``-clip_gradient..clip_gradient`` when that is not negative.

Which rows are updated:

* ``rows=None``: all; ``grad`` has the weight's shape.
* ``rows`` (int64, distinct), ``exact=False``: those rows only (lazy); ``grad`` has one row for each.
* ``rows`` ascending, ``exact=True``: all rows; a row not in ``rows`` is updated as if its gradient
  were 0, without a zero being stored anywhere.

``sources`` (int64) says which row of ``grad`` belongs to each of ``rows`` when it is not the same
position.  Row positions are trusted: callers check ids.  Cost: every touched element of weight, states
and gradient is read and written once; nothing is allocated.

The formulas are MXNet 1.9.1's; where its sparse operators know no weight decay (adagrad,
group_adagrad), ``wd`` acts as in its dense code, beside the gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentError, DTypeError, ShapeError
from ndsparse.kernels import update_steps
from ndsparse.kernels.border import index, readable
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for

AnyArray = NDArray[Any]

_SEGMENT = 1024
"""Elements a step, when an elementwise update of all rows is cut anew (rows may be one element wide)."""

_BLOCK = 1 << 16
"""Rows without a gradient are listed in blocks of this many."""


def sgd(weight: AnyArray, grad: AnyArray, *, lr: float, **common: Any) -> None:
    """Do ``w -= lr (q + wd w)``."""
    _update(update_steps.sgd, weight, (), grad, lr, (), **common)


def sgd_mom(
    weight: AnyArray, mom: AnyArray, grad: AnyArray, *, lr: float, momentum: float, **common: Any
) -> None:
    """Do ``m = momentum m - lr (q + wd w); w += m``."""
    _update(update_steps.sgd_mom, weight, (mom,), grad, lr, (momentum,), **common)


def nag(
    weight: AnyArray, mom: AnyArray, grad: AnyArray, *, lr: float, momentum: float, **common: Any
) -> None:
    """Do Nesterov's step: ``w += momentum m' - lr (q + wd w)`` with the new momentum of :func:`sgd_mom`.

    As in MXNet, what is kept as momentum has ``wd`` times the new weight in it.
    """
    _update(update_steps.nag, weight, (mom,), grad, lr, (momentum,), **common)


def adam(
    weight: AnyArray,
    mean: AnyArray,
    var: AnyArray,
    grad: AnyArray,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    **common: Any,
) -> None:
    """Do ``m = b1 m + (1-b1) q; v = b2 v + (1-b2) q^2; w -= lr m / (sqrt(v) + eps)``.

    Here ``q = clip(rescale_grad g + wd w)``; the bias correction is the caller's, in ``lr``.
    """
    numbers = (*_with_rest(weight, beta1), *_with_rest(weight, beta2), epsilon, 0.0)
    _update(update_steps.adam, weight, (mean, var), grad, lr, numbers, **common)


def adamw(
    weight: AnyArray,
    mean: AnyArray,
    var: AnyArray,
    grad: AnyArray,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    decay: float = 0.0,
    **common: Any,
) -> None:
    """Do Adam with the decay outside of the moments: ``w -= lr m / (sqrt(v) + eps) + decay w``.

    There is no ``wd``; ``decay`` is what it does in one step (usually ``lr wd`` of the uncorrected rate).
    """
    numbers = (*_with_rest(weight, beta1), *_with_rest(weight, beta2), epsilon, decay)
    _update(update_steps.adam, weight, (mean, var), grad, lr, numbers, wd=0.0, **common)


def adagrad(
    weight: AnyArray, history: AnyArray, grad: AnyArray, *, lr: float, epsilon: float = 1e-7, **common: Any
) -> None:
    """Do ``s += q^2; w -= lr (q / sqrt(s + eps) + wd w)``."""
    _update(update_steps.adagrad, weight, (history,), grad, lr, (epsilon,), **common)


def group_adagrad(
    weight: AnyArray, history: AnyArray, grad: AnyArray, *, lr: float, epsilon: float = 1e-5, **common: Any
) -> None:
    """Do ``s[row] += mean(q^2); w -= lr (q / sqrt(s[row] + eps) + wd w)``; ``history`` is (rows, 1)."""
    share = 1.0 / max(1, math.prod(weight.shape[1:]))
    numbers = (epsilon, share, 0.0)
    _update(update_steps.group_adagrad, weight, (history,), grad, lr, numbers, by_row=True, **common)


def rmsprop(
    weight: AnyArray,
    n: AnyArray,
    grad: AnyArray,
    *,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    clip_weights: float = -1.0,
    **common: Any,
) -> None:
    """Do ``n = g1 n + (1-g1) q^2; w -= lr q / sqrt(n + eps)``, then clip the weight.

    Here ``q = clip(rescale_grad g + wd w)``.
    """
    numbers = (*_with_rest(weight, gamma1), epsilon, _bound(clip_weights))
    _update(update_steps.rmsprop, weight, (n,), grad, lr, numbers, **common)


def rmsprop_centered(
    weight: AnyArray,
    n: AnyArray,
    g: AnyArray,
    delta: AnyArray,
    grad: AnyArray,
    *,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    clip_weights: float = -1.0,
    **common: Any,
) -> None:
    """Do rmsprop around the mean ``g`` of the gradient, with momentum ``gamma2`` in ``delta``.

    ``a = g1 a + (1-g1) q; d = g2 d - lr q / sqrt(n - a^2 + eps); w += d``.
    """
    numbers = (*_with_rest(weight, gamma1), epsilon, _bound(clip_weights), gamma2)
    _update(update_steps.rmsprop_centered, weight, (n, g, delta), grad, lr, numbers, **common)


def ftrl(
    weight: AnyArray,
    z: AnyArray,
    n: AnyArray,
    grad: AnyArray,
    *,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    **common: Any,
) -> None:
    """Do follow-the-regularised-leader: ``w`` is 0 where ``|z| <= lamda1``.

    ``z += q - (sqrt(n + q^2) - sqrt(n)) w / lr; n += q^2;
    w = (sign(z) lamda1 - z) / ((beta + sqrt(n)) / lr + wd)``.
    """
    _update(update_steps.ftrl, weight, (z, n), grad, lr, (lamda1, beta, 0.0), **common)


def _bound(limit: float | None) -> float:
    """Return the bound a limit means: none when it is None or negative."""
    return math.inf if limit is None or limit < 0 else float(limit)


def _with_rest(weight: AnyArray, beta: float) -> tuple[Any, Any]:
    """Return ``beta`` and ``1 - beta``, the difference taken in the dtype of the weight."""
    scalar = weight.dtype.type
    return beta, scalar(1) - scalar(beta)


def _update(
    step: Any,
    weight: AnyArray,
    states: Sequence[AnyArray],
    grad: AnyArray,
    lr: float,
    numbers: Sequence[float],
    *,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float | None = -1.0,
    rows: AnyArray | None = None,
    sources: AnyArray | None = None,
    exact: bool = False,
    by_row: bool = False,
) -> None:
    """Bring the operands into the kernels' form; then the rows with a gradient, then the others."""
    targets = [_target(weight, weight, "weight"), *(_target(state, weight, "a state") for state in states)]
    h = np.array([lr, wd, rescale_grad, _bound(clip_gradient), *numbers], dtype=weight.dtype)
    values = _matrix(readable(np.ascontiguousarray(grad, dtype=weight.dtype)))
    if rows is None:
        if grad.shape != weight.shape:
            raise ShapeError(f"update: grad has shape {grad.shape}, weight {weight.shape}; they must agree")
        for parts in [[*targets, values]] if by_row else _segments([*targets, values]):
            every = np.arange(len(parts[0]))
            _run(step, parts, every, every, h)
        return
    places = index(rows).astype(np.int64, copy=False)
    _check_rows(targets[0], values, places, sources)
    origins = np.arange(len(places)) if sources is None else index(sources).astype(np.int64, copy=False)
    _run(step, [*targets, values], places, origins, h)
    if exact:
        _update_absent(step, targets, places, h)


def _run(step: Any, arrays: list[AnyArray], rows: AnyArray, sources: AnyArray, h: AnyArray) -> None:
    """Share the rows among threads."""
    if len(rows):
        bounds = even_bounds(len(rows), max(1, threads_for(len(rows) * arrays[0].shape[1])))
        run_blocks(step, bounds, *arrays, rows, sources, h)


def _update_absent(step: Any, targets: list[AnyArray], present: AnyArray, h: AnyArray) -> None:
    """Update the rows that are not in ``present`` (ascending), each with the same row of zeros."""
    zeros = np.zeros((1, targets[0].shape[1]), targets[0].dtype)
    count = len(targets[0])
    sources = np.zeros(min(_BLOCK, count), np.int64)
    for begin in range(0, count, _BLOCK):
        end = min(begin + _BLOCK, count)
        first, last = np.searchsorted(present, (begin, end))
        absent = np.delete(np.arange(begin, end), present[first:last] - begin)
        _run(step, [*targets, zeros], absent, sources[: len(absent)], h)


def _target(array: AnyArray, weight: AnyArray, name: str) -> AnyArray:
    """Return a weight or state as the matrix the kernels write, refusing what they could not."""
    if array.dtype != np.float32 and array.dtype != np.float64:
        raise DTypeError(f"update: {name} is {array.dtype}; wanted float32 or float64")
    if array.dtype != weight.dtype:
        raise DTypeError(f"update: {name} is {array.dtype}, the weight {weight.dtype}; they must agree")
    if not (array.flags.c_contiguous and array.flags.writeable):
        raise ArgumentError(f"update: {name} must be C-contiguous and writable, it is updated in place")
    if array.ndim == 0 or len(array) != len(weight):
        raise ShapeError(f"update: {name} has shape {array.shape}, the weight {weight.shape}")
    return _matrix(array)


def _matrix(array: AnyArray) -> AnyArray:
    """Return a contiguous array as (rows, elements a row)."""
    if array.ndim == 2:
        return array
    return array.reshape(len(array), math.prod(array.shape[1:]))


def _segments(arrays: list[AnyArray]) -> list[list[AnyArray]]:
    """Cut equal matrices into rows of ``_SEGMENT`` elements, and what is left over."""
    if arrays[0].shape[1] >= _SEGMENT:
        return [arrays]
    flat = [a.reshape(-1) for a in arrays]
    cut = len(flat[0]) // _SEGMENT * _SEGMENT
    parts = [[a[:cut].reshape(-1, _SEGMENT) for a in flat], [a[cut:].reshape(1, -1) for a in flat]]
    return [part for part in parts if part[0].size]


def _check_rows(weight: AnyArray, grad: AnyArray, rows: AnyArray, sources: AnyArray | None) -> None:
    if grad.shape[1] != weight.shape[1]:
        raise ShapeError(f"update: a row of grad has {grad.shape[1]} elements, of weight {weight.shape[1]}")
    if sources is None and len(grad) != len(rows):
        raise ShapeError(f"update: grad has {len(grad)} rows for {len(rows)} row positions")
    if sources is not None and len(sources) != len(rows):
        raise ShapeError(f"update: {len(sources)} sources for {len(rows)} row positions")
