"""Checkpoints and records of blocks: round trips, damage, and refusal of old ones."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from selfpaced import PPO, SAC, Random, SelfpacedError, resume, run
from selfpaced.runs.block_files import BlockFiles
from selfpaced.runs.checkpoint import (
    Checkpoint,
    Saved,
    order_seeds,
    read_saved,
    without_replay,
)
from selfpaced.runs.export import catch_up
from selfpaced.runs.history import join_parts
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


@pytest.fixture(name="files")
def _files(tmp_path):
    return BlockFiles(tmp_path / "checkpoints", 0, SEEDS)


@pytest.fixture(name="saved")
def _saved(training, files):
    """A checkpoint after two iterations, its files, and the rows that were saved with it."""
    checkpoint = Checkpoint.start(training, SMALL)
    advance(checkpoint, training, 2)
    checkpoint.training_seconds, checkpoint.teacher_seconds = 1.25, 0.5
    rows = checkpoint.history
    files.save(checkpoint)
    return checkpoint, files, rows


def make_old(path):
    """Write the file as an earlier version did: other names, and no mark of the format."""
    arrays, notes = read_arrays(path)
    kept = ("iteration", "training_seconds", "teacher_seconds")
    renamed = {f"state/{name}": array for name, array in arrays.items()}
    write_arrays(path, renamed, {name: notes[name] for name in kept})


def flip(path, place):
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def assert_same_columns(found, expected):
    assert found.keys() == expected.keys()
    for name, column in expected.items():
        assert found[name].dtype == column.dtype
        np.testing.assert_array_equal(found[name], column)


def test_a_restored_checkpoint_is_the_saved_one(saved, training):
    checkpoint, files, _ = saved
    restored = Checkpoint.start(training, SMALL).restore(files.newest)
    assert (restored.iteration, restored.experiment, restored.seeds) == (2, SMALL, SEEDS)
    assert (restored.training_seconds, restored.teacher_seconds) == (1.25, 0.5)
    assert restored.mark == checkpoint.mark
    assert jax.tree.structure(restored.state) == jax.tree.structure(checkpoint.state)
    jax.tree.map(np.testing.assert_array_equal, restored.state, checkpoint.state)


def test_the_record_continues_after_a_round_trip(saved, training):
    _, files, rows = saved
    restored = Checkpoint.start(training, SMALL).restore(files.newest)
    advance(restored, training, 2)
    files.save(restored)
    first, second = files.parts(files.read())
    for name, table in rows._asdict().items():
        assert_same_columns(first.tables[name], table.columns())
    assert second.tables["metrics"]["iteration"].tolist() == [3, 4]
    late = join_parts([first, second], "metrics", SEEDS)["a/late"]
    np.testing.assert_array_equal(late[:, 0], [np.nan, np.nan, 1.0, np.nan])


def test_rows_behind_the_checkpoint_of_a_killed_process_are_replaced(saved, training):
    _, files, _ = saved
    before = files.newest.read_bytes()
    for num in (3, 1):  # killed after the rows of three iterations, before their checkpoint
        restored = Checkpoint.start(training, SMALL).restore(files.newest)
        advance(restored, training, num)
        files.save(restored)
        if num == 3:
            files.newest.write_bytes(before)
    _, second = files.parts(files.read())
    assert second.tables["metrics"]["iteration"].tolist() == [3]


def test_a_checkpoint_before_the_first_iteration_survives(training, files):
    files.save(Checkpoint.start(training, SMALL))
    assert Checkpoint.start(training, SMALL).restore(files.newest).iteration == 0
    assert files.parts(files.read()) == []


def test_the_size_of_a_checkpoint_does_not_depend_on_the_past(saved, training):
    checkpoint, files, _ = saved
    before = files.newest.stat().st_size
    advance(checkpoint, training, 3)
    files.save(checkpoint)
    teacher = sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(checkpoint.state.teachers))
    assert files.newest.stat().st_size <= before + teacher  # a teacher's memory may have grown


def test_policies_are_read_without_the_experiment(saved):
    checkpoint, files, _ = saved
    found = files.read()
    assert (found.notes["iteration"], found.seeds) == (2, SEEDS)
    policy = name_leaves("learner", checkpoint.state.learner)
    assert found.policy.keys() == policy.keys()
    for name, array in policy.items():
        np.testing.assert_array_equal(found.policy[name], array)


def test_every_flipped_bit_of_a_checkpoint_is_found(saved):
    _, files, _ = saved
    content = files.newest.read_bytes()
    for place in np.random.default_rng(0).integers(len(content), size=60):
        flip(files.newest, place)
        with pytest.raises(SelfpacedError, match=r"^.*block-0.safetensors.*$"):
            read_saved(files.newest)
        files.newest.write_bytes(content)


@pytest.mark.parametrize("word", [b'"checksum', b'"format', b'"notes', b"__metadata__"])
def test_a_flipped_bit_in_a_name_of_the_header_is_damage_and_not_another_version(saved, word):
    _, files, _ = saved
    content = files.newest.read_bytes()
    files.newest.write_bytes(content.replace(word, word[:-1] + bytes([word[-1] ^ 1]), 1))
    with pytest.raises(SelfpacedError, match="is damaged"):
        read_saved(files.newest)


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(saved, training):
    checkpoint, files, _ = saved
    advance(checkpoint, training, 1)
    files.save(checkpoint)
    flip(files.newest, -10)
    damaged = files.newest.read_bytes()
    assert files.read().notes["iteration"] == 2
    warning = files.recover()
    assert "block-0.safetensors is damaged" in warning
    assert "iteration 2" in warning
    assert files.newest.with_suffix(".damaged").read_bytes() == damaged
    assert Checkpoint.start(training, SMALL).restore(files.newest).iteration == 2
    assert files.recover() == ""


def test_a_process_killed_between_two_renames_leaves_a_whole_checkpoint(saved):
    _, files, _ = saved
    files.newest.rename(files.previous)
    assert files.notes()["iteration"] == 2
    assert files.recover() == ""
    assert files.newest.exists()


def test_a_damaged_record_is_named(saved):
    _, files, _ = saved
    content = files.history.read_bytes()
    for place in (0, 12, 40, len(content) - 1):
        flip(files.history, place)
        with pytest.raises(SelfpacedError, match=r"block-0.history is damaged"):
            files.recover()
        files.history.write_bytes(content)
    files.history.write_bytes(content[:-1])
    with pytest.raises(SelfpacedError, match=r"block-0.history is damaged"):
        files.recover()
    files.history.unlink()
    with pytest.raises(SelfpacedError, match=r"block-0.history is missing"):
        files.recover()


def test_the_checkpoint_of_another_block_is_refused(saved, training):
    _, files, _ = saved
    other = BlockFiles(files.folder, 0, (1,))
    with pytest.raises(SelfpacedError, match=r"must hold seeds among \(1,\), got \(2, 3\)"):
        other.recover()
    with SMALL.training((1, 3)) as other, pytest.raises(SelfpacedError, match="another block"):
        Checkpoint.start(other, SMALL).restore(files.newest)


@pytest.mark.parametrize("problem", ["point-mass-2d", "tests.probes:HOSTED"])
def test_the_checkpoint_of_some_seeds_continues_as_they_would(problem, tmp_path):
    experiment = replace(
        SMALL, problem=problem, steps_per_iteration=64, num_environments=2
    ).with_parts(teacher=Random(), learner=PPO(hidden=(4,), num_minibatches=4))
    with experiment.training((1, 2, 3)) as training:
        whole = Checkpoint.start(training, experiment)
        whole.state, _ = training.iterate(whole.state, 0)
        one = whole.of_seeds([3])
        _, rows = training.iterate(whole.state, 1)
    assert one.seeds == (3,)
    with experiment.training((3,)) as training:
        _, (row,) = training.iterate(one.state, 1)
    assert row.keys() == rows[2].keys()
    np.testing.assert_allclose(list(row.values()), list(rows[2].values()), rtol=1e-4)


def test_past_steps_are_saved_but_not_exported(tmp_path):
    experiment = SHORT.with_parts(learner=SAC(hidden=(4,), buffer_size=500))
    files = BlockFiles(tmp_path, 0, (1,))
    path = files.newest
    with experiment.training((1,)) as training:
        checkpoint = Checkpoint.start(training, experiment)
        files.save(checkpoint)
    small = without_replay(experiment, checkpoint.state.learner)
    assert small.replay is None
    arrays, _ = read_arrays(path)
    replay = {name for name in arrays if name.startswith("learner/replay")}
    assert replay
    assert (
        read_saved(path).policy.keys() == {n for n in arrays if n.startswith("learner/")} - replay
    )


def test_policies_of_blocks_are_put_in_the_order_of_the_seeds():
    parts = [
        Saved({"seeds": [4]}, {"w": np.full((1, 2), 4.0)}),
        Saved({"seeds": [9, 2]}, {"w": np.array([[9.0, 9.0], [2.0, 2.0]])}),
    ]
    np.testing.assert_array_equal(order_seeds(parts, (2, 4, 9))["w"][:, 0], [2, 4, 9])


def test_an_old_checkpoint_is_refused_in_one_line(saved, training):
    _, files, _ = saved
    make_old(files.newest)
    template = Checkpoint.start(training, SMALL)
    for read in (template.restore, read_saved):
        with pytest.raises(SelfpacedError, match=r"block-0.safetensors must be 3, got 1") as raised:
            read(files.newest)
        assert "\n" not in str(raised.value)
        assert "finish the run with the version of selfpaced that started it" in str(raised.value)


@pytest.fixture(name="old")
def _old(saved, tmp_path):
    """A run of an earlier version."""
    _, files, _ = saved
    make_old(files.newest)
    folder = create_run(tmp_path / "old", SMALL, [SEEDS])
    files.folder.rename(folder.checkpoints)
    return folder


def test_a_run_with_old_checkpoints_is_refused_and_kept(old):
    path = old.files()[0].newest
    before = path.read_bytes()
    for proceed in (lambda: resume(old.path), lambda: catch_up(old)):
        with pytest.raises(SelfpacedError, match=r"format of .* must be 3, got 1") as raised:
            proceed()
        assert "\n" not in str(raised.value)
    assert path.read_bytes() == before


def test_tables_that_an_old_run_has_exported_can_still_be_read(old):
    write_json(old.path / "summary.json", {"finished": False, "iterations": 2, "wall_seconds": 1.0})
    catch_up(old)
    assert old.summary()["iterations"] == 2
    with pytest.raises(SelfpacedError, match=r"format of .* must be 3, got 1"):
        resume(old.path)


def test_a_run_with_old_checkpoints_can_be_replaced(old):
    assert run(SHORT, old.path, overwrite=True).is_finished
    assert [path.name for path in old.path.parent.iterdir()] == ["old"]
