"""The store in this process: one shard, no copies on the way.

Weights of row_sparse keys live in a slab of rows; the optimizer runs on those rows.  Only an updater
written in Python sees NDArrays, and for a row_sparse key it is given a copy of the stored rows, which
is as slow as it sounds when there are many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray as NumpyArray

from ndsparse.atomic import replacing
from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError, StorageTypeError
from ndsparse.kernels import row_ids as id_kernels
from ndsparse.kvstore.base import Key, KVStore, register_store
from ndsparse.kvstore.entries import DenseEntry, Entry, RowEntry
from ndsparse.kvstore.gradient import Gradient, as_ids, checked, merged
from ndsparse.kvstore.row_init import row_init
from ndsparse.kvstore.shard import Shard
from ndsparse.ndarray.invoke import dense, wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.optimizer import Optimizer, Updater, get_updater
from ndsparse.storage import Chunk, RowSparseChunk, as_dtype, as_shape, cast

AnyArray = NumpyArray[Any]


@register_store("local", "device", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device")
class LocalStore(KVStore):
    """A key-value store in this process.

    Parameters
    ----------
    name : str
        What :attr:`type` answers; all names mean the same on a CPU.
    """

    def __init__(self, name: str = "local") -> None:
        super().__init__(name)
        self.shard = Shard()
        self._updater: Callable[[Key, Any, Any], None] | None = None

    # -- keys

    def init(self, key: Any, value: Any) -> None:
        """Put a copy of an array under a new key.

        Parameters
        ----------
        key : int, str or list of them
        value : NDArray or list of NDArray
            Dense or row_sparse.  A row_sparse weight need not store its rows: those that are
            missing are zeros, and are stored when an update reaches them.
        """
        for k, v in self._pairs(key, value, "init"):
            chunk = _chunk(v, f"init of key {k!r}")
            if chunk.stype == "default":
                self.shard.init_dense(k, chunk.data)
            elif isinstance(chunk, RowSparseChunk):
                ids, rows = chunk.rows
                self.shard.init_rows(k, chunk.shape, chunk.dtype, ids=ids, rows=rows)
            else:
                raise StorageTypeError(
                    f"init of key {k!r}: storage type {chunk.stype!r}; wanted default or row_sparse"
                )

    def init_rows(
        self,
        key: Key,
        shape: Sequence[int],
        dtype: Any = "float32",
        *,
        initializer: Any = None,
        seed: int = 0,
    ) -> None:
        """Put a row_sparse weight under a new key without storing any row.

        A row has its first value until an update reaches it.  That value depends on the seed, the
        key and the row id alone, so the first dimension may be anything that int64 holds.

        Parameters
        ----------
        key : int or str
        shape : sequence of int
        dtype : dtype
        initializer : Initializer, str, (str, dict) or float, optional
            Zero, One, Constant, Uniform, Normal, Xavier, by object or by name and numbers.
        seed : int
        """
        ((name, _),) = self._pairs(key, None, "init_rows")
        wanted, kind = as_shape(shape), as_dtype(dtype)
        first = row_init(initializer, wanted, seed=seed, key=name, dtype=kind)
        self.shard.init_rows(name, wanted, kind, first=first)

    def assign(self, key: Any, value: Any) -> None:
        """Replace weights, whether there is an optimizer or not; its states stay.

        Parameters
        ----------
        key : int, str or list of them
        value : NDArray or list of NDArray
            Rows that a row_sparse array does not store become zeros.
        """
        for k, v in self._pairs(key, value, "assign"):
            self.shard.assign(k, _gradient(k, v, self.shard.shape(k)))

    # -- pushing

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sum the arrays of each key and update its weight (without an optimizer: replace it).

        Parameters
        ----------
        key : int, str or list of them
        value : NDArray, list of NDArray, or list of those
            Several row_sparse arrays are summed as such.
        priority : int
            Ignored: a push is done when it returns.
        """
        batch: dict[Key, Gradient] = {}
        pairs = self._pairs(key, value, "push")
        for k, v in pairs:
            shape = self.shard.shape(k)
            parts = [_gradient(k, one, shape) for one in _listed(v)]
            if k in batch:  # the same key twice in a list
                parts.insert(0, batch[k])
            batch[k] = merged(parts)
        self.shard.push(batch)

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Let the store update its weights.

        The optimizer is used as it is, not copied: changing its learning rate changes the store's.
        """
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(f"set_optimizer: wanted an Optimizer, not {optimizer!r:.80}")
        if optimizer.on_arrays:
            with self.shard.lock:
                self.shard.set_optimizer(optimizer)
                self._updater = None
        else:
            self.set_updater(get_updater(optimizer))

    def set_updater(self, updater: Callable[[Key, Any, Any], None]) -> None:
        """Let a function ``updater(key, gradient, weight)`` change the weights.

        It gets NDArrays and changes the weight in place.
        """
        if not callable(updater):
            raise ArgumentTypeError(f"set_updater: wanted a function, not {updater!r:.80}")
        with self.shard.lock:
            self._updater = updater
            self.shard.set_update(self._run_updater)

    def _run_updater(self, key: Key, gradient: Gradient, entry: Entry) -> None:
        if self._updater is None:
            raise ArgumentError("the store has no updater")
        grad = _as_array(gradient, entry)
        if isinstance(entry, RowEntry):
            if gradient.ids is not None and not entry.slab.first.is_zero:
                entry.slab.find_or_insert(gradient.ids)
            before = entry.stored()
            weight = _as_array(before, entry)
            self._updater(key, grad, weight)
            ids, rows = weight._chunk.rows
            if before.ids is not None and np.array_equal(before.ids, ids):
                entry.store(ids, rows)
            else:
                entry.assign(Gradient(ids, rows))
        elif isinstance(entry, DenseEntry):
            weight = dense(entry.value.astype(entry.dtype, copy=False))
            self._updater(key, grad, weight)
            entry.assign(Gradient(None, weight._chunk.data))

    # -- pulling

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy weights into arrays.

        Parameters
        ----------
        key : int, str or list of them
        out : NDArray, list of NDArray, or list of those
        priority : int
            Ignored.
        ignore_sparse : bool
            True leaves outs that are not dense as they are, as in MXNet (use
            :meth:`row_sparse_pull`).  False copies the whole weight into them.
        """
        for k, outs in self._pairs(key, out, "pull"):
            shape = self.shard.shape(k)
            for one in _listed(outs):
                chunk = _chunk(one, f"pull of key {k!r}: out")
                _check_shape(k, chunk, shape)
                if chunk.stype == "default":
                    self.shard.pull_into(k, _room(chunk))
                elif not ignore_sparse:
                    cast(_whole_chunk(self.shard.pull_stored(k), shape), chunk)

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Copy rows of weights into row_sparse arrays, which then hold these rows only.

        Parameters
        ----------
        key : int, str or list of them
        out : RowSparseNDArray, list of RowSparseNDArray, or list of those
        priority : int
            Ignored.
        row_ids : NDArray, or list of NDArray
            One for all outs of a key, or one for each.  Ids may be unsorted and repeated, of any
            integer type (or whole floating point numbers), of any shape.

        Notes
        -----
        The ids of ``out`` are ascending and distinct.  Rows the weight never touched get their first
        value, and stay untouched.
        """
        if row_ids is None:
            raise ArgumentError("row_sparse_pull: row_ids is missing")
        several = isinstance(key, list | tuple)
        wanted = (
            row_ids if several and _is_list_of_arrays(row_ids) else [row_ids] * (len(key) if several else 1)
        )
        pairs = self._pairs(key, out, "row_sparse_pull")
        if len(wanted) != len(pairs):
            raise ArgumentError(f"row_sparse_pull: {len(pairs)} keys with {len(wanted)} row_ids")
        for (k, outs), ids in zip(pairs, wanted, strict=True):
            targets = _listed(outs)
            each = list(ids) if _is_list_of_arrays(ids) else [ids]
            if len(each) == 1:
                self._pull_rows(k, targets, each[0])
            elif len(each) == len(targets):
                for target, one in zip(targets, each, strict=True):
                    self._pull_rows(k, [target], one)
            else:
                raise ArgumentError(
                    f"row_sparse_pull of key {k!r}: the number of row_ids doesn't match the number of "
                    f"values, {len(each)} and {len(targets)}"
                )

    def _pull_rows(self, key: Key, outs: Sequence[Any], row_ids: Any) -> None:
        shape = self.shard.shape(key)
        ids = _unique(key, row_ids, shape[0])
        for one in outs:
            chunk = _chunk(one, f"row_sparse_pull of key {key!r}: out")
            if not isinstance(chunk, RowSparseChunk):
                raise StorageTypeError(
                    f"row_sparse_pull of key {key!r}: Expected row_sparse storage type for row_sparse_pull "
                    f"values, but detected storage type {chunk.stype!r}"
                )
            _check_shape(key, chunk, shape)
            where, rows = chunk.check_and_alloc(len(ids))
            np.copyto(where, ids)
            self.shard.pull_rows_into(key, ids, rows)

    # -- states

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the optimizer's states and counts, and on request the optimizer, to a file.

        The file is written aside and renamed; it holds arrays and plain values, nothing pickled.
        """
        if self.shard.optimizer is not None:
            self.shard.save_states(fname, dump_optimizer=dump_optimizer)
        elif isinstance(self._updater, Updater):
            with self.shard.lock, replacing(fname) as file:
                file.write(self._updater.get_states(dump_optimizer))
        else:
            raise ArgumentError("save_optimizer_states: the store has no optimizer; set_optimizer first")

    def load_optimizer_states(self, fname: str) -> None:
        """Continue from states that :meth:`save_optimizer_states` wrote."""
        if isinstance(self._updater, Updater):
            with self.shard.lock:
                self._updater.set_states(Path(fname).read_bytes())
        elif self.shard.optimizer is not None:
            self.shard.load_states(fname)
        else:
            raise ArgumentError("load_optimizer_states: the store has no optimizer; set_optimizer first")


def _chunk(value: Any, what: str) -> Chunk:
    if not isinstance(value, NDArray):
        raise ArgumentTypeError(f"{what}: wanted an NDArray, not {type(value).__name__}")
    return value._chunk


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_list_of_arrays(ids: Any) -> bool:
    return isinstance(ids, list | tuple) and any(not isinstance(i, int | np.integer) for i in ids)


def _gradient(key: Key, value: Any, shape: tuple[int, ...]) -> Gradient:
    chunk = _chunk(value, f"push of key {key!r}")
    if isinstance(chunk, RowSparseChunk):
        if chunk.shape != shape:
            raise ShapeError(f"push of key {key!r}: the value has shape {chunk.shape}, the weight {shape}")
        return checked(key, *chunk.rows, shape)
    if chunk.stype != "default":
        raise StorageTypeError(
            f"push of key {key!r}: storage type {chunk.stype!r}; wanted default or row_sparse"
        )
    return checked(key, None, chunk.data, shape)


def _check_shape(key: Key, chunk: Chunk, shape: tuple[int, ...]) -> None:
    if chunk.shape != shape:
        raise ShapeError(f"pull of key {key!r}: out has shape {chunk.shape}, the weight {shape}")


def _unique(key: Key, row_ids: Any, extent: int) -> AnyArray:
    given = row_ids.asnumpy() if isinstance(row_ids, NDArray) else row_ids
    ids = as_ids(given, extent, f"row_sparse_pull of key {key!r}: row_ids")
    return id_kernels.unique_ids(ids)[0]


def _as_array(value: Gradient, entry: Entry) -> Any:
    """Return a gradient or a weight as an NDArray (sharing memory where the dtype agrees)."""
    rows = np.ascontiguousarray(value.rows, entry.dtype)
    return wrap(_whole_chunk(Gradient(value.ids, rows), entry.shape))


def _whole_chunk(value: Gradient, shape: tuple[int, ...]) -> Chunk:
    """Return a gradient or a weight as a chunk of its own storage type (sharing memory)."""
    if value.ids is None:
        whole: Chunk = dense(value.rows)._chunk
        return whole
    chunk = RowSparseChunk(shape, value.rows.dtype)
    chunk.adopt(value.rows, value.ids)
    return chunk


def _room(chunk: Chunk) -> AnyArray:
    """Return the array that a dense weight is copied into."""
    fits = chunk.initialized and not chunk.pinned
    room: AnyArray = chunk.data if fits else chunk.check_and_alloc_data(chunk.shape)
    return room
