"""Locks between processes: exclusive, inherited, and gone with their holder."""

import subprocess
import sys
import threading

import pytest

from selfpaced import SelfpacedError
from selfpaced.runs.locks import export_lock, locked, training_lock

HOLD = (
    "import sys; from pathlib import Path; from selfpaced.runs.locks import locked\n"
    "with locked(Path(sys.argv[1]), wait=False):\n"
    "    print('held', flush=True); sys.stdin.read()"
)


@pytest.fixture(name="holder")
def _holder(tmp_path):
    """Another process that holds the lock `tmp_path / "lock"`."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_file_exists_while_the_lock_is_held(tmp_path):
    path = tmp_path / "new" / "lock"
    with locked(path, wait=False):
        assert path.exists()
    assert not path.exists()


def test_a_lock_of_another_process_is_respected(tmp_path, holder):
    with pytest.raises(BlockingIOError), locked(tmp_path / "lock", wait=False):
        pass


def test_a_killed_process_holds_nothing(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert (tmp_path / "lock").exists()  # the file stays, the lock does not
    with locked(tmp_path / "lock", wait=False):
        pass
    assert not (tmp_path / "lock").exists()


def test_a_process_that_inherits_the_file_holds_the_lock(tmp_path):
    path = tmp_path / "lock"
    with locked(path, wait=False) as file:
        command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[file.fileno()])
        file.close()
        with pytest.raises(BlockingIOError), locked(path, wait=False):
            pass
        child.communicate()
        with locked(path, wait=False):
            pass


def test_an_error_releases_the_lock(tmp_path):
    def fail():
        with locked(tmp_path / "lock", wait=False):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with locked(tmp_path / "lock", wait=False):
        pass


def test_waiting_ends_when_the_holder_leaves(tmp_path):
    """Its file is deleted meanwhile: the one that waits locks a new file."""
    order = []

    def wait():
        with export_lock(tmp_path / "run"):
            order.append("second")

    with export_lock(tmp_path / "run"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_two_processes_cannot_train_in_one_folder(tmp_path):
    run = tmp_path / "run"
    message = f"another process is training in {run}; wait for it, or stop it"
    with training_lock(run):
        assert not run.exists()  # the lock is beside the folder
        with pytest.raises(SelfpacedError, match=message), training_lock(run):
            pass
        with training_lock(tmp_path / "other"), export_lock(run):
            pass


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").touch()
    run = tmp_path / "file" / "run"
    with pytest.raises(SelfpacedError, match=f"cannot write to {run}"), training_lock(run):
        pass


def test_a_lock_neither_follows_links_nor_changes_files(tmp_path):
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("years of work")
    (tmp_path / "link").symlink_to(thesis)
    with (
        pytest.raises(SelfpacedError, match="must be a file, got a symbolic link"),
        locked(tmp_path / "link", wait=False),
    ):
        pass
    (tmp_path / "lock").write_text("kept while it is held")
    with locked(tmp_path / "lock", wait=False):
        assert (tmp_path / "lock").read_text() == "kept while it is held"
    assert thesis.read_text() == "years of work"


def test_a_lock_is_released_even_if_its_file_cannot_be_removed(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched, locked(tmp_path / "lock", wait=False):
        patched.setattr("os.unlink", refuse)
    with locked(tmp_path / "lock", wait=False):
        pass
