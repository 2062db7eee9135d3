"""Text files in chunks of whole lines, read ahead by one chunk.

A file may be larger than memory, compressed (gzip, bzip2, xz, known by their first bytes), without
an end of its last line, and shared among readers: part ``i`` of ``n`` holds the lines that start in
the i-th of n equal ranges of bytes, so that no line is lost or read twice.  The line on which a
range starts belongs to the range before, unless the range starts the file.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentError, FileFormatError

CHUNK_BYTES = 4 << 20
"""Large enough to share among threads, small enough that what is parsed stays in cache."""

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
_BOM = b"\xef\xbb\xbf"
_NEWLINE = 10
_WINDOW = 1 << 16


def line_chunks(
    path: str | os.PathLike[str], *, part_index: int = 0, num_parts: int = 1, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[NDArray[np.uint8]]:
    """Iterate over a text file, or one part of it, in chunks of whole lines.

    Parameters
    ----------
    path : path
        The file.
    part_index, num_parts : int
        Which of how many parts to read.  Compressed files cannot be read in parts.
    chunk_bytes : int
        Size of the chunks; a longer line makes a longer chunk.

    Yields
    ------
    ndarray of uint8
        Text that ends with a line end.  It is overwritten when the iteration goes on.

    Notes
    -----
    A thread reads (and decompresses) the next chunk meanwhile, if there is one; it ends with the
    iteration, also when that is closed early.  Memory: two chunks.
    """
    check_part(part_index, num_parts)
    path = Path(path)
    with _Source(path, part_index, num_parts) as source:
        buffers = [np.empty(0, dtype=np.uint8) for _ in range(2)]
        text = source.fill(buffers, 0, chunk_bytes)
        if source.exhausted:
            if len(text):
                yield text
            return
        with ThreadPoolExecutor(1, "ndsparse-read") as reader:
            turn = 0
            while len(text):
                turn = 1 - turn
                ahead = reader.submit(source.fill, buffers, turn, chunk_bytes)
                yield text
                text = ahead.result()


def lines_before_part(path: str | os.PathLike[str], part_index: int, num_parts: int) -> int:
    """Count the lines of a file that stand before one of its parts.  Cost: reads the file up to there."""
    lines = 0
    with open(path, "rb") as file:
        left = _part_range(file, part_index, num_parts)[0]
        while left:
            block = file.read(min(left, CHUNK_BYTES))
            if not block:
                break
            lines += block.count(b"\n")
            left -= len(block)
    return lines


def check_part(part_index: int, num_parts: int) -> None:
    """Refuse a part that does not exist."""
    if num_parts < 1:
        raise ArgumentError(f"num_parts: expected at least 1, got {num_parts}")
    if not 0 <= part_index < num_parts:
        raise ArgumentError(f"part_index: expected 0 to num_parts - 1 = {num_parts - 1}, got {part_index}")


class _Source:
    """An open file, how much of it is left to read, and the start of a line that was cut."""

    exhausted = False

    def __init__(self, path: Path, part_index: int, num_parts: int) -> None:
        self._path = path
        with open(path, "rb") as file:
            head = file.read(8)
        opener = next((o for magic, o in _OPENERS.items() if head.startswith(magic)), None)
        if opener is not None and num_parts > 1:
            raise ArgumentError(f"num_parts: {path} is compressed and has one part, got {num_parts}")
        self._compressed = opener is not None
        self._file: IO[bytes] = opener(path, "rb") if opener else open(path, "rb", buffering=0)  # noqa: SIM115
        self._left: int | None = None
        self._cut = np.empty(0, dtype=np.uint8)
        self._skip_bom = True
        if num_parts > 1:
            begin, end = _part_range(self._file, part_index, num_parts)
            self._file.seek(begin)
            self._left, self._skip_bom = end - begin, begin == 0

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def fill(self, buffers: list[NDArray[np.uint8]], turn: int, size: int) -> NDArray[np.uint8]:
        """Read whole lines into a buffer (a larger one if need be); return the text, empty at the end."""
        have = len(self._cut)
        buffer = _at_least(buffers[turn], max(size, have) + 1)  # room for a line end that is missing
        buffer[:have] = self._cut
        whole = 0
        while not self.exhausted and whole == 0:
            searched = have
            buffer = _at_least(buffer, have + size + 1) if have + 1 >= len(buffer) else buffer
            have += self._read(buffer[have:-1])
            whole = _after_last_newline(buffer, searched, have)
        if self.exhausted:
            if have and buffer[have - 1] != _NEWLINE:
                buffer[have] = _NEWLINE
                have += 1
            whole = have
        buffers[turn], self._cut = buffer, buffer[whole:have].copy()
        return self._without_bom(buffer[:whole])

    def _read(self, room: NDArray[np.uint8]) -> int:
        """Fill ``room`` as far as the file goes; return how many bytes came."""
        if self._left is not None:
            room = room[: self._left]
        got, count = 0, 1
        try:
            while got < len(room) and count:
                count = self._file.readinto(room[got:])  # type: ignore[attr-defined]
                got += count
        except _DAMAGE as error:
            if not self._compressed:
                raise
            raise FileFormatError(f"compressed data are damaged ({error})", path=self._path) from error
        if self._left is not None:
            self._left -= got
        self.exhausted = count == 0 or self._left == 0
        return got

    def _without_bom(self, text: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if self._skip_bom and text[:3].tobytes() == _BOM:
            text = text[3:]
        self._skip_bom = False
        return text


def _at_least(buffer: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return a buffer of at least ``size`` bytes that starts like ``buffer``, growing geometrically."""
    if len(buffer) >= size:
        return buffer
    larger = np.empty(max(size, 2 * len(buffer)), dtype=np.uint8)
    larger[: len(buffer)] = buffer
    return larger


def _after_last_newline(buffer: NDArray[np.uint8], begin: int, end: int) -> int:
    """Return the position after the last line end in ``buffer[begin:end]``, 0 if there is none."""
    while end > begin:
        start = max(begin, end - _WINDOW)
        found = buffer[start:end].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _part_range(file: IO[bytes], part_index: int, num_parts: int) -> tuple[int, int]:
    """Return the range of bytes of a part, moved to line starts."""
    size = file.seek(0, os.SEEK_END)
    step = -(-size // num_parts)
    begin, end = (
        _line_start_after(file, min(step * part, size), size) for part in (part_index, part_index + 1)
    )
    file.seek(0)
    return begin, end


def _line_start_after(file: IO[bytes], position: int, size: int) -> int:
    """Return where the first line starts that begins after ``position`` (0 and ``size`` stay)."""
    if position in (0, size):
        return position
    file.seek(position)
    while block := file.read(_WINDOW):
        found = block.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(block)
    return size
