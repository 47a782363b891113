"""The device of JAX_PLATFORMS: used if it is there, one line if it is not."""

import subprocess
import sys

import pytest

from selfpaced import SelfpacedError, run
from selfpaced.runs.devices import require_device
from tests.runs.small_runs import SHORT


@pytest.mark.parametrize("name", ["cuda", "no-such-device"])
def test_a_device_that_is_not_there_is_one_line(tmp_path, monkeypatch, name):
    if name == "cuda" and _has_cuda():
        pytest.skip("this computer has the device")
    monkeypatch.setenv("JAX_PLATFORMS", name)
    with pytest.raises(SelfpacedError) as caught:
        run(SHORT, tmp_path / "run")
    message = str(caught.value)
    assert message.startswith(f"JAX_PLATFORMS must name a device of this computer, got {name!r}")
    assert "unset it to use the CPU" in message
    assert "\n" not in message
    assert not (tmp_path / "run").exists()


def test_a_device_that_is_there_passes():
    require_device()


def _has_cuda():
    settings = {"JAX_PLATFORMS": "cuda", "PATH": ""}
    return (
        subprocess.run(
            [sys.executable, "-c", "import jax; jax.devices()"],
            env=settings,
            stderr=subprocess.DEVNULL,
        ).returncode
        == 0
    )
