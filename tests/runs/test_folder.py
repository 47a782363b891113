"""Reading run folders: the content of their files, damage, and folders of the previous version."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from selfpaced import RunFolder, SelfpacedError, load_policy, resume, run
from selfpaced.reports.figures import draw_run
from selfpaced.runs.export import catch_up
from tests.runs.small_runs import SHORT, rows

PREVIOUS_VERSION = sorted((Path(__file__).parent / "data").iterdir())


@pytest.fixture(name="copy")
def _copy(finished, tmp_path):
    """A copy of a finished run, which may be damaged."""
    return RunFolder(str(shutil.copytree(finished.path, tmp_path / "copy")))


def test_metrics_have_a_row_per_iteration_and_seed(finished):
    table = rows(finished.path / "metrics.csv")
    assert [(int(row["iteration"]), int(row["seed"])) for row in table] == [
        (iteration, seed) for iteration in range(1, 13) for seed in (1, 2, 3)
    ]
    expected = {"train/return", "teacher/kl_to_target", "teacher/alpha", "context/gate_width_mean"}
    assert expected <= table[0].keys()


def test_the_summary_agrees_with_the_evaluations(finished):
    summary, evaluations = finished.summary(), finished.evaluations()
    last = evaluations["return"][-1]
    assert evaluations["iteration"].tolist() == [0, 5, 10, 12]
    np.testing.assert_allclose(summary["final_return"]["per_seed"], last, rtol=1e-6)
    assert summary["final_return"]["mean"] == pytest.approx(last.mean(), rel=1e-6)
    error = last.std() / np.sqrt(3)
    assert summary["final_return"]["standard_error"] == pytest.approx(error, rel=1e-4)
    assert summary["environment_steps"] == 3 * 12 * 256
    assert 0 < summary["teacher_seconds"] < summary["training_seconds"] < summary["wall_seconds"]
    for name in ("problem", "teacher", "learner", "seeds", "iterations", "steps_per_second"):
        assert name in summary


def test_contexts_are_kept_at_every_evaluation(finished):
    contexts = finished.contexts()
    assert contexts["samples"].shape == (4, 3, 44, 2)  # more episodes do not fit into 256 steps
    assert contexts["mean"].shape == (4, 3, 2)
    np.testing.assert_allclose(contexts["mean"][0], [[0.0, 4.25]] * 3)


def test_learners_can_be_loaded(finished):
    states = finished.learner_states()
    assert states.parameters["policy"][0][0].shape == (3, 6, 8)


def test_files_that_do_not_fit_are_named(copy):
    (copy.path / "checksums.json").unlink()
    path = copy.path / "experiment.json"
    plain = copy.description()
    plain["experiment"]["learner"]["hidden"] = [3]
    path.write_text(json.dumps(plain))
    with pytest.raises(SelfpacedError, match=r"copy/policies.safetensors: array .* must be"):
        copy.learner_states()
    path.write_text(json.dumps(plain | {"experiment": []}))
    with pytest.raises(SelfpacedError, match=r"experiment in .*copy/experiment.json must be"):
        copy.experiment()
    path.write_text("{}")
    with pytest.raises(
        SelfpacedError, match=r"experiment.json must have blocks and experiment, got no"
    ):
        copy.experiment()


@pytest.mark.parametrize("rubbish", [b"", b"PK\x03\x04 and no more"])
def test_damaged_contexts_are_named(copy, rubbish):
    (copy.path / "checksums.json").unlink()
    (copy.path / "contexts.npz").write_bytes(rubbish)
    with pytest.raises(SelfpacedError, match=r"contexts.npz is damaged"):
        copy.contexts()


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n"])
def test_damaged_tables_are_named(copy, text):
    (copy.path / "checksums.json").unlink()
    (copy.path / "evaluations.csv").write_text(text)
    with pytest.raises(SelfpacedError, match=r"evaluations.csv is damaged \(no column 'iter"):
        copy.evaluations()


@pytest.mark.parametrize("name", ["metrics.csv", "contexts.npz", "policies.safetensors"])
def test_missing_files_are_named(copy, name):
    (copy.path / name).unlink()
    read = {
        "metrics.csv": copy.metrics,
        "contexts.npz": copy.contexts,
        "policies.safetensors": copy.learner_states,
    }
    with pytest.raises(SelfpacedError, match=f"{name} is missing; is the run finished"):
        read[name]()


@pytest.mark.parametrize("lost", ["summary.json", "checkpoints"])
def test_a_run_without_its_files_does_not_start_again(copy, lost):
    shutil.rmtree(copy.checkpoints)
    (copy.path / "checksums.json").unlink()
    if lost == "summary.json":
        (copy.path / lost).unlink()
    else:
        summary = copy.summary() | {"finished": False}
        (copy.path / "summary.json").write_text(json.dumps(summary))
    before = (copy.path / "metrics.csv").read_bytes()
    for proceed in (lambda: resume(copy.path), lambda: catch_up(copy)):
        with pytest.raises(SelfpacedError, match=f"evaluations.csv and .* but {lost} is missing"):
            proceed()
    assert (copy.path / "metrics.csv").read_bytes() == before


def test_the_folder_may_be_a_link_or_the_working_directory(finished, tmp_path, monkeypatch):
    shutil.copytree(finished.path, tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    run(SHORT, tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert RunFolder(tmp_path / "real").is_finished
    assert RunFolder(tmp_path / "real").experiment() == SHORT
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run(SHORT, ".").is_finished
    assert RunFolder(".").path == tmp_path / "here"
    catch_up(RunFolder("."))
    assert RunFolder(tmp_path / "link").path == tmp_path / "real"


@pytest.fixture(params=PREVIOUS_VERSION, ids=lambda path: path.name, name="previous")
def _previous(request, tmp_path):
    return RunFolder(shutil.copytree(request.param, tmp_path / request.param.name))


def test_a_run_of_the_previous_version_is_read(previous):
    experiment, evaluations = previous.experiment(), previous.evaluations()
    assert previous.is_finished
    assert experiment.teacher_name == "spdl"
    assert experiment.learner_name in ("ppo", "sac")
    assert experiment.method.teacher.std_lower_bound == (0.2, 0.1875, 0.1)
    assert evaluations["iteration"].tolist() == experiment.evaluation_iterations
    summary = previous.summary()["final_return"]
    np.testing.assert_allclose(summary["per_seed"], evaluations["return"][-1], rtol=1e-6)
    assert len(previous.metrics()["iteration"]) == experiment.iterations
    assert previous.contexts()["mean"].shape == (len(evaluations["iteration"]), 3, 3)


def test_policies_of_the_previous_version_act(previous):
    observation = np.array([0.0, 0.0, 3.0, 0.0, 2.5, 0.5, 0.0])
    actions = [load_policy(previous.path, seed=seed)(observation) for seed in (1, 2, 3)]
    assert np.isfinite(actions).all()
    assert len(np.unique(actions, axis=0)) == 3


def test_policies_of_the_previous_version_reach_their_evaluated_returns(previous):
    """Trained for a few iterations, the deterministic policies differ by much between seeds."""
    experiment = previous.experiment()
    with experiment.training(experiment.seeds) as training:
        batch = training.target_episodes(
            previous.learner_states(), experiment.iterations, experiment.evaluation_episodes
        )
    found = batch.discounted_return[:, 1].mean(axis=1)
    expected = previous.evaluations()["deterministic_return"][-1]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_a_run_of_the_previous_version_is_drawn(previous):
    drawn = draw_run(previous)
    assert {path.stem for path in drawn} >= {"learning_curve", "contexts", "trajectories"}
    assert all(path.stat().st_size > 0 for path in drawn)
