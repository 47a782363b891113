"""What several figures have in common: choices of seeds, and marks of targets."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.reports.page.source import ContextBox, RunData


def by_place(options: Sequence[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return options by the place of a run, or of a problem, in its choice."""
    return {str(place): each for place, each in enumerate(options)}


def seed_names(run: RunData, every: str) -> dict[str, str]:
    """Return a choice of all seeds of a run that count, or one of them by its index."""
    seeds = run.counted_seeds
    names = {str(i): f"seed {seed}" for i, seed in enumerate(seeds)} if len(seeds) > 1 else {}
    return {every: "all"} | names


def star_size(box: ContextBox, alone: int) -> int:
    """Return the size of the stars of a target, which are smaller if there are many."""
    return alone if len(box.target) == 1 else alone // 2
