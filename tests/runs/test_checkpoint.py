"""Checkpoints: round trips, what is exported from them, and refusal of old ones."""

import jax
import numpy as np
import pytest

from selfpaced import SAC, SelfpacedError, resume, run
from selfpaced.runs.checkpoint import Checkpoint, concatenate_seeds, read_saved, without_replay
from selfpaced.runs.export import catch_up
from selfpaced.runs.replacement import create_run
from selfpaced.runs.storage import name_leaves, read_arrays, write_arrays, write_json
from tests.runs.small_runs import SHORT, SMALL

SEEDS = (2, 3)


def advance(checkpoint, training, num):
    """Train, and record as the worker does; metrics have a late column."""
    for _ in range(num):
        checkpoint.state, rows = training.iterate(checkpoint.state, checkpoint.iteration)
        checkpoint.iteration += 1
        if checkpoint.iteration == 3:
            rows = [row | {"a/late": 1.0} for row in rows]
        checkpoint.history.record_iteration(checkpoint.iteration, rows)
        batch = training.target_episodes(checkpoint.state.learner, checkpoint.iteration, 4)
        contexts = training.sample_contexts(checkpoint.state, checkpoint.iteration)
        gaussians = training.gaussians(checkpoint.state)
        checkpoint.history.record_evaluation(checkpoint.iteration, batch, contexts, gaussians)


@pytest.fixture(scope="module", name="training")
def _training():
    with SMALL.training(SEEDS) as training:
        yield training


@pytest.fixture(name="saved")
def _saved(training, tmp_path):
    """A checkpoint after two iterations, and its file."""
    checkpoint = Checkpoint.start(training, SMALL)
    advance(checkpoint, training, 2)
    checkpoint.training_seconds, checkpoint.teacher_seconds = 1.25, 0.5
    path = tmp_path / "block.safetensors"
    checkpoint.save(path)
    return checkpoint, path


def make_old(path):
    """Write the file as the previous version did: other names, and no mark of the format."""
    arrays, notes = read_arrays(path)
    kept = ("iteration", "training_seconds", "teacher_seconds")
    renamed = {f"state/{name}": array for name, array in arrays.items()}
    write_arrays(path, renamed, {name: notes[name] for name in kept})


def assert_same_columns(found, expected):
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name], column)


def test_a_restored_checkpoint_is_the_saved_one(saved, training):
    checkpoint, path = saved
    restored = Checkpoint.start(training, SMALL).restore(path)
    assert (restored.iteration, restored.experiment) == (2, SMALL)
    assert (restored.training_seconds, restored.teacher_seconds) == (1.25, 0.5)
    assert jax.tree.structure(restored.state) == jax.tree.structure(checkpoint.state)
    jax.tree.map(np.testing.assert_array_equal, restored.state, checkpoint.state)
    for table, expected in zip(restored.history, checkpoint.history, strict=True):
        assert_same_columns(table.columns(), expected.columns())


def test_the_history_continues_after_a_round_trip(saved, training):
    checkpoint, path = saved
    restored = Checkpoint.start(training, SMALL).restore(path)
    for one in (checkpoint, restored):
        advance(one, training, 2)
    for table, expected in zip(restored.history, checkpoint.history, strict=True):
        assert expected.columns()["iteration"].tolist() == [1, 2, 3, 4]
        assert_same_columns(table.columns(), expected.columns())
    late = restored.history.metrics.columns()["a/late"]
    np.testing.assert_array_equal(late[:, 0], [np.nan, np.nan, 1.0, np.nan])


def test_a_checkpoint_before_the_first_iteration_survives(training, tmp_path):
    Checkpoint.start(training, SMALL).save(tmp_path / "start.safetensors")
    restored = Checkpoint.start(training, SMALL).restore(tmp_path / "start.safetensors")
    assert restored.iteration == 0
    assert restored.history.metrics.columns()["iteration"].shape == (0,)


def test_tables_and_policy_are_read_without_the_experiment(saved):
    checkpoint, path = saved
    found = read_saved(path)
    assert (found.iteration, found.training_seconds, found.teacher_seconds) == (2, 1.25, 0.5)
    for name, table in checkpoint.history._asdict().items():
        assert_same_columns(found.tables[name], table.columns())
    policy = name_leaves("learner", checkpoint.state.learner)
    assert found.policy.keys() == policy.keys()
    for name, array in policy.items():
        np.testing.assert_array_equal(found.policy[name], array)


def test_past_steps_are_saved_but_not_exported(tmp_path):
    experiment = SHORT.with_parts(learner=SAC(hidden=(4,), buffer_size=500))
    path = tmp_path / "sac.safetensors"
    with experiment.training((1,)) as training:
        checkpoint = Checkpoint.start(training, experiment)
        checkpoint.save(path)
    small = without_replay(experiment, checkpoint.state.learner)
    assert small.replay is None
    arrays, _ = read_arrays(path)
    replay = {name for name in arrays if name.startswith("learner/replay")}
    assert replay
    assert (
        read_saved(path).policy.keys() == {n for n in arrays if n.startswith("learner/")} - replay
    )


def test_blocks_are_concatenated_along_their_seeds():
    parts = [{"w": np.zeros((1, 3))}, {"w": np.ones((2, 3))}]
    np.testing.assert_array_equal(concatenate_seeds(parts)["w"][:, 0], [0, 1, 1])


def test_an_old_checkpoint_is_refused_in_one_line(saved, training):
    _, path = saved
    make_old(path)
    template = Checkpoint.start(training, SMALL)
    for read in (template.restore, read_saved):
        with pytest.raises(SelfpacedError, match=r"block.safetensors must be 2, got 1") as raised:
            read(path)
        assert "\n" not in str(raised.value)
        assert "finish the run with the version of selfpaced that started it" in str(raised.value)


def test_a_run_with_old_checkpoints_is_refused_and_kept(saved, tmp_path):
    _, path = saved
    make_old(path)
    folder = create_run(tmp_path / "old", SMALL, [SEEDS])
    folder.checkpoints.mkdir()
    path = path.rename(folder.checkpoint_path(0))
    before = path.read_bytes()
    for proceed in (lambda: resume(folder.path), lambda: catch_up(folder)):
        with pytest.raises(SelfpacedError, match=r"format of .* must be 2, got 1") as raised:
            proceed()
        assert "\n" not in str(raised.value)
    assert path.read_bytes() == before


def test_tables_that_an_old_run_has_exported_can_still_be_read(saved, tmp_path):
    _, path = saved
    folder = create_run(tmp_path / "old", SMALL, [SEEDS])
    folder.checkpoints.mkdir()
    make_old(path.rename(folder.checkpoint_path(0)))
    write_json(
        folder.path / "summary.json", {"finished": False, "iterations": 2, "wall_seconds": 1.0}
    )
    catch_up(folder)
    assert folder.summary()["iterations"] == 2
    with pytest.raises(SelfpacedError, match=r"format of .* must be 2, got 1"):
        resume(folder.path)


def test_a_run_with_old_checkpoints_can_be_replaced(saved, tmp_path):
    _, path = saved
    make_old(path)
    folder = create_run(tmp_path / "old", SMALL, [SEEDS])
    folder.checkpoints.mkdir()
    path.rename(folder.checkpoint_path(0))
    assert run(SHORT, folder.path, overwrite=True).is_finished
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
