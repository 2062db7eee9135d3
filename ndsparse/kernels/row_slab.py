"""Kernels of the row slab: a hash table from row ids to places, and moving rows.

The table is an int64 array (capacity, 2) of (id, place) pairs with linear probing; the capacity is a
power of two and a place below 0 marks a free entry, so that any int64 may be an id.  A place says in
which chunk of rows a row lies and where: ``chunk << 40 | row``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.kernels.border import moved, readable
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.prefetch import AHEAD, prefetch, prefetch_row
from ndsparse.kernels.random_rows import mix64
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for

ROW_BITS = 40
ROW_MASK = (1 << ROW_BITS) - 1

_PROBE = 16
"""A look-up costs about as much as this many elementary steps."""


@kernel
def probe(table: Any, row_id: Any) -> Any:
    """Return the entry that holds ``row_id``, or the free one where it would be put."""
    mask = np.uint64(table.shape[0] - 1)
    entry = mix64(np.uint64(row_id)) & mask
    while table[entry, 1] >= 0 and table[entry, 0] != row_id:
        entry = (entry + np.uint64(1)) & mask
    return np.int64(entry)


@kernel
def find(begin: Any, end: Any, ids: Any, table: Any, places: Any) -> Any:
    """Write the place of each id, -1 where it is not in the table; return how many are not."""
    mask = np.uint64(table.shape[0] - 1)
    missing = 0
    for i in range(begin, end):
        ahead = mix64(np.uint64(ids[min(i + AHEAD, end - 1)])) & mask
        prefetch(table, 2 * np.int64(ahead))
        place = table[probe(table, ids[i]), 1]
        places[i] = place
        if place < 0:
            missing += 1
    return missing


@kernel
def insert(ids: Any, table: Any, places: Any, sizes: Any, position: Any, fresh: Any) -> Any:
    """Give a place to every id whose ``places`` entry is -1; return how many are new.

    ``position`` (chunk, row) is the next free row, and moves; ``sizes`` are the rows of the chunks.
    ``fresh[k]`` becomes the position in ``ids`` of the ``k``-th new row.  An id may come twice.
    """
    count = 0
    chunk, row = position[0], position[1]
    for i in range(ids.shape[0]):
        if places[i] >= 0:
            continue
        entry = probe(table, ids[i])
        if table[entry, 1] < 0:
            while row >= sizes[chunk]:
                chunk, row = chunk + 1, 0
            table[entry, 0] = ids[i]
            table[entry, 1] = (chunk << 40) | row
            row += 1
            fresh[count] = i
            count += 1
        places[i] = table[entry, 1]
    position[0], position[1] = chunk, row
    return count


@kernel
def rehash(old: Any, new: Any) -> None:
    """Put all entries of one table into another."""
    for i in range(old.shape[0]):
        if old[i, 1] >= 0:
            entry = probe(new, old[i, 0])
            new[entry, 0] = old[i, 0]
            new[entry, 1] = old[i, 1]


@kernel
def entries(table: Any, ids: Any, places: Any) -> None:
    """List the ids of a table and their places, in the order of the table."""
    count = 0
    for i in range(table.shape[0]):
        if table[i, 1] >= 0:
            ids[count] = table[i, 0]
            places[count] = table[i, 1]
            count += 1


@kernel
def group(places: Any, starts: Any, order: Any, rows: Any) -> None:
    """Sort places by chunk (a counting sort, stable).

    ``starts`` (zeroed; chunks + 2) receives where each chunk begins in ``order`` (positions in
    ``places``) and ``rows`` (rows in the chunk); places below 0 come first.
    """
    for i in range(places.shape[0]):
        starts[max(places[i] >> 40, -1) + 2] += 1
    for c in range(1, starts.shape[0]):
        starts[c] += starts[c - 1]
    for i in range(places.shape[0]):
        c = max(places[i] >> 40, -1) + 1
        order[starts[c]] = i
        rows[starts[c]] = places[i] & 0xFFFFFFFFFF
        starts[c] += 1


@kernel
def move(begin: Any, end: Any, source: Any, source_rows: Any, target: Any, target_rows: Any) -> None:
    """Copy row ``source_rows[i]`` of ``source`` to row ``target_rows[i]`` of ``target``."""
    for i in range(begin, end):
        ahead = min(i + AHEAD, end - 1)
        prefetch_row(source, source_rows[ahead])
        prefetch_row(target, target_rows[ahead])
        a, b = source_rows[i], target_rows[i]
        for j in range(source.shape[1]):
            target[b, j] = source[a, j]


AnyArray = NDArray[Any]


def new_table(capacity: int) -> AnyArray:
    """Return an empty table; ``capacity`` is a power of two."""
    table = np.empty((capacity, 2), np.int64)
    table[:, 1] = -1
    return table


def find_places(ids: AnyArray, table: AnyArray, places: AnyArray) -> int:
    """Write the place of each id (int64), -1 where it has none; return how many have none."""
    bounds = even_bounds(len(ids), max(1, threads_for(_PROBE * len(ids))))
    return int(sum(run_blocks(find, bounds, readable(ids), table, places)))


def group_places(places: AnyArray, chunks: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Sort places by chunk.

    Returns
    -------
    (bounds, order, rows)
        ``order[bounds[c]:bounds[c + 1]]`` are the positions whose place is in chunk ``c``, ``rows``
        their rows in it; positions without a place stand before ``bounds[0]``.
    """
    starts = np.zeros(chunks + 2, np.int64)
    order, rows = np.empty_like(places), np.empty_like(places)
    group(places, starts, order, rows)
    return starts[:-1], order, rows


def move_rows(source: AnyArray, source_rows: AnyArray, target: AnyArray, target_rows: AnyArray) -> None:
    """Copy rows between two matrices of one dtype and width, in threads (targets are distinct)."""
    if len(source_rows):
        bounds = even_bounds(len(source_rows), max(1, threads_for(len(source_rows) * source.shape[1])))
        run_blocks(move, bounds, moved(source), source_rows, moved(target), target_rows)
