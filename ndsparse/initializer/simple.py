"""Constants, and numbers of one distribution whatever the shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.initializer.base import Initializer, plain, register
from ndsparse.initializer.writing import fill, fill_normal, fill_uniform
from ndsparse.ndarray.ndarray import NDArray


@register
class Zero(Initializer):
    """Zeros."""

    aliases = ("zeros",)

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        fill(arr, 0.0)

    _init_default = _init_weight


@register
class One(Initializer):
    """Ones."""

    aliases = ("ones",)

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        fill(arr, 1.0)

    _init_default = _init_weight


@register
class Constant(Initializer):
    """One value, or given values.

    Parameters
    ----------
    value : float, list, numpy array or NDArray
        A number, or values that fit (or repeat to) the shape of the parameter.
    """

    def __init__(self, value: Any = 0.0) -> None:
        super().__init__(value=plain(value))
        self.value = value.asnumpy() if isinstance(value, NDArray) else value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        value = self.value if np.ndim(self.value) == 0 else np.asarray(self.value, arr.dtype)
        try:
            fill(arr, value)
        except ValueError as error:
            raise ShapeError(
                f"Constant: values for {name} do not fit the shape {arr.shape}: {error}"
            ) from None

    _init_default = _init_weight


@register
class Uniform(Initializer):
    """Uniform in [-scale, scale).

    Parameters
    ----------
    scale : float
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        fill_uniform(arr, -self.scale, self.scale)


@register
class Normal(Initializer):
    """Normal, of mean 0.

    Parameters
    ----------
    sigma : float
        Standard deviation.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        fill_normal(arr, 0.0, self.sigma)
