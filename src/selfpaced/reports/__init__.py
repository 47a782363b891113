"""What a person sees of a run."""

from selfpaced.reports.figures import draw_run, draw_together

__all__ = ["draw_run", "draw_together"]
