"""Reading and writing parts of row_sparse arrays, against numpy."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from ndsparse import nd
from ndsparse.errors import ArgumentTypeError, IndexOutOfBounds, NotSupportedForSparse, ShapeError

DENSE = np.array([[0, 0, 0], [1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 5, 6]], np.float32)
CUBE = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
CUBE[[0, 2]] = 0
SLICES = st.builds(slice, *[st.none() | st.integers(-7, 7)] * 2, st.none() | st.integers(-3, 3).filter(bool))


def rows(dense):
    return nd.sparse.row_sparse_array(np.asarray(dense, np.float32))


@pytest.fixture
def r():
    return rows(DENSE)


def equal(array, dense, stype="row_sparse"):
    array.check_format(full_check=True)
    assert array.stype == stype
    assert array.shape == np.shape(dense)
    assert np.array_equal(array.asnumpy(), dense)


def test_facts(r):
    assert len(r) == 5
    assert (r.shape, r.ndim, r.size, r.nnz, r.dtype) == ((5, 3), 2, 15, 9, np.float32)
    assert r.indices.asnumpy().tolist() == [1, 3, 4]
    assert r.data.shape == r.storage_shape == (3, 3)
    assert (r.num_aux, r.aux_types, r.aux_shapes) == (1, [np.int64], [(3,)])
    assert repr(r) == "\n<RowSparseNDArray 5x3 @cpu(0)>"
    r.data[:] = 9
    r.indices[:] = 0
    equal(r, DENSE)
    with pytest.raises(AttributeError):
        r.indptr  # noqa: B018


# -- reading -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 1, 4, -1, -5, np.int64(3), np.int32(-2)])
def test_a_row_is_dense(r, row):
    equal(r[row], DENSE[row], "default")
    assert float(r[row, 1]) == DENSE[row, 1]
    assert r[row, 1].shape == (1,)
    equal(r[row, 1:], DENSE[row, 1:], "default")


def test_reading_is_a_copy(r):
    row = r[4]
    row[:] = 0
    part = r[3:]
    part *= 0
    equal(r, DENSE)


@given(SLICES, SLICES)
def test_slices_are_numpys(along, across):
    equal(rows(DENSE)[along], DENSE[along])
    equal(rows(DENSE)[along, across], DENSE[along, across])
    equal(rows(CUBE)[along, :, across], CUBE[along, :, across])
    equal(rows(CUBE)[..., across], CUBE[..., across])
    equal(rows(CUBE)[along, 1, across], CUBE[along, 1, across], "default")


def test_slices_of_nothing_and_everything(r):
    equal(r[0:0], DENSE[0:0])
    equal(r[4:2], DENSE[4:2])
    assert r[:] is r
    assert r[:, :] is r


@given(st.lists(st.integers(-5, 4), max_size=6))
def test_lists_and_arrays_of_rows(ids):
    r, wanted = rows(DENSE), DENSE[np.array(ids, np.int64)]
    for key in (ids, np.array(ids, np.int64), nd.array(ids), nd.array(ids, dtype="int64")):
        equal(r[key], wanted, "default")
    equal(r[ids, 1:], wanted[:, 1:], "default")


def test_masks(r):
    mask = [True, False, False, True, True]
    for key in (mask, np.array(mask), nd.array(mask, dtype="bool"), nd.array(mask) == 1):
        equal(r[key], DENSE[np.array(mask)], "default")
    assert r[r > 2].asnumpy().tolist() == [3, 4, 5, 6]
    assert r[DENSE == 2].asnumpy().tolist() == [2]
    assert rows(CUBE)[CUBE > 20].asnumpy().tolist() == [21, 22, 23]


def test_one_dimension():
    v = rows([0, 5, 0, 6])
    assert v[1].shape == (1,)
    assert float(v[1]) == 5
    equal(v[1:3], [5, 0])
    equal(v[::-1], [6, 0, 5, 0])
    equal(v[[3, 0]], [6, 0], "default")
    v[0] = 7
    v[1:3] = [0, 8]
    equal(v, [7, 0, 8, 6])
    v[v > 6] = 1
    equal(v, [1, 0, 1, 6])


def test_iteration_ends(r):
    found = list(r)
    assert len(found) == 5
    for row, dense in zip(found, DENSE, strict=True):
        equal(row, dense, "default")


@pytest.mark.parametrize(
    "key", [5, -6, (5, 0), (0, 3), (0, 0, 0), None, "x", 1.5, True, [5], [0.5], (0, "x")], ids=repr
)
def test_keys_of_no_use(r, key):
    with pytest.raises(IndexOutOfBounds, match=r"index|row|ids"):
        r[key]
    with pytest.raises(IndexError):
        r[key] = 1
    equal(r, DENSE)


def test_at_and_slice(r):
    equal(r._at(-1), DENSE[-1], "default")
    equal(r._slice(1, 3), DENSE[1:3])


def test_huge_shapes():
    n = 2**40
    r = nd.sparse.row_sparse_array(([[1.0, 2.0], [3.0, 4.0]], [7, n - 1]), shape=(n, 2))
    assert r[-1].asnumpy().tolist() == [3, 4]
    assert r[n - 5 :].asnumpy().tolist() == [[0, 0]] * 4 + [[3, 4]]
    assert r[::-1].indices.asnumpy().tolist() == [0, n - 8]
    assert r[1::2].shape == (n // 2, 2)
    assert r[1::2].indices.asnumpy().tolist() == [3, n // 2 - 1]
    assert r[:, 1:].data.asnumpy().tolist() == [[2], [4]]
    r[8:] = 0
    r[5] = [5, 6]
    r[:, 0] = 0
    assert r.indices.asnumpy().tolist() == [5, 7]
    assert r.data.asnumpy().tolist() == [[0, 6], [0, 2]]
    r[10:] = r[10:]
    r[:] = r
    assert (r * 2)[7].asnumpy().tolist() == [0, 4]
    r[:] = 0
    assert r.nnz == 0


# -- writing -------------------------------------------------------------------------------------------


KEYS = (
    st.integers(-5, 4)
    | SLICES
    | st.lists(st.integers(-5, 4), min_size=1, max_size=4, unique_by=lambda i: i % 5)
)


@given(
    KEYS,
    st.none() | SLICES | st.integers(-3, 2),
    st.sampled_from(["number", "zero", "numpy", "dense", "sparse"]),
)
def test_setting_is_numpys(key, across, form):
    r, wanted = rows(DENSE), DENSE.copy()
    key = key if across is None else (key, across)
    value = np.where(np.arange(wanted[key].size).reshape(wanted[key].shape) % 3, 7, 0).astype(np.float32)
    if form in ("number", "zero"):
        value = 7 if form == "number" else 0
    wanted[key] = value
    if form == "dense":
        value = nd.array(value)
    elif form == "sparse" and np.ndim(value):
        value = rows(value)
    r[key] = value
    equal(r, wanted)


def test_rows_that_are_set_are_stored(r):
    r[0] = [0, 0, 0]
    assert r.indices.asnumpy().tolist() == [0, 1, 3, 4]
    r[0] = 0
    r[4, :] = 0
    assert r.indices.asnumpy().tolist() == [1, 3]
    r[0, 1] = 0
    assert r.indices.asnumpy().tolist() == [1, 3]


def test_the_last_of_repeated_rows_stays(r):
    r[[2, 2]] = [[1, 1, 1], [2, 2, 2]]
    assert r[2].asnumpy().tolist() == [2, 2, 2]


def test_setting_through_masks(r):
    r[r > 3] = 1
    r[np.array([True, False, False, False, False])] = [1, 2, 3]
    equal(r, [[1, 2, 3], [1, 0, 2], [0, 0, 0], [0, 3, 0], [1, 1, 1]])
    r[r == 1] = [5, 6, 7, 8, 9]
    equal(r, [[5, 2, 3], [6, 0, 2], [0, 0, 0], [0, 3, 0], [7, 8, 9]])


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_setting_everything(r, stype):
    new = DENSE[::-1].copy()
    r[:] = nd.array(new).tostype(stype)
    equal(r, new)
    r[:] = DENSE
    equal(r, DENSE)
    r[:] = 3
    equal(r, np.full((5, 3), 3))
    r[:] = 0
    assert r.nnz == 0


def test_setting_what_does_not_fit(r):
    with pytest.raises(ShapeError, match="setting 0 of an array of shape"):
        r[0] = [1, 2]
    with pytest.raises(ShapeError, match="from one of shape"):
        r[:] = nd.ones((2, 2))
    with pytest.raises(ShapeError, match="by a mask"):
        r[r > 3] = [1, 2]
    with pytest.raises(ArgumentTypeError, match="value: expected numbers"):
        r[0] = "abc"
    equal(r, DENSE)


def test_setting_keeps_int32_ids():
    r = nd.sparse.row_sparse_array((np.ones((1, 1), np.float32), np.array([1], np.int32)), shape=(3, 1))
    r[0] = 5
    assert r.indices.dtype is np.int32
    assert r[0:2].indices.dtype is np.int32


# -- retain, conversions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [[1, 4], [4, 1], [4, 4, 1, 0], []])
def test_retain(r, ids):
    wanted = np.zeros_like(DENSE)
    wanted[ids] = DENSE[ids]
    for given_ids in (ids, np.array(ids, np.int64), nd.array(ids), nd.array(ids, dtype="int64")):
        equal(r.retain(given_ids), wanted)
        equal(nd.sparse.retain(r, nd.array(given_ids) if isinstance(given_ids, list) else given_ids), wanted)
    equal(r, DENSE)


def test_retain_out_of_range(r):
    with pytest.raises(IndexError):
        r.retain([5])


def test_conversions(r):
    equal(r.todense(), DENSE, "default")
    equal(r.tostype("csr"), DENSE, "csr")
    assert np.array_equal(r.asscipy().toarray(), DENSE)
    equal(rows(CUBE).tostype("default"), CUBE, "default")
    with pytest.raises(ShapeError, match="a csr array has 2 dimensions"):
        rows(CUBE).tostype("csr")
    with pytest.raises(NotSupportedForSparse, match=r"call asnumpy\(\)"):
        np.asarray(r)


def test_reshape(r):
    equal(r.reshape((5, 3, 1)), DENSE.reshape(5, 3, 1))
    equal(rows(CUBE).reshape((0, -1)), CUBE.reshape(4, 6))
    equal(rows(CUBE).reshape((-1, 3)), CUBE.reshape(-1, 3), "default")
    equal(r.zeros_like(), np.zeros((5, 3)))
