"""RLlib's algorithms train in the contexts that were issued, and each episode comes back once."""

import os
import signal
import time
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict
from gymnasium.wrappers import TransformObservation

pytest.importorskip("ray.rllib", reason="RLlib is not installed", exc_type=ImportError)

import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.connectors.env_to_module import FlattenObservations
from ray.rllib.connectors.env_to_module.observation_preprocessor import (
    SingleAgentObservationPreprocessor,
)
from ray.tune import register_env

from selfpaced import CurriculumEnv, SelfpacedError, SelfpacedWarning
from selfpaced.integrations.rllib import curriculum_callbacks
from selfpaced.integrations.rllib.learner_values import value_function
from tests.integrations.counting import CONTEXTS, Counting, make
from tests.integrations.rllib import journal

pytestmark = [
    pytest.mark.slow,  # for `make test-rllib`, with the versions that RLlib pins
    pytest.mark.usefixtures("ray_cluster"),
    pytest.mark.timeout(300),
]
GAMMA = 0.25  # not the discount that the environments are made with
SMALL = {"train_batch_size_per_learner": 64, "minibatch_size": 32, "num_epochs": 1, "gamma": GAMMA}
MODEL = {"fcnet_hiddens": [8]}


class Doubled(SingleAgentObservationPreprocessor):
    """A connector that doubles observations."""

    def recompute_output_observation_space(self, observation_space, action_space):
        return gymnasium.spaces.Box(0.0, 20.0, (2,), np.float32)

    def preprocess(self, observation, episode):
        return observation * 2


def make_dict():
    named = TransformObservation(
        Counting(), lambda seen: {"seen": seen}, Dict({"seen": Counting.observation_space})
    )
    return CurriculumEnv(named, CONTEXTS, append_context=True)


def ppo(**env_runners):
    register_env("counting", lambda config: make())
    return (
        PPOConfig()
        .environment("counting")
        .callbacks(curriculum_callbacks(journal.Noting(), CONTEXTS, min_episodes=5))
        .env_runners(num_envs_per_env_runner=2, **env_runners)
        .training(**SMALL)
        .rl_module(model_config=MODEL)
    )


def attributes(group, name):
    """Return an attribute of every environment, in the order of the runners."""
    found = group.foreach_env_runner(
        lambda runner: runner.env and (runner.worker_index, runner.env.unwrapped.get_attr(name))
    )
    return [value for _, values in sorted(each for each in found if each) for value in values]


def check_all_used_and_recorded(group):
    """Check contexts and episodes of all environments; return the contexts that were seen."""
    seen, times = attributes(group, "seen"), attributes(group, "time")
    recorded = journal.recorded_contexts()
    for number, row in enumerate(seen):
        journal.check_used_in_order(row, number, len(seen))
        num_ended = len(row) - (times[number] < round(row[-1][0]))  # but the one under way
        assert [context for context in recorded if context in row] == row[:num_ended]
    flat = [tuple(context) for row in seen for context in row]
    assert len({*flat}) == len(flat)  # none twice
    assert {*map(tuple, recorded)} <= {*flat}
    return seen


def first_learner(algorithm, function):
    return next(iter(algorithm.learner_group.foreach_learner(function))).get()


# two runners with two environments each; the tests share one algorithm, in this order


@pytest.fixture(scope="module", name="algorithm")
def _algorithm(ray_cluster):
    journal.forget()
    config = ppo(num_env_runners=2).evaluation(evaluation_interval=1000, evaluation_duration=6)
    algorithm = config.learners(num_learners=1).build_algo()
    yield algorithm
    algorithm.stop()


@pytest.fixture(scope="module", name="results")
def _results(algorithm):
    return [algorithm.train() for _ in range(3)]


def test_contexts_are_used_in_order_and_each_episode_is_recorded_once(algorithm, results):
    seen = check_all_used_and_recorded(algorithm.env_runner_group)
    assert len(seen) == 4
    assert all(len(row) > 6 for row in seen)
    assert [result["curriculum"]["num_updates"] for result in results] == [1, 2, 3]
    for result, episodes in zip(results, journal.recorded, strict=True):
        assert result["curriculum"]["train/episodes"] == episodes.num > 8
        assert result["curriculum"]["teacher/value"] == episodes.value.mean()


def test_returns_are_discounted_as_the_algorithm_does(results):
    episodes = journal.recorded[-1]
    np.testing.assert_array_equal(episodes.length, np.rint(episodes.context[:, 0]))
    geometric = (1 - GAMMA**episodes.length) / (1 - GAMMA)
    np.testing.assert_allclose(episodes.discounted_return, geometric)


def test_values_come_from_the_critic_of_the_learners(algorithm, results):
    episodes = journal.recorded[-1]
    first = np.stack([np.zeros(episodes.num), episodes.context[:, 1]], 1).astype(np.float32)
    np.testing.assert_array_equal(episodes.first_observation, first)

    def values(learner):
        module = learner.module["default_policy"]
        return module.compute_values({"obs": torch.tensor(first)}).detach().numpy()

    np.testing.assert_allclose(episodes.value, first_learner(algorithm, values), rtol=1e-5)


def test_evaluation_draws_from_the_target_and_takes_no_contexts(algorithm, results):
    num_issued, before = len(journal.issued), attributes(algorithm.env_runner_group, "seen")
    algorithm.evaluate()
    seen = attributes(algorithm.eval_env_runner_group, "seen")
    evaluated = {tuple(context) for row in seen for context in row}
    lengths = [length for length, _ in evaluated]
    assert len(lengths) >= 6
    assert np.mean(lengths) > 4.5  # uniform contexts have 4
    algorithm.train()
    assert {*map(tuple, journal.recorded_contexts())}.isdisjoint(evaluated)
    after = check_all_used_and_recorded(algorithm.env_runner_group)
    assert [row[: len(old)] for row, old in zip(after, before, strict=True)] == before
    assert len(journal.issued) == num_issued + 1


def test_a_runner_that_was_killed_gets_contexts_again(algorithm, results):
    group = algorithm.env_runner_group

    def processes():
        return group.foreach_env_runner(lambda runner: runner.env and os.getpid())[-2:]

    victim, other = processes()
    os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + 200
    while victim in processes() or len({*processes()} - {None}) < 2:
        assert time.monotonic() < deadline
        algorithm.train()
        time.sleep(0.2)
    assert other in processes()
    algorithm.train()
    issued = {tuple(context) for batch in journal.issued for context in batch}
    restarted = attributes(group, "seen")[:2]
    assert all(restarted)
    assert {tuple(context) for row in restarted for context in row} <= issued
    recorded = [*map(tuple, journal.recorded_contexts())]
    assert len({*recorded}) == len(recorded)


# one runner in the process of the algorithm, and a connector


@pytest.fixture(scope="module", name="local")
def _local(ray_cluster):
    journal.forget()
    config = ppo(num_env_runners=0, env_to_module_connector=lambda env, spaces, device: Doubled())
    algorithm = config.build_algo()
    for _ in range(3):
        algorithm.train()
    yield algorithm
    algorithm.stop()


def test_the_runner_of_the_algorithm_itself_gets_contexts(local):
    assert len(check_all_used_and_recorded(local.env_runner_group)) == 2
    assert len(journal.recorded) == 3


def test_observations_are_recorded_as_connectors_make_them(local):
    episodes = journal.recorded[-1]
    doubled = 2 * episodes.context[:, 1].astype(np.float32)
    np.testing.assert_array_equal(episodes.first_observation[:, 1], doubled)


def test_observations_of_another_size_than_the_module_has_are_not_valued(local):
    assert value_function(local, 2) is not None
    assert value_function(local, 3) is None


def test_evaluation_on_the_training_runner_is_refused(local):
    with pytest.raises(SelfpacedError, match="env runners of its own"):
        local.evaluate()


def test_a_checkpoint_has_the_curriculum_and_new_contexts_follow(local, tmp_path):
    curriculum = local.callbacks[0].curriculum
    saved, seen_before = curriculum.state_dict(), attributes(local.env_runner_group, "seen")
    path = local.save_to_path(str(tmp_path / "checkpoint"))
    restored = Algorithm.from_checkpoint(path)
    state = restored.callbacks[0].curriculum.state_dict()
    assert state == {**saved, "num_draws": saved["num_draws"] + 1}
    before = {tuple(context) for row in seen_before for context in row}
    latest = journal.issued[-1]
    assert restored.train()["curriculum"]["num_updates"] == saved["num_updates"] + 1
    for number, row in enumerate(attributes(restored.env_runner_group, "seen")):
        assert row == latest[number::2][: len(row)].tolist()
        assert before.isdisjoint(map(tuple, row))
    restored.stop()


def test_ray_tune_saves_and_loads_the_curriculum(local, tmp_path):
    curriculum = local.callbacks[0].curriculum
    local.save_checkpoint(str(tmp_path))  # the two methods that Tune calls
    saved = curriculum.state_dict()
    local.train()
    assert curriculum.num_updates == saved["num_updates"] + 1
    local.load_checkpoint(str(tmp_path))
    assert curriculum.state_dict() == {**saved, "num_draws": saved["num_draws"] + 1}


def test_a_checkpoint_without_a_curriculum_is_noticed(local):
    state = {key: value for key, value in local.get_state().items() if "curriculum" not in key}
    with pytest.warns(SelfpacedWarning, match="starts from its beginning"):
        local.set_state(state)


# other settings, other algorithms, and mistakes


def test_rollouts_of_whole_episodes_record_those_that_end(ray_cluster):
    journal.forget()
    algorithm = ppo(num_env_runners=0, batch_mode="complete_episodes").build_algo()
    algorithm.train()
    seen = attributes(algorithm.env_runner_group, "seen")
    for number, row in enumerate(seen):
        journal.check_used_in_order(row, number, len(seen))
    used = [tuple(context) for row in seen for context in row]
    recorded = [*map(tuple, journal.recorded_contexts())]
    assert len({*used}) == len(used)
    assert len({*recorded}) == len(recorded) > 8
    assert {*recorded} <= {*used}
    algorithm.stop()


def test_a_recurrent_module_gives_returns_with_a_warning(ray_cluster):
    journal.forget()
    config = ppo(num_env_runners=0)
    config = config.rl_module(model_config={**MODEL, "use_lstm": True, "max_seq_len": 4})
    algorithm = config.build_algo()
    with pytest.warns(SelfpacedWarning, match="uses discounted returns"):
        algorithm.train()
    episodes = journal.recorded[-1]
    np.testing.assert_array_equal(episodes.value, episodes.discounted_return)
    algorithm.stop()


def test_dictionaries_that_a_connector_flattens_have_values(ray_cluster):
    journal.forget()
    register_env("counting-dict", lambda config: make_dict())
    config = ppo(
        num_env_runners=0, env_to_module_connector=lambda env, spaces, device: FlattenObservations()
    ).environment("counting-dict")
    algorithm = config.build_algo()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelfpacedWarning)
        algorithm.train()
    episodes = journal.recorded[-1]
    expected = [[*context, 0.0, context[1]] for context in episodes.context.astype(np.float32)]
    np.testing.assert_array_equal(episodes.first_observation, expected)
    assert np.ptp(episodes.value) > 0
    algorithm.stop()


def test_sac_gives_its_q_values_and_contexts_that_run_out_become_more(ray_cluster):
    journal.forget()
    register_env("counting", lambda config: make())
    config = (
        SACConfig()
        .environment("counting")
        .callbacks(curriculum_callbacks(journal.Noting(), CONTEXTS, min_episodes=5))
        .env_runners(num_env_runners=0)
        .training(
            train_batch_size_per_learner=8, num_steps_sampled_before_learning_starts=8, gamma=GAMMA
        )
        .rl_module(model_config=MODEL)
        .reporting(
            min_time_s_per_iteration=0,
            min_sample_timesteps_per_iteration=0,
            min_train_timesteps_per_iteration=8 * 180,
        )
    )
    algorithm = config.build_algo()
    with pytest.warns(SelfpacedWarning, match="used all 32 contexts"):
        algorithm.train()
    assert len(journal.issued[-1]) == 64
    with warnings.catch_warnings():
        warnings.simplefilter("error", SelfpacedWarning)
        algorithm.train()
    episodes = journal.recorded[-1]
    first = torch.tensor(episodes.first_observation)

    def smaller_q(learner):
        module = learner.module["default_policy"]
        with torch.no_grad():
            mean = module.forward_inference({"obs": first})["action_dist_inputs"][:, :1]
            return module.compute_q_values({"obs": first, "actions": torch.tanh(mean)}).numpy()

    np.testing.assert_allclose(episodes.value, first_learner(algorithm, smaller_q), rtol=1e-5)
    algorithm.stop()


def test_an_environment_without_curriculum_env_is_refused(ray_cluster):
    with pytest.raises(SelfpacedError, match="must be wrapped in CurriculumEnv"):
        ppo(num_env_runners=0).environment("Pendulum-v1").build_algo()
