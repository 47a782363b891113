"""The page about RLlib and the examples in docstrings are executed."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("ray.rllib", reason="RLlib is not installed", exc_type=ImportError)

pytestmark = pytest.mark.slow  # for `make test-rllib`, with the versions that RLlib pins

PAGE = Path(__file__).parents[3] / "docs" / "integrations" / "rllib.md"


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.timeout(300)
def test_the_page_trains_with_a_curriculum_and_saves():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    space: dict = {"__name__": "page"}
    exec(compile(code, "page", "exec"), space)
    assert space["result"]["curriculum"]["num_updates"] == 2
    assert space["result"]["curriculum"]["train/length"] > 5
    evaluated = space["result"]["evaluation"]["env_runners"]["num_episodes"]
    assert evaluated >= 4
    assert (Path(space["path"]) / "algorithm_state.pkl").exists()


def test_examples_show_what_they_return():
    failed, attempted = doctest.testmod(import_module("selfpaced.integrations.rllib.factory"))
    assert (failed, attempted > 0) == (0, True)
