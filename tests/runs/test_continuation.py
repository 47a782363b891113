"""Runs that are extended: the result is that of a longer run."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from selfpaced import RunFolder, SelfpacedError, resume, run
from tests.runs.small_runs import SMALL, timeless_rows


def test_an_extended_run_is_the_longer_run(finished, tmp_path):
    copy = RunFolder(shutil.copytree(finished.path, tmp_path / "copy"))
    resume(copy.path, iterations=17)
    longer = run(replace(SMALL, iterations=17), tmp_path / "longer", workers=2)
    assert copy.experiment() == longer.experiment()
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (copy.path / name).read_bytes() == (longer.path / name).read_bytes()
    assert timeless_rows(copy.path / "metrics.csv") == timeless_rows(longer.path / "metrics.csv")
    for name, array in longer.contexts().items():
        np.testing.assert_array_equal(copy.contexts()[name], array)


def test_a_run_cannot_be_shortened(finished):
    with pytest.raises(SelfpacedError, match=r"must be at least the 12 .* has reached, got 5"):
        resume(finished.path, iterations=5)


def test_a_run_without_checkpoints_cannot_be_extended(finished, tmp_path):
    copy = RunFolder(shutil.copytree(finished.path, tmp_path / "copy"))
    shutil.rmtree(copy.checkpoints)
    with pytest.raises(SelfpacedError, match=r"cannot be extended: .*block-0.* is missing"):
        resume(copy.path, iterations=20)
    assert copy.is_finished
