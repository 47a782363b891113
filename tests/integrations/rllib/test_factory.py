"""RLlib is needed only when the callbacks are made."""

import sys

import pytest

from selfpaced import Random, SelfpacedError
from selfpaced.errors import MissingPartError
from selfpaced.integrations.rllib import curriculum_callbacks
from tests.integrations.counting import CONTEXTS


def test_a_missing_extra_is_named_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray.rllib", None)
    with pytest.raises(MissingPartError) as caught:
        curriculum_callbacks(Random(), CONTEXTS)
    assert str(caught.value).endswith("run pip install 'selfpaced[rllib]'")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("teacher", "settings", "message"),
    [
        (Random, {}, "teacher must be an instance"),
        (Random(), {"min_episodes": 0}, "min_episodes must be a positive whole number, got 0"),
    ],
)
def test_wrong_settings_are_refused_before_an_algorithm_is_built(teacher, settings, message):
    pytest.importorskip("ray.rllib", reason="RLlib is not installed", exc_type=ImportError)
    with pytest.raises(SelfpacedError, match=message):
        curriculum_callbacks(teacher, CONTEXTS, **settings)
