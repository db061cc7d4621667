"""Step through a calculation: every line of its tape forward, then every line backward.

    from scratch_embed.trace import step, trace

    step(loss)                       # a key a step, in the names of your variables
    walk = trace(loss)
    print(walk)                      # the whole story in text
    walk.entry(5)                    # one entry of step 5 worked out: rule, numbers, nudge, code
    walk.backward[0].parts           # its steps as arrays
    walk.html("trace.html")          # a page to walk through, in one file
    walk.figure(5)                   # the graph after five steps, as a matplotlib Figure
    walk.figure(8, (0, (2, 1)))      # ... with entry [2, 1] of step 8 marked and worked out

Nothing in the engine prints or calls back for this: the tape holds all there is to tell.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Tensor, tape
from scratch_embed.trace.choice import Choice, checked
from scratch_embed.trace.names import Names, variables
from scratch_embed.trace.replay import alike, rerun
from scratch_embed.trace.walk import BackwardStep, ForwardStep, walk_backward, walk_forward
from scratch_embed.watch import written_since
from scratch_embed.working import Line, Working

__all__ = [
    "BackwardStep", "Collected", "ForwardStep", "State", "Trace", "step", "trace", "traced",
    "variables",
]  # fmt: skip


def trace(loss: Tensor, /, grad: np.ndarray | None = None, **names: Tensor) -> Trace:
    """Walk the tape of `loss` and return every step, forward and backward.

    grad : as in `loss.backward(grad)`: 1 for a scalar, to be given otherwise.
    names : what to call tensors, e.g. trace(loss, h=h). Others go by their own name, else by
        that of the variable or attribute that holds them, else by the operation that made them.

    `.grad` of the tensors is neither read nor changed, and the gradients found are, bit by bit,
    those that `loss.backward(grad)` would add. Raises TypeError for what is not a Tensor, and what
    backward() raises: RuntimeError when nothing requires a gradient, ValueError for a missing or
    ill-shaped `grad`.

    >>> a = Tensor(1.0, requires_grad=True, name="a")
    >>> b = a + a
    >>> walk = trace(b * b, b=b)
    >>> [step.expression for step in walk.forward]
    ['add(a, a)', 'mul(b, b)']
    >>> [(part.parent, float(part.value), float(part.total)) for part in walk.backward[1].parts]
    [('a', 4.0, 4.0), ('a', 4.0, 8.0)]
    """
    for name, tensor in {"loss": loss, **names}.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"trace: {name} is a {type(tensor).__name__}, not a Tensor")
    caller = sys._getframe(1)
    return traced(loss, grad, names, variables(caller.f_locals, caller.f_globals))


def traced(loss: Tensor, grad, names: dict[str, Tensor], scope: dict[int, str]) -> Trace:
    """`trace`, with the variables to name tensors by: `names.variables` of a frame's."""
    start = loss._seed(grad)
    tensors = tape(loss)
    for tensor in tensors:
        tensor.data  # noqa: B018 - of a lean tape, which has no numbers to tell, this is an error
        _check_unmoved(tensor)
    book = Names(tensors, names, scope)
    forward = walk_forward(tensors, book)
    for at in forward:
        _check_same(at)
    backward, gradients = walk_backward(tensors, start, book)
    leaves = {book.of(tensor): book.kept(tensor) for tensor in tensors if tensor.node is None}
    return Trace(book.of(loss), start, forward, backward, leaves, gradients)


def _check_unmoved(tensor: Tensor) -> None:
    """RuntimeError where an optimiser has moved an input since, whose numbers are others now."""
    node = tensor.node
    for value in node.inputs if node is not None else ():
        if isinstance(value, Tensor) and written_since(value.data, node.line):
            raise RuntimeError(
                f"{value.name or 'an input'} of {node.name} has been written to since forward, as "
                "by a step of an optimiser: run forward again before it is told"
            )


def _check_same(at: ForwardStep) -> None:
    """RuntimeError where a step would give something else today: somebody has written to its input,
    as `E.data -= lr * E.grad` does."""
    given = {place: one.value for place, one in enumerate(at.inputs)}
    try:
        again = rerun(at, given)
        moved = not alike(again, at.out) and alike(again, rerun(at, given))
    except TypeError:  # it draws random numbers, or writes to what it is given
        return
    if moved:
        raise RuntimeError(
            f"{at.expression} gives other numbers than it did: one of these has been written to "
            "since forward, as by a step; run forward again before it is told"
        )


def step(loss: Tensor, /, grad: np.ndarray | None = None, **names: Tensor) -> None:
    """Step through a calculation, forward and back: in a terminal a key a step, elsewhere as text.

    The arguments are those of `trace`. Enter goes on, b back, the arrows choose an entry, i enters
    the code of the operation, ? lists the keys. Where nobody can type, as in a pipe, the whole
    story is printed.
    """
    caller = sys._getframe(1)
    walk = traced(loss, grad, names, variables(caller.f_locals, caller.f_globals))
    if not all(getattr(stream, "isatty", lambda: False)() for stream in (sys.stdin, sys.stdout)):
        print(walk)
        return
    from scratch_embed.trace.stepping import Walk  # here: only a person who types needs keys

    Walk(walk).go()


class Collected(NamedTuple):
    """A gradient as far as it has been collected."""

    value: np.ndarray | RowGrad
    number: int  # parts so far
    of: int  # parts there will be

    @property
    def complete(self) -> bool:
        return self.number == self.of


class State(NamedTuple):
    """What is known after some steps. A name that is absent has not been computed yet."""

    values: dict[str, np.ndarray]
    gradients: dict[str, Collected]


class Trace:
    """The walk along a tape.

    Attributes
    ----------
    loss : name of the tensor it started from
    forward : list of ForwardStep, in the order they were computed
    backward : list of BackwardStep, in the order backward takes them
    gradients : {leaf: its whole gradient}; a leaf that no gradient reaches is not in it
    leaves : names of the tensors that require a gradient and that nobody computed
    sources : {name: array} of all that nobody computed: leaves, ids, constants

    A step is counted from 1 to len(trace): first the forward ones, then the backward ones. Step 0
    is the moment before anything was computed.
    """

    def __init__(self, loss: str, start: np.ndarray, forward: list[ForwardStep],
                 backward: list[BackwardStep], leaves: dict, gradients: dict):  # fmt: skip
        self.loss, self.start = loss, start
        self.forward, self.backward = forward, backward
        made = {step.name for step in forward}
        inputs = {i.name: i.value for step in forward for i in step.inputs if i.name}
        self.sources = {name: array for name, array in inputs.items() if name not in made} or leaves
        self.leaves = [name for name in self.sources if name in leaves]  # in order of first use
        self.gradients = {name: gradients[name] for name in self.leaves if name in gradients}

    @cached_property
    def forward_of(self) -> dict[str, ForwardStep]:
        """{name: the step that computed it}."""
        return {step.name: step for step in self.forward}

    @property
    def wanted(self) -> list[str]:
        """Every tensor that is to have a gradient: the computed, last first, then the leaves."""
        return [*(step.name for step in reversed(self.forward)), *self.leaves]

    def __len__(self) -> int:
        return len(self.forward) + len(self.backward)

    @property
    def steps(self) -> list[ForwardStep | BackwardStep]:
        """Forward, then backward: step k is steps[k - 1]."""
        return [*self.forward, *self.backward]

    def position(self, step: int | None) -> int:
        """The step, checked: None is the last. Raises IndexError outside 0..len(trace), TypeError
        for what is no whole number."""
        try:
            step = len(self) if step is None else operator.index(step)
        except TypeError:
            raise TypeError(f"step is {step!r}; it must be a whole number, or None") from None
        if not 0 <= step <= len(self):
            raise IndexError(
                f"step is {step}; this trace has steps 0 (nothing computed) to {len(self)} "
                f"({len(self.forward)} forward, then {len(self.backward)} backward)"
            )
        return step

    def state(self, step: int | None = None) -> State:
        """The values and gradients that are known after so many steps, all of them by default."""
        step = self.position(step)
        values = dict(self.sources)
        values.update((s.name, s.out) for s in self.forward[:step])
        gradients = {}
        if step > len(self.forward) or not self.forward:
            gradients[self.loss] = Collected(self.start, 1, 1)
        for back in self.backward[: max(0, step - len(self.forward))]:
            for part in back.parts:
                gradients[part.parent] = Collected(part.total, part.number, part.of)
        return State(values, gradients)

    @cached_property
    def touched(self) -> dict[str, np.ndarray]:
        """{name: flat positions of the rows that its sparsest part names}, to elide tables around.

        A tied table gets a gradient in every row from the projection and in few from the lookup;
        the few are the ones worth showing.
        """
        rows: dict[str, np.ndarray] = {}
        for part in (part for step in self.backward for part in step.parts):
            if len(part.value.shape) < 2:
                continue
            if isinstance(part.value, RowGrad):
                found = part.value.rows
            else:
                found = np.flatnonzero((part.value != 0).any(axis=-1))  # flat positions
            if part.parent not in rows or len(found) < len(rows[part.parent]):
                rows[part.parent] = found
        return rows

    @np.errstate(all="ignore")  # what is infinite or no number is shown
    def entry(self, step: int, entry: tuple | None = None) -> Working:
        """One entry of what a step gives, worked out with its numbers, its nudge and its code.

        entry : (which part, counted from 0; its index). None takes the largest entry. Only what
        this entry needs is computed. Raises IndexError for an entry that is not there.
        """
        from scratch_embed.trace.entry import backward_entry
        from scratch_embed.trace.forwards import forward_entry

        step = self.position(step)
        choice = checked(self, step, _chosen(entry)) if step else None
        if choice is None:
            raise IndexError(f"step {step} gives no numbers to choose from")
        at = self.steps[step - 1]
        if isinstance(at, ForwardStep):
            return self._told_apart(forward_entry(at, choice.index), at)
        worked = backward_entry(self, at, at.parts[choice.part], choice.index)
        return self._told_apart(worked, self.forward_of[at.name])

    def _told_apart(self, working: Working, at: ForwardStep) -> Working:
        """The working, with a word on each name in its rule that a tensor has as well."""
        from scratch_embed.trace.rule import made_inside

        rule, *others = working.lines
        told = " ".join(Working("", (rule,)).text(everything=True).split())
        shared = made_inside(at) & {*self.sources, *self.forward_of} & set(re.findall(r"\w+", told))
        notes = [Line("", (f"{name} here is made inside {at.op}: the tensor {name} is another",))
                 for name in sorted(shared)]  # fmt: skip
        return replace(working, lines=(rule, *notes, *others))

    def text(self, step: int | None = None, columns: int = 80, entry: tuple | None = None) -> str:
        """One step in words and numbers, within `columns`; step 0 is the plan of the walk.

        entry : the one that is worked out, as in `entry`.
        """
        from scratch_embed.trace.text import page

        return page(self, self.position(step), columns, choice=_chosen(entry))

    def __str__(self) -> str:
        from scratch_embed.trace.text import story

        return story(self)

    def __repr__(self) -> str:
        counts = f"{len(self.forward)} steps forward, {len(self.backward)} backward"
        return f"<trace of {self.loss}: {counts}>"

    def _repr_html_(self) -> str:
        """What Jupyter shows: the plan, and a fold for each step."""
        from scratch_embed.trace.text import page_of

        return page_of(self)

    def html(self, path: str | Path) -> Path:
        """Write the walk as one HTML file that works without a network. Returns the path.

        Enter, b and the arrows do what they do in the terminal, among 40 entries of a step at most,
        and of fewer where each nudge computes a large loss again. A page that is there is replaced.
        Raises ValueError for a trace of more steps than a page holds and for a path that does not
        end in .html or .htm, OSError where the file cannot be written.
        """
        from scratch_embed.trace.page import write

        return write(self, path)

    def figure(self, step: int | None = None, entry: tuple | None = None):
        """The graph with its values and gradients after `step`, as a matplotlib Figure.

        entry : (which part, its index) of what the step gives, to be marked and worked out above
        the graph; None: no entry.

        Raises IndexError for a step or an entry that is not there, ValueError for a graph too large
        to read.
        """
        from scratch_embed.trace.figure import draw

        return draw(self, self.position(step), _chosen(entry))

    def frames(self) -> Iterator:
        """A figure for each step from 0 to the last, all of one size, for an animation."""
        for step in range(len(self) + 1):
            yield self.figure(step)

    def dot(self, step: int | None = None, entry: tuple | None = None) -> str:
        """The graph after `step` in the language of Graphviz, with an entry as in `figure`."""
        from scratch_embed.trace.dot import dot

        return dot(self, self.position(step), _chosen(entry))


def _chosen(entry: tuple | None) -> Choice | None:
    if entry is None:
        return None
    try:
        part, index = entry
        return Choice(operator.index(part), tuple(map(operator.index, index)))
    except (TypeError, ValueError):
        raise TypeError(
            f"entry is {entry!r}; it is (part, index), as (0, (1, 2)): which of the arrays that "
            "the step gives, and where in it"
        ) from None
