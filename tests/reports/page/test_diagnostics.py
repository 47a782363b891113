"""Explanations of all quantities, and quantiles over the seeds that have a value."""

import re
from pathlib import Path

import numpy as np

import selfpaced
from selfpaced.reports.page.diagnostics import row_quantiles
from selfpaced.reports.page.readings import READINGS

_QUANTITY = re.compile(r'"((?:teacher|learner|train)/[a-z_0-9]+)"')
_PARTS = ("teachers", "learners", "training", "sprl")


def test_every_quantity_that_parts_record_is_explained():
    source = Path(selfpaced.__file__).parent
    files = [path for part in _PARTS for path in (source / part).rglob("*.py")]
    names = {name for path in files for name in _QUANTITY.findall(path.read_text())}
    assert len(names) > 40
    assert names - READINGS.keys() == set()


def test_quantiles_leave_out_seeds_without_a_value():
    rng = np.random.default_rng(0)
    values = np.where(rng.uniform(size=(50, 7)) < 0.3, np.nan, rng.standard_normal((50, 7)))
    shares = (0.5, 0.1, 0.9)
    values[3] = np.nan
    found = np.stack(row_quantiles(values, shares))
    known = np.arange(50) != 3
    np.testing.assert_allclose(found[:, known], np.nanquantile(values[known], shares, axis=1))
    assert np.isnan(found[:, 3]).all()
