"""Six ways to turn a text into rows, with one body behind all of them, and one measure.

    known, unseen = split(text, 60_000)
    player = contestant("pieces", known, rng=0)
    player.learn(known, tokens=20_000, rng=0)
    player.bits(unseen)                        bits for each character of text it has not seen

Whatever a text is cut into, each way can write all of it down, so bits for each character can be
compared. What it costs is counted: `player.cost`, multiply-adds of one prediction, forward.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scratch_embed import images
from scratch_embed.arguments import generator
from scratch_embed.functional import cross_entropy, relu
from scratch_embed.kernels.ids import count_ids
from scratch_embed.layers import Embedding, Linear, PatchEmbed, TiedHead
from scratch_embed.layers.layer import Layer
from scratch_embed.learning import Learning
from scratch_embed.ops.patches import fold_forward
from scratch_embed.optim import Adam
from scratch_embed.tensor import Tensor, no_grad
from scratch_embed.text import bpe
from scratch_embed.text.pairs import split_words

D, HIDDEN, CONTEXT, BATCH, RATE = 16, 64, 8, 256, 0.01
ROWS = 500  # of the vocabularies that are not alphabets
STRATEGIES = ("words, tied", "words", "pieces", "characters", "patches of 8", "patches of 16")
GLYPH, DRAWN = 8, 16  # pixels of a drawn character; characters on a page of 32 by 32 pixels


@dataclass(frozen=True)
class Cut:
    """A vocabulary, and how it cuts a text: `"".join(cut(text)) == text`."""

    tokens: tuple[str, ...]
    cut: Callable[[str], list[str]]

    def encode(self, text: str) -> np.ndarray:
        """The row of each token of the text. ValueError for a character that was not known."""
        index = {token: i for i, token in enumerate(self.tokens)}
        unknown = sorted(set(text) - set("".join(self.tokens)))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is in no token of this vocabulary")
        return np.array([index[token] for token in self.cut(text)], np.int64)


def words(text: str, rows: int = ROWS) -> Cut:
    """The most frequent words, and the characters, with which all other words are spelt."""
    alphabet = sorted(set(text))
    common = Counter(w for w in split_words(text) if len(w) > 1).most_common(rows - len(alphabet))
    known = {word for word, _ in common}

    def cut(text):
        whole = split_words(text)
        return [t for word in whole for t in ([word] if word in known else word)]

    return Cut((*alphabet, *(word for word, _ in common)), cut)


def pieces(text: str, rows: int = ROWS) -> Cut:
    """The characters, and the merges of byte pair encoding within words."""
    merges = max(rows - len(set(text)), 0)
    learned = bpe.train(text, merges, boundaries=True, progress=False)
    return Cut(learned.tokens, lambda text: learned.pieces(text, errors="strict"))


def characters(text: str) -> Cut:
    """The characters alone."""
    return Cut(tuple(sorted(set(text))), list)


CUTS = {"words": words, "pieces": pieces, "characters": characters}


def check_strategy(name: str) -> None:
    """ValueError for a name that is none of STRATEGIES."""
    if name not in STRATEGIES:
        raise ValueError(f"there is no strategy {name!r}; choose one of {'; '.join(STRATEGIES)}")


class Drawn(Layer):
    """Sixteen characters drawn on a page, cut into patches of P by P   (B, 16) -> (B, N, D)"""

    def __init__(self, alphabet: Sequence[str], P: int, rng):
        glyphs = images.glyphs(alphabet, side=GLYPH, size=GLYPH)
        self.glyphs = glyphs.reshape(len(alphabet), GLYPH * GLYPH)
        self.patches = PatchEmbed(4 * GLYPH, P, 1, D, rng=rng)

    def __call__(self, ids) -> Tensor:
        pages, _ = fold_forward(self.glyphs[ids], (len(ids), 1, 4 * GLYPH, 4 * GLYPH), GLYPH)
        return self.patches(pages)


class Body(Layer):
    """Scores for what comes next        (B, T, D) -> hidden -> (B, D) -> (B, num_out)

    entrance : the layer that turns a context of ids into rows.
    length : T, how many rows it makes.
    tied : score with the entrance's own table.
    """

    def __init__(self, entrance: Layer, length: int, num_out: int, tied: bool, rng):
        self.entrance = entrance
        self.hidden = Linear(length * D, HIDDEN, rng=rng)
        self.out = Linear(HIDDEN, D, rng=rng)
        self.head = TiedHead(entrance) if tied else Linear(D, num_out, bias=False, rng=rng)
        self.cost = length * D * HIDDEN + HIDDEN * D + D * num_out

    def __call__(self, context) -> Tensor:
        rows = self.entrance(context)
        return self.head(self.out(relu(self.hidden(rows.reshape(len(rows), -1)))))


def windows(ids: np.ndarray, length: int) -> np.ndarray:
    """The `length` ids before each of ids, (N, length); before the beginning stands row 0."""
    padded = np.concatenate([np.zeros(length, np.int64), ids])
    return np.lib.stride_tricks.sliding_window_view(padded, length)[:-1]


SCRIPTS = (
    "a",
    "\u03b1",
    "\u0430",
    "\u0561",
    "\u10d0",
)  # Latin, Greek, Cyrillic, Armenian, Georgian


def in_scripts(text: str) -> str:
    """The text in five parts of equal length, each with the alphabet of another script."""
    size = -(-len(text) // len(SCRIPTS))
    return "".join(
        text[k * size : (k + 1) * size].translate({97 + i: ord(first) + i for i in range(26)})
        for k, first in enumerate(SCRIPTS)
    )


class Player:
    """A strategy with its vocabulary and its model."""

    def __init__(self, cut: Cut, model: Body, length: int, drawing: int = 0):
        self.cut, self.model, self.length = cut, model, length
        self.cost = model.cost + drawing  # multiply-adds of one prediction, forward

    def learn(self, text: str, tokens: int, rng) -> None:
        """Predict `tokens` tokens at random places of the text, 256 a step, with Adam."""
        rng, ids = generator(rng), self.cut.encode(text)
        if not len(ids):
            raise ValueError("text is empty; there is nothing to learn")
        contexts, adam = windows(ids, self.length), Adam(self.model.parameters(), lr=RATE)

        def loss(rng: np.random.Generator) -> Tensor:
            at = rng.integers(len(ids), size=BATCH)
            return cross_entropy(self.model(contexts[at]), ids[at])

        learning = Learning(self.model, adam, rng, loss)
        for _ in range(max(1, tokens // BATCH)):
            learning.take()

    def bits(self, text: str) -> float:
        """Bits for each character: the sum of -log2 p over tokens, divided by characters."""
        if not text:
            raise ValueError("text is empty, and has no bits for each character")
        ids = self.cut.encode(text)
        with no_grad():
            logits = self.model(windows(ids, self.length))
            nats = cross_entropy(logits, ids, reduction="sum").item()
        return nats / np.log(2) / len(text)

    def unigram_bits(self, known: str, unseen: str) -> float:
        """The same of a model that only counted: p = (count + 1) / (N + V), whatever came before.

        Counts 3 and 1 of two rows: p = 4/6 and 2/6, which is 0.585 and 1.585 bits.
        """
        if not unseen:
            raise ValueError("unseen is empty, and has no bits for each character")
        counts = count_ids(self.cut.encode(known), len(self.cut.tokens)) + 1
        return float(-np.log2(counts / counts.sum())[self.cut.encode(unseen)].sum() / len(unseen))


def contestant(name: str, text: str, rng, cut: Cut | None = None) -> Player:
    """One of STRATEGIES, its vocabulary made from text (or given), its weights drawn.

    Raises ValueError for another name.
    """
    check_strategy(name)
    rng = generator(rng)
    kind = name.split(",")[0].split(" ")[0]
    if kind == "patches":
        cut, P = cut or characters(text), int(name.split()[-1])
        length = (4 * GLYPH // P) ** 2
        model = Body(Drawn(cut.tokens, P, rng), length, len(cut.tokens), False, rng)
        return Player(cut, model, DRAWN, drawing=(4 * GLYPH) ** 2 * D)
    cut = cut or CUTS[kind](text)
    table = Embedding(len(cut.tokens), D, rng=rng, init="1/sqrt(d)")
    tied = name in ("words, tied", "pieces")
    return Player(cut, Body(table, CONTEXT, len(cut.tokens), tied, rng), CONTEXT)


def typewritten(pictures: np.ndarray) -> list[str]:
    """Pictures (B, 1, H, W) as texts: a letter from a to d for each pixel's shade, a word a row.

    Raises ValueError for shades that are not in 0..1.
    """
    _check_shades(pictures)
    shades = np.minimum((pictures[:, 0] * 4).astype(int), 3)
    return [" ".join("".join("abcd"[k] for k in row) for row in page) for page in shades]


def placed(pages: list[str], cut: Cut) -> np.ndarray:
    """(B, places) rows of the tokens, each at the place where it begins; len(tokens) elsewhere."""
    out = np.full((len(pages), len(pages[0])), len(cut.tokens))
    for line, page in zip(out, pages):
        starts = np.cumsum([0, *map(len, cut.cut(page))])[:-1]
        line[starts] = cut.encode(page)
    return out


def _check_shades(pictures) -> None:
    if not ((0 <= pictures) & (pictures <= 1)).all():
        raise ValueError("pictures hold shades outside 0..1: divide bytes by 255")


def see(name: str, known, unseen, epochs: int, rng) -> float:
    """The share of unseen pictures named rightly, after `epochs` passes over the known ones.

    known, unseen : (pictures (B, 1, S, S), labels (B,)). A text strategy reads the typewritten
    picture; patches are a quarter or half as wide as it is. Nothing is tied: pictures have no
    table to share. Raises ValueError for another name, for shades that are not in 0..1, and for
    another number of labels than of pictures.
    """
    check_strategy(name)
    rng = generator(rng)
    (pictures, labels), (strange, truth) = known, unseen
    for shades, named in (known, unseen):
        if np.shape(named) != shades.shape[:1]:
            told = f"{len(shades)} pictures take as many labels, and not {np.shape(named)}"
            raise ValueError(told)
        _check_shades(shades)
    side, classes = pictures.shape[-1], int(labels.max()) + 1
    if name.startswith("patches"):
        P = side // 4 if name.endswith(" 8") else side // 2
        inputs, test = pictures, strange
        entrance, length = PatchEmbed(side, P, 1, D, rng=rng), (side // P) ** 2
    else:
        pages = typewritten(pictures)
        cut = CUTS[name.split(",")[0]](" ".join(pages))
        inputs, test = placed(pages, cut), placed(typewritten(strange), cut)
        entrance = Embedding(len(cut.tokens) + 1, D, rng=rng, init=0.02)
        length = inputs.shape[1]
    model = Body(entrance, length, classes, False, rng)
    adam = Adam(model.parameters(), lr=RATE)
    for _ in range(epochs):
        for at in np.array_split(rng.permutation(len(labels)), max(1, len(labels) // 64)):
            adam.zero_grad()
            cross_entropy(model(inputs[at]), labels[at]).backward()
            adam.step()
    with no_grad():
        return float((model(test).numpy().argmax(axis=1) == truth).mean())


def split(text: str, length: int, least: int = 30_000) -> tuple[str, str]:
    """(known, unseen): the letters a to z of a text's first `length`, in words; a tenth is unseen.

    Raises ValueError, in one sentence, for a text that is too short or hardly has words.
    """
    letters = re.sub("[^a-z]+", " ", text[: 4 * length].lower()).strip()[:length]
    if len(letters) < least:
        raise ValueError(
            f"This needs {least:,} letters from a to z and spaces; the first "
            f"{min(4 * length, len(text)):,} characters of the text have {len(letters):,}. "
            "Give a longer text, or one of such letters."
        )
    cut = letters.rfind(" ", 0, len(letters) * 9 // 10)
    parts = (letters[:cut], letters[cut:]) if cut > 0 else ("", letters)
    for part in parts[::-1]:
        if 40 * len(part.split()) <= len(part):
            raise ValueError(
                "Words are compared with pieces of words here; "
                f"{len(part):,} letters of this text are {len(part.split()):,} words. "
                "Give a text with spaces between its words."
            )
    return parts
