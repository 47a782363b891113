"""The first iterations of short runs: known numbers that a change of results must change.

If a number is another one on purpose, raise the number of the part in `EDITIONS`
(`runs/revision.py`), report the new results, and write the new number here.
"""

from dataclasses import replace
from typing import NamedTuple

import pytest

from selfpaced import SPDL, neurips2020
from selfpaced.runs.revision import EDITIONS

TRADEOFF = SPDL(pacing="tradeoff", update_offset=0, alpha_offset=1, std_lower_bound=(0.2, 0.2))


class Known(NamedTuple):
    """A short run, and two means over its seeds in the last iteration."""

    teacher: str
    learner: str
    settings: SPDL | None  # with which contexts move from the first iterations on
    steps: int
    iterations: int
    train_return: float
    column: str
    value: float


KNOWN = (
    Known("spdl", "ppo", TRADEOFF, 1536, 3, 0.96094, "context/gate_position_std", 1.64177),
    Known(
        "spdl", "ppo", SPDL(update_offset=0), 1536, 3, 0.89409, "context/gate_position_std", 1.92872
    ),
    Known("alp-gmm", "trpo", None, 1536, 3, 0.73002, "context/gate_position_std", 2.34513),
    # its many updates amplify rounding
    Known("default", "sac", None, 600, 1, 0.45285, "learner/action_value_loss", 1.31275),
    Known("sprl", "episodic", None, 1536, 3, 3.37339, "context/gate_position_std", 1.7172),
)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: f"{known.teacher}-{known.learner}")
def test_the_first_iterations_have_the_results_of_this_edition(known):
    experiment = neurips2020("point-mass-2d", known.teacher, known.learner, seeds=(1, 2))
    if known.settings is not None:
        experiment = experiment.with_parts(teacher=known.settings)
    experiment = replace(experiment, steps_per_iteration=known.steps)
    with experiment.training(experiment.seeds) as training:
        state = training.init()
        for iteration in range(known.iterations):
            state, rows = training.iterate(state, iteration)
    for column, value in (("train/return", known.train_return), (known.column, known.value)):
        mean = sum(row[column] for row in rows) / len(rows)
        assert mean == pytest.approx(value, rel=5e-3), f"{column} is {mean:.6g}; {EDITIONS}"
