"""KVStore: what every key-value store offers, and the table of stores by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ndsparse.errors import ArgumentError, ArgumentTypeError, NDSparseError
from ndsparse.optimizer import Optimizer

Key = int | str


class KVStore:
    """Base of all stores: keys, their weights, and who updates them.

    Keys are ints or strings, not both in one store.  Where a method takes a key it also takes a list
    of keys with a list of values.  A value may itself be a list of arrays, one from each device: they
    are summed before they are pushed, and each receives what is pulled.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._key_type: type | None = None

    # -- facts

    @property
    def type(self) -> str:
        """The name the store was created by."""
        return self._name

    @property
    def rank(self) -> int:
        """The number of this worker."""
        return 0

    @property
    def num_workers(self) -> int:
        """How many workers push to the store."""
        return 1

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Return whether the store can do something; known is ``"optimizer"``."""
        return capability.lower() == "optimizer"

    def barrier(self) -> None:
        """Wait until all workers have come here."""

    _barrier = barrier  # MXNet's name

    # -- what a store must do

    def init(self, key: Any, value: Any) -> None:
        """Put a copy of an array under a new key."""
        raise NotImplementedError

    def init_rows(
        self,
        key: Key,
        shape: Sequence[int],
        dtype: Any = "float32",
        *,
        initializer: Any = None,
        seed: int = 0,
    ) -> None:
        """Put a weight under a new key that is never stored as a whole."""
        raise NotImplementedError

    def assign(self, key: Any, value: Any) -> None:
        """Replace weights; the optimizer's states stay."""
        raise NotImplementedError

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Send gradients (or, without an optimizer, new values) to the store."""
        raise NotImplementedError

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy weights into ``out``."""
        raise NotImplementedError

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> None:
        """Copy rows of weights into row_sparse arrays."""
        raise NotImplementedError

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """Let the store update its weights with an optimizer."""
        raise NotImplementedError

    def set_updater(self, updater: Callable[[Key, Any, Any], None]) -> None:
        """Let a function ``updater(key, gradient, weight)`` change the weights."""
        raise NotImplementedError

    def save_optimizer_states(self, fname: str, dump_optimizer: bool = False) -> None:
        """Write the states of the optimizer to a file."""
        raise NotImplementedError

    def load_optimizer_states(self, fname: str) -> None:
        """Read the states of the optimizer from a file."""
        raise NotImplementedError

    # -- what follows

    def _set_updater(self, updater: Callable[[Key, Any, Any], None]) -> None:
        self.set_updater(updater)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Push, then pull into ``out`` (default: into the values); row_sparse outs stay as they are."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Init, then pull into ``out``; row_sparse outs stay as they are."""
        self.init(key, value)
        self.pull(key, out, priority)

    def set_gradient_compression(self, compression_params: Any) -> None:
        """Refuse: a store in the process sends nothing that could be compressed."""
        raise ArgumentError(
            f"Gradient compression is not supported for this type of kvstore, {self.type!r} "
            f"(asked for: {compression_params!r})"
        )

    def _pairs(self, key: Any, value: Any, what: str) -> list[tuple[Key, Any]]:
        """Return (key, value) pairs, after checking the keys."""
        if isinstance(key, list | tuple):
            if not isinstance(value, list | tuple) or len(value) != len(key):
                count = len(value) if isinstance(value, list | tuple) else "no list of"
                raise ArgumentError(f"{what}: {len(key)} keys with {count} values")
            return [(self._checked_key(k), v) for k, v in zip(key, value, strict=True)]
        return [(self._checked_key(key), value)]

    def _checked_key(self, key: Any) -> Key:
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise ArgumentTypeError(f"key {key!r}: wanted an int, a str, or a list of them")
        if self._key_type is None:
            self._key_type = type(key)
        if not isinstance(key, self._key_type):
            kind = self._key_type.__name__
            raise ArgumentError(f"key {key!r}: Mixed key types are not allowed, this store has {kind} keys")
        return key


_STORES: dict[str, Callable[[str], KVStore]] = {}


def register_store(*names: str) -> Callable[[type[KVStore]], type[KVStore]]:
    """Class decorator: add a backend under these names."""

    def add(backend: type[KVStore]) -> type[KVStore]:
        for name in names:
            if _STORES.get(name, backend) is not backend:
                raise ArgumentError(f"a kvstore named {name!r} is registered already")
            _STORES[name] = backend
        return backend

    return add


def create(name: str = "local") -> KVStore:
    """Make a key-value store.

    Parameters
    ----------
    name : str
        ``local`` or ``device`` (also ``local_update_cpu``, ``local_allreduce_cpu``,
        ``local_allreduce_device``): in this process.

    Examples
    --------
    >>> import ndsparse as mx
    >>> kv = mx.kvstore.create("local")
    >>> kv.init("w", mx.nd.sparse.zeros("row_sparse", (1_000_000, 8)))
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"kvstore.create: name must be a string, not {name!r:.80}")
    found = _STORES.get(name.lower())
    if found is not None:
        return found(name)
    known = ", ".join(sorted(_STORES))
    if "dist" in name.lower():
        raise StoreNotAvailable(
            f"kvstore.create: {name!r}: the distributed store is not part of this version yet; "
            f"there are {known}"
        )
    raise ArgumentError(f"kvstore.create: unknown kvstore {name!r}; there are {known}")


class StoreNotAvailable(NDSparseError, NotImplementedError):
    """A known kind of store cannot be had here."""
