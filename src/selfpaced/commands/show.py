"""What each command does."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from selfpaced.commands.compare import compare_command
from selfpaced.commands.progress import Progress
from selfpaced.commands.reproduce import reproduce_command
from selfpaced.commands.search import search_command
from selfpaced.commands.train import show_outcome, train_command
from selfpaced.commands.watch import watch_command
from selfpaced.learners import LEARNERS
from selfpaced.presets.neurips2020 import STARRED
from selfpaced.problems import PROBLEMS
from selfpaced.reports import draw_run, draw_together
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.supervisor import resume
from selfpaced.teachers import TEACHERS


def list_command(arguments: list[str]) -> None:
    """Show the problems, teachers and learners there are."""
    argparse.ArgumentParser("selfpaced list", description=list_command.__doc__).parse_args(
        arguments
    )
    console = Console(highlight=False, emoji=False)
    described = (
        ("problems", {name: problem.summary for name, problem in PROBLEMS.items()}),
        ("teachers", {name: _summary(kind) for name, kind in TEACHERS.items()}),
        ("learners", {name: _summary(kind) for name, kind in LEARNERS.items()}),
    )
    for title, entries in described:
        console.print(f"[bold]{title}[/]")
        for name, summary in entries.items():
            console.print(f"  {name:<15} {summary}", soft_wrap=True)
        if title == "teachers":
            for problem, starred in STARRED.items():
                names = ", ".join(f"{name}-star" for name in starred)
                console.print(f"  {names}: the paper's variants for {problem}", soft_wrap=True)


def resume_command(arguments: list[str]) -> None:
    """Go on with a run that was stopped or killed."""
    parser = argparse.ArgumentParser("selfpaced resume", description=resume_command.__doc__)
    parser.add_argument("folder", type=Path, help="the run folder")
    console = Console(emoji=False)
    show_outcome(console, resume(parser.parse_args(arguments).folder, Progress(console)))


def plot_command(arguments: list[str]) -> None:
    """Draw the figures of a run again, or several runs on one axis."""
    parser = argparse.ArgumentParser("selfpaced plot", description=plot_command.__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="run folders")
    where = "folder for the pictures; otherwise DIR/figures, or ./figures for several runs"
    parser.add_argument("--out", type=Path, help=where)
    options = parser.parse_args(arguments)
    folders = [RunFolder(path) for path in options.folders]
    for folder in folders:
        folder.catch_up()
    if len(folders) == 1:
        pictures = draw_run(folders[0], options.out)
    else:
        pictures = draw_together(folders, options.out or Path("figures"))
    for picture in pictures:
        print(picture)


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "list": list_command,
    "train": train_command,
    "resume": resume_command,
    "plot": plot_command,
    "watch": watch_command,
    "compare": compare_command,
    "search": search_command,
    "reproduce": reproduce_command,
}
