"""Callbacks of training: what to log, show and save after batches and epochs.

A batch callback takes a :class:`ndsparse.model.BatchEndParam`; an epoch callback takes ``(epoch,
symbol, arg_params, aux_params)``.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from ndsparse.model import BatchEndParam, Params, save_checkpoint

logger = logging.getLogger(__name__)

EpochCallback = Callable[[int, Any, Params, Params], None]
BatchCallback = Callable[[BatchEndParam], None]


def do_checkpoint(prefix: str, period: int = 1) -> EpochCallback:
    """Return an epoch callback that writes a checkpoint after every ``period`` epochs."""
    period = max(1, int(period))

    def callback(iter_no: int, sym: Any, arg: Params, aux: Params) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return callback


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Return an epoch callback that lets a module write a checkpoint after every ``period`` epochs."""
    period = max(1, int(period))

    def callback(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return callback


def log_train_metric(period: int, auto_reset: bool = False) -> BatchCallback:
    """Return a batch callback that logs the metric after every ``period`` batches.

    ``auto_reset`` begins the metric anew then (its global value goes on).
    """

    def callback(param: BatchEndParam) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logger.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


class Speedometer:
    """Batch callback that logs rows a second, and the metric.

    Parameters
    ----------
    batch_size : int
    frequent : int
        Batches between two lines.
    auto_reset : bool
        Begin the metric anew after each line, so that it shows the batches since the last.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self._tic: float | None = None
        self._last = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Log where a line is due."""
        count = param.nbatch
        if self._last > count:
            self._tic = None
        self._last = count
        if self._tic is None:
            self._tic = time.perf_counter()
        elif count % self.frequent == 0:
            seconds = time.perf_counter() - self._tic
            speed = self.frequent * self.batch_size / seconds if seconds > 0 else math.inf
            self._log(param, speed)
            self._tic = time.perf_counter()

    def _log(self, param: BatchEndParam, speed: float) -> None:
        count, epoch = param.nbatch, param.epoch
        if param.eval_metric is None:
            logger.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", epoch, count, speed)
            return
        text = "\t".join(f"{name}={value:f}" for name, value in param.eval_metric.get_name_value())
        first = count - self.frequent if self.auto_reset else 0
        logger.info("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec\t%s", epoch, first, count, speed, text)
        if self.auto_reset:
            param.eval_metric.reset_local()


class ProgressBar:
    """Batch callback that logs a bar of how much of an epoch is done.

    Parameters
    ----------
    total : int
        Batches of an epoch.
    length : int
        Characters of the bar.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total

    def __call__(self, param: BatchEndParam) -> None:
        """Log the bar."""
        share = min(1.0, param.nbatch / self.total) if self.total else 1.0
        filled = round(self.bar_len * share)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logger.info("[%s] %s%%\r", bar, math.ceil(100.0 * share))


class ProgressLine:
    """Batch callback that shows epoch, rows a second and the metric: one line, rewritten in a terminal.

    Where the stream is no terminal (a file, a pipe), a line is written every ``seconds`` instead.

    Parameters
    ----------
    batch_size : int
    title : str
        Stands at the beginning of the line.
    epochs : int, optional
        To show as "epoch 2/6".
    seconds : float
        Between two lines of a log; a terminal is rewritten at most ten times a second.
    stream : text file, optional
        Default ``sys.stderr``.

    Notes
    -----
    Call :meth:`close` at the end (or use a ``with`` block): it clears the line of a terminal.
    """

    def __init__(
        self,
        batch_size: int,
        title: str = "",
        epochs: int | None = None,
        seconds: float = 5.0,
        stream: TextIO | None = None,
    ) -> None:
        self.batch_size = batch_size
        self.title = title
        self.epochs = epochs
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._pause = 0.1 if self._terminal else seconds
        self._begun = self._shown = time.perf_counter()
        self._epoch = -1
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __call__(self, param: BatchEndParam) -> None:
        """Show the line if it is due."""
        now = time.perf_counter()
        if param.epoch != self._epoch:
            self._epoch, self._begun = param.epoch, now
            self._first = param.nbatch  # its own time is not known
        if now - self._shown < self._pause:
            return
        self._shown = now
        rows = (param.nbatch - self._first) * self.batch_size
        of = f"/{self.epochs}" if self.epochs else ""
        parts = [self.title] if self.title else []
        parts.append(f"epoch {param.epoch + 1}{of}, batch {param.nbatch + 1}")
        if rows and now > self._begun:
            parts.append(f"{rows / (now - self._begun):,.0f} rows/s")
        if param.eval_metric is not None:
            parts += [f"{name} {value:.4f}" for name, value in param.eval_metric.get_name_value()]
        self._write("  ".join(parts))

    def _write(self, text: str) -> None:
        if self._terminal:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Clear the line of a terminal."""
        if self._terminal and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


class LogValidationMetricsCallback:
    """Callback after an evaluation that logs the metrics."""

    def __call__(self, param: BatchEndParam) -> None:
        """Log the metrics."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            logger.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
