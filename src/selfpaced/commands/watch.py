"""The command `selfpaced watch`: a video of a run's final policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, final

import tyro
from rich.console import Console
from rich.progress import Progress, TaskID

from selfpaced.commands.options import parse
from selfpaced.reports.recording import VideoSettings, open_recorder
from selfpaced.runs.export import catch_up
from selfpaced.runs.folder import RunFolder


@final
@dataclass(frozen=True)
class Options:
    """Make a video of a run's final policy on the target."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the run folder"""
    trust: bool = False
    """import the modules that the folder names: only if you would run its author's code"""
    video: Annotated[VideoSettings, tyro.conf.arg(name="")] = field(default_factory=VideoSettings)


def main(arguments: list[str]) -> None:
    """Run the command."""
    options = parse("watch", Options, arguments)
    console = Console(highlight=False, soft_wrap=True, emoji=False)
    print(watch(RunFolder(options.run, options.trust), options.video, console))


def watch(run: RunFolder, settings: VideoSettings, console: Console) -> Path:
    """Record and write a video, and report every episode; return the path of the video."""
    catch_up(run)
    with open_recorder(run, settings) as recorder:
        plan = recorder.plan
        limit = recorder.training.problem.environment.max_episode_steps
        with _progress(console, plan.num_episodes * limit) as (bar, task):
            for number in range(1, plan.num_episodes + 1):
                episode = recorder.record(number, partial(bar.advance, task))
                console.print(f"{episode.title}: {episode.ending} after {episode.num_steps} steps")
                bar.update(task, completed=number * limit)
        path = recorder.write()
        seconds = len(recorder.frames) / plan.fps
    megabytes = path.stat().st_size / 1e6
    console.print(f"{seconds:.0f} s, {plan.fps:.3g} frames per second, {megabytes:.2g} MB")
    return path


@contextmanager
def _progress(console: Console, num_steps: int) -> Iterator[tuple[Progress, TaskID]]:
    """A transient bar; outside a terminal, only the lines about episodes appear."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        yield bar, bar.add_task("recording", total=num_steps)
