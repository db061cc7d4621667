"""The code keeps to what makes it readable: small files, short functions, imports that go down."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import scratch_embed

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "scratch_embed"

# The floors of the house, from the ground up. A module imports only from floors below its own;
# those that share a floor do not know of each other. A new module gets its place here.
FLOORS = [
    {"arguments", "files", "lengths", "look", "one_thread", "sizes", "uninterrupted", "watch"},
    {"checkpoint", "disk", "ending", "kernels", "plot", "positions", "workers", "working"},
    {"digits", "geometry", "hashing", "rows"},
    {"ops"},
    {"images", "tensor", "text"},  # images and text are free of the tape
    {"functional"},
    {"optim"},
    {"layers"},
    {"gradcheck"},
    {"trace"},
    {"learning"},
    {"contest", "models", "sharding"},
    {"training"},
    {"cluster", "simulations"},
    {"lesson"},
    {"book"},
    {"__main__"},
]
COMPILER = "scratch_embed/kernels/"  # the one folder that may import numba
COMPILING = "lessons/exercises/ex33_fast_scatter_add.py"  # and the exercise on compiling a loop

MAX_LINES_OF_A_FILE = 350
MAX_LINES_OF_A_LESSON = 900  # a chapter: half of it prose, read a cell at a time
MAX_LINES_OF_A_FUNCTION = 60
MAX_WIDTH = 100


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
LESSONS = {name_of(path): path for path in sorted((ROOT / "lessons").rglob("*.py"))}
SCRIPTS = MODULES | LESSONS
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache  # nobody changes it, and ten tests read each
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """(line, full dotted name) of everything that a file imports, wherever in it."""
    found, package = [], path.relative_to(ROOT).parent.parts
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            home = [*above, *filter(None, [node.module])]
            found += [(node.lineno, ".".join([*home, alias.name])) for alias in node.names]
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_files_functions_and_lines_are_short(name):
    text = SCRIPTS[name].read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= (MAX_LINES_OF_A_LESSON if name in LESSONS else MAX_LINES_OF_A_FILE)
    assert [n for n, line in enumerate(lines, 1) if len(line) > MAX_WIDTH] == []
    lengths = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(tree(SCRIPTS[name]))
        if isinstance(node, FUNCTION)
    }
    assert {n: size for n, size in lengths.items() if size > MAX_LINES_OF_A_FUNCTION} == {}


def is_public(node: ast.stmt) -> bool:
    """A function or class without underscore. What a NamedTuple holds, its fields' comments say."""
    if not isinstance(node, (*FUNCTION, ast.ClassDef)) or node.name.startswith("_"):
        return False
    return "NamedTuple" not in [getattr(base, "id", "") for base in getattr(node, "bases", [])]


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__.py")])
def test_modules_and_what_is_public_in_them_have_docstrings(name):
    module = tree(MODULES[name])
    public = [node for node in module.body if is_public(node)]
    assert ast.get_docstring(module)
    assert [node.name for node in public if not ast.get_docstring(node)] == []


def floor(module: str) -> int:
    levels = [level for level, modules in enumerate(FLOORS) if module in modules]
    assert len(levels) == 1, f"{module} has no place of its own in FLOORS"
    return levels[0]


@pytest.mark.parametrize("name", MODULES)
def test_imports_only_go_down(name):
    own = Path(name).parts[1].removesuffix(".py")
    if own == "__init__":  # the front door opens on every floor
        return
    for line, target in imports(MODULES[name]):
        parts = target.split(".")
        if parts[0] != "scratch_embed" or parts[1] == "__version__":
            continue
        module = scratch_embed._HOMES.get(parts[1], parts[1])  # Tensor stands for tensor
        if module != own:
            assert floor(module) < floor(own), f"{name}:{line} reaches up to {target}"


def test_every_floor_is_there():
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules - {"__init__", "__pycache__", "py.typed"} == set().union(*FLOORS)


def test_numba_is_imported_in_one_folder():
    using = {
        name
        for name, path in SCRIPTS.items()
        for _, target in imports(path)
        if target.split(".")[0] in ("numba", "llvmlite")
    }
    assert COMPILING in using
    assert {name for name in using if not name.startswith(COMPILER)} == {COMPILING}


def test_how_loops_are_compiled_and_run_stays_in_the_kernels():
    inner = {f"scratch_embed.kernels.{name}" for name in ("compiling", "kept", "threads", "words")}
    reaching = {
        name
        for name, path in SCRIPTS.items()
        for _, target in imports(path)
        if target in inner or target.rpartition(".")[0] in inner
    }
    assert {name for name in reaching if not name.startswith(COMPILER)} == set()


@pytest.mark.parametrize("name", [name for name in LESSONS if "/ch" in name])
def test_a_lesson_needs_no_other_lesson(name):
    assert not {target.split(".")[0] for _, target in imports(LESSONS[name])} & {"lessons", "tests"}


def texts() -> list[Path]:
    """Every text file that belongs to the project."""
    folders = ("scratch_embed", "lessons", "tests", ".ci")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    files += [ROOT / name for name in ("Makefile", "README.md", "setup.cfg", "pyproject.toml")]
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def test_nothing_is_left_to_do_and_no_path_of_a_machine_is_named():
    unwanted = re.compile("TO" + r"DO\b|(?<![\w.])/(wo" + r"rk|ro" + r"ot|home/\w)\b")
    found = [
        f"{name_of(path)}:{n}: {line.strip()}"
        for path in texts()
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if unwanted.search(line)
    ]
    assert found == []
