"""Import MuJoCo with the graphics library that pictures need; without MuJoCo, skip all tests."""

from importlib.util import find_spec

from selfpaced.environments.mujoco.library import require_mujoco

if find_spec("mujoco"):
    require_mujoco()
else:
    collect_ignore_glob = ["test_*"]
