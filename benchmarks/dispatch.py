"""What a call costs beside its kernel, in microseconds.

The budgets are 3 for dispatch, 10 for an imperative call, 3 for a node of a bound executor.

    python benchmarks/dispatch.py [--json FILE]

The kernel is an elementwise addition of 3 x 3 arrays, numpy's own call subtracted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ndsparse as nds
from ndsparse import nd, sym
from ndsparse.ops import registry
from ndsparse.ops.registry import OpContext

REPEAT = 40
CALLS = 2_000
NODES = 100


def microseconds(function: Callable[[], object], calls: int = CALLS) -> float:
    """Return the time of one call in the best run: a busy machine adds to a few microseconds, never less."""
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    a = nd.ones((3, 3))
    plain = a.asnumpy()
    out = np.empty_like(plain)
    add = registry.get("elemwise_add")
    nd.elemwise_add(a, a)
    chunk = a._chunk
    ctx = OpContext()
    result = chunk.fresh()
    prepared = next(iter(add.dispatch_memo.values()))
    prepared.run((chunk, chunk), (result,), ctx)

    def look_up() -> object:
        return add.dispatch_memo.get((chunk.meta, chunk.meta, None))

    kernel = microseconds(lambda: np.add(plain, plain))
    into = microseconds(lambda: np.add(plain, plain, out=out))
    found = {
        "numpy add": kernel,
        "numpy add with out": into,
        "memoised dispatch": microseconds(look_up),
        "imperative call": microseconds(lambda: nd.elemwise_add(a, a)) - kernel,
        "a + b": microseconds(lambda: a + a) - kernel,
        "node of a bound executor": _node() - into,
    }
    for name, value in found.items():
        print(f"{name:<28} {value:8.2f} us")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


def _node() -> float:
    x = sym.Variable("x")
    y = x
    for _ in range(NODES):
        y = y + x
    executor = y.simple_bind(nds.cpu(), x=(3, 3), grad_req="null")
    return microseconds(executor.forward, CALLS // NODES) / NODES


if __name__ == "__main__":
    main()
