"""Single-file PPO in torch with a curriculum: a pendulum whose mass and length are the context.

python examples/cleanrl_ppo.py --updates 60

The lines marked with `# curriculum` are all that the curriculum adds.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TransformReward
from torch import Tensor, nn
from torch.distributions import Normal

from selfpaced import SPDL, ContextSpace, Curriculum, CurriculumEnv, CurriculumVectorEnv, Gaussian

DISCOUNT, TRACE = 0.98, 0.95
NUM_ENVS, NUM_STEPS, NUM_EPOCHS, BATCH = 16, 400, 5, 256  # 32 episodes per update
CLIP, VALUE_WEIGHT, MAX_GRADIENT = 0.2, 0.5, 0.5

CONTEXTS = ContextSpace(  # curriculum
    names=("mass", "length"),
    lower=(0.2, 0.2),
    upper=(2.0, 2.0),
    initial=Gaussian.diagonal((0.5, 0.5), (0.2, 0.2)),
    target=Gaussian.diagonal((1.2, 1.2), (0.1, 0.1)),
)


def make() -> gymnasium.Env:
    """Return one environment; rewards from 0 to 1, the scale that a critic learns best."""
    env = gymnasium.make("Pendulum-v1")
    env = TransformReward(env, lambda reward: 1.0 + float(reward) / 17.0)
    return CurriculumEnv(  # curriculum
        env, CONTEXTS, hand_over=("m", "l"), append_context=True, discount=DISCOUNT
    )


class Agent(nn.Module):
    """A Gaussian policy and a critic."""

    def __init__(self, num_observed: int, num_actions: int) -> None:
        super().__init__()
        self.mean, self.critic = _network(num_observed, num_actions), _network(num_observed, 1)
        self.log_std = nn.Parameter(torch.zeros(num_actions))

    def policy(self, observations: Tensor) -> Normal:
        """Return the distribution of actions."""
        return Normal(self.mean(observations), self.log_std.exp())

    def value(self, observations: Tensor) -> Tensor:
        """Return one estimate per observation."""
        return self.critic(observations).squeeze(-1)


class Rollout(NamedTuple):
    """Steps [T, N, ...] of all environments."""

    observation: Tensor
    action: Tensor
    log_prob: Tensor
    value: Tensor
    reward: Tensor  # with the value behind a time-out
    ended: Tensor


def collect(envs: CurriculumVectorEnv, agent: Agent, seen: np.ndarray) -> tuple[Rollout, Tensor]:
    """Take NUM_STEPS steps; return them and the observations that follow."""
    rows = []
    bound = torch.as_tensor(envs.single_action_space.high)
    for _ in range(NUM_STEPS):
        observation = torch.as_tensor(seen, dtype=torch.float32)
        with torch.no_grad():
            policy = agent.policy(observation)
            action = policy.sample()
            log_prob, value = policy.log_prob(action).sum(-1), agent.value(observation)
        seen, reward, terminated, truncated, infos = envs.step((action * bound).numpy())
        reward = torch.as_tensor(reward, dtype=torch.float32)
        for row in np.flatnonzero(truncated & ~terminated):  # the episode would have gone on
            final = torch.as_tensor(infos["final_obs"][row], dtype=torch.float32)
            with torch.no_grad():
                reward[row] += DISCOUNT * agent.value(final)
        ended = torch.as_tensor(terminated | truncated, dtype=torch.float32)
        rows.append((observation, action, log_prob, value, reward, ended))
    columns = (torch.stack(column) for column in zip(*rows, strict=True))
    return Rollout(*columns), torch.as_tensor(seen, dtype=torch.float32)


def advantages(rollout: Rollout, last_value: Tensor) -> Tensor:
    """Return generalised advantage estimates [T, N]."""
    estimates = torch.zeros_like(rollout.reward)
    following, running = last_value, torch.zeros_like(last_value)
    for step in reversed(range(NUM_STEPS)):
        goes_on = 1.0 - rollout.ended[step]
        error = rollout.reward[step] + DISCOUNT * goes_on * following - rollout.value[step]
        running = error + DISCOUNT * TRACE * goes_on * running
        estimates[step], following = running, rollout.value[step]
    return estimates


def improve(agent: Agent, optimizer: torch.optim.Optimizer, rollout: Rollout, gain: Tensor) -> None:
    """Run the epochs of PPO on one rollout."""
    observation, action, log_prob, value, *_ = (column.flatten(0, 1) for column in rollout)
    gain = gain.flatten()
    goal = gain + value
    for _ in range(NUM_EPOCHS):
        for batch in torch.randperm(len(gain)).split(BATCH):
            policy = agent.policy(observation[batch])
            ratio = (policy.log_prob(action[batch]).sum(-1) - log_prob[batch]).exp()
            scaled = (gain[batch] - gain[batch].mean()) / (gain[batch].std() + 1e-8)
            clipped = ratio.clamp(1.0 - CLIP, 1.0 + CLIP)
            policy_loss = -torch.minimum(ratio * scaled, clipped * scaled).mean()
            value_loss = (agent.value(observation[batch]) - goal[batch]).square().mean()
            optimizer.zero_grad()
            (policy_loss + VALUE_WEIGHT * value_loss).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), MAX_GRADIENT)
            optimizer.step()


def main(arguments: list[str] | None = None) -> list[dict[str, float]]:
    """Train, print the curriculum's metrics, and return them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    torch.manual_seed(given.seed)

    curriculum = Curriculum(SPDL(), CONTEXTS, seed=given.seed)  # curriculum
    envs = SyncVectorEnv([make] * NUM_ENVS, autoreset_mode=AutoresetMode.SAME_STEP)
    envs = CurriculumVectorEnv(envs, curriculum)  # curriculum
    agent = Agent(envs.single_observation_space.shape[0], envs.single_action_space.shape[0])
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)

    def values(observations: np.ndarray) -> np.ndarray:  # curriculum
        with torch.no_grad():
            return agent.value(torch.as_tensor(observations, dtype=torch.float32)).numpy()

    seen, _ = envs.reset(seed=given.seed)
    rows = []
    for update in range(given.updates):
        rollout, following = collect(envs, agent, seen)
        with torch.no_grad():
            gain = advantages(rollout, agent.value(following))
        improve(agent, optimizer, rollout, gain)
        rows.append(curriculum.update(values))  # curriculum
        seen = following.numpy()
        if update % 10 == 0:
            print(update, {name: round(value, 2) for name, value in rows[-1].items()})
    envs.close()
    return rows


def _network(num_in: int, num_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(num_in, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, num_out)
    )


if __name__ == "__main__":
    main()
