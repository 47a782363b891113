"""Policies that start by standing still."""

import jax
import numpy as np
import pytest

from selfpaced import PPO, SAC, CurriculumLearning, Default, SelfpacedError
from tests.probes import HostProbe, UserLearner, probe_problem

SMALL = PPO(hidden=(8,), num_minibatches=4)


def initial_learners(learner, initial_policy, problem, seeds=(1, 2)):
    method = CurriculumLearning(Default(), learner)
    with method.training(problem, seeds, 64, 4, initial_policy) as training:
        return training.init().learner


@pytest.mark.parametrize("learner", [SMALL, SAC(hidden=(8,), batch_size=16)])
def test_a_policy_that_holds_still_acts_with_smaller_actions(learner):
    problem = probe_problem(HostProbe(length=60, noise=0.1))
    rng = np.random.default_rng(0)  # observations as they come
    cue, time = rng.uniform(-0.5, 0.5, 64), 0.1 * rng.integers(60, size=64)
    observation = np.stack([cue, time], axis=1).astype(np.float32)
    act = jax.vmap(jax.vmap(learner.policy, (None, None, 0)), (None, 0, None))
    random, still = (
        np.abs(act(np.zeros(1), initial_learners(learner, policy, problem), observation))
        for policy in ("random", "hold")
    )
    assert still.mean() < 0.5 * random.mean()


def test_a_learner_that_cannot_clone_behaviour_is_refused():
    with pytest.raises(SelfpacedError, match=r"with_parameters.*, got UserLearner; use \"random\""):
        initial_learners(UserLearner(), "hold", probe_problem(HostProbe()))
