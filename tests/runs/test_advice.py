"""The advice in a run folder."""

from selfpaced import RunFolder
from selfpaced.runs.advice import record_advice


def test_each_kind_of_advice_is_kept_once(tmp_path):
    texts = (
        (0, "the 9 remaining iterations are too few"),
        (0, "the 9 remaining iterations are too few"),  # of another block
        (5, "the 4 remaining iterations are too few"),
        (5, "the mean return is negative"),
    )
    new = [
        record_advice(tmp_path, {"advice": text, "iteration": iteration, "num_seeds": 2})
        for iteration, text in texts
    ]
    assert new == [True, False, False, True]
    assert RunFolder(tmp_path).advice() == [
        {"iteration": 0, "text": "the 9 remaining iterations are too few", "num_seeds": 2},
        {"iteration": 5, "text": "the mean return is negative", "num_seeds": 2},
    ]


def test_a_run_without_advice_has_none(tmp_path):
    assert RunFolder(tmp_path).advice() == []
