"""What iterators speak of: descriptions of arrays, batches, and the iterator protocol of MXNet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.ndarray.ndarray import NDArray


class _NameAndShape(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_NameAndShape):
    """Name, shape, dtype and layout of an array in every batch; a pair (name, shape) to those who unpack it.

    Parameters
    ----------
    name : str
    shape : tuple of int
    dtype : dtype
    layout : str
        A letter for each axis; ``N`` is the axis of the batch.
    """

    dtype: Any
    layout: str

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: DTypeLike = np.float32, layout: str = "NCHW"
    ) -> DataDesc:
        """Make the pair and keep the rest beside it."""
        self = super().__new__(cls, name, tuple(shape))
        self.dtype = np.dtype(dtype).type
        self.layout = layout
        return self

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return DataDesc, (self.name, self.shape, np.dtype(self.dtype).str, self.layout)

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Return the number of the batch axis, -1 if there is none (0 without a layout)."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Sequence[tuple[str, Sequence[int]]], types: Sequence[tuple[str, Any]] | None
    ) -> list[DataDesc]:
        """Return descriptions of (name, shape) pairs and the dtypes that are given for some names."""
        given = dict(types or [])
        return [DataDesc(name, shape, given.get(name, np.float32)) for name, shape in shapes]


class DataBatch:
    """Arrays of one step.

    Parameters
    ----------
    data : list of NDArray
    label : list of NDArray, optional
    pad : int, optional
        How many rows at the end are there only to fill the batch.
    index : ndarray of int, optional
        Which rows of the source these are.
    bucket_key : object, optional
    provide_data, provide_label : list of DataDesc, optional
    """

    def __init__(
        self,
        data: Sequence[NDArray] | None,
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: list[DataDesc] | None = None,
        provide_label: list[DataDesc] | None = None,
    ) -> None:
        for name, arrays in (("data", data), ("label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise ArgumentTypeError(f"{name}: expected a list of arrays, got {type(arrays).__name__}")
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        shapes = [None if a is None else [x.shape for x in a] for a in (self.data, self.label)]
        return f"{type(self).__name__}: data shapes: {shapes[0]} label shapes: {shapes[1]}"


class DataIter:
    """Base of iterators over batches.

    A subclass gives ``provide_data``, ``provide_label``, ``reset``, ``iter_next`` and the ``get``
    methods, which speak of the current batch.

    Parameters
    ----------
    batch_size : int
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def __enter__(self) -> DataIter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End threads and close files; nothing to do by default."""

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data arrays of every batch."""
        raise NotImplementedError(f"{type(self).__name__} gives no provide_data")

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the label arrays of every batch."""
        raise NotImplementedError(f"{type(self).__name__} gives no provide_label")

    def reset(self) -> None:
        """Go back to the start of an epoch."""

    def hard_reset(self) -> None:
        """Go back to the first row, also where ``reset`` goes on after rows that were used already."""
        self.reset()

    def next(self) -> DataBatch:
        """Return the next batch, or raise StopIteration."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Move to the next batch; return whether there is one."""
        raise NotImplementedError(f"{type(self).__name__} cannot move on")

    def getdata(self) -> list[NDArray]:
        """Return the data arrays of the current batch."""
        raise NotImplementedError(f"{type(self).__name__} gives no data")

    def getlabel(self) -> list[NDArray]:
        """Return the label arrays of the current batch."""
        raise NotImplementedError(f"{type(self).__name__} gives no labels")

    def getindex(self) -> Any:
        """Return which rows of the source the current batch holds, or None."""
        return None

    def getpad(self) -> int:
        """Return how many rows of the current batch only fill it."""
        return 0


def checked_batch_size(batch_size: Any) -> int:
    """Return a batch size of at least 1."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ArgumentError(f"batch_size: expected a whole number of at least 1, got {batch_size!r}")
    return int(batch_size)
