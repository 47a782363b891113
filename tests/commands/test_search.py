"""The command `selfpaced search`, with invented results; training is tested elsewhere."""

import json
from dataclasses import replace

import pytest

from selfpaced import SelfpacedError, neurips2020
from selfpaced.commands.options import parse
from selfpaced.commands.search import Options, main
from selfpaced.studies import comparison
from tests.studies.cells import Trainer


@pytest.fixture(name="trainer")
def _trainer(monkeypatch):
    trainer = Trainer()
    monkeypatch.setattr(comparison, "run", trainer.run)
    return trainer


def experiment_of(*words):
    return parse("search", Options, ["point-mass-2d", *words]).experiment()


def search(out, *words):
    small = f"point-mass-2d --teacher spdl --seeds 2 --iterations 20 --out {out}"
    main([*small.split(), *words])


def test_every_combination_of_the_given_values_is_run(tmp_path, trainer, capsys):
    search(tmp_path, "--grid", "teacher.zeta=0.5,2", "--grid", "learner.hidden=8,8 8")
    assert [name for _, name in trainer.calls] == [
        f"zeta={zeta},learner.hidden={hidden}" for zeta in ("0.5", "2") for hidden in ("8", "8x8")
    ]
    shown = capsys.readouterr().out
    assert "learner.hidden" in shown
    assert "8x8" in shown
    assert f"--learner ppo --preset {tmp_path}/preset.json" in " ".join(shown.split())
    best = json.loads((tmp_path / "preset.json").read_text())
    assert (best["teacher"]["zeta"], best["learner"]["hidden"]) == (0.5, [8])


def test_values_have_the_type_of_their_setting(tmp_path, trainer):
    words = ("teacher.update-offset=3", "teacher.start=target", "teacher.window=None,50")
    search(tmp_path, *(word for text in words for word in ("--grid", text)))
    [one, two] = sorted(tmp_path.glob("*/experiment.json"))
    teachers = [json.loads(path.read_text())["experiment"]["teacher"] for path in (one, two)]
    assert {teacher["window"] for teacher in teachers} == {None, 50}
    assert [(teacher["update_offset"], teacher["start"]) for teacher in teachers] == [
        (3, "target"),
        (3, "target"),
    ]


def test_without_a_grid_the_papers_is_searched(tmp_path, trainer):
    search(tmp_path)
    assert trainer.calls[0] == ("run", "zeta=1")
    assert len(trainer.calls) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--teacher random", "got 'random'.*; give values to try, as in --grid teacher.SETTING="),
        ("--grid teacher.zeta", "--grid must be SETTING=VALUE,VALUE, got 'teacher.zeta'"),
        ("--grid zeta=1", "setting of --grid with spdl and ppo must be .* got 'zeta'; did you"),
        ("--grid teacher.zeta=1,a", "--grid: --teacher.zeta must be FLOAT, got 'a'"),
        ("--grid teacher.start=end", "--grid: --teacher.start must be one of initial, target"),
        ("--grid teacher.zeta=1,1.0", "values of --grid must differ, got 'teacher.zeta=1,1.0'"),
        ("--grid teacher.zeta=-1", "zeta must be non-negative, got -1.0"),
        ("--grid teacher.zeta=1 --grid teacher.zeta=2", "duplicate setting 'teacher.zeta' in"),
    ],
)
def test_a_mistake_in_a_grid_is_one_line_before_anything_runs(tmp_path, trainer, words, message):
    with pytest.raises(SelfpacedError, match=message) as caught:
        search(tmp_path, *words.split())
    assert "\n" not in str(caught.value)
    assert trainer.calls == []


def test_budget_and_settings_change_every_combination():
    flags = "--iterations 7 --num-environments 4 --evaluation-episodes 3 --learner.hidden 8 8"
    experiment = experiment_of("--teacher", "spdl", *flags.split(), "--teacher.max-kl", "0.1")
    published = neurips2020("point-mass-2d", seeds=(1001, 1002, 1003, 1004, 1005))
    method = published.method
    expected = published.with_parts(
        teacher=replace(method.teacher, max_kl=0.1), learner=replace(method.learner, hidden=(8, 8))
    )
    expected = replace(expected, iterations=7, num_environments=4, evaluation_episodes=3)
    assert experiment == expected
    with pytest.raises(SelfpacedError, match=r"got '--teacher.zta'; did you mean '--teacher.zeta'"):
        experiment_of("--teacher", "spdl", "--teacher.zta", "1")


def test_a_search_may_start_from_a_preset_file(tmp_path):
    path = tmp_path / "preset.json"
    path.write_text(json.dumps(replace(neurips2020("point-mass-2d"), iterations=9).to_dict()))
    assert experiment_of("--teacher", "spdl", "--preset", str(path)).iterations == 9
    with pytest.raises(SelfpacedError, match="which is not among: point-mass-2d \\+ alp-gmm"):
        experiment_of("--teacher", "alp-gmm", "--preset", str(path))


def test_teacher_and_learner_are_those_of_train_by_default():
    assert experiment_of("--seeds", "2").method == neurips2020("point-mass-2d").method


def test_a_setting_of_another_teacher_names_that_teacher(tmp_path, trainer):
    with pytest.raises(
        SelfpacedError, match=r"got 'teacher.zeta', which belongs to spdl.*--teacher s"
    ):
        search(tmp_path, "--teacher", "alp-gmm", "--grid", "teacher.zeta=1,2")


def test_minibatches_that_do_not_divide_the_steps_are_refused_before_the_first_cell(
    tmp_path, trainer
):
    with pytest.raises(SelfpacedError, match=r"must divide the 2048 steps .* got 3; use 2, or"):
        search(tmp_path, "--grid", "learner.num_minibatches=4,3")
    assert trainer.calls == []
