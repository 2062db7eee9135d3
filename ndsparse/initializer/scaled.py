"""Initializers whose values depend on the shape."""

from __future__ import annotations

import math

import numpy as np

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.initializer.base import Initializer, register
from ndsparse.initializer.writing import fill, fill_normal, fill_uniform, float_type
from ndsparse.ndarray.generator import generator
from ndsparse.ndarray.ndarray import NDArray


@register
class Orthogonal(Initializer):
    """A random orthogonal matrix (rows or columns, whichever are fewer, are orthogonal), scaled.

    Parameters
    ----------
    scale : float
    rand_type : {"uniform", "normal"}
        Distribution of the matrix that is orthogonalised.

    References
    ----------
    A. Saxe, J. McClelland, S. Ganguli: Exact solutions to the nonlinear dynamics of learning in deep
    linear neural networks (2014).
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        if rand_type not in ("uniform", "normal"):
            raise ArgumentError(f"rand_type: expected 'uniform' or 'normal', got {rand_type!r}")
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        rng = generator()
        start = rng.uniform(-1, 1, shape) if self.rand_type == "uniform" else rng.standard_normal(shape)
        u, _, v = np.linalg.svd(start, full_matrices=False)
        fill(arr, (self.scale * (u if u.shape == shape else v)).reshape(arr.shape))


@register
class Xavier(Initializer):
    """Numbers scaled by the numbers of inputs and outputs.

    Parameters
    ----------
    rnd_type : {"uniform", "gaussian"}
    factor_type : {"avg", "in", "out"}
        What the magnitude is divided by: the mean of inputs and outputs, or one of them.
    magnitude : float
        The numbers have the variance ``magnitude / factor`` (gaussian), or a third of it (uniform).

    Notes
    -----
    Inputs are ``shape[1]`` and outputs ``shape[0]``, each times the further dimensions.

    References
    ----------
    X. Glorot, Y. Bengio: Understanding the difficulty of training deep feedforward neural networks (2010).
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise ArgumentError(f"rnd_type: expected 'uniform' or 'gaussian', got {rnd_type!r}")
        if factor_type not in ("avg", "in", "out"):
            raise ArgumentError(f"factor_type: expected 'avg', 'in' or 'out', got {factor_type!r}")
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ShapeError(f"Xavier: {name} has shape {arr.shape}; it needs at least 2 dimensions")
        field = math.prod(arr.shape[2:])
        fan_in, fan_out = arr.shape[1] * field, arr.shape[0] * field
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            fill_uniform(arr, -scale, scale)
        else:
            fill_normal(arr, 0.0, scale)


@register
class MSRAPrelu(Xavier):
    """Gaussian numbers for layers followed by a (leaky) rectifier.

    Parameters
    ----------
    factor_type : {"avg", "in", "out"}
    slope : float
        Slope of the rectifier below 0.

    References
    ----------
    K. He and others: Delving deep into rectifiers (2015).
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Weights of a transposed convolution that interpolates bilinearly, shape (..., h, w)."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim != 4:
            raise ShapeError(f"Bilinear: {name} has shape {arr.shape}; wanted 4 dimensions")
        height, width = arr.shape[2:]
        half = math.ceil(width / 2.0)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        along = [1 - np.abs(np.arange(n) / half - centre) for n in (height, width)]
        fill(arr, np.broadcast_to(np.outer(*along), arr.shape))


@register
class LSTMBias(Initializer):
    """Biases of an LSTM: zeros, and ``forget_bias`` for the forget gate (the second quarter).

    Parameters
    ----------
    forget_bias : float
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        values = np.zeros(arr.shape, float_type(arr))
        hidden = arr.shape[0] // 4
        values[hidden : 2 * hidden] = self.forget_bias
        fill(arr, values)
