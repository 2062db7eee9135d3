"""The registry: what an operator is, declared once.

::

    @operator("lhs(m, k), rhs(k, n) -> (m, n)")
    def matmul(lhs, rhs): ...                       # dense body: meaning, FCompute, fallback, oracle

    @matmul.on("csr, default -> default")           # a row: storage types in and out (FInferStorageType)
    def _(lhs, rhs, out): ...                       #        and its kernel (FComputeEx)

    @matmul.grad                                    # gradient, as operators on graph entries
    def _(g, lhs, rhs): ...

The dense body takes and returns numpy arrays.  A row's kernel takes chunks: inputs, then outputs,
then the attributes it names; results are written through ``check_and_alloc_data`` and
``check_and_alloc_aux``.  Both may name ``ctx`` (:class:`OpContext`) and ``state``.

Because a row says both what comes out and how, inference and dispatch cannot disagree; the table
in the documentation is printed from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ndsparse.errors import ArgumentError, GraphError
from ndsparse.ops.operator import Operator, keywords, takes
from ndsparse.ops.rows import (
    ADD,
    FALLBACK,
    FCOMPUTE,
    FCOMPUTE_EX,
    INPLACE,
    NULL,
    REQS,
    VARIABLE,
    WRITE,
    Attrs,
    Function,
    OpContext,
    Row,
)

__all__ = [
    "ADD", "FALLBACK", "FCOMPUTE", "FCOMPUTE_EX", "INPLACE", "NULL", "REQS", "VARIABLE", "WRITE",
    "Attrs", "Function", "OpContext", "Operator", "Row", "add", "get", "keywords", "operator",
    "operators", "takes",
]  # fmt: skip

_OPERATORS: dict[str, Operator] = {}


def operator(
    signature: str, *, name: str | None = None, aliases: Iterable[str] = (), **options: Any
) -> Callable[[Function], Operator]:
    """Register an operator; decorates its dense body.

    Parameters
    ----------
    signature : str
        Inputs and shapes, see :mod:`ndsparse.ops.shapes`.
    name : str, optional
        Default: the name of the function.
    aliases : iterable of str
        Further names.
    dtypes : str
        See :mod:`ndsparse.ops.dtypes`; default: all the same.
    omit : dict
        Input name to a condition on the attributes under which the input is absent.
    hint : str
        The attribute that asks for an output storage type (``forward_stype``, ``stype``).
    mutates, aux : sequence of str
        Inputs that are written; inputs that are auxiliary states.
    variadic : bool
        Any number of inputs, named arg0, arg1, ...
    outputs : int or callable
        Number of outputs (of the attributes).
    inplace : bool
        The dense output may take the memory of the first input.
    into : bool
        The dense body accepts ``out=`` (one array) and writes its result there.
    pure : bool
        False for random or stateful operators: never merged, never folded.
    state : callable
        ``state(attrs)`` makes what the body and kernels receive as ``state`` (FStatefulCompute).
    """

    def register(body: Function) -> Operator:
        made = Operator(body, signature, name=name or body.__name__, **options)
        add(made, aliases)
        return made

    return register


def add(op: Operator, aliases: Iterable[str] = ()) -> None:
    """Enter an operator under its name and aliases."""
    for key in (op.name, *aliases):
        if key in _OPERATORS:
            raise ArgumentError(f"operator {key!r} is already registered")
        _OPERATORS[key] = op
    op.aliases += aliases


def get(name: str) -> Operator:
    """Return the operator of that name."""
    try:
        return _OPERATORS[name]
    except KeyError:
        raise GraphError(f"there is no operator {name!r}") from None


def operators() -> Mapping[str, Operator]:
    """Return all operators by name, aliases included."""
    return dict(_OPERATORS)
