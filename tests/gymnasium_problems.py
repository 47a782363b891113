"""Gymnasium's own environments as problems with a context."""

import gymnasium
from gymnasium.envs.box2d.lunar_lander import LunarLander
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from selfpaced import ContextSpace, Gaussian, Problem
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment

CONTEXT = "context"


class ContextCartPole(CartPoleEnv):
    """Balance a pole; the context is its half length."""

    def reset(self, *, seed=None, options=None):
        (self.length,) = (options or {}).get(CONTEXT, (0.5,))
        self.polemass_length = self.masspole * self.length
        return super().reset(seed=seed)


class ContextLunarLander(LunarLander):
    """Land on a moon; the context is its gravity."""

    def reset(self, *, seed=None, options=None):
        (self.gravity,) = (options or {}).get(CONTEXT, (-10.0,))
        return super().reset(seed=seed)


def one_context(name, low, target, high):
    """Return contexts whose initial distribution is at the target, as the environment has it."""
    at_target = Gaussian.diagonal([target], [1e-3 * (high - low)])
    return ContextSpace((name,), (low,), (high,), initial=at_target, target=at_target)


gymnasium.register("ContextCartPole-v0", ContextCartPole, max_episode_steps=500)
gymnasium.register("ContextLunarLander-v0", ContextLunarLander, max_episode_steps=1000)

CART_POLE = Problem(
    "cart-pole",
    "balance a pole on a cart; context: its half length",
    GymnasiumEnvironment("ContextCartPole-v0"),
    one_context("length", 0.4, 0.5, 0.6),
    discount=0.98,
)
LUNAR_LANDER = Problem(
    "lunar-lander",
    "land between two flags; context: gravity",
    GymnasiumEnvironment("ContextLunarLander-v0"),
    one_context("gravity", -11.0, -10.0, -9.0),
    discount=0.999,
)


def undiscounted(problem):
    """Return the problem whose returns are those that Gymnasium's thresholds are about."""
    return Problem(
        problem.name, problem.summary, problem.environment, problem.contexts, discount=1.0
    )
