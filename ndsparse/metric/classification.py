"""Metrics of predicted classes: Accuracy, TopKAccuracy, F1, MCC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.metric.base import Array, EvalMetric, paired, register, same_size


@register
class Accuracy(EvalMetric):
    """Share of rows whose predicted class is the label.

    Parameters
    ----------
    axis : int
        Of the classes in the prediction, whose largest value is the predicted class; predictions of
        the label's shape are classes already.
    name : str
    output_names, label_names : list of str, optional
    """

    aliases = ("acc",)

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Return the number of hits, and of rows."""
        found = pred if pred.shape == label.shape else np.argmax(pred, axis=self.axis)
        same_size(label, found, self.name)
        hits = found.astype(np.int64).ravel() == label.astype(np.int64).ravel()
        return float(np.count_nonzero(hits)), hits.size


@register
class TopKAccuracy(EvalMetric):
    """Share of rows whose label is among the ``top_k`` classes with the largest predictions.

    Parameters
    ----------
    top_k : int
        At least 2.
    name : str
        ``_<top_k>`` is appended.
    output_names, label_names : list of str, optional
    """

    aliases = ("top_k_accuracy", "top_k_acc")

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if top_k <= 1:
            raise ArgumentError(f"top_k: {top_k}; use Accuracy if it is not more than 1")
        super().__init__(f"{name}_{top_k}", output_names, label_names, top_k=top_k)
        self.top_k = top_k

    def get_config(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Return the number of hits, and of rows."""
        if pred.ndim == 1:
            hits = pred.astype(np.int64) == label.astype(np.int64)
        elif pred.ndim == 2 and len(pred) == label.size:
            k = min(self.top_k, pred.shape[1])
            best = np.argpartition(pred, pred.shape[1] - k, axis=1)[:, pred.shape[1] - k :]
            hits = (best == label.astype(np.int64).reshape(-1, 1)).any(axis=1)
        else:
            raise ShapeError(
                f"{self.name}: predictions {pred.shape} do not fit labels of shape {label.shape}"
            )
        return float(np.count_nonzero(hits)), hits.size


def _binary(label: Array, pred: Array, name: str) -> tuple[int, int, int, int]:
    """Return the numbers of true positives, false positives, false negatives and true negatives."""
    truth = label.astype(np.int64).ravel()
    if pred.ndim == 2 and pred.shape[1] > 1:
        found = np.argmax(pred, axis=1)
    else:  # one column: the probability of the positive class
        found = (pred.ravel() > 0.5).astype(np.int64)
    same_size(truth, found, name)
    if ((truth != 0) & (truth != 1)).any() or (found > 1).any():
        raise ArgumentError(f"{name} currently only supports binary classification: labels 0 and 1")
    tp = int(np.count_nonzero(found & truth))
    fp, fn = int(found.sum()) - tp, int(truth.sum()) - tp
    return tp, fp, fn, truth.size - tp - fp - fn


class _Binary(EvalMetric):
    """A function of the four counts: of each batch, averaged ("macro"), or of all rows ("micro")."""

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        if average not in ("macro", "micro"):
            raise ArgumentError(f"average: expected 'macro' or 'micro', got {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, average=average)

    def score(self, tp: int, fp: int, fn: int, tn: int) -> float:
        """Return the metric of the four counts."""
        raise NotImplementedError

    def reset(self) -> None:
        """Begin anew."""
        self._global_counts = np.zeros(4, np.int64)
        super().reset()

    def reset_local(self) -> None:
        """Begin anew, but keep the global value."""
        self._counts = np.zeros(4, np.int64)
        super().reset_local()

    def update(self, labels: Any, preds: Any) -> None:
        """Take in a batch."""
        batch = np.zeros(4, np.int64)
        for label, pred in paired(labels, preds):
            batch += _binary(label, pred, self.name)
        self._counts += batch
        self._global_counts += batch
        self.add(self.score(*batch.tolist()), 1)

    def get(self) -> tuple[str, float]:
        """Return the name and the value."""
        return self._of(self._counts) if self.average == "micro" and self.num_inst else super().get()

    def get_global(self) -> tuple[str, float]:
        """Return the name and the value since the last reset."""
        micro = self.average == "micro" and self.global_num_inst
        return self._of(self._global_counts) if micro else super().get_global()

    def _of(self, counts: Array) -> tuple[str, float]:
        return self.name, self.score(*counts.tolist())


@register
class F1(_Binary):
    """F1 score of the positive class: the harmonic mean of precision and recall.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        The mean of the batches' scores (as in MXNet), or the score of all rows.
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def score(self, tp: int, fp: int, fn: int, tn: int) -> float:
        """Return 2 tp / (2 tp + fp + fn), 0 where that is undefined."""
        return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


@register
class MCC(_Binary):
    """Matthews' correlation coefficient of two classes; -1 to 1, 0 for chance.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    average : {"macro", "micro"}
        The mean of the batches' coefficients (as in MXNet), or the coefficient of all rows.
    """

    def __init__(
        self,
        name: str = "mcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def score(self, tp: int, fp: int, fn: int, tn: int) -> float:
        """Return the coefficient; margins that are 0 count as 1, as in MXNet."""
        margins = (tp + fp, tp + fn, tn + fp, tn + fn)
        return (tp * tn - fp * fn) / math.sqrt(math.prod(m for m in margins if m))
