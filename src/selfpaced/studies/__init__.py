"""Studies of several experiments: comparison, search and reproduction."""
