"""Heat maps of return and success over the context space, of the final policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from selfpaced.errors import SelfpacedError, describe_exception
from selfpaced.records import Array
from selfpaced.reports.page.choices import by_place, seed_names, star_size
from selfpaced.reports.page.markup import (
    Cell,
    Figure,
    Html,
    Section,
    group,
    join,
    paragraph,
    plot_text,
    select,
    select_by,
    table,
)
from selfpaced.reports.page.outcomes import Outcomes, run_final_policies
from selfpaced.reports.page.source import ContextBox, RunData
from selfpaced.reports.page.summary import interval
from selfpaced.reports.page.template_values import Template, Tensors, at, pick
from selfpaced.reports.style import TARGET

MEASURES = {"return": "discounted return", "success": "success"}
_MOST_PAIRS = 6  # with a map of every seed

_HOW = (
    "One stochastic episode of every final policy in each of many contexts that cover the box "
    "evenly, averaged in squares; other components take all their values. Star: the target. Empty "
    "squares have no context."
)
_TABLE = (
    "run",
    "target solved [95 %]",
    "return in the worst tenth (CVaR) [95 %]",
    "box solved [95 %]",
)
_NOTHING = "No final policy can be used here; see the summary for the reasons."

Shown = list[tuple[RunData, ContextBox, Outcomes]]


def final_maps(runs: Sequence[RunData], tensors: Tensors) -> tuple[Section, list[str]]:
    """Return the section about where the final policies work, and notes on runs without them."""
    shown: Shown = []
    notes = []
    for run in runs:
        if run.experiment is None or run.box is None or not run.counted_seeds:
            notes.append(f"{run.name}: its policies cannot be run without the code of its problem")
            continue
        if not (run.folder.path / "policies.safetensors").exists():
            notes.append(f"{run.name}: no policy has been exported yet, so no episodes are shown")
            continue
        try:
            shown.append((run, run.box, run_final_policies(run)))
        except SelfpacedError as error:
            notes.append(f"{run.name}: no episodes of the final policies: {error}")
        except Exception as error:  # of a user's environment
            reason = describe_exception(error)
            notes.append(f"{run.name}: no episodes of the final policies: {reason}")
    if not shown:
        return Section("maps", "Where it works", paragraph(_NOTHING)), notes
    figures = tuple(_figure(shown, measure, tensors) for measure in _measures(shown))
    parts: list[Html] = [
        table("Target contexts and the worst of them", _TABLE, [_row(*each) for each in shown],
              file="worst-contexts.csv"),
        paragraph(_HOW, class_="quiet"),
        group(figures, *_controls(shown)),
    ]  # fmt: skip
    return Section("maps", "Where it works", join(*parts), figures), notes


def bins(num: int) -> int:
    """Return how many squares one side of a map has, for a number of contexts."""
    return int(2 ** np.clip(np.floor(np.log2(max(num, 4)) / 2), 1, 4))


def average(box: ContextBox, contexts: Array, values: Array, side: int) -> Array:
    """Return the mean of values [..., N] in the squares of every pair [..., P, side, side]."""
    unit = box.to_unit(contexts)
    places = np.clip((unit * side).astype(int), 0, side - 1)
    rows = values.reshape(-1, len(contexts))
    known = np.isfinite(rows)
    row, context = np.nonzero(known)
    shape = (len(rows), side * side)
    maps = []
    for i, j in box.pairs:
        cells = (places[:, j] if i != j else 0 * places[:, 0]) * side + places[:, i]
        place = row * shape[1] + cells[context]
        total = np.bincount(place, rows[known], shape[0] * shape[1])
        count = np.bincount(place, minlength=shape[0] * shape[1])
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        maps.append(mean.reshape(*values.shape[:-1], side, side))
    return np.stack(maps, axis=-3)


def axes_of(box: ContextBox, pair: tuple[int, int], side: int) -> tuple[list[float], list[float]]:
    """Return the centres of the squares along both axes."""
    middles = (np.arange(side) + 0.5) / side

    def centres(axis: int) -> list[float]:
        low, high = box.lower[axis], box.upper[axis]
        if box.is_log[axis]:
            return [float(low * (high / low) ** share) for share in middles]
        return [float(low + share * (high - low)) for share in middles]

    i, j = pair
    return centres(i), centres(j) if i != j else middles.tolist()


def select_pair(boxes: Sequence[ContextBox]) -> Html:
    """Return a choice of a pair of components of the chosen run."""

    def names(box: ContextBox) -> dict[str, str]:
        labels = box.labels
        texts = [f"{labels[i]} × {labels[j]}" if i != j else labels[i] for i, j in box.pairs]
        return {str(place): text for place, text in enumerate(texts)}

    return select_by("run", "pair", "components", by_place([names(box) for box in boxes]))


def map_layout(boxes: Sequence[ContextBox], title: Template | str) -> Template:
    """Return the layout of a map: axes of the chosen run and pair."""

    def axis(which: int) -> Template:
        text = {
            str(place): pick("pair", {
                str(p): plot_text(box.labels[pair[which]] if pair[0] != pair[1] or which == 0
                                  else "(no meaning)")
                for p, pair in enumerate(box.pairs)
            })
            for place, box in enumerate(boxes)
        }  # fmt: skip
        kind = {
            str(place): pick("pair", {
                str(p): "log" if box.is_log[pair[which]] and pair[0] != pair[1] else "linear"
                for p, pair in enumerate(box.pairs)
            })
            for place, box in enumerate(boxes)
        }  # fmt: skip
        limits = {
            str(place): pick("pair", {
                str(p): _limits(box, pair, which) for p, pair in enumerate(box.pairs)
            })
            for place, box in enumerate(boxes)
        }  # fmt: skip
        return {
            "title": {"text": pick("run", text)},
            "type": pick("run", kind),
            "range": pick("run", limits),
        }

    revision = {str(place): place for place in range(len(boxes))}
    return {
        "xaxis": axis(0) | {"showgrid": False},
        "yaxis": axis(1) | {"showgrid": False},
        "title": {"text": title, "font": {"size": 14}, "x": 0.02},
        "margin": {"l": 56, "r": 8, "t": 44, "b": 48},
        "uirevision": pick("run", revision),
    }


def _limits(box: ContextBox, pair: tuple[int, int], which: int) -> list[float]:
    if pair[0] == pair[1] and which == 1:
        return [0.0, 1.0]
    low, high = box.lower[pair[which]], box.upper[pair[which]]
    return [float(np.log10(each)) if box.is_log[pair[which]] else float(each)
            for each in (low, high)]  # fmt: skip


def target_trace(boxes: Sequence[ContextBox], tensors: Tensors) -> Template:
    """Return a star at the target of the chosen run, for the chosen pair."""
    xs, ys = {}, {}
    sizes = {str(place): star_size(box, 15) for place, box in enumerate(boxes)}
    for place, box in enumerate(boxes):
        name = tensors.add(box.target[:64])
        xs[str(place)] = pick("pair", {str(p): at(name, "*", i) for p, (i, _) in
                                       enumerate(box.pairs)})  # fmt: skip
        middle = [0.5] * len(box.target[:64])
        ys[str(place)] = pick("pair", {
            str(p): at(name, "*", j) if i != j else middle for p, (i, j) in enumerate(box.pairs)
        })  # fmt: skip
    return {
        "type": "scatter", "mode": "markers", "name": "target", "showlegend": False,
        "x": pick("run", xs), "y": pick("run", ys), "hoverinfo": "name", "cliponaxis": False,
        "marker": {"size": pick("run", sizes), "color": TARGET, "symbol": "star",
                   "line": {"width": 1, "color": "#ffffff"}},
    }  # fmt: skip


def heat_trace(
    boxes: Sequence[ContextBox], side: Sequence[int], z: Template, limits: Template, form: str
) -> Template:
    """Return a heat map with the squares of the chosen run and pair."""

    def centres(which: int) -> Template:
        return pick("run", {
            str(place): pick("pair", {
                str(p): axes_of(box, pair, num)[which] for p, pair in enumerate(box.pairs)
            })
            for place, (box, num) in enumerate(zip(boxes, side, strict=True))
        })  # fmt: skip

    return {
        "type": "heatmap", "x": centres(0), "y": centres(1), "z": z, "colorscale": "Viridis",
        "colorbar": {"thickness": 12, "tickformat": form}, "hoverongaps": False,
        "hovertemplate": f"%{{x:.3g}}, %{{y:.3g}}: %{{z:{form or '.3g'}}}<extra></extra>",
    } | limits  # fmt: skip


def return_limits(problems: Sequence[str], values: Sequence[Array]) -> Template:
    """Return common limits of the colours for all runs of one problem."""
    low, high = {}, {}
    for place, problem in enumerate(problems):
        same = np.concatenate([v.ravel() for v, p in zip(values, problems, strict=True)
                               if p == problem])  # fmt: skip
        same = same[np.isfinite(same)]
        low[str(place)] = float(same.min()) if len(same) else 0.0
        high[str(place)] = float(same.max()) if len(same) else 1.0
    return {"zmin": pick("run", low), "zmax": pick("run", high), "zauto": False}


SHARES: Template = {"zmin": 0.0, "zmax": 1.0, "zauto": False}


def _figure(shown: Shown, measure: str, tensors: Tensors) -> Figure:
    boxes = [box for _, box, _ in shown]
    sides = [bins(len(each.contexts)) for _, _, each in shown]
    grids, maps = {}, []
    for place, (_, box, each) in enumerate(shown):
        values = each.returns if measure == "return" else each.success
        per_seed = average(box, each.contexts, values, sides[place])  # [S, P, side, side]
        with np.errstate(invalid="ignore"):
            known = np.isfinite(per_seed)
            mean = np.where(known, per_seed, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        mean = np.where(known.any(axis=0), mean, np.nan)
        maps.append(mean)
        together = tensors.add(mean)
        choices: dict[str, Template] = {"all": at(together, "pair")}
        if len(box.pairs) <= _MOST_PAIRS and len(per_seed) > 1:
            name = tensors.add(per_seed)
            choices |= {str(s): at(name, s, "pair") for s in range(len(per_seed))}
        grids[str(place)] = {"$grid": pick("seed", choices), "width": sides[place]}
    limits = SHARES
    if measure == "return":
        limits = return_limits([run.problem for run, _, _ in shown], maps)
    form = ".0%" if measure == "success" else ""
    traces = [
        heat_trace(boxes, sides, pick("run", grids), limits, form),
        target_trace(boxes, tensors),
    ]
    layout = map_layout(boxes, MEASURES[measure])
    return Figure(f"map-{measure}", traces, layout, 400, f"{MEASURES[measure]} over the contexts")


def _controls(shown: Shown) -> list[Html]:
    seeds = [
        seed_names(run, "all") if len(box.pairs) <= _MOST_PAIRS else {"all": "all"}
        for run, box, _ in shown
    ]
    return [
        select("run", "run", {str(i): run.name for i, (run, _, _) in enumerate(shown)}),
        select_pair([box for _, box, _ in shown]),
        select_by("run", "seed", "seeds", by_place(seeds)),
    ]


def _measures(shown: Shown) -> list[str]:
    has_success = any(np.isfinite(each.success).any() for _, _, each in shown)
    return ["return", "success"] if has_success else ["return"]


def _row(run: RunData, _: ContextBox, each: Outcomes) -> list[object]:
    return [
        run.name,
        Cell(interval(each.share_solved, ".0%"), each.share_solved.value),
        Cell(interval(each.worst_tenth), each.worst_tenth.value),
        Cell(interval(each.share_of_box, ".0%"), each.share_of_box.value),
    ]
