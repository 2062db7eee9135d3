"""The libsvm text format over numpy arrays: ``label[:weight] [qid:n] id:value ... [# comment]``.

Blanks are spaces, tabs and carriage returns.  Blank lines and lines of a comment only are skipped.
Numbers are those of Python's ``float``, correctly rounded.  A feature without a value (``1 0 2``) is
refused: MXNet crashes there, and whoever means 1 had better write it.  So are several labels.
:mod:`ndsparse.kernels.libsvm` parses; :mod:`ndsparse.io.lines` reads.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ndsparse.errors import ArgumentError, DTypeError, FileFormatError
from ndsparse.io.lines import CHUNK_BYTES, line_chunks, lines_before_part
from ndsparse.kernels import libsvm as kernels
from ndsparse.kernels.csr_canonical import canonical_count, canonical_fill

logger = logging.getLogger(__name__)

_LARGEST = int(np.iinfo(np.int64).max)
_TOKEN_SHOWN = 80
_TOKEN = re.compile(rb"[^ \t\r\n#]*")


class Rows(NamedTuple):
    """Rows of a libsvm file, in CSR form."""

    labels: NDArray[np.float64]
    """(rows,)"""
    indptr: NDArray[np.int64]
    """(rows + 1,)"""
    indices: NDArray[np.int64]
    """0-based: (nnz,)"""
    values: NDArray[Any]
    """float32 or float64: (nnz,)"""
    qids: NDArray[np.int64] | None
    """Query ids, -1 where there is none: (rows,).  None if not asked for."""
    weights: NDArray[np.float64] | None
    """Weights of rows, 1 where there is none: (rows,).  None if not asked for."""
    num_features: int
    """As given, else one more than the largest id."""


class _Wishes(NamedTuple):
    """How to read: the keyword arguments of the readers, checked."""

    path: Path
    num_features: int | None
    dtype: np.dtype[Any]
    canonical: bool
    qids: bool
    weights: bool
    part_index: int
    num_parts: int
    chunk_bytes: int


class _Piece(NamedTuple):
    rows: Rows
    lowest: int
    highest: int


def iter_rows(
    path: str | os.PathLike[str],
    *,
    num_features: int | None = None,
    zero_based: bool = True,
    dtype: DTypeLike = np.float32,
    canonical: bool = True,
    qids: bool = False,
    weights: bool = False,
    part_index: int = 0,
    num_parts: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[Rows]:
    """Read a libsvm file piece by piece, so that it may be larger than memory.

    Parameters
    ----------
    path : path
        The file, which may be compressed (gzip, bzip2, xz).
    num_features : int, optional
        Ids from here on are refused.  Default: any id is accepted.
    zero_based : bool
        Whether the first feature has id 0 (else 1).
    dtype : float32 or float64
        Of the values.
    canonical : bool
        Sort the ids of every row and sum duplicates; False keeps them as in the file.
    qids, weights : bool
        Whether to return them.
    part_index, num_parts : int
        Which of how many parts of the file to read (by ranges of bytes).
    chunk_bytes : int
        How much text is parsed at once.

    Yields
    ------
    Rows
        At least one row each.  ``num_features`` is as given, else that of the piece.

    Raises
    ------
    FileFormatError
        Naming file, line and token.

    Notes
    -----
    Two threads parse while a third reads on.  Cost: two passes over the text, one over the arrays.
    """
    wishes = _Wishes(
        Path(path),
        num_features,
        _value_dtype(dtype),
        canonical,
        qids,
        weights,
        part_index,
        num_parts,
        chunk_bytes,
    )
    base = 0 if zero_based else 1
    for piece in _pieces(wishes, base, _limit(num_features, base)):
        yield piece.rows


def read_rows(
    path: str | os.PathLike[str],
    *,
    num_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    dtype: DTypeLike = np.float32,
    canonical: bool = True,
    qids: bool = False,
    weights: bool = False,
    part_index: int = 0,
    num_parts: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Rows:
    """Read a libsvm file whole.

    Parameters
    ----------
    zero_based : bool or "auto"
        ``"auto"`` takes the file (or the part of it that is read) to start at 1 if it has no id 0,
        and logs a warning that says so.
    path, num_features, dtype, canonical, qids, weights, part_index, num_parts, chunk_bytes
        As for :func:`iter_rows`.

    Returns
    -------
    Rows
        All rows.  Without ``num_features``, the largest id decides how wide they are.

    Raises
    ------
    FileFormatError
        Naming file, line and token.
    """
    wishes = _Wishes(
        Path(path),
        num_features,
        _value_dtype(dtype),
        canonical,
        qids,
        weights,
        part_index,
        num_parts,
        chunk_bytes,
    )
    if zero_based != "auto":
        base = 0 if zero_based else 1
        return _gathered(wishes, base, _limit(num_features, base)).rows
    found = _gathered(wishes, 0, _limit(num_features, 1))
    base = _detected_base(wishes, found.lowest)
    if base == 0 and num_features is not None and found.highest >= num_features:
        found = _gathered(wishes, 0, num_features - 1)  # refuses the id, saying where it is
    if base:
        np.subtract(found.rows.indices, base, out=found.rows.indices)
    return found.rows._replace(num_features=_num_features(wishes, found.highest, base))


def _detected_base(wishes: _Wishes, lowest: int) -> int:
    """Say aloud whether ids are taken to start at 0 or 1."""
    base = 1 if 1 <= lowest < _LARGEST else 0
    reason = "has no id 0" if base else "has id 0" if lowest == 0 else "has no ids"
    logger.warning(
        "%s %s: its ids are taken to start at %d (say zero_based=%s to settle it)",
        wishes.path,
        reason,
        base,
        not base,
    )
    return base


def _value_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    wanted = np.dtype(dtype)
    if wanted not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise DTypeError(f"dtype: libsvm values are read as float32 or float64, got {wanted}")
    return wanted


def _limit(num_features: int | None, base: int) -> int:
    """Return the largest id that is accepted, as written."""
    if num_features is None:
        return _LARGEST
    if num_features < 0:
        raise ArgumentError(f"num_features: expected at least 0, got {num_features}")
    return min(num_features - 1 + base, _LARGEST)


def _pieces(wishes: _Wishes, base: int, limit: int) -> Iterator[_Piece]:
    """Parse a file chunk by chunk."""
    lines = 0
    chunks = line_chunks(
        wishes.path, part_index=wishes.part_index, num_parts=wishes.num_parts, chunk_bytes=wishes.chunk_bytes
    )
    for text in chunks:
        layout = kernels.plan(text)
        arrays = _allocate(layout, wishes)
        outcome = kernels.fill(text, layout, kernels.Rules(base, limit), arrays)
        if outcome.code:
            raise _refusal(wishes, text, outcome, lines, kernels.Rules(base, limit))
        lines += int(layout.rows[-1])
        if outcome.rows:
            yield _Piece(_trimmed(arrays, outcome, wishes, base), outcome.lowest, outcome.highest)


def _allocate(layout: kernels.Plan, wishes: _Wishes) -> kernels.Arrays:
    rows, slots = int(layout.rows[-1]), int(layout.slots[-1])
    return kernels.Arrays(
        labels=np.empty(rows, dtype=np.float64),
        indptr=np.empty(rows + 1, dtype=np.int64),
        indices=np.empty(slots, dtype=np.int64),
        values=np.empty(slots, dtype=wishes.dtype),
        qids=np.empty(rows if wishes.qids else 0, dtype=np.int64),
        weights=np.empty(rows if wishes.weights else 0, dtype=np.float64),
    )


def _trimmed(arrays: kernels.Arrays, outcome: kernels.Outcome, wishes: _Wishes, base: int) -> Rows:
    """Cut arrays to what was found, and make rows canonical if they are not and shall be."""
    rows, nnz = outcome.rows, outcome.nnz
    indptr, indices, values = arrays.indptr[: rows + 1], arrays.indices[:nnz], arrays.values[:nnz]
    if wishes.canonical and not outcome.ordered:
        indptr, indices, values = canonical_rows(indptr, indices, values)
    return Rows(
        labels=arrays.labels[:rows],
        indptr=indptr,
        indices=indices,
        values=values,
        qids=arrays.qids[:rows] if wishes.qids else None,
        weights=arrays.weights[:rows] if wishes.weights else None,
        num_features=_num_features(wishes, outcome.highest, base),
    )


def canonical_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int64], values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Sort the ids of every row and sum the values of equal ones, in the order of the file."""
    source = (indptr, indices, values)
    new_indptr = np.empty_like(indptr)
    order = canonical_count(source, new_indptr)
    out = (new_indptr, np.empty(order.nnz, dtype=indices.dtype), np.empty(order.nnz, dtype=values.dtype))
    canonical_fill(source, order, out)
    return out


def _num_features(wishes: _Wishes, highest: int, base: int) -> int:
    return max(highest + 1 - base, 0) if wishes.num_features is None else wishes.num_features


def _gathered(wishes: _Wishes, base: int, limit: int) -> _Piece:
    """Read a file whole: each piece is copied to the end of arrays sized by what came before."""
    columns = {
        "labels": Growing(np.float64),
        "indptr": Growing(np.int64),
        "indices": Growing(np.int64),
        "values": Growing(wishes.dtype),
        "qids": Growing(np.int64),
        "weights": Growing(np.float64),
    }
    columns["indptr"].extend(np.zeros(1, dtype=np.int64), 1.0)
    lowest, highest = _LARGEST, -1
    chunks = max(1.0, wishes.path.stat().st_size / wishes.num_parts / wishes.chunk_bytes)
    for piece in _pieces(wishes, base, limit):
        np.add(piece.rows.indptr, columns["indices"].used, out=piece.rows.indptr)
        for name, column in columns.items():
            part = getattr(piece.rows, name)
            if part is not None:
                column.extend(part[1:] if name == "indptr" else part, chunks)
        lowest, highest = min(lowest, piece.lowest), max(highest, piece.highest)
    arrays = {name: column.array() for name, column in columns.items()}
    rows = Rows(**arrays, num_features=_num_features(wishes, highest, base))
    if not wishes.qids:
        rows = rows._replace(qids=None)
    return _Piece(rows if wishes.weights else rows._replace(weights=None), lowest, highest)


class Growing:
    """An array that grows at its end.  Room that is never written costs no memory."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._buffer = np.empty(0, dtype=dtype)
        self.used = 0

    def extend(self, part: NDArray[Any], more: float) -> None:
        """Append ``part``; the first makes room for ``more`` like it, later ones double what there is."""
        end = self.used + len(part)
        if end > len(self._buffer):
            wanted = max(end, 2 * len(self._buffer), int(len(part) * more * 1.1) + 16 if self.used < 2 else 0)
            larger = np.empty(wanted, dtype=self._buffer.dtype)
            larger[: self.used] = self._buffer[: self.used]
            self._buffer = larger
        self._buffer[self.used : end] = part
        self.used = end

    def array(self) -> NDArray[Any]:
        """Return what was appended, on the memory of this object."""
        return self._buffer[: self.used]


def _refusal(
    wishes: _Wishes, text: NDArray[np.uint8], outcome: kernels.Outcome, lines: int, rules: kernels.Rules
) -> FileFormatError:
    """Say what is wrong with which token of which line."""
    rest = text[outcome.start : outcome.start + 4 * _TOKEN_SHOWN].tobytes()
    token = _TOKEN.match(rest)[0].decode("utf-8", "backslashreplace")  # type: ignore[index]
    if len(token) > _TOKEN_SHOWN:
        token = token[:_TOKEN_SHOWN] + "..."
    line = lines + 1 + int(np.count_nonzero(text[: outcome.start] == ord("\n")))
    if wishes.part_index:
        line += lines_before_part(wishes.path, wishes.part_index, wishes.num_parts)
    return FileFormatError(_reason(outcome.code, token, rules), path=wishes.path, line=line, token=token)


def _reason(code: int, token: str, rules: kernels.Rules) -> str:
    start = f"ids start at {rules.base}"
    if code == kernels.NO_LABEL and "," in token:
        return "several labels are not supported, a line starts with one number"
    return {
        kernels.NO_LABEL: "a line starts with its label, a number",
        kernels.NO_WEIGHT: "the weight after a label (label:weight) is a number",
        kernels.NO_COLON: f"a feature is written id:value; write {token}:1 if it is only present",
        kernels.NO_ID: "a feature is written id:value, where id is a whole number of at least 0",
        kernels.ID_TOO_LARGE: f"ids go to 2**63 - 1 = {_LARGEST}",
        kernels.ID_PAST_END: f"ids go to {rules.limit}, for {start} and there are "
        f"{rules.limit + 1 - rules.base} features" + _other_base(token, rules),
        kernels.ID_BELOW_BASE: f"{start}; say zero_based=True if the file starts at 0",
        kernels.NO_VALUE: "the value of a feature is a number",
        kernels.NO_QID: "a query is written qid:n, where n is a whole number of 0 to 2**63 - 1",
    }[code]


def _other_base(token: str, rules: kernels.Rules) -> str:
    """Return what to do about an id that is one too large, as in a file that counts from 1."""
    if rules.base or token.partition(":")[0] != str(rules.limit + 1):
        return ""
    return (
        f"; if the file counts from 1, give LibSVMIter data_shape=({rules.limit + 2},) or read the file by "
        "io.read_libsvm with zero_based=False"
    )
