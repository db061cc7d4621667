"""Worked arithmetic on numbers and vectors."""

from __future__ import annotations

import math

import numpy as np

from scratch_embed.lesson.claims.printed import number
from scratch_embed.lesson.worked.layout import (
    MOST,
    chain,
    elide,
    factor,
    plus,
    vector,
    vectors,
    write,
)


def product(label: str, *numbers):
    """6 * 3 = 18. Whole numbers stay exact. Returns the product."""
    whole = all(isinstance(x, (int, np.integer)) for x in numbers)
    result = math.prod(int(x) for x in numbers) if whole else float(np.prod(numbers))
    chain(label, " * ".join(factor(x) for x in numbers), number(result))
    return result


def quotient(label: str, numerator, denominator) -> float:
    """1.2042 / 0.0860233 = 13.9986. Raises ZeroDivisionError for a zero denominator."""
    result = float(numerator) / float(denominator)
    chain(label, f"{factor(numerator)} / {factor(denominator)}", number(result))
    return result


def root(label: str, x) -> float:
    """sqrt(512) = 22.6274. Raises ValueError for a negative number."""
    result = math.sqrt(x)
    chain(label, f"sqrt({number(x)})", number(result))
    return result


def sum(label: str, *terms):
    """The sum of one vector's numbers, of several numbers, or of several vectors, place by place.

    Returns a float, or for several vectors their sum (D,). Whole numbers stay whole.
    """
    if len(terms) == 1:
        (values,) = vectors((label, terms[0]))
        result = float(values.sum())
    elif all(np.ndim(term) == 0 for term in terms):
        values = np.array(terms)
        result = values.sum().item()
    else:
        return _sum_vectors(label, terms)
    chain(label, plus(values), number(result))
    return result


def _sum_vectors(label: str, terms) -> np.ndarray:
    arrays = vectors(*((f"term {k}", term) for k, term in enumerate(terms)))
    result = np.sum(arrays, axis=0)
    chain(label, " + ".join(vector(array) for array in arrays), vector(result))
    for place, column in enumerate(zip(*arrays)):
        if place < MOST:
            write(f"  [{place}]  {plus(column)} = {number(result[place])}")
    return result


def mean(label: str, values) -> float:
    """(2 + 4 + 9) / 3 = 5"""
    (values,) = vectors((label, values))
    result = float(values.mean())
    chain(label, f"({plus(values)}) / {values.size}", f"{number(values.sum())} / {values.size}",
          number(result))  # fmt: skip
    return result


def difference(label: str, a, b) -> np.ndarray:
    """[0.72, -0.41] - [0.68, -0.38] = [0.04, -0.03]. Returns a - b, shape (D,)."""
    a, b = vectors(("a", a), ("b", b))
    chain(label, f"{vector(a)} - {vector(b)}", vector(a - b))
    return a - b


def scale(label: str, by: float, values) -> np.ndarray:
    """2 * [0.3, -0.5] = [0.6, -1]. Returns by * values, shape (D,)."""
    (values,) = vectors((label, values))
    chain(label, f"{factor(by)} * {vector(values)}", vector(by * values))
    return by * values


def dot(label: str, a, b) -> float:
    """a . b = sum of a[j] * b[j], every product shown. Returns the number."""
    a, b = vectors(("a", a), ("b", b))
    result = float(a @ b)
    terms = [f"{factor(x)}*{factor(y)}" for x, y in zip(a, b)]
    chain(label, " + ".join(elide(terms)), plus(a * b), number(result))
    return result


def sigmoid(label: str, x: float) -> float:
    """s(x) = 1 / (1 + exp(-x)), a score made into a probability. Returns the number."""
    result = float(1 / (1 + np.exp(-x))) if x >= 0 else float(np.exp(x) / (1 + np.exp(x)))
    chain(f"s({label})", f"1 / (1 + exp({number(-x)}))", number(result))
    return result


def norm(label: str, values) -> float:
    """|a| = sqrt(sum of a[j]**2)"""
    (values,) = vectors((label, values))
    return _root_of_squares(label, values)


def distance(label: str, a, b) -> float:
    """Euclidean: |a - b| = sqrt(sum of (a[j] - b[j])**2), with the difference shown first."""
    a, b = vectors(("a", a), ("b", b))
    write(f"{vector(a)} - {vector(b)} = {vector(a - b)}")
    return _root_of_squares(label, a - b)


def _root_of_squares(label: str, values: np.ndarray) -> float:
    result = float(np.sqrt(np.sum(values**2)))
    squares = " + ".join(elide([f"{factor(x)}^2" for x in values]))
    chain(label, f"sqrt({squares})", f"sqrt({plus(values**2)})",
          f"sqrt({number(np.sum(values**2))})", number(result))  # fmt: skip
    return result


def cosine(label: str, a, b) -> float:
    """cos(a, b) = a . b / (|a| |b|). Raises ValueError when one of them is zero."""
    a, b = vectors(("a", a), ("b", b))
    lengths = float(np.sqrt(a @ a)), float(np.sqrt(b @ b))
    if 0.0 in lengths:
        raise ValueError("the cosine of a zero vector is not defined")
    result = float(a @ b) / (lengths[0] * lengths[1])
    lengths_shown = f"({number(lengths[0])} * {number(lengths[1])})"
    chain(label, "a . b / (|a| |b|)", f"{number(a @ b)} / {lengths_shown}", number(result))
    return result
