"""Advice outside the library's loop: each kind once, as a Python warning."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from selfpaced import PROBLEMS, SPDL, Default, SelfpacedWarning
from selfpaced.teachers.advice import EVERY, AdviceGiver, advice_of, kind_of

CONTEXTS = PROBLEMS["point-mass-2d"].contexts


@dataclass(frozen=True)
class Counting:
    """A teacher that counts the updates that are left."""

    def init(self, rng, contexts):
        return ()

    def sample(self, rng, contexts, state, num):
        return contexts.sample_uniform(rng, num)

    def update(self, rng, contexts, state, episodes):
        return state, {}

    def advice(self, contexts, state, num_remaining):
        return (f"{num_remaining} updates are left", f"state {'odd' if state else 'even'}")


def said(giver, state=(), times=1):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(times):
            giver.warn(state)
    assert all(warning.category is SelfpacedWarning for warning in caught)
    return [str(warning.message) for warning in caught]


def test_texts_that_differ_in_digits_are_of_one_kind():
    assert kind_of("10 of 20") == kind_of("9 of 300") != kind_of("10 in 20")


def test_advice_is_a_python_warning_said_once():
    giver = AdviceGiver(Counting(), CONTEXTS, num_updates=100)
    assert said(giver, times=100) == ["100 updates are left", "state even"]


def test_a_new_kind_is_said_when_the_state_is_looked_at_again():
    giver = AdviceGiver(Counting(), CONTEXTS, num_updates=100)
    said(giver, times=EVERY)
    assert said(giver, state=(1,)) == ["state odd"]


def test_the_state_is_looked_at_in_every_tenth_update_only():
    giver = AdviceGiver(Counting(), CONTEXTS)
    assert giver.new(())
    assert [giver.new((1,)) for _ in range(EVERY)] == [()] * (EVERY - 1) + [("state odd",)]


def test_warnings_point_to_the_line_of_the_caller():
    with pytest.warns(SelfpacedWarning) as caught:
        AdviceGiver(Counting(), CONTEXTS).warn(())
    assert caught[0].filename == __file__


def test_without_a_known_end_the_target_is_never_out_of_reach():
    teacher = SPDL()
    state = teacher.init(np.random.default_rng(0), CONTEXTS)
    assert AdviceGiver(teacher, CONTEXTS).new(state) == ()
    assert "cannot reach the target" in AdviceGiver(teacher, CONTEXTS, 20).new(state)[0]


def test_a_teacher_without_advice_never_warns():
    assert advice_of(Default(), CONTEXTS, (), 10) == ()
    assert said(AdviceGiver(Default(), CONTEXTS)) == []
