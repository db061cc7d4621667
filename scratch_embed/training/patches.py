"""`scratch-embed patches`: letters told apart by their patches, in fonts that were never seen.

Letters in the fonts that Matplotlib ships, one family of fonts held out for each seed. A small
Vision Transformer reads them as square patches; beside it stand a linear model on the pixels, and
the same Transformer on patches that were cut wrongly: as a reshape without its transpose cuts them,
into strips, and from shuffled pixels. A score need not show such a mistake: with ten seeds
squares came out above the linear model each time, above shuffled pixels nine times, and above
strips twice. A strip of a row and a half is a piece of the picture, too.
"""

from __future__ import annotations

import argparse
import string
from functools import lru_cache

import numpy as np

from scratch_embed.functional import cross_entropy
from scratch_embed.images import FONTS, letter_images
from scratch_embed.layers import LayerNorm, Linear, TransformerBlock, ViTInput
from scratch_embed.layers.layer import Layer
from scratch_embed.learning import Learning
from scratch_embed.ops.patches import fold_forward
from scratch_embed.optim import Adam, warmup_cosine
from scratch_embed.tensor import Tensor, no_grad
from scratch_embed.training.command import (
    add_numbers,
    count,
    few,
    parser,
    positive,
    size,
    some,
    start,
)
from scratch_embed.training.repeats import Job, ahead, dots, repeat, table
from scratch_embed.training.run import Run

SIDE, PATCH = 24, 6  # pixels: a strip of 36 is a row and a half
FAMILIES = ("DejaVuSansMono", "DejaVuSerif", "STIX", "cm", "DejaVuSans")  # as font names begin
LINEAR, SQUARES, STRIPS, SHUFFLED = WAYS = (
    "pixels, linear", "patches", "cut as strips", "cut from shuffled",
)  # fmt: skip
BATCH = 64  # pictures a step
HEADS = 4
QUICK = {"seeds": 2, "steps": 40, "copies": 1, "letters": "abcdef", "dim": 24}
NUMBERS = [
    ("seeds", few, 5, "SEEDS", "seeds from --seed on; each holds out a family of fonts"),
    ("copies", some, 8, "PICTURES", "pictures of a letter in a font, moved and resized"),
    ("steps", count, 1000, "STEPS", f"steps to train, each on {BATCH} pictures"),
    ("dim", size, 48, "NUMBERS", "numbers in the row of a patch"),
    ("rate", positive, 3e-3, "SIZE", "largest step size of Adam; a cosine falls from it to 0"),
]


def made() -> argparse.ArgumentParser:
    """The options of `scratch-embed patches`."""
    patches = parser("patches", __doc__, resumable=True)
    letters, told = string.ascii_lowercase, "two or more of a-z, A-Z, 0-9 (default a to z)"
    patches.add_argument("--letters", default=letters, help=told)
    add_numbers(patches, NUMBERS)
    return patches


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return start(made(), work, argv, QUICK)


def work(run: Run) -> int:
    """Train every model with every seed, and say how many letters each got right."""
    options = run.options
    if len(set(options.letters)) < max(2, len(options.letters)):
        raise ValueError(f"letters is {options.letters!r}; it takes two or more, each once")
    known = string.ascii_letters + string.digits
    if odd := [letter for letter in options.letters if letter not in known]:
        raise ValueError(
            f"--letters holds {odd[0]!r}, which not all fonts have that are compared; they have "
            "a to z, A to Z and 0 to 9"
        )
    if options.dim % HEADS:
        raise ValueError(f"dim is {options.dim}; it must be a multiple of {HEADS}, the heads")
    seeds = range(options.seed, options.seed + options.seeds)
    steps = dict.fromkeys(WAYS, options.steps)
    found = repeat(run, steps, seeds, lambda way, seed: job(way, seed, options))
    if found is None:
        return run.stopped("in between")
    print("share of letters right, in fonts of a family that was not seen:")
    print(table(found))
    for other in (LINEAR, STRIPS, SHUFFLED):
        print(f"  {ahead(found, SQUARES, other)}")
    figure = dots(found, "Letters in unseen fonts", "share right")
    return run.finish({"share_right": found}, figure)


class Glance(Layer):
    """A Vision Transformer with two blocks:  (B, 1, SIDE, SIDE) -> (B, classes)"""

    def __init__(self, classes: int, dim: int, rng: np.random.Generator):
        self.input = ViTInput(SIDE, PATCH, in_channels=1, embedding_dim=dim, rng=rng)
        self.blocks = [TransformerBlock(dim, num_heads=HEADS, rng=rng) for _ in range(2)]
        self.norm = LayerNorm(dim)
        self.head = Linear(dim, classes, rng=rng)
        self.name_weights()

    def __call__(self, images: np.ndarray) -> Tensor:
        x = self.input(images)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x.mean(axis=1)))


class Pixels(Layer):
    """A linear model:  (B, 1, SIDE, SIDE) -> (B, classes)"""

    def __init__(self, classes: int, rng: np.random.Generator):
        self.head = Linear(SIDE * SIDE, classes, rng=rng)

    def __call__(self, images: np.ndarray) -> Tensor:
        return self.head(images.reshape(len(images), -1))


def job(way: str, seed: int, options: argparse.Namespace) -> Job:
    """A model that learns; in the end it is asked for the letters of the held-out fonts."""
    (images, labels), (unseen, truth) = pictures(seed, options.letters, options.copies)
    images, unseen = (recut(part, way, seed) for part in (images, unseen))
    rng = np.random.default_rng([seed, 1])
    classes = len(options.letters)
    model = Pixels(classes, rng) if way == LINEAR else Glance(classes, options.dim, rng)

    def loss(rng: np.random.Generator) -> Tensor:
        at = rng.integers(len(images), size=BATCH)
        return cross_entropy(model(images[at]), labels[at])

    def rate(step: int) -> float:
        return warmup_cosine(step, options.steps, options.rate, options.steps // 20)

    def share_right() -> float:
        with no_grad(), np.errstate(all="ignore"):
            scores = model(unseen).data
        learning.check(float(np.abs(scores).max()))  # the last step may have led astray
        return float((scores.argmax(axis=1) == truth).mean())

    learning = Learning(model, Adam(model.parameters(), lr=options.rate), rng, loss, rate)
    return Job(share_right, learning)


@lru_cache(maxsize=1)
def pictures(seed: int, letters: str, copies: int):
    """(images, labels) to learn from, and of the fonts that are held out."""
    family = FAMILIES[seed % len(FAMILIES)]
    held = [font for font in FONTS if family_of(font) == family]
    known = [font for font in FONTS if family_of(font) != family]
    rng = np.random.default_rng([seed, 0])
    return tuple(letter_images(letters, fonts, SIDE, copies, rng) for fonts in (known, held))


def family_of(font: str) -> str:
    """The first of the families with whose name the font's begins."""
    return next(family for family in FAMILIES if font.startswith(family))


def recut(images: np.ndarray, way: str, seed: int) -> np.ndarray:
    """Pictures whose square patches hold the pixels that the wrong cut would put into them."""
    if way == STRIPS:  # images.reshape(B, N, P * P): runs of pixels in place of squares
        strips = images.reshape(len(images), -1, PATCH * PATCH)
        return fold_forward(strips, images.shape, PATCH)[0]
    if way == SHUFFLED:
        order = np.random.default_rng([seed, 2]).permutation(SIDE * SIDE)
        return images.reshape(len(images), -1)[:, order].reshape(images.shape)
    return images
