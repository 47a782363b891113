"""The command line: `selfpaced COMMAND ...`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version

from rich.console import Console

from selfpaced.commands.show import COMMANDS
from selfpaced.errors import SelfpacedError
from selfpaced.runs.supervisor import InterruptedRunError
from selfpaced.validation import require_choice


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command."""
    with told_plainly():
        _dispatch(list(sys.argv[1:] if arguments is None else arguments))


@contextmanager
def told_plainly() -> Iterator[None]:
    """The user's mistakes become one line on standard error, and so does Ctrl-C."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    try:
        yield
    except (SelfpacedError, OSError) as error:
        errors.print(f"[bold red]error:[/] {_escape(error)}")
        sys.exit(2)
    except InterruptedRunError as error:
        errors.print(f"[yellow]{_escape(error)}[/]")
        sys.exit(130)
    except KeyboardInterrupt:
        errors.print("[yellow]stopped[/]")
        sys.exit(130)


def _dispatch(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        _print_help()
        return
    if arguments[0] == "--version":
        print(f"selfpaced {version('selfpaced')}")
        return
    require_choice("command", arguments[0], COMMANDS)
    command: Callable[[list[str]], None] = COMMANDS[arguments[0]]
    command(arguments[1:])


def _print_help() -> None:
    console = Console(highlight=False, emoji=False)
    console.print("Automatic curricula for reinforcement learning over continuous contexts.\n")
    console.print("usage: selfpaced COMMAND ...     (selfpaced COMMAND --help tells more)\n")
    for name, command in COMMANDS.items():
        summary = (command.__doc__ or "").partition("\n")[0]
        console.print(f"  [bold]{name:<11}[/]{summary}", soft_wrap=True)


def _escape(error: BaseException) -> str:
    return str(error).replace("[", r"\[")


if __name__ == "__main__":
    main()
