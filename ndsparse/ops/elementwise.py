"""What the elementwise operators share: how a function is evaluated, and the rows that follow from it.

The families (``unary``, ``scalar``, ``elemwise``, ``clip``, ...) are loops over tables that name a
function and its derivative; this module turns an entry into an operator.

* :func:`evaluate` applies a function and writes into ``out`` where that is wanted.
* :func:`stored_rows` adds ``csr -> csr`` and ``row_sparse -> row_sparse``: the function on the stored
  values, for functions that map 0 to 0.
* :func:`chain_rule` makes the operator ``ograd * f'(data)`` that gradients use, with rows that keep
  the gradient as sparse as what arrives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ndsparse.ops.functions import OF_FLOATS
from ndsparse.ops.registry import Attrs, Operator, operator
from ndsparse.storage.structure import canonical, gather, like, scatter

Function = Callable[..., Any]
Condition = Callable[[Attrs], bool]

SPARSE = ("csr", "row_sparse")
BOOL = np.dtype(np.bool_)


def evaluate(function: Function, arrays: Sequence[Any], out: Any = None, **attrs: Any) -> Any:
    """Return ``function(*arrays)``, in ``out`` if given.

    Booleans are computed as small integers where the function has no meaning for them.
    """
    if any([a.dtype == BOOL for a in arrays]):  # a list is quicker than a generator here
        arrays = [a.astype(np.int8) if a.dtype == np.bool_ else a for a in arrays]
    if function in OF_FLOATS and all(a.dtype.kind == "f" for a in arrays):
        function = OF_FLOATS[function]
    if isinstance(function, np.ufunc):
        if out is None:
            return function(*arrays)
        return function(*arrays, out=out, casting="unsafe")
    result = function(*arrays, **attrs)
    if out is None:
        return result
    np.copyto(out, result, casting="unsafe")
    return out


def dense_body(function: Function, doc: str) -> Function:
    """Return a dense body for ``function(data, *, attributes)`` that can write into ``out``."""

    def body(data: Any, out: Any = None, **attrs: Any) -> Any:
        return evaluate(function, (data,), out, **attrs)

    return _declared(body, function, doc)


def _declared(body: Function, function: Function, doc: str) -> Function:
    """Return ``body`` with the keywords of ``function``, which are the operator's attributes."""
    if not isinstance(function, np.ufunc):
        functools.update_wrapper(body, function, assigned=("__annotations__",))
    body.__doc__ = doc
    return body


def stored_rows(
    op: Operator, function: Function, *, when: Condition | None = None, kinds: Sequence[str] = SPARSE
) -> None:
    """Add rows that apply ``function(values, **attributes)`` to what is stored and keep the structure."""

    def kernel(data: Any, out: Any, **attrs: Any) -> None:
        source = canonical(data)
        values = source.data
        evaluate(function, (values,), like(out, source), **attrs)

    op.on([f"{kind} -> {kind}" for kind in kinds], when=when, req=("inplace",))(kernel)


def chain_rule(name: str, derivative: Function) -> Operator:
    """Register the operator ``name(ograd, data) = ograd * derivative(data, **attributes)``.

    Parameters
    ----------
    derivative : callable
        ``derivative(data, *, attributes)``; its keywords are the operator's attributes.  ``data`` is
        the input or the output of the function, whichever the gradient rule gives.

    Notes
    -----
    Where ``ograd`` is sparse, the result has its structure: an absent gradient is zero, whatever
    the derivative.  Where ``ograd`` is dense and the data sparse, the result has the structure of the
    data if the derivative at 0 is 0, and is dense otherwise; neither reads the data as dense.
    """

    def body(ograd: Any, data: Any, **attrs: Any) -> Any:
        return np.multiply(ograd, derivative(data, **attrs), dtype=_float(ograd, data))

    doc = f"Return the gradient that ``{name.removeprefix('_backward_')}`` passes on: ``ograd * f'(data)``."
    op = operator("ograd(*s), data(*s) -> (*s)", name=name, inplace=True)(_declared(body, derivative, doc))

    def at_zero(attrs: Attrs) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(derivative(np.zeros(1), **attrs)).reshape(-1)[0]

    def zero_at_zero(attrs: Attrs) -> bool:
        return bool(at_zero(attrs) == 0)

    @op.on([f"{a}, {b} -> {a}" for a in SPARSE for b in (a, "default")])
    def _(ograd: Any, data: Any, out: Any, **attrs: Any) -> None:
        places = canonical(ograd)
        values = body(places.data, gather(places, canonical(data)), **attrs)
        np.copyto(like(out, places), values, casting="unsafe")

    @op.on([f"default, {b} -> {b}" for b in SPARSE], when=zero_at_zero)
    def _(ograd: Any, data: Any, out: Any, **attrs: Any) -> None:
        places = canonical(data)
        values = body(gather(places, ograd), places.data, **attrs)
        np.copyto(like(out, places), values, casting="unsafe")

    @op.on([f"default, {b} -> default" for b in SPARSE])
    def _(ograd: Any, data: Any, out: Any, **attrs: Any) -> None:
        places = canonical(data)
        values = body(gather(places, ograd), places.data, **attrs)
        target = out.check_and_alloc_data(out.shape)
        np.multiply(ograd.data, at_zero(attrs), out=target, casting="unsafe")
        scatter(places, values, target)

    return op


def _float(*arrays: Any) -> Any:
    """Return the dtype to compute in: the promoted one, so that a float64 table value widens nothing."""
    dtype = np.result_type(*arrays)
    return dtype if dtype.kind == "f" else None
