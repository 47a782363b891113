"""Robots simulated by MuJoCo; only this package imports mujoco."""
