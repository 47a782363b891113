"""What was run: commands, differences of settings, every setting, versions and machines."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.errors import SelfpacedError
from selfpaced.registry import only_known_code
from selfpaced.reports.page.markup import Html, Section, join, paragraph, table, tag
from selfpaced.reports.page.source import RunData
from selfpaced.studies.differences import flatten
from selfpaced.studies.repetition import train_commands

_MAX_TEXT = 400
_START = (
    "All seeds started from a trained policy, which start.safetensors of the run holds; add "
    "--start-from with the run that it came from."
)


def settings(runs: Sequence[RunData], command: str) -> Section:
    """Return the section with everything that is needed to run it again."""
    flat = [flatten(run.description["experiment"]) for run in runs]
    names = list(dict.fromkeys(name for each in flat for name in each))
    parts: list[Html] = [tag("h3", "Commands")]
    if command:
        parts += [paragraph("This page:", class_="quiet"), command_line(command)]
    for run in runs:
        parts += [paragraph(f"{run.name}:", class_="quiet"), *_again(run)]
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
        rows += [
            [name if name == "machine" else f"version of {name}", str(version)]
            for name, version in versions.items()
        ]
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


def _again(run: RunData) -> list[Html]:
    """The commands that run the same experiment again."""
    out = f"runs/{run.folder.path.name}-again"
    if run.experiment is None:
        return [paragraph("Its code cannot be used here, so the command is unknown.")]
    try:
        with only_known_code(is_restricted=not run.folder.trust):
            lines = [command_line("\n".join(train_commands(run.experiment, out)))]
    except SelfpacedError as error:
        return [paragraph(f"No command gives these settings: {error}.")]
    if run.folder.start_path.exists():
        lines.append(paragraph(_START))
    return lines


def _value(flat: dict[str, object], name: str) -> str:
    if name not in flat:
        return "–"
    text = str(flat[name])
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
