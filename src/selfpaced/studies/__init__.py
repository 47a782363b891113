"""Several experiments: comparison, search and reproduction."""
