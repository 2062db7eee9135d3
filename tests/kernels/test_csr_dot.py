"""Products with csr matrices, against dense products."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse import config
from ndsparse.kernels import csr_csr, csr_dot, csr_structure, dense_csr

pytestmark = pytest.mark.usefixtures("threads")


def small(shape, dtype, seed=5):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("width", [None, 1, 5])
@pytest.mark.parametrize("accumulate", [False, True])
def test_csr_dense(matrix, width, accumulate):
    m, k = matrix.shape
    tail = () if width is None else (width,)
    rhs = small((k, *tail), matrix.data.dtype)
    out = small((m, *tail), matrix.data.dtype, 6)
    wanted = matrix.dense @ rhs + accumulate * out
    csr_dot.csr_dense(matrix.csr, rhs, out, accumulate=accumulate)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("width", [None, 1, 5])
@pytest.mark.parametrize("accumulate", [False, True])
def test_csr_t_dense(matrix, width, accumulate):
    m, k = matrix.shape
    tail = () if width is None else (width,)
    rhs = small((m, *tail), matrix.data.dtype)
    out = small((k, *tail), matrix.data.dtype, 6)
    wanted = matrix.dense.T @ rhs + accumulate * out
    csr_dot.csr_t_dense(matrix.csr, rhs, out, accumulate=accumulate)
    assert np.array_equal(out, wanted)


def test_products_of_any_width(make_matrix):
    a = make_matrix((23, 37), 12)
    for width in (2, 4, 7, 16, 33, 64, 127):
        rhs, lhs = small((37, width), np.float32), small((23, width), np.float32)
        out, turned = np.empty((23, width), np.float32), np.empty((37, width), np.float32)
        csr_dot.csr_dense(a.csr, rhs, out)
        csr_dot.csr_t_dense(a.csr, lhs, turned)
        assert np.array_equal(out, a.dense @ rhs)
        assert np.array_equal(turned, a.dense.T @ lhs)
        unaligned = np.empty(37 * width + 3, np.float32)[3:].reshape(37, width)
        csr_dot.csr_t_dense(a.csr, lhs, unaligned)
        assert np.array_equal(unaligned, turned)


def test_rows_that_are_far_apart_in_memory_are_prefetched_to_no_harm(make_matrix):
    a = make_matrix((40, 3000), 9)
    rhs = small((3000, 40), np.float32)
    out = np.empty((40, 40), np.float32)
    csr_dot.csr_dense(a.csr, rhs, out)
    assert np.array_equal(out, a.dense @ rhs)


def test_narrow_types_are_computed_in_wide_ones(make_matrix):
    a = make_matrix((9, 8), 5, np.float16)
    rhs = small((8, 2), np.float16)
    out = np.empty((9, 2), np.float16)
    csr_dot.csr_dense(a.csr, rhs, out)
    assert np.array_equal(out, a.dense @ rhs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of 0 * inf, without numba
def test_nan_and_inf_pass_through():
    csr = np.array([0, 2, 2]), np.array([0, 1]), np.array([1, 0], np.float32)
    out = np.empty(2, np.float32)
    csr_dot.csr_dense(csr, np.array([2, np.inf], np.float32), out)
    assert np.isnan(out[0])
    assert out[1] == 0


def test_deterministic_sums_do_not_depend_on_threads(make_matrix):
    a = make_matrix((50, 4), 4)
    rhs = np.random.default_rng(0).standard_normal(50).astype(np.float32)
    results = []
    for number in (1, 2):
        with config.using(num_threads=number, deterministic=True):
            out = np.empty(4, np.float32)
            csr_dot.csr_t_dense(a.csr, rhs, out)
            results.append(out.tobytes())
    assert results[0] == results[1]


def test_transposed_product_as_row_sparse(matrix):
    m, k = matrix.shape
    ids, slots = csr_dot.touched_columns(matrix.indices, k)
    assert np.array_equal(ids, np.unique(matrix.indices))
    rhs = small((m, 5), matrix.data.dtype)
    out = np.full((len(ids), 5), 9, matrix.data.dtype)
    csr_dot.csr_t_dense_rows(matrix.csr, slots, rhs, out)
    assert np.array_equal(out, (matrix.dense.T @ rhs)[ids])


def test_transposed_product_of_huge_width():
    csr = np.array([0, 2, 3]), np.array([7, 1 << 40, 7]), np.array([1, 2, 3], np.float32)
    ids, slots = csr_dot.touched_columns(csr[1], (1 << 40) + 1)
    out = np.empty((2, 1), np.float32)
    csr_dot.csr_t_dense_rows(csr, slots, np.array([[10], [100]], np.float32), out)
    assert ids.tolist() == [7, 1 << 40]
    assert out.tolist() == [[310], [20]]


@pytest.mark.parametrize("ids", [[], [0, 2, 5], range(8)])
def test_csr_row_sparse(make_matrix, ids):
    a = make_matrix((9, 8), 5)
    ids = np.array(ids, np.int64)
    rows = small((len(ids), 3), np.float32)
    rhs = np.zeros((8, 3), np.float32)
    rhs[ids] = rows
    out = np.empty((9, 3), np.float32)
    csr_dot.csr_row_sparse(a.csr, (ids, rows), out, columns=8)
    assert np.array_equal(out, a.dense @ rhs)


@pytest.mark.parametrize("ids", [[], [0, 2, 5], range(9)])
def test_csr_t_row_sparse(make_matrix, ids):
    a = make_matrix((9, 8), 5)
    ids = np.array(ids, np.int64)
    rows = small((len(ids), 3), np.float32)
    part = csr_dot.csr_t_row_sparse_select(a.csr, ids)
    out = np.empty((8, 3), np.float32)
    csr_dot.csr_t_dense(part, rows, out)
    assert np.array_equal(out, a.dense[ids].T @ rows)


@pytest.mark.parametrize("height", [1, 5, 40])
@pytest.mark.parametrize("accumulate", [False, True])
def test_dense_csr(matrix, height, accumulate):
    k, n = matrix.shape
    dtype = matrix.data.dtype
    lhs = small((height, k), dtype)
    out = small((height, n), dtype, 6)
    wanted = lhs @ matrix.dense + accumulate * out
    dense_csr.dense_csr(np.ascontiguousarray(lhs.T).T, matrix.csr, out, accumulate=accumulate)
    assert np.array_equal(out, wanted)

    lhs = small((height, n), dtype)
    out = small((height, k), dtype, 6)
    wanted = lhs @ matrix.dense.T + accumulate * out
    dense_csr.dense_csr_t(lhs, matrix.csr, out, accumulate=accumulate)
    assert np.array_equal(out, wanted)


def test_dense_csr_as_csr(matrix, empty_like_csr, densify):
    k, n = matrix.shape
    lhs = small((5, k), matrix.data.dtype)
    columns, slots = csr_dot.touched_columns(matrix.indices, n)
    out = empty_like_csr(5, 5 * len(columns), matrix.csr)
    dense_csr.dense_csr_sparse(lhs, matrix.csr, columns, slots, out)
    assert np.array_equal(densify(out, (5, n)), lhs @ matrix.dense)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # hashes wrap around
@pytest.mark.parametrize("hashed", [False, True])
def test_csr_csr(matrix, empty_like_csr, densify, hashed, monkeypatch):
    m, n = matrix.shape
    if hashed:
        monkeypatch.setattr(csr_csr, "_DIRECT_COLUMNS", 0)
        monkeypatch.setattr(csr_csr, "_DIRECT_COLUMNS_A_PRODUCT", 0)
    turned = empty_like_csr(n, len(matrix.indices), matrix.csr)
    csr_structure.transpose(matrix.csr, n, turned)
    indptr = np.empty(m + 1, matrix.indptr.dtype)
    nnz = csr_csr.csr_csr_count(matrix.csr, turned, m, indptr)
    out = (indptr, *empty_like_csr(m, nnz, matrix.csr)[1:])
    csr_csr.csr_csr_fill(matrix.csr, turned, m, out)
    wanted = matrix.dense @ matrix.dense.T
    assert np.array_equal(densify(out, (m, m)), wanted)

    dense = np.ones((m, m), matrix.data.dtype)
    csr_csr.csr_csr_dense(matrix.csr, turned, dense, accumulate=True)
    assert np.array_equal(dense, wanted + 1)
