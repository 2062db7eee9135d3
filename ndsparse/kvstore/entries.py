"""What a store holds under a key: a dense array, or a slab of rows; with the optimizer's columns.

Weights of float16 are kept in float32, so that small updates are not lost; they are rounded when they
are pulled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentError, DTypeError
from ndsparse.kernels import row_sparse
from ndsparse.kvstore.gradient import Gradient
from ndsparse.kvstore.row_init import RowInit
from ndsparse.kvstore.row_slab import RowSlab
from ndsparse.optimizer.base import Index, Optimizer

AnyArray = NDArray[Any]

WHOLE_LIMIT = 1 << 28
"""Elements beyond which a weight is not stored whole because an exact update needs all its rows."""


def _kept(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32) if dtype == np.float16 else dtype


class Entry:
    """Base of what a key holds.

    Parameters
    ----------
    shape : sequence of int
    dtype : dtype
    """

    stype = ""

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        self.version = 0  # updates so far

    def assign(self, value: Gradient) -> None:
        """Replace the weight."""
        raise NotImplementedError

    def prepare(self, optimizer: Optimizer) -> None:
        """Make room for the columns of an optimizer; other columns are dropped."""
        raise NotImplementedError

    def check_update(self, optimizer: Optimizer, key: Index, gradient: Gradient) -> None:
        """Raise what :meth:`update` would, and change nothing."""
        kept = _kept(self.dtype)
        if kept not in (np.float32, np.float64):
            raise DTypeError(f"update of key {key!r}: the weight is {kept}; wanted a floating point type")
        optimizer.preview(key)

    def update(self, optimizer: Optimizer, key: Index, gradient: Gradient) -> None:
        """Update the weight in place."""
        raise NotImplementedError

    def pull(self, out: AnyArray) -> None:
        """Copy the whole weight into ``out``."""
        raise NotImplementedError

    def pull_rows(self, ids: AnyArray, out: AnyArray) -> None:
        """Copy rows into ``out`` (ids in any order, repeated or not)."""
        raise NotImplementedError


class DenseEntry(Entry):
    """A dense array and dense states."""

    stype = "default"

    def __init__(self, value: AnyArray) -> None:
        super().__init__(value.shape, value.dtype)
        self.value = np.array(value, _kept(self.dtype), order="C")
        self.states: dict[str, AnyArray] = {}

    def assign(self, value: Gradient) -> None:
        """Replace the weight; rows that are not given become zeros."""
        if value.ids is None:
            np.copyto(self.value, value.rows, casting="unsafe")
        else:
            self.value[...] = 0
            self.value[value.ids] = value.rows

    def prepare(self, optimizer: Optimizer) -> None:
        """Make the optimizer's states, zeros, where they are not there yet."""
        columns = {c.name: c for c in optimizer.columns()}
        self.states = {n: s for n, s in self.states.items() if n in columns}
        for name, column in columns.items():
            shape = (self.shape[0], 1) if column.per_row else self.shape
            if name not in self.states or self.states[name].shape != shape:
                self.states[name] = np.zeros(shape, self.value.dtype)

    def update(self, optimizer: Optimizer, key: Index, gradient: Gradient) -> None:
        """Update the weight in place."""
        states = [self.states[c.name] for c in optimizer.columns()]
        numbers = optimizer.numbers(key)
        where: dict[str, Any] = {}
        if gradient.ids is not None:
            where = {"rows": gradient.ids, "exact": not optimizer.lazy_update}
        optimizer.apply(self.value, states, gradient.rows, numbers, **where)

    def pull(self, out: AnyArray) -> None:
        """Copy the weight."""
        np.copyto(out, self.value, casting="unsafe")

    def pull_rows(self, ids: AnyArray, out: AnyArray) -> None:
        """Copy rows."""
        if out.dtype == self.value.dtype:
            row_sparse.gather_rows(self.value, ids, out)
        else:
            np.copyto(out, self.value[ids], casting="unsafe")


class RowEntry(Entry):
    """Rows in a slab: those never touched have the value of ``first`` and cost nothing."""

    stype = "row_sparse"

    def __init__(self, shape: Sequence[int], dtype: Any, first: RowInit | None = None) -> None:
        super().__init__(shape, dtype)
        if not self.shape:
            raise ArgumentError("a weight kept by rows has at least one dimension")
        width = math.prod(self.shape[1:])
        self.slab = RowSlab(width, _kept(self.dtype), first, self.shape[0])

    @property
    def complete(self) -> bool:
        """Whether every row is stored."""
        return len(self.slab) == self.shape[0]

    def _flat(self, rows: AnyArray) -> AnyArray:
        return rows.reshape(len(rows), self.slab.width)

    def assign(self, value: Gradient) -> None:
        """Replace the weight; rows that are not given are zeros from now on."""
        self.slab.clear(RowInit())
        self.store(np.arange(self.shape[0]) if value.ids is None else value.ids, value.rows)

    def replace(self, value: Gradient) -> None:
        """Replace the weight, but keep the optimizer's columns."""
        ids = np.arange(self.shape[0]) if value.ids is None else value.ids
        if len(ids) < self.shape[0]:
            if not self.slab.first.is_zero:
                self._store_all("of a whole weight")
            others = np.setdiff1d(self.slab.export()[0], ids, assume_unique=True)
            self.store(others, np.zeros((len(others), *self.shape[1:]), self.slab.dtype))
        self.store(ids, value.rows)

    def store(self, ids: AnyArray, rows: AnyArray) -> None:
        """Store rows by id (distinct); other rows stay."""
        self.slab.write(ids, self._flat(rows))

    def prepare(self, optimizer: Optimizer) -> None:
        """Make the optimizer's columns, zeros, where they are not there yet."""
        wanted = {c.name: 1 if c.per_row else self.slab.width for c in optimizer.columns()}
        there = {c.name: c.width for c in self.slab.columns if c.name != "weight"}
        for name, width in there.items():
            if wanted.get(name) != width:
                self.slab.drop_column(name)
        for name, width in wanted.items():
            if there.get(name) != width:
                self.slab.add_column(name, width, self.slab.dtype)

    def check_update(self, optimizer: Optimizer, key: Index, gradient: Gradient) -> None:
        """Raise what :meth:`update` would, and change nothing."""
        super().check_update(optimizer, key, gradient)
        if self._moves_all(optimizer, gradient, optimizer.preview(key)):
            self._check_whole(key)

    def _moves_all(self, optimizer: Optimizer, gradient: Gradient, numbers: Mapping[str, Any]) -> bool:
        """Return whether an update moves rows that were never touched."""
        exact = gradient.ids is not None and not optimizer.lazy_update
        return exact and not (self.slab.first.is_zero or optimizer.keeps_rest(numbers))

    def update(self, optimizer: Optimizer, key: Index, gradient: Gradient) -> None:
        """Update the rows of the gradient, and the others too if the optimizer is not lazy.

        Rows that were never touched and that a gradient of zero would move are all stored first.
        """
        numbers = optimizer.numbers(key)
        names = [c.name for c in optimizer.columns()]
        exact = gradient.ids is not None and not optimizer.lazy_update
        if self._moves_all(optimizer, gradient, numbers):
            self._store_all(key)
        ids = np.arange(self.shape[0]) if gradient.ids is None else gradient.ids
        rows = self._flat(gradient.rows)
        for columns, places, sources in self._targets(ids, exact):
            states = [columns[name] for name in names]
            optimizer.apply(
                columns["weight"], states, rows, numbers, rows=places, sources=sources, exact=exact
            )

    def _targets(self, ids: AnyArray, exact: bool) -> list[tuple[dict[str, AnyArray], AnyArray, AnyArray]]:
        """Return for each chunk its columns, the rows with a gradient, and where that stands."""
        groups = self.slab.groups(self.slab.find_or_insert(ids), empty=exact)
        if not exact:
            return [(g.columns, g.rows, g.sources) for g in groups]
        ordered = []
        for columns, rows, sources in groups:  # exact updates want the rows of a chunk ascending
            order = np.argsort(rows, kind="stable")
            ordered.append((columns, rows[order], sources[order]))
        return ordered

    def _store_all(self, key: Index) -> None:
        self._check_whole(key)
        self.slab.find_or_insert(np.arange(self.shape[0]))

    def _check_whole(self, key: Index) -> None:
        if math.prod(self.shape) > WHOLE_LIMIT:
            raise ArgumentError(
                f"update of key {key!r}: without lazy_update all rows of {self.shape} would have to be kept, "
                "since they do not begin as zeros; use lazy_update=True, or no weight decay, or zeros"
            )

    def pull(self, out: AnyArray) -> None:
        """Copy the whole weight."""
        self.pull_rows(np.arange(self.shape[0]), out)

    def pull_rows(self, ids: AnyArray, out: AnyArray) -> None:
        """Copy rows; nothing becomes stored."""
        if out.dtype == self.slab.dtype and out.flags.c_contiguous:
            self.slab.read(ids, out=self._flat(out))
        else:
            np.copyto(out, self.slab.read(ids).reshape(out.shape), casting="unsafe")

    def stored(self) -> Gradient:
        """Return what a row_sparse copy of the weight holds: all rows, unless the others are zeros."""
        if self.slab.first.is_zero:
            ids, rows = self.slab.export()
        else:
            ids = np.arange(self.shape[0])
            rows = self.slab.read(ids)
        return Gradient(ids, rows.reshape(len(ids), *self.shape[1:]).astype(self.dtype, copy=False))
