"""Real pictures without a download: what Matplotlib and its fonts bring along.

picture = photograph()                              # (3, 600, 512), a portrait
letters = glyphs("abc", "STIXGeneral", side=32)     # (3, 32, 32), drawn by a font

Images are (..., H, W) with channels first, 0 is black and 1 is white. Matplotlib and Pillow are
imported when the first picture is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from scratch_embed.arguments import array_of, check_count, generator, is_real
from scratch_embed.ops.patches import unfold_forward

# Fonts of every Matplotlib from 3.9 on that have the Latin letters at their usual places.
FONTS = (
    "DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSans-BoldOblique",
    "DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSansMono-Oblique", "DejaVuSansMono-BoldOblique",
    "DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSerif-Italic", "DejaVuSerif-BoldItalic",
    "STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "STIXGeneralBolIta",
    "cmr10", "cmb10", "cmss10", "cmtt10", "cmmi10",
)  # fmt: skip
TEX = "cm"  # so the names of fonts begin that have signs of their own where others have theirs
MOST = 10_000  # pixels that a font is high, or a character is moved


def photograph() -> np.ndarray:
    """Commodore Grace M. Hopper before a flag and a plain backdrop, (3, 600, 512) float64 in 0..1.

    The photograph is Matplotlib's sample image, by James S. Davis of the US Navy, 1984, in the
    public domain. Raises FileNotFoundError where Matplotlib was installed without sample data.
    """
    from matplotlib import cbook, image

    path = Path(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))
    if not path.exists():
        raise FileNotFoundError(
            f"Matplotlib's sample image is not at {path}: some systems package it apart. "
            "Install Matplotlib with pip, or the system's package of its sample data"
        )
    return np.moveaxis(image.imread(path), -1, 0) / 255.0


def shrink(images: np.ndarray, factor: int) -> np.ndarray:
    """The mean of each square of factor x factor pixels       (..., H, W) -> (..., H / f, W / f)

    Raises ValueError when a side is not a multiple of factor.

    >>> shrink(np.array([[0.0, 2.0, 4.0, 4.0], [2.0, 4.0, 4.0, 4.0]]), 2).tolist()
    [[2.0, 4.0]]
    """
    images, factor = array_of(images, "images"), check_count(factor, "factor")
    if images.ndim < 2:
        raise ValueError(f"images have shape {images.shape}; they must be (..., H, W)")
    height, width = images.shape[-2:]
    squares = unfold_forward(images.reshape(-1, 1, height, width), factor)[0]
    return squares.mean(axis=-1).reshape(*images.shape[:-2], height // factor, width // factor)


def glyphs(
    characters: Sequence[str],
    font: str = "DejaVuSans",
    side: int = 32,
    size: float | None = None,
    shift: tuple[int, int] = (0, 0),
) -> np.ndarray:
    """Each character as a picture, (len(characters), side, side) float32: ink is 1, paper is 0.
    White space of every kind, also a line feed, is paper.

    font : one of `FONTS`, or another font file in Matplotlib's folder, without its ".ttf". Those
        whose names begin with "cm" draw a-z, A-Z and 0-9 alone.
    size : of the font in pixels, 1 to 10,000, 0.75 * side when None. Characters stand in the
        middle, on a base line at 0.75 of the height.
    shift : whole pixels to the right and down, up to 10,000.

    Raises ValueError for a font that is not there, with the names of those that are, and for a
    character that it cannot draw or what is no single one, with its position; TypeError for a set,
    which has no order. The same pixels on every machine with this Pillow and Matplotlib.
    """
    from PIL import Image, ImageDraw

    side = check_count(side, "side")
    size = max(0.75 * side, 1) if size is None else size
    if not (is_real(size) and 1 <= size <= MOST):
        raise ValueError(f"size is {size!r}; it must be a number of pixels from 1 to {MOST:,}")
    right, down = _shift(shift)
    pen, known = _font(font, size), _known(font)
    if isinstance(characters, (set, frozenset)):
        raise TypeError(f"characters are a {type(characters).__name__}; give a str or a list")
    pages = np.zeros((len(characters), side, side), np.float32)
    for n, character in enumerate(characters):
        if not isinstance(character, str) or len(character) != 1:
            raise ValueError(f"characters[{n}] = {character!r}; each is one character")
        if character.isspace():
            continue
        if character not in known:
            raise ValueError(
                f"characters[{n}] = {character!r} (U+{ord(character):04X}) is not in the font "
                f"{font}; DejaVuSans knows the most scripts"
            )
        page = Image.new("L", (side, side))
        at = (side / 2 + right, 0.75 * side + down)
        ImageDraw.Draw(page).text(at, character, fill=255, font=pen, anchor="ms")
        pages[n] = np.asarray(page, np.float32) / 255
    return pages


def letter_images(
    letters: Sequence[str],
    fonts: Sequence[str],
    side: int,
    copies: int,
    rng: np.random.Generator | int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Pictures to classify: images (N, 1, side, side) float32, and labels (N,), indices of letters.

    Every letter in every font, `copies` times, each time in another size (0.6 to 0.85 of the side)
    and moved by up to a sixteenth of the side. N = len(fonts) * copies * len(letters).
    """
    if not len(fonts) or not len(letters):
        raise ValueError(f"{len(letters)} letters in {len(fonts)} fonts; give one of each at least")
    rng = generator(rng)
    fine = 4 * side  # drawn large and shrunk, so that they move by quarters of a pixel
    pages = []
    for font in fonts:
        for _ in range(check_count(copies, "copies")):
            right, down = rng.integers(-(fine // 16), fine // 16, size=2, endpoint=True)
            large = glyphs(letters, font, fine, fine * rng.uniform(0.6, 0.85), (right, down))
            pages.append(shrink(large, 4))
    return np.concatenate(pages)[:, None], np.tile(np.arange(len(letters)), len(pages))


def _shift(shift) -> tuple[int, int]:
    given = np.array(shift, object)
    whole = [x for x in given.flat if isinstance(x, (int, np.integer))]
    if given.shape != (2,) or len(whole) != 2 or max(map(abs, whole)) > MOST:
        raise ValueError(
            f"shift is {shift!r}; it must be two whole numbers of pixels, right and down, from "
            f"-{MOST:,} to {MOST:,}"
        )
    return int(whole[0]), int(whole[1])


@lru_cache(maxsize=256)
def _font(name: str, size: float):
    from PIL import ImageFont

    # Pillow's other layout, where a machine has FriBiDi for it, puts letters a pixel elsewhere
    return ImageFont.truetype(str(_file(name)), size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache
def _known(name: str) -> frozenset[str]:
    """The characters that a font has."""
    from matplotlib.ft2font import FT2Font

    known = map(chr, FT2Font(str(_file(name))).get_charmap())
    if name.startswith(TEX):
        known = (c for c in known if c.isascii() and c.isalnum())
    return frozenset(known)


def _file(name: str) -> Path:
    from matplotlib import get_data_path

    folder = Path(get_data_path()) / "fonts" / "ttf"
    there = {path.stem: path for path in folder.glob("*.ttf")}
    if name not in there:
        raise ValueError(f"font is {name!r}; choose one of {', '.join(sorted(there))}")
    return there[name]
