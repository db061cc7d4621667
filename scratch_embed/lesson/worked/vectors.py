"""Worked arithmetic on numbers and vectors."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np

from scratch_embed.digits import short
from scratch_embed.lesson.worked.layout import MOST, elide, factor, plus, vector, vectors
from scratch_embed.lesson.worked.present import present
from scratch_embed.working import Line


def line(label: str, expression: str, value, why: str = ""):
    """Anything else: label = expression = value. Write the numbers into the expression yourself.

    >>> rate, g = 0.1, 0.5
    >>> _ = line("w", f"2 - {rate} * {g}", 2 - rate * g)
      w = 2 - 0.1 * 0.5 = 1.95
    """

    def told() -> Line:
        shown = short(value) if np.ndim(value) == 0 else vector(value)
        return Line(label, (expression, shown), value, why)

    return present("line", label, told, value)


def product(label: str, *numbers, why: str = ""):
    """6 * 3 = 18. Whole numbers stay exact. Returns the product."""
    result = math.prod(map(int if _are_whole(numbers) else float, numbers))

    def told() -> Line:
        return Line(label, (" * ".join(map(factor, numbers)), short(result)), result, why)

    return present("product", label, told, result)


def _are_whole(numbers) -> bool:
    return all(isinstance(x, (int, np.integer)) for x in numbers)


def quotient(label: str, numerator, denominator, why: str = "") -> float:
    """1.2042 / 0.0860233 = 13.9986. Raises ZeroDivisionError for a zero denominator."""
    result = float(numerator) / float(denominator)

    def told() -> Line:
        stages = f"{factor(numerator)} / {factor(denominator)}", short(result)
        return Line(label, stages, result, why)

    return present("quotient", label, told, result)


def root(label: str, x, why: str = "") -> float:
    """sqrt(512) = 22.6274. Raises ValueError for a negative number."""
    result = math.sqrt(x)

    def told() -> Line:
        return Line(label, (f"sqrt({short(x)})", short(result)), result, why)

    return present("root", label, told, result)


def sum(label: str, *terms, why: str = ""):
    """The sum of one vector's numbers, of several numbers, or of several vectors, place by place.

    Returns a float, or for several vectors their sum (D,). Whole numbers stay whole.
    """
    if len(terms) > 1 and any(np.ndim(term) for term in terms):
        return _sum_vectors(label, terms, why)
    if len(terms) == 1:
        (values,) = vectors((label, terms[0]))
        result = float(values.sum())
    else:
        whole = _are_whole(terms)
        values = np.array(terms) if whole else np.array(terms, dtype=float)
        result = reduce(add, map(int, terms)) if whole else values.sum().item()

    def told() -> Line:
        return Line(label, (plus(values), short(result)), result, why, adds=tuple(values))

    return present("sum", label, told, result)


def _sum_vectors(label: str, terms, why: str) -> np.ndarray:
    arrays = vectors(*((f"term {k}", term) for k, term in enumerate(terms)))
    result = np.sum(arrays, axis=0)

    def told() -> Line:
        parts = tuple(
            Line(f"[{place}]", (plus(column), short(result[place])), result[place])
            for place, column in enumerate(zip(*arrays))
            if place < MOST
        )
        stages = " + ".join(map(vector, arrays)), vector(result)
        return Line(label, stages, result, why, parts, opened=True, adds=tuple(arrays))

    return present("sum of vectors", label, told, result)


def mean(label: str, values, why: str = "") -> float:
    """(2 + 4 + 9) / 3 = 5"""
    (values,) = vectors((label, values))
    result = float(values.mean())

    def told() -> Line:
        summed = f"({plus(values)}) / {values.size}", f"{short(values.sum())} / {values.size}"
        return Line(label, (*summed, short(result)), result, why)

    return present("mean", label, told, result)


def difference(label: str, a, b, why: str = "") -> np.ndarray:
    """[0.72, -0.41] - [0.68, -0.38] = [0.04, -0.03]. Returns a - b, shape (D,)."""
    a, b = vectors(("a", a), ("b", b))
    return present("difference", label, lambda: _vectors(label, a, "-", b, a - b, why), a - b)


def scale(label: str, by: float, values, why: str = "") -> np.ndarray:
    """2 * [0.3, -0.5] = [0.6, -1]. Returns by * values, shape (D,)."""
    (values,) = vectors((label, values))
    out = by * values

    def told() -> Line:
        parts = _places(np.full_like(values, by), "*", values, out)
        return Line(label, (f"{factor(by)} * {vector(values)}", vector(out)), out, why, parts)

    return present("scale", label, told, out)


def times(label: str, a, b, why: str = "") -> np.ndarray:
    """Place by place: [2, 3] * [0.5, -1] = [1, -3]. Returns a * b, shape (D,)."""
    a, b = vectors(("a", a), ("b", b))
    return present("times", label, lambda: _vectors(label, a, "*", b, a * b, why), a * b)


def _vectors(label: str, a: np.ndarray, sign: str, b: np.ndarray, out: np.ndarray, why: str):
    """Two vectors and what becomes of them, a line that opens into its places."""
    stages = f"{vector(a)} {sign} {vector(b)}", vector(out)
    return Line(label, stages, out, why, _places(a, sign, b, out))


def _places(a: np.ndarray, sign: str, b: np.ndarray, out: np.ndarray) -> tuple[Line, ...]:
    """What a line on vectors opens into: a line a place."""
    return tuple(
        Line(f"[{place}]", (f"{factor(x)} {sign} {factor(y)}", short(z)), z)
        for place, (x, y, z) in enumerate(zip(a, b, out))
    )


def dot_line(label: str, a: np.ndarray, b: np.ndarray, why: str = "") -> Line:
    """a . b as one line that opens into its products."""
    result = float(a @ b)
    terms = [f"{factor(x)}*{factor(y)}" for x, y in zip(a, b)]
    parts = tuple(Line(term, (short(x * y),), x * y) for term, x, y in zip(terms, a, b))
    stages = " + ".join(elide(terms)), plus(a * b), short(result)
    return Line(label, stages, result, why, parts, adds=tuple(a * b))


def dot(label: str, a, b, why: str = "") -> float:
    """a . b = sum of a[j] * b[j], every product shown. Returns the number."""
    a, b = vectors(("a", a), ("b", b))
    return present("dot", label, lambda: dot_line(label, a, b, why), float(a @ b))


def sigmoid(label: str, x: float, why: str = "") -> float:
    """σ(x) = 1 / (1 + exp(-x)), a score made into a probability. Returns the number."""
    result = float(1 / (1 + np.exp(-x))) if x >= 0 else float(np.exp(x) / (1 + np.exp(x)))

    def told() -> Line:
        stages = f"1 / (1 + exp({short(-x)}))", short(result)
        return Line(f"σ({label})", stages, result, why)

    return present("sigmoid", label, told, result)


def norm(label: str, values, why: str = "") -> float:
    """|a| = sqrt(sum of a[j]**2)"""
    (values,) = vectors((label, values))
    return present("norm", label, lambda: _root_of_squares(label, values, why), _length(values))


def distance(label: str, a, b, why: str = "") -> float:
    """Euclidean: |a - b| = sqrt(sum of (a[j] - b[j])**2), with the difference shown first."""
    a, b = vectors(("a", a), ("b", b))

    def told() -> tuple[Line, Line]:
        text = f"{vector(a)} - {vector(b)} = {vector(a - b)}"
        gap = Line("", (text,), a - b, why, _places(a, "-", b, a - b))
        return gap, _root_of_squares(label, a - b)

    return present("distance", label, told, _length(a - b))


def _length(values: np.ndarray) -> float:
    return float(np.sqrt(np.sum(values**2)))


def _root_of_squares(label: str, values: np.ndarray, why: str = "") -> Line:
    result = _length(values)
    squares = " + ".join(elide([f"{factor(x)}^2" for x in values]))
    stages = (
        f"sqrt({squares})",
        f"sqrt({plus(values**2)})",
        f"sqrt({short(np.sum(values**2))})",
        short(result),
    )
    parts = tuple(Line(f"{factor(x)}^2", (short(x * x),), x * x) for x in values)
    return Line(label, stages, result, why, parts)


def cosine(label: str, a, b, why: str = "") -> float:
    """cos(a, b) = a . b / (|a| |b|). Raises ValueError when one of them is zero."""
    a, b = vectors(("a", a), ("b", b))
    lengths = float(np.sqrt(a @ a)), float(np.sqrt(b @ b))
    if 0.0 in lengths:
        if a.any() and b.any():
            raise ValueError("squares of a or b are below all floats: multiply it by a number")
        raise ValueError("the cosine of a zero vector is not defined")
    result = float(a @ b) / (lengths[0] * lengths[1])

    def told() -> Line:
        parts = dot_line("a . b", a, b), _root_of_squares("|a|", a), _root_of_squares("|b|", b)
        shown = f"({' * '.join(map(short, lengths))})"
        stages = "a . b / (|a| |b|)", f"{short(a @ b)} / {shown}", short(result)
        return Line(label, stages, result, why, parts)

    return present("cosine", label, told, result)
