"""Checkpoint files, and what is refused."""

from __future__ import annotations

import pytest

from ndsparse import model, nd, sym
from ndsparse.errors import ArgumentTypeError, FileFormatError, GraphError


def test_only_parameters_where_there_is_no_symbol(tmp_path):
    model.save_checkpoint(tmp_path / "m", 12, None, {"a": nd.ones(2)}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["m-0012.params"]
    args, aux = model.load_params(tmp_path / "m", 12)
    assert args["a"].asnumpy().tolist() == [1, 1]
    assert aux == {}


@pytest.mark.parametrize("form", ["ndsparse", "mxnet"])
def test_no_parameters_at_all(tmp_path, form):
    model.save_checkpoint(tmp_path / "m", 0, sym.Variable("x"), {}, {}, format=form)
    symbol, args, aux = model.load_checkpoint(tmp_path / "m", 0)
    assert (symbol.list_arguments(), args, aux) == (["x"], {}, {})


def test_files_that_are_no_checkpoint(tmp_path):
    nd.save(tmp_path / "m-0001.params", [nd.ones(1)])
    with pytest.raises(FileFormatError, match=r"m-0001.params: a list of arrays"):
        model.load_params(tmp_path / "m", 1)
    nd.save(tmp_path / "m-0001.params", {"weight": nd.ones(1)})
    with pytest.raises(FileFormatError, match="'weight' does not begin with 'arg:' or 'aux:'"):
        model.load_params(tmp_path / "m", 1)
    (tmp_path / "m-symbol.json").write_text("{")
    with pytest.raises(GraphError, match="m-symbol.json"):
        model.load_checkpoint(tmp_path / "m", 1)
    with pytest.raises(ArgumentTypeError, match="epoch"):
        model.load_checkpoint(tmp_path / "m", "1")
    with pytest.raises(FileNotFoundError):
        model.load_params(tmp_path / "other", 1)
