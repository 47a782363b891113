import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import jax
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from selfpaced import RunFolder, SelfpacedError, neurips2020
from selfpaced.commands.main import main
from selfpaced.commands.watch import WatchOptions, choose_size, plan_film, watch
from selfpaced.environments.ant_gate import AntGate
from selfpaced.environments.ball_catching import BallCatching
from selfpaced.learners import EpisodicPolicy
from selfpaced.reports.frames import Scene, choose_policy, film_episode
from selfpaced.runs.checkpoint import Checkpoint
from tests.reports.conftest import invented_run


def has_graphics():
    if find_spec("mujoco") is None:
        return False
    worlds = BallCatching().make(1)
    try:
        worlds.render_row(0, 32, 24)
    except SelfpacedError:
        return False
    finally:
        worlds.close()
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
    experiment = replace(plain, learner=EpisodicPolicy(hidden=(2,)), iterations=1)
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "sprl", experiment, [(1,)])
    training = experiment.training((1,))
    checkpoint = Checkpoint.begin(training, experiment)
    contexts = training.sample_contexts(checkpoint.state, 0)
    evaluation = training.evaluate(checkpoint.state, 0, 2)
    checkpoint.history.record_evaluation(0, evaluation, contexts, [None])
    checkpoint.history.record_iteration(1, [{"learner/loss": 1.0}])
    checkpoint.save(folder.checkpoint_path(0))
    folder.export(1.0)
    return folder


def read(path):
    with Image.open(path) as film:
        film.load()
        durations = []
        for frame in range(film.n_frames):
            film.seek(frame)
            durations.append(film.info["duration"])
        return film.size, durations


def quietly(run, **options):
    return watch(WatchOptions(run.path, **options), Console(quiet=True))


def test_the_point_mass_is_shown_at_life_speed(mass, capsys):
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


def test_the_same_command_makes_the_same_film(mass, tmp_path):
    one, two = (
        quietly(mass, episodes=1, width=32, out=tmp_path / name) for name in ("one.gif", "two.gif")
    )
    assert one.read_bytes() == two.read_bytes()
    other = quietly(mass, episodes=1, width=32, deterministic=True, out=tmp_path / "three.gif")
    assert one.read_bytes() != other.read_bytes()


def test_the_policy_of_sprl_draws_its_weights_once(sprl, tmp_path):
    experiment = sprl.experiment()
    state = jax.tree.map(lambda leaf: leaf[0], sprl.learner_states())
    context, seen = np.array([2.5, 0.5]), np.array([0.1, 0.2, 3.0, -1.0, 2.5, 0.5], np.float32)

    def act(deterministic):
        rng = np.random.default_rng(0)
        return choose_policy(experiment, state, rng, context, deterministic)

    drawn = act(deterministic=False)
    np.testing.assert_array_equal(drawn(seen), drawn(seen))
    assert np.abs(drawn(seen)).max() > 0
    np.testing.assert_array_equal(act(deterministic=True)(seen), [0.0, 0.0])  # mean weights
    size, _ = read(quietly(sprl, episodes=1, width=32, out=tmp_path / "sprl.gif"))
    assert size == (32, 32)


class Stage:
    """Stands in for an environment that is over after 7 steps; its pictures count the steps."""

    def reset(self, seed, options):
        self.steps = 0
        return np.zeros(6, np.float32), {}

    def step(self, action):
        assert (np.abs(action) <= 10.0).all()
        self.steps += 1
        return np.zeros(6, np.float32), 1.0, self.steps == 7, False, {"success": self.steps == 7}

    def render(self):
        return self.steps


def test_the_last_moment_is_always_on_film(mass):
    experiment = mass.experiment()
    state = jax.tree.map(lambda leaf: leaf[0], mass.learner_states())
    rng, shown = np.random.default_rng(0), []
    scene = film_episode(Stage(), experiment, state, rng, every=3, show=shown.append)
    assert shown == [0, 3, 6]
    assert scene == Scene(num_steps=7, success=True, last_picture=7)


def test_a_film_is_neither_long_nor_large(tmp_path):
    def plan(problem, rate, **options):
        return plan_film(neurips2020(problem), rate, WatchOptions(tmp_path, **options))

    assert (plan("ball-catching", 100).every, plan("ball-catching", 100).fps) == (4, 25)
    assert plan("ball-catching", 100).num_episodes == 5
    ant = plan("ant-gate", 20)
    assert ant.num_episodes == 1
    assert 750 / ant.every <= 250
    assert ant.every * ant.fps == 20
    assert plan("ant-gate", 20, out=tmp_path / "film.mp4").fps == 20
    assert plan("ball-catching", 100, fps=30).fps == 25  # whole steps, and no more than 30
    assert plan("ball-catching", 100, speed=0.1, fps=10).every == 1


def test_what_is_missing_of_a_size_keeps_the_shape():
    ant = neurips2020("ant-gate")
    assert choose_size(ant, None, None) == (480, 360)
    assert choose_size(ant, 640, None) == (640, 480)
    assert choose_size(ant, None, 240) == (320, 240)


@needs_graphics
@pytest.mark.parametrize(
    ("problem", "environment", "seconds"),
    [("ball-catching", BallCatching(max_episode_steps=12), 0.12), ("ant-gate", AntGate(8), 0.4)],
)
def test_robots_are_shown_at_life_speed(tmp_path, problem, environment, seconds):
    run = invented_run(tmp_path / "run", problem=problem, environment=environment, seeds=(1,))
    size, durations = read(quietly(run, episodes=2, width=64))
    assert size == (64, 48)
    pictures = len(durations) - 2  # without those that last
    assert pictures >= 4
    assert sum(durations) / 1000 == pytest.approx(2 * (seconds + 0.8), abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "4"], "has the seeds 3, 5, got 4"),
        (["--out", "film.mov"], "ends in .gif or .mp4, got film.mov"),
        (["--out", "/proc/nothing/film.gif"], "cannot make the folder /proc/nothing"),
        (["--fps", "100"], "at most 50 pictures a second"),
        (["--width", "3"], "between 16 and 4096 pixels"),
        (["--episodes", "0"], "episodes must be positive"),
        (["--speed", "1000"], "speed must be from 0.01 to 100"),
    ],
)
def test_a_mistake_gets_a_message_and_no_traceback(mass, capsys, arguments, message):
    assert message in failure(capsys, mass.path, *arguments)


def failure(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["watch", *map(str, arguments)])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return " ".join(error.split())


def test_a_run_that_is_not_there_or_has_no_policies_is_told_apart(capsys, tmp_path):
    assert "is /nowhere a run folder?" in failure(capsys, "/nowhere")
    experiment = neurips2020("point-mass-2d", seeds=(1,))
    RunFolder.create(tmp_path / "young", experiment, [(1,)])
    assert "has no saved iteration yet" in failure(capsys, tmp_path / "young")


@pytest.mark.skipif(find_spec("mujoco") is None, reason="needs mujoco")
def test_without_opengl_it_says_what_is_missing(tmp_path):
    brief = BallCatching(max_episode_steps=5)
    run = invented_run(tmp_path / "run", problem="ball-catching", environment=brief, seeds=(1,))
    program = "import sys; from selfpaced.commands.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "watch", str(run.path)]
    environment = {**os.environ, "MUJOCO_GL": "disable"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "pictures need OpenGL" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (run.figures / "watch.gif").exists()
