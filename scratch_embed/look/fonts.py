"""A picture of any words: a letter that the font lacks is drawn as a box, and seen as one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def boxes_for_letters() -> Iterator[None]:
    """A block in which Matplotlib draws such boxes without a warning for each."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield
