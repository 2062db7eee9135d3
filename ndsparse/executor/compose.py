"""Making symbols: operators on symbols, variables, groups, and symbols from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ndsparse.errors import ArgumentTypeError, GraphError
from ndsparse.executor.passes.infer_shape import SHAPE_KEY
from ndsparse.executor.passes.infer_storage_type import STYPE_KEY
from ndsparse.executor.passes.infer_type import CODES, DTYPE_KEY
from ndsparse.executor.scope import current_attributes
from ndsparse.executor.symbol import Symbol, as_tuple
from ndsparse.graph import Entry, Node, variable
from ndsparse.graph.build import fresh_name
from ndsparse.graph.json import from_json
from ndsparse.ops.registry import Operator
from ndsparse.storage import as_dtype, storage_class


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
        pairs = zip(op.names(attrs), inputs, strict=True)
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
        notes[SHAPE_KEY] = str(tuple(0 if n == -1 else int(n) for n in as_tuple(shape)))
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
