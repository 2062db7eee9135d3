"""Files of arrays: round trips, MXNet's own file, and files that lie."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest

from ndsparse import nd
from ndsparse.errors import ArgumentError, ArgumentTypeError, FileFormatError
from ndsparse.storage import storage_class

DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")


def samples():
    dense = np.array([[0, 1, 0], [2, 0, 3]])
    found = []
    for dtype in DTYPES:
        array = nd.array(dense, dtype=dtype)
        found += [array, array.tostype("csr"), array.tostype("row_sparse")]
    found += [nd.zeros((0, 3)), nd.zeros(()), nd.zeros((3, 0, 2)), nd.zeros((4, 2), stype="row_sparse")]
    found += [nd.zeros((5, 7), stype="csr"), nd.zeros((0, 7), stype="csr"), nd.zeros(5, stype="row_sparse")]
    found.append(nd.sparse.row_sparse_array((np.ones((1, 2, 2)), [1 << 33]), shape=(1 << 40, 2, 2)))
    narrow = [np.array(a, np.int32) for a in ([1, 0, 2], [0, 1, 3])]
    found.append(nd.sparse.csr_matrix((np.array([1.5, 2, 3]), *narrow), shape=(2, 3)))
    return found


def assert_equal(a, b):
    assert (a.stype, a.shape, a.dtype) == (b.stype, b.shape, b.dtype)
    np.testing.assert_array_equal(a._chunk.data, b._chunk.data)
    for i in range(len(a._chunk.aux_names)):
        assert a._chunk.aux(i).dtype == b._chunk.aux(i).dtype
        np.testing.assert_array_equal(a._chunk.aux(i), b._chunk.aux(i))


@pytest.mark.parametrize("form", ["ndsparse", "mxnet"])
def test_lists_and_dicts_come_back(tmp_path, form):
    arrays = samples()
    nd.save(tmp_path / "list", arrays, format=form)
    found = nd.load(tmp_path / "list")
    assert isinstance(found, list)
    assert len(found) == len(arrays)
    for a, b in zip(arrays, found, strict=True):
        assert_equal(a, b)
        b._chunk.data[...] = 0  # writable, and nobody else's
    table = {f"größe {i}": a for i, a in enumerate(arrays)}
    nd.save(tmp_path / "dict", table, format=form)
    again = nd.load_frombuffer((tmp_path / "dict").read_bytes())
    assert list(again) == list(table)
    for name, array in table.items():
        assert_equal(array, again[name])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dict", "list"]


def test_one_array_is_saved_as_a_list(tmp_path):
    nd.save(str(tmp_path / "a"), nd.array([1, 2]))
    (found,) = nd.load(str(tmp_path / "a"))
    assert found.asnumpy().tolist() == [1, 2]


def test_views_are_saved_as_they_look(tmp_path):
    view = nd.array(np.arange(12).reshape(3, 4))[:, 1:3]
    for form in ("ndsparse", "mxnet"):
        nd.save(tmp_path / "a", [view], format=form)
        assert nd.load(tmp_path / "a")[0].asnumpy().tolist() == [[1, 2], [5, 6], [9, 10]]


@pytest.mark.parametrize("form", ["ndsparse", "mxnet"])
def test_arrays_that_are_not_in_order_come_back_in_order(tmp_path, form):
    parts = (np.array([1.0, 2, 3]), np.array([2, 0, 2]), np.array([0, 3]))
    array = nd.sparse.csr_matrix(parts, shape=(1, 3))
    nd.save(tmp_path / "a", [array], format=form)
    (found,) = nd.load(tmp_path / "a")
    found.check_format(full_check=True)
    assert found.asnumpy().tolist() == [[2, 0, 4]]


def test_equal_arrays_give_equal_files(tmp_path):
    for name in "ab":
        nd.save(tmp_path / name, {"w": nd.ones((2, 3)).tostype("csr")})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_numpy_opens_our_file(tmp_path):
    nd.save(tmp_path / "a.npz", {"w": nd.array([[0, 5]]).tostype("csr")})
    with np.load(tmp_path / "a.npz") as parts:
        assert sorted(parts) == ["0.data", "0.indices", "0.indptr", "ndsparse"]
        assert parts["0.indices"].tolist() == [1]


def test_a_file_of_mxnet_is_read(golden_dir):
    arrays = nd.load(golden_dir / "mxnet" / "saved_list.params")
    assert [(a.stype, a.shape) for a in arrays] == [(s, (7, 5)) for s in ("csr", "row_sparse", "default")]
    assert arrays[0].indptr.asnumpy().tolist() == [0, 2, 4, 7, 10, 12, 14, 14]
    assert arrays[1].indices.asnumpy().tolist() == [0, 3, 4]
    for array in arrays:
        array.check_format(full_check=True)
    again = io.BytesIO()
    from ndsparse.ndarray import format_mxnet

    format_mxnet.write(again, arrays, [])
    assert again.getvalue() == (golden_dir / "mxnet" / "saved_list.params").read_bytes()


def test_what_cannot_be_saved_is_refused(tmp_path):
    for bad in ([1, 2], {"a": 1}, {1: nd.ones(1)}, "x", None, [nd.ones(1), None]):
        with pytest.raises(ArgumentTypeError, match="dict str->NDArray or list of NDArray"):
            nd.save(tmp_path / "a", bad)
    with pytest.raises(ArgumentError, match="format"):
        nd.save(tmp_path / "a", [nd.ones(1)], format="pickle")
    with pytest.raises(ArgumentTypeError):
        nd.load(3)
    with pytest.raises(ArgumentTypeError):
        nd.load_frombuffer("text")
    assert not list(tmp_path.iterdir())


def test_an_error_leaves_the_old_file(tmp_path, monkeypatch):
    nd.save(tmp_path / "a", [nd.ones(2)])
    before = (tmp_path / "a").read_bytes()
    monkeypatch.setattr("ndsparse.ndarray.format_npz.npy.write_array", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        nd.save(tmp_path / "a", [nd.zeros(2)])
    assert (tmp_path / "a").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


# -- files that lie --------------------------------------------------------------------------------------


def saved(tmp_path, form, arrays=None):
    arrays = arrays or [
        nd.array([[0, 1, 0], [2, 0, 3]]).tostype("csr"),
        nd.ones((2, 2)).tostype("row_sparse"),
    ]
    nd.save(tmp_path / "f", arrays, format=form)
    return (tmp_path / "f").read_bytes()


@pytest.mark.parametrize("form", ["ndsparse", "mxnet"])
def test_every_truncated_file_is_refused(tmp_path, form):
    whole = saved(tmp_path, form)
    for end in range(0, len(whole), 1 if form == "mxnet" else 37):
        with pytest.raises(FileFormatError):
            nd.load_frombuffer(whole[:end])
    (tmp_path / "f").write_bytes(whole[:-1])
    with pytest.raises(FileFormatError, match=r"/f"):
        nd.load(tmp_path / "f")


@pytest.mark.parametrize("form", ["ndsparse", "mxnet"])
def test_a_changed_byte_gives_arrays_or_an_error_of_ours(tmp_path, form):
    whole = saved(tmp_path, form)
    rng = np.random.default_rng(0)
    for _ in range(400):
        broken = bytearray(whole)
        broken[rng.integers(len(whole))] = rng.integers(256)
        try:
            found = nd.load_frombuffer(bytes(broken))
        except FileFormatError:
            continue
        for array in found if isinstance(found, list) else found.values():
            array.check_format(full_check=True)


def mxnet_head(count=1):
    return struct.pack("<QQQ", 0x112, 0, count)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (struct.pack("<I", 0xDEADBEEF), "0xDEADBEEF is no magic number"),
        (struct.pack("<Ii", 0xF993FAC9, 7), "7 is no storage type"),
        (struct.pack("<Iii", 0xF993FAC9, 0, 99), "99 dimensions"),
        (struct.pack("<Iiiq", 0xF993FAC9, 0, 1, -4), "negative dimension"),
        (struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 1 << 50, 1, 0, 0), "needs 4503599627370496 bytes"),
        (struct.pack("<Iiiqqiii", 0xF993FAC9, 0, 2, 1 << 62, 1 << 62, 1, 0, 0), "the file has 0 more"),
        (struct.pack("<Iiiqiii", 0xF993FAC9, 0, 1, 1, 1, 0, 17), "dtype of array 0 of 1: 17 is none"),
    ],
)
def test_lying_headers_of_mxnet_are_refused_without_allocating(body, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        nd.load_frombuffer(mxnet_head() + body)
    assert caught.value.offset is not None


def test_counts_of_mxnet_that_lie(tmp_path):
    with pytest.raises(FileFormatError, match="magic of array 0"):
        nd.load_frombuffer(mxnet_head(1 << 60))
    whole = saved(tmp_path, "mxnet")
    with pytest.raises(FileFormatError, match="3 bytes follow"):
        nd.load_frombuffer(whole + b"abc")
    with pytest.raises(FileFormatError, match="5 names for 2 arrays"):
        nd.load_frombuffer(whole[:-8] + struct.pack("<Q", 5))


def rsp_of_mxnet(ids, rows, shape):
    data = np.asarray(rows, np.float32)
    head = struct.pack("<Iii", 0xF993FAC9, 1, data.ndim) + np.array(data.shape, np.int64).tobytes()
    head += struct.pack("<i", len(shape)) + np.array(shape, np.int64).tobytes() + struct.pack("<iii", 1, 0, 0)
    ids = np.asarray(ids, np.int64)
    return (
        mxnet_head() + head + struct.pack("<iiq", 6, 1, len(ids)) + data.tobytes() + ids.tobytes() + bytes(8)
    )


def test_unsorted_ids_of_mxnet_are_sorted_and_outside_ones_refused():
    (found,) = nd.load_frombuffer(rsp_of_mxnet([3, 1], [[1, 2], [3, 4]], (5, 2)))
    assert found.indices.asnumpy().tolist() == [1, 3]
    assert found.data.asnumpy().tolist() == [[3, 4], [1, 2]]
    for bad in ([3, 5], [-1, 2]):
        with pytest.raises(FileFormatError, match="indices"):
            nd.load_frombuffer(rsp_of_mxnet(bad, [[1, 2], [3, 4]], (5, 2)))


def test_room_behind_the_last_row_of_a_csr_file_is_cut_off():
    head = struct.pack("<Iiiqiqqiii", 0xF993FAC9, 2, 1, 4, 2, 2, 3, 1, 0, 0) + struct.pack(
        "<iiqiiq", 6, 1, 3, 6, 1, 4
    )
    body = np.array([1, 2, 9, 9], np.float32).tobytes() + np.array([0, 1, 2, 2, 0, 7, -3], np.int64).tobytes()
    (found,) = nd.load_frombuffer(mxnet_head() + head + body + bytes(8))
    assert found.asnumpy().tolist() == [[0, 0, 1], [2, 0, 0]]
    assert found.data.shape == (2,)


def test_dense_arrays_of_old_mxnet_are_read():
    values = np.array([[1, 2, 3]], np.float32).tobytes()
    v0 = struct.pack("<IIIiii", 2, 1, 3, 1, 0, 0) + values
    v1 = struct.pack("<Iiqqiii", 0xF993FAC8, 2, 1, 3, 1, 0, 0) + values
    for body in (v0, v1):
        (found,) = nd.load_frombuffer(mxnet_head() + body + bytes(8))
        assert found.asnumpy().tolist() == [[1, 2, 3]]


def rezipped(whole, changes, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w", compression) as new:
        for name in old.namelist():
            content = changes.get(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def npy_bytes(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def header_with(text):
    return {"ndsparse.npy": npy_bytes(np.frombuffer(text.encode(), np.uint8))}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"0.indices.npy": None}, "'0.indices.npy' is missing"),
        ({"ndsparse.npy": None}, "without the part 'ndsparse.npy'"),
        ({"0.indices.npy": npy_bytes(np.array([1, 9, 2]))}, "array 0: csr: indices"),
        ({"0.indices.npy": npy_bytes(np.array([1.0, 0.0, 2.0]))}, "holds float64; wanted int32 or int64"),
        ({"0.data.npy": npy_bytes(np.array([1, 2], np.float32))}, "do not fit the shape"),
        ({"0.data.npy": npy_bytes(np.array([None, 1, 2]))}, "holds object|pickle|Object"),
        ({"0.data.npy": b"\x93NUMPY\x01\x00"}, "0.data.npy"),
        (
            {"0.data.npy": npy_bytes(np.ones(3, np.float32)).replace(b"(3,)", b"(300000000000,)", 1)},
            "0.data.npy",
        ),
        (header_with("{"), "no JSON"),
        (header_with("[]"), "does not say"),
        (header_with('{"format": "ndsparse", "version": 2}'), "version 2 of the format"),
        (header_with('{"format": "ndsparse", "version": 1, "names": ["a"], "arrays": []}'), "as many names"),
        (
            header_with(
                '{"format":"ndsparse","version":1,"names":null,"arrays":[{"stype":"coo","shape":[2]}]}'
            ),
            "array 0: .*coo",
        ),
        (
            header_with('{"format":"ndsparse","version":1,"names":null,"arrays":[7]}'),
            "array 0: expected an object",
        ),
    ],
)
def test_broken_files_of_ours_are_refused(tmp_path, changes, message):
    broken = rezipped(saved(tmp_path, "ndsparse"), changes)
    with pytest.raises(FileFormatError, match=message):
        nd.load_frombuffer(broken)


def test_a_compressed_file_is_refused(tmp_path):
    broken = rezipped(saved(tmp_path, "ndsparse"), {}, zipfile.ZIP_DEFLATED)
    with pytest.raises(FileFormatError, match="is compressed"):
        nd.load_frombuffer(broken)


def test_other_files_are_refused(tmp_path):
    for content in (b"", b"a", b"\x80\x04pickled", b"{}" * 10):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(FileFormatError, match="neither a file of ndsparse nor of MXNet"):
            nd.load(tmp_path / "x")
    with pytest.raises(FileNotFoundError):
        nd.load(tmp_path / "missing")


def test_a_new_storage_type_is_saved_by_its_aux_arrays():
    assert storage_class("csr").aux_names == ("indptr", "indices")


def test_messages_name_the_entry_and_the_path(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(ArgumentTypeError, match=r"data\['a'\]: save only .*, got ndarray"):
        nd.save(path, {"b": nd.ones(2), "a": np.ones(3)})
    with pytest.raises(ArgumentTypeError, match=r"data\[1\]: .*, got int"):
        nd.save(path, [nd.ones(2), 3])
    with pytest.raises(ArgumentTypeError, match=r"data: .*, got ndarray"):
        nd.save(path, np.ones(3))
    with pytest.raises(ArgumentTypeError, match="the key 1 is of type int"):
        nd.save(path, {1: nd.ones(2)})
    missing = tmp_path / "none" / "x"
    with pytest.raises(FileNotFoundError, match="there is no folder") as caught:
        nd.save(missing, [nd.ones(2)])
    assert caught.value.filename == str(missing)
    path.mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        nd.save(path, [nd.ones(2)])
    assert caught.value.filename == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
