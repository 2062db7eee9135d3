"""NDArrayIter: batches of arrays in memory; csr arrays give csr batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError, StorageTypeError
from ndsparse.io import rows
from ndsparse.io.data import DataDesc, DataIter, checked_batch_size
from ndsparse.ndarray import sparse_creation
from ndsparse.ndarray.creation import array
from ndsparse.ndarray.generator import generator
from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ndarray.operands import is_scipy_sparse
from ndsparse.storage import Chunk

LAST_BATCH = ("pad", "discard", "roll_over")

Source = Any
"""An array, or a list or dict of arrays: NDArray (dense, csr), numpy, scipy sparse, nested lists."""


class NDArrayIter(DataIter):
    """Iterate over arrays in batches.

    Parameters
    ----------
    data : array, list or dict of arrays
        Dense or csr NDArrays, numpy arrays, scipy sparse arrays.  A row_sparse matrix is taken as csr.
    label : the same, optional
    batch_size : int
    shuffle : bool
        Bring the rows into a new order at every reset.
    last_batch_handle : {"pad", "discard", "roll_over"}
        What becomes of rows that do not fill a batch: filled up from the start of the epoch, left
        out, or put before the rows of the next epoch.
    data_name, label_name : str
        Names of what has none; several unnamed arrays are called ``_0_data``, ``_1_data``, ...
    seed : int, optional
        Of the order; default: drawn from :mod:`ndsparse.random`.

    Notes
    -----
    Batches in order are views of the arrays (their memory is not written by operators); shuffled
    ones are copies of their rows.  Nothing sparse is made dense.

    Differing from MXNet: csr arrays work in every mode and with every last batch; a batch that
    begins with rolled-over rows has ``pad`` 0, since all its rows are real.

    Examples
    --------
    >>> import numpy as np
    >>> from ndsparse.io import NDArrayIter
    >>> rows = NDArrayIter(np.arange(10).reshape(5, 2), np.arange(5), batch_size=2)
    >>> [(batch.data[0].asnumpy().tolist(), batch.pad) for batch in rows]
    [([[0.0, 1.0], [2.0, 3.0]], 0), ([[4.0, 5.0], [6.0, 7.0]], 0), ([[8.0, 9.0], [0.0, 1.0]], 1)]
    """

    def __init__(
        self,
        data: Source,
        label: Source = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(checked_batch_size(batch_size))
        if last_batch_handle not in LAST_BATCH:
            raise ArgumentError(f"last_batch_handle: expected one of {LAST_BATCH}, got {last_batch_handle!r}")
        self.data = _named("data", data, data_name)
        self.label = _named("label", label, label_name) if label is not None else []
        if not self.data:
            raise ArgumentError("data: expected at least one array, got none")
        self.num_data = _common_length([*self.data, *self.label])
        self.last_batch_handle = last_batch_handle
        self.shuffle = shuffle
        self._random = None if seed is None else np.random.default_rng(seed)
        self._rolled = np.empty(0, dtype=np.int64)
        self._begin_epoch()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data arrays."""
        return self._describe(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the label arrays."""
        return self._describe(self.label)

    def _describe(self, arrays: list[tuple[str, NDArray]]) -> list[DataDesc]:
        return [DataDesc(name, (self.batch_size, *a.shape[1:]), a.dtype) for name, a in arrays]

    def hard_reset(self) -> None:
        """Start an epoch anew, forgetting rows that were rolled over."""
        self._rolled = self._rolled[:0]
        self._begin_epoch()

    def reset(self) -> None:
        """Start the next epoch.  Before its first batch, an epoch is not given up for another."""
        if self.cursor >= 0 and self.last_batch_handle == "roll_over":
            ended = self.cursor + self.batch_size > self._total
            left = self._total % self.batch_size if ended else 0
            self._rolled = self._ids(self._total - left, self._total)
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._order = self._new_order() if self.shuffle else None
        self._total = len(self._rolled) + self.num_data
        self.cursor = -self.batch_size

    def _new_order(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return (self._random or generator()).permutation(self.num_data)

    def iter_next(self) -> bool:
        """Move to the next batch; return whether there is one."""
        self.cursor += self.batch_size
        if self.last_batch_handle == "pad":
            return self.cursor < self._total
        return self.cursor + self.batch_size <= self._total

    def getdata(self) -> list[NDArray]:
        """Return the data arrays of the current batch."""
        return [wrap(self._rows(a._chunk)) for _, a in self.data]

    def getlabel(self) -> list[NDArray]:
        """Return the label arrays of the current batch."""
        return [wrap(self._rows(a._chunk)) for _, a in self.label]

    def getindex(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return which rows of the arrays the current batch holds."""
        return self._ids(self.cursor, self.cursor + self.batch_size)

    def getpad(self) -> int:
        """Return how many rows of the current batch only fill it."""
        return max(0, self.cursor + self.batch_size - self._total)

    def _ids(self, begin: int, end: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return row ids by place in the epoch: what was rolled over, the rows, and around again."""
        places = np.arange(begin, end) % max(self._total, 1)
        new = places - len(self._rolled)
        ids = new if self._order is None else self._order[np.maximum(new, 0)]
        if len(self._rolled):
            ids = np.where(new < 0, self._rolled[np.minimum(places, len(self._rolled) - 1)], ids)
        return ids

    def _rows(self, chunk: Chunk) -> Chunk:
        begin = self.cursor - len(self._rolled)
        end = begin + self.batch_size
        if self._order is None and begin >= 0 and end <= self.num_data:
            return rows.cut(chunk, begin, end)
        return rows.pick(chunk, self.getindex())


def _named(argument: str, source: Source, default: str) -> list[tuple[str, NDArray]]:
    """Return (name, array) pairs."""
    if isinstance(source, Mapping):
        return [(str(name), _as_array(f"{argument}[{name!r}]", a)) for name, a in source.items()]
    if isinstance(source, (list, tuple)) and all(_is_array(a) for a in source):
        if len(source) == 1:
            return [(default, _as_array(argument, source[0]))]
        return [(f"_{i}_{default}", _as_array(f"{argument}[{i}]", a)) for i, a in enumerate(source)]
    return [(default, _as_array(argument, source))]


def _is_array(source: Any) -> bool:
    return isinstance(source, (NDArray, np.ndarray)) or is_scipy_sparse(source)


def _as_array(name: str, source: Any) -> NDArray:
    """Return an NDArray of at least one dimension whose rows can be cut."""
    if is_scipy_sparse(source):
        result: NDArray = sparse_creation.csr_matrix(source.tocsr())
    elif isinstance(source, NDArray):
        result = source
    else:
        try:
            result = array(source)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(
                f"{name}: expected an NDArray, numpy array, scipy sparse array or numbers in a list, "
                f"got {type(source).__name__} ({error})"
            ) from error
    if result.stype == "row_sparse" and result.ndim == 2:
        result = result.tostype("csr")
    if result.stype not in rows.STYPES:
        raise StorageTypeError(f"{name}: cannot cut rows of a {result.stype} array of shape {result.shape}")
    if result.ndim == 0:
        raise ShapeError(f"{name}: expected rows, got an array without dimensions")
    return result


def _common_length(arrays: Sequence[tuple[str, NDArray]]) -> int:
    lengths = {name: a.shape[0] for name, a in arrays}
    if len(set(lengths.values())) > 1:
        raise ShapeError(f"data and label: expected equally many rows, got {lengths}")
    return next(iter(lengths.values()))
