"""Run stages of the checks and print the seconds of each: ``stages.py lint types check wheel``.

All stages run even if one fails; the exit status is 1 then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = [sys.executable]
STAGES = {
    "lint": [[*PYTHON, "-m", "ruff", "check", "."], [*PYTHON, "-m", "ruff", "format", "--check", "."]],
    "types": [[*PYTHON, "-m", "mypy"]],
    "check": [[*PYTHON, "-m", "pytest", "-q", "--durations=10"]],
    "bounds": [[*PYTHON, "-m", "pytest", "-q", "tests/kernels"]],
    "wheel": [[*PYTHON, "tools/check_wheel.py"]],
}


ENVIRONMENT = {"bounds": {"NUMBA_BOUNDSCHECK": "1"}}
"""What is set for a stage: kernels compiled with checks of every index, for example."""


def run(stage: str) -> tuple[bool, float]:
    """Run the commands of one stage; return whether all went well, and the seconds."""
    print(f"\n== {stage}", flush=True)
    environment = {**os.environ, "MPLBACKEND": "Agg", **ENVIRONMENT.get(stage, {})}
    begin = time.perf_counter()
    results = [subprocess.run(c, cwd=ROOT, env=environment, check=False) for c in STAGES[stage]]
    return all(r.returncode == 0 for r in results), time.perf_counter() - begin


def main(names: list[str]) -> int:
    unknown = set(names) - STAGES.keys()
    if unknown or not names:
        print(f"stages: expected some of {', '.join(STAGES)}, got {', '.join(sorted(unknown)) or 'none'}")
        return 2
    results = {name: run(name) for name in names}
    print("\nstage    seconds  result")
    for name, (good, seconds) in results.items():
        print(f"{name:<8} {seconds:7.1f}  {'ok' if good else 'FAILED'}")
    print(f"{'all':<8} {sum(s for _, s in results.values()):7.1f}")
    return 0 if all(good for good, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
