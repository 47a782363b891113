"""Folders that are unfinished, damaged, foreign or hostile: the page shows the rest."""

import json
import shutil

import numpy as np

from selfpaced.reports.page.report import collect, write_report
from selfpaced.reports.page.source import find_runs
from tests.reports.page.browser import choices, opened, traces

EVIL = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script>'


def text_of(content, key="summary"):
    (section,) = [section for section in content.sections if section.key == key]
    return section.body


def edit(path, change):
    """Change a JSON file as a stranger could, with no checksum to betray it."""
    (path.parent / "checksums.json").unlink(missing_ok=True)
    plain = json.loads(path.read_text())
    change(plain)
    path.write_text(json.dumps(plain))


def test_folders_without_runs_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    content = collect([tmp_path / "empty", tmp_path / "absent"])
    assert "holds no run" in text_of(content)
    assert "is no folder" in text_of(content)
    assert "There is no run to show" in text_of(content)


def test_an_unfinished_run_is_read_without_writing(make_run):
    folder = make_run(reached=[20, 10, 15])
    for name in ("summary.json", "evaluations.csv", "metrics.csv", "contexts.npz"):
        (folder.path / name).unlink()
    before = sorted(folder.path.rglob("*"))
    text = text_of(collect([folder.path]))
    assert "20 of 20" in text
    assert "the run is not finished" in text
    assert sorted(folder.path.rglob("*")) == before


def test_a_run_without_its_first_checkpoint_is_shown_with_its_settings(make_run):
    folder = make_run()
    for name in ("summary.json", "evaluations.csv", "metrics.csv", "contexts.npz"):
        (folder.path / name).unlink()
    shutil.rmtree(folder.checkpoints)
    content = collect([folder.path])
    assert "no saved iteration yet" in text_of(content)
    assert "steps_per_iteration" in text_of(content, "settings")


def test_damaged_tables_leave_the_others(make_run):
    folder = make_run()
    (folder.path / "contexts.npz").write_bytes(b"nonsense")
    content = collect([folder.path])
    assert "contexts.npz is damaged" in text_of(content)
    assert "SPDL + PPO reaches a return of" in text_of(content)


def test_a_damaged_description_leaves_the_other_runs(make_run, tmp_path):
    make_run("all/good")
    bad = make_run("all/bad")
    (bad.path / "experiment.json").write_text("{")
    text = text_of(collect([tmp_path / "all"]))
    assert "bad is left out" in text
    assert "SPDL + PPO" in text


def test_nan_counts_as_missing(make_run):
    folder = make_run()
    (folder.path / "checksums.json").unlink()
    table = folder.path / "evaluations.csv"
    lines = table.read_text().splitlines()
    lines[-1] = ",".join(["20", "3", *[""] * (lines[0].count(",") - 1)])
    table.write_text("\n".join(lines) + "\n")
    assert "after 15 iterations" in text_of(collect([folder.path]))


def test_runs_of_different_problems_are_not_compared(make_run, tmp_path):
    make_run("all/one")
    make_run("all/two", problem="point-mass-2d")
    content = collect([tmp_path / "all"])
    assert "different problems" in text_of(content)
    assert "On point-mass-2d with PPO, SPDL + PPO reaches" in text_of(content)
    assert "Probability of improvement" not in text_of(content, "comparison")


def test_runs_of_different_problems_share_a_page(browser, make_run, tmp_path):
    three = make_run("all/3d", seeds=(1, 2, 3))
    make_run("all/2d", problem="point-mass-2d", seeds=(1, 2))
    reason = {"seed": 2, "iteration": 3, "part": "learner", "reason": "NaN"}
    edit(three.path / "summary.json", lambda plain: plain.update(failed_seeds=[reason]))
    report = write_report([tmp_path / "all"], tmp_path / "report.html", with_episodes=False)
    with opened(browser, report.as_uri()) as page:
        page.locator("#curves [name=problem]").select_option("point-mass-3d")
        page.locator("#curves [name=seed]").select_option("seed 3")
        page.locator("#curves [name=x]").select_option("iterations")
        shown = [trace for trace in traces(page, "curves") if trace["visible"] is not False]
        assert {len(trace["x"]) for trace in shown} == {10, 6, 5}  # band, seed with a gap, line
        (single,) = [trace for trace in shown if "single seed" in (trace["name"] or "")]
        assert single["custom"][:5] == [3] * 5
        assert choices(page, "curriculum", "i") == ["gate position", "gate width"]
        page.locator("#curriculum [name=run]").select_option("point-mass-3d: SPDL + PPO")
        assert choices(page, "curriculum", "i") == ["gate position", "gate width", "friction"]
        assert choices(page, "curriculum", "seed") == ["all", "seed 1", "seed 3"]
        assert page.problems == []


def test_comparisons_below_a_folder_are_found_and_hidden_folders_are_not(make_run, tmp_path):
    make_run("runs/compare-a/spdl")
    make_run("runs/alone")
    make_run("runs/.replaced")
    found, notes = find_runs([tmp_path / "runs"])
    assert [str(path.relative_to(tmp_path / "runs")) for path in found] == [
        "alone",
        "compare-a/spdl",
    ]
    assert notes == []


def test_one_evaluation_is_enough(make_run):
    folder = make_run(evaluate_every=20, reached=[0, 0, 0])
    assert "after 0 iterations" in text_of(collect([folder.path]))


def test_two_seeds_support_no_claim(make_run, tmp_path):
    make_run("all/one", seeds=(1, 2))
    make_run("all/two", seeds=(11, 12), teacher="random")
    text = text_of(collect([tmp_path / "all"]))
    assert "no difference can be claimed" in text
    assert "<strong>Random" not in text


def test_better_seeds_are_marked_as_best(make_run, tmp_path):
    make_run("all/one", seeds=(1, 2, 3, 4, 5))
    make_run("all/two", seeds=(11, 12, 13, 14, 15), teacher="random")
    text = text_of(collect([tmp_path / "all"]))
    assert "reliably better than the other run" in text
    assert "<strong>Random + PPO</strong> ★" in text


def test_the_code_of_a_strangers_problem_is_not_needed(make_run):
    folder = make_run(problem="probe")
    edit(folder.path / "experiment.json", lambda plain: plain["experiment"].update(
        problem="absent.module:PROBLEM"))  # fmt: skip
    content = collect([folder.path])
    assert "absent.module" in text_of(content)
    assert content.frames["curriculum"]


def test_strings_of_a_stranger_never_run(browser, make_run, tmp_path):
    folder = make_run()

    def poison(plain):
        experiment = plain["experiment"]
        experiment["problem"] = experiment["variant"] = EVIL
        experiment["teacher"] |= {"name": EVIL, EVIL: EVIL}
        plain["contexts"]["names"] = [EVIL, "a", "b"]
        plain["versions"] = {EVIL: EVIL}

    edit(folder.path / "experiment.json", poison)
    edit(folder.path / "summary.json", lambda plain: plain.update(
        failed_seeds=[{"seed": 1, "iteration": EVIL, "part": EVIL, "reason": EVIL}]))  # fmt: skip
    note = {"iteration": 1, "text": EVIL, "num_seeds": 1}
    (folder.path / "advice.json").write_text(json.dumps([note]))
    evil_folder = folder.path.rename(tmp_path / "<img src=x onerror=alert(1)>")
    report = write_report([evil_folder], tmp_path / "report.html", EVIL, with_episodes=False)
    assert "<img" not in report.read_text().split('id="page-data"')[0]
    with opened(browser, report.as_uri()) as page:
        traces(page, "curves")
        traces(page, "plane")
        assert page.evaluate("window.hacked") is None
        assert page.problems == []
        assert page.locator("img").count() == 0


def test_formulas_of_a_stranger_stay_text_in_csv():
    from selfpaced.reports.page.markup import csv_text

    rows = [["=1+1", np.float64("nan"), -2.5]]
    assert csv_text(["a", "b", "c"], rows) == "a,b,c\n'=1+1,,-2.5\n"
