"""The record of a block of seeds: metrics per iteration, evaluations, context distributions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from selfpaced.contexts import Gaussian
from selfpaced.experiment import Experiment
from selfpaced.problems import find_problem
from selfpaced.records import Array, Metrics
from selfpaced.training.evaluation import Evaluation

NUM_SAMPLES = 64  # contexts kept per evaluation


@dataclass
class History:
    """Columns of numbers, not-a-number where nothing has happened yet."""

    experiment: Experiment
    num_seeds: int
    columns: dict[str, Array] = field(default_factory=dict)

    def record_iteration(self, iteration: int, rows: list[Metrics]) -> None:
        """Keep the metrics of every seed after an iteration, counted from 1."""
        for index, row in enumerate(rows):
            for name, value in row.items():
                self._column(f"metrics/{name}", self.experiment.iterations)[
                    iteration - 1, index
                ] = value

    def record_contexts(self, iteration: int, contexts: Array) -> None:
        """Keep mean and standard deviation of the contexts [S, K, C] of an iteration."""
        for component, name in enumerate(find_problem(self.experiment.problem).contexts.names):
            for statistic in ("mean", "std"):
                column = self._column(
                    f"metrics/context/{name}_{statistic}", self.experiment.iterations
                )
                column[iteration - 1] = getattr(contexts[..., component], statistic)(axis=1)

    def record_evaluation(
        self,
        iteration: int,
        evaluation: Evaluation,
        contexts: Array,
        distributions: list[Gaussian | None],
    ) -> None:
        """Keep the outcome on the target, and what the contexts were drawn from at the time."""
        moments = self.experiment.evaluation_iterations
        row, num = moments.index(iteration), len(moments)
        for which, policy in enumerate(("", "deterministic_")):
            for name, column in (
                ("return", evaluation.discounted_return),
                ("success", evaluation.success),
                ("length", evaluation.length),
            ):
                per_seed = column[:, which].mean(axis=1)
                self._column(f"evaluations/{policy}{name}", num)[row] = per_seed
            if evaluation.unstable is not None:
                count = evaluation.unstable[:, which].sum(axis=1)
                self._column(f"evaluations/{policy}unstable", num)[row] = count
        size = contexts.shape[-1]
        samples = contexts[:, :NUM_SAMPLES]
        self._column("contexts/samples", num, *samples.shape[1:])[row] = samples
        for index, gaussian in enumerate(distributions):
            if gaussian is not None:
                self._column("contexts/mean", num, size)[row, index] = gaussian.mean
                self._column("contexts/cholesky", num, size, size)[row, index] = gaussian.cholesky

    def _column(self, name: str, num: int, *shape: int) -> Array:
        if name not in self.columns:
            self.columns[name] = np.full((num, self.num_seeds, *shape), np.nan)
        return self.columns[name]


def join(histories: list[dict[str, Array]]) -> dict[str, Array]:
    """The columns of several blocks side by side."""
    names = dict.fromkeys(name for columns in histories for name in columns)
    widths = [next(iter(columns.values())).shape[1] for columns in histories]
    joined = {}
    for name in names:
        like = next(columns[name] for columns in histories if name in columns)
        parts = [
            columns.get(name, np.full((len(like), width, *like.shape[2:]), np.nan))
            for columns, width in zip(histories, widths, strict=True)
        ]
        joined[name] = np.concatenate(parts, axis=1)
    return joined
