"""Who decides which contexts to train on next."""

from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.fixed import Default, Random
from selfpaced.teachers.goal_gan import GoalGAN
from selfpaced.teachers.spdl import SPDL
from selfpaced.teachers.sprl import SPRL

TEACHERS: dict[str, type] = {
    "spdl": SPDL,
    "sprl": SPRL,
    "alp-gmm": ALPGMM,
    "goal-gan": GoalGAN,
    "random": Random,
    "default": Default,
}
