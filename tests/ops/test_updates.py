"""The update operators on dense and row_sparse weights, lazy and exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ndsparse import nd
from ndsparse.errors import IndexOutOfBounds
from ndsparse.ops import registry

ROWS, WIDTH = 8, 3

UPDATES: dict[str, tuple[int, dict[str, Any]]] = {
    "sgd_update": (0, {"wd": 0.1}),
    "sgd_mom_update": (1, {"wd": 0.1, "momentum": 0.9}),
    "nag_mom_update": (1, {"wd": 0.1, "momentum": 0.9}),
    "adam_update": (2, {"wd": 0.1}),
    "_sparse_adagrad_update": (1, {"wd": 0.1}),
    "ftrl_update": (2, {"wd": 0.1, "lamda1": 0.05}),
    "rmsprop_update": (1, {"wd": 0.1}),
    "rmspropalex_update": (3, {"wd": 0.1}),
}
"""Name to the number of states and the attributes."""


def arrays(rng: np.random.Generator, states: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return a weight, a gradient with rows 1, 4 and 6, and states."""
    weight = rng.standard_normal((ROWS, WIDTH)).astype("f")
    grad = np.zeros((ROWS, WIDTH), "f")
    grad[[1, 4, 6]] = rng.standard_normal((3, WIDTH))
    return weight, grad, [(0.01 * rng.random((ROWS, WIDTH))).astype("f") for _ in range(states)]


def run(name: str, weight: Any, grad: Any, states: list[Any], **attrs: Any) -> None:
    registry.get(name)(weight, grad, *states, out=weight, lr=0.1, **attrs)


def dense_result(
    name: str, weight: np.ndarray, grad: np.ndarray, states: list[np.ndarray]
) -> list[np.ndarray]:
    """Return the new weight and states that the dense update gives."""
    w, ss = nd.array(weight), [nd.array(s) for s in states]
    run(name, w, nd.array(grad), ss, **UPDATES[name][1])
    return [a.asnumpy() for a in (w, *ss)]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    "kinds", [("default", "default"), ("row_sparse", "row_sparse"), ("row_sparse", "default")]
)
@pytest.mark.parametrize("name", UPDATES)
def test_a_sparse_gradient_acts_as_the_dense_one(
    rng: np.random.Generator, name: str, kinds: tuple[str, str], lazy: bool
) -> None:
    count, attrs = UPDATES[name]
    weight, grad, states = arrays(rng, count)
    wanted = dense_result(name, weight, grad, states)
    if lazy and kinds != ("row_sparse", "default"):  # untouched rows stay
        for new, old in zip(wanted, (weight, *states), strict=True):
            new[[0, 2, 3, 5, 7]] = old[[0, 2, 3, 5, 7]]
    if kinds == ("row_sparse", "default") and not count:
        return
    w = nd.array(weight).tostype(kinds[0])
    ss = [nd.array(s).tostype(kinds[1]) for s in states]
    run(name, w, nd.array(grad).tostype("row_sparse"), ss, lazy_update=lazy, **attrs)
    for got, want in zip((w, *ss), wanted, strict=True):
        got.check_format(full_check=True)
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", UPDATES)
def test_rows_appear_when_they_are_updated(rng: np.random.Generator, name: str) -> None:
    """A row_sparse weight need not store all rows (MXNet demands it)."""
    count, attrs = UPDATES[name]
    weight, grad, _ = arrays(rng, count)
    weight[[1, 2, 3, 6]] = 0
    states = [np.zeros_like(weight) for _ in range(count)]
    w = nd.array(weight).tostype("row_sparse")
    ss = [nd.zeros(weight.shape, stype="row_sparse") for _ in range(count)]
    for _ in range(2):
        weight, *states = dense_result(name, weight, grad, states)
        run(name, w, nd.array(grad).tostype("row_sparse"), ss, lazy_update=False, **attrs)
        assert w.indices.asnumpy().tolist() == [0, 1, 4, 5, 6, 7]
        for got, want in zip((w, *ss), (weight, *states), strict=True):
            got.check_format(full_check=True)
            np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)


RECORDED = {
    "o99": ("sgd_update", {}),
    "o101": ("sgd_mom_update", {}),
    "o105": ("_sparse_adagrad_update", {}),
    "o106": ("ftrl_update", {"lazy_update": False}),  # MXNet is exact here for want of a kernel
    "o107": ("_contrib_group_adagrad_update", {}),
    "o108": ("sgd_update", {}),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_steps(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    op, extra = RECORDED[name]
    attrs = {k: v for k, v in case.attrs.items() if k not in ("learning_rate", "weight_stype")} | extra
    weight = case.inputs["weight"]
    states = [nd.zeros(case.outputs[k].shape) for k in sorted(case.outputs) if k != "weight"]
    for step in range(3):
        run(op, weight, case.inputs[f"grad{step}"], states, **attrs)
    np.testing.assert_allclose(weight.asnumpy(), case.outputs["weight"], rtol=1e-5, atol=1e-6)
    for i, state in enumerate(states):
        np.testing.assert_allclose(state.asnumpy(), case.outputs[f"state{i}"], rtol=1e-5, atol=1e-6)


def test_hand_worked_steps() -> None:
    w, g = nd.array([[1.0, -2.0]]), nd.array([[0.5, 4.0]])
    new = nd.sgd_update(w, g, lr=0.1, wd=0.5, rescale_grad=2, clip_gradient=3)
    np.testing.assert_allclose(new.asnumpy(), [[0.95 - 0.1, -1.9 - 0.3]], rtol=1e-6)
    assert w.asnumpy().tolist() == [[1, -2]]  # only out is written
    mom = nd.array([[1.0, 1.0]])
    nd.sgd_mom_update(w, g, mom, out=w, lr=0.1, momentum=0.5)
    np.testing.assert_allclose(mom.asnumpy(), [[0.45, 0.1]], rtol=1e-6)
    np.testing.assert_allclose(w.asnumpy(), [[1.45, -1.9]], rtol=1e-6)
    history = nd.array([[0.0]])
    row = nd.contrib.group_adagrad_update(nd.zeros((1, 2)), nd.array([[3.0, 4.0]]), history, lr=1, epsilon=0)
    np.testing.assert_allclose(history.asnumpy(), [[12.5]])
    np.testing.assert_allclose(row.asnumpy(), [[-3 / 12.5**0.5, -4 / 12.5**0.5]], rtol=1e-6)


def test_signs() -> None:
    """Values of MXNet 1.9.1."""
    w, g, mom = nd.array([1.0, -2, 3]), nd.array([0.5, -0.5, 0.0]), nd.array([0.1, 0.2, -0.3])
    np.testing.assert_allclose(
        nd.signsgd_update(w, g, lr=0.1, wd=0.1).asnumpy(), [0.89, -1.88, 2.97], rtol=1e-6
    )
    given = {"lr": 0.1, "momentum": 0.9, "wd": 0.1, "wd_lh": 0.01, "rescale_grad": 2.0, "clip_gradient": 0.7}
    new = nd.signum_update(w, g, mom, **given)
    np.testing.assert_allclose(new.asnumpy(), [1.099, -1.898, 2.897], rtol=1e-6)
    np.testing.assert_allclose(mom.asnumpy(), [0.01, 0.27, -0.3], rtol=1e-5)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_float16_weights_with_a_float32_copy(stype: str) -> None:
    w32 = nd.array(np.full((4, 2), 1.0001, "f"))
    w16, g = w32.astype("float16"), nd.array([[0, 0], [1e-3, 1e-3], [0, 0], [1, 1]]).astype("float16")
    nd.mp_sgd_update(w16, g.tostype(stype), w32, out=w16, lr=0.1)
    np.testing.assert_allclose(w32.asnumpy()[:, 0], [1.0001, 1.0000, 1.0001, 0.9001], rtol=1e-6)
    np.testing.assert_array_equal(w16.asnumpy(), w32.asnumpy().astype("float16"))
    mom = nd.zeros((4, 2))
    nd.mp_sgd_mom_update(w16, g.tostype(stype), mom, w32, out=w16, lr=0.1, momentum=0.9)
    np.testing.assert_allclose(mom.asnumpy()[3], -0.1, rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("lazy", [False, True])
def test_other_dtypes(rng: np.random.Generator, dtype: str, lazy: bool) -> None:
    weight, grad, (state,) = arrays(rng, 1)
    wanted = dense_result("sgd_mom_update", weight, grad, [state])[0]
    if lazy:
        wanted[[0, 2, 3, 5, 7]] = weight[[0, 2, 3, 5, 7]]
    w, m, g = (nd.array(x, dtype=dtype) for x in (weight, state, grad))
    run("sgd_mom_update", w, g.tostype("row_sparse"), [m], lazy_update=lazy, **UPDATES["sgd_mom_update"][1])
    assert w.dtype == np.dtype(dtype).type
    np.testing.assert_allclose(w.asnumpy(), wanted, rtol=5e-3 if dtype == "float16" else 1e-5, atol=1e-3)


def test_views_are_updated_in_place() -> None:
    table = nd.ones((4, 6))
    weight = table[:, 1:3]
    nd.sgd_update(weight, nd.ones((4, 2)), out=weight, lr=0.5)
    assert table.asnumpy()[0].tolist() == [1, 0.5, 0.5, 1, 1, 1]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_memory_that_others_hold_is_not_written(stype: str) -> None:
    weight, mom = nd.ones((4, 2)), nd.ones((4, 2))
    held = np.asarray(weight, copy=False), np.asarray(mom, copy=False)
    nd.sgd_mom_update(weight, nd.ones((4, 2)).tostype(stype), mom, out=weight, lr=0.5, momentum=0.5)
    assert held[0].min() == held[1].min() == 1
    assert mom.asnumpy().max() == 0
    assert weight.asnumpy().max() == 1


def test_into_another_array() -> None:
    weight = nd.ones((4, 2))
    grad = nd.sparse.row_sparse_array((np.ones((1, 2), "f"), [2]), shape=(4, 2))
    other = nd.zeros((4, 2))
    nd.sgd_update(weight, grad, out=other, lr=0.5)
    assert weight.asnumpy().min() == 1
    assert other.asnumpy()[:, 0].tolist() == [1, 1, 0.5, 1]


def test_a_gradient_without_rows() -> None:
    none = nd.zeros((4, 2), stype="row_sparse")
    for stype in ("default", "row_sparse"):
        weight = nd.ones((4, 2)).tostype(stype)
        nd.sgd_update(weight, none, out=weight, lr=0.1, wd=1.0)
        assert weight.asnumpy()[0].tolist() == [1, 1]
        nd.sgd_update(weight, none, out=weight, lr=0.1, wd=1.0, lazy_update=False)
        np.testing.assert_allclose(weight.asnumpy(), 0.9, rtol=1e-6)


def test_row_ids_outside_are_an_error() -> None:
    grad = nd.sparse.row_sparse_array((np.ones((1, 2), "f"), [2]), shape=(4, 2))
    grad._chunk.adopt(np.ones((1, 2), "f"), np.array([9]))
    weight = nd.ones((4, 2))
    with pytest.raises(IndexOutOfBounds, match="row 9"):
        nd.sgd_update(weight, grad, out=weight, lr=0.1)


def test_a_weight_of_a_trillion_rows() -> None:
    shape = (10**12, 2)
    weight, mean, var = (nd.zeros(shape, stype="row_sparse") for _ in range(3))
    grad = nd.sparse.row_sparse_array((np.ones((2, 2), "f"), [5, 10**12 - 1]), shape=shape)
    nd.adam_update(weight, grad, mean, var, out=weight, lr=0.1, lazy_update=False)
    assert weight.indices.asnumpy().tolist() == [5, 10**12 - 1]
    np.testing.assert_allclose(mean.data.asnumpy(), 0.1, rtol=1e-6)
