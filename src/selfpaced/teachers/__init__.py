"""Teachers: they choose the contexts to train on. One file per teacher, numerics beside it."""
