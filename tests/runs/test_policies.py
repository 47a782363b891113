"""A trained policy outside the library."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

from selfpaced import PPO, SAC, RunFolder, SelfpacedError, load_policy, neurips2020, run


@pytest.fixture(scope="module", name="folder", params=[PPO(hidden=(8,)), SAC(hidden=(8,))])
def _folder(request, tmp_path_factory):
    experiment = replace(
        neurips2020("point-mass-3d", "random"),
        learner=request.param,
        seeds=(3, 4),
        iterations=1,
        steps_per_iteration=256,
        evaluation_episodes=5,
    )
    return run(experiment, tmp_path_factory.mktemp("runs") / "run", workers=1).path


def test_it_acts_in_the_gymnasium_environment(folder):
    environment = gymnasium.make("selfpaced/PointMass3D-v0")
    policy = load_policy(folder, seed=4)
    observation, _ = environment.reset(seed=0)
    for _ in range(5):
        action = policy(observation)
        assert environment.action_space.contains(action)
        observation, *_ = environment.step(action)


def test_seeds_differ_and_only_the_stochastic_policy_varies(folder):
    seen = np.array([0.0, 0.0, 3.0, 0.0, 2.5, 0.5, 0.0])
    first, second = load_policy(folder), load_policy(folder, seed=4)
    np.testing.assert_array_equal(first(seen), first(seen))
    assert not np.array_equal(first(seen), second(seen))
    noisy = load_policy(folder, deterministic=False)
    assert not np.array_equal(noisy(seen), noisy(seen))


def test_past_steps_are_not_kept(folder):
    assert (folder / "policies.safetensors").stat().st_size < 100_000
    state = RunFolder(folder).learner_states()
    assert not hasattr(state, "replay") or not state.replay.rows.any()


def test_mistakes_are_named(folder):
    with pytest.raises(SelfpacedError, match="has the seeds 3, 4, got 7"):
        load_policy(folder, seed=7)
    with pytest.raises(SelfpacedError, match="an observation wants 7 numbers"):
        load_policy(folder)(np.zeros(4))
