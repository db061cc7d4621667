"""The line of a learner's function to look at first: where it last makes what came out wrong."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path


def definition(file: Path, name: str) -> ast.FunctionDef | None:
    """The function of that name that the file defines last."""
    try:
        nodes = ast.parse(file.read_bytes()).body
    except (SyntaxError, ValueError, OSError):
        return None
    found = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == name]
    return found[-1] if found else None


def guilty_line(
    file: Path, name: str, result: int | None = None, variable: str | None = None,
    pattern: str | None = None,
) -> int | None:  # fmt: skip
    """The last line that makes a result of the function `name`, or that changes a variable of it.

    result    which of several results is wrong; None when there is one, or nobody knows.
    variable  an argument that is changed, where it is not a result that is wrong.
    pattern   of a mistake that is known, what the line looks like; the first such line, if any.

    Where the result is a name, it is the line that last writes to it: `dE[ids] += dout` above
    `return dE`. Where it is an expression, it is that line of the `return`. A function that returns
    nothing is guilty in its last line. None for a function that is not there.
    """
    function = definition(file, name)
    if function is None:
        return None
    if pattern is not None and (line := _first_like(pattern, function, file)):
        return line
    if variable is not None:
        return _last_write(function, variable) or function.body[-1].lineno
    returns = [node for node in _own(function) if isinstance(node, ast.Return) and node.value]
    if not returns:
        return function.body[-1].lineno
    value = returns[-1].value
    if isinstance(value, ast.Tuple) and result is not None and result < len(value.elts):
        value = value.elts[result]
    wrote = _last_write(function, value.id) if isinstance(value, ast.Name) else None
    return wrote or value.lineno


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function but for those of functions inside it."""
    todo = list(function.body)
    while todo:
        node = todo.pop(0)
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            todo = [*ast.iter_child_nodes(node), *todo]


def _first_like(pattern: str, function: ast.FunctionDef, file: Path) -> int | None:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    documented = ast.get_docstring(function) is not None and len(function.body) > 1
    first = function.body[documented].lineno
    for number in range(first, function.end_lineno + 1):
        if re.search(pattern, lines[number - 1].partition("#")[0]):
            return number
    return None


def _last_write(function: ast.FunctionDef, name: str) -> int | None:
    lines = [node.lineno for node in ast.walk(function) if name in _written(node)]
    return max(lines, default=None)


def _written(node: ast.AST) -> set[str]:
    """The names that a statement binds or changes: by =, +=, or handing them to a call."""
    if isinstance(node, ast.Assign):
        return {name for target in node.targets for name in _roots(target)}
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        return _roots(node.target)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value  # np.add.at(dE, ids, dout), out.append(token)
        if isinstance(call.func, ast.Name) and hasattr(builtins, call.func.id):
            return set()  # print(dE) changes nothing
        return _roots(call.func) | {name for given in call.args[:1] for name in _roots(given)}
    return set()


def _roots(node: ast.AST) -> set[str]:
    """E of E, E[ids], E.flat and (E, m)."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
        return _roots(node.value)
    if isinstance(node, (ast.Tuple, ast.List)):
        return {name for element in node.elts for name in _roots(element)}
    return set()
