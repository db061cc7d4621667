"""The rule of an operation in the names that the learner used, and the lines of code that do it."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.ops.cross_entropy import CrossEntropySaved
from scratch_embed.ops.sgns import CbowSaved
from scratch_embed.ops.softmax import LogSoftmaxSaved
from scratch_embed.trace.inside import Visit
from scratch_embed.trace.names import Same
from scratch_embed.trace.walk import ForwardStep
from scratch_embed.working import Line

MOST_LINES = 3
MOST_NUMBERS = 4_000_000  # of probabilities that are found again; of more their logarithms are told
PACKAGE = Path(__file__).parents[1]
WORD = re.compile(r"[A-Za-z]\w*")
BRANCHES = ast.If, ast.Try, ast.Match
VIEWS = {"T", "reshape", "ravel", "view", "transpose", "swapaxes"}  # of the same numbers
FORM = {"reshape", "ravel", "astype", "copy", "view"}  # these leave the numbers as they are
IN_PLACE = {"append", "extend", "insert", "fill", "sort"}  # of what they are methods of
HIDDEN = {"log_p", "hit"}  # p stands for the one; the other is 1 but for weights of classes
MADE = {"tied_cross_entropy": {"logits", "p"}, "attention": {"scores", "weights"}}
ALIASES = {"logits": "z"}  # what a formula calls a parameter for short


def in_names(text: str, at: ForwardStep) -> str:
    """A formula from the docstring of an operation, with the names of this call of it.

    dh = dout @ weight becomes dhidden = dlogits @ E, where E is the weight of logits.
    """
    called = {"out": at.name}
    for given in at.inputs:
        if given.name:
            called[given.parameter] = given.name
            called[ALIASES.get(given.parameter, given.parameter)] = given.name
    called |= {f"d{word}": f"d{name}" for word, name in called.items()}

    def name(match: re.Match) -> str:
        word, _, letter = match[0].partition("_")
        if match[0] in called:
            return called[match[0]]
        return f"{called[word]}_{letter}" if word in called and len(letter) == 1 else match[0]

    return WORD.sub(name, text).replace(".T.T", "")


def needed(at: ForwardStep) -> dict[str, np.ndarray]:
    """The values that the rule of a step reads beside the gradient that arrives, by name."""
    found: dict[str, np.ndarray] = {}
    for field, value in at.saved.items():
        if isinstance(value, Same):
            found[value.name] = value.value
        elif isinstance(value, np.ndarray):
            found[field] = value
        elif hasattr(value, "_fields"):  # CBOW keeps what skip-gram does, of the mean of a window
            found |= {given.name: given.value for given in at.inputs[1:3]}
    more = derived(at)
    hidden = HIDDEN if more else ()
    return {name: value for name, value in found.items() if name not in hidden} | more


def derived(at: ForwardStep) -> dict[str, np.ndarray]:
    """What a rule speaks of and nobody has saved under that name.

    The probabilities p, known by their logarithm; of CBOW the mean h, and its scores.
    """
    saved = at.node.saved
    if isinstance(saved, CbowSaved):
        inner = at.saved["sgns"]
        told = inner.center, inner.positive_score, inner.negative_scores
        return dict(zip(("h", "positive_score", "negative_scores"), told))
    if not isinstance(saved, (CrossEntropySaved, LogSoftmaxSaved)):
        return {}
    log_p = at.saved["log_p"]
    log_p = log_p.value if isinstance(log_p, Same) else log_p
    if log_p.size > MOST_NUMBERS:
        return {}
    p = np.exp(log_p)
    return {"p": p.reshape(at.inputs[0].value.shape)}


def made_inside(at: ForwardStep) -> set[str]:
    """What a rule calls the arrays that the operation makes for itself, as p the probabilities."""
    kept = {field for field, value in at.saved.items() if isinstance(value, np.ndarray)}
    return kept | derived(at).keys() | MADE.get(at.op, set())


class Code(NamedTuple):
    """Some lines of a file."""

    path: str
    lines: tuple[tuple[int, str], ...]  # (number, source), one a statement


@lru_cache
def code_of(half: Callable, parameter: str, place: int, ran: frozenset[int] | None) -> Code | None:
    """The statements of a backward that make the gradient of one parameter.

    Those that write to what is returned in its place, if that has a name; else to d + its name;
    else the return. Of a forward, asked for place 0, the statements that make the output. Of those
    in branches the ones that `ran`, by their lines in the file, if that is known. None where Python
    has no source to show.
    """
    read = _read(half)
    if read is None:
        return None
    path, source, first, body = read
    if ran is not None:
        body = [node for node in body if first + node.lineno - 1 in ran]
    returns = [node for node in body if isinstance(node, ast.Return) and node.value]
    value = returns[-1].value if returns else None
    several = isinstance(value, (ast.Tuple, ast.List)) and place < len(value.elts)
    value, works = _source(value.elts[place] if several else value)
    named = [node for node in _makers(body, value) if not _converts(node)]
    if several and named and not works:
        made = named  # return dw, dx hands x what is called dw
    else:
        made = _makers(body, f"d{parameter}") or named + (returns[-1:] if named and works else [])
    made = made or (returns if ran is None else returns[-1:]) or body[:1]
    lines = sorted((first + node.lineno - 1, _text(source, node)) for node in made)
    return Code(path, tuple(lines))


def code_lines(half: Callable, parameter: str, place: int, run: Callable[[], Visit]) -> list[Line]:
    """The same as lines of a working, the first few.

    run : runs it once more and tells which lines it went through; asked only where it branches.
    """
    code = code_of(half, parameter, place, _lines_that_ran(half, run))
    told = code.lines[:MOST_LINES] if code else ()
    return [Line("", (f"{code.path}:{number}  {text}",)) for number, text in told]


def _lines_that_ran(half: Callable, run: Callable[[], Visit]) -> frozenset[int] | None:
    """None where it has no branches, or what it went through cannot be told."""
    read = _read(half)
    if read is None or not any(isinstance(node, BRANCHES) for node in read[-1]):
        return None
    try:
        visit = run()
    except Exception:  # noqa: BLE001  of random numbers, without lines, or a learner's own
        return None
    ran = (row.number for row in visit.rows if row.made or not row.source.startswith("if "))
    return None if visit.left_out else frozenset(ran)  # `if c: dx[0] = 0` may have made nothing


@lru_cache
def _read(half: Callable) -> tuple[str, list[str], int, list[ast.stmt]] | None:
    """The file, the lines, the number of the first, and the statements in their order: those of the
    function itself, without functions that it defines."""
    try:
        half = inspect.unwrap(half)  # a function that Numba compiled has the source of its own
        source, first = inspect.getsourcelines(half)
        path = _path(inspect.getsourcefile(half))
        tree = ast.parse(textwrap.dedent("".join(source)))
    except (OSError, TypeError, SyntaxError):  # written in C, a lambda inside of a call
        return None
    body, left = [], list(ast.iter_child_nodes(tree.body[0]))
    while left:
        node = left.pop()
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            left += ast.iter_child_nodes(node)
            body += [node] if isinstance(node, ast.stmt) else []
    return path, source, first, sorted(body, key=lambda node: node.lineno) or tree.body[:1]


def _makers(body: list[ast.stmt], name: str | None) -> list[ast.stmt]:
    """The statements that write to a name, or to a view of it that is filled: rows = dx.T."""
    views = {name}
    for node in body:
        if isinstance(node, ast.Assign) and _viewed(node.value) in views - {None}:
            views |= {name for target in node.targets for name in _bases(target)}
    filled = {view for view in views - {name} if any(view in _fills(node) for node in body)}
    return [node for node in body if _writes(node) & (filled | {name})]


def _viewed(value: ast.AST) -> str | None:
    """x of x[i], x.T, x.reshape(shape) and what else shows the numbers of x and copies none."""
    while not isinstance(value, ast.Name):
        value = value.func if isinstance(value, ast.Call) else value
        named = isinstance(value, ast.Attribute) and value.attr in VIEWS
        if not named and not isinstance(value, ast.Subscript):
            return None
        value = value.value
    return value.id


def _fills(node: ast.stmt) -> set[str]:
    """The names whose numbers a statement writes to, and that it does not make."""
    made = isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) for t in node.targets)
    return set() if made else _writes(node)


def _source(value: ast.AST | None) -> tuple[str | None, bool]:
    """The name that a value comes from, as out of out.reshape(shape); and whether what is done to
    it on the way is more than its form."""
    works = False
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        works |= value.func.attr not in FORM
        value = value.func.value
    return (value.id if isinstance(value, ast.Name) else None), works


def _converts(node: ast.stmt) -> bool:
    """Whether it makes an array of what may be one: a = np.asarray(a)."""
    call = node.value if isinstance(node, ast.Assign) else None
    return isinstance(call, ast.Call) and getattr(call.func, "attr", None) == "asarray"


def _writes(node: ast.AST) -> set[str]:
    """The names that a statement assigns, changes in place, or hands to a function that may: of
    np.multiply(a, b, out=c) that is c, of grads.append(a) it is grads."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets = _changed_by(node.value)
    else:
        targets = []
    return {name for target in targets for name in _bases(target)}


def _changed_by(call: ast.Call) -> list[ast.AST]:
    """What a call that stands alone may change: else it would be of no use."""
    outs = [keyword.value for keyword in call.keywords if keyword.arg == "out"]
    if outs or _is_builtin(call.func):
        return outs
    if isinstance(call.func, ast.Attribute) and call.func.attr in IN_PLACE:
        return [call.func.value]
    return call.args


def _is_builtin(function: ast.AST) -> bool:
    """Whether it is print or another of Python's own, which change no array."""
    return isinstance(function, ast.Name) and hasattr(builtins, function.id)


def _bases(target: ast.AST) -> list[str]:
    """x of x, of x[i] and of (x, y): what is written to, without the positions in brackets."""
    if isinstance(target, ast.Tuple):
        return [name for element in target.elts for name in _bases(element)]
    while isinstance(target, ast.Subscript):
        target = target.value
    return [target.id] if isinstance(target, ast.Name) else []


def _text(source: list[str], node: ast.AST) -> str:
    """The statement on one line, without the comments in it and behind it."""
    segment = ast.get_source_segment(textwrap.dedent("".join(source)), node)
    if "#" in segment and "\n" in segment:
        return ast.unparse(node)
    return " ".join(line.strip() for line in segment.splitlines())


def _path(path: str) -> str:
    """ops/project.py for a file of the package, the bare name of any other."""
    where = Path(path)
    inside = where.is_relative_to(PACKAGE)
    return where.relative_to(PACKAGE).as_posix() if inside else where.name
