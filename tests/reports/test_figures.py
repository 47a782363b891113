import subprocess
import sys
from dataclasses import replace

import pytest

from selfpaced import PROBLEMS, RunFolder, SelfpacedError
from selfpaced.errors import MissingPartError
from selfpaced.reports import trajectories
from selfpaced.reports.curricula import draw_contexts
from selfpaced.reports.figures import draw_run, draw_together
from selfpaced.reports.names import name_runs
from selfpaced.reports.problem_figure import ProblemFigure, find_figure
from selfpaced.reports.style import new_figure
from tests.reports import invented_runs
from tests.reports.invented_runs import PROBE

PNG = b"\x89PNG\r\n\x1a\n"


def test_figures_of_a_run_are_in_its_folder(make_run):
    run = make_run()
    pictures = draw_run(run)
    assert [path.relative_to(run.path).as_posix() for path in pictures] == [
        "figures/learning_curve.png",
        "figures/contexts.png",
        "figures/trajectories.png",
    ]
    assert all(path.read_bytes().startswith(PNG) for path in pictures)
    assert len(list(run.figures.iterdir())) == 3  # no temporary files


def test_figures_can_go_to_another_folder(make_run, tmp_path):
    pictures = draw_run(make_run(problem="probe"), tmp_path / "some" / "where")
    assert [path.name for path in pictures] == ["learning_curve.png", "contexts.png"]
    assert {path.parent for path in pictures} == {tmp_path / "some" / "where"}


def test_every_problem_has_figures_of_its_own():
    own = {
        name: [find_figure(place).name for place in problem.figures]
        for name, problem in PROBLEMS.items()
    }
    assert own == {
        "point-mass-3d": ["trajectories"],
        "point-mass-2d": ["trajectories"],
        "point-mass-2d-bimodal": ["trajectories"],
        "point-mass-6d": [],
        "point-mass-6d-bimodal": [],
        "goal-maze": [],
        "ball-catching": ["catching_plane", "catching_rate"],
        "ant-gate": ["x_position"],
        "lunar-lander": [],
        "stump-tracks": [],
    }


def test_an_unfinished_run_has_all_its_figures(make_run):
    assert len(draw_run(make_run(reached=[12, 7, 10]))) == 3


def test_figures_are_the_same_bytes_every_time(make_run, tmp_path):
    run = make_run()
    for one, two in zip(draw_run(run), draw_run(run, tmp_path / "again"), strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_several_runs_are_drawn_together(make_run, tmp_path):
    folders = [make_run("a"), make_run("b", teacher="random"), make_run("c", problem="probe")]
    pictures = draw_together(folders, tmp_path / "together")
    names = [path.name for path in pictures]
    assert names == ["learning_curves.png", "contexts.png", "trajectories.png"]
    assert all(path.read_bytes().startswith(PNG) for path in pictures)


def test_no_runs_cannot_be_drawn_together(tmp_path):
    with pytest.raises(SelfpacedError, match="at least one run folder"):
        draw_together([], tmp_path)


def test_an_empty_folder_is_not_a_run(tmp_path):
    with pytest.raises(SelfpacedError, match="is missing"):
        draw_run(RunFolder(tmp_path))


def test_a_damaged_run_has_no_figures(make_run):
    run = make_run()
    (run.path / "contexts.npz").write_bytes(b"not an archive")
    with pytest.raises(SelfpacedError, match="damaged"):
        draw_run(run)
    assert not run.figures.exists()


def test_a_figure_with_a_missing_dependency_is_left_out_and_reported(make_run, monkeypatch):
    def lacking(folder):
        raise MissingPartError("no MuJoCo: pip install it")

    run = make_run()
    figure = trajectories.TRAJECTORIES._replace(draw=lacking)
    monkeypatch.setattr(trajectories, "TRAJECTORIES", figure)
    with pytest.raises(MissingPartError, match=r"trajectories.png is left out: no MuJoCo"):
        draw_run(run)
    drawn = sorted(path.name for path in run.figures.iterdir())
    assert drawn == ["contexts.png", "learning_curve.png"]


def count(folders):
    """Return an empty figure titled with the number of runs."""
    return new_figure(2.0, 2.0, str(len(folders)))


PROBES = ProblemFigure("probes", draw_contexts, count)
CONTEXTS = ProblemFigure("contexts", draw_contexts, count)


def own_figure(monkeypatch, place):
    problem = replace(PROBE, figures=(place,))
    monkeypatch.setattr(invented_runs, "PROBE", problem)


def test_a_users_problem_can_name_a_figure_of_its_own(make_run, monkeypatch, tmp_path):
    own_figure(monkeypatch, f"{__name__}:PROBES")
    folders = [make_run("a", problem="probe"), make_run("b"), make_run("c", problem="probe")]
    names = [path.name for path in draw_together(folders, tmp_path / "together")]
    assert names == ["learning_curves.png", "contexts.png", "probes.png", "trajectories.png"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (f"{__name__}:NONE", "cannot load figure"),
        (f"{__name__}:PNG", "must be a selfpaced.reports.problem_figure.ProblemFigure, got bytes"),
        (f"{__name__}:CONTEXTS", "names of figures must differ, got contexts more than once"),
    ],
)
def test_a_wrong_figure_is_reported(make_run, monkeypatch, place, message):
    own_figure(monkeypatch, place)
    with pytest.raises(SelfpacedError, match=message):
        draw_run(make_run(problem="probe"))


def test_names_are_no_longer_than_needed(make_run):
    spdl, default = make_run("a"), make_run("b", teacher="default")
    again, other = make_run("c"), make_run("d", problem="point-mass-2d")
    assert name_runs([spdl, default], True) == ["SPDL + PPO", "Default + PPO"]
    assert name_runs([spdl, default, again], True) == [
        "SPDL + PPO (a)",
        "Default + PPO",
        "SPDL + PPO (c)",
    ]
    assert name_runs([spdl, other], False) == ["SPDL + PPO", "SPDL + PPO"]
    assert name_runs([spdl, other], True) == [
        "point-mass-3d: SPDL + PPO",
        "point-mass-2d: SPDL + PPO",
    ]


def test_runs_in_folders_of_the_same_name_have_their_paths_as_names(make_run):
    folders = [make_run("x/run"), make_run("y/run")]
    assert name_runs(folders, True) == [f"SPDL + PPO ({folder.path})" for folder in folders]


def test_drawing_does_not_load_the_global_state_of_pyplot():
    program = "import sys, selfpaced.reports.figures; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
