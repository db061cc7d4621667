"""The Transformer: it does not look ahead, its two losses agree, its head stays at a chunk."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed.functional import cross_entropy
from scratch_embed.training.language import held_out_loss, sample
from scratch_embed.training.transformer import Transformer

V, T = 11, 6


def model(dtype=np.float64, num_rows=V, dim=8):
    made = Transformer(num_rows, dim, max_len=T, num_blocks=2, num_heads=2, dtype=dtype, rng=0)
    rng = np.random.default_rng(1)
    for weight in made.parameters():  # far from the small start, so that every part matters
        weight.data += 0.3 * rng.standard_normal(weight.shape).astype(dtype)
    return made


def batch(seed=0, size=3):
    return np.random.default_rng(seed).integers(V, size=(size, T + 1))


def test_a_token_sees_those_before_it_and_none_behind():
    made, ids = model(), batch()[:, :-1]
    before, changed = made(ids).data, ids.copy()
    changed[:, 4] = (changed[:, 4] + 1) % V
    after = made(changed).data
    np.testing.assert_array_equal(after[:, :4], before[:, :4])
    assert (abs(after[:, 4:] - before[:, 4:]).max(axis=-1) > 1e-6).all()


def test_the_loss_in_chunks_is_that_of_all_logits_and_so_are_its_gradients():
    made, ids = model(), batch()
    found = []
    for loss in (
        made.loss(ids[:, :-1], ids[:, 1:]),
        cross_entropy(made(ids[:, :-1]), ids[:, 1:]),
    ):
        for weight in made.parameters():
            weight.grad = None
        loss.backward()
        found.append([loss.item(), *(weight.grad for weight in made.parameters())])
    for fused, plain in zip(*found):
        np.testing.assert_allclose(fused, plain, rtol=1e-9, atol=1e-12)
    assert held_out_loss(made, ids, batch_size=2) == pytest.approx(found[0][0], rel=1e-12)


def test_the_logits_of_the_head_never_exist_all_at_once():
    made = model(np.float32, num_rows=20_000)
    ids = np.random.default_rng(0).integers(20_000, size=(64, T + 1))
    whole = 4 * 64 * T * 20_000  # bytes of all logits
    peaks = []
    for loss in (made.loss, lambda ids, targets: cross_entropy(made(ids), targets)):
        tracemalloc.start()
        loss(ids[:, :-1], ids[:, 1:]).backward()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < whole / 3 < whole < peaks[1]


def test_a_sample_is_drawn_as_the_chances_say():
    made = model()
    logits = made([[1, 2]]).data[0, -1]
    assert sample(made, [1, 2], 1, T, temperature=1e-3).tolist() == [logits.argmax()]
    first = sample(made, [3], 20, T, rng=5)
    assert first.shape == (20,) and set(first) <= set(range(V))
    np.testing.assert_array_equal(sample(made, [3], 20, T, rng=5), first)
    assert sample(made, [3], 20, T, rng=6).tolist() != first.tolist()


@pytest.mark.parametrize(
    "given, told",
    [
        ({"temperature": 0}, "temperature is 0; it must be above 0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"ids": []}, "at least one token to go on from"),
        ({"length": 2.5}, "length is 2.5"),
        ({"seen": 0}, "seen is 0"),
    ],
)
def test_a_sample_of_what_cannot_be_drawn_is_refused(given, told):
    model = lambda ids: Tensor(np.ones((1, ids.shape[1], 3)))
    with pytest.raises(ValueError, match=told):
        sample(model, **{"ids": [0], "length": 3, "seen": 5, **given})
