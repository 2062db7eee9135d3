"""Dispatch: from storage types to a function that runs.

:func:`decide` looks a combination of storage types up in an operator's rows; the answer says the
dispatch mode and the storage types of the outputs:

=====================  ==========================================================================
``fcompute``           everything dense: the body
``fcompute_ex``        a row matches: its kernel
``fcompute_fallback``  no row: inputs are copied to dense temporaries, the body runs, outputs are
                       cast to the inferred storage types, inputs that were written are cast back
=====================  ==========================================================================

:func:`runner` binds operator, decision and attributes into ``run(inputs, outputs, ctx)`` on
chunks; imperative calls and executors call the same function.

Source: MXNet, ``imperative_utils.h`` and ``attach_op_execs_pass.cc`` (dispatch and fallback).
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ndsparse.config import settings
from ndsparse.errors import NotSupportedForSparse, StorageFallbackWarning, StorageTypeError
from ndsparse.ops import registry
from ndsparse.ops.registry import ADD, FALLBACK, FCOMPUTE, FCOMPUTE_EX, NULL, WRITE, OpContext, Operator, Row
from ndsparse.storage import Chunk, DefaultChunk, cast, converted, storage_class

DEFAULT = DefaultChunk.stype


class Runner(Protocol):
    """Runs an operator on chunks."""

    def __call__(self, inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        """Run; results go into ``outputs`` as ``ctx.req`` says."""


class Decision(NamedTuple):
    """How a combination of storage types is served."""

    mode: str
    stypes: tuple[str, ...]  # of the outputs
    row: Row | None
    kernel_stypes: tuple[str, ...]  # what the kernel writes; differs where a cast follows


def decide(op: Operator, stypes: Sequence[str], attrs: registry.Attrs, wanted: str | None = None) -> Decision:
    """Choose the row for inputs of ``stypes``.

    Parameters
    ----------
    wanted : str, optional
        The storage type that output 0 must have; default: what the operator's hint attribute
        says, else what the first matching row gives.

    Raises
    ------
    StorageTypeError
        The operator refuses the combination.
    """
    hint = attrs.get(op.hint) if op.hint is not None else None
    target = wanted if wanted is not None else hint
    if target is not None:
        storage_class(target)
    count = op.num_outputs(attrs)
    row = op.find_row(stypes, attrs, target)
    if row is None and any(s != DEFAULT for s in (*stypes, target or DEFAULT)):
        row = op.find_row(stypes, attrs)  # ends in another storage type than is wanted: a cast follows
    if row is not None and row.refusal:
        raise StorageTypeError(f"{op.name}: ({', '.join(stypes)}) is not supported: {row.refusal}")
    if row is not None and row.kernel is None:
        return Decision(FALLBACK, _targeted(row.result(stypes), target), row, (DEFAULT,) * count)
    if row is not None:
        natural = row.result(stypes)
        natural += (DEFAULT,) * (count - len(natural))
        dense = all(s == DEFAULT for s in (*stypes, *natural))
        return Decision(FCOMPUTE if dense else FCOMPUTE_EX, _targeted(natural, target), row, natural)
    natural = (DEFAULT,) * count
    result = _targeted(natural, target)
    dense = all(s == DEFAULT for s in (*stypes, *result))
    return Decision(FCOMPUTE if dense else FALLBACK, result, None, natural)


def _targeted(natural: tuple[str, ...], target: str | None) -> tuple[str, ...]:
    return natural if target is None or not natural else (target, *natural[1:])


def runner(op: Operator, decision: Decision, attrs: registry.Attrs, state: Any = None) -> Runner:
    """Return a function that runs ``op`` on chunks as decided."""
    if decision.row is not None and decision.row.kernel is not None:
        call = _bound(decision.row.kernel, attrs, state)
        run = _ex_runner(call, decision.row.reqs)
    elif decision.mode == FALLBACK:
        run = _owning_runner(_fallback_runner(op, decision, attrs, state), _written(op, attrs))
    else:
        run = _dense_runner(op, _bound(op.body, attrs, state))
        if op.mutates:
            run = _owning_runner(run, _written(op, attrs))
    if decision.mode != FALLBACK and decision.stypes != decision.kernel_stypes:
        return _casting_runner(run, decision.kernel_stypes)
    return run


def quietly(run: Runner) -> Runner:
    """Return a runner without numpy's floating point warnings: 1 / 0 is inf, as in MXNet.

    Bodies and rows may rely on it; an executor silences a whole pass at once instead.
    """

    def quiet(inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        with np.errstate(all="ignore"):
            run(inputs, outputs, ctx)

    return quiet


def _bound(function: Callable[..., Any], attrs: registry.Attrs, state: Any) -> Callable[..., Any]:
    """Return ``call(arrays, ctx)`` with the attributes, and the state if named, filled in."""
    named = registry.keywords(function, attrs)
    if registry.takes(function, "state"):
        named["state"] = state
    if registry.takes(function, "ctx"):
        return lambda args, ctx: function(*args, ctx=ctx, **named)
    if named:
        return lambda args, ctx: function(*args, **named)
    return lambda args, ctx: function(*args)


# -- all dense --------------------------------------------------------------------------------------


def _dense_runner(op: Operator, call: Callable[..., Any]) -> Runner:
    def run(inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        arrays = [c.data for c in inputs]
        result = call(arrays, ctx)
        if len(outputs) == 1:
            _store(outputs[0], result, ctx.req[0], arrays)
            return
        for out, array, req in zip(outputs, result, ctx.req, strict=False):
            _store(out, array, req, arrays)

    def run_into(inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        arrays = [c.data for c in inputs]
        out, req = outputs[0], ctx.req[0]
        if req == WRITE and out.initialized and not out.pinned and _same_dtype(out.dtype, arrays):
            call((*arrays, out.data), ctx)
            return
        result = call(arrays, ctx)
        new = type(result) is np.ndarray and result.base is None and all([result is not a for a in arrays])
        fresh = new and req == WRITE and not out.initialized
        if fresh and result.dtype == out.dtype and result.flags.c_contiguous:
            out.adopt(result)
        else:
            _store(out, result, req, arrays)

    return run_into if op.into else run


def _written(op: Operator, attrs: registry.Attrs) -> list[int]:
    """Return the positions of the inputs that the operator writes."""
    return [i for i, name in enumerate(op.inputs_of(attrs)) if name in op.mutates]


def _owning_runner(run: Runner, written: Sequence[int]) -> Runner:
    """Give inputs that the body writes memory of their own first, where others hold it."""

    def own_and_run(inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        for i in written:
            chunk = inputs[i]
            if isinstance(chunk, DefaultChunk):
                chunk.owned()
        run(inputs, outputs, ctx)

    return own_and_run


def _same_dtype(dtype: np.dtype[Any], arrays: Sequence[Any]) -> bool:
    """Whether a ufunc of ``arrays`` computes in ``dtype``."""
    return all([a.dtype is dtype for a in arrays]) or dtype == np.result_type(*arrays)


def _store(out: Chunk, result: Any, req: str, inputs: Sequence[Any]) -> None:
    """Put a dense result into a dense chunk as the request says."""
    if req == NULL:
        return
    result = np.asarray(result)
    if req == ADD:
        accumulate(out, DefaultChunk.of(result))
        return
    if out.initialized:
        target = out.check_and_alloc_data(result.shape)
        if target is not result:
            np.copyto(target, result, casting="unsafe")
        return
    if result.dtype != out.dtype:
        result = result.astype(out.dtype)
    elif not result.flags.c_contiguous or not result.flags.writeable or _shares(result, inputs):
        result = result.copy()
    out.adopt(result)


def _shares(result: Any, inputs: Sequence[Any]) -> bool:
    if result.base is None:
        return any(result is a for a in inputs)
    return any(np.may_share_memory(result, a) for a in inputs)


# -- rows with a kernel -----------------------------------------------------------------------------


def _ex_runner(call: Callable[..., Any], reqs: tuple[str, ...]) -> Runner:
    adds, in_place = ADD in reqs, "inplace" in reqs

    def direct(out: Chunk, req: str, inputs: Sequence[Chunk]) -> bool:
        here = req == WRITE or (adds and req == ADD and not out.pinned)
        return here and (in_place or out not in inputs)

    def run(inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        reqs = ctx.req
        if len(outputs) == 1 and direct(outputs[0], reqs[0], inputs):
            call((*inputs, *outputs), ctx)
            return
        aside = [o if direct(o, r, inputs) else o.fresh() for o, r in zip(outputs, reqs, strict=False)]
        inner = tuple(r if a is o else WRITE for a, o, r in zip(aside, outputs, reqs, strict=False))
        call((*inputs, *aside), OpContext(ctx.is_train, inner, ctx.rng))
        for out, temporary, req in zip(outputs, aside, reqs, strict=False):
            if temporary is not out:
                settle(out, temporary, req)

    return run


def settle(out: Chunk, result: Chunk, req: str) -> None:
    """Bring a temporary result into its output as the request says, casting where types differ."""
    if req == NULL:
        return
    if req == ADD:
        accumulate(out, result)
    elif result.stype != out.stype or result.dtype != out.dtype:
        cast(result, out)
    elif out.stype == DEFAULT:
        out.copy_from(result)  # others may view this memory
    else:
        out.move_from(result)


def accumulate(out: Chunk, term: Chunk) -> None:
    """Add ``term`` to ``out``, which keeps its storage type; no dense copy is made of sparse arrays."""
    if isinstance(out, DefaultChunk) and term.stype == DEFAULT:
        target = out.owned()
        np.add(target, term.data, out=target, casting="unsafe")
        return
    if out.stype != DEFAULT and term.stype != out.stype:
        term = converted(term, out.stype)
    add = registry.get("elemwise_add")
    decision = decide(add, (out.stype, term.stype), {}, out.stype)
    total = out.fresh()
    runner(add, decision, {})((out, term), (total,), _PLAIN)
    settle(out, total, WRITE)


_PLAIN = OpContext()


def _casting_runner(run: Runner, kernel_stypes: tuple[str, ...]) -> Runner:
    def run_and_cast(inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        results = [
            out if out.stype == stype else storage_class(stype)(out.shape, out.dtype)
            for out, stype in zip(outputs, kernel_stypes, strict=True)
        ]
        reqs = tuple(r if a is o else WRITE for r, a, o in zip(ctx.req, results, outputs, strict=False))
        run(inputs, results, OpContext(ctx.is_train, reqs, ctx.rng))
        for out, result, req in zip(outputs, results, ctx.req, strict=False):
            if result is not out:
                settle(out, result, req)

    return run_and_cast


# -- fallback ---------------------------------------------------------------------------------------


def _fallback_runner(op: Operator, decision: Decision, attrs: registry.Attrs, state: Any) -> Runner:
    call = _bound(op.body, attrs, state)
    written = _written(op, attrs)

    def run(inputs: Sequence[Chunk], outputs: Sequence[Chunk], ctx: OpContext) -> None:
        _report(op, inputs, outputs)
        arrays = [c.data if c.stype == DEFAULT else c.to_dense() for c in inputs]
        result = call(arrays, ctx)
        results = (result,) if len(outputs) == 1 else result
        for i in written:
            if inputs[i].stype != DEFAULT:
                inputs[i].set_dense(arrays[i])
        for out, array, req in zip(outputs, results, ctx.req, strict=False):
            if out.stype == DEFAULT:
                _store(out, array, req, arrays)
            elif req != NULL:
                temporary = DefaultChunk(out.shape, out.dtype)
                temporary.adopt(np.ascontiguousarray(array, dtype=out.dtype).reshape(out.shape))
                settle(out, temporary, req)

    return run


_seen: set[tuple[Any, ...]] = set()


def _report(op: Operator, inputs: Sequence[Chunk], outputs: Sequence[Chunk]) -> None:
    """Warn once a call site, raise, or keep silent, as ``config.storage_fallback`` says."""
    mode = settings.storage_fallback
    if mode == "silent":
        return
    frame, depth = _user_frame()
    site = (op.name, *(c.stype for c in (*inputs, *outputs)), *frame)
    if mode == "warn" and site in _seen:
        return
    size = sum(math.prod(c.shape) * c.dtype.itemsize for c in (*inputs, *outputs) if c.stype != DEFAULT)
    text = (
        f"{op.name}: no kernel for storage types ({', '.join(c.stype for c in inputs)}) -> "
        f"({', '.join(c.stype for c in outputs)}); dense copies of {size:,} bytes are made. "
        "Cast with tostype() to choose where, or set config.settings.storage_fallback"
    )
    if mode == "error":
        raise NotSupportedForSparse(text)
    _seen.add(site)
    warnings.warn(text, StorageFallbackWarning, stacklevel=depth)


def _user_frame() -> tuple[tuple[str, int], int]:
    """Return (file, line) of the first caller outside the package, and its depth from _report."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ndsparse."):
        frame, depth = frame.f_back, depth + 1
    return (frame.f_code.co_filename, frame.f_lineno), depth
