"""What any model of the next token is asked: how surprised it is by a text, and to go on with one.

A model takes ids (B, T) and gives logits (B, T, V), those of a place from the places up to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scratch_embed.arguments import check_count, generator, is_real
from scratch_embed.functional import cross_entropy
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.tensor import Tensor, no_grad


def held_out_loss(
    model: Callable[[np.ndarray], Tensor], windows: np.ndarray, batch_size: int = 16
) -> float:
    """Mean cross-entropy in nats a token of windows (N, T + 1), each read from its start."""
    with no_grad():
        batches = np.split(windows, range(batch_size, len(windows), batch_size))
        total = sum(
            cross_entropy(model(batch[:, :-1]), batch[:, 1:], reduction="sum").item()
            for batch in batches
        )
    return total / windows[:, 1:].size


def sample(
    model: Callable[[np.ndarray], Tensor], ids, length: int, seen: int, temperature: float = 0.8,
    rng: np.random.Generator | int = 0,
) -> np.ndarray:  # fmt: skip
    """Go on writing: `length` tokens drawn one after the other behind `ids` (at least one).

    Each is drawn from softmax(logits / temperature), looking at the last `seen` tokens; below 1
    what is likely becomes likelier still. Raises ValueError for no ids, a `length` or `seen` that
    is no count and a temperature that is not above 0, where only the likeliest would be left.
    """
    length, seen = check_count(length, "length", 0), check_count(seen, "seen")
    if not (is_real(temperature) and temperature > 0):
        raise ValueError(f"temperature is {temperature!r}; it must be above 0, such as 0.8")
    if not len(ids):
        raise ValueError("ids are none: give at least one token to go on from")
    rng, text = generator(rng), list(ids)
    for _ in range(length):
        with no_grad():
            logits = model(np.array([text[-seen:]])).data[0, -1].astype(np.float64)
        chances, _ = softmax_forward(logits / temperature)
        text.append(int(rng.choice(len(chances), p=chances)))
    return np.array(text[len(text) - length :])
