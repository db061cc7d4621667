"""The spectrum: in how many directions does a table differ from chance, and what are they worth?

    E - mean = U S W^T,     cut to k directions:  mean + U[:, :k] S[:k] W[:, :k]^T

A small model with two tables, z = E R^T, learns the next word of a text from its counts. The text
has ten hidden classes; the control is the same text with its words shuffled, where nothing is left
to learn but how frequent each word is. The start has singular values too: a random table is no
table of zeros, so every bar has the bar of the start behind it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.ops.project import project_backward, project_forward
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.optim import Adam
from scratch_embed.simulations.simulation import Control, Notice, Simulation
from scratch_embed.tensor import Tensor
from scratch_embed.text import toy

V, D, LENGTH, RATE = 100, 32, 4000, 0.02  # words, columns, tokens of either half, Adam's step
STOPS = (0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)
KEEP = (0, 1, 2, 4, 6, 9, 12, 16, 24, D)
TEXTS = ("ten classes", "words shuffled")


class Course(NamedTuple):
    """What a training shows at each of STOPS (T,)."""

    values: np.ndarray  # (T, D) the singular values of the centred table, largest first
    shares: np.ndarray  # (T, D) what the first 1, 2, ... of them hold of all their squares
    losses: np.ndarray  # (T, len(KEEP)) on text not seen, with the table cut to so many
    ranks: np.ndarray  # (T,) the effective rank
    unigram: float  # the loss of knowing the frequencies alone


def cut(table: np.ndarray, k: int) -> np.ndarray:
    """The mean row and the k widest directions about it.        (V, D) -> (V, D)

    >>> cut(np.array([[3.0, 1.0], [-3.0, 1.0], [0.0, 1.5], [0.0, 0.5]]), 1).round(9).tolist()
    [[3.0, 1.0], [-3.0, 1.0], [0.0, 1.0], [0.0, 1.0]]
    """
    mean = table.mean(axis=0)
    u, s, wt = np.linalg.svd(table - mean, full_matrices=False)
    return mean + (u[:, :k] * s[:k]) @ wt[:k]


def gradients(E: np.ndarray, R: np.ndarray, counts: np.ndarray):
    """dE and dR, (V, D) each, of the mean loss over all pairs that were counted, and that loss."""
    z, kept = project_forward(E, R)
    p = softmax_forward(z)[0]
    dz = (counts.sum(axis=1, keepdims=True) * p - counts) / counts.sum()
    return *project_backward(dz, kept), _nats(p, counts)


@lru_cache(maxsize=8)
def course(text: str, seed: int = 0) -> Course:
    """Train on one half of the text, and judge each stop by the other. Asked twice, done once."""
    rng = np.random.default_rng(seed)
    tokens = toy.zipf_classes(2 * LENGTH, V, rng=rng).tokens
    tokens = rng.permutation(tokens) if text == "words shuffled" else tokens
    learn, judge = _counts(tokens[:LENGTH]), _counts(tokens[LENGTH:])
    E, R = (Tensor(0.1 * rng.standard_normal((V, D)), requires_grad=True) for _ in range(2))
    optimizer, seen = Adam([E, R], lr=RATE), []
    for step in range(STOPS[-1] + 1):
        if step in STOPS:
            seen.append(_look(E.numpy(), R.numpy(), judge))
        E.grad, R.grad, _ = gradients(E.numpy(), R.numpy(), learn)
        optimizer.step()
    often = learn.sum(axis=0) + 1  # plus one, so that no word is impossible
    unigram = _nats(np.tile(often / often.sum(), (V, 1)), judge)
    return Course(*map(np.array, zip(*seen, strict=True)), unigram)


def _look(E: np.ndarray, R: np.ndarray, judge: np.ndarray) -> tuple:
    """A stop: the first four of `Course`."""
    centred = geometry.centre(E)
    values = np.linalg.svd(centred, compute_uv=False)
    probable = (softmax_forward(project_forward(cut(E, k), R)[0])[0] for k in KEEP)
    losses = [_nats(p, judge) for p in probable]
    return values, geometry.energy(centred), losses, geometry.effective_rank(centred)


def _counts(tokens: np.ndarray) -> np.ndarray:
    """How often word j came after word i, (V, V)."""
    counts = np.zeros((V, V))
    np.add.at(counts, (tokens[:-1], tokens[1:]), 1)
    return counts


def _nats(p: np.ndarray, counts: np.ndarray) -> float:
    """The mean of -ln p over the pairs that were counted."""
    return float(-(counts * np.log(p)).sum() / counts.sum())


def _build(figure):
    _ = [course(text) for text in TEXTS]
    top, low = figure.subplots(2, 1, height_ratios=[1.25, 1])
    at = np.arange(1, D + 1)
    bars = top.bar(at, np.zeros(D), color=plot.PALETTE["sky blue"], edgecolor="black", lw=0.5)
    start = top.plot(at, np.zeros(D), "_", color="black", ms=9, mew=2, label="random start")[0]
    top.set(xlim=(0.2, D + 0.8), ylim=(0, 15.5), xlabel="direction, widest first",
            ylabel="singular value", xticks=(1, 4, 9, 16, 24, D))  # fmt: skip
    top.legend(loc="upper right", frameon=False)
    curve = low.plot(range(len(KEEP)), np.zeros(len(KEEP)), "-o", color=plot.CYCLE[0], ms=4,
                     label="this table, cut")[0]  # fmt: skip
    dot = low.plot([0], [0], "o", color=plot.CYCLE[1], ms=9, zorder=3)[0]
    line = low.plot([0, len(KEEP) - 1], [0, 0], ":", color="0.4", label="frequencies alone")[0]
    low.set(ylim=(2.4, 7.2), xlabel="directions kept", ylabel="loss on unseen text, nats")
    low.set_xticks(range(len(KEEP)), KEEP)
    low.legend(loc="upper right", frameon=False, ncols=2)
    return bars, start, curve, dot, line, [ax.set_title("x", loc="left") for ax in (top, low)]


def _update(artists, values: dict) -> dict[str, str]:
    bars, start, curve, dot, line, (above, below) = artists
    text, step, keep = values["text"], values["step"], values["keep"]
    found, now, kept = course(text), STOPS.index(step), KEEP.index(keep)
    spectrum, losses = found.values[now], found.losses[now]
    for i, (bar, height) in enumerate(zip(bars, spectrum)):
        bar.set_height(height)
        bar.set_facecolor(plot.PALETTE["vermillion"] if i < keep else plot.PALETTE["sky blue"])
    start.set_ydata(found.values[0])
    curve.set_ydata(losses)
    dot.set_data([kept], [losses[kept]])
    line.set_ydata([found.unigram] * 2)
    above.set_text(f"Step {step}, {text}: red is kept, blue cut away")
    below.set_text(f"With {keep} of {D} directions: {losses[kept]:.2f} nats")
    share = found.shares[now][keep - 1] if keep else 0.0
    by_chance = found.shares[0][keep - 1] if keep else 0.0
    return {
        f"squares held by {keep}": f"{share:.0%} (random start {by_chance:.0%})",
        "loss, cut": f"{losses[kept]:.3f}",
        "loss, all directions": f"{losses[-1]:.3f}",
        "frequencies alone": f"{found.unigram:.3f}",
        "effective rank": f"{found.ranks[now]:.1f} of {D} (random start {found.ranks[0]:.1f})",
    }


SIMULATION = Simulation(
    "Spectrum: how many directions does a table use?",
    (
        Control("step", STOPS, 40, "Training step", play=True),
        Control("text", TEXTS, "ten classes", "Text"),
        Control("keep", KEEP, D, "Directions kept"),
    ),
    Notice(
        "The words of the text belong to ten hidden classes, and the table has 32 columns. After "
        "40 steps, how many directions must be kept so that nothing is lost on unseen text?",
        "Nine: ten classes lie in nine directions about their mean. Nine do even a little better "
        "than all 32, and did for each of ten seeds, for the rest has learned chance. Train "
        "longer: the tail rises, and so does the loss, while the effective rank comes back near "
        "that of the random start. Shuffle the words: the values rise as well, but no few stand "
        "out, and it is best to cut everything away. A tall spectrum alone is no knowledge.",
    ),
    _build,
    _update,
    (6.4, 7.0),
)
