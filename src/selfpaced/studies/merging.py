"""Merge finished runs of one experiment that differ in their seeds only into one run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from selfpaced.errors import require
from selfpaced.records import Array
from selfpaced.runs.description import describe
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.history import Part, join_parts
from selfpaced.runs.manifest import write_files
from selfpaced.runs.revision import known_edition
from selfpaced.runs.storage import Notes, array_bytes, json_bytes, read_arrays
from selfpaced.runs.tables import contexts_bytes, table_bytes
from selfpaced.statistics import mean_and_standard_error
from selfpaced.studies.differences import find_differences

ARRAYS = "policies.safetensors"


def merge_runs(folders: Sequence[RunFolder], out: Path) -> RunFolder:
    """Write the seeds of several finished runs into a new run folder, in the given order.

    Raises:
        SelfpacedError: a run is not finished, settings or editions of results differ, a seed occurs
            twice, or the new folder exists.
    """
    require(len(folders) > 1, f"RUN must be at least two run folders, got {len(folders)}")
    require(not out.exists(), f"out must be a new folder, got {out}, which exists")
    for folder in folders:
        folder.description()  # raises an error if this is no run folder
        require(folder.is_finished, f"{folder.path} is not finished; resume it first")
        _require_same(folders[0], folder)
    seeds = tuple(seed for folder in folders for seed in folder.experiment().seeds)
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    require(not twice, f"seeds of the runs must differ, got {', '.join(map(str, twice))} twice")
    experiment = dataclasses.replace(folders[0].experiment(), seeds=seeds)
    blocks = [block for folder in folders for block in folder.blocks()]
    merged = [str(folder.path) for folder in folders]
    policies = [read_arrays(folder.path / ARRAYS)[0] for folder in folders]
    whole = {name: np.concatenate([part[name] for part in policies]) for name in policies[0]}
    codes = [code for folder in folders for code in folder.description().get("code", [])]
    description = describe(experiment, blocks) | {
        "code": [code for place, code in enumerate(codes) if code not in codes[:place]],
        "versions": folders[0].description().get("versions", {}),
        "merged_from": merged,
    }
    contents = {
        "experiment.json": json_bytes(description),
        "metrics.csv": table_bytes(seeds, _joined(folders, [f.metrics() for f in folders])),
        "evaluations.csv": table_bytes(seeds, _joined(folders, [f.evaluations() for f in folders])),
        "contexts.npz": contexts_bytes(seeds, _joined(folders, [f.contexts() for f in folders])),
        ARRAYS: array_bytes(whole, {"seeds": seeds}),
        "summary.json": json_bytes(_summarise(folders) | {"seeds": seeds}),  # last
    }
    write_files(out, contents)
    return RunFolder(out, folders[0].trust)


def _require_same(first: RunFolder, other: RunFolder) -> None:
    """Raise `SelfpacedError` with the settings in which two runs differ, seeds apart."""
    plain = [folder.description()["experiment"] | {"seeds": None} for folder in (first, other)]
    differences = ", ".join(find_differences(*plain))
    require(
        not differences,
        f"runs must differ in their seeds only, got other settings in {other.path} (requested) "
        f"than in {first.path} (existing): {differences}",
    )
    one, two = (known_edition(run.description().get("code", [])) for run in (first, other))
    require(
        one == two,
        f"runs must be of the same edition of results, got {_spoken(two)} in {other.path} and "
        f"{_spoken(one)} in {first.path}; run the older one again",
    )


def _spoken(edition: dict[str, int] | None) -> str:
    if edition is None:
        return "an unknown one"
    return ", ".join(f"{name} {number}" for name, number in edition.items())


def _joined(folders: Sequence[RunFolder], parts: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """Return the columns of several tables with all seeds side by side."""
    plain = [
        {name: column for name, column in part.items() if name not in ("seed", "seeds")}
        for part in parts
    ]
    seeds = [folder.experiment().seeds for folder in folders]
    joined = [Part(own, {"joined": columns}) for own, columns in zip(seeds, plain, strict=True)]
    return join_parts(joined, "joined", [seed for own in seeds for seed in own])


def _summarise(folders: Sequence[RunFolder]) -> Notes:
    """Return the summary of all seeds; times are those of the runs one after the other."""
    summaries = [folder.summary() for folder in folders]
    merged = dict(summaries[0])
    for name in ("final_return", "final_return_deterministic"):
        parts = [np.array(summary[name]["per_seed"], float) for summary in summaries]
        per_seed = np.concatenate(parts)
        mean, error = mean_and_standard_error(per_seed[np.isfinite(per_seed)])  # no failed seeds
        merged[name] = {"mean": mean, "standard_error": error, "per_seed": per_seed}
    merged["failed_seeds"] = [one for each in summaries for one in each.get("failed_seeds", ())]
    nums = [len(each["seeds"]) - len(each.get("failed_seeds", ())) for each in summaries]
    for name in ("final_success_rate", "final_success_rate_deterministic"):
        rates = [np.nan if summary[name] is None else summary[name] for summary in summaries]
        merged[name] = np.average(rates, weights=nums)
    times = ("environment_steps", "wall_seconds", "training_seconds", "teacher_seconds")
    merged |= {name: sum(summary[name] or 0 for summary in summaries) for name in times}
    seconds, steps = merged["wall_seconds"], merged["environment_steps"]
    return merged | {"steps_per_second": steps / seconds if seconds else None}  # as in one run
