"""Size and speed of the report: 5 teachers x 20 seeds x 1000 iterations, and the live page.

    python benchmarks/report_page.py                 # build the page, open it in Chromium
    python benchmarks/report_page.py --live          # a run alone, and beside the dashboard

The numbers in the folders are invented, and written by the code that writes those of real runs.
Chromium and playwright are needed to open the page.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np

from selfpaced import Episodes, neurips2020
from selfpaced.contexts import Gaussian
from selfpaced.runs.checkpoint import Checkpoint
from selfpaced.runs.export import export
from selfpaced.runs.replacement import create_run
from selfpaced.training.simulator import EpisodeBatch

TEACHERS = ("spdl", "currot", "alp-gmm", "random", "default")
NUM_SEEDS, NUM_ITERATIONS = 20, 1000
METRICS = """
    train/return train/success train/value train/length train/episodes teacher/kl_to_target
    teacher/alpha teacher/effective_samples teacher/kl_moved teacher/trust_region_active
    teacher/bounds_active teacher/clipped_share teacher/accepted teacher/gain learner/kl
    learner/policy_std learner/value_loss learner/entropy context/x_mean context/x_std
    context/y_mean context/y_std time/training_seconds time/teacher_seconds time/seconds
""".split()  # noqa: SIM905
NUM_OPENINGS = 5
NUM_ROUNDS = 2  # of training alone and beside the dashboard


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--live", action="store_true", help="measure the dashboard instead")
    parser.add_argument("--episodes", action="store_true", help="with maps and pictures")
    parser.add_argument(
        "--keep", type=Path, help="folder for runs and page; used again if it has them"
    )
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    try:
        if options.live:
            measure_dashboard(folder)
        else:
            measure_page(folder, options.episodes)
    finally:
        if options.keep is None:
            shutil.rmtree(folder)


def measure_page(folder: Path, with_episodes: bool) -> None:
    """Build the page in a process of its own, and open it."""
    for teacher in TEACHERS:
        if not (folder / "runs" / teacher / "summary.json").exists():
            invent_run(folder / "runs" / teacher, teacher)
    page = folder / "report.html"
    command = [
        sys.executable,
        "-m",
        "selfpaced",
        "report",
        str(folder / "runs"),
        "--out",
        str(page),
    ]
    start, before = time.monotonic(), _children_seconds()
    subprocess.run(command + ([] if with_episodes else ["--no-episodes"]), check=True)
    wall, processor = time.monotonic() - start, _children_seconds() - before
    print(f"size {page.stat().st_size / 1e6:.1f} MB")
    print(f"built in {wall:.1f} s, {processor:.1f} CPU s (load {os.getloadavg()[0]:.1f})")
    seconds = [_seconds_until_interactive(page) for _ in range(NUM_OPENINGS)]
    listed = ", ".join(f"{each:.1f}" for each in seconds)
    print(f"interactive after {np.median(seconds):.1f} s, median of {listed} "
          f"(load {os.getloadavg()[0]:.1f})")  # fmt: skip


def invent_run(path: Path, teacher: str) -> None:
    """Write a finished run with all tables of a real one."""
    seeds = tuple(range(1, NUM_SEEDS + 1))
    experiment = replace(
        neurips2020("point-mass-3d", teacher, "ppo"), seeds=seeds, iterations=NUM_ITERATIONS
    )
    folder = create_run(path, experiment, [seeds])
    with experiment.training(seeds) as training:
        checkpoint = Checkpoint.start(training, experiment)
    checkpoint.iteration = NUM_ITERATIONS
    rng = np.random.default_rng(0)
    evaluated = set(experiment.evaluation_iterations)
    for iteration in range(NUM_ITERATIONS + 1):
        if iteration > 0:
            values = rng.standard_normal((NUM_SEEDS, len(METRICS))) + iteration / 100
            rows = [dict(zip(METRICS, row, strict=True)) for row in values.tolist()]
            checkpoint.history.record_iteration(iteration, rows)
        if iteration in evaluated:
            _invent_evaluation(checkpoint, rng, iteration)
    folder.files()[0].save(checkpoint)
    export(folder, wall_seconds=60.0)


def _invent_evaluation(checkpoint: Checkpoint, rng: np.random.Generator, iteration: int) -> None:
    contexts = checkpoint.experiment.resolved.contexts
    share = iteration / NUM_ITERATIONS
    mean = (1 - share) * contexts.initial.mean + share * contexts.target.mean
    cholesky = (1 - share) * contexts.initial.cholesky + share * contexts.target.cholesky
    gaussian = Gaussian(mean, cholesky)
    samples = np.stack([contexts.clip(gaussian.sample(rng, 64)) for _ in range(NUM_SEEDS)])
    shape = (NUM_SEEDS, 2, 50)
    batch = EpisodeBatch(
        first_observation=np.zeros(
            (NUM_SEEDS, 50, checkpoint.experiment.resolved.spec.observation_size)
        ),
        discounted_return=10 * share + rng.standard_normal(shape),
        success=rng.uniform(size=shape) < share,
        terminated=np.zeros(shape, bool),
        length=np.full(shape, 100),
        unstable=None,
        path=None,
    )
    episodes = [
        Episodes(
            each[:32],
            np.zeros((32, 1)),
            10 * share + rng.standard_normal(32),
            np.zeros(32),
            rng.uniform(size=32) < share,
            np.full(32, 100),
        )
        for each in samples
    ]
    checkpoint.history.record_evaluation(
        iteration, batch, samples, [gaussian] * NUM_SEEDS, (), episodes
    )


def _seconds_until_interactive(page: Path) -> float:
    """From the request until the first figure is drawn and a control has changed it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), chromium_sandbox=False
        )
        tab = browser.new_page()
        tab.goto("about:blank")
        start = time.monotonic()
        tab.goto(page.as_uri(), wait_until="commit")
        tab.wait_for_selector('[data-figure="curves"] .plot-container')
        tab.evaluate(
            "() => { const c = document.querySelector('#curves [name=statistic]'); "
            "c.value = 'median'; c.dispatchEvent(new Event('input', {bubbles: true})); "
            "return new Promise(requestAnimationFrame); }"
        )
        seconds = time.monotonic() - start
        browser.close()
    return seconds


def measure_dashboard(folder: Path) -> None:
    """Train 20 seeds alone and beside a dashboard whose page is open, in turns."""
    alone, watched, efforts = [], [], []
    for is_watched in (False, True) * NUM_ROUNDS:
        if not is_watched:
            alone.append(_train(folder / "live"))
            continue
        command = [
            sys.executable, "-m", "selfpaced", "dashboard", str(folder / "live"), "--port", "0",
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dashboard:
            assert dashboard.stdout is not None
            url = dashboard.stdout.readline().split()[0]
            before = _seconds_of(dashboard.pid)
            watched.append(_train(folder / "live", f"{url}page.json"))
            efforts.append(_seconds_of(dashboard.pid) - before)
            dashboard.terminate()
    seconds = np.array(watched)
    print(f"alone {np.round(alone, 1)} s, beside the dashboard {np.round(seconds, 1)} s: "
          f"{seconds.mean() / np.mean(alone) - 1:+.1%} of wall time")  # fmt: skip
    print(f"dashboard: {np.mean(efforts):.2f} CPU s, {np.mean(efforts / seconds):.1%} of one core")


def _train(run: Path, page: str = "") -> float:
    """Train 20 seeds, asking for the news of a page as often as a browser; return the seconds."""
    command = [
        sys.executable, "-m", "selfpaced", "train", "point-mass-3d", "--out", str(run),
        "--overwrite",
    ]  # fmt: skip
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as training:
        while training.poll() is None:
            if page:
                urllib.request.urlopen(page).read()
            with contextlib.suppress(subprocess.TimeoutExpired):
                training.wait(5.0)
    return time.monotonic() - start


def _seconds_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
