"""AdaGrad with one rate a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.errors import ArgumentError
from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Optimizer, StateColumn, register


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad that sums the mean square of a row's gradient: one number of state a row.

    ``s[row] += mean(g^2); w -= lr g / sqrt(s[row] + eps)``.  There is no weight decay.

    Parameters
    ----------
    eps : float
    **kwargs
        Those of :class:`Optimizer`.

    Raises
    ------
    ArgumentError
        At an update, if a weight decay is set.
    """

    parameters = ("float_stable_eps",)
    lazy_default = True

    def __init__(self, eps: float = 1e-5, float_stable_eps: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps if float_stable_eps is None else float_stable_eps

    def columns(self) -> tuple[StateColumn, ...]:
        """Return the sum of the mean squares, one number a row."""
        return (StateColumn("history", per_row=True),)

    def numbers(self, index: int | str) -> dict[str, Any]:
        """Count the update."""
        numbers = super().numbers(index)
        if numbers["wd"]:
            raise ArgumentError(
                f"GroupAdaGrad: wd is {numbers['wd']} for {index!r}; it knows no weight decay"
            )
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
        updates.group_adagrad(weight, states[0], grad, epsilon=self.float_stable_eps, **numbers, **where)
