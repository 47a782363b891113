"""The page in a real Chromium: it draws, moves, sorts, and asks nobody for anything."""

import shlex

import pytest

from selfpaced.commands.train import parse_train
from selfpaced.reports.page.report import write_report
from tests.reports.invented_runs import invented_run
from tests.reports.page.browser import choices, opened, settle, traces

TICKS = '[data-figure="curves"] .xtick text'
FILL_OF_TICKS = f"getComputedStyle(document.querySelector('{TICKS}')).fill"


@pytest.fixture(name="report", scope="module")
def _report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    runs = [
        invented_run(path / "both" / "spdl"),
        invented_run(path / "both" / "random", teacher="random"),
    ]
    out = write_report([path / "both"], path / "report.html", with_episodes=False)
    return out.as_uri(), {run.path.name: run.experiment() for run in runs}


@pytest.fixture(name="shared", scope="module")
def _shared(browser, report):
    with opened(browser, report[0]) as page:
        yield page


@pytest.fixture(name="page")
def _page(shared):
    """The one page of all tests, on a wide light screen and at its top."""
    shared.set_viewport_size({"width": 1280, "height": 800})
    shared.emulate_media(media="screen", color_scheme="light")
    shared.evaluate("document.activeElement.blur(); scrollTo({top: 0, behavior: 'instant'})")
    settle(shared)
    return shared


def contexts(page):
    (dots,) = [trace for trace in traces(page, "plane") if trace["name"] == "contexts"]
    return dots


def colour(page, selector, name):
    return page.eval_on_selector(selector, f"e => getComputedStyle(e)['{name}']")


def test_the_page_opens_without_errors_and_without_requests(page, report):
    for key in ("curves", "plane", "distance", "training-return", "diagnostics"):
        traces(page, key)
    assert page.problems == []
    assert page.requests == [report[0]]


def test_the_slider_and_the_play_button_move_the_contexts(page):
    page.get_by_role("button", name="end").first.click()
    last = contexts(page)["x"]
    slider = page.locator('#curriculum input[type="range"]')
    slider.focus()
    slider.press("Home")
    first = contexts(page)["x"]
    assert first != last
    play = page.locator("#curriculum .play")
    play.focus()
    play.press("Enter")
    page.wait_for_function("v => document.querySelector('[name=frame]').value !== v", arg="0")
    assert contexts(page)["x"] != first
    page.evaluate(
        "b = document.querySelector('#curriculum .play'); "
        "if (b.getAttribute('aria-pressed') === 'true') b.click()"
    )
    assert play.get_attribute("aria-pressed") == "false"


def test_any_pair_of_components_and_a_single_seed_can_be_chosen(page):
    page.get_by_role("button", name="end").first.click()
    every = contexts(page)
    assert choices(page, "curriculum", "seed") == ["all", "seed 1", "seed 2", "seed 3"]
    assert choices(page, "curriculum", "i") == ["gate position", "gate width", "friction"]
    page.locator("#curriculum [name=i]").select_option("friction")
    page.locator("#curriculum [name=seed]").select_option("seed 2")
    one = contexts(page)
    assert len(one["x"]) * 3 == len(every["x"])
    assert one["y"] == every["y"][len(one["y"]) : 2 * len(one["y"])]
    assert one["x"] != every["x"][len(one["x"]) : 2 * len(one["x"])]


def test_the_arrival_is_marked(page):
    (stars,) = [trace for trace in traces(page, "distance") if trace["name"] == "arrival"]
    assert stars["x"] == [20 * 2048] * 2
    page.locator("#curriculum").get_by_role("button", name="arrival").click()
    page.locator("#curriculum output", has_text="iteration 20 · 40,960 steps").wait_for()


def test_the_legend_hides_a_curve(page):
    traces(page, "curves")
    toggle = page.locator('[data-figure="curves"] .legendtoggle').first
    toggle.click()
    hidden = "e => e.data.filter(t => t.visible === 'legendonly').map(t => t.name ?? '')"
    page.wait_for_function(
        f"() => ({hidden})(document.querySelector('[data-figure=curves]')).length > 0"
    )
    names = page.eval_on_selector('[data-figure="curves"]', hidden)
    assert any("Random" in name for name in names)
    assert not any("SPDL" in name for name in names)


def test_controls_change_the_measure_the_seeds_and_the_axis(page):
    before = traces(page, "curves")
    assert [len(t["x"]) for t in before if "single seed" in (t["name"] or "")] == [0, 0]
    page.locator("#curves [name=measure]").select_option("success")
    page.locator("#curves [name=seed]").select_option("*")
    page.locator("#curves [name=x]").select_option("iterations")
    after = traces(page, "curves")
    line = next(trace for trace in after if trace["name"] == "SPDL + PPO")
    assert line["x"] == [0, 5, 10, 15, 20]
    assert line["y"] == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    assert sum(len(t["x"]) for t in after) > sum(len(t["x"]) for t in before)


def test_a_click_on_a_column_sorts_the_table(page):
    names = "#comparison tbody tr td:first-child"
    button = page.locator("#comparison th button").first
    button.click()
    first = page.locator(names).all_text_contents()[:2]
    button.focus()
    button.press("Enter")
    assert page.locator(names).all_text_contents()[:2] == first[::-1]


def test_a_phone_shows_the_page_without_scrolling_sideways(page):
    page.set_viewport_size({"width": 375, "height": 700})
    traces(page, "plane")
    # figures follow the window a moment later
    page.wait_for_function("() => document.documentElement.scrollWidth === 375")


def test_the_tab_key_reaches_links_controls_and_tables_in_order(page):
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    visited = []
    for _ in range(20):
        page.keyboard.press("Tab")
        visited.append(
            page.evaluate("[document.activeElement.tagName, document.activeElement.offsetTop]")
        )
    tags = [tag for tag, _ in visited]
    assert tags[:2] == ["A", "A"]
    assert "BUTTON" in tags
    assert "SELECT" in tags
    assert "BODY" not in tags
    assert colour(page, ":focus", "outlineStyle") != "none"  # it can be seen where one is


def test_the_button_copies_a_command_that_gives_the_same_experiment(page, report):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    place = page.locator("#settings .command", has_text="--teacher random")
    place.locator(".copy").click()
    copied = "navigator.clipboard.readText()"
    page.wait_for_function(f"async () => (await {copied}).includes('--teacher random')")
    program, name, *arguments = shlex.split(page.evaluate(copied))
    assert (program, name) == ("selfpaced", "train")
    assert parse_train(arguments)[1] == report[1]["random"]


def test_tables_are_saved_as_csv(page):
    with page.expect_download() as saving:
        page.locator("#comparison a[download='comparison.csv']").click()
    header, *rows = saving.value.path().read_text().splitlines()
    assert header.startswith("problem,teacher,learner,run,seeds")
    assert len(rows) == 2


def test_dark_mode_changes_the_page_and_its_figures(page):
    traces(page, "curves")
    light = colour(page, "body", "backgroundColor"), colour(page, TICKS, "fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"old => {FILL_OF_TICKS} !== old", arg=light[1])
    assert colour(page, "body", "backgroundColor") != light[0]


def test_paper_is_white_and_has_all_figures_but_no_controls(page):
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(f"() => {FILL_OF_TICKS} === 'rgb(0, 0, 0)'")
    assert page.locator(".figure:not(:has(.plot-container))").count() == 0
    assert colour(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    for hidden in ("nav", ".play", ".moments", ".copy", ".download"):
        assert not page.locator(hidden).first.is_visible()
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    page.wait_for_function("() => document.documentElement.scrollWidth === 794")
    page.evaluate("dispatchEvent(new Event('afterprint'))")


def test_training_episodes_are_mapped_at_the_chosen_moment(page):
    slider = page.locator('#training input[type="range"]')
    values = "e => e.data[0].z.flat().filter(z => z !== null)"
    traces(page, "training-return")
    slider.press("End")
    assert set(page.eval_on_selector('[data-figure="training-return"]', values)) == {20}
    slider.press("Home")
    assert set(page.eval_on_selector('[data-figure="training-return"]', values)) == {0}
