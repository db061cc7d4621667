"""The tape: what was computed from what, and how to read it in reverse.

Running an operation writes one line on the tape, a `Node`: which operation, from which inputs,
and what it saved. Backward reads the lines in reverse. An operation can only use what already
exists, so the order in which lines were written is an order in which each line stands after
everything it needs; reversed, each tensor's gradient is complete before it is passed on. That
is the whole of the "topological sort".
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from scratch_embed import watch
from scratch_embed.arguments import array_of, check_unmasked
from scratch_embed.ops import reduce
from scratch_embed.ops.floats import check_learnable
from scratch_embed.rows import RowGrad
from scratch_embed.tensor.adding import adding, summed
from scratch_embed.tensor.borrowed import lent, written_to
from scratch_embed.tensor.copying import copied
from scratch_embed.tensor.sharing import is_shared, owners
from scratch_embed.tensor.stale import warn_of_steps
from scratch_embed.watch import Kept, arrays, clock, has_changed, keep, owner, written_since


class Node(NamedTuple):
    """One line of the tape."""

    line: int  # the time by `watch.clock`, so it orders the tape
    name: str  # of the operation
    inputs: tuple[Any, ...]  # positional arguments as given: Tensors, arrays, numbers
    options: dict[str, Any]  # keyword arguments
    saved: Any  # what forward kept for backward
    kept: list[Kept]  # the arrays in it, and what they looked like
    forward: Callable  # the two halves, as written in ops/
    backward: Callable
    broadcasts: bool  # whether an input may have been stretched to the output's shape
    selective: bool  # whether backward is told which inputs want a gradient
    reads: tuple[tuple[int, ...], ...] | None  # which inputs the gradient of each one reads

    def gradients(self, dout: np.ndarray) -> Iterator[tuple[int, Variable, np.ndarray | RowGrad]]:
        """Run backward once: the place of each input that gets a gradient, itself, and its
        contribution. One tensor may stand at several places.

        Raises RuntimeError when an array that it needs has been written to since forward (see
        `watch`), ValueError for gradients whose number or shape does not fit the inputs.
        """
        for kept in self.kept:
            if has_changed(kept) or written_since(kept[0], self.line):
                self._check_unread(kept[0])
        learns = [isinstance(t, Variable) and t.requires_grad for t in self.inputs]
        needs = {"needs": learns} if self.selective else {}
        grads = lent(self, dout, **needs)
        grads = grads if isinstance(grads, (tuple, list)) else (grads,)
        left = zip(self.inputs[len(grads) :], learns[len(grads) :])  # ids, say, of an own argmax
        if any(it and t.dtype.kind in "fc" for t, it in left) or len(grads) > len(self.inputs):
            raise ValueError(
                f"backward of {self.name} returned {len(grads)} gradients for "
                f"{len(self.inputs)} inputs; return one for each leading array argument, "
                "None for one that has none, and give arrays to it by position, not by name"
            )
        for position, (tensor, grad) in enumerate(zip(self.inputs, grads)):
            if isinstance(tensor, Variable) and tensor.requires_grad and grad is not None:
                yield position, tensor, self._fit(grad, tensor, position)

    def as_of_now(self) -> Node:
        """For a copy, whose arrays and times are its own: what was written to is known as such."""
        return self._replace(kept=[watch.to_copy(kept, self.line) for kept in self.kept])

    def _check_unread(self, array: np.ndarray) -> None:
        """Raise the error for a kept array that was written to, unless no gradient reads it."""
        given = [t._held() if isinstance(t, Variable) else t for t in self.inputs]
        places = [
            place
            for place, value in enumerate(given)
            if isinstance(value, np.ndarray) and np.may_share_memory(value, array)
        ]
        if self.reads and places and len(self.inputs) <= len(self.reads):
            learning = [i for i, t in enumerate(self.inputs) if getattr(t, "requires_grad", False)]
            if not any(place in self.reads[i] for i in learning for place in places):
                return
        what = f"an array of shape {array.shape}, its output or one of its own,"
        if places:
            one = self.inputs[places[0]]
            name = getattr(one, "name", None) or (isinstance(one, Variable) and one.origin().name)
            what = f"its input {places[0]}{f', {name},' if name else ''} of shape {array.shape}"
        raise RuntimeError(
            f"{self.name} kept {what} and backward needs it as it was, but it has been written to "
            "since forward: run forward again before backward, detach() what is carried on from an "
            "earlier step, or write to a copy, as in t.data = t.data - step"
        )

    def _fit(self, grad, tensor: Variable, position: int) -> np.ndarray | RowGrad:
        """Undo broadcasting, and hold the gradient to the shape and dtype of its tensor."""
        if not isinstance(grad, RowGrad):
            what, kind = f"a gradient that backward of {self.name} returned", type(grad).__name__
            grad = array_of(grad, what)
            if grad.dtype.kind not in "biufc":
                raise ValueError(f"{what} is a {kind}, and must be an array of numbers")
            if self.broadcasts:
                grad = reduce.unbroadcast(grad, tensor.shape)
        if grad.shape != tensor.shape:
            raise ValueError(
                f"backward of {self.name} returned a gradient of shape {grad.shape} for input "
                f"{position}, whose shape is {tensor.shape}; they must be equal"
            )
        return grad.astype(tensor.dtype, copy=False)


class Variable:
    """What the tape knows of a Tensor: its numbers, their gradient, and the line that wrote them.

    Everything else that one does with a Tensor is in `reading.py` and `tensor.py`.
    """

    __slots__ = (
        "data", "grad", "requires_grad", "retains_grad", "name", "node", "computed", "_stand_in",
        "__weakref__",
    )  # fmt: skip

    data: np.ndarray
    grad: np.ndarray | RowGrad | None
    requires_grad: bool
    retains_grad: bool  # whether backward leaves a gradient here although it is no leaf
    name: str | None
    node: Node | None  # None for a leaf, and for what was computed while nothing was recorded
    computed: bool  # whether an operation made it

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)

    def __getstate__(self) -> tuple:
        """What is copied or pickled. A view of a leaf, such as E.T, becomes one of its copy."""
        own, slots = super().__getstate__()
        leaf = self.origin()
        made_of = self.node.inputs[0] if self.node else None
        view = leaf is not self and leaf.node is None and not isinstance(made_of, StandIn)
        node = self.node and self.node.as_of_now()
        return own, slots | {"node": node} | ({"data": None} if view else {})

    def __deepcopy__(self, memo: dict) -> Variable:
        return copied([*reversed(tape(self))], memo)

    def origin(self) -> Variable:
        """The tensor whose numbers these are, as E for E.T; itself where it is no view."""
        tensor = self
        while tensor.node and tensor._is_view():
            tensor = tensor.node.inputs[0]
        return tensor

    def _is_view(self) -> bool:
        """Whether its numbers are some of those of what it was made of."""
        source, whole = self.node.inputs[0], self._whole()
        return whole is not None and isinstance(source, Variable) and source._whole() is whole

    def __setstate__(self, state: tuple) -> None:
        """From a pickle: its line is written anew, after those of its inputs, for another process
        may have counted them."""
        own, slots = state  # of a class that was made of this one, and those above
        for name, value in {**(own or {}), **slots}.items():
            setattr(self, name, value)
        if self.node:
            kept = [watch.copied(each) for each in self.node.kept]
            self.node = self.node._replace(line=next(clock), kept=kept)
        if slots.get("data", self) is None:
            given = [t.data if isinstance(t, Variable) else t for t in self.node.inputs]
            self.data = self.node.forward(*given, **self.node.options)[0]

    def backward(self, grad: np.ndarray | None = None) -> None:
        """Add d(sum(self * grad)) / d(leaf) to `.grad` of every leaf that requires it.

        `grad` defaults to 1 for a scalar and must be given, in this tensor's shape, otherwise. It
        is copied, for the gradient of a sparse lookup is summed from it later; an array that
        nobody can write to any more (`grad.setflags(write=False)`) is not.

        The tape is kept: a second backward adds the same gradients once more. Several Python
        threads may run backward at once, also into the same leaves: nothing is lost, and only the
        order in which they add is theirs. When an error is raised, no `.grad` has changed.

        Raises RuntimeError when nothing here requires a gradient, and when an array that the way
        back needs has been written to since forward, as by an optimiser's step: what is noticed,
        and what is not, is in `watch`. ValueError for a `grad` that is missing or does not fit, and
        for a `.grad` that does not; TypeError where a gradient would have to be a whole number.
        """
        found = _gradients(self, self._seed(grad))
        with adding:
            for tensor, total in found:
                tensor._check_old(total)
            # Sums first: what stops here, as Ctrl-C, leaves no half of the gradients added to.
            sums = [g if tensor.grad is None else summed(tensor.grad, g) for tensor, g in found]
            before = [tensor.grad for tensor, _ in found]
            try:
                _set(found, sums)
            except BaseException:
                _set(found, before)
                raise

    def _held(self) -> np.ndarray | None:
        """The numbers, where somebody still holds them."""
        return self.data

    def _whole(self) -> np.ndarray | None:
        """What they are a view of, or are themselves, where somebody still holds that."""
        return owner(self.data)

    def retain_grad(self) -> None:
        """Let backward leave a gradient in `.grad` here too, though an operation made this tensor.

        It is the gradient of the tensor as a whole: the sum of what all its uses send back.
        """
        if not self.requires_grad:
            raise RuntimeError("retain_grad() of a tensor that requires no gradient")
        if hasattr(self, "_stand_in"):
            raise RuntimeError(
                "retain_grad() comes too late for a lean tape: call it before the tensor is used"
            )
        self.retains_grad = True

    def stand_in(self) -> Variable:
        """What a lean tape holds in place of this tensor: itself when it is a leaf or retains a
        gradient; otherwise all but its numbers, which are free when nobody else holds them."""
        if self.node is None or self.retains_grad:
            return self
        if not hasattr(self, "_stand_in"):
            self._stand_in = StandIn(self)
        return self._stand_in

    def _seed(self, grad) -> np.ndarray:
        if not self.requires_grad:
            raise RuntimeError(
                "backward() from a tensor that requires no gradient: none of what it was "
                "computed from has requires_grad=True, or it was computed under no_grad()"
            )
        if grad is None:
            if self.size != 1:
                raise ValueError(
                    f"backward() of a tensor of shape {self.shape} needs a gradient of that "
                    "shape; only a scalar has 1 as its natural start, e.g. use .sum().backward()"
                )
            return np.ones(self.shape, self.dtype)
        check_unmasked(grad, "grad")
        if np.iscomplexobj(grad) and self.dtype.kind != "c":
            raise TypeError(f"grad is complex, and the tensor {self.dtype}; give grad.real")
        frozen = isinstance(grad, np.ndarray) and grad.base is None and not grad.flags.writeable
        take = np.asarray if frozen and self.node else np.array  # a leaf keeps what it is given
        grad = take(grad, dtype=self.dtype)
        if grad.shape != self.shape:
            raise ValueError(f"gradient of shape {grad.shape} for a tensor of shape {self.shape}")
        return grad

    def _check_old(self, grad: np.ndarray | RowGrad) -> None:
        check_unmasked(self.grad, ".grad")
        if self.grad is not None and np.shape(self.grad) != grad.shape:
            raise ValueError(
                f".grad of {self.name or 'a leaf'} has shape {np.shape(self.grad)}, so nothing of "
                f"shape {grad.shape} can be added to it; set .grad = None to begin again"
            )


class StandIn(Variable):
    """The place of a tensor on a lean tape, without its numbers."""

    __slots__ = ("shape", "dtype", "_held", "_whole")

    def __init__(self, tensor: Variable):
        self._held, self._whole = weakref.ref(tensor.data), weakref.ref(owner(tensor.data))
        self.shape, self.dtype, self.name = tensor.shape, tensor.dtype, tensor.name
        self.node, self.requires_grad, self.retains_grad = tensor.node, tensor.requires_grad, False

    def __getstate__(self) -> tuple:
        """What is copied or pickled is a stand-in whose numbers nobody holds."""
        own, slots = super(Variable, self).__getstate__()
        now = {"node": self.node and self.node.as_of_now(), "_held": _nobody, "_whole": _nobody}
        return own, slots | now

    @property
    def data(self) -> np.ndarray:
        raise AttributeError(
            f"the numbers of this tensor of shape {self.shape} were not kept: compute it again "
            "outside lean() to look at them"
        )


def _nobody() -> None:
    """`_held` and `_whole` of a stand-in that came from elsewhere."""


def tape(root: Variable) -> list[Variable]:
    """Every tensor that requires a gradient and that `root` was computed from, last line first.

    Leaves, which no line wrote, come at the end. No recursion: a chain of any length works.
    """
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop().node
        for parent in node.inputs if node else ():
            if isinstance(parent, Variable) and parent.requires_grad and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=lambda t: t.node.line if t.node else -1, reverse=True)


def _gradients(root: Variable, seed: np.ndarray) -> list[tuple[Variable, np.ndarray | RowGrad]]:
    """The gradient of every leaf, and of whoever retains one: one walk from `root` to the leaves.

    No backward writes to its dout, nor to what it has handed back; one that does so here is told.
    """
    pending, found = {root: keep(seed)}, []
    for tensor in tape(root):
        arrived = pending.pop(tensor, None)
        if arrived is None:  # no gradient came this way
            continue
        dout, node = arrived[0], tensor.node
        check_learnable(tensor.dtype, node.name if node else None)
        if node is None:
            found.append((tensor, dout))
        else:
            if isinstance(dout, RowGrad):  # only a leaf keeps the rows apart
                dout = dout.to_dense()
            if tensor.retains_grad:
                found.append((tensor, dout.copy()))
            parts = list(node.gradients(dout))
            taken = None
            for _, parent, part in parts:
                if parent in pending:
                    part = summed(pending[parent][0], part)
                elif parent.node is None:  # a leaf owns its `.grad`
                    taken = taken or owners([dout, *arrays(node.saved), *(p for *_, p in parts)])
                    part = part.copy() if is_shared(part, taken) else part
                pending[parent] = keep(part)
            warn_of_steps(node, tensor._whole())
        if has_changed(arrived):
            where = f"backward of {node.name}" if node else f"the leaf {tensor.name or ''}".strip()
            raise written_to(where)
    return found


def _set(found: list[tuple[Variable, Any]], grads: list) -> None:
    for (tensor, _), grad in zip(found, grads):
        tensor.grad = grad
