"""A run in the place of another: the old one goes only when the new one has come to something."""

from __future__ import annotations

import shutil
from pathlib import Path


def set_aside(path: Path) -> None:
    """Make room for a new run; what was here can come back."""
    forget_replaced(path)
    path.rename(_replaced(path))


def forget_replaced(path: Path) -> None:
    """The run here has come to something: the one that it replaces can go."""
    if _replaced(path).exists():
        shutil.rmtree(_replaced(path))


def withdraw(path: Path) -> None:
    """Delete the run here, which has come to nothing; the one that it was to replace returns."""
    if path.exists():
        shutil.rmtree(path)
    if _replaced(path).exists():
        _replaced(path).rename(path)


def _replaced(path: Path) -> Path:
    return path.with_name(f".{path.name}.replaced")
