"""The rules of the source tree: layers, names, docstrings, and imports that are out of bounds.

Every rule is a function from a folder to a list of violations. The first half applies them to the
library; the second half applies each to a small made-up tree that breaks it.
"""

import ast
import re
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import selfpaced

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"

LAYERS = (  # lowest first; an import points to the same layer or to a lower one
    ("errors",),
    ("validation",),
    ("records", "statistics"),
    ("distributions",),
    ("contexts",),
    ("environments", "teachers", "learners"),
    ("problems", "registry"),
    ("training", "integrations"),
    ("sprl",),
    ("experiment", "presets"),
    ("runs",),
    ("studies",),
    ("reports",),
    ("loggers",),
    ("commands",),
    ("__init__", "__main__"),  # of the package
)
APART = ({"environments", "teachers", "learners"}, {"training", "integrations"})  # no edges between
LEVELS = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
MAX_ROOT_MODULES = 8
VAGUE_NAMES = {"utils", "common", "helpers", "misc", "v2"}
HOMES = {  # library -> where it is used
    "mujoco": "environments/mujoco",
    "Box2D": "environments/box2d",
    "matplotlib": "reports",
}


class Import(NamedTuple):
    """One import statement: where it is, what it names, and whether it runs with its module."""

    place: str
    module: str
    name: str | None
    at_module_level: bool


class Module(NamedTuple):
    """A parsed file."""

    path: Path
    name: str  # dotted
    tree: ast.Module

    @property
    def package(self) -> str:
        """What relative imports start from."""
        is_package = self.path.name == "__init__.py"
        return self.name if is_package else self.name.rpartition(".")[0]


def modules(root: Path) -> list[Module]:
    """Return every Python file below a folder that is on the path of imports."""
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(path, name, ast.parse(path.read_text(), str(path))))
    return found


def imports(module: Module) -> Iterator[Import]:
    """Return all imports of a file, those inside functions and under TYPE_CHECKING included."""
    for node, at_module_level in _walk(module.tree, True):
        place = f"{module.path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(place, alias.name, None, at_module_level)
        elif isinstance(node, ast.ImportFrom):
            above = module.package.split(".")
            above = above[: len(above) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(place, source, alias.name, at_module_level)


def _walk(node: ast.AST, at_module_level: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Walk a tree, with whether each node runs when the module is imported."""
    yield node, at_module_level
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        at_module_level = False
    is_guard = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, at_module_level and not (is_guard and field == "body"))


def edges(source: Path, *, at_module_level: bool) -> set[tuple[str, str]]:
    """Return the pairs (importing module, imported module) inside the package."""
    known = {module.name: module for module in modules(source)}
    found = set()
    for module in known.values():
        for statement in imports(module):
            submodule = f"{statement.module}.{statement.name}"
            target = submodule if submodule in known else statement.module
            if target in known and (statement.at_module_level or not at_module_level):
                found.add((module.name, target))
    return found


def room(module: str) -> str:
    """Return the room of a module: the folder or file below the package."""
    return [*module.split("."), "__init__"][1]


def edges_against_the_layers(source: Path) -> list[str]:
    """Return imports of a higher layer, and imports between rooms that are kept apart."""
    found = []
    for importer, imported in sorted(edges(source, at_module_level=False)):
        here, there = room(importer), room(imported)
        unknown = {here, there} - LEVELS.keys()
        is_apart = here != there and any({here, there} <= rooms for rooms in APART)
        if unknown or is_apart or LEVELS[there] > LEVELS[here]:
            found.append(f"{importer} -> {imported}")
    return found


def rooms_without_a_layer(source: Path) -> list[str]:
    """Return rooms that `LAYERS` does not contain."""
    return sorted({room(module.name) for module in modules(source)} - LEVELS.keys())


def import_cycles(source: Path) -> list[str]:
    """Return one import cycle of modules, if there is any."""
    graph: dict[str, set[str]] = {}
    for importer, imported in sorted(edges(source, at_module_level=True)):
        graph.setdefault(importer, set()).add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


def surplus_root_modules(source: Path) -> list[str]:
    """Return the modules of the package root if there are too many."""
    found = sorted(path.stem for path in source.glob("*/*.py"))
    found = [name for name in found if name not in ("__init__", "__main__")]
    return found if len(found) > MAX_ROOT_MODULES else []


def vague_names(root: Path) -> list[str]:
    """Return files and folders with a vague name."""
    paths = [*root.rglob("*.py"), *(path.parent for path in root.rglob("*.py"))]
    return sorted({path.name for path in paths if VAGUE_NAMES & {*path.stem.split("_")}})


def undocumented_names(source: Path) -> list[str]:
    """Return public functions, classes and methods without a docstring."""
    return [
        f"{module.name}.{name}"
        for module in modules(source)
        for name in _undocumented(module.tree.body, "")
    ]


def _undocumented(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _undocumented(node.body, prefix)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
        if node.name.startswith("_") or decorators & {"overload", "setter"}:
            continue
        if ast.get_docstring(node) is None:
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _undocumented(node.body, f"{prefix}{node.name}.")


def exports(source: Path) -> dict[str, str]:
    """Return the public names of the package and the module that each is loaded from."""
    tree = ast.parse((source / "selfpaced" / "__init__.py").read_text())
    (places,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_PLACES"
    )
    return {name: f"selfpaced.{place}" for name, place in places.items()}


def exports_that_differ_for_type_checkers(source: Path) -> list[str]:
    """Return public names that type checkers do not find in the module they are loaded from."""
    tree = ast.parse((source / "selfpaced" / "__init__.py").read_text())
    checked = {
        alias.asname or f"{alias.name} (no alias)": f"{node.module}.{alias.name}"
        for guard in tree.body
        if isinstance(guard, ast.If) and ast.unparse(guard.test) == "TYPE_CHECKING"
        for node in guard.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    loaded = {name: f"{module}.{name}" for name, module in exports(source).items()}
    return sorted({name for name, _ in loaded.items() ^ checked.items()})


def exports_without_an_example(source: Path) -> list[str]:
    """Return public classes and functions without `Examples:` that are executed.

    The API reference shows a section of another name, as `Example:`, as running text.
    """
    trees = {module.name: module.tree for module in modules(source)}
    found = []
    for name, module in exports(source).items():
        for node in trees[module].body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                text = ast.get_docstring(node) or ""
                shown = re.search(r"^Examples:\n    >>> ", text, re.M)
                found += [name] if shown is None or "SKIP" in text else []
    return found


def abilities(source: Path) -> dict[str, list[str]]:
    """Return the optional protocols, and the files that test for each with `isinstance`."""
    required = {"Teacher", "Learner", "HostEnvironment"}
    names = [
        node.name
        for module in modules(source)
        if module.path.name == "base.py"
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and node.name not in required
        if "runtime_checkable" in map(ast.unparse, node.decorator_list)
    ]
    found: dict[str, list[str]] = {name: [] for name in names}
    for module in modules(source):
        calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        tested = {ast.unparse(c.args[1]) for c in calls if ast.unparse(c.func) == "isinstance"}
        for name in sorted(tested & found.keys()):
            found[name].append(module.path.relative_to(source / "selfpaced").as_posix())
    return found


def private_imports(tests: Path) -> list[str]:
    """Return imports of names that start with an underscore."""
    return [
        f"{statement.place} {word}"
        for module in modules(tests)
        for statement in imports(module)
        for word in (*statement.module.split("."), *filter(None, [statement.name]))
        if word.startswith("_") and not word.startswith("__")
    ]


def imports_of_tests(tests: Path) -> list[str]:
    """Return imports of test modules, or of names from them."""
    return [
        f"{statement.place} {word}"
        for module in modules(tests)
        for statement in imports(module)
        for word in (*statement.module.split("."), *filter(None, [statement.name]))
        if word.startswith("test_")
    ]


def misplaced_libraries(source: Path) -> list[str]:
    """Return imports of a library outside the one folder that may use it."""
    found = []
    for module in modules(source):
        path = module.path.relative_to(source).as_posix()
        for statement in imports(module):
            library = statement.module.split(".")[0]
            if library in HOMES and f"/{HOMES[library]}/" not in f"/{path}":
                found.append(f"{statement.place} {library}")
    return found


def unsafe_code(source: Path) -> list[str]:
    """Return uses of pickle, and of eval and exec, which run what a file contains."""
    found = []
    for module in modules(source):
        found += [
            f"{statement.place} {statement.module}"
            for statement in imports(module)
            if statement.module.split(".")[0] in {"pickle", "cloudpickle", "dill", "marshal"}
        ]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and node.id in {"eval", "exec"}:
                found.append(f"{module.path.name}:{node.lineno} {node.id}")
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                is_safe = isinstance(node.value, ast.Constant) and node.value.value is False
                found += [] if is_safe else [f"{module.path.name}:{node.value.lineno} allow_pickle"]
    return found


# the library


def test_imports_follow_the_layers():
    assert edges_against_the_layers(SOURCE) == []


def test_every_room_has_a_layer():
    assert rooms_without_a_layer(SOURCE) == []


def test_no_modules_import_each_other_in_a_circle():
    assert import_cycles(SOURCE) == []


def test_the_package_root_holds_few_modules():
    assert surplus_root_modules(SOURCE) == []


@pytest.mark.parametrize("folder", [SOURCE, TESTS, ROOT / "benchmarks"], ids=lambda path: path.name)
def test_names_of_files_say_what_is_in_them(folder):
    assert vague_names(folder) == []


def test_public_names_have_docstrings():
    assert undocumented_names(SOURCE) == []


def test_type_checkers_find_the_names_that_are_loaded():
    assert exports_that_differ_for_type_checkers(SOURCE) == []


def test_public_names_have_an_example_that_is_executed():
    assert exports_without_an_example(SOURCE) == []


def test_all_lists_the_public_names_in_order():
    assert selfpaced.__all__ == sorted(exports(SOURCE))
    assert {*selfpaced.__all__} <= {*dir(selfpaced)}


def test_the_decision_on_abilities_lists_all_of_them_and_where_they_are_tested_for():
    text = (ROOT / "docs/decisions/0012-final-classes-and-declared-abilities.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.M)
    assert {name: re.findall(r"`(.*?)`", files) for name, files in rows} == abilities(SOURCE)


@pytest.mark.parametrize("name", abilities(SOURCE))
def test_abilities_are_explained_to_users(name):
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions"]
    assert any(f"| `{name}` |" in page.read_text() for page in pages)


def test_tests_import_no_private_names():
    assert private_imports(TESTS) == []


def test_tests_do_not_import_each_other():
    assert imports_of_tests(TESTS) == []


def test_simulators_and_matplotlib_are_imported_in_one_folder_each():
    assert misplaced_libraries(SOURCE) == []


def test_nothing_that_is_read_from_a_file_is_executed():
    assert unsafe_code(SOURCE) == []


# the rules themselves

Tree = Callable[..., Path]


@pytest.fixture(name="tree")
def _tree(tmp_path) -> Tree:
    """Write files, given by path, below a new folder; every folder becomes a package."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / "__init__.py").touch()
            path.write_text(text)
        return tmp_path

    return write


@pytest.mark.parametrize(
    "statement",
    [
        "from selfpaced.training.loop import Training",
        "from selfpaced.training import loop",
        "import selfpaced.training.loop",
        "from ..training import loop",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import selfpaced.training.loop",
        "def load():\n    from selfpaced.training.loop import Training",
    ],
)
def test_a_teacher_must_not_import_the_loop(tree, statement):
    files = {"selfpaced/teachers/spdl.py": statement, "selfpaced/training/loop.py": ""}
    assert edges_against_the_layers(tree(files)) == [
        "selfpaced.teachers.spdl -> selfpaced.training.loop"
    ]


def test_the_loop_may_import_a_teacher(tree):
    statement = "from selfpaced.teachers.spdl import SPDL"
    files = {"selfpaced/training/loop.py": statement, "selfpaced/teachers/spdl.py": ""}
    assert edges_against_the_layers(tree(files)) == []
    assert edges(tree(files), at_module_level=True) == {
        ("selfpaced.training.loop", "selfpaced.teachers.spdl")
    }


def test_rooms_of_one_layer_may_be_kept_apart(tree):
    files = {
        "selfpaced/teachers/spdl.py": "import selfpaced.learners.ppo",
        "selfpaced/learners/ppo.py": "",
        "selfpaced/learners/trpo.py": "import selfpaced.learners.ppo",
        "selfpaced/problems.py": "import selfpaced.registry",
        "selfpaced/registry.py": "",
    }
    assert edges_against_the_layers(tree(files)) == [
        "selfpaced.teachers.spdl -> selfpaced.learners.ppo"
    ]


def test_a_room_without_a_layer_is_a_violation(tree):
    files = {"selfpaced/attic/box.py": "import selfpaced.errors", "selfpaced/errors.py": ""}
    assert rooms_without_a_layer(tree(files)) == ["attic"]
    assert edges_against_the_layers(tree(files)) == ["selfpaced.attic.box -> selfpaced.errors"]


def test_only_the_package_may_import_everything(tree):
    files = {
        "selfpaced/commands/main.py": "",
        "selfpaced/runs/worker.py": "from selfpaced import run",
        "selfpaced/__main__.py": "from selfpaced.commands.main import main",
        "selfpaced/__init__.py": "from selfpaced.commands.main import main",
    }
    assert edges_against_the_layers(tree(files)) == ["selfpaced.runs.worker -> selfpaced"]


def test_strings_in_registries_are_not_imports(tree):
    files = {
        "selfpaced/registry.py": 'TEACHERS = {"spdl": "selfpaced.presets.ant:ANT"}',
        "selfpaced/presets/ant.py": "",
    }
    assert edges(tree(files), at_module_level=False) == set()


def test_a_circle_of_three_modules_is_found(tree):
    files = {
        "selfpaced/runs/a.py": "import selfpaced.runs.b",
        "selfpaced/runs/b.py": "if True:\n    from selfpaced.runs import c",
        "selfpaced/runs/c.py": "class C:\n    from selfpaced.runs.a import A",
    }
    (cycle,) = import_cycles(tree(files))
    assert {"selfpaced.runs.a", "selfpaced.runs.b", "selfpaced.runs.c"} == {*cycle.split(" <- ")}


@pytest.mark.parametrize(
    "late", ["def f():\n    {}", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}"]
)
def test_late_imports_and_imports_for_types_close_no_circle(tree, late):
    files = {
        "selfpaced/runs/a.py": "import selfpaced.runs.b",
        "selfpaced/runs/b.py": late.format("import selfpaced.runs.a"),
    }
    assert import_cycles(tree(files)) == []


def test_nine_modules_in_the_root_are_too_many(tree):
    files = {f"selfpaced/m{number}.py": "" for number in range(MAX_ROOT_MODULES)}
    files |= {"selfpaced/__main__.py": "", "selfpaced/runs/folder.py": ""}
    assert surplus_root_modules(tree(files)) == []
    assert len(surplus_root_modules(tree({"selfpaced/m8.py": ""}))) == MAX_ROOT_MODULES + 1


def test_vague_names_are_found_in_files_and_folders(tree):
    files = ("utils.py", "plot_helpers.py", "misc/a.py", "spdl_v2.py", "commonality.py")
    assert vague_names(tree({f"selfpaced/runs/{name}": "" for name in files})) == [
        "misc",
        "plot_helpers.py",
        "spdl_v2.py",
        "utils.py",
    ]


def test_public_names_without_docstrings_are_found(tree):
    text = """
def documented():
    '''Return nothing.'''
    def inner(): ...
def bare(): ...
def _private(): ...
class Bare:
    def __init__(self): ...
    def method(self): ...
    def _private(self): ...
class _Private:
    def method(self): ...
"""
    assert undocumented_names(tree({"selfpaced/errors.py": text})) == [
        "selfpaced.errors.bare",
        "selfpaced.errors.Bare",
        "selfpaced.errors.Bare.method",
    ]


PACKAGE = """
if TYPE_CHECKING:
    from selfpaced.errors import A as A
    {}
_PLACES = {{"A": "errors", "b": "errors"}}
"""


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("from selfpaced.errors import b as b", []),
        ("from selfpaced.records import b as b", ["b"]),  # another module
        ("from selfpaced.errors import b", ["b", "b (no alias)"]),
        ("from selfpaced.errors import b as b, c as c", ["c"]),
        ("pass", ["b"]),
    ],
)
def test_names_that_differ_for_type_checkers_are_found(tree, statement, found):
    root = tree({"selfpaced/__init__.py": PACKAGE.format(statement)})
    assert exports_that_differ_for_type_checkers(root) == found


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("Examples:\n        >>> b()", []),
        ("Examples:\n        >>> b()  # doctest: +SKIP", ["b"]),
        ("Example:\n        >>> b()", ["b"]),
        ("Return nothing.", ["b"]),
    ],
)
def test_public_names_without_an_example_are_found(tree, docstring, found):
    text = f"A = 1  # neither a class nor a function\ndef b():\n    '''B.\n\n    {docstring}'''\n"
    text += "def c(): ..."
    files = {"selfpaced/__init__.py": PACKAGE.format("pass"), "selfpaced/errors.py": text}
    assert exports_without_an_example(tree(files)) == found


@pytest.mark.parametrize(
    "statement", ["from selfpaced.runs import _x", "import a._x", "from a._x import b"]
)
def test_private_imports_are_found(tree, statement):
    root = tree({"tests/test_a.py": "from __future__ import annotations\n" + statement})
    assert private_imports(root) == ["test_a.py:2 _x"]


@pytest.mark.parametrize(
    "statement",
    ["from tests import test_b", "from tests.test_b import x", "def f():\n    import tests.test_b"],
)
def test_imports_of_other_tests_are_found(tree, statement):
    files = {"tests/test_a.py": statement, "tests/test_b.py": "from tests.probes import Probe"}
    assert [text.split()[1] for text in imports_of_tests(tree(files))] == ["test_b"]


def test_misplaced_libraries_are_found(tree):
    both = "import mujoco.rollout\nfrom matplotlib import pyplot"
    files = {
        "selfpaced/environments/mujoco/vector.py": both,
        "selfpaced/reports/style.py": both,
        "selfpaced/runs/folder.py": "def f():\n    import mujoco",
        "selfpaced/commands/watch.py": "from selfpaced.environments.mujoco import renderer",
    }
    assert sorted(misplaced_libraries(tree(files))) == [
        "folder.py:2 mujoco",
        "style.py:1 mujoco",
        "vector.py:2 matplotlib",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pickle", "pickle"),
        ("def f():\n    from pickle import load", "pickle"),
        ("x = eval('1')", "eval"),
        ("exec('1')", "exec"),
        ("np.load(path, allow_pickle=True)", "allow_pickle"),
    ],
)
def test_unsafe_code_is_found(tree, text, found):
    (place,) = unsafe_code(tree({"selfpaced/runs/storage.py": text}))
    assert place.split()[1] == found


def test_safe_code_is_left_alone(tree):
    text = "np.load(path, allow_pickle=False)\nmodel.eval()\njax.eval_shape(f)"
    assert unsafe_code(tree({"selfpaced/runs/storage.py": text})) == []
