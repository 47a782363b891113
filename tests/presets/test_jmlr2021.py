"""The preset of the JMLR version of SPDL, chosen by its name."""

import pytest

from selfpaced import SelfpacedError, ThresholdSPDL
from selfpaced.commands.compare import Options as CompareOptions
from selfpaced.commands.main import main
from selfpaced.commands.train import parse_train
from selfpaced.presets.neurips2020 import find_preset, grid_of, published

NAME = "jmlr2021"


def test_point_masses_have_larger_networks_and_shorter_training():
    for learner in ("ppo", "trpo", "sac"):
        experiment = published("point-mass-2d", "spdl", learner, name=NAME)
        assert (experiment.iterations, experiment.steps_per_iteration) == (400, 2048)
        assert experiment.method.learner.hidden == (64, 64)
    assert published("point-mass-3d", learner="sac", name=NAME).method.learner.update_every == 5
    assert published("point-mass-3d", learner="trpo", name=NAME).method.learner.max_kl == 0.01


@pytest.mark.parametrize(
    ("learner", "zeta", "offset"), [("trpo", 1.6, 20), ("ppo", 1.6, 10), ("sac", 1.1, 25)]
)
def test_settings_of_spdl(learner, zeta, offset):
    teacher = published("point-mass-3d", "spdl", learner, name=NAME).method.teacher
    assert (teacher.zeta, teacher.alpha_offset, teacher.pacing) == (zeta, offset, "tradeoff")


@pytest.mark.parametrize(
    ("problem", "learner", "expected"),
    [
        ("point-mass-2d", "ppo", ThresholdSPDL(threshold=3.5, std_lower_bound=(0.2, 0.1875))),
        (
            "point-mass-3d",
            "sac",
            ThresholdSPDL(threshold=3.5, std_lower_bound=(0.2, 0.1875, 0.1), signal="return"),
        ),
        ("ball-catching", "trpo", ThresholdSPDL(threshold=42.5, window=100)),
        ("ball-catching", "sac", ThresholdSPDL(threshold=25.0, window=100, signal="return")),
    ],
)
def test_thresholds_are_those_of_the_paper(problem, learner, expected):
    assert published(problem, "threshold-spdl", learner, name=NAME).method.teacher == expected


def test_it_has_grids_and_no_published_numbers():
    assert grid_of("point-mass-2d", "alp-gmm", NAME)["num_rollouts"] == (25, 50, 100, 200)
    assert find_preset("ball-catching", NAME).published == {}


def test_commands_take_the_name(tmp_path, capsys):
    words = ["point-mass-2d", "--preset", NAME]
    assert parse_train(words)[1].iterations == 400
    assert parse_train([*words, "--iterations", "7"])[1].iterations == 7
    cells = CompareOptions("point-mass-2d", "spdl,random", preset=(NAME,), out=tmp_path).cells()
    assert {cell.experiment.iterations for cell in cells} == {400}
    main(["check", *words])
    assert f"selfpaced train point-mass-2d --preset {NAME}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            "point-mass-2d",
            r"neurips2020, jmlr2021, robust, or a file .*; did you mean 'jmlr2021'\?",
        ),
        ("goal-maze", "preset of goal-maze must be tpami2024, or a file"),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_are_near(problem, message):
    with pytest.raises(SelfpacedError, match=message):
        parse_train([problem, "--preset", "jmlr2020"])
    with pytest.raises(SelfpacedError, match=f"preset of {problem} must be one of"):
        published(problem, name="jmlr2020")
