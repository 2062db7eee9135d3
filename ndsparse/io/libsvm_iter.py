"""LibSVMIter: csr batches streamed from libsvm files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.io import rows
from ndsparse.io.data import DataDesc
from ndsparse.io.libsvm import iter_rows
from ndsparse.io.lines import CHUNK_BYTES, check_part
from ndsparse.io.stream_iter import Columns, RowStream, Source, StreamIter
from ndsparse.storage import DefaultChunk, as_dtype, as_shape

FilePath = str | os.PathLike[str]


class LibSVMIter(StreamIter):
    r"""Iterate over a libsvm file in csr batches, without holding the file.

    Parameters
    ----------
    data_libsvm : path
        The file (plain, gzip, bzip2 or xz).  Its ids start at 0; :func:`ndsparse.io.read_libsvm`
        reads files of either base.
    data_shape : int or (int,)
        Number of features; an id beyond is refused.
    label_libsvm : path, optional
        A libsvm file whose features are the labels of the rows (its own labels are not used).
    label_shape : int or (int,), optional
        Number of labels in ``label_libsvm``; without it 1, the label of a line.
    num_parts, part_index : int
        Into how many parts the file is split (ranges of bytes, moved to line ends), and which to
        read.
    batch_size : int
    round_batch : bool
        Fill the last batch up from the start of the file; the next epoch starts after the rows
        used for that (:meth:`hard_reset` starts at the first row).  False fills it with empty rows.
    prefetch_buffer : int
        How many pieces of a few MB a thread parses ahead; 0 parses when a batch is asked for.
    ctx : Context, optional
        Accepted as in MXNet.
    dtype : dtype
        Of data and labels.
    data_name, label_name : str
    canonical : bool
        Sort the ids of every row and sum duplicates; False keeps them as in the file.

    Notes
    -----
    A batch is csr data of shape (batch_size, features) and labels of shape (batch_size,), or csr
    labels (batch_size, label_shape) from a file of their own.  ``close``, or ``with``, ends the
    reading thread; so does the garbage collector.

    Differing from MXNet: ids beyond the shape are errors, lines of a comment only are no rows,
    ``round_batch=False`` works, and labels of a file of their own stay with their rows when the data
    are read in parts (the part's place is then found by reading what stands before it).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ndsparse.io import LibSVMIter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.svm"
    ...     _ = path.write_text("1 0:0.5 1:1\n-1 1:2\n1 0:3\n")
    ...     with LibSVMIter(path, data_shape=2, batch_size=2) as batches:
    ...         [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in batches]
    [([[0.5, 1.0], [0.0, 2.0]], [1.0, -1.0], 0), ([[3.0, 0.0], [0.5, 1.0]], [1.0, 1.0], 1)]
    """

    def __init__(
        self,
        data_libsvm: FilePath,
        data_shape: int | Sequence[int],
        label_libsvm: FilePath | None = None,
        label_shape: int | Sequence[int] | None = None,
        num_parts: int = 1,
        part_index: int = 0,
        batch_size: int = 1,
        round_batch: bool = True,
        prefetch_buffer: int = 4,
        ctx: Any = None,
        dtype: DTypeLike | None = "float32",
        data_name: str = "data",
        label_name: str = "softmax_label",
        *,
        canonical: bool = True,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        check_part(part_index, num_parts)
        wanted = as_dtype("float32" if dtype is None else dtype)
        width = _width("data_shape", data_shape)
        labels_wide = None if label_shape is None else _width("label_shape", label_shape)
        if label_libsvm is None and labels_wide not in (None, 1):
            raise ArgumentError(f"label_shape: {label_shape} needs label_libsvm, a line has one label")
        if label_libsvm is not None and labels_wide is None:
            raise ArgumentError("label_shape: expected the number of labels in label_libsvm, got None")
        paths = [existing(p) for p in (data_libsvm, label_libsvm) if p is not None]
        data = _Pass(
            paths[0], width, wanted, canonical, chunk_bytes, num_parts, part_index, label_libsvm is None
        )
        sources: list[Source] = [data]
        if label_libsvm is not None:
            labels = _Pass(paths[1], labels_wide or 0, wanted, canonical, chunk_bytes, 1, 0, False)
            sources.append(labels if part_index == 0 else _RowsOfPart(labels, data))
        shape = () if label_libsvm is None else (labels_wide or 0,)
        super().__init__(
            [RowStream(source, max(0, prefetch_buffer)) for source in sources],
            paths,
            [DataDesc(data_name, (batch_size, width), wanted)],
            [DataDesc(label_name, (batch_size, *shape), wanted)],
            batch_size=batch_size,
            round_batch=round_batch,
            whole=num_parts == 1,
        )


@dataclass(frozen=True)
class _Pass:
    """One pass over a libsvm file: csr data, and the labels if they are wanted."""

    path: Path
    width: int
    dtype: np.dtype[Any]
    canonical: bool
    chunk_bytes: int
    num_parts: int
    part_index: int
    labels: bool

    def __call__(self) -> Iterator[Columns]:
        parsed = np.float32 if self.dtype in _SINGLE else np.float64
        for piece in iter_rows(
            self.path,
            num_features=self.width,
            dtype=parsed,
            canonical=self.canonical,
            part_index=self.part_index,
            num_parts=self.num_parts,
            chunk_bytes=self.chunk_bytes,
        ):
            values = piece.values.astype(self.dtype, copy=False)
            columns: Columns = [rows.csr(piece.indptr, piece.indices, values, self.width)]
            if self.labels:
                columns.append(DefaultChunk.of(piece.labels.astype(self.dtype, copy=False)))
            yield columns


class _RowsOfPart:
    """A pass over the rows of a file that belong to a part of another file."""

    def __init__(self, labels: _Pass, data: _Pass) -> None:
        self._labels = labels
        self._data = data
        self._before: int | None = None

    def __call__(self) -> Iterator[Columns]:
        if self._before is None:
            self._before = sum(
                columns[0].shape[0]
                for part in range(self._data.part_index)
                for columns in replace(self._data, part_index=part)()
            )
        skip = self._before
        for columns in self._labels():
            length = columns[0].shape[0]
            if skip < length:
                yield [rows.cut(chunk, skip, length) for chunk in columns]
            skip = max(0, skip - length)


_SINGLE = (np.dtype(np.float16), np.dtype(np.float32))


def existing(path: FilePath) -> Path:
    """Return a path whose file can be opened; raise now rather than at the first batch."""
    with open(path, "rb"):
        return Path(path)


def _width(name: str, shape: Any) -> int:
    dims = as_shape(shape, name)
    if len(dims) != 1:
        raise ShapeError(f"{name}: expected the number of columns, as n or (n,), got {shape!r}")
    return dims[0]
