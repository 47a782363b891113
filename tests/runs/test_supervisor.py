"""Whole runs in worker processes, small ones."""

import csv
import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from selfpaced import PPO, SPDL, Random, RunFolder, SelfpacedError, neurips2020, resume, run
from selfpaced.runs.processes import Listener, listen, worker_settings
from selfpaced.runs.replacement import set_aside
from selfpaced.runs.supervisor import InterruptedRunError
from tests.reports.conftest import invented_run

SMALL = replace(
    neurips2020("point-mass-2d"),
    teacher=SPDL(update_offset=1, alpha_offset=2, std_lower_bound=(0.2, 0.1875)),
    learner=PPO(hidden=(8,)),
    seeds=(1, 2, 3),
    iterations=12,
    steps_per_iteration=256,
    evaluation_episodes=10,
)


@pytest.fixture(scope="module", name="finished")
def _finished(tmp_path_factory):
    return run(SMALL, tmp_path_factory.mktemp("runs") / "finished", workers=2)


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_a_finished_run_has_all_its_files(finished):
    names = {path.name for path in finished.path.iterdir()}
    assert names == {
        "experiment.json",
        "metrics.csv",
        "evaluations.csv",
        "contexts.npz",
        "policies.safetensors",
        "summary.json",
    }
    assert finished.is_finished
    assert finished.experiment() == SMALL
    assert finished.blocks() == [(1,), (2, 3)]


def test_metrics_have_a_row_per_iteration_and_seed(finished):
    table = rows(finished.path / "metrics.csv")
    assert [(int(row["iteration"]), int(row["seed"])) for row in table] == [
        (iteration, seed) for iteration in range(1, 13) for seed in (1, 2, 3)
    ]
    wanted = {"train/return", "teacher/kl_to_target", "teacher/alpha", "context/gate_width_mean"}
    assert wanted <= table[0].keys()


def test_the_summary_says_what_the_evaluations_say(finished):
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


def test_policies_can_be_loaded_and_used(finished):
    states = finished.learner_states()
    assert states.parameters["policy"][0][0].shape == (3, 6, 8)


def timeless(path):
    return [
        {name: cell for name, cell in row.items() if not name.startswith("time/")}
        for row in rows(path)
    ]


@pytest.fixture(name="start")
def _start():
    """Runs in other processes, so that they can be killed; none of them outlives its test."""
    processes = []

    def start(folder, iterations):
        program = "from tests.runs.test_supervisor import *\n"
        program += f"long = replace(SMALL, iterations={iterations})\n"
        program += f"run(long, {str(folder)!r}, workers=2)"
        command = [sys.executable, "-c", program]
        processes.append(subprocess.Popen(command, start_new_session=True))
        return processes[-1]

    yield start
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.05)


def reached(folder, iteration):
    return (folder.path / "experiment.json").exists() and folder.iteration() >= iteration


def is_free(folder):
    """Whether the last worker is gone, too."""
    with suppress(SelfpacedError), folder.occupied():
        return True
    return False


def test_a_killed_run_resumes_to_the_same_bits(start, tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "killed")
    process = start(folder.path, 40)
    wait_for(lambda: reached(folder, 3))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: is_free(folder))
    assert not folder.is_finished
    folder.catch_up()  # looking at what there is changes nothing
    assert folder.summary()["iterations"] == folder.iteration()
    assert 3 <= folder.iteration() < 40, "it was killed too late to prove anything"
    resume(folder.path)
    whole = run(replace(SMALL, iterations=40), tmp_path / "whole", workers=2)
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (folder.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert timeless(folder.path / "metrics.csv") == timeless(whole.path / "metrics.csv")


@pytest.mark.parametrize("message", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_it_has(start, tmp_path, monkeypatch, message):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "interrupted")
    process = start(folder.path, 100_000)
    wait_for(lambda: reached(folder, 2))
    os.kill(process.pid, message)
    assert process.wait(60) != 0
    summary = folder.summary()
    assert not summary["finished"]
    assert summary["iterations"] >= 2
    assert len(rows(folder.path / "metrics.csv")) >= 6
    assert folder.iteration() == summary["iterations"]


@pytest.mark.parametrize("lost", ["summary.json", "checkpoints"])
def test_a_run_that_lost_what_it_needs_does_not_begin_again(finished, tmp_path, lost):
    folder = RunFolder(str(shutil.copytree(finished.path, tmp_path / "copy")))
    if lost == "summary.json":
        (folder.path / lost).unlink()
    else:
        summary = folder.summary() | {"finished": False}
        (folder.path / "summary.json").write_text(json.dumps(summary))
    before = (folder.path / "metrics.csv").read_bytes()
    for go_on in (lambda: resume(folder.path), folder.catch_up):
        with pytest.raises(SelfpacedError, match=f"evaluations.csv and .* but {lost} is missing"):
            go_on()
    assert (folder.path / "metrics.csv").read_bytes() == before


def test_files_that_do_not_fit_are_named(finished, tmp_path):
    folder = RunFolder(shutil.copytree(finished.path, tmp_path / "copy"))
    path = folder.path / "experiment.json"
    plain = folder.description()
    plain["experiment"]["learner"]["hidden"] = [3]
    path.write_text(json.dumps(plain))
    with pytest.raises(SelfpacedError, match=r"copy/policies.safetensors: the array"):
        folder.learner_states()
    path.write_text(json.dumps(plain | {"experiment": []}))
    with pytest.raises(SelfpacedError, match=r"copy/experiment.json: this does not describe"):
        folder.experiment()


def test_seconds_that_are_none_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "often")
    with pytest.raises(SelfpacedError, match=r"CHECKPOINT_SECONDS wants a number .* got 'often'"):
        run(SMALL, tmp_path / "run", workers=1)


def test_an_existing_folder_is_not_overwritten(finished):
    before = (finished.path / "summary.json").read_bytes()
    with pytest.raises(SelfpacedError, match="already exists; choose another folder with --out"):
        run(SMALL, finished.path)
    assert (finished.path / "summary.json").read_bytes() == before


def test_a_folder_that_is_no_run_is_not_even_overwritten_when_asked(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SelfpacedError, match="is not a run folder, so --overwrite will not"):
        run(SMALL, tmp_path, overwrite=True)
    with pytest.raises(SelfpacedError, match=r"exists; choose another folder with --out$"):
        run(SMALL, tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_a_finished_run_is_not_resumed(finished):
    with pytest.raises(SelfpacedError, match="is finished"):
        resume(finished.path)


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SelfpacedError, match="cannot write to"):
        run(SMALL, tmp_path / "file" / "run")


def test_a_damaged_checkpoint_is_named_and_kept(tmp_path):
    folder = RunFolder.create(tmp_path / "damaged", SMALL, [(1, 2, 3)])
    path = folder.checkpoint_path(0)
    path.parent.mkdir()
    path.write_bytes(b"rubbish")
    with pytest.raises(SelfpacedError, match="is damaged"):
        resume(folder.path)
    assert path.read_bytes() == b"rubbish"


def test_two_processes_do_not_train_in_one_folder(tmp_path):
    folder = RunFolder.create(tmp_path / "busy", SMALL, [(1, 2, 3)])
    with folder.occupied(), pytest.raises(SelfpacedError, match="another process is training"):
        resume(folder.path)


def test_a_folder_in_which_somebody_trains_is_not_replaced(tmp_path):
    folder = RunFolder.create(tmp_path / "busy", SMALL, [(1, 2, 3)])
    with folder.occupied(), pytest.raises(SelfpacedError, match="another process is training"):
        run(SMALL, folder.path, overwrite=True)
    assert (folder.path / "experiment.json").exists()


def test_a_mistake_leaves_nothing_behind_and_replaces_nothing(finished, tmp_path):
    mistaken = replace(SMALL, teacher=replace(SMALL.teacher, std_lower_bound=(0.2,)))
    with pytest.raises(SelfpacedError, match="std_lower_bound") as told:
        run(mistaken, tmp_path / "new")
    assert "kept" not in str(told.value)
    assert not any(tmp_path.iterdir())
    before = {path.name: path.read_bytes() for path in finished.path.glob("*.*")}
    with pytest.raises(SelfpacedError, match="std_lower_bound"):
        run(mistaken, finished.path, overwrite=True)
    assert {path.name: path.read_bytes() for path in finished.path.glob("*.*")} == before
    assert [path.name for path in finished.path.parent.iterdir()] == [finished.path.name]


def test_a_run_can_be_replaced(tmp_path):
    short = replace(SMALL, iterations=1, seeds=(1,))
    run(short, tmp_path / "run")
    replaced = run(replace(short, iterations=2), tmp_path / "run", overwrite=True)
    assert replaced.summary()["iterations"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_that_ends_while_somebody_looks_keeps_its_end(start, tmp_path, monkeypatch):
    """The looker begins in the middle and writes after the last iteration has been saved."""
    monkeypatch.setenv("SELFPACED_CHECKPOINT_SECONDS", "0")
    folder = RunFolder(tmp_path / "watched")
    process = start(folder.path, 40)
    wait_for(lambda: reached(folder, 3))
    write_out, looked = RunFolder._write_out, []

    def late(self, wall_seconds, may_finish):
        wait_for(lambda: reached(folder, 40))  # the run waits to write its end
        write_out(self, wall_seconds, may_finish)
        looked.append(self.summary()["finished"])

    monkeypatch.setattr(RunFolder, "_write_out", late)
    folder.catch_up()
    assert looked == [False]  # that is for the process that trains to say
    assert process.wait(120) == 0
    assert folder.is_finished
    assert folder.summary()["wall_seconds"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["watched"]  # no locks are left


class Chatty(Random):
    """Prints, as people do when they look for a mistake."""

    def sample(self, rng, state, num):
        print("drawing", num)
        print({"iteration": "nonsense"})
        return super().sample(rng, state, num)


def test_what_a_teacher_prints_is_no_message(tmp_path):
    chatty = replace(SMALL, teacher=Chatty(), iterations=1, seeds=(1,))
    assert run(chatty, tmp_path / "run").is_finished


class Broken(Random):
    """A teacher with a mistake in it."""

    def sample(self, rng, state, num):
        return super().sample(rng, state, num)[:, :, None].no_such_thing


def test_a_mistake_in_a_teacher_shows_where_it_is(tmp_path):
    broken = replace(SMALL, teacher=Broken(), iterations=1, seeds=(1,))
    with pytest.raises(SelfpacedError, match=r"(?s)AttributeError.*test_supervisor.py.*no_such_thing"):
        run(broken, tmp_path / "run")


@pytest.mark.parametrize("rubbish", [b"", b"PK\x03\x04 and no more"])
def test_damaged_contexts_are_named(finished, tmp_path, rubbish):
    folder = RunFolder(shutil.copytree(finished.path, tmp_path / "damaged"))
    (folder.path / "contexts.npz").write_bytes(rubbish)
    with pytest.raises(SelfpacedError, match=r"contexts.npz is damaged"):
        folder.contexts()
    for text in ("", "a,b\n1,2\n"):
        (folder.path / "evaluations.csv").write_text(text)
        with pytest.raises(SelfpacedError, match=r"evaluations.csv is damaged \(no column 'iter"):
            folder.evaluations()


def test_a_run_that_has_saved_nothing_yet_cannot_be_looked_at(tmp_path):
    folder = RunFolder.create(tmp_path / "young", SMALL, [(1, 2, 3)])
    with pytest.raises(SelfpacedError, match="has no saved iteration yet"):
        folder.catch_up()


def test_what_a_killed_run_had_finished_is_written_out(finished, tmp_path, monkeypatch):
    """All iterations are saved, but the process that would have written them out is gone."""
    folder = RunFolder(tmp_path / "killed")
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "export", lambda *_: None)
        run(SMALL, folder.path, workers=2)
    shutil.copytree(finished.path, tmp_path / ".killed.replaced")  # what it was to replace
    assert not folder.is_finished
    folder.catch_up()
    assert folder.is_finished
    assert [path.name for path in tmp_path.iterdir()] == ["killed"]
    for name in ("evaluations.csv", "policies.safetensors"):
        assert (folder.path / name).read_bytes() == (finished.path / name).read_bytes()


def test_one_seed_has_no_standard_error(tmp_path):
    alone = run(replace(SMALL, iterations=1, seeds=(1,)), tmp_path / "run")
    assert alone.summary()["final_return"]["standard_error"] is None


def test_an_old_run_comes_back_if_the_new_one_was_killed_too_early(tmp_path):
    short = replace(SMALL, iterations=1, seeds=(1,))
    old = run(short, tmp_path / "run")
    before = (old.path / "summary.json").read_bytes()
    set_aside(old.path)
    new = RunFolder.create(tmp_path / "new", SMALL, [(1, 2, 3)])
    new.path.rename(old.path)  # and then the power went off
    mistaken = replace(SMALL, teacher=replace(SMALL.teacher, std_lower_bound=(0.2,)))
    with pytest.raises(SelfpacedError, match="std_lower_bound"):
        run(mistaken, old.path, overwrite=True)
    assert (old.path / "summary.json").read_bytes() == before
    set_aside(old.path)  # the power went off even earlier
    with pytest.raises(SelfpacedError, match="already exists"):
        run(short, old.path)
    assert (old.path / "summary.json").read_bytes() == before


def test_the_folder_may_be_a_link_or_the_working_directory(tmp_path, monkeypatch):
    short = replace(SMALL, iterations=1, seeds=(1,))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    run(short, tmp_path / "link")
    run(short, tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert RunFolder(tmp_path / "real").is_finished
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run(short, ".").is_finished
    assert RunFolder(".").path == tmp_path / "here"
    RunFolder(".").catch_up()
    assert RunFolder(tmp_path / "link").path == tmp_path / "real"


class Gone(Listener):
    """Whoever listened has closed the pipe: printing ends the program, as rich does it."""

    def hear(self, block, message):
        if message.get("iteration", 0) >= 1:
            raise SystemExit(1)

    def leave(self):
        raise SystemExit(1)

    end = leave


def test_nothing_is_lost_when_nobody_listens_any_more(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(SystemExit):
        run(replace(SMALL, iterations=100_000), folder.path, listener=Gone())
    assert folder.iteration() >= 1  # saved when they were asked to leave
    assert folder.summary()["iterations"] == folder.iteration()


@dataclass(frozen=True)
class Patient(Random):
    """Has a setting that JSON does not know."""

    patience: float = math.inf


def test_settings_that_no_file_can_hold_are_refused_before_anything_moves(tmp_path):
    short = replace(SMALL, iterations=1, seeds=(1,))
    folder = run(short, tmp_path / "run")
    with pytest.raises(SelfpacedError, match=r"teacher setting patience = inf cannot be kept"):
        run(replace(short, teacher=Patient()), folder.path, overwrite=True)
    assert folder.is_finished
    assert folder.experiment() == short


def test_what_others_print_before_a_worker_begins_goes_to_its_log(tmp_path):
    folder = RunFolder.create(tmp_path / "run", replace(SMALL, seeds=(1,)), [(1,)])
    folder.log_path(0).parent.mkdir()
    program = "print('welcome'); print('[1]'); print('{\"iteration\": 3}'); print('{\"half')"
    heard = []
    listener = Listener()
    listener.hear = lambda block, message: heard.append((block, message))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as it:
        assert listen(folder, [it], listener) == []
    assert heard == [(0, {"iteration": 3})]
    assert folder.log_path(0).read_text() == 'welcome\n[1]\n{"half\n'


def test_a_user_without_a_home_can_train(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert "JAX_COMPILATION_CACHE_DIR" in worker_settings(is_hosted=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert "JAX_COMPILATION_CACHE_DIR" not in worker_settings(is_hosted=False)


@pytest.mark.parametrize("reason", [errno.EACCES, errno.EROFS])
def test_somebody_elses_run_can_be_looked_at(tmp_path, monkeypatch, reason):
    def refuse(*_, **__):
        raise OSError(reason, os.strerror(reason))

    folder = invented_run(tmp_path / "run", seeds=(1, 2), reached=[10, 10])
    monkeypatch.setattr(RunFolder, "export", refuse)
    folder.catch_up()
    (folder.path / "summary.json").unlink()
    with pytest.raises(SelfpacedError, match="has no tables yet, and cannot be written to"):
        folder.catch_up()


def test_a_full_disk_is_no_reason_to_show_something_old(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    folder = invented_run(tmp_path / "run", seeds=(1, 2), reached=[10, 10])
    monkeypatch.setattr(RunFolder, "export", fail)
    with pytest.raises(OSError, match="No space left"):
        folder.catch_up()


class Moody(Random):
    """A teacher that says something in every other update."""

    def update(self, rng, state, episodes):
        state, metrics = super().update(rng, state, episodes)
        mood = {"a/mood": 1.0} if len(episodes.length) % 2 else {}
        return state, metrics | mood


def test_a_metric_that_is_sometimes_missing_costs_no_row(tmp_path):
    moody = run(replace(SMALL, teacher=Moody(), seeds=(1,)), tmp_path / "run")
    metrics = moody.metrics()
    mood = metrics["a/mood"][:, 0]
    assert 0 < np.isnan(mood).sum() < len(mood)
    np.testing.assert_array_equal(metrics["iteration"], np.arange(1, 13))
    assert np.isfinite(metrics["context/gate_width_mean"]).all()


class Attentive(Listener):
    """Remembers all that was said."""

    def __init__(self):
        self.messages = []

    def hear(self, block, message):
        self.messages.append(message)


def test_simulations_that_break_down_are_told_and_counted(tmp_path):
    experiment = replace(
        neurips2020("tests.probes:SHAKY", "random"),
        learner=PPO(hidden=(8,), num_minibatches=4),
        seeds=(1, 2),
        iterations=2,
        steps_per_iteration=64,
        evaluation_episodes=10,
    )
    listener = Attentive()
    folder = run(experiment, tmp_path / "run", workers=1, listener=listener)
    advice = [message["advice"] for message in listener.messages if "advice" in message]
    assert sum("became unstable" in text for text in advice) == 1  # once is enough
    np.testing.assert_array_equal(folder.metrics()["train/unstable"], 32)
    np.testing.assert_array_equal(folder.evaluations()["unstable"], 10)


def test_who_told_an_error_is_not_asked_to_leave(tmp_path):
    class Hasty(Attentive):
        def leave(self):
            pytest.fail("nobody was at work any more")

    broken = replace(SMALL, teacher=Broken(), iterations=1, seeds=(1,))
    with pytest.raises(SelfpacedError, match="no_such_thing"):
        run(broken, tmp_path / "run", listener=Hasty())


def test_no_workers_are_refused(tmp_path):
    with pytest.raises(SelfpacedError, match="workers must be positive, got 0"):
        run(SMALL, tmp_path / "run", workers=0)


def test_a_run_stopped_in_its_last_iteration_is_called_finished():
    assert "run is finished" in str(InterruptedRunError("run", 5, 5))
    assert "resume run" in str(InterruptedRunError("run", 4, 5))
