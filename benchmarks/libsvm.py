"""Reading libsvm files, in MB of text a second, beside scikit-learn's load_svmlight_file.

    python benchmarks/libsvm.py [FILE ...] [--megabytes 24] [--repeat 7] [--json FILE]

The readers take turns, so that a busy machine slows all of them; medians are compared.  Without
FILE, files are made: 80 features a row with values of 6 digits, the same with 16 digits, and ids
with the value 1 only.  scikit-learn reads with one thread (it has no other way), this project with
as many as its settings allow; the same with one thread is shown too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ndsparse import config
from ndsparse.io import LibSVMIter, read_libsvm, write_libsvm

BATCH = 1000


def make(path: Path, megabytes: float, form: str) -> None:
    """Write a file of about that size."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        while file.tell() < megabytes * 1e6:
            ids = np.sort(rng.choice(100_000, 80, replace=False))
            values = rng.random(80)
            features = " ".join(
                f"{i}:{v:{form}}" if form else f"{i}:1" for i, v in zip(ids, values, strict=True)
            )
            file.write(f"{int(values[0] > 0.5)} {features}\n")


def run_iterator(path: Path, width: int) -> None:
    with LibSVMIter(path, width, batch_size=BATCH) as batches:
        for _ in batches:
            pass


def one_thread(function: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        with config.using(num_threads=1):
            return function()

    return run


def readers(path: Path) -> dict[str, Callable[[], object]]:
    """Return what is compared."""
    width = read_libsvm(path, zero_based=True)[0].shape[1]
    found: dict[str, Callable[[], object]] = {
        "LibSVMIter": lambda: run_iterator(path, width),
        "read_libsvm": lambda: read_libsvm(path, width, zero_based=True),
        "read_libsvm float64": lambda: read_libsvm(path, width, zero_based=True, dtype=np.float64),
    }
    found["LibSVMIter, 1 thread"] = one_thread(found["LibSVMIter"])
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError:
        print("scikit-learn is not installed: no comparison")
    else:
        found["scikit-learn"] = lambda: load_svmlight_file(
            str(path), n_features=width, dtype=np.float32, zero_based=True
        )
    return found


def measure(path: Path, repeat: int) -> dict[str, float]:
    """Return megabytes a second of every reader, and ratios to scikit-learn."""
    functions = readers(path)
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(repeat + 1):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            if turn:  # the first turn warms up
                seconds[name].append(time.perf_counter() - start)
    size = os.path.getsize(path) / 1e6
    speed = {name: size / statistics.median(taken) for name, taken in seconds.items()}
    speed["LibSVMIter, best"] = size / min(seconds["LibSVMIter"])
    if "scikit-learn" in speed:
        speed["LibSVMIter / scikit-learn"] = speed["LibSVMIter"] / speed["scikit-learn"]
    return speed


def measure_writer(path: Path) -> float:
    """Return megabytes a second of writing what a file holds."""
    data, label = read_libsvm(path, zero_based=True)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.svm"
        start = time.perf_counter()
        write_libsvm(target, data, label)
        return os.path.getsize(target) / 1e6 / (time.perf_counter() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--megabytes", type=float, default=24)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files: list[Path] = list(options.files)
        if not files:
            for name, form in (("6 digits", ".6g"), ("16 digits", ".16g"), ("ones", "")):
                files.append(Path(folder) / name)
                make(files[-1], options.megabytes, form)
        for path in files:
            results[path.name] = {**measure(path, options.repeat), "write_libsvm": measure_writer(path)}
            print(f"{path.name} ({os.path.getsize(path) / 1e6:.1f} MB)")
            for name, value in results[path.name].items():
                print(f"  {name:<28}{value:8.1f} {'x' if '/' in name else 'MB/s'}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
