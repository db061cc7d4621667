"""Worked arithmetic on tables: lookup, scatter-add, matrix products, softmax and its loss."""

from __future__ import annotations

import numpy as np

from scratch_embed.digits import short
from scratch_embed.lesson.worked.layout import (
    elide,
    factor,
    few,
    matrix,
    plus,
    vector,
    vectors,
)
from scratch_embed.lesson.worked.present import present
from scratch_embed.lesson.worked.vectors import dot_line
from scratch_embed.look.numbers import number
from scratch_embed.working import Line

OPENED = 6  # entries of a product that a plain run shows one by one


def _rows(ids, num_rows: int) -> np.ndarray:
    """Flat int64 ids, each a row of the table."""
    ids = np.asarray(ids)
    if ids.dtype.kind not in "iu" and ids.size:
        raise TypeError(f"ids must be integers; got dtype {ids.dtype}")
    ids = ids.astype(np.int64).ravel()
    for position, id in enumerate(ids):
        if not 0 <= id < num_rows:
            raise IndexError(
                f"ids[{position}] = {id} is outside the table's rows 0 to {num_rows - 1}"
            )
    return ids


def lookup(label: str, table, ids) -> np.ndarray:
    """out[n] = table[ids[n]], a line per id: gather.   (V, D), (N,) -> (N, D)"""
    table = matrix("table", table)
    ids = _rows(ids, len(table))
    out = table[ids]

    def told() -> list[Line]:
        return few([Line(f"{label}[{n}]", (f"row {id}", vector(out[n])), out[n])
                    for n, id in enumerate(ids)])  # fmt: skip

    return present("lookup", label, told, out)


def scatter_add(label: str, ids, values, num_rows: int, of: str = "values") -> np.ndarray:
    """out[ids[n]] += values[n], a line per id with the row's running sum.   (N,), (N, D) -> (V, D)

    A repeated id adds to what its row already holds; `of` is what the lesson calls the values.
    Raises IndexError for an id outside the table.
    """
    values = matrix("values", values)
    ids = _rows(ids, num_rows)
    if len(ids) != len(values):
        raise ValueError(f"there are {len(ids)} ids for {len(values)} rows of values")
    out = np.zeros((num_rows, values.shape[1]))
    steps = []
    for id, value in zip(ids.tolist(), values):
        steps.append((id, out[id].copy(), value))
        out[id] += value

    def told() -> list[Line]:
        lines, seen = [], set()
        for n, (id, before, value) in enumerate(steps):
            if id in seen:
                why = f"row {id} again, so {of}[{n}] is added"
                lines.append(_collected(f"{label}[{id}]", before, value, why))
            else:
                text = f"{label}[{id}] += {of}[{n}] = {vector(value)}"
                lines.append(Line("", (text,), before + value))
            seen.add(id)
        lines = few(lines)
        untouched = [str(row) for row in range(num_rows) if row not in seen]
        if untouched:
            lines.append(Line("", (f"rows never named stay zero: {', '.join(elide(untouched))}",)))
        return lines

    return present("scatter_add", label, told, out)


def _collected(name: str, before: np.ndarray, value: np.ndarray, why: str) -> Line:
    """What a row holds once a second gradient has come; it opens into a sum a place."""
    total = before + value
    parts = tuple(
        Line(f"[{d}]", (f"{factor(a)} + {factor(b)}", short(c)), c)
        for d, (a, b, c) in enumerate(zip(before, value, total))
    )
    stages = f"{vector(before)} + {vector(value)}", vector(total)
    return Line(name, stages, total, why, parts, adds=(before, value))


def unfold(label: str, image, patch_size: int) -> np.ndarray:
    """The patches of a grey image, read as the words of a page.   (H, W) -> (N, P * P)

    A line for each, with the rows of its square. Raises ValueError when P does not divide a side.
    """
    image = matrix("image", image)
    if image.shape[0] % patch_size or image.shape[1] % patch_size:
        raise ValueError(f"patch_size {patch_size} does not divide the sides of {image.shape}")
    places = [
        (top, left)
        for top in range(0, image.shape[0], patch_size)
        for left in range(0, image.shape[1], patch_size)
    ]
    squares = [image[top : top + patch_size, left : left + patch_size] for top, left in places]

    def told() -> list[Line]:
        lines = []
        for n, ((top, left), square) in enumerate(zip(places, squares)):
            rows = " | ".join(" ".join(map(short, row)) for row in square)
            text = f"{label}[{n}] at row {top}, column {left}: {rows}"
            lines.append(Line("", (text,), square.ravel()))
        return few(lines)

    return present("unfold", label, told, np.array([square.ravel() for square in squares]))


def onehot_product(label: str, id: int, table) -> np.ndarray:
    """onehot(id) @ table: every row times 0 except one times 1.   (V, D) -> (D,)"""
    table = matrix("table", table)
    (id,) = _rows([id], len(table))
    onehot = np.zeros(len(table))
    onehot[id] = 1.0
    out = onehot @ table

    def told() -> Line:
        terms = [f"{short(code)}*{vector(row)}" for code, row in zip(onehot, table)]
        stages = f"{vector(onehot)} @ table", " + ".join(elide(terms)), vector(out)
        return Line(label, stages, out)

    return present("onehot_product", label, told, out)


def matmul(label: str, a, b, why: str = "") -> np.ndarray:
    """a @ b: a line a row, which opens into dot products.   (N, K), (K, M) -> (N, M)"""
    a, b = matrix("a", a), matrix("b", b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"a {a.shape} and b {b.shape} do not fit: a's columns must be b's rows")
    out = a @ b

    def told() -> list[Line]:
        lines = [Line("", (why + ":",))] if why else []
        for i in range(len(a)):
            entries = tuple(dot_line(f"[{i},{j}]", a[i], b[:, j]) for j in range(b.shape[1]))
            opened = out.size <= OPENED
            lines.append(Line(f"{label}[{i}]", (vector(out[i]),), out[i], "", entries, opened))
        return few(lines)

    return present("matmul", label, told, out)


def outer(label: str, a, b, why: str = "") -> np.ndarray:
    """out[i, j] = a[i] * b[j], a line a row.   (N,), (M,) -> (N, M)"""
    a, b = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer takes two vectors; got shapes {a.shape} and {b.shape}")
    out = np.outer(a, b)

    def told() -> list[Line]:
        lines = [Line("", (why + ":",))] if why else []
        for i, x in enumerate(a):
            stages = f"{factor(x)} * {vector(b)}", vector(out[i])
            lines.append(Line(f"{label}[{i}]", stages, out[i]))
        return few(lines)

    return present("outer", label, told, out)


def softmax(label: str, logits, why: str = "") -> np.ndarray:
    """exp(z[i]) / sum of exp(z[j]): exponentials, their sum, shares.   (V,) -> (V,)

    Computed with the largest logit subtracted first, which changes no share and cannot overflow;
    that form is shown only where plain exponentials would be too large to print.
    """
    (logits,) = vectors((label, logits))
    top = logits.max() if np.abs(logits).max() > 30.0 else 0.0
    exps = np.exp(logits - top)
    shift = f" - {number(top, 16)}" if top else ""  # all digits: they decide what is left
    shares = exps / exps.sum()

    def told() -> tuple[Line, ...]:
        parts = tuple(
            Line(f"[{i}]", (f"{short(e)} / {short(exps.sum())}", short(p)), p)
            for i, (e, p) in enumerate(zip(exps, shares))
        )
        together = f"{vector(exps)} / {short(exps.sum())}", vector(shares)
        return (
            Line(f"exp({label}{shift})", (vector(exps),), exps, why),
            Line("sum", (plus(exps), short(exps.sum())), exps.sum()),
            Line(f"softmax({label})", together, shares, "", parts),
        )

    return present("softmax", label, told, shares)


def cross_entropy(label: str, logits, target: int, why: str = "") -> float:
    """-log softmax(z)[target] = log(sum of exp(z[j])) - z[target].   (V,) -> number, in nats"""
    (logits,) = vectors((label, logits))
    (target,) = _rows([target], len(logits))
    top = int(logits.argmax())
    others = np.exp(np.delete(logits, top) - logits[top])
    result = float(logits[top] - logits[target] + np.log1p(others.sum()))

    def told() -> Line:
        p = np.exp(-result)
        p = short(p) if 0 < p < 1 - 1e-8 else f"e^-{short(result)}"  # else the digits would not do
        return Line(label, (f"-ln(softmax[{target}])", f"-ln({p})", short(result)), result, why)

    return present("cross_entropy", label, told, result)
