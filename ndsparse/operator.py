"""Operators written in Python, as MXNet's ``mx.operator``.

Examples
--------
>>> import ndsparse as mx
>>> class Scale(mx.operator.CustomOp):
...     def __init__(self, factor):
...         super().__init__()
...         self.factor = factor
...
...     def forward(self, is_train, req, in_data, out_data, aux):
...         self.assign(out_data[0], req[0], in_data[0] * self.factor)
...
...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
...         self.assign(in_grad[0], req[0], out_grad[0] * self.factor)
>>> @mx.operator.register("scale")
... class ScaleProp(mx.operator.CustomOpProp):
...     def __init__(self, factor):
...         super().__init__(need_top_grad=True)
...         self.factor = float(factor)
...
...     def create_operator(self, ctx, shapes, dtypes):
...         return Scale(self.factor)
>>> mx.nd.Custom(mx.nd.array([1, 2]), op_type="scale", factor=3).asnumpy().tolist()
[3.0, 6.0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ndsparse.context import current_context
from ndsparse.errors import ArgumentTypeError
from ndsparse.ndarray.invoke import hooks, wrap
from ndsparse.ops import custom

__all__ = ["CustomOp", "CustomOpProp", "get_all_registered_operators", "register"]

_Prop = TypeVar("_Prop", bound="type[CustomOpProp]")


class CustomOp:
    """Computes; made by :meth:`CustomOpProp.create_operator`, one object a node of a graph."""

    def forward(
        self, is_train: bool, req: list[str], in_data: list[Any], out_data: list[Any], aux: list[Any]
    ) -> None:
        """Write the outputs.

        Parameters
        ----------
        is_train : bool
        req : list of str
            For each output "write", "add" or "null"; :meth:`assign` heeds it.
        in_data, out_data, aux : list of NDArray
        """
        raise NotImplementedError("CustomOp.forward must be defined")

    def backward(
        self,
        req: list[str],
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        in_grad: list[Any],
        aux: list[Any],
    ) -> None:
        """Write the gradients with respect to the arguments to ``in_grad``."""
        raise NotImplementedError("CustomOp.backward must be defined")

    def assign(self, dst: Any, req: str, src: Any) -> None:
        """Write ``src`` to ``dst`` as ``req`` says; the storage type of ``dst`` is kept."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst += src


class CustomOpProp:
    """Says what an operator takes and gives.

    Parameters
    ----------
    need_top_grad : bool
        Whether the backward pass uses the gradient of the outputs (a loss does not).
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Return the names of the arguments."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Return the names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Return the names of the auxiliary states, which the operator may change."""
        return []

    def infer_shape(self, in_shape: list[Any]) -> tuple[Any, ...]:
        """Return shapes of arguments, outputs and auxiliary states; default: outputs like argument 0."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> tuple[Any, ...]:
        """Return dtypes of arguments, outputs and auxiliary states; default: all that of argument 0."""
        aux = self.list_auxiliary_states()
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(aux)

    def infer_storage_type(self, in_stype: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Return storage types of arguments, outputs and auxiliary states.

        Unless a class defines this, sparse arguments are made dense (with a warning) and outputs are
        dense.
        """
        count = len(self.list_outputs())
        return in_stype, ["default"] * count, ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
        """Return the five lists with the storage types of the gradients in ``igrad_stype`` decided."""
        return ograd_stype, in_stype, out_stype, ["default"] * len(igrad_stype), aux_stype

    def declares_storage_types(self, direction: str) -> bool:
        """Whether the class says what it does with sparse arrays, ``forward`` or ``backward``."""
        name = "infer_storage_type" if direction == "forward" else "infer_storage_type_backward"
        return getattr(type(self), name) is not getattr(CustomOpProp, name)

    def declare_backward_dependency(
        self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]
    ) -> list[int]:
        """Return what the backward pass needs; kept for MXNet's programs, everything is provided."""
        heads = list(out_grad) if self.need_top_grad_ else []
        return [*heads, *in_data, *out_data]

    def create_operator(self, ctx: Any, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """Return the operator object for arguments of these shapes and dtypes."""
        return CustomOp()


def register(reg_name: str) -> Callable[[_Prop], _Prop]:
    """Register a property class under a name; decorates the class."""
    if not isinstance(reg_name, str):
        raise ArgumentTypeError(f"register: expected a name, got {type(reg_name).__name__}")

    def decorate(prop: _Prop) -> _Prop:
        if not issubclass(prop, CustomOpProp):
            raise ArgumentTypeError(f"register: {prop.__name__} must derive from CustomOpProp")
        custom.add_property(reg_name, prop)
        return prop

    return decorate


def get_all_registered_operators() -> list[str]:
    """Return the names of the operators written in Python."""
    return sorted(custom.PROPERTIES)


@contextmanager
def _unrecorded() -> Iterator[None]:
    """Keep what an operator computes inside out of autograd's record."""
    recorder, hooks.recorder = hooks.recorder, None
    try:
        yield
    finally:
        hooks.recorder = recorder


custom.connect(custom.Bridge(wrap, current_context, _unrecorded))
