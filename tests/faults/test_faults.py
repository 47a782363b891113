"""A few of the faults that `python -m tests.faults` tries by the hundred."""

import pytest

from tests.faults.corruptions import corruptions
from tests.faults.kills import kills
from tests.faults.presets import flags, presets


def test_damaged_run_folders_are_refused_in_one_line_or_read_right(tmp_path):
    tried = corruptions(40, 1, tmp_path)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 10


def test_presets_with_wrong_types_are_refused_in_one_line(tmp_path):
    tried = presets(60, 1, tmp_path)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 20


def test_strange_flag_values_are_refused_in_one_line(capsys):
    tried = flags(40, 1)
    assert tried.examples == []
    assert tried.counts["refused in one line"] > 20


@pytest.mark.slow
def test_runs_killed_at_random_moments_resume_bit_identically(tmp_path):
    tried = kills(20, 1, tmp_path)
    assert tried.counts == {"bit-identical": 20}
