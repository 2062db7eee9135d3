"""Arrays of row ids: sorting, uniting, looking up.

Ids are rows or columns of arrays whose extent may be far beyond memory (2^40), so no cost here is
O(extent): a bitmap is used where the span of the ids is modest, and a radix sort elsewhere.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndsparse.kernels.bits import lowest_bit, popcount
from ndsparse.kernels.border import AnyArray, index
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import indexes
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for

BITMAP_SPAN = 64
"""A bitmap is made when the span of the ids is at most this many times their number."""

_RADIX_BITS = 11


def unique_ids(ids: AnyArray, *, extent: int | None = None) -> tuple[AnyArray, AnyArray]:
    """Return the distinct ids in ascending order, and for each id where it stands among them.

    Parameters
    ----------
    ids : (n,) ints
        In any order, with duplicates.
    extent : int, optional
        Promise that the ids are in ``range(extent)``; saves a look at them.

    Returns
    -------
    unique : (u,) int64
    slots : (n,) int64
        ``unique[slots] == ids``.

    Notes
    -----
    O(n) where the ids are sorted or span less than ``64 n``; otherwise O(n) for each 11 bits of the span.
    """
    ids = index(ids)
    slots = np.empty(len(ids), np.int64)
    if not len(ids):
        return np.empty(0, np.int64), slots
    if extent is not None and extent <= BITMAP_SPAN * len(ids):
        return _by_bitmap(ids, slots, 0, extent)
    low, high, ascending = map(int, _survey(ids))
    if ascending:
        unique = np.empty(_mark_runs(ids, slots), np.int64)
        run_blocks(_spread, _bounds(len(ids)), slots, ids, unique)
        return unique, slots
    span = high - low + 1
    if span <= BITMAP_SPAN * len(ids):
        return _by_bitmap(ids, slots, low, span)
    return _by_radix(ids, slots, low, span)


def union_ids(many: Sequence[AnyArray]) -> AnyArray:
    """Return the sorted union (int64) of sorted arrays of distinct ids.  O(total)."""
    if len(many) == 1:
        return many[0].astype(np.int64)
    if len(many) == 2:
        lhs, rhs = indexes(many[0], many[1])
        out = np.empty(union_size(lhs, rhs), np.int64)
        _union(lhs, rhs, out)
        return out
    return unique_ids(np.concatenate([m.astype(np.int64, copy=False) for m in many]))[0]


def union_size(lhs: AnyArray, rhs: AnyArray) -> int:
    """Return how many distinct ids two sorted arrays of distinct ids have.  O(len)."""
    return len(lhs) + len(rhs) - intersect_count(lhs, rhs)


def intersect_count(lhs: AnyArray, rhs: AnyArray) -> int:
    """Return how many ids two sorted arrays of distinct ids share.  O(len)."""
    lhs, rhs = indexes(lhs, rhs)
    return int(_count_shared(lhs, rhs))


def locate(ids: AnyArray, wanted: AnyArray, *, extent: int | None = None) -> AnyArray:
    """Return where each wanted id stands in ``ids``; -1 where it does not.

    Parameters
    ----------
    ids : (n,) ints
        Sorted, distinct.
    wanted : (w,) ints
        In any order.
    extent : int, optional
        Number of rows of the array; if all are stored, nothing is searched.

    Returns
    -------
    (w,) int64

    Notes
    -----
    O(w + n) where ``wanted`` is sorted, O(w + span / 64) where a bitmap pays, else O(w log n).
    """
    ids, wanted = indexes(ids, wanted)
    slots = np.empty(len(wanted), np.int64)
    complete = len(ids) > 0 and int(ids[-1]) - int(ids[0]) + 1 == len(ids)
    if not len(ids) or not len(wanted):
        slots.fill(-1)
    elif complete or (extent is not None and extent == len(ids)):
        run_blocks(_locate_run, _bounds(len(wanted)), wanted, int(ids[0]), len(ids), slots)
    else:
        run_blocks(_locate, _bounds(len(wanted), 4), ids, wanted, slots)
    return slots


def group_by_slot(slots: AnyArray, groups: int) -> tuple[AnyArray, AnyArray]:
    """Return the positions of ``slots`` ordered by slot, and where each slot's positions begin.

    Parameters
    ----------
    slots : (n,) ints
        In ``range(groups)``.
    groups : int

    Returns
    -------
    starts : (groups + 1,) int64
    order : (n,) int64
        ``slots[order[starts[g]:starts[g + 1]]] == g``; positions ascend in a group.  O(n + groups).
    """
    slots = index(slots)
    starts = np.zeros(groups + 1, np.int64)
    order = np.empty(len(slots), np.int64)
    _group(slots, starts, order)
    return starts, order


def _bounds(n: int, weight: int = 1) -> list[int]:
    return even_bounds(n, threads_for(n * weight))


def _by_bitmap(ids: AnyArray, slots: AnyArray, low: int, span: int) -> tuple[AnyArray, AnyArray]:
    bounds = _bounds(len(ids), 2)
    marks = np.zeros((len(bounds) - 1, (span + 63) >> 6), np.uint64)
    run_blocks(_mark, range(len(bounds)), np.asarray(bounds), ids, low, marks)
    bits = marks[0] if len(marks) == 1 else np.bitwise_or.reduce(marks)
    rank = np.empty(len(bits), np.int64)
    unique = np.empty(_rank(bits, rank), np.int64)
    _list_marked(bits, low, unique)
    run_blocks(_rank_slots, bounds, ids, low, bits, rank, slots)
    return unique, slots


def _by_radix(ids: AnyArray, slots: AnyArray, low: int, span: int) -> tuple[AnyArray, AnyArray]:
    order, spare = np.arange(len(ids)), np.empty(len(ids), np.int64)
    key, spare_key = np.subtract(ids, low, dtype=np.int64), np.empty(len(ids), np.int64)
    for shift in range(0, (span - 1).bit_length(), _RADIX_BITS):
        if _radix_pass(key, order, shift, spare_key, spare):
            key, spare_key, order, spare = spare_key, key, spare, order
    unique = np.empty(_mark_runs(key, spare), np.int64)
    _scatter_runs(key, order, spare, low, unique, slots)
    return unique, slots


@kernel
def _survey(ids):
    low = high = np.int64(ids[0])
    ascending = True
    for i in range(1, len(ids)):
        v = np.int64(ids[i])
        ascending = ascending and v >= ids[i - 1]
        low = min(low, v)
        high = max(high, v)
    return low, high, ascending


@kernel
def _mark_runs(ids, slots):
    """Give the runs of equal ids their numbers."""
    run = 0
    slots[0] = 0
    for i in range(1, len(ids)):
        if ids[i] != ids[i - 1]:
            run += 1
        slots[i] = run
    return run + 1


@kernel
def _spread(begin, end, slots, ids, unique):
    for i in range(begin, end):
        unique[slots[i]] = ids[i]


@kernel
def _scatter_runs(key, order, runs, low, unique, slots):
    for i in range(len(key)):
        unique[runs[i]] = key[i] + low
        slots[order[i]] = runs[i]


@kernel
def _mark(begin, end, bounds, ids, low, marks):
    for block in range(begin, end):
        for i in range(bounds[block], bounds[block + 1]):
            p = np.int64(ids[i]) - low
            marks[block, p >> 6] |= np.uint64(1) << np.uint64(p & 63)


@kernel
def _rank(bits, rank):
    total = np.int64(0)
    for w in range(len(bits)):
        rank[w] = total
        total += popcount(bits[w])
    return total


@kernel
def _list_marked(bits, low, unique):
    u = 0
    for w in range(len(bits)):
        word = bits[w]
        while word != 0:
            unique[u] = low + (w << 6) + lowest_bit(word)
            u += 1
            word &= word - np.uint64(1)


@kernel
def _rank_slots(begin, end, ids, low, bits, rank, slots):
    for i in range(begin, end):
        p = np.int64(ids[i]) - low
        w = p >> 6
        below = bits[w] & ((np.uint64(1) << np.uint64(p & 63)) - np.uint64(1))
        slots[i] = rank[w] + popcount(below)


@kernel
def _radix_pass(key, order, shift, out_key, out_order):
    """Sort by eleven bits, stably; False and nothing written if they are all equal."""
    counts = np.zeros(2049, np.int64)
    n = len(key)
    for i in range(n):
        counts[((key[i] >> shift) & 2047) + 1] += 1
    if counts[((key[0] >> shift) & 2047) + 1] == n:
        return False
    for b in range(2048):
        counts[b + 1] += counts[b]
    for i in range(n):
        b = (key[i] >> shift) & 2047
        q = counts[b]
        counts[b] = q + 1
        out_key[q] = key[i]
        out_order[q] = order[i]
    return True


@kernel
def _count_shared(lhs, rhs):
    a = b = shared = 0
    while a < len(lhs) and b < len(rhs):
        x, y = lhs[a], rhs[b]
        shared += x == y
        a += x <= y
        b += y <= x
    return shared


@kernel
def _union(lhs, rhs, out):
    a = b = u = 0
    while a < len(lhs) and b < len(rhs):
        x, y = lhs[a], rhs[b]
        out[u] = min(x, y)
        u += 1
        a += x <= y
        b += y <= x
    while a < len(lhs):
        out[u] = lhs[a]
        a, u = a + 1, u + 1
    while b < len(rhs):
        out[u] = rhs[b]
        b, u = b + 1, u + 1


@kernel
def _locate_run(begin, end, wanted, first, count, slots):
    for i in range(begin, end):
        s = np.int64(wanted[i]) - first
        slots[i] = s if 0 <= s < count else -1


@kernel
def _locate(begin, end, ids, wanted, slots):
    """Search from the last find: by doubling steps, then by halving.  Linear for sorted ids."""
    n = len(ids)
    at = 0
    for i in range(begin, end):
        w = wanted[i]
        if ids[at] > w:
            low, high = 0, at
        else:
            low, step = at, 1
            while low + step < n and ids[low + step] <= w:
                low += step
                step += step
            high = min(low + step, n)
        while high - low > 1:  # ids[low] <= w < ids[high], or there is none at low
            middle = (low + high) >> 1
            if ids[middle] <= w:
                low = middle
            else:
                high = middle
        at = low
        slots[i] = low if ids[low] == w else -1


@kernel
def _group(slots, starts, order):
    n = len(slots)
    groups = len(starts) - 1
    for i in range(n):
        starts[slots[i] + 1] += 1
    for g in range(groups):
        starts[g + 1] += starts[g]
    for i in range(n):
        g = slots[i]
        order[starts[g]] = i
        starts[g] += 1
    for g in range(groups, 0, -1):
        starts[g] = starts[g - 1]
    starts[0] = 0
