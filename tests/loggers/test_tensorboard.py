"""Event files: what is written is read back with TensorBoard itself."""

import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image

from selfpaced import RunFolder, resume, run
from tests.runs.small_runs import SMALL, rows

pytest.importorskip("tensorboard", reason="requires selfpaced[tensorboard]")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from selfpaced.loggers.tensorboard import TensorBoard


@pytest.fixture(scope="module", name="logged")
def _logged(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "logged"
    return run(SMALL, path, 2, loggers=[TensorBoard()])


def read(folder, seed):
    everything = dict.fromkeys(("scalars", "images", "tensors"), 0)
    found = EventAccumulator(str(folder.path / "tensorboard" / f"seed-{seed}"), everything)
    found.Reload()
    return found


@pytest.mark.parametrize("seed", SMALL.seeds)
def test_every_number_of_the_tables_is_there_under_its_name(logged, seed):
    found = read(logged, seed)
    for table, prefix in (("metrics", ""), ("evaluations", "evaluations/")):
        expected = [row for row in rows(logged.path / f"{table}.csv") if int(row["seed"]) == seed]
        for name in expected[0].keys() - {"iteration", "seed"}:
            known = {int(row["iteration"]): float(row[name]) for row in expected if row[name]}
            scalars = {one.step: one.value for one in found.Scalars(prefix + name)}
            assert scalars.keys() == known.keys()
            np.testing.assert_allclose(list(scalars.values()), list(known.values()), rtol=1e-6)


def test_contexts_are_pictures_at_every_evaluation(logged):
    pictures = read(logged, 2).Images("contexts")
    assert [picture.step for picture in pictures] == [0, 5, 10, 12]
    for picture in pictures:
        image = Image.open(io.BytesIO(picture.encoded_image_string))
        assert image.size == (picture.width, picture.height)
        assert len(image.convert("RGB").getcolors()) > 4


def test_the_final_policy_of_the_first_seed_is_a_video(logged):
    (video,) = read(logged, 1).Images("final policy")
    assert video.step == SMALL.iterations
    assert Image.open(io.BytesIO(video.encoded_image_string)).n_frames > 10
    assert "final policy" not in read(logged, 2).Tags()["images"]


def test_settings_are_text_and_hyper_parameters(logged):
    found = read(logged, 3)
    (text,) = found.Tensors("settings")
    assert b"| teacher.zeta | " in text.tensor_proto.string_val[0]
    content = found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    session = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    assert session.hparams["learner.hidden"].string_value
    assert session.hparams["iterations"].number_value == 12
    assert session.hparams["seed"].number_value == 3


@pytest.mark.slow
def test_rows_that_come_again_after_a_kill_are_shown_once(logged, tmp_path):
    copy = RunFolder(shutil.copytree(logged.path, tmp_path / "copy"))
    remembered = copy.checkpoints / "logged-TensorBoard-1.json"
    remembered.write_text(json.dumps({"1": 12, "2": 12, "3": 7}))  # as if killed after writing
    resume(copy.path, iterations=13, loggers=[TensorBoard(video=False)])
    for seed in SMALL.seeds:
        steps = [scalar.step for scalar in read(copy, seed).Scalars("train/return")]
        assert steps == list(range(1, 14))
    assert json.loads(remembered.read_text()) == {"1": 13, "2": 13, "3": 13}
