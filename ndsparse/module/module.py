"""Module: one graph, bound to one or several contexts."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.context import Context, cpu
from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.executor.symbol import Symbol
from ndsparse.io.data import DataDesc
from ndsparse.model import Params, load_checkpoint, params_file
from ndsparse.module.arguments import require_batch
from ndsparse.module.base_module import DEFAULT_INIT, BaseModule, RowIds
from ndsparse.module.executor_group import ExecutorGroup
from ndsparse.module.first_values import first_values
from ndsparse.module.optimizing import Plan
from ndsparse.module.weights import LocalWeights, StoreWeights
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ops.registry import NULL

DEFAULT_LABELS = ("softmax_label",)


class Module(BaseModule):
    """A graph with its parameters.

    Parameters
    ----------
    symbol : Symbol
    data_names : sequence of str
        Variables that get the data of a batch.
    label_names : sequence of str or None
        Variables that get its labels.
    logger : logging.Logger or module
    context : Context or list of Context
        Several contexts share the rows of each batch.
    work_load_list : optional
        Accepted as in MXNet; the rows are shared evenly.
    fixed_param_names : sequence of str, optional
        Parameters that are not trained.
    state_names : sequence of str, optional
        Variables that are neither data nor parameters, set by :meth:`set_states`.
    group2ctxs : optional
        Accepted as in MXNet; there is one kind of device.
    compression_params : dict, optional
        Of gradients on their way to a distributed store.

    Examples
    --------
    >>> import ndsparse as mx
    >>> x, w = mx.sym.Variable("data", stype="csr"), mx.sym.Variable("w", stype="row_sparse", shape=(4, 1))
    >>> net = mx.sym.LinearRegressionOutput(mx.sym.sparse.dot(x, w), mx.sym.Variable("label"))
    >>> mod = mx.mod.Module(net, label_names=["label"])
    >>> mod.bind([("data", (2, 4))], [("label", (2, 1))])
    >>> mod.init_params(mx.init.Zero())
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = DEFAULT_LABELS,
        logger: Any = logging,
        context: Any = None,
        work_load_list: Any = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compression_params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(logger)
        if not isinstance(symbol, Symbol):
            raise ArgumentTypeError(f"symbol: expected a Symbol, got {type(symbol).__name__}")
        self._symbol = symbol
        contexts = cpu() if context is None else context
        self._context = [
            Context(c) for c in (contexts if isinstance(contexts, (list, tuple)) else [contexts])
        ]
        self.data_names = list(data_names or [])
        self.label_names = list(label_names or [])
        self.output_names = symbol.list_outputs()
        self._state_names = list(state_names or [])
        self._fixed = list(fixed_param_names or [])
        self._compression = compression_params
        self._arguments = symbol.list_arguments()
        for what, names in (
            ("data", self.data_names),
            ("state", self._state_names),
            ("fixed_param", self._fixed),
        ):
            self._check_names(what, names)
        if label_names is not DEFAULT_LABELS:
            self._check_names("label", self.label_names, strict=False)
        inputs = {*self.data_names, *self.label_names, *self._state_names}
        self._param_names = [n for n in self._arguments if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._copies: dict[str, tuple[Params, Params]] = {}  # of the parameters, until they change
        self._group: ExecutorGroup | None = None
        self._weights: LocalWeights | StoreWeights | None = None
        self._optimizer: Any = None
        self._key = "\n".join([*self._param_names, *self._aux_names])
        self._preload_opt_states: str | None = None
        self._grad_req: Any = "write"

    def _check_names(self, what: str, names: Sequence[str], strict: bool = True) -> None:
        for name in names:
            if name in self._arguments:
                continue
            others = [n for n in self._arguments if not n.endswith(("_weight", "_bias", "_gamma", "_beta"))]
            message = (
                f"You created Module with {what}_names={list(names)} but input with name {name!r} is not "
                f"found in symbol.list_arguments(). Did you mean one of: {', '.join(others)}"
            )
            if strict:
                raise ArgumentError(message)
            warnings.warn(message, stacklevel=3)

    # -- facts ----------------------------------------------------------------------------------------

    @property
    def _executors(self) -> ExecutorGroup:
        self._require("binded")
        if self._group is None:
            raise ArgumentError("the module has no executors")
        return self._group

    @property
    def data_shapes(self) -> list[Any]:  # type: ignore[override]
        """Descriptions of the data of the current batch."""
        return self._executors.data_shapes

    @property
    def label_shapes(self) -> list[Any]:  # type: ignore[override]
        """Descriptions of the labels of the current batch."""
        return self._executors.label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:  # type: ignore[override]
        """Names and shapes of the outputs."""
        shapes = {d.name: d.shape for d in [*self.data_shapes, *self.label_shapes]}
        _, found, _ = self.symbol.infer_shape(**shapes)
        return list(zip(self.output_names, found, strict=True))

    # -- binding --------------------------------------------------------------------------------------

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
        """Make the executors.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or (name, shape)
        for_training : bool
            Whether there are gradients.
        inputs_need_grad : bool
            Whether there are gradients of the data.
        force_rebind : bool
            Bind again; the parameters keep their values.
        shared_module : Module, optional
            A bound module whose parameters (and optimizer) are this one's too.
        grad_req : str, list or dict
            ``write``, ``add`` or ``null`` for the parameters.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ArgumentError("bind: inputs_need_grad without for_training")
        if self.binded and self.params_initialized:
            self.get_params()  # keeps copies, which the new executors get
        data = _descs(data_shapes)
        if sorted(d.name for d in data) != sorted(self.data_names):
            raise ArgumentError(
                f"Data provided by data_shapes don't match names specified by data_names "
                f"({[d.name for d in data]} vs. {self.data_names})"
            )
        labels = [d for d in _descs(label_shapes or []) if d.name in self._arguments]
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        shared = None if shared_module is None else shared_module._executors
        self._group = ExecutorGroup(self.symbol, self._context, data, labels, self._requests(), shared)
        self.binded = True
        if shared_module is not None:
            self.params_initialized = shared_module.params_initialized
            self._copies = shared_module._copies
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:
            self._write(*self._copies[self._key])

    def _requests(self) -> dict[str, str]:
        """Return what is wanted of the gradient of each argument."""
        wanted = self._grad_req
        if isinstance(wanted, str):
            table: Mapping[str, str] = dict.fromkeys(self._arguments, wanted)
        elif isinstance(wanted, Mapping):
            table = wanted
        else:
            table = dict(zip(self._arguments, wanted, strict=True))
        found = {}
        for name in self._arguments:
            if not self.for_training or name in self._fixed:
                found[name] = NULL
            elif name in self._param_names:
                found[name] = table.get(name, NULL)
            else:
                found[name] = "write" if name in self.data_names and self.inputs_need_grad else NULL
        return found

    def reshape(self, data_shapes: Sequence[Any], label_shapes: Sequence[Any] | None = None) -> None:
        """Get ready for batches of other shapes; the parameters stay."""
        labels = [d for d in _descs(label_shapes or []) if d.name in self._arguments]
        self._executors.reshape(_descs(data_shapes), labels)

    # -- parameters -----------------------------------------------------------------------------------

    def init_params(
        self,
        initializer: Any = DEFAULT_INIT,
        arg_params: Params | None = None,
        aux_params: Params | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Give the parameters and auxiliary states their values.

        Parameters
        ----------
        initializer : Initializer or callable, optional
            For those that are not given.
        arg_params, aux_params : dict of str to NDArray, optional
        allow_missing : bool
            Let the initializer (or without one: nothing) set those that a given dict does not have.
        force_init : bool
            Set them again.
        allow_extra : bool
            Allow names that the graph does not have.
        """
        self._require("binded")
        if self.params_initialized and not force_init:
            self.logger.warning(
                "Parameters already initialized and force_init=False. init_params call ignored."
            )
            return
        group = self._executors
        args = {n: group.weights(n)[0] for n in self._param_names}
        aux = {n: group.states(n)[0] for n in self._aux_names}
        for given, known in ((arg_params, args), (aux_params, aux)):
            extra = sorted(set(given or {}) - set(known))
            if extra and not allow_extra:
                raise ArgumentError(
                    f"init_params: the graph has no parameter {extra[0]!r}; there are {list(known)}"
                )
        notes = self.symbol.attr_dict()
        new_args = first_values(args, arg_params, initializer, allow_missing, notes)
        new_aux = first_values(aux, aux_params, initializer, allow_missing, notes)
        self._write(new_args, new_aux)
        self.params_initialized = True
        complete = len(new_args) == len(args) and len(new_aux) == len(aux)
        self._copies.clear()
        if complete:
            self._copies[self._key] = (new_args, new_aux)

    def _write(self, args: Params, aux: Params) -> None:
        group = self._executors
        for name, value in args.items():
            if self._weights is None:
                group.write(group.weights(name), name, value)
            else:
                self._weights.assign(group, name, value)
        for name, value in aux.items():
            group.write(group.states(name), name, value)

    def get_params(self) -> tuple[Params, Params]:
        """Return the parameters and auxiliary states.

        They are copies, made once and kept until the next update; of weights in a store, whole ones.
        """
        found = self._copies.get(self._key)
        if found is None:
            self._require("binded", "params_initialized")
            group = self._executors
            if self._weights is None:
                args = {n: group.weights(n)[0].copy() for n in self._param_names}
            else:
                args = {n: self._weights.value(group, n) for n in self._param_names}
            found = (args, {n: group.average_states(n) for n in self._aux_names})
            self._copies[self._key] = found
        return dict(found[0]), dict(found[1])

    # -- optimizer ------------------------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Get ready for updates.

        Parameters
        ----------
        kvstore : str or KVStore or None
            A store is used as it is.  A name makes one for several contexts or distributed training
            (or row_sparse weights in ``fit`` with ``sparse_row_id_fn``); else the module updates its
            own weights, which gives the same numbers.
        optimizer : str or Optimizer
        optimizer_params : dict or pairs
            With a name.  ``rescale_grad`` is 1 / rows of a batch unless it is given.
        force_init : bool
            Do it again; the optimizer's states begin anew.
        """
        self._require("binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        args, _ = self.get_params()
        plan = Plan(self.symbol, self._executors, args, self._compression, self.logger)
        self._optimizer, self._weights = plan.carry_out(
            kvstore, optimizer, optimizer_params, keep_rows_in_store=self._row_ids_expected
        )
        if isinstance(self._weights, StoreWeights) and self._weights.have:
            self._copies.clear()
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use the optimizer of another module."""
        shared_module._require("optimizer_initialized")
        self._optimizer = shared_module._optimizer
        self._weights = shared_module._weights
        self.optimizer_initialized = True

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states to a file."""
        self._updating.save_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file."""
        self._updating.load_states(fname)

    @property
    def _updating(self) -> LocalWeights | StoreWeights:
        self._require("optimizer_initialized")
        if self._weights is None:
            raise ArgumentError("the module has no optimizer")
        return self._weights

    # -- a batch --------------------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: RowIds | None = None) -> None:
        """Pull the rows of row_sparse weights that a batch needs from the store.

        Parameters
        ----------
        data_batch : DataBatch
        sparse_row_id_fn : callable, optional
            From the batch to a dict of row ids (NDArray) by name of the parameter.
        """
        self._require("binded")
        if sparse_row_id_fn is not None and self._weights is not None:
            self._weights.prepare(self._executors, data_batch, sparse_row_id_fn(data_batch))

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Run a batch to the outputs; of another size than the last, if need be.

        Parameters
        ----------
        data_batch : DataBatch
        is_train : bool, optional
            Default: whether the module was bound for training.
        """
        self._require("binded", "params_initialized")
        require_batch("data_batch", data_batch)
        group = self._executors
        labels = list(data_batch.label or []) if group.label_shapes else []
        self._fit_shapes(group, data_batch.data, labels)
        if self._weights is not None:
            self._weights.before_forward(group, data_batch)
        group.forward(data_batch.data, labels, self.for_training if is_train is None else is_train)

    def _fit_shapes(self, group: ExecutorGroup, data: Sequence[Any], labels: Sequence[Any]) -> None:
        if len(data) != len(group.data_shapes) or (labels and len(labels) != len(group.label_shapes)):
            raise ArgumentError(
                f"forward: a batch of {len(data)} data arrays and {len(labels)} labels; the module was "
                f"bound to {len(group.data_shapes)} and {len(group.label_shapes)}"
            )
        if all(d.shape == a.shape for d, a in zip(group.data_shapes, data, strict=True)) and all(
            d.shape == a.shape for d, a in zip(group.label_shapes, labels, strict=False)
        ):
            return
        rows = data[0].shape[0]
        new_labels = [
            _like(d, labels[i].shape if labels else (rows, *d.shape[1:]))
            for i, d in enumerate(group.label_shapes)
        ]
        group.reshape([_like(d, a.shape) for d, a in zip(group.data_shapes, data, strict=True)], new_labels)

    def backward(self, out_grads: Any = None) -> None:
        """Run to the gradients.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            The gradients at the outputs; default ones (losses ignore them).
        """
        self._require("binded", "params_initialized")
        single = isinstance(out_grads, NDArray)
        self._executors.backward([out_grads] if single else out_grads)

    def update(self) -> None:
        """Update the parameters with the gradients of the last backward pass."""
        self._require("binded", "params_initialized", "optimizer_initialized")
        self._copies.clear()
        self._updating.update(self._executors)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the outputs of the last forward pass; the next one overwrites them."""
        self._require("binded", "params_initialized")
        return self._executors.outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the data; ``bind(inputs_need_grad=True)`` makes them."""
        self._require("binded", "params_initialized")
        if not self.inputs_need_grad:
            raise ArgumentError("get_input_grads: bind with inputs_need_grad=True")
        return self._executors.input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the arrays of ``state_names``."""
        found = [self._executors.weights(n) for n in self._state_names]
        return [f[0] if merge_multi_context and len(f) == 1 else f for f in found]

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the arrays of ``state_names``, to arrays or to a number."""
        for i, name in enumerate(self._state_names):
            for k, array in enumerate(self._executors.weights(name)):
                given = value if states is None else states[i]
                array[:] = given[k] if isinstance(given, (list, tuple)) else given

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Feed a metric with labels and the outputs of the last forward pass.

        Parameters
        ----------
        eval_metric : EvalMetric
        labels : list of NDArray
            Of the whole batch, or a list of them for each context if ``pre_sliced``.
        pre_sliced : bool
        """
        group = self._executors
        names = [d.name for d in group.label_shapes] or self.label_names
        if pre_sliced:
            pairs = list(zip(labels, [exe.outputs for exe in group.active], strict=True))
        else:
            pairs = [(labels or [], group.outputs())]
        for given, outputs in pairs:
            eval_metric.update_dict(
                dict(zip(names, given, strict=False)), dict(zip(self.output_names, outputs, strict=True))
            )

    def install_monitor(self, mon: Any) -> None:
        """Let a monitor watch the executors."""
        self._executors.install_monitor(mon)

    # -- checkpoints ----------------------------------------------------------------------------------

    def save_checkpoint(
        self,
        prefix: str | os.PathLike[str],
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Write the graph, the parameters, and on request the optimizer's states (``.states``)."""
        self.symbol.save(f"{os.fspath(prefix)}-symbol.json")
        self.save_params(params_file(prefix, epoch))
        if save_optimizer_states:
            self.save_optimizer_states(_states_file(prefix, epoch))

    @staticmethod
    def load(
        prefix: str | os.PathLike[str], epoch: int, load_optimizer_states: bool = False, **kwargs: Any
    ) -> Module:
        """Return a module from a checkpoint; it is to be bound, and knows its parameters.

        Parameters
        ----------
        prefix : str or path
        epoch : int
        load_optimizer_states : bool
            Read the optimizer's states too, when :meth:`init_optimizer` is called.
        **kwargs
            As for the class.
        """
        symbol, args, aux = load_checkpoint(prefix, epoch)
        mod = Module(symbol, **kwargs)
        mod._copies[mod._key] = (args, aux)
        mod.params_initialized = True
        if load_optimizer_states:
            mod._preload_opt_states = _states_file(prefix, epoch)
        return mod


def _states_file(prefix: str | os.PathLike[str], epoch: int) -> str:
    return params_file(prefix, epoch).removesuffix(".params") + ".states"


def _descs(shapes: Sequence[Any]) -> list[DataDesc]:
    """Return descriptions of (name, shape) pairs and descriptions."""
    try:
        return [s if isinstance(s, DataDesc) else DataDesc(*s) for s in shapes]
    except TypeError:
        raise ArgumentTypeError(f"shapes: expected a list of (name, shape), got {shapes!r}") from None


def _like(desc: DataDesc, shape: Sequence[int]) -> DataDesc:
    return DataDesc(desc.name, shape, desc.dtype, desc.layout)
