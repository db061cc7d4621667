"""A lesson file and its cells.

A lesson is one Python script in the percent format that Jupyter (with jupytext), VS Code, PyCharm
and Spyder open as it is: `# %% [markdown]` begins a cell of prose (comment lines, Markdown), `# %%`
a cell of code. The file is parsed once, whole, under its true name, and every cell gets its share
of the syntax
tree: line numbers, tracebacks, `inspect.getsource` and Numba's cache then see the file itself.
"""

from __future__ import annotations
import __future__

import ast
import re
import tokenize
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from scratch_embed.lesson.walk.heads import Head, read_head

MARKER = re.compile(r"#\s?%%(?P<rest>.*)")
HEADING = re.compile(r"^#+\s+(.*?)\s*#*\s*$", re.MULTILINE)
NUMBER = re.compile(r"ch(\d+)_")


@dataclass
class Cell:
    """One cell: `kind` "markdown" or "code", its `text`, and the file's line where it begins."""

    kind: str
    text: str
    line: int
    nodes: list[ast.stmt] = field(default_factory=list, repr=False)


@dataclass
class Lesson:
    """A parsed lesson file. `flags` are the compiler flags of its `from __future__` imports."""

    path: Path
    cells: list[Cell]
    flags: int
    doc: str | None = None

    @property
    def name(self) -> str:
        """The file's name without its ending: "ch00_lookup"."""
        return self.path.stem

    @property
    def head(self) -> Head:
        """What the first prose cell says of the lesson."""
        prose = (cell.text for cell in self.cells if cell.kind == "markdown")
        return read_head(next(prose, ""))

    @property
    def number(self) -> int | None:
        """The chapter: 0 for "ch00_lookup.py", None for a file that is not named like that."""
        match = NUMBER.match(self.path.name)
        return int(match[1]) if match else None

    @property
    def title(self) -> str:
        """The first Markdown heading, or the file's name when there is none."""
        for cell in self.cells:
            match = HEADING.search(cell.text) if cell.kind == "markdown" else None
            if match:
                return re.sub(r"[*`$]", "", match[1])
        return self.name


def load(path: str | Path) -> Lesson:
    """Parse a lesson file.

    Raises FileNotFoundError for a missing file and SyntaxError, with the true file and line, for
    Python that does not parse, code inside a Markdown cell, or a marker that cuts a statement in
    two.
    """
    path = Path(path).resolve()
    with tokenize.open(path) as file:  # honours a coding line, UTF-8 otherwise
        text = file.read()
    tree = ast.parse(text, str(path))
    lines = text.splitlines()
    starts = [(1, "code"), *_markers(text)]
    ends = [line for line, _ in starts[1:]] + [len(lines) + 1]
    cells = []
    for position, ((start, kind), end) in enumerate(zip(starts, ends)):
        first = start if position == 0 else start + 1
        nodes = [node for node in tree.body if start <= _first_line(node) < end]
        cell = _cell(kind, lines[first - 1 : end - 1], first, nodes, path)
        if nodes and nodes[-1].end_lineno >= end:
            raise _error(f"this cell marker cuts the statement that begins on line "
                         f"{_first_line(nodes[-1])}", path, end, lines)  # fmt: skip
        if cell is not None:
            cells.append(cell)
    return Lesson(path, cells, _future_flags(tree), ast.get_docstring(tree))


def _markers(text: str) -> list[tuple[int, str]]:
    """(line, kind) of every marker comment. A "# %%" inside a string is no comment."""
    found = []
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.start[1] == 0:
            match = MARKER.fullmatch(token.string)
            if match:
                kind = "markdown" if re.search(r"\[(markdown|md)\]", match["rest"]) else "code"
                found.append((token.start[0], kind))
    return found


def _cell(kind: str, lines: list[str], first: int, nodes: list, path: Path) -> Cell | None:
    """The cell, without the blank lines around it; None when nothing is in it."""
    if kind == "markdown" and nodes:
        line = _first_line(nodes[0])
        message = "a [markdown] cell holds comment lines only; put a '# %%' line before the code"
        raise _error(message, path, line, lines, line - first)
    if kind == "code" and all(_is_header(node) for node in nodes):
        return None  # a licence line, a jupytext header, the file's docstring
    if kind == "markdown":
        lines = [re.sub(r"^#\s?", "", line) for line in lines]
    while lines and not lines[0].strip():
        lines, first = lines[1:], first + 1
    text = "\n".join(lines).rstrip()
    return Cell(kind, text, first, nodes) if text else None


def _is_header(node: ast.stmt) -> bool:
    """Docstrings and `from __future__` lines: the lesson keeps both for every cell (doc, flags)."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _error(message: str, path: Path, line: int, lines: list[str], at: int | None = None):
    at = line - 1 if at is None else at
    return SyntaxError(message, (str(path), line, 1, lines[at]))


def _future_flags(tree: ast.Module) -> int:
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    return flags


def find(folder: str | Path) -> dict[int, Path]:
    """The lesson files of a folder by chapter number, in order: {0: .../ch00_lookup.py, ...}.

    Of two with one number the first: ch00_lookup_backup.py is somebody's copy.
    """
    paths = sorted(Path(folder).glob("ch*_*.py"), reverse=True)
    numbered = {int(match[1]): path for path in paths if (match := NUMBER.match(path.name))}
    return dict(sorted(numbered.items()))
