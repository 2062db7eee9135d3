"""Metrics of predicted probabilities: CrossEntropy, NegativeLogLikelihood, LogLoss, Perplexity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ndsparse.errors import ArgumentError, IndexOutOfBounds, ShapeError
from ndsparse.metric.base import Array, EvalMetric, register, same_size


def _picked(label: Array, pred: Array, name: str) -> tuple[Array, Array]:
    """Return the labels, and the probabilities predicted for them, of a (n, classes) prediction."""
    truth = label.ravel().astype(np.int64)
    if pred.ndim != 2 or len(pred) != truth.size:
        raise ShapeError(f"{name}: predictions {pred.shape} do not fit labels of shape {label.shape}")
    if truth.size and not 0 <= truth.min() <= truth.max() < pred.shape[1]:
        bad = truth[(truth < 0) | (truth >= pred.shape[1])][0]
        raise IndexOutOfBounds(f"{name}: the label {bad} is none of {pred.shape[1]} classes")
    return truth, pred[np.arange(truth.size), truth].astype(np.float64)


@register
class CrossEntropy(EvalMetric):
    """Mean of ``-log(p[label] + eps)`` over rows, of predictions (n, classes).

    Parameters
    ----------
    eps : float
    name : str
    output_names, label_names : list of str, optional
    """

    aliases: ClassVar[Sequence[str]] = ("ce", "cross-entropy", "cross_entropy")

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Return the sum over rows, and their number."""
        truth, picked = _picked(label, pred, self.name)
        return float(-np.log(picked + self.eps).sum()), truth.size


@register
class NegativeLogLikelihood(CrossEntropy):
    """The same as :class:`CrossEntropy`, under another name."""

    aliases = ("nll_loss", "nll-loss")

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class LogLoss(EvalMetric):
    """Mean logistic loss of two classes: ``-y log p - (1 - y) log(1 - p)``.

    Parameters
    ----------
    eps : float
        Probabilities are kept in [eps, 1 - eps].
    name : str
    output_names, label_names : list of str, optional

    Notes
    -----
    Labels are 0 or 1, or probabilities.  Predictions have one column (the probability of class 1) or two.
    MXNet has no such metric: its CrossEntropy needs a column for each class.
    """

    aliases = ("log_loss", "binary_cross_entropy")

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "logloss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Return the sum over rows, and their number."""
        y, p = label.ravel().astype(np.float64), positive(pred)
        same_size(y, p, self.name)
        if ((y < 0) | (y > 1)).any():
            raise ArgumentError(f"{self.name}: labels must lie in [0, 1]; found {y[(y < 0) | (y > 1)][0]}")
        p = np.clip(p.astype(np.float64), self.eps, 1 - self.eps)
        return float(-(y * np.log(p) + (1 - y) * np.log1p(-p)).sum()), y.size


def positive(pred: Array) -> Array:
    """Return the scores of the positive class: the only column, or the second of two."""
    return pred[:, 1] if pred.ndim == 2 and pred.shape[1] == 2 else pred.ravel()


@register
class Perplexity(EvalMetric):
    """``exp`` of the mean negative log likelihood of the labels.

    Parameters
    ----------
    ignore_label : int or None
        A label that does not count.
    axis : int
        Of the classes; only the last (-1) is supported, as in MXNet.
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(
        self,
        ignore_label: int | None = None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, axis=axis)
        self.ignore_label = ignore_label
        self.axis = axis

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Return the sum over the labels that count, and their number."""
        if self.axis not in (-1, pred.ndim - 1):
            raise ArgumentError(f"perplexity: axis is {self.axis}; wanted the last")
        if label.size * pred.shape[-1] != pred.size:
            raise ShapeError(f"perplexity: predictions {pred.shape} do not fit labels of shape {label.shape}")
        truth, rows = label.ravel(), pred.reshape(-1, pred.shape[-1])
        if self.ignore_label is not None:
            counts = truth != self.ignore_label
            truth, rows = truth[counts], rows[counts]
        _, picked = _picked(truth, rows, self.name)
        return float(-np.log(np.maximum(picked, 1e-10)).sum()), truth.size

    def value(self, total: float, count: int) -> float:
        """Return exp of the mean."""
        return math.exp(total / count) if count else math.nan
