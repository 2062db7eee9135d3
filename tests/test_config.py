"""The settings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ndsparse import config
from ndsparse.errors import ArgumentError, NDSparseError

SHOW = "from ndsparse.config import settings as s; print({})"


def test_environment_gives_the_first_values(run_python: Callable[..., str]) -> None:
    out = run_python(
        SHOW.format("s.num_threads, s.storage_fallback, s.deterministic, s.kernel_cache_dir"),
        NDSPARSE_NUM_THREADS="3",
        NDSPARSE_STORAGE_FALLBACK="silent",
        NDSPARSE_DETERMINISTIC="1",
        NDSPARSE_KERNEL_CACHE_DIR="/somewhere/kernels",
    )
    assert out.split() == ["3", "silent", "True", "/somewhere/kernels"]


def test_defaults(run_python: Callable[..., str]) -> None:
    out = run_python(
        SHOW.format("s.num_threads >= 1, s.storage_fallback, s.deterministic"),
        NDSPARSE_NUM_THREADS=None,
        NDSPARSE_STORAGE_FALLBACK=None,
        NDSPARSE_DETERMINISTIC=None,
        MXNET_STORAGE_FALLBACK_LOG_VERBOSE=None,
    )
    assert out.split() == ["True", "warn", "False"]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NDSPARSE_KERNEL_CACHE_DIR": None, "XDG_CACHE_HOME": "/x"}, "/x/ndsparse"),
        ({"NDSPARSE_KERNEL_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": "/h"}, "/h/.cache/ndsparse"),
        ({"NDSPARSE_KERNEL_CACHE_DIR": ""}, "None"),
    ],
)
def test_cache_folder(
    run_python: Callable[..., str], environment: dict[str, str | None], expected: str
) -> None:
    assert run_python(SHOW.format("s.kernel_cache_dir"), **environment).strip() == expected


def test_mxnets_name_for_silence(run_python: Callable[..., str]) -> None:
    out = run_python(
        SHOW.format("s.storage_fallback"),
        NDSPARSE_STORAGE_FALLBACK=None,
        MXNET_STORAGE_FALLBACK_LOG_VERBOSE="0",
    )
    assert out.strip() == "silent"


def test_using_restores_even_after_an_error() -> None:
    before = config.settings.num_threads
    with pytest.raises(KeyError), config.using(num_threads=before + 1) as settings:
        assert settings.num_threads == before + 1
        raise KeyError
    assert config.settings.num_threads == before


def test_using_changes_nothing_if_one_value_is_refused() -> None:
    before = config.settings.num_threads
    changes = config.using(num_threads=before + 1, storage_fallback="sometimes")
    with pytest.raises(ArgumentError, match="storage_fallback"), changes:
        pass
    assert config.settings.num_threads == before


def test_settings_hold_for_all_threads() -> None:
    seen: list[int] = []
    with config.using(num_threads=7):
        thread = threading.Thread(target=lambda: seen.append(config.settings.num_threads))
        thread.start()
        thread.join()
    assert seen == [7]


@pytest.mark.parametrize("value", [0, -1, "many", None])
def test_number_of_threads_is_checked(value: object) -> None:
    with pytest.raises(ArgumentError, match=r"num_threads: expected a whole number of at least 1"):
        config.settings.num_threads = value  # type: ignore[assignment]


def test_unknown_setting_is_named() -> None:
    with pytest.raises(NDSparseError, match="unknown setting 'speed'"), config.using(speed=1):
        pass


@pytest.mark.parametrize(("value", "expected"), [("", None), (None, None), ("/a/b", Path("/a/b"))])
def test_cache_folder_can_be_set(value: str | None, expected: Path | None) -> None:
    with config.using(kernel_cache_dir=value) as settings:
        assert settings.kernel_cache_dir == expected
