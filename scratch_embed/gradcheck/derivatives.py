"""What a mistake inside a derivative makes of the right gradient, as `predictions` does for rows.

These come last: they look at what is left over when no row, factor or place explains it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scratch_embed.gradcheck.by_row import are_segments
from scratch_embed.gradcheck.numeric import stream
from scratch_embed.gradcheck.predictions import Case, close
from scratch_embed.gradcheck.walk import answers, summed_to

ASIDE = 1e-5  # how far beside a point the slopes there are asked for
BESIDE = 3  # times
LEAST = 1e-3  # of the largest slope there: more than is curved


def no_target(case: Case) -> str | None:
    """p for p - 1: the difference stands at the targets alone, or is dout times a partner.

    A mean that is missing as well is seen through: it will be named once the target is there.
    """
    partners = [a for a in case.arrays("f") if a is not case.part.tensor.data]
    classes = [ids for ids in case.arrays("iu") if not (ids.size and are_segments(case, ids))]
    for count in (1, len(case.wrong) if case.wrong.ndim else 1):
        gap = case.wrong / count - case.right
        of_one = not case.dout.ndim and any(close(gap, case.dout * a) for a in partners)
        if of_one and _is_of_shares(case.wrong / count, gap, case.dout):
            return ""
        for targets in classes:
            if targets.shape == gap.shape[:-1]:
                there = np.where(np.arange(gap.shape[-1]) == targets[..., None], gap, 0)
                if there.any() and close(there, gap) and _are_shares(case.wrong, there):
                    return ""
            if any(_is_multiple(gap, each) for each in _sums_by_target(case, targets)):
                return ""
    return None


@np.errstate(all="ignore")  # 0 / 0, where nothing is missing
def _is_of_shares(wrong: np.ndarray, gap: np.ndarray, dout: np.ndarray) -> bool:
    """Whether what came is p of dout, or p of the partner that is missing: never above 1."""
    return any(((p >= 0) & (p <= 1) | np.isnan(p)).all() for p in (wrong / dout, wrong / gap))


def _are_shares(wrong: np.ndarray, gap: np.ndarray) -> bool:
    """Whether every class has a part of what is missing, as of probabilities, and as the counts
    that a hinge loss sends have not."""
    rows = gap.sum(axis=-1, keepdims=True)
    return bool((wrong * rows > 0)[rows[..., 0] != 0].all())


def _sums_by_target(case: Case, targets: np.ndarray) -> Iterator[np.ndarray]:
    """What the targets alone send to the table that scores were made with: rows of h, summed."""
    for h in case.arrays("f"):
        if case.right.ndim == 2 and h.shape == (*targets.shape, case.right.shape[1]):
            kept = (targets >= 0) & (targets < len(case.right))  # others are ignored
            out = np.zeros(case.right.shape)
            np.add.at(out, targets[kept], h[kept])
            yield out


def _is_multiple(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a = c b for a number c other than 0."""
    size = float(np.vdot(b, b))
    c = float(np.vdot(b, a)) / size if size else 0.0
    return c != 0 and close(a, c * b)


def diagonal_softmax(case: Case) -> str | None:
    """Each score as if it moved its own probability only: the shared denominator is forgotten."""
    z, dout, out = case.part.tensor.data, case.dout, case.part.out
    if not z.size or z.shape != out.shape:
        return None
    z = z - z.max(axis=-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    p = np.exp(log_p)
    rules = {"p (dout - sum of p dout)": p, "dout - p (sum of dout)": log_p}
    guesses = (p * dout, p * (1 - p) * dout, (1 - p) * dout, dout - p, dout)
    alone = any(case.is_like(guess) for guess in guesses)
    return next((rule for rule, told in rules.items() if alone and close(out, told)), None)


def statistics_constant(case: Case) -> str | None:
    """As below, and no entry of a row learns what arrived at the others."""
    return "" if _beside_statistics(case) and not _mixes_rows(case) else None


def statistics_wrong(case: Case) -> str | None:
    """What is left over is, row by row, a multiple of the row plus a constant."""
    return "" if _beside_statistics(case) else None


def _beside_statistics(case: Case) -> bool:
    if case.right.ndim < 2 or case.right.shape[-1] < 4 or case.right.shape != case.dout.shape:
        return False  # it is no norm of rows
    x, gap = case.part.tensor.data, case.wrong - case.right
    if not np.isfinite(x).all():  # as scores are that are masked
        return False
    twice = answers(case.part, 2 * case.dout)
    if not all(close(grad - 2 * case.right, 2 * gap) for grad in twice):
        return False  # it comes from elsewhere than from dout, as weight decay does
    for row, left in zip(x.reshape(-1, x.shape[-1]), gap.reshape(-1, x.shape[-1])):
        basis = np.stack([np.ones_like(row), row], axis=1)
        rest = left - basis @ np.linalg.lstsq(basis, left, rcond=None)[0]
        if not np.abs(rest).max() <= 1e-7 * np.abs(case.right).max():  # NaN is no match
            return False
    return True


def _mixes_rows(case: Case) -> bool:
    """Whether what arrives at the first entry of each row alone goes back to the others as well."""
    first = np.zeros_like(case.dout)
    first[..., 0] = case.dout[..., 0]
    return any(grad[..., 1:].any() for grad in answers(case.part, first))


def not_from_zero(case: Case) -> str | None:
    """The gradient plus one number everywhere."""
    gap = case.wrong - case.right
    if gap.size < 3 or not close(gap, np.full(gap.shape, gap.mean())):
        return None
    still = all(close(grad - 2 * case.right, gap) for grad in answers(case.part, 2 * case.dout))
    return f"{gap.mean():.6g}" if still else None  # what is left there does not grow with dout


def leaks(case: Case) -> str | None:
    """Right wherever the gradient is not 0, and something where it should be 0."""
    owed = case.right != 0
    if owed.all() or not close(np.where(owed, case.wrong, 0), case.right):
        return None
    x, rng = case.part.tensor.data, stream(0)
    for _ in range(BESIDE):
        moved = x + ASIDE * rng.standard_normal(x.shape) if x.dtype.kind == "f" else x
        beside = case.instead({case.part.place: moved}, case.dout)
        if beside is not None and np.abs(beside[~owed]).max() > LEAST * np.abs(beside).max():
            return None  # nothing is due at a corner only, as of three equal numbers' median
    return ""


def passed_on(case: Case) -> str | None:
    """dout itself, or its sum where the input was stretched."""
    if case.is_like(case.dout):
        return ""
    summed = summed_to(case.dout, case.right.shape)
    like = summed is not None and case.is_like(summed)
    return ", but for the sum over its copies" if like else None


def anything(case: Case) -> str | None:
    """Fits everything: the last resort."""
    return ""
