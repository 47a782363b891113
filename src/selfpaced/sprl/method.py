"""SPRL as a method: settings of its update and of its policy, and the loop that trains them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final, get_args

from selfpaced.contexts import Role
from selfpaced.errors import require
from selfpaced.problems import Problem
from selfpaced.sprl.policy import EpisodicPolicy
from selfpaced.sprl.training import EpisodicTraining
from selfpaced.sprl.update import EpisodicUpdate


@final
@dataclass(frozen=True)
class SPRL:
    """Self-paced contextual reinforcement learning (Klink et al., CoRL 2019).

    One dual updates contexts and policy jointly, so this is neither a teacher nor a learner. On the
    command line it is `--teacher sprl`, with the settings of `update` as `--teacher.*` and those of
    `policy` as `--learner.*`.

    Examples:
        >>> from selfpaced import SPRL, EpisodicUpdate
        >>> SPRL(EpisodicUpdate(zeta=1.5)).learner_name
        'episodic'
    """

    update: EpisodicUpdate = field(default_factory=EpisodicUpdate)
    policy: EpisodicPolicy = field(default_factory=EpisodicPolicy)

    def __post_init__(self) -> None:
        for part, kind in ((self.update, EpisodicUpdate), (self.policy, EpisodicPolicy)):
            require(
                isinstance(part, kind),
                f"SPRL must have an EpisodicUpdate and an EpisodicPolicy, got {part!r}",
            )

    @property
    def parts(self) -> dict[str, object]:
        """The settings by role, as on the command line and in files."""
        return {"teacher": self.update, "learner": self.policy}

    @property
    def teacher_name(self) -> str:
        """Name of the method, in place of a teacher's."""
        return "sprl"

    @property
    def learner_name(self) -> str:
        """Name of its policy, in place of a learner's."""
        return "episodic"

    def require_fits(
        self,
        problem: Problem,
        steps_per_iteration: int,
        num_environments: int,
        initial_policy: str,
    ) -> None:
        """Raise `SelfpacedError` if this cannot be trained on the problem in this way."""
        require(
            not problem.is_hosted,
            f"SPRL requires a problem that runs in JAX; {problem.name} does not",
        )
        for role in get_args(Role):
            problem.contexts.require_gaussian(role, "SPRL")
        require(
            not problem.spec.has_discrete_actions,
            f"actions of {problem.name} must be continuous for SPRL, got discrete ones; use "
            "another teacher with PPO or TRPO",
        )
        require(
            num_environments == 1,
            f"num_environments must be 1 with SPRL, got {num_environments}; the "
            f"{self.update.num_rollouts} episodes of an update run side by side anyway",
        )
        require(
            initial_policy == "random",
            f'initial_policy must be "random" with SPRL, got {initial_policy!r}',
        )

    def training(
        self,
        problem: Problem,
        seeds: tuple[int, ...],
        steps_per_iteration: int,
        num_environments: int = 1,
        initial_policy: str = "random",
        wrap_teachers: Callable[..., object] | None = None,
    ) -> EpisodicTraining:
        """Return the loop that trains some seeds; no teacher is there to be wrapped."""
        self.require_fits(problem, steps_per_iteration, num_environments, initial_policy)
        return EpisodicTraining(problem, self.update, self.policy, seeds, steps_per_iteration)
