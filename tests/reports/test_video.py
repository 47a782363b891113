import errno
import io
import sys
import types

import numpy as np
import pytest
from PIL import Image, ImageSequence

from selfpaced import SelfpacedError
from selfpaced.reports.video import FrameFile, require_format, write_video


def pictures(num=7, width=40, height=30):
    """Return frames of a grey floor and a small orange ball that moves."""
    images = np.full((num, height, width, 3), 120, np.uint8)
    images[:, :, :, :] += np.arange(width, dtype=np.uint8)[:, None]  # many shades of grey
    for number, image in enumerate(images):
        image[10:12, 3 * number : 3 * number + 2] = (240, 90, 20)
    return images


def read_gif(path):
    with Image.open(path) as gif:
        frames = [(f.convert("RGB"), f.info["duration"]) for f in ImageSequence.Iterator(gif)]
    return [np.asarray(image) for image, _ in frames], [duration for _, duration in frames]


def test_a_gif_shows_every_frame_for_its_time(tmp_path):
    path = write_video(tmp_path / "some" / "video.gif", pictures(), fps=10)
    frames, durations = read_gif(path)
    assert durations == [100] * 7
    for frame, picture in zip(frames, pictures(), strict=True):
        assert np.abs(frame.astype(int) - picture).max() <= 16
    assert [each.name for each in path.parent.iterdir()] == ["video.gif"]


def test_small_things_keep_their_colour(tmp_path):
    frames, _ = read_gif(write_video(tmp_path / "video.gif", pictures(), 10))
    assert np.abs(frames[2][10, 6].astype(int) - (240, 90, 20)).max() <= 16


def test_odd_rates_do_not_drift(tmp_path):
    _, durations = read_gif(write_video(tmp_path / "video.gif", pictures(12), fps=30))
    assert sum(durations) == 400
    assert set(durations) == {30, 40}


@pytest.mark.parametrize(
    ("name", "fps", "message"),
    [
        ("video.avi", 10, r"ends in .gif or .mp4, got .*video.avi"),
        ("video", 10, r"ends in .gif or .mp4"),
        ("video.gif", 60, "fps of a GIF must be at most 50, got 60"),
    ],
)
def test_a_video_that_cannot_be_written_is_reported(tmp_path, name, fps, message):
    with pytest.raises(SelfpacedError, match=message):
        write_video(tmp_path / name, pictures(), fps)
    assert not list(tmp_path.iterdir())


def test_without_ffmpeg_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(SelfpacedError, match=r"pip install 'selfpaced\[video\]'"):
        require_format(tmp_path / "video.mp4")


def test_an_mp4_has_even_sides(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", types.ModuleType("imageio_ffmpeg"))
    require_format(tmp_path / "video.mp4", size=(40, 30))
    with pytest.raises(SelfpacedError, match="must be even, got 41 and 30"):
        require_format(tmp_path / "video.mp4", size=(41, 30))


def test_a_frame_file_keeps_frames_on_disk(tmp_path):
    with (tmp_path / "frames").open("w+b") as file:
        frames = FrameFile(file)
        for picture in pictures():
            frames.append(picture)
        assert file.tell() == pictures().nbytes
        np.testing.assert_array_equal(frames[2], pictures()[2])
        np.testing.assert_array_equal(list(frames), pictures())
        frames.append(pictures()[0])
        np.testing.assert_array_equal(frames[-1], pictures()[0])
        assert len(frames) == 8
        np.testing.assert_array_equal(frames[1:6:2], pictures()[1:6:2])


class FullDisk(io.BytesIO):
    def write(self, data):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_reported():
    with pytest.raises(SelfpacedError, match=r"cannot store the frames \(No space left"):
        FrameFile(FullDisk()).append(pictures()[0])


def use_as_ffmpeg(monkeypatch, program, folder):
    """Replace ffmpeg by a few lines of Python."""
    script = folder / "ffmpeg"
    script.write_text(f"#!{sys.executable}\nimport sys\n{program}\n")
    script.chmod(0o755)
    module = types.SimpleNamespace(get_ffmpeg_exe=lambda: str(script))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", module)


def test_ffmpeg_receives_all_frames(tmp_path, monkeypatch):
    program = "open(sys.argv[-1], 'wb').write(sys.stdin.buffer.read())"
    use_as_ffmpeg(monkeypatch, program, tmp_path)
    path = write_video(tmp_path / "video.mp4", pictures(), 10)
    assert path.read_bytes() == pictures().tobytes()


def test_an_error_of_ffmpeg_is_reported(tmp_path, monkeypatch):
    half = "open(sys.argv[-1], 'wb').write(sys.stdin.buffer.read(9)); sys.stdin.buffer.read()"
    use_as_ffmpeg(monkeypatch, f"{half}; sys.exit('no space left')", tmp_path)
    with pytest.raises(SelfpacedError, match="no space left"):
        write_video(tmp_path / "video.mp4", pictures(), 10)
    use_as_ffmpeg(monkeypatch, "sys.exit('no such codec')", tmp_path)
    with pytest.raises(SelfpacedError, match="no such codec"):
        write_video(tmp_path / "video.mp4", pictures(), 10)
    assert not (tmp_path / "video.mp4").exists()
