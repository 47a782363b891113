"""A trained policy for use outside the library."""

from dataclasses import replace

import gymnasium
import jax
import numpy as np
import pytest

from selfpaced import PPO, SAC, RunFolder, SelfpacedError, load_policy, neurips2020, run
from selfpaced.runs.policies import final_learners


@pytest.fixture(scope="module", name="folder", params=[PPO(hidden=(8,)), SAC(hidden=(8,))])
def _folder(request, tmp_path_factory):
    experiment = replace(
        neurips2020("point-mass-3d", "random"),
        seeds=(3, 4),
        iterations=1,
        steps_per_iteration=256,
        evaluation_episodes=5,
    ).with_parts(learner=request.param)
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


def test_past_steps_are_not_exported(folder):
    assert (folder / "policies.safetensors").stat().st_size < 100_000
    state = RunFolder(folder).learner_states()
    assert getattr(state, "replay", None) is None


def test_a_wrong_seed_or_observation_is_refused(folder):
    with pytest.raises(SelfpacedError, match=r"seed must be one of 3, 4 in .*, got 7"):
        load_policy(folder, seed=7)
    shapes = r"observation must have shape \(7,\) or \(..., 7\), got \(4,\)"
    with pytest.raises(SelfpacedError, match=shapes):
        load_policy(folder)(np.zeros(4))


def test_learners_of_some_seeds_are_picked_in_the_given_order(folder):
    both, swapped = (final_learners(RunFolder(folder), seeds) for seeds in ((3, 4), (4, 3)))
    for array, other in zip(jax.tree.leaves(both), jax.tree.leaves(swapped), strict=True):
        np.testing.assert_array_equal(array, other[::-1])
