"""A second look. At other numbers: a factor that is 1 at the first ones may be left out. And at
operations by themselves, of which what arrives asks little: rows of dout may be exchanged there."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from scratch_embed.gradcheck.alone import loss_alone, repeats, runs_again
from scratch_embed.gradcheck.beside import no_slopes
from scratch_embed.gradcheck.causes import half
from scratch_embed.gradcheck.data import holding, moved, to_others
from scratch_embed.gradcheck.diagnose import diagnose, where_little_is_asked
from scratch_embed.gradcheck.nudged import agrees_along
from scratch_embed.gradcheck.numeric import central, stream, ways
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.reentrant import gradients
from scratch_embed.gradcheck.report import Report
from scratch_embed.gradcheck.rerun import reads_arguments_only
from scratch_embed.gradcheck.walk import Part, answers, nodes_of, same_bits
from scratch_embed.tensor import Node, Tensor, differentiable

LOOKS = 3  # directions: along one of them a mistake may add up to little
ROUGHLY = 1e-5  # of what the entries make of a slope: what is off by more is looked at closely
AMISS = (
    "at other numbers, 0.6 to 0.9 times these and some 0.1 further from 0, the gradient of {} is "
    "not the slope: a factor that is 1 here, or a term that is 0, may be left out; check at random "
    "numbers"
)
FOR_THIS_ALONE = (
    "{} is right for what arrives here, the same at many places, as behind a sum, or what moves "
    "nothing, and wrong for another dout: check the operation without what follows it"
)


def look_elsewhere(point: Point, report: Report, seen: Callable[[Point], Report]) -> None:
    """Add to the report of a point what another one shows, if more than its rounding is wrong.

    seen : the report of a point, entry by entry.
    """
    if point.coarse or no_slopes(point):  # nudges tell little, or something else
        return
    rng = ways(3)
    far = to_others(point.checked, rng)
    with moved(point.checked, far):
        if _may_be_right(point, rng):
            return
    here = [(part.dout, answers(part, part.dout.copy())) for part in point.walk.parts]
    with moved(point.checked, far):
        there = Point(point.fn, point.tensors, stream(0))
        wrong = [row.parameter for row in seen(there).rows if not row.passed]
        if wrong and any(_is_wrong(part, *before) for before, part in zip(here, there.walk.parts)):
            report.problems += map(AMISS.format, dict.fromkeys(wrong))
            report.causes = diagnose(there)


def look_at_each(point: Point, report: Report, seen: Callable[[Point], Report]) -> None:
    """The same, operation by operation: for where an option of one of them, as a padding_idx, lets
    the gradients of the whole be no slopes."""
    for node in nodes_of(part for part in point.walk.parts if runs_again(part)):
        fn, tensors = _by_itself(node)
        with holding(tensors):
            look_elsewhere(Point(fn, tuple(tensors), stream(0)), report, seen)
        if not report.passed:
            break


def look_without_sums(point: Point, report: Report, seen: Callable[[Point], Report]) -> None:
    """Add to the report of a point what operations show by themselves, of which what arrives asks
    little.

    seen : as above.
    """
    for node in [] if point.coarse else where_little_is_asked(point):
        fn, tensors = _by_itself(node)
        with holding(tensors):
            there = Point(fn, tuple(tensors), stream(0))
            if no_slopes(there) or all(row.passed for row in seen(there).rows):
                continue
            if causes := diagnose(there):  # else rounding alone may have shown it
                report.causes += causes
                report.problems.append(FOR_THIS_ALONE.format(half(node.name)))


def _by_itself(node: Node) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """One operation as a function of those of its inputs that learn, and these."""
    how = {name: getattr(node, name) for name in ("broadcasts", "selective", "reads")}
    run = differentiable(node.forward, node.backward, name=node.name, **how)
    leaves = {
        id(value): Tensor(value.data, requires_grad=True, name=value.name)
        for value in node.inputs
        if isinstance(value, Tensor) and value.requires_grad and value.dtype.kind == "f"
    }

    def fn(*_) -> Tensor:
        return run(*(leaves.get(id(value), value) for value in node.inputs), **node.options)

    return fn, list(leaves.values())


def _may_be_right(point: Point, rng: np.random.Generator) -> bool:
    """Whether backward may be the slope where the tensors stand now, along random directions."""
    try:
        got = gradients(point.fn(*point.tensors), point.cotangent, point.checked)
        pairs = product(zip(point.checked, got), range(LOOKS))
        return all(_may_be_slope(point, *pair, rng) for pair, _ in pairs)
    except Exception:  # noqa: BLE001  fn does not take these numbers, and may say so in any way
        return True


def _may_be_slope(point: Point, tensor: Tensor, grad: np.ndarray, rng: np.random.Generator) -> bool:
    way = rng.standard_normal(tensor.shape)
    slope = central(point.line(tensor, direction=way), point.noise)
    doubt = ROUGHLY * float(np.abs(grad * way).sum()) + 8 * slope.noise
    return not abs(slope.value - float(np.vdot(grad, way))) > doubt  # a nan tells nothing


def _is_wrong(part: Part, dout: np.ndarray, before: list[np.ndarray]) -> bool:
    """Whether a contribution is wrong there. One that closes over the numbers here, and answers as
    before, is right of these."""
    same = all(map(same_bits, before, answers(part, dout.copy())))
    if same and not reads_arguments_only(part.node.backward) or not repeats(part):
        return False
    return not agrees_along(loss_alone(part), part.grad)
