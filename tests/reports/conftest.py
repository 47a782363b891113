"""Run folders with invented numbers, written by the same code that writes the real ones."""

from dataclasses import replace

import numpy as np
import pytest

from selfpaced import PPO, RunFolder, neurips2020
from selfpaced.contexts import Gaussian
from selfpaced.problems import PROBLEMS
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.teachers import TEACHERS
from selfpaced.training.evaluation import Evaluation
from tests.probes import Probe, probe_problem

ITERATIONS = 20


def invented_run(
    path, problem="point-mass-3d", teacher="spdl", seeds=(1, 2, 3), reached=None, **settings
):
    """A run whose returns rise and whose contexts travel in a straight line to the target.

    `reached` says how far each seed came; the run is finished if all came to the end. Policies are
    as they were drawn.
    """
    experiment = replace(
        neurips2020("point-mass-3d"),
        problem=problem,
        teacher=TEACHERS[teacher](),
        learner=settings.pop("learner", PPO(hidden=(4,))),
        seeds=seeds,
        iterations=ITERATIONS,
        **settings,
    )
    reached = reached or [ITERATIONS] * len(seeds)
    blocks = [(seed,) for seed in seeds]
    folder = RunFolder.create(path, experiment, blocks)
    for block, last in enumerate(reached):
        checkpoint = Checkpoint.begin(experiment.training(blocks[block]), experiment)
        checkpoint.iteration = last
        _invent(checkpoint.history, seeds[block], last)
        checkpoint.save(folder.checkpoint_path(block))
    folder.export(wall_seconds=1.0)
    return folder


def invented_return(seed, iteration):
    return seed + 0.25 * iteration


def _invent(history, seed, last):
    experiment = history.experiment
    contexts = PROBLEMS[experiment.problem].contexts
    rng = np.random.default_rng(seed)
    for iteration in range(last + 1):
        if iteration > 0:
            history.record_iteration(iteration, [{"learner/loss": 1.0}])
        if iteration not in experiment.evaluation_iterations:
            continue
        share = iteration / ITERATIONS
        initial, target = contexts.initial, contexts.target
        gaussian = Gaussian(
            (1 - share) * initial.mean + share * target.mean,
            (1 - share) * initial.cholesky + share * target.cholesky,
        )
        samples = contexts.clip(gaussian.sample(rng, 64))[None]
        has_gaussian = type(experiment.teacher).__name__ != "Random"
        outcome = np.full((1, 2, 5), invented_return(seed, iteration))
        evaluation = Evaluation(outcome, np.full((1, 2, 5), share), np.full((1, 2, 5), 100))
        history.record_evaluation(
            iteration, evaluation, samples, [gaussian if has_gaussian else None]
        )


@pytest.fixture(name="make_run")
def _make_run(tmp_path, monkeypatch):
    """Makes invented runs; the problem "probe" has one context component and no arena."""
    monkeypatch.setitem(PROBLEMS, "probe", probe_problem(Probe()))

    def make(name="run", **settings):
        return invented_run(tmp_path / name, **settings)

    return make
