"""Start a run from a trained policy."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from selfpaced import (
    PPO,
    SAC,
    SPRL,
    RunFolder,
    SelfpacedError,
    load_policy,
    neurips2020,
    resume,
    run,
)
from selfpaced.commands.main import main
from selfpaced.experiment import Experiment
from selfpaced.runs.replacement import create_run
from selfpaced.runs.warm_start import save_start

SMALL = replace(
    neurips2020("point-mass-2d", "random"),
    seeds=(3, 4),
    iterations=2,
    steps_per_iteration=256,
    evaluation_episodes=5,
)
LEARNERS = [  # as on the command line
    pytest.param(
        replace(neurips2020("point-mass-2d", "random", name).method.learner, hidden=(8,)),
        id=name,
        marks=marks,
    )
    for name, marks in (("ppo", ()), ("sac", pytest.mark.slow))
]
OBSERVATIONS = np.linspace(-1.0, 1.0, 18, dtype=np.float32).reshape(3, 6)


@pytest.fixture(scope="module", name="trained", params=LEARNERS)
def _trained(request, tmp_path_factory):
    experiment = SMALL.with_parts(learner=request.param)
    return run(experiment, tmp_path_factory.mktemp("runs") / "trained", workers=1)


def test_a_batch_gets_the_actions_and_values_of_its_observations(trained):
    policy = load_policy(trained.path, seed=4)
    actions, values = policy(OBSERVATIONS), policy.value(OBSERVATIONS)
    assert (actions.shape, values.shape) == ((3, 2), (3,))
    for observation, action, value in zip(OBSERVATIONS, actions, values, strict=True):
        np.testing.assert_allclose(policy(observation), action, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(policy.value(observation), value, rtol=1e-5, atol=1e-6)


def test_the_value_is_that_of_the_learner(trained):
    policy = load_policy(trained.path)
    expected = policy.learner.value(policy.state, OBSERVATIONS)
    np.testing.assert_allclose(policy.value(OBSERVATIONS), expected, rtol=1e-6)


@pytest.mark.slow
def test_every_seed_starts_from_the_given_policy(trained, tmp_path):
    start = load_policy(trained.path, seed=4)
    other = replace(trained.experiment(), seeds=(7, 8), iterations=1)
    warm = run(other, tmp_path / "warm", workers=1, start=start)
    cold = run(replace(other, seeds=(7,)), tmp_path / "cold", workers=1)
    first = [folder.evaluations()["deterministic_return"][0] for folder in (warm, cold)]
    with trained.experiment().training((7,)) as training:
        learners = jax.tree.map(lambda array: array[None], start.state)
        batch = training.target_episodes(learners, 0, 5)
    assert first[0][0] == pytest.approx(batch.discounted_return[0, 1].mean(), rel=1e-4)
    assert first[0][0] != first[1][0]


@pytest.mark.slow
def test_a_resumed_run_is_bit_identical(trained, tmp_path):
    start = load_policy(trained.path)
    experiment = replace(trained.experiment(), seeds=(7,))
    whole = run(experiment, tmp_path / "whole", workers=1, start=start)
    killed = create_run(tmp_path / "killed", experiment, [(7,)])
    save_start(killed.start_path, start)
    resumed = resume(killed.path)
    arrays = [jax.tree.leaves(folder.learner_states()) for folder in (whole, resumed)]
    for one, other in zip(*arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_policy_that_does_not_fit_is_refused(trained, tmp_path):
    start, experiment = load_policy(trained.path), trained.experiment()
    other = SAC() if isinstance(start.learner, PPO) else PPO()
    wide = replace(start.learner, hidden=(16,))
    sprl = Experiment("point-mass-2d", SPRL(), seeds=(1,), iterations=1)
    ball = replace(experiment, problem="point-mass-3d")
    for misfit, message in (
        (experiment.with_parts(learner=other), "start must be a policy of .*; train with the same"),
        (experiment.with_parts(learner=wide), "start must be a policy with the learner's settings"),
        (ball, "start must be trained on observations of 7 numbers as point-mass-3d has, got 6"),
        (sprl, "start must be used with a teacher and a learner, got sprl"),
    ):
        with pytest.raises(SelfpacedError, match=message):
            run(misfit, tmp_path / "new", start=start)
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_the_command_line_starts_from_a_run(trained, tmp_path):
    learner = trained.experiment().learner_name
    words = "--teacher random --seeds 1 --iterations 1 --steps-per-iteration 256 --workers 1"
    flags = ["--learner", learner, "--learner.hidden", "8", "--out", str(tmp_path / "new")]
    main(["train", "point-mass-2d", *words.split(), *flags, "--start-from", str(trained.path)])
    assert RunFolder(tmp_path / "new").start_path.exists()
