"""slice, slice_axis, slice_like, take, pick, gather_nd, one_hot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import IndexOutOfBounds, ShapeError

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4], [0, 5, 6, 0]], np.float32)


def of(stype: str) -> Any:
    return nd.array(DENSE).tostype(stype)


@pytest.mark.parametrize("name", ["f67"])
def test_recorded_slice(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    result = nd.slice(case.inputs["data"], **case.attrs)
    assert result.stype == case.stypes["0"]
    np.testing.assert_array_equal(result.asnumpy(), case.outputs["0"])


@pytest.mark.parametrize("name", ["f70", "f71"])
def test_recorded_take(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    result = nd.take(case.inputs["a"], case.inputs["indices"], **case.attrs)
    assert result.stype == case.stypes["0"]
    np.testing.assert_array_equal(result.asnumpy(), case.outputs["0"])


def test_slice_of_csr_stays_csr() -> None:
    part = nd.slice(of("csr"), begin=(1, None), end=(None, 3))
    assert part.stype == "csr"
    part.check_format(full_check=True)
    np.testing.assert_array_equal(part.asnumpy(), DENSE[1:, :3])
    assert part.nnz == 3
    assert nd.slice(of("csr"), begin=(2,), end=(2,)).shape == (0, 4)
    assert nd.slice(of("csr"), begin=(-3,), end=(None,)).asnumpy().tolist() == DENSE[-3:].tolist()


def test_slice_with_unit_steps_is_dense_as_in_mxnet() -> None:
    part = nd.slice(of("csr"), begin=(1, 1), end=(3, 3), step=(1, 1))
    assert part.stype == "default"
    np.testing.assert_array_equal(part.asnumpy(), DENSE[1:3, 1:3])


@pytest.mark.parametrize("key", [(slice(0, 4, 2), slice(None)), (slice(None, 0, -2), slice(3, None, -1))])
def test_slice_with_steps(key: tuple[slice, slice]) -> None:
    bounds = {
        "begin": tuple(k.start for k in key),
        "end": tuple(k.stop for k in key),
        "step": tuple(k.step or 1 for k in key),
    }
    for stype in ("default", "row_sparse"):
        np.testing.assert_array_equal(nd.slice(of(stype), **bounds).asnumpy(), DENSE[key])


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_slice_axis_and_slice_like(stype: str) -> None:
    np.testing.assert_array_equal(nd.slice_axis(of(stype), axis=0, begin=1, end=3).asnumpy(), DENSE[1:3])
    np.testing.assert_array_equal(
        nd.slice_axis(of(stype), axis=-1, begin=-2, end=None).asnumpy(), DENSE[:, -2:]
    )
    like = nd.zeros((2, 3))
    np.testing.assert_array_equal(nd.slice_like(of(stype), like).asnumpy(), DENSE[:2, :3])
    np.testing.assert_array_equal(nd.slice_like(of(stype), like, axes=(1,)).asnumpy(), DENSE[:, :3])
    with pytest.raises(ShapeError, match="slice_like"):
        nd.slice_like(of(stype), nd.zeros((9, 9)))


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_take_modes(stype: str) -> None:
    ids = nd.array([-1, 2, 9])
    np.testing.assert_array_equal(nd.take(of(stype), ids).asnumpy(), DENSE[[0, 2, 3]])
    np.testing.assert_array_equal(nd.take(of(stype), ids, mode="wrap").asnumpy(), DENSE[[3, 2, 1]])
    with pytest.raises(IndexOutOfBounds, match="index -1 is out of bounds; wanted 0 <= index < 4"):
        nd.take(of(stype), ids, mode="raise")


def test_take_of_csr_stays_csr_unless_raising() -> None:
    ids = nd.array([2, 2, 0], dtype="int64")
    assert nd.take(of("csr"), ids).stype == "csr"
    assert nd.take(of("csr"), ids, mode="raise").stype == "default"
    nd.take(of("csr"), ids).check_format(full_check=True)


def test_take_with_more_dimensions() -> None:
    ids = np.array([[0, 3], [2, 2]])
    np.testing.assert_array_equal(nd.take(of("default"), nd.array(ids)).asnumpy(), DENSE[ids])
    np.testing.assert_array_equal(nd.take(of("row_sparse"), nd.array(ids)).asnumpy(), DENSE[ids])
    np.testing.assert_array_equal(nd.take(of("default"), nd.array(ids), axis=1).asnumpy(), DENSE[:, ids])


def test_the_gradient_of_take_is_row_sparse_for_a_row_sparse_array() -> None:
    w = mx.sym.Variable("w", stype="row_sparse")
    symbol = mx.sym.take(w, mx.sym.Variable("i"))
    executor = symbol.simple_bind(mx.cpu(), grad_req={"w": "write"}, w=(1000, 2), i=(3,))
    executor.arg_dict["i"][:] = nd.array([7, 3, 7])
    executor.forward(is_train=True)
    executor.backward(nd.array([[1, 2], [3, 4], [5, 6]]))
    grad = executor.grad_dict["w"]
    assert grad.stype == "row_sparse"
    assert grad.indices.asnumpy().tolist() == [3, 7]
    assert grad.data.asnumpy().tolist() == [[3, 4], [6, 8]]


def test_pick_and_one_hot() -> None:
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    assert nd.pick(x, nd.array([-1, 7])).asnumpy().tolist() == [1, 6]
    assert nd.pick(x, nd.array([-1, 7]), mode="wrap").asnumpy().tolist() == [3, 5]
    assert nd.pick(x, nd.array([0, 1, 1]), axis=0, keepdims=True).asnumpy().tolist() == [[1, 5, 6]]
    assert nd.pick(x.tostype("csr"), nd.array([2, 0])).asnumpy().tolist() == [3, 4]
    hot = nd.one_hot(nd.array([0, 5, -1]), depth=3)
    assert hot.asnumpy().tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert nd.one_hot(nd.array([1]), depth=2, on_value=5, off_value=-1, dtype="int32").asnumpy().tolist() == [
        [-1, 5]
    ]
    sparse = nd.zeros((3, 4), stype="csr")
    nd.one_hot(nd.array([1, 9, 3]), depth=4, out=sparse)
    assert sparse.asnumpy().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]


def test_gather_and_scatter() -> None:
    x = nd.array(np.arange(6).reshape(2, 3))
    at = nd.array([[0, 1], [-1, 2]])
    assert nd.gather_nd(x, at).asnumpy().tolist() == [2, 5]
    with pytest.raises(IndexOutOfBounds, match="gather_nd: index 3"):
        nd.gather_nd(x, nd.array([[0], [3]]))
    placed = nd.scatter_nd(nd.array([7, 8]), nd.array([[0, 1], [1, 2]]), shape=(2, 3))
    assert placed.asnumpy().tolist() == [[0, 7, 0], [0, 0, 8]]
