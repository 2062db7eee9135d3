"""What the libsvm writer writes reads back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ndsparse.atomic import replacing
from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.io import libsvm_write
from ndsparse.io.libsvm import read_rows
from ndsparse.io.libsvm_write import write_rows


def bits(array: np.ndarray[Any, Any]) -> list[int]:
    """Return the bits of floats, one pattern for all nans."""
    kept = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return kept.view(f"u{array.dtype.itemsize}").tolist()


@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]), zero_based=st.booleans())
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, dtype: Any, zero_based: bool
) -> None:
    lengths = data.draw(st.lists(st.integers(0, 6), max_size=10))
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    floats = hnp.from_dtype(np.dtype(dtype))
    values = data.draw(hnp.arrays(dtype, int(indptr[-1]), elements=floats))
    labels = data.draw(hnp.arrays(np.float64, len(lengths), elements=st.floats()))
    limit = 2**63 - (1 if zero_based else 2)
    indices = data.draw(hnp.arrays(np.int64, int(indptr[-1]), elements=st.integers(0, limit)))
    weights = data.draw(st.none() | hnp.arrays(np.float64, len(lengths), elements=st.floats(0, 10)))
    qids = data.draw(st.none() | hnp.arrays(np.int64, len(lengths), elements=st.integers(-1, 2**63 - 1)))
    path = tmp_path_factory.mktemp("libsvm") / "rows.svm"
    write_rows(path, labels, indptr, indices, values, zero_based=zero_based, qids=qids, weights=weights)
    rows = read_rows(path, zero_based=zero_based, dtype=dtype, canonical=False, qids=True, weights=True)
    assert bits(rows.values) == bits(values)
    assert bits(rows.labels) == bits(labels)
    assert rows.indices.tolist() == indices.tolist()
    assert rows.indptr.tolist() == indptr.tolist()
    assert rows.qids is not None
    assert rows.weights is not None
    assert rows.qids.tolist() == ([-1] * len(lengths) if qids is None else np.maximum(qids, -1).tolist())
    assert rows.weights.tolist() == ([1.0] * len(lengths) if weights is None else weights.tolist())


def test_the_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    values = np.array([0.1, 1 / 3, 2], dtype=np.float32)
    write_rows(path, [1, -1], [0, 2, 3], [0, 4, 2], values, weights=[1, 0.5], qids=[3, -1])
    assert path.read_text() == "1:1 qid:3 0:0.1 4:0.33333334\n-1:0.5 2:2\n"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows.svm{suffix}"
    write_rows(path, [1, 2], [0, 1, 2], [3, 4], [1.5, 2.5])
    assert path.read_bytes()[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7")
    rows = read_rows(path, zero_based=True)
    assert rows.values.tolist() == [1.5, 2.5]
    assert rows.labels.tolist() == [1, 2]


def test_long_rows_and_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libsvm_write, "_ELEMENTS_AT_ONCE", 4)
    lengths = [0, 9, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 3, 2]
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    indices = np.arange(indptr[-1])
    path = tmp_path / "rows.svm"
    write_rows(path, np.arange(len(lengths)), indptr, indices, indices + 0.25)
    rows = read_rows(path, zero_based=True)
    assert rows.indptr.tolist() == indptr.tolist()
    assert rows.values.tolist() == (indices + 0.25).tolist()


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("before")
    with pytest.raises(RuntimeError, match="halfway"), replacing(path) as file:
        file.write(b"half")
        raise RuntimeError("halfway")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        (([1], [0, 2], [0], [1.0]), ArgumentError, "indptr"),
        (([1], [1, 1], [0], [1.0]), ArgumentError, "indptr"),
        (([1], [], [0], [1.0]), ArgumentError, "indptr"),
        (([1], [0, 1], [0], [1.0, 2.0]), ShapeError, "values: expected as many as indices"),
        (([1], [0, 1], [-1], [1.0]), ArgumentError, "indices: expected at least 0"),
        (([1, 2], [0, 1], [0], [1.0]), ShapeError, "labels: expected shape"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, arguments: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        write_rows(tmp_path / "rows.svm", *arguments)
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.floats(width=32) | st.decimals(-1000, 1000, places=4).map(float), max_size=20))
def test_short_numbers_read_back(numbers: list[float]) -> None:
    for dtype in (np.float32, np.float64):
        values = np.array(numbers, dtype=np.float64).astype(dtype)
        texts = libsvm_write.shortest(values)
        assert bits(np.array([float(t) for t in texts], dtype=np.float64).astype(dtype)) == bits(values)
    for text, number in zip(texts, numbers, strict=True):
        if 1e-4 < abs(number) < 1e15:
            assert len(text) <= len(repr(number))


def test_whole_numbers_of_64_bits() -> None:
    values = np.array([2**63 - 1, -(2**63), 2**53 + 1, 0], dtype=np.int64)
    assert libsvm_write.shortest(values) == [str(v) for v in values.tolist()]
