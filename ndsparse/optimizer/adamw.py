"""Adam with decoupled weight decay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Index, Optimizer, StateColumn, register


@register
class AdamW(Optimizer):
    """Adam whose decay does not go through the moments: ``w -= step + lr wd w``.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon : float
    correct_bias : bool
        Whether the rate is corrected as in Adam (the decay is not).
    **kwargs
        Those of :class:`Optimizer`.

    References
    ----------
    I. Loshchilov, F. Hutter: Decoupled weight decay regularization (2019), algorithm 2.
    """

    parameters = ("beta1", "beta2", "epsilon", "correct_bias")

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        correct_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if learning_rate is None and kwargs.get("lr_scheduler") is None:
            learning_rate = 0.001
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.correct_bias = beta1, beta2, epsilon, correct_bias

    def columns(self) -> tuple[StateColumn, ...]:
        """Return the two moments."""
        return (StateColumn("mean"), StateColumn("var"))

    def numbers(self, index: Index) -> dict[str, Any]:
        """Count the update; decay takes the place of wd."""
        numbers = super().numbers(index)
        numbers["decay"] = numbers["lr"] * numbers.pop("wd")
        if self.correct_bias:
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
        updates.adamw(
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
