"""Contexts issued are contexts seen, and every episode is reported once, in all vectors."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from selfpaced import (
    ContextSpace,
    Curriculum,
    CurriculumEnv,
    CurriculumVectorEnv,
    Gaussian,
    Random,
    SelfpacedError,
    SelfpacedWarning,
)
from selfpaced.integrations.curriculum_env import MAX_CUT_SHORT
from selfpaced.records import Array
from tests.integrations.counting import CONTEXTS, Counting, make
from tests.integrations.issuing import Journal

BATCH = [[2.0, 0.25], [4.0, 0.75], [3.0, 0.5]]


def run_episode(env: gymnasium.Env) -> dict:
    env.reset()
    while True:
        *_, terminated, truncated, info = env.step(np.zeros(1))
        if terminated or truncated:
            return info


def test_episodes_take_place_in_the_contexts_that_were_set_in_order() -> None:
    env = make()
    env.next_contexts = BATCH
    for _ in BATCH:
        run_episode(env)
    assert env.unwrapped.seen == BATCH
    assert env.next_contexts.shape == (0, 2)


def test_the_last_step_reports_the_episode_with_its_discounted_return() -> None:
    env = make()
    env.next_contexts = BATCH
    infos = [run_episode(env) for _ in BATCH]
    assert [info["curriculum"]["context"].tolist() for info in infos] == BATCH
    assert [info["curriculum"]["length"] for info in infos] == [2, 4, 3]
    assert [info["curriculum"]["discounted_return"] for info in infos] == [1.5, 1.875, 1.75]
    assert [info["is_success"] for info in infos] == [False, True, False]
    assert [info["success"] for info in infos] == [False, True, False]
    assert infos[1]["curriculum"]["first_observation"].tolist() == [0.0, 0.75]


def test_without_contexts_they_are_drawn_from_the_target_and_not_reported() -> None:
    env = CurriculumEnv(Counting(), CONTEXTS)
    infos = [run_episode(env) for _ in range(20)]
    assert not any("curriculum" in info for info in infos)
    assert np.mean([context[0] for context in env.unwrapped.seen]) > 4.5


def test_a_seed_determines_the_contexts_drawn_from_the_target() -> None:
    contexts = []
    for _ in range(2):
        env = CurriculumEnv(Counting(), CONTEXTS)
        contexts.append(env.reset(seed=3)[1]["context"].tolist())
    assert contexts[0] == contexts[1]


def test_a_context_in_the_options_of_reset_is_used_once_and_not_reported() -> None:
    env = make()
    env.next_contexts = BATCH
    _, info = env.reset(options={"context": [6.0, 1.0]})
    assert info["context"].tolist() == [6.0, 1.0]
    assert len(env.next_contexts) == len(BATCH)


def test_contexts_that_run_out_are_drawn_again_with_a_warning() -> None:
    env = make()
    env.next_contexts = BATCH[:1]
    run_episode(env)
    with pytest.warns(SelfpacedWarning, match="ran out"):
        info = run_episode(env)
    assert info["curriculum"]["context"].tolist() == BATCH[0]


def test_setting_next_contexts_replaces_unused_ones_and_further_contexts_keeps_them() -> None:
    env = make()
    env.next_contexts = BATCH[:2]
    env.further_contexts = BATCH[2:]
    assert env.next_contexts.tolist() == BATCH
    env.next_contexts = BATCH[2:]
    assert env.next_contexts.tolist() == BATCH[2:]


def test_a_time_limit_outside_is_noticed() -> None:
    env = TimeLimit(make(), 1)
    env.unwrapped.spec = None
    env.set_wrapper_attr("next_contexts", [[6.0, 0.5]] * 20)
    for _ in range(MAX_CUT_SHORT):
        run_episode(env)
    with pytest.warns(SelfpacedWarning, match="around the time limit"):
        run_episode(env)


def test_contexts_are_set_as_attributes_or_by_a_function() -> None:
    class Plain(Counting):
        goal = 0.0
        label = 0.0

        def reset(self, *, seed=None, options=None):
            options = {"context": np.array([max(self.goal, 2.0), self.label])}
            return super().reset(seed=seed, options=options)

    def place(env: gymnasium.Env, context: Array) -> None:
        env.unwrapped.goal, env.unwrapped.label = context

    for hand_over in (("goal", "label"), place):
        env = CurriculumEnv(Plain(), CONTEXTS, hand_over=hand_over)
        env.next_contexts = BATCH
        run_episode(env)
        assert env.unwrapped.seen == BATCH[:1]


def test_the_context_is_appended_to_flat_observations_and_scaled_if_asked() -> None:
    env = CurriculumEnv(Counting(), CONTEXTS, append_context=True, scale_context=True)
    env.next_contexts = [[6.0, 0.5]]
    observation, _ = env.reset()
    assert observation.tolist() == [0.0, 0.5, 1.0, 0.0]
    assert env.observation_space.shape == (4,)
    assert env.observation_space.contains(observation)


def test_the_context_is_an_entry_of_dictionaries_and_part_of_the_flat_record() -> None:
    class Nested(Counting):
        observation_space = Dict({"time": Box(0.0, 10.0, (2,), np.float32)})

        def _observed(self):
            return {"time": super()._observed()}

    env = CurriculumEnv(Nested(), CONTEXTS, append_context=True)
    env.next_contexts = BATCH
    observation, _ = env.reset()
    assert observation["context"].tolist() == BATCH[0]
    info = run_episode(env)
    assert info["curriculum"]["first_observation"].tolist() == [4.0, 0.75, 0.0, 0.75]


def test_success_is_a_function_of_the_last_observation_if_given() -> None:
    env = CurriculumEnv(
        Counting(), CONTEXTS, success=lambda observation, info: observation[0] == 4.0
    )
    env.next_contexts = BATCH
    assert [run_episode(env)["is_success"] for _ in BATCH] == [False, True, False]


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([[1.0, 0.5]], "'length' must lie in"),
        ([[3.0]], "2 numbers"),
        ([[3.0, np.nan]], "'label' must lie in"),
    ],
)
def test_contexts_that_do_not_fit_are_refused_and_nothing_changes(contexts, message) -> None:
    env = make()
    env.next_contexts = BATCH
    with pytest.raises(SelfpacedError, match=message):
        env.next_contexts = contexts
    assert env.next_contexts.tolist() == BATCH


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_in_a_vector_contexts_seen_are_contexts_issued_and_episodes_are_reported_once(
    kind, mode
) -> None:
    curriculum = Curriculum(Random(), CONTEXTS, seed=1)
    journal = Journal(curriculum)
    options = {"context": "spawn"} if kind is AsyncVectorEnv else {}
    vector = kind([make] * 3, autoreset_mode=mode, **options)
    envs = CurriculumVectorEnv(vector, curriculum)
    envs.reset(seed=1)
    for step in range(1, 400):
        *_, terminated, truncated, _ = envs.step(np.zeros((3, 1), np.float32))
        ended = terminated | truncated
        if mode is AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
        if step % 100 == 0:
            curriculum.update()
    seen = [list(row) for row in envs.env.unwrapped.get_attr("seen")]
    envs.close()
    assert all(len(row) > 60 for row in seen)  # longer than the first batch
    journal.check(seen)


def test_a_vector_of_other_environments_is_refused() -> None:
    curriculum = Curriculum(Random(), CONTEXTS)
    with pytest.raises(SelfpacedError, match="of CurriculumEnv"):
        CurriculumVectorEnv(SyncVectorEnv([Counting] * 2), curriculum)


def test_wrappers_around_it_do_not_hide_it() -> None:
    curriculum = Curriculum(Random(), CONTEXTS)
    vector = SyncVectorEnv([lambda: RecordEpisodeStatistics(make())] * 2)
    envs = CurriculumVectorEnv(vector, curriculum)
    envs.reset()
    for _ in range(10):
        envs.step(np.zeros((2, 1), np.float32))
    assert curriculum.num_recorded > 0


def test_an_environment_that_does_not_read_its_context_is_warned_of_once() -> None:
    mass = ContextSpace(("mass",), (0.5,), (4.0,), *[Gaussian.diagonal((3.0,), (0.1,))] * 2)
    env = CurriculumEnv(gymnasium.make("Pendulum-v1"), mass)
    with pytest.warns(SelfpacedWarning, match=r"PendulumEnv did not read options\['context'\]"):
        env.reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.reset(seed=1)
        make().reset(seed=1)  # reads it


@pytest.mark.parametrize("given", ["Pendulum-v1", None, SyncVectorEnv([make])], ids=repr)
def test_what_is_no_single_environment_is_refused(given: Any) -> None:
    kind = type(given).__name__
    message = f"env must be a gymnasium.Env, .* got {kind}; make a vector"
    with pytest.raises(SelfpacedError, match=message):
        CurriculumEnv(given, CONTEXTS)


def test_scaling_is_a_setting_of_its_own() -> None:
    with pytest.raises(SelfpacedError, match="scale_context=True scales"):
        CurriculumEnv(Counting(), CONTEXTS, append_context="scaled")  # type: ignore[arg-type]
