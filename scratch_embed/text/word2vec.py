"""word2vec: vectors from the company that words keep, in readable NumPy.

    run = train(ids, num_words, 50, window=5, epochs=3, rng=0)
    run.vectors                                    # (V, D), a row for each word

Skip-gram asks which words stand around a centre, CBOW which centre stands between its words, and
both learn to tell the true word from K drawn by chance (Mikolov et al. 2013a, "Efficient
Estimation of Word Representations", and 2013b, "Distributed Representations"). The loss and its
gradients are in `ops.sgns`; here are the pairs, the draws and the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from scratch_embed import kernels
from scratch_embed.arguments import array_of, check_count, check_floats, generator, is_real
from scratch_embed.kernels.ids import check_sequence, count_ids
from scratch_embed.ops.sgns import cbow_backward, cbow_forward, sgns_backward, sgns_forward

MODELS = ("skip-gram", "cbow")
NOTHING = "no word that was kept has a neighbour: give more text, or a larger subsample_at, or none"
LARGEST = np.iinfo(np.int64).max  # an id of any table
LEAST_OTHERS = 1e-6  # of all draws; to draw another word than the commonest would take for ever


class Windows(NamedTuple):
    """What stands around each place of a text, N places and L = 2 window neighbours."""

    centers: np.ndarray  # (N,) ids
    contexts: np.ndarray  # (N, L) ids, and 0 where none is present
    present: np.ndarray  # (N, L) bool


class Word2Vec(NamedTuple):
    """What a run of `train` found."""

    vectors: np.ndarray  # (V, D) of words as centre (skip-gram) or as context (cbow): the result
    outputs: np.ndarray  # (V, D) of words to be told apart; usually thrown away
    losses: np.ndarray  # (steps,) mean loss of each batch before its step


class Negatives:
    """Draws words with P(w) = count(w)^power / sum, the noise of negative sampling.

    The power 3/4 lies between even chances and frequency, and did best in Mikolov et al. 2013b.
    `p` holds the probabilities. A word that never occurs is never drawn.

    >>> Negatives([16, 1]).p.round(4).tolist()          # 16^0.75 = 8
    [0.8889, 0.1111]
    """

    def __init__(self, counts, power: float = 0.75):
        counts = array_of(counts, "counts").astype(np.float64)
        if counts.ndim != 1 or not (np.isfinite(counts) & (counts >= 0)).all():
            raise ValueError(f"counts must be (V,), finite and >= 0; their shape is {counts.shape}")
        if np.count_nonzero(counts) < 2:
            raise ValueError("counts has fewer than two words that occur; none could be a negative")
        with np.errstate(over="ignore", invalid="ignore"):
            share = np.where(counts > 0, np.where(counts > 0, counts, 1) ** power, 0)
            self.p = share / share.sum()
        if not self.p.max() < 1 - LEAST_OTHERS:  # NaN, too
            raise ValueError(
                f"power is {power!r}: word {np.argmax(counts)} would take all draws but one in "
                f"{1 / LEAST_OTHERS:,.0f}, and hardly another be a negative; give a smaller one"
            )
        self._steps = np.cumsum(self.p)
        # Rounding must not leave a gap at the end, nor give it to a word that never occurs.
        self._steps[np.flatnonzero(self.p)[-1] :] = 1.0

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Independent ids in this shape."""
        return np.searchsorted(self._steps, rng.random(shape), side="right")

    def draw_others(self, true: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
        """k ids for each of the true ones, (N,) -> (N, k), none of them the true one."""
        drawn = self.draw((len(true), k), rng)
        clash = np.argwhere(drawn == true[:, None])
        while len(clash):
            drawn[tuple(clash.T)] = self.draw((len(clash),), rng)
            clash = clash[drawn[tuple(clash.T)] == true[clash[:, 0]]]
        return drawn


def windows(ids: np.ndarray, window: int, rng: np.random.Generator | None = None) -> Windows:
    """The neighbours of every place, up to `window` on each side; at the ends there are fewer.

    ids (N,) are whole numbers; raises what `kernels.ids.check_sequence` does for anything else.
    With `rng` each place draws a width of its own from 1 .. window, so near words count more, as
    in word2vec; with None all windows are full. Places without a neighbour are left out.

    >>> windows(np.array([7, 8, 9]), 1).contexts.tolist()        # 7 and 9 have one neighbour
    [[0, 8], [7, 9], [8, 0]]
    """
    window = check_count(window, "window")
    ids = check_sequence(ids, LARGEST)
    shifts = np.concatenate([np.arange(-window, 0), np.arange(1, window + 1)])
    width = np.full(len(ids), window) if rng is None else rng.integers(1, window + 1, len(ids))
    places = np.arange(len(ids))[:, None] + shifts
    present = (places >= 0) & (places < len(ids)) & (np.abs(shifts) <= width[:, None])
    contexts = np.where(present, ids[np.where(present, places, 0)], 0)
    some = present.any(axis=1)
    return Windows(ids[some], contexts[some], present[some])


def pairs(ids: np.ndarray, window: int, rng: np.random.Generator | None = None):
    """(centers, contexts), each (pairs,): every place with every neighbour in its window.

    >>> [side.tolist() for side in pairs(np.array([7, 8, 9]), 1)]
    [[7, 8, 8, 9], [8, 7, 9, 8]]
    """
    centers, contexts, present = windows(ids, window, rng)
    return np.repeat(centers, present.sum(axis=1)), contexts[present]


def subsample(
    ids: np.ndarray, counts: np.ndarray, threshold: float, rng: np.random.Generator
) -> np.ndarray:
    """The text with frequent words thinned out: w is kept with probability min(1, sqrt(t / f(w))).

    f(w) is the share of w in the text, t the threshold (Mikolov et al. 2013b, equation 5). A word
    of share 0.04 is kept with probability 0.158 at t = 0.001. A threshold of 0 thins out nothing.

    Raises ValueError for a threshold that is negative or not finite, IndexError for an id that has
    no count.
    """
    if not (is_real(threshold) and 0 <= threshold < np.inf):
        raise ValueError(f"threshold is {threshold!r}; it must be a share, or 0 to keep every word")
    counts = array_of(counts, "counts")
    ids = check_sequence(ids, len(counts))
    if not threshold:
        return ids
    share = np.maximum(counts[ids], 1) / np.sum(counts)
    return ids[rng.random(len(ids)) < np.sqrt(threshold / share)]


def train(
    ids: np.ndarray,
    num_embeddings: int,
    embedding_dim: int,
    *,
    model: str = "skip-gram",
    window: int = 5,
    negatives: int = 5,
    epochs: int = 5,
    lr: float = 0.025,
    batch_size: int = 128,
    power: float = 0.75,
    subsample_at: float | None = 1e-3,
    dtype: type | str | np.dtype = np.float32,
    rng: np.random.Generator | int = 0,
    progress: Callable[[Iterable], Iterable] = iter,
) -> Word2Vec:
    """Learn a vector for each of `num_embeddings` words from a text of ids (N,).

    model : "skip-gram" or "cbow".
    window : neighbours on each side, at most; the width is drawn anew at each place.
    negatives : K, words drawn for each true one.
    lr : of plain gradient descent on the summed loss, falling linearly to lr / 10,000.
    batch_size : examples that step together. A row is moved by the sum of what they ask, so a
        small vocabulary wants a small batch.
    subsample_at : threshold of `subsample`; None keeps every word.
    progress : wraps the batches of each epoch, as tqdm does.

    The vectors start in U(-1/2D, 1/2D), the outputs at 0, as in word2vec.c. Everything random
    comes from `rng`, in one order, so a seed gives one result. Raises FloatingPointError when lr is
    so large that the loss overflows, and TypeError for a dtype that holds no floats.
    """
    check_model(model)
    dtype = check_floats(dtype)
    check_rate(lr)
    epochs, batch_size = check_count(epochs, "epochs"), check_count(batch_size, "batch_size")
    negatives = check_count(negatives, "negatives")
    ids = check_sequence(ids, num_embeddings)
    rng = generator(rng)
    counts = count_ids(ids, num_embeddings)
    noise = Negatives(counts, power)
    shape = (num_embeddings, check_count(embedding_dim, "embedding_dim"))
    vectors = ((rng.random(shape) - 0.5) / embedding_dim).astype(dtype)
    outputs = np.zeros(shape, dtype)
    step = _skip_gram_step if model == "skip-gram" else _cbow_step
    losses = []
    for epoch in range(epochs):
        text = ids if subsample_at is None else subsample(ids, counts, subsample_at, rng)
        examples = pairs(text, window, rng) if model == "skip-gram" else windows(text, window, rng)
        order = rng.permutation(len(examples[0]))
        for start in progress(range(0, len(order), batch_size)):
            batch = [array[order[start : start + batch_size]] for array in examples]
            done = (epoch + start / len(order)) / epochs
            rate = dtype.type(lr * max(1 - done, 1e-4))
            loss = step(vectors, outputs, batch, noise, negatives, rate, rng)
            losses.append(_finite(loss, f"lr {lr} with batch_size {batch_size}") / len(batch[0]))
    if not losses:
        raise ValueError(NOTHING)
    return Word2Vec(vectors, outputs, np.array(losses))


def check_model(model: str) -> None:
    """ValueError for another than the two that there are."""
    if model not in MODELS:
        raise ValueError(f"model is {model!r}; it must be 'skip-gram' or 'cbow'")


def check_rate(lr: float) -> None:
    """ValueError for a learning rate that is not a finite number above 0."""
    if not (is_real(lr) and 0 < lr < np.inf):
        raise ValueError(f"lr is {lr!r}; it must be a finite number above 0")


def _finite(loss: float, settings: str) -> float:
    if not np.isfinite(loss):
        raise FloatingPointError(f"the loss became {loss}: {settings} is too large; halve either")
    return loss


def _skip_gram_step(vectors, outputs, batch, noise, k, rate, rng) -> float:
    centers, contexts = batch
    others = noise.draw_others(contexts, k, rng)
    loss, saved = sgns_forward(vectors[centers], outputs[contexts], outputs[others])
    dcenter, dcontext, dothers = sgns_backward(rate, saved)
    kernels.scatter_add(vectors, centers, -dcenter)
    kernels.scatter_add(outputs, contexts, -dcontext)
    kernels.scatter_add(outputs, others, -dothers)
    return float(loss)


def _cbow_step(vectors, outputs, batch, noise, k, rate, rng) -> float:
    centers, contexts, present = batch
    others = noise.draw_others(centers, k, rng)
    loss, saved = cbow_forward(vectors[contexts], outputs[centers], outputs[others], present)
    dcontexts, dcenter, dothers = cbow_backward(rate, saved)
    kernels.scatter_add(vectors, contexts[present], -dcontexts[present])
    kernels.scatter_add(outputs, centers, -dcenter)
    kernels.scatter_add(outputs, others, -dothers)
    return float(loss)
