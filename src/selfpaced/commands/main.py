"""The command line: `selfpaced COMMAND ...`."""

from __future__ import annotations

import ast
import faulthandler
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from selfpaced.errors import InterruptedRunError, SelfpacedError
from selfpaced.runs.compilation import keep_compiled_programs
from selfpaced.validation import require_choice

_ORDER = (
    "list",
    "check",
    "advise",
    "train",
    "resume",
    "verify",
    "plot",
    "watch",
    "report",
    "dashboard",
    "export",
    "compare",
    "search",
    "reproduce",
)


class Command(NamedTuple):
    """Where a command is defined, and what it does."""

    module: str
    summary: str


def find_commands(folder: Path) -> dict[str, Command]:
    """Return the commands of a folder: files with a class `Options` and a function `main`.

    The summary is the first line of the docstring of `Options`. No file is imported, because the
    help must not load JAX. The usual commands come first, others follow by name.
    """
    commands = {}
    for path in folder.glob("*.py"):
        names = {
            statement.name: statement
            for statement in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(statement, ast.ClassDef | ast.FunctionDef)
        }
        if "main" in names and "Options" in names:
            summary = (ast.get_docstring(names["Options"]) or "").partition("\n")[0]
            commands[path.stem] = Command(f"selfpaced.commands.{path.stem}", summary)
    order = [*_ORDER, *sorted(commands)]
    return dict(sorted(commands.items(), key=lambda item: order.index(item[0])))


COMMANDS = find_commands(Path(__file__).parent)
"""Every command by name."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command."""
    if arguments is None:
        with suppress(AttributeError, ValueError, OSError):  # without a real standard error
            faulthandler.enable(all_threads=False)  # names the line of a crash in a user's code
    words = list(sys.argv[1:] if arguments is None else arguments)
    with reported_errors():
        if not words or words[0] in ("-h", "--help", "help"):
            _print_help()
        elif words[0] == "--version":
            print(f"selfpaced {version('selfpaced')}")
        else:
            require_choice("command", words[0], COMMANDS)
            command = import_module(COMMANDS[words[0]].module)
            if arguments is None:
                keep_compiled_programs()
            command.main(words[1:])


@contextmanager
def reported_errors() -> Iterator[None]:
    """Report a user's mistake in one line (exit code 2), and an interruption too (130).

    A closed pipe, as in `selfpaced list | head -1`, ends the program without a message (1).
    """
    errors = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    with _quiet_pipe():
        try:
            yield
        except BrokenPipeError:
            raise
        except (SelfpacedError, OSError) as error:
            errors.print(f"[bold red]error:[/] {escape(str(error))}")
            sys.exit(2)
        except InterruptedRunError as error:
            errors.print(f"[yellow]{escape(str(error))}[/]")
            sys.exit(130)
        except KeyboardInterrupt:
            errors.print("[yellow]stopped[/]")
            sys.exit(130)


@contextmanager
def _quiet_pipe() -> Iterator[None]:
    """Exit without a message if the reader of standard output has closed it."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, not when the interpreter exits: it would report the pipe
    except BrokenPipeError:
        with suppress(OSError, ValueError):  # a replaced standard output may have no descriptor
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _print_help() -> None:
    console = Console(highlight=False, emoji=False)
    console.print("Automatic curricula for reinforcement learning over continuous contexts.\n")
    console.print("usage: selfpaced COMMAND ...     (options: selfpaced COMMAND --help)\n")
    for name, command in COMMANDS.items():
        console.print(f"  [bold]{name:<11}[/]{escape(command.summary)}", soft_wrap=True)


if __name__ == "__main__":
    main()
