"""Animations as files: GIF through Pillow, MP4 through ffmpeg."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
from PIL import Image

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array
from selfpaced.runs.storage import write_bytes

FASTEST_GIF = 50  # pictures a second; viewers show what is meant to be faster ten times slower
_NUM_COLOURS = 128
_NUM_FOR_PALETTE = 8  # pictures that the colours are chosen from
_QUALITY = "20"  # of MP4: the smaller the better, 18 looks like the original


def require_format(path: Path, fps: float | None = None, size: tuple[int, int] = (2, 2)) -> None:
    """Whether a film can be written here; to be asked before hours of filming."""
    suffix = path.suffix.lower()
    require(
        suffix in ENCODERS and not path.is_dir(),
        f"a film is a file that ends in {' or '.join(ENCODERS)}, got {path}",
    )
    if suffix == ".gif":
        fits = fps is None or fps <= FASTEST_GIF
        require(fits, f"a GIF has at most {FASTEST_GIF} pictures a second, got {fps}; write an MP4")
    else:
        require(
            find_spec("imageio_ffmpeg") is not None,
            "MP4 needs ffmpeg: pip install 'selfpaced[video]', or write a GIF",
        )
        even = all(length % 2 == 0 for length in size)
        require(even, f"width and height of an MP4 must be even, got {size[0]} and {size[1]}")


def require_room(path: Path) -> None:
    """A folder that nobody can write to is better noticed at once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SelfpacedError(f"cannot make the folder {path.parent} ({error.strerror})") from error
    require(os.access(path.parent, os.W_OK), f"cannot write to {path.parent}; choose another --out")


class Reel(Sequence[Array]):
    """Pictures of one size in an open file: long films do not fit into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        """An empty reel in an empty file."""
        self._file = file
        self._shape: tuple[int, ...] = (0, 0, 3)
        self._num = 0

    def append(self, picture: Array) -> None:
        """Keep a picture, uint8 [height, width, 3]."""
        try:
            self._file.write(picture.tobytes())
            self._file.flush()
        except OSError as error:
            raise SelfpacedError(
                f"no room for the pictures ({error.strerror}): make a smaller film (--episodes, "
                "--width, --fps), or choose another --out"
            ) from error
        self._shape = picture.shape
        self._num += 1

    def __len__(self) -> int:
        """How many pictures there are."""
        return self._num

    def __getitem__(self, index: Any) -> Any:
        """One picture, read from the file."""
        size = math.prod(self._shape)
        self._file.seek(range(self._num)[index] * size)
        picture = np.frombuffer(self._file.read(size), np.uint8).reshape(self._shape)
        self._file.seek(0, os.SEEK_END)
        return picture


def write_film(path: Path, pictures: Sequence[Array], fps: float) -> Path:
    """Write pictures [height, width, 3], all of them or nothing; returns the path."""
    require_format(path, fps)
    write_bytes(path, ENCODERS[path.suffix.lower()](pictures, fps))
    return path


def _encode_gif(pictures: Sequence[Array], fps: float) -> bytes:
    """One palette for all and no dithering: nothing flickers, and the file is a third as large."""
    palette = _choose_palette(pictures)
    first, *others = (
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in pictures
    )
    # a GIF counts hundredths of a second: round the moments, so that errors do not add up
    moments = np.round(100.0 * np.arange(len(pictures) + 1) / fps)
    durations = (10 * np.diff(moments)).astype(int).tolist()  # in milliseconds
    buffer = io.BytesIO()
    first.save(
        buffer, "GIF", save_all=True, append_images=others, duration=durations, loop=0,
        optimize=False,
    )  # fmt: skip
    return buffer.getvalue()


def _choose_palette(pictures: Sequence[Array]) -> Image.Image:
    """Every colour counts once: a small orange ball must not turn grey before a large floor."""
    chosen = range(0, len(pictures), max(len(pictures) // _NUM_FOR_PALETTE, 1))
    some = np.concatenate([pictures[index] for index in chosen]).reshape(-1, 3)
    packed = (some.astype(np.uint32) >> 3) @ np.array([1 << 10, 1 << 5, 1], np.uint32)
    _, places = np.unique(packed, return_index=True)
    return Image.fromarray(some[places][None]).quantize(_NUM_COLOURS)


def _encode_mp4(pictures: Sequence[Array], fps: float) -> bytes:
    import imageio_ffmpeg

    height, width, _ = pictures[0].shape
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps))
    target = ("-c:v", "libx264", "-crf", _QUALITY, "-pix_fmt", "yuv420p", "-loglevel", "error")
    with TemporaryDirectory() as folder:  # ffmpeg wants a file that it can seek in
        path, log = Path(folder) / "film.mp4", Path(folder) / "log"
        try:
            command = (imageio_ffmpeg.get_ffmpeg_exe(), *source, "-i", "-", *target, str(path))
            with log.open("wb") as errors, Popen(command, stdin=PIPE, stderr=errors) as process:
                assert process.stdin is not None
                for picture in pictures:
                    process.stdin.write(picture.tobytes())
            if process.returncode != 0:
                raise RuntimeError(f"exit code {process.returncode}")
            return path.read_bytes()
        except (RuntimeError, OSError) as error:
            reason = log.read_text().strip() if log.exists() else ""
            raise SelfpacedError(f"ffmpeg failed ({reason or error}); write a GIF") from error


ENCODERS: dict[str, Callable[[Sequence[Array], float], bytes]] = {
    ".gif": _encode_gif,
    ".mp4": _encode_mp4,
}
