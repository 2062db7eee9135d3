"""Iterators around iterators: ResizeIter, PrefetchingIter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ndsparse.errors import ArgumentError
from ndsparse.io.ahead import Ahead
from ndsparse.io.data import DataBatch, DataDesc, DataIter
from ndsparse.ndarray.ndarray import NDArray


class _CurrentBatch(DataIter):
    """The get methods of an iterator that has its current batch at hand."""

    current_batch: DataBatch | None = None

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise ArgumentError(f"{type(self).__name__}: there is no current batch, call iter_next() first")
        return self.current_batch

    def next(self) -> DataBatch:
        """Return the next batch, or raise StopIteration."""
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def getdata(self) -> list[NDArray]:
        """Return the data arrays of the current batch."""
        return list(self._current().data or [])

    def getlabel(self) -> list[NDArray]:
        """Return the label arrays of the current batch."""
        return list(self._current().label or [])

    def getindex(self) -> Any:
        """Return which rows of the source the current batch holds, or None."""
        return self._current().index

    def getpad(self) -> int:
        """Return how many rows of the current batch only fill it."""
        return self._current().pad or 0


class ResizeIter(_CurrentBatch):
    """Make epochs of an iterator longer or shorter.

    Parameters
    ----------
    data_iter : DataIter
    size : int
        Batches in an epoch.  Where ``data_iter`` ends before, it is reset and goes on.
    reset_internal : bool
        Whether ``reset`` resets ``data_iter`` too.
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        if size < 0:
            raise ArgumentError(f"size: expected at least 0 batches, got {size}")
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data arrays."""
        return self.data_iter.provide_data

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the label arrays."""
        return self.data_iter.provide_label

    def reset(self) -> None:
        """Start the next epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def hard_reset(self) -> None:
        """Start the next epoch, at the first row if ``reset_internal``."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.hard_reset()

    def close(self) -> None:
        """Close the iterator inside."""
        self.data_iter.close()

    def iter_next(self) -> bool:
        """Move to the next batch; return whether there is one."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            try:
                self.current_batch = self.data_iter.next()
            except StopIteration:
                raise ArgumentError("data_iter: has no batches, so no epoch can be made of it") from None
        self.cur += 1
        return True


class PrefetchingIter(_CurrentBatch):
    """Take batches of iterators ahead, each in a thread of its own, and join them.

    Parameters
    ----------
    iters : DataIter or list of DataIter
        From now on only this iterator may use them.
    rename_data, rename_label : list of dict, optional
        For each iterator, new names of its arrays by their old ones.
    prefetch : int
        How many batches of each may wait.
    """

    def __init__(
        self,
        iters: DataIter | Sequence[DataIter],
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
        *,
        prefetch: int = 1,
    ) -> None:
        self.iters = [iters] if isinstance(iters, DataIter) else list(iters)
        if not self.iters:
            raise ArgumentError("iters: expected at least one iterator, got none")
        super().__init__(self.iters[0].batch_size)
        self._names = [
            _renamed(name, [getattr(i, f"provide_{name}") for i in self.iters], given)
            for name, given in (("data", rename_data), ("label", rename_label))
        ]
        self._prefetch = prefetch
        self._running: list[Ahead[DataBatch]] = []
        self._closed = False

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data arrays of all iterators."""
        return self._names[0]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the label arrays of all iterators."""
        return self._names[1]

    def reset(self) -> None:
        """Start the next epoch of all iterators."""
        self._stop()
        for source in self.iters:
            source.reset()
        self._closed = False

    def hard_reset(self) -> None:
        """Start an epoch of all iterators at their first rows."""
        self._stop()
        for source in self.iters:
            source.hard_reset()
        self._closed = False

    def close(self) -> None:
        """End the threads and close the iterators."""
        self._stop()
        self._closed = True
        for source in self.iters:
            source.close()

    def _stop(self) -> None:
        for running in self._running:
            running.close()
        self._running = []

    def iter_next(self) -> bool:
        """Move to the next batch; return whether there is one."""
        if self._closed:
            return False
        if not self._running:
            self._running = [Ahead(_batches_of(source), self._prefetch) for source in self.iters]
        batches = [next(running, None) for running in self._running]
        found = [b for b in batches if b is not None]
        if len(found) < len(batches):
            if found:
                raise ArgumentError(
                    f"iters: expected equally many batches, {len(found)} have more than others"
                )
            return False
        pads = {b.pad or 0 for b in found}
        if len(pads) > 1:
            raise ArgumentError(
                f"iters: expected equal padding of batches that are joined, got {sorted(pads)}"
            )
        self.current_batch = DataBatch(
            [a for b in found for a in b.data or []],
            [a for b in found for a in b.label or []],
            found[0].pad,
            found[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        return True


def _batches_of(source: DataIter) -> Callable[[], Iterator[DataBatch]]:
    def batches() -> Iterator[DataBatch]:
        while True:
            try:
                batch = source.next()
            except StopIteration:
                return
            yield batch

    return batches


def _renamed(
    kind: str, described: Sequence[Sequence[DataDesc]], names: Sequence[Mapping[str, str]] | None
) -> list[DataDesc]:
    """Join descriptions under their new names."""
    if names is not None and len(names) != len(described):
        raise ArgumentError(
            f"rename_{kind}: expected {len(described)} dicts, one an iterator, got {len(names)}"
        )
    return [
        DataDesc(given.get(d.name, d.name), d.shape, d.dtype, d.layout)
        for descs, given in zip(described, names or [{}] * len(described), strict=True)
        for d in descs
    ]
