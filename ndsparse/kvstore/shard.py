"""Shard: the state of a parameter server, without a server.

A shard holds keys, takes pushes, applies the optimizer and answers pulls.  It knows numpy arrays,
plain values, and neither a network nor an engine: ``local`` calls it in the process, a distributed
store hosts several and sends them messages.

A push bears the number of its worker and a sequence number of that worker, counted from 1.  A number
that was taken before is acknowledged and dropped, a number that leaves one out is an error, so a worker
that does not know whether its push arrived sends it again.  In a synchronous shard the ``n``-th pushes
of all workers to a key are one round: they are summed in the order of the workers, not of arrival, and
applied once; so the same pushes always give the same bits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentError, ArgumentTypeError, KeyNotFound, NDSparseError
from ndsparse.kvstore.entries import DenseEntry, Entry, RowEntry
from ndsparse.kvstore.gradient import Gradient, as_ids, checked, merged
from ndsparse.kvstore.row_init import RowInit
from ndsparse.optimizer.base import Optimizer

AnyArray = NDArray[Any]
Key = int | str
Batch = Mapping[Key, tuple[AnyArray | None, AnyArray]]
Update = Callable[[Key, Gradient, Entry], None]


class SequenceGap(NDSparseError, ValueError):
    """A worker's push came before an earlier one; ``expected`` is the number that was due."""

    def __init__(self, worker: int, given: int, expected: int) -> None:
        self.expected = expected
        super().__init__(f"push of worker {worker}: sequence number {given}; wanted {expected} (or less)")


class Receipt(NamedTuple):
    """Answer to a push."""

    accepted: bool  # False: it had been taken before, and was dropped
    versions: dict[Key, int]  # the version of each key that has this push in it


class Shard:
    """Keys, their weights, and the one who updates them.

    Parameters
    ----------
    workers : int
        How many push, numbered from 0.
    sync : bool
        Whether pushes of all workers are applied together, or each at once.

    Notes
    -----
    Calls may come from several threads; one runs at a time.  What :meth:`entry` returns is for the
    functions that the shard calls itself; all others use the methods here, which hold :attr:`lock`.
    """

    def __init__(self, workers: int = 1, *, sync: bool = True) -> None:
        if workers < 1:
            raise ArgumentError(f"Shard: workers is {workers}; wanted at least 1")
        self.workers = workers
        self.sync = sync
        self.optimizer: Optimizer | None = None
        self._update: Update | None = None
        self._entries: dict[Key, Entry] = {}
        self._last = [0] * workers
        self._waiting: dict[Key, list[deque[Gradient]]] = {}
        self._lock = threading.RLock()

    @property
    def lock(self) -> threading.RLock:
        """What a thread holds while it reads or changes the shard; its holder may call any method."""
        return self._lock

    # -- keys

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def entry(self, key: Key) -> Entry:
        """Return what a key holds."""
        found = self._entries.get(key)
        if found is None:
            raise KeyNotFound(f"key {key!r} is not in the store; init it first")
        return found

    def shape(self, key: Key) -> tuple[int, ...]:
        """Return the shape of a weight, which never changes."""
        return self.entry(key).shape

    def version(self, key: Key) -> int:
        """Return how many updates a key had."""
        return self.entry(key).version

    def init_dense(self, key: Key, value: AnyArray) -> None:
        """Put a dense weight (copied) under a new key."""
        self._add(key, DenseEntry(np.asarray(value)))

    def init_rows(
        self,
        key: Key,
        shape: Sequence[int],
        dtype: Any = np.float32,
        *,
        first: RowInit | None = None,
        ids: AnyArray | None = None,
        rows: AnyArray | None = None,
    ) -> None:
        """Put a weight that is kept by rows under a new key.

        Parameters
        ----------
        key : int or str
        shape : sequence of int
            Of the whole weight; the first dimension may be anything that int64 holds.
        dtype : dtype
        first : RowInit, optional
            The value of rows that were never written; default zeros.
        ids, rows : ndarray, optional
            Rows to store at once.
        """
        entry = RowEntry(shape, dtype, first)
        if ids is not None and rows is not None:
            start = checked(key, ids, np.asarray(rows), entry.shape)
            entry.store(_ids(start), start.rows)
        self._add(key, entry)

    def _add(self, key: Key, entry: Entry) -> None:
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise ArgumentTypeError(f"key {key!r}: wanted an int or a str")
        with self._lock:
            if key in self._entries:
                raise ArgumentError(f"duplicate init of key {key!r}")
            if self.optimizer is not None:
                entry.prepare(self.optimizer)
            self._entries[key] = entry
            self._waiting[key] = [deque() for _ in range(self.workers)]

    def assign(self, key: Key, value: Gradient) -> None:
        """Replace a weight; rows that are not given become zeros, the optimizer's states stay."""
        with self._lock:
            entry = self.entry(key)
            if isinstance(entry, RowEntry):
                entry.replace(value)
            else:
                entry.assign(value)

    # -- who updates

    def set_optimizer(self, optimizer: Optimizer | Mapping[str, Any]) -> None:
        """Update weights with an optimizer from now on; its columns begin at zero.

        Parameters
        ----------
        optimizer : Optimizer or dict
            An object (used as it is, so that its owner may change the rate), or its configuration.
        """
        made = optimizer if isinstance(optimizer, Optimizer) else Optimizer.from_config(optimizer)
        if not made.on_arrays:
            raise ArgumentError(f"{type(made).__name__} updates NDArrays; a shard needs one with 'apply'")
        with self._lock:
            for entry in self._entries.values():
                entry.prepare(made)
            self.optimizer, self._update = made, None

    def set_update(self, update: Update | None) -> None:
        """Let a function ``update(key, gradient, entry)`` change the weights; None: pushes replace them."""
        with self._lock:
            self.optimizer, self._update = None, update

    # -- pushing

    def last_sequence(self, worker: int) -> int:
        """Return the number of the last push that was taken from a worker (0: none)."""
        self._check_worker(worker)
        return self._last[worker]

    def push(self, batch: Batch, *, worker: int = 0, sequence: int | None = None) -> Receipt:
        """Take the gradients of a worker.

        Parameters
        ----------
        batch : dict
            ``{key: (ids, rows)}``; ids None for a dense gradient.  All keys of a step belong into one
            batch.  Ids may be unsorted and repeated.  The arrays are not copied while they wait for
            other workers, and must not change.  A value that is a ``Gradient`` was checked before.
        worker : int
        sequence : int, optional
            Default: the next one.

        Returns
        -------
        Receipt

        Raises
        ------
        SequenceGap
            If an earlier push is missing.
        KeyNotFound, ShapeError, DTypeError, IndexOutOfBounds, ArgumentError
            If the batch does not fit the store, or the optimizer refuses one of its keys; nothing of it
            is taken then, and its sequence number is still due.

        Notes
        -----
        What a function given to :meth:`set_update` raises (or an optimizer's own ``apply``, or a lack of
        memory) comes through in the middle of a batch.  The keys before it, in the order of the batch,
        have their update; the key it was raised for is as the function left it, and its gradient is
        dropped (those of other workers wait on).  The sequence number is still due: pushing the same
        batch again updates the keys before it once more, so push the rest of it only.
        """
        with self._lock:
            self._check_worker(worker)
            expected = self._last[worker] + 1
            if sequence is not None and sequence < expected:
                return Receipt(False, {key: self.version(key) for key in batch})
            if sequence is not None and sequence > expected:
                raise SequenceGap(worker, sequence, expected)
            gradients = {key: self._checked(key, value) for key, value in batch.items()}
            if self.optimizer is not None:
                for key, gradient in gradients.items():
                    self.entry(key).check_update(self.optimizer, key, gradient)
            versions = {key: self._take(key, gradient, worker) for key, gradient in gradients.items()}
            self._last[worker] = expected
            return Receipt(True, versions)

    def _checked(self, key: Key, value: tuple[AnyArray | None, AnyArray]) -> Gradient:
        entry = self.entry(key)
        if isinstance(value, Gradient):
            return value
        ids, rows = value
        return checked(key, ids, np.asarray(rows), entry.shape)

    def _check_worker(self, worker: int) -> None:
        if not 0 <= worker < self.workers:
            raise ArgumentError(f"worker {worker}: wanted 0 to {self.workers - 1}")

    def _take(self, key: Key, gradient: Gradient, worker: int) -> int:
        """Queue a gradient, run the round if it is complete, return the version it becomes part of."""
        entry = self._entries[key]
        if not self.sync or self.workers == 1:
            self._apply(key, gradient)
            return entry.version
        queues = self._waiting[key]
        queues[worker].append(gradient)
        version = entry.version + len(queues[worker])
        if all(queues):  # one round at most: before this gradient none was complete
            try:
                self._apply(key, merged([queue[0] for queue in queues]))
            except BaseException:
                queues[worker].pop()
                raise
            for queue in queues:
                queue.popleft()
        return version

    def _apply(self, key: Key, gradient: Gradient) -> None:
        entry = self._entries[key]
        if self.optimizer is not None:
            entry.update(self.optimizer, key, gradient)
        elif self._update is not None:
            self._update(key, gradient, entry)
        else:
            entry.assign(gradient)
        entry.version += 1

    # -- pulling

    def pull(self, key: Key) -> AnyArray:
        """Return a copy of a whole weight, dense."""
        with self._lock:
            entry = self.entry(key)
            out = np.empty(entry.shape, entry.dtype)
            entry.pull(out)
            return out

    def pull_into(self, key: Key, out: AnyArray) -> None:
        """Copy a whole weight into an array of its shape."""
        with self._lock:
            self.entry(key).pull(out)

    def pull_rows_into(self, key: Key, ids: AnyArray, out: AnyArray) -> None:
        """Copy rows into an array; the ids were checked (see :func:`~ndsparse.kvstore.gradient.as_ids`)."""
        with self._lock:
            self.entry(key).pull_rows(ids, out)

    def pull_stored(self, key: Key) -> Gradient:
        """Return a copy of a weight as it is kept: dense, or the stored rows and their ids."""
        with self._lock:
            entry = self.entry(key)
            return entry.stored() if isinstance(entry, RowEntry) else Gradient(None, self.pull(key))

    def pull_rows(self, key: Key, ids: Any) -> AnyArray:
        """Return rows of a weight in the order of ``ids``; rows never touched stay so."""
        with self._lock:
            entry = self.entry(key)
            wanted = as_ids(ids, entry.shape[0], f"pull of key {key!r}: row_ids")
            out = np.empty((len(wanted), *entry.shape[1:]), entry.dtype)
            entry.pull_rows(wanted, out)
            return out

    # -- files

    def snapshot(self, path: str | Path) -> None:
        """Write everything to a file: weights, states, counts, sequence numbers, waiting pushes.

        The file is written aside and then renamed.  An optimizer is kept as name and numbers; a
        function given to :meth:`set_update` is not kept.
        """
        from ndsparse.kvstore.snapshot import write_snapshot

        with self._lock:
            write_snapshot(self, path)

    def save_states(self, path: str | Path, *, dump_optimizer: bool = False) -> None:
        """Write the optimizer's states and counts, and on request the optimizer, to a file."""
        from ndsparse.kvstore.snapshot import write_states

        with self._lock:
            write_states(self, path, dump_optimizer=dump_optimizer)

    def load_states(self, path: str | Path) -> None:
        """Continue from states that :meth:`save_states` wrote."""
        from ndsparse.kvstore.snapshot import read_states

        with self._lock:
            read_states(self, path)

    @staticmethod
    def restore(path: str | Path) -> Shard:
        """Make a shard from a file that :meth:`snapshot` wrote; it answers as that shard did."""
        from ndsparse.kvstore.snapshot import read_snapshot

        return read_snapshot(path)


def _ids(gradient: Gradient) -> AnyArray:
    if gradient.ids is None:
        raise ArgumentError("rows without ids")
    return gradient.ids
