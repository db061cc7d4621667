"""The point at which a function is checked: its output, its gradients, its tape, what was odd.

Everything here happens once, before anything is nudged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from scratch_embed.gradcheck import surrogates
from scratch_embed.gradcheck.again import left_behind, once_only, writer
from scratch_embed.gradcheck.beside import misshapen, right_beside
from scratch_embed.gradcheck.causes import Cause, half
from scratch_embed.gradcheck.data import reach
from scratch_embed.gradcheck.diagnose import crooked, is_sound, wrong_operations
from scratch_embed.gradcheck.noise import loss_noise, of_backward
from scratch_embed.gradcheck.nudged import is_analytic
from scratch_embed.gradcheck.numeric import CENTRAL_STEP, EPS, Line, Loss
from scratch_embed.gradcheck.reentrant import (
    backward_again,
    forward_again,
    gradients,
    run_elsewhere,
)
from scratch_embed.gradcheck.sample import Uses, uses_by_row
from scratch_embed.gradcheck.walk import (
    BackwardFailed,
    Part,
    Walk,
    arrays,
    changes_saved,
    rounding_inside,
    same_bits,
    unchanged,
    walk,
)
from scratch_embed.tensor import Tensor, tape


class Point:
    """fn(*tensors) with a random cotangent R, so that L = sum(fn(*tensors) * R).

    Attributes
    ----------
    checked, places : the tensors that require a gradient, each once, and where each stands there.
    grads : by backward, dense, one for each of `checked`; NaN where backward raised an error.
    missing, why : what documented options leave out of the derivative, and in which rows.
    uses : how often the rows of each were looked up.
    zero_rows : which rows of each must have a gradient of exactly 0.
    original : the data before a max_norm edit, for each table that was edited.
    problems : what is wrong beside the numbers, in words.
    drifts : whether forward gives other bits at the same point the second time.
    changed : names of inputs that fn changes in place, other than by max_norm.
    broken : why backward raised an error, the first time or when run again, or None.
    crooked : causes where a backward is right for this dout only, or till forward runs elsewhere.
    coarse : what answered in single precision, though its input was in double; or None.
    noise : rounding error in one evaluation of L.
    inside : what rounding on the way to L may make of it, also where short steps show nothing.
    stairs : the highest that L was found to go in along an entry: `numeric.stairs`.
    wrong : how many entries were found to be, after a long look at each.
    remainder : what rounding may leave of a gradient of exactly 0, for each of `checked`.
    unit : rounding error in one of order 1, which is what p - 1 may leave where L is always 0.
    guilty : what is wrong of operations by themselves; found when first asked for.
    sound : whether every operation is right by itself, and none off the tape; the same.
    right_beside : whether backward is right a little beside the point, off its kinks; the same.
    doubts : what rounding may make of each entry of `grads`; the same.
    """

    def __init__(self, fn: Callable[..., Tensor], tensors: tuple[Tensor, ...], rng):
        self.fn, self.tensors = fn, tensors
        self.checked = list(dict.fromkeys(t for t in tensors if t.requires_grad))
        self.places = {tensor: place for place, tensor in enumerate(self.checked)}
        self.problems: list[str] = []
        self.changed: list[str] = []
        self.broken: Cause | None = None
        self.crooked: list[Cause] = []
        self.original: dict[Tensor, np.ndarray] = {}
        self._analytic: dict[Tensor, bool] = {}
        self.edits = self.drifts = False
        self._forward()  # to see if it is the same twice, before anything else has run
        run_elsewhere(fn, tensors, self.checked)
        self.out = self._run()
        self.cotangent = rng.standard_normal(self.out.shape)
        self.walk = Walk({}, [], [])
        self._backward()
        left = surrogates.left_out(self.walk, self.out, self.cotangent, self.checked)
        self.missing, self.why = [m for m, _ in left], [w for _, w in left]
        self.uses: list[Uses] = [uses_by_row(self.walk.parts, t) for t in self.checked]
        self.zero_rows = [self._zero_rows(i) for i in range(len(self.checked))]
        self.loss = Loss(fn, tensors, self.cotangent)
        self.problems += self._unused(rng)
        self.coarse = self._coarse()
        eps = np.finfo(self.coarse.out.dtype if self.coarse else float).eps
        floor = float(eps) * float(np.abs(self.out.data * self.cotangent).sum())
        self.unit = float(EPS * np.abs(self.cotangent).sum())
        sizes = [reach(self.loss, tensor) or 1.0 for tensor in self.checked]
        self.remainder = [1e3 * floor / size for size in sizes]
        self.inside, self.stairs, self.wrong = rounding_inside(self.walk.parts), 0.0, 0
        self.noise = max([floor, *(self._noise_along(t, floor, rng) for t in self.checked)])

    guilty = cached_property(wrong_operations)
    sound = cached_property(is_sound)
    right_beside = cached_property(right_beside)
    doubts = cached_property(of_backward)

    def line(self, tensor: Tensor, index=None, direction=None) -> Line:
        """L along one entry or one direction, on the side that max_norm leaves alone."""
        side = 0
        if index and self.edited(self.places[tensor], index[0]):
            side = surrogates.inward(float(tensor.data[index].real))
        return Line(self.loss, tensor, index, direction, side, self.edits)

    def analytic(self, tensor: Tensor) -> bool:
        """Whether the complex step can be trusted for a tensor: asked once, for all its entries."""
        if tensor not in self._analytic:
            self._analytic[tensor] = is_analytic(self.loss, tensor)
        return self._analytic[tensor]

    def name(self, position: int) -> str:
        """As a checked tensor is called: by its place among those given where it has no name, or
        not one of its own."""
        tensor = self.checked[position]
        place = next(k for k, given in enumerate(self.tensors) if given is tensor)
        if not tensor.name:
            return f"input {place}"
        alone = [each.name for each in self.checked].count(tensor.name) == 1
        return tensor.name if alone else f"{tensor.name} (input {place})"

    def called(self, part: Part) -> str:
        """The input that a contribution goes to: as the table calls it, if it stands there."""
        if part.tensor in self.places:
            return self.name(self.places[part.tensor])
        return part.tensor.name or f"argument {part.place}"

    def edited(self, position: int, row: int) -> bool:
        """Whether max_norm shrank this row."""
        tensor = self.checked[position]
        before = self.original.get(tensor)
        return before is not None and not np.array_equal(before[row], tensor.data[row])

    def _zero_rows(self, position: int) -> np.ndarray:
        """Which rows must have a gradient of exactly 0: never used, or padding, in lookups."""
        counts, whole, padding = self.uses[position]
        if counts is None or whole:
            return np.zeros(self.checked[position].shape[:1] or (1,), bool)
        rows = counts == 0
        rows[list(padding)] = True
        return rows

    def _forward(self) -> None:
        """Run fn, and find out whether it writes to its inputs."""
        before = [t.data.copy() for t in self.checked]
        out = self._run()
        after = [t.data.copy() for t in self.checked]
        if all(map(same_bits, before, after)):
            again = forward_again(self.fn, self.tensors, out)
            self.drifts, self.problems = bool(again), [*self.problems, *again]
            return
        self.edits = True
        self._run()  # from here on, at the table as max_norm left it
        for position, tensor in enumerate(self.checked):
            was, then = before[position], after[position]
            if same_bits(was, then):
                continue
            if surrogates.is_max_norm(was, then, tensor.data):
                self.original[tensor] = was
            else:
                self.problems.append(f"forward changes {self.name(position)} in place")
                self.changed.append(self.name(position))

    def _run(self) -> Tensor:
        out = self.fn(*self.tensors)
        if not isinstance(out, Tensor):
            raise TypeError(
                f"fn returned a {type(out).__name__}; it must return a Tensor, computed from the "
                "given ones by operations on Tensors"
            )
        return out

    def _backward(self) -> None:
        """The gradients, twice, and the walk along the tape."""
        nodes = [tensor.node for tensor in tape(self.out) if tensor.node is not None]
        saved = [(node, [a.copy() for a in arrays(node.saved)]) for node in nodes]
        try:
            self.grads = gradients(self.out, self.cotangent, self.checked)
        except ValueError as error:
            self.broken = misshapen(self.out, self.cotangent) or self._writes()
            if self.broken is None:
                raise
            self.problems.append(str(error))
            self.grads = [np.full(t.shape, np.nan) for t in self.checked]
            return
        if not self.out.requires_grad:
            return
        self.problems += backward_again(self.out, self.cotangent, self.checked, self.grads)
        try:
            self.walk = walk(self.out, self.cotangent)
        except BackwardFailed as failed:  # its cache was used up; a fresh tape has a full one
            self.broken = once_only(str(failed))
            self.walk = walk(self._run(), self.cotangent)
        # what sorts its saved ids changes them once, before anybody walked
        changed = [changes_saved(node) for node, kept in saved if not unchanged(node, kept)]
        changed = [] if self.broken else changed  # which has said so
        self.walk.overwrites.extend(p for p in changed if p not in self.walk.overwrites)
        self.problems += self.walk.overwrites
        if not self.problems and not self.broken:
            self.crooked = crooked(self)
            self.problems += [f"{half(c.op)} is not right for every dout" for c in self.crooked]
            behind = [] if self.drifts or self.crooked else left_behind(self.walk.parts)
            self.crooked += behind
            self.problems += [f"{half(c.op)} is right until {c.op} runs again" for c in behind]

    def _writes(self) -> Cause | None:
        """Whose backward writes to a dout that is read-only, as behind a sum."""
        try:
            overwrites = walk(self.out, self.cotangent).overwrites  # which lends copies
        except BackwardFailed:
            return None
        return writer(overwrites[0]) if overwrites else None

    def _unused(self, rng) -> list[str]:
        """Tensors that fn does not look at, whose slopes of 0 would agree with any backward."""
        used, found = set(tape(self.out)), []
        for position, tensor in enumerate(self.checked):
            if tensor not in used and tensor.size:
                line = self.line(tensor, direction=rng.standard_normal(tensor.shape))
                if line(1.0) == line(0.0):
                    found.append(
                        f"fn does not use {self.name(position)}, which it is given: does it read "
                        "another tensor, one of its surroundings, instead?"
                    )
        return found

    def _coarse(self) -> Part | None:
        """The first operation that answers what is checked, in double, in single precision. A layer
        in float32 that fn closes over is what it is."""
        reached = set(self.checked)
        for tensor in reversed(tape(self.out)):
            if tensor.node and any(
                isinstance(t, Tensor) and t in reached for t in tensor.node.inputs
            ):
                reached.add(tensor)
        parts = (part for part in self.walk.parts if part.tensor in reached)
        return next((p for p in parts if p.out.dtype in (np.float32, np.complex64)), None)

    @np.errstate(all="ignore")  # of a loss that is no number
    def _noise_along(self, tensor: Tensor, floor: float, rng) -> float:
        if not tensor.size or tensor in self.original:  # there a table is edited along the way
            return floor
        direction = rng.standard_normal(tensor.shape)
        direction /= np.abs(direction).max()
        line = Line(self.loss, tensor, None, direction, 0, self.edits)
        # Where all numbers are 0 nothing is rounded, and a little beside much.
        start = 0.0 if self.out.data.any() else 10 * CENTRAL_STEP * line.scale
        return loss_noise(line, floor, start=start)
