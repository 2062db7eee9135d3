"""Every form of argument that makes an array, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    FormatCheckError,
    NDSparseError,
    ShapeError,
    StorageTypeError,
)

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
SCIPY = [
    kind(DENSE)
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.lil_matrix, sp.dok_matrix, sp.csr_array)
] + [sp.coo_array(DENSE), sp.csc_array(DENSE), sp.bsr_matrix(DENSE), sp.dia_matrix(DENSE)]


def same(array, dense, stype, dtype=None):
    assert array.stype == stype
    assert array.shape == np.shape(dense)
    array.check_format(full_check=True)
    assert np.array_equal(array.asnumpy(), dense)
    assert array.dtype is (dtype or np.float32)


# -- csr_matrix -----------------------------------------------------------------------------------------


def test_csr_from_three_arrays():
    a = nd.sparse.csr_matrix(([1, 2, 3, 4], [1, 3, 0, 2], [0, 2, 2, 4]), shape=(3, 4))
    same(a, DENSE, "csr")
    assert isinstance(a, nd.CSRNDArray)
    assert a.indices.dtype is a.indptr.dtype is np.int64
    assert a.nnz == 4


def test_csr_from_three_ndarrays_shares_nothing_with_them():
    data = nd.array([1, 2])
    a = nd.sparse.csr_matrix((data, nd.array([0, 1]), nd.array([0, 2])))
    data += 5
    same(a, [[1, 2]], "csr")


def test_csr_infers_the_least_shape():
    assert nd.sparse.csr_matrix(([1, 2], [0, 5], [0, 1, 1, 2])).shape == (3, 6)
    assert nd.sparse.csr_matrix(([1, 2], ([3, 0], [1, 2]))).shape == (4, 3)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "uint32", ">i8", "float64"])
def test_csr_index_dtypes(dtype):
    indices, indptr = np.array([1, 0], dtype), np.array([0, 1, 2], dtype)
    a = nd.sparse.csr_matrix((np.array([5.0, 6.0]), indices, indptr), shape=(2, 2))
    same(a, [[0, 5], [6, 0]], "csr", np.float64)
    kept = np.int32 if dtype == "int32" else np.int64
    assert a.indices.dtype is kept
    assert a.indptr.dtype is kept
    assert a.asscipy().indices.dtype == kept


def test_csr_takes_numpy_arrays_over_but_never_writes_into_them():
    data, indices, indptr = np.array([1.0, 2.0], np.float32), np.array([0, 1]), np.array([0, 1, 2])
    a = nd.sparse.csr_matrix((data, indices, indptr), shape=(2, 2))
    assert np.shares_memory(a._chunk.data, data)
    a *= 3
    a[0, 1] = 7
    assert data.tolist() == [1, 2]
    assert indices.tolist() == [0, 1]
    assert a.asnumpy().tolist() == [[3, 7], [0, 6]]


def test_csr_from_read_only_strided_and_swapped_arrays():
    data = np.array([1, 9, 2, 9], ">f4")[::2]
    indices = np.array([0, 9, 1, 9], np.int32)[::2]
    indptr = np.array([0, 1, 2])
    for array in (data, indices, indptr):
        array.flags.writeable = False
    a = nd.sparse.csr_matrix((data, indices, indptr), shape=(2, 2))
    same(a, [[1, 0], [0, 2]], "csr")
    a += a
    same(a, [[2, 0], [0, 4]], "csr")


def test_csr_content_that_is_not_canonical_is_kept_for_check_format_to_find():
    a = nd.sparse.csr_matrix(([1, 2, 4], [2, 0, 2], [0, 3]), shape=(1, 3))
    with pytest.raises(FormatCheckError):
        a.check_format()
    assert a.asnumpy().tolist() == [[2, 0, 5]]


@pytest.mark.parametrize(
    "coords", [([2, 0, 2, 0, 0], [2, 3, 0, 1, 3]), np.array([[2, 0, 2, 0, 0], [2, 3, 0, 1, 3]])]
)
def test_csr_from_coordinates_sorts_and_sums(coords):
    a = nd.sparse.csr_matrix((np.array([4, 1, 3, 1, 1], np.float32), coords), shape=(3, 4))
    same(a, DENSE, "csr")


def test_csr_from_coordinates_takes_what_numpy_makes_of_lists():
    assert nd.sparse.csr_matrix(([1, 2], ([0, 1], [1, 0]))).dtype is np.int64
    assert nd.sparse.csr_matrix(([1, 2], ([0, 1], [1, 0])), dtype="float32").dtype is np.float32
    one = nd.sparse.csr_matrix((1.0, ([0, 1], [1, 0])), shape=(2, 2), dtype=np.float32)
    same(one, [[0, 1], [1, 0]], "csr")


def test_csr_from_int32_coordinates_keeps_them():
    coords = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
    assert nd.sparse.csr_matrix(([1.0, 2.0], coords)).indices.dtype is np.int32


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0), (np.int64(3), np.int32(4)), (2, 2**40)])
def test_empty_csr(shape):
    a = nd.sparse.csr_matrix(shape)
    assert a.shape == tuple(int(n) for n in shape)
    assert a.dtype is np.float32
    assert a.nnz == 0
    a.check_format()


def test_csr_of_unusual_extents():
    same(nd.sparse.csr_matrix(([], [], [0]), shape=(0, 3)), np.zeros((0, 3)), "csr")
    same(nd.sparse.csr_matrix(([], [], [0, 0]), shape=(1, 0)), np.zeros((1, 0)), "csr")
    same(nd.sparse.csr_matrix(np.zeros((0, 3), np.float32)), np.zeros((0, 3)), "csr")
    same(nd.sparse.csr_matrix([[7]]), [[7]], "csr")
    wide = nd.sparse.csr_matrix(([1.0], [2**40], [0, 1]), shape=(1, 2**41))
    assert wide.indices.asnumpy().tolist() == [2**40]


@pytest.mark.parametrize(
    "source", [DENSE, DENSE.tolist(), tuple(map(tuple, DENSE.tolist())) + ((0, 0, 0, 0),)]
)
def test_csr_from_dense(source):
    if isinstance(source, tuple):  # a tuple is one of the forms above, not a matrix
        with pytest.raises(NDSparseError):
            nd.sparse.csr_matrix(source)
    else:
        same(nd.sparse.csr_matrix(source), DENSE, "csr")


@pytest.mark.parametrize("matrix", SCIPY, ids=lambda m: f"{type(m).__name__}")
def test_csr_from_scipy(matrix):
    same(nd.sparse.csr_matrix(matrix), DENSE, "csr")
    same(nd.sparse.csr_matrix(matrix, dtype="float64"), DENSE, "csr", np.float64)
    same(nd.sparse.array(matrix), DENSE, "csr")
    same(nd.array(matrix), DENSE, "csr")
    same(nd.sparse.row_sparse_array(matrix), DENSE, "row_sparse")


def test_csr_on_scipys_memory_never_writes_into_it():
    matrix = sp.csr_matrix(DENSE)
    a = nd.sparse.csr_matrix(matrix)
    assert np.shares_memory(a._chunk.data, matrix.data)
    a *= 2
    a[:] = 0
    assert np.array_equal(matrix.toarray(), DENSE)
    copied = nd.sparse.array(matrix)
    matrix.data[:] = 9
    same(copied, DENSE, "csr")


def test_csr_from_scipy_that_is_not_canonical():
    matrix = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), [2, 0, 2], [0, 3]), shape=(1, 3))
    a = nd.sparse.csr_matrix(matrix)
    same(a, [[2, 0, 5]], "csr", np.float64)
    assert matrix.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_sparse_from_ndarrays_of_any_storage_type(stype):
    source = nd.array(DENSE).tostype(stype)
    for make, wanted in ((nd.sparse.csr_matrix, "csr"), (nd.sparse.row_sparse_array, "row_sparse")):
        a = make(source)
        same(a, DENSE, wanted)
        same(make(source, dtype=np.float64), DENSE, wanted, np.float64)
        a[:] = 0
        assert np.array_equal(source.asnumpy(), DENSE)


CSR_REFUSED = [
    (lambda: nd.sparse.csr_matrix((2, 3, 4)), ShapeError, r"a csr array has 2 dimensions, got \(2, 3, 4\)"),
    (lambda: nd.sparse.csr_matrix(([1], [0], [0, 1]), shape=(1,)), ShapeError, "2 dimensions"),
    (
        lambda: nd.sparse.csr_matrix(([1], [0], [0, 1], 5)),
        ArgumentError,
        "unexpected length of input tuple: 4",
    ),
    (lambda: nd.sparse.csr_matrix((5,)), ArgumentError, "unexpected length of input tuple: 1"),
    (lambda: nd.sparse.csr_matrix(([1, 2], [0])), ArgumentError, "expected .data, .row, col.."),
    (
        lambda: nd.sparse.csr_matrix(([1, 2], [0], [0, 1])),
        ShapeError,
        "data .2,. and indices .1,. must be equally",
    ),
    (lambda: nd.sparse.csr_matrix(([], [], [])), ShapeError, "indptr: expected rows"),
    (lambda: nd.sparse.csr_matrix(([], [], [0, 0])), ShapeError, "shape: give a shape"),
    (lambda: nd.sparse.csr_matrix(([], ([], []))), ShapeError, "shape: give a shape"),
    (
        lambda: nd.sparse.csr_matrix(([1], [0], [0, 1]), shape=(2, 2)),
        ShapeError,
        "indptr: expected 3 numbers",
    ),
    (
        lambda: nd.sparse.csr_matrix(([1], [0], [0, 2]), shape=(1, 2)),
        ShapeError,
        "indptr: expected 2 numbers",
    ),
    (lambda: nd.sparse.csr_matrix(([1], [5], [0, 1]), shape=(1, 2)), FormatCheckError, r"indices\[0\].*is 5"),
    (
        lambda: nd.sparse.csr_matrix(([1], [-1], [0, 1]), shape=(1, 2)),
        FormatCheckError,
        r"indices\[0\].*is -1",
    ),
    (
        lambda: nd.sparse.csr_matrix(([1, 2], [0, 1], [0, 2, 1, 2]), shape=(3, 2)),
        FormatCheckError,
        r"indptr\[2\]",
    ),
    (lambda: nd.sparse.csr_matrix(([1], [[0]], [0, 1])), ShapeError, "indices: expected 1 dimension"),
    (
        lambda: nd.sparse.csr_matrix(([1], [0.5], [0, 1])),
        ArgumentError,
        "indices: expected whole numbers, got 0.5",
    ),
    (lambda: nd.sparse.csr_matrix(([1], ["a"], [0, 1])), ArgumentTypeError, "indices: expected numbers"),
    (lambda: nd.sparse.csr_matrix(([1], ([5], [0])), shape=(2, 2)), ShapeError, "row: index 5 is outside"),
    (lambda: nd.sparse.csr_matrix(([1], ([0], [-1])), shape=(2, 2)), ShapeError, "col: index -1 is outside"),
    (lambda: nd.sparse.csr_matrix(([1, 2], ([0], [0]))), ShapeError, "must be equally long"),
    (
        lambda: nd.sparse.csr_matrix(DENSE, shape=(4, 3)),
        ShapeError,
        r"\(4, 3\) was asked for, the array has \(3, 4\)",
    ),
    (lambda: nd.sparse.csr_matrix(DENSE[0]), ShapeError, r"a csr array has 2 dimensions, got \(4,\)"),
    (lambda: nd.sparse.csr_matrix(nd.ones((2, 2, 2))), ShapeError, "2 dimensions"),
    (lambda: nd.sparse.csr_matrix("abc"), ArgumentTypeError, "expected numbers in a regular array, got str"),
    (lambda: nd.sparse.csr_matrix(None), ArgumentTypeError, "got NoneType"),
    (lambda: nd.sparse.csr_matrix(DENSE, dtype="complex64"), DTypeError, "complex64"),
    (lambda: nd.sparse.csr_matrix(DENSE.astype(np.int16)), DTypeError, "int16"),
    (
        lambda: nd.sparse.csr_matrix(([1], np.array([2**63], np.uint64), [0, 1])),
        ArgumentError,
        "does not fit in int64",
    ),
]


@pytest.mark.parametrize(("make", "error", "text"), CSR_REFUSED)
def test_csr_refuses(make, error, text):
    with pytest.raises(error, match=text):
        make()


# -- row_sparse_array -------------------------------------------------------------------------------------


def test_row_sparse_from_rows_and_ids():
    a = nd.sparse.row_sparse_array(([[0, 1, 0, 2], [3, 0, 4, 0]], [0, 2]), shape=(3, 4))
    same(a, DENSE, "row_sparse")
    assert isinstance(a, nd.RowSparseNDArray)
    assert a.indices.dtype is np.int64


def test_row_sparse_sorts_and_sums_and_infers_the_shape():
    a = nd.sparse.row_sparse_array((np.array([[1, 1], [2, 2], [4, 4]], np.float32), [3, 0, 3]))
    assert a.shape == (4, 2)
    same(a, [[2, 2], [0, 0], [0, 0], [5, 5]], "row_sparse")
    assert a.indices.asnumpy().tolist() == [0, 3]


def test_row_sparse_of_any_rank():
    same(nd.sparse.row_sparse_array(([5, 6], [1, 3]), shape=(4,)), [0, 5, 0, 6], "row_sparse")
    cube = np.zeros((3, 2, 2), np.float32)
    cube[1] = 1
    same(nd.sparse.row_sparse_array((cube[1:2], [1]), shape=(3, 2, 2)), cube, "row_sparse")
    same(nd.sparse.row_sparse_array(cube), cube, "row_sparse")
    assert nd.sparse.row_sparse_array((np.zeros((1, 0)), [1]), shape=(2, 0)).shape == (2, 0)


def test_row_sparse_keeps_int32_ids_and_never_writes_into_given_arrays():
    data, ids = np.ones((1, 2), np.float32), np.array([1], np.int32)
    a = nd.sparse.row_sparse_array((data, ids), shape=(3, 2))
    assert a.indices.dtype is np.int32
    assert np.shares_memory(a._chunk.data, data)
    a *= 2
    assert data.tolist() == [[1, 1]]
    assert a.asnumpy().tolist() == [[0, 0], [2, 2], [0, 0]]


@pytest.mark.parametrize("shape", [(3, 4), (0, 4), (3, 0), (3, 4, 5), (2**40, 2)])
def test_empty_row_sparse(shape):
    a = nd.sparse.row_sparse_array(shape)
    assert a.shape == shape
    assert a.nnz == 0
    a.check_format()


def test_row_sparse_of_no_rows():
    for rows in ([], np.empty((0, 2))):
        same(
            nd.sparse.row_sparse_array((rows, []), shape=(3, 2), dtype="float32"),
            np.zeros((3, 2)),
            "row_sparse",
        )


def test_row_sparse_of_huge_shapes():
    a = nd.sparse.row_sparse_array(([[1.0]], [2**40]), shape=(2**41, 1))
    assert a.indices.asnumpy().tolist() == [2**40]
    assert (a + a)._chunk.data.tolist() == [[2]]


ROWS_REFUSED = [
    (lambda: nd.sparse.row_sparse_array((5,)), ArgumentError, "unexpected length of input tuple: 1"),
    (lambda: nd.sparse.row_sparse_array(([[1, 2]], [0, 1])), ShapeError, "same number of rows"),
    (lambda: nd.sparse.row_sparse_array((5.0, [0])), ShapeError, "same number of rows"),
    (lambda: nd.sparse.row_sparse_array(([[1, 2]], [9]), shape=(5, 2)), ShapeError, "row 9 is outside"),
    (lambda: nd.sparse.row_sparse_array(([[1, 2]], [-1]), shape=(5, 2)), ShapeError, "row -1 is outside"),
    (lambda: nd.sparse.row_sparse_array(([[1, 2]], [0]), shape=(5, 3)), ShapeError, r"rows of shape \(2,\)"),
    (
        lambda: nd.sparse.row_sparse_array(([[1, 2]], [0]), shape=5),
        ShapeError,
        r"do not fit the shape \(5,\)",
    ),
    (lambda: nd.sparse.row_sparse_array(DENSE, shape=(4, 3)), ShapeError, "was asked for"),
    (lambda: nd.sparse.row_sparse_array(np.float32(5)), ShapeError, "at least 1 dimension"),
    (lambda: nd.sparse.row_sparse_array("abc"), ArgumentTypeError, "got str"),
]


@pytest.mark.parametrize(("make", "error", "text"), ROWS_REFUSED)
def test_row_sparse_refuses(make, error, text):
    with pytest.raises(error, match=text):
        make()


# -- zeros, empty, array and others ------------------------------------------------------------------------


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_zeros_of_a_storage_type(stype):
    for made in (nd.sparse.zeros(stype, (3, 4)), nd.zeros((3, 4), stype=stype)):
        same(made, np.zeros((3, 4)), stype)
    same(nd.sparse.zeros(stype, (3, 4), dtype="int8"), np.zeros((3, 4)), stype, np.int8)
    if stype != "default":
        same(nd.sparse.empty(stype, (3, 4)), np.zeros((3, 4)), stype)
        same(nd.empty((3, 4), stype=stype), np.zeros((3, 4)), stype)
        assert nd.zeros((2, 2), stype=stype).data.shape[0] == 0


def test_zeros_refuse():
    with pytest.raises(StorageTypeError, match="unknown storage type 'foo'"):
        nd.sparse.zeros("foo", (3, 4))
    with pytest.raises(StorageTypeError, match="makes sparse arrays; got 'default'"):
        nd.sparse.empty("default", (3, 4))
    for shape in (3, (1, 2, 3)):
        with pytest.raises(ShapeError, match="a csr array has 2 dimensions"):
            nd.sparse.zeros("csr", shape)
    with pytest.raises(ShapeError, match="non-negative"):
        nd.zeros((-1, 2))
    assert nd.sparse.zeros("row_sparse", 3).shape == (3,)


def test_dense_creation():
    same(nd.zeros(3), np.zeros(3), "default")
    same(nd.ones((2, 3), dtype=np.int32), np.ones((2, 3)), "default", np.int32)
    same(nd.full((2, 2), 7), np.full((2, 2), 7), "default")
    same(nd.full(3, 7.5, dtype=float), np.full(3, 7.5), "default", np.float64)
    same(nd.arange(5), np.arange(5), "default")
    same(nd.arange(1, 7, 2, repeat=2), [1, 1, 3, 3, 5, 5], "default")
    same(nd.eye(2, 3, 1), np.eye(2, 3, 1), "default")
    same(nd.linspace(0, 1, 3), [0, 0.5, 1], "default")
    assert nd.empty((2, 3)).shape == (2, 3)
    out = nd.zeros((2, 2))
    assert nd.full((2, 2), 3, out=out) is out
    assert out.asnumpy().tolist() == [[3, 3], [3, 3]]
    with pytest.raises(ArgumentError, match="step must not be 0"):
        nd.arange(1, 2, 0)


def test_array_of_anything():
    same(nd.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], "default")
    same(nd.array(((1, 2),)), [[1, 2]], "default")
    same(nd.array(range(3)), [0, 1, 2], "default")
    same(nd.array([True, False]), [1, 0], "default")
    same(nd.array([]), [], "default")
    same(nd.array([[]]), [[]], "default")
    same(nd.array(5), 5, "default")
    same(nd.array([nd.array([1, 2]), nd.array([3, 4])]), [[1, 2], [3, 4]], "default")
    same(nd.array(DENSE), DENSE, "default")
    same(nd.array(DENSE.T), DENSE.T, "default")
    same(nd.array(DENSE.astype(">f4")), DENSE, "default")
    same(nd.array(np.arange(3)), [0, 1, 2], "default")  # as in MXNet
    same(nd.array(np.arange(3), dtype=np.int64), [0, 1, 2], "default", np.int64)
    same(nd.array(nd.array([1, 2], dtype="int32")), [1, 2], "default", np.int32)
    same(nd.array(np.float64(2)), 2, "default")
    same(nd.array(DENSE.astype(np.uint16)), DENSE, "default")


@pytest.mark.parametrize("ids", [[2**24 + 1], [-(2**24) - 1, 0], [5_000_000_000]])
def test_whole_numbers_that_float32_does_not_hold_keep_their_dtype(ids):
    same(nd.array(np.array(ids)), ids, "default", np.int64)
    same(nd.array(ids), ids, "default", np.int64)


def test_array_copies():
    source = DENSE.copy()
    a = nd.array(source)
    b = nd.array(a)
    source[:] = 9
    a += 1
    assert np.array_equal(b.asnumpy(), DENSE)
    assert np.array_equal(a.asnumpy(), DENSE + 1)


def test_array_of_sparse_keeps_the_storage_type():
    for stype in ("csr", "row_sparse"):
        source = nd.array(DENSE).tostype(stype)
        same(nd.array(source), DENSE, stype)
        same(nd.sparse.array(source, dtype="float64"), DENSE, stype, np.float64)
        assert nd.array(source) is not source


@pytest.mark.parametrize("source", ["abc", [[1, 2], [3]], [None], {"a": 1}, object(), ["1"]])
def test_array_refuses_what_holds_no_numbers(source):
    with pytest.raises(ArgumentTypeError, match="source_array: expected numbers in a regular array, got"):
        nd.array(source)


@pytest.mark.parametrize("source", [DENSE.astype(np.complex64), np.array([2**40], np.uint64)])
def test_array_says_how_to_get_on_with_other_dtypes(source):
    with pytest.raises(DTypeError, match=r"source_array \(dtype= converts it\): expected one of"):
        nd.array(source)


def test_sparse_array_refuses_what_is_dense():
    for source in (DENSE, [[1]], nd.ones((2, 2))):
        with pytest.raises(ArgumentTypeError, match="source_array: expected a sparse array"):
            nd.sparse.array(source)


def test_contexts():
    for made in (
        nd.array([1], ctx=mx.cpu(1)),
        nd.zeros(2, ctx=mx.cpu(1)),
        nd.sparse.csr_matrix((2, 2), ctx=mx.cpu(1)),
        nd.sparse.zeros("row_sparse", (2, 2), mx.cpu(1)),
    ):
        assert made.context == made.ctx == mx.cpu(1)
    with mx.cpu(2):
        assert nd.zeros(2).context == mx.cpu(2)
    assert nd.zeros(2).context == mx.cpu(0)
    with pytest.raises(NDSparseError, match="runs on CPUs only"):
        nd.zeros(2, ctx=mx.gpu())


def test_from_numpy_shares_memory():
    source = DENSE.copy()
    a = nd.from_numpy(source)
    source[0, 0] = 5
    assert a[0, 0].asscalar() == 5
    same(nd.from_numpy(DENSE.T), DENSE.T, "default")
    assert not np.shares_memory(nd.from_numpy(source, zero_copy=False)._chunk.data, source)
    with pytest.raises(ArgumentTypeError, match="ndarray: expected a numpy array, got list"):
        nd.from_numpy([1])


def test_concatenate():
    a = nd.array(DENSE)
    assert nd.concatenate([a, a]).shape == (6, 4)
    assert nd.concatenate([a, a, a], axis=1).shape == (3, 12)
    assert nd.concatenate([a], always_copy=False) is a


def test_classes_are_not_constructors():
    for kind in (nd.NDArray, nd.CSRNDArray, nd.RowSparseNDArray):
        with pytest.raises(ArgumentTypeError, match=r"use nd.array\(\.\.\.\) to make one, got list"):
            kind([1, 2])
