"""The questions that an exercise's `check(trial)` can ask of the learner's functions.

    for rng in trial.rounds(5):
        E, ids = rng.standard_normal((6, 3)), trial.ids(rng, 6, 4)
        trial.same("lookup_forward", E=E, ids=ids)              the answer of the solution
        trial.gradients("lookup_backward", ..., E=E, ids=ids)   what finite differences say
    trial.raises("lookup_forward", IndexError, E=E, ids=ids)    a refusal
    trial.lean("sgd_step", most=1e6, ...)                       memory
    trial.reaches("train", "loss", loss, target)                what training has come to
    trial.faster("scatter_add", readable, times=20, ...)        speed

When all are answered, some are asked `again`, in another order. Each raises `Wrong` at the first
answer that is not right.
"""

from __future__ import annotations

import itertools
import math
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from scratch_embed.gradcheck import gradcheck
from scratch_embed.lesson.exercises.asked import KEPT, Asked, copies
from scratch_embed.lesson.exercises.compare import RTOL, Wrong, difference, told
from scratch_embed.lesson.exercises.exercise import Exercise
from scratch_embed.tensor import Tensor, differentiable

ROWS_SHOWN = 8  # of a gradcheck table
# What a guilty line looks like: of a missing refusal, of too much memory, of a nan or an inf
REFUSES = r"\b(if|raise|assert)\b"
ALLOCATES = r"\b(zeros|ones|full|empty|eye|bincount|copy|tile|repeat)(_like)?\("
OVERFLOWS = r"\b(exp|log\w*)\("


class Trial:
    """All functions of one exercise, the learner's and the solution's, and what was found so far.

    yours : the learner's functions as attributes, each an `Asked`.
    found : {stage: how far it went}, in the order in which the stages were entered.
    timed : whether `faster` measures; tests leave it out.
    """

    def __init__(
        self, exercise: Exercise, yours: Mapping[str, Callable], ours: Mapping[str, Callable],
        timed: bool = True, clock: Callable[[], float] = time.perf_counter,
    ):  # fmt: skip
        asked = {n: Asked(n, yours[n], ours[n], exercise.in_place.get(n, ())) for n in yours}
        self.yours = SimpleNamespace(**asked)
        self.found: dict[str, str] = {}
        self.timed, self.clock = timed, clock
        self._cases = self._checks = self._entries = 0
        self._right: list[tuple] = []  # (name, mistakes, same) of what was right: see `_known`

    @property
    def apart(self) -> np.ndarray:
        """Rows so far apart in size that a running sum over them loses the small ones."""
        return np.array([[1e17], [1.0], [-1e17], [1.0]])

    def rounds(self, count: int) -> Iterator[np.random.Generator]:
        """A generator of random numbers for each round; the same ones at every check."""
        for seed in range(count):
            yield np.random.default_rng(seed)

    def ids(self, rng: np.random.Generator, num_rows: int, *shape: int) -> np.ndarray:
        """Random ids with a repeat among them, and a row that none of them names."""
        allowed = np.delete(np.arange(num_rows), rng.integers(num_rows))
        size = math.prod(shape)
        few = rng.permutation(allowed)[: size // 2 + 1]
        ids = rng.permutation(np.resize(few, size))
        if size:
            ids[-1] = ids[0]
        return ids.reshape(shape)

    def same(
        self, name: str, mistakes: Mapping[str | tuple, Callable] | None = None,
        by_row: bool = False, **arguments: Any,
    ) -> None:  # fmt: skip
        """The learner's function must answer as the solution does, and leave arrays as it does.
        `by_row`, each row of the answer has to be right by itself, however large another is.

        mistakes: {a sentence: the function that makes this mistake}, to know a wrong answer, or a
        wrong change of an argument, by. (a sentence, what the guilty line looks like) will do too.
        """
        asked = getattr(self.yours, name)
        theirs, ours = copies(arguments), copies(arguments)
        expected = asked.ours(**ours)
        got, given = asked(**theirs), copies(arguments)
        changes = [key for key in asked.in_place if key in arguments]

        def same(wrong: Callable) -> bool:
            handed = copies(given)
            answer = wrong(**handed)
            pairs = [(theirs[key], handed[key]) for key in changes]
            if expected is not None:
                pairs.append((got, answer))
            return all(difference(*pair) is None for pair in pairs) and asked.explained_by(wrong)

        if off := difference(got, expected, by_row):
            known = self._known(name, mistakes, same)
            wrong = _off(known, f"{name}({', '.join(arguments)}) {off}", arguments)
            wrong.result = _first_wrong(got, expected, by_row)
            raise wrong
        for changed in changes:
            if off := difference(theirs[changed], ours[changed], by_row):
                known = self._known(name, mistakes, same)
                wrong = _off(known, f"after {name}, {changed} {off}", arguments)
                wrong.variable = changed
                raise wrong
        self._was_right(name, mistakes, same)
        self._cases += 1
        self.found["random cases"] = f"{self._cases} agree"

    def never_0(self, name: str) -> dict[tuple, Callable]:
        """The mistakes of a function that takes a small number where eps is 0."""
        ours = getattr(self.yours, name).ours
        return {
            (f"{name} takes {small:g} for an eps of 0", r"eps or|max\("):
                lambda eps, small=small, **given: ours(**given, eps=eps or small)
            for small in (1e-12, 1e-8, 1e-6, 1e-5)
        }  # fmt: skip

    def raises(self, name: str, error: type[Exception], because: str, **arguments: Any) -> None:
        """The learner's function must refuse these arguments with `error`."""
        try:
            getattr(self.yours, name).call(*copies(arguments).values())
        except error:
            self.found["refusals"] = f"{error.__name__} where it is due"
            return
        except (ValueError, LookupError, AssertionError) as other:  # a refusal of another kind
            sentence = f"{name} must raise {error.__name__} {because}, and raises {_named(other)}"
            raise Wrong(sentence, told(arguments), named=True, pattern=REFUSES) from None
        sentence = f"{name} must raise {error.__name__} {because}, and returns an answer"
        raise Wrong(sentence, told(arguments), pattern=REFUSES)

    def gradients(
        self, name: str, forward: Callable, backward: Callable, saved: Any = (),
        mistakes: Mapping[str | tuple, Callable] | None = None, **arrays,
    ) -> None:  # fmt: skip
        """`backward(dout)` must be the derivative of `forward(*arrays)`, by finite differences.

        Arrays of floats are differentiated by, those of integers are not; `backward` returns a
        gradient for each of the floats. forward takes complex numbers as well, so that gradcheck
        can measure without rounding. Two arguments help to name a mistake: `saved` is what an
        operation of the package would keep, and `mistakes` holds sentences with the backward that
        each of them would make.
        """
        values = copies(arrays)
        learns = {key: np.asarray(value).dtype.kind == "f" for key, value in values.items()}

        def back(dout, _=None):  # a gradient of shape () is a number to the contract
            return backward(dout if np.ndim(dout) else float(dout))

        op = differentiable(lambda *inputs: (forward(*inputs), saved), back, name=name)
        tensors = {k: Tensor(v, requires_grad=True, name=k) for k, v in values.items() if learns[k]}

        def fn(*given):
            inputs = values | dict(zip(tensors, given))
            return op(*inputs.values())

        dout = np.random.default_rng(0).standard_normal(np.shape(forward(*values.values())))

        def same(wrong: Callable) -> bool:
            return difference(back(dout), wrong(dout)) is None

        report = gradcheck(fn, *tensors.values(), name=name, seed=self._checks)
        if not report.passed:
            constants = {key: value for key, value in values.items() if not learns[key]}
            known, arrives = self._known(name, mistakes, same), self._arriving(name)
            wrong = _gradient_wrong(name, report, constants, known, arrives)
            wrong.result = _first_input_wrong(report, list(tensors))
            raise wrong
        _check_double(name, back(dout), report)
        self._was_right(name, mistakes, same)
        self._checks += 1
        self._entries += len(report.rows)
        checks = "1 check" if self._checks == 1 else f"{self._checks} checks"
        self.found["gradients"] = (
            f"{self._entries} entries agree with finite differences, in {checks}"
        )

    def _arriving(self, name: str) -> str:
        """What the contract of a backward calls the gradient that arrives: its first argument."""
        asked = getattr(self.yours, name, None)
        first = next(iter(asked.signature.parameters), "") if asked else ""
        return first if first.startswith("d") else "dout"

    def _was_right(self, name: str, mistakes: Mapping | None, same: Callable) -> None:
        if mistakes:  # else the arguments, which may be large, are not kept
            self._right.append((name, mistakes, same))

    def _known(
        self, name: str, mistakes: Mapping[str | tuple, Callable] | None, same: Callable
    ) -> str | tuple | None:
        """The key of the mistake that the learner made here, if one would explain all answers.

        It must be the same here, and where it was looked for before it must have come to what the
        learner's function came to, which was right: one wrong answer can have many reasons.
        """
        for key, wrong in (mistakes or {}).items():
            earlier = [
                same_there(known_there[key])
                for there, known_there, same_there in self._right
                if there == name and key in known_there
            ]
            if same(wrong) and all(earlier):
                return key
        return None

    def again(self) -> None:
        """What was answered rightly must be answered so again, after all that was asked since."""
        functions = vars(self.yours).values()
        for asked, n, m in itertools.product(functions, range(KEPT), range(KEPT)):
            for other in functions:
                if other is not asked:
                    other.disturb(m)
            asked.repeat(n)

    def lean(self, name: str, most: float, because: str, **arguments: Any) -> None:
        """The function must not take more than `most` bytes of memory at any time."""
        function, handed = getattr(self.yours, name).call, copies(arguments)
        tracemalloc.start()
        try:
            function(*handed.values())
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        size = f"{peak / 1e3:,.0f} kB at most, {most / 1e3:,.0f} kB allowed"
        if peak > most:
            raise Wrong(f"{name} takes too much memory, {size}: {because}", pattern=ALLOCATES)
        self.found["memory"] = size

    def reaches(self, name: str, what: str, value: float, target: float) -> None:
        """What the function has brought about must be `target` or less."""
        told = f"{value:.4f}, at most {target:.4f} asked"
        if not value <= target:
            raise Wrong(f"{name} does not reach its target: {what}, is {told}")
        self.found[what] = told

    def faster(
        self, name: str, readable: Callable, times: float, because: str = "", **arguments: Any
    ) -> None:
        """The function must be `times` as fast as a readable loop on the same arguments.

        because : what may be the reason, where it is not.
        """
        if not self.timed:
            return
        yours = getattr(self.yours, name).yours
        yours(*copies(arguments).values())  # compiles, where there is something to compile
        fast = min(self._seconds(yours, arguments) for _ in range(5))
        slow = min(self._seconds(readable, arguments) for _ in range(2))
        ratio = slow / max(fast, 1e-9)
        shown = f"{ratio:,.0f}" if ratio >= times or ratio < 0.9 * times else f"{ratio:.3g}"
        pace = f"{shown} times as fast as the readable loop, {times:g} asked"
        if ratio < times:
            raise Wrong(f"{name} is right, but slow: {pace}{because}")
        self.found["speed"] = f"{1e3 * fast:.2f} ms, {pace}"

    def _seconds(self, function: Callable, arguments: dict) -> float:
        handed = list(copies(arguments).values())
        start = self.clock()
        function(*handed)
        return self.clock() - start


def _named(error: Exception) -> str:
    """ValueError: what it says"""
    return ": ".join(filter(None, (type(error).__name__, str(error))))


def _off(known: str | tuple | None, off: str, arguments: Mapping[str, Any]) -> Wrong:
    """An answer that is off: by a mistake that is known, or just where."""
    sentence, pattern = known if isinstance(known, tuple) else (known, None)
    if " is nan and" in off or " is inf and" in off:
        pattern = pattern or OVERFLOWS
    detail = f"{off}\n\n{told(arguments)}" if known else told(arguments)
    return Wrong(sentence or off, detail, named=known is not None, pattern=pattern)


def _check_double(name: str, gradients: Any, report) -> None:
    """Gradcheck takes float32 for what it can tell; what is asked for here is float64."""
    arrays = map(np.asarray, gradients if isinstance(gradients, tuple) else (gradients,))
    found = {str(a.dtype) for a in arrays if a.dtype.kind == "f" and a.dtype.itemsize < 8}
    largest = max((abs(row.numeric) for row in report.rows), default=0.0)
    why = f"is rounded to {min(found)}" if found else ""
    if any(row.difference > RTOL * largest + row.noise for row in report.rows):
        why = why or "is off as one that is rounded to single precision on the way"
    if why:
        sentence = f"the gradient of {name} {why}, compute in float64"
        raise Wrong(sentence, named=True, pattern=r"float(32|16)|['\"]f[42]['\"]|single|half")


def _first_wrong(got: Any, expected: Any, by_row: bool) -> int | None:
    """Which of several results differs first; None for a single one."""
    if not isinstance(expected, tuple):
        return None
    pairs = enumerate(zip(got, expected))
    return next(i for i, (g, e) in pairs if difference(g, e, by_row))


def _first_input_wrong(report, names: list[str]) -> int | None:
    """Which of several inputs has a wrong gradient; None where there is one input."""
    wrong = {row.parameter for row in report.rows if not row.passed}
    found = [position for position, name in enumerate(names) if name in wrong]
    return found[0] if found and len(names) > 1 else None


def _gradient_wrong(
    name: str, report, constants: Mapping[str, Any], known: str | tuple | None, arrives: str
) -> Wrong:
    """What a gradcheck report tells a learner: the mistake by name, the table, and where.

    arrives : what the contract calls dout, as dloss.
    """
    known, pattern = known if isinstance(known, tuple) else (known, None)
    causes = [cause for cause in report.causes if cause.name != "local derivative"]
    sentence = known or (causes[0].sentence if causes else None)
    sentence = sentence and re.sub(r"\bdout\b", arrives, sentence)
    problems = (re.sub(r"\bdout\b", arrives, problem) for problem in report.problems)
    amiss = [f"amiss: {problem}" for problem in problems]
    table = [report.table(ROWS_SHOWN), *report.remarks(), *amiss]
    return Wrong(
        sentence or f"the gradient of {name} is not what finite differences say",
        "\n".join([told(constants)] * bool(constants) + table),
        named=sentence is not None,
        pattern=pattern,
    )
