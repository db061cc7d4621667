"""Break it: seven ways to damage a tied model, and what each does to the loss.

The smallest tied model with a body, of lesson 22: x = E[id], h = tanh(x W), z = h E^T. Each damage
is trained like the healthy model, from the same start and on the same batches, when it is first
looked at; that takes a fraction of a second.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import plot
from scratch_embed.kernels.ids import count_ids
from scratch_embed.ops.cross_entropy import cross_entropy_backward, cross_entropy_forward
from scratch_embed.ops.elementwise import tanh_backward, tanh_forward
from scratch_embed.ops.lookup import lookup_backward, lookup_forward
from scratch_embed.ops.matmul import matmul_backward, matmul_forward
from scratch_embed.ops.project import project_backward, project_forward
from scratch_embed.simulations.artists import Cells
from scratch_embed.simulations.simulation import Control, Notice, Simulation

V, D, LENGTH, BATCH, RATE, LONG = 24, 8, 3000, 64, 2.0, 40.0
STOPS = tuple(range(0, 201, 10))
DAMAGES = {
    "none": "the healthy model",
    "repeats lost": "dE[ids] += ... adds one use of each row",
    "scoring part lost": "as if the head held a copy of the table",
    "-1 forgotten": "dz = p, without - onehot",
    "all rows start at 0": "every row gets the same gradient: none",
    "one column": "a table of one number for a word",
    "one long row": f"row 5 is kept at length {LONG:g}",
    "rows shuffled": "trained well, then the rows change places",
}


class Course(NamedTuple):
    """A training: the loss and the table at each of STOPS."""

    losses: np.ndarray  # (stops,)
    tables: np.ndarray  # (stops, V, D)


@lru_cache(maxsize=1)
def text() -> np.ndarray:
    """Ids (LENGTH,): each word mostly followed by one other, some words far more frequent."""
    rng = np.random.default_rng(22)
    follows, often = rng.permutation(V), 1 / np.arange(1, V + 1)
    jumps = rng.choice(V, size=LENGTH, p=often / often.sum())
    keeps, ids = rng.random(LENGTH) < 0.6, np.zeros(LENGTH, np.int64)
    for n in range(1, LENGTH):
        ids[n] = follows[ids[n - 1]] if keeps[n] else jumps[n]
    return ids


def baselines() -> tuple[float, float]:
    """The loss of a guess among all words, and of knowing their frequencies."""
    shares = count_ids(text(), V) / LENGTH
    shares = shares[shares > 0]
    return float(np.log(V)), float(-(shares * np.log(shares)).sum())


def forward(E: np.ndarray, W: np.ndarray, ids: np.ndarray, targets: np.ndarray):
    """The loss, and what each operation keeps for the way back."""
    x, read = lookup_forward(E, ids)
    a, mixed = matmul_forward(x, W)
    h, bent = tanh_forward(a)
    z, scored = project_forward(h, E)
    loss, judged = cross_entropy_forward(z, targets)
    return float(loss), (read, mixed, bent, scored, judged)


def backward(saved: tuple, damage: str = "none") -> tuple[np.ndarray, np.ndarray]:
    """dE (V, D) and dW (D, D): right, or with one of the first three damages."""
    read, mixed, bent, scored, judged = saved
    dz = cross_entropy_backward(np.ones(()), judged)
    if damage == "-1 forgotten":
        dz[np.arange(len(dz)), judged.targets] += 1 / len(dz)
    dh, dE = project_backward(dz, scored)[:2]
    dx, dW = matmul_backward(tanh_backward(dh, bent), mixed)
    if damage == "scoring part lost":
        dE = np.zeros_like(dE)
    if damage == "repeats lost":
        dE[read.ids] += dx  # one for each row, not one for each id
        return dE, dW
    return dE + np.asarray(lookup_backward(dx, read)), dW


@lru_cache(maxsize=16)
def course(damage: str) -> Course:
    """Train with a damage, always from the same start and on the same batches."""
    ids, rng = text(), np.random.default_rng(0)
    E, W = 0.1 * rng.standard_normal((V, D)), rng.standard_normal((D, D)) * D**-0.5
    keep = np.arange(D) < (1 if damage == "one column" else D)
    E = E * keep * (damage != "all rows start at 0")
    losses, tables = [], []
    for step in range(STOPS[-1] + 1):
        if step in STOPS:
            shown = E[rng.permutation(V)] if damage == "rows shuffled" and step else E
            losses.append(forward(shown, W, ids[:-1], ids[1:])[0])
            tables.append(shown)
        at = np.random.default_rng(step).integers(LENGTH - 1, size=BATCH)
        dE, dW = backward(forward(E, W, ids[at], ids[at + 1])[1], damage)
        E, W = E - RATE * dE * keep, W - RATE * dW
        if damage == "one long row":
            E[5] *= LONG / np.linalg.norm(E[5])
    return Course(np.array(losses), np.array(tables))


def _build(figure):
    _ = [course(damage) for damage in DAMAGES]
    top, low = figure.subplots(2, 1, height_ratios=[1.15, 1])
    uniform, unigram = baselines()
    top.plot(STOPS, course("none").losses, color=plot.CYCLE[0], lw=2, label="healthy")
    curve = top.plot(STOPS, STOPS, color=plot.CYCLE[1], lw=2, ls="--", label="damaged")[0]
    dot = top.plot([0], [0], "o", color=plot.CYCLE[1], ms=9)[0]
    top.axhline(uniform, color="0.4", lw=1, ls=":")
    top.axhline(unigram, color="0.4", lw=1, ls=":")
    top.text(200, uniform + 0.06, "a plain guess", ha="right", fontsize=10)
    top.text(200, unigram - 0.06, "frequencies alone", ha="right", va="top", fontsize=10)
    top.set(xlim=(-3, 203), ylim=(1, 6), xlabel="training step", ylabel="loss, nats (cut at 6)")
    top.legend(loc="upper right", frameon=False, ncols=2)
    cells = Cells(low, (D, V), 3.0, rows=range(D), fmt=None)
    low.set_xticks(range(0, V, 4))
    low.set(xlabel="row of the table", ylabel="column")
    low.set_title("The table E, on its side: full colour at 3", loc="left")
    return curve, dot, cells, top.set_title("x", loc="left")


def _update(artists, values: dict) -> dict[str, str]:
    curve, dot, cells, head = artists
    damage, step = values["damage"], values["step"]
    now = STOPS.index(step)
    found, healthy = course(damage), course("none")
    curve.set_ydata(np.minimum(found.losses, 5.95))
    dot.set_data([step], [min(found.losses[now], 5.95)])
    cells.set(found.tables[now].T)
    head.set_text(f"{damage}: {DAMAGES[damage]}" if damage != "none" else "the healthy model")
    uniform, unigram = baselines()
    loss = found.losses[now]
    lengths = np.linalg.norm(found.tables[now], axis=1)
    return {
        "loss": f"{loss:.3f} (healthy {healthy.losses[now]:.3f})",
        "beats a plain guess": _beats(loss, uniform),
        "beats the frequencies": _beats(loss, unigram),
        "lengths of rows": f"{lengths.min():.2f} to {lengths.max():.2f}",
    }


def _beats(loss: float, baseline: float) -> str:
    """By digits that are shown: what is equal but for rounding does not."""
    return f"{'yes' if round(loss, 3) < round(baseline, 3) else 'no'} ({baseline:.3f})"


SIMULATION = Simulation(
    "Break it: seven ways",
    (
        Control("damage", tuple(DAMAGES), "repeats lost", "Damage"),
        Control("step", STOPS, STOPS[-1], "Training step", play=True),
    ),
    Notice(
        "A backward that loses repeated ids: will its loss rise, stand still, or fall?",
        "It falls, nearly as far as the healthy one: a loss curve is no test, a nudge with "
        "repeated ids is. Without the -1 every word ends as likely as every other; a table of "
        "zeros gets a gradient of zero and stays; one column learns little more than the "
        "frequencies; shuffled rows are worse than a plain guess, for the model is sure, and "
        "sure of the wrong word.",
    ),
    _build,
    _update,
    (6.4, 6.8),
)
