"""Batches of rows that stream from files: what the iterators over files have in common.

A source is read pass after pass; a pass gives pieces, each a list of chunks (columns) with equally
many rows.  Pieces are cut and joined to batches.  Nothing is held but the pieces read ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ndsparse.errors import FileFormatError
from ndsparse.io import rows
from ndsparse.io.ahead import Ahead
from ndsparse.io.data import DataDesc, DataIter, checked_batch_size
from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.storage import Chunk

Columns = list[Chunk]
Index = np.ndarray[Any, np.dtype[np.int64]]
Source = Callable[[], Iterator[Columns]]


class RowStream:
    """The rows of a source, some at a time.

    Parameters
    ----------
    source : callable
        Starts a pass.
    ahead : int
        How many pieces a thread reads ahead; 0 reads when rows are taken.
    """

    def __init__(self, source: Source, ahead: int) -> None:
        self._source = source
        self._ahead = ahead
        self._pass: Any = None
        self._piece: Columns | None = None
        self._at = 0
        self._ended = False

    def take(self, count: int) -> list[Columns]:
        """Return pieces of ``count`` rows together; fewer only at the end of the pass."""
        taken = []
        while count > 0 and self._fill():
            piece = self._piece
            if piece is None:
                break
            end = min(self._at + count, piece[0].shape[0])
            taken.append([rows.cut(chunk, self._at, end) for chunk in piece])
            count -= end - self._at
            self._at = end
        return taken

    def _fill(self) -> bool:
        """Have a piece with rows left; return whether there is one."""
        while self._piece is None or self._at == self._piece[0].shape[0]:
            if self._ended:
                return False
            if self._pass is None:
                self._pass = Ahead(self._source, self._ahead) if self._ahead else self._source()
            self._piece, self._at = next(self._pass, None), 0
            if self._piece is None:
                self.close()
                self._ended = True
                return False
        return True

    def rewind(self) -> None:
        """Start a new pass."""
        if self._pass is not None or self._ended:
            self.close()
        self._ended = False

    def close(self) -> None:
        """End the pass, its thread and its file."""
        running, self._pass, self._piece, self._ended = self._pass, None, None, True
        if running is not None:
            running.close()


class StreamIter(DataIter):
    """Batches of one or two streams whose rows belong together.

    Parameters
    ----------
    streams : list of RowStream
        Their columns, one after the other, are the data and labels.
    paths : list of Path
        Their files, for messages.
    data, label : list of DataDesc
    round_batch : bool
        Fill the last batch from the start of the file, where the next epoch then goes on; else
        with empty rows.
    whole : bool
        Whether the streams must end together and have rows (a part of a file may have none, and
        labels go on after it).
    """

    def __init__(
        self,
        streams: list[RowStream],
        paths: list[Path],
        data: list[DataDesc],
        label: list[DataDesc],
        *,
        batch_size: int,
        round_batch: bool,
        whole: bool,
    ) -> None:
        super().__init__(checked_batch_size(batch_size))
        self._streams, self._paths, self._whole = streams, paths, whole
        self._data, self._label = data, label
        self._round_batch = round_batch
        self._batch: list[Chunk] = []
        self._index = np.empty(0, dtype=np.int64)
        self._pad = 0
        self._row = 0
        self._rounded = self._closed = False

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data arrays."""
        return self._data

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the label arrays."""
        return self._label

    def reset(self) -> None:
        """Start the next epoch: after rows that filled up the last batch, else at the start."""
        if not self._rounded:
            self._rewind()
        self._rounded = self._closed = False

    def hard_reset(self) -> None:
        """Start an epoch at the first row, whatever rows filled up the last batch."""
        self._rewind()
        self._rounded = self._closed = False

    def close(self) -> None:
        """End threads and close files.  Until the next reset there are no more batches."""
        for stream in self._streams:
            stream.close()
        self._rounded, self._closed = False, True

    def iter_next(self) -> bool:
        """Move to the next batch; return whether there is one."""
        if self._rounded or self._closed:
            return False
        starts = self._row == 0
        pieces, index = self._take(self.batch_size)
        if not pieces:
            if starts and self._whole:
                raise FileFormatError("there are no rows", path=self._paths[0])
            return False
        self._pad = self.batch_size - len(index)
        if self._pad and self._round_batch:
            pieces, index = self._round(pieces, index)
        elif self._pad:
            for column in pieces:
                column.append(rows.blank(column[0], self._pad))
        self._batch = [rows.stack(column) for column in pieces]
        self._index = index
        return True

    def _round(self, pieces: list[list[Chunk]], index: Index) -> tuple[list[list[Chunk]], Index]:
        """Fill a batch from the start of the file, several times over if the file is shorter."""
        self._rounded = True
        while len(index) < self.batch_size:
            self._rewind()
            more, more_index = self._take(self.batch_size - len(index))
            if not more:
                raise FileFormatError("the rows are gone, it changed while it was read", path=self._paths[0])
            pieces = [a + b for a, b in zip(pieces, more, strict=True)]
            index = np.concatenate([index, more_index])
        return pieces, index

    def _rewind(self) -> None:
        for stream in self._streams:
            stream.rewind()
        self._row = 0

    def _take(self, count: int) -> tuple[list[list[Chunk]], Index]:
        """Take rows of all streams; return the pieces of every column (none at the end), and row numbers."""
        first = self._streams[0].take(count)
        length = _rows(first)
        columns = [list(column) for column in zip(*first, strict=True)]
        for stream, path in zip(self._streams[1:], self._paths[1:], strict=True):
            pieces = stream.take(length)
            if _rows(pieces) < length:
                raise FileFormatError(
                    f"has {self._row + _rows(pieces)} rows, {self._paths[0]} has more", path=path
                )
            if length < count and self._whole and stream.take(1):
                raise FileFormatError(
                    f"has more rows than {self._paths[0]}, which has {self._row + length}", path=path
                )
            columns += [list(column) for column in zip(*pieces, strict=True)]
        index = np.arange(self._row, self._row + length)
        self._row += length
        return columns, index

    def getdata(self) -> list[NDArray]:
        """Return the data arrays of the current batch."""
        return [wrap(chunk) for chunk in self._batch[: len(self._data)]]

    def getlabel(self) -> list[NDArray]:
        """Return the label arrays of the current batch."""
        return [wrap(chunk) for chunk in self._batch[len(self._data) :]]

    def getindex(self) -> Index:
        """Return which rows of the file (or its part) the current batch holds, without empty ones."""
        return self._index

    def getpad(self) -> int:
        """Return how many rows of the current batch only fill it."""
        return self._pad


def _rows(pieces: list[Columns]) -> int:
    return sum(piece[0].shape[0] for piece in pieces)
