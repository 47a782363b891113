"""Who improves the policy."""

from selfpaced.learners.ppo import PPO

LEARNERS: dict[str, type] = {"ppo": PPO}
