"""What the teachers and learners recorded, with how to read it, and the advice that was given."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from selfpaced.records import Array
from selfpaced.reports.context_path import choose_evenly
from selfpaced.reports.page.curves import LEGEND, line_look
from selfpaced.reports.page.markup import (
    Figure,
    Html,
    Section,
    group,
    join,
    notes,
    paragraph,
    plot_text,
    select,
    tag,
)
from selfpaced.reports.page.readings import READINGS
from selfpaced.reports.page.source import RunData
from selfpaced.reports.page.template_values import Template, Tensors, at, pick

NUM_POINTS = 300  # of a curve

_OTHER = "Recorded by the part of this name; its page in the documentation explains it."
_HOW = (
    "Median over the seeds; band: from the lowest to the highest tenth of the seeds. Choose a "
    "quantity; the sentence below the figure says how to read it."
)


def diagnostics(runs: Sequence[RunData], tensors: Tensors) -> Section:
    """Return the section of the teachers' diagnostics."""
    shown = [run for run in runs if run.metrics]
    parts: list[Html] = [_advice(runs)]
    names = _names(shown)
    if not names:
        parts.append(paragraph("No metrics are recorded."))
        return Section("diagnostics", "Diagnostics", join(*parts))
    figure = _figure(shown, names, tensors)
    options = {str(i): _words(name) for i, name in enumerate(names)}
    readings = [
        tag("p", f"{_words(name)}: {READINGS.get(name, _OTHER)}", data_when=f"quantity={i}",
            hidden=i > 0, class_="reading")
        for i, name in enumerate(names)
    ]  # fmt: skip
    controls = [
        select("quantity", "quantity", options),
        select("scale", "scale", {"linear": "linear", "log": "logarithmic"}),
    ]
    parts.append(paragraph(_HOW, class_="quiet"))
    parts.append(group([figure], *controls, footer=join(*readings)))
    return Section("diagnostics", "Diagnostics", join(*parts), (figure,))


def _advice(runs: Sequence[RunData]) -> Html:
    texts = [
        f"{run.name}, iteration {note.get('iteration')} (seeds: {note.get('num_seeds')}): "
        f"{note.get('text')}"
        for run in runs
        for note in run.advice
    ]
    if not texts:
        return paragraph("The teachers gave no advice.")
    return notes(texts, "Advice that was given")


def _names(runs: Sequence[RunData]) -> list[str]:
    """Quantities of all runs: those that can be explained first."""
    found = dict.fromkeys(name for run in runs for name in run.metrics)
    known = [name for name in READINGS if name in found]
    others = [
        name
        for name in sorted(found)
        if name not in READINGS and "/" in name and not name.startswith(("time/", "context/"))
    ]
    return known + others


def _figure(runs: Sequence[RunData], names: list[str], tensors: Tensors) -> Figure:
    traces: list[Template] = []
    for place, run in enumerate(runs):
        iterations = run.metrics["iteration"]
        rows = choose_evenly(len(iterations), NUM_POINTS)
        x = iterations[rows] * float(run.steps_per_iteration)
        middle, low, high = _quantiles(run, names, rows)
        ends = tensors.add(np.concatenate([high, low[:, ::-1]], axis=1))
        look, name = line_look(run), plot_text(run.name)
        recorded = {str(i): True for i, row in enumerate(middle) if np.isfinite(row).any()}
        common: Template = {
            "type": "scatter", "legendgroup": f"run{place}",
            "visible": pick("quantity", recorded, other=False),
        }  # fmt: skip
        traces += [
            common | {
                "x": at(tensors.add(np.concatenate([x, x[::-1]]))), "y": at(ends, "quantity"),
                "fill": "toself", "line": {"width": 0, "color": look["color"]}, "mode": "lines",
                "opacity": 0.25, "showlegend": False, "hoverinfo": "skip",
            },
            common | {
                "name": name, "mode": "lines", "x": at(tensors.add(x)),
                "y": at(tensors.add(middle), "quantity"), "line": look | {"width": 2},
            },
        ]  # fmt: skip
    layout: Template = {
        "xaxis": {"title": {"text": "environment steps of a seed"}, "exponentformat": "SI"},
        "yaxis": {
            "title": {"text": pick("quantity", {str(i): plot_text(_words(name))
                                                for i, name in enumerate(names)})},
            "type": pick("scale", {"linear": "linear", "log": "log"}),
            "exponentformat": "power",
        },
        "legend": LEGEND | {"groupclick": "togglegroup"},
        "uirevision": pick("quantity", {str(i): i for i in range(len(names))}),
    }  # fmt: skip
    return Figure("diagnostics", traces, layout, 400, "The chosen diagnostic of every run")


def _quantiles(run: RunData, names: list[str], rows: Array) -> list[Array]:
    """Median, lowest and highest tenth [Q, N] over the seeds; NaN where nothing is recorded."""
    shape = (len(rows), len(run.counted_seeds))
    found = [np.full((len(names), len(rows)), np.nan) for _ in range(3)]
    for index, name in enumerate(names):
        column = run.metrics.get(name)
        if column is None or not shape[1]:
            continue
        values = row_quantiles(column[rows][:, run.counted], (0.5, 0.1, 0.9))
        for array, quantile in zip(found, values, strict=True):
            array[index] = quantile
    return found


def row_quantiles(values: Array, shares: Sequence[float]) -> list[Array]:
    """Return quantiles of each row without its NaN, which NumPy takes one row at a time."""
    ordered = np.sort(values, axis=1)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=1) - 1, 0)
    row = np.arange(len(ordered))
    quantiles = []
    for share in shares:
        place = share * last
        below = np.floor(place).astype(int)
        low, high = ordered[row, below], ordered[row, np.minimum(below + 1, last)]
        weight = place - below
        step = np.subtract(high, low, out=np.zeros_like(low), where=weight > 0)
        quantiles.append(low + weight * step)
    return quantiles


def _words(name: str) -> str:
    words = name.replace("_", " ").replace("/", ": ")
    return re.sub(r"\b(kl|w2)\b", lambda found: found[0].upper(), words)
