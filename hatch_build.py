"""The README as the package index shows it, made when the package is built.

The index has none of the repository's files. With its address in pyproject.toml (`Repository` of
`[project.urls]`), relative links and pictures of the README lead there; without one, links are
reduced to their text and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # only builds need it

    class MetadataHookInterface:  # type: ignore[no-redef]
        """Stands in where hatchling is not installed."""


PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?://)([^)]*)\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?://|#)([^)]*)\)")


def index_readme(text: str, repository: str | None = None) -> str:
    """Return the README without relative links and pictures, or with absolute ones."""
    if repository is None:
        text = re.sub(rf"(?m)^{PICTURE.pattern}\n\n", "", text)
        return LINK.sub(r"\1", text)
    address = repository.rstrip("/")
    text = PICTURE.sub(rf"![\1]({address}/raw/main/\2)", text)
    return LINK.sub(rf"[\1]({address}/blob/main/\2)", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the description of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in `readme`, which pyproject.toml declares as dynamic."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        shown = index_readme(text, repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
