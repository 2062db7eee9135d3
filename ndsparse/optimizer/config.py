"""Optimizers as plain values: a registered name and numbers, never a pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.optimizer.base import Optimizer
from ndsparse.optimizer.schedule import scheduler_from_config

_NUMBERS = ("rescale_grad", "wd", "clip_gradient", "begin_num_update", "multi_precision", "lazy_update")


def to_config(optimizer: Optimizer) -> dict[str, Any]:
    """Return ``{"name": ..., numbers}``, JSON without loss; tables by index are lists of pairs."""
    name = type(optimizer).__name__.lower()
    if Optimizer.opt_registry.get(name) is not type(optimizer):
        raise ArgumentError(f"to_config: {type(optimizer)} is not registered; see Optimizer.register")
    config: dict[str, Any] = {"name": name, "learning_rate": optimizer.lr}
    for field in (*_NUMBERS, *optimizer.parameters):
        config[field] = _plain(field, getattr(optimizer, field))
    if optimizer.lr_scheduler is not None:
        config["lr_scheduler"] = optimizer.lr_scheduler.to_config()
    lr_mult, wd_mult = dict(optimizer.lr_mult), dict(optimizer.wd_mult)
    for index, parameter in optimizer.param_dict.items():
        lr_mult[index], wd_mult[index] = float(parameter.lr_mult), float(parameter.wd_mult)
    for field, table in (("idx2name", optimizer.idx2name), ("lr_mult", lr_mult), ("wd_mult", wd_mult)):
        if table:
            config[field] = [[_plain(field, k), _plain(field, v)] for k, v in table.items()]
    return config


def from_config(config: Mapping[str, Any]) -> Optimizer:
    """Rebuild an optimizer.  Only registered names are made, from numbers: nothing is executed."""
    numbers = dict(config)
    name = numbers.pop("name")
    tables = {field: dict(numbers.pop(field, ())) for field in ("idx2name", "lr_mult", "wd_mult")}
    scheduler = numbers.pop("lr_scheduler", None)
    if scheduler is not None:
        numbers["lr_scheduler"] = scheduler_from_config(scheduler)
    optimizer = Optimizer.create_optimizer(name, **numbers)
    optimizer.idx2name = tables["idx2name"]
    optimizer.lr_mult = tables["lr_mult"]
    optimizer.wd_mult = tables["wd_mult"]
    return optimizer


def _plain(field: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ArgumentTypeError(f"to_config: {field} is {value!r:.80}; wanted a number or a string")
