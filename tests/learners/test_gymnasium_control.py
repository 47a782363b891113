"""Gymnasium's own problems with discrete actions, solved within the budgets of tuned SB3 settings.

Settings are those of the RL Zoo, but for its schedules: learning rate and clip are constant here.
"""

import pytest

from selfpaced import PPO, CurriculumLearning, Default
from tests.gymnasium_problems import CART_POLE, LUNAR_LANDER, undiscounted
from tests.probes import train

NUM_EPISODES = 20


def final_return(problem, learner, num_steps, steps_per_iteration, num_environments, seed=1):
    """Return the mean undiscounted return of the deterministic policy after training."""
    method = CurriculumLearning(Default(), learner)
    workload = (seed,), steps_per_iteration, num_environments
    iterations = num_steps // steps_per_iteration
    with method.training(problem, *workload) as training:
        state, _ = train(training, iterations)
    with method.training(undiscounted(problem), *workload) as training:
        batch = training.target_episodes(state.learner, iterations, NUM_EPISODES)
    return batch.discounted_return[0, 1].mean()


@pytest.mark.slow
def test_cart_pole_is_solved_in_100_000_steps():
    learner = PPO(learning_rate=1e-3, num_epochs=20, num_minibatches=1, gae_lambda=0.8)
    assert final_return(CART_POLE, learner, 100_000, 256, 8) >= 475.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_lunar_lander_is_solved_in_a_million_steps(seed):
    learner = PPO(
        learning_rate=3e-4,
        num_minibatches=256,
        gae_lambda=0.98,
        entropy_coefficient=0.01,
    )
    assert final_return(LUNAR_LANDER, learner, 1_000_000, 16_384, 16, seed) >= 200.0
