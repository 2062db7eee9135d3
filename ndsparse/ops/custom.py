"""``Custom``: operators written in Python, with storage types of their own.

A *property* object (``ndsparse.operator.CustomOpProp``) says what goes in and out; it makes an
*operator* object that computes.  Both are the user's.  The operator object belongs to one node of a
graph (FStatefulCompute): it may keep what its backward pass needs, so the gradient must find the very
object that ran forward.  It is found by the forward pass's first output, which the gradient receives
and which is the same chunk in every run.

Source: MXNet 1.9, ``custom.cc`` and ``python/mxnet/operator.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError, StorageTypeError
from ndsparse.ops import registry
from ndsparse.ops.attrs import Attribute, as_text
from ndsparse.ops.registry import Attrs, OpContext, Operator
from ndsparse.ops.rows import Row, make_row
from ndsparse.storage import Chunk, DefaultChunk

PROPERTIES: dict[str, Callable[..., Any]] = {}
"""Registered property classes by ``op_type``."""


class Bridge(NamedTuple):
    """What the layer of arrays lends: operators in Python see arrays, not chunks."""

    wrap: Callable[[Chunk], Any]
    context: Callable[[], Any]
    unrecorded: Callable[[], AbstractContextManager[None]]


MADE_LIMIT = 1024
"""Property objects remembered before the memory starts anew."""

_bridge: list[Bridge] = []
_made: dict[tuple[Any, ...], Any] = {}
_ran: WeakKeyDictionary[Chunk, Any] = WeakKeyDictionary()


def connect(bridge: Bridge) -> None:
    """Say how operators reach arrays."""
    _bridge[:] = [bridge]


def add_property(op_type: str, prop: Callable[..., Any]) -> None:
    """Enter a property class; a name that is taken is replaced, as in MXNet."""
    PROPERTIES[op_type] = prop


def property_of(attrs: Attrs) -> Any:
    """Return the property object for the attributes of a node (made once for equal ones)."""
    op_type = attrs.get("op_type")
    if op_type not in PROPERTIES:
        raise ArgumentError(f"Custom: op_type must be one of {sorted(PROPERTIES)}, got {op_type!r}")
    key = (PROPERTIES[op_type], *sorted(attrs.items()))
    if key not in _made:
        if len(_made) >= MADE_LIMIT:
            _made.clear()
        _made[key] = PROPERTIES[op_type](**{k: v for k, v in attrs.items() if k != "op_type"})
    return _made[key]


class _Names(NamedTuple):
    arguments: list[str]
    outputs: list[str]
    aux: list[str]


def _names(prop: Any) -> _Names:
    return _Names(list(prop.list_arguments()), list(prop.list_outputs()), list(prop.list_auxiliary_states()))


class State:
    """The operator object of one node, made when shapes are known."""

    def __init__(self, attrs: Attrs) -> None:
        self.prop = property_of(attrs)
        self._operator: Any = None

    def operator(self, chunks: Sequence[Chunk]) -> Any:
        """Return the operator object; ``chunks`` are the arguments it is made for."""
        if self._operator is None:
            shapes, dtypes = [list(c.shape) for c in chunks], [c.dtype.type for c in chunks]
            self._operator = self.prop.create_operator(_bridge[0].context(), shapes, dtypes)
        return self._operator


class CustomOperator(Operator):
    """What Custom and its gradient share: inputs and attributes depend on ``op_type``."""

    def __init__(self, body: Callable[..., Any], name: str) -> None:
        super().__init__(body, "data(*s) -> (*r)", name=name, pure=False, state=State)
        self.plain_inputs = -1
        self.attributes = {"kwargs": Attribute("kwargs", None, (), True, ())}  # any, as text

    def normalize(self, given: Attrs) -> dict[str, Any]:
        """Return the attributes as text, as a property class receives them."""
        attrs = {k: v if isinstance(v, str) else as_text(v) for k, v in given.items()}
        property_of(attrs)
        return attrs

    def names(self, attrs: Attrs) -> tuple[str, ...]:
        """Return the names of all inputs."""
        return self.inputs_of(attrs)

    def find_row(self, stypes: Sequence[str], attrs: Attrs, wanted: str | None = None) -> Row | None:
        """Ask the property object what comes out; None where sparse inputs must become dense."""
        outputs = self.stypes(property_of(attrs), list(stypes))
        if outputs is None:
            return None
        text = f"{', '.join(stypes)} -> {', '.join(outputs)}"
        return make_row(text, {}, None, self.kernel, "", ())

    def stypes(self, prop: Any, stypes: list[str]) -> Sequence[str] | None:
        """Return the storage types of the outputs."""
        raise NotImplementedError

    def kernel(self, *chunks: Chunk, ctx: OpContext, state: State, **attrs: Any) -> None:
        """Run on chunks."""
        raise NotImplementedError

    def dense(self, arrays: Sequence[Any], ctx: OpContext, state: State, attrs: Attrs) -> Any:
        """Run on dense arrays."""
        chunks: list[Chunk] = [DefaultChunk.of(np.ascontiguousarray(a)) for a in arrays]
        _, shapes = self.infer_shape([c.shape for c in chunks], [None] * self.num_outputs(attrs), attrs)
        _, dtypes = self.infer_dtype([c.dtype for c in chunks], [None] * self.num_outputs(attrs), attrs)
        outs = [DefaultChunk(s or (), d) for s, d in zip(shapes, dtypes, strict=True)]
        context = OpContext(ctx.is_train, ("write",) * len(outs), ctx.rng)
        self.kernel(*chunks, *outs, ctx=context, state=state, **attrs)
        results = [o.data for o in outs]
        return results if len(results) > 1 else results[0]


def _run(call: Callable[..., None], ctx: OpContext, count: int, *groups: Sequence[Chunk]) -> None:
    """Call a method of an operator object with arrays in place of chunks."""
    bridge = _bridge[0]
    reqs = [r if r != "inplace" else "write" for r in ctx.req[:count]]
    with bridge.unrecorded():
        call(reqs, *([bridge.wrap(c) for c in group] for group in groups))


class _Forward(CustomOperator):
    def inputs_of(self, attrs: Attrs) -> tuple[str, ...]:
        if "op_type" not in attrs:
            return ()
        names = _names(property_of(attrs))
        return (*names.arguments, *names.aux)

    def aux_of(self, attrs: Attrs) -> Sequence[str]:
        return _names(property_of(attrs)).aux

    def num_outputs(self, attrs: Attrs) -> int:
        return len(property_of(attrs).list_outputs())

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Sort arrays by the argument names of the property object; the rest are its parameters."""
        arrays = {k: v for k, v in kwargs.items() if hasattr(type(v), "__ndsparse_apply__")}
        given = {k: v for k, v in kwargs.items() if k not in arrays and v is not None}
        names = self.inputs_of(self.normalize(given))
        unknown = [k for k in arrays if k not in names]
        free = [n for n in names if n not in arrays]
        if unknown or len(args) > len(free):
            raise ArgumentTypeError(
                f"Custom({given.get('op_type')}): expected the arrays {', '.join(names)}; "
                f"got {len(args)} by position and {sorted(arrays)}"
            )
        arrays |= dict(zip(free, args, strict=False))
        return [arrays.get(n) for n in names], given

    def infer_shape(self, inputs: Any, outputs: Any, attrs: Attrs) -> tuple[list[Any], list[Any]]:
        prop = property_of(attrs)
        count = len(prop.list_arguments())
        if count and (inputs[0] is None or -1 in inputs[0]):
            return list(inputs), list(outputs)
        found = prop.infer_shape([list(s) if s is not None else [] for s in inputs[:count]])
        args, outs, *aux = ([tuple(int(n) for n in s) for s in part] for part in found)
        return [*args, *(aux[0] if aux else [])], outs

    def infer_dtype(self, inputs: Any, outputs: Any, attrs: Attrs) -> tuple[list[Any], list[Any]]:
        prop = property_of(attrs)
        count = len(prop.list_arguments())
        if count and inputs[0] is None:
            return list(inputs), list(outputs)
        first = inputs[0] if count else np.dtype(np.float32)
        found = prop.infer_type([(first if d is None else d).type for d in inputs[:count]])
        args, outs, *aux = ([np.dtype(d) for d in part] for part in found)
        return [*args, *(aux[0] if aux else [])], outs

    def stypes(self, prop: Any, stypes: list[str]) -> Sequence[str] | None:
        names = _names(prop)
        if all(s == "default" for s in stypes) or prop.declares_storage_types("forward"):
            found = prop.infer_storage_type(stypes[: len(names.arguments)])
            return _checked(found[1], len(names.outputs), "infer_storage_type")
        return None

    def kernel(self, *chunks: Chunk, ctx: OpContext, state: State, **attrs: Any) -> None:
        names = _names(state.prop)
        n, a, o = len(names.arguments), len(names.aux), len(names.outputs)
        data, aux, outs = chunks[:n], chunks[n : n + a], chunks[n + a :]
        op = state.operator(data)

        def call(reqs: list[str], in_data: Any, out_data: Any, aux_data: Any) -> None:
            op.forward(ctx.is_train, reqs, in_data, out_data, aux_data)

        _run(call, ctx, o, data, outs, aux)
        _ran[outs[0]] = op


class _Backward(CustomOperator):
    def inputs_of(self, attrs: Attrs) -> tuple[str, ...]:
        if "op_type" not in attrs:
            return ()
        names = _names(property_of(attrs))
        heads = [f"{n}_grad" for n in names.outputs]
        return (*heads, *names.arguments, *names.outputs, *names.aux)

    def num_outputs(self, attrs: Attrs) -> int:
        return len(property_of(attrs).list_arguments())

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        return list(args), kwargs

    def _arguments(self, values: Sequence[Any], attrs: Attrs) -> list[Any]:
        names = _names(property_of(attrs))
        first = len(names.outputs)
        return list(values[first : first + len(names.arguments)])

    def infer_shape(self, inputs: Any, outputs: Any, attrs: Attrs) -> tuple[list[Any], list[Any]]:
        return list(inputs), self._arguments(inputs, attrs)

    def infer_dtype(self, inputs: Any, outputs: Any, attrs: Attrs) -> tuple[list[Any], list[Any]]:
        return list(inputs), self._arguments(inputs, attrs)

    def stypes(self, prop: Any, stypes: list[str]) -> Sequence[str] | None:
        names = _names(prop)
        if not all(s == "default" for s in stypes) and not prop.declares_storage_types("backward"):
            return None
        o, n = len(names.outputs), len(names.arguments)
        data = stypes[o : o + n]
        found = prop.infer_storage_type_backward(
            stypes[:o], data, stypes[o + n : o + n + o], ["default"] * n, stypes[o + n + o :]
        )
        return _checked(found[3], n, "infer_storage_type_backward")

    def kernel(self, *chunks: Chunk, ctx: OpContext, state: State, **attrs: Any) -> None:
        names = _names(state.prop)
        o, n, a = len(names.outputs), len(names.arguments), len(names.aux)
        heads, data, outs = chunks[:o], chunks[o : o + n], chunks[o + n : o + n + o]
        aux, grads = chunks[2 * o + n : 2 * o + n + a], chunks[2 * o + n + a :]
        op = _ran.get(outs[0]) or state.operator(data)

        def call(reqs: list[str], *groups: Any) -> None:
            op.backward(reqs, *groups)

        _run(call, ctx, n, heads, data, outs, grads, aux)


def _checked(found: Sequence[str], count: int, method: str) -> Sequence[str]:
    if len(found) != count:
        raise StorageTypeError(f"{method}: expected {count} storage types, got {list(found)}")
    return found


def _forward_body(*arrays: Any, ctx: OpContext, state: State, **attrs: Any) -> Any:
    """Run an operator written in Python.

    Parameters
    ----------
    *data : NDArray
        The arguments, then the auxiliary states, that its property object lists; also by name.
    op_type : str
        The name it was registered under.
    **kwargs
        Given to the property class, as text.
    """
    return Custom.dense(arrays, ctx, state, attrs)


def _backward_body(*arrays: Any, ctx: OpContext, state: State, **attrs: Any) -> Any:
    """Run the backward pass of an operator written in Python."""
    return _backward_Custom.dense(arrays, ctx, state, attrs)


Custom = _Forward(_forward_body, "Custom")
_backward_Custom = _Backward(_backward_body, "_backward_Custom")
registry.add(Custom, ())
registry.add(_backward_Custom, ())


@Custom.grad
def _(g: Any, *inputs: Any, outputs: Any, **attrs: Any) -> Any:
    several = isinstance(g, tuple) and not hasattr(g, "node")
    heads, outs = (g, outputs) if several else ((g,), (outputs,))
    prop = property_of(attrs)
    n = len(prop.list_arguments())
    grads = _backward_Custom(*heads, *inputs[:n], *outs, *inputs[n:], **attrs)
    return grads if n > 1 else (grads,)
