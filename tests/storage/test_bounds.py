"""Arrays from outside: ids out of bounds are refused, order is free, int32 gives way to int64."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import ndsparse as mx
from ndsparse.errors import FormatCheckError
from ndsparse.kernels import border
from ndsparse.optimizer import SGD, get_updater

nd = mx.nd
WIDE = (2**40, 1)
I32, I64 = np.dtype(np.int32), np.dtype(np.int64)


def broken(part, at, value):
    """Return a scipy matrix with one number changed behind scipy's back."""
    matrix = sp.csr_matrix(np.array([[0, 1, 0], [2, 0, 3], [0, 0, 4]], np.float32))
    getattr(matrix, part)[at] = value
    return matrix


BROKEN = [
    ("indices", 0, 10**9),
    ("indices", 3, 3),
    ("indices", 1, -1),
    ("indptr", 0, 1),
    ("indptr", 1, 10**9),
    ("indptr", 1, -5),
    ("indptr", 3, 10**9),
    ("indptr", 3, -1),
]


@pytest.mark.parametrize("fault", BROKEN, ids=str)
@pytest.mark.parametrize(
    "take",
    [
        nd.sparse.csr_matrix,
        nd.sparse.row_sparse_array,
        lambda m: nd.ones((3, 3)) + m,
        lambda m: mx.io.NDArrayIter(m, batch_size=1),
    ],
    ids=["csr_matrix", "row_sparse_array", "operand", "iterator"],
)
def test_broken_scipy_matrices_are_refused(fault, take):
    with pytest.raises(FormatCheckError):
        take(broken(*fault))


def test_unused_room_of_scipy_matrices_is_left_out():
    matrix = sp.csr_matrix((3, 3), dtype=np.float32)
    matrix.indptr = np.array([0, 1, 1, 2], np.int32)
    matrix.indices = np.array([2, 0, 99], np.int32)
    matrix.data = np.array([1, 2, 9], np.float32)
    assert nd.sparse.csr_matrix(matrix).asnumpy().tolist() == [[0, 0, 1], [0, 0, 0], [2, 0, 0]]


def rows32(shape=WIDE):
    return nd.sparse.row_sparse_array((np.ones((1, 1), np.float32), np.array([3], np.int32)), shape=shape)


def test_constructors_widen_ids_that_the_shape_outgrows():
    assert rows32().aux_types == [I64]
    assert rows32((2**31, 1)).aux_types == [I32]
    parts = (np.ones(1, np.float32), np.array([3], np.int32), np.array([0, 1], np.int32))
    a = nd.sparse.csr_matrix(parts, shape=(1, 2**40))
    assert a.aux_types == [I64, I64]
    a[0, 2**33] = 7
    assert a.indices.asnumpy().tolist() == [3, 2**33]
    assert nd.sparse.csr_matrix(sp.csr_matrix(parts, shape=(1, 2**40))).aux_types == [I64, I64]


def test_writing_rows_beyond_int32():
    a = rows32()
    a[2**33] = 7
    assert a.indices.asnumpy().tolist() == [3, 2**33]
    store = mx.kv.create("local")
    store.init("w", a)
    out = rows32()
    store.row_sparse_pull("w", out=out, row_ids=nd.array([2**33], dtype="int64"))
    assert out.indices.asnumpy().tolist() == [2**33]
    retained = nd.sparse.retain(a, nd.array([2**33], dtype="int64"))
    assert retained.indices.asnumpy().tolist() == [2**33]


@pytest.mark.parametrize("dtype", [None, I32])
def test_allocated_ids_are_int64_where_rows_need_it(monkeypatch, dtype):
    narrow = mx.storage.RowSparseChunk((42, 1), np.float32, [np.int32])
    assert narrow.check_and_alloc(2, dtype)[0].dtype == I32
    monkeypatch.setattr(border, "_INT32_MAX", 40)
    assert narrow.check_and_alloc(2, dtype)[0].dtype == I64
    fits = mx.storage.RowSparseChunk((41, 1), np.float32, [np.int32])
    assert fits.check_and_alloc(2, dtype)[0].dtype == I32


def test_ids_of_dense_values_and_joined_rows_outgrow_int32(monkeypatch):
    small, joined = rows32((30, 1)), rows32((60, 1))
    out = mx.storage.RowSparseChunk((60, 1), np.float32, [np.int32])
    monkeypatch.setattr(border, "_INT32_MAX", 40)
    out.set_dense(np.ones((60, 1), np.float32))
    assert out.aux_types == [I64]
    nd.concat(small, small, dim=0, out=joined)
    assert joined.aux_types == [I64]
    assert joined.indices.asnumpy().tolist() == [3, 33]


def test_optimizers_update_rows_beyond_int32():
    weight = rows32()
    grad = nd.sparse.row_sparse_array(([[1.0]], [2**33]), shape=WIDE)
    SGD(learning_rate=1).update(0, weight, grad, None)
    assert weight.indices.asnumpy().tolist() == [3, 2**33]


def unordered():
    return nd.sparse.csr_matrix(([1, 2, 4], [2, 0, 2], [0, 3]), shape=(1, 3))


def test_pickles_of_arrays_out_of_order():
    twin = pickle.loads(pickle.dumps(unordered()))
    assert twin.indices.asnumpy().tolist() == [2, 0, 2]
    assert twin.asnumpy().tolist() == [[2, 0, 5]]
    rebuild, (stype, _, dtype, data, aux) = unordered().__reduce__()
    with pytest.raises(FormatCheckError):
        rebuild(stype, (1, 2), dtype, data, aux)


def test_optimizer_states_out_of_order():
    updater, twin = get_updater(SGD(momentum=0.9)), get_updater(SGD(momentum=0.9))
    updater.states[0] = unordered()
    twin.set_states(updater.get_states())
    assert twin.states[0].indices.asnumpy().tolist() == [2, 0, 2]
