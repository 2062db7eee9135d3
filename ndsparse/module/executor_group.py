r"""Executors of one graph on several contexts, which share the rows of each batch.

::

    batch of n rows --> rows 0 .. n/2 --> executor on cpu(0) --\
                    \-> rows n/2 .. n --> executor on cpu(1) --+--> outputs, one after the other

Every executor has arrays of its own for parameters and gradients.  For a batch of another size
(the last of an epoch) executors are made that share those arrays; they are kept, so that the next
epoch finds them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndsparse.context import Context
from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.executor.executor import Executor
from ndsparse.executor.symbol import Symbol
from ndsparse.io.data import DataDesc
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ops import registry
from ndsparse.storage import cast

KEPT_SIZES = 4
"""Batch sizes that executors are kept for, besides the bound one."""

Shapes = tuple[tuple[str, tuple[int, ...]], ...]


def split_rows(rows: int, parts: int) -> list[slice]:
    """Return slices that share ``rows`` as evenly as can be, none of them empty.

    Examples
    --------
    >>> split_rows(5, 2)
    [slice(0, 3, None), slice(3, 5, None)]
    >>> split_rows(1, 2)
    [slice(0, 1, None)]
    """
    edges = [math.ceil(rows * i / parts) for i in range(parts + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(edges) if b > a] or [slice(0, rows)]


class ExecutorGroup:
    """Executors of a graph on a list of contexts.

    Parameters
    ----------
    symbol : Symbol
    contexts : sequence of Context
    data_shapes, label_shapes : sequence of DataDesc
        Of a whole batch; labels that the graph does not have are left out by the caller.
    requests : mapping of str to str
        ``write``, ``add`` or ``null`` for the gradient of each argument.
    shared : ExecutorGroup, optional
        Its arrays are used where name, shape, storage type and dtype agree.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Context],
        data_shapes: Sequence[DataDesc],
        label_shapes: Sequence[DataDesc],
        requests: Mapping[str, str],
        shared: ExecutorGroup | None = None,
    ) -> None:
        self.symbol = symbol
        self.data_shapes = list(data_shapes)
        self.label_shapes = list(label_shapes)
        self.rows = _rows(self.data_shapes)
        self.slices = split_rows(self.rows, len(contexts))
        if len(self.slices) < len(contexts):
            raise ArgumentError(f"bind: a batch of {self.rows} rows does not fill {len(contexts)} contexts")
        types = {d.name: d.dtype for d in [*data_shapes, *label_shapes]}
        self.bound: list[Executor] = [
            symbol.simple_bind(
                context,
                grad_req=dict(requests),
                type_dict=types,
                shared_exec=None if shared is None else shared.bound[i],
                **self._shapes_of(rows),
            )
            for i, (context, rows) in enumerate(zip(contexts, self.slices, strict=True))
        ]
        self.active = self.bound
        self._sizes: dict[Shapes, tuple[list[DataDesc], list[DataDesc], list[slice], list[Executor]]] = {}
        self._monitors: list[Any] = []
        self._keep()

    # -- batches of other sizes -----------------------------------------------------------------------

    def _shapes_of(self, rows: slice) -> dict[str, Any]:
        count = rows.stop - rows.start
        whole = count == self.rows
        descs = [*self.data_shapes, *self.label_shapes]
        return {d.name: d.shape if whole else (count, *d.shape[1:]) for d in descs}

    def _key(self) -> Shapes:
        return tuple((d.name, d.shape) for d in [*self.data_shapes, *self.label_shapes])

    def _keep(self) -> None:
        if len(self._sizes) > KEPT_SIZES:
            del self._sizes[list(self._sizes)[1]]  # the oldest but the bound one
        self._sizes[self._key()] = (self.data_shapes, self.label_shapes, self.slices, self.active)

    def reshape(self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc]) -> None:
        """Get ready for batches of other shapes; parameters and gradients stay where they are."""
        before = self.data_shapes, self.label_shapes, self.rows
        self.data_shapes, self.label_shapes = list(data_shapes), list(label_shapes)
        try:
            self.rows = _rows(self.data_shapes)
            kept = self._sizes.get(self._key())
            if kept is not None:
                _, _, self.slices, self.active = kept
                return
            slices = split_rows(self.rows, len(self.bound))
            self.active = [
                exe.reshape(allow_up_sizing=True, **self._shapes_of(rows))
                for exe, rows in zip(self.bound, slices, strict=False)
            ]
            self.slices = slices
        except BaseException:
            self.data_shapes, self.label_shapes, self.rows = before
            raise
        for monitor in self._monitors:
            for exe in self.active:
                monitor.install(exe)
        self._keep()

    # -- running ----------------------------------------------------------------------------------------

    def forward(self, data: Sequence[Any], label: Sequence[Any] | None, is_train: bool) -> None:
        """Run to the outputs."""
        given = list(zip(self.data_shapes, data, strict=True))
        if label:
            given += zip(self.label_shapes, label, strict=True)
        for exe, rows in zip(self.active, self.slices, strict=True):
            exe.forward(is_train, **{d.name: self._part(a, rows) for d, a in given})

    def _part(self, array: Any, rows: slice) -> Any:
        return array if len(self.slices) == 1 else array[rows]

    def backward(self, out_grads: Sequence[NDArray] | None = None) -> None:
        """Run to the gradients."""
        for exe, rows in zip(self.active, self.slices, strict=True):
            exe.backward(None if out_grads is None else [self._part(g, rows) for g in out_grads])

    def outputs(self, merge: bool = True) -> list[Any]:
        """Return the outputs: of the whole batch, or a list of one array a context for each."""
        return self._gathered([exe.outputs for exe in self.active], merge)

    def input_grads(self, merge: bool = True) -> list[Any]:
        """Return the gradients of the data, as :meth:`outputs` does."""
        names = [d.name for d in self.data_shapes]
        return self._gathered([[exe.grad_dict[n] for n in names] for exe in self.active], merge)

    def _gathered(self, found: Sequence[Sequence[Any]], merge: bool) -> list[Any]:
        if not merge:
            return [list(parts) for parts in zip(*found, strict=True)]
        if len(found) == 1:
            return list(found[0])
        return [registry.get("Concat")(*parts, dim=0) for parts in zip(*found, strict=True)]

    # -- arrays -----------------------------------------------------------------------------------------

    def weights(self, name: str) -> list[NDArray]:
        """Return the arrays of an argument, one for each context."""
        return [exe.arg_dict[name] for exe in self.bound]

    def states(self, name: str) -> list[NDArray]:
        """Return the arrays of an auxiliary state, one for each context."""
        return [exe.aux_dict[name] for exe in self.bound]

    def gradients(self, name: str) -> list[Any]:
        """Return the gradients of an argument, from the contexts that had a share of the last batch."""
        return [exe.grad_dict[name] for exe in self.active]

    def bound_gradients(self, name: str) -> list[Any]:
        """Return the gradients of an argument, from all contexts."""
        return [exe.grad_dict[name] for exe in self.bound]

    def write(self, targets: Sequence[NDArray], name: str, value: NDArray) -> None:
        """Copy a value into arrays of any storage type."""
        for target in targets:
            if target.shape != value.shape:
                raise ShapeError(f"{name}: the value has shape {value.shape}, the graph wants {target.shape}")
            cast(value._chunk, target._chunk)

    def average_states(self, name: str) -> NDArray:
        """Return a copy of an auxiliary state: the mean over contexts."""
        arrays = self.states(name)
        result: NDArray = arrays[0].copy()
        if len(arrays) > 1:
            mean = np.mean([a.asnumpy() for a in arrays], axis=0)
            result[:] = mean.astype(result.dtype)
        return result

    def install_monitor(self, monitor: Any) -> None:
        """Let a monitor watch all executors."""
        self._monitors.append(monitor)
        for _, _, _, executors in self._sizes.values():
            for exe in executors:
                monitor.install(exe)


def _rows(descs: Sequence[DataDesc]) -> int:
    """Return the rows of a batch, which all data arrays share (their batch axis is the first)."""
    sizes = {d.name: d.shape[0] for d in descs if d.shape}
    if len(set(sizes.values())) > 1:
        raise ShapeError(f"data_shapes: the arrays of a batch have different numbers of rows: {sizes}")
    return next(iter(sizes.values()), 1)
