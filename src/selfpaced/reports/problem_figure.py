"""The protocol of a problem's own figures, and the episodes of final policies that they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from selfpaced.errors import require
from selfpaced.registry import load_object
from selfpaced.reports.style import Drawing
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.policies import final_learners
from selfpaced.training.simulator import EpisodeBatch
from selfpaced.training.streams import Purpose


class ProblemFigure(NamedTuple):
    """A figure beyond the common ones; `Problem.figures` names it as `module:FIGURE`.

    Args:
        name: name of the file, without its suffix.
        draw: draws one run.
        draw_together: draws several runs whose problems have this figure.

    Examples:
        >>> from selfpaced.reports.learning_curves import draw_learning_curve, draw_learning_curves
        >>> from selfpaced.reports.problem_figure import ProblemFigure
        >>> ProblemFigure("curve", draw_learning_curve, draw_learning_curves).name
        'curve'
    """

    name: str
    draw: Callable[[RunFolder], Drawing]
    draw_together: Callable[[list[RunFolder]], Drawing]


def find_figure(place: str) -> ProblemFigure:
    """Return the figure at `module:FIGURE`.

    Raises:
        SelfpacedError: the module cannot be imported, or there is no figure of this name.
    """
    figure = load_object("figure", place)
    require(
        isinstance(figure, ProblemFigure),
        f"figure {place!r} must be a selfpaced.reports.problem_figure.ProblemFigure, got "
        f"{type(figure).__name__}",
    )
    assert isinstance(figure, ProblemFigure)
    return figure


def final_episodes(
    folder: RunFolder, num_episodes: int, *, iteration: int | None = None, keep_path: bool = False
) -> EpisodeBatch:
    """Run stochastic episodes [S, 1, M] of the final policies on the target; not of failed seeds.

    The random streams are those of the given iteration, the last one by default. They do not change
    from call to call.
    """
    seeds = folder.counted_seeds()
    with folder.experiment().training(seeds) as training:
        return training.target_episodes(
            final_learners(folder, seeds),
            folder.summary()["iterations"] if iteration is None else iteration,
            num_episodes,
            Purpose.REPORT,
            noise_scales=(1.0,),
            keep_path=keep_path,
        )
