"""The set-up keeps its promises: what is installed, what `make` offers, what an import costs."""

from __future__ import annotations

import ast
import configparser
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
RUNTIME = {"numpy", "numba", "matplotlib", "tqdm"}


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess:
    """Run make as a shell would, also when these tests were themselves started by make."""
    makes = ("MAKE", "MFLAGS")
    env = {key: value for key, value in os.environ.items() if not key.startswith(makes)}
    command = ["make", "-C", folder, "--no-print-directory", *arguments]
    return subprocess.run(command, check=False, capture_output=True, encoding="utf-8", env=env)


def required(lines: str) -> set[str]:
    """The names in a list of requirements: "numpy>=2.0" -> "numpy"."""
    return {re.split(r"[<>=;\s]", line)[0] for line in lines.splitlines() if line.strip()}


def imported(tree: ast.AST) -> set[str]:
    """Top names of the absolute imports anywhere under a node."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module)
    return {name.split(".")[0] for name in names}


@pytest.fixture
def config() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


@pytest.fixture
def setup_venv(tmp_path, monkeypatch):
    """.ci/setup_venv.py as a module, at work in a folder with a finished .venv."""
    spec = importlib.util.spec_from_file_location("setup_venv", ROOT / ".ci" / "setup_venv.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("setup.cfg", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    module.PYTHON.parent.mkdir(parents=True)
    module.PYTHON.touch()
    module.STAMP.write_bytes(module.stamp_text())
    return module


# ---- setup.cfg -----------------------------------------------------------------------------------


def test_every_package_is_listed_and_the_lessons_go_along(config):
    course = ROOT / "lessons"
    files = [*(ROOT / "scratch_embed").rglob("*.py"), *course.rglob("*.py")]
    names = {".".join(path.parent.relative_to(ROOT).parts) for path in files}
    names = {re.sub("^lessons", "scratch_embed.course", name) for name in names}
    assert set(config["options"]["packages"].split()) == names
    others = {
        p.suffix for p in course.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")
    }
    data = " ".join(config["options.package_data"].values()).split()
    assert {f"*{suffix}" for suffix in others} <= set(data)


def test_four_packages_are_needed_at_run_time(config):
    assert required(config["options"]["install_requires"]) == RUNTIME


def test_the_lowest_python_is_the_same_everywhere(config):
    lowest = config["options"]["python_requires"].removeprefix(">=")
    ruff = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'target-version = "py{lowest.replace(".", "")}"' in ruff
    assert f"sys.version_info < ({lowest.replace('.', ', ')})" in MAKEFILE
    for name in ("Makefile", "README.md", ".ci/setup_venv.py"):
        said = re.findall(r"Python (3\.\d+) or newer", (ROOT / name).read_text(encoding="utf-8"))
        assert said and set(said) == {lowest}, name
    assert f"python{lowest}" in (ROOT / ".ci" / "lowest").read_text(encoding="utf-8")


def test_the_run_with_the_lowest_versions_names_them_all(config):
    """What .ci/lowest reads out of setup.cfg with sed is every floor that is declared there."""
    script = (ROOT / ".ci" / "lowest").read_text(encoding="utf-8")
    read = re.search(r"\$\((sed .*)\)$", script, re.MULTILINE)[1]
    printed = subprocess.run(["bash", "-c", read], check=True, capture_output=True, cwd=ROOT)
    installed = set(printed.stdout.decode().split())
    floors = config["options"]["install_requires"].split()
    assert len(floors) == len(RUNTIME)
    assert {line.replace(">=", "==") + ".*" for line in floors} < installed


def test_extras_hold_what_they_are_for(config):
    extras = {name: required(lines) for name, lines in config["options.extras_require"].items()}
    assert extras["test"] >= {"pytest", "ruff"}
    assert extras["peers"] >= {"scipy", "gensim", "tokenizers", "torch"}
    assert extras["book"] >= {"sphinx", "myst-parser", "furo", "django-static-mathjax"}


def test_pip_on_linux_does_not_fetch_cuda(config):
    peers = config["options.extras_require"]["peers"].splitlines()
    assert [line for line in peers if line.startswith("torch") and "Linux" not in line] == []


def test_every_folder_of_modules_is_a_package():
    """Without an __init__.py a folder is one only by accident, and tools pass it by."""
    folders = {path.parent for path in (ROOT / "scratch_embed").rglob("*.py")}
    assert folders
    assert [str(path) for path in folders if not (path / "__init__.py").exists()] == []


def test_modules_import_only_what_setup_cfg_names(config):
    extras = set().union(*(required(lines) for lines in config["options.extras_require"].values()))
    comes_along = {"llvmlite", "PIL"}  # numba is built on the one, matplotlib on the other
    at_top = {"scratch_embed", *RUNTIME, *sys.stdlib_module_names}
    undeclared = []
    for path in sorted((ROOT / "scratch_embed").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            inside = isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Try))  # may be absent
            allowed = at_top | extras | comes_along if inside else at_top
            undeclared += [(path.name, name) for name in sorted(imported(node) - allowed)]
    assert undeclared == []


# ---- import --------------------------------------------------------------------------------------


def test_import_loads_neither_numba_nor_matplotlib_nor_generators():
    code = """
import sys, scratch_embed
from scratch_embed import SGD, Embedding, Tensor, functional
print(scratch_embed.__file__)
late = "numba", "llvmlite", "matplotlib", "matplotlib.pyplot", "numpy.random"
print([name for name in late if name in sys.modules])
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=env)
    where, loaded = printed.stdout.splitlines()
    assert Path(where).parent == ROOT / "scratch_embed"
    assert loaded == "[]"


# ---- make ----------------------------------------------------------------------------------------


def test_make_alone_lists_every_target():
    phony = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
    rules = set(re.findall(r"^([a-z][\w-]*):(?!=)", MAKEFILE, re.MULTILINE))
    listed = re.findall(r"^  make (\S+) +\S", make().stdout, re.MULTILINE)
    assert rules == phony == set(listed)
    assert len(listed) == len(rules)


def test_targets_that_run_python_prepare_it_first():
    rules = re.findall(r"^([a-z]+):(.*)\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    runs = [(name, needs) for name, needs, recipe in rules if "$(VENV) -m" in recipe]
    bare = [name for name, needs in runs if "setup" not in needs]
    assert len(rules) > 5
    assert bare == ["clean"]  # which prepares nothing, and without Python keeps what it cannot tell


def test_step_without_a_chapter_says_what_to_type():
    done = make("step")
    assert done.returncode != 0
    assert "make step CH=4" in done.stderr


def test_a_python_that_will_not_do_is_refused_in_a_sentence():
    done = make("setup", "PYTHON=/no/such python")
    assert done.returncode != 0
    assert "needs Python 3.11 or newer, and /no/such python is not" in done.stderr
    assert done.stderr.count("\n") == 2  # the sentence, and make's own line


@pytest.mark.parametrize(
    "mine", ["lm/checkpoint.npz", "runs/lm/results.json", "my own.npz", "tables/words.npy",
             "ex/lookup_backward.py", "labs/mine.npz", "notebooks/notes.md"],
)  # fmt: skip
def test_clean_keeps_what_it_has_not_built(tmp_path, mine):
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    build = tmp_path / "build"
    for file in ("book/page.html", "bdist.linux/x", "figures/a.png", "benchmarks.json", mine):
        (build / file).parent.mkdir(parents=True, exist_ok=True)
        (build / file).touch()
    told = make("clean", folder=tmp_path).stdout
    assert f"build/{mine.split('/')[0]} is kept" in told, told
    assert [x for x in build.rglob("*") if x.is_file()] == [build / mine]
    (build / mine).unlink()
    make("clean", folder=tmp_path)
    assert not any(x.is_file() for x in build.rglob("*"))


def test_clean_keeps_edited_notebooks(tmp_path):
    """And all of them where there is no Python to say which."""
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    mine, built = tmp_path / "build" / "notebooks" / "mine.ipynb", tmp_path / "build" / "book"
    mine.parent.mkdir(parents=True)
    mine.write_text("{}", encoding="utf-8")
    built.touch()
    told = make("clean", folder=tmp_path).stdout
    assert "build/notebooks is kept: it holds notebooks" in told and "nobody can tell" in told
    assert mine.exists() and not built.exists()
    told = make("clean", f"VENV={sys.executable}", f"PYTHONPATH={ROOT}", folder=tmp_path).stdout
    assert "mine.ipynb" in told and "nobody can tell" not in told and mine.exists()


# ---- .ci -----------------------------------------------------------------------------------------


def test_ci_runs_lint_then_tests_then_lessons():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    ran = re.findall(r"^make (\w+)", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert ran == ["lint", "test", "lessons"]


def test_setup_installs_what_the_lessons_and_the_tests_need(setup_venv):
    to_run, to_test = setup_venv.requirements()
    assert required("\n".join(to_run)) == RUNTIME
    assert required("\n".join(to_test)) == {"pytest", "pytest-xdist", "hypothesis", "pyte", "ruff"}
    assert setup_venv.names(to_run) == "numpy, numba, matplotlib, tqdm"


def test_setup_goes_by_content_not_by_date(setup_venv):
    assert setup_venv.in_order()
    os.utime("setup.cfg", (2e9, 2e9))
    assert setup_venv.in_order()
    with open("setup.cfg", "a", encoding="utf-8") as file:
        file.write("# one more line\n")
    assert not setup_venv.in_order()


@pytest.mark.parametrize("killed", [False, True])
def test_setup_reinstalls_what_a_killed_pip_left(setup_venv, monkeypatch, killed):
    calls = []
    monkeypatch.setattr(setup_venv, "run_pip", lambda *args, quiet=False: not calls.append(args))
    setup_venv.STAMP.unlink()
    if killed:
        setup_venv.BUSY.touch()
    setup_venv.install()
    assert [args[0] for args in calls] == ["--force-reinstall" if killed else "--no-index"]
    assert setup_venv.in_order()
    assert not setup_venv.BUSY.exists()


def test_an_extra_is_installed_once_for_what_setup_cfg_lists(setup_venv, monkeypatch):
    calls = []
    monkeypatch.setattr(setup_venv, "run_pip", lambda *args, quiet=False: bool(calls.append(args)))
    with pytest.raises(SystemExit, match="is there a network"):
        setup_venv.install_extra("book")
    assert [("--no-index", *args) for args in calls[1:]] == calls[:1]
    assert {re.split("[<>=]", name)[0] for name in calls[1]} >= {"sphinx", "furo"}
    monkeypatch.setattr(setup_venv, "run_pip", lambda *args, quiet=False: not calls.append(args))
    setup_venv.install_extra("book")
    assert len(calls) == 3  # without a network, and that was enough
    setup_venv.install_extra("book")
    assert len(calls) == 3
    text = Path("setup.cfg").read_text(encoding="utf-8").replace("furo>=", "furo>=1")
    Path("setup.cfg").write_text(text, encoding="utf-8")
    setup_venv.install_extra("book")
    assert len(calls) == 4
    for _ in range(2):
        setup_venv.install_extra("peers")  # one of its lines holds spaces
    assert len(calls) == 5
    with pytest.raises(SystemExit, match=r"nothing under 'boook'; there are .*book"):
        setup_venv.install_extra("boook")


def test_setup_without_a_network_uses_what_is_there(setup_venv, monkeypatch, capsys):
    monkeypatch.setattr(setup_venv, "run_pip", lambda *args, quiet=False: False)
    monkeypatch.setattr(setup_venv, "run", lambda *args, quiet=False: (True, ""))
    setup_venv.STAMP.write_bytes(b"an older setup.cfg")
    setup_venv.install()
    assert "what it holds works" in capsys.readouterr().err
    assert not setup_venv.in_order()  # so that the next run tries again


def test_setup_without_a_network_or_packages_says_so(setup_venv, monkeypatch):
    monkeypatch.setattr(setup_venv, "run_pip", lambda *args, quiet=False: False)
    monkeypatch.setattr(setup_venv, "run", lambda *args, quiet=False: (False, ""))
    setup_venv.STAMP.unlink()
    with pytest.raises(SystemExit, match="is there a network"):
        setup_venv.install()
    assert not setup_venv.in_order()
