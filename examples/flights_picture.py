"""The picture of the flights example: learning curves and calibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from flights_data import Flights
from flights_training import Trained

COLOURS = {"lr_A": "#7a8ca3", "fm_A": "#2f6db3", "fm_E": "#d9772b"}


def draw(
    done: dict[str, Trained],
    titles: dict[str, str],
    prior: dict[str, float],
    before: Flights,
    with_delay: Flights,
    folder: Path,
) -> Path:
    """Write ``flights.png`` and return its path."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "font.size": 9})
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    known = {key: trained for key, trained in done.items() if key.endswith("A")}
    _curves(axes[0], "Known before departure (A)", known, titles, prior)
    _curves(axes[1], "And the departure delay (E)", {"fm_E": done["fm_E"]}, titles, None)
    _calibration(axes[2], done, titles, before, with_delay)
    path = folder / "flights.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _curves(
    axes, title: str, done: dict[str, Trained], titles: dict[str, str], prior: dict[str, float] | None
) -> None:
    if prior is not None:
        axes.axhline(prior["log_loss"], color="#999999", linestyle=":", linewidth=1)
        axes.annotate(
            "constant prior", (1e4, prior["log_loss"]), (0, 4), textcoords="offset points", color="#777777"
        )
    for key, trained in done.items():
        seen, training, test = zip(*trained.curve, strict=True)
        axes.plot(
            seen,
            test,
            color=COLOURS[key],
            marker="o",
            markersize=3,
            label=f"{titles[key].split(',')[0]}: test",
        )
        axes.plot(
            seen, training, color=COLOURS[key], linewidth=1, linestyle="--", alpha=0.6, label="training"
        )
    axes.set(title=title, xlabel="flights seen", ylabel="log loss", xscale="log")
    axes.legend(frameon=False, loc="upper right")


def _calibration(
    axes, done: dict[str, Trained], titles: dict[str, str], before: Flights, with_delay: Flights
) -> None:
    axes.plot([0, 1], [0, 1], color="#999999", linestyle=":", linewidth=1)
    for key, trained in done.items():
        labels = (with_delay if key == "fm_E" else before).test.labels
        order = np.argsort(trained.probabilities)
        groups = np.array_split(order, 15)
        predicted = [trained.probabilities[g].mean() for g in groups]
        observed = [labels[g].mean() for g in groups]
        axes.plot(predicted, observed, color=COLOURS[key], marker="o", markersize=4, label=titles[key])
    axes.set(
        title="Calibration (15 equal groups of test flights)",
        xlabel="predicted probability of being late",
        ylabel="share that was late",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    axes.legend(frameon=False, loc="upper left")
