"""Operators as methods: ``a.sum(axis=0)`` is ``nd.sum(a, axis=0)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ndsparse.ndarray.namespace import function_of
from ndsparse.ops import registry

_SAME = """
abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmin argsort broadcast_axes cbrt ceil clip
cos cosh degrees depth_to_space diag dot exp expand_dims expm1 fix flip floor gamma gammaln log log10
log1p log2 log_softmax max mean min nanprod nansum norm one_hot ones_like pad pick prod radians rcbrt
reciprocal relu repeat rint round rsqrt sigmoid sign sin sinh slice slice_axis slice_like softmax
softmin sort split sqrt square squeeze sum swapaxes take tan tanh tile topk transpose trunc where
"""

METHODS: dict[str, str] = {**{name: name for name in _SAME.split()}, "flatten": "Flatten"}
"""Method to the operator behind it; those that are not registered are left out."""


def install(cls: type[Any], methods: Mapping[str, str] = METHODS) -> None:
    """Add the methods to ``cls``, except those it defines itself."""
    table = registry.operators()
    for method, name in methods.items():
        if name in table and method not in cls.__dict__:
            setattr(cls, method, _method(table[name], method, cls))


def _method(op: registry.Operator, name: str, cls: type[Any]) -> Callable[..., Any]:
    return function_of(op, name, cls.__module__, cls.__ndsparse_apply__)
