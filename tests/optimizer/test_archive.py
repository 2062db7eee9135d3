"""Archives: arrays and plain values, nothing executed, never half a file."""

import io
import pickle

import numpy as np
import pytest

from ndsparse.errors import FileFormatError
from ndsparse.optimizer import archive, get_updater
from ndsparse.optimizer.sgd import SGD


def test_round_trip(tmp_path):
    arrays = {"a": np.arange(6).reshape(2, 3), "b/c": np.empty((0, 2), np.float16)}
    archive.replace_file(tmp_path / "x", {"n": [1, "é", None]}, arrays.items())
    meta, found = archive.read_archive(tmp_path / "x")
    assert meta == {"n": [1, "é", None]}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    archive.replace_file(tmp_path / "x", {"old": True}, [])

    def broken():
        yield "a", np.ones(3)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        archive.replace_file(tmp_path / "x", {"old": False}, broken())
    assert archive.read_archive(tmp_path / "x")[0] == {"old": True}
    assert len(list(tmp_path.iterdir())) == 1


def test_pickles_are_refused(tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps({"meta": 1}))
    np.savez(tmp_path / "o.npz", meta=np.array([{"a": 1}], dtype=object))
    np.savez(tmp_path / "n.npz", other=np.ones(2))
    np.save(tmp_path / "plain.npy", np.ones(2))
    for name in ("p", "o.npz", "n.npz", "plain.npy"):
        with pytest.raises(FileFormatError, match=name):
            archive.read_archive(tmp_path / name)


def test_states_of_another_kind_are_refused():
    file = io.BytesIO()
    archive.write_archive(file, {"format": "something else"}, [])
    with pytest.raises(FileFormatError, match="something else"):
        get_updater(SGD()).set_states(file.getvalue())
