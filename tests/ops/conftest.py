"""Fixtures of the operator tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ndsparse as mx


class Golden(NamedTuple):
    """A case recorded from MXNet: arrays in, attributes, arrays out."""

    inputs: dict[str, Any]  # NDArrays of the recorded storage types
    attrs: dict[str, Any]
    outputs: dict[str, np.ndarray]  # dense
    stypes: dict[str, str]  # of the outputs


@pytest.fixture(scope="session")
def golden(golden_dir: Path) -> Callable[[str], Golden]:
    """Return a function that gives a recorded case by the beginning of its name."""
    cases = json.loads((golden_dir / "mxnet" / "golden.json").read_text())
    arrays = np.load(golden_dir / "mxnet" / "golden.npz")

    def find(name: str) -> Golden:
        case = next(c for c in cases if c["id"] == name or c["id"].startswith(name + "_"))
        inputs = {
            key: mx.nd.array(arrays[f"{case['id']}/in/{key}.dense"]).tostype(about["stype"])
            for key, about in case["inputs"].items()
        }
        outputs = {k: arrays[f"{case['id']}/out/{k}.dense"] for k in case["outputs"]}
        attrs = {k: tuple(v) if isinstance(v, list) else v for k, v in case["attrs"].items()}
        return Golden(inputs, attrs, outputs, {k: v["stype"] for k, v in case["outputs"].items()})

    return find


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator of random numbers, the same in every run."""
    return np.random.default_rng(7)
