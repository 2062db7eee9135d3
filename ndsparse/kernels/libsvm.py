r"""Parsing libsvm text (``label[:weight] [qid:n] id:value ... [# comment]``), in blocks of lines.

The text is a uint8 array that ends with a line end.  It is read twice: :func:`plan` cuts it into a
block for each thread and bounds what the blocks hold by counting line ends and colons, which is
exact for files without comments and query ids; :func:`fill` parses every block into its part of
arrays of that size and closes the gaps.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndsparse.kernels.border import readable
from ndsparse.kernels.decimal import (
    BAD,
    INTEGERS,
    ROUNDED,
    SLOW,
    TENS,
    nearest,
    number,
    slow_value,
    unsure_as_single,
)
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.threads import run_blocks, threads_for

Text = NDArray[np.uint8]

# what can be wrong with a line
NO_LABEL, NO_WEIGHT, NO_COLON, NO_ID, NO_VALUE, NO_QID = range(1, 7)
ID_TOO_LARGE, ID_PAST_END, ID_BELOW_BASE = range(7, 10)

# columns of the report of a block
_CODE, _START, _ROWS, _SLOTS, _SLOW, _LOWEST, _HIGHEST, _DISORDER, _REPORT = range(9)
# what a slow number is, and columns of its entry
_LABEL, _WEIGHT, _VALUE = range(3)
_LARGEST = np.iinfo(np.int64).max
_LARGEST_ID, _LARGEST_TENTH = np.uint64(_LARGEST), np.uint64(_LARGEST // 10)
_TOO_LARGE = np.uint64(0xFFFFFFFFFFFFFFFF)
_TAB, _NEWLINE, _RETURN, _SPACE, _HASH = 9, 10, 13, 32, 35
_ENDS = np.uint64(sum(1 << c for c in (_TAB, _NEWLINE, _RETURN, _SPACE, _HASH)))
_PLUS, _MINUS, _POINT, _COLON, _LETTER_Q = 43, 45, 46, 58, 113


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
    none = np.empty(0, dtype=np.float64 if single else np.float32)
    values = (out.values, none) if single else (none, out.values)  # one compiled kernel serves both
    arrays = (out.labels, out.indptr, out.indices, *values, out.qids, out.weights)
    while True:
        slow = np.empty((blocks, capacity, 4), dtype=np.int64)
        report = np.zeros((blocks, _REPORT), dtype=np.int64)
        run_blocks(_parse, range(blocks + 1), readable(text), *layout, *rules, *arrays, slow, report)
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
def _count(first, last, text, cuts, counts):
    """Count line ends and colons of blocks, in sums narrow enough for the loop to be vectorised."""
    for block in range(first, last):
        for begin in range(cuts[block], cuts[block + 1], 1 << 20):
            part = text[begin : min(begin + (1 << 20), cuts[block + 1])]
            lines, colons = np.int32(0), np.int32(0)
            for i in range(len(part)):
                lines = np.int32(lines + np.int32(part[i] == _NEWLINE))
                colons = np.int32(colons + np.int32(part[i] == _COLON))
            counts[0, block + 1] += lines
            counts[1, block + 1] += colons


@kernel
def _ends_token(c):
    return c <= _HASH and (_ENDS >> np.uint64(c)) & np.uint64(1) != np.uint64(0)


@kernel
def _whole(text, begin):
    """Read digits; return (end, number), a number above _LARGEST_ID if it is too large."""
    pos, result = begin, np.uint64(0)
    while 48 <= text[pos] <= 57:
        result = result * np.uint64(10) + np.uint64(text[pos] - 48)
        pos += 1
    if pos - begin >= 19:
        result = np.uint64(0)
        for i in range(begin, pos):
            if result > _LARGEST_TENTH:  # ten times this would wrap
                return pos, _TOO_LARGE
            result = result * np.uint64(10) + np.uint64(text[i] - 48)
    return pos, result


@kernel
def _feature_id(text, start, base, limit):
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
def _query_id(text, start):
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
def _plain(text, end, spot, base, limit, seen, labels, indptr, indices, singles, doubles):
    """Parse plain rows, of a label and ``id:value`` in decimal, up to the first thing that is not.

    Nearly all bytes of nearly all files are read here, so nothing is called that takes an array, and
    positions are unsigned, which spares numba's test for negative indices (twice as fast).
    What is odd in any way, or wrong, is left to the caller, with the place where it starts.
    """
    start, row, slot, latest, in_row = spot
    one, ten, zero_sign, single = np.uint64(1), np.uint64(10), np.uint64(48), len(singles) > 0
    pos, stop, written = np.uint64(start), np.uint64(end), np.int64(0)
    while True:
        at = pos
        if in_row:
            if text[at] == _NEWLINE:
                row, in_row = row + 1, False
                indptr[row] = slot
                pos = at + one
                continue
            if text[at] != _SPACE and text[at] != _TAB and text[at] != _RETURN:
                break
            at += one
            if text[at] <= _SPACE and _ends_token(text[at]):
                pos = at
                continue
            c = np.uint64(text[at]) - zero_sign  # wraps: what is no digit is large
            begin, identity = at, np.uint64(0)
            while c < ten:
                identity = identity * ten + c
                at += one
                c = np.uint64(text[at]) - zero_sign
            written = np.int64(identity)
            if text[at] != _COLON or at == begin or at - begin > np.uint64(18):
                break
            if written < base or written > limit:
                break
            at += one
        elif pos >= stop:
            break
        negative = text[at] == _MINUS
        if negative or text[at] == _PLUS:
            at += one
        c = np.uint64(text[at]) - zero_sign
        begin, mantissa, decimals = at, np.uint64(0), np.uint64(0)
        while c < ten:
            mantissa = mantissa * ten + c
            at += one
            c = np.uint64(text[at]) - zero_sign
        digits = at - begin
        if text[at] == _POINT:
            at += one
            begin = at
            c = np.uint64(text[at]) - zero_sign
            while c < ten:
                mantissa = mantissa * ten + c
                at += one
                c = np.uint64(text[at]) - zero_sign
            decimals = at - begin
            digits += decimals
        if digits == np.uint64(0) or digits > np.uint64(19) or text[at] > _SPACE or not _ends_token(text[at]):
            break
        if mantissa <= INTEGERS:
            value = np.float64(mantissa) / TENS[decimals]
        else:
            value, state = nearest(mantissa, -np.int64(decimals))
            if state == SLOW:
                break
        value = -value if negative else value
        if not in_row:
            labels[row] = value
            in_row, latest = True, np.int64(-1)
        else:
            if not single:
                doubles[slot] = value
            elif (decimals or mantissa > INTEGERS) and unsure_as_single(value):
                break
            else:
                singles[slot] = value
            indices[slot] = written - base
            slot += 1
            seen[0], seen[1] = min(seen[0], written), max(seen[1], written)
            seen[2] |= np.int64(written <= latest)
            latest = written
        pos = at
    return np.int64(pos), row, slot, latest, in_row


@kernel
def _parse(
    first, last, text, cuts, row_at, slot_at, base, limit,
    labels, indptr, indices, singles, doubles, qids, weights, slow, report,
):  # fmt: skip
    """Parse blocks: plain stretches by :func:`_plain`, and between them one odd token at a time."""
    for block in range(first, last):
        single, seen = len(singles) > 0, report[block, _LOWEST:]
        code, start, slowly, seen[0], seen[1] = 0, np.int64(0), 0, _LARGEST, -1
        end = cuts[block + 1]
        qids[row_at[block] : row_at[block + 1]] = -1
        weights[row_at[block] : row_at[block + 1]] = 1.0
        latest, in_row = np.int64(-1), row_at[block] < 0  # False, but no literal to numba
        spot = (cuts[block], row_at[block], slot_at[block], latest, in_row)
        while True:
            spot = _plain(text, end, spot, base, limit, seen, labels, indptr, indices, singles, doubles)
            pos, row, slot, latest, in_row = spot
            if pos >= end:
                break
            while text[pos] == _SPACE or text[pos] == _TAB or text[pos] == _RETURN:
                pos += 1
            start = pos
            if text[pos] == _NEWLINE or text[pos] == _HASH:
                while text[pos] != _NEWLINE:
                    pos += 1
                if not in_row:
                    pos += 1
                spot = (pos, row, slot, latest, in_row)
                continue
            if in_row and text[pos] == _LETTER_Q:
                pos, query, code = _query_id(text, pos)
                if code:
                    break
                if len(qids):
                    qids[row] = query
                spot = (pos, row, slot, latest, in_row)
                continue
            what, where = _LABEL, row
            if in_row:
                pos, identity, code = _feature_id(text, pos, base, limit)
                if code:
                    break
                what, where = _VALUE, slot
                indices[slot] = identity - base
                slot += 1
                seen[0], seen[1] = min(seen[0], identity), max(seen[1], identity)
                seen[2] |= np.int64(identity <= latest)
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
            if what == _LABEL:
                labels[where] = value
            elif what == _WEIGHT:
                if len(weights):
                    weights[where] = value
            elif single:
                singles[where] = value
            else:
                doubles[where] = value
            if not in_row:
                latest = np.int64(-1)
            spot = (pos, row, slot, latest, row >= 0)
        found = (code, start, spot[1] - row_at[block], spot[2] - slot_at[block], slowly)
        for column in range(len(found)):
            report[block, column] = found[column]


@kernel
def _later(slow, block, count, what, where, begin, end):
    """Note a number for ``float()``, as far as there is room; return how many there are."""
    if count < slow.shape[1]:
        slow[block, count, 0] = what
        slow[block, count, 1] = where
        slow[block, count, 2] = begin
        slow[block, count, 3] = end
    return count + 1
