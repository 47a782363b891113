"""Environments of Gymnasium that Box2D simulates; nothing else imports Box2D."""
