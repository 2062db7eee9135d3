"""The inner loops of the optimizer updates, one kernel an optimizer.

Every kernel has the form ``step(begin, end, mode, weight, states..., grad, rows, sources, h)`` and
updates steps ``begin:end`` in place.  ``mode`` says which row a step is about:

========= ============================== ====================================================
mode      row of step ``i``              its gradient
========= ============================== ====================================================
``DENSE`` ``i``                          row ``i`` of ``grad``
``LAZY``  ``rows[i]``                    row ``i`` of ``grad``
``EXACT`` ``i``                          that of ``rows`` if ``i`` is in it (ascending), else 0
========= ============================== ====================================================

With a ``sources`` array, row ``sources[i]`` of ``grad`` stands for row ``i``.  ``h`` holds the numbers
of the update in the dtype of the weight (a double would pull the arithmetic of float32 rows into
float64): ``lr, wd, rescale_grad, bound of the clip (infinite: no clip), 0``, then the optimizer's own.

Row positions are distinct, so that blocks of steps never meet and may run in threads.
"""

from __future__ import annotations

import math
from typing import Any

from ndsparse.kernels.jit import kernel

DENSE, LAZY, EXACT = 0, 1, 2


@kernel
def start(begin: Any, mode: Any, rows: Any) -> Any:
    """Return the position in ``rows`` of the first id that is not below ``begin`` (mode EXACT)."""
    if mode != 2:
        return 0
    low, high = 0, rows.shape[0]
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < begin:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def place(i: Any, cursor: Any, mode: Any, rows: Any, sources: Any) -> Any:
    """Return the row of step ``i``, the row of its gradient (-1: none), and the next cursor."""
    if mode == 0:
        return i, i, cursor
    if mode == 1:
        if sources.shape[0] > 0:
            return rows[i], sources[i], cursor
        return rows[i], i, cursor
    if cursor < rows.shape[0] and rows[cursor] == i:
        if sources.shape[0] > 0:
            return i, sources[cursor], cursor + 1
        return i, cursor, cursor + 1
    return i, -1, cursor


@kernel
def clipped(value: Any, bound: Any) -> Any:
    """Return ``value`` held within ``-bound..bound``; NaN stays NaN."""
    if value > bound:
        return bound
    if value < -bound:
        return -bound
    return value


@kernel
def sgd(begin: Any, end: Any, mode: Any, weight: Any, grad: Any, rows: Any, sources: Any, h: Any) -> None:
    """``w -= lr (g + wd w)``."""
    lr, wd, rescale, bound, zero = h[0], h[1], h[2], h[3], h[4]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound) if source >= 0 else zero
            w = weight[row, j]
            weight[row, j] = w - lr * (g + wd * w)


@kernel
def sgd_mom(
    begin: Any, end: Any, mode: Any, weight: Any, mom: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``m = momentum m - lr (g + wd w); w += m``."""
    lr, wd, rescale, bound, zero, momentum = h[0], h[1], h[2], h[3], h[4], h[5]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound) if source >= 0 else zero
            w = weight[row, j]
            m = momentum * mom[row, j] - lr * (g + wd * w)
            mom[row, j] = m
            weight[row, j] = w + m


@kernel
def nag(
    begin: Any, end: Any, mode: Any, weight: Any, mom: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``w += momentum^2 m - (1 + momentum) lr (g + wd w); m = momentum m - lr (g + wd w)``.

    The second ``w`` is the new weight.  MXNet writes the weight before the momentum reads it, and so
    decays the momentum by the new weight; its numbers are kept.
    """
    lr, wd, rescale, bound, zero, momentum = h[0], h[1], h[2], h[3], h[4], h[5]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound) if source >= 0 else zero
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
    mode: Any,
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
    lr, wd, rescale, bound, zero = h[0], h[1], h[2], h[3], h[4]
    beta1, rest1, beta2, rest2, epsilon, decay = h[5], h[6], h[7], h[8], h[9], h[10]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            w = weight[row, j]
            g = rescale * grad[source, j] if source >= 0 else zero
            q = clipped(g + wd * w, bound)
            m = beta1 * mean[row, j] + rest1 * q
            v = beta2 * var[row, j] + rest2 * (q * q)
            mean[row, j] = m
            var[row, j] = v
            weight[row, j] = w - (lr * m / (math.sqrt(v) + epsilon) + decay * w)


@kernel
def adagrad(
    begin: Any, end: Any, mode: Any, weight: Any, history: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``s += g^2; w -= lr (g / sqrt(s + eps) + wd w)``."""
    lr, wd, rescale, bound, zero, epsilon = h[0], h[1], h[2], h[3], h[4], h[5]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound) if source >= 0 else zero
            s = history[row, j] + g * g
            history[row, j] = s
            w = weight[row, j]
            weight[row, j] = w - lr * (g / math.sqrt(s + epsilon) + wd * w)


@kernel(fastmath={"reassoc"})
def mean_square(grad: Any, source: Any, rescale: Any, bound: Any, zero: Any) -> Any:
    """Return the mean of the squared (scaled, clipped) gradient of a row."""
    width = grad.shape[1]
    total = zero
    for j in range(width):
        g = clipped(rescale * grad[source, j], bound)
        total += g * g
    return total / (zero + width) if width > 0 else total


@kernel
def group_adagrad(
    begin: Any, end: Any, mode: Any, weight: Any, history: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``s[row] += mean(g^2); w -= lr (g / sqrt(s[row] + eps) + wd w)``."""
    lr, wd, rescale, bound, zero, epsilon = h[0], h[1], h[2], h[3], h[4], h[5]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        s = history[row, 0]
        if source >= 0:
            s += mean_square(grad, source, rescale, bound, zero)
            history[row, 0] = s
        root = math.sqrt(s + epsilon)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound) if source >= 0 else zero
            w = weight[row, j]
            weight[row, j] = w - lr * (g / root + wd * w)


@kernel
def rmsprop(
    begin: Any, end: Any, mode: Any, weight: Any, n: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``q = clip(r g + wd w); n = g1 n + (1-g1) q^2; w -= lr q / sqrt(n + eps)``; then clip w."""
    lr, wd, rescale, bound, zero = h[0], h[1], h[2], h[3], h[4]
    gamma, rest, epsilon, limit = h[5], h[6], h[7], h[8]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            w = weight[row, j]
            g = rescale * grad[source, j] if source >= 0 else zero
            q = clipped(g + wd * w, bound)
            s = rest * (q * q) + gamma * n[row, j]
            n[row, j] = s
            weight[row, j] = clipped(w - lr * q / math.sqrt(s + epsilon), limit)


@kernel
def rmsprop_centered(
    begin: Any,
    end: Any,
    mode: Any,
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
    lr, wd, rescale, bound, zero = h[0], h[1], h[2], h[3], h[4]
    gamma, rest, epsilon, limit, gamma2 = h[5], h[6], h[7], h[8], h[9]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            w = weight[row, j]
            g = rescale * grad[source, j] if source >= 0 else zero
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
    begin: Any, end: Any, mode: Any, weight: Any, z: Any, n: Any, grad: Any, rows: Any, sources: Any, h: Any
) -> None:
    """``z += g - (sqrt(n+g^2) - sqrt(n)) w / lr; n += g^2``; the weight follows from z and n."""
    lr, wd, rescale, bound, zero = h[0], h[1], h[2], h[3], h[4]
    lamda1, beta = h[5], h[6]
    cursor = start(begin, mode, rows)
    for i in range(begin, end):
        row, source, cursor = place(i, cursor, mode, rows, sources)
        for j in range(weight.shape[1]):
            g = clipped(rescale * grad[source, j], bound) if source >= 0 else zero
            before = n[row, j]
            after = before + g * g
            root = math.sqrt(after)
            t = z[row, j] + (g - (root - math.sqrt(before)) * weight[row, j] / lr)
            z[row, j] = t
            n[row, j] = after
            pull = -lamda1 if t < zero else lamda1
            w = (pull - t) / ((beta + root) / lr + wd)
            weight[row, j] = w if abs(t) > lamda1 else zero
