"""Contexts issued are contexts seen, with every algorithm and vector of Stable-Baselines3."""

import json
import zipfile
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete

pytest.importorskip("stable_baselines3", reason="needs pip install 'selfpaced[sb3]'")

import sb3_contrib
import stable_baselines3 as sb3
from stable_baselines3.common.callbacks import CheckpointCallback, EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

from selfpaced import (
    SPDL,
    Curriculum,
    CurriculumCallback,
    CurriculumEnv,
    Random,
    SelfpacedError,
    SelfpacedWarning,
)
from tests.integrations.counting import CONTEXTS, Counting, make
from tests.integrations.issuing import Drawing, Journal

NET = {"policy_kwargs": {"net_arch": [4]}, "device": "cpu"}
OFF = {**NET, "learning_starts": 50, "buffer_size": 1000, "batch_size": 8}
ON = {**NET, "n_steps": 20}
ALGORITHMS = {
    "PPO": (sb3.PPO, {**ON, "batch_size": 20}),
    "A2C": (sb3.A2C, NET),
    "SAC": (sb3.SAC, OFF),
    "TD3": (sb3.TD3, OFF),
    "DDPG": (sb3.DDPG, OFF),
    "DQN": (sb3.DQN, OFF),
    "TRPO": (sb3_contrib.TRPO, {**ON, "batch_size": 20}),
    "RecurrentPPO": (sb3_contrib.RecurrentPPO, {**ON, "batch_size": 20}),
    "TQC": (sb3_contrib.TQC, OFF),
    "QRDQN": (sb3_contrib.QRDQN, OFF),
    "CrossQ": (sb3_contrib.CrossQ, OFF),
}
NUM_STEPS = 400


class Choosing(Counting):
    """The same with discrete actions."""

    action_space = Discrete(2)


def make_model(name: str, env: Any, **settings: Any) -> Any:
    kind, defaults = ALGORITHMS[name]
    defaults = deepcopy(defaults)  # the libraries add to them
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    return kind(policy, env, **defaults, **settings)


def make_env(name: str) -> gymnasium.Env:
    return CurriculumEnv(Choosing() if "DQN" in name else Counting(), CONTEXTS, discount=0.5)


def make_callback(**settings: Any) -> tuple[CurriculumCallback, Journal]:
    callback = CurriculumCallback(Drawing(), CONTEXTS, update_every=90, **settings)
    return callback, Journal(callback.curriculum)


def seen_by(env: Any) -> list[list[list[float]]]:
    """Return what environments have seen, without the reset before the curriculum was there."""
    return [row[1:] for row in env.env_method("get_wrapper_attr", "seen")]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_contexts_seen_are_contexts_issued_with_every_algorithm(name: str) -> None:
    env = make_vec_env(lambda: make_env(name), n_envs=3)
    callback, journal = make_callback()
    make_model(name, env).learn(NUM_STEPS, callback=callback)
    journal.check(seen_by(env))
    assert callback.curriculum.num_updates >= 3


def test_contexts_seen_are_contexts_issued_with_one_environment() -> None:
    env = make()
    callback, journal = make_callback()
    make_model("PPO", env).learn(NUM_STEPS, callback=callback)
    journal.check([env.unwrapped.seen[1:]])


def test_contexts_seen_are_contexts_issued_in_other_processes() -> None:
    env = make_vec_env(make, n_envs=2, vec_env_cls=SubprocVecEnv)
    callback, journal = make_callback()
    make_model("PPO", env).learn(NUM_STEPS, callback=callback)
    journal.check(seen_by(env))
    env.close()


def test_contexts_seen_are_contexts_issued_with_normalisation_and_monitors() -> None:
    env = VecNormalize(DummyVecEnv([lambda: Monitor(make())] * 3))
    callback, journal = make_callback()
    make_model("SAC", env).learn(NUM_STEPS, callback=callback)
    journal.check(seen_by(env))


@pytest.mark.parametrize("name", ["PPO", "SAC"])
@pytest.mark.parametrize("restarts", [True, False])
def test_training_that_goes_on_neither_repeats_nor_drops_contexts(name: str, restarts) -> None:
    env = make_vec_env(lambda: make_env(name), n_envs=2)
    callback, journal = make_callback()
    model = make_model(name, env)
    for _ in range(3):
        model.learn(120, callback=callback, reset_num_timesteps=restarts)
        callback.curriculum.update(np.zeros(callback.curriculum.num_recorded))  # a new batch
    seen = [tuple(context) for row in seen_by(env) for context in row]
    assert len(set(seen)) == len(seen)
    assert set(seen) <= set(journal.issued)
    if not restarts:
        journal.check(seen_by(env))


def test_a_loaded_model_continues_the_curriculum(tmp_path: Path) -> None:
    env = make_vec_env(make, n_envs=2)
    callback = CurriculumCallback(SPDL(pacing="mastery"), CONTEXTS, update_every=60)
    make_model("PPO", env, seed=5).learn(300, callback=callback).save(tmp_path / "model.zip")
    saved = json.loads(zipfile.ZipFile(tmp_path / "model.zip").read("data"))["curriculum"]
    assert saved == callback.curriculum.state_dict()  # plain data, no pickle

    env = make_vec_env(make, n_envs=2)
    model = sb3.PPO.load(tmp_path / "model.zip", env=env, device="cpu")
    again = CurriculumCallback(SPDL(pacing="mastery"), CONTEXTS, update_every=60)
    expected = Curriculum(SPDL(pacing="mastery"), CONTEXTS)
    expected.load_state_dict(saved)
    first = expected.sample(64)
    model.learn(40, callback=again, reset_num_timesteps=False)
    assert again.curriculum.num_updates >= callback.curriculum.num_updates
    assert seen_by(env)[0][0] == first[0].tolist()
    assert seen_by(env)[1][0] == first[32].tolist()


def test_checkpoints_contain_the_curriculum(tmp_path: Path) -> None:
    env = make_vec_env(make, n_envs=2)
    callback, _ = make_callback()
    checkpoints = CheckpointCallback(save_freq=100, save_path=str(tmp_path))
    make_model("PPO", env).learn(300, callback=[callback, checkpoints])
    latest = sorted(tmp_path.glob("*.zip"))[-1]
    assert sb3.PPO.load(latest, device="cpu").curriculum["num_updates"] > 0


def test_a_model_of_another_teacher_is_refused(tmp_path: Path) -> None:
    env = make_vec_env(make, n_envs=2)
    model = make_model("PPO", env).learn(100, callback=CurriculumCallback(Random(), CONTEXTS))
    with pytest.raises(SelfpacedError, match="must have the teacher SPDL"):
        model.learn(100, callback=CurriculumCallback(SPDL(), CONTEXTS))


def test_evaluation_takes_place_on_the_target_and_takes_no_contexts() -> None:
    env, evaluation = make_vec_env(make, n_envs=2), make_vec_env(make, n_envs=1)
    callback, journal = make_callback()
    evaluate = EvalCallback(evaluation, eval_freq=50, n_eval_episodes=4, verbose=0)
    make_model("PPO", env).learn(NUM_STEPS, callback=[callback, evaluate])
    journal.check(seen_by(env))
    lengths = [context[0] for context in seen_by(evaluation)[0]]
    assert len(lengths) > 10
    assert np.mean(lengths) > 4.0  # the target has 5, the box 4


def test_returns_are_discounted_as_the_model_does() -> None:
    env = make_vec_env(make, n_envs=2)
    callback, _ = make_callback()
    model = make_model("PPO", env, gamma=1.0)
    model.learn(100, callback=callback)
    assert env.env_method("get_wrapper_attr", "discount") == [1.0, 1.0]


def test_metrics_are_in_the_logger_of_the_model(tmp_path: Path) -> None:
    from stable_baselines3.common.logger import configure

    env = make_vec_env(make, n_envs=2)
    callback, _ = make_callback()
    model = make_model("PPO", env)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(300, callback=callback)
    header = (tmp_path / "progress.csv").read_text().splitlines()[0]
    assert "curriculum/value" in header
    assert "curriculum/length_mean" in header


def test_first_observations_are_those_that_the_policy_sees() -> None:
    class Doubling(gymnasium.ObservationWrapper):
        def observation(self, observation):
            return 2.0 * observation

    env = make_vec_env(lambda: Doubling(make()), n_envs=2)
    callback, journal = make_callback()
    make_model("PPO", env).learn(80, callback=callback)  # less than update_every
    labels = np.array(journal.recorded)[:, 1]
    observations = callback.curriculum.first_observations
    np.testing.assert_allclose(observations[:, 1], 2.0 * labels, 1e-6)


def test_observations_may_be_dictionaries() -> None:
    class Nested(Counting):
        observation_space = Dict({"a": Box(0, 10, (1,)), "b": Box(0, 1, (1,))})

        def _observed(self):
            first, second = super()._observed()
            return {"a": np.array([first]), "b": np.array([second])}

    env = make_vec_env(lambda: CurriculumEnv(Nested(), CONTEXTS, append_context=True), n_envs=2)
    callback, journal = make_callback()
    sb3.PPO("MultiInputPolicy", env, n_steps=20, batch_size=20, device="cpu").learn(
        200, callback=callback
    )
    journal.check(seen_by(env))
    assert callback.curriculum.num_updates > 0


def test_a_model_without_a_known_critic_uses_returns_and_says_so() -> None:
    env = make_vec_env(make, n_envs=2)
    callback = CurriculumCallback(Drawing(), CONTEXTS, update_every=50, values="returns")
    with pytest.warns(SelfpacedWarning, match="discounted returns"):
        make_model("PPO", env).learn(100, callback=callback)


def test_ars_which_hides_its_episodes_is_refused() -> None:
    env = make_vec_env(make, n_envs=1)
    model = sb3_contrib.ARS("LinearPolicy", env, n_delta=2, device="cpu")
    with pytest.raises(SelfpacedError, match="on-policy or off-policy, as PPO and SAC do, got ARS"):
        model.learn(100, callback=CurriculumCallback(Drawing(), CONTEXTS))


def test_other_contexts_than_those_of_the_environments_are_refused() -> None:
    env = make_vec_env(make, n_envs=1)
    wider = replace(CONTEXTS, upper=(CONTEXTS.upper[0] + 1.0, *CONTEXTS.upper[1:]))
    with pytest.raises(SelfpacedError, match="give both the same ContextSpace"):
        make_model("PPO", env).learn(100, callback=CurriculumCallback(Random(), wider))


class Endless(Counting):
    """Never ends."""

    def step(self, action: Any) -> Any:
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, False, info


def test_episodes_that_do_not_end_are_warned_of() -> None:
    env = make_vec_env(lambda: CurriculumEnv(Endless(), CONTEXTS), n_envs=1)
    callback = CurriculumCallback(Random(), CONTEXTS, update_every=10)
    with pytest.warns(SelfpacedWarning, match="0 episodes ended in 200 steps.*time limit"):
        make_model("PPO", env).learn(300, callback=callback)


def test_environments_without_the_wrapper_are_refused() -> None:
    env = make_vec_env(lambda: gymnasium.make("Pendulum-v1"), n_envs=1)
    with pytest.raises(SelfpacedError, match="must have CurriculumEnv among their wrappers"):
        make_model("PPO", env).learn(100, callback=CurriculumCallback(Random(), CONTEXTS))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"update_every": 0}, "update_every"), ({"values": "critics"}, "values")],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SelfpacedError, match=message):
        CurriculumCallback(Random(), CONTEXTS, **settings)
