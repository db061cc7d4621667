"""word2vec with negative sampling at the speed of compiled code: millions of words in seconds.

    run = train(ids, num_words, 100, workers=2)
    run.vectors                                    # (V, D), a row for each word

    tables = Tables(counts, 100, rng=rng)          # the same, a block of the text at a time
    tables.learn(text, first=0, rate=0.025, rng=rng)

The model is that of `word2vec.train`, which is the one to read. What differs:

    - a place in the text and its neighbours make a batch, and (in skip-gram) share its negatives;
    - rows begin in U(-1/D, 1/D), as in gensim, and the learning rate ends at lr / 100;
    - the sigmoid comes from a table, and is off by 0.001 at most;
    - with more than one worker the threads race, and no two runs give the same vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from scratch_embed.arguments import check_count, generator
from scratch_embed.kernels import run, skip_gram_loops
from scratch_embed.kernels.ids import check_sequence, count_ids
from scratch_embed.text.word2vec import (
    NOTHING,
    Negatives,
    Word2Vec,
    check_model,
    check_rate,
    subsample,
)

REACH = 8.0  # scores beyond are taken to be at +-8, where s is 0.9997
STEPS = 2048  # of the table of sigmoids
BLOCK = 10_000  # words a worker between two changes of the learning rate, as in word2vec.c
SLOWEST = 100  # the last learning rate is lr / SLOWEST
LANES = 8  # numbers that one instruction takes; a rest of a row would be taken one by one
LINE = 64  # bytes of a line of the cache; numbers on two lines are fetched twice
NOISE = 1 << 20  # entries of the table that negatives are drawn from


LOOPS = {"skip-gram": skip_gram_loops.skip_gram, "cbow": skip_gram_loops.cbow}


class Tables:
    """Two tables (V, D) that learn from a text, a block of places at a time.

    counts : (V,) how often each word stands in the text, for the negatives.
    block : how many places one call of `learn` learns from.

    The other parameters are those of `train`. Raises what `train` raises.
    """

    def __init__(
        self, counts, embedding_dim: int, *, model: str = "skip-gram", window: int = 5,
        negatives: int = 5, power: float = 0.75, workers: int = 1,
        rng: np.random.Generator | int = 0,
    ):  # fmt: skip
        check_model(model)
        self._loop = LOOPS[model]
        self.window = check_count(window, "window")
        self.negatives = check_count(negatives, "negatives")
        self.workers = check_count(workers, "workers")
        self.block = BLOCK * workers
        self._noise, self._sigmoid = noise_table(Negatives(counts, power)), sigmoid_table()
        shape = (len(counts), check_count(embedding_dim, "embedding_dim"))
        edge = 1 / embedding_dim
        # Rows lie in memory with zeros behind them, up to a multiple of LANES. They stay zeros: a
        # step there is a product with a zero. Rows of 100 numbers are learned some 15 % faster so,
        # and another 5 to 10 % when no instruction's numbers lie on two lines of the cache.
        width = -(-embedding_dim // LANES) * LANES
        self._rows = from_a_line((2, len(counts), width))
        self.vectors, self.outputs = self._rows[:, :, :embedding_dim]
        self.vectors[...] = generator(rng).uniform(-edge, edge, shape)

    def learn(self, text: np.ndarray, first: int, rate: float, rng: np.random.Generator) -> None:
        """Learn from text[first : first + block], with steps of size `rate`.

        text : an array (N,) of ids that `counts` counts; of it what the windows reach is checked.
        """
        if not isinstance(text, np.ndarray) or not 0 <= first < max(len(text), 1):
            raise ValueError(f"text must be an array, and first, {first}, a place in it")
        check_rate(rate)
        low, high = max(first - self.window, 0), first + self.block + self.window
        # A copy: the loop trusts what was checked, and another thread may write into text.
        text = check_sequence(text[low:high], self._rows.shape[1], f"text[{low}:{high}]").copy()
        first -= low
        centers = text[first : first + self.block]
        widths, targets = draw(centers, self.window, self.negatives, self._noise, rng)
        places = (text, widths, targets, first)
        how = (self._sigmoid, REACH, np.float32(rate), self.workers)
        run(self._loop, self.workers, *self._rows, *places, *how)


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
    power: float = 0.75,
    subsample_at: float | None = 1e-3,
    workers: int = 1,
    rng: np.random.Generator | int = 0,
    progress: Callable[[Iterable], Iterable] = iter,
) -> Word2Vec:
    """Learn a vector of float32 for each of `num_embeddings` words from a text of ids (N,).

    workers : threads. With one, a seed gives the same vectors every time on the same machine. More
        are faster, and give other vectors every time, because they race.

    The other parameters are those of `word2vec.train`. `losses` stays empty: a loss costs a
    logarithm for every score, and none is needed to learn.
    """
    check_rate(lr)
    epochs = check_count(epochs, "epochs")
    ids = check_sequence(ids, num_embeddings)
    rng = generator(rng)
    counts = count_ids(ids, num_embeddings)
    options = {"window": window, "negatives": negatives, "power": power, "workers": workers}
    tables, learned = Tables(counts, embedding_dim, model=model, rng=rng, **options), 0
    for epoch in range(epochs):
        text = ids if subsample_at is None else subsample(ids, counts, subsample_at, rng)
        for first in progress(range(0, len(text), tables.block)):
            tables.learn(text, first, falling(lr, (epoch + first / len(text)) / epochs), rng)
        learned += max(len(text) - 1, 0)
    if not learned:
        raise ValueError(NOTHING)
    if not np.isfinite(tables.vectors).all():
        raise FloatingPointError(f"the vectors became infinite: lr {lr} is too large; halve it")
    found = map(np.ascontiguousarray, (tables.vectors, tables.outputs))
    return Word2Vec(*found, np.empty(0))


def from_a_line(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros of float32 that begin where a line of the cache does."""
    size = math.prod(shape) * 4
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(np.float32).reshape(shape)


def falling(lr: float, done: float) -> float:
    """The learning rate when this share of the work is done: from lr down to lr / SLOWEST."""
    return lr * (1 - done + done / SLOWEST)


def draw(centers, window: int, negatives: int, noise, rng) -> tuple[np.ndarray, np.ndarray]:
    """How far each place looks, (N,), and the ids that it tells apart, (N, 1 + K): itself first."""
    widths = rng.integers(1, window + 1, len(centers))
    targets = np.empty((len(centers), 1 + negatives), noise.dtype)
    targets[:, 0] = centers
    targets[:, 1:] = noise.take(rng.integers(0, len(noise), (len(centers), negatives)))
    return widths, targets


def noise_table(noise: Negatives) -> np.ndarray:
    """Ids, each as often as its probability says, up to rounding: to draw one is to pick an entry.

    A table of 2^20 entries, or 16 for each word when that is more; word2vec.c has 10^8.
    """
    size = max(NOISE, 16 * len(noise.p))
    share = np.cumsum(noise.p)
    ends = np.rint(share / share[-1] * size)
    counts = np.diff(ends, prepend=0).astype(np.intp)  # np.repeat wants no other
    return np.repeat(np.arange(len(ends), dtype=np.int32), counts)


def sigmoid_table() -> np.ndarray:
    """s(x) in the middle of each of STEPS equal parts of -REACH .. REACH."""
    x = ((np.arange(STEPS) + 0.5) / STEPS * 2 - 1) * REACH
    return (1 / (1 + np.exp(-x))).astype(np.float32)
