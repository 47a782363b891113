"""A callback that trains any model of Stable-Baselines3 or SBX on the contexts of a teacher.

Stable-Baselines3 resets environments by itself, without options, and before callbacks start. The
contexts are therefore inside of `CurriculumEnv`, and the episodes that have begun before the
curriculum was there are started again.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, final, get_args

import numpy as np
from gymnasium import spaces

from selfpaced.contexts import ContextSpace
from selfpaced.errors import SelfpacedError, SelfpacedWarning, require
from selfpaced.integrations.context_supply import ContextSupply
from selfpaced.integrations.curriculum import AnyCurriculum, Curriculum, ValueFunction
from selfpaced.integrations.curriculum_env import RECORD_KEY
from selfpaced.integrations.stable_baselines3.critics import find_critic
from selfpaced.records import Array, Metrics
from selfpaced.teachers.base import AnyTeacher
from selfpaced.validation import require_choice, require_extra

require_extra("sb3", "stable_baselines3", "CurriculumCallback")

from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm  # noqa: E402
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

Values = Literal["auto", "critic", "returns"]
MIN_EPISODES = 5  # per update; with fewer, ten updates do not see enough to judge mastery
PATIENCE = 20  # times `update_every` steps without an update before a warning
SAVED = "curriculum"  # attribute of the model, which is saved with it


@final
class CurriculumCallback(BaseCallback):
    """Lets a teacher choose the contexts of a Stable-Baselines3 or SBX model's environments.

    The environments need `CurriculumEnv` among their wrappers. The state of the curriculum is saved
    and loaded with the model. Metrics appear as `curriculum/...` in the logger of the model.

    Args:
        teacher: settings of a teacher, as `SPDL()`.
        contexts: the box of contexts, where to start in it, and where to arrive.
        seed: of the teacher's random numbers; None takes the model's seed, or 0.
        update_every: environment steps of all environments together between updates of the
            teacher; an update also waits for five episodes.
        values: what the teacher gets as values of first observations: "critic" is the model's
            estimate, "returns" the discounted returns, "auto" the critic if there is one.
        verbose: as in Stable-Baselines3.

    Raises:
        SelfpacedError: an argument is invalid; from `learn`, an environment has no `CurriculumEnv`,
            the model has no critic that is known, or a loaded model had another teacher.

    Examples:
        >>> import gymnasium
        >>> from selfpaced import SPDL, ContextSpace, CurriculumCallback, CurriculumEnv, Gaussian
        >>> from stable_baselines3 import PPO
        >>> light, heavy = Gaussian.diagonal((1.0,), (0.1,)), Gaussian.diagonal((3.0,), (0.1,))
        >>> contexts = ContextSpace(("mass",), (0.5,), (4.0,), initial=light, target=heavy)
        >>> env = CurriculumEnv(gymnasium.make("Pendulum-v1"), contexts, hand_over=("m",))
        >>> callback = CurriculumCallback(SPDL(), contexts, update_every=1000)
        >>> model = PPO("MlpPolicy", env, n_steps=1000, batch_size=100, device="cpu")
        >>> model = model.learn(2000, callback=callback)
        >>> callback.curriculum.num_updates
        1
    """

    def __init__(
        self,
        teacher: AnyTeacher,
        contexts: ContextSpace,
        *,
        seed: int | None = None,
        update_every: int = 1024,
        values: Values = "auto",
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        require_choice("values", values, get_args(Values))
        require(
            isinstance(update_every, int) and update_every > 0,
            f"update_every must be a positive number of environment steps, got {update_every!r}",
        )
        self.curriculum: AnyCurriculum = Curriculum(teacher, contexts, seed or 0)
        self.update_every = update_every
        self._takes_seed = seed is None
        self._values = values
        self._supply: ContextSupply | None = None
        self._first: list[Array] = []  # observation at the start of every environment's episode
        self._num_steps = 0  # since the last update
        self._has_warned = False

    def _init_callback(self) -> None:
        """Adopt the state that was saved with the model, unless training goes on."""
        require(
            isinstance(self.model, OnPolicyAlgorithm | OffPolicyAlgorithm),
            f"model must learn on-policy or off-policy, as PPO and SAC do, got "
            f"{type(self.model).__name__}, which hides its episodes; use selfpaced.Curriculum in a "
            "loop of your own",
        )
        self._require_curriculum_envs()
        self._value_function()
        if self._supply is None:
            self._adopt()
        num_envs = self.training_env.num_envs
        if self._supply is None or len(self._first) != num_envs:
            self._first = [np.zeros(0)] * num_envs
        self._supply = ContextSupply(self.curriculum, num_envs)
        for row in range(num_envs):
            self._set("row", row, row)
        assert isinstance(self.model, OnPolicyAlgorithm | OffPolicyAlgorithm)
        self._set("discount", self.model.gamma)

    def _on_training_start(self) -> None:
        """Hand contexts over; start episodes again that began without them."""
        self._renew()
        if not all(self._get("is_from_curriculum")):
            self._restart()
        for row, length in enumerate(self._get("episode_length")):
            if not length:
                self._first[row] = self._observed(row, self.model._last_obs)
        self._save()

    def _on_rollout_start(self) -> None:
        if self._is_due:
            self._update()

    def _on_step(self) -> bool:
        if self._is_due:  # within a rollout that is longer
            self._update()
        self._num_steps += self.training_env.num_envs
        if self._num_steps >= PATIENCE * self.update_every and not self._has_warned:
            self._warn_of_waiting()
        ended = np.flatnonzero(self.locals["dones"]).tolist()
        for row in ended:
            self._record(row, self.locals["infos"][row])
            self._first[row] = self._observed(row, self.locals["new_obs"])
        assert self._supply is not None
        for row, batch in self._supply.after(ended).items():
            self._set("further_contexts", batch, row)
        return True

    def _on_training_end(self) -> None:
        self._save()

    @property
    def _is_due(self) -> bool:
        has_steps = self._num_steps >= self.update_every
        return has_steps and self.curriculum.num_recorded >= MIN_EPISODES

    def _warn_of_waiting(self) -> None:
        self._has_warned = True
        warnings.warn(
            f"{self.curriculum.num_recorded} episodes ended in {self._num_steps} steps, and an "
            f"update of the teacher needs {MIN_EPISODES}: the contexts do not move; give the "
            "environment a time limit (gymnasium.make(..., max_episode_steps=...))",
            SelfpacedWarning,
            stacklevel=2,
        )

    def _record(self, row: int, info: dict[str, Any]) -> None:
        """Record an episode, with its first observation as the policy has seen it."""
        if RECORD_KEY in info:
            seen = {"first_observation": self._first[row]}
            self.curriculum.record(**{**info[RECORD_KEY], **seen})

    def _update(self) -> None:
        metrics = self.curriculum.update(self._value_function())
        self._num_steps = 0
        self._log(metrics)
        self._renew()
        self._save()

    def _log(self, metrics: Metrics) -> None:
        for name, value in metrics.items():
            self.logger.record(f"curriculum/{name.partition('/')[2]}", value)

    def _renew(self) -> None:
        assert self._supply is not None
        self._set("contexts_of_rows", self._supply.renewed())

    def _restart(self) -> None:
        """Reset all environments, as `learn` does before callbacks start."""
        model: Any = self.model
        normalisation = self._normalisation()
        model._last_obs = self.training_env.reset()
        model._last_episode_starts = np.ones(self.training_env.num_envs, bool)
        if normalisation is not None:
            model._last_original_obs = normalisation.get_original_obs()
        assert self._supply is not None
        self._supply.after(range(self.training_env.num_envs))

    def _observed(self, row: int, observations: Any) -> Array:
        """Return a row of observations before normalisation, flat."""
        normalisation = self._normalisation()
        if normalisation is not None:
            observations = normalisation.get_original_obs()
        space = self.model.observation_space
        if isinstance(observations, dict):
            one = {key: column[row] for key, column in observations.items()}
            return np.asarray(spaces.flatten(space, one))
        return np.array(observations[row]).reshape(-1)

    def _value_function(self) -> ValueFunction | None:
        if self._values == "returns":
            return None
        function = find_critic(self.model)
        require(
            function is not None or self._values == "auto",
            f"critic of {type(self.model.policy).__name__} must be a known one for "
            'values="critic"; set values="returns"',
        )
        return function

    def _normalisation(self) -> VecNormalize | None:
        found: VecNormalize | None = self.model.get_vec_normalize_env()
        return found

    def _get(self, name: str) -> list[Any]:
        """Return an attribute of the `CurriculumEnv` in every environment."""
        return self.training_env.env_method("get_wrapper_attr", name)

    def _set(self, name: str, value: object, row: int | None = None) -> None:
        """Set an attribute of the `CurriculumEnv` in one environment, or in all of them."""
        self.training_env.env_method("set_wrapper_attr", name, value, indices=row)

    def _adopt(self) -> None:
        """Take the seed of the model, and the curriculum that was saved with it."""
        curriculum, saved = self.curriculum, getattr(self.model, SAVED, None)
        if self._takes_seed and self.model.seed:
            self.curriculum = Curriculum(curriculum.teacher, curriculum.contexts, self.model.seed)
        if saved is not None:
            self.curriculum.load_state_dict(saved)

    def _save(self) -> None:
        setattr(self.model, SAVED, self.curriculum.state_dict())

    def _require_curriculum_envs(self) -> None:
        try:
            self._get("next_contexts")
        except AttributeError:
            raise SelfpacedError(
                "environments must have CurriculumEnv among their wrappers; write "
                "make_vec_env(lambda: CurriculumEnv(gymnasium.make(...), contexts), n_envs=8)"
            ) from None
        own = self.curriculum.contexts
        for other in self._get("contexts"):
            require(
                other.names == own.names and np.array_equal(other.box, own.box),
                f"contexts of CurriculumEnv must have the components and bounds of the callback's, "
                f"{_box(own)}, got {_box(other)}; give both the same ContextSpace",
            )


def _box(contexts: ContextSpace) -> str:
    bounds = zip(contexts.names, contexts.lower, contexts.upper, strict=True)
    return ", ".join(f"{name} in [{low:g}, {high:g}]" for name, low, high in bounds)
