"""Imperative calls: from NDArrays to a runner and back.

An operator remembers, for each combination of storage types, shapes, dtypes and attributes that it
met, the function that runs it and the outputs it needs, so that a repeated call is one dictionary
look-up, the allocation of its outputs and the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ndsparse.errors import ArgumentTypeError, DTypeError, ShapeError
from ndsparse.ndarray.generator import generator
from ndsparse.ops import dispatch, registry
from ndsparse.ops.attrs import hashable
from ndsparse.ops.registry import OpContext, Operator
from ndsparse.storage import Chunk, DefaultChunk, storage_class

if TYPE_CHECKING:
    from ndsparse.ndarray.ndarray import NDArray

MEMO_LIMIT = 4096
"""Combinations an operator remembers before it starts anew."""

Recorder = Callable[[Operator, "dict[str, Any]", "list[NDArray]", "list[NDArray]"], None]


def drawing_context() -> OpContext:
    """Return a context whose random numbers are those that ``mx.random.seed`` sets."""
    return OpContext(rng=generator())


class Hooks:
    """What may watch or alter imperative calls."""

    recorder: Recorder | None = None
    """Told of every call after it ran: (operator, attributes, inputs, outputs).  Autograd sets it."""

    context: Callable[[], OpContext] = staticmethod(drawing_context)
    """Makes the context of operators that ask for one (training mode, random numbers)."""


hooks = Hooks()


class Prepared(NamedTuple):
    """A call that was met before."""

    run: dispatch.Runner
    outputs: tuple[tuple[type[Chunk], tuple[int, ...], np.dtype[Any]], ...]
    attrs: dict[str, Any]
    wants_context: bool


def invoke(op: Operator, inputs: Sequence[Any], given: dict[str, Any], out: Any = None) -> Any:
    """Run ``op`` on arrays.

    Parameters
    ----------
    op : Operator
    inputs : sequence of NDArray
    given : dict
        Attributes.
    out : NDArray or list of NDArray, optional
        Where results go; their storage types are kept.

    Returns
    -------
    NDArray or list of NDArray
    """
    chunks = [x._chunk for x in inputs]
    outs = None if out is None else _as_outputs(op, out)
    wanted = None if outs is None else outs[0]._chunk.stype
    key: tuple[Any, ...] = (*[c.meta for c in chunks], wanted)
    if given:
        key += (*given.items(), *map(type, given.values()))  # 2 and 2.0 are not the same attribute
    try:
        prepared = op.dispatch_memo.get(key)
    except TypeError:
        return invoke(op, inputs, _hashable(op, given), out)
    if prepared is None:
        prepared = _prepare(op, chunks, given, wanted)
        if op.make_state is None:
            if len(op.dispatch_memo) >= MEMO_LIMIT:
                op.dispatch_memo.clear()
            op.dispatch_memo[key] = prepared
    ctx = _PLAIN if not prepared.wants_context else _context(len(prepared.outputs))
    if outs is not None:
        _run_into(op, prepared, chunks, outs, ctx)
        arrays = outs
    else:
        results: list[Chunk] = [kind(shape, dtype) for kind, shape, dtype in prepared.outputs]
        prepared.run(chunks, results, ctx)
        where = inputs[0]._ctx if inputs else None
        arrays = [_wrap(c, where) for c in results]
    if hooks.recorder is not None:
        hooks.recorder(op, prepared.attrs, list(inputs), arrays)
    return arrays[0] if len(arrays) == 1 else arrays


_PLAIN = OpContext(req=("write",) * 8)


def _context(count: int) -> OpContext:
    ctx = hooks.context()
    ctx.req = ("write",) * count
    return ctx


def _hashable(op: Operator, given: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with lists as tuples; ArgumentTypeError for what has no hashable form."""
    result = {}
    for name, value in given.items():
        result[name] = hashable(value)
        try:
            hash(result[name])
        except TypeError:
            raise ArgumentTypeError(
                f"{op.name}: {name} must be a number, a text or a tuple of them, got {type(value).__name__}"
            ) from None
    return result


def _prepare(op: Operator, chunks: Sequence[Chunk], given: dict[str, Any], wanted: str | None) -> Prepared:
    attrs = op.normalize(given)
    names = op.inputs_of(attrs)
    if not op.variadic and len(chunks) != len(names):
        raise ArgumentTypeError(
            f"{op.name}: expected {len(names)} arrays ({', '.join(names)}), got {len(chunks)}"
        )
    decision = dispatch.decide(op, [c.stype for c in chunks], attrs, wanted)
    count = op.num_outputs(attrs)
    _, shapes = op.infer_shape([c.shape for c in chunks], [None] * count, attrs)
    _, dtypes = op.infer_dtype([c.dtype for c in chunks], [None] * count, attrs)
    outputs = []
    for stype, shape, dtype in zip(decision.stypes, shapes, dtypes, strict=True):
        if shape is None or -1 in shape:
            raise ShapeError(f"{op.name}: the shape of the output cannot be inferred")
        kind = storage_class(stype)
        kind.check_shape(shape)
        outputs.append((kind, shape, np.dtype(np.float32) if dtype is None else dtype))
    state = None if op.make_state is None else op.make_state(attrs)
    wants = count > len(_PLAIN.req) or registry.takes(op.body, "ctx")
    return Prepared(
        dispatch.quietly(dispatch.runner(op, decision, attrs, state)), tuple(outputs), attrs, wants
    )


def _as_outputs(op: Operator, out: Any) -> list[Any]:
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    if not outs or not all(hasattr(o, "_chunk") for o in outs):
        kinds = ", ".join(type(o).__name__ for o in outs)
        raise ArgumentTypeError(f"{op.name}: out must be an NDArray or a list of them, got ({kinds})")
    return outs


def _run_into(
    op: Operator, prepared: Prepared, chunks: Sequence[Chunk], outs: Sequence[Any], ctx: OpContext
) -> None:
    """Run with results going to ``outs``: fewer than there are outputs, or of other storage types."""
    _check_outputs(op, outs, prepared)
    targets: list[Chunk] = [o._chunk for o in outs]
    results = [
        targets[i] if i < len(targets) and type(targets[i]) is kind else kind(shape, dtype)
        for i, (kind, shape, dtype) in enumerate(prepared.outputs)
    ]
    prepared.run(chunks, results, ctx)
    for target, result in zip(targets, results, strict=False):
        if target is not result:
            dispatch.settle(target, result, "write")


def _check_outputs(op: Operator, outs: Sequence[Any], prepared: Prepared) -> None:
    count = len(prepared.outputs)
    if len(outs) > count:
        raise ArgumentTypeError(f"{op.name}: out has {len(outs)} arrays, there are {count} outputs")
    for given, (_, shape, dtype) in zip(outs, prepared.outputs, strict=False):
        if given.shape != shape:
            raise ShapeError(f"{op.name}: out has shape {given.shape}, the result has {shape}")
        if given._chunk.dtype != dtype and not np.can_cast(dtype, given._chunk.dtype, "same_kind"):
            raise DTypeError(f"{op.name}: out has dtype {given._chunk.dtype}, the result has {dtype}")


_wrap_of: dict[str, Any] = {}


def register_class(cls: type[Any], storage: type[Chunk]) -> None:
    """Say which NDArray class shows arrays of a storage type."""
    _wrap_of[storage.stype] = cls


def _wrap(chunk: Chunk, ctx: Any = None) -> Any:
    cls = _wrap_of[chunk.stype]
    array = cls.__new__(cls)
    array._chunk = chunk
    array._grad_info = None
    array._ctx = ctx
    return array


wrap = _wrap


def dense(array: Any) -> Any:
    """Return a dense NDArray on the memory of a numpy array."""
    return _wrap(DefaultChunk.of(array))
