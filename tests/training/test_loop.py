import jax
import numpy as np
import pytest

from selfpaced import PPO, SPDL, Default, SelfpacedError
from selfpaced.problems import POINT_MASS_3D
from selfpaced.teachers.interior_point import solve_together
from selfpaced.training import loop as heart
from selfpaced.training.evaluation import evaluate
from selfpaced.training.loop import Training
from tests.probes import Probe, probe_problem, train

SMALL = PPO(hidden=(8,), num_minibatches=4)


@pytest.fixture(scope="module", name="training")
def _training():
    teacher = SPDL(update_offset=1, alpha_offset=2)
    return Training(POINT_MASS_3D, teacher, SMALL, (11, 12), 512)


def test_stopping_and_going_on_changes_nothing(training):
    straight, rows = train(training, 6)
    half, _ = train(training, 3)
    resumed, late_rows = train(training, 3, half, start=3)
    for a, b in zip(jax.tree.leaves(straight), jax.tree.leaves(resumed), strict=True):
        np.testing.assert_array_equal(a, b)
    assert rows[3:] == late_rows


def test_nothing_is_compiled_again_in_the_loop(training):
    state, _ = train(training, 4)
    training.evaluate(state, 4, 10)
    compiled = (
        heart._learn_block,
        heart._init_learners,
        heart._init_actors,
        evaluate,
        solve_together,
    )
    before = [function._cache_size() for function in compiled]
    state, _ = train(training, 8, state, start=4)
    training.evaluate(state, 12, 10)
    train(training, 1)
    assert [function._cache_size() for function in compiled] == before


def test_the_contexts_seen_are_exactly_the_contexts_issued(training):
    state = training.init()
    for number in range(3):
        issued = training.sample_contexts(state, number).astype(np.float32)
        state, lesson = training.learn(state, issued, number)
        for index in range(2):
            seen = lesson.episodes[index].context
            # the first one may have begun in the iteration before
            late = seen[1:] if number else seen
            where = np.flatnonzero((issued[index] == late[0]).all(axis=1))[0]
            np.testing.assert_array_equal(issued[index, where : where + len(late)], late)
            assert where <= 1
        state, _ = training.teach(state, lesson, number)


def test_values_are_those_of_the_improved_learner_at_the_first_observations(training):
    state = training.init()
    contexts = training.sample_contexts(state, 0)
    state, lesson = training.learn(state, contexts, 0)
    episodes = lesson.episodes[1]
    learner_state = jax.tree.map(lambda array: array[1], state.learner)
    expected = SMALL.value(learner_state, episodes.first_observation)
    np.testing.assert_allclose(episodes.value, expected, rtol=1e-5)
    np.testing.assert_array_equal(episodes.first_observation[:, 4:], episodes.context)


def test_training_brings_about_what_evaluation_measures():
    problem = probe_problem(Probe(length=2, reward="action"))
    learner = PPO(hidden=(32,), learning_rate=1e-3, num_epochs=8, max_gradient_norm=None)
    training = Training(problem, Default(), learner, (0, 1), 256)
    state = training.init()
    before = training.evaluate(state, 0, 200)
    state, _ = train(training, 100, state)
    after = training.evaluate(state, 100, 200)
    assert after.discounted_return.shape == (2, 2, 200)
    # a standard deviation of one is most of the loss in the beginning
    assert (before.discounted_return[:, 0].mean(-1) < -1.5).all()
    assert (after.discounted_return[:, 1].mean(-1) > -0.05).all()
    assert after.success.all()
    assert (after.length == 2).all()


def test_a_reward_that_is_not_a_number_names_seed_and_iteration():
    class Broken(Probe):
        def step(self, noise, state, action):
            return super().step(noise, state, action)._replace(reward=state.cue / 0.0 * 0.0)

    training = Training(probe_problem(Broken(length=2)), Default(), SMALL, (5,), 64)
    with pytest.raises(SelfpacedError, match=r"seed 5, iteration 1: episode 0 has a .* not finite"):
        train(training, 1)
    training = Training(probe_problem(Broken(length=100)), Default(), SMALL, (5,), 64)
    with pytest.raises(SelfpacedError, match="seed 5, iteration 1: the policy has diverged"):
        train(training, 1)  # before any episode ended


def test_an_environment_that_lies_about_its_shortest_episode_is_found_out():
    class Lying(Probe):
        min_episode_steps = 3

    training = Training(probe_problem(Lying(length=2)), Default(), SMALL, (5,), 64)
    with pytest.raises(SelfpacedError, match=r"more than 23 episodes began .* probe is not true"):
        train(training, 1)


@pytest.mark.parametrize("steps_per_update", [3, 128])
def test_a_learner_whose_updates_do_not_fit_into_an_iteration_is_refused(steps_per_update):
    class Odd(PPO):
        pass

    Odd.steps_per_update = steps_per_update
    with pytest.raises(SelfpacedError, match=f"every {steps_per_update} steps, but .* has 64"):
        Training(probe_problem(Probe()), Default(), Odd(), (5,), 64)
