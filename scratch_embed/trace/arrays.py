"""Arrays as a few lines of text: small ones whole, large ones around the rows that matter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from scratch_embed.rows import RowGrad

NOT_YET = "not yet computed"
GAP = "..."


def number(x, digits: int = 4) -> str:
    """So many significant digits; whole numbers whole. Only a zero reads 0."""
    whole = isinstance(x, (bool, np.bool_, int, np.integer))
    return str(x) if whole else f"{x:.{digits}g}"


def shape(array) -> str:
    """(3, 2), and () for a single number."""
    return str(tuple(int(n) for n in array.shape))


def lines(array, touched=None, columns: int = 72, most: int = 8, digits: int = 4) -> list[str]:
    """The array as lines of at most `columns` letters; of a table with many rows, `most` of them.

    touched : flat positions of the rows to show when there are too many; else the first ones.

    >>> table = np.zeros((50, 2))
    >>> table[[0, 7]] = [0.25, -1]
    >>> print("\\n".join(lines(table, touched=[0, 7])))
    [0]  0.25    -1
    ...  6 rows, all 0
    [7]  0.25    -1
    ...  42 rows, all 0
    """
    if isinstance(array, RowGrad):
        return _sparse(array, columns, most, digits)
    array = np.asarray(array)
    if array.size == 0:
        return [f"empty, shape {shape(array)}"]
    if array.ndim == 0:
        return [number(array[()], digits)]
    if array.ndim == 1:
        texts = _texts(array, columns, digits)
        return [f"[{_fit(texts, len(array), columns - 2, ', ')}]"]
    rows = array.reshape(-1, array.shape[-1])
    shown = _chosen(len(rows), touched, most)
    labels = [str([int(i) for i in np.unravel_index(row, array.shape[:-1])]) for row in shown]
    return _table(labels, rows[shown], _gaps(shown, rows), columns, digits)


def _sparse(grad: RowGrad, columns: int, most: int, digits: int) -> list[str]:
    """The rows that a RowGrad holds, and how many it does not."""
    shown = _chosen(len(grad.rows), None, most)
    gaps = {len(shown): f"{grad.shape[0] - len(grad.rows):,} rows not stored, all 0"}
    if len(shown) < len(grad.rows):
        gaps[len(shown)] = f"{len(grad.rows) - len(shown):,} rows, and {gaps[len(shown)]}"
    labels = [f"[{row}]" for row in grad.rows[shown]]
    return _table(labels, grad.values[shown], gaps, columns, digits)


def _chosen(count: int, touched, most: int) -> np.ndarray:
    """Which of `count` rows to show, in order."""
    if count <= most:
        return np.arange(count)
    if touched is None or len(touched) == 0:
        return np.arange(min(3, most))
    return np.asarray(touched)[:most]


def _gaps(shown: np.ndarray, rows: np.ndarray) -> dict[int, str]:
    """{k: what is left out before the k-th shown row, or after the last}."""
    edges = [-1, *map(int, shown), len(rows)]
    gaps = {}
    for k, (before, after) in enumerate(pairwise(edges)):
        missing = after - before - 1
        if missing:
            zero = "" if rows[before + 1 : after].any() else ", all 0"
            gaps[k] = f"{missing:,} row{'s' * (missing != 1)}{zero}"
    return gaps


def _table(
    labels: list[str], rows: np.ndarray, gaps: dict[int, str], columns: int, digits: int
) -> list[str]:
    """Labelled rows in aligned columns, with a line for each gap."""
    left = max(map(len, [*labels, GAP])) + 2
    dim = rows.shape[1]
    texts = [_texts(row, columns, digits) for row in rows]
    wide = max((len(text) for line in texts for text in line), default=0)
    texts = [[text.rjust(wide) for text in line] for line in texts]
    told = []
    for k in range(len(labels) + 1):
        if k in gaps:
            told.append((GAP.ljust(left) + gaps[k])[:columns])
        if k < len(labels):
            told.append(labels[k].ljust(left) + _fit(texts[k], dim, columns - left, "  "))
    return told


def _texts(row: np.ndarray, columns: int, digits: int) -> list[str]:
    """The numbers that could stand in a line of `columns` letters, and then the last one."""
    return [number(x, digits) for x in (*row[:columns], row[-1])]


def _fit(cells: list[str], count: int, columns: int, between: str) -> str:
    """All `count` cells in one line if they fit, else the first of them, `...`, and the last.
    In a very narrow line only the first stays.

    `cells` is from `_texts`: some first ones, and at its end the last.
    """
    whole = between.join(cells[:count])
    if len(cells) > count and len(whole) <= columns:
        return whole
    last = f"{GAP}{between}{cells[-1]}"
    kept = cells[:1]
    if len(between.join([*kept, last])) > columns:
        return between.join([*kept, GAP])[:columns]
    for cell in cells[1:-1]:
        if len(between.join([*kept, cell, last])) > columns:
            break
        kept.append(cell)
    return between.join([*kept, last])
