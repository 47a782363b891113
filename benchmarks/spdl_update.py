"""Compare SPDL's update of the context distribution with SciPy's trust-constr, on one core.

python benchmarks/spdl_update.py                             problems like those of a training
python benchmarks/spdl_update.py recorded.npz --number 100   recorded ones
python benchmarks/spdl_update.py --fuzz 10000                random ones, checked
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter
from typing import NamedTuple

if hasattr(os, "sched_setaffinity"):  # before linear algebra libraries count the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from selfpaced.contexts import Gaussian
from selfpaced.teachers.gaussian_step import gaussian_step
from selfpaced.teachers.interior_point import solve


class Problem(NamedTuple):
    current: Gaussian
    target: Gaussian
    contexts: np.ndarray
    values: np.ndarray
    alpha: float
    max_kl: float
    bound: np.ndarray | None
    direction: str = "old_new"
    best_gain: float = 0.0  # known from elsewhere

    def start(self) -> Gaussian:
        if self.bound is None:
            return self.current
        diagonal = np.maximum(np.diag(self.current.cholesky), self.bound)
        below = np.tril(self.current.cholesky, -1)
        return Gaussian(self.current.mean, below + np.diag(diagonal))

    def gain(self, start: Gaussian, new: Gaussian) -> tuple[float, float]:
        """Return the improvement of Eq. (5), and the size of the terms it is a difference of."""
        old_log = self.current.log_density(self.contexts)
        before = np.exp(start.log_density(self.contexts) - old_log) * self.values
        after = np.exp(new.log_density(self.contexts) - old_log) * self.values
        far, near = start.kl(self.target), new.kl(self.target)
        size = np.abs(before).mean() + np.abs(after).mean() + self.alpha * (far + near)
        return (after - before).mean() - self.alpha * (near - far), size

    def moved(self, new: Gaussian) -> float:
        first, second = (self.current, new) if self.direction == "old_new" else (new, self.current)
        return first.kl(second)


def recorded_problems(path: str) -> list[Problem]:
    data = dict(np.load(path))
    target = Gaussian(data["target_mean"], data["target_chol"])
    problems = []
    for i, count in enumerate(data["count"]):
        bound = data["std_lower_bound"][i]
        problems.append(
            Problem(
                Gaussian(data["mean"][i], data["chol"][i]),
                target,
                data["contexts"][i, :count],
                data["values"][i, :count],
                float(data["alpha"][i]),
                float(data["max_kl"]),
                bound if bound.any() else None,
                best_gain=float(data["gain_best_known"][i]),
            )
        )
    return problems


def training_problems(rng: np.random.Generator, number: int) -> list[Problem]:
    """Return problems between a wide start and a narrow target, as in training a point mass."""
    target = Gaussian.diagonal([2.5, 0.5, 0.0], [0.004, 0.00375, 0.002])
    wide, problems = np.array([2.0, 1.875, 1.0]), []
    for _ in range(number):
        progress = rng.uniform()
        std = wide ** (1 - progress) * np.diag(target.cholesky) ** progress
        noise = np.tril(rng.normal(size=(3, 3)), -1) * 0.1
        cholesky = std[:, None] * (np.eye(3) + noise)
        current = Gaussian(target.mean + wide * (1 - progress) * rng.normal(size=3), cholesky)
        contexts = current.mean + rng.normal(size=(rng.integers(20, 31), 3)) @ cholesky.T
        slope = rng.normal(size=3)
        values = (
            5.0 + (contexts - current.mean) / std @ slope + 0.3 * rng.normal(size=len(contexts))
        )
        alpha = min(1.4 * max(values.mean(), 0.0) / max(current.kl(target), 1e-10), 1e5)  # Eq. (6)
        bound = np.array([0.2, 0.1875, 0.1])
        far = current.kl(target) > 8000.0 and (std >= bound).all()
        args = (current, target, contexts, values, alpha, 0.05, bound if far else None)
        problems.append(Problem(*args))
    return problems


def random_problem(rng: np.random.Generator) -> Problem:
    size = int(rng.integers(1, 21))
    num = int(
        rng.choice([1, 2, rng.integers(3, 65), rng.integers(65, 1001)], p=[0.1, 0.1, 0.7, 0.1])
    )
    current, target = _random_gaussian(rng, size), _random_gaussian(rng, size)
    if rng.uniform() < 0.3:  # close to the target, in its own widths
        mean = target.mean + target.cholesky @ rng.normal(size=size) * 10.0 ** rng.uniform(-6, 0)
        current = Gaussian(mean, target.cholesky * np.exp(0.1 * rng.normal(size=(size, 1))))
    else:
        mean = current.mean + rng.normal(size=size) * current.std * 10.0 ** rng.uniform(-3, 3)
        target = Gaussian(mean, target.cholesky)
    spread = rng.choice([1.0, 1.0, 3.0, 10.0])
    contexts = current.mean + spread * rng.normal(size=(num, size)) @ current.cholesky.T
    slope = rng.normal(size=size)
    shape = np.concatenate([[(contexts - current.mean) / current.std @ slope], [np.ones(num)]])
    values = rng.normal(size=2) @ shape + rng.choice([0.0, 1.0]) * rng.normal(size=num)
    values = values * rng.choice([0.0, 1e-12, 1.0, 1.0, 10.0, 1e12])
    values = {0: values, 1: np.full(num, values[0]), 2: -np.abs(values)}[int(rng.integers(3))]
    alpha = float(rng.choice([0.0, 10.0 ** rng.uniform(-8, 5), 1e5]))
    max_kl = float(rng.choice([0.05, 10.0 ** rng.uniform(-4, 1)]))
    bound = None
    if rng.uniform() < 0.5:
        bound = np.diag(current.cholesky) * 10.0 ** rng.choice(
            [0.0, rng.uniform(-2, 0.1)], size=size
        )
    direction = str(rng.choice(["old_new", "new_old"]))
    return Problem(current, target, contexts, values, alpha, max_kl, bound, direction)


def _random_gaussian(rng: np.random.Generator, size: int) -> Gaussian:
    std = 10.0 ** rng.uniform(-4, 4, size=size)
    mixing = np.eye(size) + np.tril(rng.normal(size=(size, size)), -1) * rng.choice([0.0, 0.3])
    return Gaussian(rng.normal(size=size) * 10.0 ** rng.uniform(-4, 4), std[:, None] * mixing)


def ours(problem: Problem) -> tuple[float, Gaussian]:
    args = problem[:7]
    started = time.perf_counter()
    result = gaussian_step(*args)
    return time.perf_counter() - started, result.distribution


def trust_constr(problem: Problem) -> tuple[float, Gaussian]:
    """Solve with SciPy as the published experiments do: mean, log-diagonal, entries below."""
    size, num = problem.current.size, len(problem.values)
    below = np.tril_indices(size, -1)
    mean_0, cholesky_0 = problem.current.mean, problem.current.cholesky
    inverse_target = np.linalg.inv(problem.target.cholesky)
    z_0 = solve_triangular(cholesky_0, (problem.contexts - mean_0).T, lower=True)
    log_0 = -0.5 * (z_0**2).sum(axis=0) - np.log(np.diag(cholesky_0)).sum()

    def split(x):
        cholesky = np.diag(np.exp(x[size : 2 * size]))
        cholesky[below] = x[2 * size :]
        return x[:size], cholesky, np.linalg.inv(cholesky)

    def join(by_mean, by_cholesky, cholesky):
        diagonal = np.diag(by_cholesky) * np.diag(cholesky)
        return np.concatenate([by_mean, diagonal, by_cholesky[below]])

    def loss(x):  # Eq. (5), negative
        mean, cholesky, inverse = split(x)
        z = inverse @ (problem.contexts - mean).T
        log_determinant = x[size : 2 * size].sum()
        weight = np.exp(-0.5 * (z**2).sum(axis=0) - log_determinant - log_0) * problem.values / num
        spread, shift = inverse_target @ cholesky, inverse_target @ (mean - problem.target.mean)
        kl = 0.5 * ((spread**2).sum() + (shift**2).sum() - size) - log_determinant
        kl -= np.log(np.diag(inverse_target)).sum()
        by_mean = inverse.T @ (z @ weight) - problem.alpha * inverse_target.T @ shift
        by_cholesky = inverse.T @ ((z * weight) @ z.T) - problem.alpha * inverse_target.T @ spread
        by_cholesky += np.diag((problem.alpha - weight.sum()) / np.diag(cholesky))
        return problem.alpha * kl - weight.sum(), -join(by_mean, by_cholesky, cholesky)

    def moved(x):  # KL(old ‖ new)
        mean, _, inverse = split(x)
        spread, shift = inverse @ cholesky_0, inverse @ (mean_0 - mean)
        half_square = 0.5 * ((spread**2).sum() + (shift**2).sum() - size)
        return half_square - np.log(np.diag(spread)).sum()

    def moved_gradient(x):
        mean, cholesky, inverse = split(x)
        spread, shift = inverse @ cholesky_0, inverse @ (mean_0 - mean)
        by_cholesky = np.diag(1 / np.diag(cholesky))
        by_cholesky = by_cholesky - inverse.T @ (spread @ spread.T + np.outer(shift, shift))
        return join(-inverse.T @ shift, by_cholesky, cholesky)

    start = problem.start()
    x_0 = np.concatenate([mean_0, np.log(np.diag(start.cholesky)), cholesky_0[below]])
    bounds = None
    if problem.bound is not None:
        low = np.full(len(x_0), -np.inf)
        low[size : 2 * size] = np.log(problem.bound)
        bounds = Bounds(low, np.inf, keep_feasible=True)
    region = NonlinearConstraint(
        moved, -np.inf, problem.max_kl, jac=moved_gradient, keep_feasible=True
    )
    options = {"gtol": 1e-4, "xtol": 1e-6}
    started = time.perf_counter()
    result = minimize(
        loss,
        x_0,
        jac=True,
        method="trust-constr",
        bounds=bounds,
        constraints=[region],
        options=options,
    )
    seconds = time.perf_counter() - started
    return seconds, Gaussian(*split(result.x)[:2])


def compare(problems: list[Problem]) -> None:
    ours(problems[0])  # compiles
    rows = []
    for problem in problems:
        start, row = problem.start(), []
        # ours twice, the second one counts: in training the program is compiled
        for seconds, new in (trust_constr(problem), ours(problem) and ours(problem)):
            violation = problem.moved(new) - problem.max_kl
            if problem.bound is not None:
                violation = max(violation, (problem.bound - np.diag(new.cholesky)).max())
            row.append((seconds, problem.gain(start, new)[0], violation))
        best = max(problem.best_gain, row[0][1], row[1][1])
        rows.append([(1e3 * seconds, gain / best, violation) for seconds, gain, violation in row])
    table = np.array(rows)  # [problem, solver, (ms, share, violation)]
    print(f"{len(problems)} problems, {problems[0].current.size} components, one core")
    print(
        f"{'':14}{'median ms':>10}{'worst ms':>10}{'share min':>11}{'median':>9}{'violation':>12}"
    )
    for i, name in enumerate(("trust-constr", "gaussian_step")):
        ms, share, violation = table[:, i].T
        print(
            f"{name:14}{np.median(ms):10.2f}{ms.max():10.2f}{share.min():11.4f}"
            f"{np.median(share):9.4f}{violation.max():12.1e}"
        )
    medians = np.median(table[..., 0], axis=0)
    print(f"ratio of the medians {medians[0] / medians[1]:.0f}")


def fuzz(rng: np.random.Generator, number: int) -> Counter:
    """Count outcomes; those that start with BAD must be zero."""
    counts: Counter = Counter()
    worst_kl = worst_loss = -np.inf
    for _ in range(number):
        problem = random_problem(rng)
        try:
            result = gaussian_step(*problem[:8])
        except Exception as error:
            counts[f"BAD exception {type(error).__name__}"] += 1
            continue
        new = result.distribution
        bound = np.zeros(new.size) if problem.bound is None else problem.bound
        # the trust region may end below the bound; then the diagonal must not shrink
        floor = np.minimum(bound, np.diag(problem.current.cholesky)) * (1 - 1e-9)
        excess = problem.moved(new) - problem.max_kl
        worst_kl = max(worst_kl, excess)
        counts["accepted" if result.accepted else "stayed"] += 1
        counts["trust region touched"] += result.kl_active
        counts["BAD infeasible"] += bool(excess > 1e-6)
        counts["BAD below the bound"] += bool((np.diag(new.cholesky) < floor).any())
        counts["BAD not finite"] += not np.isfinite([result.gain, result.kl_moved, excess]).all()
        if problem.moved(problem.start()) <= 0.9 * problem.max_kl:  # else the start differs
            gain, size = problem.gain(problem.start(), new)
            loss = -gain / size if size > 0 else 0.0
            worst_loss = max(worst_loss, loss)
            counts["BAD worse than staying"] += bool(loss > 1e-9)
    counts["programs compiled"] = solve._cache_size()
    print(f"{number} random problems; largest KL beyond max_kl {worst_kl:.1e}, ", end="")
    print(f"largest relative loss {worst_loss:.1e}")
    for name, count in sorted(counts.items()):
        print(f"  {name:24} {count}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recorded", nargs="?", help="an .npz of recorded updates")
    parser.add_argument("--number", type=int, default=20, help="of problems to compare on")
    parser.add_argument("--fuzz", type=int, default=0, help="number of random problems instead")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")  # of trust-constr about its quasi-Newton updates
    rng = np.random.default_rng(args.seed)
    if args.fuzz:
        fuzz(rng, args.fuzz)
    elif args.recorded:
        compare(recorded_problems(args.recorded)[: args.number])
    else:
        compare(training_problems(rng, args.number))


if __name__ == "__main__":
    main()
