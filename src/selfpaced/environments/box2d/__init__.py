"""Environments of Gymnasium that Box2D simulates; only this package imports Box2D."""
