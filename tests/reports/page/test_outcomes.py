"""Episodes of final policies: contexts that cover the box, and statistics with known answers."""

import numpy as np
import pytest

from selfpaced import neurips2020
from selfpaced.reports.page.maps import average
from selfpaced.reports.page.outcomes import Outcomes, spread_contexts
from selfpaced.reports.page.report import write_report
from selfpaced.reports.page.source import ContextBox
from tests.reports.page.browser import opened, traces

SQUARE = ContextBox(("x", "y"), np.zeros(2), np.ones(2), np.full((1, 2), 0.5), None, (False, False))


def test_spread_contexts_have_one_in_every_square():
    space = neurips2020("point-mass-2d").resolved.contexts
    unit = space.to_unit(spread_contexts(space, 256))
    squares = {tuple(square) for square in (unit * 16).astype(int).tolist()}
    assert len(squares) == 256


def test_maps_average_in_squares_and_leave_others_empty():
    contexts = np.array([[0.1, 0.1], [0.2, 0.2], [0.9, 0.1]])
    ((row_below, row_above),) = average(SQUARE, contexts, np.array([1.0, 3.0, 5.0]), 2)
    assert row_below.tolist() == [2.0, 5.0]
    assert np.isnan(row_above).all()


def test_the_worst_tenth_is_the_mean_of_the_lowest_returns():
    returns = np.tile(np.arange(20.0), (3, 1))
    success = returns >= 5
    outcomes = Outcomes(np.zeros((1, 2)), returns, success, returns, success)
    assert outcomes.worst_tenth.value == pytest.approx(0.5)
    assert outcomes.share_solved.value == pytest.approx(0.75)


def test_the_page_shows_maps_trajectories_and_videos(browser, make_run, tmp_path):
    folder = make_run(problem="point-mass-2d", seeds=(1, 2))
    report = write_report([folder.path], tmp_path / "report.html")
    with opened(browser, report.as_uri()) as page:
        (heat, target) = traces(page, "map-return")
        assert len(heat["x"]) == 16
        assert target["name"] == "target"
        page.locator("#maps [name=seed]").select_option("1")
        page.locator("#pictures summary").first.click()
        assert page.locator("#pictures img").count() == 2
        page.wait_for_function(
            "() => [...document.images].every(i => i.complete && i.naturalWidth > 0)"
        )
        assert page.problems == []
