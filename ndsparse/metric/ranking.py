"""Metrics of an order: AUC."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ndsparse.errors import ArgumentError
from ndsparse.metric.base import Array, EvalMetric, register, same_size
from ndsparse.metric.likelihood import positive

BUFFER = 1 << 20
"""Rows that are kept as they came before equal scores are merged."""


@register
class AUC(EvalMetric):
    """Area under the ROC curve of two classes: the chance that a positive row has the larger score.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional

    Notes
    -----
    Exact; ties count half.  Labels above 0.5 are positive.  Predictions have one column or two (the
    second counts).  Between batches the counts of each distinct score are kept: O(distinct scores)
    memory and O(n log n) time in all.

    References
    ----------
    T. Fawcett: An introduction to ROC analysis (2006), section 7.
    """

    _since: _Counts

    def __init__(
        self,
        name: str = "auc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def reset(self) -> None:
        """Begin anew."""
        self._before = _Counts()
        super().reset()

    def reset_local(self) -> None:
        """Begin anew, but keep the global value."""
        if self.global_num_inst:
            self._before.merge(self._since)
        self._since = _Counts()
        super().reset_local()

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Keep the scores; the sums are made when the metric is read."""
        truth, scores = label.ravel() > 0.5, positive(pred)
        same_size(truth, scores, self.name)
        if np.isnan(scores).any():
            raise ArgumentError(f"{self.name}: a prediction is not a number")
        self._since.add(truth, scores)
        return 0.0, truth.size

    def get(self) -> tuple[str, float]:
        """Return the name and the area; nan unless both classes were seen."""
        return self.name, self._since.area()

    def get_global(self) -> tuple[str, float]:
        """Return the name and the area since the last reset."""
        whole = _Counts()
        whole.merge(self._before)
        whole.merge(self._since)
        return self.name, whole.area()


class _Counts:
    """Distinct scores, ascending, and how many rows of each class have them."""

    def __init__(self) -> None:
        self.scores = np.zeros(0)
        self.counts = np.zeros((2, 0), np.int64)
        self._waiting: list[tuple[Array, Array]] = []
        self._rows = 0

    def add(self, truth: Array, scores: Array) -> None:
        self._waiting.append((truth, scores.astype(np.float64)))
        self._rows += truth.size
        if self._rows >= max(BUFFER, len(self.scores)):
            self._settle()

    def merge(self, other: _Counts) -> None:
        other._settle()
        self._settle()
        self._unite(other.scores, other.counts)

    def _settle(self) -> None:
        if not self._waiting:
            return
        truth, scores = (np.concatenate(part) for part in zip(*self._waiting, strict=True))
        self._waiting, self._rows = [], 0
        self._unite(scores, np.stack([~truth, truth]).astype(np.int64))

    def _unite(self, scores: Array, counts: Array) -> None:
        everything = np.concatenate([self.scores, scores])
        both = np.concatenate([self.counts, counts], axis=1)
        order = np.argsort(everything, kind="stable")
        everything = everything[order]
        first = np.flatnonzero(np.append(True, everything[1:] != everything[:-1])) if len(order) else order
        self.scores = everything[first]
        self.counts = np.add.reduceat(both[:, order], first, axis=1) if len(first) else both

    def area(self) -> float:
        self._settle()
        negatives, positives = self.counts
        pairs = int(negatives.sum()) * int(positives.sum())
        if not pairs:
            return math.nan
        below = np.cumsum(negatives) - negatives
        return float(np.dot(positives.astype(np.float64), below + negatives / 2)) / pairs
