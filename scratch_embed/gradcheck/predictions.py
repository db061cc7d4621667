"""What each mistake makes of the right gradient, as tests on one wrong contribution.

A test answers None when its prediction is not what backward gave, and otherwise the detail that its
sentence in `causes` has room for, which may be "".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from scratch_embed.gradcheck.noise import rounding
from scratch_embed.gradcheck.numeric import EPS, stream
from scratch_embed.gradcheck.walk import Part, answers, forward_of, plain, summed_to
from scratch_embed.look.numbers import told_apart

# Of dout: what is cut off at some size is met by the one, what is too small by the other. By powers
# of two a product keeps its digits, so a right backward answers with the same ones.
MULTIPLES = {"-2^40": -(2.0**40), "2^-40": 2.0**-40}
SAME = 1e-5  # of an answer that is the sum of two others: it may have been computed in float32
STEEP = 50  # times dout: more than that nudges make of a slope that has no end


class Case(NamedTuple):
    """One contribution that is wrong, and what it should be."""

    part: Part
    wrong: np.ndarray
    right: np.ndarray
    others: dict[int, np.ndarray]  # what the same operation owes to its other inputs, by place
    # What it owes to this one for another dout, and the same for other inputs, by place, too; None
    # where forward does not take them, or where it is surely not `like` an array that is given.
    owed: Callable[..., np.ndarray | None]  # (dout, like=None)
    instead: Callable[..., np.ndarray | None]  # (others, dout, like=None)
    elsewhere: Callable[[], Case | None] = lambda: None  # the same where a random dout arrives

    @property
    def dout(self) -> np.ndarray:
        return self.part.dout

    def arrays(self, kinds: str) -> list[np.ndarray]:
        """The inputs of the operation that are arrays of these dtype kinds, without Tensors."""
        given = map(plain, self.part.node.inputs)
        return [a for a in given if isinstance(a, np.ndarray) and a.dtype.kind in kinds]

    def is_like(self, prediction: np.ndarray) -> bool:
        return close(self.wrong, prediction)


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-7) -> bool:
    """Equal in shape, and in numbers up to `tolerance` of the largest."""
    if a.shape != b.shape:
        return False
    size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    return bool(np.isfinite(size) and np.abs(a - b).max(initial=0) <= tolerance * size)


def outside(case: Case) -> str | None:
    """Another answer once forward has run again: it left something elsewhere than in `saved`."""
    given = [_copied(plain(value)) for value in case.part.node.inputs]
    try:
        case.part.node.forward(*given, **case.part.node.options)
    except Exception:  # noqa: BLE001  a learner's own forward may raise anything
        return None
    again = answers(case.part, case.dout)
    same = not again or np.array_equal(again[0], case.wrong, equal_nan=True)
    return None if same or case.is_like(again[0]) else ""


def _copied(value):
    return value.copy() if isinstance(value, np.ndarray) else value


def not_finite(case: Case) -> str | None:
    """NaN or infinity, in backward or already in forward."""
    told = np.isfinite(case.wrong).all() and np.isfinite(case.right).all()
    if not told and not np.isfinite(case.part.out).all():
        return "what is no number, as its forward does already: keep away from where it has none"
    bad = np.argwhere(~np.isfinite(case.wrong))
    if not len(bad):
        return None
    at, place = ", ".join(map(str, bad[0])), tuple(bad[0])
    given, right = case.wrong[place], case.right[place]
    steep = np.isinf(given) and given * right > 0 and abs(right) > STEEP * np.abs(case.dout).max()
    more = "; the slope may be infinite there, as that of a root is at 0: check beside it"
    told = f"{given} at [{at}], where nudging its forward gives {right:.3g}"
    return told + more if steep else told


def nothing_of_this(case: Case) -> str | None:
    """All zeros, and not so for another dout: what is small is lost, or what is negative."""
    return None if case.wrong.any() else not_linear(case)


def nothing(case: Case) -> str | None:
    """All zeros."""
    return None if case.wrong.any() else ""


# ---- factors and sums -------------------------------------------------------------------------


def ignores_dout(case: Case) -> str | None:
    """Twice the dout and its opposite, too, give the same gradient. One that is shortened to some
    length has another direction then."""
    given = [answers(case.part, c * case.dout) for c in (2, -1)]
    return "" if all(any(map(case.is_like, grads)) for grads in given) else None


def dout_cut_off(case: Case) -> str | None:
    """Only where dout is positive: guided backpropagation, and its forebear that looks at no x."""
    if case.dout.shape != case.right.shape:
        return None
    if not (case.dout < 0).any() and any(g.any() for g in answers(case.part, -case.dout)):
        return None  # nothing was below 0, and what is comes through
    guided = np.where(case.dout > 0, case.right, 0)
    return "" if case.is_like(guided) or case.is_like(np.maximum(case.dout, 0)) else None


def not_linear(case: Case) -> str | None:
    """A multiple of dout must give that multiple of the answer. What overflows says nothing, and
    what is too small to have all its digits."""
    first = answers(case.part, case.dout.copy())
    for name, c in MULTIPLES.items():
        with np.errstate(all="ignore"):
            if not np.array_equal(c * case.dout / c, case.dout, equal_nan=True):
                continue  # it has lost digits, below what a float holds
            for one, many in zip(first, answers(case.part, c * case.dout)):
                gap = np.abs(many - c * one).max(initial=0)
                allowed = 1e-9 * abs(c) * np.abs(one).max(initial=0) + np.finfo(float).tiny
                if np.isfinite(gap) and gap > allowed:
                    return f"{name} times dout does not give {name} times the answer"
    return _not_additive(case, first)


def _not_additive(case: Case, first: list[np.ndarray]) -> str | None:
    """What two parts of a dout give must add up to what it gives, also where one of them has zeros,
    rows of zeros, or equal numbers, as behind a mask or a sum."""
    dout = case.dout
    doubt = 1e3 * EPS * np.abs(dout).max(initial=0)  # of p - 1 over one column
    rows = stream(0).random(dout.shape[:-1])[..., None] if dout.ndim else np.zeros(())
    entries = stream(1).random(dout.shape)
    parts = {
        "of which some rows are 0": np.where(rows < 0.5, dout, 0),
        "of which some numbers are 0": np.where(entries < 0.5, dout, 0),
        "whose numbers are all equal": np.full(dout.shape, np.abs(dout).max(initial=0)),
    }
    for words, part in parts.items():
        with np.errstate(all="ignore"):
            one, two = answers(case.part, part.copy()), answers(case.part, dout - part)
            for whole, a, b in zip(first, one, two):
                size = max(np.abs(g).max(initial=0) for g in (whole, a, b))
                off = np.abs(a + b - whole).max(initial=0)
                if not np.isfinite(whole).all() or off <= SAME * size + doubt:
                    continue
                if not off <= doubt + np.nan_to_num(rounding(case.part, part, dout - part)):
                    return f"for a dout {words} it gives something else"
    return None


def wrong_sign(case: Case) -> str | None:
    """Minus the gradient."""
    return "" if case.is_like(-case.right) else None


def ratio(case: Case) -> float | None:
    """c where the wrong gradient is c times the right one."""
    size = float(np.vdot(case.right, case.right))
    if case.right.size < 2 or not size:
        return None
    c = float(np.vdot(case.right, case.wrong)) / size
    return c if case.is_like(c * case.right) else None


def constant_factor(case: Case) -> str | None:
    """A multiple of the gradient, and the same one elsewhere: what is shortened to some length is
    divided by another number for another dout."""
    c = ratio(case)
    there = None if c is None else case.elsewhere()
    other = c if there is None else ratio(there)
    if other is None or abs(other - c) > SAME * abs(c):
        return None
    return told_apart(c, digits=6)[0]


def not_summed(case: Case) -> str | None:
    """One slice, or the mean, of what is to be summed over the copies of a stretched input."""
    out = case.part.out
    if case.right.size >= out.size or _axis_of_slice(case.dout, case.right) is not None:
        return None
    c = ratio(case)
    for copies in _copies(case):
        if c and close(case.wrong * (out.size / case.right.size), _summed(copies, case.right)):
            return "the mean of its copies"
        for which, words in ((0, "the first of its copies"), (-1, "the last of its copies")):
            if case.is_like(_one_copy(copies, case.right.shape, which)):
                return words
    return None


def summed_wrongly(case: Case) -> str | None:
    """Summed along another axis than the one it is stretched along, as in a square it can be."""
    for copies in _copies(case):
        gone = copies.ndim - case.right.ndim
        if gone < 1:
            continue
        sums = {
            axes: copies.sum(axis=axes) for axes in itertools.combinations(range(copies.ndim), gone)
        }
        taken = [axes for axes, summed in sums.items() if case.is_like(summed)]
        lies = [axes for axes, summed in sums.items() if close(case.right, summed)]
        if taken and lies:
            return f"{_axes(taken[0])} of dout, but it was stretched along {_axes(lies[0])}"
    return None


def _axes(axes: tuple[int, ...]) -> str:
    return ("axis " if len(axes) == 1 else "axes ") + ", ".join(map(str, axes))


def one_sample(case: Case) -> str | None:
    """What is owed for the last sample of the batch alone, for the first, or for all but one."""
    axes = [axis for axis in range(case.dout.ndim - 1) if case.dout.shape[axis] > 1]
    for axis, (at, which) in itertools.product(axes, ((-1, "last"), (0, "first"))):
        among = "step of each sample" if axis else "of the samples in the batch"
        without, here = case.dout.copy(), (slice(None),) * axis + (at,)
        without[here] = 0
        guesses = [(case.dout - without, f"only the {which}"), (without, f"all but the {which}")]
        for dout, words in guesses[: 1 if case.dout.shape[axis] == 2 else 2]:
            owed = case.owed(dout, case.wrong)
            if owed is not None and owed.any() and case.is_like(owed):
                return f"{words} {among}"
    return None


def _copies(case: Case) -> Iterator[np.ndarray]:
    """What the gradient might be before it is summed: dout, perhaps times another input."""
    for other in (np.ones(()), *case.arrays("f")):
        try:
            copies = case.dout * other
        except ValueError:  # shapes that do not go together
            continue
        if copies.shape == case.part.out.shape:
            yield from (copies, -copies)


def _summed(copies: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The copies added up to one of this shape, if it was stretched to theirs."""
    gone = copies.ndim - like.ndim
    if gone < 0 or any(n not in (1, m) for n, m in zip(like.shape, copies.shape[gone:])):
        return np.zeros(0)
    stretched = [gone + axis for axis, n in enumerate(like.shape) if n == 1]
    return copies.sum(axis=(*range(gone), *stretched)).reshape(like.shape)


def _one_copy(copies: np.ndarray, shape: tuple[int, ...], which: int) -> np.ndarray:
    while copies.ndim > len(shape):
        copies = copies[which]
    for axis, (length, wanted) in enumerate(zip(copies.shape, shape)):
        if wanted == 1 and length > 1:
            copies = np.take(copies, [which], axis)
    return copies


# ---- the right numbers in the wrong places ----------------------------------------------------


def exchanged(case: Case) -> str | None:
    """The gradient of another input of the same operation, unless that is dout itself, or what of
    it comes to one that was stretched: then it may be a factor that is forgotten."""
    passed = summed_to(case.dout, case.right.shape)
    others = (other for other in case.others.values() if passed is None or not close(other, passed))
    return "" if any(case.is_like(other) for other in others) else None


def wrong_axis(case: Case) -> str | None:
    """A slice of dout along one axis, where the input lies along another, as after a stack."""
    taken, lies = (_axis_of_slice(case.dout, grad) for grad in (case.wrong, case.right))
    if taken is None or lies is None or taken == lies:
        return None
    return f"axis {taken} of dout, while in the output it lies along axis {lies}"


def _axis_of_slice(dout: np.ndarray, grad: np.ndarray) -> int | None:
    """The axis along which `grad` is one slice of dout."""
    if dout.ndim != grad.ndim + 1:
        return None
    for axis, length in enumerate(dout.shape):
        if any(close(np.take(dout, k, axis), grad) for k in range(length)):
            return axis
    return None


def transposed(case: Case) -> str | None:
    """Axes in another order, or dout multiplied by a matrix that should be transposed first."""
    shape = case.right.shape
    guesses = []
    if 2 <= len(shape) <= 4:
        orders = list(itertools.permutations(range(len(shape))))[1:]
        guesses += [case.right.transpose(order) for order in orders]
    for matrix in case.arrays("f"):
        if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and np.isfinite(matrix).all():
            products = []
            for side in (matrix, matrix.T):
                if case.dout.shape[-1:] == side.shape[:1]:
                    products.append(case.dout @ side)
                if case.dout.shape[-2:-1] == side.shape[:1]:
                    products.append(side @ case.dout)
            if any(close(product, case.right) for product in products):  # of x @ x two are due
                guesses += products
    return "" if any(case.is_like(guess) for guess in guesses) else None


def column_by_column(case: Case) -> str | None:
    """dout in another shape, filled in the order of Fortran, where that of C is right."""
    dout, shape = case.dout, case.right.shape
    if dout.shape == shape or dout.size != case.right.size:
        return None
    is_right = close(case.right, dout.reshape(shape))
    return "" if is_right and case.is_like(dout.reshape(shape, order="F")) else None


def forward_again(case: Case) -> str | None:
    """dout sent through the forward of a linear operation, where its transpose is due."""
    if not_linear(case) is not None:  # as a dout that was clipped is not
        return None
    node, given = case.part.node, [plain(value) for value in case.part.node.inputs]
    if case.dout.shape != given[case.part.place].shape:
        return None
    for size in (1.0, *MULTIPLES.values()):  # of what is cut off only numbers near 0 pass
        given[case.part.place] = size * case.dout
        out = forward_of(node, given)
        if out is None or out.shape != case.wrong.shape or not case.is_like(out / size):
            return None
    return ""


def misplaced(case: Case) -> str | None:
    """The same numbers in another order."""
    same = close(np.sort(case.wrong, axis=None), np.sort(case.right, axis=None))
    return "" if same and case.right.size > 2 else None
