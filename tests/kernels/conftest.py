"""Matrices that kernels are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ndsparse import config
from ndsparse.kernels import threads as threads_module


@dataclass(frozen=True)
class Matrix:
    """A csr matrix as arrays, and the dense one it stands for."""

    indptr: Any
    indices: Any
    data: Any
    dense: Any

    @property
    def csr(self) -> tuple[Any, Any, Any]:
        return self.indptr, self.indices, self.data

    @property
    def shape(self) -> tuple[int, int]:
        return self.dense.shape


def _matrix(
    shape: tuple[int, int],
    per_row: int,
    dtype: Any = np.float32,
    index: Any = np.int64,
    *,
    canonical: bool = True,
    read_only: bool = False,
    seed: int = 0,
) -> Matrix:
    rng = np.random.default_rng(seed)
    m, n = shape
    counts = rng.integers(0, per_row + 1, m) if n else np.zeros(m, int)
    counts = np.minimum(counts, n)
    columns = [rng.choice(n, c, replace=not canonical) for c in counts]
    if canonical:
        columns = [np.sort(c) for c in columns]
    indices = np.concatenate([np.empty(0, int), *columns]).astype(index)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(index)
    data = rng.integers(-4, 5, len(indices)).astype(dtype)  # sums are exact, and some elements zero
    dense = np.zeros(shape, dtype)
    np.add.at(dense, (np.repeat(np.arange(m), counts), indices), data)
    for array in (indptr, indices, data):
        array.flags.writeable = not read_only
    return Matrix(indptr, indices, data, dense)


_MATRICES: dict[str, dict[str, Any]] = {
    "canonical": {"shape": (23, 37), "per_row": 12},
    "unsorted with duplicates": {"shape": (23, 37), "per_row": 90, "canonical": False},
    "no elements": {"shape": (5, 6), "per_row": 0},
    "one element": {"shape": (1, 1), "per_row": 1, "seed": 1},
    "no rows": {"shape": (0, 4), "per_row": 3},
    "no columns": {"shape": (4, 0), "per_row": 3},
    "read only": {"shape": (9, 8), "per_row": 5, "read_only": True},
    "float64, int32 indices": {"shape": (9, 8), "per_row": 5, "dtype": np.float64, "index": np.int32},
    "int64": {"shape": (9, 8), "per_row": 5, "dtype": np.int64},
}


@pytest.fixture(params=list(_MATRICES))
def matrix(request: pytest.FixtureRequest) -> Matrix:
    """Return one of the layouts that every kernel must take."""
    return _matrix(**_MATRICES[request.param])


@pytest.fixture(params=[name for name in _MATRICES if not name.startswith("unsorted")])
def canonical(request: pytest.FixtureRequest) -> Matrix:
    """Return one of the layouts that kernels for canonical input must take."""
    return _matrix(**_MATRICES[request.param])


@pytest.fixture
def make_matrix() -> Callable[..., Matrix]:
    """Return a function that makes matrices."""
    return _matrix


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Have work shared among this many threads, however small it is."""
    monkeypatch.setattr(threads_module, "SERIAL_WORK", 1)
    with config.using(num_threads=request.param):
        yield request.param


@pytest.fixture
def empty_like_csr() -> Callable[..., tuple[Any, Any, Any]]:
    """Return a function that allocates a csr result: ``(rows, nnz, like)``, filled with rubbish."""

    def make(rows: int, nnz: int, like: tuple[Any, Any, Any], dtype: Any = None) -> tuple[Any, Any, Any]:
        dtype = like[2].dtype if dtype is None else dtype
        return (
            np.full(rows + 1, 99, like[0].dtype),
            np.full(nnz, 99, like[1].dtype),
            np.full(nnz, 99, dtype),
        )

    return make


@pytest.fixture
def densify() -> Callable[..., Any]:
    """Return a function that makes a csr result dense and checks that it is canonical."""

    def dense(csr: tuple[Any, Any, Any], shape: tuple[int, int], *, canonical: bool = True) -> Any:
        indptr, indices, data = csr
        assert indptr[0] == 0
        assert indptr[-1] == len(indices) == len(data)
        assert len(indptr) == shape[0] + 1
        rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
        if canonical:
            key = rows * (shape[1] + 1) + indices
            assert np.all(np.diff(key) > 0)
        out = np.zeros(shape, data.dtype)
        np.add.at(out, (rows, indices), data)
        return out

    return dense
