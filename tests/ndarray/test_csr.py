"""Reading and writing parts of csr arrays, against numpy."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis.extra import numpy as hnp

from ndsparse import nd
from ndsparse.errors import (
    ArgumentTypeError,
    FormatCheckError,
    IndexOutOfBounds,
    NotSupportedForSparse,
    ShapeError,
)

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)


@pytest.fixture
def a():
    return nd.sparse.csr_matrix(DENSE)


def equal(array, dense, stype="csr"):
    array.check_format(full_check=True)
    assert array.stype == stype
    assert array.shape == np.shape(dense)
    assert np.array_equal(array.asnumpy(), dense)


# -- facts ---------------------------------------------------------------------------------------------


def test_facts(a):
    assert len(a) == 3
    assert (a.shape, a.ndim, a.size, a.nnz) == ((3, 4), 2, 12, 4)
    assert a.dtype is np.float32
    assert a.stype == "csr"
    assert a.data.asnumpy().tolist() == [1, 2, 3, 4]
    assert a.indices.asnumpy().tolist() == [1, 3, 0, 2]
    assert a.indptr.asnumpy().tolist() == [0, 2, 2, 4]
    assert (a.num_aux, a.aux_types, a.aux_shapes) == (2, [np.int64, np.int64], [(4,), (4,)])
    assert a.storage_shape == (4,)
    assert a.writable
    assert repr(a) == str(a) == "\n<CSRNDArray 3x4 @cpu(0)>"
    assert a.grad is None


def test_the_parts_are_copies(a):
    a.data[:] = 9
    a.indices[:] = 0
    a.indptr[:] = 0
    equal(a, DENSE)
    for name in ("data", "indices", "indptr", "shape"):
        with pytest.raises(AttributeError):
            setattr(a, name, 1)


# -- reading -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 1, 2, -1, -3, np.int64(2), np.int32(-1), np.array(1)])
def test_a_row_is_a_matrix_of_one_row(a, row):
    equal(a[row], DENSE[[int(row)]])


@pytest.mark.parametrize("row", [3, -4, np.int64(7), 2**40])
def test_a_row_out_of_range(a, row):
    with pytest.raises(IndexOutOfBounds, match=f"row {row} is out of range for an array of 3 rows"):
        a[row]
    with pytest.raises(IndexError):
        a[row, 0]
    with pytest.raises(IndexError):
        a[0, row + 1 if row > 0 else row - 1]


SLICES = st.builds(slice, *[st.none() | st.integers(-7, 7)] * 2, st.none() | st.integers(-3, 3).filter(bool))


@given(SLICES, SLICES)
def test_slices_are_numpys(rows, columns):
    a = nd.sparse.csr_matrix(DENSE)
    equal(a[rows], DENSE[rows])
    equal(a[rows, columns], DENSE[rows, columns])
    equal(a[:, columns], DENSE[:, columns])


def test_a_slice_of_nothing_is_empty(a):
    equal(a[0:0], DENSE[0:0])
    equal(a[2:1], DENSE[2:1])
    equal(a[5:9], DENSE[5:9])
    equal(a[:, 4:], DENSE[:, 4:])
    assert a[:] is a
    assert a[...] is a
    assert a[:, :] is a


def test_slices_share_no_memory(a):
    part = a[0:2]
    part *= 5
    equal(a, DENSE)


@pytest.mark.parametrize("row", [0, -1, np.int64(2)])
@pytest.mark.parametrize("column", [0, 3, -2, np.int32(1)])
def test_elements(a, row, column):
    found = a[row, column]
    assert found.stype == "default"
    assert found.shape == (1,)
    assert float(found) == DENSE[row, column]


IDS = st.lists(st.integers(-3, 2), max_size=6)


@given(IDS, SLICES)
def test_lists_and_arrays_of_rows_and_columns(ids, other):
    a = nd.sparse.csr_matrix(DENSE)
    for key in (ids, np.array(ids, np.int64), nd.array(ids), nd.array(ids, dtype="int32")):
        equal(a[key], DENSE[np.array(ids, np.int64)])
    equal(a[ids, other], DENSE[np.array(ids, np.int64)][:, other])
    equal(a[other, ids], DENSE[other][:, np.array(ids, np.int64)])


@pytest.mark.parametrize("mask", [[True, False, True], [False] * 3, [True] * 3])
def test_masks_of_rows(a, mask):
    for key in (mask, np.array(mask), nd.array(mask, dtype=bool), nd.array(mask) > 0):
        equal(a[key], DENSE[np.array(mask)])


def test_masks_of_columns(a):
    equal(a[:, np.array([True, False, False, True])], DENSE[:, [0, 3]])


def test_two_arrays_name_elements(a):
    found = a[[0, 2, 0], [1, 2, 0]]
    assert (found.stype, found.asnumpy().tolist()) == ("default", [1, 4, 0])
    assert a[np.array([-1]), [0, 2, 3]].asnumpy().tolist() == [3, 4, 0]


def test_a_mask_of_the_shape_gives_elements(a):
    assert a[a > 1].asnumpy().tolist() == [2, 3, 4]
    assert a[DENSE > 2].asnumpy().tolist() == [3, 4]
    assert a[nd.array(DENSE) == 0].shape == (8,)


@pytest.mark.parametrize(
    "key",
    [
        (0, 0, 0),
        None,
        "x",
        1.5,
        True,
        (0, "x"),
        (..., ...),
        [0.5],
        [["a"]],
        slice("a", None),
        [7],
        np.array([[0]]),
    ],
    ids=repr,
)
def test_keys_of_no_use(a, key):
    with pytest.raises(IndexOutOfBounds, match=r"index|row|ids"):
        a[key]
    with pytest.raises(IndexError):
        a[key] = 1


def test_masks_and_lists_that_do_not_fit(a):
    with pytest.raises(IndexOutOfBounds, match=r"a mask of shape \(2,\) does not fit 3 rows"):
        a[[True, False]]
    with pytest.raises(IndexOutOfBounds, match="2 row ids and 3 column ids name no pairs"):
        a[[0, 1], [0, 1, 2]]
    with pytest.raises(IndexOutOfBounds, match="column 4 is out of range for an array of 4 columns"):
        a[:, [0, 4]]


def test_iteration_ends(a):
    rows = list(a)
    assert len(rows) == 3
    for row, dense in zip(rows, DENSE, strict=True):
        equal(row, dense[None])
    assert list(nd.sparse.zeros("csr", (0, 4))) == []


def test_at_and_slice(a):
    equal(a._at(2), DENSE[[2]])
    equal(a._slice(1, 3), DENSE[1:3])
    equal(a.slice(begin=(0, 1), end=(2, 3)), DENSE[0:2, 1:3])


def test_reading_what_is_not_canonical():
    a = nd.sparse.csr_matrix((np.array([1, 2, 4], np.float32), [2, 0, 2], [0, 3, 3]), shape=(2, 3))
    assert float(a[0, 2]) == 5
    assert a[0].asnumpy().tolist() == [[2, 0, 5]]
    equal(a[:, ::-1], [[5, 0, 2], [0, 0, 0]])
    a[0, 1] = 7
    equal(a, [[2, 7, 5], [0, 0, 0]])


def test_huge_columns():
    n = 2**40
    a = nd.sparse.csr_matrix(([1.0, 2.0], ([0, 1], [5, n - 1])), shape=(2, n))
    assert float(a[1, -1]) == 2
    assert a[:, n - 3 :].indices.asnumpy().tolist() == [2]
    assert a[:, ::-1].indices.asnumpy().tolist() == [n - 6, 0]
    assert a[:, [n - 1, 5]].asnumpy().tolist() == [[0, 1], [2, 0]]
    a[0, n - 2] = 7
    a[1, n - 5 :] = 0
    a[0, 3:5] = [3, 4]
    assert a.indices.asnumpy().tolist() == [3, 4, 5, n - 2]
    assert a.data.asnumpy().tolist() == [3, 4, 1, 7]
    a[:, :] = 0
    assert a.nnz == 0


# -- writing -------------------------------------------------------------------------------------------


@st.composite
def keys(draw):
    row = draw(st.integers(-3, 2) | SLICES | st.lists(st.integers(-3, 2), min_size=1, max_size=4))
    column = draw(st.integers(-4, 3) | SLICES)
    return (row, column) if draw(st.booleans()) else row


@given(
    keys(), hnp.arrays(np.float32, (3, 4), elements=st.sampled_from([0, 0, 5, -1])), st.sampled_from("snap")
)
def test_setting_is_numpys(key, values, form):
    a, wanted = nd.sparse.csr_matrix(DENSE), DENSE.copy()
    value = values[np.index_exp[:][0] if form == "s" else slice(None)][
        : wanted[key].shape[0] if wanted[key].ndim else 1
    ]
    if form == "s" or wanted[key].size == 0 or value.shape != wanted[key].shape:
        value = values[0, 0]
    wanted[key] = value
    if form == "n" and np.ndim(value):
        a[key] = nd.array(value)
    elif form == "p" and np.ndim(value) == 2:
        a[key] = sp.csr_matrix(value)
    elif form == "a" and np.ndim(value) == 2:
        a[key] = nd.sparse.csr_matrix(value)
    else:
        a[key] = value
    equal(a, wanted)


def test_setting_elements(a):
    wanted = DENSE.copy()
    for i, j, v in ((0, 0, 9), (0, 1, 8), (2, -1, 7), (-1, 0, 0), (1, 2, 0)):
        a[i, j] = wanted[i, j] = v
        equal(a, wanted)
    assert a.nnz == np.count_nonzero(wanted)
    a[np.int64(1), np.int32(1)] = nd.array([5])
    assert float(a[1, 1]) == 5


def test_setting_a_row_a_column_and_a_block(a):
    wanted = DENSE.copy()
    for key, value in (
        (0, [1, 2, 3, 4]),
        (slice(1, 3), [[1, 0, 1, 0], [0, 2, 0, 2]]),
        ((slice(None), 1), [7, 8, 9]),
        ((slice(0, 2), slice(1, 3)), 5),
        ((2, slice(None, None, 2)), [6, 6]),
        ((slice(None, None, -1), 0), [1, 2, 3]),
        ([2, 0], [[1, 1, 1, 1], [2, 2, 2, 2]]),
        ([0, 0], [[1, 1, 1, 1], [2, 2, 2, 2]]),
        ((slice(None), [3, 1]), [[1, 2], [3, 4], [5, 6]]),
    ):
        a[key] = wanted[key] = value
        equal(a, wanted)


def test_setting_points(a):
    wanted = DENSE.copy()
    a[[0, 1, 0], [1, 1, 0]] = wanted[[0, 1, 0], [1, 1, 0]] = [0, 5, 6]
    equal(a, wanted)
    a[[0, 0], [2, 2]] = [1, 2]
    assert float(a[0, 2]) == 2


def test_setting_through_masks(a):
    a[a > 2] = 1
    equal(a, np.minimum(DENSE, [[9, 9, 9, 9], [9, 9, 9, 9], [1, 9, 1, 9]]))
    a[np.array([True, False, False])] = 0
    equal(a, [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]])
    a[a == 1] = [5, 6]
    equal(a, [[0, 0, 0, 0], [0, 0, 0, 0], [5, 0, 6, 0]])


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_setting_everything(a, stype):
    new = DENSE[::-1].copy()
    a[:] = nd.array(new).tostype(stype)
    equal(a, new)
    a[:] = DENSE
    equal(a, DENSE)
    a[:] = sp.coo_matrix(new)
    equal(a, new)
    a[:] = a
    equal(a, new)
    a[:] = 0
    assert a.nnz == 0
    a[:] = 2
    equal(a, np.full((3, 4), 2))
    a[:] = DENSE.astype(np.float64).tolist()
    equal(a, DENSE)


def test_setting_what_does_not_fit(a):
    with pytest.raises(ShapeError, match=r"the place has shape \(1, 4\), the value \(3,\)"):
        a[0] = [1, 2, 3]
    with pytest.raises(ShapeError, match=r"of shape \(3, 4\) from one of shape \(2, 2\)"):
        a[:] = nd.ones((2, 2))
    with pytest.raises(ArgumentTypeError, match="value: expected numbers"):
        a[0] = "abc"
    equal(a, DENSE)


def test_setting_keeps_int32_indices():
    a = nd.sparse.csr_matrix((np.ones(1, np.float32), np.array([0], np.int32), np.array([0, 1], np.int32)))
    a[0, 0] = 5
    assert a.indices.dtype is np.int32
    assert a[:, [0]].indices.dtype is np.int32


@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "float16", "float64", "int64"])
def test_dtypes(dtype):
    dense = DENSE.astype(dtype)
    a = nd.sparse.csr_matrix(dense)
    equal(a[1:, ::-1], dense[1:, ::-1])
    a[1] = 1
    dense[1] = 1
    equal(a, dense)
    assert a.dtype is np.dtype(dtype).type


# -- scipy, numpy, conversions ---------------------------------------------------------------------------


def test_asscipy_shares_memory_and_is_never_written(a):
    matrix = a.asscipy()
    assert isinstance(matrix, sp.csr_matrix)
    assert np.shares_memory(matrix.data, a._chunk.data)
    a *= 3
    a += a
    a[0, 0] = 5
    a[:] = 0
    assert np.array_equal(matrix.toarray(), DENSE)
    assert a.nnz == 0


def test_asscipy_copy(a):
    matrix = a.asscipy(copy=True)
    matrix.data[:] = 7
    equal(a, DENSE)


def test_scipy_may_tidy_up_in_place():
    parts = np.array([1, 0, 2, 4], np.float32), np.array([1, 0, 1, 1]), np.array([0, 3, 4])
    a = nd.sparse.csr_matrix(parts, shape=(2, 2))
    for tidy in ("sum_duplicates", "sort_indices", "eliminate_zeros"):
        matrix = a.asscipy()
        getattr(matrix, tidy)()
        assert a.asnumpy().tolist() == [[0, 3], [0, 4]]
        assert a.indices.asnumpy().tolist() == [1, 0, 1, 1]


def test_asscipy_of_mixed_index_types_and_empties():
    a = nd.sparse.csr_matrix((np.ones(1, np.float32), np.array([0], np.int32), np.array([0, 1], np.int64)))
    assert a.asscipy().toarray().tolist() == [[1]]
    assert nd.sparse.zeros("csr", (0, 3)).asscipy().shape == (0, 3)


def test_no_silent_dense_copies(a):
    for convert in (np.asarray, np.array, lambda x: np.asarray(x, np.float64)):
        with pytest.raises(NotSupportedForSparse, match=r"call asnumpy\(\) or tostype.*asscipy"):
            convert(a)
    with pytest.raises(NotSupportedForSparse, match="DLPack carries dense arrays"):
        np.from_dlpack(a)


def test_dense_copies_on_demand(a):
    assert isinstance(a.toarray(), np.ndarray)
    equal(a.todense(), DENSE, "default")
    equal(a.tostype("default"), DENSE, "default")
    equal(a.tostype("row_sparse"), DENSE, "row_sparse")
    twin = a.tostype("csr")
    assert twin is not a
    equal(twin, DENSE)
    assert a.tolist() == DENSE.tolist()


def test_reshape(a):
    equal(a.reshape((4, 3)), DENSE.reshape(4, 3))
    equal(a.reshape(-1, 2), DENSE.reshape(-1, 2))
    equal(a.reshape((0, -1)), DENSE)
    equal(a.reshape(-1), DENSE.reshape(-1), "default")
    equal(nd.sparse.zeros("csr", (0, 4)).reshape((2, -1)), np.zeros((2, 0)))
    with pytest.raises(ShapeError):
        a.reshape((5, 3))


def test_zeros_like_and_release(a):
    equal(a.zeros_like(), np.zeros((3, 4)))
    equal(nd.zeros_like(a), np.zeros((3, 4)))
    equal(nd.ones_like(a), np.ones((3, 4)), "default")


def test_check_format_of_arrays():
    bad = nd.sparse.csr_matrix(([1, 2], [1, 0], [0, 2]), shape=(1, 2))
    with pytest.raises(FormatCheckError, match=r"csr: indices\[1\] \(row 0\) is 0"):
        bad.check_format()
    bad.check_format(full_check=False)
