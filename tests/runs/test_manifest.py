"""Checksums of run folders: kills between files, damage, and folders without checksums."""

import json
import shutil

import pytest

from selfpaced import RunFolder, SelfpacedError
from selfpaced.runs import manifest
from selfpaced.runs.manifest import read_checksums, read_verified, write_files
from selfpaced.runs.verification import find_runs, verify
from tests.reports.invented_runs import invented_run

OLD = {"a.csv": b"1", "b.csv": b"2"}
NEW = {"a.csv": b"3", "b.csv": b"4"}


class KilledError(Exception):
    pass


@pytest.mark.parametrize("num", range(5))
def test_files_match_their_checksums_whenever_the_writer_is_killed(tmp_path, monkeypatch, num):
    write_files(tmp_path, OLD)
    left = [num]

    def write(original):
        def limited(*arguments):
            if not left[0]:
                raise KilledError
            left[0] -= 1
            original(*arguments)

        return limited

    monkeypatch.setattr(manifest, "write_bytes", write(manifest.write_bytes))
    monkeypatch.setattr(manifest, "write_json", write(manifest.write_json))
    try:
        write_files(tmp_path, NEW)
    except KilledError:
        assert num < 4
    found = {name: read_verified(tmp_path / name) for name in OLD}
    assert all(found[name] in (OLD[name], NEW[name]) for name in OLD)
    left[0] = 9
    write_files(tmp_path, NEW)
    assert {name: read_verified(tmp_path / name) for name in OLD} == NEW
    assert [len(sums) for sums in read_checksums(tmp_path).values()] == [1, 1]


def test_an_edited_file_is_named_in_one_line(tmp_path):
    write_files(tmp_path, OLD)
    (tmp_path / "a.csv").write_bytes(b"7")
    with pytest.raises(SelfpacedError, match=r"^.*a.csv is damaged or was edited .*$"):
        read_verified(tmp_path / "a.csv")
    assert read_verified(tmp_path / "b.csv") == b"2"


def test_a_damaged_manifest_is_named(tmp_path):
    write_files(tmp_path, OLD)
    path = tmp_path / "checksums.json"
    plain = json.loads(path.read_text())
    for text in ("", "[]", json.dumps(plain | {"files": {}})):
        path.write_text(text)
        with pytest.raises(SelfpacedError, match=r"checksums.json is damaged"):
            read_verified(tmp_path / "a.csv")


def test_files_without_a_checksum_are_read(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"1")
    assert read_verified(tmp_path / "a.csv") == b"1"


@pytest.fixture(scope="module", name="invented")
def _invented(tmp_path_factory):
    return invented_run(tmp_path_factory.mktemp("runs") / "run", seeds=(1, 2))


def test_all_files_of_a_run_are_verified(invented):
    assert {(finding.file, finding.verdict) for finding in verify(invented)} == {
        (name, "ok")
        for name in (
            "experiment.json",
            "summary.json",
            "metrics.csv",
            "evaluations.csv",
            "contexts.npz",
            "policies.safetensors",
            "checkpoints/block-0.safetensors",
            "checkpoints/block-1.safetensors",
        )
    }
    assert find_runs(invented.path.parent) == [invented]


@pytest.mark.parametrize(
    "name", ["experiment.json", "summary.json", "evaluations.csv", "metrics.csv", "contexts.npz"]
)
def test_a_changed_digit_is_found_when_a_file_is_read_and_when_it_is_verified(
    invented, tmp_path, name
):
    copy = RunFolder(shutil.copytree(invented.path, tmp_path / "copy"))
    content = (copy.path / name).read_bytes()
    place = next(i for i in range(len(content) // 2, len(content)) if content[i] in b"0123456789")
    (copy.path / name).write_bytes(content[:place] + b"7" + content[place + 1 :])
    if content[place] == ord("7"):
        (copy.path / name).write_bytes(content[:place] + b"8" + content[place + 1 :])
    read = {
        "experiment.json": copy.experiment,
        "summary.json": copy.summary,
        "evaluations.csv": copy.evaluations,
        "metrics.csv": copy.metrics,
        "contexts.npz": copy.contexts,
    }[name]
    with pytest.raises(SelfpacedError, match=f"{name} is damaged"):
        read()
    (finding,) = (each for each in verify(copy) if each.verdict == "damaged")
    assert finding.file == name


def test_a_damaged_checkpoint_is_found(invented, tmp_path):
    copy = RunFolder(shutil.copytree(invented.path, tmp_path / "copy"))
    path = copy.files()[1].newest
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    (finding,) = (each for each in verify(copy) if each.verdict == "damaged")
    assert finding.file == "checkpoints/block-1.safetensors"
