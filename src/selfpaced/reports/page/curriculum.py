"""The curriculum over time: contexts, Gaussians or particles, and the target, with a slider."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from selfpaced.reports.context_path import find_arrival
from selfpaced.reports.page.choices import by_place, seed_names, star_size
from selfpaced.reports.page.curves import LEGEND, line_look
from selfpaced.reports.page.markup import (
    Figure,
    Section,
    group,
    join,
    paragraph,
    player,
    plot_text,
    select,
    select_by,
)
from selfpaced.reports.page.recorded_contexts import NO_MEANING, Path, read_path, with_height
from selfpaced.reports.page.source import ContextBox, RunData
from selfpaced.reports.page.template_values import Template, Tensors, at, pick
from selfpaced.reports.style import BLUE, TARGET

_NUM_TARGETS = 64
_STANDSTILL = 0.05  # box widths: less is no way to the target

Frames = dict[str, dict[str, object]]

_HOW = (
    "Dots: contexts that the teacher would train on at this moment. Outlines: two standard "
    "deviations of a Gaussian. Diamonds: particles. Star: the target. The right figure has the "
    "distance between the contexts and the target (W2, in widths of the box, mean of up to four "
    "seeds); the dashed line is the distance between two draws from the target, as near as "
    "contexts can come; stars: arrival, from where on they stay near it."
)


def curriculum(
    runs: Sequence[RunData], tensors: Tensors, frames: dict[str, Frames]
) -> tuple[Section, list[str]]:
    """Return the section of the curriculum, and notes on runs that it cannot show."""
    shown: list[tuple[RunData, ContextBox, Path]] = []
    notes = []
    for run in runs:
        path = None if run.box is None else read_path(run, len(runs))
        if path is None or run.box is None:
            notes.append(f"{run.name}: no contexts are recorded")
        else:
            shown.append((run, *with_height(run.box, path)))
    if not shown:
        return Section("curriculum", "Curriculum", paragraph("No contexts are recorded.")), notes
    frames["curriculum"] = {
        str(place): _frames(run, path) for place, (run, _, path) in enumerate(shown)
    }
    figures = (_plane(shown, tensors), _distances(shown, tensors))
    boxes = [box for _, box, _ in shown]
    controls = [
        select("run", "run", {str(i): run.name for i, (run, _, _) in enumerate(shown)}),
        select_by("run", "seed", "seeds", by_place([seed_names(run, "*") for run, _, _ in shown])),
        select_by("run", "i", "horizontal", by_place([_components(box) for box in boxes])),
        select_by("run", "j", "vertical", by_place([_components(box, 1) for box in boxes])),
        player("run"),
    ]
    body = join(paragraph(_HOW, class_="quiet"), group(figures, *controls, key="curriculum"))
    return Section("curriculum", "Curriculum", body, figures), notes


def _components(box: ContextBox, first: int = 0) -> dict[str, str]:
    """The components of an axis, with one of them in the first place."""
    if box.labels[-1] == NO_MEANING:
        return {str(first): box.labels[first]}
    return {str(i): box.labels[i] for i in sorted(range(box.size), key=lambda i: i != first)}


def _frames(run: RunData, path: Path) -> dict[str, object]:
    moments = _moments(path)
    return {
        "labels": _labels(run, path),
        "moments": moments,
        "first": dict(moments).get("half way", len(path.rows) - 1),
    }


def _labels(run: RunData, path: Path) -> list[str]:
    return [
        f"iteration {iteration} · {iteration * run.steps_per_iteration:,} steps · W2 {distance:.3f}"
        for iteration, distance in zip(path.iterations.tolist(), path.distance, strict=True)
    ]


def _moments(path: Path) -> list[tuple[str, int]]:
    """The moments that matter: start, half of the way, arrival, end."""
    last = len(path.distance) - 1
    moments = [("start", 0)]
    way = path.distance[0] - path.distance.min()
    if way > _STANDSTILL:
        half = int(np.argmax(path.distance <= path.distance[0] - way / 2))
        moments.append(("half way", half))
    arrived = find_arrival(path.distance, path.floor)
    if arrived:
        moments.append(("arrival", arrived))
    return [*moments, ("end", last)]


def _plane(shown: Sequence[tuple[RunData, ContextBox, Path]], tensors: Tensors) -> Figure:
    """The contexts of one run at one moment."""
    dots: dict[str, str] = {}
    particles: dict[str, str] = {}
    means: dict[str, str] = {}
    covariances: dict[str, str] = {}
    targets: dict[str, str] = {}
    sizes: dict[str, int] = {}
    ranges: dict[str, dict[str, Template]] = {}
    for place, (_, box, path) in enumerate(shown):
        key = str(place)
        dots[key] = tensors.add_coarse(path.samples, box.lower, box.upper)
        if path.particles is not None:
            particles[key] = tensors.add_coarse(path.particles, box.lower, box.upper)
        if path.mean is not None and path.covariance is not None:
            means[key] = tensors.add(path.mean)
            covariances[key] = tensors.add(path.covariance)
        targets[key] = tensors.add(box.target[:_NUM_TARGETS])
        sizes[key] = star_size(box, 18)
        for axis, label in enumerate(box.labels):
            low, high = box.lower[axis], box.upper[axis]
            margin = 0.04 * (high - low)
            limits = [low - margin, high + margin]
            if box.is_log[axis]:
                limits = [float(np.log10(low)), float(np.log10(high))]
            kind = "log" if box.is_log[axis] else "linear"
            look = {"text": plot_text(label), "range": limits, "type": kind}
            ranges.setdefault(key, {})[str(axis)] = look

    def axis_of(control: str) -> Template:
        def of(field: str) -> Template:
            return pick("run", {k: pick(control, {a: v[field] for a, v in each.items()})
                                for k, each in ranges.items()})  # fmt: skip

        return {"title": {"text": of("text")}, "range": of("range"), "type": of("type")}

    ellipse = [pick("run", means), pick("run", covariances), "frame", "seed", "i", "j"]
    common: Template = {"type": "scatter", "mode": "markers", "hovertemplate": "%{x:.3g}, %{y:.3g}"}
    traces: list[Template] = [
        {
            "name": "two standard deviations", "type": "scatter", "mode": "lines",
            "x": {"$ellipse": [*ellipse, 0]}, "y": {"$ellipse": [*ellipse, 1]},
            "line": {"width": 1}, "opacity": 0.45, "hoverinfo": "skip", "ink": True,
        },
        common | {
            "name": "target",
            "x": at(pick("run", targets), "*", "i"),
            "y": at(pick("run", targets), "*", "j"),
            "marker": {"size": pick("run", sizes), "color": TARGET, "symbol": "star",
                       "line": {"width": 1, "color": "#ffffff"}},
        },
        common | {
            "name": "contexts",
            "x": at(pick("run", dots), "frame", "seed", "*", "i"),
            "y": at(pick("run", dots), "frame", "seed", "*", "j"),
            "marker": {"size": 5, "color": BLUE, "opacity": 0.7},
        },
        common | {
            "name": "particles",
            "x": at(pick("run", particles), "frame", "seed", "*", "i"),
            "y": at(pick("run", particles), "frame", "seed", "*", "j"),
            "marker": {"size": 6, "color": "#009E73", "symbol": "diamond-open", "opacity": 0.7},
        },
    ]  # fmt: skip
    layout: Template = {
        "xaxis": axis_of("i"),
        "yaxis": axis_of("j"),
        "legend": LEGEND,
        "uirevision": pick("run", {key: key for key in ranges}),
    }
    return Figure("plane", traces, layout, 440, "The training contexts at the chosen moment")


def _distances(shown: Sequence[tuple[RunData, ContextBox, Path]], tensors: Tensors) -> Figure:
    """The distance to the target over all iterations, with a mark at the moment of the slider."""
    traces: list[Template] = []
    nows_x, nows_y, floors = {}, {}, {}
    for place, (run, _, path) in enumerate(shown):
        steps = path.iterations * float(run.steps_per_iteration)
        x, y = tensors.add(steps), tensors.add(path.distance)
        nows_x[str(place)], nows_y[str(place)] = at(x, "frame"), at(y, "frame")
        floors[str(place)] = path.floor
        traces.append({
            "type": "scatter", "mode": "lines", "name": plot_text(run.name), "x": at(x),
            "y": at(y), "line": line_look(run) | {"width": 2},
        })  # fmt: skip
    traces += _arrivals(shown)
    traces.append({
        "type": "scatter", "mode": "markers", "name": "this moment", "showlegend": False,
        "x": pick("run", nows_x), "y": pick("run", nows_y),
        "marker": {"size": 12, "color": TARGET, "line": {"width": 2, "color": "#ffffff"}},
    })  # fmt: skip
    layout: Template = {
        "xaxis": {"title": {"text": "environment steps of a seed"}, "exponentformat": "SI"},
        "yaxis": {"title": {"text": "W2 to the target [box widths]"}, "rangemode": "tozero"},
        "legend": LEGEND,
        "shapes": [{
            "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": pick("run", floors),
            "y1": pick("run", floors), "line": {"dash": "dash", "width": 1, "color": "#888888"},
        }],
    }  # fmt: skip
    return Figure("distance", traces, layout, 440, "Distance of the contexts to the target")


def _arrivals(shown: Sequence[tuple[RunData, ContextBox, Path]]) -> list[Template]:
    """Marks of the moments at which runs arrive at the target."""
    found = [(run, path, find_arrival(path.distance, path.floor)) for run, _, path in shown]
    marks = [
        (float(path.iterations[row] * run.steps_per_iteration), float(path.distance[row]),
         plot_text(f"{run.name} arrives"))
        for run, path, row in found
        if row
    ]  # fmt: skip
    if not marks:
        return []
    x, y, texts = (list(each) for each in zip(*marks, strict=True))
    return [{
        "type": "scatter", "mode": "markers", "name": "arrival", "x": x, "y": y, "text": texts,
        "hovertemplate": "%{text}, %{x:.4s} steps<extra></extra>",
        "marker": {"size": 13, "color": TARGET, "symbol": "star",
                   "line": {"width": 1, "color": "#ffffff"}},
    }]  # fmt: skip
