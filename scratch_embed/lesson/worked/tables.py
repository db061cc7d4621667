"""Worked arithmetic on tables: lookup, scatter-add, matrix products, softmax and its loss."""

from __future__ import annotations

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


def _matrix(name: str, value) -> np.ndarray:
    array = np.array(value, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions; got shape {array.shape}")
    return array


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


def _numbered(texts: list[str]) -> None:
    """A line each; of many, the first ones, how many were left out, and the last."""
    if len(texts) > MOST:
        texts = [*texts[: MOST - 2], f"... ({len(texts) - MOST + 1} more)", texts[-1]]
    for text in texts:
        write(text)


def lookup(label: str, table, ids) -> np.ndarray:
    """out[n] = table[ids[n]], a line per id: gather.   (V, D), (N,) -> (N, D)"""
    table = _matrix("table", table)
    ids = _rows(ids, len(table))
    out = table[ids]
    lines = [f"{label}[{n}] = row {id} = {vector(out[n])}" for n, id in enumerate(ids)]
    _numbered(lines)
    return out


def scatter_add(label: str, ids, values, num_rows: int) -> np.ndarray:
    """out[ids[n]] += values[n], a line per id with the row's running sum.   (N,), (N, D) -> (V, D)

    A repeated id adds to what its row already holds. Raises IndexError for an id outside the table.
    """
    values = _matrix("values", values)
    ids = _rows(ids, num_rows)
    if len(ids) != len(values):
        raise ValueError(f"there are {len(ids)} ids for {len(values)} rows of values")
    out = np.zeros((num_rows, values.shape[1]))
    seen: set[int] = set()
    lines = []
    for n, (id, value) in enumerate(zip(ids.tolist(), values)):
        out[id] += value
        text = f"{label}[{id}] += values[{n}] = {vector(value)}"
        lines.append(text + (f", now {vector(out[id])}" if id in seen else ""))
        seen.add(id)
    _numbered(lines)
    untouched = [str(row) for row in range(num_rows) if row not in seen]
    if untouched:
        write(f"rows never named stay 0: {', '.join(elide(untouched))}")
    return out


def unfold(label: str, image, patch_size: int) -> np.ndarray:
    """The patches of a grey image, read as the words of a page.   (H, W) -> (N, P * P)

    A line for each, with the rows of its square. Raises ValueError when P does not divide a side.
    """
    image = _matrix("image", image)
    if image.shape[0] % patch_size or image.shape[1] % patch_size:
        raise ValueError(f"patch_size {patch_size} does not divide the sides of {image.shape}")
    patches = []
    lines = []
    for top in range(0, image.shape[0], patch_size):
        for left in range(0, image.shape[1], patch_size):
            square = image[top : top + patch_size, left : left + patch_size]
            rows = " | ".join(" ".join(number(x) for x in row) for row in square)
            lines.append(f"{label}[{len(patches)}] at row {top}, column {left}: {rows}")
            patches.append(square.ravel())
    _numbered(lines)
    return np.array(patches)


def onehot_product(label: str, id: int, table) -> np.ndarray:
    """onehot(id) @ table: every row times 0 except one times 1.   (V, D) -> (D,)"""
    table = _matrix("table", table)
    (id,) = _rows([id], len(table))
    onehot = np.zeros(len(table))
    onehot[id] = 1.0
    out = onehot @ table
    terms = [f"{number(code)}*{vector(row)}" for code, row in zip(onehot, table)]
    chain(label, f"{vector(onehot)} @ table", " + ".join(elide(terms)), vector(out))
    return out


def matmul(label: str, a, b) -> np.ndarray:
    """a @ b, each entry as the dot product of a row with a column.   (N, K), (K, M) -> (N, M)"""
    a, b = _matrix("a", a), _matrix("b", b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"a {a.shape} and b {b.shape} do not fit: a's columns must be b's rows")
    out = a @ b
    lines = []
    for i in range(len(a)):
        for j in range(b.shape[1]):
            terms = [f"{factor(x)}*{factor(y)}" for x, y in zip(a[i], b[:, j])]
            lines.append(f"{label}[{i},{j}] = {' + '.join(elide(terms))} = {number(out[i, j])}")
    _numbered(lines)
    return out


def softmax(label: str, logits) -> np.ndarray:
    """exp(z[i]) / sum of exp(z[j]): exponentials, their sum, shares.   (V,) -> (V,)

    Computed with the largest logit subtracted first, which changes no share and cannot overflow;
    that form is shown only where plain exponentials would be too large to print.
    """
    (logits,) = vectors((label, logits))
    top = logits.max() if np.abs(logits).max() > 30.0 else 0.0
    exps = np.exp(logits - top)
    shift = f" - {number(top)}" if top else ""
    chain(f"exp({label}{shift})", vector(exps))
    chain("sum", plus(exps), number(exps.sum()))
    shares = exps / exps.sum()
    chain(f"softmax({label})", f"{vector(exps)} / {number(exps.sum())}", vector(shares))
    return shares


def cross_entropy(label: str, logits, target: int) -> float:
    """-log softmax(z)[target] = log(sum of exp(z[j])) - z[target].   (V,) -> number, in nats"""
    (logits,) = vectors((label, logits))
    (target,) = _rows([target], len(logits))
    top = logits.max()
    total = float(top + np.log(np.exp(logits - top).sum()))
    result = total - float(logits[target])
    chain(label, f"-log(softmax[{target}])", f"-log({number(np.exp(-result))})", number(result))
    return result
