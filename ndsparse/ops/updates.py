"""Optimizer updates: sgd, momentum, nag, adam, adagrad, ftrl, rmsprop and their kin.

``op(weight, grad, *states, out=weight)`` writes the new weight to ``out`` and the states in place.  A
row_sparse gradient updates its rows only (``lazy_update``, the default where MXNet has it) or all rows
as if the others had a gradient of 0.  ``q`` below is the gradient as it acts: times ``rescale_grad``,
then clipped to ``-clip_gradient..clip_gradient`` unless that is negative.

What happens to rows that a row_sparse gradient lacks:

=====================  ================  ========================================================
update                 default           exact (``lazy_update=False``)
=====================  ================  ========================================================
sgd                    lazy: untouched   the weight decays
sgd_mom                lazy: untouched   the weight decays and moves on with its momentum
adam                   lazy: untouched   moments decay, the weight moves on
adagrad                lazy: untouched   the weight decays, the history stays
group_adagrad          lazy: untouched   nothing changes (it has no weight decay)
ftrl                   lazy: untouched   the weight is computed anew from its states
nag, rmsprop           exact             moments decay, the weight moves on
=====================  ================  ========================================================

Source: MXNet 1.9, ``optimizer_op.cc``; the formulas stand in :mod:`ndsparse.kernels.updates`.
"""

from __future__ import annotations

from typing import Any

from ndsparse.kernels import updates
from ndsparse.ops.registry import operator
from ndsparse.ops.update_rows import declare, whole

_DTYPES = "T, * -> T"


@operator("weight(*s), grad(*s) -> (*s)", dtypes=_DTYPES, into=True, aliases=("_sparse_sgd_update",))
def sgd_update(
    weight: Any,
    grad: Any,
    out: Any = None,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Return ``(1 - lr wd) weight - lr q``.

    Parameters
    ----------
    weight, grad : NDArray
    lr, wd, rescale_grad, clip_gradient : float
        Learning rate; weight decay; factor of the gradient; its bound, none if negative.
    lazy_update : bool
        Update only the rows of a row_sparse gradient.
    """
    return whole(
        updates.sgd,
        out,
        weight,
        (),
        grad,
        lr=lr,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@operator(
    "weight(*s), grad(*s), mom(*s) -> (*s)",
    dtypes=_DTYPES,
    into=True,
    mutates=("mom",),
    aliases=("_sparse_sgd_mom_update",),
)
def sgd_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    out: Any = None,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Do ``mom = momentum mom - lr (q + wd weight)`` and return ``weight + mom``.

    Parameters are those of sgd_update, and ``mom``, of the weight's shape, updated in place.
    """
    return whole(
        updates.sgd_mom,
        out,
        weight,
        (mom,),
        grad,
        lr=lr,
        momentum=momentum,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@operator("weight(*s), grad(*s), mom(*s) -> (*s)", dtypes=_DTYPES, into=True, mutates=("mom",))
def nag_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    out: Any = None,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = False,
) -> Any:
    """Do Nesterov's accelerated step; ``mom`` is updated in place."""
    return whole(
        updates.nag,
        out,
        weight,
        (mom,),
        grad,
        lr=lr,
        momentum=momentum,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@operator(
    "weight(*s), grad(*s), mean(*s), var(*s) -> (*s)",
    dtypes=_DTYPES,
    into=True,
    mutates=("mean", "var"),
    aliases=("_sparse_adam_update",),
)
def adam_update(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    out: Any = None,
    *,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Do Adam's step; ``mean`` and ``var`` are updated in place.

    The weight decay is part of the gradient, before clipping; the bias correction is the caller's, in
    ``lr``.
    """
    return whole(
        updates.adam,
        out,
        weight,
        (mean, var),
        grad,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@operator(
    "weight(*s), grad(*s), history(*s) -> (*s)",
    name="_sparse_adagrad_update",
    dtypes=_DTYPES,
    into=True,
    mutates=("history",),
    aliases=("adagrad_update",),
)
def adagrad_update(
    weight: Any,
    grad: Any,
    history: Any,
    out: Any = None,
    *,
    lr: float,
    epsilon: float = 1e-7,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Do ``history += q**2`` in place and return ``weight - lr (q / sqrt(history + epsilon) + wd weight)``.

    MXNet's operator refuses weight decay and dense gradients; its optimizer's dense code acts as this.
    """
    return whole(
        updates.adagrad,
        out,
        weight,
        (history,),
        grad,
        lr=lr,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@operator(
    "weight(n, *s), grad(n, *s), history(n, 1) -> (n, *s)",
    name="_contrib_group_adagrad_update",
    dtypes=_DTYPES,
    into=True,
    mutates=("history",),
    aliases=("group_adagrad_update",),
)
def group_adagrad_update(
    weight: Any,
    grad: Any,
    history: Any,
    out: Any = None,
    *,
    lr: float,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-5,
    lazy_update: bool = True,
) -> Any:
    """Do AdaGrad with one learning rate a row: ``history[row] += mean(q[row]**2)``, in place."""
    return whole(
        updates.group_adagrad,
        out,
        weight,
        (history,),
        grad,
        lr=lr,
        epsilon=epsilon,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@operator(
    "weight(*s), grad(*s), z(*s), n(*s) -> (*s)",
    dtypes=_DTYPES,
    into=True,
    mutates=("z", "n"),
    aliases=("_sparse_ftrl_update",),
)
def ftrl_update(
    weight: Any,
    grad: Any,
    z: Any,
    n: Any,
    out: Any = None,
    *,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Do follow-the-regularised-leader; ``z`` and ``n`` are updated in place.

    The weight is 0 where ``|z| <= lamda1``.  (MXNet has no lazy update of a dense weight here.)
    """
    return whole(
        updates.ftrl,
        out,
        weight,
        (z, n),
        grad,
        lr=lr,
        lamda1=lamda1,
        beta=beta,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
    )


@operator("weight(*s), grad(*s), n(*s) -> (*s)", dtypes=_DTYPES, into=True, mutates=("n",))
def rmsprop_update(
    weight: Any,
    grad: Any,
    n: Any,
    out: Any = None,
    *,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    lazy_update: bool = False,
) -> Any:
    """Do RMSProp's step, dividing by the root of the mean square ``n``, which is updated in place."""
    return whole(
        updates.rmsprop,
        out,
        weight,
        (n,),
        grad,
        lr=lr,
        gamma1=gamma1,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
        clip_weights=clip_weights,
    )


@operator(
    "weight(*s), grad(*s), n(*s), g(*s), delta(*s) -> (*s)",
    dtypes=_DTYPES,
    into=True,
    mutates=("n", "g", "delta"),
)
def rmspropalex_update(
    weight: Any,
    grad: Any,
    n: Any,
    g: Any,
    delta: Any,
    out: Any = None,
    *,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    lazy_update: bool = False,
) -> Any:
    """Do RMSProp around the mean gradient ``g``, with momentum in ``delta``; states in place."""
    return whole(
        updates.rmsprop_centered,
        out,
        weight,
        (n, g, delta),
        grad,
        lr=lr,
        gamma1=gamma1,
        gamma2=gamma2,
        epsilon=epsilon,
        wd=wd,
        rescale_grad=rescale_grad,
        clip_gradient=clip_gradient,
        clip_weights=clip_weights,
    )


for _op, _driver, _states in (
    (sgd_update, updates.sgd, 0),
    (sgd_mom_update, updates.sgd_mom, 1),
    (nag_mom_update, updates.nag, 1),
    (adam_update, updates.adam, 2),
    (adagrad_update, updates.adagrad, 1),
    (group_adagrad_update, updates.group_adagrad, 1),
    (ftrl_update, updates.ftrl, 2),
    (rmsprop_update, updates.rmsprop, 1),
    (rmspropalex_update, updates.rmsprop_centered, 3),
):
    declare(_op, _driver, _states)
