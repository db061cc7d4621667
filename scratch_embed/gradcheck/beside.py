"""What may be wrong beside the operations: ways that the tape does not know, and shapes.

`diagnose` looks at every operation on the tape by itself. When all of them are right, or backward
could not even be run, the causes are found here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.gradcheck.causes import Cause, half
from scratch_embed.gradcheck.corners import is_kink
from scratch_embed.gradcheck.data import moved
from scratch_embed.gradcheck.kinks import meets_one
from scratch_embed.gradcheck.nudged import gradient, measured
from scratch_embed.gradcheck.numeric import Line, Loss, central, clearer, closer, ways
from scratch_embed.gradcheck.predictions import close
from scratch_embed.gradcheck.reentrant import gradients
from scratch_embed.gradcheck.surrogates import leaves_out, left_out
from scratch_embed.gradcheck.walk import Part, nodes_of, plain, same_bits, walk
from scratch_embed.ops.reduce import unbroadcast
from scratch_embed.tensor import Tensor, tape

TOO_MANY = 4096  # entries of one tensor that are nudged to find a cause
AT_MOST = 100_000_000  # or as many more as make so many numbers of output and input in all
ASIDE = 1e-3  # how far beside a point a kink is behind us
LEFT_OVER = 1e-6  # of the cotangent: so much may an operation be off that passes for right
LAST_DIGITS = 1e-9  # of the cotangent: a smaller slope may be rounding of 1 and nothing else


def off_the_tape(point) -> list[Cause]:
    """Tensors that move the output on a way that the tape does not know of."""
    found = []
    for position, tensor in enumerate(point.checked):
        name = point.name(position)
        total = gradient(point.loss, tensor) if tensor.size <= TOO_MANY else np.zeros(1)
        if not point.out.requires_grad and total.any():
            at = "the output"
        else:
            at = _moving_constant(point, tensor)
        if at:
            sentence = (
                f"{name} also reaches {at} off the tape (through .data, .numpy() or no_grad), so "
                "that path sends no gradient back"
            )
            found.append(Cause("missing path", "", sentence))
    return found


def _moving_constant(point, tensor: Tensor) -> str | None:
    """The operation with an input that is a constant on the tape, yet moves with `tensor`."""
    before, way = _constants(point.out), np.random.default_rng(0).standard_normal(tensor.shape)
    with moved([tensor], [1e-3 * way]):
        after = _constants(point.fn(*point.tensors))
    for (op, was), (_, now) in zip(before, after):
        if not same_bits(was, now):
            return op
    return None


def _constants(out: Tensor) -> list[tuple[str, np.ndarray]]:
    """Copies of the real numbers that operations took in and that ask for no gradient."""
    found = []
    for node in (tensor.node for tensor in tape(out) if tensor.node is not None):
        for value in (*node.inputs, *node.options.values()):
            if not (isinstance(value, Tensor) and value.requires_grad):
                value = plain(value)
                if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f":
                    found.append((node.name, np.array(value)))
    return found


def assigned(point) -> list[Cause]:
    """Tensors whose `.grad` is one of their contributions, where it should be the sum."""
    found = []
    for position, (tensor, grad) in enumerate(zip(point.checked, point.grads)):
        parts = [part.grad for part in point.walk.parts if part.tensor is tensor]
        alone = any(close(grad, part) for part in parts) and not close(grad, sum(parts))
        if len(parts) > 1 and alone:
            sentence = (
                f"the gradient of {point.name(position)} is set instead of added to: it has "
                f"{len(parts)} contributions, and only one is left"
            )
            found.append(Cause("missing path", "", sentence))
    return found


def right_beside(point) -> bool:
    """Whether backward is what nudging says a little beside the point, where no kink is met, but
    for what options leave out on purpose."""
    rng, tensors = np.random.default_rng(0), point.checked
    if any(tensor.size > TOO_MANY for tensor in tensors):
        return False
    with moved(tensors, [ASIDE * rng.standard_normal(tensor.shape) for tensor in tensors]):
        out = point.fn(*point.tensors)
        walked = walk(out, point.cotangent)
        left = left_out(walked, out, point.cotangent, tensors)
        got = gradients(out, point.cotangent, tensors)
        return all(_is_nudged(point, t, g + m) for t, g, (m, _) in zip(tensors, got, left))


def wrong_aside(point) -> list[str]:
    """Names of tensors along which, a little beside the point, backward is not the slope: for a
    direction through many entries of which some are on kinks, which tells nothing at the point."""
    rng, tensors = ways(2), point.checked
    if no_slopes(point):
        return []
    try:
        with moved(tensors, [ASIDE * rng.standard_normal(tensor.shape) for tensor in tensors]):
            got = gradients(point.fn(*point.tensors), point.cotangent, tensors)
            found = [_is_slope(point, *pair, rng) for pair in zip(tensors, got)]
    except Exception:  # noqa: BLE001  fn does not take these numbers, and may say so in any way
        return []
    return [point.name(position) for position, right in enumerate(found) if not right]


def no_slopes(point) -> bool:
    """Whether, by the options of its operations, gradients are no slopes."""
    return bool(point.original) or any(map(leaves_out, point.walk.parts))


def _is_slope(point, tensor: Tensor, grad: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether a gradient is the slope along a random direction, as far as a nudge tells."""
    way = rng.standard_normal(tensor.shape)
    way /= max(float(np.linalg.norm(way)), 1.0)
    line = Line(point.loss, tensor, None, way, edits=True)
    slope, doubt = closer(line, point.noise), 1e-6 * float(np.abs(grad * way).sum())
    doubt += LAST_DIGITS * float(np.abs(point.cotangent).max(initial=0)) + 8 * slope.noise
    off = abs(slope.value - float(np.vdot(grad, way)))
    return not off > doubt or is_kink(line, None, point.noise)


def _is_nudged(point, tensor: Tensor, grad: np.ndarray) -> bool:
    """Whether this is its gradient, by steps so short that they lead back to no kink."""
    lines = (point.line(tensor, index) for index in np.ndindex(tensor.shape))
    slopes = np.array([central(line, point.noise, ASIDE / 1000).value for line in lines])
    size = max(float(np.abs(a).max(initial=0)) for a in (slopes, grad))
    return bool((np.abs(slopes.reshape(grad.shape) - grad) <= 1e-4 * size).all())


def cancelling(point, runs: Callable[[Part], bool]) -> list[Cause]:
    """Operations on kinks that are gone from fn as a whole, as those of relu(x) - relu(-x) at 0.

    runs : whether the forward of one can be run again alone.
    """
    sentence = (
        "forward of {} meets a kink here, where {} may take a side and be right by itself; "
        "together the sides that were taken are no slope of fn, whose own kink is gone or "
        "elsewhere: check at another point, or write fn without it"
    )
    found = []
    for part in point.walk.parts:
        op = part.node.name
        if runs(part) and meets_one(part):
            words = sentence.format(op.removesuffix("_backward"), half(op))
            found.append(Cause("kinks that cancel", op, words))
    return found if found and point.right_beside else []


def paid_twice(point, runs: Callable[[Part], bool]) -> list[Cause]:
    """Operations on a kink between their inputs, as a maximum of two that are equal, which pay each
    as if it moved alone. If all move by as much there is no kink, and what they get is the slope.

    runs : whether the forward of one can be run again alone.
    """
    sentence = (
        "inputs of {} share a kink, as two that are equal do in a maximum, and what {} pays them "
        "does not sum to the slope of moving them together: pay one of them, or each a part"
    )
    found = []
    for node in nodes_of(point.walk.parts):
        parts = [part for part in point.walk.parts if part.node is node]
        alike = len(parts) > 1 and len({part.tensor.shape for part in parts}) == 1
        on_kinks = alike and all(runs(part) and meets_one(part) for part in parts)
        if on_kinks and not _are_paid_together(parts, point.noise):
            words = sentence.format(node.name.removesuffix("_backward"), half(node.name))
            found.append(Cause("ties", node.name, words))
    return found


def _are_paid_together(parts: list[Part], noise: float) -> bool:
    """Whether all that one operation hands back is its slope where its inputs move by as much."""
    node, dout = parts[0].node, parts[0].dout
    way = np.random.default_rng(0).standard_normal(parts[0].tensor.shape)
    by, places = Tensor(np.zeros(())), {part.place for part in parts}

    def run(_) -> Tensor:
        given = [plain(value) for value in node.inputs]
        given = [v + by.data * way if k in places else v for k, v in enumerate(given)]
        return Tensor(node.forward(*given, **node.options)[0])

    line = Line(Loss(run, (by,), dout), by, ())
    paid = [float(np.vdot(part.grad, way)) for part in parts]
    got = clearer(line, noise)
    doubt = 1e-6 * sum(map(abs, paid)) + 8 * got.noise
    return abs(got.value - sum(paid)) <= doubt or is_kink(line, None, noise)


def hidden(point) -> list[Cause]:
    """Tensors whose gradient is not what nudging says, with every operation right by itself."""
    found, least = [], LEFT_OVER * float(np.abs(point.cotangent).max(initial=0))
    for position, tensor in enumerate(point.checked):
        if tensor.size > TOO_MANY:
            continue
        slopes, noise = measured(point.loss, tensor)
        right = slopes - point.missing[position]
        grad, rest = point.grads[position], point.remainder[position]  # by rounding, it may be
        left = (np.abs(grad - right) - 8 * noise).max(initial=0)
        if left > max(least, rest) and not close(grad, right, 1e-6) and not point.right_beside:
            sentence = (
                f"{point.name(position)} also moves the output on a way that the tape does not "
                "know, such as an array that a function closes over; every operation on the tape "
                "is right by itself"
            )
            found.append(Cause("missing path", "", sentence))
    return found


def misshapen(out: Tensor, cotangent: np.ndarray) -> Cause | None:
    """The first operation whose backward answers in a shape that is not that of its input."""
    pending = {out: cotangent}
    for tensor in tape(out):
        node, dout = tensor.node, pending.get(tensor)
        if node is None or dout is None:
            continue
        try:
            for _, parent, grad in node.gradients(dout.copy()):
                grad = np.asarray(grad)
                pending[parent] = pending[parent] + grad if parent in pending else grad
        except ValueError:
            grads = node.backward(dout.copy(), node.saved)
            if not isinstance(grads, (tuple, list)):
                if np.shape(grads) in [(len(node.inputs), *np.shape(t)) for t in node.inputs]:
                    return _stacked(node.name, np.asarray(grads), len(node.inputs))
                grads = (grads,)
            for place, (parent, grad) in enumerate(zip(node.inputs, grads)):
                given = isinstance(parent, Tensor) and grad is not None
                if given and np.asarray(grad).dtype.kind not in "biufc":
                    what = f"a {type(grad).__name__}, which is no array of numbers"
                    sentence = f"{half(node.name)} hands {parent.name or f'input {place}'} {what}"
                    return Cause("no array", node.name, sentence)
                if given and np.shape(grad) != parent.shape:
                    return _shape_cause(node.name, place, parent, np.asarray(grad))
    return None


def _stacked(op: str, grads: np.ndarray, inputs: int) -> Cause:
    """The cause where the gradients of several inputs come as one array."""
    sentence = (
        f"{half(op)} hands back one array of shape {grads.shape} for {inputs} inputs: return a "
        "tuple, a gradient for each"
    )
    return Cause("wrong shape", op, sentence)


def _shape_cause(op: str, place: int, tensor: Tensor, grad: np.ndarray) -> Cause:
    to = tensor.name or f"argument {place}"
    start = f"{half(op)} hands {to} of shape {tensor.shape} a gradient of shape {grad.shape}"
    try:
        summed = unbroadcast(grad, tensor.shape).shape == tensor.shape
    except (ValueError, IndexError, np.exceptions.AxisError):
        summed = False
    if summed and grad.size > tensor.size:
        sentence = f"{start}: it was stretched, and what its copies get must be summed"
        return Cause("broadcast not summed", op, sentence)
    if sorted(grad.shape) == sorted(tensor.shape):
        return Cause("transposed", op, f"{start}: its axes are in another order")
    return Cause("wrong shape", op, start)
