from dataclasses import dataclass, replace

import numpy as np
import pytest

from selfpaced import PROBLEMS, RunFolder, SelfpacedError, neurips2020
from selfpaced.reports.recording import (
    Plan,
    RecordedEpisode,
    Recorder,
    VideoSettings,
    choose_size,
    open_recorder,
    plan_video,
)
from selfpaced.reports.video import FrameFile
from selfpaced.training.simulator import EpisodeBatch, Frame
from selfpaced.training.streams import Purpose
from tests.probes import Probe
from tests.reports.invented_runs import PROBE

NUM_STEPS = 7


class HalfDrawn(Probe):
    """An environment in JAX with a size, and nothing that draws."""

    picture_size = (40, 30)


@dataclass(frozen=True)
class Unseen:
    """A host environment without pictures."""

    observation_size: int = 2
    action_low: tuple[float, ...] = (-1.0,)
    action_high: tuple[float, ...] = (1.0,)
    min_episode_steps: int = 1
    max_episode_steps: int = 10
    max_side_by_side: int = 1

    def make(self, num_envs, num_threads=1):
        raise NotImplementedError


class StageTraining:
    """Has one successful episode of 7 steps; the brightness of its pictures counts the steps."""

    seeds = (3,)

    def __init__(self):
        self.asked, self.drawn = [], []

    def target_episodes(self, learners, iteration, num, purpose, *, noise_scales, show):
        self.asked.append((learners, iteration, num, purpose, noise_scales))
        for step in range(NUM_STEPS + 1):
            is_last = step == NUM_STEPS
            show(Frame(step, is_last, is_last, lambda width, height, step=step: self.draw(step)))
        one, yes = np.full((1, 1, 1), NUM_STEPS), np.ones((1, 1, 1), bool)
        return EpisodeBatch(np.zeros((1, 1, 2)), one, yes, yes, one, None, None)

    def draw(self, step):
        self.drawn.append(step)
        return np.full((16, 300, 3), 30 * step, np.uint8)


@pytest.fixture(name="frames")
def _frames(tmp_path):
    with (tmp_path / "frames").open("w+b") as file:
        yield FrameFile(file)


def recorder(training, frames, tmp_path, deterministic=False):
    plan = Plan(num_episodes=2, every=3, fps=5.0)
    return Recorder(
        training, "learners", tmp_path / "v.gif", (300, 16), plan, deterministic, frames
    )


def test_the_last_moment_is_always_recorded_and_only_needed_frames_are_drawn(frames, tmp_path):
    training, steps = StageTraining(), []
    episode = recorder(training, frames, tmp_path).record(1, lambda: steps.append(1))
    assert training.drawn == [0, 3, 6, 7]
    brightness = [int(frame[-1, -1, 0]) for frame in frames]
    assert brightness == [0, 90, 180, 210, 210, 210, 210]  # the end is shown for 0.8 s
    assert len(steps) == NUM_STEPS
    assert episode == RecordedEpisode("seed 3, episode 1 of 2", num_steps=7, success=True)
    assert episode.ending == "success"


@pytest.mark.parametrize(("deterministic", "scale"), [(False, 1.0), (True, 0.0)])
def test_every_episode_has_its_own_random_stream(frames, tmp_path, deterministic, scale):
    training = StageTraining()
    for number in (1, 2):
        recorder(training, frames, tmp_path, deterministic).record(number)
    assert training.asked == [("learners", n, 1, Purpose.REPORT, (scale,)) for n in (1, 2)]


def test_a_video_is_neither_long_nor_large(tmp_path):
    def plan(problem, rate, **settings):
        limit = neurips2020(problem).resolved.environment.max_episode_steps
        return plan_video(rate, limit, VideoSettings(**settings))

    assert (plan("ball-catching", 100).every, plan("ball-catching", 100).fps) == (4, 25)
    assert plan("ball-catching", 100).num_episodes == 5
    ant = plan("ant-gate", 20)
    assert ant.num_episodes == 1
    assert 750 / ant.every <= 250
    assert ant.every * ant.fps == 20
    assert plan("ant-gate", 20, out=tmp_path / "video.mp4").fps == 20
    assert plan("ball-catching", 100, fps=30).fps == 25  # whole steps, and at most 30
    assert plan("ball-catching", 100, speed=0.1, fps=10).every == 1


def test_a_missing_side_keeps_the_aspect_ratio():
    ant = PROBLEMS["ant-gate"]
    assert choose_size(ant, None, None) == (480, 360)
    assert choose_size(ant, 640, None) == (640, 480)
    assert choose_size(ant, None, 240) == (320, 240)
    assert choose_size(PROBLEMS["point-mass-2d"], None, None) == (400, 400)


def test_a_problem_without_pictures_is_reported_with_everything_it_needs(make_run):
    needed = r"'probe'; .* picture_size, steps_per_second and draw\(states, terminated\)"
    with pytest.raises(SelfpacedError, match=needed):
        choose_size(PROBE, None, None)
    half = replace(PROBE, environment=HalfDrawn())
    with pytest.raises(SelfpacedError, match=needed):
        choose_size(half, None, None)
    hosted = replace(PROBLEMS["ball-catching"], name="own", environment=Unseen())
    needed = r"'own'; .* picture_size, .* render_row\(index, width, height\)"
    with pytest.raises(SelfpacedError, match=needed):
        choose_size(hosted, None, None)
    run = make_run(problem="probe")
    with (
        pytest.raises(SelfpacedError, match="rendering is not implemented for 'probe'"),
        open_recorder(run, VideoSettings()),
    ):
        pass
    assert not run.figures.exists()


def test_an_unfinished_recording_leaves_no_files(make_run, tmp_path):
    out = tmp_path / "videos" / "video.gif"
    run = make_run(problem="point-mass-2d", seeds=(1,))
    with open_recorder(RunFolder(run.path), VideoSettings(out=out, width=32)) as recorder:
        recorder.record(1)
    assert not list(out.parent.iterdir())
