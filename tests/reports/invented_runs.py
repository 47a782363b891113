"""Run folders with invented numbers, written by the same code that writes the real ones."""

from dataclasses import replace

import numpy as np

from selfpaced import PPO, Episodes, RunFolder, neurips2020
from selfpaced.contexts import Gaussian
from selfpaced.experiment import default_part, make_method
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.runs.export import export
from selfpaced.runs.replacement import create_run
from selfpaced.training.simulator import EpisodeBatch
from tests.probes import Probe, probe_problem

ITERATIONS = 20
PROBE = probe_problem(Probe())  # one context component and no figures of its own


def invented_run(
    path, problem="point-mass-3d", teacher="spdl", seeds=(1, 2, 3), reached=None, **settings
) -> RunFolder:
    """Return a run with rising returns, and with contexts on a straight line to the target.

    `reached` holds the last iteration of each seed; the run is finished if all reached the end.
    Policies are as initialised.
    """
    learner = settings.pop("learner", PPO(hidden=(4,)))
    method = make_method({"teacher": default_part("teacher", teacher), "learner": learner})
    experiment = replace(
        neurips2020("point-mass-3d"),
        problem=problem,
        seeds=seeds,
        iterations=ITERATIONS,
        **({"method": method} | settings),
    )
    reached = reached or [ITERATIONS] * len(seeds)
    blocks = [(seed,) for seed in seeds]
    folder = create_run(path, experiment, blocks)
    for block, last in enumerate(reached):
        with experiment.training(blocks[block]) as training:
            checkpoint = Checkpoint.start(training, experiment)
        checkpoint.iteration = last
        _invent(checkpoint, seeds[block], last)
        folder.files()[block].save(checkpoint)
    export(folder, wall_seconds=1.0)
    return folder


def invented_return(seed, iteration):
    """Return the discounted return that the evaluations of an invented run report."""
    return seed + 0.25 * iteration


def _invent(checkpoint, seed, last):
    experiment, history = checkpoint.experiment, checkpoint.history
    contexts = experiment.resolved.contexts
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
        has_gaussian = experiment.teacher_name != "random"
        shape = (1, 2, 5)
        batch = EpisodeBatch(
            first_observation=np.zeros((1, 5, experiment.resolved.spec.observation_size)),
            discounted_return=np.full(shape, invented_return(seed, iteration)),
            success=np.full(shape, share),
            terminated=np.zeros(shape, bool),
            length=np.full(shape, 100),
            unstable=None,
            path=None,
        )
        episodes = Episodes(
            samples[0, :20],
            np.zeros((20, 1)),
            np.full(20, float(iteration)),
            np.zeros(20),
            np.full(20, iteration > 10),
            np.full(20, 100),
        )
        history.record_evaluation(
            iteration, batch, samples, [gaussian if has_gaussian else None], (), [episodes]
        )
