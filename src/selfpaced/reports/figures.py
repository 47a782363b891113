"""All pictures of a run, or of several runs together."""

from __future__ import annotations

from pathlib import Path

from selfpaced.run_folder import RunFolder


def draw_run(folder: RunFolder, out: Path | None = None) -> list[Path]:
    """Draw every figure of one run; returns where they are."""
    return []


def draw_together(folders: list[RunFolder], out: Path) -> list[Path]:
    """Draw several runs on one axis."""
    return []
