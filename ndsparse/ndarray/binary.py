"""Reading binary files that may lie.

A :class:`Source` knows how many bytes there are, so nothing is allocated on the word of a header
that the file cannot keep.  Every refusal names the file and the byte.
"""

from __future__ import annotations

import math
import os
import struct
from typing import IO, Any

import numpy as np

from ndsparse.errors import FileFormatError
from ndsparse.storage import Chunk

PIECE = 1 << 24
"""Bytes read at once: zipfile makes a copy of what it reads."""


class Source:
    """A binary file or buffer, read from front to back.

    Parameters
    ----------
    file : binary file object
        Seekable; read from its beginning.
    path : str, optional
        Its name, for messages.
    """

    def __init__(self, file: IO[bytes], path: str | None = None) -> None:
        self.file = file
        self.path = path
        self.size = file.seek(0, os.SEEK_END)
        file.seek(0)

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self.file.tell()

    def error(self, reason: str, offset: int | None = None) -> FileFormatError:
        """Return the error for what was found at ``offset`` (default: here)."""
        return FileFormatError(reason, path=self.path, offset=self.position if offset is None else offset)

    def need(self, count: int, what: str) -> None:
        """Raise unless ``count`` more bytes are there."""
        left = self.size - self.position
        if count < 0 or count > left:
            raise self.error(f"{what} needs {count} bytes, the file has {left} more")

    def read(self, count: int, what: str) -> bytes:
        """Return the next ``count`` bytes."""
        self.need(count, what)
        return self.file.read(count)

    def number(self, code: str, what: str) -> int:
        """Return the next number, of a ``struct`` code, little-endian."""
        form = struct.Struct("<" + code)
        return int(form.unpack(self.read(form.size, what))[0])

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
        """Return the next elements, little-endian, as a new array of native byte order."""
        self.need(math.prod(shape) * dtype.itemsize, what)
        return fill(self.file, shape, dtype.newbyteorder("<")).astype(dtype, copy=False)


def fill(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a new array with the next bytes of ``file``; EOFError if they end before."""
    out = np.empty(math.prod(shape), dtype)
    view = out.view(np.uint8).data
    filled = 0
    while filled < len(view):
        count = file.readinto(view[filled : filled + PIECE])  # type: ignore[attr-defined]
        if not count:
            raise EOFError(f"{len(view)} bytes wanted, {filled} found")
        filled += count
    return out.reshape(shape)


def adopt_checked(chunk: Chunk, data: np.ndarray[Any, Any], *aux: np.ndarray[Any, Any]) -> None:
    """Give a chunk its content; ids that are in bounds, but not in order, are put in order.

    Raises
    ------
    FormatCheckError
        The arrays break the rules of the storage type.
    """
    chunk.take_over(data, *aux)
    chunk.canonicalize()
    chunk.check_format(full_check=True)
