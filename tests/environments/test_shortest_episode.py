import jax
import jax.numpy as jnp
import numpy as np

from selfpaced.problems import POINT_MASS_3D


def test_no_episode_of_the_point_mass_is_shorter_than_promised():
    environment = POINT_MASS_3D.environment
    _, state = environment.reset(jax.random.key(0), jnp.array([4.0, 0.5, 0.0]))
    step = jax.jit(environment.step)
    pushed = jnp.full(environment.noise_size, -6.0)  # six standard deviations, always downwards
    for length in range(1, 20):  # noqa: B007 (used below)
        after = step(pushed, state, jnp.array([0.0, -10.0]))
        state = after.state
        if after.terminated:
            break
    assert bool(after.terminated)
    assert np.isclose(state.position[1], 0.0)
    assert environment.min_episode_steps <= length <= environment.min_episode_steps + 1
