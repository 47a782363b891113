"""The iterations of SPRL: whole episodes, joint updates, the same interface as other training."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from selfpaced import (
    PROBLEMS,
    SPRL,
    ContextSpace,
    EpisodicPolicy,
    EpisodicUpdate,
    Gaussian,
    Problem,
    SelfpacedError,
)
from selfpaced.environments.base import Step
from selfpaced.runs.storage import name_leaves, read_arrays, restore_leaves, write_arrays
from selfpaced.sprl.dual import quadratic_features, regress
from selfpaced.sprl.policy import EpisodicState
from selfpaced.training.jax_episodes import run_episodes
from selfpaced.training.streams import Purpose, Streams
from tests.probes import HostProbe, Probe, probe_problem, train

NUM_STEPS = 3
UPDATE = EpisodicUpdate(alpha_offset=5, num_rollouts=10, num_remembered=4, kl_threshold=0.0)
POINT_MASS = PROBLEMS["point-mass-3d"]


class LeverState(NamedTuple):
    context: jax.Array
    time: jax.Array


@dataclass(frozen=True)
class Lever:
    """Reward exp(-(a - 2 c)²) in each of three steps: the best lever position depends on c."""

    max_episode_steps: int = NUM_STEPS
    broken_at: float | None = None  # the context in which rewards are not finite

    observation_size = 2
    action_low = (-5.0,)
    action_high = (5.0,)
    min_episode_steps = NUM_STEPS
    noise_size = 1

    def reset(self, key, context):
        state = LeverState(context, jnp.int32(0))
        return self.observe(state), state

    def step(self, noise, state, action):
        after = LeverState(state.context, state.time + 1)
        miss = action[0] - 2.0 * state.context[0]
        over = after.time >= self.max_episode_steps
        never = jnp.bool_(False)
        reward = jnp.exp(-(miss**2))
        if self.broken_at is not None:
            reward = jnp.where(state.context[0] == jnp.float32(self.broken_at), jnp.nan, reward)
        return Step(after, self.observe(after), reward, never, over, jnp.abs(miss) < 0.3)

    def observe(self, state):
        return jnp.concatenate([jnp.ones(1), state.context])


LEVER = Problem(
    "lever",
    "a lever",
    Lever(),
    ContextSpace(
        names=("place",),
        lower=(-2.0,),
        upper=(2.0,),
        initial=Gaussian.diagonal([0.0], [0.5]),
        target=Gaussian.diagonal([1.5], [0.05]),
    ),
    0.9,
)


def lever_training(seeds=(1, 2), steps=60, problem=LEVER, **changes):
    method = SPRL(replace(UPDATE, **changes), EpisodicPolicy(hidden=()))
    return method.training(problem, seeds, steps)


def assert_same(left, right):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module", name="point_mass")
def _point_mass():
    return point_mass_training()


def point_mass_training(**changes):
    update = replace(EpisodicUpdate(num_rollouts=5, num_remembered=3, alpha_offset=1), **changes)
    return SPRL(update, EpisodicPolicy(hidden=(4,))).training(POINT_MASS, (11, 12), 256)


def test_a_run_continued_from_a_file_is_bit_identical(point_mass, tmp_path):
    straight, rows = train(point_mass, 8)
    half, _ = train(point_mass, 4)
    write_arrays(tmp_path / "half.safetensors", name_leaves("state", half), {})
    arrays, _ = read_arrays(tmp_path / "half.safetensors")
    half = restore_leaves("state", point_mass.init(), arrays)
    resumed, late_rows = train(point_mass, 4, half, start=4)
    assert_same(straight, resumed)
    np.testing.assert_equal(late_rows, rows[4:])


def test_updating_keeps_structure_shapes_and_types(point_mass):
    before, after = point_mass.init(), train(point_mass, 6)[0]
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        assert np.isfinite(b).all()


def test_a_seed_does_not_depend_on_the_seeds_beside_it():
    together, _ = train(lever_training((1, 2)), 5)
    alone, _ = train(lever_training((2,)), 5)
    for a, b in zip(jax.tree.leaves(together.learner), jax.tree.leaves(alone.learner), strict=True):
        np.testing.assert_allclose(a[1], b[0], rtol=1e-6, atol=1e-9)


def test_nothing_is_compiled_again_in_the_loop(point_mass, compilations):
    state, _ = train(point_mass, 2)
    point_mass.target_episodes(state.learner, 2, 10)
    before = compilations.num
    state, _ = train(point_mass, 4, state, start=2)
    point_mass.target_episodes(state.learner, 6, 10)
    assert compilations.num == before


def test_every_seed_takes_the_steps_of_an_iteration_and_at_most_one_batch_more(point_mass):
    state = point_mass.init()
    longest = point_mass.update.num_rollouts * POINT_MASS.environment.max_episode_steps
    for number in range(8):
        state, _ = point_mass.iterate(state, number)
        for memory in state.teachers:
            excess = memory.num_steps - (number + 1) * point_mass.steps_per_iteration
            assert 0 <= excess < longest


def test_the_memory_is_filled_before_the_first_update():
    training = lever_training(steps=10 * NUM_STEPS)  # one batch in each iteration
    _, rows = train(training, 5)
    assert [row[0]["teacher/updates"] for row in rows] == [0, 0, 0, 1, 2]
    assert "teacher/alpha" not in rows[2][0]


def test_an_iteration_may_pass_without_an_episode():
    training = lever_training(steps=NUM_STEPS)  # a batch has the steps of ten iterations
    _, rows = train(training, 11)
    assert [row[0]["train/episodes"] for row in rows] == [10, *[0] * 9, 10]
    assert np.isnan(rows[1][0]["train/return"])
    assert np.isfinite(rows[1][0]["teacher/kl_to_target"])


def latest(memory, earlier, num_rollouts):
    """Return the remembered contexts and returns of the episodes since an earlier state."""
    num = int(memory.num_batches - earlier.num_batches) * num_rollouts
    return memory.contexts[len(memory.contexts) - num :], memory.returns[
        len(memory.returns) - num :
    ]


def test_the_first_contexts_seen_are_those_issued_and_all_are_in_the_box():
    training = point_mass_training(num_remembered=40)  # more than the episodes of an iteration
    state = training.init()
    for number in range(3):
        issued = training.sample_contexts(state, number)
        assert issued.shape == (2, 64, 3)
        earlier = state.teachers
        state, rows = training.iterate(state, number)
        for index, memory in enumerate(state.teachers):
            contexts, returns = latest(memory, earlier[index], 5)
            assert rows[index]["train/episodes"] == len(contexts)
            first = issued[index, : min(5, len(contexts))]  # there may be no episode
            np.testing.assert_array_equal(contexts[:5], first)
            assert POINT_MASS.contexts.contains(contexts).all()
            if len(returns):
                assert rows[index]["train/return"] == pytest.approx(returns.mean())


@pytest.mark.parametrize(("discount", "known"), [(None, 1.0 + 0.9 + 0.81), (1.0, 3.0)])
def test_returns_belong_to_the_remembered_weights(discount, known):
    training = lever_training(steps=10 * NUM_STEPS, discount=discount)
    state, rows = train(training, 1)
    memory = state.teachers[0]
    weight, bias = memory.parameters[-10:].T
    action = np.clip(weight + bias, -5.0, 5.0)  # the network's only input is one
    reward = np.exp(-((action - 2.0 * memory.contexts[-10:, 0]) ** 2))
    expected = reward * known
    np.testing.assert_allclose(memory.returns[-10:], expected, rtol=1e-4, atol=1e-6)
    assert rows[0][0]["train/return"] == memory.returns[-10:].mean()


def test_deterministic_evaluation_measures_the_policy_of_the_mean_weights():
    training = lever_training()
    state, _ = train(training, 10)
    ours = training.target_episodes(state.learner, 10, 20)
    contexts = np.full((2, 20, 1), 1.5)
    streams = Streams((1, 2), 10, Purpose.REPORT)
    theirs = run_episodes(LEVER, streams, contexts, training.policy, state.learner)
    assert ours.discounted_return.shape == (2, 2, 20)
    np.testing.assert_allclose(
        ours.discounted_return[:, 1].mean(-1), theirs.discounted_return[:, 1].mean(-1), rtol=0.05
    )
    # weights are drawn once per episode: the policy on its own has no randomness left
    np.testing.assert_array_equal(theirs.discounted_return[:, 0], theirs.discounted_return[:, 1])
    assert ours.discounted_return[0, 0].std() > ours.discounted_return[0, 1].std()


def test_one_noise_scale_alone_gives_the_same_episodes():
    training = lever_training()
    learners = training.init_learners()
    both = training.target_episodes(learners, 0, 5, keep_path=True)
    alone = training.target_episodes(learners, 0, 5, noise_scales=(1.0,), keep_path=True)
    assert alone.path.shape == (2, 1, 5, NUM_STEPS + 1, 2)
    np.testing.assert_array_equal(alone.path, both.path[:, :1])
    np.testing.assert_array_equal(alone.discounted_return, both.discounted_return[:, :1])


def test_a_lever_is_learned_in_the_target_contexts():
    training = lever_training(steps=10 * NUM_STEPS)
    state, rows = train(training, 80)
    best = 1.0 + 0.9 + 0.81
    outcome = training.target_episodes(state.learner, 80, 50)
    assert (outcome.discounted_return[:, 1].mean(-1) > 0.97 * best).all()
    for gaussian in training.gaussians(state):
        assert gaussian.kl(LEVER.contexts.target) < 0.5
    assert rows[0][0]["teacher/kl_to_target"] > 100


def test_the_value_is_a_regression_of_the_remembered_returns():
    training = lever_training()
    earlier, _ = train(training, 5)
    state, rows = training.iterate(earlier, 5)
    memory = state.teachers[0]
    contexts, _ = latest(memory, earlier.teachers[0], 10)
    assert len(contexts) == rows[0]["train/episodes"] > 0
    coefficients = regress(quadratic_features(memory.contexts), memory.returns)
    expected = quadratic_features(contexts) @ coefficients
    assert rows[0]["train/value"] == pytest.approx(expected.mean(), rel=1e-4)


def test_the_network_of_the_point_mass_has_as_many_weights_as_layers_need():
    spec = POINT_MASS.spec
    assert EpisodicPolicy(hidden=(21,), biases=False).num_parameters(spec, 3) == 126
    assert EpisodicPolicy(hidden=(21,), biases=True).num_parameters(spec, 3) == 149


def test_the_network_computes_the_known_function_of_its_weights():
    weights, bias = np.array([[1.0, -2.0], [0.5, 0.0]]), np.array([0.1, 0.2])
    out, out_bias = np.array([[2.0], [3.0]]), np.array([-1.0])
    parameters = np.concatenate([weights.ravel(), bias, out.ravel(), out_bias])
    state = EpisodicState(np.stack([parameters, 0 * parameters]), None, None)
    observation = np.array([0.3, -0.4, 9.0])  # the last one is the context
    expected = np.tanh(observation[:2] @ weights + bias) @ out + out_bias
    action = EpisodicPolicy(hidden=(2,), biases=True).policy(jnp.zeros(1), state, observation)
    np.testing.assert_allclose(action, expected, rtol=1e-5)


def test_problems_that_hide_the_context_are_refused():
    problem = probe_problem(Probe(length=2))  # its context comes first
    with pytest.raises(SelfpacedError, match="observations of probe must end with the context"):
        lever_training(problem=problem)


def test_problems_outside_jax_are_refused():
    with pytest.raises(SelfpacedError, match="requires a problem that runs in JAX; probe does not"):
        SPRL().require_fits(probe_problem(HostProbe()), 8, 1, "random")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_environments": 2}, "num_environments must be 1 with SPRL, got 2; the 10 episodes"),
        ({"initial_policy": "hold"}, "initial_policy must be \"random\" with SPRL, got 'hold'"),
    ],
)
def test_a_budget_that_sprl_does_not_have_is_refused(settings, message):
    with pytest.raises(SelfpacedError, match=message):
        SPRL(UPDATE).training(LEVER, (1,), 60, **settings)


def test_a_reward_that_is_not_finite_is_found_with_its_seed_and_iteration():
    training = lever_training()
    contexts = training.sample_contexts(training.init(), 0)
    broken = replace(LEVER.environment, broken_at=float(contexts[1, 3, 0]))
    training = lever_training(problem=replace(LEVER, environment=broken))
    with pytest.raises(
        SelfpacedError, match=r"seed 2, iteration 1: .* of episode 3 must be finite"
    ):
        train(training, 1)


def test_layers_without_units_are_refused():
    with pytest.raises(SelfpacedError, match="hidden must be a tuple of positive layer sizes"):
        EpisodicPolicy(hidden=(0,))


def test_closing_does_no_harm():
    with lever_training() as training:
        train(training, 1)
    training.close()
