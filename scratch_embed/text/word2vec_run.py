"""A training of word2vec that may stop anywhere, and goes on to the same bits.

    training = Training(Ids("text.ids"), counts, Settings(dim=100))
    while not training.finished:
        training.advance()                          # a block: some thousand words
    checkpoint.save(path, **training.state_dict())

The text stays on the disk; a stretch of about a million words is in memory, and windows end where
it ends. A text of one stretch gives the bits of `word2vec_fast.train`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scratch_embed.arguments import check_count, check_names, check_rng_state, fitted
from scratch_embed.kernels.ids import check_ids
from scratch_embed.text import word2vec_fast, word2vec_softmax
from scratch_embed.text.held_out import HeldOut, check_loss
from scratch_embed.text.word2vec import check_rate, subsample

STRETCH = 1 << 20  # words
SPAN = 200  # words that are held out together
HELD_OUT, MOST_SPANS = 0.01, 100  # share of the text, and how many spans of it at most
JUDGEMENTS = 20  # of the held-out loss in a run
STATE = ("vectors", "outputs", "epoch", "start", "first", "rng", "rng_of_stretch", "curve")


@dataclass(frozen=True)
class Settings:
    """All that decides what is learned from a text. The meanings are those of `word2vec.train`.

    loss : "negative", to be told apart from `negatives` words, or "softmax", from all.
    subsample_at : threshold of `subsample`; 0 keeps every word.
    workers : threads; with more than one they race, and no two runs give the same bits.
    """

    model: str = "skip-gram"
    loss: str = "negative"
    dim: int = 100
    window: int = 5
    negatives: int = 5
    epochs: int = 5
    lr: float = 0.025
    power: float = 0.75
    subsample_at: float = 1e-3
    workers: int = 1
    seed: int = 0


class Training:
    """Tables, and how far they have come with a text.

    ids : (N,) what `ids[start:stop]` gives, an array or `counting.Ids`. A hundredth is held out, in
        spans of 200 words that are spread over the text, a hundred of them at most.
    counts : (V,) how often each word stands in the text.

    judge : the `HeldOut` of these spans.
    curve : [words done, held-out loss], at some twenty places of the run.
    """

    def __init__(self, ids: Sequence, counts: np.ndarray, settings: Settings):
        check_count(settings.epochs, "epochs")
        check_loss(settings.loss)
        check_rate(settings.lr)
        for name in ("subsample_at", "power"):
            if not 0 <= getattr(settings, name) < np.inf:
                raise ValueError(f"{name} is {getattr(settings, name)}; it must be 0 or more")
        self.ids, self.counts, self.settings = ids, counts, settings
        self.size = len(ids)
        self.span = min(SPAN, self.size // 20)  # the end of every period is held out
        self.period = min(max(int(self.span / HELD_OUT), self.size // MOST_SPANS), self.size)
        if self.span < 2:
            raise ValueError(f"{self.size} words with a vector are too few; give more text")
        self.rng = np.random.default_rng(settings.seed)
        common = {"model": settings.model, "window": settings.window}
        sampling = {"negatives": settings.negatives, "power": settings.power}
        ends = range(self.period, self.size + 1, self.period)
        spans = [check_ids(ids[end - self.span : end], len(counts)) for end in ends]
        how = {"loss": settings.loss, "subsample_at": settings.subsample_at}
        self.judge = HeldOut(spans, counts, **how, **common, **sampling)
        common["rng"] = self.rng
        if settings.loss == "softmax":
            self.tables = word2vec_softmax.Tables(len(counts), settings.dim, **common)
        else:
            common |= {**sampling, "workers": settings.workers}
            self.tables = word2vec_fast.Tables(counts, settings.dim, **common)
        self.epoch, self.curve = 0, []
        self._enter(0)

    @property
    def total(self) -> int:
        """Words to be read in all epochs, those that are held out among them."""
        return self.size * self.settings.epochs

    @property
    def share(self) -> float:
        """How much of the work is done, 0..1."""
        if self.finished:
            return 1.0
        here = min(self.first / max(len(self.text), 1), 1) * ((self.stop - self.start) / self.size)
        return (self.epoch + self.start / self.size + here) / self.settings.epochs

    @property
    def done(self) -> int:
        """Words read so far, those that were left out among them."""
        return self.total if self.finished else int(self.share * self.total)

    @property
    def finished(self) -> bool:
        """Whether all epochs are through."""
        return self.epoch >= self.settings.epochs

    def advance(self) -> None:
        """Learn from the next block of the text.

        Raises FloatingPointError when the learning rate is so large that the loss overflows.
        """
        rate = word2vec_fast.falling(self.settings.lr, self.share)
        self.tables.learn(self.text, self.first, rate, self.rng)
        self.first += self.tables.block
        if self.first >= len(self.text):
            whole = self.stop == self.size
            self.epoch += whole
            if not self.finished:
                self._enter(0 if whole else self.stop)
        if self.finished or self.done * JUDGEMENTS >= self.total * (len(self.curve) + 1):
            self._judge()

    def state_dict(self) -> dict:
        """What a checkpoint holds: copies."""
        return {
            "vectors": self.tables.vectors.copy(),
            "outputs": self.tables.outputs.copy(),
            "epoch": self.epoch,
            "start": self.start,
            "first": self.first,
            "rng": self.rng.bit_generator.state,
            "rng_of_stretch": self._rng_of_stretch,
            "curve": list(self.curve),
        }

    def load_state_dict(self, state: Mapping) -> None:
        """Go on where `state_dict` was taken: with all of it, or after an error with nothing.

        Raises KeyError for a name that is missing or extra, what `fitted` raises for tables of
        another shape, and ValueError for a place that is not in this text.
        """
        check_names(state, STATE, "this training")
        tables = [
            (table, fitted(state[name], table, name))
            for name, table in (("vectors", self.tables.vectors), ("outputs", self.tables.outputs))
        ]
        for name in ("epoch", "start", "first"):
            check_count(state[name], name, 0)
        most = STRETCH + self.tables.block  # the last block of a stretch may end beyond it
        if state["start"] >= self.size or state["start"] % STRETCH or state["first"] >= most:
            raise ValueError(f"start {state['start']}, first {state['first']}: of another text")
        curve = [[check_count(done, "curve", 0), float(loss)] for done, loss in state["curve"]]
        for drawn in (state["rng"], state["rng_of_stretch"]):
            check_rng_state(drawn, self.rng)
        for table, numbers in tables:
            table[...] = numbers
        self.epoch, self.curve = state["epoch"], curve
        self.rng.bit_generator.state = state["rng_of_stretch"]
        self._enter(state["start"])
        self.first = state["first"]
        self.rng.bit_generator.state = state["rng"]

    def _enter(self, start: int) -> None:
        """Take up the stretch of the text that begins there, and thin it out."""
        self._rng_of_stretch = self.rng.bit_generator.state
        self.start, self.stop, self.first = start, min(start + STRETCH, self.size), 0
        text = check_ids(self.ids[start : self.stop], len(self.counts))
        text = text[np.arange(start, self.stop) % self.period < self.period - self.span]
        self.text = subsample(text, self.counts, self.settings.subsample_at, self.rng)

    def _judge(self) -> None:
        loss = self.judge(self.tables.vectors, self.tables.outputs)
        if not np.isfinite(loss):
            raise FloatingPointError(
                f"the held-out loss became {loss}: lr {self.settings.lr} is too large; halve it"
            )
        self.curve.append([self.done, loss])
