import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from selfpaced import PPO, SAC, TRPO, SelfpacedError
from selfpaced.learners.action_distributions import Categorical, DiagonalGaussian, Outputs
from selfpaced.records import Spec
from tests.probes import DiscreteProbe, actions, probe_problem, trained, values

PROBABILITIES = np.array([0.2, 0.5, 0.3])
THREE = Categorical(low=(-1.0,), num_choices=(3,))
TWO_AND_THREE = Categorical(low=(0.0, 5.0), num_choices=(2, 3))
SPEC = Spec(4, (0.0, 5.0), (1.0, 7.0), 0.9, has_discrete_actions=True)
QUICK = PPO(hidden=(32,), learning_rate=3e-3, num_epochs=8, value_coefficient=1.0)
QUICK_TRPO = TRPO(hidden=(32,), max_kl=0.05, value_learning_rate=0.01, value_minibatch=64)


def logits(*probabilities):
    return Outputs(jnp.log(jnp.array(probabilities)) + 7.0, None)  # a constant has no effect


def test_the_kl_of_two_gaussians_has_its_known_value():
    old = Outputs(jnp.zeros((3, 1)), jnp.zeros(1))
    new = Outputs(jnp.ones((3, 1)), jnp.log(jnp.array([2.0])))
    # KL(N(0, 1) ‖ N(1, 2²)) = log 2 + (1 + 1) / 8 - 1/2
    assert float(DiagonalGaussian(1).kl(old, new)) == pytest.approx(np.log(2.0) + 0.25 - 0.5)


def test_the_entropy_of_a_gaussian_agrees_with_scipy():
    outputs = Outputs(jnp.zeros((3, 2)), jnp.log(jnp.array([2.0, 0.5])))
    expected = stats.norm(0, 2.0).entropy() + stats.norm(0, 0.5).entropy()
    assert float(DiagonalGaussian(2).entropy(outputs)) == pytest.approx(expected, rel=1e-5)


def test_log_probabilities_of_whole_numbers_are_those_of_their_choices():
    action = jnp.array([[-1.0], [0.0], [1.0]])
    outputs = Outputs(jnp.tile(logits(*PROBABILITIES).network, (3, 1)), None)
    found = THREE.log_probability(outputs, action)
    np.testing.assert_allclose(found, np.log(PROBABILITIES), rtol=1e-5)


def test_log_probabilities_of_components_add_up():
    found = TWO_AND_THREE.log_probability(logits(0.9, 0.1, *PROBABILITIES), jnp.array([1.0, 6.0]))
    assert float(found) == pytest.approx(np.log(0.1 * 0.5), rel=1e-5)


def test_the_entropy_of_choices_agrees_with_scipy():
    outputs = logits(0.9, 0.1, *PROBABILITIES)
    expected = stats.entropy([0.9, 0.1]) + stats.entropy(PROBABILITIES)
    assert float(TWO_AND_THREE.entropy(outputs)) == pytest.approx(expected, rel=1e-5)


def test_the_kl_of_choices_agrees_with_scipy():
    others = np.array([0.6, 0.3, 0.1])
    expected = stats.entropy([0.9, 0.1], [0.5, 0.5]) + stats.entropy(PROBABILITIES, others)
    old, new = logits(0.9, 0.1, *PROBABILITIES), logits(0.5, 0.5, *others)
    assert float(TWO_AND_THREE.kl(old, new)) == pytest.approx(expected, rel=1e-4)


def test_samples_have_their_probabilities_in_jax_and_in_numpy():
    noise = np.random.default_rng(0).standard_normal((20_000, 5)).astype(np.float32)
    one = np.asarray(logits(0.9, 0.1, *PROBABILITIES).network)
    rows = np.tile(one, (len(noise), 1))
    in_numpy = TWO_AND_THREE.sample(noise, Outputs(rows, None))
    in_jax = TWO_AND_THREE.sample(jnp.asarray(noise), Outputs(jnp.asarray(rows), None))
    assert isinstance(in_numpy, np.ndarray)
    assert (in_numpy == np.asarray(in_jax)).mean() > 0.999  # but for ties after rounding
    for component, expected in enumerate(([0.9, 0.1], PROBABILITIES)):
        low = TWO_AND_THREE.low[component]
        counts = np.bincount((in_numpy[:, component] - low).astype(int))
        assert stats.chisquare(counts, len(noise) * np.array(expected)).pvalue > 1e-3


def test_zero_noise_gives_the_most_likely_choice():
    action = TWO_AND_THREE.sample(jnp.zeros(5), logits(0.9, 0.1, *PROBABILITIES))
    np.testing.assert_array_equal(action, [0.0, 6.0])


@pytest.mark.parametrize("size", [-12.0, 12.0])
def test_extreme_noise_gives_a_legal_choice(size):
    noise = jnp.array([size, 0.0, 0.0])
    chosen = THREE.sample(noise, logits(*PROBABILITIES))
    assert float(chosen[0]) == (-1.0 if size > 0 else 0.0)


@pytest.mark.parametrize("learner", [PPO(hidden=(8,)), TRPO(hidden=(8,))])
def test_the_policy_has_an_output_per_choice_and_no_standard_deviation(learner):
    state = learner.init(jax.random.key(0), SPEC)
    assert set(state.parameters) == {"policy", "value"}
    assert state.parameters["policy"][-1][0].shape == (8, 2 + 3)
    action = learner.act(jnp.zeros(SPEC.noise_size), state, jnp.ones(4))
    assert action.shape == (2,)


@pytest.mark.parametrize(("learner", "iterations"), [(QUICK, 60), (QUICK_TRPO, 60)])
def test_the_nearest_choice_is_found_for_every_cue(learner, iterations):
    states = trained(DiscreteProbe(length=1, reward="action"), learner, iterations)
    found = actions(learner, states, [-0.9, 0.0, 0.9], noise_size=3)
    np.testing.assert_array_equal(found, [[-1.0, 0.0, 1.0]] * 2)
    # the best return at 0.9 is -(1 - 0.9)²
    np.testing.assert_allclose(values(learner, states, [0.9]), -0.01, atol=0.1)


@pytest.mark.slow
def test_several_components_are_found_at_once():
    probe = DiscreteProbe(length=1, reward="action", num_components=2)
    states = trained(probe, QUICK, 80)
    found = actions(QUICK, states, [-0.9, 0.9], noise_size=6)
    np.testing.assert_array_equal(found, [[[-1.0, -1.0], [1.0, 1.0]]] * 2)


def test_sac_names_the_learners_for_discrete_actions():
    with pytest.raises(SelfpacedError, match=r"must be continuous for SAC, got .* use PPO or TRPO"):
        SAC(hidden=(8,)).init(jax.random.key(0), probe_problem(DiscreteProbe()).spec)
