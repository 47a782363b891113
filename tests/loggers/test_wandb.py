"""Weights & Biases without network: the files for `wandb sync` are read back."""

import json
import warnings
from dataclasses import replace

import pytest

from selfpaced import SelfpacedWarning, run
from tests.runs.small_runs import SMALL, rows

wandb = pytest.importorskip("wandb", reason="requires selfpaced[wandb]")

from wandb.proto.wandb_internal_pb2 import Record  # noqa: E402

from selfpaced.loggers.wandb import WandB  # noqa: E402

_BLOCK, _HEADER, _START = 32768, 7, 7  # bytes
TWO_SEEDS = replace(SMALL, seeds=(1, 2), iterations=6)


def records(path):
    """Give the records of a file: LevelDB's log format, fragments of blocks."""
    content, place, record = path.read_bytes(), _START, b""
    while place + _HEADER <= len(content):
        if _BLOCK - place % _BLOCK < _HEADER:
            place += _BLOCK - place % _BLOCK  # the rest of a block is empty
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        record += content[place + _HEADER : place + _HEADER + length]
        place += _HEADER + length
        if kind in (1, 4):  # whole, or the last fragment
            yield Record.FromString(record)
            record = b""


def history(found):
    """Return the values of every step."""
    steps = {}
    for record in found:
        if record.WhichOneof("record_type") == "history":
            items = {
                ".".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            steps[items.pop("_step")] = items
    return steps


@pytest.fixture(scope="module", name="logged")
def _logged(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "logged"
    return run(TWO_SEEDS, path, 2, loggers=[WandB(mode="offline")])


def read(folder, seed):
    (path,) = (folder.path / "wandb").glob(f"offline-run-*/run-*-{seed}.wandb")
    return list(records(path))


def test_every_number_of_the_tables_is_there_under_its_name(logged):
    steps = history(read(logged, 2))
    assert sorted(steps) == list(range(7))
    for table, prefix in (("metrics", ""), ("evaluations", "evaluations/")):
        for row in rows(logged.path / f"{table}.csv"):
            iteration, seed = int(row.pop("iteration")), int(row.pop("seed"))
            for name, cell in row.items() if seed == 2 else ():
                found = steps[iteration].get(prefix + name)
                assert cell == ("" if found is None else f"{found:.9g}")
    assert steps[5]["contexts._type"] == "image-file"


def test_every_seed_is_a_run_of_one_group_with_all_settings(logged):
    (group,) = {record.run.run_group for seed in (1, 2) for record in read(logged, seed)} - {""}
    assert group.startswith("logged-")
    (started,) = (record.run for record in read(logged, 1) if record.run.run_id)
    assert started.display_name == "logged-seed-1"
    config = {item.key: json.loads(item.value_json) for item in started.config.update}
    assert config["iterations"] == 6
    assert config["seed"] == 1
    assert "teacher.zeta" in config


def test_the_final_policy_is_a_video(logged):
    assert history(read(logged, 1))[7]["final policy._type"] == "video-file"
    assert list(logged.path.glob("wandb/offline-run-*/files/media/videos/*.gif"))


@pytest.mark.slow  # waits for W&B, which may give up while other tests run
def test_without_an_api_key_it_logs_for_later(tmp_path, monkeypatch):
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    logger = WandB(video=False, pictures=False)
    monkeypatch.setattr(logger, "_init", _without_key(logger._init))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        experiment = replace(TWO_SEEDS, seeds=(1,), iterations=1)
        folder = run(experiment, tmp_path / "run", loggers=[logger])
    (text,) = (str(one.message) for one in caught if one.category is SelfpacedWarning)
    assert "upload it with `wandb sync`" in text
    assert sorted(history(read(folder, 1))) == [0, 1]


def _without_key(init):
    """W&B as it is without a key, whatever this computer has."""

    def refuse(seed):
        if refuse.mode() != "offline":
            raise wandb.errors.UsageError("No API key configured. Use `wandb login` to log in.")
        return init(seed)

    refuse.mode = lambda: init.__self__._mode
    return refuse
