"""Whole episodes in JAX, compiled for a block of seeds; nothing is learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from selfpaced.environments.base import DrawsStates, MayLackSuccess
from selfpaced.errors import require
from selfpaced.learners.base import Policy
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.training.jax_rollout import legal_action
from selfpaced.training.simulator import EpisodeBatch, Frame, Show
from selfpaced.training.streams import Streams

P = TypeVar("P")


def run_episodes(
    problem: Problem,
    streams: Streams,
    contexts: Array,
    policy: Policy[P],
    state: P,
    *,
    noise_scales: tuple[float, ...] = (1.0, 0.0),
    per_episode: bool = False,
    keep_path: bool = False,
    show: Show | None = None,
) -> EpisodeBatch:
    """Run one episode per context [S, M, C] and noise scale; see `Simulator.episodes`.

    With `per_episode`, every episode has a policy state of its own, with leading axes [S, V, M].
    """
    keeps = _Keeps(path=keep_path, states=show is not None)
    if show is not None:
        drawing_of(problem)  # or raise before the episode runs
    outcome, first, path, states = jax.device_get(
        _run_block(
            problem,
            policy,
            per_episode,
            keeps,
            streams.keys,
            jnp.asarray(contexts, jnp.float32),
            state,
            jnp.asarray(noise_scales),
        )
    )
    batch = EpisodeBatch(
        first_observation=first[:, 0],
        discounted_return=outcome.discounted_return,
        success=outcome.success,
        terminated=outcome.terminated,
        length=outcome.length,
        unstable=None,
        path=path,
        reports_success=_reports_success(problem),
    )
    if show is not None:
        _show_first(problem, show, batch, states)
    return batch


def _reports_success(problem: Problem) -> bool:
    environment = problem.environment
    return not isinstance(environment, MayLackSuccess) or environment.reports_success


def drawing_of(problem: Problem) -> DrawsStates[object]:
    """Return the environment of a problem whose episodes can be drawn."""
    environment = problem.environment
    require(
        isinstance(environment, DrawsStates),
        f"rendering is not implemented for {problem.name!r}; give its environment "
        "picture_size, steps_per_second and draw(states, terminated)",
    )
    assert isinstance(environment, DrawsStates)
    return environment


class _Keeps(NamedTuple):
    """What an episode leaves besides its outcome."""

    path: bool
    states: bool


class _Outcome(NamedTuple):
    discounted_return: jax.Array
    success: jax.Array
    terminated: jax.Array
    length: jax.Array


# outcome, first observation, and observations and states of all steps if they are kept
_Episode = tuple[_Outcome, jax.Array, jax.Array | None, object]


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _run_block(
    problem: Problem,
    policy: Policy[P],
    per_episode: bool,
    keeps: _Keeps,
    keys: jax.Array,
    contexts: jax.Array,
    state: P,
    noise_scales: jax.Array,
) -> _Episode:
    """Whole episodes of all seeds, side by side; all noise scales meet the same disturbances."""
    run = partial(_run_episode, problem, policy, keeps)

    def one_seed(key: jax.Array, contexts: jax.Array, state: P) -> _Episode:
        key_noise, key_reset = jax.random.split(key)
        size = problem.spec.noise_size + problem.jax_environment.noise_size
        shape = (problem.environment.max_episode_steps, len(contexts), size)
        noise = jax.random.normal(key_noise, shape)
        keys = jax.random.split(key_reset, len(contexts))
        own = 0 if per_episode else None
        episodes = jax.vmap(run, (own, None, 0, 0, 1))
        variants = jax.vmap(episodes, (own, 0, None, None, None))
        return variants(state, noise_scales, keys, contexts, noise)

    return jax.vmap(one_seed)(keys, contexts, state)


def _run_episode(
    problem: Problem,
    policy: Policy[P],
    keeps: _Keeps,
    policy_state: P,
    noise_scale: jax.Array,
    key: jax.Array,
    context: jax.Array,
    noise: jax.Array,
) -> _Episode:
    """One episode: outcome, first observation, and its observations and states if kept."""
    environment, spec = problem.jax_environment, problem.spec

    def step(carry: Any, inputs: tuple[jax.Array, jax.Array]) -> tuple[Any, Any]:
        state, observation, alive, outcome = carry
        weight, noise = inputs
        action = policy.policy(noise_scale * noise[: spec.noise_size], policy_state, observation)
        legal = legal_action(spec, action)
        after = environment.step(noise[spec.noise_size :], state, legal)
        outcome = _Outcome(
            outcome.discounted_return + jnp.where(alive, weight * after.reward, 0.0),
            jnp.where(alive, after.success, outcome.success),  # the last step decides
            jnp.where(alive, after.terminated, outcome.terminated),
            outcome.length + alive,
        )
        continues = alive & ~after.terminated & ~after.truncated
        kept = (after.observation if keeps.path else None, after.state if keeps.states else None)
        return (after.state, after.observation, continues, outcome), kept

    first, state = environment.reset(key, context)
    weights = spec.discount ** jnp.arange(len(noise))
    nothing = _Outcome(jnp.float32(0.0), jnp.bool_(False), jnp.bool_(False), jnp.int32(0))
    start = (state, first, jnp.bool_(True), nothing)
    (*_, outcome), (path, states) = jax.lax.scan(step, start, (weights, noise))
    return (
        outcome,
        first,
        jnp.concatenate([first[None], path]) if keeps.path else None,
        jax.tree.map(lambda one, more: jnp.concatenate([one[None], more]), state, states)
        if keeps.states
        else None,
    )


def _show_first(problem: Problem, show: Show, batch: EpisodeBatch, states: object) -> None:
    """Show the first episode step by step."""
    first, drawing = (0, 0, 0), drawing_of(problem)
    length, success = int(batch.length[first]), bool(batch.success[first])

    def state_at(step: int) -> object:
        state: object = jax.tree.map(lambda array: array[first][step], states)
        return state

    def picture(path: Sequence[object], terminated: bool, width: int, height: int) -> Array:
        return drawing.draw(path, terminated)  # has a size of its own

    path = [state_at(step) for step in range(length + 1)]
    for step in range(length + 1):
        is_last = step == length
        terminated = is_last and bool(batch.terminated[first])
        draw = partial(picture, path[: step + 1], terminated)
        show(Frame(step, is_last, is_last and success, draw))
