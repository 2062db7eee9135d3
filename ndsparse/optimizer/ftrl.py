"""Follow the regularised leader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Optimizer, StateColumn, register


@register
class Ftrl(Optimizer):
    """FTRL-Proximal: weights with little evidence are exactly zero.

    Parameters
    ----------
    lamda1 : float
        L1 regularisation (``wd`` is the L2 regularisation).
    learning_rate : float
    beta : float
    **kwargs
        Those of :class:`Optimizer`.

    References
    ----------
    H. B. McMahan and others: Ad click prediction: a view from the trenches (2013), algorithm 1.
    """

    parameters = ("lamda1", "beta")
    lazy_default = True

    def __init__(
        self, lamda1: float = 0.01, learning_rate: float | None = None, beta: float = 1.0, **kwargs: Any
    ) -> None:
        if learning_rate is None and kwargs.get("lr_scheduler") is None:
            learning_rate = 0.1
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.lamda1, self.beta = lamda1, beta

    def columns(self) -> tuple[StateColumn, ...]:
        """Return the adjusted sum of gradients and the sum of their squares."""
        return (StateColumn("z"), StateColumn("n"))

    def keeps_rest(self, numbers: Mapping[str, Any]) -> bool:
        """Return False: a row without states is computed anew, and is zero."""
        return False

    def apply(
        self,
        weight: AnyArray,
        states: Sequence[AnyArray],
        grad: AnyArray,
        numbers: Mapping[str, Any],
        **where: Any,
    ) -> None:
        """Update arrays in place."""
        z, n = states
        updates.ftrl(weight, z, n, grad, lamda1=self.lamda1, beta=self.beta, **numbers, **where)
