"""Figures, tables and video of runs; the only room that imports matplotlib."""
