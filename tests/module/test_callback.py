"""Callbacks: what is logged, shown and saved."""

from __future__ import annotations

import io
import logging
import re

import pytest

from ndsparse import callback, metric, nd, sym
from ndsparse.model import BatchEndParam, load_checkpoint


def filled_metric():
    found = metric.create(["acc", "loss"])
    found.update([nd.array([1, 0])], [nd.array([[0.1, 0.9], [0.3, 0.7]])])
    return found


@pytest.fixture
def clock(monkeypatch):
    """Let time go by when the test says so."""

    class Clock:
        now = 100.0

    monkeypatch.setattr("time.perf_counter", lambda: Clock.now)
    return Clock


def messages(caplog):
    return [r.getMessage() for r in caplog.records]


@pytest.mark.parametrize("auto_reset", [True, False])
def test_speedometer(caplog, clock, auto_reset):
    found = filled_metric()
    speed = callback.Speedometer(batch_size=10, frequent=4, auto_reset=auto_reset)
    with caplog.at_level(logging.INFO):
        for n in range(9):
            clock.now += 0.5
            speed(BatchEndParam(2, n, found, None))
    first, second = messages(caplog)
    assert first.startswith("Epoch[2] Batch [0-4]\tSpeed: 20.00 samples/sec\taccuracy=0.500000\tloss=")
    assert second.startswith(f"Epoch[2] Batch [{4 if auto_reset else 0}-8]\tSpeed: 20.00 samples/sec")
    assert ("accuracy=nan" in second) == auto_reset
    assert dict(found.get_global_name_value())["accuracy"] == 0.5


def test_speedometer_begins_anew_with_an_epoch_and_needs_no_metric(caplog, clock):
    speed = callback.Speedometer(1, 2)
    with caplog.at_level(logging.INFO):
        for n in (0, 1, 2, 0, 1, 2):
            speed(BatchEndParam(0, n, None, None))
            clock.now += 1 if n else 100
    assert messages(caplog) == ["Iter[0] Batch [2]\tSpeed: 0.02 samples/sec"] * 2


def test_log_train_metric(caplog):
    found = filled_metric()
    log = callback.log_train_metric(2, auto_reset=True)
    with caplog.at_level(logging.INFO):
        for n in range(1, 4):
            log(BatchEndParam(1, n, found, None))
        log(BatchEndParam(1, 4, None, None))
    assert messages(caplog)[0] == "Iter[1] Batch[2] Train-accuracy=0.500000"
    assert len(messages(caplog)) == 2
    assert found.get_global()[1][0] == 0.5


def test_progress_bar(caplog):
    bar = callback.ProgressBar(total=4, length=8)
    with caplog.at_level(logging.INFO):
        for n in (0, 1, 4):
            bar(BatchEndParam(0, n, None, None))
        callback.ProgressBar(0, 2)(BatchEndParam(0, 0, None, None))
    assert messages(caplog) == ["[--------] 0%\r", "[==------] 25%\r", "[========] 100%\r", "[==] 100%\r"]


def test_validation_metrics_are_logged(caplog):
    with caplog.at_level(logging.INFO):
        callback.LogValidationMetricsCallback()(BatchEndParam(3, 0, filled_metric(), None))
        callback.LogValidationMetricsCallback()(BatchEndParam(3, 0, None, None))
    assert messages(caplog)[0] == "Epoch[3] Validation-accuracy=0.500000"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_progress_line_in_a_terminal_is_rewritten(clock):
    screen = Terminal()
    with callback.ProgressLine(10, "fm", epochs=2, stream=screen) as line:
        for epoch in range(2):
            for n in range(3):
                clock.now += 0.2
                line(BatchEndParam(epoch, n, filled_metric(), None))
    parts = screen.getvalue().split("\r")
    assert parts[0] == ""
    assert parts[2].startswith("fm  epoch 1/2, batch 2  50 rows/s  accuracy 0.5000  loss ")
    assert "\n" not in screen.getvalue()
    assert parts[-2].isspace()
    assert parts[-1] == ""


def test_a_progress_line_in_a_file_is_a_line_now_and_then(clock):
    log = io.StringIO()
    line = callback.ProgressLine(10, seconds=1.0, stream=log)
    for n in range(12):
        clock.now += 0.25
        line(BatchEndParam(0, n, None, None))
    line.close()
    lines = log.getvalue().splitlines()
    assert lines == [f"epoch 1, batch {n}  40 rows/s" for n in (4, 8, 12)]


def test_checkpoints_are_written_every_so_often(tmp_path):
    save = callback.do_checkpoint(str(tmp_path / "c"), period=2)
    net = sym.Variable("x") * 2
    for epoch in range(4):
        save(epoch, net, {"x": nd.array([epoch])}, {"s": nd.ones(1)})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c-0002.params", "c-0004.params", "c-symbol.json"]
    symbol, args, aux = load_checkpoint(tmp_path / "c", 4)
    assert symbol.list_arguments() == ["x"]
    assert args["x"].asscalar() == 3
    assert re.fullmatch("s", next(iter(aux)))
