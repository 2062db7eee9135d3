"""Schedulers against rates that MXNet 1.9.1 printed, for updates 0 to 12."""

import json

import pytest

from ndsparse import lr_scheduler
from ndsparse.errors import ArgumentError
from ndsparse.optimizer.schedule import scheduler_from_config

RATES = [
    (
        "FactorScheduler",
        {"step": 3, "factor": 0.5, "base_lr": 1, "stop_factor_lr": 0.2},
        [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2],
    ),
    (
        "FactorScheduler",
        {"step": 3, "factor": 0.5, "base_lr": 1, "warmup_steps": 4, "warmup_begin_lr": 0.1},
        [0.1, 0.325, 0.55, 0.775, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125],
    ),
    (
        "MultiFactorScheduler",
        {"step": [2, 5, 9], "factor": 0.5, "base_lr": 1},
        [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125],
    ),
    (
        "MultiFactorScheduler",
        {
            "step": [2, 5, 9],
            "factor": 0.5,
            "base_lr": 1,
            "warmup_steps": 3,
            "warmup_mode": "constant",
            "warmup_begin_lr": 0.25,
        },
        [0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125],
    ),
    (
        "PolyScheduler",
        {"max_update": 10, "base_lr": 1, "pwr": 2, "final_lr": 0.1, "warmup_steps": 2},
        [0, 0.5, 1, 0.789062, 0.60625, 0.451562, 0.325, 0.226562, 0.15625, 0.114063, 0.1, 0.1, 0.1],
    ),
    (
        "CosineScheduler",
        {"max_update": 10, "base_lr": 1, "final_lr": 0.1, "warmup_steps": 2},
        [0, 0.5, 1, 0.965746, 0.868198, 0.722208, 0.55, 0.377792, 0.231802, 0.134254, 0.1, 0.1, 0.1],
    ),
    ("LRScheduler", {"base_lr": 0.5}, [0.5] * 13),
]


@pytest.mark.parametrize(("name", "parameters", "rates"), RATES)
def test_rates(name, parameters, rates):
    scheduler = getattr(lr_scheduler, name)(**parameters)
    assert [scheduler(n) for n in range(13)] == pytest.approx(rates, abs=1e-6)
    assert [scheduler(n) for n in reversed(range(13))] == pytest.approx(rates[::-1], abs=1e-6)


@pytest.mark.parametrize(("name", "parameters", "rates"), RATES)
def test_config_round_trip(name, parameters, rates):
    config = json.loads(json.dumps(getattr(lr_scheduler, name)(**parameters).to_config()))
    assert [scheduler_from_config(config)(n) for n in range(13)] == pytest.approx(rates, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("FactorScheduler", {"step": 0}, "step: 0"),
        ("FactorScheduler", {"step": 1, "factor": 2.0}, "factor: 2.0"),
        ("MultiFactorScheduler", {"step": [3, 2]}, "ascending"),
        ("MultiFactorScheduler", {"step": []}, "ascending"),
        ("PolyScheduler", {"max_update": 0}, "max_update: 0"),
        ("CosineScheduler", {"max_update": 5, "warmup_steps": 5}, "more than the 5 warmup_steps"),
        ("LRScheduler", {"warmup_steps": -1}, "warmup_steps"),
        ("LRScheduler", {"warmup_begin_lr": 1}, "above base_lr"),
        ("LRScheduler", {"warmup_mode": "cubic"}, "warmup_mode"),
    ],
)
def test_refusals(name, parameters, message):
    with pytest.raises(ArgumentError, match=message):
        getattr(lr_scheduler, name)(**parameters)


def test_unknown_name():
    with pytest.raises(ArgumentError, match="unknown name 'os.system'"):
        scheduler_from_config({"name": "os.system"})
