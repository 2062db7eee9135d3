"""Training through the key-value store, evaluation, and checkpoints."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from flights_data import Flights, Split

import ndsparse as nds
from ndsparse import nd, sym

BATCH = 1000
SEED = 13
FIRST_POINT, GROWTH = 10, 1.4
"""Test flights are scored after 10 steps, and whenever training has gone on by this factor."""


class Trained(NamedTuple):
    """What training leaves behind."""

    parameters: dict[str, nd.NDArray]
    log_loss: float
    auc: float
    seconds: float
    rows_per_second: float
    curve: list[tuple[int, float, float]]  # flights seen, training loss since the last point, test loss
    probabilities: np.ndarray


def train(title: str, model: sym.Symbol, flights: Flights, epochs: int, rate: float) -> Trained:
    """Train with AdaGrad on the store's side; each step moves only the rows of its batch."""
    start = time.perf_counter()
    width = flights.train.features.shape[1]
    nds.random.seed(SEED)
    store = nds.kvstore.create("local")
    bound = model.simple_bind(nds.cpu(), data=(BATCH, width), label=(BATCH, 1), grad_req=_requests(model))
    _init_store(store, model, bound)
    store.set_optimizer(nds.optimizer.create("adagrad", learning_rate=rate, rescale_grad=1 / BATCH))
    batches = nds.io.NDArrayIter(
        flights.train.features,
        {"label": flights.train.labels[:, None]},
        batch_size=BATCH,
        shuffle=True,
        last_batch_handle="discard",
    )
    curve = []
    spent = 0.0
    for point, loss, seconds in _steps(title, store, bound, batches, epochs):
        spent += seconds
        parameters = pull_all(store, model, bound)
        probabilities = predict(model, parameters, flights.test)
        curve.append((point, loss, log_loss(flights.test.labels, probabilities)))
    return Trained(
        parameters,
        curve[-1][2],
        auc(flights.test.labels, probabilities),
        time.perf_counter() - start,
        curve[-1][0] / spent,
        curve,
        probabilities,
    )


def _requests(model: sym.Symbol) -> dict[str, str]:
    return {n: "null" if n in ("data", "label") else "write" for n in model.list_arguments()}


def weights_of(model: sym.Symbol) -> list[str]:
    """Return the names of the arguments that are trained."""
    return [n for n in model.list_arguments() if n not in ("data", "label")]


def _init_store(store: nds.kvstore.KVStore, model: sym.Symbol, bound: nds.executor.Executor) -> None:
    notes = model.attr_dict()
    for name in weights_of(model):
        first = nd.zeros(bound.arg_dict[name].shape)
        nds.init.create(notes[name]["__init__"])(nds.init.InitDesc(name, notes[name]), first)
        store.init(name, first.tostype(bound.arg_dict[name].stype))


def _steps(
    title: str,
    store: nds.kvstore.KVStore,
    bound: nds.executor.Executor,
    batches: nds.io.NDArrayIter,
    epochs: int,
) -> Iterator[tuple[int, float, float]]:
    """Train; at steps 10, 14, 20, ... and at the end yield flights seen, training loss and seconds."""
    last = epochs * (batches.num_data // BATCH)
    step, begun, losses, point = 0, time.perf_counter(), [], FIRST_POINT
    for _ in range(epochs):
        batches.reset()
        for batch in batches:
            losses.append(_step(store, bound, batch.data[0], batch.label[0]))
            step += 1
            if step >= point or step == last:
                seconds, point = time.perf_counter() - begun, point * GROWTH
                _progress(title, step / last, len(losses) * BATCH / seconds, float(np.mean(losses)))
                yield step * BATCH, float(np.mean(losses)), seconds
                begun, losses = time.perf_counter(), []
    _end_progress()


def _step(
    store: nds.kvstore.KVStore, bound: nds.executor.Executor, data: nd.NDArray, label: nd.NDArray
) -> float:
    """Pull the rows of a batch, run forward and backward, push the gradients; return the loss."""
    names = [n for n, g in bound.grad_dict.items() if g is not None]
    for name in names:
        if bound.arg_dict[name].stype == "row_sparse":
            store.row_sparse_pull(name, out=bound.arg_dict[name], row_ids=data.indices)
        else:
            store.pull(name, out=bound.arg_dict[name])
    (output,) = bound.forward(is_train=True, data=data, label=label)
    bound.backward()
    for name in names:
        store.push(name, bound.grad_dict[name])
    return log_loss(label.asnumpy().ravel(), output.asnumpy().ravel())


def pull_all(
    store: nds.kvstore.KVStore, model: sym.Symbol, bound: nds.executor.Executor
) -> dict[str, nd.NDArray]:
    """Return whole copies of all weights."""
    found = {}
    for name in weights_of(model):
        out = bound.arg_dict[name].copy()
        if out.stype == "row_sparse":
            store.row_sparse_pull(name, out=out, row_ids=nd.arange(out.shape[0], dtype="int64"))
        else:
            store.pull(name, out=out)
        found[name] = out
    return found


def predict(model: sym.Symbol, parameters: dict[str, nd.NDArray], split: Split) -> np.ndarray:
    """Return the probability of being late for every flight."""
    arguments = {**parameters, "data": split.features, "label": nd.zeros((len(split.labels), 1))}
    (output,) = model.eval(nds.cpu(), **arguments)
    return output.asnumpy().ravel()


def log_loss(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the mean negative log likelihood."""
    p = np.clip(probabilities.astype(np.float64), 1e-12, 1 - 1e-12)
    return float(-np.mean(np.where(labels > 0.5, np.log(p), np.log1p(-p))))


def auc(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the area under the ROC curve; ties count half."""
    _, inverse, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = labels > 0.5
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(labels) - n)))


def checkpoint_round_trip(model: sym.Symbol, trained: Trained, split: Split, folder: Path) -> bool:
    """Save, load, predict again; return whether the predictions are equal to the last bit."""
    prefix = str(folder / "fm")
    nds.model.save_checkpoint(prefix, 1, model, trained.parameters, {})
    loaded, parameters, _ = nds.model.load_checkpoint(prefix, 1)
    return bool(np.array_equal(predict(loaded, parameters, split), trained.probabilities))


def _progress(title: str, done: float, rate: float, loss: float) -> None:
    """Show one line that is written over in a terminal; in a log, lines as training goes on."""
    text = f"  {title:<34} {done:4.0%} {rate:>10,.0f} rows/s  loss {loss:.4f}"
    if sys.stderr.isatty():
        bar = "=" * round(20 * done)
        sys.stderr.write(f"\r{text}  [{bar:<20}] ")
        sys.stderr.flush()
    elif done > 0.3:
        sys.stderr.write(f"{text}\n")


def _end_progress() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r" + " " * 110 + "\r")
