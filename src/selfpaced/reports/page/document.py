"""The document: sections, figures and the libraries that draw them, in one HTML file.

A page shows what strangers' files hold. All text is escaped (`markup`), data is JSON in which no
tag can end, and a policy in the document forbids every script but its own two and every request.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from selfpaced.reports.page.markup import Html, Section, join, tag
from selfpaced.reports.page.template_values import Template, Tensors
from selfpaced.validation import require_extra


class Content(NamedTuple):
    """Everything that a page shows, before it becomes a document."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    tensors: Tensors
    frames: Template

    def data(self) -> Template:
        """Return figures and their arrays as plain data."""
        return {
            "figures": {
                figure.key: {"traces": figure.traces, "layout": figure.layout}
                for section in self.sections
                for figure in section.figures
            },
            "tensors": self.tensors.packed,
            "frames": self.frames,
        }

    def update(self) -> Template:
        """Return what a live page fetches: the bodies of sections and the data."""
        bodies = {each.key: each.body for each in self.sections}
        return {"sections": bodies, "title": self.title, "subtitle": self.subtitle} | self.data()


def render(content: Content, live_seconds: float = 0.0, version: str = "") -> str:
    """Return the document; with `live_seconds`, it asks its server for news that often."""
    library, own = _library(), _asset("page.js")
    data = content.data() | {"live": live_seconds, "version": version}
    connections = "'self'" if live_seconds else "'none'"
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(own)}; style-src 'unsafe-inline'; "
        f"img-src data: blob:; media-src data:; font-src data:; connect-src {connections}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = join(
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="referrer" content="no-referrer">'),
        Html('<link rel="icon" href="data:,">'),
        tag("title", content.title),
        Html(f"<style>{_asset('page.css')}</style>"),
    )
    links = [tag("a", each.title, href=f"#{each.key}") for each in content.sections]
    status = tag("span", "live", id="live") if live_seconds else Html("")
    body = join(
        Html('<a class="skip" href="#summary">skip to the summary</a>'),
        tag(
            "header",
            tag("div", tag("h1", content.title), tag("p", content.subtitle, id="subtitle")),
        ),
        tag("nav", tag("div", *links, status), aria_label="sections"),
        tag("main", *map(_section, content.sections)),
        Html(f'<script type="application/json" id="page-data">{_json(data)}</script>'),
        Html(f"<script>{library}</script><script>{own}</script>"),
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _section(section: Section) -> Html:
    body = tag("div", section.body, class_="body")
    return tag("section", tag("h2", section.title), body, id=section.key)


def _library() -> str:
    require_extra("report", "plotly", "the HTML page")
    from plotly.offline import get_plotlyjs

    library: str = get_plotlyjs()
    return library


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def json_text(data: Any) -> str:
    """Return JSON as browsers read it: NaN and infinity become null."""
    return json.dumps(_known(data), separators=(",", ":"), allow_nan=False)


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _known(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_known(each) for each in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def _json(data: Any) -> str:
    """JSON in which no tag can start or end."""
    text = json_text(data)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
