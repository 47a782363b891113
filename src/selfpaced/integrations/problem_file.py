"""A problem from a TOML file: a Gymnasium environment, its contexts and its discount.

summary = "swing up a heavy pendulum"       # optional
discount = 0.99

[environment]
id = "Pendulum-v1"                          # for gymnasium.make
settings = {g = 9.81}                       # optional, further arguments of gymnasium.make
hand_over = ["m", "l"]                      # optional: attributes, "options" or "module:function"
success = "module:function"                 # optional, called with observation and info
append_context = "scaled"                   # optional: true, false or "scaled"
time_limit = 200                            # optional, and other fields of GymnasiumEnvironment

[contexts.mass]                             # one table per component, in their order
bounds = [0.5, 3.0]
scale = "log"                               # optional: "linear" or "log"
initial = {mean = 1.0, std = 0.2}
target = {mean = 2.0, std = 0.05}

Reading it imports what the id and the functions name, as training does, and runs nothing else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, cast, final, get_args

from selfpaced.contexts import ContextSpace, Gaussian, Scale
from selfpaced.environments.gymnasium_bridge import GymnasiumEnvironment
from selfpaced.environments.hand_over import HandOver
from selfpaced.errors import SelfpacedError, require
from selfpaced.problems import Problem, ProblemSource
from selfpaced.registry import find_modules_here, load_object
from selfpaced.validation import require_choice

DISCOUNT = 0.99  # unless the file has another
_SIZES = ("time_limit", "max_side_by_side", "min_episode_steps")


def read_problem(path: Path | str) -> Problem:
    """Return the problem that a TOML file describes; its name is that of the file.

    Raises:
        SelfpacedError: the file is missing, or the line of the message is wrong in it.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SelfpacedError(
            f"problem file {path} must be a readable TOML file: {reason}; the problems that come "
            "with the library are in `selfpaced list`"
        ) from None
    return parse_problem(ProblemSource(str(path), text))


@lru_cache  # one object per content, so that experiments with it are equal
def parse_problem(source: ProblemSource) -> Problem:
    """Return the problem that the content of a TOML file describes.

    Raises:
        SelfpacedError: the content is wrong; the message names file and key.

    Examples:
        >>> from selfpaced.integrations.problem_file import parse_problem
        >>> from selfpaced.problems import ProblemSource
        >>> text = '''
        ... [environment]
        ... id = "Pendulum-v1"
        ... hand_over = ["m"]
        ...
        ... [contexts.mass]
        ... bounds = [0.5, 3.0]
        ... initial = {mean = 1.0, std = 0.2}
        ... target = {mean = 2.0, std = 0.05}
        ... '''
        >>> problem = parse_problem(ProblemSource("heavy.toml", text))
        >>> problem.name, problem.contexts.names, problem.discount
        ('heavy', ('mass',), 0.99)
    """
    try:
        content = tomllib.loads(source.toml)
    except tomllib.TOMLDecodeError as error:
        raise SelfpacedError(f"{source.file} must be TOML: {error}") from None
    root = _Table(source.file, "", content)
    root.require_keys("summary", "discount", "environment", "contexts")
    contexts = _read_contexts(root.table("contexts"))
    environment = _read_environment(root.table("environment"), contexts)
    discount = root.number("discount", DISCOUNT)
    require(0.0 < discount <= 1.0, f"{root.place('discount')} must lie in (0, 1], got {discount}")
    default = f"{environment.id}; context: {', '.join(contexts.names)}"
    name, summary = Path(source.file).stem, root.text("summary", default)
    return Problem(name, summary, environment, contexts, discount, source=source)


def _read_contexts(table: _Table) -> ContextSpace:
    names = tuple(table.content)
    require(len(names) > 0, f"{table.place()} must have one table per component, got none")
    components = [_Component.read(table.table(name)) for name in names]
    return ContextSpace(
        names=names,
        lower=tuple(each.bounds[0] for each in components),
        upper=tuple(each.bounds[1] for each in components),
        initial=Gaussian.diagonal(*zip(*(each.initial for each in components), strict=True)),
        target=Gaussian.diagonal(*zip(*(each.target for each in components), strict=True)),
        scales=tuple(each.scale for each in components),
    )


@final
@dataclass(frozen=True)
class _Component:
    """One component of the contexts."""

    bounds: tuple[float, float]
    initial: tuple[float, float]  # mean and standard deviation
    target: tuple[float, float]
    scale: Scale

    @classmethod
    def read(cls, table: _Table) -> _Component:
        table.require_keys("bounds", "scale", "initial", "target")
        scale = table.text("scale", "linear")
        require_choice(table.place("scale"), scale, get_args(Scale))
        bounds = table.get("bounds")
        require(
            isinstance(bounds, list) and len(bounds) == 2 and all(map(_is_number, bounds)),
            f"{table.place('bounds')} must be two numbers [lower, upper], got {bounds!r}",
        )
        low, high = map(float, bounds)
        require(low < high, f"{table.place('bounds')} must have lower < upper, got {bounds}")
        require(
            scale == "linear" or low > 0.0,
            f'{table.place("bounds")} must be positive with scale = "log", got {bounds}',
        )
        initial, target = (
            _read_gaussian(table.table(role), (low, high)) for role in ("initial", "target")
        )
        return cls((low, high), initial, target, cast(Scale, scale))


def _read_gaussian(table: _Table, bounds: tuple[float, float]) -> tuple[float, float]:
    table.require_keys("mean", "std")
    mean, std = table.number("mean"), table.number("std")
    low, high = bounds
    require(
        low <= mean <= high,
        f"{table.place('mean')} must lie in the bounds [{low:g}, {high:g}], got {mean:g}; move it "
        "or widen the bounds",
    )
    require(std > 0.0, f"{table.place('std')} must be positive, got {std:g}")
    return mean, std


def _read_environment(table: _Table, contexts: ContextSpace) -> GymnasiumEnvironment:
    keys = ("id", "settings", "hand_over", "success", "append_context", "in_processes", *_SIZES)
    table.require_keys(*keys)
    append = table.get("append_context", False)
    require(
        isinstance(append, bool) or append == "scaled",
        f"{table.place('append_context')} must be true, false or 'scaled', got {append!r}",
    )
    in_processes = table.get("in_processes", False)
    require(
        isinstance(in_processes, bool),
        f"{table.place('in_processes')} must be true or false, got {in_processes!r}",
    )
    find_modules_here()  # for an id like module:Name-v0
    settings = table.table("settings", {}).content
    sizes = {name: table.whole(name) for name in _SIZES if name in table.content}
    return GymnasiumEnvironment(
        id=table.text("id"),
        settings=tuple((name, _frozen(value)) for name, value in settings.items()),
        in_processes=in_processes,
        hand_over=_read_hand_over(table, contexts),
        success=table.function("success") if "success" in table.content else None,  # type: ignore[arg-type]
        append_context=append,
        context_bounds=tuple(zip(contexts.lower, contexts.upper, strict=True)),
        **sizes,  # whole numbers
    )


def _read_hand_over(table: _Table, contexts: ContextSpace) -> HandOver:
    given = table.get("hand_over", "options")
    if given == "options":
        return "options"
    if isinstance(given, list):
        require(
            all(isinstance(name, str) for name in given) and len(given) == contexts.size,
            f"{table.place('hand_over')} must be one attribute for each of "
            f"{', '.join(contexts.names)}, got {given}",
        )
        return tuple(given)
    require(
        isinstance(given, str) and ":" in given,
        f"{table.place('hand_over')} must be 'options', a list of attributes or 'module:function', "
        f"got {given!r}",
    )
    return table.function("hand_over")  # type: ignore[return-value]  # it is callable


@final
@dataclass(frozen=True)
class _Table:
    """A table of a file, read with messages that name file and key."""

    file: str
    name: str
    content: Mapping[str, Any]

    def place(self, key: str = "") -> str:
        return f"{self.file}: {'.'.join(filter(None, (self.name, key)))}"

    def require_keys(self, *known: str) -> None:
        where = f"key in [{self.name}]" if self.name else "key"
        for key in self.content:
            require_choice(f"{self.file}: {where}", key, known)

    def get(self, key: str, default: Any = None) -> Any:
        require(
            key in self.content or default is not None,
            f"{self.place(key)} must be given, got none",
        )
        return self.content.get(key, default)

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> _Table:
        found = self.get(key, default)
        name = f"{self.name}.{key}" if self.name else key
        require(
            isinstance(found, Mapping),
            f"{self.place(key)} must be a table, got {found!r}; write [{name}] above its keys",
        )
        return _Table(self.file, name, found)

    def text(self, key: str, default: str | None = None) -> str:
        found = self.get(key, default)
        require(isinstance(found, str), f"{self.place(key)} must be a string, got {found!r}")
        return str(found)

    def number(self, key: str, default: float | None = None) -> float:
        found = self.get(key, default)
        require(_is_number(found), f"{self.place(key)} must be a finite number, got {found!r}")
        return float(found)

    def whole(self, key: str) -> int:
        found = self.get(key)
        is_whole = isinstance(found, int) and not isinstance(found, bool) and found > 0
        require(is_whole, f"{self.place(key)} must be a positive whole number, got {found!r}")
        return int(found)

    def function(self, key: str) -> object:
        name = self.text(key)
        require(
            ":" in name,
            f"{self.place(key)} must be a function as 'module:function', got {name!r}",
        )
        found = load_object(self.place(key), name)
        require(
            callable(found),
            f"{self.place(key)} must be a function, got {type(found).__name__}",
        )
        return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _frozen(value: Any) -> Any:
    """Return a value whose lists are tuples: settings must be hashable."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
