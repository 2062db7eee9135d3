"""Nesterov's accelerated gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Optimizer, StateColumn, register
from ndsparse.optimizer.parameters import require_number


@register
class NAG(Optimizer):
    """SGD whose momentum looks ahead; without momentum it is SGD.

    Parameters
    ----------
    momentum : float
    **kwargs
        Those of :class:`Optimizer`.
    """

    parameters = ("momentum",)

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        require_number(self, "momentum", momentum)
        self.momentum = momentum

    def columns(self) -> tuple[StateColumn, ...]:
        """Return the momentum, if there is any."""
        return (StateColumn("mom"),) if self.momentum else ()

    def apply(
        self,
        weight: AnyArray,
        states: Sequence[AnyArray],
        grad: AnyArray,
        numbers: Mapping[str, Any],
        **where: Any,
    ) -> None:
        """Update arrays in place."""
        if states:
            updates.nag(weight, states[0], grad, momentum=self.momentum, **numbers, **where)
        else:
            updates.sgd(weight, grad, **numbers, **where)
