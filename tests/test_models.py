"""Training the smallest language model: what it takes, and what it gives when it ends early."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scratch_embed import SGD
from scratch_embed.models import NextToken, train


def test_a_training_that_ends_early_gives_the_losses_that_there_are():
    model = NextToken(5, 3, rng=0)
    sgd = SGD([model.embed.weight], lr=0.1)
    run = train(model, np.arange(5), sgd, 6, 2, progress=lambda steps: itertools.islice(steps, 2))
    assert run.losses.shape == (2,) and np.isfinite(run.losses).all()


def test_a_training_wants_its_own_optimizer_and_one_row_of_tokens():
    old, new = NextToken(5, 3, rng=0), NextToken(5, 3, rng=1)
    with pytest.raises(ValueError, match="optimizer moves none of the weights of model"):
        train(new, np.arange(5), SGD(old.parameters(), lr=0.1), 1, 2)
    sgd = SGD(new.parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"tokens has shape \(2, 3\); it must be \(N,\)"):
        train(new, np.zeros((2, 3), int), sgd, 1, 2)
    with pytest.raises(IndexError, match=r"tokens\[100\] = 5 is too large"):  # drawn or not
        train(new, np.array([0] * 100 + [5]), sgd, 1, 2)
    with pytest.raises(TypeError, match=r"tokens\[0\] = 1\.0"):
        train(new, [1.0, 2.0, 3.0], sgd, 1, 2)
    with pytest.raises(ValueError, match="steps is -3"):
        train(new, np.arange(5), sgd, -3, 2)
    with pytest.raises(ValueError, match="batch_size is 0"):
        train(new, np.arange(5), sgd, 3, 0)
