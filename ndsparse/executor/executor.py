"""Executor: a graph bound to arrays.

::

    symbol --gradient--> one graph of outputs and gradients
           --infer_shape, infer_type, infer_storage_type--> what each entry is, how each node runs
           --rewrites--> the same without copies, constants and what is computed twice
           --plan_memory--> where each dense entry lies
           --> a flat list of steps (runner, input chunks, output chunks), in two parts:
               forward: what the outputs need;  backward: the rest

A run walks the list.  Each entry has one chunk for the life of the executor, so sparse results
reuse the capacity that the last step left.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndsparse.context import Context
from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError
from ndsparse.executor.describe import describe
from ndsparse.executor.passes import infer_shape, infer_storage_type, infer_type
from ndsparse.executor.passes.detect_addto import ACCUMULATE
from ndsparse.executor.passes.fold_constants import CONSTANTS
from ndsparse.executor.passes.gradient import gradient
from ndsparse.executor.passes.infer_shape import require_known
from ndsparse.executor.passes.partition import HEAD_PREFIX, schedule
from ndsparse.executor.passes.pipeline import PLANS, REWRITES, run_passes
from ndsparse.executor.passes.plan_memory import RELEASED, use_counts
from ndsparse.executor.passes.verify import verify
from ndsparse.executor.symbol import Symbol
from ndsparse.graph import Entry, Graph, variable
from ndsparse.ndarray.invoke import hooks, wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ops import dispatch
from ndsparse.ops.registry import ADD, NULL, WRITE, OpContext
from ndsparse.storage import Chunk, DefaultChunk, cast, storage_class


class Step(NamedTuple):
    """One node, ready to run; ``release`` are chunks that nobody reads afterwards."""

    run: dispatch.Runner
    inputs: tuple[Chunk, ...]
    outputs: tuple[Chunk, ...]
    ctx: OpContext
    release: tuple[Chunk, ...]
    name: str


class Settle(NamedTuple):
    """Brings a computed gradient into the user's array."""

    target: Chunk
    source: Chunk
    req: str


class Executor:
    """A bound symbol.  Made by :meth:`Symbol.bind` and :meth:`Symbol.simple_bind`.

    Attributes
    ----------
    arg_arrays, grad_arrays, aux_arrays, outputs : list of NDArray
        In the order of ``list_arguments``, ``list_auxiliary_states`` and ``list_outputs``;
        gradients that are not wanted are None.
    arg_dict, grad_dict, aux_dict, output_dict : dict
        The same by name.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        args: Sequence[NDArray],
        grads: Sequence[NDArray | None] | None,
        reqs: Sequence[str],
        aux: Sequence[NDArray],
        shared: Executor | None = None,
        inferred: Graph | None = None,
    ) -> None:
        self._symbol = symbol
        self._ctx = ctx
        self.arg_arrays = list(args)
        self.grad_arrays: list[NDArray | None] = [None] * len(args) if grads is None else list(grads)
        self.aux_arrays = list(aux)
        self._reqs = list(reqs)
        names = symbol.list_arguments()
        self.arg_dict = dict(zip(names, self.arg_arrays, strict=True))
        self.aux_dict = dict(zip(symbol.list_auxiliary_states(), self.aux_arrays, strict=True))
        self._monitor: Any = None
        self._heads_ready = False
        self._build(shared, inferred, make_gradients=grads is None)

    # -- building -----------------------------------------------------------------------------------

    def _build(self, shared: Executor | None, forward: Graph | None, *, make_gradients: bool) -> None:
        arrays = self.arg_dict | self.aux_dict
        entries = self._symbol.entries
        forward = forward or _inferred(Graph(entries), arrays)
        wrt = [
            n
            for n, r, g in zip(self.arg_dict, self._reqs, self.grad_arrays, strict=True)
            if r != NULL and (make_gradients or g is not None)
        ][::-1]  # gradients run from the last layer to the first, so each result dies early
        heads = [variable(f"{HEAD_PREFIX}{i}") for i in range(len(entries))]
        nodes = {n.name: Entry(n) for n in forward.variables}
        grads = gradient(entries, heads, [nodes[n] for n in wrt]) if wrt else []
        self._heads = [_new_chunk(forward, forward.entry_id(e)) for e in entries]
        given = {n: a._chunk for n, a in arrays.items()}
        given |= {f"{HEAD_PREFIX}{i}": c for i, c in enumerate(self._heads)}
        graph = forward
        if grads:
            graph = _inferred(Graph([*entries, *grads]), arrays | {n: wrap(c) for n, c in given.items()})
        if make_gradients:
            made = {n: wrap(_new_chunk(graph, graph.entry_id(e))) for n, e in zip(wrt, grads, strict=True)}
            self.grad_arrays = [made.get(n) for n in self.arg_dict]
        self.grad_dict = dict(zip(self.arg_dict, self.grad_arrays, strict=True))
        graph = run_passes(graph.with_attributes(held=len(entries)), (*REWRITES, *PLANS))
        self._graph = graph
        self._pool = _pool(graph.attributes["pool"], shared)
        chunks = self._allocate(graph, given | graph.attributes.get(CONSTANTS, {}))
        self._settles, reqs = self._place_gradients(graph, wrt, chunks)
        _place_terms(graph, chunks, reqs)
        self.outputs = [wrap(chunks[graph.entry_id(e)]) for e in graph.outputs[: len(entries)]]
        self._forward, self._backward, self._stale = _steps(graph, chunks, reqs)

    def _allocate(self, graph: Graph, given: Mapping[str, Chunk]) -> list[Chunk]:
        chunks: list[Chunk] = []
        places = graph.attributes["storage_id"]
        for i, entry in enumerate(graph.entries):
            if entry.node.op is None:
                chunks.append(given[entry.node.name])
                continue
            chunk = _new_chunk(graph, i)
            if places[i] >= 0:
                size = math.prod(chunk.shape) * chunk.dtype.itemsize
                chunk.adopt(self._pool[places[i]][:size].view(chunk.dtype).reshape(chunk.shape))
            chunks.append(chunk)
        return chunks

    def _place_gradients(
        self, graph: Graph, wrt: Sequence[str], chunks: list[Chunk]
    ) -> tuple[list[Settle], dict[int, str]]:
        """Let nodes write gradients directly into the user's arrays where that is possible.

        Returns what is left to do after a run, and the requests of entries that are not ``write``.
        """
        settles, reqs = [], {}
        held = len(graph.outputs) - len(wrt)
        uses, counts = graph.consumers(), Counter(graph.outputs)
        wanted = dict(zip(self.arg_dict, self._reqs, strict=True))
        for name, entry in zip(wrt, graph.outputs[held:], strict=True):
            i = graph.entry_id(entry)
            array = self.grad_dict[name]
            if array is None:
                continue
            target, source = array._chunk, chunks[i]
            alone = not uses[i] and counts[entry] == 1 and entry.node.op is not None
            if alone and target.stype == source.stype and target.dtype == source.dtype:
                chunks[i] = target
                reqs[i] = ADD if wanted[name] == ADD else WRITE
            else:
                settles.append(Settle(target, source, ADD if wanted[name] == ADD else WRITE))
        return settles, reqs

    # -- running --------------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Run to the outputs.

        Parameters
        ----------
        is_train : bool
        **kwargs : NDArray or numpy array
            New values of arguments, copied (and cast to the argument's storage type).

        Returns
        -------
        list of NDArray
            ``outputs``, the same arrays at every call.
        """
        for name, value in kwargs.items():
            self._set(name, value)
        for chunk in self._stale:
            chunk.release()
        self._run(self._forward, is_train)
        return self.outputs

    def _set(self, name: str, value: Any) -> None:
        array = self.arg_dict.get(name)
        if array is None:
            raise ArgumentError(f"forward: there is no argument {name!r}; there are {list(self.arg_dict)}")
        if not isinstance(value, NDArray):
            from ndsparse.ndarray.creation import array as make

            value = make(value, dtype=array._chunk.dtype)
        if value.shape != array.shape:
            raise ShapeError(
                f"Shape not match! Argument {name}, need: {array.shape}, received: {value.shape}"
            )
        cast(value._chunk, array._chunk)

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Run to the gradients, as each argument's ``grad_req`` says.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            The gradient at each output; default ones (losses ignore it).
        """
        if out_grads is None:
            if not self._heads_ready:
                for chunk in self._heads:
                    cast(DefaultChunk.of(np.ones(chunk.shape, chunk.dtype)), chunk)
                self._heads_ready = True
        else:
            given = list(out_grads) if isinstance(out_grads, (list, tuple)) else [out_grads]
            if len(given) != len(self._heads):
                raise ArgumentTypeError(f"backward: {len(given)} gradients for {len(self._heads)} outputs")
            for chunk, value in zip(self._heads, given, strict=True):
                if value.shape != chunk.shape:
                    raise ShapeError(
                        f"backward: a gradient of shape {value.shape} for an output {chunk.shape}"
                    )
                cast(value._chunk, chunk)
            self._heads_ready = False
        self._run(self._backward, is_train)
        for target, source, req in self._settles:
            if req == ADD:
                dispatch.accumulate(target, source)
            else:
                cast(source, target)

    def _run(self, steps: Sequence[Step], is_train: bool) -> None:
        rng = hooks.context().rng
        with np.errstate(all="ignore"):  # 1 / 0 is inf, as in MXNet
            self._run_steps(steps, is_train, rng)

    def _run_steps(self, steps: Sequence[Step], is_train: bool, rng: Any) -> None:
        for run, inputs, outputs, ctx, release, name in steps:
            ctx.is_train, ctx.rng = is_train, rng
            run(inputs, outputs, ctx)
            if self._monitor is not None:
                for chunk in outputs:
                    self._monitor(f"{name}_output", wrap(chunk))
            for chunk in release:
                chunk.release()

    # -- the rest of MXNet's executor ---------------------------------------------------------------------

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=True))

    @property
    def graph(self) -> Graph:
        """The optimised graph, with the attributes of all passes."""
        return self._graph

    def debug_str(self) -> str:
        """Return the bound graph as a table: storage types, dispatch and memory of every node."""
        return describe(self._graph)

    def set_monitor_callback(self, callback: Any, monitor_all: bool = False) -> None:
        """Call ``callback(name, array)`` with every node's output, None to stop."""
        self._monitor = callback

    def copy_params_from(
        self,
        arg_params: Mapping[str, Any],
        aux_params: Mapping[str, Any] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy parameters into the arguments (and auxiliary states) of the same names."""
        for table, given in ((self.arg_dict, arg_params), (self.aux_dict, aux_params or {})):
            for name, value in given.items():
                if name in table:
                    if value.shape != table[name].shape:
                        raise ShapeError(
                            f"copy_params_from: {name!r} has shape {value.shape}, "
                            f"the graph wants {table[name].shape}"
                        )
                    value.astype(table[name].dtype, copy=False).copyto(table[name])
                elif not allow_extra_params:
                    raise ArgumentError(f"copy_params_from: there is no argument {name!r}")

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: tuple[int, ...]
    ) -> Executor:
        """Return an executor for other input shapes that shares the arrays whose shapes stay.

        Parameters
        ----------
        partial_shaping : bool
            Allow shapes that are not given to change.
        allow_up_sizing : bool
            Allow arrays to grow.
        """
        from ndsparse.executor.bind import reshape

        return reshape(self, partial_shaping, allow_up_sizing, kwargs)


def _inferred(graph: Graph, arrays: Mapping[str, NDArray]) -> Graph:
    """Run the inference passes with what the arrays say."""
    graph = infer_shape(graph, {n: a.shape for n, a in arrays.items()})
    require_known(graph)
    graph = verify(graph, "infer_shape")
    graph = verify(infer_type(graph, {n: a._chunk.dtype for n, a in arrays.items()}), "infer_type")
    graph = infer_storage_type(graph, {n: a.stype for n, a in arrays.items()})
    return verify(graph, "infer_storage_type")


def _new_chunk(graph: Graph, i: int) -> Chunk:
    kind = storage_class(graph.attributes["stype"][i])
    shape = graph.attributes["shape"][i]
    kind.check_shape(shape)
    return kind(shape, graph.attributes["dtype"][i])


def _pool(sizes: Sequence[int], shared: Executor | None) -> list[Any]:
    """Return buffers of these sizes, those of another executor where they are large enough.

    Executors that share memory must not have a forward of one between forward and backward of
    the other.
    """
    have = sorted([] if shared is None else shared._pool, key=len)
    pool: list[Any] = [None] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        fits = have and len(have[-1]) >= sizes[i]
        pool[i] = have.pop() if fits else np.empty(sizes[i], np.uint8)
    return pool


def _place_terms(graph: Graph, chunks: list[Chunk], reqs: dict[int, str]) -> None:
    """Let the terms of sums (``detect_addto``) be made in the chunk of the sum."""
    into, started = graph.attributes[ACCUMULATE], set()
    for node in schedule(graph)[0]:
        for i in graph.output_ids(node):
            target = into[i]
            if target is not None:
                chunks[i] = chunks[target]
                reqs[i] = ADD if target in started else reqs.get(target, WRITE)
                started.add(target)


def _steps(
    graph: Graph, chunks: Sequence[Chunk], reqs: Mapping[int, str]
) -> tuple[list[Step], list[Step], list[Chunk]]:
    """Return the steps of forward and of backward, and the chunks that are freed before a forward."""
    order, early = schedule(graph)
    uses = use_counts(graph, order, early)
    sums = {i for i in graph.attributes[ACCUMULATE] if i is not None}
    places = graph.attributes["storage_id"]
    steps: list[Step] = []
    forward = 0
    for position, node in enumerate(order):
        outs = graph.output_ids(node)
        ins = [graph.entry_id(e) for e in node.inputs]
        for i in ins:
            uses[i] -= 1
        dead = {i for i in (*ins, *outs) if uses[i] == 0 and places[i] == RELEASED}
        if node.op is not None and outs[0] not in sums:
            decision = graph.attributes["decision"][graph.node_id(node)]
            state = None if node.op.make_state is None else node.op.make_state(node.attrs)
            step = Step(
                dispatch.runner(node.op, decision, node.attrs, state),
                tuple([chunks[i] for i in ins]),
                tuple([chunks[i] for i in outs]),
                OpContext(False, tuple([reqs.get(i, WRITE) for i in outs])),
                tuple([chunks[i] for i in dead]),
                node.name,
            )
            steps.append(step)
            forward += position < early
    stale = [c for c, n, p in zip(chunks, uses, places, strict=True) if n > 0 and p == RELEASED]
    return steps[:forward], steps[forward:], stale
