"""The dual of SPRL: a weight for each remembered episode (Klink et al., CoRL 2019).

Policy and contexts are reweighted together. With advantages A_i = R_i - φᵀψ(c_i) and log-ratios
d_i = log μ(c_i) - log p(c_i), minimise over η_p, η_μ > 0 and φ

    η_p ε + η_p log mean exp(A_i / η_p)
    + η_μ ε + (α + η_μ) log mean exp((α d_i + φᵀψ(c_i)) / (α + η_μ)) + λ ‖φ‖².

At the minimum both sets of weights are within a KL of ε of uniform weights.

Deviation from the published algorithm:
D1  Newton's method with a small barrier instead of L-BFGS-B. The contexts' bound is rarely active,
    because they only have to match the features of a policy that is bounded itself. The minimum
    then lies at η_μ = 0, where the dual has a kink: there L-BFGS-B stops early, or at weights that
    are far outside the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from selfpaced.records import Array

PENALTY = 1e-5  # λ
RIDGE = 0.1  # of the regression that φ starts from
BARRIERS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)  # D1; of each η, relative to its scale
TOLERANCE = 1e-9  # of the dual, relative to the spread of returns
PRECISION = 1e-7  # of returns
MAX_STEPS = 50  # for each barrier
FRACTION_KEPT = 0.1  # of η in one step


class EpisodicDual(NamedTuple):
    """What the dual needs of the remembered episodes."""

    returns: Array  # [N]  R_i
    log_ratio: Array  # [N]  d_i = log μ(c_i) - log p(c_i)
    features: Array  # [N, P]  ψ(c_i)
    alpha: float
    epsilon: float

    def value(self, x: Array) -> float:
        """Return the dual at x = (η_p, η_μ, φ), up to a constant."""
        log_means = [_log_mean_exp(scores) for scores in self._scores(x)]
        penalty = PENALTY * x[2:] @ x[2:]
        return float(self._temperatures(x) @ log_means + self.epsilon * x[:2].sum() + penalty)

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian at x; the gradient by η is the slack of each KL bound."""
        gradient, hessian = 2.0 * PENALTY * x, 2.0 * PENALTY * np.eye(len(x))
        gradient[:2], hessian[:2, :2] = self.epsilon, 0.0
        slopes = -self.features, self.features  # of the scores by φ, times the temperature
        phi = np.arange(2, len(x))
        for eta, (scores, temperature, slope) in enumerate(
            zip(self._scores(x), self._temperatures(x), slopes, strict=True)
        ):
            place = np.append(eta, phi)
            first, second = _tempered_derivatives(scores, temperature, slope)
            gradient[place] += first
            hessian[np.ix_(place, place)] += second
        return gradient, hessian

    def weights(self, x: Array) -> tuple[Array, Array]:
        """Return weights of policy and contexts [N], each with sum one."""
        policy, context = map(_softmax, self._scores(x))
        return policy, context

    @property
    def scales(self) -> Array:
        """Spread of the numerators of the scores, the units of η_p and η_μ.

        Each has its own: the pull can be orders of magnitude larger than the spread of returns.
        """
        policy, largest = float(self.returns.std()), float(np.abs(self.returns).max())
        if policy <= PRECISION * largest:  # all the same
            policy = largest or 1.0
        return np.array([policy, policy + self.alpha * float(self.log_ratio.std())])

    def _temperatures(self, x: Array) -> Array:
        return np.array([x[0], self.alpha + x[1]])

    def _scores(self, x: Array) -> tuple[Array, Array]:
        """Exponents of the weights of policy and contexts [N]."""
        baseline = self.features @ x[2:]
        # a common offset of d changes the dual by a constant, and would cost digits
        pull = self.alpha * (self.log_ratio - self.log_ratio.mean())
        policy, context = self._temperatures(x)
        return (self.returns - baseline) / policy, (pull + baseline) / context


class EpisodicWeights(NamedTuple):
    """The weight of each episode."""

    policy: Array  # [N]  w_i
    context: Array  # [N]  w̃_i
    eta_policy: float
    eta_context: float
    solved: bool


def solve_dual(dual: EpisodicDual) -> EpisodicWeights:
    """Minimise the dual by Newton's method; it is convex, and the barrier makes it smooth."""
    scales = dual.scales
    x = np.concatenate([scales, regress(dual.features, dual.returns)])
    solved = False
    for barrier in BARRIERS:
        tolerance = (TOLERANCE if barrier == BARRIERS[-1] else 0.1 * barrier) * scales[0]
        for _ in range(MAX_STEPS):
            step, promise = _newton_step(dual, x, barrier * scales)
            solved = promise <= tolerance
            if solved:
                break
            x = x + _line_search(dual, x, step, promise, barrier * scales) * step
    return EpisodicWeights(*dual.weights(x), float(x[0]), float(x[1]), solved)


def regress(features: Array, returns: Array) -> Array:
    """Return the ridge regression of returns on features of contexts, an estimate of the value."""
    gram = features.T @ features + RIDGE * np.eye(features.shape[1])
    return np.linalg.solve(gram, features.T @ returns)


def quadratic_features(contexts: Array) -> Array:
    """Return ψ: one, the components, and all products of two of them."""
    first, second = np.triu_indices(contexts.shape[1])
    products = contexts[:, first] * contexts[:, second]
    return np.column_stack([np.ones(len(contexts)), contexts, products])


def _newton_step(dual: EpisodicDual, x: Array, barrier: Array) -> tuple[Array, float]:
    """The step, and twice its gain if the dual were quadratic."""
    gradient, hessian = dual.derivatives(x)
    gradient[:2] -= barrier / x[:2]
    hessian[[0, 1], [0, 1]] += barrier / x[:2] ** 2
    step = -np.linalg.solve(hessian, gradient)
    return step, -float(gradient @ step)


def _line_search(
    dual: EpisodicDual, x: Array, step: Array, promise: float, barrier: Array
) -> float:
    """Halve the step until it gains what a convex function guarantees; η stays positive."""

    def penalised(x: Array) -> float:
        return dual.value(x) - float(barrier @ np.log(x[:2]))

    shrinks = np.maximum(-step[:2] / x[:2], 1e-300)
    length = min(1.0, float((1.0 - FRACTION_KEPT) / shrinks.max()))
    before = penalised(x)
    rounding = 1e-13 * (abs(before) + dual.scales[1])
    while penalised(x + length * step) > before - 0.1 * length * promise + rounding:
        length *= 0.5
    return length


def _tempered_derivatives(scores: Array, temperature: float, slopes: Array) -> tuple[Array, Array]:
    """Derivatives of T log mean exp(s) by (T, φ), where ∂s/∂φ = slopes / T and ∂s/∂T = -s / T."""
    weights = _softmax(scores)
    by = np.column_stack([-scores, slopes])
    gradient = weights @ by
    centred = by - gradient
    gradient[0] += _log_mean_exp(scores)
    return gradient, (centred.T * weights) @ centred / temperature


def _log_mean_exp(scores: Array) -> float:
    largest = scores.max()
    return float(largest + np.log(np.exp(scores - largest).mean()))


def _softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max())
    normalised: Array = weights / weights.sum()
    return normalised
