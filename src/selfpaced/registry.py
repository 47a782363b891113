"""Names for teachers, learners and problems, and lookup of objects named `package.module:Name`.

A registry maps a short name to the place of an object and imports it when it is used, so that
`selfpaced --help` loads no numerics. Being in a registry means being in its contract tests.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from selfpaced.errors import SelfpacedError, require
from selfpaced.validation import require_choice, suggestion

if TYPE_CHECKING:
    from selfpaced.learners.base import AnyLearner
    from selfpaced.problems import Problem, ProblemSource
    from selfpaced.teachers.base import AnyTeacher

T = TypeVar("T")

FILE_ENDING = ".toml"  # of problem files


class Registry(Mapping[str, T], Generic[T]):
    """Objects by short name, imported on first use."""

    def __init__(self, kind: str, places: dict[str, str]) -> None:
        """Take the kind of object, for messages, and `module:Name` for every short name."""
        self.kind = kind
        self._places = places

    def __getitem__(self, name: str) -> T:
        found: T = _import("selfpaced", self._places[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places  # without importing it

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def find(self, name: str) -> T:
        """Return an object by its short name, or a user's as `package.module:Name`.

        Raises:
            SelfpacedError: the name is unknown, or the module cannot be imported.
        """
        if ":" in name:
            found: T = _import(self.kind, name)
            return found
        if name not in self and not suggestion(name, self):
            raise SelfpacedError(
                f"{self.kind} must be one of {', '.join(self)}, got {name!r}; name one of your own "
                "as module:NAME"
            )
        require_choice(self.kind, name, self)
        return self[name]

    def name_of(self, kind: type) -> str:
        """Return the name under which `find` finds this class."""
        place = f"{kind.__module__}:{kind.__qualname__}"
        return next((name for name, known in self._places.items() if known == place), place)


TEACHERS: Registry[type[AnyTeacher]] = Registry(
    "teacher",
    {
        "spdl": "selfpaced.teachers.spdl:SPDL",
        "threshold-spdl": "selfpaced.teachers.threshold_spdl:ThresholdSPDL",
        "currot": "selfpaced.teachers.currot:CURROT",
        "gradient": "selfpaced.teachers.gradient:GRADIENT",
        "staircase": "selfpaced.teachers.staircase:Staircase",
        "doraemon": "selfpaced.teachers.doraemon:DORAEMON",
        "adr": "selfpaced.teachers.adr:ADR",
        "plr": "selfpaced.teachers.plr:PLR",
        "learnability": "selfpaced.teachers.learnability:Learnability",
        "alp-gmm": "selfpaced.teachers.alp_gmm:ALPGMM",
        "goal-gan": "selfpaced.teachers.goal_gan:GoalGAN",
        "random": "selfpaced.teachers.fixed:Random",
        "default": "selfpaced.teachers.fixed:Default",
    },
)
LEARNERS: Registry[type[AnyLearner]] = Registry(
    "learner",
    {
        "ppo": "selfpaced.learners.ppo:PPO",
        "trpo": "selfpaced.learners.trpo:TRPO",
        "sac": "selfpaced.learners.sac:SAC",
    },
)
PROBLEMS: Registry[Problem] = Registry(
    "problem",
    {
        "point-mass-3d": "selfpaced.presets.point_mass:POINT_MASS_3D",
        "point-mass-2d": "selfpaced.presets.point_mass:POINT_MASS_2D",
        "point-mass-2d-bimodal": "selfpaced.presets.point_mass_bimodal:POINT_MASS_2D_BIMODAL",
        "point-mass-6d": "selfpaced.presets.point_mass_nd:POINT_MASS_6D",
        "point-mass-6d-bimodal": "selfpaced.presets.point_mass_nd:POINT_MASS_6D_BIMODAL",
        "goal-maze": "selfpaced.presets.goal_maze:GOAL_MAZE",
        "ball-catching": "selfpaced.presets.ball_catching:BALL_CATCHING",
        "ant-gate": "selfpaced.presets.ant_gate:ANT_GATE",
        "lunar-lander": "selfpaced.presets.lunar_lander:LUNAR_LANDER",
        "stump-tracks": "selfpaced.presets.stump_tracks:STUMP_TRACKS",
    },
)


def find_problem(name: str) -> Problem:
    """Return a problem by its short name, or a user's as `package.module:PROBLEM` or `FILE.toml`.

    Raises:
        SelfpacedError: the name is unknown, or the module or file is wrong.
    """
    from selfpaced.problems import Problem

    if name.endswith(FILE_ENDING):
        return _problem_file("read_problem")(name)
    found = PROBLEMS.find(name)
    require(
        isinstance(found, Problem),
        f"problem {name!r} must be a selfpaced.Problem, got {type(found).__name__}; "
        "name an instance, not its class",
    )
    return found


def restore_problem(source: ProblemSource) -> Problem:
    """Return a problem from the saved content of its file."""
    return _problem_file("parse_problem")(source)


def _problem_file(function: str) -> Callable[..., Problem]:
    found: Callable[..., Problem] = _import(
        "problem file", f"selfpaced.integrations.problem_file:{function}"
    )
    return found


def members_of(protocol: type) -> list[str]:
    """Return the names of the methods and properties that a protocol requires."""
    return [name for name in dir(protocol) if not name.startswith("_")]


def find_settings(registry: Registry[type[T]], name: str, protocol: type) -> type[T]:
    """Return a class of settings: a frozen dataclass that fulfils a protocol, not one of ours."""
    found = registry.find(name)
    if ":" not in name:
        return found
    what = f"{registry.kind} {name!r}"
    is_frozen = (
        isinstance(found, type)
        and dataclasses.is_dataclass(found)
        and found.__dataclass_params__.frozen  # type: ignore[attr-defined]
    )
    require(
        is_frozen,
        f"{what} must be a frozen dataclass of settings; write @dataclass(frozen=True) above it",
    )
    required = members_of(protocol)
    lacking = [member for member in required if not hasattr(found, member)]
    require(not lacking, f"{what} must have {', '.join(required)}; it lacks {', '.join(lacking)}")
    for member in required:
        _require_signature(what, found, protocol, member)
    final = [base.__name__ for base in found.__mro__[1:] if vars(base).get("__final__")]
    require(
        not final,
        f"{what} must not derive from {', '.join(final)}, which is final; keep one in a field and "
        "call it",
    )
    return found


def _require_signature(what: str, found: type, protocol: type, member: str) -> None:
    """A method that takes other arguments would fail in the middle of training."""
    required, own = getattr(protocol, member), getattr(found, member)
    if not (inspect.isfunction(required) and inspect.isfunction(own)):
        return
    names = list(inspect.signature(required).parameters)
    try:
        inspect.signature(own).bind(*names)
    except TypeError:
        raise SelfpacedError(
            f"{member} of {what} must take ({', '.join(names)}), got {inspect.signature(own)}"
        ) from None


def default_settings(kind: str, settings: type[T]) -> T:
    """Return settings with their defaults."""
    try:
        return settings()
    except TypeError as error:
        raise SelfpacedError(
            f"every setting of {kind} {settings.__name__} must have a default: {error}"
        ) from None


_may_import: ContextVar[bool] = ContextVar("may_import", default=True)


@contextmanager
def only_known_code(is_restricted: bool = True) -> Iterator[None]:
    """Find only objects of this library and of modules that have been imported already.

    Names in files of other people are looked up in this context: what a command line names is the
    user's own wish, what a file names is not.

    Examples:
        >>> from selfpaced.registry import only_known_code, find_problem
        >>> with only_known_code():
        ...     find_problem("antigravity:PROBLEM")
        Traceback (most recent call last):
        ...
        selfpaced.errors.SelfpacedError: problem 'antigravity:PROBLEM' must be part of selfpaced \
or imported already, because reading a file runs no other code; if you trust it, add --trust \
(in Python: trust=True, or import antigravity first)
    """
    token = _may_import.set(not is_restricted)
    try:
        yield
    finally:
        _may_import.reset(token)


def require_importable(kind: str, name: str) -> None:
    """Raise `SelfpacedError` if the module of `package.module:Name` must not be imported now.

    In `only_known_code` that is every module that has not been imported yet. Modules inside a run
    folder are never imported.
    """
    module = name.partition(":")[0]
    top = module.partition(".")[0]
    if top == "selfpaced" or module in sys.modules:
        return
    require(
        _may_import.get(),
        f"{kind} {name!r} must be part of selfpaced or imported already, because reading a file "
        "runs no other code; if you trust it, add --trust (in Python: trust=True, or import "
        f"{module} first)",
    )
    place = _place(top)
    require(
        place is None or not any((folder / "experiment.json").exists() for folder in place.parents),
        f"{kind} {name!r} must not be inside a run folder, got {place}; move the module elsewhere",
    )


def user_modules(plain: dict[str, Any]) -> list[Path]:
    """Return files and packages that an experiment names and that are installed nowhere.

    Args:
        plain: the experiment as in `experiment.json`.
    """
    named = (plain["problem"], plain["teacher"]["name"], plain["learner"]["name"])
    tops = {str(name).partition(".")[0].partition(":")[0] for name in named if ":" in str(name)}
    places = (_place(module) for module in sorted(tops - {"selfpaced"}))
    return [
        place.parent if place.name == "__init__.py" else place
        for place in places
        if place is not None and "site-packages" not in place.parts
    ]


def _place(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def load_object(kind: str, name: str) -> object:
    """Return the object at `package.module:name`; modules in the working directory are found, too.

    Raises:
        SelfpacedError: the module cannot be imported, or has no such attribute.
    """
    found: object = _import(kind, name)
    return found


def find_modules_here() -> None:
    """Let imports find modules in the working directory, also of an installed program."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


@contextmanager
def _same_surroundings() -> Iterator[None]:
    """Undo what a module changes when it is imported, on which paths and messages depend."""
    folder, streams = os.getcwd(), (sys.stdout, sys.stderr)
    try:
        yield
    finally:
        with suppress(PermissionError):  # it was not left, or cannot be entered again
            os.chdir(folder)
        sys.stdout, sys.stderr = streams


def _import(kind: str, name: str) -> Any:
    module, _, attribute = name.partition(":")
    if module.partition(".")[0] != "selfpaced":
        find_modules_here()
    require_importable(kind, name)
    try:
        with _same_surroundings():
            found = import_module(module)
    except ModuleNotFoundError as error:
        hint = "" if error.name != module else "; run this in its folder, or set PYTHONPATH"
        raise SelfpacedError(f"cannot load {kind} {name!r}: {error}{hint}") from error
    except (Exception, SystemExit) as error:  # a mistake in a user's module
        place = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
        raise SelfpacedError(f"cannot load {kind} {name!r}: {cause}") from error
    require(
        hasattr(found, attribute),
        f"cannot load {kind} {name!r}: there is no {attribute!r} in {found.__file__ or module}",
    )
    return getattr(found, attribute)
