"""Runs at the same time, on cores of their own as long as there are enough."""

from __future__ import annotations

import pytest

from selfpaced.runs import cores
from selfpaced.runs.cores import free_cores_first, share_cores

CORES = [0, 1, 2, 3]


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_simulators_share_all_cores_and_compiled_blocks_take_one_each():
    assert share_cores(CORES, 2, is_hosted=True) == [[0, 2], [1, 3]]
    assert share_cores(CORES, 2, is_hosted=False) == [[0], [1]]
    assert share_cores([0, 1], 3, is_hosted=True) == [[0], [1], [0]]


def test_a_second_run_takes_the_cores_that_the_first_has_left():
    with free_cores_first(CORES, 3) as first, free_cores_first(CORES, 3) as second:
        assert first == CORES
        assert second == [3, 0, 1, 2]
    with free_cores_first(CORES, 1) as later:
        assert later == CORES  # they have been released


def test_without_a_writable_cache_every_run_takes_the_first_cores(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder")
    with free_cores_first(CORES, 2) as first, free_cores_first(CORES, 2) as second:
        assert first == second == CORES
    monkeypatch.setattr(cores, "cache_folder", lambda: None)
    with free_cores_first(CORES, 2) as first:
        assert first == CORES
