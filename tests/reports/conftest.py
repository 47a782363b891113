"""Fixtures of the tests of reports."""

import pytest

from tests.reports.invented_runs import invented_run


@pytest.fixture(name="make_run")
def _make_run(tmp_path):
    """A function that makes invented runs; the problem "probe" has one context component."""

    def make(name="run", **settings):
        if settings.get("problem") == "probe":
            settings["problem"] = "tests.reports.invented_runs:PROBE"
        return invented_run(tmp_path / name, **settings)

    return make
