"""How environment, learner and teacher work together."""
