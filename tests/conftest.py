"""Fixtures of all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from ndsparse import config

ROOT = Path(__file__).parents[1]

hypothesis.settings.register_profile(
    "suite",
    derandomize=True,  # a failure is one everywhere, and no database is written
    database=None,
    deadline=None,  # the first example compiles kernels
    max_examples=50,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")


@pytest.fixture(autouse=True)
def _fallback_is_an_error(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no test densify unnoticed, except those marked ``fallback``, which get a warning."""
    mode = "warn" if request.node.get_closest_marker("fallback") else "error"
    with config.using(storage_fallback=mode):
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the root of the repository."""
    return ROOT


def _shared(name: str) -> Path:
    given = os.environ.get("NDSPARSE_TEST_DATA")
    base = Path(given) if given else ROOT.parent / "shared"
    if not (base / name).is_dir():
        pytest.skip(f"no folder {name!r} in {base} (set NDSPARSE_TEST_DATA)")
    return base / name


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of public data files, or skip the test where it is not there."""
    return _shared("data")


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    """Return the folder of values recorded from other programs, or skip the test."""
    return _shared("golden")


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a program in an interpreter of its own and gives its output.

    ``run_python(code, *flags, cwd=..., **environment)``: variables set to None are removed.  The
    program finds the package, runs in an empty folder, and must end without an error.
    """

    def run(code: str, *flags: str, cwd: Path | None = None, **environment: str | None) -> str:
        variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        done = subprocess.run(
            [sys.executable, "-W", "error", *flags, "-c", code],
            cwd=cwd or tmp_path,
            env={name: value for name, value in variables.items() if value is not None},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
