"""Symbol: the graph as a user writes it.

A symbol is a list of entries of the graph; composing symbols makes nodes.  Nothing is computed
until a symbol is bound to arrays, which gives an
:class:`ndsparse.executor.executor.Executor`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndsparse.atomic import replacing
from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.executor.passes import infer_shape, infer_storage_type, infer_type
from ndsparse.graph import Entry, Graph, Node
from ndsparse.graph.json import from_json, own_attributes, to_json
from ndsparse.ndarray import arithmetic
from ndsparse.ops import registry
from ndsparse.ops.registry import Operator
from ndsparse.storage import as_dtype

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
        from ndsparse.executor.compose import compose

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
        return (_from_json, (self.tojson(),))

    def __neg__(self) -> Symbol:
        return self._operator("negative")

    def __abs__(self) -> Symbol:
        return self._operator("abs")

    def __matmul__(self, other: Symbol) -> Symbol:
        return self._operator("dot", other)

    def _operator(self, op: str, *args: Any, **kwargs: Any) -> Symbol:
        result: Symbol = registry.get(op)(self, *args, **kwargs)
        return result

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
        with replacing(fname) as file:
            file.write(self.tojson().encode())

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

        Sparse arguments start empty; gradients have the inferred storage types.  A ``grad_req`` that
        is one text leaves csr arguments out: they are data, and their gradient would be dense.  Name
        them in a dict to have it.
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


def as_tuple(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple; an int means one dimension."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


def known_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape with MXNet's 0 for an unknown dimension as -1."""
    return tuple(-1 if n == 0 else int(n) for n in as_tuple(shape))


def _mxnet_shape(shape: Any) -> tuple[int, ...]:
    return () if shape is None else tuple(0 if n == -1 else n for n in shape)


def _attributes(node: Node) -> dict[str, str]:
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
        inputs = tuple(
            swapped.get(id(e.node)) or Entry(new.get(id(e.node), e.node), e.index) for e in node.inputs
        )
        if inputs != node.inputs:
            new[id(node)] = Node(node.op, node.attrs, inputs, node.name, node.annotations, node.after)
    return [swapped.get(id(e.node)) or Entry(new.get(id(e.node), e.node), e.index) for e in outputs]


def _from_json(text: str) -> Symbol:
    return Symbol(from_json(text))


def _coerce(self: Symbol, other: Any) -> Any:
    return other if isinstance(other, Symbol) or arithmetic.is_number(other) else NotImplemented


arithmetic.install(Symbol, _coerce)
