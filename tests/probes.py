"""Tiny problems whose values are known, and a helper to train on them."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.environments.base import Step
from selfpaced.problems import Problem
from selfpaced.teachers import Random
from selfpaced.training.iteration import Training

DISCOUNT = 0.9


class ProbeState(NamedTuple):
    cue: jax.Array
    time: jax.Array


@dataclass(frozen=True)
class Probe:
    """Observation (cue, time); the episode ends by itself or by the clock after `length` steps."""

    length: int = 1
    ends_by: str = "itself"  # or "time_out"
    reward: str = "one"  # "cue": the cue, "action": -(a - cue)^2, "last": one at the last step

    observation_size = 2
    action_low = (-2.0,)
    action_high = (2.0,)
    noise_size = 1

    @property
    def min_episode_steps(self):
        return self.length

    @property
    def max_episode_steps(self):
        return self.length

    def reset(self, key, context):
        state = ProbeState(context[0], jnp.int32(0))
        return self.observe(state), state

    def step(self, noise, state, action):
        after = ProbeState(state.cue, state.time + 1)
        over = after.time >= self.length
        reward = {
            "one": jnp.float32(1.0),
            "cue": state.cue,
            "action": -((action[0] - state.cue) ** 2),
            "last": jnp.where(over, 1.0, 0.0),
        }[self.reward]
        by_itself = self.ends_by == "itself"
        return Step(
            after,
            self.observe(after),
            reward,
            terminated=over & by_itself,
            truncated=over & (not by_itself),
            success=over & (state.cue > 0),
        )

    def observe(self, state):
        return jnp.stack([state.cue, 0.1 * state.time])


def probe_problem(probe: Probe) -> Problem:
    contexts = ContextSpace(
        names=("cue",),
        lower=(-1.0,),
        upper=(1.0,),
        initial=Gaussian.diagonal([0.0], [0.5]),
        target=Gaussian.diagonal([0.5], [0.1]),
    )
    return Problem("probe", "a probe", probe, contexts, DISCOUNT)


def trained(probe: Probe, learner, iterations: int, steps: int = 256, seeds=(0, 1)):
    """Learner states of all seeds after training on uniformly drawn cues."""
    training = Training(probe_problem(probe), Random(), learner, seeds, steps)
    state = training.init()
    for iteration in range(iterations):
        state, _ = training.iterate(state, iteration)
    return state.learner


def values(learner, states, cues, time=0.0):
    """Value estimates [S, len(cues)]."""
    observations = jnp.array([[cue, 0.1 * time] for cue in cues])
    return np.asarray(jax.vmap(lambda state: learner.value(state, observations))(states))


def actions(learner, states, cues):
    """Deterministic actions [S, len(cues)]."""
    observations = jnp.array([[cue, 0.0] for cue in cues])

    def act(state):
        return jax.vmap(lambda seen: learner.act(jnp.zeros(1), state, seen))(observations)

    return np.asarray(jax.vmap(act)(states))[..., 0]
