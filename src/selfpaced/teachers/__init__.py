"""Who decides which contexts to train on next."""

from selfpaced.sprl.update import SPRL
from selfpaced.teachers.alp_gmm import ALPGMM
from selfpaced.teachers.fixed import Default, Random
from selfpaced.teachers.goal_gan import GoalGAN
from selfpaced.teachers.spdl import SPDL

TEACHERS: dict[str, type] = {
    "spdl": SPDL,
    "sprl": SPRL,
    "alp-gmm": ALPGMM,
    "goal-gan": GoalGAN,
    "random": Random,
    "default": Default,
}
