"""A learner's function as an exercise asks it: by the contract, on copies, and more than once."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from scratch_embed.lesson.exercises.compare import Wrong, difference, fit, told, untouched

KEPT = 4  # answers of each function that are asked for again
SMALL = 10_000  # numbers that such a question may hold


class Answered(NamedTuple):
    """A question and its answer: as the learner's function gave it, and as it was then."""

    given: dict[str, Any]
    answer: Any
    then: Any
    expected: Any


class Asked:
    """A learner's function, called as its contract says and looked at on the way out.

    Arguments are bound to the parameters of the contract and handed over by position, as copies
    but for those that the function is to change in place.
    """

    def __init__(self, name: str, yours: Callable, ours: Callable, in_place: tuple[str, ...]):
        self.name, self.yours, self.ours, self.in_place = name, yours, ours, in_place
        self.signature = inspect.signature(ours)
        self.answered: list[Answered] = []

    def __call__(self, *args, **kwargs):
        given = self.signature.bind(*args, **kwargs).arguments
        expected = self.ours(**copies(given))
        handed = {k: v if k in self.in_place else copied(v) for k, v in given.items()}
        litter([*given.values(), *(expected if isinstance(expected, tuple) else (expected,))])
        got = self.call(*handed.values())
        if isinstance(got, list) and any(got is value for value in handed.values()):
            raise Wrong(
                f"{self.name} hands back the list that it was given, and a new one is asked for",
                named=True,
                pattern=r"\breturn\b",
            )
        for name, value in handed.items():
            if name not in self.in_place and not untouched(value, given[name]):
                raise Wrong(
                    f"{self.name} changes its argument {name} in place, and whoever passed it "
                    "still needs it: work on a copy",
                    variable=name,
                )
        answer = fit(got, expected, f"the answer of {self.name}")
        self._keep(given, answer, expected)
        return answer

    def call(self, *args) -> Any:
        """The learner's function as it is. An error remembers that it came from here."""
        process = os.getpid()
        try:
            with np.errstate():  # what it sets for itself does not hold for the check
                return self.yours(*args)
        except Exception as error:
            error.raised_by = self.name  # a compiler's error has no line of theirs in its traceback
            raise
        finally:
            if os.getpid() != process:  # a child that it made, and let run on
                os._exit(0)

    def _keep(self, given: dict[str, Any], answer: Any, expected: Any) -> None:
        """Note what was asked here, if it is small and may be asked again."""
        sizes = [np.size(v) for v in given.values() if isinstance(v, np.ndarray)]
        if len(self.answered) < KEPT and sum(sizes) <= SMALL and not self.in_place:
            self.answered.append(Answered(copies(given), answer, copied(answer), expected))

    def explained_by(self, wrong: Callable) -> bool:
        """Whether a function answers what is noted as the learner's did: hand values come first."""
        for given, _, then, _ in self.answered:
            try:
                if difference(then, wrong(**copies(given))) is not None:
                    return False
            except Exception:  # noqa: BLE001  it knows other questions only
                return False
        return True

    def disturb(self, n: int) -> None:
        """Ask something like the n-th question, so that other things are left behind."""
        for given, *_ in self.answered[n : n + 1]:
            with suppress(Exception), np.errstate(all="ignore"):
                self.call(*map(_twice, given.values()))

    def repeat(self, n: int) -> None:
        """Ask the n-th question again, after all else: an answer is made of arguments alone.

        What has been handed out must still be as it was, and answers must be what they should be.
        Raises Wrong for a function that goes by what another call has left behind.
        """
        for given, answer, then, expected in self.answered[n : n + 1]:
            if difference(then, expected) is not None:  # the check finds no fault with it
                continue
            off, now = self._now(given, expected)
            self.disturb(n)
            for was, kept in ((then, answer), (expected, now)):
                if off is None and difference(kept, was) is not None:
                    kind = "a list" if isinstance(answer, list) else "an array"
                    raise Wrong(
                        f"{self.name} hands out {kind} that it keeps and fills again at a later "
                        "call, so that the earlier answer changes: make a new one each time",
                        told(given),
                    )
            if off is not None:
                raise Wrong(
                    f"{self.name} was right, and asked the same once more it is not: it goes by "
                    "what other calls left behind, in a global or an attribute, and only its "
                    "arguments should count",
                    f"{off}\n\n{told(given)}",
                )

    def _now(self, given: dict[str, Any], expected: Any) -> tuple[str | None, Any]:
        """What is wrong with the answer by now, if anything, and the answer."""
        try:
            answer = fit(self.call(*copies(given).values()), expected, "it")
        except Wrong as wrong:
            return wrong.sentence, None
        except Exception as error:  # noqa: BLE001  whatever a learner's function raises
            return f"{type(error).__name__}: {error}", None
        return difference(answer, expected), answer


def _twice(value: Any) -> Any:
    """Numbers twice as large, where they are no ids; of words all but the last."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value[:-1]
    floats = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return 2 * value if floats else copied(value)


def copied(value: Any) -> Any:
    """A copy that the receiver may do with what it likes."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    if isinstance(value, np.ndarray):
        return value.copy(order="K")  # as it lies in memory: a function may not reckon with that
    return value.copy() if isinstance(value, dict) else value


def copies(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, each a copy."""
    return {name: copied(value) for name, value in arguments.items()}


def litter(values: Iterable[Any]) -> None:
    """Leave NaN in the memory from which the next arrays of these shapes are likely to be made.

    np.empty, and a ufunc with `where` and without `out`, show what lay there before: too often the
    right answer of a moment ago.
    """
    shapes = {value.shape for value in values if isinstance(value, np.ndarray)}
    held = [np.full(shape, np.nan) for shape in shapes for _ in range(8)]  # NumPy keeps 7 of a size
    del held
