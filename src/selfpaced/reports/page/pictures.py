"""Pictures of the final policies: the figures of their problems, and short videos."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from selfpaced.errors import SelfpacedError, describe_exception
from selfpaced.reports.figures import by_figure
from selfpaced.reports.page.markup import Html, Section, join, paragraph, tag
from selfpaced.reports.page.source import RunData
from selfpaced.reports.problem_figure import find_figure
from selfpaced.reports.recording import VideoSettings, choose_size, open_recorder
from selfpaced.reports.style import FigureWithTable
from selfpaced.runs.folder import RunFolder

MAX_VIDEOS = 6  # one per run
MAX_VIDEO_BYTES = 700_000
_WIDTH, _FPS, _DPI = 300, 10.0, 110

_NOTHING = "There are no pictures of these problems."


def pictures(runs: Sequence[RunData]) -> tuple[Section, list[str]]:
    """Return the section of pictures, and notes on those that cannot be made."""
    able = [
        run
        for run in runs
        if run.experiment is not None
        and run.counted_seeds
        and run.summary
        and (run.folder.path / "policies.safetensors").exists()
    ]
    notes: list[str] = []
    drawn = _problem_figures(able, notes)
    videos = [_video(run, notes) for run in able[:MAX_VIDEOS]]
    if len(able) > MAX_VIDEOS:
        notes.append(f"Videos are shown of the first {MAX_VIDEOS} runs only")
    shown = [video for video in videos if video]
    parts: list[Html] = [*drawn]
    if shown:
        parts += [tag("h3", "Videos"), tag("div", *shown, class_="pictures")]
    if not parts:
        parts = [paragraph(_NOTHING)]
    return Section("pictures", "Trajectories and videos", join(*parts)), notes


def _problem_figures(runs: Sequence[RunData], notes: list[str]) -> list[Html]:
    drawn: list[Html] = []
    for place, folders in by_figure([run.folder for run in runs]).items():

        def draw(place: str = place, folders: list[RunFolder] = folders) -> Html:
            figure = find_figure(place)
            drawing = figure.draw_together(folders)
            picture = drawing.figure if isinstance(drawing, FigureWithTable) else drawing
            buffer = io.BytesIO()
            picture.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
            name = figure.name.replace("_", " ")
            return tag("figure", _image(buffer.getvalue(), "png", name), tag("figcaption", name))

        result = _attempt(place, draw, notes)
        if result is not None:
            drawn.append(result)
    return drawn


def _video(run: RunData, notes: list[str]) -> Html | None:
    """One episode of the first seed that counts, as a small GIF; it plays when it is opened."""

    def record() -> Html | None:
        assert run.experiment is not None
        own_width, _ = choose_size(run.experiment.resolved, None, None)
        with TemporaryDirectory() as folder:
            out = Path(folder) / "video.gif"
            settings = VideoSettings(
                seed=run.counted_seeds[0], episodes=1, out=out, width=min(_WIDTH, own_width),
                fps=_FPS,
            )  # fmt: skip
            with open_recorder(run.folder, settings) as recorder:
                episode = recorder.record(1)
                content = recorder.write().read_bytes()
        if len(content) > MAX_VIDEO_BYTES:
            notes.append(f"{run.name}: its video is too large; use `selfpaced watch`")
            return None
        text = f"{run.name}, {episode.title.partition(',')[0]}: {episode.ending}"
        return tag("details", tag("summary", text), _image(content, "gif", text))

    return _attempt(run.name, record, notes)


def _attempt(name: str, make: Callable[[], Html | None], notes: list[str]) -> Html | None:
    try:
        return make()
    except SelfpacedError as error:
        notes.append(f"{name}: no picture: {error}")
    except Exception as error:  # of a user's environment, or of OpenGL
        notes.append(f"{name}: no picture: {describe_exception(error)}")
    return None


def _image(content: bytes, kind: str, text: str) -> Html:
    data = base64.b64encode(content).decode()
    return tag("img", alt=text, src=f"data:image/{kind};base64,{data}")
