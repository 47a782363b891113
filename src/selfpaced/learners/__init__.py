"""Learners: they improve the policy. One file per learner, numerics beside it."""
