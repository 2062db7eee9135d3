"""Updates of float16 weights that keep a float32 copy, and updates by the sign of the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.kernels import updates
from ndsparse.ops.operands import canonical_rows
from ndsparse.ops.registry import Operator, operator
from ndsparse.ops.update_rows import Driver, touch, whole, writable
from ndsparse.storage.chunk import Array

_DTYPES = "T, *, float32 -> T"


@operator("weight(*s), grad(*s), weight32(*s) -> (*s)", dtypes=_DTYPES, mutates=("weight32",))
def mp_sgd_update(
    weight: Any,
    grad: Any,
    weight32: Any,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Do sgd_update on the float32 copy ``weight32`` in place and return it in the weight's dtype."""
    numbers = {"lr": lr, "wd": wd, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
    return whole(updates.sgd, weight32, weight32, (), grad, **numbers).astype(weight.dtype)


@operator("weight(*s), grad(*s), mom(*s), weight32(*s) -> (*s)", dtypes=_DTYPES, mutates=("mom", "weight32"))
def mp_sgd_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    weight32: Any,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Do sgd_mom_update on the float32 copy ``weight32`` in place and return it in the weight's dtype."""
    numbers = {"lr": lr, "wd": wd, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
    numbers["momentum"] = momentum
    return whole(updates.sgd_mom, weight32, weight32, (mom,), grad, **numbers).astype(weight.dtype)


def _declare(op: Operator, driver: Driver, states: int) -> None:
    def run(*chunks: Any, lazy_update: bool, **numbers: Any) -> None:
        weight, grad, *rest, weight32, out = chunks
        if out is not weight:
            out.copy_from(weight)
        positions = touch(driver, weight32, rest, canonical_rows(grad), lazy_update, numbers)
        target = writable(out)
        if lazy_update:
            target[positions] = weight32.data[positions]
        else:
            np.copyto(target, weight32.data, casting="unsafe")

    op.on(f"default, row_sparse{', default' * states}, default -> default", req=("inplace",))(run)


_declare(mp_sgd_update, updates.sgd, 0)
_declare(mp_sgd_mom_update, updates.sgd_mom, 1)


def _acting(grad: Array, weight: Array, rescale_grad: float, clip_gradient: float) -> Array:
    """Return the gradient rescaled and clipped, in the weight's dtype."""
    acting: Array = grad.astype(weight.dtype, copy=False) * weight.dtype.type(rescale_grad)
    return np.clip(acting, -clip_gradient, clip_gradient) if clip_gradient >= 0 else acting


@operator("weight(*s), grad(*s) -> (*s)", dtypes="T, * -> T")
def signsgd_update(
    weight: Any,
    grad: Any,
    *,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """Return ``(1 - lr wd) weight - lr sign(grad)``."""
    return (1 - lr * wd) * weight - lr * np.sign(grad).astype(weight.dtype, copy=False)


@operator("weight(*s), grad(*s), mom(*s) -> (*s)", dtypes="T, * -> T", mutates=("mom",))
def signum_update(
    weight: Any,
    grad: Any,
    mom: Any,
    *,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
) -> Any:
    """Return ``(1 - lr wd_lh) weight + lr sign(mom)`` with a new momentum.

    ``mom = momentum mom - (1 - momentum) (q + wd weight)``, in place; ``q`` is the gradient times
    ``rescale_grad``, clipped to ``clip_gradient`` unless that is negative.
    """
    acting = _acting(grad, weight, rescale_grad, clip_gradient) + wd * weight
    mom[...] = momentum * mom - (1 - momentum) * acting
    return (1 - lr * wd_lh) * weight + lr * np.sign(mom)
