"""Updater: an optimizer with the states of all weights, as a key-value store or a module calls it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.optimizer.archive import read_archive, write_archive
from ndsparse.optimizer.base import Index, Optimizer
from ndsparse.optimizer.state_files import UPDATER_STATES as FORMAT
from ndsparse.optimizer.state_files import check_states_format, check_states_kind
from ndsparse.storage import storage_class


class Updater:
    """Call it with ``(index, grad, weight)``; states are made at the first update of a weight.

    Parameters
    ----------
    optimizer : Optimizer
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Index, Any] = {}

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update a weight in place (with lists: each of several)."""
        if isinstance(index, list | tuple):
            for one in zip(index, grad, weight, strict=True):
                self(*one)
            return
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        self.optimizer.update_multi_precision(index, weight, grad, self.states[index])

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Return the states and counts of updates, and with ``dump_optimizer`` the optimizer, as bytes.

        The bytes are an uncompressed ``.npz`` file without pickled objects: see
        :mod:`ndsparse.optimizer.archive`.
        """
        arrays: list[tuple[str, Any]] = []
        states = [[index, _describe(state, arrays)] for index, state in self.states.items()]
        counts = self.optimizer.counts()
        meta: dict[str, Any] = {"format": FORMAT, "version": 1, "states": states, "counts": counts}
        meta["of"] = self.optimizer.kind
        if dump_optimizer:
            meta["optimizer"] = self.optimizer.to_config()
        file = io.BytesIO()
        write_archive(file, meta, arrays)
        return file.getvalue()

    def set_states(self, states: bytes) -> None:
        """Continue from what :meth:`get_states` returned."""
        meta, arrays = read_archive(io.BytesIO(states))
        check_states_format(meta, FORMAT)
        if "optimizer" not in meta:
            check_states_kind(meta, self.optimizer)
        self.states = {index: _rebuild(layout, arrays) for index, layout in meta["states"]}
        if "optimizer" in meta:
            self.optimizer = Optimizer.from_config(meta["optimizer"])
        self.optimizer.set_counts(meta["counts"])


def get_updater(optimizer: Optimizer) -> Updater:
    """Return an updater for an optimizer."""
    return Updater(optimizer)


def _describe(state: Any, arrays: list[tuple[str, Any]]) -> Any:
    """Return the layout of a state as plain values and append its arrays."""
    if isinstance(state, tuple | list):
        return [_describe(part, arrays) for part in state]
    if not isinstance(state, NDArray):
        return state  # None, or a number of a user's optimizer
    chunk = state._chunk
    names = []
    for part in (chunk.data, *(chunk.aux(i) for i in range(len(chunk.aux_names)))):
        names.append(f"a{len(arrays)}")
        arrays.append((names[-1], part))
    return {"stype": chunk.stype, "shape": chunk.shape, "arrays": names}


def _rebuild(layout: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(layout, list):
        return tuple(_rebuild(part, arrays) for part in layout)
    if not isinstance(layout, dict):
        return layout
    data, *aux = (np.ascontiguousarray(arrays[name]) for name in layout["arrays"])
    chunk = storage_class(layout["stype"])(tuple(layout["shape"]), data.dtype)
    chunk.take_over(data, *aux)
    return wrap(chunk)
