"""Metrics of a user's function, and the mean of outputs that are losses already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ndsparse.metric.base import EvalMetric, as_list, paired, register

Function = Callable[[Any, Any], Any]


@register
class Loss(EvalMetric):
    """Mean of the outputs, which are losses; labels are not looked at.

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
    """

    def __init__(
        self,
        name: str = "loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, labels: Any, preds: Any) -> None:
        """Take in a batch."""
        for pred in as_list(preds):
            self.add(float(pred.sum(dtype="float64")), pred.size)


@register
class CustomMetric(EvalMetric):
    """A function of numpy arrays ``(label, pred)``.

    Parameters
    ----------
    feval : callable
        Returns a number, averaged over calls, or (sum, count).
    name : str, optional
        Default: the name of the function.
    allow_extra_outputs : bool
        Allow more predictions than labels; those left over are not looked at.
    output_names, label_names : list of str, optional
    """

    def __init__(
        self,
        feval: Function,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        """Take in a batch."""
        if self._allow_extra_outputs:
            labels = as_list(labels)
            preds = as_list(preds)[: len(labels)]
        for label, pred in paired(labels, preds):
            found = self._feval(label, pred)
            total, count = found if isinstance(found, tuple) else (found, 1)
            self.add(float(total), int(count))

    def get_config(self) -> dict[str, Any]:
        """Raise: a function is no plain value."""
        raise NotImplementedError("CustomMetric: a function cannot be written as a configuration")


def np(numpy_feval: Function, name: str | None = None, allow_extra_outputs: bool = False) -> CustomMetric:
    """Return a metric from a function of numpy arrays, named after it.

    Examples
    --------
    >>> from ndsparse import metric, nd
    >>> def worst(label, pred):
    ...     return abs(label - pred).max()
    >>> m = metric.np(worst)
    >>> m.update([nd.array([1, 2])], [nd.array([1, 5])])
    >>> m.get()
    ('worst', 3.0)
    """

    def feval(label: Any, pred: Any) -> Any:
        return numpy_feval(label, pred)

    feval.__name__ = getattr(numpy_feval, "__name__", type(numpy_feval).__name__)
    return CustomMetric(feval, name, allow_extra_outputs)
