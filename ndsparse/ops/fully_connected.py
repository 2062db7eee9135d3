"""``FullyConnected``: an affine map of each sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.ops import products, shapes
from ndsparse.ops.operands import dense_of, flat
from ndsparse.ops.products import Matrix
from ndsparse.ops.registry import operator
from ndsparse.storage import Chunk, DefaultChunk
from ndsparse.storage.chunk import Shape

_DIRECT = "default|csr|row_sparse"


@operator(
    "data(*s), weight(num_hidden, k), bias(num_hidden) -> (*r)", omit={"bias": lambda attrs: attrs["no_bias"]}
)
def FullyConnected(
    data: Any, weight: Any, bias: Any = None, *, num_hidden: int, no_bias: bool = False, flatten: bool = True
) -> Any:
    """Return ``data @ weight.T + bias`` for each sample.

    Parameters
    ----------
    data : NDArray
        Dense, csr or row_sparse; more than two dimensions are flattened to a matrix, or (``flatten``
        False) the last one is mapped and the others are kept.
    weight : NDArray
        Shape (num_hidden, elements of a sample); rows that a row_sparse weight lacks are zero.
    bias : NDArray
        Shape (num_hidden,); absent with ``no_bias``.
    num_hidden : int
    no_bias : bool
    flatten : bool

    Notes
    -----
    csr data: O(nnz num_hidden), and one transposed copy of the weight.  The gradients of a weight and
    of a bias are dense.
    """
    n, k = _as_matrix(data.shape, flatten)
    result = data.reshape(n, k) @ weight.T
    if bias is not None:
        result = result + bias
    return result.reshape(_output(data.shape, num_hidden, flatten))


def _as_matrix(shape: Shape, flatten: bool) -> tuple[int, int]:
    if flatten:
        return shape[0], math.prod(shape[1:])
    return math.prod(shape[:-1]), shape[-1]


def _output(shape: Shape, num_hidden: int, flatten: bool) -> Shape:
    return (shape[0], num_hidden) if flatten else (*shape[:-1], num_hidden)


@FullyConnected.shape
def _(inputs: Any, outputs: Any, *, num_hidden: int, no_bias: bool, flatten: bool) -> Any:
    data, weight, *rest = inputs
    out = outputs[0]
    bias = [(num_hidden,)] * len(rest)
    if data is None:
        return [data, shapes.merge(weight, (num_hidden, shapes.UNKNOWN)), *bias], outputs
    inner = data[1:] if flatten else data[-1:]
    k = shapes.UNKNOWN if shapes.UNKNOWN in inner else math.prod(inner)
    wanted = shapes.merge(weight, (num_hidden, k))
    if wanted is None:
        raise ShapeError(
            f"FullyConnected: weight must have shape {(num_hidden, k)} for data {data}, got {weight}"
        )
    if rest and shapes.merge(rest[0], bias[0]) is None:
        raise ShapeError(f"FullyConnected: bias must have shape {bias[0]}, got {rest[0]}")
    found = shapes.merge(_output(data, num_hidden, flatten), out)
    if found is None:
        raise ShapeError(f"FullyConnected: data of shape {data} does not fit an output of {out}")
    lead = found[:-1]
    if len(inner) == 1:
        inner = wanted[1:]
    return [(*lead, *inner), wanted, *bias], [found]


@FullyConnected.grad
def _(g: Any, data: Any, weight: Any, *bias: Any, flatten: bool) -> Any:
    grad_data = _backward_FullyConnected_data(g, weight, data, flatten=flatten)
    grad_weight = _backward_FullyConnected_weight(g, data, weight, flatten=flatten)
    return grad_data, grad_weight, *(_backward_FullyConnected_bias(g) for _ in bias)


@operator("g(*g), weight(h, k), data(*s) -> (*s)")
def _backward_FullyConnected_data(g: Any, weight: Any, data: Any, *, flatten: bool = True) -> Any:
    """Return ``g @ weight`` in the shape of ``data``, whose values are not read."""
    n, _ = _as_matrix(data.shape, flatten)
    return (g.reshape(n, len(weight)) @ weight).reshape(data.shape)


@operator("g(*g), data(*s), weight(h, k) -> (h, k)")
def _backward_FullyConnected_weight(g: Any, data: Any, weight: Any, *, flatten: bool = True) -> Any:
    """Return ``g.T @ data``; the values of ``weight`` are not read."""
    n, k = _as_matrix(data.shape, flatten)
    return g.reshape(n, len(weight)).T @ data.reshape(n, k)


@operator("g(*n, h) -> (h)")
def _backward_FullyConnected_bias(g: Any) -> Any:
    """Return the sum over the samples."""
    return g.sum(axis=tuple(range(g.ndim - 1)), dtype=g.dtype)


# -- rows -----------------------------------------------------------------------------------------------


def _samples(data: Chunk, flatten: bool) -> Matrix:
    dims = _as_matrix(data.shape, flatten)
    if data.stype != "default" and dims[0] != data.shape[0]:
        data = DefaultChunk.of(data.to_dense())
    return products.matrix(data, dims)


def _affine(data: Chunk, weight: Chunk, bias: Chunk | None, out: DefaultChunk, flatten: bool) -> None:
    left = _samples(data, flatten)
    with flat(out, (left.rows, weight.shape[0])) as target:
        products.into(left, products.matrix(weight).T, target)
        if bias is not None:
            np.add(target, dense_of(bias), out=target, casting="unsafe")


@FullyConnected.on(f"{_DIRECT}, {_DIRECT} -> default", no_bias=True)
def _(data: Chunk, weight: Chunk, out: DefaultChunk, *, flatten: bool) -> None:
    _affine(data, weight, None, out, flatten)


@FullyConnected.on(f"{_DIRECT}, {_DIRECT}, default|row_sparse -> default", no_bias=False)
def _(data: Chunk, weight: Chunk, bias: Chunk, out: DefaultChunk, *, flatten: bool) -> None:
    _affine(data, weight, bias, out, flatten)


@_backward_FullyConnected_data.on(f"{_DIRECT}, {_DIRECT}, * -> default")
def _(g: Chunk, weight: Chunk, data: Chunk, out: DefaultChunk, *, flatten: bool) -> None:
    n, k = _as_matrix(data.shape, flatten)
    with flat(out, (n, k)) as target:
        head = products.matrix(DefaultChunk.of(dense_of(g)), (n, weight.shape[0]))
        products.into(head, products.matrix(weight), target)


@_backward_FullyConnected_weight.on(f"{_DIRECT}, {_DIRECT}, * -> default")
def _(g: Chunk, data: Chunk, weight: Chunk, out: DefaultChunk, *, flatten: bool) -> None:
    right = _samples(data, flatten)
    head = products.matrix(DefaultChunk.of(dense_of(g)), (right.rows, weight.shape[0]))
    with flat(out, weight.shape) as target:
        products.into(head.T, right, target)


__all__ = ["FullyConnected"]
