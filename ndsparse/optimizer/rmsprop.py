"""RMSProp, plain and centered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Optimizer, StateColumn, register


@register
class RMSProp(Optimizer):
    """Divide each step by the root of a running mean of squared gradients.

    Parameters
    ----------
    learning_rate : float
    gamma1 : float
        Share of the old running means.
    gamma2 : float
        Momentum (centered only).
    epsilon : float
    centered : bool
        Whether the square of the mean gradient is taken off (Graves), or not (Tieleman and Hinton).
    clip_weights : float, optional
        Weights are clipped to ``[-clip_weights, clip_weights]``.
    **kwargs
        Those of :class:`Optimizer`.

    References
    ----------
    T. Tieleman, G. Hinton: Lecture 6.5, RMSProp (2012).
    A. Graves: Generating sequences with recurrent neural networks (2013), equations 38-45.
    """

    parameters = ("gamma1", "gamma2", "epsilon", "centered", "clip_weights")

    def __init__(
        self,
        learning_rate: float | None = None,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        if learning_rate is None and kwargs.get("lr_scheduler") is None:
            learning_rate = 0.001
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1, self.gamma2, self.epsilon = gamma1, gamma2, epsilon
        self.centered, self.clip_weights = centered, clip_weights

    def columns(self) -> tuple[StateColumn, ...]:
        """Return the running mean of squares; centered, also that of gradients, and the last step."""
        names = ("n", "g", "delta") if self.centered else ("n",)
        return tuple(StateColumn(name) for name in names)

    def _pack(self, states: list[Any]) -> Any:
        return tuple(states)  # as in MXNet, also when there is one

    def keeps_rest(self, numbers: Mapping[str, Any]) -> bool:
        """Return whether a row without gradient and states stays: not when weights are clipped."""
        return super().keeps_rest(numbers) and self.clip_weights is None

    def apply(
        self,
        weight: AnyArray,
        states: Sequence[AnyArray],
        grad: AnyArray,
        numbers: Mapping[str, Any],
        **where: Any,
    ) -> None:
        """Update arrays in place."""
        own = {
            "gamma1": self.gamma1,
            "epsilon": self.epsilon,
            "clip_weights": -1.0 if self.clip_weights is None else self.clip_weights,
        }
        if self.centered:
            n, g, delta = states
            updates.rmsprop_centered(weight, n, g, delta, grad, gamma2=self.gamma2, **own, **numbers, **where)
        else:
            updates.rmsprop(weight, states[0], grad, **own, **numbers, **where)
