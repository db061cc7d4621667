"""Proof on the spot: the same numbers computed in several ways, and what stands in an array.

    show("E", E, rows=words)                                    an array, with the names of its rows
    compare("dE[cat]", hand=a, code=b, nudged=c)                are they the same?
    beside("dE", rows=words, loop=a, fancy=b, nudged=c, wrong="fancy")      which one is right?

Each prints at once. What does not come out as announced fails the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from scratch_embed.lesson.record import Record, Row, current
from scratch_embed.look.numbers import number
from scratch_embed.look.terminal import paint, visible, width, wrap

LABELS = {"hand": "by hand", "ours": "code", "numeric": "nudged"}
FEW = 8  # numbers of an array that are shown
RTOL, ATOL = 1e-6, 1e-8  # they suit float64 and nudges; float32 results want rtol=1e-4


def compare(name: str, *, rtol: float = RTOL, atol: float = ATOL, **ways) -> None:
    """Say whether the same numbers, computed in two or more ways, are the same.

    compare("dE[cat]", hand=dE[1], code=E.grad[1], nudged=slopes[1])

    ways: arrays (or RowGrad) of one shape under the name of the way (by_hand reads "by hand"). They
    agree when no two differ anywhere by more than atol + rtol * (the largest number among them).
    Raises ValueError for fewer than two ways, or for shapes that differ.
    """
    arrays = _arrays("compare", name, ways)
    row = _row(name, arrays, rtol, atol)
    _record(row)
    print("\n".join(_told(row)))


def beside(
    name: str,
    *,
    rows: Sequence[str] | None = None,
    wrong: str | Sequence[str] = (),
    rtol: float = RTOL,
    atol: float = ATOL,
    **ways,
) -> None:
    """Put the ways beside each other, row by row; the last one decides who is right.

    beside("dE", rows=words, loop=right, fancy=tempting, nudged=slopes, wrong="fancy")

    ways: arrays of one shape, (R,) or (R, D). A row agrees as those of `compare` do, by the largest
    number in it. wrong: the ways that are shown because they are wrong; the run fails when one of
    them is right, or one of the others is not.
    """
    arrays = _arrays("beside", name, ways)
    wrong = (wrong,) if isinstance(wrong, str) else tuple(wrong)
    wrong = tuple(LABELS.get(way, way.replace("_", " ")) for way in wrong)
    unknown = [way for way in wrong if way not in arrays]
    if unknown:
        raise ValueError(f"wrong names {unknown[0]!r}, which is none of {', '.join(arrays)}")
    judge = list(arrays)[-1]
    for way in list(arrays)[:-1]:
        pair = {way: arrays[way], judge: arrays[judge]}
        whole = _row(f"{name}: {way}", pair, rtol, atol, differs=way in wrong)
        _record(whole if _in_lines(arrays[way], rows) else _worst(whole, rtol, atol))
    print(_beside(name, arrays, rows, rtol, atol))


def show(name: str, array, rows: Sequence | None = None, columns: Sequence | None = None) -> None:
    """Print an array with one or two axes under its name, with the names of rows and columns.

    Numbers have four digits; below 5e-13, which is what rounding leaves, they are shown as 0.
    """
    array = _array(array)
    if array.ndim > 2:
        raise ValueError(f"{name} has shape {array.shape}; show takes one or two axes")
    grid = np.atleast_2d(array)
    names = [""] if array.ndim < 2 else [str(i) for i in range(len(grid))]
    if rows is not None:
        _fits("rows", rows, len(grid))
        names = [f"{i} {row}" if array.ndim == 2 else str(row) for i, row in enumerate(rows)]
    heads = [str(c) for c in (range(grid.shape[1]) if columns is None else columns)]
    _fits("columns", heads, grid.shape[1])
    cells = [[_short(x) for x in line] for line in grid]
    widths = [max(visible(t) for t in column) for column in zip(heads, *cells)]
    first = max(visible(t) for t in (name, *names))
    lines = []
    for label, line in zip((name, *names), (heads, *cells)):
        texts = "  ".join(f"{text:>{size}}" for text, size in zip(line, widths))
        lines.append(f"  {label:<{first}}  {texts}".rstrip())
    current().shown[name] = "\n".join(lines)
    print(current().shown[name])


def _fits(what: str, names: Sequence, count: int) -> None:
    if len(names) != count:
        raise ValueError(f"{what} has {len(names)} names for {count} {what}")


def _arrays(caller: str, name: str, ways: dict) -> dict[str, np.ndarray]:
    given = {key: value for key, value in ways.items() if value is not None}
    arrays = {LABELS.get(key, key.replace("_", " ")): _array(x) for key, x in given.items()}
    if len(arrays) < 2:
        raise ValueError(f"{caller}({name!r}) needs at least two ways: hand=, code=, nudged=")
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
        raise ValueError(f"{caller}({name!r}) needs one shape; got {shapes}")
    return arrays


def _array(value) -> np.ndarray:
    value = value.to_dense() if hasattr(value, "to_dense") else value
    return np.array(value, dtype=np.float64)  # a copy: the lesson may go on changing its own


def _row(name: str, arrays: dict, rtol: float, atol: float, differs: bool = False) -> Row:
    stack = np.stack(list(arrays.values()))
    difference = float(np.max([_gap(*pair) for pair in combinations(stack, 2)]))
    tolerance = _tolerance(stack, rtol, atol)
    return Row(name, arrays, difference, tolerance, differs, current().cell)


def _worst(whole: Row, rtol: float, atol: float) -> Row:
    """The check of the row of both arrays that is farthest beyond what it may differ by."""
    pairs = zip(*whole.ways.values())
    apart = [_row("", {"one": one, "other": other}, rtol, atol) for one, other in pairs]
    if not apart:
        return whole
    worst = max(apart, key=lambda row: (not row.holds, row.difference - row.tolerance))
    return replace(whole, difference=worst.difference, tolerance=worst.tolerance)


def _tolerance(arrays, rtol: float, atol: float) -> float:
    """How far apart numbers of these arrays, all of one shape, may be and still agree."""
    sizes = [np.where(np.isfinite(array), np.abs(array), 0.0) for array in arrays]
    return atol + rtol * max(float(np.max(size, initial=0.0)) for size in sizes)


def _gap(one: np.ndarray, other: np.ndarray) -> float:
    """How far apart two arrays are at most; equal infinities are not."""
    with np.errstate(invalid="ignore"):
        return float(np.max(np.where(one == other, 0.0, np.abs(one - other)), initial=0.0))


def _record(row: Row) -> None:
    current().rows.append(row)


def _told(row: Row) -> list[str]:
    """name   by hand [...] | code the same | nudged the same to 2e-11; or a line each."""
    (first, reference), *others = row.ways.items()
    texts = [(first, _shown(reference))]
    texts += [(way, _against(reference, array, row)) for way, array in others]
    single = f"  {row.name}   " + " | ".join(f"{way} {text}" for way, text in texts)
    if visible(single) <= width():
        return [single]
    size = max(visible(way) for way, _ in texts)
    lines = [f"  {row.name}"]
    for way, text in texts:
        lines += wrap(text, width(), f"    {way:<{size}}  ")
    return lines


def _against(reference: np.ndarray, array: np.ndarray, row: Row) -> str:
    gap = _gap(array, reference)
    if np.array_equal(array, reference):
        return "the same"
    if gap <= row.tolerance:
        return f"the same to {gap:.0e}"
    return paint(f"{_shown(array)} DIFFERS by {gap:.1e}", "red")


def _shown(array: np.ndarray) -> str:
    if array.ndim == 0:
        return number(array.item())
    if array.size > FEW:
        return f"{' by '.join(map(str, array.shape))} numbers"
    return _vector(array.ravel())


def _vector(values) -> str:
    return f"[{' '.join(_short(x) for x in values)}]"


def _short(x: float) -> str:
    return "0" if abs(x) < 5e-13 else number(float(x), 4)  # a nan is no 0


def _beside(name: str, arrays: dict, rows, rtol: float, atol: float) -> str:
    """One line a row, the ways as columns, and an arrow where not all of them agree."""
    if _in_lines(next(iter(arrays.values())), rows):
        return _lines_of_ways(name, arrays, rtol, atol)
    count = len(next(iter(arrays.values())))
    names = [str(r) for r in (rows if rows is not None else range(count))]
    _fits("rows", names, count)
    table = [[name, *arrays]]
    for r in range(count):
        values = [array[r] for array in arrays.values()]
        tolerance = _tolerance(values, rtol, atol)
        right = [_gap(v, values[-1]) <= tolerance for v in values]
        off = [way for way, good in zip(arrays, right) if not good]
        mark = f"<- {', '.join(off)} differ{'s' if len(off) == 1 else ''}" if off else ""
        table.append([names[r], *(_vector(np.atleast_1d(v)) for v in values), mark])
    table[0].append("")
    sizes = [max(visible(line[k]) for line in table) for k in range(len(table[0]))]
    if sum(sizes) + 2 * len(sizes) > width():
        return _stacked(table)
    return "\n".join(
        ("  " + "  ".join(f"{text:<{size}}" for text, size in zip(line, sizes))).rstrip()
        for line in table
    )


def _in_lines(array: np.ndarray, rows) -> bool:
    """Whether arrays stand below each other, a line a way, and agree as a whole."""
    return array.ndim == 1 and rows is None


def _lines_of_ways(name: str, arrays: dict, rtol: float, atol: float) -> str:
    """Of vectors a line a way, and an arrow where it differs from the last."""
    *_, judge = arrays.values()
    size, lines = max(map(visible, arrays)), [f"  {name}"]
    for way, array in arrays.items():
        tolerance = _tolerance([array, judge], rtol, atol)
        right = _gap(array, judge) <= tolerance
        lines.append(f"    {way:<{size}}  {_vector(array)}{'' if right else '  <- differs'}")
    return "\n".join(lines)


def _stacked(table: list[list[str]]) -> str:
    """The same where the columns do not fit beside each other: a line a way."""
    ways, lines = table[0][1:-1], [f"  {table[0][0]}"]
    size = max(map(visible, ways))
    for row, *texts, mark in table[1:]:
        lines.append(f"  {row}  {mark}".rstrip())
        lines += [f"    {way:<{size}}  {text}" for way, text in zip(ways, texts)]
    return "\n".join(lines)


def summary(record: Record) -> str:
    """One sentence: how many checks held, how many guesses were right, what went wrong.

    Where nothing is compared: how much was worked out; "" for a run with nothing to tell of.
    """
    parts = []
    if record.rows:
        held = sum(row.holds for row in record.rows)
        parts.append(f"{held} of {len(record.rows)} checks came out as they should")
    judged = [question for question in record.questions if question.right is not None]
    if judged:
        right = sum(question.right for question in judged)
        parts.append(f"{right} of {len(judged)} guesses right")
    if record.failures:
        parts.append("stopped by an error" if record.ask is None else "an error left standing")
    if not parts and record.workings:
        many = len(record.workings)
        parts.append(f"{many} calculation{'s' * (many > 1)} worked out")
    text = ", ".join(parts)
    if not text and record.passed:
        return ""
    text += "." if record.passed else f": {paint('FAILED', 'red')}"
    return "\n".join(wrap(text, width()))
