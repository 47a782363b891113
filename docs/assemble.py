"""Assemble the sources of the site in a folder: pages, command-line and API reference, navigation.

`make docs` runs this and then `zensical build`. Pages are found, not listed: those of `docs/`, and
`BESIDES` of the repository. Their links lead to files, so that they work in the repository as well;
in the site they are rewritten to lead to pages.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from selfpaced.commands.main import COMMANDS, main

ROOT = Path(__file__).resolve().parents[1]
BESIDES = {  # file of the repository -> its page
    "results/README.md": "results.md",
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
ORDER = (  # of the navigation; what is not listed follows by name
    *("index.md", "install.md", "quickstart.md", "tutorials"),
    *(f"tutorials/{name}.md" for name in ("stable-baselines3", "own-environment", "mountain-car")),
    *("concepts.md", "guides"),
    *("cluster.md", "trust.md", "integrations", "choosing-a-teacher.md", "distributions.md"),
    *("teachers", "sprl.md", "learners", "problems", "extend", "cli.md", "api", "devices.md"),
    *("troubleshooting.md", "results.md", "benchmarks.md", "decisions", "contributing.md"),
)
PROTOCOLS = ("teachers.base", "learners.base", "environments.base")  # what own parts fulfil
FILES = (".md", ".png", ".gif", ".css")
WIDTH = 80  # of the help texts, in characters
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def site_paths(root: Path = ROOT) -> dict[str, str]:
    """Return every file of the repository that is part of the site, with its path in the site."""
    docs = root / "docs"
    files = (path for path in sorted(docs.rglob("*")) if path.suffix in FILES)
    found = {str(path.relative_to(root)): str(path.relative_to(docs)) for path in files}
    return found | BESIDES


def rewritten(text: str, source: str, paths: dict[str, str]) -> str:
    """Return a page whose links between files are links between pages of the site.

    Raises:
        ValueError: a link leads to a file that is not part of the site.
    """

    def rewrite(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if "://" in target:
            return link[0]
        file = os.path.normpath(Path(source).parent / target)
        if file not in paths:
            raise ValueError(f"{source} links to {target}, which is not a page of the site")
        page = os.path.relpath(paths[file], Path(paths[source]).parent)
        return f"]({page}{anchor})"

    prose_and_code = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)
    return "".join(
        part if part.startswith("```") else LINK.sub(rewrite, part) for part in prose_and_code
    )


def public_names(root: Path = ROOT) -> dict[str, list[str]]:
    """Return the public names by package, with their places, as type checkers see them."""
    tree = ast.parse((root / "src/selfpaced/__init__.py").read_text(encoding="utf-8"))
    found = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and "selfpaced." in node.module:
            for name in (alias.asname for alias in node.names if alias.asname):
                found[node.module.split(".")[1]].append(f"{node.module}.{name}")
    for place in PROTOCOLS:
        found[place.partition(".")[0]].append(f"selfpaced.{place}")
    return dict(sorted(found.items()))


def api_pages() -> dict[str, str]:
    """Return one page of the API reference per package."""
    return {
        f"api/{package}.md": "\n\n".join([f"# selfpaced.{package}", *(f"::: {p}" for p in places)])
        for package, places in public_names().items()
    }


def command_page() -> str:
    """Return the help texts of all commands."""
    texts = [
        "# Command line\n\nThe help of every command, as `selfpaced COMMAND --help` prints it. "
        "`train` has the flags of the problem, teacher and learner that are named."
    ]
    for name, command in COMMANDS.items():
        shown = StringIO()
        with _narrow_terminal(), redirect_stdout(shown), suppress(SystemExit):
            main([name, "--help"])
        text = "\n".join(_wrapped(line) for line in shown.getvalue().strip().splitlines())
        texts.append(f"## {name}\n\n{command.summary}\n\n```text\n{text}\n```")
    return "\n\n".join(texts) + "\n"


def _wrapped(line: str) -> str:
    """Return a line that fits the page: descriptions of commands are not wrapped for files."""
    return line if len(line) <= WIDTH else textwrap.fill(line, WIDTH)


@contextmanager
def _narrow_terminal() -> Iterator[None]:
    before = os.environ.copy()
    os.environ |= {"COLUMNS": str(WIDTH), "NO_COLOR": "1"}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def navigation(pages: list[str], titles: dict[str, str]) -> list[object]:
    """Return the navigation: a section per folder, its index first."""
    sections: dict[str, list[str]] = defaultdict(list)
    order = [*ORDER, *sorted(pages), *sorted({page.partition("/")[0] for page in pages})]
    for page in sorted(pages, key=lambda page: (not page.endswith("index.md"), order.index(page))):
        sections[page.partition("/")[0]].append(page)
    return [
        inside[0] if name.endswith(".md") else {titles.get(name, name.capitalize()): inside}
        for name, inside in sorted(sections.items(), key=lambda item: order.index(item[0]))
    ]


def assemble(folder: Path) -> None:
    """Write the sources of the site and its settings to a folder, whose content is replaced."""
    shutil.rmtree(folder, ignore_errors=True)
    paths = site_paths()
    pages = {"cli.md": command_page()} | api_pages()
    for source, path in paths.items():
        if path.endswith(".md"):
            pages[path] = rewritten((ROOT / source).read_text(encoding="utf-8"), source, paths)
        else:
            (folder / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, folder / "pages" / path)
    for path, text in pages.items():
        (folder / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pages" / path).write_text(text, encoding="utf-8")
    entries = json.dumps(navigation(list(pages), {"api": "API reference"}), indent=1)
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (folder / "mkdocs.yml").write_text(f"{settings}nav: {entries}\n", encoding="utf-8")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
