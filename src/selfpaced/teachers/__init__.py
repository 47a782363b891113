"""Who decides which contexts to train on next."""

from selfpaced.teachers.fixed import Default, Random
from selfpaced.teachers.spdl import SPDL

TEACHERS: dict[str, type] = {"spdl": SPDL, "default": Default, "random": Random}
