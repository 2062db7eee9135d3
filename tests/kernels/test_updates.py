"""Optimizer updates against their formulas in numpy, and against MXNet 1.9.1."""

import json
from pathlib import Path

import numpy as np
import pytest

from ndsparse.config import settings
from ndsparse.errors import ArgumentError, DTypeError, ShapeError
from ndsparse.kernels import updates

MXNET = json.loads(Path(__file__).with_name("mxnet_updates.json").read_text())

COMMON = {"lr": 0.05, "wd": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.8}


def act(grad, lr, wd, rescale_grad, clip_gradient, **_):
    return np.clip(grad * rescale_grad, -clip_gradient, clip_gradient)


def sgd(w, g, *, lr, wd, **k):
    return (w - lr * (act(g, lr, wd, **k) + wd * w),)


def sgd_mom(w, m, g, *, lr, wd, momentum, **k):
    m = momentum * m - lr * (act(g, lr, wd, **k) + wd * w)
    return w + m, m


def nag(w, m, g, *, lr, wd, momentum, **k):
    q = act(g, lr, wd, **k)
    new = w + momentum * (momentum * m - lr * (q + wd * w)) - lr * (q + wd * w)
    return new, momentum * m - lr * (q + wd * new)


def adam(w, m, v, g, *, lr, wd, beta1, beta2, epsilon, rescale_grad, clip_gradient):
    q = np.clip(g * rescale_grad + wd * w, -clip_gradient, clip_gradient)
    m, v = beta1 * m + (1 - beta1) * q, beta2 * v + (1 - beta2) * q * q
    return w - lr * m / (np.sqrt(v) + epsilon), m, v


def adamw(w, m, v, g, *, lr, beta1, beta2, epsilon, decay, **k):
    q = act(g, lr, 0, **k)
    m, v = beta1 * m + (1 - beta1) * q, beta2 * v + (1 - beta2) * q * q
    return w - lr * m / (np.sqrt(v) + epsilon) - decay * w, m, v


def adagrad(w, s, g, *, lr, wd, epsilon, **k):
    q = act(g, lr, wd, **k)
    s = s + q * q
    return w - lr * (q / np.sqrt(s + epsilon) + wd * w), s


def group_adagrad(w, s, g, *, lr, wd, epsilon, **k):
    q = act(g, lr, wd, **k)
    s = s + (q * q).reshape(len(q), -1).mean(axis=1, keepdims=True)
    root = np.sqrt(s + epsilon).reshape(len(q), *[1] * (q.ndim - 1))
    return w - lr * (q / root + wd * w), s


def rmsprop(w, n, g, *, lr, wd, gamma1, epsilon, clip_weights, rescale_grad, clip_gradient):
    q = np.clip(g * rescale_grad + wd * w, -clip_gradient, clip_gradient)
    n = (1 - gamma1) * q * q + gamma1 * n
    return np.clip(w - lr * q / np.sqrt(n + epsilon), -clip_weights, clip_weights), n


def rmsprop_centered(w, n, a, d, g, *, lr, wd, gamma1, gamma2, epsilon, clip_weights, **k):
    q = np.clip(g * k["rescale_grad"] + wd * w, -k["clip_gradient"], k["clip_gradient"])
    n, a = (1 - gamma1) * q * q + gamma1 * n, (1 - gamma1) * q + gamma1 * a
    d = gamma2 * d - lr * q / np.sqrt(n - a * a + epsilon)
    return np.clip(w + d, -clip_weights, clip_weights), n, a, d


def ftrl(w, z, n, g, *, lr, wd, lamda1, beta, **k):
    q = act(g, lr, wd, **k)
    z = z + q - (np.sqrt(n + q * q) - np.sqrt(n)) * w / lr
    n = n + q * q
    w = (np.sign(z) * lamda1 - z) / ((beta + np.sqrt(n)) / lr + wd) * (np.abs(z) > lamda1)
    return w, z, n


MOMENTS = {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3}
RMS = {"gamma1": 0.9, "epsilon": 1e-3, "clip_weights": 1.5}
CASES = {
    "sgd": (sgd, 0, {}),
    "sgd_mom": (sgd_mom, 1, {"momentum": 0.9}),
    "nag": (nag, 1, {"momentum": 0.9}),
    "adam": (adam, 2, MOMENTS),
    "adamw": (adamw, 2, {**MOMENTS, "decay": 0.02}),
    "adagrad": (adagrad, 1, {"epsilon": 1e-3}),
    "group_adagrad": (group_adagrad, 1, {"epsilon": 1e-3}),
    "rmsprop": (rmsprop, 1, RMS),
    "rmsprop_centered": (rmsprop_centered, 3, {**RMS, "gamma2": 0.8}),
    "ftrl": (ftrl, 2, {"lamda1": 0.05, "beta": 1.0}),
}
SHAPES = [(9, 4), (7,), (6, 2, 3), (5, 1), (2100, 33)]


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


def start(name, shape, dtype, seed=0):
    """A weight and states as they are in the middle of a training."""
    rng = np.random.default_rng(seed)
    formula, count, numbers = CASES[name]
    weight = rng.normal(size=shape).astype(dtype)
    state_shape = (shape[0], 1) if name == "group_adagrad" else shape
    states = [rng.uniform(0.5, 1.0, state_shape).astype(dtype) for _ in range(count)]
    if name == "rmsprop_centered":  # n is at least the square of the mean
        states[1] *= 0.5
    common = {k: v for k, v in COMMON.items() if k != "wd" or name != "adamw"}
    return formula, weight, states, {**common, **numbers}


def check(got, wanted, dtype):
    tolerance = 3e-6 if dtype == np.float32 else 1e-13
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_all_rows_with_a_gradient(name, shape, dtype):
    formula, weight, states, numbers = start(name, shape, dtype)
    grad = np.random.default_rng(1).normal(size=shape).astype(dtype)
    wanted = formula(weight, *states, grad, **numbers)
    getattr(updates, name)(weight, *states, grad, **numbers)
    check([weight, *states], wanted, dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_lazy_update_touches_the_given_rows_only(name, shape, dtype):
    formula, weight, states, numbers = start(name, shape, dtype)
    rng = np.random.default_rng(2)
    rows = rng.permutation(shape[0])[: shape[0] // 2]
    grad = rng.normal(size=(len(rows), *shape[1:])).astype(dtype)
    wanted = [a.copy() for a in [weight, *states]]
    new = formula(weight[rows], *(s[rows] for s in states), grad, **numbers)
    for a, b in zip(wanted, new, strict=True):
        a[rows] = b
    getattr(updates, name)(weight, *states, grad, rows=rows, **numbers)
    check([weight, *states], wanted, dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_exact_update_gives_the_other_rows_a_gradient_of_zero(name, shape, dtype):
    formula, weight, states, numbers = start(name, shape, dtype)
    rng = np.random.default_rng(3)
    rows = np.sort(rng.permutation(shape[0])[: shape[0] // 2])
    grad = rng.normal(size=(len(rows), *shape[1:])).astype(dtype)
    full = np.zeros(shape, dtype)
    full[rows] = grad
    wanted = formula(weight, *states, full, **numbers)
    getattr(updates, name)(weight, *states, grad, rows=rows, exact=True, **numbers)
    check([weight, *states], wanted, dtype)


@pytest.mark.parametrize("key", MXNET)
def test_numbers_of_mxnet(key):
    case, name = MXNET[key], key.removesuffix("_clipped")
    weight = np.array(case["weight"], np.float32)
    states = [np.zeros_like(weight) for _ in case["states"]]
    for grad in case["grads"]:
        getattr(updates, name)(weight, *states, np.array(grad, np.float32), **case["numbers"])
    check([weight, *states], [np.array(a) for a in [case["result"], *case["states"]]], np.float32)


def test_sources_name_the_gradient_rows():
    weight = np.zeros((4, 3))
    grad = np.arange(9.0).reshape(3, 3)
    updates.sgd(weight, grad, lr=1.0, rows=np.array([3, 0]), sources=np.array([0, 2]))
    np.testing.assert_array_equal(weight, [-grad[2], [0] * 3, [0] * 3, -grad[0]])


def test_exact_rows_beyond_one_block(monkeypatch):
    monkeypatch.setattr(updates, "_BLOCK", 8)
    weight = np.ones((21, 2))
    rows = np.array([0, 7, 8, 20])
    updates.sgd(weight, np.ones((4, 2)), lr=0.5, wd=0.5, rows=rows, exact=True)
    wanted = np.full((21, 2), 0.75)
    wanted[rows] -= 0.5
    np.testing.assert_array_equal(weight, wanted)


@pytest.mark.parametrize("exact", [False, True])
def test_a_gradient_without_rows(exact):
    weight = np.ones((3, 2), np.float32)
    none = np.empty(0, np.int64)
    updates.sgd(weight, np.empty((0, 2)), lr=0.5, wd=0.5, rows=none, exact=exact)
    np.testing.assert_array_equal(weight, np.full((3, 2), 0.75 if exact else 1.0))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_to_update(shape):
    weight = np.ones(shape, np.float32)
    updates.adam(weight, weight.copy(), weight.copy(), np.ones(shape), lr=0.1)
    updates.group_adagrad(weight, np.ones((shape[0], 1), np.float32), np.ones(shape), lr=0.1)


def test_threads_do_not_change_the_result():
    rng = np.random.default_rng(4)
    rows, grad = rng.permutation(20_000)[:9_000], rng.normal(size=(9_000, 64))
    results = []
    for threads in (1, 3):
        weight, mean, var = np.ones((20_000, 64)), np.zeros((20_000, 64)), np.zeros((20_000, 64))
        before = settings.num_threads
        settings.num_threads = threads
        try:
            updates.adam(weight, mean, var, grad, lr=0.1, rows=rows)
        finally:
            settings.num_threads = before
        results.append(weight)
    np.testing.assert_array_equal(*results)


def test_gradients_of_any_kind_are_read():
    weight = np.zeros((4, 3), np.float32)
    grad = np.asfortranarray(np.arange(12).reshape(4, 3))
    grad.flags.writeable = False
    updates.sgd(weight, grad, lr=1.0)
    np.testing.assert_array_equal(weight, -grad)
    updates.sgd(weight, grad[:2].astype(">f8"), lr=-1.0, rows=np.arange(2, dtype=np.int32))
    np.testing.assert_array_equal(weight[:2], 0)


def test_nan_in_a_gradient_is_not_hidden_by_the_clip():
    weight = np.zeros((1, 2))
    updates.sgd(weight, np.array([[np.nan, 5.0]]), lr=1.0, clip_gradient=1.0)
    np.testing.assert_array_equal(weight, [[np.nan, -1.0]])


def test_refusals():
    weight = np.zeros((4, 3), np.float32)
    grad = np.zeros((2, 3), np.float32)
    with pytest.raises(ShapeError, match=r"grad has shape \(2, 3\)"):
        updates.sgd(weight, grad, lr=1.0)
    with pytest.raises(ShapeError, match="2 rows for 1"):
        updates.sgd(weight, grad, lr=1.0, rows=np.array([1]))
    with pytest.raises(ShapeError, match="has 2 elements"):
        updates.sgd(weight, grad[:, :2], lr=1.0, rows=np.array([1, 2]))
    with pytest.raises(DTypeError, match="int64"):
        updates.sgd(np.zeros((4, 3), np.int64), grad, lr=1.0)
    with pytest.raises(DTypeError, match="a state is float64"):
        updates.sgd_mom(weight, np.zeros((4, 3)), weight, lr=1.0, momentum=0.9)
    with pytest.raises(ArgumentError, match="C-contiguous"):
        updates.sgd(np.zeros((3, 4), np.float32).T, weight, lr=1.0)
