"""The tokenizer learns from a short text here, not from 6 MB."""

from __future__ import annotations

from functools import cache

import pytest

from scratch_embed.simulations import tokenizer

TEXT = (
    "the transformers unhappily tokenize words and network tokenizers are unhappy with words "
    "that the network has not met; unhappiness and happiness, transformers transform. "
) * 30


@cache
def small() -> tokenizer.Learned:
    """A few merges where the real ones have thousands, under the same sizes."""
    made = tokenizer.learn(TEXT, (30, 60, 90, 120))
    return tokenizer.Learned(*(dict(zip(tokenizer.SIZES, some.values())) for some in made))


@pytest.fixture(autouse=True, scope="session")
def a_short_text():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenizer, "learned", small)
        yield
