"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Optimizer, StateColumn, register
from ndsparse.optimizer.parameters import require_number


@register
class SGD(Optimizer):
    """``w -= lr (g + wd w)``; with momentum ``m = momentum m - lr (g + wd w); w += m``.

    Parameters
    ----------
    momentum : float
    lazy_update : bool
        True: rows without a gradient stay, their momentum too.
    **kwargs
        Those of :class:`Optimizer`.
    """

    parameters = ("momentum",)
    lazy_default = True

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(lazy_update=lazy_update, **kwargs)
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
            updates.sgd_mom(weight, states[0], grad, momentum=self.momentum, **numbers, **where)
        else:
            updates.sgd(weight, grad, **numbers, **where)
