"""The command line: `selfpaced COMMAND ...`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version

from rich.console import Console
from rich.markup import escape

from selfpaced.errors import InterruptedRunError, SelfpacedError
from selfpaced.validation import require_choice

# modules are imported when their command is used: the help must not load JAX
COMMANDS = {
    "list": ("selfpaced.commands.list", "Show all problems, teachers and learners."),
    "train": (
        "selfpaced.commands.train",
        "Train a learner with a teacher on a problem, several seeds at once.",
    ),
    "resume": ("selfpaced.commands.resume", "Continue a run that was stopped or killed."),
    "plot": (
        "selfpaced.commands.plot",
        "Draw the figures of a run again, or several runs in one figure.",
    ),
    "watch": (
        "selfpaced.commands.watch",
        "Make a video of a run's final policy on the target.",
    ),
    "compare": (
        "selfpaced.commands.compare",
        "Train every teacher with every learner on a problem, and compare the results.",
    ),
    "search": (
        "selfpaced.commands.search",
        "Search a teacher's settings over the paper's grid, and write the best as a preset.",
    ),
    "reproduce": (
        "selfpaced.commands.reproduce",
        "Reproduce a result of the paper, and show it beside the published one.",
    ),
}
"""Module and one-line summary of every command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help", "help"):
        _print_help()
    elif words[0] == "--version":
        print(f"selfpaced {version('selfpaced')}")
    else:
        with reported_errors():
            require_choice("command", words[0], COMMANDS)
            module, _ = COMMANDS[words[0]]
            import_module(module).main(words[1:])


@contextmanager
def reported_errors() -> Iterator[None]:
    """Report a user's mistake in one line (exit code 2), and an interruption too (130)."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    try:
        yield
    except (SelfpacedError, OSError) as error:
        errors.print(f"[bold red]error:[/] {escape(str(error))}")
        sys.exit(2)
    except InterruptedRunError as error:
        errors.print(f"[yellow]{escape(str(error))}[/]")
        sys.exit(130)
    except KeyboardInterrupt:
        errors.print("[yellow]stopped[/]")
        sys.exit(130)


def _print_help() -> None:
    console = Console(highlight=False, emoji=False)
    console.print("Automatic curricula for reinforcement learning over continuous contexts.\n")
    console.print("usage: selfpaced COMMAND ...     (options: selfpaced COMMAND --help)\n")
    for name, (_, summary) in COMMANDS.items():
        console.print(f"  [bold]{name:<11}[/]{summary}", soft_wrap=True)


if __name__ == "__main__":
    main()
