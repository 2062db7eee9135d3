"""The inner loops of the optimizer updates, one kernel an optimizer.

Every kernel has the form ``step(begin, end, weight, states..., grad, rows, sources, h)``: for ``i`` in
``begin:end`` it updates row ``rows[i]`` of the weight with row ``sources[i]`` of the gradient.  Which
rows these are, all or some, with a gradient or without, is the driver's business
(:mod:`ndsparse.kernels.updates`).

``h`` holds the numbers of the update in the dtype of the weight (a double would pull the arithmetic of
float32 rows into float64): ``lr, wd, rescale_grad, bound of the clip (infinite: no clip)``, then the
optimizer's own.  The rows of one call are distinct, so that its blocks may run in threads.
"""

from __future__ import annotations

import math
from typing import Any

from ndsparse.kernels.jit import kernel
from ndsparse.kernels.prefetch import AHEAD, prefetch_row


@kernel
def clipped(value: Any, bound: Any) -> Any:
    """Return ``value`` held within ``-bound..bound``; NaN stays NaN."""
    upper = bound if value > bound else value
    return -bound if upper < -bound else upper


@kernel
def sgd(begin: Any, end: Any, weight: Any, grad: Any, rows: Any, sources: Any, h: Any) -> None:
    """``w -= lr (g + wd w)``."""
    lr, wd, rescale, bound = h[0], h[1], h[2], h[3]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound)
            w = weight[row, j]
            weight[row, j] = w - lr * (g + wd * w)


@kernel
def sgd_mom(begin: Any, end: Any, weight: Any, mom: Any, grad: Any, rows: Any, sources: Any, h: Any) -> None:
    """``m = momentum m - lr (g + wd w); w += m``."""
    lr, wd, rescale, bound, momentum = h[0], h[1], h[2], h[3], h[4]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(mom, ahead)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound)
            w = weight[row, j]
            m = momentum * mom[row, j] - lr * (g + wd * w)
            mom[row, j] = m
            weight[row, j] = w + m


@kernel
def nag(begin: Any, end: Any, weight: Any, mom: Any, grad: Any, rows: Any, sources: Any, h: Any) -> None:
    """``w += momentum^2 m - (1 + momentum) lr (g + wd w); m = momentum m - lr (g + wd w)``.

    The second ``w`` is the new weight.  MXNet writes the weight before the momentum reads it, and so
    decays the momentum by the new weight; its numbers are kept.
    """
    lr, wd, rescale, bound, momentum = h[0], h[1], h[2], h[3], h[4]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(mom, ahead)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound)
            w = weight[row, j]
            kept = momentum * mom[row, j]
            step = lr * (g + wd * w)
            w = w + momentum * (kept - step) - step
            mom[row, j] = kept - lr * (g + wd * w)
            weight[row, j] = w


@kernel
def adam(
    begin: Any,
    end: Any,
    weight: Any,
    mean: Any,
    var: Any,
    grad: Any,
    rows: Any,
    sources: Any,
    h: Any,
) -> None:
    """``m = b1 m + (1-b1) q; v = b2 v + (1-b2) q^2; w -= lr m / (sqrt(v) + eps) + decay w``.

    ``q = clip(r g + wd w)``: the decay ``wd`` is inside (Adam), ``decay`` outside (AdamW).
    """
    lr, wd, rescale, bound = h[0], h[1], h[2], h[3]
    beta1, rest1, beta2, rest2, epsilon, decay = h[4], h[5], h[6], h[7], h[8], h[9]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(mean, ahead)
        prefetch_row(var, ahead)
        for j in range(weight.shape[1]):
            w = weight[row, j]
            g = rescale * grad[source, j]
            q = clipped(g + wd * w, bound)
            m = beta1 * mean[row, j] + rest1 * q
            v = beta2 * var[row, j] + rest2 * (q * q)
            mean[row, j] = m
            var[row, j] = v
            weight[row, j] = w - (lr * m / (math.sqrt(v) + epsilon) + decay * w)


@kernel
def adagrad(
    begin: Any, end: Any, weight: Any, history: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``s += g^2; w -= lr (g / sqrt(s + eps) + wd w)``."""
    lr, wd, rescale, bound, epsilon = h[0], h[1], h[2], h[3], h[4]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(history, ahead)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound)
            s = history[row, j] + g * g
            history[row, j] = s
            w = weight[row, j]
            weight[row, j] = w - lr * (g / math.sqrt(s + epsilon) + wd * w)


@kernel(fastmath={"reassoc"})
def square_sum(grad: Any, source: Any, rescale: Any, bound: Any, zero: Any) -> Any:
    """Return the sum of the squared (scaled, clipped) gradient of a row."""
    total = zero
    for j in range(grad.shape[1]):
        g = clipped(rescale * grad[source, j], bound)
        total += g * g
    return total


@kernel
def group_adagrad(
    begin: Any, end: Any, weight: Any, history: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``s[row] += mean(g^2); w -= lr (g / sqrt(s[row] + eps) + wd w)``."""
    lr, wd, rescale, bound = h[0], h[1], h[2], h[3]
    epsilon, share, zero = h[4], h[5], h[6]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(history, ahead)
        s = history[row, 0] + share * square_sum(grad, source, rescale, bound, zero)
        history[row, 0] = s
        root = math.sqrt(s + epsilon)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound)
            w = weight[row, j]
            weight[row, j] = w - lr * (g / root + wd * w)


@kernel
def rmsprop(begin: Any, end: Any, weight: Any, n: Any, grad: Any, rows: Any, sources: Any, h: Any) -> None:
    """``q = clip(r g + wd w); n = g1 n + (1-g1) q^2; w -= lr q / sqrt(n + eps)``; then clip w."""
    lr, wd, rescale, bound = h[0], h[1], h[2], h[3]
    gamma, rest, epsilon, limit = h[4], h[5], h[6], h[7]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(n, ahead)
        for j in range(weight.shape[1]):
            w = weight[row, j]
            g = rescale * grad[source, j]
            q = clipped(g + wd * w, bound)
            s = rest * (q * q) + gamma * n[row, j]
            n[row, j] = s
            weight[row, j] = clipped(w - lr * q / math.sqrt(s + epsilon), limit)


@kernel
def rmsprop_centered(
    begin: Any,
    end: Any,
    weight: Any,
    n: Any,
    mean: Any,
    delta: Any,
    grad: Any,
    rows: Any,
    sources: Any,
    h: Any,
) -> None:
    """As rmsprop, with ``a = g1 a + (1-g1) q; d = g2 d - lr q / sqrt(n - a^2 + eps); w += d``."""
    lr, wd, rescale, bound = h[0], h[1], h[2], h[3]
    gamma, rest, epsilon, limit, gamma2 = h[4], h[5], h[6], h[7], h[8]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(n, ahead)
        prefetch_row(mean, ahead)
        prefetch_row(delta, ahead)
        for j in range(weight.shape[1]):
            w = weight[row, j]
            g = rescale * grad[source, j]
            q = clipped(g + wd * w, bound)
            s = rest * (q * q) + gamma * n[row, j]
            a = rest * q + gamma * mean[row, j]
            d = gamma2 * delta[row, j] - lr * q / math.sqrt(s - a * a + epsilon)
            n[row, j] = s
            mean[row, j] = a
            delta[row, j] = d
            weight[row, j] = clipped(w + d, limit)


@kernel
def ftrl(
    begin: Any, end: Any, weight: Any, z: Any, n: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``z += g - (sqrt(n+g^2) - sqrt(n)) w / lr; n += g^2``; the weight follows from z and n."""
    lr, wd, rescale, bound = h[0], h[1], h[2], h[3]
    lamda1, beta, zero = h[4], h[5], h[6]
    for i in range(begin, end):
        row, source = rows[i], sources[i]
        ahead = rows[min(i + AHEAD, end - 1)]
        prefetch_row(weight, ahead)
        prefetch_row(z, ahead)
        prefetch_row(n, ahead)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound)
            before = n[row, j]
            after = before + g * g
            root = math.sqrt(after)
            t = z[row, j] + (g - (root - math.sqrt(before)) * weight[row, j] / lr)
            z[row, j] = t
            n[row, j] = after
            pull = -lamda1 if t < zero else lamda1
            w = (pull - t) / ((beta + root) / lr + wd)
            weight[row, j] = w if abs(t) > lamda1 else zero
