"""Measuring the time of teachers adds it up and changes nothing."""

import time
from functools import partial

import jax
import numpy as np
import pytest

from selfpaced import SPDL
from selfpaced.runs.stopwatch import Stopwatch, TimedTeachers
from tests.probes import UserTeacher, train
from tests.runs.small_runs import SMALL


class Slow(UserTeacher):
    """Takes 20 ms for a draw of one seed, 30 ms for an update."""

    def sample(self, rng, contexts, state, num):
        time.sleep(0.02)
        return super().sample(rng, contexts, state, num)

    def update(self, rng, contexts, state, episodes):
        time.sleep(0.03)
        return super().update(rng, contexts, state, episodes)


@pytest.mark.parametrize("teacher", [SPDL(update_offset=1), SPDL(window=20), UserTeacher()])
def test_timed_teachers_change_nothing(teacher):
    experiment, stopwatch = SMALL.with_parts(teacher=teacher), Stopwatch()
    timed = partial(TimedTeachers, stopwatch=stopwatch)
    with experiment.training((1, 2)) as plain, experiment.training((1, 2), timed) as measured:
        (state, rows), (same, same_rows) = train(plain, 3), train(measured, 3)
        np.testing.assert_equal(same_rows, rows)
        jax.tree.map(np.testing.assert_array_equal, same, state)
        np.testing.assert_array_equal(
            measured.sample_contexts(same, 3), plain.sample_contexts(state, 3)
        )
        assert measured.advice(same, 10) == plain.advice(state, 10)
        for gaussian, expected in zip(
            measured.gaussians(same), plain.gaussians(state), strict=True
        ):
            assert (gaussian is None) == (expected is None)
            if expected is not None:
                np.testing.assert_array_equal(gaussian.mean, expected.mean)
                np.testing.assert_array_equal(gaussian.cholesky, expected.cholesky)
    assert stopwatch.seconds > 0


def test_the_time_of_draws_and_updates_is_added_up():
    experiment, stopwatch = SMALL.with_parts(teacher=Slow()), Stopwatch(seconds=100.0)
    timed = partial(TimedTeachers, stopwatch=stopwatch)
    with experiment.training((1, 2), timed) as training:
        state = training.init()
        assert stopwatch.seconds == 100.0
        begin = time.perf_counter()
        train(training, 2, state)
        elapsed = time.perf_counter() - begin
    measured = stopwatch.seconds - 100.0
    assert 2 * 2 * (0.02 + 0.03) <= measured < elapsed


def test_time_counts_until_an_error():
    stopwatch = Stopwatch()

    def fail():
        with stopwatch.running():
            time.sleep(0.01)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert stopwatch.seconds >= 0.01
