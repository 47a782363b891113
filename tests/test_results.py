"""Tables on the pages have the numbers of the files in `results/`, and of the papers."""

import re
from pathlib import Path

import pytest

from selfpaced.presets.neurips2020 import find_preset
from selfpaced.reports.result_rows import read_rows
from selfpaced.statistics import percentage, plus_minus
from selfpaced.studies.reproduction import RESULTS

ROOT = Path(__file__).parents[1]
NAMES = {
    "spdl": "**SPDL**",
    "alp-gmm": "ALP-GMM",
    "goal-gan": "GoalGAN",
    "random": "Random",
    "default": "Default",
}
COLUMNS = (("ppo", "table-1-ppo"), ("sac", "table-1-sac"), ("trpo", "figure-2"))
SIZES = ("point-mass-3d", "point-mass-2d")


def rows_of(result):
    return {row.key: row for row in read_rows(ROOT / "results" / f"{result}.csv")}


def ours(row, teacher):
    text = plus_minus(row.mean, row.standard_error)
    return f"**{text}**" if teacher == "spdl" else text


def papers(problem, learner, teacher):
    published = find_preset(problem).published.get(learner, {}).get(teacher)
    return "" if published is None else f"{published[0]:.2f} ± {published[1]:.1f}"


def line(*cells):
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def lines(page):
    return (ROOT / page).read_text().splitlines()


@pytest.mark.parametrize("teacher", NAMES)
def test_the_table_of_the_readme(teacher):
    rows = rows_of("table-1-ppo")
    cells = [NAMES[teacher]]
    for problem in SIZES:
        cells += [ours(rows[problem, teacher, "ppo"], teacher), papers(problem, "ppo", teacher)]
    assert line(*cells) in lines("README.md")


@pytest.mark.parametrize("teacher", NAMES)
def test_the_table_of_the_point_masses(teacher):
    cells, published = [NAMES[teacher]], [""]
    for learner, result in COLUMNS:
        rows = rows_of(result)
        cells += [ours(rows[problem, teacher, learner], teacher) for problem in SIZES]
        published += [papers(problem, learner, teacher) for problem in SIZES]
    page = lines("results/README.md")
    assert line(*cells) in page
    assert page[page.index(line(*cells)) + 1] == line(*published)


def test_the_table_of_ball_catching():
    rows = rows_of("ball-catching-ppo")
    teachers = RESULTS["ball-catching-ppo"].teachers
    own = [rows["ball-catching", teacher, "ppo"] for teacher in teachers]
    paper = [find_preset("ball-catching").published["ppo"][teacher] for teacher in teachers]
    caught = [percentage(row.success_rate).replace("%", " %") for row in own]
    page = lines("results/README.md")
    returns = [ours(row, row.teacher) for row in own]
    place = page.index(line("return", *returns))
    assert page[place + 1] == line("", *(f"{mean:.1f} ± {error:.1f}" for mean, error in paper))
    assert page[place + 2] == line("balls caught", f"**{caught[0]}**", *caught[1:])


@pytest.mark.parametrize("name", [name for name in RESULTS if rows_of(name)])
def test_the_tables_of_a_result_have_the_numbers_of_its_file(name):
    page = lines(f"results/{name}.md")
    for row in rows_of(name).values():
        start = line(row.teacher, plus_minus(row.mean, row.standard_error), str(len(row.seeds)))
        assert any(each.startswith(start) for each in page), f"{name}.md has no {start}"


def test_the_returns_of_a_row_have_its_mean():
    for name in RESULTS:
        for row in rows_of(name).values():
            assert len(row.final_returns) == len(row.seeds)
            assert row.final_returns.mean() == pytest.approx(row.mean, rel=2e-3)


def test_numbers_in_the_prose_of_robot_results_are_in_the_files():
    page = (ROOT / "results" / "README.md").read_text()
    text = page.partition("**TRPO**: SPDL")[2].partition("## Pacing by mastery")[0]
    found = {
        plus_minus(row.mean, row.standard_error)
        for name in ("ball-catching-trpo", "ball-catching-sac")
        for row in rows_of(name).values()
    }
    assert found <= set(re.findall(r"\d+\.\d+ ± \d+\.\d+", text))
