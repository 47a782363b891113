import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from selfpaced.learners.hashed_random import normals, random_words


def test_random_words_pass_tests_of_independence():
    draw = jax.jit(jax.vmap(lambda key: random_words(key, (3, 64))))
    words = draw(jax.random.split(jax.random.key(0), 500))
    drawn = np.asarray(normals(words))
    assert kstest(drawn.ravel(), "norm").pvalue > 0.01
    within = np.corrcoef(drawn.reshape(500, -1).T) - np.eye(192)
    between = np.corrcoef(drawn.reshape(500, -1)) - np.eye(500)
    assert np.abs(within).max() < 6.0 / np.sqrt(500)
    assert np.abs(between).max() < 6.0 / np.sqrt(192)
    bits = np.unpackbits(np.asarray(words).view(np.uint8))
    assert bits.mean() == pytest.approx(0.5, abs=3.0 / np.sqrt(bits.size))


def test_the_extreme_words_give_finite_noise():
    extreme = normals(jnp.array([0, 2**32 - 1], jnp.uint32))
    np.testing.assert_allclose(extreme, [-5.17, 5.17], atol=0.2)
