"""Elementwise operations on csr matrices, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse.kernels import csr_elementwise
from ndsparse.kernels.opcodes import Op

pytestmark = pytest.mark.usefixtures("threads")

quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of divisions by zero, without numba

NUMPY = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.RSUB: lambda a, b: b - a,
    Op.MUL: np.multiply,
    Op.MAXIMUM: np.maximum,
    Op.MINIMUM: np.minimum,
    Op.HYPOT: np.hypot,
    Op.DIV: np.divide,
    Op.RDIV: lambda a, b: b / a,
}


def combine(op, lhs, rhs, make, dtype):
    indptr = np.empty_like(lhs.indptr)
    nnz = csr_elementwise.csr_csr_count(op, lhs.csr, rhs.csr, indptr)
    out = (indptr, *make(0, nnz, lhs.csr, dtype)[1:])
    csr_elementwise.csr_csr_fill(op, lhs.csr, rhs.csr, out)
    return out


@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.RSUB, Op.MUL, Op.MAXIMUM, Op.MINIMUM, Op.HYPOT])
def test_csr_with_csr(canonical, op, make_matrix, empty_like_csr, densify):
    other = make_matrix(canonical.shape, 4, canonical.data.dtype, canonical.indptr.dtype, seed=7)
    wanted = NUMPY[op](canonical.dense, other.dense)
    out = combine(op, canonical, other, empty_like_csr, wanted.dtype)
    assert np.allclose(densify(out, canonical.shape), wanted, rtol=1e-6)


@quiet
def test_division_keeps_the_elements_of_the_left(make_matrix, empty_like_csr):
    lhs, rhs = make_matrix((9, 8), 5), make_matrix((9, 8), 5, seed=7)
    indptr, indices, data = combine(Op.DIV, lhs, rhs, empty_like_csr, np.float32)
    assert np.array_equal(indptr, lhs.indptr)
    assert np.array_equal(indices, lhs.indices)
    rows = np.repeat(np.arange(9), np.diff(indptr))
    with np.errstate(all="ignore"):
        assert np.array_equal(data, (lhs.dense / rhs.dense)[rows, indices], equal_nan=True)


def test_replace_takes_the_right_element_where_there_is_one(make_matrix, empty_like_csr, densify):
    lhs, rhs = make_matrix((9, 8), 5), make_matrix((9, 8), 5, seed=7)
    out = combine(Op.REPLACE, lhs, rhs, empty_like_csr, np.float32)
    wanted = lhs.dense.copy()
    rows = np.repeat(np.arange(9), np.diff(rhs.indptr))
    wanted[rows, rhs.indices] = rhs.data
    assert np.array_equal(densify(out, (9, 8)), wanted)


def test_maximum_passes_nan_on(empty_like_csr):
    nan = np.array([np.nan, 1], np.float32), np.array([1, np.nan], np.float32)
    lhs, rhs = ((np.array([0, 2]), np.arange(2), data) for data in nan)
    out = np.empty(2, np.float32)
    csr_elementwise.csr_csr_fill(Op.MAXIMUM, lhs, rhs, (np.array([0, 2]), np.empty(2, np.int64), out))
    assert np.isnan(out).all()


@quiet
@pytest.mark.parametrize("op", [Op.MUL, Op.DIV, Op.RDIV])
def test_csr_with_dense_at_its_elements(matrix, op):
    dtype = matrix.data.dtype
    dense = np.random.default_rng(0).integers(1, 5, matrix.shape).astype(dtype)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    with np.errstate(all="ignore"):
        wanted = NUMPY[op](matrix.data, dense[rows, matrix.indices])
    out = np.empty(len(matrix.data), wanted.dtype)
    csr_elementwise.csr_dense_gather(op, matrix.csr, dense, out)
    assert np.array_equal(out, wanted, equal_nan=True)


@pytest.mark.parametrize("op", [Op.ADD, Op.SUB, Op.RSUB])
@pytest.mark.parametrize("in_place", [False, True])
def test_csr_with_dense_as_dense(matrix, op, in_place):
    dense = np.random.default_rng(0).integers(1, 5, matrix.shape).astype(matrix.data.dtype)
    wanted = NUMPY[op](matrix.dense, dense)
    out = dense if in_place else np.empty_like(dense)
    csr_elementwise.csr_dense_sum(op, matrix.csr, dense, out)
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize("op", [Op.MUL, Op.DIV])
def test_csr_with_vectors(matrix, op):
    m, n = matrix.shape
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(m), np.diff(matrix.indptr))
    for vector, along, run in (
        (rng.integers(1, 5, m), rows, csr_elementwise.csr_scale_rows),
        (rng.integers(1, 5, n), matrix.indices, csr_elementwise.csr_scale_columns),
    ):
        vector = vector.astype(matrix.data.dtype)
        wanted = NUMPY[op](matrix.data, vector[along])
        out = np.empty(len(matrix.data), wanted.dtype)
        run(op, matrix.csr, vector, out)
        assert np.array_equal(out, wanted)
