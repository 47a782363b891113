"""One update of SPDL's Gaussian over contexts: Eq. (5) of Klink et al. (NeurIPS 2020).

In few dimensions the compiled solver of `interior_point.py` is used, in many dimensions, for
diagonal covariances and for linear values that of `spectral_gradient.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import jax
import numpy as np
import scipy  # loads its parts on first use
from numpy.typing import ArrayLike

from selfpaced.contexts import Gaussian
from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array
from selfpaced.teachers import spectral_gradient
from selfpaced.teachers.interior_point import TRUST_MARGIN, Direction, solve, solve_together
from selfpaced.teachers.linear_fit import LinearFit, fit

Covariance = Literal["full", "diagonal"]

DENSE_SIZE = 10  # components up to which Hessians are formed
BUCKET_SIZES = (64, 256, 1024)  # sample counts are padded to these, so that few programs compile
ACTIVE_SHARE = 1e-2  # a constraint is active if closer than this, relatively


class Update(NamedTuple):
    """A checked update with its start point; made by `prepare`."""

    current: Gaussian
    target: Gaussian
    contexts: Array  # [K, C]
    values: Array  # [K]
    alpha: float
    max_kl: float
    start: Gaussian  # the current Gaussian, raised to the bound
    bound: Array  # [C] on the Cholesky diagonal, zero where there is none
    direction: Direction
    covariance: Covariance = "full"
    linear: LinearFit | None = None  # replaces importance weights; from contexts and values

    def expected_value(self, new: Gaussian) -> float:
        """Return J(new), an estimate of the mean value under another Gaussian."""
        if self.linear is not None:
            shift = np.linalg.solve(self.current.cholesky, new.mean - self.current.mean)
            return float(self.linear.level + self.linear.slope @ shift)
        ratio = np.exp(new.log_density(self.contexts) - self.current.log_density(self.contexts))
        return float(ratio @ self.values / len(self.values))

    @property
    def is_dense(self) -> bool:
        """Whether the compiled solver with dense Hessians is used."""
        is_plain = self.covariance == "full" and self.linear is None
        return is_plain and self.current.size <= DENSE_SIZE


class GaussianStep(NamedTuple):
    """The outcome of an update, and the constraints that stopped it."""

    distribution: Gaussian  # the start point when nothing better was found
    gain: float  # of the objective over the start point
    kl_moved: float  # in the constrained direction
    kl_active: bool  # whether the trust region is active
    bound_active: Array  # [C] which lower bounds are active
    accepted: bool  # whether a feasible, finite improvement was found


def gaussian_step(
    current: Gaussian,
    target: Gaussian,
    contexts: ArrayLike,
    values: ArrayLike,
    alpha: float,
    max_kl: float,
    std_lower_bound: ArrayLike | None = None,
    direction: Direction = "old_new",
    covariance: Covariance = "full",
) -> GaussianStep:
    """Maximise Eq. (5) within the trust region and above the bound on the Cholesky diagonal."""
    update = prepare(current, target, contexts, values, alpha, max_kl, std_lower_bound, direction)
    return gaussian_steps([update._replace(covariance=covariance)])[0]


def prepare(
    current: Gaussian,
    target: Gaussian,
    contexts: ArrayLike,
    values: ArrayLike,
    alpha: float,
    max_kl: float,
    std_lower_bound: ArrayLike | None = None,
    direction: Direction = "old_new",
) -> Update:
    """Check an update, and raise its start to the bound."""
    contexts, values = np.asarray(contexts, np.float64), np.asarray(values, np.float64)
    bound = np.asarray(0.0 if std_lower_bound is None else std_lower_bound, np.float64)
    bound = np.broadcast_to(bound, (current.size,))
    _check_samples(current, target, contexts, values)
    _check_settings(alpha, max_kl, bound, direction)
    start, bound = _raise_to_bound(current, bound, max_kl, direction)
    return Update(current, target, contexts, values, alpha, max_kl, start, bound, direction)


def regularised(update: Update) -> Update:
    """Replace importance weights by a regression if there are fewer episodes than parameters.

    Importance weights of few episodes follow their noise. A linear value has fewer parameters; the
    covariance then follows the target alone.
    """
    num = len(update.values)
    if not 0 < num < num_parameters(update.current.size, update.covariance):
        return update
    return update._replace(linear=fit(update.current, update.contexts, update.values))


def num_parameters(size: int, covariance: Covariance) -> int:
    """Return the number of parameters of a Gaussian."""
    return 2 * size if covariance == "diagonal" else size + size * (size + 1) // 2


def restrict(gaussian: Gaussian, covariance: Covariance) -> Gaussian:
    """Return the Gaussian, or with a diagonal covariance the product of its marginals."""
    return gaussian if covariance == "full" else Gaussian.diagonal(gaussian.mean, gaussian.std)


def gaussian_steps(updates: Sequence[Update], at_least: int = 0) -> list[GaussianStep]:
    """Solve several updates of one size and direction; ten take little longer than one.

    Every number of updates is compiled once. Where numbers vary, `at_least` is the largest one:
    fewer are solved by the same program.
    """
    directions = {update.direction for update in updates}
    require(len(directions) == 1, f"direction must be the same for all updates, got {directions}")
    dense = iter(_solve_densely([update for update in updates if update.is_dense], at_least))
    return [next(dense) if update.is_dense else _solve_structured(update) for update in updates]


def _solve_densely(updates: Sequence[Update], at_least: int) -> list[GaussianStep]:
    largest = max((len(update.values) for update in updates), default=0)
    if largest == 0:
        return [_stay(update, update.current) for update in updates]
    direction = updates[0].direction
    bucket = next((size for size in BUCKET_SIZES if size >= largest), 0)
    bucket = bucket or 1 << (largest - 1).bit_length()
    arguments = [_pad(update, bucket) for update in updates]
    arguments += arguments[:1] * (at_least - len(updates))
    with jax.enable_x64(True):  # only this program; the rest of the process stays in float32
        if len(arguments) == 1:
            packed = [np.asarray(solve(*arguments[0], direction))]
        else:
            columns = [np.stack(column) for column in zip(*arguments, strict=True)]
            packed = list(np.asarray(solve_together(*columns, direction)))[: len(updates)]
    return [_unpack(update, row) for update, row in zip(updates, packed, strict=True)]


def _solve_structured(update: Update) -> GaussianStep:
    num = len(update.values)
    if num == 0:
        return _stay(update, update.current)
    start = spectral_gradient.Start(
        update.current,
        update.start,
        update.bound,
        update.max_kl * (1.0 - TRUST_MARGIN),
        is_new_old=update.direction == "new_old",
    )
    is_linear, linear = update.linear is not None, update.linear
    objective = spectral_gradient.Objective(
        update.target,
        update.alpha,
        update.contexts[:0] if is_linear else update.contexts,
        update.values[:0] if is_linear else update.values / num,
        np.zeros(update.current.size) if linear is None else linear.slope,
        is_diagonal=update.covariance == "diagonal",
    )
    new, gain = spectral_gradient.solve(start, objective)
    if not gain > 0:
        return _stay(update, update.start)
    return _report(update, new, gain, _moved(update.current, new, update.direction), accepted=True)


def _check_samples(current: Gaussian, target: Gaussian, contexts: Array, values: Array) -> None:
    size = current.size
    if target.size != size or values.ndim != 1 or contexts.shape != (len(values), size):
        raise SelfpacedError(
            f"contexts, values and target must be of shapes [K, {size}] and [K] and size {size}, "
            f"got {contexts.shape}, {values.shape} and {target.size}"
        )
    if not (np.isfinite(values).all() and np.isfinite(contexts).all()):
        bad = ~(np.isfinite(values) & np.isfinite(contexts).all(axis=1))
        first = bad.argmax()
        raise SelfpacedError(
            f"contexts and values must be finite, got {bad.sum()} of {len(bad)} that are not, "
            f"first at index {first}: context {contexts[first]}, value {values[first]}; "
            "if the learner diverged, lower its learning rate"
        )


def _check_settings(alpha: float, max_kl: float, bound: Array, direction: str) -> None:
    possible = 0.0 <= alpha < np.inf and 0.0 < max_kl < np.inf and direction in get_args(Direction)
    if not (possible and (bound >= 0.0).all() and (bound < np.inf).all()):
        raise SelfpacedError(
            "settings must be finite alpha >= 0, max_kl > 0 and std_lower_bound >= 0 and direction "
            f"'old_new' or 'new_old', got alpha={alpha}, max_kl={max_kl}, std_lower_bound={bound}, "
            f"direction={direction!r}; the published experiments use max_kl=0.05, 'old_new'"
        )


def _raise_to_bound(
    current: Gaussian, bound: Array, max_kl: float, direction: Direction
) -> tuple[Gaussian, Array]:
    """Raise the Cholesky diagonal to the bound, or lower the bound to the reachable part."""
    diagonal = np.diag(current.cholesky)
    if (diagonal >= bound).all():
        return current, bound

    def raised(share: float) -> Gaussian:  # of the way, on a logarithmic scale
        reached = diagonal * np.maximum(bound / diagonal, 1.0) ** share
        reached = np.maximum(diagonal, bound) if share == 1.0 else reached  # exactly
        return Gaussian(current.mean, np.tril(current.cholesky, -1) + np.diag(reached))

    def beyond_half(share: float) -> float:
        return _moved(current, raised(share), direction) - 0.5 * max_kl

    # all the way if that leaves the solver some room, else to half the trust region
    all_the_way = beyond_half(1.0) <= 0.4 * max_kl
    start = raised(1.0 if all_the_way else scipy.optimize.bisect(beyond_half, 0.0, 1.0, rtol=1e-6))
    return start, np.minimum(bound, np.diag(start.cholesky))


def _pad(update: Update, bucket: int) -> tuple[Array, ...]:
    """Return the arguments of the solver, with samples padded to the size of the bucket."""
    current, target, num = update.current, update.target, len(update.values)
    padding = bucket - num
    return (
        # padding lies at the mean with value zero: it has no weight and cannot overflow
        np.concatenate([update.contexts, np.broadcast_to(current.mean, (padding, current.size))]),
        np.concatenate([update.values / max(num, 1), np.zeros(padding)]),
        np.stack([current.cholesky, target.cholesky, update.start.cholesky]),
        np.stack([current.mean, target.mean, update.bound]),
        np.array([update.alpha, update.max_kl]),
    )


def _unpack(update: Update, packed: Array) -> GaussianStep:
    size = update.current.size
    (accepted, gain, moved), mean, cholesky = np.split(packed, [3, 3 + size])
    if len(update.values) == 0:
        return _stay(update, update.current)
    if not accepted:
        return _stay(update, update.start)
    new = Gaussian(mean, cholesky.reshape(size, size))
    return _report(update, new, float(gain), float(moved), accepted=True)


def _stay(update: Update, where: Gaussian) -> GaussianStep:
    moved = _moved(update.current, where, update.direction)
    return _report(update, where, 0.0, moved, accepted=False)


def _report(
    update: Update, new: Gaussian, gain: float, moved: float, accepted: bool
) -> GaussianStep:
    at_bound = new.cholesky.diagonal() < (1.0 + ACTIVE_SHARE) * update.bound
    at_edge = moved > (1.0 - ACTIVE_SHARE) * update.max_kl
    return GaussianStep(new, gain, moved, at_edge, at_bound, accepted)


def _moved(current: Gaussian, new: Gaussian, direction: Direction) -> float:
    return current.kl(new) if direction == "old_new" else new.kl(current)
