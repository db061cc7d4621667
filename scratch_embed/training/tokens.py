"""The text of a language model as tokens on the disk, a part of them held out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scratch_embed.text import bpe
from scratch_embed.text.counting import Ids, learn_pieces, write_tokens
from scratch_embed.text.ngrams import Bigram, Unigram
from scratch_embed.training.reading import check_same, ids_of, new_ids, pieces_of, source
from scratch_embed.training.run import Run

STRETCH = 512  # tokens that are held out or learned together, or more in a long text
STRETCHES = 1000  # of a text, at most
HELD_OUT = 10  # one stretch in so many
WINDOWS = 512  # of the held-out text, on which losses are measured


class Tokens:
    """Tokens to learn from, and others to be judged by.

    The tokenizer learns from the beginning of the text, and knows nothing of the split; the models
    that are compared share it. A text of N tokens is cut into stretches, and a tenth of these,
    drawn by chance, is held out. No sequence goes beyond its stretch, so none has a seam in it.

    run : of the options length, rows, text and most_read; a resumed one finds all in its folder.

    learned : how many tokens there are to learn from.
    windows : (W, length + 1) held-out sequences.
    baselines : the loss of unigram and bigram on them, in nats a token.

    Raises ValueError for a text that is too short, and what reading raises.
    """

    def __init__(self, run: Run, rng: np.random.Generator):
        self.length = run.options.length
        if run.saved:
            with run.restoring():
                pairs = [tuple(t.encode("latin-1") for t in pair) for pair in run.saved["merges"]]
                self.tokenizer = bpe.BPE(tuple(pairs), bpe.BYTES, "byte", True)
                self.checksum = run.saved["checksum"]
                given = run.saved["baselines"]
                self.baselines = {name: float(loss) for name, loss in given.items()}
        else:
            self.tokenizer, self.checksum = read(run)
        self.ids = ids_of(run.options.out, self.checksum)
        N = len(self.ids)
        self.stretch = stretch_of(N, self.length)
        drawn = rng.permutation(N // self.stretch)
        held = -(-len(drawn) // HELD_OUT)
        self.known = np.sort(drawn[held:]) * self.stretch  # where the stretches begin
        self.learned = len(self.known) * self.stretch
        inside = np.arange(self.stretch // (self.length + 1)) * (self.length + 1)
        starts = (drawn[:held, None] * self.stretch + inside).ravel()
        self.windows = self._at(rng.permutation(starts)[:WINDOWS])
        if not run.saved:
            self.baselines = self._count()

    def sequences(self, number: int, rng: np.random.Generator) -> np.ndarray:
        """(number, length + 1) ids from random places, to learn from."""
        places = rng.integers(self.stretch - self.length, size=number)
        return self._at(rng.choice(self.known, size=number) + places)

    def state_dict(self) -> dict:
        """What a checkpoint holds of the text."""
        merges = _as_text(self.tokenizer)
        return {"merges": merges, "checksum": self.checksum, "baselines": self.baselines}

    def _at(self, starts: np.ndarray) -> np.ndarray:
        found = np.empty((len(starts), self.length + 1), np.int64)  # too much is told at once
        for row, start in zip(found, starts.tolist()):
            row[:] = self.ids[start : start + self.length + 1]
        return found

    def _stretches(self) -> Iterator[np.ndarray]:
        return (self.ids[start : start + self.stretch] for start in self.known.tolist())

    def _count(self) -> dict[str, float]:
        V, before, after = len(self.tokenizer), self.windows[:, :-1], self.windows[:, 1:]
        return {
            "unigram": Unigram(self._stretches(), V).loss(after),
            "bigram, Kneser-Ney": Bigram(self._stretches(), V).loss(before, after),
        }


def stretch_of(N: int, length: int) -> int:
    """How many of N tokens are held out or learned together. ValueError where they are too few."""
    stretch = max(min(STRETCH, N // 10), N // STRETCHES, length + 1)
    if N < 2 * stretch:
        raise ValueError(
            f"the text of {N:,} tokens is too short: to learn from one part and be judged by "
            f"another takes {2 * stretch:,}, with sequences of {length:,}"
        )
    return stretch


def read(run: Run) -> tuple[bpe.BPE, int]:
    """(tokenizer, checksum): learn the merges and write the ids, in one pass over the text."""
    options = run.options
    pieces = first(pieces_of(source(options.text)), options.most_read)
    with new_ids(run) as path:
        pieces, tokenizer = learn_pieces(pieces, max(options.rows - 256, 0), unit="byte")
        checksum = write_tokens(pieces, path, tokenizer)
        stretch_of(len(Ids(path)), options.length)
        check_same(options.out, "merges", _as_text(tokenizer))
    return tokenizer, checksum


def _as_text(tokenizer: bpe.BPE) -> list[list[str]]:
    """The merges as a checkpoint holds them."""
    return [[token.decode("latin-1") for token in pair] for pair in tokenizer.merges]


def first(pieces: Iterator[str], letters: int | None) -> Iterator[str]:
    """The pieces of a text up to so many letters; None for all.

    >>> list(first(iter(["one ", "two ", "three"]), 6))
    ['one ', 'tw']
    """
    for piece in pieces:
        yield piece[:letters]
        if letters is not None:
            letters -= len(piece)
            if letters <= 0:
                return
