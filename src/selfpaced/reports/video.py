"""Video files: GIF through Pillow, MP4 through ffmpeg."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory
from typing import IO, overload

import numpy as np
from PIL import Image

from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array
from selfpaced.runs.storage import write_bytes
from selfpaced.validation import require_extra

MAX_GIF_FPS = 50  # viewers slow a faster GIF down to 10 frames per second
_NUM_COLOURS = 128
_NUM_FOR_PALETTE = 8  # frames from which the colours are chosen
_QUALITY = "20"  # of MP4: smaller is better, 18 looks like the original


class FrameFile(Sequence[Array]):
    """Frames of one size in an open file, because a long video does not fit into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        """Take an empty file."""
        self._file = file
        self._shape: tuple[int, ...] = (0, 0, 3)
        self._num = 0

    def append(self, picture: Array) -> None:
        """Add a frame, uint8 [height, width, 3]."""
        try:
            self._file.write(picture.tobytes())
            self._file.flush()
        except OSError as error:
            raise SelfpacedError(
                f"cannot store the frames ({error.strerror}); record a smaller video (--episodes, "
                "--width, --fps), or choose another --out"
            ) from error
        self._shape = picture.shape
        self._num += 1

    def __len__(self) -> int:
        return self._num

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...

    def __getitem__(self, index: int | slice) -> Array | list[Array]:
        places = range(self._num)[index]
        return self._read(places) if isinstance(places, int) else list(map(self._read, places))

    def _read(self, place: int) -> Array:
        size = math.prod(self._shape)
        self._file.seek(place * size)
        picture = np.frombuffer(self._file.read(size), np.uint8).reshape(self._shape)
        self._file.seek(0, os.SEEK_END)
        return picture


def require_format(path: Path, fps: float | None = None, size: tuple[int, int] = (2, 2)) -> None:
    """Raise `SelfpacedError` if no such video can be written; call it before recording."""
    suffix = path.suffix.lower()
    require(
        suffix in ENCODERS and not path.is_dir(),
        f"out must be a file that ends in {' or '.join(ENCODERS)}, got {path}",
    )
    if suffix == ".gif":
        require(
            fps is None or fps <= MAX_GIF_FPS,
            f"fps of a GIF must be at most {MAX_GIF_FPS}, got {fps}; write an MP4",
        )
    else:
        require_extra("video", "imageio_ffmpeg", "MP4")
        even = all(length % 2 == 0 for length in size)
        require(even, f"width and height of an MP4 must be even, got {size[0]} and {size[1]}")


def require_folder(path: Path) -> None:
    """Create the folder of a file; raise `SelfpacedError` if it cannot be written to."""
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SelfpacedError(
            f"cannot create the folder {folder} ({error.strerror}); choose another --out"
        ) from error
    require(os.access(folder, os.W_OK), f"cannot write to {folder}; choose another --out")


def write_video(path: Path, frames: Sequence[Array], fps: float) -> Path:
    """Write frames, uint8 [height, width, 3], atomically; return the path."""
    require_format(path, fps)
    write_bytes(path, ENCODERS[path.suffix.lower()](frames, fps))
    return path


def _encode_gif(frames: Sequence[Array], fps: float) -> bytes:
    """One palette without dithering prevents flicker and makes the file a third as large."""
    palette = _choose_palette(frames)
    first, *others = (
        Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
        for frame in frames
    )
    # a GIF counts hundredths of a second: round the moments, so that errors do not add up
    moments = np.round(100.0 * np.arange(len(frames) + 1) / fps)
    durations = (10 * np.diff(moments)).astype(int).tolist()  # in milliseconds
    buffer = io.BytesIO()
    first.save(
        buffer, "GIF", save_all=True, append_images=others, duration=durations, loop=0,
        optimize=False,
    )  # fmt: skip
    return buffer.getvalue()


def _choose_palette(frames: Sequence[Array]) -> Image.Image:
    """Count every colour once, so that a small orange ball is not lost before a large floor."""
    chosen = range(0, len(frames), max(len(frames) // _NUM_FOR_PALETTE, 1))
    some = np.concatenate([frames[index] for index in chosen]).reshape(-1, 3)
    packed = (some.astype(np.uint32) >> 3) @ np.array([1 << 10, 1 << 5, 1], np.uint32)
    _, places = np.unique(packed, return_index=True)
    return Image.fromarray(some[places][None]).quantize(_NUM_COLOURS)


def _encode_mp4(frames: Sequence[Array], fps: float) -> bytes:
    import imageio_ffmpeg

    height, width, _ = frames[0].shape
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps))
    target = ("-c:v", "libx264", "-crf", _QUALITY, "-pix_fmt", "yuv420p", "-loglevel", "error")
    with TemporaryDirectory() as folder:  # ffmpeg requires a file with random access
        path, log = Path(folder) / "video.mp4", Path(folder) / "log"
        try:
            command = (imageio_ffmpeg.get_ffmpeg_exe(), *source, "-i", "-", *target, str(path))
            with log.open("wb") as errors, Popen(command, stdin=PIPE, stderr=errors) as process:
                assert process.stdin is not None
                for frame in frames:
                    process.stdin.write(frame.tobytes())
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
