"""The Operator: dense body, rows, gradient, and rules for shapes and dtypes in one object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentTypeError
from ndsparse.ops import attrs as declarations
from ndsparse.ops import shapes
from ndsparse.ops.dtypes import DTypeRule
from ndsparse.ops.rows import Attrs, Function, Row, make_row
from ndsparse.ops.shapes import MaybeShape


class Operator:
    """An operator of the registry.  Made by :func:`operator`.

    Attributes
    ----------
    name : str
        MXNet's name.
    body : callable
        The dense meaning, on numpy arrays.
    attributes : dict
        Name to :class:`ndsparse.ops.attrs.Attribute`.
    rows : list of Row
        The storage-type table, first match wins.
    plain_inputs : int
        Number of inputs where it is the same in every call, else -1.
    """

    def __init__(
        self,
        body: Function,
        signature: str,
        *,
        name: str,
        dtypes: str = "",
        omit: Mapping[str, Callable[[Attrs], bool]] | None = None,
        hint: str | None = None,
        mutates: Sequence[str] = (),
        aux: Sequence[str] = (),
        variadic: bool = False,
        outputs: int | Callable[[Attrs], int] = 1,
        inplace: bool = False,
        into: bool = False,
        pure: bool = True,
        state: Callable[[Attrs], Any] | None = None,
    ) -> None:
        self.name = name
        self.body = body
        self.doc = inspect.getdoc(body) or ""
        self.signature = shapes.parse(signature)
        self.variadic = variadic
        self.input_names = tuple(t.name for t in self.signature.inputs)
        self.plain_inputs = -1 if variadic or omit else len(self.input_names)
        self.hint = hint
        self.mutates = tuple(mutates)
        self.aux = tuple(aux)
        self.inplace = inplace
        self.into = into
        self.pure = pure and not mutates
        self.make_state = state
        self.rows: list[Row] = []
        self.gradient: Function | None = None
        self.aliases: list[str] = []
        self.dispatch_memo: dict[Any, Any] = {}
        self._omit = dict(omit or {})
        self._outputs = outputs
        self._shape_rule: Function | None = None
        self._dtype_rule = DTypeRule(dtypes)
        self._dtype_function: Function | None = None
        self.__name__ = name
        self.__doc__ = self.doc

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply to NDArrays (computes), Symbols or graph entries (extends the graph)."""
        for arg in (*args, *kwargs.values()):
            apply = getattr(type(arg), "__ndsparse_apply__", None)
            if apply is not None:
                return apply(self, args, kwargs)
        for arg in args:  # add_n([a, b]) and concat([a, b])
            if isinstance(arg, (list, tuple)) and arg and hasattr(type(arg[0]), "__ndsparse_apply__"):
                return type(arg[0]).__ndsparse_apply__(self, (*arg, *args[1:]), kwargs)
        kinds = ", ".join(type(a).__name__ for a in args)
        raise ArgumentTypeError(f"{self.name}: expected NDArray or Symbol arguments, got ({kinds})")

    # -- declaration --------------------------------------------------------------------------

    def on(
        self,
        table: str | Sequence[str],
        *,
        when: Callable[[Attrs], bool] | None = None,
        req: Sequence[str] = (),
        **where: Any,
    ) -> Callable[[Function], Function]:
        """Decorate a kernel: add a row for each line ``"csr, default -> default"``.

        Parameters
        ----------
        table : str or sequence of str
            Storage types of inputs and outputs.  ``a|b`` are alternatives, ``*`` is any, a
            trailing ``...`` repeats the last input, ``=0`` is the storage type of input 0.
        when : callable, optional
            A condition on the attributes.
        req : sequence of str
            ``"add"`` if the kernel adds to its output when ``ctx.req`` says so; ``"inplace"`` if
            an output may be one of the inputs.  Otherwise such requests get a temporary.
        **where
            Values that attributes must have.
        """

        def add(kernel: Function) -> Function:
            for text in (table,) if isinstance(table, str) else table:
                self.rows.append(make_row(text, where, when, kernel, "", tuple(req)))
            return kernel

        return add

    def falls_back(self, table: str, *, when: Callable[[Attrs], bool] | None = None, **where: Any) -> None:
        """Add a row without a kernel: the dense body runs, the result ends in these storage types."""
        self.rows.append(make_row(table, where, when, None, "", ()))

    def refuse(
        self, table: str, reason: str, *, when: Callable[[Attrs], bool] | None = None, **where: Any
    ) -> None:
        """Add a row that is an error, with the reason."""
        self.rows.append(make_row(table, where, when, None, reason, ()))

    def grad(self, function: Function) -> Function:
        """Decorate the gradient ``f(g, *inputs, [outputs,] **attrs) -> gradient or tuple``.

        All are graph entries; ``g`` is a tuple where the operator has several outputs.  None
        stands for a gradient that is zero.  Name a keyword ``outputs`` to be given the outputs.
        """
        self.gradient = function
        return function

    def shape(self, function: Function) -> Function:
        """Decorate a shape rule ``f(inputs, outputs, **attrs) -> (inputs, outputs)``.

        Shapes are tuples with -1 for unknown dimensions, or None.  It replaces the signature.
        """
        self._shape_rule = function
        return function

    def dtype(self, function: Function) -> Function:
        """Decorate a dtype rule ``f(inputs, outputs, **attrs) -> (inputs, outputs)``, None = unknown."""
        self._dtype_function = function
        return function

    @functools.cached_property
    def attributes(self) -> dict[str, declarations.Attribute]:
        """Attributes by name, in the order of their declaration; read off the body at first use."""
        return declarations.declared(self.body)

    # -- facts --------------------------------------------------------------------------------

    def inputs_of(self, attrs: Attrs) -> tuple[str, ...]:
        """Return the names of the inputs under ``attrs`` (without those that attributes omit)."""
        if not self._omit:
            return self.input_names
        return tuple(n for n in self.input_names if n not in self._omit or not self._omit[n](attrs))

    def names(self, attrs: Attrs) -> tuple[str, ...]:
        """Return the names of all inputs, those that attributes omit included (for ``bind``)."""
        return self.input_names

    def aux_of(self, attrs: Attrs) -> Sequence[str]:
        """Return the names of the inputs that are auxiliary states."""
        return self.aux

    def num_outputs(self, attrs: Attrs) -> int:
        """Return how many outputs there are under ``attrs``."""
        return self._outputs(attrs) if callable(self._outputs) else self._outputs

    def normalize(self, given: Attrs) -> dict[str, Any]:
        """Return all attributes, checked, defaults filled in."""
        if "" in self.attributes or self.attributes.get("kwargs") is not None:
            return dict(given)
        return declarations.normalize(self.name, self.attributes, given)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Sort a call's arguments into inputs (None where absent) and attributes.

        Inputs come by position or name; positions after the inputs are attributes in the order of
        their declaration, as in MXNet's generated functions.
        """
        if self.variadic:
            return self._bind_variadic(args, kwargs)
        names = self.input_names
        given = {k: v for k, v in kwargs.items() if k not in names}
        inputs: list[Any] = [None] * len(names)
        position = 0
        for arg in args:
            while position < len(names) and names[position] in kwargs:
                position += 1
            is_array = hasattr(type(arg), "__ndsparse_apply__") or isinstance(arg, np.ndarray)
            if position < len(names) and (is_array or arg is None or position == 0 or not self._omit):
                inputs[position] = arg
                position += 1
                continue
            rest = [n for n in self.attributes if n not in given]
            position = max(position, len(names))
            if not rest or is_array:
                raise ArgumentTypeError(f"{self.name}: too many arguments; expected {self._usage()}")
            given[rest[0]] = arg
        for i, name in enumerate(names):
            if name in kwargs:
                inputs[i] = kwargs[name]
        return inputs, given

    def _bind_variadic(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = tuple(args[0])
        arrays = [a for a in args if hasattr(type(a), "__ndsparse_apply__") or isinstance(a, np.ndarray)]
        given = dict(kwargs)
        named = sorted(
            (k for k in given if k.startswith("arg") and k[3:].isdigit()), key=lambda k: int(k[3:])
        )
        arrays += [given.pop(k) for k in named]
        given.pop("num_args", None)
        rest = [n for n in self.attributes if n not in given]
        given.update(zip(rest, args[len(arrays) :], strict=False))
        return arrays, given

    def _usage(self) -> str:
        return f"{self.name}({', '.join((*self.input_names, *self.attributes))})"

    def infer_shape(
        self, inputs: Sequence[MaybeShape], outputs: Sequence[MaybeShape], attrs: Attrs
    ) -> tuple[list[MaybeShape], list[MaybeShape]]:
        """Return what follows for all shapes.  Raises ShapeError where they disagree."""
        if self._shape_rule is not None:
            ins, outs = self._shape_rule(list(inputs), list(outputs), **attrs)
            return list(ins), list(outs)
        signature = self.signature
        if self._omit:
            kept = self.inputs_of(attrs)
            signature = signature._replace(inputs=tuple(t for t in signature.inputs if t.name in kept))
        return shapes.solve(self.name, signature, inputs, outputs, attrs)

    def infer_dtype(
        self, inputs: Sequence[Any], outputs: Sequence[Any], attrs: Attrs
    ) -> tuple[list[Any], list[Any]]:
        """Return what follows for all dtypes (None = unknown)."""
        if self._dtype_function is not None:
            ins, outs = self._dtype_function(list(inputs), list(outputs), **attrs)
            return list(ins), list(outs)
        return self._dtype_rule.infer(self.name, inputs, outputs, attrs)

    def find_row(self, stypes: Sequence[str], attrs: Attrs, wanted: str | None = None) -> Row | None:
        """Return the first row for these storage types, ending in ``wanted`` if that is given."""
        for row in self.rows:
            if row.matches(stypes, attrs) and (
                wanted is None or row.refusal or row.result(stypes)[0] == wanted
            ):
                return row
        return None


def keywords(function: Function, attrs: Attrs) -> dict[str, Any]:
    """Return the attributes that ``function`` names (all, if it takes ``**``)."""
    names, takes_all = _parameters(function)
    return dict(attrs) if takes_all else {n: v for n, v in attrs.items() if n in names}


def takes(function: Function, name: str) -> bool:
    """Whether ``function`` has a parameter of that name."""
    return name in _parameters(function)[0]


@functools.lru_cache(maxsize=4096)  # reading a signature costs more than running a small operator
def _parameters(function: Function) -> tuple[frozenset[str], bool]:
    parameters = inspect.signature(function).parameters
    return frozenset(parameters), any(p.kind is p.VAR_KEYWORD for p in parameters.values())
