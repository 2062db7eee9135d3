"""Operations on row_sparse arrays, against numpy on dense ones."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse.kernels import row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.kernels.row_ids import union_ids, unique_ids

pytestmark = pytest.mark.usefixtures("threads")

ROWS = 12
IDS = [[], [3], [0, 2, 5, 11], [1, 2, 3, 5, 9], list(range(ROWS))]


def rows_of(ids, dtype=np.float32, shape=(2, 3), seed=0, index=np.int64):
    ids = np.array(ids, index)
    data = np.random.default_rng(seed).integers(-4, 5, (len(ids), *shape)).astype(dtype)
    ids.flags.writeable = data.flags.writeable = False
    return ids, data


def dense_of(rows):
    out = np.zeros((ROWS, *rows[1].shape[1:]), rows[1].dtype)
    out[rows[0]] = rows[1]
    return out


def allocate(count, like, dtype=None):
    shape = (count, *like[1].shape[1:])
    return np.full(count, 99, np.int64), np.full(shape, 99, like[1].dtype if dtype is None else dtype)


NUMPY = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.RSUB: lambda a, b: b - a,
    Op.MAXIMUM: np.maximum,
    Op.MINIMUM: np.minimum,
    Op.HYPOT: np.hypot,
}


@pytest.mark.parametrize("left", IDS)
@pytest.mark.parametrize("right", IDS)
def test_union_and_intersection(left, right):
    lhs, rhs = rows_of(left), rows_of(right, seed=1)
    for op, meaning in NUMPY.items():
        out = allocate(row_sparse.union_count(lhs[0], rhs[0]), lhs)
        row_sparse.union_fill(op, lhs, rhs, out)
        assert np.array_equal(out[0], np.union1d(left, right))
        assert np.allclose(dense_of(out), meaning(dense_of(lhs), dense_of(rhs)), rtol=1e-6)
    out = allocate(row_sparse.intersection_count(lhs[0], rhs[0]), lhs)
    row_sparse.intersection_fill(Op.MUL, lhs, rhs, out)
    assert np.array_equal(out[0], np.intersect1d(left, right))
    assert np.array_equal(dense_of(out), dense_of(lhs) * dense_of(rhs))


@pytest.mark.parametrize(
    ("dtype", "index"), [(np.float64, np.int32), (np.int64, np.int64), (np.int8, np.int64)]
)
def test_other_dtypes(dtype, index):
    lhs, rhs = rows_of(IDS[2], dtype, index=index), rows_of(IDS[3], dtype, seed=1)
    out = allocate(row_sparse.union_count(lhs[0], rhs[0]), lhs)
    row_sparse.union_fill(Op.ADD, lhs, rhs, out)
    assert np.array_equal(dense_of(out), dense_of(lhs) + dense_of(rhs))


def test_rows_are_replaced_and_inserted():
    store, new = rows_of(IDS[2]), rows_of(IDS[3], seed=1)
    out = allocate(row_sparse.union_count(store[0], new[0]), store)
    row_sparse.union_fill(Op.REPLACE, store, new, out)
    wanted = dense_of(store)
    wanted[new[0]] = new[1]
    assert np.array_equal(dense_of(out), wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of divisions by zero, without numba
def test_division_keeps_the_rows_of_the_left():
    lhs, rhs = rows_of(IDS[2]), rows_of(IDS[3], seed=1)
    out = np.empty_like(lhs[1])
    row_sparse.left_fill(Op.DIV, lhs, rhs, out)
    with np.errstate(all="ignore"):
        assert np.array_equal(out, (dense_of(lhs) / dense_of(rhs))[lhs[0]], equal_nan=True)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_sum_of_many(count):
    many = [rows_of(IDS[i % len(IDS)], seed=i) for i in range(count)]
    ids = union_ids([m[0] for m in many])
    out = np.full((len(ids), 2, 3), 9, np.float32)
    row_sparse.sum_many(many, ids, out)
    assert np.array_equal(dense_of((ids, out)), sum(dense_of(m) for m in many))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.bool_])
def test_retain(dtype):
    rows = rows_of(IDS[2], dtype)
    wanted = np.array([0, 1, 5, 7])
    out = allocate(row_sparse.retain_count(rows[0], wanted), rows)
    row_sparse.retain_fill(rows, wanted, out)
    assert out[0].tolist() == [0, 5]
    assert np.array_equal(out[1], dense_of(rows)[[0, 5]])
    wanted = np.array([7, 5, 5, 0])
    out = np.ones((4, 2, 3), dtype)
    row_sparse.retain_dense(rows, wanted, out)
    assert np.array_equal(out, dense_of(rows)[wanted])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.uint8])
def test_gather_and_scatter(dtype):
    table = np.random.default_rng(0).integers(0, 9, (ROWS, 5)).astype(dtype)
    rows = np.array([3, 11, 0, 3])
    out = np.empty((4, 5), dtype)
    row_sparse.gather_rows(table, rows, out)
    assert np.array_equal(out, table[rows])
    data = np.arange(20).reshape(4, 5).astype(dtype)
    wanted = table.copy()
    for row, value in zip(rows, data, strict=True):
        wanted[row] = value
    row_sparse.scatter_rows(rows, data, table)
    assert np.array_equal(table, wanted)
    np.add.at(wanted, rows, data)
    row_sparse.scatter_add_rows(rows, data, table)
    assert np.array_equal(table, wanted)


def test_sum_of_duplicate_rows():
    ids = np.array([7, 3, 7, 7])
    data = np.arange(8, dtype=np.float32).reshape(4, 2)
    unique, slots = unique_ids(ids)
    out = np.empty((2, 2), np.float32)
    row_sparse.sum_duplicates(data, slots, out)
    assert unique.tolist() == [3, 7]
    assert out.tolist() == [[2, 3], [10, 13]]


@pytest.mark.parametrize("ids", IDS)
def test_with_dense(ids):
    rows = rows_of(ids)
    dense = np.random.default_rng(3).integers(1, 5, (ROWS, 2, 3)).astype(np.float32)
    out = np.empty_like(rows[1])
    row_sparse.row_dense_gather(Op.DIV, rows, dense, out)
    assert np.array_equal(out, rows[1] / dense[rows[0]])
    for op in (Op.ADD, Op.SUB, Op.RSUB):
        wanted = NUMPY[op](dense_of(rows), dense)
        out = np.empty_like(dense)
        row_sparse.row_dense_sum(op, rows, dense, out)
        assert np.array_equal(out, wanted)
        in_place = dense.copy()
        row_sparse.row_dense_sum(op, rows, in_place, in_place)
        assert np.array_equal(in_place, wanted)
