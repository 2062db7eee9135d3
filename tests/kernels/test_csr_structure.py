"""Parts, joins, canonical forms and checks of csr matrices."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse.kernels import csr_canonical, csr_check, csr_structure
from ndsparse.kernels.csr_check import CsrFault, RowFault

pytestmark = pytest.mark.usefixtures("threads")


def test_slice_rows(matrix, empty_like_csr, densify):
    m, n = matrix.shape
    begin, end = m // 3, m - m // 4
    nnz = int(matrix.indptr[end] - matrix.indptr[begin])
    out = empty_like_csr(end - begin, nnz, matrix.csr)
    csr_structure.slice_rows(matrix.csr, begin, end, out)
    assert np.array_equal(densify(out, (end - begin, n), canonical=False), matrix.dense[begin:end])


def test_slice_of_rows_and_columns(matrix, empty_like_csr, densify):
    m, n = matrix.shape
    rows, columns = (m // 3, m - m // 4), (n // 4, n - n // 3)
    shape = rows[1] - rows[0], columns[1] - columns[0]
    indptr = np.full(shape[0] + 1, 9, matrix.indptr.dtype)
    nnz = csr_structure.slice_count(matrix.csr, rows, columns, indptr)
    out = (indptr, *empty_like_csr(0, nnz, matrix.csr)[1:])
    csr_structure.slice_fill(matrix.csr, rows, columns, out)
    assert np.array_equal(densify(out, shape, canonical=False), matrix.dense[slice(*rows), slice(*columns)])


def test_take_rows_in_any_order_with_repeats(matrix, empty_like_csr, densify):
    m, n = matrix.shape
    rows = np.random.default_rng(0).integers(0, m, 2 * m) if m else np.empty(0, np.int64)
    indptr = np.empty(len(rows) + 1, matrix.indptr.dtype)
    nnz = csr_structure.take_rows_count(matrix.indptr, rows, indptr)
    out = (indptr, *empty_like_csr(0, nnz, matrix.csr)[1:])
    csr_structure.take_rows_fill(matrix.csr, rows, out)
    assert np.array_equal(densify(out, (len(rows), n), canonical=False), matrix.dense[rows])


def test_transpose_is_sorted(matrix, empty_like_csr, densify):
    m, n = matrix.shape
    out = empty_like_csr(n, len(matrix.indices), matrix.csr)
    csr_structure.transpose(matrix.csr, n, out)
    assert np.array_equal(densify(out, (n, m), canonical=False), matrix.dense.T)
    assert all(np.all(np.diff(out[1][a:b]) >= 0) for a, b in zip(out[0], out[0][1:], strict=False))


def test_transpose_without_empty_rows():
    indices = np.array([1 << 40, 3, 1 << 40, 5])
    ids, starts, order = csr_structure.transpose_touched(indices, (1 << 40) + 1)
    assert ids.tolist() == [3, 5, 1 << 40]
    assert starts.tolist() == [0, 1, 2, 4]
    assert order.tolist() == [1, 3, 0, 2]


def test_concat(matrix, make_matrix, empty_like_csr, densify):
    m, n = matrix.shape
    parts = [matrix.csr] * 3
    out = empty_like_csr(3 * m, 3 * len(matrix.indices), matrix.csr)
    csr_structure.concat_rows(parts, out)
    assert np.array_equal(densify(out, (3 * m, n), canonical=False), np.vstack([matrix.dense] * 3))
    out = empty_like_csr(m, 3 * len(matrix.indices), matrix.csr)
    csr_structure.concat_columns(parts, [n] * 3, out)
    assert np.array_equal(densify(out, (m, 3 * n), canonical=False), np.hstack([matrix.dense] * 3))


def test_expansion_and_counts(matrix):
    m, n = matrix.shape
    rows = np.full(len(matrix.indices), -1, np.int64)
    csr_structure.expand_rows(matrix.indptr, rows)
    assert np.array_equal(rows, np.repeat(np.arange(m), csr_structure.row_counts(matrix.indptr)))
    counts = np.full(n, -1, np.int64)
    csr_structure.column_counts(matrix.indices, n, counts)
    assert np.array_equal(counts, np.bincount(matrix.indices, minlength=n))


def test_get_elements(matrix):
    rows, columns = (a.ravel() for a in np.indices(matrix.shape))
    out = np.full(len(rows), 9, matrix.data.dtype)
    csr_structure.get_elements(matrix.csr, rows, columns, out)
    assert np.array_equal(out, matrix.dense.ravel())


def canonicalise(csr, make):
    indptr = np.empty_like(csr[0])
    plan = csr_canonical.canonical_count(csr, indptr)
    out = (indptr, *make(0, plan.nnz, csr)[1:])
    csr_canonical.canonical_fill(csr, plan, out)
    return plan, out


def test_canonical_form(matrix, empty_like_csr, densify):
    plan, out = canonicalise(matrix.csr, empty_like_csr)
    assert np.array_equal(densify(out, matrix.shape), matrix.dense)
    assert (plan.state == 0) == csr_check.is_canonical(matrix.indptr, matrix.indices)
    assert csr_check.is_canonical(*out[:2])


def test_canonical_form_of_long_rows_and_sorted_duplicates(empty_like_csr, densify):
    rng = np.random.default_rng(0)
    for indices in (rng.integers(0, 300, 500), np.sort(rng.integers(0, 300, 500)), rng.permutation(300)):
        csr = np.array([0, len(indices)]), indices, np.ones(len(indices), np.float32)
        _, out = canonicalise(csr, empty_like_csr)
        assert np.array_equal(densify(out, (1, 300))[0], np.bincount(indices, minlength=300))


def test_drop_zeros(matrix, empty_like_csr, densify):
    indptr = np.empty_like(matrix.indptr)
    nnz = csr_canonical.drop_zeros_count(matrix.csr, indptr)
    out = (indptr, *empty_like_csr(0, nnz, matrix.csr)[1:])
    csr_canonical.drop_zeros_fill(matrix.csr, out)
    assert np.array_equal(densify(out, matrix.shape, canonical=False), matrix.dense)
    assert nnz == np.count_nonzero(matrix.data)


def test_drop_zeros_keeps_nan_and_drops_negative_zero():
    csr = np.array([0, 3]), np.arange(3), np.array([np.nan, -0.0, 1], np.float32)
    assert csr_canonical.drop_zeros_count(csr, np.empty(2, np.int64)) == 2


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_csr_from_coordinates(matrix, shuffled, dtype, empty_like_csr, densify):
    m, _ = matrix.shape
    rows = np.repeat(np.arange(m), np.diff(matrix.indptr))
    columns, data = matrix.indices.astype(np.int64), matrix.data.astype(dtype)
    if shuffled:
        order = np.random.default_rng(0).permutation(len(rows))
        rows, columns, data = rows[order], columns[order], data[order]
    indptr = np.empty(m + 1, np.int64)
    plan = csr_canonical.coo_count(rows, columns, matrix.shape, indptr)
    out = indptr, np.empty(plan.nnz, np.int64), np.empty(plan.nnz, dtype)
    csr_canonical.coo_fill(plan, data, out)
    assert np.array_equal(densify(out, matrix.shape), matrix.dense)


def test_a_good_matrix_has_no_fault(canonical):
    assert csr_check.check_csr(canonical.indptr, canonical.indices, canonical.shape) == (CsrFault.OK, -1)


@pytest.mark.parametrize(
    ("indptr", "indices", "fault", "at"),
    [
        ([0, 1], [0], CsrFault.INDPTR_LENGTH, 2),
        ([1, 1, 1], [0], CsrFault.INDPTR_START, 0),
        ([0, 2, 1], [0], CsrFault.INDPTR_DESCENDS, 2),
        ([0, 1, 3], [0, 1], CsrFault.INDPTR_END, 2),
        ([0, 1, 2], [0, -1], CsrFault.INDEX_NEGATIVE, 1),
        ([0, 1, 2], [3, 0], CsrFault.INDEX_TOO_LARGE, 0),
        ([0, 0, 2], [2, 1], CsrFault.INDEX_ORDER, 1),
        ([0, 0, 2], [1, 1], CsrFault.INDEX_DUPLICATE, 1),
    ],
)
def test_the_first_fault_of_a_matrix_is_found(indptr, indices, fault, at):
    assert csr_check.check_csr(np.array(indptr), np.array(indices), (2, 3)) == (fault, at)


@pytest.mark.parametrize(
    ("ids", "fault", "at"),
    [
        ([], RowFault.OK, -1),
        ([0, 4], RowFault.OK, -1),
        ([-1, 3], RowFault.NEGATIVE, 0),
        ([1, 5], RowFault.TOO_LARGE, 1),
        ([1, 3, 2], RowFault.ORDER, 2),
        ([1, 3, 3], RowFault.DUPLICATE, 2),
    ],
)
def test_the_first_fault_of_row_ids_is_found(ids, fault, at):
    assert csr_check.check_row_ids(np.array(ids, np.int64), 5) == (fault, at)
