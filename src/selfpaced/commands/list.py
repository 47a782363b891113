"""The command `selfpaced list`."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from selfpaced.commands.options import parse
from selfpaced.experiment import find_part, part_names
from selfpaced.presets.neurips2020 import find_preset
from selfpaced.registry import PROBLEMS


@dataclass(frozen=True)
class Options:
    """Show all problems, teachers and learners."""


def main(arguments: list[str]) -> None:
    """Run the command."""
    parse("list", Options, arguments)
    console = Console(highlight=False, emoji=False)
    _show(console, "problems", {name: problem.summary for name, problem in PROBLEMS.items()})
    _show(console, "teachers", _summaries("teacher"))
    for problem in PROBLEMS:
        names = ", ".join(f"{name}-star" for name in find_preset(problem).starred)
        if names:
            console.print(f"  {names}: the paper's variants for {problem}", soft_wrap=True)
    _show(console, "learners", _summaries("learner"))


def _show(console: Console, title: str, summaries: dict[str, str]) -> None:
    console.print(f"[bold]{title}[/]")
    width = max(map(len, summaries))
    for name, summary in summaries.items():
        console.print(f"  {name:<{width}} {summary}", soft_wrap=True)


def _summaries(role: str) -> dict[str, str]:
    """First line of the docstring of every teacher or learner."""
    docstrings = {name: find_part(role, name).__doc__ or "" for name in part_names(role)}
    return {name: text.partition("\n")[0] for name, text in docstrings.items()}
