"""The libsvm reader: values worked out by hand, scipy, and a plain parser as oracles."""

from __future__ import annotations

import gzip
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ndsparse import config
from ndsparse.errors import ArgumentError, DTypeError, FileFormatError
from ndsparse.io.libsvm import Rows, iter_rows, read_rows
from ndsparse.kernels import threads


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small texts be shared among threads."""
    monkeypatch.setattr(threads, "SERIAL_WORK", 8)


def parse(tmp_path: Path, text: str | bytes, **options: Any) -> Rows:
    path = tmp_path / "rows.svm"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_rows(path, **{"zero_based": True, **options})


def features(rows: Rows) -> list[list[tuple[int, float]]]:
    pairs = list(zip(rows.indices.tolist(), rows.values.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]


@pytest.mark.parametrize(
    ("line", "label", "expected"),
    [
        ("1 0:2 3:-.5", 1, [(0, 2), (3, -0.5)]),
        ("+1 1:+1", 1, [(1, 1)]),
        ("-1\t0:1e3\t2:2E-1 \t ", -1, [(0, 1e3), (2, 0.2)]),
        ("  2.5 0:1\r", 2.5, [(0, 1)]),
        ("1 0:1 # a comment 5:5", 1, [(0, 1)]),
        ("1 0:1#at once", 1, [(0, 1)]),
        ("1# no features", 1, []),
        ("3", 3, []),
        ("1 qid:7 0:1", 1, [(0, 1)]),
        ("1 0:1 qid:7 2:1", 1, [(0, 1), (2, 1)]),
        ("1:0.25 0:1", 1, [(0, 1)]),
        ("nan 0:inf 1:-Infinity", math.nan, [(0, math.inf), (1, -math.inf)]),
        ("1e2 9223372036854775807:1", 100, [(2**63 - 1, 1)]),
        ("1 000000000000000000000000000005:1", 1, [(5, 1)]),
        ("1 5:1 2:2 5:3", 1, [(2, 2), (5, 4)]),
        ("1 0:0", 1, [(0, 0)]),
        ("1 0:1e400", 1, [(0, math.inf)]),
        ("1 0:0.1000000000000000055511151231257827021181583404541015625", 1, [(0, 0.1)]),
    ],
)
def test_one_line(tmp_path: Path, line: str, label: float, expected: list[tuple[int, float]]) -> None:
    for text in (line, line + "\n", "# nothing\n\n \t\r\n" + line + "\n\n  # end"):
        rows = parse(tmp_path, text, dtype=np.float64)
        np.testing.assert_equal(rows.labels, [label])
        assert features(rows) == [expected]


@pytest.mark.parametrize(
    ("line", "token", "reason"),
    [
        ("x 0:1", "x", "label"),
        ("1,2 0:1", "1,2", "several labels"),
        ("0:1:2 3:4", "0:1:2", "weight"),
        ("1:x 0:1", "1:x", "weight"),
        ("1 0 2", "0", "write 0:1 if it is only present"),
        ("1 2 0:1", "2", "id:value"),
        ("1 0:1:2", "0:1:2", "value"),
        ("1 0:", "0:", "value"),
        ("1 0: 1", "0:", "value"),
        ("1 :1", ":1", "id"),
        ("1 -1:1", "-1:1", "id"),
        ("1 +1:1", "+1:1", "id"),
        ("1 0.5:1", "0.5:1", "id"),
        ("1 a:1", "a:1", "id"),
        ("1 q:1", "q:1", "id"),
        ("1 qid:x", "qid:x", "qid:n"),
        ("1 qid:-1", "qid:-1", "qid:n"),
        ("1 qid:99999999999999999999", "qid:99999999999999999999", "qid:n"),
        ("1 0:1_0", "0:1_0", "value"),
        ("1 0:0x1", "0:0x1", "value"),
        ("1 0:1e", "0:1e", "value"),
        ("1 0:1\x00", "0:1\x00", "value"),
        ("1 9223372036854775808:1", "9223372036854775808:1", "2\\*\\*63"),
        ("1 18446744073709551617:1", "18446744073709551617:1", "2\\*\\*63"),
        ("1 99999999999999999999999999:1", "99999999999999999999999999:1", "2\\*\\*63"),
    ],
)
def test_refusals_name_file_line_and_token(tmp_path: Path, line: str, token: str, reason: str) -> None:
    for before, number in (("", 1), ("1 0:1\n\n# c\n", 4), ("1 0:1 1:2\r\n" * 40, 41)):
        for chunk_bytes in (1, 1 << 20):
            with pytest.raises(FileFormatError, match=reason) as caught:
                parse(tmp_path, before + line + "\n1 0:1\n", chunk_bytes=chunk_bytes)
            assert (caught.value.line, caught.value.token) == (number, token)
            assert caught.value.path == str(tmp_path / "rows.svm")


@pytest.mark.usefixtures("many_blocks")
def test_the_first_of_several_errors_is_reported(tmp_path: Path) -> None:
    lines = ["1 0:1"] * 300
    lines[250] = "1 b"
    lines[120] = "1 a"
    for threads_used in (1, 2, 7):
        with config.using(num_threads=threads_used), pytest.raises(FileFormatError) as caught:
            parse(tmp_path, "\n".join(lines))
        assert (caught.value.line, caught.value.token) == (121, "a")


def test_errors_of_a_part_count_the_lines_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 0:1\n" * 50 + "1 x\n" + "1 0:1\n" * 9)
    with pytest.raises(FileFormatError) as caught:
        read_rows(path, zero_based=True, part_index=1, num_parts=2)
    assert caught.value.line == 51


def test_long_tokens_are_cut_in_messages(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as caught:
        parse(tmp_path, b"1 " + b"\xff" * 5000)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("zero_based", "width", "text", "ids"),
    [(True, 3, "1 0:1 2:1", [0, 2]), (False, 3, "1 1:1 3:1", [0, 2]), (False, None, "1 1:1 3:1", [0, 2])],
)
def test_index_bases(tmp_path: Path, zero_based: bool, width: int | None, text: str, ids: list[int]) -> None:
    rows = parse(tmp_path, text, zero_based=zero_based, num_features=width)
    assert rows.indices.tolist() == ids
    assert rows.num_features == 3


@pytest.mark.parametrize(
    ("zero_based", "text", "reason"),
    [
        (True, "1 0:1 3:1", "ids go to 2, for ids start at 0 and there are 3 features"),
        (False, "1 1:1 4:1", "ids go to 3, for ids start at 1"),
        (False, "1 1:1 0:1", "ids start at 1; say zero_based=True"),
        ("auto", "1 0:1\n1 3:1", "ids go to 2, for ids start at 0"),
        ("auto", "1 1:1\n1 4:1", "ids go to 3"),
    ],
)
def test_ids_outside_the_shape_are_refused(tmp_path: Path, zero_based: Any, text: str, reason: str) -> None:
    with pytest.raises(FileFormatError, match=reason):
        parse(tmp_path, text, zero_based=zero_based, num_features=3)


@pytest.mark.parametrize(
    ("text", "ids", "width", "said"),
    [
        ("1 1:1\n2 3:1", [0, 2], 3, "no id 0: its ids are taken to start at 1 (say zero_based=False"),
        ("1 1:1\n2 0:1", [1, 0], 2, "has id 0: its ids are taken to start at 0 (say zero_based=True"),
        ("1\n2", [], 0, "has no ids: its ids are taken to start at 0"),
    ],
)
def test_the_base_that_is_detected_is_said_aloud(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, ids: list[int], width: int, said: str
) -> None:
    with caplog.at_level(logging.WARNING):
        rows = parse(tmp_path, text, zero_based="auto", chunk_bytes=1)
    assert said in caplog.text
    assert rows.indices.tolist() == ids
    assert rows.num_features == width


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
def test_query_ids_and_weights(tmp_path: Path, chunk_bytes: int) -> None:
    text = "1 qid:3 0:1\n2:0.5 0:1\n3:2 qid:9223372036854775807"
    rows = parse(tmp_path, text, qids=True, weights=True, chunk_bytes=chunk_bytes)
    assert rows.qids is not None
    assert rows.weights is not None
    assert rows.qids.tolist() == [3, -1, 2**63 - 1]
    assert rows.weights.tolist() == [1, 0.5, 2]
    rows = parse(tmp_path, text)
    assert rows.qids is None
    assert rows.weights is None


def test_rows_stay_as_in_the_file_where_that_is_wanted(tmp_path: Path) -> None:
    rows = parse(tmp_path, "1 5:1 2:2 5:3", canonical=False)
    assert features(rows) == [[(5, 1), (2, 2), (5, 3)]]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "\ufeff"])
def test_files_without_rows(tmp_path: Path, text: str) -> None:
    rows = parse(tmp_path, text, qids=True)
    assert rows.labels.shape == (0,)
    assert rows.indptr.tolist() == [0]
    assert rows.num_features == 0
    assert parse(tmp_path, text, num_features=5).num_features == 5


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(DTypeError, match="dtype: libsvm values"):
        parse(tmp_path, "1", dtype=np.int32)
    with pytest.raises(ArgumentError, match="num_features: expected at least 0"):
        parse(tmp_path, "1", num_features=-1)


# properties

digits = st.text("0123456789", min_size=1, max_size=25)
numbers = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(width=32, allow_nan=False).map(repr),
    st.integers(-5, 300).map(str),
    st.builds("{}{}.{}".format, st.sampled_from(["", "-", "+"]), digits, digits),
    st.builds("{}e{}".format, digits, st.integers(-50, 50)),
)
lines = st.tuples(numbers, st.lists(st.tuples(st.integers(0, 40), numbers), max_size=8))
documents = st.lists(lines, max_size=30)


def written(document: list[tuple[str, list[tuple[int, str]]]], blanks: list[str]) -> str:
    blank = iter(blanks * 1000)
    out = ""
    for label, pairs in document:
        out += label + "".join(f"{next(blank)}{i}:{v}" for i, v in pairs) + next(blank) + "\n"
    return out


@pytest.mark.usefixtures("many_blocks")
@given(
    document=documents,
    blanks=st.lists(st.sampled_from([" ", "\t", "  ", " \t", "\r"]), min_size=1, max_size=5),
    size=st.sampled_from([1, 40, 1 << 20]),
    workers=st.integers(1, 4),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_against_a_plain_parser(
    tmp_path_factory: pytest.TempPathFactory,
    document: Any,
    blanks: list[str],
    size: int,
    workers: int,
    dtype: Any,
) -> None:
    path = tmp_path_factory.mktemp("libsvm") / "rows.svm"
    path.write_text(written(document, blanks), newline="")
    with config.using(num_threads=workers):
        rows = read_rows(
            path, zero_based=True, num_features=41, dtype=dtype, canonical=False, chunk_bytes=size
        )
        canonical = read_rows(path, zero_based=True, num_features=41, dtype=dtype, chunk_bytes=size)
    assert rows.labels.tolist() == [float(label) for label, _ in document]
    assert rows.indices.tolist() == [i for _, pairs in document for i, _ in pairs]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        expected = np.array([float(v) for _, pairs in document for _, v in pairs]).astype(dtype)
        if dtype == np.float64:
            np.testing.assert_array_equal(rows.values, expected)
        else:  # the oracle rounds twice
            steps = rows.values.view(np.int32).astype(np.int64) - expected.view(np.int32)
            assert np.all(np.abs(steps) <= 1)
        oracle = sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(len(document), 41))
        oracle.sum_duplicates()
        assert canonical.indices.tolist() == oracle.indices.tolist()
        assert canonical.indptr.tolist() == oracle.indptr.tolist()
        np.testing.assert_allclose(canonical.values, oracle.data, rtol=1e-5, atol=1e-30)


@pytest.mark.usefixtures("many_blocks")
@given(data=st.binary(max_size=200), workers=st.integers(1, 3), size=st.sampled_from([1, 1 << 20]))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, workers: int, size: int
) -> None:
    attempt(tmp_path_factory.mktemp("libsvm") / "x", data, workers, size)


PIECES = [
    "1",
    "2",
    "-1",
    "0:1",
    "5:2.5",
    ":",
    "#",
    "\n",
    "\t",
    "\r",
    "qid:3",
    "qid:",
    "nan",
    "inf",
    "e",
    "1e5",
    "x",
]
near_misses = st.lists(st.sampled_from(PIECES))


@pytest.mark.usefixtures("many_blocks")
@given(parts=near_misses, glue=st.sampled_from(["", " "]), workers=st.integers(1, 3))
def test_near_misses_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], glue: str, workers: int
) -> None:
    attempt(tmp_path_factory.mktemp("libsvm") / "x", glue.join(parts).encode(), workers, 1 << 20)


def attempt(path: Path, data: bytes, workers: int, size: int) -> None:
    """Read bytes; whatever they are, the result is well formed or an error that names a line."""
    path.write_bytes(data)
    if data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ")):
        return
    rows, error = None, None
    with config.using(num_threads=workers):
        try:
            rows = read_rows(path, zero_based=True, chunk_bytes=size)
        except FileFormatError as caught:
            error = caught
    if rows is not None:
        assert rows.indptr[0] == 0
        assert rows.indptr[-1] == len(rows.indices) == len(rows.values)
        assert np.all(np.diff(rows.indptr) >= 0)
        assert len(rows.labels) == len(rows.indptr) - 1
    else:
        assert error is not None
        assert error.line is not None
        assert 1 <= error.line <= data.count(b"\n") + 1


# real files


@pytest.mark.parametrize(
    ("name", "rows", "width", "nnz", "positive"),
    [
        ("a9a", 32561, 123, 451592, 7841),
        ("agaricus.txt.train", 6513, 126, 143286, 3140),
        ("heart_scale", 270, 13, 3378, 120),
    ],
)
def test_public_files(data_dir: Path, name: str, rows: int, width: int, nnz: int, positive: int) -> None:
    path = data_dir / "libsvm" / name
    read = read_rows(path, zero_based=False)
    assert (len(read.labels), read.num_features, len(read.indices)) == (rows, width, nnz)
    assert int((read.labels > 0).sum()) == positive
    tokens = [line.split() for line in path.read_text().splitlines()]
    assert read.labels.tolist() == [float(t[0]) for t in tokens]
    assert (read.indices + 1).tolist() == [int(p.split(":")[0]) for t in tokens for p in t[1:]]
    assert read.values.tolist() == [np.float32(p.split(":")[1]) for t in tokens for p in t[1:]]


def test_parts_and_pieces_of_a_public_file(data_dir: Path) -> None:
    path = data_dir / "libsvm" / "a9a"
    whole = read_rows(path, zero_based=False)
    parts = [read_rows(path, zero_based=False, part_index=i, num_parts=7) for i in range(7)]
    pieces = list(iter_rows(path, zero_based=False, chunk_bytes=10_000))
    for several in (parts, pieces):
        assert np.concatenate([p.labels for p in several]).tolist() == whole.labels.tolist()
        assert np.concatenate([p.indices for p in several]).tolist() == whole.indices.tolist()
        assert np.concatenate([np.diff(p.indptr) for p in several]).tolist() == np.diff(whole.indptr).tolist()


def test_compressed_rows(tmp_path: Path) -> None:
    text = "".join(f"{i} {i}:0.5\n" for i in range(2000)).encode()
    rows = parse(tmp_path, gzip.compress(text), chunk_bytes=1000)
    assert rows.indices.tolist() == list(range(2000))
