"""The worlds that learners act in."""
