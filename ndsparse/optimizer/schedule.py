"""Learning rates that change with the number of updates.

A scheduler is a function of the number of updates and of its parameters; it keeps no state, so that a
restarted training gets the rates it would have had.  Users know this module as
:mod:`ndsparse.lr_scheduler`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ndsparse.errors import ArgumentError


class LRScheduler:
    """Base: a constant rate after an optional warm-up.

    Parameters
    ----------
    base_lr : float
        The rate the schedule starts from (after the warm-up).  An optimizer that is given a
        ``learning_rate`` sets it.
    warmup_steps : int
        For so many updates the rate is that of the warm-up.
    warmup_begin_lr : float
        The rate of the first update.
    warmup_mode : {"linear", "constant"}
        Whether the rate climbs to ``base_lr`` or stays.
    """

    numbers: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters beside those of the base class."""

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0.0,
        warmup_mode: str = "linear",
    ) -> None:
        if not isinstance(warmup_steps, int) or warmup_steps < 0:
            raise ArgumentError(f"warmup_steps: {warmup_steps!r}; wanted a whole number, not negative")
        if warmup_begin_lr > base_lr:
            raise ArgumentError(f"warmup_begin_lr: {warmup_begin_lr} is above base_lr, {base_lr}")
        if warmup_mode not in ("linear", "constant"):
            raise ArgumentError(f"warmup_mode: {warmup_mode!r}; wanted 'linear' or 'constant'")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update: int) -> float:
        """Return the rate of an update within the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        return self.warmup_begin_lr + (self.base_lr - self.warmup_begin_lr) * num_update / self.warmup_steps

    def rate(self, num_update: int) -> float:
        """Return the rate of an update after the warm-up."""
        return self.base_lr

    def __call__(self, num_update: int) -> float:
        """Return the rate of update ``num_update`` (counted from 1)."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self.rate(num_update)

    def to_config(self) -> dict[str, Any]:
        """Return name and parameters as plain values."""
        names = ("base_lr", "warmup_steps", "warmup_begin_lr", "warmup_mode", *self.numbers)
        return {"name": type(self).__name__, **{name: getattr(self, name) for name in names}}


class FactorScheduler(LRScheduler):
    """Multiply the rate by ``factor`` every ``step`` updates, down to ``stop_factor_lr``."""

    numbers = ("step", "factor", "stop_factor_lr")

    def __init__(
        self, step: int, factor: float = 1, stop_factor_lr: float = 1e-8, base_lr: float = 0.01, **warmup: Any
    ) -> None:
        super().__init__(base_lr, **warmup)
        if step < 1:
            raise ArgumentError(f"step: {step}; wanted at least 1 update")
        self.step, self.factor, self.stop_factor_lr = step, _shrinking(factor), stop_factor_lr

    def rate(self, num_update: int) -> float:
        """Return ``base_lr * factor ** k`` after ``k`` full steps."""
        times = max(0, (num_update - 1) // self.step)
        return max(self.base_lr * self.factor**times, min(self.stop_factor_lr, self.base_lr))


class MultiFactorScheduler(LRScheduler):
    """Multiply the rate by ``factor`` after each of the updates in ``step`` (ascending)."""

    numbers = ("step", "factor")

    def __init__(self, step: Sequence[int], factor: float = 1, base_lr: float = 0.01, **warmup: Any) -> None:
        super().__init__(base_lr, **warmup)
        steps = list(step)
        if not steps or steps[0] < 1 or any(b <= a for a, b in itertools.pairwise(steps)):
            raise ArgumentError(f"step: {step}; wanted ascending numbers of updates, from 1 up")
        self.step, self.factor = steps, _shrinking(factor)

    def rate(self, num_update: int) -> float:
        """Return ``base_lr * factor ** k`` when ``k`` of the steps lie behind."""
        return self.base_lr * self.factor ** sum(num_update > step for step in self.step)


class _Descent(LRScheduler):
    """From ``base_lr`` at the end of the warm-up to ``final_lr`` at ``max_update``."""

    def __init__(self, max_update: int, base_lr: float = 0.01, final_lr: float = 0, **warmup: Any) -> None:
        super().__init__(base_lr, **warmup)
        if not isinstance(max_update, int) or max_update < 1:
            raise ArgumentError(f"max_update: {max_update!r}; wanted a whole number, at least 1")
        if max_update <= self.warmup_steps:
            raise ArgumentError(
                f"max_update: {max_update}; wanted more than the {self.warmup_steps} warmup_steps"
            )
        self.max_update, self.final_lr = max_update, final_lr

    def shape(self, done: float) -> float:
        """Return how much of the way is left (1 to 0) when ``done`` (0 to 1) of the updates are."""
        raise NotImplementedError

    def rate(self, num_update: int) -> float:
        """Return the rate on the way down."""
        done = min(1.0, (num_update - self.warmup_steps) / (self.max_update - self.warmup_steps))
        return self.final_lr + (self.base_lr - self.final_lr) * self.shape(done)


class PolyScheduler(_Descent):
    """Go down to ``final_lr`` as ``(1 - done) ** pwr``."""

    numbers = ("max_update", "final_lr", "pwr")

    def __init__(
        self, max_update: int, base_lr: float = 0.01, pwr: float = 2, final_lr: float = 0, **warmup: Any
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, **warmup)
        self.pwr = pwr

    def shape(self, done: float) -> float:
        """Return ``(1 - done) ** pwr``."""
        return float((1 - done) ** self.pwr)


class CosineScheduler(_Descent):
    """Go down to ``final_lr`` along half a cosine."""

    numbers = ("max_update", "final_lr")

    def shape(self, done: float) -> float:
        """Return ``(1 + cos(pi done)) / 2``."""
        return (1 + math.cos(math.pi * done)) / 2


def _shrinking(factor: float) -> float:
    if factor > 1.0:
        raise ArgumentError(f"factor: {factor}; wanted at most 1, so that the rate falls")
    return factor


SCHEDULERS: dict[str, type[LRScheduler]] = {
    cls.__name__: cls
    for cls in (LRScheduler, FactorScheduler, MultiFactorScheduler, PolyScheduler, CosineScheduler)
}


def scheduler_from_config(config: Mapping[str, Any]) -> LRScheduler:
    """Rebuild a scheduler from :meth:`LRScheduler.to_config`."""
    parameters = dict(config)
    name = parameters.pop("name")
    if name not in SCHEDULERS:
        raise ArgumentError(f"lr_scheduler: unknown name {name!r}; there are {', '.join(SCHEDULERS)}")
    return SCHEDULERS[name](**parameters)
