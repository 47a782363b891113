"""The page in a real Chromium: it draws, moves, sorts, and asks nobody for anything."""

import pytest

from selfpaced.reports.page.report import write_report
from tests.reports.invented_runs import invented_run
from tests.reports.page.browser import opened, traces


@pytest.fixture(name="report", scope="module")
def _report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    invented_run(path / "both" / "spdl")
    invented_run(path / "both" / "random", teacher="random")
    return write_report([path / "both"], path / "report.html", with_episodes=False).as_uri()


def contexts(page):
    (dots,) = [trace for trace in traces(page, "plane") if trace["name"] == "contexts"]
    return dots


def test_the_page_opens_without_errors_and_without_requests(report):
    with opened(report) as page:
        traces(page, "curves")
        traces(page, "plane")
        assert page.problems == []
        assert page.requests == [report]


def test_the_slider_and_the_play_button_move_the_contexts(report):
    with opened(report) as page:
        page.get_by_role("button", name="end").first.click()
        last = contexts(page)["x"]
        slider = page.locator('#curriculum input[type="range"]')
        slider.focus()
        slider.press("Home")
        first = contexts(page)["x"]
        assert first != last
        page.locator("#curriculum .play").click()
        page.wait_for_function("v => document.querySelector('[name=frame]').value !== v", arg="0")
        assert contexts(page)["x"] != first


def test_the_legend_hides_a_curve(report):
    with opened(report) as page:
        traces(page, "curves")
        page.locator('[data-figure="curves"] .legendtoggle').first.click()
        page.wait_for_timeout(800)  # Plotly waits for a double click
        hidden = [trace["name"] for trace in traces(page, "curves") if trace["visible"] != True]  # noqa: E712
        assert any("Random" in name for name in hidden if name)


def test_controls_change_the_measure_the_seeds_and_the_axis(report):
    with opened(report) as page:
        before = traces(page, "curves")
        page.locator("#curves [name=measure]").select_option("success")
        page.locator("#curves [name=seed]").select_option("*")
        page.locator("#curves [name=x]").select_option("iterations")
        after = traces(page, "curves")
        line = next(trace for trace in after if trace["name"] == "SPDL + PPO")
        assert line["x"] == [0, 5, 10, 15, 20]
        assert line["y"] == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
        assert sum(len(t["x"]) for t in after) > sum(len(t["x"]) for t in before)


def test_a_click_on_a_column_sorts_the_table(report):
    with opened(report) as page:
        names = "#comparison tbody tr td:first-child"
        button = page.locator("#comparison th button").first
        button.click()
        first = page.locator(names).all_text_contents()[:2]
        button.click()
        assert page.locator(names).all_text_contents()[:2] == first[::-1]


def test_a_phone_shows_the_page_without_scrolling_sideways(report):
    with opened(report, viewport={"width": 375, "height": 700}) as page:
        traces(page, "plane")
        assert page.evaluate("document.documentElement.scrollWidth") == 375


def test_the_tab_key_reaches_links_controls_and_tables_in_order(report):
    with opened(report) as page:
        visited = []
        for _ in range(14):
            page.keyboard.press("Tab")
            visited.append(page.evaluate("document.activeElement.tagName"))
        assert visited[:2] == ["A", "A"]
        assert "BUTTON" in visited
        assert "BODY" not in visited


def test_training_episodes_are_mapped_at_the_chosen_moment(report):
    with opened(report) as page:
        slider = page.locator('#training input[type="range"]')
        values = "e => e.data[0].z.flat().filter(z => z !== null)"
        traces(page, "training-return")
        assert set(page.eval_on_selector('[data-figure="training-return"]', values)) == {20}
        slider.press("Home")
        assert set(page.eval_on_selector('[data-figure="training-return"]', values)) == {0}
