"""Will this flight be late?  Sparse models on the 336,776 flights that left New York in 2013.

    python examples/flights.py [--results FOLDER] [--epochs N]

The program builds one-hot csr matrices, declares graphs with a csr data variable and row_sparse
weights, and trains them through a key-value store whose server-side optimizer sees only the rows
that a batch touches.  It prints a table and writes ``summary.json`` and a picture.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from flights_data import Flights, load
from flights_models import factorization_machine, logistic_regression
from flights_training import Trained, auc, checkpoint_round_trip, log_loss, train


def main() -> None:
    """Run everything."""
    start = time.perf_counter()
    options = _options()
    options.results.mkdir(parents=True, exist_ok=True)
    before, with_delay = load()
    sizes = f"{len(before.train.labels):,} flights to train, {len(before.test.labels):,} to test"
    print(
        f"{sizes}; features: A {before.train.features.shape[1]}, E {with_delay.train.features.shape[1]} wide"
    )
    runs = {
        "lr_A": ("logistic regression, A", logistic_regression, before),
        "fm_A": ("factorization machine, A", factorization_machine, before),
        "fm_E": ("factorization machine, A + delay", factorization_machine, with_delay),
    }
    done: dict[str, Trained] = {}
    for key, (title, build, flights) in runs.items():
        model = build(flights.train.features.shape[1])
        done[key] = train(title, model, flights, options.epochs, options.rate)
    model = factorization_machine(with_delay.train.features.shape[1])
    equal = checkpoint_round_trip(model, done["fm_E"], with_delay.test, options.results)
    prior = _prior(before)
    summary = {
        **{
            k: {n: getattr(t, n) for n in ("log_loss", "auc", "seconds", "rows_per_second")}
            for k, t in done.items()
        },
        "prior": prior,
        "checkpoint_equal": equal,
        "seconds": time.perf_counter() - start,
    }
    _print_table(summary, {k: title for k, (title, _, _) in runs.items()})
    _write(options.results / "summary.json", json.dumps(summary, indent=2))
    from flights_picture import draw

    picture = draw(
        done, {k: title for k, (title, _, _) in runs.items()}, prior, before, with_delay, options.results
    )
    print(f"checkpoint written, loaded, predictions equal: {equal}")
    print(
        f"{picture} and {options.results / 'summary.json'} written; "
        f"{time.perf_counter() - start:.1f} s in all"
    )
    if not equal:
        raise SystemExit("the checkpoint did not give the same predictions")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=Path("demo-results"), help="folder for the results")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the training flights")
    parser.add_argument("--rate", type=float, default=0.1, help="learning rate of AdaGrad")
    return parser.parse_args()


def _prior(flights: Flights) -> dict[str, float]:
    """Return the scores of predicting the training mean for every flight."""
    start = time.perf_counter()
    constant = np.full(len(flights.test.labels), flights.train.labels.mean(dtype=np.float64))
    scores = {"log_loss": log_loss(flights.test.labels, constant), "auc": auc(flights.test.labels, constant)}
    return {**scores, "seconds": time.perf_counter() - start}


def _print_table(summary: dict, titles: dict[str, str]) -> None:
    print(f"\n{'model':<34} {'log loss':>9} {'AUC':>7} {'seconds':>8} {'rows/s':>10}")
    prior = summary["prior"]
    print(f"{'constant prior':<34} {prior['log_loss']:>9.4f} {prior['auc']:>7.4f}")
    for key, title in titles.items():
        row = summary[key]
        print(
            f"{title:<34} {row['log_loss']:>9.4f} {row['auc']:>7.4f} {row['seconds']:>8.1f}"
            f" {row['rows_per_second']:>10,.0f}"
        )


def _write(path: Path, text: str) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)


if __name__ == "__main__":
    main()
