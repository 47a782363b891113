"""Curricula for RLlib's algorithms, on its new API stack."""

from selfpaced.integrations.rllib.factory import curriculum_callbacks

__all__ = ["curriculum_callbacks"]
