"""Lazy updates of some rows of a large weight, beside numpy and torch.

    python benchmarks/updates.py [--rows N] [--width K] [--touched M] [--threads T] [--json FILE]

numpy is fancy indexing: gather the rows, compute, scatter them.  torch (where it is installed) is
``optim.SGD``, ``optim.Adagrad`` and ``optim.SparseAdam`` on a coalesced sparse gradient.  Every
repetition times all of them once, one after the other, so that all see the same machine; the figures
are medians, ratios are peer / ndsparse.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ndsparse.config import settings
from ndsparse.kernels import updates

LR = 0.01
REPEAT = 15


def numpy_updates(weight: Any, states: list[Any], ids: Any, grad: Any) -> dict[str, Callable[[], None]]:
    """Return the updates as one writes them in numpy."""
    mean, var = states
    lr, b1, b2, eps = (np.float32(x) for x in (LR, 0.9, 0.999, 1e-8))
    one = np.float32(1)

    def sgd() -> None:
        weight[ids] -= lr * grad

    def sgd_mom() -> None:
        m = b1 * mean[ids] - lr * grad
        mean[ids] = m
        weight[ids] += m

    def adagrad() -> None:
        h = var[ids] + grad * grad
        var[ids] = h
        weight[ids] -= lr * grad / np.sqrt(h + eps)

    def adam() -> None:
        m = b1 * mean[ids] + (one - b1) * grad
        v = b2 * var[ids] + (one - b2) * grad * grad
        mean[ids], var[ids] = m, v
        weight[ids] -= lr * m / (np.sqrt(v) + eps)

    return {"sgd": sgd, "sgd_mom": sgd_mom, "adagrad": adagrad, "adam": adam}


def our_updates(weight: Any, states: list[Any], ids: Any, grad: Any) -> dict[str, Callable[[], None]]:
    """Return the updates of this package."""
    mean, var = states
    of_rows = var[:, :1].copy()
    return {
        "sgd": lambda: updates.sgd(weight, grad, lr=LR, rows=ids),
        "sgd_mom": lambda: updates.sgd_mom(weight, mean, grad, lr=LR, momentum=0.9, rows=ids),
        "adagrad": lambda: updates.adagrad(weight, var, grad, lr=LR, rows=ids),
        "adam": lambda: updates.adam(weight, mean, var, grad, lr=LR, rows=ids),
        "ftrl": lambda: updates.ftrl(weight, mean, var, grad, lr=LR, rows=ids),
        "group_adagrad": lambda: updates.group_adagrad(weight, of_rows, grad, lr=LR, rows=ids),
        "sgd_mom exact": lambda: updates.sgd_mom(
            weight, mean, grad, lr=LR, momentum=0.9, rows=ids, exact=True
        ),
    }


def torch_updates(weight: Any, ids: Any, grad: Any, threads: int) -> dict[str, Callable[[], None]]:
    """Return torch's sparse optimizers, if torch is there."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(threads)
    gradient = torch.sparse_coo_tensor(
        torch.from_numpy(ids[None]), torch.from_numpy(grad), weight.shape
    ).coalesce()
    made = {}
    for name, kind in (
        ("sgd", torch.optim.SGD),
        ("adagrad", torch.optim.Adagrad),
        ("adam", torch.optim.SparseAdam),
    ):
        parameter = torch.nn.Parameter(torch.from_numpy(weight.copy()))
        parameter.grad = gradient
        made[name] = kind([parameter], lr=LR).step
    return made


def interleaved(cases: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Return median milliseconds, each repetition going through all cases."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for function in cases.values():
        function()
    for _ in range(REPEAT):
        for name, function in cases.items():
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(t) * 1e3 for name, t in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--touched", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=settings.num_threads)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    settings.num_threads = options.threads
    rng = np.random.default_rng(0)
    shape = (options.rows, options.width)
    weight = rng.standard_normal(shape, np.float32)
    states = [np.full(shape, 0.1, np.float32) for _ in range(2)]
    ids = np.sort(rng.choice(options.rows, options.touched, replace=False))
    grad = rng.standard_normal((options.touched, options.width), np.float32)
    peers = {
        "numpy": numpy_updates(weight, states, ids, grad),
        "torch": torch_updates(weight, ids, grad, options.threads),
    }
    figures: dict[str, Any] = {"shape": shape, "touched": options.touched, "threads": options.threads}
    line = "{:16}{:>13}{:>11}{:>9}{:>11}{:>9}".format
    print(line("update", "ndsparse ms", "numpy ms", "ratio", "torch ms", "ratio"))
    for name, ours in our_updates(weight, states, ids, grad).items():
        cases = {"ndsparse": ours}
        cases.update({peer: table[name] for peer, table in peers.items() if name in table})
        found = interleaved(cases)
        cells = [f"{found['ndsparse']:.3f}"]
        for peer in ("numpy", "torch"):
            known = peer in found
            cells += (
                [f"{found[peer]:.3f}", f"{found[peer] / found['ndsparse']:.1f}x"] if known else ["-", "-"]
            )
        print(line(name, *cells))
        figures[name] = {
            **found,
            **{f"{p}_ratio": found[p] / found["ndsparse"] for p in found if p != "ndsparse"},
        }
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
