"""Names and titles of runs in figures."""

from __future__ import annotations

from collections import Counter

from selfpaced.experiment import Experiment
from selfpaced.runs.folder import RunFolder
from selfpaced.statistics import count_seeds

DISPLAY_NAMES = {"ALPGMM": "ALP-GMM", "EpisodicUpdate": "SPRL", "ThresholdSPDL": "Threshold-SPDL"}
"""Names of teachers in figures and on pages, by class; others are shown under their class name."""


def name_teacher(experiment: Experiment) -> str:
    """Return the teacher's name with the mark of a variant."""
    name = type(experiment.method.parts["teacher"]).__name__
    return DISPLAY_NAMES.get(name, name) + experiment.variant


def name_learner(experiment: Experiment) -> str:
    """Return the learner's name."""
    return type(experiment.method.parts["learner"]).__name__


def name_run(folder: RunFolder) -> str:
    """Return the names of teacher and learner."""
    experiment = folder.experiment()
    return f"{name_teacher(experiment)} + {name_learner(experiment)}"


def title_run(folder: RunFolder, separator: str = ", ") -> str:
    """Return problem, teacher, learner, number of seeds, and the progress of an unfinished run."""
    experiment = folder.experiment()
    seeds = count_seeds(len(experiment.seeds))
    if failed := folder.failed_seeds():
        seeds += f" ({len(failed)} failed)"
    title = f"{experiment.resolved.name}: {name_run(folder)}, {seeds}"
    if folder.is_finished:
        return title
    reached = folder.summary()["iterations"]
    return f"{title}{separator}{reached} of {experiment.iterations} iterations"


def name_runs(folders: list[RunFolder], with_problem: bool, separator: str = ": ") -> list[str]:
    """Return the shortest names that distinguish the runs.

    A name is teacher and learner. The problem precedes it if `with_problem` holds and the problems
    differ. The folder follows it if other runs would have the same name.
    """
    experiments = [folder.experiment() for folder in folders]
    problems = [experiment.problem_name for experiment in experiments]
    names = [name_run(folder) for folder in folders]
    if with_problem and len(set(problems)) > 1:
        names = [
            f"{experiment.resolved.name}{separator}{name}"
            for experiment, name in zip(experiments, names, strict=True)
        ]
    for distinction in ([folder.path.name for folder in folders], [str(f.path) for f in folders]):
        counts = Counter(zip(problems, names, strict=True))
        if max(counts.values()) == 1:
            break
        names = [
            f"{name.partition(' (')[0]} ({which})" if counts[problem, name] > 1 else name
            for problem, name, which in zip(problems, names, distinction, strict=True)
        ]
    return names


def by_problem(folders: list[RunFolder]) -> dict[str, list[int]]:
    """Return the indices of the runs of each problem, in the given order."""
    indices: dict[str, list[int]] = {}
    for index, folder in enumerate(folders):
        indices.setdefault(folder.experiment().problem_name, []).append(index)
    return indices
