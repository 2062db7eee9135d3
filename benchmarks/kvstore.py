"""The local store: push and row_sparse_pull, beside numpy on a dense weight; and what rows cost.

    python benchmarks/kvstore.py [--rows N] [--width K] [--slab-rows M] [--json FILE]

``step`` is a push of row_sparse gradients with a server-side optimizer and a row_sparse_pull of the
same ids.  numpy does the same on a dense array: unique ids, fancy indexing for the update and for the
pull.  The last table fills a slab of a 5,000,000,000-row weight and measures bytes and rows a second.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ndsparse import kvstore, nd
from ndsparse import optimizer as opt
from ndsparse.kvstore.row_init import row_init
from ndsparse.kvstore.shard import Shard

REPEAT = 9
LOGICAL_ROWS = 5_000_000_000


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


def step_of_numpy(weight: Any, history: Any, ids: Any, grad: Any, wanted: Any) -> None:
    """Update rows by Adagrad and pull rows, with fancy indexing."""
    h = history[ids] + grad * grad
    history[ids] = h
    weight[ids] -= np.float32(0.01) * grad / np.sqrt(h + np.float32(1e-7))
    unique = np.unique(wanted)
    weight[unique]


def steps(rows: int, width: int) -> list[dict[str, Any]]:
    """Measure a step for several batch sizes."""
    rng = np.random.default_rng(0)
    shape = (rows, width)
    weight, history = rng.standard_normal(shape, np.float32), np.zeros(shape, np.float32)
    every = np.arange(rows)
    whole = kvstore.create("local")
    whole.init("w", nd.sparse.row_sparse_array((weight, every), shape=shape))
    lazy = kvstore.create("local")
    lazy.init_rows("w", shape, initializer=("uniform", {"scale": 0.1}))
    for kv in (whole, lazy):
        kv.set_optimizer(opt.create("adagrad", learning_rate=0.01))
    for chunk in np.array_split(rng.permutation(rows), 20):  # rows arrive in many pushes
        ids = np.sort(chunk)
        lazy.push("w", nd.sparse.row_sparse_array((weight[ids], ids), shape=shape))
    figures = []
    for count in (1_000, 10_000, 100_000):
        ids = np.sort(rng.choice(rows, min(count, rows), replace=False))
        grad = rng.standard_normal((len(ids), width), np.float32)
        gradient = nd.sparse.row_sparse_array((grad, ids), shape=shape)
        wanted = rng.permutation(np.concatenate([ids, ids[: len(ids) // 4]]))
        asked = nd.array(wanted, dtype="int64")
        out = nd.sparse.zeros("row_sparse", shape)

        def step(kv: Any, gradient: Any = gradient, asked: Any = asked, out: Any = out) -> None:
            kv.push("w", gradient)
            kv.row_sparse_pull("w", out, row_ids=asked)

        found = interleaved(
            {
                "one chunk": lambda step=step: step(whole),
                "many chunks": lambda step=step: step(lazy),
                "numpy": lambda i=ids, g=grad, w=wanted: step_of_numpy(weight, history, i, g, w),
            }
        )
        figures.append({"rows": len(ids), **found})
    return figures


def resident_bytes() -> int:
    """Return the memory this process occupies (0 where the system does not say)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def slab(rows: int, width: int) -> dict[str, Any]:
    """Fill a slab of a weight that could never be stored whole."""
    rng = np.random.default_rng(1)
    shard = Shard()
    shard.init_rows("w", (LOGICAL_ROWS, width), first=row_init("uniform", (LOGICAL_ROWS, width)))
    shard.set_optimizer({"name": "groupadagrad"})
    warm = Shard()  # compile, and import what compiles, before memory is looked at
    warm.init_rows("w", (9, width), first=row_init("uniform", (9, width)))
    warm.set_optimizer({"name": "groupadagrad"})
    warm.push({"w": (np.arange(3), np.ones((3, width), np.float32))})
    before = resident_bytes()
    entry, seconds = shard.entry("w"), 0.0
    while len(entry.slab) < rows:
        ids = np.unique(rng.integers(0, LOGICAL_ROWS, 100_000))
        grad = rng.standard_normal((len(ids), width), np.float32)
        start = time.perf_counter()
        shard.push({"w": (ids, grad)})
        seconds += time.perf_counter() - start
    del ids, grad
    resident = resident_bytes() - before
    memory = entry.slab.memory()
    untouched = rng.integers(0, LOGICAL_ROWS, 100_000)
    start = time.perf_counter()
    shard.pull_rows("w", untouched)
    pull = time.perf_counter() - start
    return {
        "touched": memory.rows,
        "payload bytes a row": memory.payload / memory.rows,
        "slab bytes / payload": (memory.payload + memory.table) / memory.payload,
        "reserved bytes / payload": memory.reserved / memory.payload,
        "resident bytes / payload": resident / memory.payload,
        "pushed rows a second": memory.rows / seconds,
        "pulled untouched rows a second": len(untouched) / pull,
        "stored by that pull": len(entry.slab) - memory.rows,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--slab-rows", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    stored = slab(options.slab_rows, options.width)
    measured = steps(options.rows, options.width)
    line = "{:>8}{:>14}{:>14}{:>10}{:>8}{:>8}".format
    print(line("rows", "one chunk ms", "many chunks ms", "numpy ms", "ratio", "ratio"))
    for found in measured:
        one, many, peer = found["one chunk"], found["many chunks"], found["numpy"]
        ratios = (f"{peer / one:.1f}x", f"{peer / many:.1f}x")
        print(line(found["rows"], f"{one:.2f}", f"{many:.2f}", f"{peer:.2f}", *ratios))
    print(f"\na weight of {LOGICAL_ROWS:,} x {options.width}, row-wise Adagrad")
    for name, value in stored.items():
        print(f"{name:32}{value:>16,.2f}")
    if options.json:
        options.json.write_text(json.dumps({"steps": measured, "slab": stored}, indent=1))


if __name__ == "__main__":
    main()
