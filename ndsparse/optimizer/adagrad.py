"""AdaGrad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.kernels import updates
from ndsparse.optimizer.base import AnyArray, Optimizer, StateColumn, register


@register
class AdaGrad(Optimizer):
    """Divide each step by the root of the sum of all squared gradients.

    ``s += g^2; w -= lr (g / sqrt(s + eps) + wd w)``.  MXNet refuses ``wd`` with row_sparse gradients;
    here it acts as in MXNet's dense code, on the rows that are updated.

    Parameters
    ----------
    eps : float
    **kwargs
        Those of :class:`Optimizer`; ``lazy_update=False`` decays the rows without a gradient too.

    References
    ----------
    J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods (2011), section 1.1.
    """

    parameters = ("float_stable_eps",)
    lazy_default = True

    def __init__(self, eps: float = 1e-7, float_stable_eps: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps if float_stable_eps is None else float_stable_eps

    def columns(self) -> tuple[StateColumn, ...]:
        """Return the sum of the squared gradients."""
        return (StateColumn("history"),)

    def apply(
        self,
        weight: AnyArray,
        states: Sequence[AnyArray],
        grad: AnyArray,
        numbers: Mapping[str, Any],
        **where: Any,
    ) -> None:
        """Update arrays in place."""
        updates.adagrad(weight, states[0], grad, epsilon=self.float_stable_eps, **numbers, **where)
