"""Loggers: TensorBoard and Weights & Biases."""
