"""Runs that keep the best policy of each seed."""

import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest

from selfpaced import RunFolder, SelfpacedError, load_policy, resume, run
from selfpaced.runs.kept import Kept, final_values, keep_better
from selfpaced.studies.comparison import Cell, read_outcome
from tests.runs.small_runs import SMALL, has_reached, is_free, wait_for

BEST = replace(SMALL, keep="best", evaluate_every=2)


@pytest.fixture(name="best", scope="module")
def _best(tmp_path_factory):
    return run(BEST, tmp_path_factory.mktemp("runs") / "best", workers=2)


@pytest.fixture(name="last", scope="module")
def _last(tmp_path_factory):
    """The same run without keeping."""
    return run(replace(BEST, keep="last"), tmp_path_factory.mktemp("runs") / "last", workers=2)


def test_of_each_seed_the_better_policy_is_kept_and_of_equal_ones_the_later():
    first = keep_better(None, {"w": np.array([[1.0], [2.0], [3.0]])}, np.array([5.0, 5.0, 5.0]), 0)
    then = keep_better(first, {"w": np.array([[4.0], [5.0], [6.0]])}, np.array([6.0, 4.0, 5.0]), 7)
    assert isinstance(then, Kept)
    np.testing.assert_array_equal(then.learner["w"], [[4.0], [2.0], [6.0]])
    np.testing.assert_array_equal(then.score, [6.0, 5.0, 5.0])
    np.testing.assert_array_equal(then.iteration, [7, 0, 7])


def test_final_values_are_those_of_kept_policies_where_there_are_some():
    columns = {"return": np.array([[1.0, 2.0], [3.0, 4.0]])}
    np.testing.assert_array_equal(final_values(columns, "return"), [3.0, 4.0])
    columns["kept_return"] = np.array([[np.nan, np.nan], [9.0, np.nan]])
    np.testing.assert_array_equal(final_values(columns, "return"), [9.0, 4.0])


def test_training_is_the_same_as_without_keeping(best, last):
    ours, others = best.evaluations(), last.evaluations()
    for name, column in others.items():
        np.testing.assert_array_equal(ours[name], column)
    assert {name for name in ours if name not in others} >= {"kept_return", "kept_iteration"}


def test_the_kept_policy_is_the_one_with_the_highest_evaluation(best):
    columns = best.evaluations()
    chosen = columns["kept_iteration"][-1].astype(int)
    assert best.summary()["kept_iterations"] == chosen.tolist()
    for index, iteration in enumerate(chosen):
        row = columns["iteration"].tolist().index(iteration)
        assert columns["return"][row, index] == columns["return"][:, index].max()
    assert (chosen < BEST.iterations).any()  # or the next test says little


def test_a_loaded_policy_is_that_of_the_iteration_which_was_kept(best, tmp_path):
    seed, iteration = next(
        (seed, iteration)
        for seed, iteration in zip(BEST.seeds, best.summary()["kept_iterations"], strict=True)
        if iteration < BEST.iterations
    )
    shorter = run(replace(BEST, keep="last", iterations=max(iteration, 1)), tmp_path / "shorter")
    observation = np.full(best.experiment().resolved.spec.observation_size, 0.3)
    kept, there = (load_policy(folder.path, seed)(observation) for folder in (best, shorter))
    if iteration > 0:
        np.testing.assert_array_equal(kept, there)


def test_results_are_those_of_fresh_episodes_and_not_the_maximum(best):
    columns = best.evaluations()
    final = np.array(best.summary()["final_return"]["per_seed"])
    np.testing.assert_allclose(final, columns["kept_return"][-1])
    assert (np.abs(final - columns["return"].max(axis=0)) > 1e-6).all()
    assert np.isnan(columns["kept_return"][:-1]).all()
    outcome = read_outcome(Cell("spdl", "ppo", best.experiment(), best.path))
    np.testing.assert_array_equal(outcome.final_returns, columns["kept_return"][-1])
    assert outcome.final_success_rate == columns["kept_success"][-1].mean()


def test_a_killed_run_keeps_the_same_policies(start, tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "killed")
    process = start(folder.path, 40, keep="best", evaluate_every=2)
    wait_for(lambda: has_reached(folder, 3))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: is_free(folder))
    assert 3 <= folder.iteration() < 40, "it was killed too late to prove anything"
    resume(folder.path)
    whole = run(replace(BEST, iterations=40), tmp_path / "whole", workers=2)
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (folder.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_an_extended_run_keeps_what_the_longer_run_keeps(best, tmp_path):
    copy = RunFolder(shutil.copytree(best.path, tmp_path / "copy"))
    resume(copy.path, iterations=16)
    longer = run(replace(BEST, iterations=16), tmp_path / "longer", workers=2)
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (copy.path / name).read_bytes() == (longer.path / name).read_bytes()


def test_a_run_that_ended_between_evaluations_is_not_extended(tmp_path):
    folder = run(replace(BEST, seeds=(1,), iterations=3), tmp_path / "odd", workers=1)
    with pytest.raises(SelfpacedError, match="the evaluation after its 3 iterations may have"):
        resume(folder.path, iterations=8)
    assert folder.is_finished


def test_other_values_are_refused():
    with pytest.raises(SelfpacedError, match="keep must be one of last, best, got 'first'"):
        replace(SMALL, keep="first")
