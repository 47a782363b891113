"""Weights & Biases: one W&B run per seed, in a group for the run folder."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final
from uuid import uuid4

from PIL import Image

from selfpaced.errors import SelfpacedWarning
from selfpaced.loggers.selection import final_video, is_pictured, settings_of, values_of
from selfpaced.reports.context_picture import ContextPicture
from selfpaced.runs.folder import RunFolder
from selfpaced.runs.logger import Row
from selfpaced.runs.storage import read_json, write_json
from selfpaced.validation import require_extra


@final
@dataclass
class WandB:
    """Logs a run to Weights & Biases; requires `selfpaced[wandb]`.

    Names are those of `metrics.csv`, and `evaluations/` before those of `evaluations.csv`. A run
    that is resumed continues its W&B runs. Without an API key or network, files for `wandb sync`
    are written to `RUN/wandb`. Other settings are those of W&B's environment variables, for example
    WANDB_ENTITY and WANDB_MODE.

    Raises:
        MissingPartError: W&B is not installed.

    Examples:
        >>> from selfpaced.loggers.wandb import WandB
        >>> WandB(mode="offline").project
        'selfpaced'
    """

    project: str = "selfpaced"
    """W&B project, unless WANDB_PROJECT is set"""
    mode: Literal["online", "offline"] | None = None
    """None follows WANDB_MODE, which is online if it is not set"""
    pictures: bool = True
    """draw the contexts at up to 21 evaluations of each seed"""
    video: bool = True
    """record the final policy of the first seed, if its problem can be drawn"""

    def __post_init__(self) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")  # it would ask for an API key
        self._wandb = require_extra("wandb", "wandb", "Weights & Biases")

    def start(self, run: RunFolder) -> None:
        """Start no W&B run yet: every seed gets one with its first row."""
        self._run = run
        self._experiment = run.experiment()
        self._seeds: dict[int, Any] = {}
        self._picture: ContextPicture | None = None
        self._mode = self.mode
        path = run.path / "wandb" / "group.json"
        if not path.exists():
            write_json(path, {"id": uuid4().hex[:8]})
        self._group = read_json(path)["id"]

    def log(self, rows: Sequence[Row]) -> None:
        """Log rows, each with its iteration as the step."""
        for row in rows:
            content: dict[str, Any] = dict(values_of(row))
            if self.pictures and is_pictured(self._experiment, row):
                content["contexts"] = self._draw(row)
            if content:
                self._seed(row.seed).log(content, step=row.iteration, commit=True)

    def finish(self, run: RunFolder) -> None:
        """Add a video to a finished run, and end the W&B runs."""
        try:
            if self.video and run.is_finished and (path := final_video(run)):
                video = self._wandb.Video(str(path), format="gif")
                first = next(iter(run.counted_seeds()))
                self._seed(first).log({"final policy": video})
        finally:
            for one in self._seeds.values():
                one.finish(exit_code=0 if run.is_finished else 1)

    def _seed(self, seed: int) -> Any:
        if seed not in self._seeds:
            self._seeds[seed] = self._init_or_fall_back(seed)
        return self._seeds[seed]

    def _init_or_fall_back(self, seed: int) -> Any:
        errors = self._wandb.errors
        try:
            return self._init(seed)
        except (errors.UsageError, errors.CommError) as error:
            if self._mode == "offline":
                raise
            self._mode = "offline"
            warnings.warn(
                f"logging to {self._run.path / 'wandb'} without network ({error}); upload it with "
                "`wandb sync`",
                SelfpacedWarning,
                stacklevel=2,
            )
            return self._init(seed)

    def _init(self, seed: int) -> Any:
        name = self._run.path.name
        settings = settings_of(self._experiment) | {"seed": seed}
        settings.pop("seeds", None)
        return self._wandb.init(
            project=os.environ.get("WANDB_PROJECT", self.project),
            group=f"{name}-{self._group}",
            name=f"{name}-seed-{seed}",
            id=f"{self._group}-{seed}",
            resume="allow",
            dir=str(self._run.path),
            mode=self._mode,
            config=settings,
            reinit="create_new",
            # one process writes the rows of all seeds: its own load and output say nothing
            settings=self._wandb.Settings(
                silent=True, console="off", x_disable_stats=True, disable_git=True, save_code=False
            ),
        )

    def _draw(self, row: Row) -> Any:
        if self._picture is None:
            self._picture = ContextPicture(self._experiment.resolved.contexts)
        caption = f"seed {row.seed}, iteration {row.iteration}"
        content = self._picture.png(row.contexts, caption)
        return self._wandb.Image(Image.open(io.BytesIO(content)), caption=caption)


def offline() -> WandB:
    """Return the logger that writes files for `wandb sync`, whatever WANDB_MODE is.

    Examples:
        >>> from selfpaced.loggers.wandb import offline
        >>> offline().mode
        'offline'
    """
    return WandB(mode="offline")
