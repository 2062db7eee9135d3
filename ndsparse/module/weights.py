"""Who keeps the weights while they are trained, and updates them: this module, or a store.

Both have the same methods.  A store keeps row_sparse weights to itself: the executors' arrays hold
only the rows that a batch was prepared with, so that a step never touches the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ndsparse.atomic import replacing
from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.kvstore import KVStore
from ndsparse.module.arguments import require_row_ids
from ndsparse.module.executor_group import ExecutorGroup
from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.optimizer import Updater

logger = logging.getLogger(__name__)


class LocalWeights:
    """Weights live in the executors' arrays, and an updater changes them there.

    Parameters
    ----------
    updater : Updater
    names : sequence of str
        The parameters, in the order of their indices.
    store : KVStore, optional
        Sums the gradients of several contexts.
    """

    def __init__(self, updater: Updater, names: Sequence[str], store: KVStore | None = None) -> None:
        self.updater = updater
        self.names = list(names)
        self.store = store

    def prepare(self, group: ExecutorGroup, batch: Any, row_ids: Mapping[str, Any]) -> None:
        """Do nothing: all rows are here."""

    def before_forward(self, group: ExecutorGroup, batch: Any) -> None:
        """Do nothing: all rows are here."""

    def update(self, group: ExecutorGroup) -> None:
        """Update all weights that have gradients."""
        contexts = len(group.bound)
        for i, name in enumerate(self.names):
            grads = group.gradients(name)
            if grads[0] is None:
                continue
            if self.store is not None:
                self.store.push(name, grads)
                grads = group.bound_gradients(name)
                self.store.pull(name, out=grads, ignore_sparse=False)
            for k, (grad, weight) in enumerate(zip(grads, group.weights(name), strict=True)):
                self.updater(i * contexts + k, grad, weight)

    def value(self, group: ExecutorGroup, name: str) -> NDArray:
        """Return a copy of a whole weight."""
        copy: NDArray = group.weights(name)[0].copy()
        return copy

    def assign(self, group: ExecutorGroup, name: str, value: NDArray) -> None:
        """Set a weight."""
        group.write(group.weights(name), name, value)

    def save_states(self, fname: str) -> None:
        """Write the optimizer's states to a file."""
        with replacing(fname) as file:
            file.write(self.updater.get_states())

    def load_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        self.updater.set_states(Path(fname).read_bytes())


class StoreWeights:
    """Weights live in a store, whose optimizer changes them there.

    Parameters
    ----------
    store : KVStore
        With an optimizer; the weights are its keys already.
    names : sequence of str
    sparse : collection of str
        Which of them are row_sparse.

    Notes
    -----
    The executors' arrays of a row_sparse weight are ``stale`` after an update; they hold the ``rows``
    of one batch after :meth:`prepare`; or they are ``whole``.  A forward pass that finds them stale,
    or prepared for another batch, pulls the whole weight: right, but not quick, and said once.
    """

    def __init__(self, store: KVStore, names: Sequence[str], sparse: Sequence[str]) -> None:
        self.store = store
        self.names = list(names)
        self.have: dict[str, str] = dict.fromkeys(sparse, "stale")
        self._batch: Any = None
        self._warned = False

    def release(self, group: ExecutorGroup) -> None:
        """Free the executors' copies of row_sparse weights."""
        for name in self.have:
            for array in group.weights(name):
                array._chunk.release()
            self.have[name] = "stale"

    def prepare(self, group: ExecutorGroup, batch: Any, row_ids: Mapping[str, Any]) -> None:
        """Pull the rows that a batch needs.

        Parameters
        ----------
        batch : DataBatch
        row_ids : mapping of str to NDArray
            Ids of rows by parameter.
        """
        if not isinstance(row_ids, Mapping):
            raise ArgumentTypeError(
                f"sparse_row_id_fn: expected a dict of row ids by name, got {type(row_ids).__name__}"
            )
        for name, ids in row_ids.items():
            if name not in self.have:
                if name not in self.names:
                    raise ArgumentError(f"sparse_row_id_fn: there is no parameter {name!r}")
                logger.warning("%s is not row_sparse; no need to pull rows of it", name)
            elif self.have[name] != "whole":
                require_row_ids(name, ids)
                self.store.row_sparse_pull(
                    name, out=group.weights(name), row_ids=ids, priority=-self.names.index(name)
                )
                pulled: Any = group.weights(name)[0]._chunk
                self.have[name] = "whole" if pulled.complete else "rows"
        self._batch = batch

    def before_forward(self, group: ExecutorGroup, batch: Any) -> None:
        """See to it that the rows a batch needs are there."""
        for name, have in self.have.items():
            if have == "whole" or (have == "rows" and batch is self._batch):
                continue
            if not self._warned:
                self._warned = True
                logger.warning(
                    "%s is row_sparse and lives in the kvstore, but no rows were prepared for this batch: "
                    "all of them are pulled.  Call prepare(batch, sparse_row_id_fn) before forward",
                    name,
                )
            self.store.pull(name, out=group.weights(name), ignore_sparse=False)
            self.have[name] = "whole"

    def update(self, group: ExecutorGroup) -> None:
        """Push all gradients, and pull the dense weights."""
        for i, name in enumerate(self.names):
            grads = group.gradients(name)
            if grads[0] is None:
                continue
            self.store.push(name, grads, priority=-i)
            if name in self.have:
                self.have[name] = "stale"
            else:
                self.store.pull(name, out=group.weights(name), priority=-i)

    def value(self, group: ExecutorGroup, name: str) -> NDArray:
        """Return a copy of a whole weight."""
        if name not in self.have:
            copy: NDArray = group.weights(name)[0].copy()
            return copy
        whole: NDArray = wrap(group.weights(name)[0]._chunk.fresh())
        self.store.pull(name, out=whole, ignore_sparse=False)
        return whole

    def assign(self, group: ExecutorGroup, name: str, value: NDArray) -> None:
        """Set a weight, in the store too."""
        self.store.assign(name, value)
        if name in self.have:
            self.have[name] = "stale"
        else:
            group.write(group.weights(name), name, value)

    def save_states(self, fname: str) -> None:
        """Write the optimizer's states to a file."""
        self.store.save_optimizer_states(fname)

    def load_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        self.store.load_optimizer_states(fname)
