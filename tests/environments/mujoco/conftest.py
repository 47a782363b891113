"""Tests of MuJoCo's robots need MuJoCo, imported by us: that chooses how pictures are drawn."""

from importlib.util import find_spec

from selfpaced.environments.mujoco.library import require_mujoco

if find_spec("mujoco"):
    require_mujoco()
else:
    collect_ignore_glob = ["test_ball_catching*", "test_mujoco*", "test_host_face*"]
