"""The local store between threads: nobody sees an update, or a replacement, half done."""

import threading
import time

import numpy as np
import pytest

from ndsparse import kvstore, nd
from ndsparse import optimizer as opt

ROWS, WIDTH = 4000, 8
SECONDS = 0.6


def beside(change, look):
    """Run ``change`` again and again in a thread, and ``look`` here; return what went wrong."""
    stop, errors = threading.Event(), []

    def run():
        try:
            while not stop.is_set():
                change()
        except Exception as error:  # noqa: BLE001 - the test's assertion shows it
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not errors:
            errors.extend(look())
    finally:
        stop.set()
        thread.join()
    return errors


def ones(stype):
    kv = kvstore.create("local")
    kv.init("w", nd.ones((ROWS, WIDTH)).tostype(stype))
    return kv


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_a_puller_beside_a_pusher(stype):
    kv = ones(stype)  # without an optimizer a push replaces: row by row, or zeros and then rows
    value = nd.ones((ROWS, WIDTH)).tostype("row_sparse")
    out, rows = nd.empty((ROWS, WIDTH)), nd.sparse.zeros("row_sparse", (ROWS, WIDTH))
    ids = nd.arange(ROWS)

    def look():
        kv.pull("w", out=out)
        kv.row_sparse_pull("w", out=rows, row_ids=ids)
        found = {"pull": out.asnumpy(), "row_sparse_pull": rows.data.asnumpy()}
        kv.pull("w", out=rows, ignore_sparse=False)
        found["pull of all"] = rows.asnumpy()
        return [name for name, array in found.items() if not (array == 1).all()]

    assert beside(lambda: kv.push("w", value), look) == []


def test_a_puller_beside_one_who_assigns():
    kv = ones("default")
    values = [nd.full((ROWS, WIDTH), n) for n in (1, 2)]
    out = nd.empty((ROWS, WIDTH))

    def change():
        for value in values:
            kv.assign("w", value)

    def look():
        kv.pull("w", out=out)
        return ["half of each"] if len(np.unique(out.asnumpy())) > 1 else []

    assert beside(change, look) == []


def test_states_are_saved_beside_a_pusher(tmp_path):
    kv = kvstore.create("local")
    kv.init("w", nd.sparse.zeros("row_sparse", (10**6, 2)))
    kv.set_optimizer(opt.create("adagrad", learning_rate=0.1))
    rng = np.random.default_rng(0)

    def change():
        ids = np.unique(rng.integers(0, 10**6, 3000))
        kv.push("w", nd.sparse.row_sparse_array((np.ones((len(ids), 2), np.float32), ids), (10**6, 2)))

    def look():
        kv.save_optimizer_states(str(tmp_path / "states"))
        kv.load_optimizer_states(str(tmp_path / "states"))
        return ()

    assert beside(change, look) == []
