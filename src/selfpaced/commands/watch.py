"""The command `selfpaced watch`: a film of what a run has learned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.progress import Progress, TaskID

from selfpaced.environments.point_mass import PointMass
from selfpaced.environments.point_mass_picture import SIZE
from selfpaced.errors import require
from selfpaced.experiment import Experiment
from selfpaced.reports.frames import film_episode, finish_picture, open_face
from selfpaced.reports.video import Reel, require_format, require_room, write_film
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.policies import final_learner
from selfpaced.training.streams import Purpose, host_stream
from selfpaced.validation import require_picture_size, require_positive

ROBOT_SIZE = 480, 360  # width, height
SMOOTH = 25.0  # pictures a second
JERKY = 5.0  # no film has fewer unless it is told to
MOST_PICTURES = 250  # about 4 MB of GIF
ENOUGH_SECONDS = 20.0
MOST_EPISODES = 5
PAUSE = 0.8  # seconds at the end of an episode


@dataclass(frozen=True)
class WatchOptions:
    """Which policy to watch, and where the film goes."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the run folder"""
    seed: int | None = None
    """whose policy; None: that of the first seed"""
    episodes: int | None = None
    """how many, each in a new target context; None: what fits into 20 s, from 1 to 5"""
    deterministic: bool = False
    """act without randomness"""
    out: Path | None = None
    """FILE.gif or FILE.mp4; None: RUN/figures/watch.gif"""
    width: int | None = None
    """pixels"""
    height: int | None = None
    """pixels"""
    fps: float | None = None
    """pictures a second at most; None: 25, fewer in a long GIF"""
    speed: float = 1.0
    """1: as in life, 0.2: five times as slow"""

    def __post_init__(self) -> None:
        require_positive(self, "speed")
        require(0.01 <= self.speed <= 100, f"speed must be from 0.01 to 100, got {self.speed}")
        require_positive(self, "episodes", "width", "height", "fps", none_allowed=True)


def watch_command(arguments: list[str]) -> None:
    """Make a film of a run's final policy on the target."""
    options = tyro.cli(
        WatchOptions, args=arguments, prog="selfpaced watch", description=watch_command.__doc__
    )
    path = watch(options, Console(highlight=False, soft_wrap=True, emoji=False))
    print(path)


def watch(options: WatchOptions, console: Console) -> Path:
    """Film, and write the film; returns where it is."""
    folder = RunFolder(options.run)
    folder.catch_up()
    out = options.out or folder.figures / "watch.gif"
    experiment = folder.experiment()
    size = choose_size(experiment, options.width, options.height)
    require_format(out, options.fps, size)
    seed = experiment.seeds[0] if options.seed is None else options.seed
    state = final_learner(folder, seed)
    require_room(out)
    with closing(open_face(experiment, *size)) as face, TemporaryFile(dir=out.parent) as file:
        reel = Reel(file)
        plan = plan_film(experiment, face.metadata["render_fps"], options)
        rngs = host_stream(seed, 0, Purpose.REPORT).spawn(plan.num_episodes)
        limit = _time_limit(experiment)
        with _progress(console, plan.num_episodes * limit) as (bar, task):
            for number, rng in enumerate(rngs, start=1):
                title = f"seed {seed}, episode {number} of {plan.num_episodes}"
                show = partial(_show, reel, size, title)
                scene = film_episode(
                    face, experiment, state, rng, plan.every, show, options.deterministic,
                    partial(bar.advance, task),
                )  # fmt: skip
                ending = "success" if scene.success else "no success"
                pause = max(round(PAUSE * plan.fps), 1)  # one wants to see how it ended
                _show(reel, size, f"{title}: {ending}", scene.last_picture, pause)
                console.print(f"{title}: {ending} after {scene.num_steps} steps")
                bar.update(task, completed=number * limit)
        write_film(out, reel, plan.fps)
    seconds, megabytes = len(reel) / plan.fps, out.stat().st_size / 1e6
    console.print(f"{seconds:.0f} s, {plan.fps:.3g} pictures a second, {megabytes:.2g} MB")
    return out


@dataclass(frozen=True)
class Plan:
    """How much to film."""

    num_episodes: int
    every: int  # steps per picture
    fps: float  # pictures a second


def plan_film(experiment: Experiment, steps_per_second: float, options: WatchOptions) -> Plan:
    """Whatever was not asked for such that the film is neither long nor large."""
    rate = steps_per_second * options.speed  # steps in a second of the film
    longest = _time_limit(experiment) / rate
    num_episodes = options.episodes
    if num_episodes is None:
        num_episodes = min(max(int(ENOUGH_SECONDS / longest), 1), MOST_EPISODES)
    fps = options.fps
    if fps is None:
        is_gif = options.out is None or options.out.suffix.lower() == ".gif"  # MP4 stays small
        most = MOST_PICTURES if is_gif else math.inf
        fps = min(max(most / (num_episodes * longest), JERKY), SMOOTH)
    every = max(math.ceil(rate / fps - 1e-9), 1)
    return Plan(num_episodes, every, rate / every)


def choose_size(experiment: Experiment, width: int | None, height: int | None) -> tuple[int, int]:
    """Width and height; what is missing keeps the shape of the picture."""
    is_mass = isinstance(experiment.resolve_problem().environment, PointMass)
    own_width, own_height = (SIZE, SIZE) if is_mass else ROBOT_SIZE
    if width is None:
        width = own_width if height is None else round(height * own_width / own_height)
    height = round(width * own_height / own_width) if height is None else height
    require_picture_size(width, height)
    return width, height


def _time_limit(experiment: Experiment) -> int:
    return experiment.resolve_problem().environment.max_episode_steps


@contextmanager
def _progress(console: Console, total: int) -> Iterator[tuple[Progress, TaskID]]:
    """A bar that goes away; off a terminal there are only the lines about the episodes."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        yield bar, bar.add_task("filming", total=total)


def _show(reel: Reel, size: tuple[int, int], caption: str, picture: Any, times: int = 1) -> None:
    finished = finish_picture(picture, caption, size)
    for _ in range(times):
        reel.append(finished)
