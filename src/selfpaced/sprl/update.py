"""SPRL, self-paced contextual reinforcement learning (Klink et al., CoRL 2019), as in the paper.

The episodic counterpart of SPDL: one dual reweights the remembered episodes for policy and contexts
together, and both are fitted to them. It improves an `EpisodicPolicy`.

Deviations from the paper's text; D1 to D3 are those of the published SPRL:
D1  alpha is zero for the first K_alpha + 1 updates,
D2  alpha takes the mean return of all remembered episodes and its magnitude, and a KL to the target
    that is estimated from their contexts,
D3  alpha is never larger than 1e10,
D4  an update whose dual cannot be solved is skipped (the published code stops),
D5  training maximises the plain sum of rewards, as episodic methods do, though evaluations discount
    it (the paper does not say which). `discount` chooses: with the problem's own, most policies
    pass the gate of the point mass and stop beside the goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from selfpaced.contexts import ContextSpace, Gaussian
from selfpaced.errors import require
from selfpaced.records import Array, Metrics
from selfpaced.sprl.dual import (
    EpisodicDual,
    EpisodicWeights,
    quadratic_features,
    solve_dual,
)
from selfpaced.sprl.weighted_fit import Fit, LinearGaussian, Moments, fit_within
from selfpaced.validation import require_not_negative, require_positive, require_std_bound

MAX_ALPHA = 1e10  # D3
MAX_REJECTIONS = 100


class SPRLState(NamedTuple):
    """The context distribution and the remembered episodes."""

    mean: Array
    cholesky: Array
    contexts: Array  # [N, C]  of the remembered episodes, oldest first
    parameters: Array  # [N, D]  network weights
    returns: Array  # [N]
    num_batches: Array  # seen so far
    num_updates: Array
    num_failed: Array  # D4
    num_steps: Array  # environment steps so far


@final
@dataclass(frozen=True)
class EpisodicUpdate:
    """Reweight remembered episodes within a KL bound; fit policy and contexts within another.

    This is one half of the method `SPRL`; the other is an `EpisodicPolicy`.

    Raises:
        SelfpacedError: a setting is out of range.

    Examples:
        >>> import numpy as np
        >>> from selfpaced import PROBLEMS, EpisodicUpdate
        >>> contexts, update = PROBLEMS["point-mass-2d"].contexts, EpisodicUpdate(zeta=1.5)
        >>> state = update.init(contexts, num_parameters=149)
        >>> update.sample(np.random.default_rng(0), contexts, state, update.num_rollouts).shape
        (25, 2)
    """

    zeta: float = 2.0
    """weight of the target, relative to the mean return"""
    alpha_offset: int = 40
    """K_alpha: updates before the target gets weight"""
    num_rollouts: int = 25
    """episodes per update"""
    num_remembered: int = 10
    """number of updates for which an episode is remembered"""
    max_weight_kl: float = 0.5
    """epsilon: largest KL of the episode weights from uniform ones"""
    max_fit_kl: float = 0.2
    """epsilon of the fit: largest KL by which policy and contexts may move together"""
    std_lower_bound: tuple[float, ...] | None = None
    """smallest standard deviation of each context component while the target is far"""
    kl_threshold: float = 8000.0
    """KL to the target above which std_lower_bound applies"""
    discount: float | None = 1.0
    """discount of the return that training maximises; None takes the problem's"""

    def __post_init__(self) -> None:
        require_positive(self, "num_rollouts", "num_remembered", "max_weight_kl", "max_fit_kl")
        require_not_negative(self, "zeta", "alpha_offset", "kl_threshold")
        require(
            self.discount is None or 0.0 < self.discount <= 1.0,
            f"discount must lie in (0, 1], got {self.discount}",
        )
        require_std_bound(self.std_lower_bound)

    def init(self, contexts: ContextSpace, num_parameters: int) -> SPRLState:
        """Start from the initial distribution, nothing remembered."""
        require_std_bound(self.std_lower_bound, contexts.names)
        initial = contexts.require_gaussian("initial", "SPRL")
        num = self.num_rollouts * self.num_remembered
        return SPRLState(
            mean=initial.mean,
            cholesky=initial.cholesky,
            contexts=np.zeros((num, contexts.size)),
            parameters=np.zeros((num, num_parameters)),
            returns=np.zeros(num),
            num_batches=np.array(0),
            num_updates=np.array(0),
            num_failed=np.array(0),
            num_steps=np.array(0),
        )

    def gaussian(self, state: SPRLState) -> Gaussian:
        """Return the distribution that contexts are drawn from."""
        return Gaussian(state.mean, state.cholesky)

    def sample(
        self, rng: np.random.Generator, contexts: ContextSpace, state: SPRLState, num: int
    ) -> Array:
        """Draw from the current distribution, redraw outside the box, clip as a last resort."""
        distribution, (lower, upper) = self.gaussian(state), contexts.box
        drawn = distribution.sample(rng, num)
        for _ in range(MAX_REJECTIONS):
            outside = ((drawn < lower) | (drawn > upper)).any(axis=1)
            if not outside.any():
                break
            drawn[outside] = distribution.sample(rng, int(outside.sum()))
        return np.clip(drawn, lower, upper)

    def remember(
        self, state: SPRLState, contexts: Array, parameters: Array, returns: Array, num_steps: int
    ) -> SPRLState:
        """Add one batch of episodes and drop the oldest."""

        def push(old: Array, new: Array) -> Array:
            return np.concatenate([old[len(new) :], new])

        return state._replace(
            contexts=push(state.contexts, contexts),
            parameters=push(state.parameters, parameters),
            returns=push(state.returns, returns),
            num_batches=state.num_batches + 1,
            num_steps=state.num_steps + num_steps,
        )

    def is_ready(self, state: SPRLState) -> bool:
        """Return whether enough is remembered for an update."""
        return bool(state.num_batches >= self.num_remembered)

    def update(
        self, target: Gaussian, state: SPRLState, policy: LinearGaussian, features: Array
    ) -> tuple[SPRLState, LinearGaussian, Metrics]:
        """Improve policy and contexts jointly; `features` are those of the remembered contexts."""
        log_ratio = self._log_ratio(target, state)  # log μ - log p
        alpha = self._alpha(state, -float(log_ratio.mean()))
        dual = EpisodicDual(
            state.returns, log_ratio, quadratic_features(state.contexts), alpha, self.max_weight_kl
        )
        weights = solve_dual(dual)
        state = state._replace(num_updates=state.num_updates + 1)
        metrics = {"teacher/alpha": alpha, "teacher/dual_solved": float(weights.solved)}
        if not weights.solved:  # D4
            state = state._replace(num_failed=state.num_failed + 1)
            return state, policy, metrics | self.metrics(target, state)
        fit = self._fit(state, policy, features, weights)
        new_policy, new_contexts = fit.distributions
        context_cholesky = self._raise_to_bound(new_contexts.cholesky, -float(log_ratio.mean()))
        state = state._replace(mean=new_contexts.coefficients[0], cholesky=context_cholesky)
        return state, new_policy, metrics | self.metrics(target, state) | _describe(weights, fit)

    def metrics(self, target: Gaussian, state: SPRLState) -> Metrics:
        """Return the metrics that exist without an update."""
        return {
            "teacher/kl_to_target": self.gaussian(state).kl(target),
            "teacher/updates": float(state.num_updates),
        }

    def advice(self, state: SPRLState) -> tuple[str, ...]:
        """Return warnings: the target gets weight for the wrong reason, or updates fail."""
        advice = []
        if self.is_ready(state) and state.returns.mean() < 0:
            advice.append(
                "the mean return is negative, so the weight of the target grows as the policy "
                "gets worse; add a constant to the reward"
            )
        if state.num_failed:
            advice.append(
                f"the dual could not be solved in {state.num_failed} of {state.num_updates} "
                "updates, which were skipped; rescale the rewards or raise max_weight_kl"
            )
        return tuple(advice)

    def _log_ratio(self, target: Gaussian, state: SPRLState) -> Array:
        current = self.gaussian(state)
        return target.log_density(state.contexts) - current.log_density(state.contexts)

    def _alpha(self, state: SPRLState, kl_to_target: float) -> float:
        if state.num_updates <= self.alpha_offset:  # D1
            return 0.0
        if kl_to_target <= 0.0:  # as the estimate may be, close to the target
            return MAX_ALPHA
        return min(self.zeta * abs(float(state.returns.mean())) / kl_to_target, MAX_ALPHA)  # D2, D3

    def _fit(
        self, state: SPRLState, policy: LinearGaussian, features: Array, weights: EpisodicWeights
    ) -> Fit:
        contexts = LinearGaussian(state.mean[None], state.cholesky)
        constant = np.ones((len(state.contexts), 1))
        moments = (
            Moments.of(policy, features, state.parameters, weights.policy),
            Moments.of(contexts, constant, state.contexts, weights.context),
        )
        return fit_within(moments, self.max_fit_kl)

    def _raise_to_bound(self, cholesky: Array, kl_to_target: float) -> Array:
        """Far from the target, raise the variances and leave the covariances as they are."""
        if self.std_lower_bound is None or kl_to_target <= self.kl_threshold:
            return cholesky
        covariance = cholesky @ cholesky.T
        missing = np.maximum(np.square(self.std_lower_bound) - np.diag(covariance), 0.0)
        return np.linalg.cholesky(covariance + np.diag(missing)) if missing.any() else cholesky


def _describe(weights: EpisodicWeights, fit: Fit) -> Metrics:
    return {
        "teacher/eta_policy": weights.eta_policy,
        "teacher/eta_context": weights.eta_context,
        "teacher/eta_fit": fit.eta,
        "teacher/kl_moved": fit.kl,
        "teacher/effective_samples": 1.0 / float((weights.context**2).sum()),
        "learner/effective_samples": 1.0 / float((weights.policy**2).sum()),
        "learner/policy_std": float(
            np.sqrt((fit.distributions[0].cholesky ** 2).sum(axis=1)).mean()
        ),
    }
