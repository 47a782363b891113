"""Gymnasium adapters of the problems."""
