"""What word2vec learned, for the eye: a curve of the loss, and the nearest words of some words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scratch_embed import plot
from scratch_embed.geometry import neighbours
from scratch_embed.text.word2vec_run import Training

SHOWN, NEAREST = 6, 5
AMONG = 20_000  # rows, the most frequent: rare words have hardly been learned


def nearest_words(words: Sequence[str], vectors: np.ndarray, shown: int = SHOWN) -> dict:
    """{word: its nearest words}, for some words from frequent to rather rare."""
    table = vectors[:AMONG]
    k = min(NEAREST, len(table) - 1)
    return {
        words[row]: [words[near] for near in neighbours(table, row, k).rows]
        for row in some_rows(len(table), shown)
    }


def some_rows(num_words: int, shown: int = SHOWN) -> list[int]:
    """Rows from frequent to rather rare."""
    last = num_words - 1
    return np.unique(np.geomspace(min(50, last), min(2000, last), shown).astype(int)).tolist()


def picture(training: Training):
    """The held-out loss over the words read, beside what knows nothing and what only counts."""
    fig, ax = plot.figure(title="How well a text is foretold that was not learned from")
    words, losses = np.array(training.curve).T
    each = np.ones(len(words))
    series = {
        "these vectors": losses,
        "how frequent each word is": training.judge.by_frequency * each,
        "untrained": training.judge.untrained * each,
    }
    units = {"xlabel": "words read, millions", "ylabel": "held-out loss of an example, nats"}
    plot.lines(ax, words / 1e6, series, **units)
    return fig
