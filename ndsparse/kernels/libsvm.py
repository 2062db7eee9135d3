r"""Parsing libsvm text (``label[:weight] [qid:n] id:value ... [# comment]``), in blocks of lines.

The text is a uint8 array that ends with a line end.  It is read twice: :func:`plan` cuts it into a
block for each thread and bounds what the blocks hold by counting line ends and colons, which is
exact for files without comments and query ids; :func:`fill` parses every block into its part of
arrays of that size and closes the gaps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndsparse.kernels.border import readable
from ndsparse.kernels.decimal import BAD, ROUNDED, SLOW, number, slow_value, unsure_as_single
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.threads import run_blocks, threads_for

Text = NDArray[np.uint8]

NO_LABEL, NO_COLON, NO_ID, ID_TOO_LARGE, ID_PAST_END, ID_BELOW_BASE, NO_VALUE, NO_QID, NO_WEIGHT = range(1, 10)
"""What can be wrong with a line."""

# columns of the report of a block
_CODE, _START, _ROWS, _SLOTS, _SLOW, _LOWEST, _HIGHEST, _DISORDER, _REPORT = range(9)
# what a slow number is, and columns of its entry
_LABEL, _WEIGHT, _VALUE = range(3)
_LARGEST = np.iinfo(np.int64).max
_LARGEST_ID = np.uint64(_LARGEST)
_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _COLON, _LETTER_Q = 9, 10, 13, 32, 35, 58, 113


class Plan(NamedTuple):
    """How a text is cut, and at most how many rows and features it has."""

    cuts: NDArray[np.int64]
    """Where blocks start, and the end: (blocks + 1,)."""
    rows: NDArray[np.int64]
    """Lines before each block, and in all: (blocks + 1,)."""
    slots: NDArray[np.int64]
    """Colons before each block, and in all: (blocks + 1,)."""


class Rules(NamedTuple):
    """What ids are accepted."""

    base: int
    """The smallest id, subtracted from all: 0 or 1."""
    limit: int
    """The largest id as written."""


class Arrays(NamedTuple):
    """Where parsed rows go; sized by a plan.  ``qids`` and ``weights`` of length 0 are not wanted."""

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[Any]
    qids: NDArray[np.int64]
    weights: NDArray[np.float64]


class Outcome(NamedTuple):
    """What a text was found to hold."""

    rows: int
    nnz: int
    lowest: int
    """Smallest id as written (the largest int64 if there is none)."""
    highest: int
    """Largest id as written, -1 if there is none."""
    ordered: bool
    """Whether ids ascend strictly in every row."""
    code: int
    """What is wrong with the first bad line, or 0."""
    start: int
    """Where the token that is wrong starts."""


def plan(text: Text) -> Plan:
    """Cut a text into blocks of whole lines and count what they may hold.  Cost: one pass."""
    blocks = threads_for(len(text))
    cuts = [0, *(_line_start(text, len(text) * i // blocks) for i in range(1, blocks)), len(text)]
    bounds = np.array(cuts, dtype=np.int64)
    counts = np.zeros((2, blocks + 1), dtype=np.int64)
    run_blocks(_count, range(blocks + 1), readable(text), bounds, counts)
    np.cumsum(counts, axis=1, out=counts)
    return Plan(bounds, counts[0], counts[1])


def fill(text: Text, layout: Plan, rules: Rules, out: Arrays) -> Outcome:
    """Parse a text into ``out``; its first ``rows`` rows and ``nnz`` entries are then valid.

    With a code other than 0 the content of ``out`` is undefined.
    """
    blocks = len(layout.cuts) - 1
    capacity = 64
    single = out.values.dtype == np.float32
    while True:
        slow = np.empty((blocks, capacity, 4), dtype=np.int64)
        report = np.zeros((blocks, _REPORT), dtype=np.int64)
        args = (*layout, rules.base, rules.limit, single, *out, slow, report)
        run_blocks(_parse, range(blocks + 1), readable(text), *args)
        failed = np.flatnonzero(report[:, _CODE])
        if len(failed):
            code, start = report[failed[0], [_CODE, _START]]
            return Outcome(0, 0, _LARGEST, -1, True, int(code), int(start))
        if report[:, _SLOW].max() <= capacity:
            break
        capacity = int(report[:, _SLOW].max())
    for b in range(blocks):
        _finish_slow(text, slow[b, : report[b, _SLOW]], out, single)
    rows, nnz = _close_gaps(layout, report, out)
    lowest, highest = int(report[:, _LOWEST].min()), int(report[:, _HIGHEST].max())
    return Outcome(rows, nnz, lowest, highest, not report[:, _DISORDER].any(), 0, 0)


def _line_start(text: Text, position: int) -> int:
    """Return where the first line that starts after ``position`` does."""
    step = 1 << 12
    while position < len(text):
        ends = np.flatnonzero(text[position : position + step] == _NEWLINE)
        if len(ends):
            return position + int(ends[0]) + 1
        position += step
    return len(text)


def _finish_slow(text: Text, entries: NDArray[np.int64], out: Arrays, single: bool) -> None:
    """Read the numbers that the kernel left."""
    for what, where, begin, end in entries.tolist():
        token = text[begin:end].tobytes().decode("ascii")
        if what == _VALUE:
            out.values[where] = slow_value(token, single=single)
        else:
            (out.labels if what == _LABEL else out.weights)[where] = slow_value(token, single=False)


def _close_gaps(layout: Plan, report: NDArray[np.int64], out: Arrays) -> tuple[int, int]:
    """Move the results of every block to the end of those before; return how many there are."""
    rows, nnz = 0, 0
    out.indptr[0] = 0
    for b in range(len(report)):
        row, slot = int(layout.rows[b]), int(layout.slots[b])
        new_rows, new_nnz = int(report[b, _ROWS]), int(report[b, _SLOTS])
        if row > rows:
            for array in (out.labels, out.indptr[1:], out.qids, out.weights):
                if len(array):
                    array[rows : rows + new_rows] = array[row : row + new_rows]
        if slot > nnz:
            out.indptr[rows + 1 : rows + new_rows + 1] -= slot - nnz
            for array in (out.indices, out.values):
                array[nnz : nnz + new_nnz] = array[slot : slot + new_nnz]
        rows, nnz = rows + new_rows, nnz + new_nnz
    return rows, nnz


@kernel
def _count(first: int, last: int, text: Text, cuts: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Count line ends and colons of blocks, in sums of bytes so that the loop is vectorised."""
    for block in range(first, last):
        pos, end = cuts[block], cuts[block + 1]
        lines, colons = np.int64(0), np.int64(0)
        while pos < end:
            stop = min(pos + 128, end)
            few_lines, few_colons = np.uint8(0), np.uint8(0)
            for i in range(pos, stop):
                few_lines += np.uint8(text[i] == _NEWLINE)
                few_colons += np.uint8(text[i] == _COLON)
            lines += few_lines
            colons += few_colons
            pos = stop
        counts[0, block + 1] = lines
        counts[1, block + 1] = colons


@kernel
def _ends_token(c: np.uint8) -> bool:
    return c == _SPACE or c == _NEWLINE or c == _TAB or c == _RETURN or c == _HASH


@kernel
def _whole(text: Text, begin: int) -> tuple[int, np.uint64]:
    """Read digits; return (end, number), where a number that is too large is the largest uint64."""
    pos, result = begin, np.uint64(0)
    while 48 <= text[pos] <= 57:
        result = result * np.uint64(10) + np.uint64(text[pos] - 48)
        pos += 1
    if pos - begin >= 19:
        result = np.uint64(0)
        for i in range(begin, pos):
            result = result * np.uint64(10) + np.uint64(text[i] - 48)
            if result > _LARGEST_ID:
                return pos, np.uint64(0xFFFFFFFFFFFFFFFF)
    return pos, result


@kernel
def _feature_id(text: Text, start: int, base: int, limit: int) -> tuple[int, np.int64, int]:
    """Read ``id:``; return (where the value starts, id, what is wrong)."""
    pos, written = _whole(text, start)
    if text[pos] != _COLON:
        if _ends_token(text[pos]):
            return pos, -1, NO_COLON
        return pos, -1, NO_ID
    if pos == start:
        return pos, -1, NO_ID
    if written > _LARGEST_ID:
        return pos, -1, ID_TOO_LARGE
    identity = np.int64(written)
    if identity > limit:
        return pos, identity, ID_PAST_END
    if identity < base:
        return pos, identity, ID_BELOW_BASE
    return pos + 1, identity, 0


@kernel
def _query_id(text: Text, start: int) -> tuple[int, np.int64, int]:
    """Read ``qid:n``; return (end, n, what is wrong)."""
    pos = start
    for letter in (113, 105, 100, 58):
        if text[pos] != letter:
            return pos, 0, NO_ID
        pos += 1
    begin = pos
    pos, query = _whole(text, begin)
    if pos == begin or query > _LARGEST_ID or not _ends_token(text[pos]):
        return pos, 0, NO_QID
    return pos, np.int64(query), 0


@kernel
def _parse(
    first: int, last: int, text: Text,
    cuts: NDArray[np.int64], row_at: NDArray[np.int64], slot_at: NDArray[np.int64],
    base: int, limit: int, single: bool,
    labels: NDArray[np.float64], indptr: NDArray[np.int64], indices: NDArray[np.int64], values: NDArray[Any],
    qids: NDArray[np.int64], weights: NDArray[np.float64],
    slow: NDArray[np.int64], report: NDArray[np.int64],
) -> None:  # fmt: skip
    """Parse blocks.  A token is a label, a query id or a feature; what a line end closes is a row."""
    for block in range(first, last):
        pos, end, row, slot = cuts[block], cuts[block + 1], row_at[block], slot_at[block]
        in_row, what, where, latest, slowly, disorder = False, _LABEL, row, np.int64(-1), 0, 0
        lowest, highest, code, start = np.int64(_LARGEST), np.int64(-1), 0, pos
        while pos < end:
            c = text[pos]
            if c == _SPACE or c == _TAB or c == _RETURN:
                pos += 1
                continue
            if c == _NEWLINE or c == _HASH:
                while text[pos] != _NEWLINE:
                    pos += 1
                pos += 1
                if in_row:
                    row, in_row = row + 1, False
                    indptr[row] = slot
                continue
            start = pos
            if not in_row:
                what, where, in_row, latest = _LABEL, row, True, np.int64(-1)
                if len(qids):
                    qids[row] = -1
                if len(weights):
                    weights[row] = 1.0
            elif c == _LETTER_Q:
                pos, query, code = _query_id(text, pos)
                if code:
                    break
                if len(qids):
                    qids[row] = query
                continue
            else:
                pos, identity, code = _feature_id(text, pos, base, limit)
                if code:
                    break
                what, where = _VALUE, slot
                indices[slot] = identity - base
                slot += 1
                lowest, highest = min(lowest, identity), max(highest, identity)
                disorder |= identity <= latest
                latest = identity
            begin = pos
            pos, value, state = number(text, begin)
            if what == _LABEL and state != BAD and text[pos] == _COLON:
                labels[row] = value
                if state == SLOW:
                    slowly = _later(slow, block, slowly, what, where, begin, pos)
                what, begin = _WEIGHT, pos + 1
                pos, value, state = number(text, begin)
            if state == BAD or not _ends_token(text[pos]):
                code = NO_LABEL if what == _LABEL else NO_WEIGHT if what == _WEIGHT else NO_VALUE
                break
            if state == SLOW or (single and what == _VALUE and state == ROUNDED and unsure_as_single(value)):
                slowly = _later(slow, block, slowly, what, where, begin, pos)
            if what == _VALUE:
                values[where] = value
            elif what == _LABEL:
                labels[where] = value
            elif len(weights):
                weights[where] = value
        found = (code, start, row - row_at[block], slot - slot_at[block], slowly, lowest, highest, disorder)
        for column in range(len(found)):
            report[block, column] = found[column]


@kernel
def _later(slow: NDArray[np.int64], block: int, count: int, what: int, where: int, begin: int, end: int) -> int:
    """Note a number for ``float()``, as far as there is room; return how many there are."""
    if count < slow.shape[1]:
        slow[block, count, 0] = what
        slow[block, count, 1] = where
        slow[block, count, 2] = begin
        slow[block, count, 3] = end
    return count + 1
