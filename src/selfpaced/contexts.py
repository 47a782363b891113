"""Context spaces: a box, the distribution to start from, and the target distribution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final, get_args

import numpy as np
from numpy.typing import ArrayLike

from selfpaced.distributions.base import Distribution
from selfpaced.distributions.gaussian import Gaussian as Gaussian
from selfpaced.distributions.mixture import Mixture
from selfpaced.distributions.samples import Samples
from selfpaced.errors import SelfpacedError, require
from selfpaced.records import Array, Episodes
from selfpaced.validation import require_choice

Role = Literal["initial", "target"]
Outside = Literal["clip", "redraw"]
Scale = Literal["linear", "log"]
MAX_REDRAWS = 100
ANY_TARGET = "currot, gradient, staircase or random"  # teachers that only need samples


@final
@dataclass(frozen=True)
class ContextSpace:
    """A box of contexts with named components, an initial and a target distribution.

    Args:
        names: one name per component.
        lower: lower bound of every component.
        upper: upper bound of every component.
        initial: contexts to start from, usually easy ones: a `Gaussian` or another `Distribution`.
        target: contexts that the policy has to master in the end.
        units: one unit per component for figures, as ("m", ""); empty means none is known.
        outside: draws outside the box are moved to the nearest bound ("clip", as in the SPDL
            paper) or drawn again ("redraw").
        scales: "linear" or "log" for each component; () is "linear" for all. Mass, stiffness or
            friction over several orders of magnitude are "log": particles, uniform draws and
            distances use the logarithm. Gaussians stay in the unit of the component.

    Raises:
        SelfpacedError: the sizes differ, a lower bound is not below its upper bound, the lower
            bound of a log-scaled component is not positive, or recorded samples lie outside.

    Examples:
        >>> from selfpaced import ContextSpace, Gaussian
        >>> contexts = ContextSpace(
        ...     names=("gate_position", "gate_width"),
        ...     lower=(-4.0, 0.5),
        ...     upper=(4.0, 8.0),
        ...     initial=Gaussian.diagonal((0.0, 4.25), (2.0, 1.875)),
        ...     target=Gaussian.diagonal((2.5, 0.5), (0.004, 0.00375)),
        ... )
        >>> contexts.clip([5.0, 1.0]).tolist()
        [4.0, 1.0]
    """

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    initial: Distribution
    target: Distribution
    units: tuple[str, ...] = ()
    outside: Outside = "clip"
    scales: tuple[Scale, ...] = ()

    def __post_init__(self) -> None:
        if not self.names or not len(self.names) == len(self.lower) == len(self.upper):
            raise SelfpacedError(
                "names, lower and upper must be of one length, at least 1, got "
                f"{len(self.names)} names, {len(self.lower)} lower and {len(self.upper)} upper "
                "bounds"
            )
        for name, low, high in zip(self.names, self.lower, self.upper, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise SelfpacedError(
                    f"bounds of context component {name!r} must be finite with lower < upper, "
                    f"got [{low}, {high}]; leave out a component that does not vary, or give it a "
                    "width"
                )
        if self.units and len(self.units) != self.size:
            raise SelfpacedError(
                f"units must be one per component ({', '.join(self.names)}), got "
                f'{len(self.units)}; give "" to a component without one'
            )
        require_choice("outside", self.outside, get_args(Outside))
        self._require_scales()
        for role, distribution in (("initial", self.initial), ("target", self.target)):
            self._require_fits(role, distribution)

    def _require_scales(self) -> None:
        require(
            len(self.scales) in (0, self.size),
            f"scales must be one of linear, log for each of {', '.join(self.names)}, got "
            f"{self.scales}",
        )
        for name, scale, low in zip(self.names, self.scales, self.lower, strict=False):
            require_choice(f"scale of {name!r}", scale, get_args(Scale))
            require(
                scale == "linear" or low > 0,
                f"lower bound of the log-scaled component {name!r} must be positive, got {low}",
            )

    def _require_fits(self, role: str, distribution: object) -> None:
        require(
            isinstance(distribution, Distribution),
            f"{role} must be a distribution with size and sample(rng, num), as Gaussian, Mixture, "
            f"Uniform, Samples or Product, got {type(distribution).__name__}",
        )
        assert isinstance(distribution, Distribution)
        require(
            distribution.size == self.size,
            f"{role} must be a distribution over {self.size} components "
            f"({', '.join(self.names)}), got {distribution.size}",
        )
        if isinstance(distribution, Gaussian):
            self._require_mean(role, distribution)
        if isinstance(distribution, Samples):
            outside = np.flatnonzero(~self.contains(distribution.contexts))
            first = outside[0] if len(outside) else 0
            require(
                not len(outside),
                f"recorded contexts of {role} must lie in the box, got {len(outside)} of "
                f"{len(distribution.contexts)} outside, first in row {first}; widen the "
                "box, or drop them",
            )
        elif self.outside == "redraw":
            drawn = distribution.sample(np.random.default_rng(0), 10 * MAX_REDRAWS)
            require(
                bool(self.contains(drawn).any()),
                f"{role} must lie in the box to be redrawn, got {len(drawn)} draws outside; move "
                'it, widen the box, or set outside="clip"',
            )

    def _require_mean(self, role: str, gaussian: Gaussian) -> None:
        """A mean outside the box cannot be reached, and contexts would pile up at the bound."""
        for name, mean, low, high in zip(
            self.names, gaussian.mean, *self._rounded_box, strict=True
        ):
            require(
                bool(low <= mean <= high),
                f"mean of {role} must lie in [{low:g}, {high:g}] for {name!r}, got {mean:g}; move "
                "it, or widen the bounds",
            )

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components in words, with their units if they are known."""
        units = self.units or ("",) * self.size
        words = [name.replace("_", " ") for name in self.names]
        pairs = zip(words, units, strict=True)
        return tuple(f"{name} [{unit}]" if unit else name for name, unit in pairs)

    @cached_property
    def box(self) -> Array:
        """Lower and upper bounds, [2, C]."""
        return np.array([self.lower, self.upper], np.float64)

    def clip(self, contexts: ArrayLike) -> Array:
        """Move every component outside the box to the nearest bound."""
        return np.clip(real_contexts(contexts), *self.box)

    def contains(self, contexts: ArrayLike) -> Array:
        """Return whether each context lies in the box.

        Bounds belong to it, also after rounding to single precision.
        """
        lower, upper = self._rounded_box
        array = real_contexts(contexts)
        inside: Array = np.all((array >= lower) & (array <= upper), axis=-1)
        return inside

    def draw(self, rng: np.random.Generator, distribution: Distribution, num: int) -> Array:
        """Draw contexts [num, C] from a distribution, clipped to the box or redrawn (`outside`).

        What is still outside after 100 redraws is clipped. The parts of a mixture keep their
        shares: a draw is repeated from the same part.
        """
        if self.outside == "clip":
            return self.clip(distribution.sample(rng, num))
        if isinstance(distribution, Mixture):
            parts = [self.draw(rng, part, count) for part, count in distribution.split(rng, num)]
            shuffled: Array = rng.permutation(np.concatenate(parts))
            return shuffled
        drawn = distribution.sample(rng, num)
        for _ in range(MAX_REDRAWS):
            outside = np.flatnonzero(~self.contains(drawn))
            if not len(outside):
                break
            drawn[outside] = distribution.sample(rng, len(outside))
        return self.clip(drawn)

    def sample_initial(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] from the initial distribution, inside the box."""
        return self.draw(rng, self.initial, num)

    def sample_target(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] from the target, inside the box."""
        return self.draw(rng, self.target, num)

    def sample_uniform(self, rng: np.random.Generator, num: int) -> Array:
        """Draw contexts [num, C] uniformly from the box; log-scaled components log-uniformly."""
        lower, upper = self.coordinate_box
        return self.from_coordinates(rng.uniform(lower, upper, (num, self.size)))

    def coordinates(self, contexts: ArrayLike) -> Array:
        """Return contexts with log-scaled components replaced by their logarithm."""
        array = real_contexts(contexts)
        if not self._is_log.any():
            return array
        return np.where(self._is_log, np.log(np.where(self._is_log, array, 1.0)), array)

    def from_coordinates(self, coordinates: Array) -> Array:
        """Return the contexts, inside the box, that `coordinates` maps to these."""
        if not self._is_log.any():
            return coordinates
        exponent = np.where(self._is_log, coordinates, 0.0)
        return self.clip(np.where(self._is_log, np.exp(exponent), coordinates))

    @cached_property
    def coordinate_box(self) -> Array:
        """Lower and upper bounds of `coordinates`, [2, C]."""
        return self.coordinates(self.box)

    def to_unit(self, contexts: ArrayLike) -> Array:
        """Return contexts with the box scaled to [0, 1] in every component."""
        lower, upper = self.coordinate_box
        unit: Array = (self.coordinates(contexts) - lower) / (upper - lower)
        return unit

    def from_unit(self, unit: Array) -> Array:
        """Return the contexts, inside the box, that `to_unit` maps to these."""
        lower, upper = self.coordinate_box
        return self.clip(self.from_coordinates(lower + unit * (upper - lower)))

    def require_gaussian(self, role: Role, teacher: str) -> Gaussian:
        """Return the initial or target distribution, which must be a Gaussian.

        Raises:
            SelfpacedError: it is none; the message names teachers that need no density.
        """
        distribution = self.initial if role == "initial" else self.target
        require(
            isinstance(distribution, Gaussian),
            f"{role} of the contexts must be a Gaussian for {teacher}, got "
            f"{type(distribution).__name__}; choose a teacher that only needs samples: "
            f"{ANY_TARGET}",
        )
        assert isinstance(distribution, Gaussian)
        return distribution

    def check(self, context: ArrayLike) -> Array:
        """Return one context as an array inside the box.

        Raises:
            SelfpacedError: it is of another size, or a component lies outside the box.
        """
        expected = f"context must be {self.size} numbers ({', '.join(self.names)})"
        try:
            array = real_contexts(context)
        except (TypeError, ValueError):
            raise SelfpacedError(f"{expected}, got {context!r}") from None
        if array.shape != (self.size,):
            raise SelfpacedError(f"{expected}, got an array of shape {array.shape}")
        for name, value, low, high in zip(self.names, array, *self._rounded_box, strict=True):
            if not low <= value <= high:
                raise SelfpacedError(
                    f"context component {name!r} must lie in [{low:g}, {high:g}], got {value:.9g}; "
                    "ContextSpace.clip moves it to the nearest bound"
                )
        return self.clip(array)

    def check_episodes(self, episodes: Episodes, stays_in_box: bool = True) -> Episodes:
        """Return episodes as NumPy arrays; a teacher calls this first in its update.

        Raises:
            SelfpacedError: a column has the wrong shape, a number is not finite, a context lies
                outside the box (unless `stays_in_box` is false), or a length is not positive.
        """
        return episodes.checked(self.names, self._rounded_box if stays_in_box else None)

    @cached_property
    def _is_log(self) -> Array:
        return np.array([scale == "log" for scale in self.scales or ("linear",) * self.size])

    @cached_property
    def _rounded_box(self) -> Array:
        """The box, widened where rounding a bound to single precision moves it outwards."""
        (lower, upper), rounded = self.box, self.box.astype(np.float32).astype(np.float64)
        return np.array([np.minimum(lower, rounded[0]), np.maximum(upper, rounded[1])])


def real_contexts(contexts: ArrayLike) -> Array:
    """Return contexts in double precision; NumPy would drop an imaginary part with a warning.

    Raises:
        SelfpacedError: they are complex.
    """
    array = np.asarray(contexts)
    require(
        array.dtype.kind != "c", f"contexts must be real numbers, got an array of {array.dtype}"
    )
    return array.astype(np.float64, copy=False)
