"""Distributions over contexts: where a curriculum starts, and what it leads to."""
