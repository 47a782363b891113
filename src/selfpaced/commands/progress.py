"""Progress of a run: a live panel in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from selfpaced.experiment import Experiment
from selfpaced.records import Array
from selfpaced.runs.processes import Listener
from selfpaced.runs.storage import Notes
from selfpaced.statistics import count_seeds
from selfpaced.studies.comparison import Cell, State

_SECONDS_BETWEEN_LINES = 10.0
_STATES: dict[State, str] = {
    "new": "starting",
    "unfinished": "resuming",
    "finished": "already finished",
}


class Progress(Listener):
    """Shows the progress events of a run."""

    def __init__(self, console: Console) -> None:
        """Print to a console; in a terminal, the panel is updated in place."""
        self.console = console
        self.live: Live | None = None

    def started(self, experiment: Experiment) -> None:
        """Show an empty panel, or a first line."""
        self.experiment = experiment
        self.latest: dict[int, Notes] = {}  # by block
        self.first: dict[int, tuple[float, int]] = {}  # time and iteration of the first report
        self.last: dict[int, tuple[float, int]] = {}
        self.last_line, self.shown = time.monotonic(), ""
        self.failed: set[int] = set()  # seeds
        if self.console.is_terminal:
            self.live = Live(self._panel(), console=self.console, refresh_per_second=5)
            self.live.start()
        else:
            self._print(f"{self._title()}: starting and compiling")

    def received(self, block: int, message: Notes) -> None:
        """Show advice at once, and the rest in the panel or in the next line."""
        if "advice" in message:
            self._show_advice(message)
        elif "failure" in message:
            failure = message["failure"]
            self.failed.add(failure["seed"])
            text = f"seed {failure['seed']} failed in iteration {failure['iteration']} and is set "
            self._print(f"[yellow]warning:[/] {text}aside: {escape(failure['reason'])}")
        elif "iteration" in message:
            self.latest[block] = {**self.latest.get(block, {}), **message}
            self.last[block] = (time.monotonic(), message["iteration"])
            if "train_return" in message:  # before the first iteration the worker compiles
                self.first.setdefault(block, self.last[block])
            self._refresh()

    def stopping(self) -> None:
        """Explain the delay until the current iteration ends."""
        self._print(
            "[yellow]stopping after the current iteration[/] (Ctrl-C: at once, with the last "
            "checkpoint)"
        )

    def ended(self) -> None:
        """Leave the last state on the screen."""
        if self.live:
            self.live.update(self._panel())
            self.live.stop()
            self.live = None
        elif (line := self._line()) != self.shown:
            self._print(line)

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def _refresh(self) -> None:
        if self.live:
            self.live.update(self._panel())
        elif time.monotonic() - self.last_line > _SECONDS_BETWEEN_LINES:
            self.last_line = time.monotonic()
            self.shown = self._line()
            self._print(self.shown)

    def _show_advice(self, message: Notes) -> None:
        text = escape(message["advice"])
        self._print(f"[yellow]warning[/] (iteration {message['iteration']}): {text}")

    def _iterations(self) -> tuple[int, int]:
        """Iterations of the slowest and of the fastest block."""
        messages = [message for message in self.latest.values() if message["num_seeds"]]
        num_seeds = sum(message["num_seeds"] for message in messages)
        # for a block that still compiles
        is_waiting = num_seeds + len(self.failed) < len(self.experiment.seeds)
        iterations = [message["iteration"] for message in messages] + [0] * is_waiting
        return min(iterations, default=0), max(iterations, default=0)

    def _mean(self, name: str) -> Array | None:
        """Mean over all seeds, in the latest messages of their blocks."""
        messages = [m for m in self.latest.values() if m.get(name) is not None and m["num_seeds"]]
        if not messages:
            return None
        weights = [message["num_seeds"] for message in messages]
        return np.average([message[name] for message in messages], axis=0, weights=weights)

    def _speed(self) -> tuple[float, float] | None:
        """Environment steps per second and seconds left; None before the second report."""
        steps_per_second, seconds_left = 0.0, 0.0
        for block, message in self.latest.items():
            left = self.experiment.iterations - message["iteration"]
            now, iteration = self.last[block]
            start_time, start = self.first.get(block, self.last[block])
            if left > 0 and iteration > start:
                per_second = (iteration - start) / (now - start_time)
                num_steps = self.experiment.steps_per_iteration * message["num_seeds"]
                steps_per_second += per_second * num_steps
                seconds_left = max(seconds_left, left / per_second)
        return (steps_per_second, seconds_left) if steps_per_second else None

    def _title(self) -> str:
        experiment = self.experiment
        names = f"{experiment.teacher_name} + {experiment.learner_name}"
        return f"{experiment.problem_name} · {names} · {count_seeds(len(experiment.seeds))}"

    def _figures(self) -> dict[str, str]:
        """Labels and values to show."""
        slowest, fastest = self._iterations()
        where = str(slowest) if slowest == fastest else f"{slowest} to {fastest}"
        figures = {"iteration": f"{where}/{self.experiment.iterations}"}
        for name, label, form in (
            ("train_return", "training return", "{:.2f}"),
            ("target_return", "target return", "{:.2f}"),
            ("target_success", "target success", "{:.0%}"),
            ("kl_to_target", "KL to target", "{:.4g}"),
        ):
            value = self._mean(name)
            if value is not None:
                figures[label] = form.format(value)
            elif name == "target_success" and any(name in one for one in self.latest.values()):
                figures[label] = "not reported"
        mean, std = self._mean("context_mean"), self._mean("context_std")
        if mean is not None and std is not None:
            for index, name in enumerate(self.experiment.resolved.contexts.names):
                figures[escape(name.replace("_", " "))] = f"{mean[index]:.2f} ± {std[index]:.2g}"
        if speed := self._speed():
            figures["steps/s"] = f"{speed[0]:,.0f}".replace(",", " ")
            figures["time left"] = (
                f"{speed[1]:.0f} s" if speed[1] < 120 else f"{speed[1] / 60:.0f} min"
            )
        return figures

    def _line(self) -> str:
        return " | ".join(f"{name} {value}" for name, value in self._figures().items())

    def _panel(self) -> Panel:
        figures = self._figures()
        table = Table.grid(padding=(0, 2))
        items = [f"[dim]{name}[/] [bold]{value}[/]" for name, value in figures.items()]
        for start in range(0, len(items), 4):
            table.add_row(*items[start : start + 4])
        outer = Table.grid(expand=True)
        outer.add_row(
            ProgressBar(total=self.experiment.iterations, completed=self._iterations()[0])
        )
        if not self.latest:
            outer.add_row("[dim]starting and compiling …[/]")
        outer.add_row(table)
        return Panel(outer, title=self._title(), border_style="blue")


def announcer(console: Console, num_cells: int) -> Callable[[int, Cell, State], None]:
    """Return a function that prints which of several cells is next."""

    def announce(place: int, cell: Cell, state: State) -> None:
        name = f"{cell.experiment.problem_name}, {cell.path.name}"
        text = f"[bold]cell {place} of {num_cells}[/] {name}: {_STATES[state]}"
        console.print(text, highlight=False, soft_wrap=True)

    return announce
