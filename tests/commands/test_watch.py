import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from selfpaced import EpisodicPolicy, SelfpacedError, neurips2020
from selfpaced.commands.main import main
from selfpaced.commands.watch import watch
from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.reports.recording import VideoSettings
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.runs.export import export
from selfpaced.runs.policies import final_learners
from selfpaced.runs.replacement import create_run
from selfpaced.training.streams import Purpose
from tests.reports.invented_runs import invented_run


def has_graphics():
    if find_spec("mujoco") is None:
        return False
    arms = BallCatching().make(1)
    try:
        arms.render_row(0, 32, 24)
    except SelfpacedError:
        return False
    finally:
        arms.close()
    return True


needs_graphics = pytest.mark.skipif(not has_graphics(), reason="needs mujoco and OpenGL")


@pytest.fixture(scope="module", name="mass")
def _mass(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "mass"
    return invented_run(path, problem="point-mass-2d", seeds=(3, 5))


@pytest.fixture(scope="module", name="sprl")
def _sprl(tmp_path_factory):
    """SPRL before its first update: weights are standard normal."""
    plain = neurips2020("point-mass-2d", "sprl", seeds=(1,))
    experiment = replace(plain, iterations=1).with_parts(learner=EpisodicPolicy(hidden=(2,)))
    folder = create_run(tmp_path_factory.mktemp("runs") / "sprl", experiment, [(1,)])
    with experiment.training((1,)) as training:
        checkpoint = Checkpoint.start(training, experiment)
        contexts = training.sample_contexts(checkpoint.state, 0)
        episodes = training.target_episodes(checkpoint.state.learner, 0, 2)
    checkpoint.history.record_evaluation(0, episodes, contexts, [None])
    checkpoint.history.record_iteration(1, [{"learner/loss": 1.0}])
    folder.files()[0].save(checkpoint)
    export(folder, 1.0)
    return folder


def read(path):
    with Image.open(path) as video:
        video.load()
        durations = []
        for frame in range(video.n_frames):
            video.seek(frame)
            durations.append(video.info["duration"])
        return video.size, durations


def quietly(run, **settings):
    return watch(run, VideoSettings(**settings), Console(quiet=True))


def test_the_point_mass_is_shown_in_real_time(mass, capsys):
    main(["watch", str(mass.path), "--episodes", "1"])
    lines = capsys.readouterr().out.splitlines()
    path = mass.figures / "watch.gif"
    assert lines[-1] == str(path)
    steps = int(lines[0].split()[-2])
    size, durations = read(path)
    assert size == (400, 400)
    assert sum(durations) == 100 * steps + 800  # ten steps a second, and a pause
    assert lines[0].startswith("seed 3, episode 1 of 1: no success after")


def test_slow_motion_takes_longer_and_a_size_is_kept(mass, tmp_path):
    out = tmp_path / "slow.gif"
    quietly(mass, episodes=1, speed=0.5, width=64, height=48, seed=5, out=out)
    fast = tmp_path / "fast.gif"
    quietly(mass, episodes=1, width=64, seed=5, out=fast)
    (size, slow), (square, quick) = read(out), read(fast)
    assert (size, square) == ((64, 48), (64, 64))
    assert sum(slow) - 800 == 2 * (sum(quick) - 800)


def test_the_same_command_makes_the_same_video(mass, tmp_path):
    one, two = (
        quietly(mass, episodes=1, width=32, out=tmp_path / name) for name in ("one.gif", "two.gif")
    )
    assert one.read_bytes() == two.read_bytes()
    other = quietly(mass, episodes=1, width=32, deterministic=True, out=tmp_path / "three.gif")
    assert one.read_bytes() != other.read_bytes()


def test_the_policy_of_sprl_draws_its_weights_once(sprl, tmp_path):
    drawn, mean = (
        quietly(sprl, episodes=1, width=32, deterministic=deterministic, out=tmp_path / name)
        for deterministic, name in ((False, "drawn.gif"), (True, "mean.gif"))
    )
    assert read(drawn)[0] == read(mean)[0] == (32, 32)
    assert drawn.read_bytes() != mean.read_bytes()
    with sprl.experiment().training((1,)) as training:
        path = training.target_episodes(
            final_learners(sprl, (1,)), 1, 1, Purpose.REPORT, keep_path=True
        ).path
    # actions are fixed functions of the observation, which hardly changes in the first steps
    drawn_acceleration, mean_acceleration = 10.0 * np.diff(path[0, :, 0, :5][..., (1, 3)], axis=1)
    np.testing.assert_allclose(drawn_acceleration, drawn_acceleration[:1].repeat(4, 0), atol=0.1)
    assert np.abs(drawn_acceleration).max() > 1.0
    np.testing.assert_allclose(mean_acceleration, 0.0, atol=0.1)  # mean weights are zero


@needs_graphics
@pytest.mark.parametrize(
    ("problem", "environment", "seconds"),
    [("ball-catching", BallCatching(max_episode_steps=12), 0.12), ("ant-gate", AntGate(8), 0.4)],
)
def test_robots_are_shown_in_real_time(tmp_path, problem, environment, seconds):
    run = invented_run(tmp_path / "run", problem=problem, environment=environment, seeds=(1,))
    size, durations = read(quietly(run, episodes=2, width=64))
    assert size == (64, 48)
    pictures = len(durations) - 2  # without the pauses
    assert pictures >= 4
    assert sum(durations) / 1000 == pytest.approx(2 * (seconds + 0.8), abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "4"], "seed must be one of 3, 5 in"),
        (["--out", "video.mov"], "ends in .gif or .mp4, got video.mov"),
        (["--out", "/proc/nothing/video.gif"], "cannot create the folder /proc/nothing"),
        (["--fps", "100"], "fps of a GIF must be at most 50, got 100"),
        (["--width", "3"], "between 16 and 4096 pixels"),
        (["--episodes", "0"], "episodes must be positive"),
        (["--speed", "1000"], "speed must be from 0.01 to 100"),
    ],
)
def test_a_mistake_is_reported_without_a_traceback(mass, capsys, arguments, message):
    assert message in failure(capsys, mass.path, *arguments)


def failure(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["watch", *map(str, arguments)])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return " ".join(error.split())


def test_a_missing_run_and_a_run_without_policies_have_different_messages(capsys, tmp_path):
    assert "is /nowhere a run folder?" in failure(capsys, "/nowhere")
    experiment = neurips2020("point-mass-2d", seeds=(1,))
    create_run(tmp_path / "young", experiment, [(1,)])
    assert "has no saved iteration yet" in failure(capsys, tmp_path / "young")


@pytest.mark.skipif(find_spec("mujoco") is None, reason="needs mujoco")
def test_without_opengl_the_message_names_what_is_missing(tmp_path):
    brief = BallCatching(max_episode_steps=5)
    run = invented_run(tmp_path / "run", problem="ball-catching", environment=brief, seeds=(1,))
    program = "import sys; from selfpaced.commands.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "watch", str(run.path)]
    environment = {**os.environ, "MUJOCO_GL": "disable"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "rendering requires OpenGL" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (run.figures / "watch.gif").exists()
