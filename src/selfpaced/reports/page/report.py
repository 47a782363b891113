"""The report of runs: all sections from their folders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from selfpaced.reports.page.comparison import comparison
from selfpaced.reports.page.curriculum import Frames, curriculum
from selfpaced.reports.page.curves import learning_curves
from selfpaced.reports.page.diagnostics import diagnostics
from selfpaced.reports.page.document import Content, render
from selfpaced.reports.page.maps import final_maps
from selfpaced.reports.page.markup import Section
from selfpaced.reports.page.pictures import pictures
from selfpaced.reports.page.ranking import rank
from selfpaced.reports.page.settings import settings
from selfpaced.reports.page.source import RunData, read_runs
from selfpaced.reports.page.summary import summary
from selfpaced.reports.page.template_values import Tensors
from selfpaced.reports.page.training_maps import training_maps
from selfpaced.runs.storage import write_bytes
from selfpaced.statistics import count_seeds


def write_report(
    paths: Sequence[Path],
    out: Path,
    command: str = "",
    trust: bool = False,
    with_episodes: bool = True,
) -> Path:
    """Write the page of the runs at or below some folders; no file of theirs is changed.

    Args:
        paths: run folders, or folders of them such as a comparison.
        out: the HTML file.
        command: what was typed, to be shown on the page.
        trust: import modules that the folders name, which runs their code.
        with_episodes: run episodes of the final policies, for maps and pictures.

    Returns:
        The path of the file.
    """
    content = collect(paths, command, trust, with_episodes)
    write_bytes(out, render(content).encode())
    return out


def collect(
    paths: Sequence[Path], command: str = "", trust: bool = False, with_episodes: bool = False
) -> Content:
    """Return the content of a page about the runs at or below some folders.

    Episodes of the final policies take seconds per run; a live page has none.
    """
    runs, missing = read_runs(paths, trust)
    tensors = Tensors()
    frames: dict[str, Frames] = {}
    standings = rank(runs)
    curves = learning_curves(runs, tensors)
    contexts, more = curriculum(runs, tensors, frames)
    episodes: list[Section] = []
    if with_episodes and runs:
        maps, gaps = final_maps(runs, tensors)
        shown, others = pictures(runs)
        episodes, more = [maps, shown], [*more, *gaps, *others]
    sections = [
        summary(standings, [*missing, *more]),
        curves,
        contexts,
        training_maps(runs, tensors, frames),
        *episodes,
        diagnostics(runs, tensors),
        comparison(standings),
        settings(runs, command),
    ]
    return Content(_title(runs), _subtitle(runs), sections, tensors, frames)


def _title(runs: Sequence[RunData]) -> str:
    problems = list(dict.fromkeys(run.problem for run in runs))
    if len(runs) == 1:
        return f"{runs[0].problem}: {runs[0].name}"
    return f"{len(runs)} runs on {', '.join(problems)}" if runs else "No runs"


def _subtitle(runs: Sequence[RunData]) -> str:
    seeds = sorted({len(run.seeds) for run in runs})
    each = " or ".join(map(str, seeds[:-1])) + (" or " if seeds[:-1] else "")
    total = f"{each}{count_seeds(seeds[-1])} each · " if seeds else ""
    return f"{total}made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
