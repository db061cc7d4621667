"""Arrays as a few lines of text: small ones whole, large ones around the rows that matter."""

from __future__ import annotations

import textwrap
from itertools import pairwise

import numpy as np

from scratch_embed.rows import RowGrad

NOT_YET = "not yet computed"
GAP = "..."


def number(x, digits: int = 4) -> str:
    """So many significant digits; whole numbers whole. Only a zero reads 0."""
    whole = isinstance(x, (bool, np.bool_, int, np.integer))
    return str(x) if whole else f"{x + 0:.{digits}g}"  # + 0 takes the sign off a zero


def shape(array) -> str:
    """(3, 2), and () for a single number."""
    return str(tuple(int(n) for n in array.shape))


def lines(
    array, touched=None, columns: int = 72, most: int = 8, digits: int = 4, chosen=None
) -> list[str]:
    """The array as lines of at most `columns` letters; of a table with many rows, `most` of them.

    touched : flat positions of the rows to show when there are too many; else the first ones.
    chosen : the index of an entry that is marked, >so<, and always shown.

    >>> table = np.zeros((50, 2))
    >>> table[[0, 7]] = [0.25, -1]
    >>> print("\\n".join(lines(table, touched=[0, 7], chosen=(7, 1))))
    [0]  0.25    -1
    ...  6 rows, all 0
    [7]  0.25  >-1<
    ...  42 rows, all 0
    """
    if isinstance(array, RowGrad):
        return _sparse(array, columns, most, digits, chosen)
    array = np.asarray(array)
    if array.size == 0:
        return [f"empty, shape {shape(array)}"]
    if array.ndim == 0:
        return [number(array[()], digits)]
    if array.ndim == 1:
        room = columns - 2
        start = _start(array[None], room, digits, chosen and (0, *chosen), ", ")
        lead = f"{GAP}, " if start else ""
        texts = _texts(array[start:], columns, digits, chosen and chosen[0] - start)
        return [f"[{lead}{_fit(texts, room - len(lead), ', ')}]"]
    rows = array.reshape(-1, array.shape[-1])
    marked = (
        (int(np.ravel_multi_index(chosen[:-1], array.shape[:-1])), chosen[-1]) if chosen else None
    )
    shown = _chosen(len(rows), touched, most, marked)
    labels = [str([int(i) for i in np.unravel_index(row, array.shape[:-1])]) for row in shown]
    at = (int(np.searchsorted(shown, marked[0])), marked[1]) if marked else None
    return _table(labels, rows[shown], _gaps(shown, rows), columns, digits, at)


def _sparse(grad: RowGrad, columns: int, most: int, digits: int, chosen) -> list[str]:
    """The rows that a RowGrad holds, and how many it does not."""
    at = int(np.searchsorted(grad.rows, chosen[0])) if chosen else None
    shown = _chosen(len(grad.rows), None, most, (at, 0) if chosen else None)
    gaps = {len(shown): f"{grad.shape[0] - len(grad.rows):,} rows not stored, all 0"}
    if len(shown) < len(grad.rows):
        gaps[len(shown)] = f"{len(grad.rows) - len(shown):,} rows, and {gaps[len(shown)]}"
    labels = [f"[{row}]" for row in grad.rows[shown]]
    marked = (int(np.searchsorted(shown, at)), chosen[1]) if chosen else None
    return _table(labels, grad.values[shown], gaps, columns, digits, marked)


def _chosen(count: int, touched, most: int, marked=None) -> np.ndarray:
    """Which of `count` rows to show, in order; the marked one and its neighbours among them."""
    if count <= most:
        return np.arange(count)
    some = np.arange(min(3, most)) if touched is None or len(touched) == 0 else np.asarray(touched)
    if marked is None or marked[0] in some[:most]:
        return np.unique(some[:most])
    start = int(np.searchsorted(some, marked[0]))
    near = some[max(0, start - most + 1) : start] if start < len(some) else some[: most - 1]
    return np.unique([*near[: most - 1], marked[0]]).astype(int)


def _gaps(shown: np.ndarray, rows: np.ndarray) -> dict[int, str]:
    """{k: what is left out before the k-th shown row, or after the last}."""
    edges = [-1, *map(int, shown), len(rows)]
    gaps = {}
    for k, (before, after) in enumerate(pairwise(edges)):
        missing = after - before - 1
        if missing:
            some = rows[before + 1].any() or rows[before + 1 : after].any()  # one row tells mostly
            zero = "" if some else ", all 0"
            gaps[k] = f"{missing:,} row{'s' * (missing != 1)}{zero}"
    return gaps


def _table(
    labels: list[str],
    rows: np.ndarray,
    gaps: dict[int, str],
    columns: int,
    digits: int,
    marked=None,
) -> list[str]:
    """Labelled rows in aligned columns, with a line for each gap."""
    left = max(map(len, [*labels, GAP])) + 2
    start = _start(rows, columns - left, digits, marked, "  ")
    texts = [
        _texts(
            row[start:], columns, digits, marked[1] - start if marked and k == marked[0] else None
        )
        for k, row in enumerate(rows)
    ]
    wide = max((len(text) for line in texts for text in line), default=0)
    texts = [[text.rjust(wide) for text in line] for line in texts]
    lead = f"{GAP}  " if start else ""
    told = []
    for k in range(len(labels) + 1):
        if k in gaps:
            gap = GAP.ljust(left) + gaps[k]
            short = textwrap.shorten(f"{GAP} {gaps[k]}", max(columns, len(GAP)), placeholder=" ...")
            told.append(gap if len(gap) <= columns else short)
        if k < len(labels):
            fitted = _fit(texts[k], columns - left - len(lead), "  ")
            told.append(labels[k].ljust(left) + lead + fitted)
    return told


def _start(rows: np.ndarray, columns: int, digits: int, marked, between: str) -> int:
    """From which column on rows are shown, so that the marked entry is seen: with the two before
    it where there is room, and where not all fits the line."""
    if marked is None or _all_fit(rows, columns, digits):
        return 0
    at = marked[1]
    near = rows[:, max(0, at - 2) : at + columns].flat  # all of them are made equally wide
    wide = max((len(number(x, digits)) for x in [*near, *rows[:, -1]]), default=0) + 2
    gaps = 2 * len(GAP + between)  # before the entries and behind them; then comes the last one
    room = (columns - gaps + len(between)) // (wide + len(between)) - 1
    return max(0, at - min(2, max(0, room - 1)))


def _all_fit(rows: np.ndarray, columns: int, digits: int) -> bool:
    """Whether every number of these rows finds its place in a line."""
    count = rows.shape[1]
    if 3 * count > columns:
        return False
    wide = max((len(number(x, digits)) for row in rows for x in row), default=0) + 2
    return count * (wide + 2) <= columns + 2


def _texts(row: np.ndarray, columns: int, digits: int, marked: int | None = None) -> list[str]:
    """The numbers of a line; of a long one as many as could stand in it, and then the last."""
    texts = [number(x, digits) for x in row[:columns]]
    if marked is not None and marked < len(texts):
        texts[marked] = f">{texts[marked]}<"
    return texts if len(row) <= columns else [*texts, number(row[-1], digits)]


def _fit(cells: list[str], columns: int, between: str) -> str:
    """All cells in one line if they fit, else the first of them, `...`, and the last.
    In a very narrow line only the first stays, or none: no number is cut.
    """
    whole = between.join(cells)
    if len(whole) <= columns:
        return whole
    last = f"{GAP}{between}{cells[-1]}"
    kept = cells[:1]
    if len(between.join([*kept, last])) > columns:
        narrow = between.join([*kept, GAP])
        return narrow if len(narrow) <= columns else GAP[: max(columns, 0)]
    for cell in cells[1:-1]:
        if len(between.join([*kept, cell, last])) > columns:
            break
        kept.append(cell)
    return between.join([*kept, last])
