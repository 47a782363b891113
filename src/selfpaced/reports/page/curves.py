"""Learning curves: every run, statistic, measure and axis in one figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from selfpaced.records import Array
from selfpaced.reports.page.choices import by_place
from selfpaced.reports.page.markup import (
    Figure,
    Section,
    group,
    join,
    paragraph,
    plot_text,
    select,
    select_by,
)
from selfpaced.reports.page.source import RunData
from selfpaced.reports.page.template_values import Template, Tensors, at, pick
from selfpaced.reports.style import colour_of, dashes_of

MEASURES = {"return": "return", "success": "success"}
STATISTICS = {"mean": "mean", "median": "median", "iqm": "interquartile mean"}
AXES = {"steps": "environment steps of a seed", "wall": "wall time [s]", "iterations": "iteration"}
LEGEND: Template = {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"}
_DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}

_HOW = (
    "Performance on the target, with the stochastic policy. Line: the statistic over the seeds; "
    "band: 95 % of it under resampling of the seeds; thin: single seeds. A click on a name in the "
    "legend hides or shows a run, a double click shows it alone."
)


def learning_curves(runs: Sequence[RunData], tensors: Tensors) -> Section:
    """Return the section of learning curves."""
    shown = [run for run in runs if len(run.iterations)]
    if not shown:
        return Section("curves", "Learning curves", paragraph("No run has an evaluation yet."))
    problems = list(dict.fromkeys(run.problem for run in shown))
    figure = _figure(shown, problems, tensors)
    numbers = sorted({seed for run in shown for seed in run.counted_seeds})
    seeds = {"-": "hidden", "*": "all"} | {str(seed): f"seed {seed}" for seed in numbers}
    if max(len(run.counted_seeds) for run in shown) == 1:
        seeds = {"-": "hidden"}
    controls = [
        select("problem", "problem", {str(i): name for i, name in enumerate(problems)}),
        select_by("problem", "only", "runs", by_place([_names(shown, each) for each in problems])),
        select("measure", "measure", MEASURES if _has_success(shown) else {"return": "return"}),
        select("statistic", "statistic", STATISTICS),
        select("seed", "single seeds", seeds),
        select("x", "axis", {"steps": "environment steps", "wall": "wall time",
                             "iterations": "iterations"}),
        select("scale", "scale of the axis", {"linear": "linear", "log": "logarithmic"}),
        select("height", "scale of the return", {"linear": "linear", "log": "logarithmic"}),
    ]  # fmt: skip
    body = join(paragraph(_HOW, class_="quiet"), group([figure], *controls))
    return Section("curves", "Learning curves", body, (figure,))


def _names(runs: Sequence[RunData], problem: str) -> dict[str, str]:
    """A choice of all runs with a problem, or one of them by its place."""
    names = {str(place): run.name for place, run in enumerate(runs) if run.problem == problem}
    return {"*": "all"} | (names if len(names) > 1 else {})


def line_look(run: RunData) -> Template:
    """Return colour and dashes of a run, the same in all figures."""
    return {"color": colour_of(run.place), "dash": _DASHES[dashes_of(run.place)]}


def _figure(runs: Sequence[RunData], problems: list[str], tensors: Tensors) -> Figure:
    traces: list[Template] = []
    for place, run in enumerate(runs):
        traces += _traces(run, place, problems.index(run.problem), tensors)
    layout: Template = {
        "xaxis": {
            "title": {"text": pick("x", AXES)},
            "type": pick("scale", {"linear": "linear", "log": "log"}),
            "exponentformat": "SI",
        },
        "yaxis": {
            "title": {"text": pick("measure", {"return": "discounted return on the target",
                                               "success": "success on the target"})},
            "type": pick("height", {"linear": "linear", "log": "log"}),
            "tickformat": pick("measure", {"return": "", "success": ".0%"}),
        },
        "legend": LEGEND | {"groupclick": "togglegroup"},
        "hovermode": "closest",
    }  # fmt: skip
    label = "Learning curves of " + ", ".join(run.name for run in runs)
    return Figure("curves", traces, layout, 460, label)


def _traces(run: RunData, place: int, problem: int, tensors: Tensors) -> list[Template]:
    """Band, line and single seeds of one run."""
    x = {
        "steps": run.iterations * float(run.steps_per_iteration),
        "wall": run.wall_seconds(),
        "iterations": run.iterations,
    }
    axis = pick("x", {name: at(tensors.add(values)) for name, values in x.items()})
    bands, lines, singles = {}, {}, {}
    for measure in MEASURES:
        curve = run.curve(measure)
        for name, statistic in _STATISTIC.items():
            middle, low, high = _estimate(curve, statistic)
            lines[f"{measure}/{name}"] = tensors.add(middle)
            bands[f"{measure}/{name}"] = tensors.add(np.concatenate([high, low[::-1]]))
        gap = np.full((1, curve.shape[1]), np.nan)
        singles[measure] = tensors.add(np.concatenate([curve, gap]).T)
    both = {k: tensors.add(np.concatenate([v, v[::-1]])) for k, v in x.items()}
    seeds = np.array(run.counted_seeds, float)
    num = len(seeds)
    seed = pick("seed", {"*": "*"} | {str(s): i for i, s in enumerate(run.counted_seeds)})
    each = {k: tensors.add(np.tile(np.append(v, np.nan), (num, 1))) for k, v in x.items()}
    look, name = line_look(run), plot_text(run.name)
    common: Template = {
        "type": "scatter",
        "mode": "lines",
        "legendgroup": f"run{place}",
        "visible": pick(
            "problem",
            {str(problem): pick("only", {"*": True, str(place): True}, other=False)},
            other=False,
        ),
    }
    quiet = {"showlegend": False, "hoverinfo": "skip"}
    return [
        common | quiet | {
            "x": pick("x", {key: at(tensor) for key, tensor in both.items()}),
            "y": _by_both(bands),
            "fill": "toself",
            "fillcolor": _faint(colour_of(run.place)),
            "line": {"width": 0},
        },
        common | {
            "showlegend": False,
            "name": f"{name}, single seed",
            "x": pick("x", {key: at(tensor, seed) for key, tensor in each.items()}),
            "y": pick("measure", {key: at(tensor, seed) for key, tensor in singles.items()}),
            "customdata": at(tensors.add(np.tile(seeds[:, None], len(run.iterations) + 1)), seed),
            "hovertemplate": f"{name}, seed %{{customdata}}: %{{y:.3g}}<extra></extra>",
            "line": look | {"width": 0.8},
            "opacity": 0.6,
            "connectgaps": False,
        },
        common | {
            "name": name,
            "x": axis,
            "y": _by_both(lines),
            "mode": "lines+markers" if len(run.iterations) == 1 else "lines",
            "line": look | {"width": 2.5},
        },
    ]  # fmt: skip


def _by_both(tensors: dict[str, str]) -> Template:
    """By measure and statistic."""
    return pick("measure", {
        measure: pick("statistic", {s: at(tensors[f"{measure}/{s}"]) for s in STATISTICS})
        for measure in MEASURES
    })  # fmt: skip


def _middle_mean(rows: Array) -> Array:
    """The mean of the middle half of the seeds [..., S]."""
    cut = rows.shape[-1] // 4
    middle = np.sort(rows, axis=-1)[..., cut : rows.shape[-1] - cut]
    return np.asarray(middle.mean(axis=-1))


_NUM_RESAMPLES = 400
_STATISTIC: dict[str, Callable[[Array], Array]] = {
    "mean": lambda rows: rows.mean(axis=-1),
    "median": lambda rows: np.median(rows, axis=-1),
    "iqm": _middle_mean,
}


def _estimate(curve: Array, statistic: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
    """A statistic over the seeds [E, S] with its interval, NaN where a seed is missing."""
    num_rows, num_seeds = curve.shape
    middle, low, high = (np.full(num_rows, np.nan) for _ in range(3))
    whole = np.isfinite(curve).all(axis=1) if num_seeds else np.zeros(num_rows, bool)
    if not whole.any():
        return middle, low, high
    rows = curve[whole]
    middle[whole] = statistic(rows)
    if num_seeds < 2:
        low[whole] = high[whole] = middle[whole]
        return middle, low, high
    rng = np.random.default_rng(0)
    chosen = rng.integers(num_seeds, size=(_NUM_RESAMPLES, num_seeds))
    resampled = statistic(rows[:, chosen])  # [E, resamples]
    low[whole], high[whole] = np.quantile(resampled, [0.025, 0.975], axis=1)
    return middle, low, high


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _has_success(runs: Sequence[RunData]) -> bool:
    return any(np.isfinite(run.curve("success")).any() for run in runs)
