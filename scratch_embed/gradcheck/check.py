"""gradcheck: is this backward the derivative of that forward?

Inputs of some 0.1 to 10, of both signs, tell most. The other numbers that it looks at have the same
signs, so that a relu without its mask passes where all are positive; a backward that closes over
its numbers is asked at these alone; below 1e-12 what rounding of L hides counts as 0, and may be
called WRONG where forward has lost it, as ln p of a target 30 ahead of the others. Repeat an id:
where none is, to overwrite is to add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from scratch_embed.arguments import check_count, is_real
from scratch_embed.gradcheck import sample
from scratch_embed.gradcheck.beside import no_slopes, wrong_aside
from scratch_embed.gradcheck.causes import Cause
from scratch_embed.gradcheck.data import check_tensors, holding
from scratch_embed.gradcheck.diagnose import diagnose
from scratch_embed.gradcheck.elsewhere import look_at_each, look_elsewhere, look_without_sums
from scratch_embed.gradcheck.numeric import METHODS, stream
from scratch_embed.gradcheck.place import Place, direction
from scratch_embed.gradcheck.point import Point
from scratch_embed.gradcheck.report import Report
from scratch_embed.gradcheck.ties import overpaid
from scratch_embed.gradcheck.verdicts import compare
from scratch_embed.tensor import Tensor
from scratch_embed.tensor.recording import recording, whole
from scratch_embed.watch import watching

MODES = ("elementwise", "directional")
SEEN_THERE = 50  # entries of each tensor, where one look has shown that something is wrong
NOT_BESIDE = (
    "a little beside this point, off the kinks that hide it here, the gradient of {} is not the "
    "slope along a random direction: check there"
)


def gradcheck(
    fn: Callable[..., Tensor],
    *tensors: Tensor,
    method: str | Sequence[str] = "central",
    seed: int = 0,
    rtol: float = 1e-6,
    max_entries: int = 200,
    name: str | None = None,
    mode: str = "elementwise",
) -> Report:
    """Compare backward through `fn(*tensors)` with nudging each entry of each tensor.

    A random cotangent R turns the output into one number, L = sum(fn(*tensors) * R). An R of ones
    would hide every bug that hands the right gradients to the wrong rows, as by reversed ids.

    Parameters
    ----------
    fn : takes the tensors, returns a Tensor; it must compute the same thing at every call.
    tensors : those that require a gradient are checked, in float64 whatever they hold. A table
        used twice is given once, as one tensor. They hold other arrays meanwhile: no other thread
        may use them until the report is there.
    method : "central", "richardson" or "complex" (see `gradcheck.numeric`), several of them, or
        "all"; every one must agree with backward.
    seed : of the cotangent and of the sample of entries.
    rtol : relative disagreement allowed, as in the rule printed with the report.
    max_entries : per tensor; larger ones are sampled, tables by how their rows were used, and a
        random direction goes through all entries.
    mode : "elementwise", or "directional": all entries of a tensor at once along a random
        direction, which is fast; if it disagrees, an elementwise check follows.

    Returns a `Report`; print it, or look at `.passed`, `.rows`, `.worst`, `.causes`. It also fails
    when fn or backward answers otherwise the second time, or keeps a slope from an earlier call, or
    is wrong at other numbers, where a gamma is not 1 any more, or for another dout than that of a
    sum behind it, which is the same at many places.

    Raises ValueError for a method, mode, rtol or max_entries that cannot be, and a computed tensor;
    TypeError for what is no real Tensor, or no complex step if alone; RuntimeError in no_grad().

    >>> from scratch_embed.functional import lookup
    >>> E = Tensor(np.arange(6.0).reshape(3, 2), requires_grad=True, name="E")
    >>> gradcheck(lambda E: lookup(E, [1, 1]), E).passed
    True
    """
    methods = _methods(method)
    _check_arguments(tensors, mode, rtol, max_entries, seed)
    rng = stream(seed)
    # `Point` looks for writes in place itself, bit by bit.
    with watching(0), whole(), holding([t for t in dict.fromkeys(tensors) if t.dtype.kind == "f"]):
        point, called = Point(fn, tensors, rng), name or getattr(fn, "__name__", "fn")
        judged = partial(compare, methods=methods, rtol=rtol, name=called, seed=seed)
        # Along a direction a row could grow past its max_norm, so such tables go entry by entry.
        directional = mode == "directional" and not point.original
        quick = judged(point, places=_directions(point, rng)) if directional else None
        if quick and not quick.blind:
            return _closed(point, quick, judged)
        report = judged(point, places=_entries(point, max_entries, rng))
        all_seen = len(report.rows) >= sum(tensor.size for tensor in point.checked)
        if quick is not None and not quick.agrees and report.passed and not all_seen:
            return quick  # the entries looked at do not say where
        return _closed(point, report, judged)


@np.errstate(all="ignore")  # as in `compare`
def _closed(point: Point, report: Report, judged: Callable[..., Report]) -> Report:
    """The report with what is asked at its end: beside kinks that hide a direction, at other
    numbers, and for causes of what is wrong."""

    def seen(there: Point) -> Report:
        return judged(there, places=_entries(there, SEEN_THERE, stream(0)))

    if report.passed and (report.blind or report.excused):
        report.problems += map(NOT_BESIDE.format, wrong_aside(point))
    elif report.passed:
        look_elsewhere(point, report, seen)
    if report.passed and no_slopes(point) and not point.coarse:
        look_at_each(point, report, seen)
    if report.passed:
        look_without_sums(point, report, seen)
    if not report.agrees and not report.causes or point.coarse and not report.told:
        report.causes = _causes(point, report)
    return report


def _causes(point: Point, report: Report) -> list[Cause]:
    """What is likely wrong. A wrong operation comes before ties that its numbers do not sum to."""
    if report.ties and point.guilty:
        return point.guilty
    return overpaid(report) or diagnose(point, report.rows_agree)


def _entries(point: Point, limit: int, rng) -> list[Place]:
    """Entries of every tensor; whatever must be zero and is not is always among them.

    Where there are too many for all, a random direction goes through all of them at once: one lost
    id among hundreds is in few samples, and in every direction.
    """
    places = []
    for position, tensor in enumerate(point.checked):
        sampled = tensor.size > limit and tensor not in point.original
        if sampled:
            places.append(direction(tensor, position, rng))
        chosen = sample.entries(tensor, point.uses[position], limit - sampled, rng)
        places += [Place(position, index) for index in _with_offenders(point, position, chosen)]
    return places


def _directions(point: Point, rng) -> list[Place]:
    """A random direction through every tensor, and whatever must be zero and is not."""
    places = []
    for position, tensor in enumerate(point.checked):
        along = direction(tensor, position, rng)
        places += [along] if tensor.size else []
        places += [Place(position, index) for index in _with_offenders(point, position, [])]
    return places


def _with_offenders(point: Point, position: int, chosen: list[tuple]) -> list[tuple]:
    if not point.grads[position].ndim:  # a single number has no rows
        return chosen
    rows = np.flatnonzero(point.zero_rows[position])
    found = np.argwhere(point.grads[position][rows] != 0)[:8]
    offenders = [(int(rows[row]), *map(int, rest)) for row, *rest in found]
    return sorted({*chosen, *offenders})


def _methods(method: str | Sequence[str]) -> list[str]:
    asked = METHODS if method == "all" else method
    asked = list(asked) if isinstance(asked, Sequence) and not isinstance(asked, str) else [asked]
    for one in asked:
        if one not in METHODS:
            names = ", ".join(METHODS)
            raise ValueError(f"method is {one!r}; it must be one of {names}, several, or 'all'")
    if not asked:
        raise ValueError("method names none; take 'central', or 'all'")
    return [one for one in METHODS if one in asked]


def _check_arguments(tensors: tuple, mode: str, rtol: float, max_entries: int, seed: int) -> None:
    if not recording.on:
        raise RuntimeError("gradcheck goes back along the tape, and no_grad() writes none")
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; it must be one of {', '.join(MODES)}")
    if not (is_real(rtol) and 0 <= rtol < np.inf):
        raise ValueError(f"rtol is {rtol!r}; it must be finite and not negative, as 1e-6")
    check_count(max_entries, "max_entries")
    check_count(seed, "seed", 0)
    check_tensors(tensors)
