"""Who improves the policy."""

from selfpaced.learners.ppo import PPO
from selfpaced.learners.sac import SAC
from selfpaced.learners.trpo import TRPO
from selfpaced.sprl.policy import EpisodicPolicy

LEARNERS: dict[str, type] = {"ppo": PPO, "trpo": TRPO, "sac": SAC, "episodic": EpisodicPolicy}
