"""The claims that lessons answer, and which call of which lesson answers which claim.

`lessons/claims/claims.csv` lists every statement and printed figure that is judged. Each
has an id, which a lesson gives as the first argument of `check`, `erratum`, `reference` or `quiz`.
A `quiz` may also ask a question of the lesson's own, which answers no claim: its id begins "own-".
"""

from __future__ import annotations

import ast
import csv
import difflib
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

from scratch_embed.lesson.claims.printed import read

OWN = "own-"
ANSWERS = ("check", "erratum", "reference", "quiz")
CONSTRUCTORS = {"array", "asarray", "float", "int", "bool", "str", "list", "tuple", "complex",
                "float32", "float64", "int32", "int64", "bool_"}  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """One row of claims.csv, as it stands there."""

    id: str
    source: str  # "ten-chapter text", "reference page", "lecture note", ...
    section: str
    kind: str  # hand-calc, table, api-example, experiment, simulation, quiz
    statement: str
    printed: str  # the figure as printed, empty where the page shows none


@dataclass(frozen=True)
class Call:
    """One answering call in a lesson's source. `id` is None when it is not written as a literal."""

    function: str
    id: str | None
    line: int
    printed: str | None
    value_is_literal: bool

    @property
    def is_own(self) -> bool:
        """Whether it asks a question of the lesson's own, which answers no claim."""
        return self.function == "quiz" and (self.id or "").startswith(OWN)


def load(path: str | Path | None = None) -> list[Claim]:
    """The rows of a claims.csv, in order.

    Without a path: the claims/claims.csv beside the running script, or in a notebook that of the
    current folder.
    """
    if path is None:
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        path = (Path(script).parent if script else Path.cwd()) / "claims" / "claims.csv"
    with open(path, encoding="utf-8", newline="") as file:
        return [Claim(**row) for row in csv.DictReader(file)]


def beside(lesson: Path) -> dict[str, Claim]:
    """By id, the claims/claims.csv beside a lesson file; empty when there is none.

    A script elsewhere, with no such list beside it, may use any id.
    """
    path = lesson.parent / "claims" / "claims.csv"
    return {claim.id: claim for claim in load(path)} if path.is_file() else {}


def require(id: str, claims: dict[str, Claim]) -> None:
    """Raises ValueError for an id that is not in a list of claims that exists."""
    if not isinstance(id, str) or not id.strip():
        raise ValueError(f"id must be the name of a claim, a text that is not empty; got {id!r}")
    if id.startswith(OWN):
        raise ValueError(f"id {id!r}: only a quiz may ask a question of its own")
    if claims and id not in claims:
        close = difflib.get_close_matches(id, claims, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"id {id!r} is not in claims.csv{hint}")


def require_print(given: str, claim: Claim) -> None:
    """Raises ValueError when a lesson quotes a figure that the claim does not print.

    The same figure in another notation ("131.1M" for "131.1 M") will do, and so will one of several
    that ";" parts. Where the list has no printed figure, anything may be quoted.
    """
    listed = [claim.printed, *claim.printed.split(";")]
    if claim.printed and not any(_same_print(given, text) for text in listed):
        raise ValueError(f'printed="{given}", but claims.csv has "{claim.printed}" for {claim.id}')


def _same_print(a: str, b: str) -> bool:
    if "".join(a.split()).casefold() == "".join(b.split()).casefold():
        return True
    try:
        return [(f.low, f.high) for f in read(a)] == [(f.low, f.high) for f in read(b)]
    except ValueError:
        return False


def calls(path: str | Path) -> list[Call]:
    """Every check, erratum, reference and quiz call in a lesson's source, which is not run."""
    with tokenize.open(path) as file:
        tree = ast.parse(file.read(), str(path))
    fixed = _literal_names(tree)
    found = []
    for node in ast.walk(tree):
        name = node.func if isinstance(node, ast.Call) else None
        function = getattr(name, "id", getattr(name, "attr", None))
        if function in ANSWERS:
            found.append(_call(function, node, fixed))
    return sorted(found, key=lambda call: call.line)


def _call(function: str, node: ast.Call, fixed: set[str]) -> Call:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    given = dict(enumerate(node.args))
    place, name = (2, "answer") if function == "quiz" else (1, "value")
    value = keywords.get(name, given.get(place))
    return Call(
        function,
        _text(keywords.get("id", given.get(0))),
        node.lineno,
        _text(keywords.get("printed")),
        value is None or is_literal(value, fixed),
    )


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_literal(node: ast.expr, fixed: set[str] = frozenset()) -> bool:
    """Whether an expression only spells a value out instead of computing it.

    Constants, signs and arithmetic of constants, lists of them, `np.array([...])` and
    `float("...")` of them, and names in `fixed` (names the file binds to such a literal only) are
    literal.
    """
    if isinstance(node, ast.Call):
        function = getattr(node.func, "id", getattr(node.func, "attr", None))
        return function in CONSTRUCTORS and all(is_literal(arg, fixed) for arg in node.args)
    if isinstance(node, ast.Name):
        return node.id in fixed
    if isinstance(node, (ast.Attribute, ast.Lambda, ast.ListComp, ast.GeneratorExp)):
        return False
    if isinstance(node, ast.Subscript):  # table[1] selects, which is what a lookup does
        return is_literal(node.value)
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    if isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp)):  # V * d computes; 6 * 3 spells out
        return all(is_literal(child) for child in children)
    return isinstance(node, ast.Constant) or all(is_literal(child, fixed) for child in children)


def _literal_names(tree: ast.Module) -> set[str]:
    """Names that the file binds exactly once, by `name = literal`."""
    stored: dict[str, int] = {}
    literal = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] = stored.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            stored[node.arg] = stored.get(node.arg, 0) + 1
        elif isinstance(node, ast.Assign) and is_literal(node.value):
            literal |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in literal if stored.get(name) == 1}
