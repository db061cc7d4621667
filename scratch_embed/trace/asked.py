"""The entry whose gradient is asked for: the loss as a function of it, and its step alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scratch_embed.gradcheck.corners import leaps
from scratch_embed.gradcheck.noise import NOISE_SPACINGS, loss_noise, stairs
from scratch_embed.gradcheck.numeric import CENTRAL_STEP, EPS
from scratch_embed.gradcheck.numeric import Line as Way
from scratch_embed.rows import RowGrad
from scratch_embed.tensor import Tensor
from scratch_embed.trace import replay
from scratch_embed.trace.replay import Use

if TYPE_CHECKING:
    from scratch_embed.trace import Trace

SPACINGS = 1e-6, *NOISE_SPACINGS  # where the loss moves in steps, shorter ones show none
RANDOM = "no verdict, for forward gives other numbers every time"
COARSE = "no verdict, for forward rounds to float32, whatever it is given, and a nudge with it"


def value_at(grad: np.ndarray | RowGrad, index: tuple[int, ...]) -> float:
    """An entry of a gradient; of a RowGrad 0 where it holds no such row."""
    if not isinstance(grad, RowGrad):
        return grad[index].item()
    found = np.flatnonzero(grad.rows == index[0])
    return grad.values[(found[0], *index[1:])].item() if len(found) else 0.0


class Asked(NamedTuple):
    """The entry whose gradient is asked for: what backward made of it, and from what."""

    trace: Trace
    use: Use
    index: tuple[int, ...]
    value: float
    incoming: np.ndarray
    single: bool  # float32

    def loss(self) -> Callable[[float], float]:
        """t -> the loss with the entry larger by t."""
        return replay.along(self.trace, [self.use], self.index)

    def noise(self) -> float:
        """The rounding of the loss, which may be a small rest of large numbers: as measured."""
        way, here = self._moves()
        floor = EPS * max(abs(here), 1.0, self._of_the_entry())
        return max(loss_noise(way, floor, SPACINGS), stairs(way))

    def _of_the_entry(self) -> float:
        """What the loss moves by with all of the entry: a nudge of it is rounded beside that."""
        return abs(float(self.use.value[self.index]) * self.value)

    def rounding_inside(self) -> float:
        """What a last digit of every number that goes into a step makes of the loss, all at once:
        much more than a last digit of the loss, where a norm takes 1000 off what lies beside it."""
        made, total = self.trace.forward_of, 0.0
        for step in self.trace.backward:
            for part in step.parts:
                if not isinstance(part.value, RowGrad):  # rows are taken as they are
                    moves = np.abs(made[step.name].inputs[part.place].value * part.value)
                    total += float(moves[np.isfinite(moves)].sum())
        return EPS * total

    def is_rounding(self) -> bool:
        """Whether the value is no more than what rounding makes of a backward that multiplies what
        arrives with what this step is given, and comes to 0."""
        arrived, *given = (
            np.abs(array[np.isfinite(array)]).max(initial=0.0)
            for array in (self.incoming, *(given.value for given in self.use.at.inputs))
            if getattr(array, "dtype", None) in (np.float32, np.float64)
        )
        return abs(self.value) <= 8 * EPS * max(given) * arrived

    def jumps(self) -> bool:
        """Whether the loss jumps here, as floor, by more than it is rounded beside."""
        beside, there = self._moves(CENTRAL_STEP)
        return leaps(self._moves()[0], loss_noise(beside, EPS * max(abs(there), 1.0)))

    def _moves(self, start: float = 0.0) -> tuple[Way, float]:
        """What the loss moves by with the entry, from so far aside on, and the loss there."""
        f, moving = self.loss(), Tensor(np.array(start))
        here = f(start)
        return Way(lambda: f(float(moving.data)) - here, moving, ()), here

    def of_finite(self) -> float:
        """The value, less what comes of gradients that arrive where this step answers infinity: the
        loss cannot depend on these, so nothing should arrive there."""
        finite = np.isfinite(self._out(self.use.value))
        if finite.all():
            return self.value
        incoming = np.where(finite, self.incoming, 0)
        return value_at(replay.gradient(self.use, self.use.value.copy(), incoming), self.index)

    def in_double(self) -> float:
        """What this step makes of what arrives when both its halves run in float64."""
        at, incoming = replay.wide(self.use.value), replay.wide(self.incoming)
        return value_at(replay.gradient(self.use, at, incoming), self.index)

    def step_alone(self, at: np.ndarray) -> tuple[Way, float]:
        """How far sum(out * incoming) of this step moves with the entry, its input being `at`; and
        the rounding of that, also of what it moves by less."""
        start, given = (np.array(replay.wide(array)) for array in (at, self.incoming))
        moving = Tensor(start)
        here = self._out(start)

        def moves() -> float:
            out = self._out(moving.data)
            changed = out != here
            return float(((out - here)[changed] * given[changed]).sum())

        way, sizes = Way(moves, moving, self.index), np.maximum(np.abs(here), 1.0) * np.abs(given)
        floor = EPS * max(float(sizes[np.isfinite(sizes)].sum()), self._of_the_entry())
        return way, max(loss_noise(way, floor), stairs(way))

    def unjudged(self) -> str:
        """Why a nudge tells nothing of this step, if so: forward draws, or rounds to float32,
        whatever it is given."""
        at = self.use.value
        one, two = (self._out(at) for _ in range(2))
        if not np.array_equal(one, two, equal_nan=True):
            return RANDOM
        return COARSE if replay.rounds(self.use.at, self.use.place, self.index) else ""

    def _out(self, at: np.ndarray) -> np.ndarray:
        return replay.rerun(self.use.at, {self.use.place: at.copy()})
