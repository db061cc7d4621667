"""Small mistakes in a source: another comparison or sign, a number one larger, `and` for `or`.

Only what decides is mutated: no docstring, no annotation, no wording of an error.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutant(NamedTuple):
    line: int
    was: str
    now: str
    source: str  # of the whole file, with the mistake


def mutants(source: str) -> list[Mutant]:
    """Every mistake that this file knows how to make in a source.

    >>> [(m.was, m.now) for m in mutants("out = -n if n < 3 else n")]
    [('-n if n < 3 else n', '-n if not n < 3 else n'), ('n < 3', 'n <= 3'), ('-n', 'n'), ('3', '4')]
    """
    tree = ast.parse(source)
    alone = _left_alone(tree)
    places = [node for node in ast.walk(tree) if node not in alone]
    made = []
    for place in places:
        for change in _changes(place):
            mutated = copy.deepcopy(tree)
            twin = _twin(tree, mutated, place)
            was = ast.unparse(place)
            new = change(twin)
            if new is not twin:
                _replace(mutated, twin, new)
            text = ast.unparse(ast.fix_missing_locations(mutated))
            made.append(Mutant(place.lineno, _brief(was), _brief(ast.unparse(new)), text))
    return made


def _brief(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) < 60 else line[:57] + "..."


def _changes(node: ast.AST) -> Iterator:
    """Functions that turn a copy of this node into a mistaken one, in place or as another node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        yield lambda twin: _set(twin, "ops", [SWAPS[type(twin.ops[0])](), *twin.ops[1:]])
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in SWAPS:
        yield lambda twin: _set(twin, "op", SWAPS[type(twin.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield lambda twin: twin.operand
    if isinstance(node, (ast.If, ast.IfExp)):
        yield lambda twin: _set(twin, "test", ast.UnaryOp(ast.Not(), twin.test))
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        wrong = (not node.value) if isinstance(node.value, bool) else node.value + 1
        yield lambda twin: _set(twin, "value", wrong)


def _set(node: ast.AST, field: str, value) -> ast.AST:
    setattr(node, field, value)
    return node


def _left_alone(tree: ast.AST) -> set[ast.AST]:
    """Errors and their wording, annotations, and imports for annotations only."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.JoinedStr)):
            found.update(ast.walk(node))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                found.update(ast.walk(annotation))
    return found


def _twin(tree: ast.AST, copied: ast.AST, node: ast.AST) -> ast.AST:
    """The node of a copy that stands where this one stands in the original."""
    return next(b for a, b in zip(ast.walk(tree), ast.walk(copied)) if a is node)


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and old in value:
                value[value.index(old)] = new
