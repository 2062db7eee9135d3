"""Shards and optimizer states in files of plain arrays (see :mod:`ndsparse.optimizer.archive`).

The members of key number ``n``: ``n/value`` of a dense weight; ``n/ids/c`` and ``n/weight/c`` of the rows
of chunk ``c`` of a slab; ``n/<column>`` or ``n/<column>/c`` of a column of the optimizer; ``n/wait/w/i/ids``
and ``n/wait/w/i/rows`` of push ``i`` that waits for other workers than ``w``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ndsparse.kvstore.entries import DenseEntry, Entry, RowEntry
from ndsparse.kvstore.gradient import Gradient
from ndsparse.kvstore.row_init import RowInit
from ndsparse.optimizer.archive import read_archive, replace_file
from ndsparse.optimizer.base import Optimizer
from ndsparse.optimizer.state_files import STORE_STATES as STATES
from ndsparse.optimizer.state_files import check_states_format, check_states_kind

if TYPE_CHECKING:
    from ndsparse.kvstore.shard import Shard

AnyArray = NDArray[Any]
Arrays = Mapping[str, AnyArray]

SHARD = "ndsparse shard"


def write_snapshot(shard: Shard, path: str | Path) -> None:
    """Write a shard to a file."""
    meta = {
        "format": SHARD,
        "version": 1,
        "workers": shard.workers,
        "sync": shard.sync,
        "last": list(shard._last),
        "keys": [_describe(shard, key) for key in shard],
        **_describe_optimizer(shard.optimizer),
    }
    replace_file(path, meta, _members(shard, weights=True))


def read_snapshot(path: str | Path) -> Shard:
    """Make a shard from a file."""
    from ndsparse.kvstore.shard import Shard

    meta, arrays = _read(path, SHARD)
    shard = Shard(int(meta["workers"]), sync=bool(meta["sync"]))
    shard._last = [int(n) for n in meta["last"]]
    for n, about in enumerate(meta["keys"]):
        entry = _rebuild(n, about, arrays)
        shard._add(about["key"], entry)
        entry.version = int(about["version"])
        for worker, count in enumerate(about["waiting"]):
            for i in range(count):
                at = f"{n}/wait/{worker}/{i}"
                gradient = Gradient(arrays.get(f"{at}/ids"), arrays[f"{at}/rows"])
                shard._waiting[about["key"]][worker].append(gradient)
    _load_optimizer(shard, meta)
    for n, about in enumerate(meta["keys"]):
        _load_states(shard.entry(about["key"]), n, about["columns"], arrays)
    return shard


def write_states(shard: Shard, path: str | Path, *, dump_optimizer: bool = False) -> None:
    """Write the optimizer's columns of all keys, and on request the optimizer, to a file."""
    meta = {
        "format": STATES,
        "version": 1,
        "keys": [{"key": key, "columns": _columns(shard.entry(key))} for key in shard],
        **_describe_optimizer(shard.optimizer, dump_optimizer),
    }
    replace_file(path, meta, _members(shard, weights=False))


def read_states(shard: Shard, path: str | Path | BinaryIO) -> None:
    """Load the optimizer's columns from a file into the keys that are there."""
    meta, arrays = _read(path, STATES)
    if "optimizer" not in meta and shard.optimizer is not None:
        check_states_kind(meta, shard.optimizer, path=_name(path))
    _load_optimizer(shard, meta)
    for n, about in enumerate(meta["keys"]):
        if about["key"] in shard:
            _load_states(shard.entry(about["key"]), n, about["columns"], arrays)


def _read(path: str | Path | BinaryIO, wanted: str) -> tuple[dict[str, Any], Arrays]:
    meta, arrays = read_archive(path)
    check_states_format(meta, wanted, path=_name(path))
    return meta, arrays


def _name(path: str | Path | BinaryIO) -> str | None:
    return str(path) if isinstance(path, str | Path) else None


def _describe_optimizer(optimizer: Optimizer | None, whole: bool = True) -> dict[str, Any]:
    if optimizer is None:
        return {}
    counts = {"counts": optimizer.counts(), "of": optimizer.kind}
    return {"optimizer": optimizer.to_config(), **counts} if whole else counts


def _load_optimizer(shard: Shard, meta: Mapping[str, Any]) -> None:
    if "optimizer" in meta:
        shard.set_optimizer(meta["optimizer"])
    if "counts" in meta and shard.optimizer is not None:
        shard.optimizer.set_counts(meta["counts"])


def _columns(entry: Entry) -> list[str]:
    if isinstance(entry, RowEntry):
        return [c.name for c in entry.slab.columns if c.name != "weight"]
    return list(entry.states) if isinstance(entry, DenseEntry) else []


def _describe(shard: Shard, key: int | str) -> dict[str, Any]:
    entry = shard.entry(key)
    return {
        "key": key,
        "stype": entry.stype,
        "shape": entry.shape,
        "dtype": entry.dtype.name,
        "version": entry.version,
        "columns": _columns(entry),
        "waiting": [len(queue) for queue in shard._waiting[key]],
        **({"first": entry.slab.first.to_config()} if isinstance(entry, RowEntry) else {}),
    }


def _members(shard: Shard, *, weights: bool) -> Iterator[tuple[str, AnyArray]]:
    """Go through all arrays, where they are: nothing is joined or copied."""
    for n, key in enumerate(shard):
        entry = shard.entry(key)
        if isinstance(entry, DenseEntry):
            if weights:
                yield f"{n}/value", entry.value
            for name, state in entry.states.items():
                yield f"{n}/{name}", state
        elif isinstance(entry, RowEntry):
            for c, ids in enumerate(entry.slab.ids_by_chunk()):
                yield f"{n}/ids/{c}", ids
                for name, rows in entry.slab.chunk(c).items():
                    if weights or name != "weight":
                        yield f"{n}/{name}/{c}", rows
        for worker, queue in enumerate(shard._waiting[key] if weights else ()):
            for i, gradient in enumerate(queue):
                if gradient.ids is not None:
                    yield f"{n}/wait/{worker}/{i}/ids", gradient.ids
                yield f"{n}/wait/{worker}/{i}/rows", gradient.rows


def _rebuild(n: int, about: Mapping[str, Any], arrays: Arrays) -> Entry:
    if about["stype"] == DenseEntry.stype:
        dense = DenseEntry(arrays[f"{n}/value"])
        dense.dtype = np.dtype(about["dtype"])
        return dense
    entry = RowEntry(about["shape"], np.dtype(about["dtype"]), RowInit.from_config(about["first"]))
    for ids, rows in _chunks(n, "weight", arrays):
        entry.slab.write(ids, rows)
    return entry


def _load_states(entry: Entry, n: int, columns: list[str], arrays: Arrays) -> None:
    if isinstance(entry, DenseEntry):
        entry.states.update({name: np.ascontiguousarray(arrays[f"{n}/{name}"]) for name in columns})
    elif isinstance(entry, RowEntry):
        there = {c.name for c in entry.slab.columns}
        for name in columns:
            for ids, rows in _chunks(n, name, arrays):
                if name not in there:
                    entry.slab.add_column(name, rows.shape[1], rows.dtype)
                    there.add(name)
                entry.slab.write(ids, rows, name)


def _chunks(n: int, name: str, arrays: Arrays) -> Iterator[tuple[AnyArray, AnyArray]]:
    c = 0
    while f"{n}/ids/{c}" in arrays:
        yield arrays[f"{n}/ids/{c}"], arrays[f"{n}/{name}/{c}"]
        c += 1
