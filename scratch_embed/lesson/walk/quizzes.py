"""`python -m lessons quiz`: every guess, read from the lessons' sources. Nothing is run.

What a question's answer is, only a run of its lesson knows: it computes it.
"""

from __future__ import annotations

import ast
import tokenize
from dataclasses import dataclass
from pathlib import Path

from scratch_embed.lesson.answers import LETTERS
from scratch_embed.lesson.walk import cells
from scratch_embed.look.terminal import paint, width, wrap

COMPUTED = "(worked out when the lesson runs)"


@dataclass(frozen=True)
class Question:
    """One `guess(...)` call: what it asks, and its options (None when a number is asked for)."""

    text: str
    options: tuple[str, ...] | None
    line: int


def questions(path: str | Path) -> list[Question]:
    """The questions of a lesson file, in order.

    Texts may be literals or names of literals, lists of them, or the keys or values of a dictionary
    of them. In an f-string "..." stands for what the lesson computes, and `COMPUTED` for a text
    that it computes as a whole.
    """
    with tokenize.open(path) as file:
        tree = ast.parse(file.read(), str(path))
    bound = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = [
        _question(node, _Reader(bound))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node.func) == "guess"
    ]
    return sorted(found, key=lambda question: question.line)


def _question(node: ast.Call, read: _Reader) -> Question:
    given = dict(zip(("question", "options"), node.args))
    given |= {keyword.arg: keyword.value for keyword in node.keywords}
    options = None
    if "options" in given and not _is_none(given["options"]):
        options = tuple(read.texts(given["options"])) or (COMPUTED,)
    return Question(read.text(given.get("question")), options, node.lineno)


class _Reader:
    """Reads texts out of expressions. `bound` holds what the file assigns to each name."""

    def __init__(self, bound: dict[str, ast.expr]):
        self.bound = bound

    def texts(self, node: ast.expr, values: bool = False) -> list[str]:
        """The texts of a list; of a dictionary its keys, or its values."""
        node = self._looked_up(node)
        if isinstance(node, ast.Call):
            if _name(node.func) in ("list", "tuple", "sorted") and node.args:
                return self.texts(node.args[0], values)
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "values"):
                return self.texts(node.func.value, node.func.attr == "values")
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.text(item) for item in node.elts]
        if isinstance(node, ast.Dict):
            return [self.text(item) for item in (node.values if values else node.keys)]
        if isinstance(node, ast.DictComp) and not values:
            return self._keys_kept(node)
        return []

    def _keys_kept(self, node: ast.DictComp) -> list[str]:
        """The keys of d, for {key: ... for key, value in d.items()}."""
        source = node.generators[0].iter
        target = node.generators[0].target
        first = target.elts[0] if isinstance(target, ast.Tuple) else target
        over_items = isinstance(source, ast.Call) and _name(source.func) == "items"
        all_of_them = _name(node.key) == _name(first) is not None and not node.generators[0].ifs
        return self.texts(source.func.value) if over_items and all_of_them else []

    def text(self, node: ast.expr | None) -> str:
        """One text, as it will be shown."""
        node = self._looked_up(node)
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(
                self.text(part) if isinstance(part, ast.Constant) else "..." for part in node.values
            )
        return COMPUTED

    def _looked_up(self, node: ast.expr | None) -> ast.expr | None:
        for _ in range(8):  # a name of a name of a name
            if isinstance(node, ast.Name) and node.id in self.bound:
                node = self.bound[node.id]
        return node


def _name(node: ast.expr) -> str | None:
    return getattr(node, "id", getattr(node, "attr", None))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def listing(paths: list[Path]) -> str:
    """All questions of these lessons, with their options, as text for the terminal."""
    lines, total, asking = [], 0, []
    for path in paths:
        try:
            lesson, asked = cells.load(path), questions(path)
        except SyntaxError as error:
            lines += [f"{path.name} does not parse: {error.msg}, line {error.lineno}", ""]
            continue
        if not asked:
            continue
        lines += [paint(lesson.title, "bold"), ""]
        for question in asked:
            lines += wrap(question.text, width(), "  ? ")
            for letter, option in zip(LETTERS, question.options or ()):
                lines += wrap(option, width(), f"    {letter}) ")
            lines.append("")
        total += len(asked)
        asking.append(str(lesson.number))
    told = f"{total} question{'s' * (total != 1)}."
    if asking:
        told += f" A lesson asks its own in --step: {', '.join(asking)}."
    return "\n".join([*lines, *wrap(told, width())])
