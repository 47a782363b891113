"""The description on the package index has no dead links, and absolute ones given an address."""

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
build = module_from_spec(spec)
spec.loader.exec_module(build)


@pytest.mark.parametrize(
    ("text", "bare", "absolute"),
    [
        ("a [b](docs/c.md) d", "a b d", "a [b](https://x.org/r/blob/main/docs/c.md) d"),
        ("[b](docs/c.md#e)", "b", "[b](https://x.org/r/blob/main/docs/c.md#e)"),
        ("[b](https://arxiv.org)", "[b](https://arxiv.org)", "[b](https://arxiv.org)"),
        ("[b](#here)", "[b](#here)", "[b](#here)"),
        ("a\n\n![b](c.png)\n\nd", "a\n\nd", "a\n\n![b](https://x.org/r/raw/main/c.png)\n\nd"),
    ],
)
def test_relative_links_lose_their_target_or_lead_to_the_repository(text, bare, absolute):
    assert build.index_readme(text) == bare
    assert build.index_readme(text, "https://x.org/r/") == absolute


def test_no_link_or_picture_of_the_readme_is_dead_on_the_package_index():
    shown = build.index_readme(README, PROJECT["urls"].get("Repository"))
    targets = re.findall(r"\]\(([^)]*)\)", shown)
    assert "https://arxiv.org/abs/2004.11812" in targets
    assert [target for target in targets if not target.startswith("https://")] == []
    assert len(shown) > 0.8 * len(README)


def test_an_address_makes_every_link_of_the_readme_lead_to_a_file_that_exists():
    shown = build.index_readme(README, "https://example.org/own")
    pattern = r"\]\(https://example\.org/own/(?:raw|blob)/main/([^)#]*)"
    paths = re.findall(pattern, shown)
    assert "docs/images/contexts.png" in paths
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_the_addresses_of_the_project_are_absolute():
    assert all(url.startswith("https://") for url in PROJECT["urls"].values())
