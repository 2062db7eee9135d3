"""Watching the arrays inside of a graph while it trains."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.ndarray.invoke import dense
from ndsparse.ndarray.ndarray import NDArray

logger = logging.getLogger(__name__)

Statistic = Callable[[NDArray], Any]


def mean_magnitude(array: NDArray) -> NDArray:
    """Return ``norm(x) / sqrt(size)``, from what is stored."""
    stored = array._chunk.data
    norm = float(np.linalg.norm(stored.astype(np.float64).ravel()))
    result: NDArray = dense(np.array([norm / max(array.size, 1) ** 0.5]))
    return result


class Monitor:
    """Collects a statistic of the outputs of nodes, and of the parameters.

    Parameters
    ----------
    interval : int
        Steps between two collections.
    stat_func : callable, optional
        From an NDArray to an NDArray or a list of them; default the root of the mean square.
    pattern : str
        A regular expression; names that it matches are watched.
    sort : bool
        Order the results by name.
    monitor_all : bool
        Accepted as in MXNet; inputs are watched as parameters.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Statistic | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        self.interval = interval
        self.stat_func = stat_func or mean_magnitude
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.step = 0
        self.queue: list[tuple[int, str, Any]] = []
        self.exes: list[Any] = []
        self._pattern = re.compile(pattern)

    def install(self, exe: Any, monitor_all: bool | None = None) -> None:
        """Watch an executor."""
        exe.set_monitor_callback(self._watch, self.monitor_all if monitor_all is None else monitor_all)
        self.exes.append(exe)

    def _watch(self, name: str, array: NDArray) -> None:
        if self.activated and self._pattern.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def tic(self) -> None:
        """Begin to collect if the step is one of those; call it before ``forward``."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End the collection; return (step, name, text of the statistic)."""
        if not self.activated:
            return []
        self.activated = False
        for exe in self.exes:
            for name, array in {**exe.arg_dict, **exe.aux_dict}.items():
                if self._pattern.match(name):
                    self.queue.append((self.step, name, self.stat_func(array)))
        found = sorted(self.queue, key=lambda item: item[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(value)) for step, name, value in found]

    def toc_print(self) -> None:
        """End the collection and log the results."""
        for step, name, text in self.toc():
            logger.info("Batch: %7d %30s %s", step, name, text)


def _text(value: Any) -> str:
    values = value if isinstance(value, list) else [value]
    return "\t".join(str(v.asscalar()) if v.size == 1 else str(v.asnumpy()) for v in values)
