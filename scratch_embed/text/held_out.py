"""How well word2vec's tables foretell a text that they did not learn from.

judge = HeldOut([text], counts)
judge(tables.vectors, tables.outputs) < judge.by_frequency < judge.untrained
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from scratch_embed.arguments import check_count
from scratch_embed.kernels.ids import check_sequence
from scratch_embed.ops.elementwise import log_sigmoid_forward
from scratch_embed.ops.sgns import cbow_forward
from scratch_embed.ops.tied_cross_entropy import tied_cross_entropy_forward
from scratch_embed.text.word2vec import Negatives, check_model, subsample
from scratch_embed.text.word2vec_softmax import examples, shares

LOSSES = ("negative", "softmax")
EXAMPLES = 5_000
PART = 1_000  # examples at a time: their rows take a few megabytes
TINY = np.finfo(float).tiny
SEED = 11  # of the examples and the negatives, the same for all whom it judges


def check_loss(loss: str) -> None:
    """ValueError for another than the two that there are."""
    if loss not in LOSSES:
        raise ValueError(f"loss is {loss!r}; it must be 'negative' or 'softmax'")


class HeldOut:
    """The mean loss of an example, in nats, on examples and negatives that are drawn once.

    texts : stretches of ids (N,) that were not learned from; windows end where a stretch ends.
    counts : (V,) of the words, for the negatives.
    subsample_at : threshold of `subsample` for the text; 0 keeps every word. What was learned from
        a thinned-out text is judged on one.
    loss : "negative", of `ops.sgns` with K negatives, or "softmax", the cross-entropy.
    most : so many examples at most are judged, drawn without replacement.

    untrained : the loss of tables that know nothing: (K + 1) ln 2, or ln V.
    by_frequency : the loss of the best that can be said without looking at the neighbours.
    """

    def __init__(
        self, texts: Iterable[np.ndarray], counts: np.ndarray, *, model: str = "skip-gram",
        loss: str = "negative", window: int = 5, negatives: int = 5, power: float = 0.75,
        subsample_at: float = 0, most: int = EXAMPLES,
    ):  # fmt: skip
        check_model(model)
        check_loss(loss)
        negatives, most = check_count(negatives, "negatives"), check_count(most, "most")
        if isinstance(texts, np.ndarray):
            raise TypeError("texts is an array; it must be a list of texts, if only of one: [ids]")
        texts = [check_sequence(text, len(counts), "text") for text in texts]
        rng = np.random.default_rng(SEED)
        share = np.asarray(counts) / np.sum(counts)
        if subsample_at:
            texts = [subsample(text, counts, subsample_at, rng) for text in texts]
            share *= np.minimum(1, np.sqrt(subsample_at / np.maximum(share, TINY)))
            share /= share.sum()
        found = [np.concatenate(a) for a in zip(*(examples(t, model, window) for t in texts))]
        if not len(found[0]):
            raise ValueError(
                "no two words of the held-out text are neighbours; give more text, or a larger "
                "subsample_at, or 0, which keeps every word"
            )
        some = rng.permutation(len(found[0]))[:most]
        self.contexts, self.present, self.targets = (array[some] for array in found)
        known = np.log(np.maximum(share, TINY))
        if loss == "softmax":
            self.negatives = None
            self.untrained = math.log(len(share))
            self.by_frequency = float(-known[self.targets].mean())
            return
        noise = Negatives(counts, power)
        self.negatives = noise.draw_others(self.targets, negatives, rng)
        self.untrained = (negatives + 1) * math.log(2)
        # The best score of a word w, whatever stands beside it, is ln(P(w) / (K Q(w))). Q(w) is how
        # often it is drawn: the sum of P(v) P_noise(w) / (1 - P_noise(v)) over true words v but w.
        odds = share / (1 - noise.p)
        score = known - np.log(np.maximum(negatives * noise.p * (odds.sum() - odds), TINY))
        true, drawn = score[self.targets], score[self.negatives]
        total = log_sigmoid_forward(true)[0].sum() + log_sigmoid_forward(-drawn)[0].sum()
        self.by_frequency = float(-total / len(true))

    def __call__(self, vectors: np.ndarray, outputs: np.ndarray) -> float:
        """The mean loss of tables (V, D)."""
        total = 0.0
        for start in range(0, len(self.targets), PART):
            part = slice(start, start + PART)
            around, targets = vectors[self.contexts[part]], self.targets[part]
            if self.negatives is None:
                mean = (shares(self.present[part])[:, None, :] @ around)[:, 0]
                total += float(tied_cross_entropy_forward(mean, outputs, targets, None, "sum")[0])
            else:
                rows = outputs[targets], outputs[self.negatives[part]]
                total += float(cbow_forward(around, *rows, self.present[part])[0])
        return total / len(self.targets)
