"""Adam."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Index, Optimizer, StateColumn, register


@register
class Adam(Optimizer):
    """Adaptive moments; the correction of their bias is in the rate, counted per weight.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon : float
    lazy_update : bool
        True: rows without a gradient stay, their moments too (they do not decay).
    **kwargs
        Those of :class:`Optimizer`.

    References
    ----------
    D. Kingma, J. Ba: Adam: a method for stochastic optimization (2015), section 2.
    """

    parameters = ("beta1", "beta2", "epsilon")
    lazy_default = True

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        if learning_rate is None and kwargs.get("lr_scheduler") is None:
            learning_rate = 0.001
        super().__init__(learning_rate=learning_rate, lazy_update=lazy_update, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def columns(self) -> tuple[StateColumn, ...]:
        """Return the two moments."""
        return (StateColumn("mean"), StateColumn("var"))

    def numbers(self, index: Index) -> dict[str, Any]:
        """Count the update; the rate is corrected for the zeros that the moments began with."""
        numbers = super().numbers(index)
        count = self._index_update_count[index]
        numbers["lr"] *= math.sqrt(1.0 - self.beta2**count) / (1.0 - self.beta1**count)
        return numbers

    def apply(
        self,
        weight: AnyArray,
        states: Sequence[AnyArray],
        grad: AnyArray,
        numbers: Mapping[str, Any],
        **where: Any,
    ) -> None:
        """Update arrays in place."""
        mean, var = states
        updates.adam(
            weight,
            mean,
            var,
            grad,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            **numbers,
            **where,
        )
