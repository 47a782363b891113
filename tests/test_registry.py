"""Lookup of teachers, learners and problems by name, and refusal of what does not fit."""

import subprocess
import sys
from dataclasses import dataclass, field, is_dataclass

import pytest

from selfpaced import (
    LEARNERS,
    PPO,
    PROBLEMS,
    SAC,
    TEACHERS,
    Default,
    Problem,
    Random,
    SelfpacedError,
    neurips2020,
    run,
)
from selfpaced.learners.base import Learner
from selfpaced.registry import default_settings, find_problem, find_settings, load_object
from selfpaced.teachers.base import Teacher
from tests.probes import UserLearner, UserTeacher


class Plain:
    """Not a dataclass."""


@dataclass
class Changing:
    """Not frozen."""


@dataclass(frozen=True)
class Outdated:
    """Takes the arguments that teachers of an earlier version took."""

    def init(self, rng, contexts): ...

    def sample(self, rng, state, num): ...

    def update(self, rng, contexts, state, episodes): ...


@dataclass(frozen=True)
class Incomplete:
    """A teacher without `update`."""

    def init(self, rng, contexts):
        return ()

    def sample(self, rng, contexts, state, num):
        return contexts.sample_uniform(rng, num)


@dataclass(frozen=True)
class Demanding(UserTeacher):
    """Has a setting without a default."""

    eagerness: float = field()


class Derived(Random):
    """Overrides a method of a class that is final."""

    def sample(self, rng, contexts, state, num):
        return 0.5 * super().sample(rng, contexts, state, num)


class DerivedTwice(Derived):
    """Derives from a final class by way of another."""


class DerivedLearner(PPO):
    """Overrides a method of a class that is final."""

    def act(self, noise, state, observation):
        return 0.5 * super().act(noise, state, observation)


@pytest.mark.parametrize("registry", [TEACHERS, LEARNERS], ids=lambda registry: registry.kind)
def test_a_class_is_found_by_its_name_and_named_by_its_class(registry):
    for name, kind in registry.items():
        assert is_dataclass(kind)
        assert kind.__final__
        assert registry.find(name) is kind
        assert registry.name_of(kind) == name


def test_every_problem_is_found_by_its_own_name():
    for name, problem in PROBLEMS.items():
        assert isinstance(problem, Problem)
        assert find_problem(name) is problem
        assert problem.name == name


@pytest.mark.parametrize(
    ("registry", "kind", "protocol"),
    [(TEACHERS, UserTeacher, Teacher), (LEARNERS, UserLearner, Learner)],
    ids=["teacher", "learner"],
)
def test_a_users_class_is_found_by_its_place(registry, kind, protocol):
    name = registry.name_of(kind)
    assert name == f"tests.probes:{kind.__name__}"
    assert find_settings(registry, name, protocol) is kind
    assert isinstance(default_settings(registry.kind, kind), kind)


def test_a_users_problem_is_found_by_its_place():
    assert find_problem("tests.probes:SHAKY").name == "probe"


def test_nothing_is_imported_before_it_is_used():
    program = (
        "import sys\n"
        "from selfpaced import LEARNERS, PROBLEMS, TEACHERS\n"
        "assert 'spdl' in list(TEACHERS) and len(LEARNERS) == 3 and list(PROBLEMS)\n"
        "print(*({'jax', 'optax', 'scipy', 'mujoco', 'matplotlib'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("\n", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sdpl", r"teacher must be one of spdl, .*, got 'sdpl'; did you mean 'spdl'\?"),
        ("nowhere:Found", "No module named 'nowhere'; run this in its folder, or set PYTHONPATH"),
        ("nowhere.at.all:Found", "cannot load teacher 'nowhere.at.all:Found'"),
        ("selfpaced:Missing", "there is no 'Missing' in .*selfpaced/__init__.py"),
        (":Missing", "cannot load teacher"),
        ("./mine:Missing", "cannot load teacher"),
        ("json:dumps", "must be a frozen dataclass of settings"),
        (f"{__name__}:Plain", "must be a frozen dataclass of settings"),
        (f"{__name__}:Changing", "must be a frozen dataclass of settings"),
        (
            f"{__name__}:Outdated",
            r"sample of teacher .* must take \(self, rng, contexts, state, num\)",
        ),
        (f"{__name__}:Incomplete", "must have init, sample, update; it lacks update"),
    ],
)
def test_a_teacher_that_cannot_be_used_is_refused(name, message):
    with pytest.raises(SelfpacedError, match=message):
        find_settings(TEACHERS, name, Teacher)


@pytest.mark.parametrize(
    ("registry", "kind", "protocol", "base"),
    [
        (TEACHERS, Derived, Teacher, "Random"),
        (TEACHERS, DerivedTwice, Teacher, "Random"),
        (LEARNERS, DerivedLearner, Learner, "PPO"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_a_class_derived_from_ours_is_refused(registry, kind, protocol, base):
    message = f"must not derive from .*{base}, which is final; keep one in a field and call it"
    with pytest.raises(SelfpacedError, match=message):
        find_settings(registry, registry.name_of(kind), protocol)


def test_a_run_with_a_derived_teacher_is_refused_and_leaves_nothing(tmp_path):
    experiment = neurips2020("point-mass-2d", seeds=(1,)).with_parts(teacher=Derived())
    with pytest.raises(SelfpacedError, match="must not derive from Random"):
        run(experiment, tmp_path / "run")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [Default, Random, PPO, SAC])
def test_ours_are_used_as_they_are(kind):
    assert default_settings("teacher", kind) == kind()


def test_settings_without_a_default_are_refused():
    with pytest.raises(SelfpacedError, match=r"every setting of teacher Demanding must have a def"):
        default_settings("teacher", Demanding)


def test_a_problem_must_be_an_instance():
    with pytest.raises(SelfpacedError, match=r"must be a selfpaced.Problem, got type; name an"):
        find_problem("selfpaced:Problem")


@pytest.mark.parametrize(
    ("code", "message"),
    [("1 / 0", r"ZeroDivisionError: .* \(.*mistaken.py, line 2\)"), ("1 /", "mistaken.py, line 2")],
)
def test_a_mistake_in_a_users_module_is_shown_with_its_place(tmp_path, monkeypatch, code, message):
    (tmp_path / "mistaken.py").write_text(f"x = 1\n{code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mistaken", raising=False)
    with pytest.raises(SelfpacedError, match=f"cannot load problem 'mistaken:P': .*{message}"):
        find_problem("mistaken:P")


def test_a_module_in_the_working_directory_is_found(tmp_path, monkeypatch):
    (tmp_path / "in_working_directory.py").write_text("ANSWER = 42\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert load_object("number", "in_working_directory:ANSWER") == 42
