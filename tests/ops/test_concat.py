"""Concat, stack, SliceChannel, tile, repeat, reverse, Pad, sort, argsort, topk, diag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import ArgumentError, ShapeError

A = np.array([[0, 1, 0], [2, 0, 0]], np.float32)
B = np.array([[0, 0, 3], [0, 0, 0]], np.float32)


@pytest.mark.parametrize("name", ["f73"])
def test_recorded_values(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    result = nd.concat(*case.inputs.values(), **case.attrs)
    assert result.stype == case.stypes["0"]
    np.testing.assert_array_equal(result.asnumpy(), case.outputs["0"])


@pytest.mark.parametrize("stypes", [("csr", "csr"), ("row_sparse", "row_sparse"), ("csr", "default")])
@pytest.mark.parametrize("dim", [0, 1])
def test_concat(stypes: tuple[str, str], dim: int) -> None:
    arrays = [nd.array(x).tostype(s) for x, s in zip((A, B), stypes, strict=True)]
    result = nd.concat(*arrays, dim=dim)
    assert result.stype == ("csr" if stypes == ("csr", "csr") and dim == 0 else "default")
    result.check_format(full_check=True)
    np.testing.assert_array_equal(result.asnumpy(), np.concatenate([A, B], dim))


def test_concat_into_sparse_arrays() -> None:
    wide = nd.zeros((2, 6), stype="csr")
    nd.concat(nd.array(A).tostype("csr"), nd.array(B).tostype("csr"), dim=1, out=wide)
    np.testing.assert_array_equal(wide.asnumpy(), np.concatenate([A, B], 1))
    tall = nd.zeros((4, 3), stype="row_sparse")
    nd.concat(nd.array(A).tostype("row_sparse"), nd.array(B).tostype("row_sparse"), dim=0, out=tall)
    assert tall.indices.asnumpy().tolist() == [0, 1, 2]
    np.testing.assert_array_equal(tall.asnumpy(), np.concatenate([A, B], 0))


def test_concat_infers_the_missing_part() -> None:
    symbol = mx.sym.Concat(mx.sym.Variable("a"), mx.sym.Variable("b"), dim=1) + mx.sym.Variable("c")
    assert symbol.infer_shape(a=(2, 3), c=(2, 7))[0][1] == (2, 4)
    with pytest.raises(ShapeError, match="concat"):
        nd.concat(nd.zeros((2, 3)), nd.zeros((3, 3)), dim=1)


def test_stack_and_split() -> None:
    stacked = nd.stack(nd.array(A), nd.array(B).tostype("csr"), axis=1)
    np.testing.assert_array_equal(stacked.asnumpy(), np.stack([A, B], 1))
    parts = nd.split(nd.array(np.arange(12).reshape(2, 6)), num_outputs=3)
    assert [p.asnumpy().tolist() for p in parts] == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]
    assert nd.split(nd.zeros((2, 3)), num_outputs=3, squeeze_axis=True)[0].shape == (2,)
    assert nd.split(nd.zeros((2, 3)), num_outputs=1).shape == (2, 3)
    assert len(nd.split(nd.zeros((2, 12)), num_outputs=12)) == 12
    with pytest.raises(ShapeError, match="axis 1 has size 3, wanted a multiple of 2"):
        nd.split(nd.zeros((2, 3)), num_outputs=2)


def test_repeating_and_padding() -> None:
    x = nd.array([[1, 2], [3, 4]])
    assert nd.tile(x, reps=(2, 1)).shape == (4, 2)
    assert nd.repeat(x, repeats=2).asnumpy().tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert nd.repeat(x, repeats=2, axis=1).asnumpy().tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]
    assert nd.flip(x, axis=0).asnumpy().tolist() == [[3, 4], [1, 2]]
    padded = nd.pad(x, mode="constant", pad_width=(0, 1, 1, 0), constant_value=9)
    assert padded.asnumpy().tolist() == [[9, 1, 2], [9, 3, 4], [9, 9, 9]]
    assert nd.pad(x, mode="edge", pad_width=(0, 0, 1, 1)).asnumpy().tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]


def test_order() -> None:
    x = nd.array([[3, 1, 2], [1, 5, 5]])
    assert nd.sort(x).asnumpy().tolist() == [[1, 2, 3], [1, 5, 5]]
    assert nd.sort(x, is_ascend=False, axis=0).asnumpy().tolist() == [[3, 5, 5], [1, 1, 2]]
    assert nd.sort(x, axis=None).asnumpy().tolist() == [1, 1, 2, 3, 5, 5]
    assert nd.argsort(x, dtype="int32").asnumpy().tolist() == [[1, 2, 0], [0, 1, 2]]
    assert nd.topk(x, k=2).asnumpy().tolist() == [[0, 2], [1, 2]]
    values, places = nd.topk(x, k=1, ret_typ="both")
    assert values.asnumpy().tolist() == [[3], [5]]
    assert places.asnumpy().tolist() == [[0], [1]]
    assert nd.topk(x, k=1, ret_typ="mask", is_ascend=True).asnumpy().tolist() == [[0, 1, 0], [1, 0, 0]]
    with pytest.raises(ArgumentError, match="k is 4"):
        nd.topk(x, k=4)


def test_diag() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for k in (-2, 0, 1):
        for stype in ("default", "csr"):
            np.testing.assert_array_equal(nd.diag(nd.array(x).tostype(stype), k=k).asnumpy(), np.diag(x, k))
    assert nd.diag(nd.array([1, 2]), k=-1).asnumpy().tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
