"""LibSVMIter: batches of files, pass after pass, in parts, with labels of their own, and its threads."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndsparse as mx
from ndsparse.errors import ArgumentError, FileFormatError, ShapeError
from ndsparse.io import LibSVMIter, read_libsvm, write_libsvm


def rows_file(folder: Path, rows: int, name: str = "rows.svm") -> Path:
    """Write rows whose label is their number and that hold number + 1 in feature number mod 4."""
    path = folder / name
    path.write_text("".join(f"{i} {i % 4}:{i + 1}\n" for i in range(rows)))
    return path


def ids(batch: Any) -> list[int]:
    """Return the numbers of the rows of a batch; an empty row is -1."""
    return (batch.data[0].asnumpy().sum(axis=1).astype(int) - 1).tolist()


def epoch(iterator: Any) -> list[tuple[list[int], int]]:
    got = []
    for batch in iterator:
        assert batch.data[0].stype == "csr"
        assert batch.data[0].shape == iterator.provide_data[0].shape
        assert batch.label[0].shape == iterator.provide_label[0].shape
        batch.data[0].check_format(full_check=True)
        got.append((ids(batch), batch.pad))
    return got


def test_four_rows_in_batches_of_three_go_on_after_the_rows_used_twice(tmp_path: Path) -> None:
    with LibSVMIter(rows_file(tmp_path, 4), (4,), batch_size=3) as iterator:
        assert epoch(iterator) == [([0, 1, 2], 0), ([3, 0, 1], 2)]
        assert epoch(iterator) == []
        iterator.reset()
        assert epoch(iterator) == [([2, 3, 0], 1)]
        iterator.reset()
        assert epoch(iterator) == [([1, 2, 3], 0)]
        iterator.reset()
        assert epoch(iterator) == [([0, 1, 2], 0), ([3, 0, 1], 2)]


def test_batches_that_are_not_rounded_end_with_empty_rows(tmp_path: Path) -> None:
    with LibSVMIter(rows_file(tmp_path, 4), 4, batch_size=3, round_batch=False) as iterator:
        for _ in range(2):
            batches = list(iterator)
            assert [(ids(b), b.pad) for b in batches] == [([0, 1, 2], 0), ([3, -1, -1], 2)]
            assert batches[1].label[0].asnumpy().tolist() == [3, 0, 0]
            assert batches[1].index.tolist() == [3]
            iterator.reset()


def test_a_file_shorter_than_a_batch_goes_round_several_times(tmp_path: Path) -> None:
    with LibSVMIter(rows_file(tmp_path, 2), 4, batch_size=5) as iterator:
        assert epoch(iterator) == [([0, 1, 0, 1, 0], 3)]
        iterator.reset()
        assert epoch(iterator) == [([1, 0, 1, 0, 1], 4)]


def test_resetting_in_the_middle_starts_anew(tmp_path: Path) -> None:
    with LibSVMIter(rows_file(tmp_path, 6), 4, batch_size=2, chunk_bytes=10) as iterator:
        iterator.next()
        iterator.reset()
        iterator.reset()
        assert epoch(iterator) == [([0, 1], 0), ([2, 3], 0), ([4, 5], 0)]


@given(
    rows=st.integers(1, 30),
    size=st.integers(1, 9),
    parts=st.integers(1, 4),
    chunk=st.sampled_from([1, 25, 1 << 20]),
    prefetch=st.integers(0, 2),
)
def test_parts_hold_every_row_once(
    tmp_path_factory: pytest.TempPathFactory, rows: int, size: int, parts: int, chunk: int, prefetch: int
) -> None:
    path = rows_file(tmp_path_factory.mktemp("libsvm"), rows)
    seen = []
    for part in range(parts):
        with LibSVMIter(
            path,
            4,
            num_parts=parts,
            part_index=part,
            batch_size=size,
            chunk_bytes=chunk,
            prefetch_buffer=prefetch,
        ) as iterator:
            for batch_ids, pad in epoch(iterator):
                seen += batch_ids[: size - pad]
    assert seen == list(range(rows))


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("chunk", [1, 1 << 20])
def test_labels_of_a_file_of_their_own(tmp_path: Path, parts: int, chunk: int) -> None:
    path, labels = rows_file(tmp_path, 10), tmp_path / "labels.svm"
    labels.write_text("# a label file\n" + "".join(f"0 {i % 3}:{i + 1}\n" for i in range(10)))
    seen = []
    for part in range(parts):
        with LibSVMIter(
            path, 4, labels, 3, num_parts=parts, part_index=part, batch_size=2, chunk_bytes=chunk
        ) as iterator:
            assert iterator.provide_label[0].shape == (2, 3)
            for _ in range(2):
                for batch in iterator:
                    assert batch.label[0].stype == "csr"
                    assert (batch.label[0].asnumpy().sum(axis=1) - 1).tolist() == ids(batch)
                    seen += ids(batch)[: 2 - batch.pad]
                iterator.reset()
    assert set(seen) == set(range(10))


@pytest.mark.parametrize(
    ("label_rows", "reason"), [(9, "has 9 rows, .* has more"), (11, "has more rows than")]
)
def test_label_files_of_another_length_are_refused(tmp_path: Path, label_rows: int, reason: str) -> None:
    path, labels = rows_file(tmp_path, 10), rows_file(tmp_path, label_rows, "labels.svm")
    with (
        LibSVMIter(path, 4, labels, 4, batch_size=4) as iterator,
        pytest.raises(FileFormatError, match=reason),
    ):
        list(iterator)


@pytest.mark.parametrize("prefetch", [0, 4])
def test_refusals_come_with_the_batch_and_name_the_line(tmp_path: Path, prefetch: int) -> None:
    path = rows_file(tmp_path, 10)
    path.write_text(path.read_text() + "1 7:1\n")
    iterator = LibSVMIter(path, 4, batch_size=2, prefetch_buffer=prefetch, chunk_bytes=40)
    with pytest.raises(FileFormatError, match="ids go to 3") as caught:
        list(iterator)
    assert (caught.value.line, caught.value.token) == (11, "7:1")
    iterator.close()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_dtypes(tmp_path: Path, dtype: str) -> None:
    with LibSVMIter(rows_file(tmp_path, 4), 4, batch_size=4, dtype=dtype) as iterator:
        batch = iterator.next()
        assert batch.data[0].dtype == batch.label[0].dtype == np.dtype(dtype).type
        assert ids(batch) == [0, 1, 2, 3]


def test_what_is_not_canonical(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 3:1 0:2 3:4\n")
    for canonical, indices in ((True, [0, 3]), (False, [3, 0, 3])):
        with LibSVMIter(path, 4, canonical=canonical) as iterator:
            assert iterator.next().data[0].indices.asnumpy().tolist() == indices


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"data_shape": (2, 2)}, ShapeError, "data_shape: expected the number of columns"),
        ({"label_shape": 3}, ArgumentError, "label_shape: 3 needs label_libsvm"),
        ({"batch_size": 0}, ArgumentError, "batch_size"),
        ({"num_parts": 2, "part_index": 2}, ArgumentError, "part_index"),
    ],
)
def test_arguments_are_checked(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], reason: str
) -> None:
    path = rows_file(tmp_path, 2)
    with pytest.raises(error, match=reason):
        LibSVMIter(path, **{"data_shape": 4, **options})
    with pytest.raises(ArgumentError, match="label_shape: expected the number of labels"):
        LibSVMIter(path, 4, label_libsvm=path)


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        LibSVMIter(tmp_path / "none", 4)
    path = tmp_path / "empty"
    path.write_text("# nothing\n")
    iterator = LibSVMIter(path, 4)
    with pytest.raises(FileFormatError, match="there are no rows"):
        iterator.next()
    iterator.close()


def ahead_threads() -> int:
    return sum(t.name.startswith(("ndsparse-ahead", "ndsparse-read")) for t in threading.enumerate())


def test_threads_end_with_close_and_with_the_last_reference(tmp_path: Path) -> None:
    path = rows_file(tmp_path, 2000)
    gc.collect()
    before = ahead_threads()
    iterator = LibSVMIter(path, 4, batch_size=2, chunk_bytes=50)
    assert ahead_threads() == before
    iterator.next()
    assert ahead_threads() > before
    iterator.close()
    assert ahead_threads() == before
    with pytest.raises(StopIteration):
        iterator.next()
    iterator.reset()
    assert ids(iterator.next()) == [0, 1]
    del iterator
    gc.collect()
    assert ahead_threads() == before


def test_a_program_ends_that_leaves_an_iterator_open(tmp_path: Path, run_python: Any) -> None:
    path = rows_file(tmp_path, 2000)
    out = run_python(
        "import ndsparse as mx\nfrom ndsparse.io import LibSVMIter\n"
        f"it = LibSVMIter({str(path)!r}, 4, batch_size=2, chunk_bytes=50)\nprint(it.next().data[0].shape)"
    )
    assert out.split("\n")[0] == "(2, 4)"


def test_a_public_file_in_batches(data_dir: Path) -> None:
    path = data_dir / "libsvm" / "agaricus.txt.train"
    data, label = read_libsvm(path, 127, zero_based=True)
    with LibSVMIter(path, 127, batch_size=1000, chunk_bytes=100_000) as iterator:
        batches = list(iterator)
    assert [b.pad for b in batches] == [0] * 6 + [487]
    got = np.concatenate([b.data[0].asnumpy() for b in batches])[:6513]
    assert np.array_equal(got, data.asnumpy())
    assert np.concatenate([b.label[0].asnumpy() for b in batches])[:6513].tolist() == label.asnumpy().tolist()


def test_arrays_written_and_read(tmp_path: Path) -> None:
    dense = np.array([[0, 1.5, 0], [0, 0, 0], [0.1, 0, -2]], dtype=np.float32)
    path = tmp_path / "rows.svm.gz"
    for source in (mx.nd.array(dense).tostype("csr"), dense):
        write_libsvm(path, source, mx.nd.array([1, 2, 3]), zero_based=False, qid=np.array([1, 1, 2]))
        data, label, qid = read_libsvm(path, 3, zero_based=False, qid=True)
        assert data.stype == "csr"
        assert np.array_equal(data.asnumpy(), dense)
        assert label.asnumpy().tolist() == [1, 2, 3]
        assert qid.asnumpy().tolist() == [1, 1, 2]


def test_label_shape_without_a_file_of_labels_is_that_of_a_line(tmp_path: Path) -> None:
    with LibSVMIter(rows_file(tmp_path, 4), (4,), label_shape=(1,), batch_size=3) as iterator:
        assert iterator.provide_label[0].shape == (3,)
        assert [b.label[0].asnumpy().tolist() for b in iterator] == [[0, 1, 2], [3, 0, 1]]


def test_hard_reset_starts_at_the_first_row(tmp_path: Path) -> None:
    wanted = [([0, 1, 2], 0), ([3, 0, 1], 2)]
    with LibSVMIter(rows_file(tmp_path, 4), (4,), batch_size=3) as iterator:
        for around in (iterator, mx.io.PrefetchingIter(iterator), mx.io.ResizeIter(iterator, 2)):
            for _ in range(2):
                around.hard_reset()
                assert epoch(around) == wanted
        iterator.close()
        iterator.hard_reset()
        assert epoch(iterator) == wanted


def test_an_id_that_is_one_too_large_may_be_of_a_file_that_counts_from_one(tmp_path: Path) -> None:
    path = tmp_path / "from_one.svm"
    path.write_text("1 1:1 123:1\n")
    with pytest.raises(FileFormatError, match=r"ids go to 122.*data_shape=\(124,\).*zero_based=False"):
        next(LibSVMIter(path, data_shape=(123,)))
    with pytest.raises(FileFormatError, match=r"ids go to 121") as caught:
        next(LibSVMIter(path, data_shape=(122,)))
    assert "from 1" not in str(caught.value)
