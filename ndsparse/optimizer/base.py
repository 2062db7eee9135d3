"""Optimizer: numbers, counts, and one update of a weight.

An optimizer of this package says three things, and everything else follows from them:

* ``columns()``: which values it keeps beside each row of a weight;
* ``numbers(index)``: the numbers of this update (rate, decay, ...), counted and scheduled;
* ``apply(weight, states, grad, numbers, ...)``: the update itself, on numpy arrays.

NDArrays are updated by :mod:`ndsparse.optimizer.arrays`, the rows of a key-value store by
:mod:`ndsparse.kvstore.entries`; both call ``apply``.  An optimizer written by a user may instead
override ``create_state`` and ``update``, as in MXNet.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.optimizer.parameters import refuse_unknown, require_number
from ndsparse.optimizer.schedule import LRScheduler

AnyArray = NDArray[Any]
Index = int | str

log = logging.getLogger(__name__)


class StateColumn(NamedTuple):
    """A value that an optimizer keeps for each row, beginning at zero."""

    name: str
    per_row: bool = False  # one element a row; else as many as the weight has


class Optimizer:
    """Base of all optimizers.

    Parameters
    ----------
    rescale_grad : float
        The gradient is multiplied by it (usually 1 / batch size).
    param_idx2name : dict, optional
        Names of the weights by index; multipliers are looked up by name.  As in MXNet, weights whose
        name ends neither in ``_weight`` nor in ``_gamma`` then get no weight decay.
    wd : float
        Weight decay.
    clip_gradient : float, optional
        The (rescaled) gradient is clipped to ``[-clip_gradient, clip_gradient]``.
    learning_rate : float, optional
        Default 0.01, or that of the scheduler.
    lr_scheduler : LRScheduler, optional
    sym : Symbol, optional
        Its variables' ``lr_mult`` and ``wd_mult`` are used.
    begin_num_update : int
        Updates done before.
    multi_precision : bool
        Keep a float32 copy of float16 weights.
    param_dict : dict, optional
        Objects with ``lr_mult`` and ``wd_mult`` by index (Gluon's parameters).
    lazy_update : bool, optional
        Whether rows that a row_sparse gradient does not hold stay as they are.  If not, they are
        updated as with a gradient of zero.  Default: as in MXNet, see docs/optimizers.md.
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}

    parameters: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that are the optimizer's own numbers."""

    lazy_default: ClassVar[bool] = False

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[Any, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Any, Any] | None = None,
        lazy_update: bool | None = None,
        **unknown: Any,
    ) -> None:
        if unknown:
            refuse_unknown(type(self), unknown)
        require_number(self, "rescale_grad", rescale_grad, signed=True)
        require_number(self, "wd", wd)
        for name, value in (("clip_gradient", clip_gradient), ("learning_rate", learning_rate)):
            if value is not None:
                require_number(self, name, value, signed=name == "clip_gradient")
        self.rescale_grad = rescale_grad
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.lr = 0.01 if learning_rate is None and lr_scheduler is None else learning_rate
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is not None and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._index_update_count: dict[Index, int] = {}
        self.multi_precision = multi_precision
        self.lazy_update = self.lazy_default if lazy_update is None else bool(lazy_update)
        if param_idx2name is not None and not isinstance(param_idx2name, Mapping):
            raise ArgumentTypeError(f"param_idx2name: a dict of names by index, not {param_idx2name!r:.80}")
        self.idx2name: dict[Any, str] = dict(param_idx2name or {})
        self.param_dict: Mapping[Any, Any] = param_dict or {}
        self._attributes = {} if sym is None else sym.attr_dict()
        self.set_lr_mult({})
        self.set_wd_mult({})

    # -- the registry

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Make an optimizer known by the name of its class in lower case (a class decorator)."""
        name = klass.__name__.lower()
        known = Optimizer.opt_registry.get(name)
        if known is not None and known is not klass:
            log.warning("optimizer %s replaces %s under the name %r", klass, known, name)
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """Make an optimizer by name."""
        if not isinstance(name, str):
            raise ArgumentTypeError(f"optimizer.create: name must be a string, not {name!r:.80}")
        found = Optimizer.opt_registry.get(name.lower())
        if found is None:
            known = ", ".join(sorted(Optimizer.opt_registry))
            raise ArgumentError(f"optimizer.create: unknown optimizer {name!r}; there are {known}")
        return found(**kwargs)

    # -- rates, decays, counts

    @property
    def learning_rate(self) -> float:
        """The current learning rate, before multipliers."""
        return float(self.lr_scheduler(self.num_update) if self.lr_scheduler else self.lr or 0.0)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; an error if a scheduler sets it."""
        if self.lr_scheduler is not None:
            raise ArgumentError("set_learning_rate: the optimizer has an lr_scheduler, which sets the rate")
        require_number(self, "learning_rate", lr)
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Set factors of the learning rate by name or index; the symbol's ``lr_mult`` hold besides."""
        self.lr_mult: dict[Any, float] = {**self._multipliers("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Set factors of the weight decay by name or index; the symbol's ``wd_mult`` hold besides."""
        plain = (n for n in self.idx2name.values() if not n.endswith(("_weight", "_gamma")))
        self.wd_mult: dict[Any, float] = dict.fromkeys(plain, 0.0)
        self.wd_mult.update(self._multipliers("__wd_mult__"))
        self.wd_mult.update(args_wd_mult)

    def _multipliers(self, attribute: str) -> dict[Any, float]:
        return {n: float(a[attribute]) for n, a in self._attributes.items() if attribute in a}

    def _multiplier(self, table: Mapping[Any, float], attribute: str, index: Index) -> float:
        if index in self.param_dict:
            return float(getattr(self.param_dict[index], attribute))
        if index in table:
            return table[index]
        return table.get(self.idx2name.get(index), 1.0)

    def _get_lr(self, index: Index) -> float:
        """Return the learning rate of a weight."""
        return self.learning_rate * self._multiplier(self.lr_mult, "lr_mult", index)

    def _get_wd(self, index: Index) -> float:
        """Return the weight decay of a weight."""
        return self.wd * self._multiplier(self.wd_mult, "wd_mult", index)

    def _update_count(self, index: Index | Sequence[Index]) -> None:
        """Count an update of a weight (or of each of several)."""
        for i in index if isinstance(index, list | tuple) else (index,):
            count = self._index_update_count.get(i, self.begin_num_update) + 1
            self._index_update_count[i] = count
            self.num_update = max(self.num_update, count)

    # -- the update on arrays

    def columns(self) -> tuple[StateColumn, ...]:
        """Return what is kept for each row."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it keeps for a row")

    def numbers(self, index: Index) -> dict[str, Any]:
        """Count an update of a weight and return its numbers, the keywords of ``apply``'s kernel."""
        self._update_count(index)
        clip = -1.0 if self.clip_gradient is None else float(self.clip_gradient)
        return {
            "lr": self._get_lr(index),
            "wd": self._get_wd(index),
            "rescale_grad": float(self.rescale_grad),
            "clip_gradient": clip,
        }

    def preview(self, index: Index) -> dict[str, Any]:
        """Return what :meth:`numbers` will, without counting an update."""
        trial = copy.copy(self)  # whatever ``numbers`` sets, it sets there
        counts = self._index_update_count
        trial._index_update_count = {index: counts[index]} if index in counts else {}
        return trial.numbers(index)

    def apply(
        self,
        weight: AnyArray,
        states: Sequence[AnyArray],
        grad: AnyArray,
        numbers: Mapping[str, Any],
        *,
        rows: AnyArray | None = None,
        sources: AnyArray | None = None,
        exact: bool = False,
    ) -> None:
        """Update a weight and its states in place; for the rows see :mod:`ndsparse.kernels.updates`."""
        raise NotImplementedError(f"{type(self).__name__} does not update arrays")

    @property
    def on_arrays(self) -> bool:
        """Whether ``apply`` is the whole truth, so that a store may update its rows by it."""
        mine, base = type(self), Optimizer
        return (
            mine.apply is not base.apply
            and mine.update is base.update
            and mine.create_state is base.create_state
        )

    def keeps_rest(self, numbers: Mapping[str, Any]) -> bool:
        """Return whether a row stays as it is when its gradient and all its states are zero."""
        return not numbers.get("wd") and not numbers.get("decay")

    # -- the update on NDArrays

    def create_state(self, index: Index, weight: Any) -> Any:
        """Return the states of a weight, zeros: None, an NDArray, or a tuple of them."""
        from ndsparse.optimizer import arrays

        states = arrays.create_states(self, weight)
        return self._pack(states)

    def _pack(self, states: list[Any]) -> Any:
        return None if not states else states[0] if len(states) == 1 else tuple(states)

    def create_state_multi_precision(self, index: Index, weight: Any) -> Any:
        """Return the states; with ``multi_precision``, of a float32 copy, and that copy before them."""
        if weight.dtype != np.float16:
            return self.create_state(index, weight)
        if not self.multi_precision:
            log.warning("a float16 weight is updated without a float32 copy; see multi_precision")
            return self.create_state(index, weight)
        master = weight.astype(np.float32)
        return (master, self.create_state(index, master))

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight (NDArray) in place.

        Parameters
        ----------
        index : int, str, or list of them
            With a list, the other arguments are lists too.
        weight, grad : NDArray
            Dense or row_sparse.  Rows that a row_sparse weight does not store count as zeros, and
            become stored when they are updated.
        state
            What :meth:`create_state` returned; updated in place.
        """
        from ndsparse.optimizer import arrays

        if isinstance(index, list | tuple):
            for one in zip(index, weight, grad, state, strict=True):
                self.update(*one)
            return
        arrays.check_arguments(self, weight, grad, state)
        arrays.update_array(self, weight, grad, state, self.numbers(index))

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight, through its float32 copy if it has one."""
        if isinstance(index, list | tuple):
            for one in zip(index, weight, grad, state, strict=True):
                self.update_multi_precision(*one)
        elif self.multi_precision and weight.dtype == np.float16:
            if not isinstance(state, tuple | list) or len(state) != 2:
                raise ArgumentTypeError(
                    "update_multi_precision: state: expected what create_state_multi_precision returns, a "
                    f"float32 copy and its states, got {type(state).__name__}"
                )
            master, inner = state
            self.update(index, master, grad.astype(np.float32), inner)
            weight[:] = master.astype(np.float16)
        else:
            self.update(index, weight, grad, state)

    # -- as plain values

    @property
    def kind(self) -> str:
        """The name it is registered by: that of its class in lower case."""
        return type(self).__name__.lower()

    def to_config(self) -> dict[str, Any]:
        """Return the name and all numbers as plain values, for a message or a file.

        ``Optimizer.from_config`` rebuilds the optimizer.  Counts of updates are not in it
        (:meth:`counts`), nor are ``sym`` and ``param_dict``, whose multipliers are.
        """
        from ndsparse.optimizer.config import to_config

        return to_config(self)

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> Optimizer:
        """Rebuild an optimizer from :meth:`to_config`."""
        from ndsparse.optimizer.config import from_config

        return from_config(config)

    def counts(self) -> dict[str, Any]:
        """Return the counts of updates as plain values."""
        return {
            "num_update": self.num_update,
            "by_index": [list(i) for i in self._index_update_count.items()],
        }

    def set_counts(self, counts: Mapping[str, Any]) -> None:
        """Continue from counts that :meth:`counts` returned."""
        self.num_update = int(counts["num_update"])
        self._index_update_count = {index: int(count) for index, count in counts["by_index"]}


register = Optimizer.register
create = Optimizer.create_optimizer
