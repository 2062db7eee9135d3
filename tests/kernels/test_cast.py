"""Conversions between storage types, in arrays."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse.kernels import cast

pytestmark = pytest.mark.usefixtures("threads")

DTYPES = [np.float32, np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8, np.bool_]


def dense_matrix(shape, dtype, density=0.3):
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 9, shape) * (rng.random(shape) < density)
    dense = dense.astype(dtype)
    dense[shape[0] // 2 :][:2] = 0
    return dense


def to_csr(dense, index=np.int64):
    indptr = np.full(len(dense) + 1, 99, index)
    plan = cast.dense_to_csr_count(dense, indptr)
    out = indptr, np.full(plan.nnz, 99, index), np.empty(plan.nnz, dense.dtype)
    cast.dense_to_csr_fill(dense, plan, out)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_to_csr_and_back(dtype, densify):
    dense = dense_matrix((13, 37), dtype)
    csr = to_csr(dense)
    assert np.array_equal(densify(csr, dense.shape), dense)
    assert len(csr[1]) == np.count_nonzero(dense)
    for fresh in (False, True):
        out = np.zeros_like(dense) if fresh else np.ones_like(dense)
        cast.csr_to_dense(csr, out, zeroed=fresh)
        assert np.array_equal(out, dense)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1), (3, 16), (3, 17), (2, 300)])
@pytest.mark.parametrize("density", [0, 0.3, 1])
def test_dense_to_csr_of_any_shape(shape, density, densify):
    dense = dense_matrix(shape, np.float32, density)
    assert np.array_equal(densify(to_csr(np.asfortranarray(dense), np.int32), shape), dense)


def test_nan_is_stored_and_negative_zero_is_not():
    dense = np.array([[np.nan, -0.0, 0, 1], [-0.0] * 4])
    for dtype in (np.float16, np.float32, np.float64):
        indptr, indices, data = to_csr(dense.astype(dtype))
        assert indptr.tolist() == [0, 2, 2]
        assert indices.tolist() == [0, 3]
        assert np.isnan(data[0])
        assert cast.dense_to_rows_count(dense.astype(dtype)).tolist() == [0]


def test_csr_to_dense(matrix):
    out = np.ones(matrix.shape, matrix.data.dtype)
    cast.csr_to_dense(matrix.csr, out)
    assert np.array_equal(out, matrix.dense)


@pytest.mark.parametrize("dtype", [np.int8, np.float16])
def test_csr_with_duplicates_of_narrow_types_to_dense(make_matrix, dtype):
    matrix = make_matrix((5, 6), 20, dtype, canonical=False)
    out = np.ones(matrix.shape, dtype)
    cast.csr_to_dense(matrix.csr, out)
    assert np.array_equal(out, matrix.dense)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(13,), (13, 5), (13, 70), (40, 2, 3), (0, 3), (3, 0)])
def test_dense_to_rows_and_back(dtype, shape):
    dense = np.zeros(shape, dtype)
    if dense.size:
        dense[2::5] = 1
        dense[3::10].reshape(-1)[-1:] = 1
    ids = cast.dense_to_rows_count(dense)
    assert np.array_equal(ids, np.unique(np.nonzero(dense)[0]))
    data = np.empty((len(ids), *shape[1:]), dtype)
    cast.dense_to_rows_fill(dense, ids, data)
    assert np.array_equal(data, dense[ids])
    for fresh in (False, True):
        out = np.zeros_like(dense) if fresh else np.ones_like(dense)
        cast.rows_to_dense((ids, data), out, zeroed=fresh)
        assert np.array_equal(out, dense)


def test_of_rows_named_twice_the_last_wins():
    out = np.ones((4, 1))
    cast.rows_to_dense((np.array([2, 0, 2]), np.array([[5.0], [6], [7]])), out)
    assert out.tolist() == [[6], [0], [7], [0]]


def test_csr_to_rows(matrix):
    ids = cast.csr_to_rows_count(matrix.indptr)
    assert np.array_equal(ids, np.flatnonzero(np.diff(matrix.indptr)))
    out = np.ones((len(ids), matrix.shape[1]), matrix.data.dtype)
    cast.csr_to_rows_fill(matrix.csr, ids, out)
    assert np.array_equal(out, matrix.dense[ids])


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("ids", [[], [0, 4, 8], range(9)])
def test_rows_to_csr(dtype, ids, densify):
    ids = np.array(ids, np.int64)
    dense = np.zeros((9, 7), dtype)
    dense[ids] = dense_matrix((9, 7), dtype)[: len(ids)]
    indptr = np.empty(10, np.int64)
    plan = cast.rows_to_csr_count((ids, dense[ids]), 9, indptr)
    out = indptr, np.empty(plan.nnz, np.int64), np.empty(plan.nnz, dtype)
    cast.rows_to_csr_fill((ids, dense[ids]), plan, out)
    assert np.array_equal(densify(out, (9, 7)), dense)
    assert plan.nnz == np.count_nonzero(dense)
