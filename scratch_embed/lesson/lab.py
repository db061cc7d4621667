"""The protocol of a lab: several seeds, several budgets, and no claim beyond their spread.

    results = across(run, {"tied": dict(tied=True), "untied": dict(tied=False)}, budgets=(200, 400))
    results.show()                               medians and ranges, a line a way
    results.claim("tied", "below", "untied", by=0.01)

`run(seed, budget, **settings)` trains and returns one number. Every way sees the same seeds and the
same budgets. A claim is made only where it holds for every seed at the longest budget; else the
spread is told, and that is a good lab too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.lesson.record import current
from scratch_embed.look.numbers import number, told_apart
from scratch_embed.look.terminal import table, width, wrap

SEEDS, QUICK_SEEDS = 5, 3
ROUNDING = 1e-12  # of a score


@dataclass
class Results:
    """scores[way][budget] is an array with a number for each seed."""

    scores: dict[str, dict[int, np.ndarray]]
    unit: str = ""
    claims: list[dict] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """The longest budget."""
        return max(next(iter(self.scores.values())))

    def final(self, way: str) -> np.ndarray:
        """(S,) the numbers of one way at the longest budget, seed by seed."""
        if way not in self.scores:
            raise ValueError(f"there is no way {way!r}; there are {', '.join(self.scores)}")
        return self.scores[way][self.longest]

    def show(self) -> None:
        """Print the median over the seeds, and the range, for each way and budget."""
        budgets = list(next(iter(self.scores.values())))
        rows = [
            [way, *(_spread(at[budget]) for budget in budgets)] for way, at in self.scores.items()
        ]
        seeds = len(self.final(next(iter(self.scores))))
        header = [f"{seeds} seeds{self.unit and ', ' + self.unit}", *(f"{b:,}" for b in budgets)]
        print("\n".join("  " + line for line in table(header, rows, width() - 2).splitlines()))

    def claim(self, one: str, relation: str, other: str, by: float = 0.0) -> bool:
        """Say whether `one` is "above" or "below" `other` by more than `by`, beyond rounding, for
        every seed.

        The seeds are paired, and the longest budget decides. Prints the sentence, keeps it, and
        returns whether the claim may be made.
        """
        if relation not in ("above", "below"):
            raise ValueError(f"relation is {relation!r}; it must be 'above' or 'below'")
        gaps = self.final(one) - self.final(other)
        gaps = gaps if relation == "above" else -gaps
        sizes = np.maximum(np.abs(self.final(one)), np.abs(self.final(other)))
        held = int((gaps > by + ROUNDING * sizes).sum())
        holds = held == len(gaps)
        more = f" by more than {number(by)}" if by else ""
        low, high = number(gaps.min(), 3), number(gaps.max(), 3)
        if low == number(by) and held:
            low, _ = told_apart(gaps.min(), by, 3)
        spread = f"{low} to {high}{self.unit and ' ' + self.unit}"
        if holds:
            text = f"{one} is {relation} {other}{more} for all {len(gaps)} seeds ({spread})"
        else:
            text = (
                f"No claim: {one} is {relation} {other}{more} for {held} of {len(gaps)} seeds "
                f"(the gap runs from {spread})"
            )
        return self.conclude(text, holds)

    def conclude(self, text: str, holds: bool) -> bool:
        """Print and keep a conclusion of another form; returns whether it may be claimed.

        One that does not hold is printed as "No claim: ...".
        """
        if not holds and not text.startswith("No claim"):
            text = f"No claim: {text}"
        self.claims.append({"claim": text, "holds": bool(holds)})
        print("\n".join(wrap(f"{text}.", width(), "  -> ", "     ")))
        return bool(holds)

    def as_json(self) -> dict:
        """All numbers and conclusions, in types that JSON has."""
        scores = {
            way: {str(budget): values.tolist() for budget, values in at.items()}
            for way, at in self.scores.items()
        }
        return {"unit": self.unit, "scores": scores, "claims": self.claims}


def across(
    run: Callable[..., float],
    ways: Mapping[str, Mapping],
    seeds: int | Sequence[int] = SEEDS,
    budgets: Sequence[int] = (1,),
    unit: str = "",
    quick_budgets: Sequence[int] | None = None,
) -> Results:
    """Run every way with every seed at every budget, and keep the numbers.

    run : (seed, budget, **settings) -> one number. It makes its generators from the seed alone.
    ways : {name: settings}; compared models, the trivial baseline and the control among them.
    seeds : how many (0, 1, ...), or which. With --quick at most three are run.
    budgets : training steps, or another unit of work that all ways spend alike.
    quick_budgets : the budgets of a --quick run; the shortest of `budgets` when not given.

    Raises ValueError for no way, seed or budget, a budget that is no whole number, and a score that
    is no finite number.
    """
    from tqdm import tqdm

    seeds = list(seeds) if isinstance(seeds, Iterable) else range(check_count(seeds, "seeds"))
    budgets = [check_count(budget, "a budget", 0) for budget in budgets]
    for name, given in (("ways", ways), ("seeds", seeds), ("budgets", budgets)):
        if not len(given):
            raise ValueError(f"{name} is empty; it must hold one at least")
    if current().options.quick:
        seeds = seeds[:QUICK_SEEDS]
        budgets = [min(budgets)] if quick_budgets is None else quick_budgets
    scores = {way: {int(b): np.zeros(len(seeds)) for b in budgets} for way in ways}
    jobs = [(way, b, k, seed) for way in ways for b in budgets for k, seed in enumerate(seeds)]
    for way, budget, k, seed in tqdm(jobs, desc="runs", disable=None, leave=False):
        scores[way][budget][k] = _score(run(seed, budget, **ways[way]), f"{way} with seed {seed}")
    results = Results(scores, unit)
    current().results.append(results)
    return results


def _score(given, whose: str) -> float:
    score = np.asarray(given)
    if score.ndim or score.dtype.kind not in "biuf":
        raise ValueError(f"{whose} returns {given!r}; a run must return one number")
    if not np.isfinite(score):
        raise ValueError(f"{whose} comes to {given}: not to be compared")
    return float(score)


def dump(results: Sequence[Results]) -> str:
    """The results of a lab as JSON text."""
    return json.dumps([r.as_json() for r in results], indent=1, allow_nan=False) + "\n"


def _spread(values: np.ndarray) -> str:
    low, middle, high = values.min(), np.median(values), values.max()
    digits = max(4, len(f"{max(-low, high):.0f}"))  # 12,346 and not 1.235e+04
    texts = [number(float(x), digits) for x in (middle, low, high)]
    return texts[0] if low == high else f"{texts[0]} ({texts[1]} to {texts[2]})"
