"""Carrying an experiment out: processes, checkpoints, the run folder and its files."""
