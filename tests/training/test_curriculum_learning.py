"""A teacher and a learner as a method: parts that do not fit, and teachers that misbehave."""

from dataclasses import dataclass

import numpy as np
import pytest

from selfpaced import (
    PPO,
    SAC,
    SPDL,
    SPRL,
    CurriculumLearning,
    Experiment,
    GoalGAN,
    SelfpacedError,
    neurips2020,
)
from selfpaced.registry import find_problem

PROBLEM = find_problem("point-mass-2d")


@dataclass(frozen=True)
class Misbehaving:
    """Samples or updates as told."""

    fault: str = ""

    def init(self, rng, contexts):
        return ()

    def sample(self, rng, contexts, state, num):
        drawn = contexts.sample_uniform(rng, num)
        if self.fault == "narrow":
            return drawn[:, :1]
        if self.fault == "few":
            return drawn[:-1]
        if self.fault == "list":
            return drawn.tolist()
        if self.fault == "nan":
            return drawn * np.nan
        return drawn + (100.0 if self.fault == "outside" else 0.0)

    def update(self, rng, contexts, state, episodes):
        return state if self.fault == "no metrics" else (state, {})


@dataclass(frozen=True)
class Namesake(Misbehaving):
    """Has a setting that is called like a method of an ability."""

    gaussian: float = 1.0


def iterate(fault):
    method = CurriculumLearning(Misbehaving(fault), PPO(hidden=(4,)))
    with method.training(PROBLEM, (1,), 128) as training:
        return training.iterate(training.init(), 0)


def test_a_teacher_without_fault_trains():
    _, (row,) = iterate("")
    assert row["train/episodes"] >= 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("narrow", r"Misbehaving.sample must return an array of shape \(\d+, 2\), got \(\d+, 1\)"),
        ("few", r"must return an array of shape \(\d+, 2\), got \(\d+, 2\)"),
        ("list", "must return an array of shape .* got list"),
        ("nan", r"Misbehaving.sample must return finite contexts, got \[\[nan, nan\]\]"),
        ("outside", "must return contexts in the box, got .*; use contexts.clip"),
        ("no metrics", "update must return its state and a dictionary of metrics, got tuple"),
    ],
)
def test_a_misbehaving_teacher_is_named_with_what_it_returned(fault, message):
    with pytest.raises(SelfpacedError, match=message):
        iterate(fault)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CurriculumLearning(PPO(), SPDL()), "teacher PPO must have .*lacks sample"),
        (lambda: CurriculumLearning(SPDL, PPO()), "teacher must be an instance of its settings"),
        (
            lambda: CurriculumLearning(Namesake(), PPO()),
            "setting gaussian of Namesake must have an",
        ),
        (lambda: SPRL(SPDL()), "SPRL must have an EpisodicUpdate and an EpisodicPolicy"),
    ],
)
def test_parts_that_do_not_fit_are_refused_when_they_are_put_together(make, message):
    with pytest.raises(SelfpacedError, match=message):
        make()


@pytest.mark.parametrize(
    ("method", "budget", "message"),
    [
        (CurriculumLearning(SPDL(), PPO()), {"num_environments": 3}, "must be a multiple of"),
        (SPRL(), {"num_environments": 2}, "num_environments must be 1 with SPRL, got 2"),
        (CurriculumLearning(SPDL(), SAC()), {"initial_policy": "hold"}, "requires a host env"),
        (CurriculumLearning(SPDL(), SAC()), {"initial_policy": "sit"}, "initial_policy must be"),
    ],
)
def test_an_experiment_that_cannot_run_is_refused_before_it_starts(method, budget, message):
    with pytest.raises(SelfpacedError, match=message):
        Experiment("point-mass-2d", method, seeds=(1,), **budget)


def test_contexts_outside_the_box_are_for_problems_in_jax_only():
    outside = GoalGAN(clip_replay=False)
    assert neurips2020("point-mass-2d", "goal-gan").with_parts(teacher=outside)
    with pytest.raises(SelfpacedError, match="contexts of ball-catching must lie in its box"):
        neurips2020("ball-catching", "goal-gan").with_parts(teacher=outside)
