"""Reshape and its codes, Flatten, expand_dims, squeeze, reshape_like, transpose, SwapAxis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import ShapeError
from ndsparse.ops.shape_codes import resolve_reshape

CODES: list[tuple[tuple[int, ...], tuple[int, ...], bool, tuple[int, ...]]] = [
    # from MXNet 1.9.1
    ((2, 3, 4), (4, 0, 2), False, (4, 3, 2)),
    ((2, 3, 4), (2, 0, 0), False, (2, 3, 4)),
    ((2, 3, 4), (6, 1, -1), False, (6, 1, 4)),
    ((2, 3, 4), (3, -1, 8), False, (3, 1, 8)),
    ((2, 3, 4), (-2,), False, (2, 3, 4)),
    ((2, 3, 4), (-2, 1, 1), False, (2, 3, 4, 1, 1)),
    ((2, 3, 4), (-3, 4), False, (6, 4)),
    ((2, 3, 4, 5), (-3, -3), False, (6, 20)),
    ((2, 3, 4), (0, -3), False, (2, 12)),
    ((2, 3, 4), (-3, -2), False, (6, 4)),
    ((2, 3, 4), (-4, 1, 2, -2), False, (1, 2, 3, 4)),
    ((2, 3, 4), (2, -4, -1, 3, -2), False, (2, 1, 3, 4)),
    ((10, 5, 4), (-1, 0), True, (50, 4)),
    # where MXNet fails: split, read from the right
    ((2, 6), (0, -4, -1, 2), True, (2, 3, 2)),
    ((0, 3), (-1, 3), False, (0, 3)),
]


@pytest.mark.parametrize(("shape", "target", "reverse", "wanted"), CODES)
def test_codes(
    shape: tuple[int, ...], target: tuple[int, ...], reverse: bool, wanted: tuple[int, ...]
) -> None:
    assert resolve_reshape(shape, target, reverse) == wanted
    assert nd.zeros(shape).reshape(target, reverse=reverse).shape == wanted
    assert nd.Reshape(nd.zeros(shape), shape=target, reverse=reverse).shape == wanted


@pytest.mark.parametrize("target", [(5, -1), (-1, -1), (-5,), (-4, 2), (0, 0, 0, 0), (-3, -3), (2, 2)])
def test_codes_that_do_not_fit(target: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="reshape"):
        resolve_reshape((2, 3, 4), target)


def test_unknown_dimensions_pass_through() -> None:
    assert resolve_reshape((-1, 3, 4), (0, -1)) == (-1, 12)
    assert resolve_reshape((-1, 3), (-1,)) == (-1,)
    x = mx.sym.Variable("x")
    assert mx.sym.Reshape(x, shape=(-1, 4)).infer_shape_partial(x=(0, 6))[1] == [(0, 4)]


def test_former_attributes() -> None:
    assert nd.Reshape(nd.zeros((2, 6)), target_shape=(3, 0)).shape == (3, 4)
    assert nd.Reshape(nd.zeros((2, 6)), target_shape=(0, 3, 0), keep_highest=True).shape == (2, 3, 2)


def test_sparse_arrays_come_out_dense_or_stay_where_asked() -> None:
    dense = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4]], np.float32)
    for stype in ("csr", "row_sparse"):
        x = nd.array(dense).tostype(stype)
        result = nd.Reshape(x, shape=(2, 6))
        assert result.stype == "default"
        np.testing.assert_array_equal(result.asnumpy(), dense.reshape(2, 6))
        into = nd.zeros((2, 6), stype=stype)
        nd.Reshape(x, shape=(2, 6), out=into)
        into.check_format(full_check=True)
        assert into.stype == stype
        np.testing.assert_array_equal(into.asnumpy(), dense.reshape(2, 6))


def test_flatten_expand_squeeze() -> None:
    x = nd.array(np.arange(24).reshape(2, 3, 4))
    assert nd.flatten(x).shape == (2, 12)
    assert nd.expand_dims(x, axis=-1).shape == (2, 3, 4, 1)
    assert nd.squeeze(nd.zeros((1, 3, 1))).shape == (3,)
    assert nd.squeeze(nd.zeros((1, 3, 1)), axis=0).shape == (3, 1)
    assert nd.squeeze(nd.zeros((1, 1))).shape == (1,)
    with pytest.raises(ShapeError, match="axis 1 has size 3"):
        nd.squeeze(nd.zeros((1, 3, 1)), axis=1)


def test_reshape_like() -> None:
    x = nd.array(np.arange(12).reshape(3, 4))
    assert nd.reshape_like(x, nd.zeros((2, 6))).shape == (2, 6)
    assert nd.reshape_like(x, nd.zeros((2, 6)).tostype("csr")).shape == (2, 6)
    part = nd.reshape_like(
        nd.zeros((30, 7)), nd.zeros((15, 2, 4)), lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2
    )
    assert part.shape == (15, 2, 7)


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_transpose(stype: str, rng: np.random.Generator) -> None:
    dense = (rng.integers(1, 9, (4, 3)) * (rng.random((4, 3)) < 0.5)).astype(np.float32)
    x = nd.array(dense).tostype(stype)
    for result in (nd.transpose(x), x.T, nd.SwapAxis(x, dim1=0, dim2=1), nd.transpose(x, axes=(1, 0))):
        assert result.stype == "default"
        np.testing.assert_array_equal(result.asnumpy(), dense.T)
    np.testing.assert_array_equal(nd.transpose(x, axes=(0, 1)).asnumpy(), dense)


def test_transpose_of_csr_into_csr() -> None:
    x = nd.sparse.csr_matrix(([1.0, 2, 3], [1, 0, 2], [0, 1, 1, 3]), shape=(3, 4))
    out = nd.zeros((4, 3), stype="csr")
    nd.transpose(x, out=out)
    assert out.indptr.asnumpy().tolist() == [0, 1, 2, 3, 3]
    assert out.indices.asnumpy().tolist() == [2, 0, 2]
    assert out.data.asnumpy().tolist() == [2, 1, 3]


def test_more_axes() -> None:
    x: Any = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(nd.transpose(nd.array(x), axes=(2, 0, 1)).asnumpy(), x.transpose(2, 0, 1))
    np.testing.assert_array_equal(nd.SwapAxis(nd.array(x), dim1=0, dim2=2).asnumpy(), x.swapaxes(0, 2))
    with pytest.raises(ShapeError, match="axes"):
        nd.transpose(nd.array(x), axes=(0, 0, 1))
