"""word2vec with the full softmax: each word is told apart from all others, not from K by chance.

    tables = Tables(num_embeddings, 50, rng=0)
    tables.learn(text, first=0, rate=0.025, rng=rng)

The loss is the cross-entropy of the word itself, which negative sampling stands in for (Mikolov et
al. 2013a). A step scores all V words and so costs V / (K + 1) times as much: for small
vocabularies, and to see what the sampling gives away. In NumPy, by `ops.tied_cross_entropy`.
"""

from __future__ import annotations

import numpy as np

from scratch_embed import kernels
from scratch_embed.arguments import check_count, generator
from scratch_embed.ops.tied_cross_entropy import (
    tied_cross_entropy_backward,
    tied_cross_entropy_forward,
)
from scratch_embed.text.word2vec import check_model, pairs, windows

BLOCK = 1_000  # places between two changes of the learning rate; windows end where a block ends
BATCH = 128  # examples that step together


class Tables:
    """Two tables (V, D) that learn from a text, a block of places at a time.

    The parameters, and `learn`, are those of `word2vec_fast.Tables`.
    """

    block = BLOCK

    def __init__(
        self, num_embeddings: int, embedding_dim: int, *, model: str = "skip-gram",
        window: int = 5, rng: np.random.Generator | int = 0,
    ):  # fmt: skip
        check_model(model)
        self.model, self.window = model, check_count(window, "window")
        shape = num_embeddings, check_count(embedding_dim, "embedding_dim")
        edge = 1 / embedding_dim
        self.vectors = generator(rng).uniform(-edge, edge, shape).astype(np.float32)
        self.outputs = np.zeros(shape, np.float32)

    def learn(self, text: np.ndarray, first: int, rate: float, rng: np.random.Generator) -> None:
        """Learn from text[first : first + block], with steps of size `rate`."""
        contexts, present, targets = examples(
            text[first : first + self.block], self.model, self.window, rng
        )
        order = rng.permutation(len(targets))
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            self._step(contexts[some], present[some], targets[some], np.float32(rate))

    def _step(self, contexts, present, targets, rate) -> None:
        share = shares(present)
        mean = (share[:, None, :] @ self.vectors[contexts])[:, 0]
        _, saved = tied_cross_entropy_forward(mean, self.outputs, targets, reduction="sum")
        dmean, doutputs = tied_cross_entropy_backward(rate, saved)
        dcontexts = share[:, :, None] * dmean[:, None, :]
        kernels.scatter_add(self.vectors, contexts[present], -dcontexts[present])
        self.outputs -= doutputs


def examples(text: np.ndarray, model: str, window: int, rng: np.random.Generator | None = None):
    """(contexts (N, L), present (N, L), targets (N,)): which words announce which word.

    "cbow" has an example for each place, with all its neighbours; "skip-gram" one for each
    neighbour, alone: L is 1. The other arguments are those of `word2vec.windows`.
    """
    if model == "cbow":
        targets, contexts, present = windows(text, window, rng)
        return contexts, present, targets
    targets, contexts = pairs(text, window, rng)
    return contexts[:, None], np.ones((len(contexts), 1), bool), targets


def shares(present: np.ndarray) -> np.ndarray:
    """(N, L) what each word counts in the mean of those that are present."""
    return (present / present.sum(axis=1, keepdims=True)).astype(np.float32)
