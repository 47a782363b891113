"""Experiments with MuJoCo: checkpoints, commands, and what does not fit together."""

import importlib.util
from dataclasses import replace

import jax
import numpy as np
import pytest

from selfpaced import PPO, GoalGAN, RunFolder, SelfpacedError, neurips2020
from selfpaced.commands.main import main
from selfpaced.experiment import Experiment
from selfpaced.runs.checkpoint import Checkpoint

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mujoco") is None, reason="MuJoCo is not installed"
)

SMALL = {"iterations": 4, "evaluation_episodes": 3, "evaluate_every": 4, "seeds": (5, 6)}
LEARNER = PPO(hidden=(8,), num_minibatches=4)


@pytest.mark.slow
def test_a_run_continued_from_a_checkpoint_is_bit_identical(tmp_path):
    experiment = replace(
        neurips2020("ball-catching", "default"),
        steps_per_iteration=400,
        num_environments=4,
        **SMALL,
    ).with_parts(learner=LEARNER)
    with experiment.training(experiment.seeds) as training:
        straight = Checkpoint.start(training, experiment)
        advance(straight, training, 4)
    with experiment.training(experiment.seeds) as training:
        half = Checkpoint.start(training, experiment)
        advance(half, training, 2)
    (tmp_path / "half.safetensors").write_bytes(half.content())
    with experiment.training(experiment.seeds) as training:
        resumed = Checkpoint.start(training, experiment).restore(tmp_path / "half.safetensors")
        advance(resumed, training, 2)
    assert resumed.iteration == 4
    for a, b in zip(jax.tree.leaves(straight.state), jax.tree.leaves(resumed.state), strict=True):
        np.testing.assert_array_equal(a, b)


def advance(checkpoint, training, num):
    for _ in range(num):
        checkpoint.state, _ = training.iterate(checkpoint.state, checkpoint.iteration)
        checkpoint.iteration += 1


def test_ball_catching_is_trained_from_the_command_line(tmp_path, capsys):
    out = tmp_path / "run"
    arguments = [
        *("train", "ball-catching", "--teacher", "spdl*", "--seeds", "1", "--iterations", "2"),
        *("--steps-per-iteration", "400", "--num-environments", "4"),
        *("--evaluation-episodes", "4", "--learner.hidden", "8", "--learner.num-minibatches", "4"),
        *("--environment.normal", "axis", "--out", str(out)),
    ]
    main(arguments)
    assert "spdl*" in capsys.readouterr().out
    folder = RunFolder(out)
    assert folder.summary()["teacher"] == "spdl*"
    assert folder.experiment().environment.normal == "axis"
    assert folder.metrics()["train/unstable"].sum() == 0
    assert np.isfinite(folder.evaluations()["return"]).all()


def test_starred_variants_are_the_papers():
    assert neurips2020("ball-catching", "spdl").method.teacher.start == "target"
    assert neurips2020("ball-catching", "spdl-star").method.teacher.start == "initial"
    assert neurips2020("ball-catching", "spdl*", "trpo").method.teacher.zeta == 0.425
    assert not neurips2020("ball-catching", "goal-gan").method.teacher.pretrain
    assert neurips2020("ball-catching", "goal-gan*").method.teacher.pretrain
    assert neurips2020("ball-catching", "default").initial_policy == "hold"
    assert neurips2020("ball-catching", "default*").initial_policy == "random"
    assert neurips2020("ball-catching", "default*").teacher_name == "default*"
    assert neurips2020("ant-gate").num_environments == 40
    with pytest.raises(SelfpacedError, match="starred"):
        neurips2020("ball-catching", "random*")


def test_an_experiment_with_other_environment_settings_survives_json():
    experiment = neurips2020("ball-catching", "spdl*")
    changed = replace(
        experiment, environment=replace(experiment.resolved.environment, normal="axis")
    )
    for each in (experiment, changed):
        assert Experiment.from_dict(each.to_dict()) == each


def test_parts_that_do_not_fit_a_host_environment_are_refused():
    with pytest.raises(SelfpacedError, match="SPRL requires a problem that runs in JAX"):
        neurips2020("ball-catching", "sprl")
    with pytest.raises(SelfpacedError, match="requires a host environment; point-mass-3d runs in"):
        replace(neurips2020("point-mass-3d"), initial_policy="hold")
    with pytest.raises(
        SelfpacedError, match=r"contexts of ant-gate must lie in its box.*stays_in_b"
    ):
        neurips2020("ant-gate", "goal-gan").with_parts(teacher=GoalGAN(clip_replay=False))
    with pytest.raises(SelfpacedError, match="environment must be settings of AntGate, got 3"):
        replace(neurips2020("ant-gate"), environment=3)


def test_a_policy_that_holds_still_does_not_depend_on_the_seeds_beside_it():
    experiment = neurips2020("ball-catching").with_parts(learner=PPO(hidden=(4,)))
    with experiment.training((1, 2)) as both, experiment.training((2,)) as one:
        together, alone = (training.init().learner.parameters["policy"] for training in (both, one))
    for array, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(array[1], other[0], rtol=1e-4, atol=1e-6)
