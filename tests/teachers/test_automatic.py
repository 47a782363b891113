"""Automatic: CURROT without settings, and its own remedies."""

import dataclasses

import jax
import numpy as np

from selfpaced import CURROT
from selfpaced.teachers.automatic import Automatic
from tests.teachers.spaces import SQUARE, play


def test_it_has_no_settings_and_does_what_currot_does_without_settings():
    assert not dataclasses.fields(Automatic)
    ours, currots = (
        play(teacher, SQUARE, lambda drawn: drawn[:, 1], 5)[-1]
        for teacher in (Automatic(), CURROT())
    )
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(currots), strict=True):
        np.testing.assert_array_equal(one, other)


def test_its_remedies_name_no_settings():
    teacher = Automatic()
    state = play(teacher, SQUARE, lambda drawn: np.ones(len(drawn)), 3)[-1]
    short, equal = teacher.advice(SQUARE, state, 1)
    assert short.startswith("1 remaining iterations cannot reach the target")
    assert short.endswith("will be made; train longer")
    assert equal.startswith("the returns of 120 episodes differ by less than a tenth of their size")
    different = play(teacher, SQUARE, lambda drawn: drawn[:, 1], 3)[-1]
    assert teacher.advice(SQUARE, different, 100) == ()
