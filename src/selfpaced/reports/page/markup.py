"""HTML of tables, controls and notes; all text is escaped here, whatever it came from."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote as percent_encoded

from selfpaced.reports.page.template_values import Template

_EMPTY = ("img", "input", "meta")  # elements without content


class Html(str):
    """Text that is HTML already; everything else is escaped."""


class Figure(NamedTuple):
    """A Plotly figure whose values may depend on controls; see `template_values`."""

    key: str
    traces: list[Template]
    layout: Template
    height: int
    label: str  # for readers who do not see it


class Section(NamedTuple):
    """A part of the page: a heading, HTML, and the figures whose places are in it."""

    key: str
    title: str
    body: Html
    figures: tuple[Figure, ...] = ()


class Cell(NamedTuple):
    """A cell of a table: what is shown, and what the column is sorted by."""

    text: str
    order: float | str = ""


def tag(element: str, /, *content: object, **attributes: object) -> Html:
    """Return an element; content is escaped unless it is HTML, `class_` is the attribute class."""
    parts = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        parts.append(f" {attribute}" if value is True else f' {attribute}="{escape(str(value))}"')
    if element in _EMPTY:
        return Html(f"<{element}{''.join(parts)}>")
    inner = join(*content)
    return Html(f"<{element}{''.join(parts)}>{inner}</{element}>")


def join(*content: object) -> Html:
    """Return pieces behind each other, escaped unless they are HTML."""
    return Html("".join(each if isinstance(each, Html) else escape(str(each)) for each in content))


def paragraph(*content: object, class_: str | None = None) -> Html:
    """Return a paragraph."""
    return tag("p", *content, class_=class_)


def notes(texts: Sequence[str], title: str) -> Html:
    """Return a list of things that a reader must know; nothing if there are none."""
    if not texts:
        return Html("")
    items = [tag("li", text) for text in dict.fromkeys(texts)]
    return tag("div", tag("strong", title), tag("ul", *items), class_="note", role="note")


def table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    sortable: bool = True,
    file: str | None = None,
    numbers: Sequence[Sequence[object]] | None = None,
) -> Html:
    """Return a table that scrolls by itself if it is wide.

    Args:
        caption: what it shows.
        header: names of the columns.
        rows: text, HTML or `Cell` of each cell.
        sortable: whether a click on a name sorts it.
        file: name of the CSV file to download; None offers none.
        numbers: rows of that file; None takes the text.
    """
    names = [name.replace(" %", "\N{NO-BREAK SPACE}%") for name in header]
    head = [
        tag("th", tag("button", name, type="button") if sortable else name, scope="col")
        for name in names
    ]
    body = [tag("tr", *map(_cell, row)) for row in rows]
    link = Html("")
    if file is not None:
        content = numbers if numbers is not None else [[_plain(cell) for cell in r] for r in rows]
        link = download(file, csv_text(header, content), "text/csv", "table as CSV")
    inner = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *body),
        class_="sortable" if sortable else None,
    )
    scroller = tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return join(scroller, link)


def download(file: str, content: str, kind: str, text: str) -> Html:
    """Return a link that saves a file; its content is part of the link."""
    return tag(
        "a",
        text,
        download=file,
        class_="download",
        href=f"data:{kind},{percent_encoded(content, safe=',.-+/:')}",
    )


def csv_text(header: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as CSV; NaN is an empty cell."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_spreadsheet(cell) for cell in row])
    return buffer.getvalue()


def select(name: str, label: str, options: Mapping[str, str]) -> Html:
    """Return a choice; a single option is not shown."""
    choices = [tag("option", text, value=value) for value, text in options.items()]
    field = tag("select", *choices, name=name)
    return tag("label", label, " ", field, hidden=len(options) < 2)


def select_by(
    control: str, name: str, label: str, options: Mapping[str, Mapping[str, str]]
) -> Html:
    """Return a choice whose options depend on the value of another control."""
    first = next(iter(options.values()))
    choices = [tag("option", text, value=value) for value, text in first.items()]
    # as pairs: a browser sorts names that are numbers
    plain = json.dumps({value: list(each.items()) for value, each in options.items()})
    field = tag("select", *choices, name=name, data_by=control, data_options=plain)
    return tag("label", label, " ", field, hidden=len(first) < 2)


def player(labels_by: str) -> Html:
    """Return a slider with a play button; `labels_by` is the control that its labels depend on."""
    return tag(
        "div",
        tag("button", "▶ play", type="button", class_="play", aria_pressed="false"),
        Html(
            '<input type="range" name="frame" min="0" max="0" value="0" step="1" '
            f'aria-label="moment of training" data-by="{escape(labels_by)}">'
        ),
        tag("output", ""),
        tag("span", class_="moments"),
        class_="player",
    )


def group(
    figures: Sequence[Figure], *controls: Html, key: str = "", footer: Html | None = None
) -> Html:
    """Return controls, and places for the figures that depend on them; `key` is of its slider.

    A live page keeps the group as long as its `choices`, the controls and figures, are the same.
    """
    places = [
        tag(
            "div",
            data_figure=figure.key,
            class_="figure",
            style=f"height:{figure.height}px",
            role="img",
            aria_label=figure.label,
        )
        for figure in figures
    ]
    bar = tag("div", *controls, class_="controls") if controls else Html("")
    side = tag("div", *places, class_="pair") if len(places) > 1 else join(*places)
    choices = hashlib.blake2b(join(bar, side).encode(), digest_size=6).hexdigest()
    body = (bar, side, footer or Html(""))
    return tag("div", *body, class_="group", data_key=key or None, data_choices=choices)


def number(value: float, form: str = ".2f") -> str:
    """Return a number, and a dash if there is none."""
    return f"{value:{form}}" if math.isfinite(value) else "–"


def plot_text(text: str) -> str:
    """Return text for a figure, where Plotly would take tags for formatting."""
    return escape(text, quote=False)


def _cell(cell: object) -> Html:
    if isinstance(cell, Cell):
        order = cell.order if cell.order != "" else cell.text
        return tag("td", cell.text, data_order=order)
    return tag("td", cell)


def _plain(cell: object) -> object:
    return cell.text if isinstance(cell, Cell) else cell


def _spreadsheet(cell: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe."""
    if isinstance(cell, float):
        return "" if math.isnan(cell) else cell
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{cell}"
    return cell
