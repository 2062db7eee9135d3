"""From a symbol to an executor: making, matching and checking its arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.errors import ArgumentError, ArgumentTypeError, GraphError, ShapeError
from ndsparse.executor.executor import Executor
from ndsparse.executor.passes import infer_shape, infer_storage_type, infer_type
from ndsparse.executor.symbol import Symbol, known_shape
from ndsparse.graph import Entry, Graph
from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray, context_or_current
from ndsparse.ops.registry import ADD, NULL, WRITE
from ndsparse.storage import as_dtype, storage_class


def bind(symbol: Symbol, ctx: Any, args: Any, args_grad: Any, grad_req: Any, aux_states: Any) -> Executor:
    """Bind to the given arrays; see :meth:`Symbol.bind`."""
    names = symbol.list_arguments()
    arrays = _matched(args, names, "args", required=True)
    grads = _matched(args_grad, names, "args_grad", required=False)
    aux = _matched(aux_states, symbol.list_auxiliary_states(), "aux_states", required=True)
    reqs = _requests(grad_req, names)
    for name, array, grad in zip(names, arrays, grads, strict=True):
        if grad is not None and grad.shape != array.shape:
            raise ShapeError(f"args_grad: {name} has shape {grad.shape}, the argument has {array.shape}")
    return Executor(symbol, context_or_current(ctx), arrays, grads, reqs, aux)


def simple_bind(
    symbol: Symbol,
    ctx: Any,
    grad_req: Any,
    type_dict: Mapping[str, Any],
    stype_dict: Mapping[str, str],
    shared_exec: Executor | None,
    shapes: Mapping[str, Any],
) -> Executor:
    """Make the arrays and bind to them; see :meth:`Symbol.simple_bind`."""
    graph = Graph(symbol.entries)
    known = set(symbol.list_inputs())
    for name in (*shapes, *type_dict, *stype_dict):
        if name not in known:
            raise ArgumentError(
                f"simple_bind: there is no argument {name!r}; there are {symbol.list_inputs()}"
            )
    graph = infer_shape(graph, {k: known_shape(v) for k, v in shapes.items()})
    graph = infer_type(graph, {k: as_dtype(v) for k, v in type_dict.items()})
    graph = infer_storage_type(graph, stype_dict)
    made = {n.name: _array(graph, n.name, Entry(n), shared_exec) for n in graph.variables}
    names = symbol.list_arguments()
    reqs = _requests(grad_req, names)
    if isinstance(grad_req, str):  # the gradient of data is dense, and of the size of the matrix
        reqs = [NULL if made[n].stype == "csr" else r for n, r in zip(names, reqs, strict=True)]
    aux = [made[n] for n in symbol.list_auxiliary_states()]
    args = [made[n] for n in names]
    return Executor(symbol, context_or_current(ctx), args, None, reqs, aux, shared_exec, graph)


def _array(graph: Graph, name: str, entry: Entry, shared: Executor | None) -> NDArray:
    i = graph.entry_id(entry)
    shape, stype = graph.attributes["shape"][i], graph.attributes["stype"][i]
    if shape is None or -1 in shape:
        raise GraphError(f"simple_bind: the shape of {name!r} cannot be inferred; give it (found {shape})")
    dtype = graph.attributes["dtype"][i]
    before = None if shared is None else {**shared.arg_dict, **shared.aux_dict}.get(name)
    if before is not None and (before.shape, before.stype, before._chunk.dtype) == (shape, stype, dtype):
        return before
    kind = storage_class(stype)
    kind.check_shape(shape)
    result: NDArray = wrap(kind(shape, dtype))
    return result


def _matched(given: Any, names: Sequence[str], what: str, *, required: bool) -> list[Any]:
    """Return arrays in the order of ``names`` from a list or a dict."""
    if given is None:
        given = {}
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise ArgumentError(f"{what}: there is no argument {name!r}; there are {list(names)}")
        found = [given.get(n) for n in names]
    else:
        found = list(given)
        if len(found) != len(names) and (required or found):
            raise ArgumentError(f"{what}: {len(found)} arrays for {len(names)} arguments {list(names)}")
    for name, array in zip(names, found, strict=False):
        if array is None and required:
            raise ArgumentError(f"{what}: the array of {name!r} is missing")
        if array is not None and not isinstance(array, NDArray):
            raise ArgumentTypeError(f"{what}: {name} must be an NDArray, got {type(array).__name__}")
    return found


def _requests(grad_req: Any, names: Sequence[str]) -> list[str]:
    """Return a request for each argument from a text, list or dict (missing names: null)."""
    if isinstance(grad_req, str):
        found = [grad_req] * len(names)
    elif isinstance(grad_req, Mapping):
        for name in grad_req:
            if name not in names:
                raise ArgumentError(f"grad_req: there is no argument {name!r}; there are {list(names)}")
        found = [grad_req.get(n, NULL) for n in names]
    else:
        found = list(grad_req)
    if len(found) != len(names) or any(r not in (WRITE, ADD, NULL) for r in found):
        raise ArgumentError(
            f"grad_req: expected write, add or null for each of {list(names)}, got {grad_req!r}"
        )
    return found


def reshape(executor: Executor, partial: bool, grow: bool, shapes: Mapping[str, Any]) -> Executor:
    """Return an executor for other shapes; see :meth:`Executor.reshape`."""
    symbol = executor._symbol
    found = infer_shape(Graph(symbol.entries), {k: known_shape(v) for k, v in shapes.items()})
    nodes = {n.name: found.attributes["shape"][found.entry_id_of(n)] for n in found.variables}

    def fitted(name: str, array: NDArray | None) -> NDArray | None:
        shape = nodes[name]
        if array is None or shape is None or -1 in shape or shape == array.shape:
            return array
        if name not in shapes and not partial:
            raise ShapeError(
                f"reshape: the shape of {name!r} changes from {array.shape} to {shape}; "
                "set partial_shaping=True to allow it"
            )
        _check_growth(name, array, shape, grow)
        resized: NDArray = wrap(type(array._chunk)(shape, array._chunk.dtype))
        return resized

    args = [fitted(n, a) for n, a in executor.arg_dict.items()]
    grads = [fitted(n, a) for n, a in executor.grad_dict.items()]
    aux = [fitted(n, a) for n, a in executor.aux_dict.items()]
    return Executor(symbol, executor._ctx, args, grads, executor._reqs, aux)  # type: ignore[arg-type]


def _check_growth(name: str, array: NDArray, shape: tuple[int, ...], grow: bool) -> None:
    if math.prod(shape) > array.size and not grow:
        raise ShapeError(
            f"reshape: {name!r} grows from {array.shape} to {shape}; set allow_up_sizing=True to allow it"
        )
