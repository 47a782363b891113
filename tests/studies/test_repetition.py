"""Commands that run an experiment again: `selfpaced train` must read the same experiment."""

import shlex
from dataclasses import fields, replace

import pytest

from selfpaced import PPO, SPDL, SelfpacedError, neurips2020
from selfpaced.commands.train import parse_train
from selfpaced.studies.repetition import train_commands

OTHER = {
    bool: lambda value: not value,
    int: lambda value: value + 1,
    float: lambda value: value / 2,
}


def read(command):
    program, name, *arguments = shlex.split(command)
    assert (program, name) == ("selfpaced", "train")
    return parse_train(arguments)[1]


def changed(part):
    """Return settings in which every number and switch differs, where they may."""
    for field in fields(part):
        value = getattr(part, field.name)
        try:
            part = replace(part, **{field.name: OTHER.get(type(value), lambda same: same)(value)})
        except SelfpacedError:
            continue  # it must fit the others
    return part


@pytest.mark.parametrize(
    ("problem", "teacher", "learner"),
    [
        ("ball-catching", "spdl-star", "trpo"),
        ("point-mass-2d", "goal-gan", "sac"),
        ("point-mass-2d-bimodal", "currot", "ppo"),
        ("point-mass-3d", "sprl", "episodic"),
    ],
)
def test_the_command_gives_the_same_experiment(problem, teacher, learner):
    preset = neurips2020(problem, teacher, learner)
    experiment = replace(
        preset.with_parts(**{role: changed(part) for role, part in preset.method.parts.items()}),
        seeds=(7, 8, 9),
        iterations=11,
    )
    assert experiment.method != preset.method
    (command,) = train_commands(experiment, "runs/new folder")
    assert read(command) == experiment
    assert command.endswith("--out 'runs/new folder'")


def test_tuples_none_and_settings_of_the_environment_are_flags():
    preset = neurips2020("ball-catching")
    environment = replace(preset.resolved.environment, max_episode_steps=50, normal="axis")
    experiment = replace(
        preset.with_parts(learner=PPO(hidden=(8, 9)), teacher=SPDL(std_lower_bound=None)),
        environment=environment,
    )
    assert read(*train_commands(experiment, "runs/again")) == experiment


def test_nothing_is_said_about_settings_of_the_preset():
    assert train_commands(neurips2020("point-mass-3d"), "runs/again") == [
        "selfpaced train point-mass-3d --teacher spdl --learner ppo --seeds 20 --out runs/again"
    ]


def test_seeds_with_gaps_are_trained_in_ranges_and_merged():
    experiment = replace(neurips2020("point-mass-3d"), seeds=(3, 4, 9))
    one, two, merge = train_commands(experiment, "runs/all")
    assert read(one).seeds == (3, 4)
    assert read(two).seeds == (9,)
    assert merge == "selfpaced merge runs/all-1 runs/all-2 --out runs/all"


def test_a_setting_without_a_flag_is_named():
    preset = neurips2020("point-mass-3d")
    environment = replace(preset.resolved.environment, max_episode_steps=7)
    with pytest.raises(SelfpacedError, match="environment of point-mass-3d"):
        train_commands(replace(preset, environment=environment), "runs/again")
