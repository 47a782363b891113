"""The site: where links lead, what is in its navigation, and that it builds without a warning."""

import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import selfpaced

ROOT = Path(__file__).parents[1]
spec = spec_from_file_location("assemble", ROOT / "docs" / "assemble.py")
site = module_from_spec(spec)
spec.loader.exec_module(site)


@pytest.mark.parametrize(
    ("link", "rewritten"),
    [
        ("[a](../results/README.md#ant)", "[a](results.md#ant)"),
        ("[a](images/b.png)", "[a](images/b.png)"),
        ("[a](https://arxiv.org)", "[a](https://arxiv.org)"),
        ("[a](#here)", "[a](#here)"),
        ("```python\nx[0](key)\n```", "```python\nx[0](key)\n```"),
    ],
)
def test_links_between_files_become_links_between_pages(link, rewritten):
    paths = {"docs/a.md": "a.md", "docs/images/b.png": "images/b.png", **site.BESIDES}
    assert site.rewritten(link, "docs/a.md", paths) == rewritten


def test_a_page_beside_the_docs_finds_pages_in_them():
    paths = {"docs/teachers/spdl.md": "teachers/spdl.md", **site.BESIDES}
    text = site.rewritten("[a](../docs/teachers/spdl.md)", "results/README.md", paths)
    assert text == "[a](teachers/spdl.md)"


def test_a_link_to_a_file_that_is_no_page_is_refused():
    with pytest.raises(ValueError, match=r"docs/a.md links to b.py, which is not a page"):
        site.rewritten("[a](b.py)", "docs/a.md", {"docs/a.md": "a.md"})


def test_the_navigation_has_every_page_and_puts_the_index_first():
    tutorials = ["tutorials/compare-teachers.md", "tutorials/stable-baselines3.md"]
    pages = ["zoo/a.md", "zoo/index.md", "quickstart.md", "index.md", "api/errors.md", *tutorials]
    assert site.navigation(pages, {"api": "API reference"}) == [
        "index.md",
        "quickstart.md",
        {"Tutorials": tutorials[::-1]},
        {"API reference": ["api/errors.md"]},
        {"Zoo": ["zoo/index.md", "zoo/a.md"]},
    ]


def test_the_reference_has_every_public_name():
    names = {
        place.rpartition(".")[2] for inside in site.public_names().values() for place in inside
    }
    assert {*selfpaced.__all__} <= names


def test_help_texts_fit_the_page():
    helps = site.command_page().split("```")[1::2]
    assert max(len(line) for text in helps for line in text.splitlines()) <= site.WIDTH


def test_a_page_explains_every_public_name_of_an_integration():
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "integrations").glob("*.md"))
    names = [place.rpartition(".")[2] for place in site.public_names()["integrations"]]
    assert [name for name in names if f"`{name}`" not in pages] == []


@pytest.mark.skipif(find_spec("zensical") is None, reason="requires selfpaced[docs]")
def test_the_site_builds_without_a_warning_and_shows_every_page(tmp_path):
    site.assemble(tmp_path)
    settings = str(tmp_path / "mkdocs.yml")
    words = [sys.executable, "-m", "zensical", "build", "--strict", "-f", settings]
    subprocess.run(words, check=True, cwd=ROOT)
    pages = {path.relative_to(tmp_path / "pages") for path in (tmp_path / "pages").rglob("*.md")}
    built = {path.relative_to(tmp_path / "html") for path in (tmp_path / "html").rglob("*.html")}
    assert {page.with_suffix(".html") for page in pages} == built - {Path("404.html")}
    assert "zeta" in (tmp_path / "html/api/teachers.html").read_text()
    reference = (tmp_path / "html/api/integrations.html").read_text()
    assert '<span class="gp">&gt;&gt;&gt; </span>' in reference  # examples are code
    assert "--first-seed" in (tmp_path / "html/cli.html").read_text()
