"""The curriculum over time: contexts, Gaussians or particles, and the target, with a slider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from selfpaced.distributions.transport import wasserstein
from selfpaced.records import Array
from selfpaced.reports.context_path import choose_evenly, find_arrival
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
)
from selfpaced.reports.page.source import ContextBox, RunData
from selfpaced.reports.page.template_values import Template, Tensors, at, pick
from selfpaced.reports.style import BLUE, TARGET

NUM_FRAMES = 101
NUM_POINTS = 1_600  # contexts per frame of all runs together, about
_NUM_TARGETS = 64
_STANDSTILL = 0.05  # box widths: less is no way to the target
_NUM_DISTANCES = 4  # seeds whose distance is computed, which takes a millisecond each

Frames = dict[str, dict[str, object]]

_HOW = (
    "Dots: contexts that the teacher would train on at this moment. Outlines: two standard "
    "deviations of a Gaussian. Diamonds: particles. Star: the target. The right figure has the "
    "distance between the contexts and the target (W2, in widths of the box, mean of up to four "
    "seeds); the dashed line is the distance between two draws from the target, as near as "
    "contexts can come."
)


class Path(NamedTuple):
    """The contexts of a run at the frames of the slider."""

    rows: Array  # [F] of the table of contexts
    iterations: Array  # [F]
    samples: Array  # [F, S, K, C]
    mean: Array | None  # [F, S, C]
    covariance: Array | None  # [F, S, C, C]
    particles: Array | None  # [F, S, N, C]
    distance: Array  # [F], mean over some seeds
    floor: float


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
            shown.append((run, *_with_height(run.box, path)))
    if not shown:
        return Section("curriculum", "Curriculum", paragraph("No contexts are recorded.")), notes
    frames["curriculum"] = {
        str(place): _frames(run, path) for place, (run, _, path) in enumerate(shown)
    }
    figures = (_plane(shown, tensors), _distances(shown, tensors))
    sizes = [box.size for _, box, _ in shown]
    labels = max((box for _, box, _ in shown), key=lambda box: box.size).labels
    most = max((run.counted_seeds for run, _, _ in shown), key=len)
    seeds = {"*": "all"} | {str(i): f"seed {seed}" for i, seed in enumerate(most)}
    components = {str(i): label for i, label in enumerate(labels)}
    other = {str(i): labels[i] for i in [1, 0, *range(2, len(labels))] if i < len(labels)}
    controls = [
        select("run", "run", {str(i): run.name for i, (run, _, _) in enumerate(shown)}),
        select("seed", "seeds", seeds if len(most) > 1 else {"*": "all"}),
        select("i", "horizontal", components if max(sizes) > 1 else {"0": labels[0]}),
        select("j", "vertical", other if max(sizes) > 1 else {"0": labels[0]}),
        player("run"),
    ]
    body = join(paragraph(_HOW, class_="quiet"), group(figures, *controls, key="curriculum"))
    return Section("curriculum", "Curriculum", body, figures), notes


def _with_height(box: ContextBox, path: Path) -> tuple[ContextBox, Path]:
    """Spread contexts with one component over a second axis without meaning."""
    if box.size > 1:
        return box, path
    rng = np.random.default_rng(0)

    def spread(array: Array | None) -> Array | None:
        if array is None:
            return None
        return np.concatenate([array, rng.uniform(0.25, 0.75, array.shape)], axis=-1)

    covariance = path.covariance
    if covariance is not None:
        covariance = covariance * np.array([[1.0, 0.0], [0.0, 0.0]])
        covariance = covariance + np.array([[0.0, 0.0], [0.0, 0.04]])
    mean = None if path.mean is None else np.concatenate(
        [path.mean, np.full(path.mean.shape, 0.5)], axis=-1
    )  # fmt: skip
    target = np.concatenate([box.target, np.full((len(box.target), 1), 0.5)], axis=1)
    wide = ContextBox(
        (*box.labels, "(no meaning)"),
        np.append(box.lower, 0.0),
        np.append(box.upper, 1.0),
        target,
        None,
        (*box.is_log, False),
    )
    samples = spread(path.samples)
    assert samples is not None
    return wide, path._replace(
        samples=samples, mean=mean, covariance=covariance, particles=spread(path.particles)
    )


def read_path(run: RunData, num_runs: int) -> Path | None:
    """Return the contexts at evenly spaced evaluations that all counted seeds have."""
    samples, box = run.contexts.get("samples"), run.box
    if samples is None or box is None or samples.ndim != 4 or samples.shape[3] != box.size:
        return None
    counted = run.counted
    samples = samples[:, counted]
    whole = np.flatnonzero(np.isfinite(samples).all(axis=(1, 2, 3)))
    if not len(whole) or not counted.any():
        return None
    rows = whole[choose_evenly(len(whole), NUM_FRAMES)]
    share = max(NUM_POINTS // (num_runs * samples.shape[1]), 6)

    def taken(name: str, ndim: int) -> Array | None:
        array = run.contexts.get(name)
        if array is None or array.ndim != ndim or array.shape[-1] != box.size:
            return None
        chosen = array[rows][:, counted]
        return chosen if np.isfinite(chosen).any() else None

    cholesky, particles = taken("cholesky", 4), taken("particles", 4)
    distance, floor = _distance(box, samples[rows])
    return Path(
        rows,
        run.contexts["iteration"][rows],
        samples[rows][:, :, :share],
        taken("mean", 3),
        None if cholesky is None else cholesky @ np.swapaxes(cholesky, -1, -2),
        None if particles is None else particles[:, :, :share],
        distance,
        floor,
    )


def _distance(box: ContextBox, samples: Array) -> tuple[Array, float]:
    """W2 [F] to draws from the target, in box widths."""
    rng = np.random.default_rng(0)
    num = samples.shape[2]
    targets = [box.to_unit(_draw_target(box, rng, num)) for _ in range(3)]
    seeds = choose_evenly(samples.shape[1], _NUM_DISTANCES)
    distance = np.array([
        np.mean([wasserstein(each, targets[0]) for each in box.to_unit(row)])
        for row in samples[:, seeds]
    ])  # fmt: skip
    return distance, float(np.mean([wasserstein(targets[0], other) for other in targets[1:]]))


def _draw_target(box: ContextBox, rng: np.random.Generator, num: int) -> Array:
    if box.target_cholesky is None:
        return box.target[rng.integers(len(box.target), size=num)]
    noise = rng.standard_normal((num, box.size))
    return np.clip(box.target + noise @ box.target_cholesky.T, box.lower, box.upper)


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
            "marker": {"size": 18, "color": TARGET, "symbol": "star",
                       "line": {"width": 1, "color": "#ffffff"}},
        },
        common | {
            "name": "contexts",
            "x": at(pick("run", dots), "frame", "seed", "*", "i"),
            "y": at(pick("run", dots), "frame", "seed", "*", "j"),
            "marker": {"size": 5, "color": BLUE, "opacity": 0.55},
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
            "y": at(y), "line": line_look(place) | {"width": 2},
        })  # fmt: skip
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
