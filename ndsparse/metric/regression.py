"""Metrics of predicted numbers: MAE, MSE, RMSE, PearsonCorrelation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.metric.base import Array, EvalMetric, paired, register, same_size


def _difference(label: Array, pred: Array, name: str) -> Array:
    label, pred = (a.reshape(-1, 1) if a.ndim == 1 else a for a in (label, pred))
    if label.shape != pred.shape:
        raise ShapeError(f"{name}: labels of shape {label.shape} do not match predictions {pred.shape}")
    return label.astype(np.float64) - pred


class _Error(EvalMetric):
    """The mean over batches of an error of each batch."""

    default_name = ""

    def __init__(
        self,
        name: str | None = None,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name or self.default_name, output_names, label_names)

    def error(self, difference: Array) -> float:
        """Return the error of a batch."""
        raise NotImplementedError

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Return the error of the batch, and 1."""
        return self.error(_difference(label, pred, self.name)), 1


@register
class MAE(_Error):
    """Mean absolute error of each batch, averaged over batches."""

    default_name = "mae"

    def error(self, difference: Array) -> float:
        """Return the mean absolute difference."""
        return float(np.abs(difference).mean())


@register
class MSE(_Error):
    """Mean squared error of each batch, averaged over batches."""

    default_name = "mse"

    def error(self, difference: Array) -> float:
        """Return the mean squared difference."""
        return float((difference**2).mean())


@register
class RMSE(_Error):
    """Root of the mean squared error of each batch, averaged over batches."""

    default_name = "rmse"

    def error(self, difference: Array) -> float:
        """Return the root of the mean squared difference."""
        return math.sqrt((difference**2).mean())


@register
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation of labels and predictions.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        The mean of the batches' correlations (as in MXNet), or the correlation of all rows.
    """

    aliases = ("pearsonr",)

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        if average not in ("macro", "micro"):
            raise ArgumentError(f"average: expected 'macro' or 'micro', got {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, average=average)

    def reset(self) -> None:
        """Begin anew."""
        self._global_moments = _Moments()
        super().reset()

    def reset_local(self) -> None:
        """Begin anew, but keep the global value."""
        self._moments = _Moments()
        super().reset_local()

    def update(self, labels: Any, preds: Any) -> None:
        """Take in a batch."""
        for label, pred in paired(labels, preds):
            same_size(label, pred, self.name)
            if label.size == 0:
                continue
            x, y = label.astype(np.float64).ravel(), pred.astype(np.float64).ravel()
            batch = _Moments()
            for moments in (batch, self._moments, self._global_moments):
                moments.add(x, y)
            self.add(batch.correlation(), 1)

    def get(self) -> tuple[str, float]:
        """Return the name and the value."""
        micro = self.average == "micro" and self.num_inst
        return (self.name, self._moments.correlation()) if micro else super().get()

    def get_global(self) -> tuple[str, float]:
        """Return the name and the value since the last reset."""
        micro = self.average == "micro" and self.global_num_inst
        return (self.name, self._global_moments.correlation()) if micro else super().get_global()


class _Moments:
    """Means and centred second moments of pairs, merged batch by batch.

    References
    ----------
    T. Chan, G. Golub, R. LeVeque: Updating formulae and a pairwise algorithm for computing sample
    variances (1979).
    """

    def __init__(self) -> None:
        self.n = 0
        self.mean = np.zeros(2)
        self.scatter = np.zeros((2, 2))

    def add(self, x: Array, y: Array) -> None:
        pairs = np.stack([x, y])
        mean = pairs.mean(axis=1)
        centred = pairs - mean[:, None]
        delta, n = mean - self.mean, self.n + x.size
        self.scatter += centred @ centred.T + np.outer(delta, delta) * (self.n * x.size / n)
        self.mean += delta * (x.size / n)
        self.n = n

    def correlation(self) -> float:
        scale = math.sqrt(self.scatter[0, 0] * self.scatter[1, 1])
        return float(self.scatter[0, 1]) / scale if scale else math.nan
