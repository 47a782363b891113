"""Heat maps of return and success over the context space while it is learned, with a slider."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from selfpaced.records import Array
from selfpaced.reports.context_path import choose_evenly
from selfpaced.reports.page.curriculum import Frames
from selfpaced.reports.page.maps import (
    MEASURES,
    SHARES,
    average,
    heat_trace,
    map_layout,
    return_limits,
    select_pair,
    target_trace,
)
from selfpaced.reports.page.markup import Figure, Section, group, join, paragraph, player, select
from selfpaced.reports.page.source import ContextBox, RunData
from selfpaced.reports.page.template_values import Tensors, at, pick

NUM_FRAMES = 51
SIDE = 12  # squares
WINDOW = 0.15  # share of the training before a moment whose episodes are shown

_HOW = (
    "Training episodes of all seeds shortly before the chosen moment, averaged in squares. Only "
    "contexts that the teacher chose have a value. Star: the target."
)

Shown = list[tuple[RunData, ContextBox, Array]]


def training_maps(runs: Sequence[RunData], tensors: Tensors, frames: dict[str, Frames]) -> Section:
    """Return the section about training episodes."""
    shown = [
        (run, run.box, rows) for run in runs if run.box is not None and len(rows := _rows(run))
    ]
    if not shown:
        return Section("training", "Where it learns", paragraph("No episodes are recorded."))
    frames["training"] = {
        str(place): {
            "labels": [
                f"iteration {i} · {i * run.steps_per_iteration:,} steps"
                for i in run.contexts["iteration"][rows].tolist()
            ],
            "moments": [("start", 0), ("end", len(rows) - 1)],
        }
        for place, (run, _, rows) in enumerate(shown)
    }
    measures = ["return"]
    if any(np.isfinite(run.curve("success")).any() for run, _, _ in shown):
        measures.append("success")
    figures = tuple(_figure(shown, measure, tensors) for measure in measures)
    controls = [
        select("run", "run", {str(i): run.name for i, (run, _, _) in enumerate(shown)}),
        select_pair([box for _, box, _ in shown]),
        player("run"),
    ]
    body = join(paragraph(_HOW, class_="quiet"), group(figures, *controls, key="training"))
    return Section("training", "Where it learns", body, figures)


def _rows(run: RunData) -> Array:
    """The evaluations [F] that are shown: those with episodes of the right shape."""
    nothing = np.zeros(0, int)
    columns = [run.contexts.get(f"episode_{name}") for name in ("context", "return", "success")]
    contexts, returns, success = columns
    if contexts is None or returns is None or success is None or run.box is None:
        return nothing
    if contexts.ndim != 4 or contexts.shape[3] != run.box.size:
        return nothing
    if not contexts.shape[:3] == returns.shape == success.shape or not run.counted.any():
        return nothing
    known = np.flatnonzero(np.isfinite(returns[:, run.counted]).any(axis=(1, 2)))
    if not len(known):
        return nothing
    return known[choose_evenly(len(known), NUM_FRAMES)]


def _figure(shown: Shown, measure: str, tensors: Tensors) -> Figure:
    boxes = [box for _, box, _ in shown]
    maps = [_maps(run, box, rows, measure) for run, box, rows in shown]
    grids = {
        str(place): {"$grid": at(tensors.add(each), "frame", "pair"), "width": SIDE}
        for place, each in enumerate(maps)
    }
    limits = SHARES
    if measure == "return":
        limits = return_limits([run.problem for run, _, _ in shown], maps)
    form = ".0%" if measure == "success" else ""
    sides = [SIDE] * len(shown)
    traces = [
        heat_trace(boxes, sides, pick("run", grids), limits, form),
        target_trace(boxes, tensors),
    ]
    layout = map_layout(boxes, f"{MEASURES[measure]} of training episodes")
    label = f"{MEASURES[measure]} of training episodes over the contexts"
    return Figure(f"training-{measure}", traces, layout, 400, label)


def _maps(run: RunData, box: ContextBox, rows: Array, measure: str) -> Array:
    """Means [F, P, side, side] of the episodes in a window before each moment."""
    contexts = run.contexts["episode_context"][:, run.counted]
    values = run.contexts[f"episode_{measure}"][:, run.counted]
    width = max(int(WINDOW * len(contexts)), 1)
    maps = []
    for row in rows:
        window = slice(max(row - width + 1, 0), row + 1)
        flat, outcome = contexts[window].reshape(-1, box.size), values[window].ravel()
        known = np.isfinite(flat).all(axis=1) & np.isfinite(outcome)
        maps.append(average(box, flat[known], outcome[known], SIDE))
    return np.stack(maps)
