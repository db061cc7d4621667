"""Into an operation: the very lines of code that run, each with the shapes and numbers it made."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Tensor
from scratch_embed.trace import inside
from scratch_embed.trace.arrays import lines, shape
from scratch_embed.trace.inside import Row, Visit
from scratch_embed.trace.moment import Size
from scratch_embed.trace.names import Same
from scratch_embed.trace.walk import ForwardStep

MOST = 4  # lines of what is no array

if TYPE_CHECKING:
    from scratch_embed.trace import Trace


def visit_of(trace: Trace, step: int) -> Visit:
    """Run the forward or the backward of a step once more, on the numbers of its moment.

    Raises TypeError for a half without Python code, or that would draw other random numbers.
    """
    at = trace.steps[step - 1]
    made = trace.forward_of[at.name]
    return forward_of(made) if isinstance(at, ForwardStep) else backward_of(made, at.incoming)


def forward_of(made: ForwardStep) -> Visit:
    """The forward of a step, run once more."""
    node, values = made.node, [given.value for given in made.inputs]
    if any(isinstance(v, np.random.Generator) for v in (*values, *node.options.values())):
        raise TypeError(f"{made.op} draws random numbers, and would draw others this time")
    return inside.walk(node.forward, *values, **node.options)


def backward_of(made: ForwardStep, incoming: np.ndarray) -> Visit:
    """The backward of a step, run once more on the gradient that arrived."""
    node = made.node
    learns = [isinstance(t, Tensor) and t.requires_grad for t in node.inputs]
    needs = {"needs": learns} if node.selective else {}
    return inside.walk(node.backward, incoming, saved_by(made), **needs)


def saved_by(made: ForwardStep) -> Any:
    """What forward saved, with the numbers that it had then."""
    values = [v.value if isinstance(v, Same) else v for v in made.saved.values()]
    values = [list(v) if isinstance(v, list) else v for v in values]
    saved = made.node.saved
    if hasattr(saved, "_asdict"):
        return type(saved)(*values)
    return tuple(values) if isinstance(saved, tuple) else values[0]


def blocks(visit: Visit, columns: int = 80, most: int = 4) -> list[list[str]]:
    """The visit as lines of text, a block for the call and one for every statement that ran."""
    head = f"{visit.name}({', '.join(visit.given)})"
    first = textwrap.wrap(head, columns, subsequent_indent="    ")
    for name, value in visit.given.items():
        first += told(name, value, columns, most)
    return [first, *_statements(visit, columns, most, 0)]


def _statements(visit: Visit, columns: int, most: int, depth: int) -> list[list[str]]:
    """A block for every statement that ran, and one for those that are left out."""
    found = [block for row in visit.rows for block in _statement(row, columns, most, depth)]
    if visit.left_out:
        found.append([f"{'':<{2 * depth}}... {visit.left_out:,} statements more"])
    if visit.last is not None:
        found += _statement(visit.last, columns, most, depth)
    return found


def _statement(row: Row, columns: int, most: int, depth: int) -> list[list[str]]:
    """A block for a statement, then those of the calls that it made into the same file."""
    source = row.source.splitlines()
    lead = f"{'':<{2 * depth}}{row.number:>4}  "
    block = []
    for k, text in enumerate(source):
        left = lead if k == 0 else " " * len(lead)
        block += textwrap.wrap(left + text, columns, subsequent_indent=" " * (len(lead) + 4),
                               drop_whitespace=False, break_on_hyphens=False)  # fmt: skip
    for name, value in row.made.items():
        block += told(name, value, columns, most, len(lead))
    found = [block]
    for visit in row.inner:
        found.append([f"{'':<{2 * depth + 6}}in {visit.name}:"])
        found += _statements(visit, columns, most, depth + 1)
    return found


def told(name: str, value: Any, columns: int, most: int, indent: int = 6) -> list[str]:
    """A name and what it holds: the shape and numbers of an array, anything else in short."""
    left = " " * indent
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        held = [f"{field} {_short(item)}" for field, item in value._asdict().items()]
        return textwrap.wrap(f"{name}: {', '.join(held)}", columns, initial_indent=left,
                             subsequent_indent=left + "  ")  # fmt: skip
    if isinstance(value, (np.ndarray, RowGrad)) and value.shape:
        numbers = lines(value, columns=columns - indent - 2, most=most)
        return [f"{left}{name} {shape(value)}", *(f"{left}  {line}" for line in numbers)]
    if isinstance(value, tuple):
        return [line for k, item in enumerate(value)
                for line in told(f"{name}[{k}]", item, columns, most, indent)]  # fmt: skip
    said = textwrap.wrap(f"{name} = {_short(value)}", columns, initial_indent=left,
                         subsequent_indent=left + "  ")  # fmt: skip
    return said if len(said) <= MOST else [*said[:MOST], f"{left}  ..."]


def _short(value: Any) -> str:
    if isinstance(value, (np.ndarray, RowGrad, Size)) and value.shape:
        return str(tuple(map(int, value.shape)))
    if isinstance(value, (float, np.floating, np.ndarray)):
        return f"{float(value):.4g}"
    return " ".join(repr(value).split())
