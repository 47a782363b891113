"""Figures, tables and video of runs; matplotlib is imported only here."""
