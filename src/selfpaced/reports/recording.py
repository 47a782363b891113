"""Recordings of a final policy on the target, for every problem whose episodes can be drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple, final

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from selfpaced.environments.base import HasPicture
from selfpaced.errors import SelfpacedError, require
from selfpaced.problems import Problem
from selfpaced.records import Array
from selfpaced.reports.video import FrameFile, require_folder, require_format, write_video
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.policies import final_learners
from selfpaced.training.jax_episodes import drawing_of
from selfpaced.training.loop import AnyLoop
from selfpaced.training.simulator import Frame
from selfpaced.training.streams import Purpose
from selfpaced.validation import require_picture_size, require_positive

MAX_FPS = 25.0  # frames per second, unless a user asks for more
MIN_FPS = 5.0  # unless a user asks for fewer
MAX_GIF_FRAMES = 250  # about 4 MB
MAX_SECONDS = 20.0
MAX_EPISODES = 5
PAUSE = 0.8  # seconds at the end of an episode
_MARGIN = 4  # pixels around a caption


@final
@dataclass(frozen=True)
class VideoSettings:
    """What to record and how; None leaves the choice to the recorder.

    Raises:
        SelfpacedError: a setting is out of range.

    Examples:
        >>> from selfpaced.reports.recording import VideoSettings
        >>> VideoSettings(episodes=2, speed=0.2).deterministic
        False
    """

    seed: int | None = None
    """seed of the policy; None takes the first seed"""
    episodes: int | None = None
    """number of episodes, each in a new target context; None takes 1 to 5 that fit into 20 s"""
    deterministic: bool = False
    """act without noise"""
    out: Path | None = None
    """FILE.gif or FILE.mp4; None writes RUN/figures/watch.gif"""
    width: int | None = None
    """pixels; None keeps the aspect ratio"""
    height: int | None = None
    """pixels; None keeps the aspect ratio"""
    fps: float | None = None
    """largest number of frames per second; None takes 25, or fewer in a long GIF"""
    speed: float = 1.0
    """1 is real time, 0.2 is five times as slow"""

    def __post_init__(self) -> None:
        require_positive(self, "speed")
        require(0.01 <= self.speed <= 100, f"speed must be from 0.01 to 100, got {self.speed}")
        require_positive(self, "episodes", "width", "height", "fps", none_allowed=True)


class Plan(NamedTuple):
    """The extent of a video."""

    num_episodes: int
    every: int  # steps per frame
    fps: float  # frames per second


class RecordedEpisode(NamedTuple):
    """The outcome of a recorded episode."""

    title: str
    num_steps: int
    success: bool

    @property
    def ending(self) -> str:
        """The success in words."""
        return _ending(self.success)


@final
@dataclass(frozen=True)
class Recorder:
    """Records episodes of one seed as frames on disk, and writes them as one video."""

    training: AnyLoop  # of this seed alone
    learners: object  # its final learner, with a leading axis of one seed
    out: Path
    size: tuple[int, int]  # width, height
    plan: Plan
    deterministic: bool
    frames: FrameFile

    def record(
        self, number: int, after_step: Callable[[], object] = lambda: None
    ) -> RecordedEpisode:
        """Record the episode with this number, from 1; its end is shown for a moment."""
        title = f"seed {self.training.seeds[0]}, episode {number} of {self.plan.num_episodes}"

        def show(frame: Frame) -> None:
            if frame.is_last:
                pause = max(round(PAUSE * self.plan.fps), 1)
                self._append(frame, f"{title}: {_ending(frame.success)}", pause)
            elif frame.step % self.plan.every == 0:
                self._append(frame, title)
            if frame.step > 0:
                after_step()

        episode = self.training.target_episodes(
            self.learners,
            number,
            1,
            Purpose.REPORT,
            noise_scales=(0.0 if self.deterministic else 1.0,),
            show=show,
        )
        first = (0, 0, 0)
        return RecordedEpisode(title, int(episode.length[first]), bool(episode.success[first]))

    def write(self) -> Path:
        """Write the video; return its path."""
        return write_video(self.out, self.frames, self.plan.fps)

    def _append(self, frame: Frame, caption: str, times: int = 1) -> None:
        picture = with_caption(frame.picture(*self.size), caption, self.size)
        for _ in range(times):
            self.frames.append(picture)


@contextmanager
def open_recorder(run: RunFolder, settings: VideoSettings) -> Iterator[Recorder]:
    """Give a recorder of a run's final policy, and release its resources afterwards.

    Raises:
        SelfpacedError: the run has no such seed, or its problem cannot be drawn, or no such video
            can be written.
    """
    experiment = run.experiment()
    out = settings.out or run.figures / "watch.gif"
    size = choose_size(experiment.resolved, settings.width, settings.height)
    require_format(out, settings.fps, size)
    seed = experiment.seeds[0] if settings.seed is None else settings.seed
    learners = final_learners(run, (seed,))
    require_folder(out)
    with experiment.training((seed,)) as training, TemporaryFile(dir=out.parent) as file:
        time_limit = experiment.resolved.environment.max_episode_steps
        plan = plan_video(training.steps_per_second, time_limit, settings)
        yield Recorder(training, learners, out, size, plan, settings.deterministic, FrameFile(file))


def choose_size(problem: Problem, width: int | None, height: int | None) -> tuple[int, int]:
    """Return width and height; a missing one keeps the aspect ratio of the problem's pictures.

    Raises:
        SelfpacedError: the problem cannot be drawn, or not at this size.
    """
    own_width, own_height = _pictured(problem).picture_size
    if width is None:
        width = own_width if height is None else round(height * own_width / own_height)
    height = round(width * own_height / own_width) if height is None else height
    require_picture_size(width, height)
    return width, height


def plan_video(steps_per_second: float, time_limit: int, settings: VideoSettings) -> Plan:
    """Return the extent of a video that is neither long nor large, where settings leave a choice.

    Args:
        steps_per_second: environment steps in a second of simulated time.
        time_limit: steps in the longest episode.
        settings: what a user asks for.
    """
    rate = steps_per_second * settings.speed  # steps in a second of the video
    longest = time_limit / rate
    num_episodes = settings.episodes
    if num_episodes is None:
        num_episodes = min(max(int(MAX_SECONDS / longest), 1), MAX_EPISODES)
    fps = settings.fps
    if fps is None:
        is_gif = settings.out is None or settings.out.suffix.lower() == ".gif"  # MP4 stays small
        most = MAX_GIF_FRAMES if is_gif else math.inf
        fps = min(max(most / (num_episodes * longest), MIN_FPS), MAX_FPS)
    every = max(math.ceil(rate / fps - 1e-9), 1)
    return Plan(num_episodes, every, rate / every)


def with_caption(picture: Array, caption: str, size: tuple[int, int]) -> Array:
    """Return a picture of this size (width, height), with a caption in its upper left corner."""
    image = Image.fromarray(picture)
    if image.size != size:
        image = image.resize(size, Image.Resampling.LANCZOS)
    pencil, font = ImageDraw.Draw(image), ImageFont.load_default(max(size[1] / 22, 10))
    left, top, right, bottom = pencil.textbbox((2 * _MARGIN, 2 * _MARGIN), caption, font)
    box = (left - _MARGIN, top - _MARGIN, right + _MARGIN, bottom + _MARGIN)
    pencil.rectangle(box, fill="white")
    pencil.text((2 * _MARGIN, 2 * _MARGIN), caption, "#222222", font)
    return np.asarray(image)


def _pictured(problem: Problem) -> HasPicture:
    """Return the environment; if it cannot be drawn, the error lists everything that is needed."""
    environment = problem.environment
    if not problem.is_hosted:
        return drawing_of(problem)
    if not isinstance(environment, HasPicture):
        raise SelfpacedError(
            f"rendering is not implemented for {problem.name!r}; give its environment "
            "picture_size, and the vector that it makes render_row(index, width, height)"
        )
    return environment


def _ending(success: bool) -> str:
    return "success" if success else "no success"
