"""The calculation once more with one number moved: what a nudge needs.

Only the steps that the number reaches are computed again, in float64, from the copies that the
trace has kept; so it does not matter what has become of the tensors since.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scratch_embed.gradcheck.quotient import moved
from scratch_embed.gradcheck.walk import LONG, in_single
from scratch_embed.ops import attention, dropout, matmul, onehot, project, tied_cross_entropy
from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Tensor
from scratch_embed.trace.walk import ForwardStep

if TYPE_CHECKING:
    from scratch_embed.tensor.tape import Node
    from scratch_embed.trace import Trace


STEP = 5_000  # numbers that could be read in the time that calling a step takes
PRODUCTS = 20  # that are multiplied and added in the time that reading a number takes


class Use(NamedTuple):
    """One input of one step."""

    at: ForwardStep
    place: int  # which of its arguments

    @property
    def name(self) -> str:
        return self.at.inputs[self.place].name

    @property
    def value(self) -> np.ndarray:
        return self.at.inputs[self.place].value


def rerun(at: ForwardStep, inputs: dict[int, np.ndarray]) -> np.ndarray:
    """What comes out of a step when it is given other arrays in these places.

    Raises TypeError for a step that would draw new random numbers, or does not take these.
    """
    values = [inputs.get(k, wide(given.value)) for k, given in enumerate(at.inputs)]
    if at.node.forward is dropout.dropout_forward:  # its mask was drawn once
        return dropout.dropout_backward(values[0], at.node.saved)
    options = at.node.options
    if any(isinstance(v, np.random.Generator) for v in (*values, *options.values())):
        raise TypeError(f"{at.op} draws random numbers, and would draw others this time")
    return np.asarray(_run(at, values)[0])


def rounds(at: ForwardStep, place: int, index: tuple[int, ...]) -> bool:
    """Whether forward answers in float32, whatever it is given, as what fills a table of zeros in
    float32 does: seen at several places along one entry."""
    array = at.inputs[place].value
    size = LONG * max(1.0, abs(float(array[index])))
    ways = (0, size, size / 3, -size, -size / 3)
    return in_single([rerun(at, {place: moved(array, index, h)}) for h in ways])


def _run(at: ForwardStep, values: list) -> tuple:
    """(out, saved) of a step's forward, which a learner may have let refuse what it was not made
    for, in any way."""
    try:
        with redirect_stdout(io.StringIO()):  # what it prints, it has printed once
            return at.node.forward(*values, **at.node.options)
    except Exception as error:
        told = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise TypeError(f"{at.op} does not run with other numbers: {told}") from error


def in_double(trace: Trace, use: Use) -> np.ndarray | RowGrad:
    """What backward gives one input when both halves of all steps from there on run in float64."""
    outs, steps = {}, []
    for at in trace.forward[use.at.number - 1 :]:
        new = _new_inputs(at, {}, outs)
        if new or at is use.at:
            outs[at.name], again = _again(at, new)
            steps.append((at.name, again))
    arrived = {trace.loss: wide(trace.start)}
    for name, again in reversed(steps):
        if name not in arrived:  # a backward behind it answered None
            continue
        for place, tensor, grad in again.gradients(arrived[name]):
            if name == use.at.name and place == use.place:
                return grad
            dense = grad.to_dense() if isinstance(grad, RowGrad) else grad  # of a computed table
            arrived[tensor.name] = arrived.get(tensor.name, 0) + dense
    return np.zeros(use.value.shape)


def gradient(use: Use, at: np.ndarray, incoming: np.ndarray) -> np.ndarray | RowGrad:
    """What backward of one step gives this input when it is `at`."""
    _, again = _again(use.at, {use.place: at})
    found = (grad for place, _, grad in again.gradients(incoming) if place == use.place)
    return next(found, np.zeros(use.value.shape))


def _again(at: ForwardStep, inputs: dict[int, np.ndarray]) -> tuple[np.ndarray, Node]:
    """A step with other arrays in these places: what comes out, and its line of a tape."""
    values = [inputs.get(k, wide(given.value)) for k, given in enumerate(at.inputs)]
    node = at.node
    if node.forward is dropout.dropout_forward:  # its mask was drawn once
        out, saved = rerun(at, inputs), node.saved
    else:
        out, saved = _run(at, values)
    tensors = tuple(
        Tensor(value, requires_grad=True, name=given.name) if learns(at, k) else value
        for k, (given, value) in enumerate(zip(at.inputs, values))
    )
    return np.asarray(out), node._replace(inputs=tensors, saved=saved, kept=[])


def wide(value):
    """Floats as float64, anything else as it is."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.float64, copy=False)
    return value


def alike(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two answers are the same, up to the rounding of sums in another order."""
    if one.shape != two.shape or one.dtype.kind not in "fc":
        return np.array_equal(one, two)
    doubt = 1e3 * float(np.finfo(one.dtype).eps)
    size = float(np.abs(two).max(initial=0, where=np.isfinite(two)))
    return np.allclose(one, two, rtol=doubt, atol=doubt * size, equal_nan=True)


def uses(trace: Trace, name: str) -> list[Use]:
    """Every input that is this tensor and sends a gradient to it."""
    return [
        Use(at, place)
        for at in trace.forward
        for place, given in enumerate(at.inputs)
        if given.name == name and learns(at, place)
    ]


def learns(at: ForwardStep, place: int) -> bool:
    """Whether an input of a step is a Tensor that a gradient flows into."""
    value = at.node.inputs[place]
    return isinstance(value, Tensor) and value.requires_grad


def along(trace: Trace, moving: Iterable[Use], index: tuple[int, ...]) -> Callable[[float], float]:
    """t -> the loss, with entry `index` larger by t in these uses of a tensor, and no others."""
    moving = list(moving)

    def loss(t: float) -> float:
        array = moved(moving[0].value, index, t)
        return _loss(trace, {(use.at.number, use.place): array for use in moving})

    return loss


def _loss(trace: Trace, given: dict[tuple[int, int], np.ndarray]) -> float:
    changed: dict[str, np.ndarray] = {}
    for at in trace.forward:
        new = _new_inputs(at, given, changed)
        if new:
            changed[at.name] = rerun(at, new)
    out = changed.get(trace.loss, trace.forward[-1].out)
    return float((out * trace.start).sum())


def _new_inputs(at: ForwardStep, given, changed) -> dict[int, np.ndarray]:
    new = {}
    for place, held in enumerate(at.inputs):
        if (at.number, place) in given:
            new[place] = given[at.number, place]
        elif held.name in changed and learns(at, place):
            new[place] = changed[held.name]
    return new


def work(trace: Trace, moving: Iterable[Use], most: int) -> int:
    """How many numbers are read and written when these uses are moved once, counted up to `most`.

    More than that is told as soon as it is known, so a long tape is not read to its end.
    """
    first, reached, total = {(u.at.number, u.place) for u in moving}, set(), 0
    for at in trace.forward[min(number for number, _ in first) - 1 :]:
        hit = any(
            (at.number, place) in first or held.name in reached and learns(at, place)
            for place, held in enumerate(at.inputs)
        )
        if hit:
            reached.add(at.name)
            total += STEP + at.out.size
            total += sum(np.size(held.value) for held in at.inputs if held.name)
            total += products(at) // PRODUCTS
        if total > most:
            break
    return total


def products(at: ForwardStep) -> int:
    """How many numbers the matrix products of a step multiply; 0 where it has none."""
    first, forward = at.inputs[0].value, at.node.forward
    if forward in (matmul.matmul_forward, project.project_forward, onehot.onehot_product_forward):
        return at.out.size * first.shape[-1]
    if forward is attention.attention_forward:
        return 2 * at.node.saved.weights.size * first.shape[-1]
    if forward is tied_cross_entropy.tied_cross_entropy_forward:
        return 3 * first.size * len(at.inputs[1].value)  # it makes both gradients, too
    return 0
