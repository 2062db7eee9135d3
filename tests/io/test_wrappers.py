"""ResizeIter, PrefetchingIter, CSVIter, and the descriptions and batches they speak of."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndsparse.errors import ArgumentError, ArgumentTypeError, FileFormatError
from ndsparse.io import CSVIter, DataBatch, DataDesc, NDArrayIter, PrefetchingIter, ResizeIter


def numbers(rows: int, size: int, **options: Any) -> NDArrayIter:
    return NDArrayIter(np.arange(rows), np.arange(rows), batch_size=size, **options)


def values(iterator: Any) -> list[list[int]]:
    return [batch.data[0].asnumpy().astype(int).tolist() for batch in iterator]


def test_resizing_to_fewer_and_more_batches() -> None:
    iterator = ResizeIter(numbers(4, 2), 3)
    assert values(iterator) == [[0, 1], [2, 3], [0, 1]]
    iterator.reset()
    assert values(iterator) == [[0, 1], [2, 3], [0, 1]]
    iterator = ResizeIter(numbers(6, 2), 2, reset_internal=False)
    assert values(iterator) == [[0, 1], [2, 3]]
    iterator.reset()
    assert values(iterator) == [[4, 5], [0, 1]]
    assert iterator.getlabel()[0].asnumpy().tolist() == [0, 1]
    with pytest.raises(ArgumentError, match="has no batches"):
        ResizeIter(numbers(1, 2, last_batch_handle="discard"), 1).next()


def test_prefetching_joins_iterators() -> None:
    before = threading.active_count()
    sources = [numbers(5, 2), numbers(5, 2, data_name="other")]
    with PrefetchingIter(sources, rename_data=[{"data": "a"}, {"other": "b"}]) as iterator:
        assert [d.name for d in iterator.provide_data] == ["a", "b"]
        for _ in range(2):
            batches = list(iterator)
            assert [b.pad for b in batches] == [0, 0, 1]
            assert [[x.asnumpy().tolist() for x in b.data] for b in batches][1] == [[2, 3], [2, 3]]
            assert [len(b.label) for b in batches] == [2, 2, 2]
            iterator.reset()
        iterator.next()
        iterator.reset()
        assert values(iterator)[0] == [0, 1]
    assert threading.active_count() == before
    assert values(iterator) == []


def test_prefetching_refuses_iterators_that_do_not_match() -> None:
    with (
        PrefetchingIter([numbers(4, 2), numbers(6, 2)]) as iterator,
        pytest.raises(ArgumentError, match="equally"),
    ):
        list(iterator)
    with pytest.raises(ArgumentError, match="rename_data: expected 1 dicts"):
        PrefetchingIter(numbers(4, 2), rename_data=[{}, {}])


def test_errors_of_a_prefetched_iterator_are_raised_where_its_batch_is_taken() -> None:
    class Broken(NDArrayIter):
        def getdata(self) -> Any:
            if self.cursor > 0:
                raise RuntimeError("broken")
            return super().getdata()

    with PrefetchingIter(Broken(np.arange(4), batch_size=2)) as iterator:
        assert iterator.next().data[0].asnumpy().tolist() == [0, 1]
        with pytest.raises(RuntimeError, match="broken"):
            iterator.next()


def test_csv_batches(tmp_path: Path) -> None:
    data, label = tmp_path / "data.csv", tmp_path / "label.csv"
    data.write_text("1,2,3,4\r\n5,6,7,8\n\n9,10,11,1.2e1")
    label.write_text("1\n2\n3\n")
    with CSVIter(data, (2, 2), label, batch_size=2) as iterator:
        batches = list(iterator)
        assert batches[0].data[0].asnumpy().tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
        assert batches[1].data[0].asnumpy().tolist() == [[[9, 10], [11, 12]], [[1, 2], [3, 4]]]
        assert [b.label[0].asnumpy().tolist() for b in batches] == [[[1], [2]], [[3], [1]]]
        assert batches[1].pad == 1
    with CSVIter(data, 4, batch_size=2, round_batch=False) as iterator:
        batches = list(iterator)
        assert batches[1].data[0].asnumpy().tolist() == [[9, 10, 11, 12], [0, 0, 0, 0]]
        assert batches[1].label[0].asnumpy().tolist() == [[0], [0]]


@pytest.mark.parametrize(("line", "token"), [("1,2", "1,2"), ("1,x,3", "1,x,3"), ("1,2,3,4", "1,2,3,4")])
def test_csv_lines_that_are_wrong_are_named(tmp_path: Path, line: str, token: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"1,2,3\n\n{line}\n1,2,3\n")
    with CSVIter(path, 3) as iterator, pytest.raises(FileFormatError, match="expected 3 numbers") as caught:
        iterator.next()
    assert (caught.value.line, caught.value.token) == (3, token)


def test_descriptions() -> None:
    desc = DataDesc("data", [2, 3], "float64", layout="NT")
    name, shape = desc
    assert (name, shape, desc.dtype, desc.layout) == ("data", (2, 3), np.float64, "NT")
    assert desc == ("data", (2, 3))
    copy = pickle.loads(pickle.dumps(desc))
    assert (copy, copy.dtype, copy.layout) == (desc, np.float64, "NT")
    assert [DataDesc.get_batch_axis(x) for x in ("NCHW", "TNC", "TC", None)] == [0, 1, -1, 0]
    assert [d.dtype for d in DataDesc.get_list([("a", (1,)), ("b", (2,))], [("b", np.int32)])] == [
        np.float32,
        np.int32,
    ]


def test_batches_check_their_arrays() -> None:
    with pytest.raises(ArgumentTypeError, match="data: expected a list"):
        DataBatch(np.ones(2))  # type: ignore[arg-type]
    assert "data shapes: [(2,)]" in str(numbers(4, 2).next())
