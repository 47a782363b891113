"""Small problems with known values, and functions that train on them."""

from dataclasses import dataclass, field
from typing import NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from selfpaced import PPO, ContextSpace, CurriculumLearning, Gaussian, Problem, Random
from selfpaced.environments.base import Step
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.training.teaching import Teachers

DISCOUNT = 0.9


class ProbeState(NamedTuple):
    cue: jax.Array
    time: jax.Array


@dataclass(frozen=True)
class Probe:
    """Observe (cue, time); terminate or truncate after `length` steps."""

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
            "action": -((action - state.cue) ** 2).sum(),
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


@dataclass(frozen=True)
class DiscreteProbe(Probe):
    """Choose -1, 0 or 1, once or twice at a time; with reward "action", the nearest is the best."""

    num_components: int = 1

    has_discrete_actions = True

    @property
    def action_low(self):
        return (-1.0,) * self.num_components

    @property
    def action_high(self):
        return (1.0,) * self.num_components


@dataclass(frozen=True)
class HostProbe(Probe):
    """The same problem outside JAX; `cue` is the context plus noise from the reset seed."""

    saves: bool = True
    noise: float = 0.0
    max_side_by_side: int = 1000

    def make(self, num_envs, num_threads=1):
        return (ProbeVector if self.saves else UnsavedProbeVector)(self, num_envs)


class UnsavedProbeVector(gymnasium.vector.VectorEnv):
    """A vector environment whose state cannot be saved."""

    def __init__(self, probe, num):
        self.probe, self.num_envs = probe, num
        self.cue, self.time, self.ended = np.zeros(num), np.zeros(num, int), np.zeros(num, bool)

    def observe(self):
        return np.stack([self.cue, 0.1 * self.time], axis=1).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        for row in np.flatnonzero(options.get("reset_mask", np.ones(self.num_envs, bool))):
            wobble = self.probe.noise * np.random.default_rng(seed[row]).normal()
            self.cue[row] = options["context"][row, 0] + wobble
            self.time[row], self.ended[row] = 0, False
        return self.observe(), {}

    def step(self, actions):
        alive = ~self.ended
        self.time += alive
        over = self.time >= self.probe.length
        reward = {
            "one": np.ones(self.num_envs),
            "cue": self.cue,
            "action": -((actions - self.cue[:, None]) ** 2).sum(1),
            "last": over.astype(float),
        }[self.probe.reward]
        self.ended = over
        by_itself = np.full(self.num_envs, self.probe.ends_by == "itself")
        info = {"success": over & (self.cue > 0)}
        return self.observe(), reward * alive, over & by_itself, over & ~by_itself, info


class ProbeVector(UnsavedProbeVector):
    """A vector environment whose state can be saved in mid-episode."""

    def get_state(self):
        return {"cue": self.cue.copy(), "time": self.time.copy(), "ended": self.ended.copy()}

    def set_state(self, state):
        self.cue, self.time, self.ended = (
            np.array(state[name]) for name in ("cue", "time", "ended")
        )


class Shaky(HostProbe):
    """Break down in the second step of every episode."""

    def make(self, num_envs, num_threads=1):
        vector = ProbeVector(self, num_envs)
        step = vector.step

        def shake(actions):
            *outcome, info = step(actions)
            return *outcome, info | {"unstable": vector.time == 2}

        vector.step = shake
        return vector


def probe_problem(probe: Probe) -> Problem:
    contexts = ContextSpace(
        names=("cue",),
        lower=(-1.0,),
        upper=(1.0,),
        initial=Gaussian.diagonal([0.0], [0.5]),
        target=Gaussian.diagonal([0.5], [0.1]),
    )
    return Problem("probe", "a probe", probe, contexts, DISCOUNT)


SHAKY = probe_problem(Shaky(length=2))
HOSTED = probe_problem(HostProbe(length=3))


class NoState(NamedTuple):
    """Nothing changes."""


@dataclass(frozen=True)
class UserTeacher:
    """A user's teacher without optional abilities: uniform contexts."""

    def init(self, rng, contexts):
        return NoState()

    def sample(self, rng, contexts, state, num):
        return contexts.sample_uniform(rng, num)

    def update(self, rng, contexts, state, episodes):
        return state, {}


@dataclass(frozen=True)
class UserLearner:
    """A user's learner without optional abilities: PPO behind the required methods."""

    ppo: PPO = field(default_factory=lambda: PPO(hidden=(8,), num_minibatches=4))
    steps_per_update: int | None = None

    def init(self, key, spec):
        return self.ppo.init(key, spec)

    def act(self, noise, state, observation):
        return self.ppo.act(noise, state, observation)

    def policy(self, noise, state, observation):
        return self.ppo.policy(noise, state, observation)

    def value(self, state, observation):
        return self.ppo.value(state, observation)

    def update(self, key, spec, state, rollout):
        return self.ppo.update(key, spec, state, rollout)


@dataclass
class Recorder:
    """Teachers that keep what they issue and what they see; pass `wrap` as `wrap_teachers`."""

    issued: list = field(default_factory=list)  # [S, K, C] per call of `sample`
    episodes: list = field(default_factory=list)  # Episodes of every seed, per call of `update`
    teachers: Teachers | None = None

    def wrap(self, teachers):
        self.teachers = teachers
        return self

    def init(self):
        return self.teachers.init()

    def sample(self, iteration, states, num):
        source = self.teachers.sample(iteration, states, num)
        self.issued.append(source.first)
        return source

    def update(self, iteration, states, episodes, values):
        self.episodes.append(episodes)
        return self.teachers.update(iteration, states, episodes, values)

    def gaussians(self, states):
        return self.teachers.gaussians(states)

    def particles(self, states):
        return self.teachers.particles(states)

    def advice(self, states, num_remaining):
        return self.teachers.advice(states, num_remaining)


def train(training, iterations, state=None, start=0):
    """Return the state after so many iterations, and the metrics of each."""
    state = training.init() if state is None else state
    rows = []
    for number in range(start, start + iterations):
        state, latest = training.iterate(state, number)
        rows.append(latest)
    return state, rows


def trained(probe: Probe, learner, iterations: int, steps: int = 256, seeds=(0, 1)):
    """Return learner states of all seeds after training on uniformly drawn cues."""
    method = CurriculumLearning(Random(), learner)
    with method.training(probe_problem(probe), seeds, steps) as training:
        state, _ = train(training, iterations)
    return state.learner


def values(learner, states, cues, time=0.0):
    """Return value estimates [S, len(cues)]."""
    observations = jnp.array([[cue, 0.1 * time] for cue in cues])
    return np.asarray(jax.vmap(lambda state: learner.value(state, observations))(states))


def actions(learner, states, cues, noise_size=1):
    """Return deterministic actions [S, len(cues)], with an axis of components if several."""
    observations = jnp.array([[cue, 0.0] for cue in cues])

    def act(state):
        zeros = jnp.zeros(noise_size)
        return jax.vmap(lambda seen: learner.policy(zeros, state, seen))(observations)

    found = np.asarray(jax.vmap(act)(states))
    return found[..., 0] if found.shape[-1] == 1 else found


SILENT = Problem(
    name="silent",
    summary="an environment that reports no success",
    environment=GymnasiumEnvironment("Pendulum-v1", time_limit=8),
    contexts=probe_problem(Probe()).contexts,
    discount=DISCOUNT,
)
