"""The reference: signatures and docstrings of what a user may import, a page a module."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from types import ModuleType
from typing import Any

from scratch_embed.book.markdown import code, fence, plain

# The modules in the order in which a reader meets them.
MODULES = (
    "tensor", "functional", "layers", "optim", "rows", "models", "gradcheck", "trace", "kernels",
    "geometry", "hashing", "images", "positions", "sizes", "plot", "checkpoint", "disk", "contest",
    "text.corpus", "text.pairs", "text.bpe", "text.word2vec", "text.ppmi", "text.vectors",
    "lesson", "lesson.worked", "working",
)  # fmt: skip
ITEM = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*) : (.*)")
SPACED = re.compile(r"\S {3,}\S")  # columns: it is laid out on purpose


def page(name: str) -> str:
    """The page of one module, as Markdown."""
    module = importlib.import_module(f"scratch_embed.{name}")
    parts = [f"# {name}", fence("{py:module} " + module.__name__, ""), *docstring(module)]
    parts += [_member(module, *member) for member in members(module)]
    return "\n\n".join(parts) + "\n"


def members(module: ModuleType) -> list[tuple[str, Any]]:
    """The public names of a module, in its order: functions and classes."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and _is_own(module, value)
    ]
    found = [(name, getattr(module, name)) for name in names]
    return [(name, value) for name, value in found if callable(value)]


def _is_own(module: ModuleType, value: Any) -> bool:
    """Whether the module makes it; functional makes its operations of functions from ops."""
    home = getattr(value, "__module__", "") or ""
    makes = home == module.__name__ or hasattr(value, "backward") and hasattr(value, "forward")
    return callable(value) and makes


def _member(module: ModuleType, name: str, value: Any) -> str:
    kind = "py:class" if inspect.isclass(value) else "py:function"
    parts = docstring(value)
    if inspect.isclass(value):
        parts += [_method(name, *method) for method in methods(value)]
    head = f"{{{kind}}} {name}{signature(value)}"
    return fence(head, "\n\n".join([f":module: {module.__name__}", *parts]))


def methods(cls: type) -> list[tuple[str, Any]]:
    """The public methods and properties that a class, or what it is built on, says of itself."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("scratch_embed")]
    found: dict[str, Any] = {}
    for base in ours:
        for name, value in vars(base).items():
            said = getattr(value, "__func__", value)
            documented = callable(said) or isinstance(said, property)
            if not name.startswith("_") and documented and inspect.getdoc(said):
                found.setdefault(name, said)
    return list(found.items())


def _method(owner: str, name: str, value: Any) -> str:
    kind = "py:property" if isinstance(value, property) else "py:method"
    bare = "" if isinstance(value, property) else signature(value, bound=True)
    return fence(f"{{{kind}}} {owner}.{name}{bare}", "\n\n".join(docstring(value)))


def signature(value: Any, bound: bool = False) -> str:
    """(weight: Tensor | np.ndarray, ids, ...) -> Tensor, as the function says itself."""
    from sphinx.util.inspect import stringify_signature

    try:
        said = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    if bound:
        said = said.replace(parameters=list(said.parameters.values())[1:])
    return " ".join(stringify_signature(said, unqualified_typehints=True).split())


def docstring(value: Any) -> list[str]:
    """A docstring as blocks of Markdown. What is laid out in columns or indented stays so."""
    text = inspect.getdoc(value) or ""
    blocks = [block.strip("\n") for block in re.split(r"\n[ \t]*\n", text)]
    return [_block(block) for block in _joined(blocks) if block]


def _joined(blocks: list[str]) -> list[str]:
    """Examples and indented blocks that follow each other, as one."""
    joined: list[str] = []
    for block in blocks:
        follows = joined and _laid_out(joined[-1]) and _laid_out(block)
        if follows and joined[-1].startswith(">>>") == block.startswith(">>>"):
            joined[-1] += "\n\n" + block
        else:
            joined.append(block)
    return joined


def _laid_out(block: str) -> bool:
    return block.startswith((">>>", "    "))


def _block(block: str) -> str:
    lines = block.splitlines()
    if block.startswith(">>>"):
        return code(block, "pycon")
    if len(lines) > 1 and re.fullmatch("-{3,}", lines[1]):
        rest = "\n".join(lines[2:])
        return f"*{plain(lines[0])}*" + (f"\n\n{_block(rest)}" if rest else "")
    if ITEM.match(lines[0]) and all(ITEM.match(line) or line.startswith(" ") for line in lines):
        return _items(lines)
    if SPACED.search(block) or any(line.startswith("  ") for line in lines):
        return code(textwrap.dedent(block), "text", "formula")
    return plain(" ".join(lines))


def _items(lines: list[str]) -> str:
    items: list[str] = []
    for line in lines:
        if match := ITEM.match(line):
            items.append(f"- `{match[1]}` : {plain(match[2])}")
        else:
            items[-1] += " " + plain(line.strip())
    return "\n".join(items)
