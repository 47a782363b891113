"""Curricula for Stable-Baselines3, sb3-contrib and SBX: `pip install 'selfpaced[sb3]'`."""
