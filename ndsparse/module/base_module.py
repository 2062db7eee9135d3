"""BaseModule: training, scoring and prediction, on top of what a module can do with a batch."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ndsparse import metric as metrics
from ndsparse.errors import ArgumentError, ArgumentTypeError, NDSparseError
from ndsparse.executor.symbol import Symbol
from ndsparse.initializer import Uniform
from ndsparse.io.data import DataBatch
from ndsparse.model import BatchEndParam, Params, read_params, save_params
from ndsparse.module.arguments import require_iterator
from ndsparse.ndarray.invoke import dense
from ndsparse.ndarray.ndarray import NDArray

RowIds = Callable[[Any], Mapping[str, Any]]
"""From a batch to the rows it needs of each row_sparse parameter."""

DEFAULT_INIT = Uniform(0.01)


class ModuleStateError(NDSparseError, RuntimeError):
    """A method was called before the one that has to come first."""


class BaseModule:
    """Base of modules: a subclass binds, runs and updates; this class drives it.

    Attributes
    ----------
    binded, params_initialized, optimizer_initialized : bool
        How far the module has come: ``bind``, ``init_params``, ``init_optimizer``.
    for_training, inputs_need_grad : bool
        As given to ``bind``.
    """

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Symbol | None = None
        self._row_ids_expected = False

    def _require(self, *steps: str) -> None:
        """Raise unless these steps are done."""
        for step in steps:
            if not getattr(self, step):
                call = {"binded": "bind", "params_initialized": "init_params"}.get(step, "init_optimizer")
                raise ModuleStateError(f"{type(self).__name__}: call {call}() first")

    # -- what a subclass must do ----------------------------------------------------------------------

    data_names: list[str]
    output_names: list[str]
    label_names: list[str]
    data_shapes: list[Any]
    label_shapes: list[Any]
    output_shapes: list[tuple[str, tuple[int, ...]]]

    def bind(
        self,
        data_shapes: Sequence[Any],
        label_shapes: Sequence[Any] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Make the executors."""
        raise NotImplementedError

    def init_params(
        self,
        initializer: Any = DEFAULT_INIT,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters their first values."""
        raise NotImplementedError

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Get ready for updates."""
        raise NotImplementedError

    def get_params(self) -> tuple[Params, Params]:
        """Return copies of the parameters and auxiliary states."""
        raise NotImplementedError

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch to the outputs."""
        raise NotImplementedError

    def backward(self, out_grads: Any = None) -> None:
        """Run to the gradients."""
        raise NotImplementedError

    def update(self) -> None:
        """Update the parameters with the gradients."""
        raise NotImplementedError

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the outputs of the last forward pass."""
        raise NotImplementedError

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the data of the last backward pass."""
        raise NotImplementedError

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Feed a metric with the outputs of the last forward pass."""
        raise NotImplementedError

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch the executors."""
        raise NotImplementedError

    def prepare(self, data_batch: Any, sparse_row_id_fn: RowIds | None = None) -> None:
        """Get ready for a batch; a module with row_sparse weights pulls the rows it needs."""

    # -- parameters -----------------------------------------------------------------------------------

    @property
    def symbol(self) -> Any:
        """The graph."""
        return self._symbol

    def set_params(
        self,
        arg_params: Params,
        aux_params: Params | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Set the parameters and auxiliary states.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
        allow_missing : bool
            Leave those that are not given as they are.
        force_init : bool
            False does nothing where they are initialized already.
        allow_extra : bool
            Allow names that the graph does not have.
        """
        self.init_params(
            None, arg_params, aux_params or {}, allow_missing, force_init=force_init, allow_extra=allow_extra
        )

    def save_params(self, fname: str | os.PathLike[str]) -> None:
        """Write the parameters and auxiliary states to a file."""
        save_params(fname, *self.get_params())

    def load_params(self, fname: str | os.PathLike[str]) -> None:
        """Set the parameters and auxiliary states from a file."""
        self.set_params(*read_params(fname))

    # -- a batch --------------------------------------------------------------------------------------

    def forward_backward(self, data_batch: Any) -> None:
        """Run a batch to the gradients."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def _batches(self, eval_data: Any, num_batch: int | None, reset: bool, row_ids: Any) -> Iterator[Any]:
        """Run batches forward, and yield their numbers and themselves."""
        self._require("binded", "params_initialized")
        require_iterator("eval_data", eval_data)
        if reset:  # iterators that wrap go on where they wrapped: here all rows count, in their order
            getattr(eval_data, "hard_reset", getattr(eval_data, "reset", _nothing))()
        for nbatch, batch in enumerate(eval_data):
            if num_batch is not None and nbatch == num_batch:
                return
            self.prepare(batch, sparse_row_id_fn=row_ids)
            self.forward(batch, is_train=False)
            yield nbatch, batch

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: RowIds | None = None,
    ) -> list[tuple[str, float]]:
        """Run the data forward and return the metric.

        Parameters
        ----------
        eval_data : DataIter
        eval_metric : EvalMetric, or what ``metric.create`` takes
        num_batch : int, optional
            How many batches; default all.
        batch_end_callback, score_end_callback : callable or list of callables, optional
        reset : bool
            Reset the iterator first.
        epoch : int
            Passed to callbacks.
        sparse_row_id_fn : callable, optional
            From a batch to the row ids it needs of each row_sparse parameter.

        Returns
        -------
        list of (name, value)

        Notes
        -----
        Rows that only fill the last batch do not count (in MXNet they do).
        """
        found = metrics.create(eval_metric)
        found.reset()
        seen = 0
        for nbatch, batch in self._batches(eval_data, num_batch, reset, sparse_row_id_fn):
            self._measure(found, batch)
            _call(batch_end_callback, BatchEndParam(epoch, nbatch, found, locals()))
            seen = nbatch + 1
        _call(score_end_callback, BatchEndParam(epoch, seen, found, locals()))
        pairs: list[tuple[str, float]] = found.get_global_name_value()
        return pairs

    def _measure(self, eval_metric: Any, batch: Any) -> None:
        """Feed a metric, without the rows that only fill the batch."""
        if not batch.pad:
            self.update_metric(eval_metric, batch.label)
            return
        rows = _rows_of(batch)
        labels = [_first_rows(a, rows) for a in batch.label]
        outputs = [_first_rows(a, rows) for a in self.get_outputs()]
        eval_metric.update_dict(
            dict(zip(self.label_names, labels, strict=False)),
            dict(zip(self.output_names, outputs, strict=True)),
        )

    def iter_predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: RowIds | None = None,
    ) -> Iterator[tuple[list[NDArray], int, Any]]:
        """Yield (outputs, number of the batch, batch); rows that only fill the batch are cut off.

        The outputs belong to the executor: the next batch overwrites them.
        """
        for nbatch, batch in self._batches(eval_data, num_batch, reset, sparse_row_id_fn):
            outputs = self.get_outputs()
            if batch.pad:
                outputs = [_first_rows(a, _rows_of(batch)) for a in outputs]
            yield outputs, nbatch, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: RowIds | None = None,
    ) -> Any:
        """Return the outputs for the data.

        Parameters
        ----------
        eval_data : DataIter, NDArray or numpy array
            An array is one batch.
        num_batch : int, optional
            How many batches; default all.
        merge_batches : bool
            Join the batches; if not, return a list of lists, one a batch.
        reset : bool
            Reset the iterator first.
        always_output_list : bool
            Return a list even of one output.
        sparse_row_id_fn : callable, optional
            From a batch to the row ids it needs of each row_sparse parameter.
        """
        if isinstance(eval_data, (NDArray, np.ndarray)):
            data = eval_data if isinstance(eval_data, NDArray) else dense(np.ascontiguousarray(eval_data))
            eval_data, merge_batches = [DataBatch([data])], True
        batches = [
            [out.copy() for out in outputs]
            for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        if len({len(b) for b in batches}) > 1:
            raise ArgumentError("predict: the batches have different numbers of outputs; merge_batches=False")
        merged = [_joined(parts) for parts in zip(*batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    # -- training -------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = DEFAULT_INIT,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: RowIds | None = None,
    ) -> None:
        """Train.

        Parameters
        ----------
        train_data : DataIter
        eval_data : DataIter, optional
            Scored after every epoch.
        eval_metric : EvalMetric, or what ``metric.create`` takes
        epoch_end_callback : callable or list, optional
            Called with (epoch, symbol, arg_params, aux_params); the parameters are copied for it.
        batch_end_callback, eval_end_callback, eval_batch_end_callback : callable or list, optional
            Called with a :class:`ndsparse.model.BatchEndParam`.
        kvstore : str or KVStore or None
            A name makes a store where one is needed: for several contexts, for distributed
            training, or for row_sparse weights with ``sparse_row_id_fn``.
        optimizer : str or Optimizer
        optimizer_params : dict or pairs
            With a name.
        initializer : Initializer
        arg_params, aux_params : dict, optional
            First values, before the initializer's.
        allow_missing : bool
            Let the initializer make those that ``arg_params`` does not have.
        force_rebind, force_init : bool
            Do it again if it was done.
        begin_epoch, num_epoch : int
            Epochs ``begin_epoch`` to ``num_epoch - 1``.
        validation_metric : EvalMetric, or what ``metric.create`` takes
            For ``eval_data``; default ``eval_metric``.
        monitor : Monitor, optional
        sparse_row_id_fn : callable, optional
            From a batch to a dict of the row ids it needs of each row_sparse parameter: only these
            rows go from the store to the executors.
        """
        if num_epoch is None:
            raise ArgumentTypeError("fit: please specify number of epochs (num_epoch)")
        require_iterator("train_data", train_data, "provide_data", "reset")
        if eval_data is not None:
            require_iterator("eval_data", eval_data)
        self._row_ids_expected = sparse_row_id_fn is not None
        if not self.binded or force_rebind:
            self.bind(train_data.provide_data, train_data.provide_label, True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        if not self.params_initialized or force_init or arg_params is not None:
            anew = not self.params_initialized or force_init
            self.init_params(initializer, arg_params, aux_params, allow_missing, force_init=anew)
        if not self.optimizer_initialized:
            self.init_optimizer(kvstore, optimizer, optimizer_params)
        eval_metric = metrics.create(eval_metric)
        validation_metric = eval_metric if validation_metric is None else metrics.create(validation_metric)
        for epoch in range(begin_epoch, num_epoch):
            self._epoch(epoch, train_data, eval_metric, batch_end_callback, monitor, sparse_row_id_fn)
            self._end_epoch(epoch, epoch_end_callback)
            if eval_data is not None:
                callbacks = (eval_batch_end_callback, eval_end_callback)
                self._validate(epoch, eval_data, validation_metric, callbacks, sparse_row_id_fn)
            train_data.reset()

    def _epoch(
        self, epoch: int, train_data: Any, eval_metric: Any, callbacks: Any, monitor: Any, row_ids: Any
    ) -> None:
        tic = time.perf_counter()
        eval_metric.reset()
        pairs: list[tuple[str, float]] = []
        batches = iter(train_data)
        batch, nbatch = next(batches, None), 0
        if batch is None:  # left at its end by whoever used it before
            train_data.reset()
            batches = iter(train_data)
            batch = next(batches, None)
        while batch is not None:
            if monitor is not None:
                monitor.tic()
            self.prepare(batch, sparse_row_id_fn=row_ids)
            self.forward_backward(batch)
            self.update()
            self.update_metric(eval_metric, batch.label)
            batch = next(batches, None)  # now, so that the last callback finds the metric read
            if monitor is not None:
                monitor.toc_print()
            if batch is None:
                pairs = eval_metric.get_global_name_value()
            _call(callbacks, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            nbatch += 1
        for name, value in pairs:
            self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
        self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.perf_counter() - tic)

    def _validate(self, epoch: int, data: Any, metric: Any, callbacks: Sequence[Any], row_ids: Any) -> None:
        found = self.score(
            data,
            metric,
            batch_end_callback=callbacks[0],
            score_end_callback=callbacks[1],
            epoch=epoch,
            sparse_row_id_fn=row_ids,
        )
        for name, value in found:
            self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)

    def _end_epoch(self, epoch: int, callbacks: Any) -> None:
        if callbacks is not None:
            arg_params, aux_params = self.get_params()
            for callback in _as_list(callbacks):
                callback(epoch, self.symbol, arg_params, aux_params)


def _nothing() -> None:
    """Do nothing: a list of batches needs no reset."""


def _as_list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _call(callbacks: Any, param: BatchEndParam) -> None:
    if callbacks is not None:
        for callback in _as_list(callbacks):
            callback(param)


def _rows_of(batch: Any) -> int:
    """Return the rows of a batch that count."""
    return int(batch.data[0].shape[0]) - int(batch.pad)


def _first_rows(array: Any, rows: int) -> Any:
    return array[0:rows]


def _joined(parts: Sequence[NDArray]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if all(p.stype == "default" for p in parts):
        return dense(np.concatenate([p._chunk.data for p in parts], axis=0))
    from ndsparse.ops import registry

    return registry.get("Concat")(*parts, dim=0)
