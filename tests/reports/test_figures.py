import subprocess
import sys

import pytest

from selfpaced import RunFolder, SelfpacedError
from selfpaced.environments.point_mass import PointMass
from selfpaced.errors import MissingPartError
from selfpaced.problems import PROBLEMS
from selfpaced.reports import draw_run, draw_together, figures
from selfpaced.reports.figures import SPECIAL
from selfpaced.reports.names import name_runs

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_run_gets_its_pictures_in_its_own_folder(make_run):
    run = make_run()
    pictures = draw_run(run)
    assert [path.relative_to(run.path).as_posix() for path in pictures] == [
        "figures/learning_curve.png",
        "figures/contexts.png",
        "figures/trajectories.png",
    ]
    assert all(path.read_bytes().startswith(PNG) for path in pictures)
    assert len(list(run.figures.iterdir())) == 3  # nothing half-written is left behind


def test_pictures_go_where_they_are_wanted(make_run, tmp_path):
    pictures = draw_run(make_run(problem="probe"), tmp_path / "some" / "where")
    assert [path.name for path in pictures] == ["learning_curve.png", "contexts.png"]
    assert {path.parent for path in pictures} == {tmp_path / "some" / "where"}


def test_every_problem_has_something_special_to_show():
    own = {
        name: [each.name for each in SPECIAL[type(p.environment)]] for name, p in PROBLEMS.items()
    }
    assert own == {
        "point-mass-3d": ["trajectories"],
        "point-mass-2d": ["trajectories"],
        "ball-catching": ["catching_plane", "catching_rate"],
        "ant-gate": ["x_position"],
    }


def test_an_unfinished_run_gets_all_its_pictures(make_run):
    assert len(draw_run(make_run(reached=[12, 7, 10]))) == 3


def test_pictures_are_the_same_bytes_every_time(make_run, tmp_path):
    run = make_run()
    for one, two in zip(draw_run(run), draw_run(run, tmp_path / "again"), strict=True):
        assert one.read_bytes() == two.read_bytes()


def test_several_runs_are_drawn_together(make_run, tmp_path):
    folders = [make_run("a"), make_run("b", teacher="random"), make_run("c", problem="probe")]
    pictures = draw_together(folders, tmp_path / "together")
    names = [path.name for path in pictures]
    assert names == ["learning_curves.png", "contexts.png", "trajectories.png"]
    assert all(path.read_bytes().startswith(PNG) for path in pictures)


def test_no_runs_are_no_comparison(tmp_path):
    with pytest.raises(SelfpacedError, match="at least one run folder"):
        draw_together([], tmp_path)


def test_an_empty_folder_is_not_a_run(tmp_path):
    with pytest.raises(SelfpacedError, match="is missing"):
        draw_run(RunFolder(tmp_path))


def test_a_damaged_folder_leaves_no_pictures(make_run):
    run = make_run()
    (run.path / "contexts.npz").write_bytes(b"not an archive")
    with pytest.raises(SelfpacedError, match="damaged"):
        draw_run(run)
    assert not run.figures.exists()


def test_what_needs_a_missing_part_is_left_out_and_said(make_run, monkeypatch):
    def lacking(folder):
        raise MissingPartError("no MuJoCo: pip install it")

    run = make_run()
    (special,) = figures.SPECIAL[PointMass]
    monkeypatch.setitem(figures.SPECIAL, PointMass, (special._replace(draw=lacking),))
    with pytest.raises(MissingPartError, match=r"trajectories.png is left out: no MuJoCo"):
        draw_run(run)
    drawn = sorted(path.name for path in run.figures.iterdir())
    assert drawn == ["contexts.png", "learning_curve.png"]


def test_names_say_no_more_than_needed(make_run):
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


def test_runs_in_folders_of_the_same_name_are_told_apart_by_their_paths(make_run):
    folders = [make_run("x/run"), make_run("y/run")]
    assert name_runs(folders, True) == [f"SPDL + PPO ({folder.path})" for folder in folders]


def test_drawing_does_not_touch_the_state_that_pyplot_keeps():
    program = "import sys, selfpaced.reports; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
