"""Reductions, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse import config
from ndsparse.kernels import reduce

pytestmark = pytest.mark.usefixtures("threads")

NUMPY = {
    "sum": lambda a, axis: a.sum(axis),
    "mean": lambda a, axis: a.sum(axis) / (a.size if axis is None else a.shape[axis]),
    "sumsq": lambda a, axis: (a * a).sum(axis),
    "sumabs": lambda a, axis: abs(a).sum(axis),
    "maxabs": lambda a, axis: abs(a).max(axis, initial=0),
}


@pytest.mark.parametrize("kind", NUMPY)
def test_csr(canonical, kind):
    m, n = canonical.shape
    wide = canonical.dense.astype(np.float64)
    if canonical.dense.size:
        assert np.isclose(reduce.csr_reduce_all(kind, canonical.csr, m * n), NUMPY[kind](wide, None))
    if n:
        rows = np.full(m, 9.0)
        reduce.csr_reduce_rows(kind, canonical.csr, n, rows)
        assert np.allclose(rows, NUMPY[kind](wide, 1))
    if m:
        columns = np.full(n, 9.0)
        reduce.csr_reduce_columns(kind, canonical.csr, m, columns)
        assert np.allclose(columns, NUMPY[kind](wide, 0))


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("stored", [0, 1, 7])
def test_row_sparse(kind, stored):
    data = np.random.default_rng(0).integers(-4, 5, (stored, 2, 3)).astype(np.float32)
    dense = np.zeros((9, 2, 3))
    dense[:stored] = data
    ids = np.arange(stored)
    assert np.isclose(reduce.values_reduce(kind, data, dense.size), NUMPY[kind](dense, None))
    rows = np.full(stored, 9, np.float32)
    reduce.rows_reduce_rows(kind, (ids, data), rows)
    assert np.allclose(rows, NUMPY[kind](dense.reshape(9, 6), 1)[:stored])
    columns = np.full((2, 3), 9, np.float32)
    reduce.rows_reduce_columns(kind, (ids, data), 9, columns)
    assert np.allclose(columns, NUMPY[kind](dense, 0))


def test_float32_is_summed_in_float64():
    data = np.full(3_000_000, 0.1, np.float32)
    assert reduce.values_reduce("sum", data, data.size) == pytest.approx(3_000_000 * float(np.float32(0.1)))


def test_integers_are_summed_exactly():
    data = np.array([1 << 60, 1, -(1 << 60)])
    assert reduce.values_reduce("sum", data, 3) == 1


def test_nan_is_the_largest():
    data = np.array([1, np.nan, 2], np.float32)
    assert np.isnan(reduce.values_reduce("maxabs", data, 3))
    csr = np.array([0, 3]), np.zeros(3, np.int64), data
    out = np.empty(1, np.float32)
    reduce.csr_reduce_columns("maxabs", csr, 1, out)
    assert np.isnan(out[0])


def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    data = rng.standard_normal(200_000).astype(np.float32)
    csr = np.array([0, len(data)]), rng.integers(0, 50, len(data)), data
    results = []
    for threads in (1, 2):
        with config.using(num_threads=threads, deterministic=True):
            columns = np.empty(50)
            reduce.csr_reduce_columns("sum", csr, 1, columns)
            folded = np.empty(10)
            reduce.rows_reduce_columns("sum", (np.arange(20_000), data.reshape(-1, 10)), 20_000, folded)
            results.append((reduce.values_reduce("sum", data, 1), columns.tobytes(), folded.tobytes()))
    assert results[0] == results[1]
