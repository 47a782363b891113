"""Quantiles over the seeds that have a value."""

import numpy as np

from selfpaced.reports.page.diagnostics import row_quantiles


def test_quantiles_leave_out_seeds_without_a_value():
    rng = np.random.default_rng(0)
    values = np.where(rng.uniform(size=(50, 7)) < 0.3, np.nan, rng.standard_normal((50, 7)))
    shares = (0.5, 0.1, 0.9)
    values[3] = np.nan
    found = np.stack(row_quantiles(values, shares))
    known = np.arange(50) != 3
    np.testing.assert_allclose(found[:, known], np.nanquantile(values[known], shares, axis=1))
    assert np.isnan(found[:, 3]).all()
