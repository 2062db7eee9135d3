"""Chunks of lines: the text comes back whole, in any chunks and any parts."""

from __future__ import annotations

import bz2
import gzip
import lzma
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndsparse.errors import ArgumentError, FileFormatError
from ndsparse.io.lines import line_chunks, lines_before_part


def chunks(path: Path, **options: int) -> list[bytes]:
    return [chunk.tobytes() for chunk in line_chunks(path, **options)]


texts = st.lists(st.text("ab\r ", max_size=6), max_size=12).map(lambda lines: "\n".join(lines).encode())


@given(text=texts, size=st.integers(1, 20))
def test_chunks_are_whole_lines_of_the_text(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, size: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(text)
    got = chunks(path, chunk_bytes=size)
    assert all(chunk.endswith(b"\n") for chunk in got)
    assert b"".join(got) == text + (b"" if text.endswith(b"\n") or not text else b"\n")


@given(text=texts, parts=st.integers(1, 9), size=st.integers(1, 20))
def test_parts_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, parts: int, size: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(text)
    lines = 0
    got = []
    for i in range(parts):
        assert lines_before_part(path, i, parts) == min(lines, text.count(b"\n"))
        part = b"".join(chunks(path, part_index=i, num_parts=parts, chunk_bytes=size))
        lines += part.count(b"\n")
        got.append(part)
    assert b"".join(got).rstrip(b"\n") == text.rstrip(b"\n")


def test_a_line_belongs_to_the_part_in_which_it_starts(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"aaaa\nbb\ncc\nd\n")  # 13 bytes: ranges 0:7 and 7:13
    assert chunks(path, part_index=0, num_parts=2) == [b"aaaa\nbb\n"]
    assert chunks(path, part_index=1, num_parts=2) == [b"cc\nd\n"]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    text = b"".join(b"line %d\n" % i for i in range(20_000))
    path = tmp_path / "text"
    path.write_bytes(compress(text))
    assert b"".join(chunks(path, chunk_bytes=10_000)) == text
    with pytest.raises(ArgumentError, match=r"num_parts: .* is compressed"):
        chunks(path, num_parts=2)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_damaged_compressed_files_are_named(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "text"
    path.write_bytes(compress(b"".join(b"line %d\n" % i for i in range(20_000)))[:-1000])
    with pytest.raises(FileFormatError, match="compressed data are damaged") as caught:
        chunks(path)
    assert caught.value.path == str(path)


def test_the_mark_of_utf8_is_skipped_at_the_start_only(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert chunks(path, chunk_bytes=8) == [b"one\n", b"\xef\xbb\xbftwo\n"]


def test_closing_early_ends_the_reading_thread(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"line\n" * 1000)
    before = threading.active_count()
    reading = line_chunks(path, chunk_bytes=100)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_a_file_of_one_chunk_starts_no_thread(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"line\n")
    before = threading.active_count()
    next(line_chunks(path))
    assert threading.active_count() == before


@pytest.mark.parametrize(("index", "parts"), [(2, 2), (-1, 2), (0, 0)])
def test_parts_that_do_not_exist(tmp_path: Path, index: int, parts: int) -> None:
    with pytest.raises(ArgumentError, match=r"num_parts|part_index"):
        chunks(tmp_path / "none", part_index=index, num_parts=parts)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        chunks(tmp_path / "none")
