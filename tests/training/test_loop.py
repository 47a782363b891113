"""The loop of Algorithm 1 in JAX: one iteration for several seeds."""

import jax
import numpy as np
import pytest

from selfpaced import PPO, PROBLEMS, SAC, SPDL, CurriculumLearning, Default, SelfpacedError
from selfpaced.training.host_simulator import HostSimulator
from selfpaced.training.jax_simulator import JaxSimulator
from tests.probes import HostProbe, Probe, Recorder, UserLearner, UserTeacher, probe_problem, train

SMALL = PPO(hidden=(8,), num_minibatches=4)
METHOD = CurriculumLearning(SPDL(update_offset=1, alpha_offset=2), SMALL)
POINT_MASS = PROBLEMS["point-mass-3d"]


@pytest.fixture(scope="module", name="training")
def _training():
    with METHOD.training(POINT_MASS, (11, 12), 512) as training:
        yield training


def probe_training(probe, learner=SMALL, seeds=(5,), steps=64, **settings):
    method = CurriculumLearning(Default(), learner)
    return method.training(probe_problem(probe), seeds, steps, **settings)


def test_a_run_continued_from_a_state_is_bit_identical(training):
    straight, rows = train(training, 6)
    half, _ = train(training, 3)
    resumed, late_rows = train(training, 3, half, start=3)
    for a, b in zip(jax.tree.leaves(straight), jax.tree.leaves(resumed), strict=True):
        np.testing.assert_array_equal(a, b)
    assert rows[3:] == late_rows


def test_nothing_is_compiled_again_in_the_loop(training, compilations):
    state, _ = train(training, 4)
    training.target_episodes(state.learner, 4, 10)
    before = compilations.num
    state, _ = train(training, 8, state, start=4)
    training.target_episodes(state.learner, 12, 10)
    train(training, 1)
    assert compilations.num == before
    training.target_episodes(state.learner, 12, 11)
    assert compilations.num > before  # another shape is counted


def test_the_contexts_seen_are_exactly_the_contexts_issued():
    recorder = Recorder()
    with METHOD.training(POINT_MASS, (11, 12), 512, wrap_teachers=recorder.wrap) as training:
        train(training, 3)
    assert len(recorder.issued) == 3  # one draw per iteration
    for number, (contexts, episodes) in enumerate(
        zip(recorder.issued, recorder.episodes, strict=True)
    ):
        issued = contexts.astype(np.float32)
        for index in range(2):
            seen = episodes[index].context
            # the first one may have started in the iteration before
            late = seen[1:] if number else seen
            where = np.flatnonzero((issued[index] == late[0]).all(axis=1))[0]
            np.testing.assert_array_equal(issued[index, where : where + len(late)], late)
            assert where <= 1


def test_the_contexts_of_an_iteration_are_known_before_it(training):
    recorder = Recorder()
    with METHOD.training(POINT_MASS, (11, 12), 512, wrap_teachers=recorder.wrap) as recorded:
        expected = training.sample_contexts(training.init(), 0)
        train(recorded, 1)
    np.testing.assert_array_equal(recorder.issued[0], expected)


def test_values_are_those_of_the_improved_learner_at_the_first_observations():
    recorder = Recorder()
    with METHOD.training(POINT_MASS, (11, 12), 512, wrap_teachers=recorder.wrap) as training:
        state, _ = train(training, 1)
    episodes = recorder.episodes[0][1]
    learner_state = jax.tree.map(lambda array: array[1], state.learner)
    expected = SMALL.value(learner_state, episodes.first_observation)
    np.testing.assert_allclose(episodes.value, expected, rtol=1e-5)
    np.testing.assert_array_equal(episodes.first_observation[:, 4:], episodes.context)


def test_training_improves_what_evaluation_measures():
    learner = PPO(hidden=(32,), learning_rate=1e-3, num_epochs=8, max_gradient_norm=None)
    probe = Probe(length=2, reward="action")
    with probe_training(probe, learner, seeds=(0, 1), steps=256) as training:
        state = training.init()
        before = training.target_episodes(state.learner, 0, 200)
        state, _ = train(training, 100, state)
        after = training.target_episodes(state.learner, 100, 200)
    assert after.discounted_return.shape == (2, 2, 200)
    # a standard deviation of one is most of the loss in the beginning
    assert (before.discounted_return[:, 0].mean(-1) < -1.5).all()
    assert (after.discounted_return[:, 1].mean(-1) > -0.05).all()
    assert after.success.all()
    assert (after.length == 2).all()


class Broken(Probe):
    def step(self, noise, state, action):
        return super().step(noise, state, action)._replace(reward=state.cue / 0.0 * 0.0)


def test_a_reward_that_is_not_finite_is_found_with_its_seed_and_iteration():
    found = r"seed 5, iteration 1: .* of episode 0 must be finite, got nan"
    with probe_training(Broken(length=2)) as training, pytest.raises(SelfpacedError, match=found):
        train(training, 1)


def test_a_policy_that_has_diverged_is_found_before_an_episode_has_ended():
    found = "seed 5, iteration 1: the policy has diverged"
    with probe_training(Broken(length=100)) as training, pytest.raises(SelfpacedError, match=found):
        train(training, 1)


def test_an_environment_with_shorter_episodes_than_declared_is_found():
    class Shorter(Probe):
        min_episode_steps = 3

    found = r"min_episode_steps of probe is too large: over 23 episodes"
    with probe_training(Shorter(length=2)) as training, pytest.raises(SelfpacedError, match=found):
        train(training, 1)


def test_a_learner_that_updates_less_than_once_in_an_iteration_is_refused():
    with pytest.raises(SelfpacedError, match=r"at least the 128 .* got 64; change steps"):
        probe_training(Probe(), UserLearner(steps_per_update=128))


@pytest.mark.parametrize("probe", [Probe(length=2), HostProbe(length=2)])
def test_the_last_update_of_an_iteration_follows_the_steps_that_remain(probe):
    learner = SAC(hidden=(4,), learning_starts=0, batch_size=1, update_every=5)
    with probe_training(probe, learner) as training:
        state, _ = train(training, 2)
    assert state.learner.replay.num_added.tolist() == [2 * 64]
    counts = [leaf for leaf in jax.tree.leaves(state.learner.optimiser) if leaf.dtype == "int32"]
    assert [count.tolist() for count in counts] == [[2 * 13]]  # 12 after 5 steps each, 1 after 4


def test_teachers_and_learners_without_optional_abilities_are_trained():
    method = CurriculumLearning(UserTeacher(), UserLearner())
    for probe in (Probe(length=2), HostProbe(length=2)):
        with method.training(probe_problem(probe), (1, 2), 64) as training:
            state, rows = train(training, 2)
            assert training.gaussians(state) == [None, None]
            assert not training.advice(state, 10)
        assert rows[1][0]["train/episodes"] == 32


def test_every_problem_gets_its_kind_of_simulator():
    assert isinstance(probe_training(Probe()).simulator, JaxSimulator)
    assert isinstance(probe_training(HostProbe()).simulator, HostSimulator)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 66, "num_environments": 4}, r"multiple of num_environments \(4\), got 66"),
        ({"num_environments": 0}, "num_environments must be positive, got 0"),
        ({"steps": 0}, "steps_per_iteration must be positive, got 0"),
        ({"initial_policy": "holld"}, "initial_policy must be one of random, hold, got 'holld'"),
    ],
)
@pytest.mark.parametrize("probe", [Probe(), HostProbe()])
def test_a_wrong_budget_is_refused(probe, settings, message):
    with pytest.raises(SelfpacedError, match=message):
        probe_training(probe, **settings)


def test_holding_still_requires_a_host_environment():
    with pytest.raises(SelfpacedError, match=r"requires a host environment; probe runs in JAX"):
        probe_training(Probe(), initial_policy="hold")
