"""Steps in JAX: every episode takes its own context, in order."""

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced import PPO
from selfpaced.training.jax_rollout import Collector, collect, idle_actors
from tests.probes import DISCOUNT, Probe, probe_problem

LEARNER = PPO(hidden=(4,))
CONTEXTS = jnp.linspace(-1.0, 1.0, 40)[:, None]


def collected(problem, num_steps, actors=None, num_environments=1, contexts=CONTEXTS):
    state = LEARNER.init(jax.random.key(0), problem.spec)
    actors = idle_actors(problem, num_environments) if actors is None else actors
    return run(problem, state, actors, contexts, num_steps)


def run(problem, state, actors, contexts, num_steps):
    keys = jax.random.split(jax.random.key(1), num_steps)
    noise = jax.random.normal(jax.random.key(2), (num_steps, len(actors.ended), 2))
    start = Collector(actors, jnp.int32(0))
    collector, rollout, ends = collect(keys, noise, problem, LEARNER, state, start, contexts)
    return collector.actors, rollout, ends


def test_episodes_take_the_contexts_in_order_none_repeated_none_dropped():
    _, _, ends = collected(probe_problem(Probe(length=3)), 30)
    seen = np.asarray(ends.context)[np.asarray(ends.ended)]
    np.testing.assert_array_equal(seen, CONTEXTS[:10])


def test_several_actors_share_the_contexts_without_repeating_or_dropping_any():
    _, _, ends = collected(probe_problem(Probe(length=2)), 10, num_environments=3)
    seen = np.asarray(ends.context)[np.asarray(ends.ended)]
    np.testing.assert_array_equal(seen, CONTEXTS[:15])


def test_even_if_every_episode_lasts_one_step_the_contexts_do_not_run_out():
    _, _, ends = collected(probe_problem(Probe(length=1)), 20, num_environments=2)
    seen = np.asarray(ends.context)[np.asarray(ends.ended)]
    np.testing.assert_array_equal(seen, CONTEXTS)


def test_an_episode_that_crosses_an_iteration_keeps_its_context():
    problem = probe_problem(Probe(length=4))
    actors, _, first = collected(problem, 6)  # ends inside the second episode
    _, _, second = collected(problem, 6, actors, contexts=CONTEXTS[::-1])
    assert np.asarray(first.context)[np.asarray(first.ended)].tolist() == CONTEXTS[:1].tolist()
    seen = np.asarray(second.context)[np.asarray(second.ended)]
    np.testing.assert_array_equal(seen, jnp.stack([CONTEXTS[1], CONTEXTS[-1]]))
    assert np.asarray(second.length)[np.asarray(second.ended)].tolist() == [4, 4]


def test_episodes_have_the_known_discounted_return_and_length():
    _, _, ends = collected(probe_problem(Probe(length=3, reward="cue")), 12)
    ended = np.asarray(ends.ended)
    weight = 1 + DISCOUNT + DISCOUNT**2
    np.testing.assert_allclose(
        np.asarray(ends.discounted_return)[ended], weight * CONTEXTS[:4, 0], rtol=1e-5
    )
    assert (np.asarray(ends.length)[ended] == 3).all()
    np.testing.assert_array_equal(np.asarray(ends.success)[ended], CONTEXTS[:4, 0] > 0)


def test_observations_follow_each_other_and_the_one_before_a_reset_is_kept():
    _, rollout, ends = collected(probe_problem(Probe(length=3)), 9)
    ended = np.asarray(ends.ended)[:, 0]
    now, then = np.asarray(rollout.observation)[:, 0], np.asarray(rollout.next_observation)[:, 0]
    np.testing.assert_array_equal(then[:-1][~ended[:-1]], now[1:][~ended[:-1]])
    np.testing.assert_allclose(then[ended][:, 1], 0.3, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(ends.first_observation)[:, 0, 1], 0.0)


def test_the_rollout_has_the_chosen_action_and_the_environment_gets_a_legal_one():
    problem = probe_problem(Probe(length=1, reward="action"))
    state = LEARNER.init(jax.random.key(0), problem.spec)
    state.parameters["log_std"] = jnp.array([3.0])
    _, rollout, _ = run(problem, state, idle_actors(problem, 1), jnp.zeros((200, 1)), 200)
    assert np.abs(rollout.action).max() > 10
    assert np.asarray(rollout.reward).min() >= -4.0 - 1e-5  # the box is [-2, 2]
