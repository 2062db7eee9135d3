"""What all metrics share, their registry, and several metrics as one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError
from ndsparse.ndarray.ndarray import NDArray

Array = np.ndarray[Any, Any]
T = TypeVar("T", bound="type[EvalMetric]")

_registry: dict[str, type[EvalMetric]] = {}


class EvalMetric:
    """Base of all metrics: a sum over batches, and the count it is divided by.

    A subclass defines :meth:`measure` (or overrides :meth:`update`).

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
        Which outputs and labels :meth:`update_dict` takes; default all.
    **kwargs
        Further parameters, kept for :meth:`get_config`.

    Attributes
    ----------
    sum_metric : float
    num_inst : int
        Since :meth:`reset` or :meth:`reset_local`.
    global_sum_metric, global_num_inst
        Since :meth:`reset`.
    """

    aliases: ClassVar[Sequence[str]] = ()

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = None if output_names is None else list(output_names)
        self.label_names = None if label_names is None else list(label_names)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    # -- feeding ----------------------------------------------------------------------------------

    def measure(self, label: Array, pred: Array) -> tuple[float, int]:
        """Return what a label and a prediction add to the sum and to the count."""
        raise NotImplementedError(f"{type(self).__name__} must define measure or update")

    def update(self, labels: Any, preds: Any) -> None:
        """Take in a batch.

        Parameters
        ----------
        labels, preds : NDArray, or list of NDArray
            As many labels as predictions.
        """
        for label, pred in paired(labels, preds):
            self.add(*self.measure(label, pred))

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Take in a batch given by names, of which ``output_names`` and ``label_names`` choose."""
        self.update(_chosen(label, self.label_names, "label"), _chosen(pred, self.output_names, "output"))

    def add(self, total: float, count: int) -> None:
        """Add to the sums."""
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def reset(self) -> None:
        """Begin anew."""
        self.global_sum_metric = 0.0
        self.global_num_inst = 0
        self.reset_local()

    def reset_local(self) -> None:
        """Begin anew, but keep what :meth:`get_global` reports."""
        self.sum_metric = 0.0
        self.num_inst = 0

    # -- reading ----------------------------------------------------------------------------------

    def value(self, total: float, count: int) -> float:
        """Return the metric of a sum and a count."""
        return total / count if count else math.nan

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value since the last :meth:`reset` or :meth:`reset_local`."""
        return self.name, self.value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Return the name and the value since the last :meth:`reset`."""
        return self.name, self.value(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, float]]:
        """Return ``get()`` as a list of (name, value)."""
        return _listed(*self.get())

    def get_global_name_value(self) -> list[tuple[str, float]]:
        """Return ``get_global()`` as a list of (name, value)."""
        return _listed(*self.get_global())

    def get_config(self) -> dict[str, Any]:
        """Return the parameters as plain values; :func:`create` makes the metric from them again."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }


class CompositeEvalMetric(EvalMetric):
    """Several metrics, fed together.

    Parameters
    ----------
    metrics : list of metrics, or of what :func:`create` takes, optional
    name : str
    output_names, label_names : list of str, optional
    """

    aliases = ("composite",)

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        self.metrics: list[EvalMetric] = [create(m) for m in metrics or []]
        super().__init__(name, output_names, label_names)

    def add(self, metric: Any) -> None:  # type: ignore[override]  # MXNet's name of another thing
        """Add a metric."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Return a metric by its position."""
        if not -len(self.metrics) <= index < len(self.metrics):
            raise ArgumentError(f"Metric index {index} is out of range 0 and {len(self.metrics)}")
        return self.metrics[index]

    def update(self, labels: Any, preds: Any) -> None:
        """Take in a batch."""
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Take in a batch given by names."""
        if self.label_names is not None:
            label = {k: v for k, v in label.items() if k in self.label_names}
        if self.output_names is not None:
            pred = {k: v for k, v in pred.items() if k in self.output_names}
        for metric in self.metrics:
            metric.update_dict(label, pred)

    def reset(self) -> None:
        """Begin anew."""
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Begin anew, but keep the global values."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[float]]:
        """Return the names and values of all metrics."""
        return _columns(pair for metric in self.metrics for pair in metric.get_name_value())

    def get_global(self) -> tuple[list[str], list[float]]:
        """Return the names and global values of all metrics."""
        return _columns(pair for metric in self.metrics for pair in metric.get_global_name_value())

    def get_config(self) -> dict[str, Any]:
        """Return the parameters as plain values."""
        return {**super().get_config(), "metrics": [m.get_config() for m in self.metrics]}


# -- registry -------------------------------------------------------------------------------------------


def register(klass: T) -> T:
    """Class decorator: make a metric known to :func:`create`, by its name in lower case and its aliases."""
    if not (isinstance(klass, type) and issubclass(klass, EvalMetric)):
        raise ArgumentTypeError(f"register: expected a subclass of EvalMetric, got {klass!r}")
    for name in (klass.__name__, *klass.__dict__.get("aliases", ())):
        _registry[name.lower()] = klass
    return klass


register(CompositeEvalMetric)


def create(metric: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a metric.

    Parameters
    ----------
    metric : str, EvalMetric, callable, dict or list of these
        A name; a metric; a function of numpy arrays ``(label, pred)``; what ``get_config`` returned; or
        a list of them, which gives a :class:`CompositeEvalMetric`.
    *args, **kwargs
        Parameters, with a name or a function.

    Raises
    ------
    ArgumentError
        There is no metric of that name, or it does not take these parameters.

    Examples
    --------
    >>> from ndsparse import metric
    >>> metric.create("top_k_accuracy", top_k=3).get()
    ('top_k_accuracy_3', nan)
    """
    if isinstance(metric, EvalMetric):
        return metric
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric(metric)
    if isinstance(metric, Mapping):
        config = dict(metric)
        return create(str(config.pop("metric", "")), **config)
    if callable(metric):
        from ndsparse.metric.custom import CustomMetric

        return CustomMetric(metric, *args, **kwargs)
    if not isinstance(metric, str):
        raise ArgumentTypeError(f"metric: expected a name, a function, a metric or a list, got {metric!r}")
    klass = _registry.get(metric.lower())
    if klass is None:
        raise ArgumentError(f"metric: there is no {metric!r}; there are {sorted(_registry)}")
    try:
        return klass(*args, **kwargs)
    except TypeError as error:
        raise ArgumentError(f"metric {metric!r}: {error}") from None


# -- arrays ---------------------------------------------------------------------------------------------


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Check that there are as many labels as predictions.

    Parameters
    ----------
    labels, preds : NDArray or list of NDArray
    wrap : bool
        Return lists even of single arrays.
    shape : bool
        Compare the shapes of single arrays, not their lengths.
    """
    if shape:
        mine, theirs = labels.shape, preds.shape
    else:
        mine, theirs = len(labels), len(preds)
    if mine != theirs:
        raise ShapeError(f"Shape of labels {mine} does not match shape of predictions {theirs}")
    if wrap:
        labels = labels if isinstance(labels, (list, tuple)) else [labels]
        preds = preds if isinstance(preds, (list, tuple)) else [preds]
    return labels, preds


def as_list(arrays: Any) -> list[Array]:
    """Return numpy arrays of one array or a list of them; dense memory is not copied."""
    given = arrays if isinstance(arrays, (list, tuple)) else [arrays]
    return [_numpy(a) for a in given]


def paired(labels: Any, preds: Any) -> list[tuple[Array, Array]]:
    """Return (label, prediction) pairs of numpy arrays; ShapeError if there are not as many of both."""
    left, right = as_list(labels), as_list(preds)
    if len(left) != len(right):
        raise ShapeError(f"Shape of labels {len(left)} does not match shape of predictions {len(right)}")
    return list(zip(left, right, strict=True))


def _numpy(array: Any) -> Array:
    if isinstance(array, NDArray):
        return array._chunk.data if array.stype == "default" else array.asnumpy()
    return np.asarray(array)


def same_size(label: Array, pred: Array, name: str) -> None:
    """Raise ShapeError unless both have the same number of elements."""
    if label.size != pred.size:
        raise ShapeError(f"{name}: labels of shape {label.shape} do not match predictions {pred.shape}")


def _chosen(table: Mapping[str, Any], names: Sequence[str] | None, what: str) -> list[Any]:
    if names is None:
        return list(table.values())
    for name in names:
        if name not in table:
            raise ArgumentError(f"metric: there is no {what} {name!r}; there are {list(table)}")
    return [table[name] for name in names]


def _listed(names: Any, values: Any) -> list[tuple[str, float]]:
    return list(zip(names, values, strict=True)) if isinstance(names, list) else [(names, values)]


def _columns(pairs: Any) -> tuple[list[str], list[float]]:
    found = list(pairs)
    return [n for n, _ in found], [v for _, v in found]
