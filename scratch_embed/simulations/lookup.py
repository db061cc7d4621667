"""Embedding lookup: choose a word, and see the row that its id fetches.

    x = E[id]                     (V, D), one id -> (D,): a copy, and not one multiplication

The numbers of a row mean little alone. Beside the row of another word they do: cat and dog have
bars of the same heights, and lie side by side when the table is seen from its two widest sides.
"""

from __future__ import annotations

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.simulations.controls import Control, check_values, defaults

# The six words of lesson 0, with the printed numbers.
WORDS = ("the", "cat", "dog", "sat", "house", "on")
TABLE = np.array(
    [
        [-0.12, 0.05, 0.88],
        [0.72, -0.41, 0.15],
        [0.68, -0.38, 0.22],
        [-0.55, 0.62, -0.03],
        [0.31, 0.15, -0.72],
        [-0.08, 0.11, 0.79],
    ]
)
TABLE.flags.writeable = False


def controls(words=WORDS) -> list[Control]:
    """The controls for a table with these words: which row is read, and which stands beside it."""
    words = tuple(words)
    word, other = ("cat", "dog") if {"cat", "dog"} <= set(words) else (words[0], words[-1])
    return [Control("word", words, word, "Word"), Control("other", words, other, "Compare with")]


CONTROLS = controls()


def draw(figure, table: np.ndarray = TABLE, words=WORDS, **values) -> None:
    """Draw the lookup into a Matplotlib figure, whatever was in it before.

    table: (V, D), V >= 2 and D >= 2; words: its V words. values: of `controls(words)`, by name; the
    rest take their defaults. Left the two rows, right all words on the first two principal
    components. Raises ValueError for a table and words that do not fit, or for an unknown word.
    """
    from matplotlib import rc_context

    table, words = np.asarray(table), tuple(words)
    if table.ndim != 2 or min(table.shape) < 2 or len(table) != len(words):
        raise ValueError(
            f"table has shape {table.shape} for {len(words)} words; it must be "
            f"({len(words)}, D), with two rows and two columns or more"
        )
    check_values(controls(words), values)
    v = {**defaults(controls(words)), **values}
    figure.clear()
    figure.set_layout_engine("constrained")
    with rc_context(plot.STYLE):
        left, right = figure.subplots(1, 2)
        _rows(left, table, words, v["word"], v["other"])
        _map(right, table, words, v["word"], v["other"])


def _rows(ax, table, words, word, other) -> None:
    ids = [words.index(word), words.index(other)]
    (row, beside), _ = lookup_forward(table, np.array(ids))
    names = [f'"{name}", row {i}' for name, i in zip((word, other), ids, strict=True)]
    series = dict(zip(names, (row, beside), strict=True))  # one entry if both are the same word
    plot.bars(ax, [str(j) for j in range(len(row))], series, xlabel="column", ylabel="value",
              fmt="{:.2f}" if len(row) <= 4 else None)  # fmt: skip
    ax.axhline(0, color="black", lw=0.8)
    reach = 1.2 * np.abs(table).max()
    ax.set(ylim=(-reach, reach))
    ax.set_title(f"Distance {geometry.euclidean(row, beside):.4f}, "
                 f"cosine {geometry.cosine(row, beside):+.3f}")  # fmt: skip
    ax.legend(fontsize=10, frameon=False, loc="lower left")


def _map(ax, table, words, word, other) -> None:
    view = geometry.pca(table, 2)
    plot.scatter_labels(ax, view.coords, words, xlabel="first principal component",
                        ylabel="second principal component",
                        title=f"All rows, {view.share.sum():.1%} of the variance")  # fmt: skip
    for name, color in ((other, plot.CYCLE[1]), (word, plot.CYCLE[0])):
        ax.scatter(*view.coords[words.index(name)], s=210, facecolor="none", edgecolor=color,
                   linewidth=2)  # fmt: skip
