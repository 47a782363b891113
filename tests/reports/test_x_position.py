from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from selfpaced.environments.ant_gate import AntGate
from selfpaced.reports import x_position
from selfpaced.reports.figures import draw_run
from selfpaced.reports.x_position import (
    HEADER,
    STEPS_PER_SECOND,
    Walks,
    draw_x_positions,
    roll_out,
    shares,
    tabulate,
)

pytestmark = pytest.mark.skipif(find_spec("mujoco") is None, reason="needs mujoco")


def walks_to(*final, length=20):
    """Return straight walks to these positions, one seed per row."""
    ends = np.array(final, float)
    x = np.linspace(0.0, 1.0, 21)[:, None, None] * ends
    return Walks(tuple(range(1, len(ends) + 1)), x, np.full(ends.shape, length))


def test_shares_count_positions_behind_the_wall_and_at_the_goal():
    assert shares(np.array([3.5, 3.6, 4.5, 5.0])) == (0.75, 0.5)


def test_the_table_has_a_row_for_every_seed_and_one_for_all():
    rows = tabulate("mine", walks_to([1.0, 2.0, 4.0], [5.0, 4.6, 4.4]))
    assert rows == [
        ("mine", 1, 3, 2.0, 1 / 3, 0.0),
        ("mine", 2, 3, 4.6, 1.0, 2 / 3),
        ("mine", "all", 6, 4.2, 4 / 6, 2 / 6),
    ]
    assert len(HEADER) == len(rows[0])


def test_lines_end_with_their_episodes_and_the_median_continues(make_run, monkeypatch):
    runs = [make_run(name, problem="ant-gate", teacher=name) for name in ("spdl", "random")]
    walks = {runs[0]: walks_to([1.0, 2.0, 4.0], length=10), runs[1]: walks_to([-3.0, 5.0, 6.0])}
    walks[runs[1]] = replace(walks[runs[1]], x=walks[runs[1]].x[::2])  # a shorter time limit
    monkeypatch.setattr(x_position, "roll_out", walks.__getitem__)
    figure, _, rows = draw_x_positions(runs)
    one, two = figure.axes
    segments = one.collections[0].get_segments()
    assert [len(segment) for segment in segments] == [11, 11, 11]
    [median] = [line for line in one.lines if line.get_label() == "median"]
    np.testing.assert_allclose(median.get_xdata()[-1], 20 / STEPS_PER_SECOND)
    np.testing.assert_allclose(median.get_ydata(), walks[runs[0]].x[:, 0, 1])
    assert "33% end at x > 3.5, 0% at x ≥ 4.5" in [text.get_text() for text in one.texts]
    assert one.get_ylim() == two.get_ylim()
    assert one.get_ylim()[0] <= -3.0
    assert one.get_ylim()[1] >= 6.0
    assert one.get_xlim() == (0.0, 20 / STEPS_PER_SECOND)
    assert [row[0] for row in rows] == ["SPDL + PPO"] * 2 + ["Random + PPO"] * 2


def test_two_hundred_ants_start_at_zero_and_are_the_same_every_time(make_run):
    run = make_run(problem="ant-gate", environment=AntGate(max_episode_steps=5), seeds=(4, 9))
    walks = roll_out(run)
    assert walks.x.shape == (6, 2, 100)
    assert (np.abs(walks.x[0]) <= 0.1).all()
    assert np.ptp(walks.final) > 0
    np.testing.assert_array_equal(walks.x, roll_out(run).x)


def test_the_time_axis_is_that_of_the_simulation():
    ants = AntGate().make(1)
    assert ants.metadata["render_fps"] == STEPS_PER_SECOND
    ants.close()


def test_the_numbers_are_beside_the_figure(make_run, monkeypatch):
    monkeypatch.setattr(x_position, "roll_out", lambda folder: walks_to([1.0, 4.0]))
    run = make_run(problem="ant-gate", seeds=(1,))
    names = [path.name for path in draw_run(run)]
    assert names == ["learning_curve.png", "contexts.png", "x_position.png", "x_position.csv"]
    lines = (run.figures / "x_position.csv").read_text().splitlines()
    assert lines == [",".join(HEADER), "SPDL + PPO,1,2,2.5,0.5,0", "SPDL + PPO,all,2,2.5,0.5,0"]
