"""numpy's protocols: ``np.exp(a)``, ``np.add(a, b)``, ``np.sum(a, axis=0)`` on NDArrays.

Functions that have an operator give NDArrays, in the storage type the operator gives.  All others
run on the numpy values of dense arrays and give what numpy gives; sparse arrays are refused, never
made dense unasked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ndsparse.errors import NotSupportedForSparse
from ndsparse.ndarray import arithmetic
from ndsparse.ndarray.operands import operand
from ndsparse.ops import registry

BINARY: dict[np.ufunc, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv",
    np.remainder: "mod", np.power: "pow", np.equal: "eq", np.not_equal: "ne", np.greater: "gt",
    np.greater_equal: "ge", np.less: "lt", np.less_equal: "le", np.maximum: "maximum",
    np.minimum: "minimum", np.hypot: "hypot",
}  # fmt: skip
"""Functions of two arrays to the names of :data:`ndsparse.ndarray.arithmetic.FORMS`."""

UNARY: dict[np.ufunc, str] = {
    np.absolute: "abs", np.negative: "negative", np.sign: "sign", np.rint: "rint", np.ceil: "ceil",
    np.floor: "floor", np.trunc: "trunc", np.square: "square", np.sqrt: "sqrt", np.cbrt: "cbrt",
    np.exp: "exp", np.expm1: "expm1", np.log: "log", np.log10: "log10", np.log2: "log2",
    np.log1p: "log1p", np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "arcsin",
    np.arccos: "arccos", np.arctan: "arctan", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh",
    np.arcsinh: "arcsinh", np.arccosh: "arccosh", np.arctanh: "arctanh", np.degrees: "degrees",
    np.radians: "radians", np.reciprocal: "reciprocal",
}  # fmt: skip
"""Functions of one array to operators."""


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Implement ``__array_ufunc__``."""
    out = kwargs.pop("out", None)
    if method != "__call__" or kwargs:
        return _by_numpy(getattr(ufunc, method), inputs, {**kwargs, **({"out": out} if out else {})})
    arrays = [_argument(x) for x in inputs]
    if ufunc is np.matmul:
        result = matmul(*arrays)
    elif ufunc in BINARY:
        result = arithmetic.binary(BINARY[ufunc], *arrays)
    elif UNARY.get(ufunc, "") in registry.operators():
        result = registry.get(UNARY[ufunc])(*arrays)
    else:
        return _by_numpy(ufunc, inputs, {"out": out} if out else {})
    return result if out is None else _written(result, out[0])


def _argument(value: Any) -> Any:
    """Return numpy and scipy arrays and lists as NDArrays, numbers and NDArrays as they are."""
    if hasattr(value, "_chunk") or arithmetic.is_number(value):
        return value
    found = operand(np.asarray(value) if isinstance(value, (list, tuple)) else value)
    return value if found is None else found


def _written(result: Any, out: Any) -> Any:
    if hasattr(out, "_chunk"):
        return result.copyto(out)
    np.copyto(out, result.asnumpy(), casting="same_kind")
    return out


def matmul(lhs: Any, rhs: Any) -> Any:
    """Return ``lhs @ rhs``: ``dot``, and products of stacked matrices where numpy has such."""
    dot = registry.get("dot")
    if lhs.ndim == 1 and rhs.ndim == 2 and rhs.stype != "default":
        return dot(rhs, lhs, transpose_a=True, forward_stype="default")
    if lhs.ndim <= 2 and rhs.ndim <= 2:
        return dot(lhs, rhs)
    if lhs.ndim == rhs.ndim == 3 and "batch_dot" in registry.operators():
        return registry.get("batch_dot")(lhs, rhs)
    return operand(np.ascontiguousarray(_by_numpy(np.matmul, (lhs, rhs), {})))


# -- functions that are no ufuncs -----------------------------------------------------------------------


def array_function(self: Any, function: Any, types: Iterable[type], args: Any, kwargs: Any) -> Any:
    """Implement ``__array_function__``."""
    found = _functions().get(function)
    if found is not None:
        try:
            return found(*args, **kwargs)
        except _Unusual:
            pass
    return _by_numpy(function, args, kwargs)


class _Unusual(Exception):
    """An argument that the operator does not take."""


def _operator(name: str, **renamed: str) -> Callable[..., Any]:
    """Return a function that calls an operator, keywords renamed; None is left out."""

    def function(*args: Any, **kwargs: Any) -> Any:
        op = registry.operators().get(name)
        given = {renamed.get(k, k): v for k, v in kwargs.items() if v is not None}
        if op is None or any(k not in op.attributes for k in given):
            raise _Unusual
        return op(*args, **given)

    return function


def _reduction(name: str) -> Callable[..., Any]:
    call = _operator(name)

    def function(a: Any, axis: Any = None, **kwargs: Any) -> Any:
        return call(a, axis=axis, **kwargs)

    return function


def _joining(name: str, axis_name: str) -> Callable[..., Any]:
    call = _operator(name, axis=axis_name)

    def function(arrays: Any, axis: int = 0) -> Any:
        if axis is None:
            raise _Unusual
        return call(*[_argument(a) for a in arrays], axis=axis)

    return function


@functools.cache
def _functions() -> dict[Any, Callable[..., Any]]:
    reductions = ("sum", "mean", "prod", "max", "min", "argmax", "argmin")
    return {
        **{getattr(np, name): _reduction(name) for name in reductions},
        np.dot: lambda a, b: _operator("dot")(*[_argument(x) for x in (a, b)]),
        np.concatenate: _joining("Concat", "dim"),
        np.stack: _joining("stack", "axis"),
        np.transpose: lambda a, axes=None: _operator("transpose")(a, axes=axes),
        np.reshape: lambda a, shape: a.reshape(shape),
        np.squeeze: lambda a, axis=None: _operator("squeeze")(a, axis=axis),
        np.expand_dims: lambda a, axis: _operator("expand_dims")(a, axis=axis),
        np.clip: lambda a, a_min, a_max: _operator("clip")(a, a_min=a_min, a_max=a_max),
        np.copy: lambda a: a.copy(),
        np.zeros_like: lambda a: a.zeros_like(),
        np.ones_like: _operator("ones_like"),
        np.shape: lambda a: a.shape,
        np.ndim: lambda a: a.ndim,
        np.size: lambda a: a.size,
    }


def _by_numpy(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    name = getattr(function, "__name__", str(function))
    return function(*[_values(a, name) for a in args], **{k: _values(v, name) for k, v in kwargs.items()})


def _values(value: Any, name: str) -> Any:
    """Return dense arrays as numpy arrays, also inside of lists; what numpy writes is their memory."""
    if hasattr(value, "_chunk"):
        if value.stype != "default":
            raise NotSupportedForSparse(
                f"np.{name}: there is no operator for a {value.stype} array; "
                "call asnumpy() or tostype('default') where a dense copy is wanted"
            )
        return value._chunk.data
    if isinstance(value, (list, tuple)):
        return type(value)([_values(v, name) for v in value])
    return value
