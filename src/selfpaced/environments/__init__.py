"""Environments: the dynamics that problems are built on, and the bridge to Gymnasium."""
