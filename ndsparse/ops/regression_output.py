"""Output layers of regression: LinearRegressionOutput, LogisticRegressionOutput, MAERegressionOutput.

They compute a prediction; their gradient is that of a loss between prediction and label, whatever
gradient arrives from above, as in MXNet: the loss is summed over the samples and averaged over the
outputs of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import csr_elementwise
from ndsparse.kernels.opcodes import Op
from ndsparse.ops import shapes
from ndsparse.ops.operands import give
from ndsparse.ops.registry import Operator, operator
from ndsparse.storage import Chunk, CSRChunk, DefaultChunk
from ndsparse.storage.chunk import Array

_SIGNATURE = "data(*s), label(*t) -> (*s)"


@operator(_SIGNATURE)
def LinearRegressionOutput(data: Any, label: Any, *, grad_scale: float = 1.0) -> Any:
    """Return ``data``; the gradient is that of half the squared error, ``data - label``.

    Parameters
    ----------
    data : NDArray
    label : NDArray, default or csr
        Of the shape of ``data``, or (n,) for (n, 1).
    grad_scale : float
        The gradient is multiplied by this and divided by the outputs of a sample.
    """
    return data


@operator(_SIGNATURE)
def LogisticRegressionOutput(data: Any, label: Any, *, grad_scale: float = 1.0) -> Any:
    """Return the sigmoid of ``data``; the gradient is that of the log loss, ``sigmoid(data) - label``.

    Parameters are those of LinearRegressionOutput.
    """
    return sigmoid(data)


@operator(_SIGNATURE)
def MAERegressionOutput(data: Any, label: Any, *, grad_scale: float = 1.0) -> Any:
    """Return ``data``; the gradient is that of the absolute error, ``sign(data - label)``.

    Parameters are those of LinearRegressionOutput.
    """
    return data


def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))`` without overflow."""
    e = np.exp(-np.abs(x))
    result: Array = np.where(x >= 0, 1, e) / (1 + e)
    return result.astype(x.dtype if x.dtype.kind == "f" else np.float32, copy=False)


def _shape(inputs: Any, outputs: Any, *, grad_scale: float) -> Any:
    data, label = inputs
    data = shapes.merge(data, outputs[0]) or data
    if data is None:
        return inputs, outputs
    if label is None:
        label = data[:1] if len(data) == 2 and data[1] == 1 else data
    elif shapes.known(data) and shapes.known(label) and math.prod(data) != math.prod(label):
        raise ShapeError(f"regression output: label of shape {label} does not fit data of shape {data}")
    return [data, label], [data]


@operator("out(*s), label(*t) -> (*s)")
def _backward_linear_reg_out(out: Any, label: Any, *, grad_scale: float = 1.0) -> Any:
    """Return ``(out - label) * grad_scale / outputs``."""
    return _scaled(out - label.reshape(out.shape), grad_scale)


@operator("out(*s), label(*t) -> (*s)")
def _backward_mae_reg_out(out: Any, label: Any, *, grad_scale: float = 1.0) -> Any:
    """Return ``sign(out - label) * grad_scale / outputs``."""
    return _scaled(np.sign(out - label.reshape(out.shape)), grad_scale)


def _scaled(difference: Array, grad_scale: float) -> Array:
    outputs = math.prod(difference.shape[1:])
    result: Array = difference * difference.dtype.type(grad_scale / max(outputs, 1))
    return result


def _gradient(backward: Operator) -> Callable[..., Any]:
    def rule(g: Any, data: Any, label: Any, *, outputs: Any, grad_scale: float) -> Any:
        return backward(outputs, label, grad_scale=grad_scale), None

    return rule


def _predict(op: Operator) -> Callable[..., None]:
    def run(data: DefaultChunk, label: Chunk, out: DefaultChunk) -> None:
        result = op.body(data.data, None)
        give(out, result.copy() if result is data.data else result)

    return run


for _op, _backward in (
    (LinearRegressionOutput, _backward_linear_reg_out),
    (LogisticRegressionOutput, _backward_linear_reg_out),
    (MAERegressionOutput, _backward_mae_reg_out),
):
    _op.shape(_shape)
    _op.grad(_gradient(_backward))
    _op.on("default, csr|row_sparse -> default")(_predict(_op))


def _csr_difference(out: DefaultChunk, label: CSRChunk, grad: DefaultChunk) -> Array:
    """Write ``out - label`` for a csr label and return the array."""
    target = grad.check_and_alloc_data(grad.shape)
    source = np.ascontiguousarray(out.data).reshape(label.shape)
    written = target.reshape(label.shape) if target.flags.c_contiguous else np.empty(label.shape, grad.dtype)
    csr_elementwise.csr_dense_sum(Op.RSUB, label.csr, source, written)
    if not target.flags.c_contiguous:
        np.copyto(target, written.reshape(target.shape))
    return target


@_backward_linear_reg_out.on("default, csr -> default")
def _(out: DefaultChunk, label: CSRChunk, grad: DefaultChunk, *, grad_scale: float) -> None:
    target = _csr_difference(out, label, grad)
    np.copyto(target, _scaled(target, grad_scale))


@_backward_mae_reg_out.on("default, csr -> default")
def _(out: DefaultChunk, label: CSRChunk, grad: DefaultChunk, *, grad_scale: float) -> None:
    target = _csr_difference(out, label, grad)
    np.copyto(target, _scaled(np.sign(target), grad_scale))
