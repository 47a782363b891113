"""How runs are called in figures."""

from __future__ import annotations

from collections import Counter

from selfpaced.experiment import Experiment
from selfpaced.runs.folder import RunFolder
from selfpaced.statistics import count_seeds

_WRITTEN = {"ALPGMM": "ALP-GMM"}  # no class can be called so


def name_teacher(experiment: Experiment) -> str:
    """The teacher, and the mark of a variant."""
    name = type(experiment.teacher).__name__
    return _WRITTEN.get(name, name) + experiment.variant


def name_run(folder: RunFolder) -> str:
    """Teacher and learner."""
    experiment = folder.experiment()
    return f"{name_teacher(experiment)} + {type(experiment.learner).__name__}"


def title_run(folder: RunFolder, separator: str = ", ") -> str:
    """Problem, teacher, learner, number of seeds, and whether there is more to come."""
    experiment = folder.experiment()
    seeds = count_seeds(len(experiment.seeds))
    title = f"{experiment.problem}: {name_run(folder)}, {seeds}"
    if folder.is_finished:
        return title
    reached = folder.summary()["iterations"]
    return f"{title}{separator}{reached} of {experiment.iterations} iterations"


def name_runs(folders: list[RunFolder], with_problem: bool, separator: str = ": ") -> list[str]:
    """Teacher and learner, and only what else it takes to tell the runs apart."""
    problems = [folder.experiment().problem for folder in folders]
    names = [name_run(folder) for folder in folders]
    if with_problem and len(set(problems)) > 1:
        names = [
            f"{problem}{separator}{name}" for problem, name in zip(problems, names, strict=True)
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
    """The places of the runs of each problem, in the order given."""
    places: dict[str, list[int]] = {}
    for index, folder in enumerate(folders):
        places.setdefault(folder.experiment().problem, []).append(index)
    return places
