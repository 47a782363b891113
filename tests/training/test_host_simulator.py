"""The simulator on the host: contexts, episodes, evaluations and their vector environments."""

from dataclasses import fields, replace

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from selfpaced import (
    PPO,
    PROBLEMS,
    SAC,
    SPDL,
    ContextSpace,
    CurriculumLearning,
    Gaussian,
    Problem,
    Random,
    SelfpacedError,
)
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.training.host_rollout import ContextQueue, HostCollector, make_vector
from selfpaced.training.host_simulator import HostSimulator
from selfpaced.training.simulator import ContextSource
from selfpaced.training.values import values_of
from tests.probes import (
    DISCOUNT,
    SHAKY,
    HostProbe,
    ProbeVector,
    Recorder,
    probe_problem,
    train,
)

SMALL = PPO(hidden=(8,), num_minibatches=4)
BOTH_POLICIES = (1.0, 0.0)


def host_training(problem, seeds=(1, 2), num_environments=4, learner=SMALL, steps=64, **settings):
    method = CurriculumLearning(settings.pop("teacher", Random()), learner)
    return method.training(problem, seeds, steps, num_environments, **settings)


def probe_training(recorder=None, **settings):
    of_probe = {field.name for field in fields(HostProbe)} & settings.keys()
    probe = {"length": 3, "noise": 0.1} | {name: settings.pop(name) for name in of_probe}
    if recorder is not None:
        settings["wrap_teachers"] = recorder.wrap
    return host_training(probe_problem(HostProbe(**probe)), **settings)


def recorded(iterations=1, **settings):
    """Return the recorder of a short training."""
    recorder = Recorder()
    with probe_training(recorder, **settings) as training:
        train(training, iterations)
    return recorder


def initial_episodes(training, num, **settings):
    return training.target_episodes(training.init_learners(), 0, num, **settings)


def test_the_contexts_seen_are_exactly_those_issued_and_in_order():
    recorder = recorded(iterations=4, noise=0.0)
    for index in range(2):
        seen, used = [], []
        for number in range(4):
            seen += recorder.episodes[number][index].context[:, 0].tolist()
            num_started = int(np.ceil((64 * (number + 1) / 4) / 3)) * 4
            issued = recorder.issued[number][index, :, 0]
            used += issued[: num_started - len(used)].tolist()
        assert seen == used[: len(seen)]
        assert len(seen) == 4 * (64 // 3)  # 64 steps of each of 4 actors


def test_episodes_have_the_known_returns():
    for episodes in recorded(reward="cue", noise=0.0).episodes[0]:
        np.testing.assert_array_equal(episodes.length, 3)
        known = episodes.context[:, 0] * (1 + DISCOUNT + DISCOUNT**2)
        np.testing.assert_allclose(episodes.discounted_return, known, rtol=1e-5)
        np.testing.assert_array_equal(episodes.success, episodes.context[:, 0] > 0)
        np.testing.assert_allclose(episodes.first_observation[:, 0], episodes.context[:, 0])


@pytest.mark.parametrize(("ends_by", "time_out"), [("itself", False), ("time_out", True)])
def test_truncation_is_distinguished_from_termination(ends_by, time_out):
    problem = probe_problem(HostProbe(length=2, ends_by=ends_by))
    simulator = HostSimulator(problem, SMALL, num_seeds=2, num_environments=4, num_steps=6)
    state = host_training(problem).init_learners()
    source = ContextSource(np.zeros((2, 40, 1)), lambda index: np.zeros((40, 1)))
    queue = ContextQueue(source, [np.random.default_rng(seed) for seed in (1, 2)])
    vector = make_vector(problem.host_environment, 8)
    collector = HostCollector(problem, SMALL, vector, simulator.idle(), queue)
    rollout = collector.collect(state, np.zeros((6, 2, 4, 1), np.float32))
    over = np.arange(6) % 2 == 1
    np.testing.assert_array_equal(rollout.truncated[:, 1, 2], over & time_out)
    np.testing.assert_array_equal(rollout.terminated[:, 1, 2], over & (not time_out))


def test_a_run_continued_from_a_state_is_bit_identical():
    straight, rows = train(probe_training(), 6)
    half, _ = train(probe_training(), 3)
    resumed, late_rows = train(probe_training(), 3, half, start=3)
    for a, b in zip(jax.tree.leaves(straight), jax.tree.leaves(resumed), strict=True):
        np.testing.assert_array_equal(a, b)
    assert rows[3:] == late_rows


def test_vectors_that_cannot_be_saved_start_new_episodes_when_resumed():
    half, _ = train(probe_training(saves=False, steps=16), 1)  # four steps: one into the second
    assert (half.actors.length == 1).all()
    recorder = Recorder()
    train(probe_training(recorder, saves=False, steps=16), 1, half, start=1)
    seen = recorder.episodes[0][0].context[:, 0]
    np.testing.assert_array_equal(seen, recorder.issued[0][0, :4, 0])


def test_vectors_that_cannot_be_saved_continue_in_the_same_process():
    recorder = recorded(iterations=2, saves=False, steps=16)
    seen = recorder.episodes[1][0].context[:, 0]
    np.testing.assert_array_equal(seen[:4], recorder.issued[0][0, 4:8, 0])


def test_contexts_never_run_out_even_if_episodes_are_shorter_than_declared():
    class Shorter(HostProbe):
        min_episode_steps = 30

    first, again = Recorder(), Recorder()
    for recorder in (first, again):
        problem = probe_problem(Shorter(length=2))
        train(host_training(problem, wrap_teachers=recorder.wrap), 1)
    for drawn, episodes in zip(first.issued[0], first.episodes[0], strict=True):
        assert len(episodes.context) == 32 > len(drawn)
        np.testing.assert_allclose(episodes.context[: len(drawn)], drawn)
        assert len(np.unique(episodes.context)) == 32  # none was issued twice
    np.testing.assert_array_equal(again.episodes[0][1].context, first.episodes[0][1].context)


def test_unstable_simulations_are_counted_in_training_and_evaluation():
    with host_training(SHAKY) as training:
        _, rows = train(training, 1)
        evaluation = initial_episodes(training, 5)
    assert [row["train/unstable"] for row in rows[0]] == [32, 32]  # of 64 steps each
    assert evaluation.unstable.shape == (2, 2, 5)
    assert evaluation.unstable.all()
    assert not initial_episodes(probe_training(), 5).unstable.any()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vectors_that_reset_by_themselves_are_refused(mode):
    class Autoreset(HostProbe):
        def make(self, num_envs, num_threads=1):
            vector = super().make(num_envs, num_threads)
            vector.metadata = {"autoreset_mode": mode}
            return vector

    with pytest.raises(SelfpacedError, match=r"autoreset_mode .* of Autoreset must be"):
        host_training(probe_problem(Autoreset())).init()


def test_episodes_in_other_contexts_than_given_are_found():
    class Deaf(HostProbe):
        def make(self, num_envs, num_threads=1):
            vector = super().make(num_envs, num_threads)
            reset = vector.reset

            def ignore(*, seed=None, options=None):
                shown = np.zeros((num_envs, 1))
                return reset(seed=seed, options=options)[0], {"context": shown}

            vector.reset = ignore
            return vector

    training = host_training(probe_problem(Deaf()))
    with pytest.raises(SelfpacedError, match=r"must be the given context .* got \[0.0\]"):
        train(training, 1)


def test_a_seed_does_not_depend_on_the_seeds_beside_it():
    both, _ = train(probe_training(seeds=(1, 2)), 3)
    alone, _ = train(probe_training(seeds=(2,)), 3)
    for a, b in zip(jax.tree.leaves(both.learner), jax.tree.leaves(alone.learner), strict=True):
        np.testing.assert_allclose(a[1], b[0], rtol=2e-3, atol=1e-4)


def test_the_value_of_a_known_problem_is_learned():
    learner = PPO(hidden=(16,), learning_rate=1e-2, num_minibatches=4)
    state, _ = train(probe_training(learner=learner, noise=0.0), 60)
    known = [1 + DISCOUNT + DISCOUNT**2, 1 + DISCOUNT, 1]
    observation = np.array([[0.3, 0.1 * time] for time in range(3)], np.float32)
    for learned in values_of(learner, state.learner, [observation] * 2):
        np.testing.assert_allclose(learned, known, atol=0.1)


@pytest.mark.slow
def test_sac_learns_after_every_step():
    learner = SAC(hidden=(16,), learning_rate=3e-3, buffer_size=2000, learning_starts=64)
    settings = {"num_environments": 1, "length": 1, "reward": "action", "noise": 0.0}
    training = probe_training(learner=learner, **settings)
    before = initial_episodes(training, 50).discounted_return[:, 1].mean()
    state, _ = train(training, 40)
    after = training.target_episodes(state.learner, 40, 50).discounted_return[:, 1].mean()
    assert before < -0.2
    assert after > 0.6 * before


def test_evaluation_runs_both_policies_in_target_contexts():
    outcome = initial_episodes(probe_training(reward="cue", noise=0.0), 40)
    assert outcome.discounted_return.shape == (2, 2, 40)
    np.testing.assert_array_equal(outcome.length, 3)
    known = 0.5 * (1 + DISCOUNT + DISCOUNT**2)  # the mean of the target
    np.testing.assert_allclose(outcome.discounted_return.mean(axis=2), known, atol=0.15)
    np.testing.assert_allclose(outcome.discounted_return[:, 0], outcome.discounted_return[:, 1])
    assert outcome.success.all()


def test_episodes_that_do_not_fit_side_by_side_run_one_after_the_other():
    whole = initial_episodes(probe_training(), 10)
    pieces = initial_episodes(probe_training(max_side_by_side=12), 10)
    for a, b in zip(whole, pieces, strict=True):
        if a is not None:  # no path is kept
            np.testing.assert_allclose(a, b)


def test_paths_have_every_observation_up_to_the_end():
    path = initial_episodes(probe_training(noise=0.0), 5, keep_path=True).path
    assert path.shape == (2, 2, 5, 4, 2)
    times = np.broadcast_to(0.1 * np.arange(4), (2, 2, 5, 4))
    np.testing.assert_allclose(path[..., 1], times)


def test_paths_of_the_stochastic_policy_alone_are_the_same():
    training = probe_training()
    both = initial_episodes(training, 5, noise_scales=BOTH_POLICIES, keep_path=True)
    alone = initial_episodes(training, 5, noise_scales=(1.0,), keep_path=True)
    assert alone.path.shape == (2, 1, 5, 4, 2)
    np.testing.assert_array_equal(alone.path[:, 0], both.path[:, 0])
    np.testing.assert_array_equal(alone.discounted_return, both.discounted_return[:, :1])


@pytest.fixture(name="made")
def _made(monkeypatch):
    """The sizes of the vector environments that are made."""
    sizes, make = [], HostProbe.make

    def count(self, num_envs, num_threads=1):
        sizes.append(num_envs)
        return make(self, num_envs, num_threads)

    monkeypatch.setattr(HostProbe, "make", count)
    return sizes


def test_evaluations_share_their_vector(made):
    training = probe_training()
    state = training.init()
    first = training.target_episodes(state.learner, 0, 5)
    training.target_episodes(state.learner, 1, 5)
    assert made == [2 * 4, 2 * 2 * 5]  # training, evaluation
    again = training.target_episodes(state.learner, 0, 5)
    for one, other in zip(first[:-1], again[:-1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_evaluations_in_portions_make_their_vector_once(made):
    outcome = initial_episodes(probe_training(max_side_by_side=12), 10)
    assert outcome.length.shape == (2, 2, 10)
    assert made == [12]


def test_learners_are_drawn_without_making_a_vector(made):
    probe_training().init_learners()
    assert made == []


def test_remembered_episodes_are_valued_by_the_current_learner():
    training = probe_training(teacher=SPDL(update_offset=1, window=50))
    state, _ = train(training, 3)
    for index, remembering in enumerate(state.teachers):
        assert len(remembering.window.context) == 50  # 20 or 24 episodes come with an iteration
        np.testing.assert_allclose(remembering.window.observation[:, 1], 0.0)
        learner = jax.tree.map(lambda array, index=index: array[index], state.learner)
        now = SMALL.value(learner, remembering.window.observation)
        np.testing.assert_allclose(remembering.window.value, now, rtol=1e-5, atol=1e-6)


def test_nothing_is_compiled_again_in_the_loop(compilations):
    training = probe_training(teacher=SPDL(update_offset=1), noise=0.0)
    state, _ = train(training, 4)
    training.target_episodes(state.learner, 4, 10)
    before = compilations.num
    state, _ = train(training, 6, state, start=4)
    training.target_episodes(state.learner, 10, 10)
    assert compilations.num == before


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (SMALL, "seed 1, iteration 1: the policy has diverged"),
        # in the middle of an iteration
        (SAC(learning_starts=4, batch_size=4), "the policy has diverged"),
    ],
)
def test_a_reward_that_is_not_finite_is_found_before_an_episode_ends(monkeypatch, learner, message):
    step = ProbeVector.step

    def step_with_nan(self, actions):
        assert np.isfinite(actions).all()
        observation, reward, *rest = step(self, actions)
        return observation, reward * np.nan, *rest

    monkeypatch.setattr(ProbeVector, "step", step_with_nan)
    with pytest.raises(SelfpacedError, match=message):
        train(probe_training(learner=learner, length=1000), 1)


@pytest.mark.slow  # every process loads JAX
def test_a_gymnasium_environment_is_trained_in_processes_of_its_own():
    environment = GymnasiumEnvironment(
        "selfpaced/PointMass2D-v0", time_limit=100, in_processes=True, max_side_by_side=4
    )
    problem = replace(PROBLEMS["point-mass-2d"], name="mine", environment=environment)
    recorder = Recorder()
    settings = {"seeds": (3,), "steps": 256, "num_environments": 2}
    with host_training(problem, wrap_teachers=recorder.wrap, **settings) as training:
        state, rows = train(training, 2)
        outcome = training.target_episodes(state.learner, 2, 2)
    assert rows[1][0]["train/episodes"] > 0
    episodes = recorder.episodes[0][0]
    np.testing.assert_allclose(episodes.first_observation[:, 4:], episodes.context, rtol=1e-5)
    assert np.isfinite(outcome.discounted_return).all()
    assert (outcome.length > 5).all()


class Precise(gymnasium.Env):
    """Observes double precision, and takes only members of its action space."""

    observation_space = Box(-1.0, 1.0, (1,), np.float64)
    action_space = Box(-1.0, 1.0, (1,))

    def reset(self, *, seed=None, options=None):
        return np.array(options["context"], np.float64), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return np.zeros(1), 1.0, True, False, {}


def test_actions_have_the_precision_of_the_action_space_in_training_and_evaluation():
    gymnasium.register("Precise-v0", Precise, max_episode_steps=5)
    contexts = ContextSpace(("cue",), (0.0,), (1.0,), *[Gaussian.diagonal((0.5,), (0.1,))] * 2)
    problem = Problem("precise", "", GymnasiumEnvironment("Precise-v0"), contexts, 0.9)
    with host_training(problem) as training:
        state, _ = train(training, 1)
        outcome = training.target_episodes(state.learner, 1, 2)
    assert (outcome.discounted_return == 1.0).all()
