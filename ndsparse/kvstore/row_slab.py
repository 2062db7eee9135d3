"""Rows found by a hash of their id: a weight of any length that costs what its touched rows cost.

    table: id -> place                    chunks of rows (they never move)
    +------+-------+                      chunk 0            chunk 1
    |  7   | 0, 2  | ------+             weight | mom      weight | mom
    |  -   |  free |       |             +------+---+      +------+---+
    | 9e18 | 1, 0  | --+   +-----------> |      |   |  +-> |      |   |
    +------+-------+   +---------------- |------|---|--+   +------+---+

Next to the weight stand the columns of the optimizer.  A new row gets its first value from a
:class:`~ndsparse.kvstore.row_init.RowInit`; reading a row that has no place computes that value and
stores nothing.  Storage grows by whole chunks, so growing copies only the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.kernels import row_slab as kernels
from ndsparse.kvstore.row_init import RowInit

AnyArray = NDArray[Any]

_FIRST_ROWS = 4096
_LARGE_CHUNK = 64 << 20  # bytes; up to this a chunk takes three times the slab, beyond it an eighth
_FULL = 0.75  # of the table


class Column(NamedTuple):
    """A value that every row has."""

    name: str
    width: int  # elements a row
    dtype: np.dtype[Any]


class Group(NamedTuple):
    """Rows of one chunk."""

    columns: dict[str, AnyArray]  # name -> (rows used, width), a view of the chunk
    rows: AnyArray  # int64: rows of the chunk, in the order asked for
    sources: AnyArray  # int64: their positions in the ids asked for


class Memory(NamedTuple):
    """Bytes of a slab."""

    rows: int  # touched rows
    payload: int  # of the touched rows and their optimizer columns
    table: int  # of the hash table
    reserved: int  # of all chunks and the table; pages never written cost no memory


@dataclass
class _Chunk:
    size: int
    used: int = 0
    columns: dict[str, AnyArray] = field(default_factory=dict)


class RowSlab:
    """A hash-indexed store of rows.

    Parameters
    ----------
    width : int
        Elements of a row of the weight.
    dtype : dtype
        Of the weight.
    first : RowInit, optional
        What a row is before it is written; default zeros.
    extent : int, optional
        How many rows there can be: a weight that fits into one chunk gets one.

    Notes
    -----
    Ids are any int64; whoever owns the slab checks that they lie in the weight.  A look-up costs one
    cache miss, a row ``16 / load`` bytes of table beside its payload, the load being 0.37 to 0.75.
    One thread at a time.
    """

    def __init__(
        self, width: int, dtype: Any, first: RowInit | None = None, extent: int | None = None
    ) -> None:
        self.first = first or RowInit()
        self._extent = extent
        self._columns = {"weight": Column("weight", int(width), np.dtype(dtype))}
        self.clear()

    def __len__(self) -> int:
        """Return the number of touched rows."""
        return self._count

    @property
    def columns(self) -> tuple[Column, ...]:
        """The weight and the columns of the optimizer."""
        return tuple(self._columns.values())

    @property
    def width(self) -> int:
        """Elements of a row of the weight."""
        return self._columns["weight"].width

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the weight."""
        return self._columns["weight"].dtype

    def clear(self, first: RowInit | None = None) -> None:
        """Forget all rows; ``first`` replaces the value that rows begin with."""
        if first is not None:
            self.first = first
        self._table = kernels.new_table(_FIRST_ROWS)
        self._chunks: list[_Chunk] = []
        self._count = 0
        self._position = np.zeros(2, np.int64)  # the chunk and row where the next row goes

    def add_column(self, name: str, width: int, dtype: Any) -> None:
        """Give every row, present and future, a column of zeros."""
        if name in self._columns:
            raise ArgumentError(f"RowSlab: there is a column {name!r} already")
        column = self._columns[name] = Column(name, int(width), np.dtype(dtype))
        for chunk in self._chunks:
            chunk.columns[name] = _zeros(chunk.size, column)

    def drop_column(self, name: str) -> None:
        """Remove a column of the optimizer."""
        if name == "weight" or name not in self._columns:
            raise ArgumentError(f"RowSlab: no column {name!r} that could be dropped")
        del self._columns[name]
        for chunk in self._chunks:
            del chunk.columns[name]

    # Finding rows

    def find(self, ids: AnyArray) -> AnyArray:
        """Return the place of each id (int64), -1 where the row is untouched."""
        places = np.empty(len(ids), np.int64)
        kernels.find_places(ids, self._table, places)
        return places

    def find_or_insert(self, ids: AnyArray, *, first_values: bool = True) -> AnyArray:
        """Return the place of each id; untouched rows are stored, with their first values.

        Parameters
        ----------
        ids : ndarray of int64, (n,), C-contiguous
            In any order, repeated or not.
        first_values : bool
            False leaves the weight of new rows unset, for a caller that writes it at once.
        """
        places = np.empty(len(ids), np.int64)
        missing = kernels.find_places(ids, self._table, places)
        if missing == 0:
            return places
        self._reserve(missing)
        fresh = np.empty(missing, np.int64)
        sizes = np.array([c.size for c in self._chunks], np.int64)
        count = kernels.insert(ids, self._table, places, sizes, self._position, fresh)
        self._count += count
        for number, chunk in enumerate(self._chunks):
            chunk.used = chunk.size if number < self._position[0] else chunk.used
        self._chunks[int(self._position[0])].used = int(self._position[1])
        if first_values:
            self._write_first_values(ids[fresh[:count]], places[fresh[:count]])
        return places

    def _reserve(self, rows: int) -> None:
        """Make room for that many further rows in the chunks and in the table."""
        free = sum(c.size for c in self._chunks) - self._count
        if free < rows:
            self._chunks.append(self._new_chunk(rows - free))
        capacity = len(self._table)
        while (self._count + rows) > _FULL * capacity:
            capacity *= 2
        if capacity != len(self._table):
            table = kernels.new_table(capacity)
            kernels.rehash(self._table, table)
            self._table = table

    def _new_chunk(self, wanted: int) -> _Chunk:
        total = sum(c.size for c in self._chunks)
        large = max(_LARGE_CHUNK // max(1, self._row_bytes()), total // 8)
        if self._extent is not None and self._extent <= large:
            size = max(wanted, self._extent - total)
        else:
            size = max(wanted, min(max(3 * total, _FIRST_ROWS), large))
        weight = self._columns["weight"]
        chunk = _Chunk(size, 0, {"weight": np.empty((size, weight.width), weight.dtype)})
        for name, column in self._columns.items():
            if name != "weight":
                chunk.columns[name] = _zeros(size, column)
        return chunk

    def _write_first_values(self, ids: AnyArray, places: AnyArray) -> None:
        """Fill new rows; their places ascend."""
        chunks = places >> kernels.ROW_BITS
        rows = places & kernels.ROW_MASK
        for number in range(int(chunks[0]), int(chunks[-1]) + 1):
            begin, end = np.searchsorted(chunks, (number, number + 1))
            self.first.fill(self._chunks[number].columns["weight"], rows[begin:end], ids[begin:end])

    def groups(self, places: AnyArray, *, empty: bool = False) -> Iterator[Group]:
        """Go through places chunk by chunk (places of -1 are left out).

        ``empty`` asks for the chunks too that none of the places is in.
        """
        chunks = len(self._chunks)
        if chunks == 1 and (not len(places) or places.min() >= 0):  # then places are rows
            if len(places) or empty:
                yield Group(self.chunk(0), places, np.arange(len(places)))
            return
        bounds, order, rows = kernels.group_places(places, chunks)
        for number in range(chunks):
            begin, end = int(bounds[number]), int(bounds[number + 1])
            if begin < end or empty:
                yield Group(self.chunk(number), rows[begin:end], order[begin:end])

    def chunk(self, number: int) -> dict[str, AnyArray]:
        """Return the used rows of a chunk, column by column (views)."""
        chunk = self._chunks[number]
        return {name: array[: chunk.used] for name, array in chunk.columns.items()}

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return len(self._chunks)

    # Reading and writing

    def read(self, ids: AnyArray, column: str = "weight", out: AnyArray | None = None) -> AnyArray:
        """Return rows by id, (n, width).

        An untouched row is its first value (0 for a column of the optimizer), and is not stored.
        """
        kind = self._columns[column]
        result = np.empty((len(ids), kind.width), kind.dtype) if out is None else out
        wanted = (len(ids), kind.width)
        if result.shape != wanted or result.dtype != kind.dtype:
            given = f"{result.shape} {result.dtype}"
            raise ShapeError(f"RowSlab.read: out is {given}; wanted {wanted} {kind.dtype}")
        places = np.empty(len(ids), np.int64)
        missing = kernels.find_places(ids, self._table, places)
        chunks = len(self._chunks)
        if chunks == 1 and not missing:  # then places are rows
            kernels.move_rows(self._chunks[0].columns[column], places, result, np.arange(len(places)))
            return result
        bounds, order, rows = kernels.group_places(places, chunks)
        for number in range(chunks):
            part = slice(int(bounds[number]), int(bounds[number + 1]))
            kernels.move_rows(self._chunks[number].columns[column], rows[part], result, order[part])
        absent = order[: int(bounds[0])]
        if len(absent) and column == "weight":
            self.first.fill(result, absent, ids[absent])
        elif len(absent):
            result[absent] = 0
        return result

    def write(self, ids: AnyArray, rows: AnyArray, column: str = "weight") -> None:
        """Store rows by id (distinct), (n, width)."""
        kind = self._columns[column]
        values = np.ascontiguousarray(rows, kind.dtype).reshape(len(ids), kind.width)
        for group in self.groups(self.find_or_insert(ids, first_values=column != "weight")):
            kernels.move_rows(values, group.sources, group.columns[column], group.rows)

    def touched(self) -> tuple[AnyArray, AnyArray]:
        """Return the ids of the touched rows, ascending, and their places."""
        ids, places = np.empty(self._count, np.int64), np.empty(self._count, np.int64)
        kernels.entries(self._table, ids, places)
        order = np.argsort(ids)
        return ids[order], places[order]

    def export(self, column: str = "weight") -> tuple[AnyArray, AnyArray]:
        """Return the touched rows: their ids, ascending, and the rows, (n, width)."""
        ids, places = self.touched()
        kind = self._columns[column]
        result = np.empty((len(ids), kind.width), kind.dtype)
        for group in self.groups(places):
            kernels.move_rows(group.columns[column], group.rows, result, group.sources)
        return ids, result

    def ids_by_chunk(self) -> Iterator[AnyArray]:
        """Return the ids of each chunk in the order of its rows."""
        ids, places = np.empty(self._count, np.int64), np.empty(self._count, np.int64)
        kernels.entries(self._table, ids, places)
        bounds, order, rows = kernels.group_places(places, len(self._chunks))
        for number, chunk in enumerate(self._chunks):
            part = slice(int(bounds[number]), int(bounds[number + 1]))
            by_row = np.empty(chunk.used, np.int64)
            by_row[rows[part]] = ids[order[part]]
            yield by_row

    def memory(self) -> Memory:
        """Return what the slab occupies."""
        payload = self._count * self._row_bytes()
        chunks = sum(a.nbytes for c in self._chunks for a in c.columns.values())
        return Memory(self._count, payload, self._table.nbytes, chunks + self._table.nbytes)

    def _row_bytes(self) -> int:
        return sum(c.width * c.dtype.itemsize for c in self._columns.values())


def _zeros(rows: int, column: Column) -> AnyArray:
    return np.zeros((rows, column.width), column.dtype)
