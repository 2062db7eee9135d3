"""``SoftmaxOutput`` and ``softmax_cross_entropy``: class probabilities and the loss on them."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.ops import shapes
from ndsparse.ops.operands import as_ids, check_ids
from ndsparse.ops.registry import operator
from ndsparse.storage.chunk import Array, Shape

Normalization = Literal["null", "batch", "valid"]


@operator("data(*s), label(*t) -> (*s)", aliases=("Softmax",))
def SoftmaxOutput(
    data: Any,
    label: Any,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Normalization = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Any:
    """Return the softmax of ``data``; the gradient is that of the cross entropy with ``label``.

    Parameters
    ----------
    data : NDArray
        Shape (n, classes); more dimensions are flattened to that, unless ``multi_output`` or
        ``preserve_shape`` say otherwise.
    label : NDArray
        Class numbers, or probabilities in the shape of ``data``.
    grad_scale : float
        Factor of the gradient.
    ignore_label : float
        The class number that "valid" does not count, and that has no gradient with ``use_ignore``.
    multi_output : bool
        Classes are axis 1; each place on the other axes has a label.  The gradient is divided by the
        number of places (unless "valid").
    use_ignore : bool
    preserve_shape : bool
        Classes are the last axis.
    normalization : str
        Divide the gradient by nothing ("null"), the samples ("batch"), or the labels that are not
        ``ignore_label`` ("valid").
    out_grad : bool
        Multiply by the gradient that arrives (which is ignored otherwise).
    smooth_alpha : float
        Label smoothing: that much of the probability goes to the other classes.
    """
    return softmax(_by_class(data, multi_output, preserve_shape), 1).reshape(data.shape)


def softmax(x: Array, axis: int) -> Array:
    """Return ``exp(x) / sum(exp(x))`` along an axis, without overflow."""
    values = _floating(x)
    e = np.exp(values - values.max(axis=axis, keepdims=True, initial=-np.inf))
    result: Array = e / e.sum(axis=axis, keepdims=True, dtype=e.dtype)
    return result


def _floating(x: Array) -> Array:
    return x if x.dtype.kind == "f" else x.astype(np.float32)


def _by_class(x: Array, multi_output: bool, preserve_shape: bool) -> Array:
    """Return the array as (places, classes, places of a sample)."""
    return x.reshape(_class_dims(x.shape, multi_output, preserve_shape))


def _class_dims(shape: Shape, multi_output: bool, preserve_shape: bool) -> tuple[int, int, int]:
    if multi_output:
        return shape[0], shape[1], math.prod(shape[2:])
    if preserve_shape or len(shape) == 1:
        return math.prod(shape[:-1]), shape[-1], 1
    return shape[0], math.prod(shape[1:]), 1


@SoftmaxOutput.shape
def _(inputs: Any, outputs: Any, *, multi_output: bool, preserve_shape: bool, **attrs: Any) -> Any:
    data, label = inputs
    data = shapes.merge(data, outputs[0]) or data
    if data is None:
        return inputs, outputs
    if multi_output and len(data) < 2:
        raise ShapeError(f"SoftmaxOutput: multi_output wants at least 2 dimensions, got data of shape {data}")
    if label is None:
        label = _label_shape(data, multi_output, preserve_shape)
    elif shapes.known(data) and shapes.known(label):
        places = math.prod(_class_dims(data, multi_output, preserve_shape)[::2])
        if label != data and math.prod(label) != places:
            raise ShapeError(f"SoftmaxOutput: expected {places} labels for data of shape {data}, got {label}")
    return [data, label], [data]


def _label_shape(data: Shape, multi_output: bool, preserve_shape: bool) -> Shape:
    if multi_output:
        rest = shapes.UNKNOWN if shapes.UNKNOWN in data[2:] else math.prod(data[2:])
        return data[0], rest
    return data[:-1] if preserve_shape or len(data) < 3 else data[:1]


@SoftmaxOutput.grad
def _(g: Any, data: Any, label: Any, *, outputs: Any, **attrs: Any) -> Any:
    return _backward_SoftmaxOutput(g, outputs, label, **attrs), None


@operator("g(*s), out(*s), label(*t) -> (*s)")
def _backward_SoftmaxOutput(
    g: Any,
    out: Any,
    label: Any,
    *,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Normalization = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Any:
    """Return the gradient of the cross entropy with respect to the data of SoftmaxOutput."""
    factor = g if out_grad else 1
    if label.shape == out.shape:
        return (out - label) * out.dtype.type(grad_scale) * factor
    probabilities = _by_class(out, multi_output, preserve_shape)
    places, classes, inner = probabilities.shape
    labels = as_ids(label).reshape(places, 1, inner)
    counted = labels != int(ignore_label)
    _check_labels(labels[counted] if use_ignore else labels, classes)
    here = labels == np.arange(classes)[:, None]
    wrong = out.dtype.type(smooth_alpha / max(classes - 1, 1))
    target = np.where(here, out.dtype.type(1 - smooth_alpha), wrong)
    grad = probabilities - target
    if use_ignore:
        grad = np.where(counted, grad, out.dtype.type(0))
    scale = grad_scale / _divisor(normalization, counted)
    return (grad * out.dtype.type(scale)).reshape(out.shape) * factor


def _check_labels(labels: Array, classes: int) -> None:
    check_ids(labels, classes, "SoftmaxOutput", "label")


def _divisor(normalization: str, counted: Array) -> int:
    """Return what the gradient is divided by; ``counted`` is (places, 1, places of a sample)."""
    if normalization == "valid":
        return max(int(counted.sum()), 1)
    places, inner = int(counted.shape[0]), int(counted.shape[2])
    return max(inner * (places if normalization == "batch" else 1), 1)


@operator("data(n, k), label(n) -> (1)")
def softmax_cross_entropy(data: Any, label: Any) -> Any:
    """Return the sum over the samples of ``-log(softmax(data)[label])``.

    Parameters
    ----------
    data : NDArray, shape (n, k)
    label : NDArray, shape (n,)
        Class numbers.
    """
    labels = as_ids(label)
    _check_labels(labels, data.shape[1])
    values = _floating(data)
    shifted = values - values.max(axis=1, keepdims=True, initial=-np.inf)
    logs = shifted[np.arange(len(labels)), labels] - np.log(np.exp(shifted).sum(axis=1))
    return -logs.sum(keepdims=True)


@softmax_cross_entropy.grad
def _(g: Any, data: Any, label: Any) -> Any:
    return _backward_softmax_cross_entropy(g, data, label), None


@operator("g(1), data(n, k), label(n) -> (n, k)")
def _backward_softmax_cross_entropy(g: Any, data: Any, label: Any) -> Any:
    """Return the gradient of softmax_cross_entropy with respect to ``data``."""
    grad = softmax(data, 1)
    grad[np.arange(len(label)), as_ids(label)] -= 1
    return grad * g
