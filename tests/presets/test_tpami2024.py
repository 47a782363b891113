"""The settings of the CURROT experiments, and the default of problems that the paper lacks."""

import numpy as np
import pytest

from selfpaced import CURROT, PPO, PROBLEMS, SelfpacedError, neurips2020


def test_the_bimodal_target_has_half_of_its_contexts_in_each_gate():
    contexts = PROBLEMS["point-mass-2d-bimodal"].contexts
    drawn = contexts.sample_target(np.random.default_rng(0), 1000)
    assert (drawn[:, 0] > 0).sum() == 500  # also where draws are repeated
    np.testing.assert_allclose(np.abs(drawn[:, 0]), 3.0, atol=0.05)
    assert (drawn[:, 1] >= 0.5).all()
    assert drawn[:, 1].mean() == pytest.approx(0.5 + 0.01 * np.sqrt(2 / np.pi), abs=0.001)


def test_published_settings_of_currot():
    experiment = neurips2020("point-mass-2d-bimodal", "currot")
    assert experiment.method.teacher == CURROT(threshold=4.0, radius=0.7, wait=True)
    assert experiment.method.learner == PPO(
        hidden=(128, 128, 128), learning_rate=3e-4, num_epochs=10, num_minibatches=32,
        gae_lambda=0.99, value_coefficient=1.0, time_outs="terminal", shared_trunk=True,
    )  # fmt: skip
    assert experiment.environment_steps / len(experiment.seeds) == 819_200
    learner = neurips2020("goal-maze", "currot", "sac").method.learner
    assert (learner.update_every, learner.activation, learner.state_value) == (5, "relu", False)
    maze = neurips2020("goal-maze", "currot", "sac").method.teacher
    assert (maze.num_particles, maze.threshold, maze.radius) == (500, 0.8, 1.2)
    assert maze.signal == "success"


def test_without_a_teacher_currot_trains_problems_whose_target_is_no_gaussian():
    assert neurips2020("point-mass-2d-bimodal").teacher_name == "currot"
    assert neurips2020("point-mass-2d").teacher_name == "spdl"


def test_a_gaussian_teacher_is_refused_before_training():
    with pytest.raises(SelfpacedError, match=r"Gaussian for spdl, got Mixture; .* currot"):
        neurips2020("point-mass-2d-bimodal", "spdl")
