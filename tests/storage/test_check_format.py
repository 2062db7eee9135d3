"""check_format names the first place where arrays break their storage type."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ndsparse.errors import FormatCheckError, NDSparseError
from ndsparse.storage import CSRChunk, DefaultChunk, RowSparseChunk

F32 = np.dtype(np.float32)


def csr(indptr, indices, shape=(3, 4), *, size=None, dtype=np.int64):
    chunk = CSRChunk(shape, F32)
    data = np.ones(len(indices) if size is None else size, F32)
    chunk.adopt(data, np.array(indptr, dtype), np.array(indices, dtype))
    return chunk


def rows(ids, shape=(6, 2), *, data=None, dtype=np.int64):
    chunk = RowSparseChunk(shape, F32)
    chunk.adopt(np.ones((len(ids), *shape[1:]), F32) if data is None else data, np.array(ids, dtype))
    return chunk


def refusal(chunk, full=True):
    with pytest.raises(FormatCheckError) as caught:
        chunk.check_format(full_check=full)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, NDSparseError)
    return str(caught.value)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_well_formed_arrays_pass(dtype):
    csr([0, 2, 2, 4], [1, 3, 0, 2], dtype=dtype).check_format()
    csr([0, 0, 0, 0], [], dtype=dtype).check_format()
    csr([0], [], (0, 4), dtype=dtype).check_format()
    csr([0, 0], [], (1, 0), dtype=dtype).check_format()
    rows([0, 3, 5], dtype=dtype).check_format()
    rows([], dtype=dtype).check_format()
    rows([], (0, 2), dtype=dtype).check_format()
    rows([1, 2], (4,), dtype=dtype).check_format()
    rows([1], (4, 2, 0), dtype=dtype).check_format()
    DefaultChunk((2, 2), F32).check_format()


@pytest.mark.parametrize(
    "chunk",
    [
        csr([0, 2, 4], [1, 3, 0, 2]),
        csr([0, 2, 2, 4, 4], [1, 3, 0, 2]),
        csr([0, 2, 2, 4], [1, 3, 0, 2], size=3),
        csr([], []),
    ],
)
@pytest.mark.parametrize("full", [True, False])
def test_lengths_of_csr_are_checked_even_without_a_full_check(chunk, full):
    text = refusal(chunk, full)
    assert re.match(
        r"csr: indptr \(\d+,\), indices \(\d+,\) and data \(\d+,\) do not fit the shape \(3, 4\)", text
    )


@pytest.mark.parametrize(
    ("indptr", "at", "value"),
    [
        ([1, 2, 2, 4], 0, 1),
        ([0, 3, 2, 4], 2, 2),
        ([0, 2, 2, 3], 3, 3),
        ([0, 2, 2, 5], 3, 5),
        ([-1, 0, 0, 4], 0, -1),
    ],
)
def test_a_broken_indptr(indptr, at, value):
    chunk = csr(indptr, [1, 3, 0, 2])
    text = refusal(chunk)
    assert text.startswith(
        f"csr: indptr[{at}] is {value}; wanted it to start at 0, never to fall, and to end at 4"
    )
    chunk.check_format(full_check=False)


@pytest.mark.parametrize(
    ("indices", "at", "row", "value"),
    [
        ([1, 3, 0, 4], 3, 2, 4),
        ([-1, 3, 0, 2], 0, 0, -1),
        ([3, 1, 0, 2], 1, 0, 1),
        ([1, 1, 0, 2], 1, 0, 1),
        ([1, 3, 2, 2], 3, 2, 2),
    ],
)
def test_broken_column_ids(indices, at, row, value):
    chunk = csr([0, 2, 2, 4], indices)
    text = refusal(chunk)
    wanted = "wanted 0 <= column < 4, ascending and unique in the row"
    assert text == f"csr: indices[{at}] (row {row}) is {value}; {wanted}"
    chunk.check_format(full_check=False)


def test_column_ids_may_fall_between_rows():
    csr([0, 1, 2, 3], [3, 2, 1]).check_format()


@pytest.mark.parametrize("full", [True, False])
def test_rows_that_do_not_fit(full):
    assert refusal(rows([0, 1], data=np.ones((3, 2), F32)), full) == (
        "row_sparse: (2,) ids and rows (3, 2) do not fit the shape (6, 2)"
    )
    assert "do not fit" in refusal(rows([0, 1], data=np.ones((2, 3), F32)), full)
    assert "do not fit" in refusal(rows([[0, 1]], data=np.ones((1, 2), F32)), full)


@pytest.mark.parametrize(
    ("ids", "at", "value"),
    [([0, 6], 1, 6), ([-1, 2], 0, -1), ([3, 1], 1, 1), ([2, 2], 1, 2), ([0, 2**40], 1, 2**40)],
)
def test_broken_row_ids(ids, at, value):
    chunk = rows(ids)
    assert refusal(chunk) == (
        f"row_sparse: indices[{at}] is {value}; wanted 0 <= id < 6, ascending and unique"
    )
    chunk.check_format(full_check=False)
