"""CSVIter: dense batches streamed from files of numbers between commas."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ndsparse.errors import FileFormatError
from ndsparse.io.data import DataDesc
from ndsparse.io.libsvm_iter import existing
from ndsparse.io.lines import line_chunks
from ndsparse.io.stream_iter import Columns, RowStream, Source, StreamIter
from ndsparse.storage import DefaultChunk, as_dtype, as_shape

FilePath = str | os.PathLike[str]


class CSVIter(StreamIter):
    """Iterate over a file of numbers between commas in dense batches, without holding the file.

    Parameters
    ----------
    data_csv : path
        A line a row, without a header.
    data_shape : int or tuple of int
        Shape of a row; a line has as many numbers.
    label_csv : path, optional
        The labels; zeros without it.
    label_shape : int or tuple of int
    batch_size : int
    round_batch : bool
        Fill the last batch up from the start of the file; the next epoch starts after the rows
        used for that (:meth:`hard_reset` starts at the first row).  False fills it with zeros.
    prefetch_buffer : int
        How many pieces of a few MB a thread parses ahead.
    ctx : Context, optional
        Accepted as in MXNet.
    dtype : dtype
    data_name, label_name : str
    """

    def __init__(
        self,
        data_csv: FilePath,
        data_shape: int | Sequence[int],
        label_csv: FilePath | None = None,
        label_shape: int | Sequence[int] = (1,),
        batch_size: int = 1,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: Any = None,
        dtype: DTypeLike | None = "float32",
        data_name: str = "data",
        label_name: str = "label",
    ) -> None:
        wanted = as_dtype("float32" if dtype is None else dtype)
        shapes = as_shape(data_shape, "data_shape"), as_shape(label_shape, "label_shape")
        paths = [existing(p) for p in (data_csv, label_csv) if p is not None]
        blank = shapes[1] if label_csv is None else None
        sources: list[Source] = [_Pass(paths[0], shapes[0], wanted, blank)]
        if label_csv is not None:
            sources.append(_Pass(paths[1], shapes[1], wanted, None))
        super().__init__(
            [RowStream(source, max(0, prefetch_buffer)) for source in sources],
            paths,
            [DataDesc(data_name, (batch_size, *shapes[0]), wanted)],
            [DataDesc(label_name, (batch_size, *shapes[1]), wanted)],
            batch_size=batch_size,
            round_batch=round_batch,
            whole=True,
        )


@dataclass(frozen=True)
class _Pass:
    """One pass over a file, with labels of zero beside it if their shape is given."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    blank: tuple[int, ...] | None

    def __call__(self) -> Iterator[Columns]:
        lines = 0
        for text in line_chunks(self.path):
            data = self._parse(text.tobytes(), lines)
            lines += int(np.count_nonzero(text == ord("\n")))
            columns: Columns = [DefaultChunk.of(data)]
            if self.blank is not None:
                columns.append(DefaultChunk.of(np.zeros((len(data), *self.blank), dtype=self.dtype)))
            if len(data):
                yield columns

    def _parse(self, text: bytes, lines: int) -> np.ndarray[Any, Any]:
        """Read numbers; a line that is wrong is looked for when there is one."""
        try:
            table = self._numbers(text)
        except ValueError:
            for number, line in enumerate(text.split(b"\n"), lines + 1):
                try:
                    self._numbers(line)
                except ValueError as error:
                    raise FileFormatError(
                        f"expected {math.prod(self.shape)} numbers between commas",
                        path=self.path,
                        line=number,
                        token=line.decode("utf-8", "backslashreplace")[:80],
                    ) from error
            raise
        return table.reshape(-1, *self.shape)

    def _numbers(self, text: bytes) -> np.ndarray[Any, Any]:
        width = math.prod(self.shape)
        if not text.strip():
            return np.empty((0, width), dtype=self.dtype)
        parsed = np.loadtxt(io.BytesIO(text), delimiter=",", ndmin=2, comments=None, dtype=np.float64)
        if parsed.shape[1] != width:
            raise ValueError
        return parsed.astype(self.dtype, copy=False)
