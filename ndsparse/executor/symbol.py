"""Symbol: the graph as a user writes it.

A symbol is a list of entries of the graph; composing symbols makes nodes.  Nothing is computed
until a symbol is bound to arrays, which gives an
:class:`ndsparse.executor.executor.Executor`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndsparse.errors import ArgumentError, ArgumentTypeError, GraphError
from ndsparse.executor.passes import infer_shape, infer_storage_type, infer_type
from ndsparse.executor.passes.infer_shape import SHAPE_KEY
from ndsparse.executor.passes.infer_storage_type import STYPE_KEY
from ndsparse.executor.passes.infer_type import CODES, DTYPE_KEY
from ndsparse.executor.scope import current_attributes
from ndsparse.graph import Entry, Graph, Node, apply, variable
from ndsparse.graph.build import fresh_name
from ndsparse.graph.json import from_json, to_json
from ndsparse.ndarray import arithmetic
from ndsparse.ops.registry import Operator
from ndsparse.storage import as_dtype, storage_class

if TYPE_CHECKING:
    from ndsparse.executor.executor import Executor


class Symbol:
    """One or more outputs of a graph."""

    __slots__ = ("entries",)

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = list(entries)

    # -- composition ----------------------------------------------------------------------------

    @staticmethod
    def __ndsparse_apply__(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Symbol:
        return compose(op, args, kwargs)

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """Return the symbol with its variables replaced, by position or by name."""
        names = self.list_arguments()
        if len(args) > len(names):
            raise ArgumentTypeError(f"compose: {len(args)} symbols for {len(names)} arguments")
        replacement = dict(zip(names, args, strict=False)) | kwargs
        for key, value in replacement.items():
            if key not in names:
                raise ArgumentError(f"compose: there is no argument {key!r}; there are {names}")
            if not isinstance(value, Symbol) or len(value.entries) != 1:
                raise ArgumentTypeError(f"compose: {key} must be a symbol with one output")
        return Symbol(_substitute(self.entries, {k: v.entries[0] for k, v in replacement.items()}))

    def __getitem__(self, key: int | str | slice) -> Symbol:
        if isinstance(key, str):
            names = self.list_outputs()
            found = [i for i, n in enumerate(names) if n == key]
            if len(found) != 1:
                raise ArgumentError(f"there is no single output {key!r}; there are {names}")
            return Symbol([self.entries[found[0]]])
        if isinstance(key, slice):
            return Symbol(self.entries[key])
        if not -len(self.entries) <= key < len(self.entries):
            raise IndexError(f"output {key} of {len(self.entries)}")
        return Symbol([self.entries[key]])

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol([e]) for e in self.entries)

    def __repr__(self) -> str:
        return f"<Symbol {self.name or ', '.join(self.list_outputs())}>"

    def __bool__(self) -> bool:
        raise ArgumentTypeError("a Symbol has no truth value: nothing is computed yet")

    def __copy__(self) -> Symbol:
        return Symbol(self.entries)

    def __deepcopy__(self, memo: dict[int, Any]) -> Symbol:
        return Symbol(self.entries)

    def __reduce__(self) -> tuple[Any, ...]:
        return (load_json, (self.tojson(),))

    def __neg__(self) -> Symbol:
        return self._operator("negative")

    def __abs__(self) -> Symbol:
        return self._operator("abs")

    def __matmul__(self, other: Symbol) -> Symbol:
        return self._operator("dot", other)

    def _operator(self, op: str, *args: Any, **kwargs: Any) -> Symbol:
        from ndsparse.ops import registry

        return compose(registry.get(op), (self, *args), kwargs)

    # -- names and attributes ---------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Name of the node; None for a group."""
        nodes = {id(e.node) for e in self.entries}
        return self.entries[0].node.name if len(nodes) == 1 else None

    def list_arguments(self) -> list[str]:
        """Return the names of the variables that are no auxiliary states, in order of use."""
        graph = Graph(self.entries)
        aux = graph.auxiliary()
        return [n.name for n in graph.variables if id(n) not in aux]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states."""
        graph = Graph(self.entries)
        aux = graph.auxiliary()
        return [n.name for n in graph.variables if id(n) in aux]

    def list_inputs(self) -> list[str]:
        """Return the names of all variables."""
        return [n.name for n in Graph(self.entries).variables]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return [e.name for e in self.entries]

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.entries)

    def get_internals(self) -> Symbol:
        """Return a group of all entries of the graph."""
        return Symbol(Graph(self.entries).entries)

    def get_children(self) -> Symbol | None:
        """Return a group of the inputs of the node, None for a variable."""
        inputs = [e for n in {id(e.node): e.node for e in self.entries}.values() for e in n.inputs]
        return Symbol(inputs) if inputs else None

    def attr(self, key: str) -> str | None:
        """Return an attribute of the node as text, None if it is not set."""
        return _attributes(self.entries[0].node).get(key)

    def list_attr(self) -> dict[str, str]:
        """Return the attributes of the node as text."""
        return _attributes(self.entries[0].node)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes of all nodes, by node name."""
        found = {n.name: _attributes(n) for n in Graph(self.entries).nodes}
        return {name: attrs for name, attrs in found.items() if attrs}

    # -- inference ----------------------------------------------------------------------------------

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Return the shapes of arguments, outputs and auxiliary states.

        Parameters
        ----------
        *args, **kwargs : tuple of int
            Shapes of arguments, by position or name; 0 (or -1) is an unknown dimension.

        Returns
        -------
        three lists of tuples, or (None, None, None) if something stays unknown
        """
        result = self._shapes(args, kwargs)
        if any(s is None or -1 in s for part in result for s in part):
            return None, None, None
        return result

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Return what is known of the shapes: 0 for unknown dimensions, () for unknown shapes."""
        args_, outs, aux = self._shapes(args, kwargs)
        return tuple([_mxnet_shape(s) for s in part] for part in (args_, outs, aux))  # type: ignore[return-value]

    def _shapes(self, args: Any, kwargs: Any) -> tuple[list[Any], list[Any], list[Any]]:
        given = {k: known_shape(v) for k, v in self._named(args, kwargs, "infer_shape").items()}
        return self._collect(infer_shape(Graph(self.entries), given), "shape")

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the dtypes of arguments, outputs and auxiliary states (float32 where nothing is known)."""
        given = {k: as_dtype(v) for k, v in self._named(args, kwargs, "infer_type").items()}
        parts = self._collect(infer_type(Graph(self.entries), given), "dtype")
        return tuple([t.type for t in part] for part in parts)  # type: ignore[return-value]

    def infer_storage_type(self, *args: Any, **kwargs: Any) -> tuple[list[str], list[str], list[str]]:
        """Return the storage types of arguments, outputs and auxiliary states.

        Parameters
        ----------
        *args, **kwargs : str
            Storage types of arguments (before what they declare); a keyword that names an output
            (``dot0_output``) says what that output must have.
        """
        outputs = {e.name: e for e in self.entries}
        wanted = {outputs[k]: v for k, v in kwargs.items() if k in outputs and k not in self.list_inputs()}
        rest = {k: v for k, v in kwargs.items() if outputs.get(k) not in wanted}
        given = self._named(args, rest, "infer_storage_type")
        return self._collect(infer_storage_type(Graph(self.entries), given, wanted), "stype")

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any], what: str) -> dict[str, Any]:
        names = self.list_arguments()
        if len(args) > len(names):
            raise ArgumentTypeError(f"{what}: {len(args)} values for {len(names)} arguments")
        known = set(self.list_inputs())
        for key in kwargs:
            if key not in known:
                raise ArgumentError(f"{what}: there is no argument {key!r}; there are {names}")
        given = dict(zip(names, args, strict=False)) | dict(kwargs)
        return {k: v for k, v in given.items() if v is not None}

    def _collect(self, graph: Graph, attribute: str) -> tuple[list[Any], list[Any], list[Any]]:
        values, aux = graph.attributes[attribute], graph.auxiliary()
        args = [values[graph.entry_id_of(n)] for n in graph.variables if id(n) not in aux]
        states = [values[graph.entry_id_of(n)] for n in graph.variables if id(n) in aux]
        return args, [values[graph.entry_id(e)] for e in self.entries], states

    # -- files ------------------------------------------------------------------------------------------

    def tojson(self) -> str:
        """Return the graph as MXNet's JSON."""
        return to_json(self.entries)

    def save(self, fname: str | Path) -> None:
        """Write the graph as JSON, aside first, then renamed."""
        path = Path(fname)
        aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
        try:
            aside.write_text(self.tojson(), encoding="utf-8")
            os.replace(aside, path)
        finally:
            aside.unlink(missing_ok=True)

    # -- binding ----------------------------------------------------------------------------------------

    def simple_bind(
        self,
        ctx: Any = None,
        grad_req: Any = "write",
        type_dict: Mapping[str, Any] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Any = None,
        shared_arg_names: Any = None,
        shared_exec: Any = None,
        shared_buffer: Any = None,
        **kwargs: Any,
    ) -> Executor:
        """Bind with arrays made here, of the shapes that follow from ``kwargs``.

        Sparse arguments start empty; gradients have the inferred storage types.
        """
        from ndsparse.executor.bind import simple_bind

        return simple_bind(self, ctx, grad_req, type_dict or {}, stype_dict or {}, shared_exec, kwargs)

    def bind(
        self,
        ctx: Any,
        args: Any,
        args_grad: Any = None,
        grad_req: Any = "write",
        aux_states: Any = None,
        group2ctx: Any = None,
        shared_exec: Any = None,
    ) -> Executor:
        """Bind to these arrays, in the order of ``list_arguments`` or by name."""
        from ndsparse.executor.bind import bind

        return bind(self, ctx, args, args_grad, grad_req, aux_states)

    def eval(self, ctx: Any = None, **kwargs: Any) -> list[Any]:
        """Return the outputs for these arguments."""
        return self.bind(ctx, kwargs, grad_req="null").forward()


# -- making symbols -----------------------------------------------------------------------------------------


def compose(op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Symbol:
    """Return the symbol of ``op`` on symbols; inputs that are missing become variables."""
    kwargs = dict(kwargs)
    name, notes = kwargs.pop("name", None), kwargs.pop("attr", None) or {}
    kwargs.pop("out", None)
    for key in [k for k in kwargs if k.startswith("__") and k.endswith("__")]:
        notes = {**notes, key: str(kwargs.pop(key))}
    if "ctx" not in op.attributes:
        kwargs.pop("ctx", None)
    inputs, given = op.bind(args, kwargs)
    attrs = op.normalize(given)
    name = fresh_name(name, op.name)
    if not op.variadic:
        wanted = op.inputs_of(attrs)
        pairs = zip(op.input_names, inputs, strict=True)
        inputs = [s if s is not None else _implicit(f"{name}_{n}", notes) for n, s in pairs if n in wanted]
    entries = []
    for value in inputs:
        if not isinstance(value, Symbol):
            raise ArgumentTypeError(f"{op.name}: expected Symbol arguments, got {type(value).__name__}")
        entries += value.entries if op.variadic else [_single(op, value)]
    node = Node(op, attrs, tuple(entries), name, current_attributes(notes))
    return Symbol([Entry(node, i) for i in range(node.num_outputs)])


def _single(op: Operator, symbol: Symbol) -> Entry:
    if len(symbol.entries) != 1:
        raise ArgumentTypeError(f"{op.name}: an input has {len(symbol.entries)} outputs; choose one")
    return symbol.entries[0]


def _implicit(name: str, notes: Mapping[str, str]) -> Symbol:
    kept = {k: v for k, v in notes.items() if k.startswith("__")}
    return Symbol([variable(name, current_attributes(kept))])


def Variable(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """Return the symbol of a variable.

    Parameters
    ----------
    name : str
    attr : mapping of str to str, optional
        Further attributes; names and values are text.
    shape : tuple of int, optional
        0 (or -1) marks an unknown dimension.
    lr_mult, wd_mult : float, optional
        Factors on the learning rate and weight decay of this argument.
    dtype : dtype, optional
    init : Initializer or str, optional
        How ``Module.init_params`` fills it.
    stype : str, optional
        ``default``, ``row_sparse`` or ``csr``.
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name: expected a string, got {type(name).__name__}")
    notes = dict(attr or {})
    if shape is not None:
        notes[SHAPE_KEY] = str(tuple(0 if n == -1 else int(n) for n in _tuple(shape)))
    if lr_mult is not None:
        notes["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        notes["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        notes[DTYPE_KEY] = str(CODES.index(as_dtype(dtype).name))
    if init is not None:
        notes["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        notes[STYPE_KEY] = str(storage_class(stype).code)
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ArgumentTypeError(f"Variable: unknown argument {key!r}; attributes are named __{key}__")
        notes[key] = str(value)
    return Symbol([variable(name, current_attributes(notes))])


var = Variable


def Group(symbols: Sequence[Symbol]) -> Symbol:
    """Return a symbol with the outputs of all ``symbols``."""
    if not symbols or any(not isinstance(s, Symbol) for s in symbols):
        raise ArgumentTypeError("Group: expected a list of symbols")
    return Symbol([e for s in symbols for e in s.entries])


def load(fname: str | Path) -> Symbol:
    """Read a symbol from a JSON file."""
    try:
        return load_json(Path(fname).read_text(encoding="utf-8"))
    except GraphError as error:
        raise GraphError(f"{fname}: {error}") from None


def load_json(json_str: str) -> Symbol:
    """Read a symbol from JSON text, ours or MXNet's."""
    if not isinstance(json_str, str):
        raise ArgumentTypeError("load_json: expected a string")
    return Symbol(from_json(json_str))


# -- parts ------------------------------------------------------------------------------------------------------


def _tuple(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def known_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape with MXNet's 0 for an unknown dimension as -1."""
    return tuple(-1 if n == 0 else int(n) for n in _tuple(shape))


def _mxnet_shape(shape: Any) -> tuple[int, ...]:
    return () if shape is None else tuple(0 if n == -1 else n for n in shape)


def _attributes(node: Node) -> dict[str, str]:
    from ndsparse.graph.json import own_attributes

    return {**own_attributes(node), **node.annotations}


def _substitute(outputs: Sequence[Entry], replacement: Mapping[str, Entry]) -> list[Entry]:
    """Rebuild the nodes above replaced variables; nodes that nothing changed are kept."""
    new: dict[int, Node] = {}
    swapped: dict[int, Entry] = {}
    for node in Graph(outputs).nodes:
        if node.op is None:
            if node.name in replacement:
                swapped[id(node)] = replacement[node.name]
            continue
        inputs = tuple(swapped.get(id(e.node)) or Entry(new.get(id(e.node), e.node), e.index) for e in node.inputs)
        if inputs != node.inputs:
            new[id(node)] = Node(node.op, node.attrs, inputs, node.name, node.annotations, node.after)
    return [swapped.get(id(e.node)) or Entry(new.get(id(e.node), e.node), e.index) for e in outputs]


def _coerce(self: Symbol, other: Any) -> Any:
    return other if isinstance(other, Symbol) or arithmetic.is_number(other) else NotImplemented


arithmetic.install(Symbol, _coerce)
