"""The live page: served to this computer, new without a reload, gone after Ctrl-C."""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from selfpaced.reports.page.live import LivePage, Server
from selfpaced.reports.page.report import collect
from tests.reports.invented_runs import invented_run
from tests.reports.page.browser import opened, traces


@contextmanager
def serving(path, seconds=0.3):
    page = LivePage([path], lambda: collect([path]), seconds)
    with Server(page, port=0) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
        try:
            yield server
        finally:
            server.shutdown()


def test_new_runs_appear_without_a_reload_and_choices_are_kept(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("selfpaced.reports.page.live.SHARE", 1.0)
    invented_run(tmp_path / "one", reached=[10, 10, 10])
    with serving(tmp_path) as server, opened(browser, server.url) as page:
        page.locator("#curves [name=x]").select_option("iterations")
        page.locator("#curriculum [name=seed]").select_option("seed 2")
        (line,) = [t for t in traces(page, "curves") if t["name"] == "SPDL + PPO"]
        assert line["x"] == [0, 5, 10]
        page.evaluate("window.isSame = true")
        invented_run(tmp_path / "two", teacher="random")
        page.get_by_text("20, finished").wait_for()
        page.get_by_role("heading", name="2 runs").wait_for()
        names = {t["name"]: t["x"] for t in traces(page, "curves")}
        assert names["Random + PPO"] == [0, 5, 10, 15, 20]
        assert page.evaluate("window.isSame")
        assert page.locator("#curriculum [name=seed]").input_value() == "1"
        assert page.problems == []
        assert all(url.startswith((server.url, "data:", "blob:")) for url in page.requests)


def test_a_page_that_was_empty_shows_the_first_run(browser, tmp_path, monkeypatch):
    monkeypatch.setattr("selfpaced.reports.page.live.SHARE", 1.0)
    with serving(tmp_path) as server, opened(browser, server.url) as page:
        page.get_by_text("There is no run to show").wait_for()
        invented_run(tmp_path / "one")
        page.get_by_text("20, finished").wait_for()
        page.get_by_role("heading", name="point-mass-3d: SPDL + PPO").wait_for()
        for key in ("curves", "plane", "training-success", "diagnostics"):
            assert traces(page, key)
        assert page.problems == []


def test_a_page_is_built_as_seldom_as_its_effort_asks(tmp_path, monkeypatch):
    clock = SimpleNamespace(now=0.0, effort=0.0)
    fake = SimpleNamespace(monotonic=lambda: clock.now, process_time=lambda: clock.effort)
    monkeypatch.setattr("selfpaced.reports.page.live.time", fake)
    efforts = [5.0, 3.0, *[0.125] * 4]  # the first two also import
    built = []

    def build():
        built.append(clock.now)
        clock.effort += efforts[len(built) - 1]
        return collect([])

    page = LivePage([tmp_path], build, seconds=1.0)
    run = tmp_path / "run"
    run.mkdir()
    while clock.now < 45:
        (run / "experiment.json").write_text("x" * int(clock.now))  # it changes all the time
        page.state()
        clock.now += 1
    assert built == [0, 1, 2, 15, 28, 41]  # 0.125 seconds are one percent of 12.5


def test_an_unchanged_page_is_not_sent_again(tmp_path):
    with serving(tmp_path) as server:
        with urllib.request.urlopen(f"{server.url}page.json") as answer:
            version = answer.headers["ETag"]
        request = urllib.request.Request(
            f"{server.url}page.json", headers={"If-None-Match": version}
        )
        with pytest.raises(urllib.error.HTTPError, match="304"):
            urllib.request.urlopen(request)


@pytest.mark.parametrize(("path", "host", "status"), [("", "evil.example", 403), ("x", None, 404)])
def test_foreign_names_and_other_paths_are_refused(tmp_path, path, host, status):
    with serving(tmp_path) as server:
        headers = {"Host": f"{host}:{server.server_port}"} if host else {}
        request = urllib.request.Request(server.url + path, headers=headers)
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            urllib.request.urlopen(request)
        assert server.server_address[0] == "127.0.0.1"


def test_ctrl_c_ends_the_dashboard_and_runs_are_untouched(tmp_path):
    folder = invented_run(tmp_path / "run", reached=[10, 10, 10])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    command = [sys.executable, "-m", "selfpaced", "dashboard", str(folder.path), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    # a shell that starts the tests in the background lets them, and what they start, ignore Ctrl-C
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    signal.signal(signal.SIGINT, former)
    with process:
        url = process.stdout.readline().split()[0]
        with urllib.request.urlopen(url) as answer:
            assert b"Content-Security-Policy" in answer.read(10_000)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0  # it has a low priority
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
