"""What was run: commands, differences of settings, every setting, versions and machines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from selfpaced.reports.page.markup import Html, Section, join, paragraph, table, tag
from selfpaced.reports.page.source import RunData
from selfpaced.studies.differences import flatten

_MAX_TEXT = 400


def settings(runs: Sequence[RunData], command: str) -> Section:
    """Return the section with everything that is needed to run it again."""
    flat = [flatten(run.description["experiment"]) for run in runs]
    names = list(dict.fromkeys(name for each in flat for name in each))
    parts: list[Html] = [tag("h3", "Commands")]
    if command:
        parts += [paragraph("This page:", class_="quiet"), command_line(command)]
    for run in runs:
        parts += [paragraph(f"{run.name}:", class_="quiet"), command_line(_again(run))]
    if len(runs) > 1:
        different = [name for name in names if len({repr(each.get(name)) for each in flat}) > 1]
        rows = [[name, *(_value(each, name) for each in flat)] for name in different]
        parts.append(tag("h3", "Differences between the runs"))
        header = ("setting", *(run.name for run in runs))
        parts.append(
            table("Settings that differ", header, rows, sortable=False, file="differences.csv")
            if rows
            else paragraph("All settings are the same.")
        )
    parts.append(tag("h3", "Every setting, versions and machine"))
    for run, each in zip(runs, flat, strict=True):
        versions = run.description.get("versions", {})
        rows = [[name, _value(each, name)] for name in each]
        rows += [[f"version of {name}", str(version)] for name, version in versions.items()]
        rows += [["created", str(run.description.get("created", "unknown"))]]
        rows += [["blocks of seeds", str(run.description.get("blocks", "unknown"))]]
        rows += [["folder", str(run.folder.path)]]
        body = [[name, tag("span", text)] for name, text in rows]
        inner = table(f"Settings of {run.name}", ("setting", "value"), body, sortable=False,
                      file=f"{run.folder.path.name}-settings.csv", numbers=rows)  # fmt: skip
        parts.append(tag("details", tag("summary", run.name), inner, open=len(runs) == 1))
    return Section("settings", "What was run", join(*parts))


def command_line(text: str) -> Html:
    """Return a command with a button that copies it."""
    button = tag("button", "copy", type="button", class_="copy", aria_label=f"copy: {text[:60]}")
    return tag("div", tag("code", text), button, class_="command")


def _again(run: RunData) -> str:
    """The Python that runs the same experiment again, from its own description."""
    file = str(run.folder.path / "experiment.json")
    out = f"runs/{run.folder.path.name}-again"
    code = (
        "import json; from selfpaced import Experiment, run; "
        f"run(Experiment.from_dict(json.load(open({file!r}))['experiment']), {out!r})"
    )
    return shlex.join(["python", "-c", code])


def _value(flat: dict[str, object], name: str) -> str:
    if name not in flat:
        return "–"
    text = str(flat[name])
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
