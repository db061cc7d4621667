"""The English that comes with every Python: docstrings, read as data. No module is imported or run.

Sources: the standard library, numpy, matplotlib and numba (all required by this package), and the
help topics of `pydoc`. The first reading takes some seconds; after that a plain text file is kept
in the user's cache folder, under a name that holds the versions it was read from.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

from scratch_embed.files import cache_dir, read_bytes, replacing, sentence

SOURCES = ("stdlib", "numpy", "matplotlib", "numba", "topics")
# Folders whose text is not prose for readers, or not part of the package.
SKIPPED_FOLDERS = {
    "site-packages",
    "dist-packages",
    "__pycache__",
    "test",
    "tests",
    "idle_test",
    "lib2to3",
}
FORMAT = "2"  # raise it when the reading or the file changes: old cache files are left alone


class Docstrings(NamedTuple):
    """Texts in the order of their files, how many files were read, and which could not be."""

    texts: list[str]
    num_files: int
    skipped: list[Path]


def python_text(
    sources: Sequence[str] = SOURCES, *, progress: bool = True, cache: bool = True
) -> str:
    """All texts of the sources, a blank line between two.

    sources may hold "stdlib", "topics", and the name of any installed top-level package or module,
    such as "json". The progress bar shows on a terminal only. The text differs from one version of
    Python to the next, so count on its size (about 800,000 words), not on its words.

    Raises ValueError for a source that is not installed or has no Python source files. Files that
    cannot be read or parsed are skipped, and a sentence on stderr says how many. When the cache
    cannot be written, a warning says so and the text is returned all the same.
    """
    if isinstance(sources, str):
        raise TypeError(f"sources is one string; write ({sources!r},).")
    sources = tuple(dict.fromkeys(sources))
    for source in sources:
        _places(source)  # a wrong name is told before anything is read
    kept = _cache_path(sources) if cache else None
    text = None if kept is None else _cached(kept)
    if text is not None:
        return text
    found = read_docstrings([path for source in sources for path in source_files(source)], progress)
    if found.skipped and progress:
        print(
            f"{len(found.skipped)} of {found.num_files + len(found.skipped)} Python files could "
            f"not be read and were skipped, the first of them {found.skipped[0]}.",
            file=sys.stderr,
        )
    # A docstring may hold half a surrogate pair, which no UTF-8 file can.
    text = "\n\n".join(found.texts).encode("utf-8", "replace").decode("utf-8")
    if kept is not None and text:
        _keep(text, kept)
    return text


def source_files(source: str) -> list[Path]:
    """The .py files of one source, sorted. Found by name, without importing anything."""
    places = _places(source)
    return [
        file for place in places for file in (_python_files(place) if place.is_dir() else [place])
    ]


def read_docstrings(paths: Iterable[Path], progress: bool = True) -> Docstrings:
    """The docstrings of modules, classes and functions in these files, in their order."""
    from tqdm import tqdm

    paths = list(paths)
    texts, skipped = [], []
    bar = tqdm(paths, "reading docstrings", unit="file", disable=None if progress else True)
    for path in bar:
        try:
            texts += file_texts(path)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            skipped.append(path)  # unreadable, broken on purpose, or not text: one file less
    return Docstrings(texts, len(paths) - len(skipped), skipped)


def file_texts(path: Path) -> list[str]:
    """The docstrings of one file, or, in pydoc's topics.py, the values of its dictionary."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old files hold escapes such as "\d" that Python frowns at
        tree = ast.parse(path.read_bytes())  # bytes: ast finds the encoding that the file declares
    if path.name == "topics.py" and path.parent.name == "pydoc_data":
        values = [node.value for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
        return [text for value in values for text in ast.literal_eval(value).values()]
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = sorted(
        (n for n in ast.walk(tree) if isinstance(n, kinds)), key=lambda n: getattr(n, "lineno", 0)
    )
    return [text for node in nodes if (text := ast.get_docstring(node))]


def _places(source: str) -> list[Path]:
    """The folders or the file that hold a source."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    if source == "stdlib":
        return [stdlib]
    if source == "topics":  # some systems ship Python without its help
        return [p for p in [stdlib / "pydoc_data" / "topics.py"] if p.exists()]
    if not isinstance(source, str) or not source.isidentifier():
        raise ValueError(f"{source!r} is not the name of a top-level package or module.")
    spec = util.find_spec(source)  # looks for a top-level name; only a dotted one would import
    if spec is None:
        raise ValueError(f"{source!r} is not installed here. Known sources: {', '.join(SOURCES)}.")
    if spec.submodule_search_locations:
        return [Path(folder) for folder in spec.submodule_search_locations]
    # Modules such as os are frozen into the interpreter, and their source lies beside it.
    file = stdlib / f"{source}.py" if spec.origin == "frozen" else Path(spec.origin)
    if file.suffix != ".py" or not file.exists():
        raise ValueError(f"{source!r} has no Python source file to read ({spec.origin}).")
    return [file]


def _python_files(folder: Path) -> list[Path]:
    found = (
        p
        for p in folder.rglob("*.py")
        if SKIPPED_FOLDERS.isdisjoint(p.relative_to(folder).parts[:-1])
    )
    return sorted(found, key=lambda p: p.relative_to(folder).as_posix())


def _cache_path(sources: Iterable[str]) -> Path | None:
    """Where the text of these sources is kept. The name holds all that the text depends on.

    None when a source has no version, such as a module of your own: nothing would tell that it
    changed, so it is read afresh each time.
    """
    digest = hashlib.sha256(f"{FORMAT} {sys.version} {sysconfig.get_path('stdlib')}".encode())
    for source in sources:
        if source in ("stdlib", "topics") or source in sys.stdlib_module_names:
            version = "stdlib"
        else:
            try:
                version = metadata.version(source)
            except metadata.PackageNotFoundError:
                return None
        digest.update(f"{source} {version} {_places(source)}\n".encode())
    python = ".".join(map(str, sys.version_info[:3]))
    return cache_dir() / f"python-text-{python}-{digest.hexdigest()[:16]}.txt"


def _cached(path: Path) -> str | None:
    """The text of a cache file, or None when there is none, or not the one that was kept."""
    try:
        digest, _, text = read_bytes(path).partition(b"\n")
        return text.decode("utf-8") if digest == _digest(text) else None
    except (OSError, ValueError):
        return None


def _keep(text: str, path: Path) -> None:
    """Write the cache file: a digest of the text in the first line, then the text."""
    content = text.encode("utf-8")
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(_digest(content) + b"\n" + content)
    except OSError as error:
        warnings.warn(
            f"The text could not be kept: {sentence(error)} It will be read again next time. Set "
            "SCRATCH_EMBED_CACHE to a folder that can be written.",
            RuntimeWarning,
            stacklevel=3,
        )


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
