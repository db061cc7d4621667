"""Backward once more, told part by part: which operation handed which gradient to which tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.gradcheck.numeric import EPS
from scratch_embed.ops.bag import BagSaved
from scratch_embed.ops.lookup import LookupSaved
from scratch_embed.ops.reduce import unbroadcast
from scratch_embed.tensor import Node, Tensor, tape
from scratch_embed.watch import arrays, clock

LONG = 1.23456789e-3  # of a nudge: no number that float32 holds
HUGE = 1e150  # beside the rest of a table


class Part(NamedTuple):
    """What one operation contributed to the gradient of one of its inputs."""

    node: Node
    dout: np.ndarray  # the gradient that arrived at the operation's output
    out: np.ndarray  # that output
    tensor: Tensor  # the input
    place: int  # which of the operation's arguments it is
    grad: np.ndarray  # the contribution, dense; zeros when backward returned None


class Walk(NamedTuple):
    grads: dict[Tensor, np.ndarray]  # the total gradient of every tensor on the tape
    parts: list[Part]  # what they are sums of, in the order of backward
    overwrites: list[str]  # operations whose backward wrote into what it was given


class BackwardFailed(Exception):
    """The backward of an operation raised an error; its text names the operation."""


def walk(out: Tensor, cotangent: np.ndarray, instead: Callable[[Part], np.ndarray] | None = None):
    """Go through the tape of `out` as `out.backward(cotangent)` does, and keep everything: a Walk.

    instead : what to go on with in the place of each contribution.

    Raises BackwardFailed from the error that the backward of an operation raised.
    """
    pending, parts, overwrites = {out: cotangent}, [], []
    for tensor in tape(out):
        dout, node = pending.get(tensor), tensor.node
        if dout is None or node is None:
            continue
        given, kept = dout.copy(order="K"), [array.copy() for array in arrays(node.saved)]
        try:
            contributions = list(_contributions(node, given))
        except Exception as error:  # whatever a learner's own backward may raise
            raise BackwardFailed(node.name) from error
        for place, parent, grad in contributions:
            part = Part(node, dout, tensor.data, parent, place, grad)
            grad = grad if instead is None else instead(part)
            parts.append(part)
            pending[parent] = pending[parent] + grad if parent in pending else grad
        if not same_bits(given, dout):
            overwrites.append(f"backward of {node.name} writes into dout, which it only borrows")
        if not unchanged(node, kept):
            overwrites.append(changes_saved(node))
    return Walk(pending, parts, overwrites)


@np.errstate(all="ignore")  # infinity times 0 is left out
def rounding_inside(parts: list[Part]) -> float:
    """What a last digit of every number computed on the way makes of the loss, by chance.

    Beside a mask of -1e9 that is more than nudges show: of short ones nothing is left.
    """
    moves = [np.ravel(part.tensor.data * part.grad) for part in parts if part.tensor.node]
    whole = np.concatenate([np.zeros(1), *moves])
    return float(EPS * np.sqrt((whole[np.isfinite(whole)] ** 2).sum()))


def unchanged(node: Node, kept: list[np.ndarray]) -> bool:
    """Whether the arrays that forward saved are still as they were when they were `kept`."""
    return all(same_bits(a, b) for a, b in zip(kept, arrays(node.saved)))


def changes_saved(node: Node) -> str:
    """What is wrong with it where they are not."""
    return f"backward of {node.name} changes what its forward saved"


def _contributions(node: Node, dout: np.ndarray) -> Iterator[tuple[int, Tensor, np.ndarray]]:
    """Every input that wants a gradient: its place, itself, and its part, 0 when it gets none."""
    given = {at: grad for at, _, grad in node.gradients(dout)}
    for place, parent in enumerate(node.inputs):
        if not (isinstance(parent, Tensor) and parent.requires_grad):
            continue
        grad = np.zeros(parent.shape)
        if place in given:
            grad = np.array(np.asarray(given[place]), dtype=float)
        yield place, parent, grad


def answers(part: Part, dout: np.ndarray) -> list[np.ndarray]:
    """What the same backward contributes to this input for another dout; none where it is None.

    A table that a nudge took beyond its max_norm was put back: it is known by its numbers, and not
    by when it was written to.
    """
    grads = part.node._replace(line=next(clock)).gradients(dout)
    return [np.asarray(grad) for place, _, grad in grads if place == part.place]


def nodes_of(parts: Iterable[Part]) -> list[Node]:
    """The operations that contributed these, each once, in the order of backward."""
    return list({part.node.line: part.node for part in parts}.values())


def looked_up(part: Part) -> np.ndarray | None:
    """The ids whose rows an operation copied out of a table, or None when it did something else.

    Operations of the package keep their ids in what they save. Any other is asked: shown a table of
    random numbers, a lookup answers with rows of it, bit for bit. A sum or a mean of rows does not,
    and neither does a transpose, which a table of equal rows could not tell from a lookup.
    """
    node, table = part.node, part.tensor.data
    if isinstance(node.saved, (LookupSaved, BagSaved)) and part.place == 0:
        return node.saved.ids
    if table.ndim != 2 or table.size == 0 or part.out.shape[-1:] != table.shape[1:]:
        return None
    shown = np.random.default_rng(0).standard_normal(table.shape)
    told = forward_on(part, shown)
    if told is None:
        return None
    ids = _rows_that_begin(told[..., 0].real, shown[:, 0].astype(told.real.dtype))
    if not _are_rows(told, shown, ids) or not np.array_equal(table[ids], part.out):
        return None
    # softmax(z) @ v copies rows as well, up to 1e-20 of the others: these are so large now that it
    # shows.
    others = ~np.isin(np.arange(len(shown)), ids)
    shown = np.where(others[:, None], HUGE * shown, shown / HUGE)
    return ids if _are_rows(forward_on(part, shown), shown, ids) else None


def of_lookup(part: Part) -> np.ndarray | None:
    """What a table is owed if its rows are looked up and that is all; None where it is not."""
    ids, table = looked_up(part), part.tensor.data
    if ids is None or not np.array_equal(table[ids], part.out):
        return None
    right = np.zeros(table.shape)
    np.add.at(right, ids.reshape(-1), part.dout.reshape(-1, table.shape[1]))
    return right


def rounds(part: Part) -> bool:
    """Whether forward rounds to float32 somewhere, whatever it is given: then it answers with
    numbers that float32 holds, also a little aside, where no number that it is given is such."""
    at = part.tensor.data
    if at.dtype.kind != "f":
        return False
    aside = LONG * np.random.default_rng(0).standard_normal(at.shape) * np.maximum(np.abs(at), 1)
    outs = [part.out, *(forward_on(part, at + k * aside) for k in (1, 1 / 3, -1))]
    if any(out is None for out in outs):
        return False
    return in_single(outs)


@np.errstate(all="ignore")  # of what float32 does not hold
def in_single(outs: list[np.ndarray]) -> bool:
    """Whether answers at several places are numbers that float32 holds where they differ from the
    first, and more than three of them: or it may be a jump."""
    changed = np.any([out != outs[0] for out in outs], axis=0)
    single = all((out == out.astype(np.float32))[changed].all() for out in outs)
    return single and len({out[changed].tobytes() for out in outs}) > 3


def forward_of(node: Node, given: list[Any]) -> np.ndarray | None:
    """What its forward makes of other inputs; None where it does not take them."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(node.forward(*given, **node.options)[0])
    except Exception:  # noqa: BLE001  it is no function of any inputs, and may say so in any way
        return None


def forward_on(part: Part, table: np.ndarray) -> np.ndarray | None:
    """What its forward makes of another table; None where that is nothing like its output."""
    given = [plain(value) for value in part.node.inputs]
    given[part.place] = table.copy()
    told = forward_of(part.node, given)
    if told is None or told.shape != part.out.shape or told.dtype.kind not in "fc":
        return None
    return told


def _are_rows(told: np.ndarray | None, table: np.ndarray, ids: np.ndarray) -> bool:
    """Whether these are the rows `ids` of the table, bit for bit."""
    with np.errstate(all="ignore"):  # float32 holds no HUGE
        return told is not None and np.array_equal(table[ids].astype(told.dtype), told)


def _rows_that_begin(numbers: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The ids of the rows whose first number, in `column`, is each of these, or the next larger."""
    order = np.argsort(column)
    return order[np.searchsorted(column, numbers, sorter=order).clip(max=len(column) - 1)]


def padding_of(saved: Any) -> int | None:
    """The row that a lookup gives no gradient, by what it saved; None of any other operation.

    What operations save is known by its type: one's own may have fields of the same names.
    """
    return saved.padding_idx if isinstance(saved, LookupSaved) else None


def plain(value: Any) -> Any:
    """What an operation took in, without the Tensor around it."""
    return value.data if isinstance(value, Tensor) else value


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal in shape, dtype and every bit."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def summed_to(dout: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """What goes back to an input of this shape that was stretched to that of dout; None where it
    cannot have been."""
    fits = dout.ndim >= len(shape) and all(
        here in (1, there) for here, there in zip(shape[::-1], dout.shape[::-1])
    )
    return unbroadcast(dout, shape) if fits else None
