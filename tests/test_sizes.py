"""Sizes of tables and models, against sums written out and published totals."""

from fractions import Fraction

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed import sizes
from scratch_embed.hashing import collisions
from scratch_embed.layers import PatchEmbed, TransformerBlock
from scratch_embed.sharding import Partition
from scratch_embed.sizes import MODELS, human, mb, mib


def test_gpt2_small_layer_by_layer():
    """The published count, put together from the shapes of the checkpoint."""
    d = 768
    attention = d * 3 * d + 3 * d + d * d + d
    feed_forward = d * 4 * d + 4 * d + 4 * d * d + d
    layer = attention + feed_forward + 2 * (d + d)
    assert sizes.layer_params(d) == layer
    assert sizes.gpt2_params() == 50_257 * d + 1024 * d + 12 * layer + 2 * d == 124_439_808


def test_llamas_have_their_published_sizes():
    """7B, 8B and 1B, as the checkpoints on the Hugging Face hub count them."""
    assert sizes.llama_params() == 6_738_415_616
    eight = {"num_embeddings": 128_256, "mlp_dim": 14_336, "kv_dim": 1024}
    assert sizes.llama_params(**eight) == 8_030_261_248
    small = {"embedding_dim": 2048, "num_layers": 16, "mlp_dim": 8192, "kv_dim": 512}
    assert sizes.llama_params(128_256, **small, tied=True) == 1_235_814_400
    untied = sizes.llama_params(128_256, **small)
    assert untied - sizes.llama_params(128_256, **small, tied=True) == 128_256 * 2048


@pytest.mark.parametrize(
    "name, params, mebibytes",
    [
        ("GPT-2 small", 38_597_376, 73.6),
        ("BERT-base", 23_440_896, 44.7),
        ("Llama 2 7B", 131_072_000, 250.0),
        ("Llama 3 8B", 525_336_576, 1002.0),
        ("GPT-4 (estimate, D = 8192)", 819_200_000, 1562.5),
        ("GPT-3 175B", 617_558_016, 1177.9),
    ],
)
def test_tables_of_real_models(name, params, mebibytes):
    model = MODELS[name]
    assert model.params == params
    size = sizes.table_bytes(model.num_embeddings, model.embedding_dim, "float16")
    assert size == 2 * params
    assert round(mib(size), 1) == mebibytes


def test_every_model_names_its_source_and_guesses_are_called_guesses():
    for name, model in MODELS.items():
        assert len(model.source) > 20
        assert ("estimate" in name) == ("guess" in model.source)
        assert ("estimate" in name) == (model.num_layers is None)


def test_the_two_megabytes_differ():
    assert mb(262_144_000) == 262.144 and mib(262_144_000) == 250.0
    quiz = sizes.table_bytes(50_000, 2048, "fp16")
    assert (mb(quiz), mib(quiz)) == (204.8, 195.3125)


@pytest.mark.parametrize(
    "dtype, expected",
    [("float64", 48), ("fp32", 24), ("BF16", 12), ("int8", 6), ("int4", 3), (np.dtype("f2"), 12)],
)
def test_bytes_by_type(dtype, expected):
    assert sizes.table_bytes(2, 3, dtype) == expected


def test_half_bytes_round_up_at_the_end():
    assert sizes.table_bytes(3, 3, "int4") == 5


def test_bytes_follow_numpy():
    for dtype in ("float64", "float32", "float16", "int16"):
        assert sizes.table_bytes(7, 5, dtype) == np.zeros((7, 5), dtype).nbytes


def test_multiply_adds_of_a_layer_counted_from_its_products():
    """n D^2 for each of four projections, 4 n D^2 twice, n^2 D for scores and for the mixture."""
    n, d = 5, 3
    products = [(n, d, d)] * 4 + [(n, d, 4 * d), (n, 4 * d, d), (n, d, n), (n, n, d)]
    assert sizes.layer_macs(n, d) == sum(a * b * c for a, b, c in products)
    assert sizes.body_macs(n, d, 12) == 12 * sizes.layer_macs(n, d)


def test_smaller_patches_cost_sixteen_times_the_scores_but_not_the_model():
    assert sizes.attention_scores(784) == 16 * sizes.attention_scores(196)
    ratio = sizes.body_macs(785, 768, 12) / sizes.body_macs(197, 768, 12)
    assert sizes.body_macs(197, 768, 12) == 17_447_454_720
    assert round(ratio, 2) == 4.47


def test_break_even_of_a_larger_head():
    tokens = sizes.head_break_even(32_000, 128_256, num_layers=32)
    assert tokens == 1504
    # At that context, the attention saved is the head added, for any width.
    for d in (1, 4096):
        added = sizes.head_macs(128_256, d) - sizes.head_macs(32_000, d)
        assert added == 2 * tokens * d * 32
    assert sizes.head_break_even(10, 13, 1) == Fraction(3, 2)


def test_activations_grow_with_the_batch_and_the_table_does_not():
    assert sizes.activations(32, 1024, 768) == 25_165_824
    assert sizes.activation_bytes(32, 1024, 768) == 50_331_648
    assert sizes.activations(64, 1024, 768) == 2 * sizes.activations(32, 1024, 768)


@pytest.mark.parametrize(
    "number, text",
    [
        (0, "0"), (768, "768"), (999, "999"), (1000, "1.0K"), (999_949, "999.9K"),
        (999_960, "1.0M"), (38_597_376, "38.6M"), (131_072_000, "131.1M"), (-1_500, "-1.5K"),
        (17_447_454_720, "17.4B"), (2.5e15, "2500.0T"), (0.5, "0.5"), (999.6, "999.6"),
    ],
)  # fmt: skip
def test_human(number, text):
    assert human(number) == text


def test_human_digits():
    assert human(123_456, digits=2) == "123.46K" and human(999_996, digits=2) == "1.00M"


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: sizes.table_params(0, 3), ValueError, "num_embeddings = 0"),
        (lambda: sizes.table_params(3, 2.5), TypeError, "embedding_dim .* 2.5"),
        (lambda: sizes.table_params(True, 3), TypeError, "True"),
        (lambda: sizes.table_bytes(3, 3, "float17"), ValueError, "float17.*float16"),
        (lambda: sizes.layer_macs(-1, 3), ValueError, "length = -1"),
        (lambda: sizes.llama_params(tied="no"), TypeError, "tied must be .* 'no'"),
    ],
)
def test_bad_input_gets_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_sizes_in_narrow_integers_do_not_wrap_round():
    """`ids.max() + 1` of an array of int16 is an int16."""
    assert sizes.gpt2_params(100, np.uint8(200), 10, 1) == sizes.gpt2_params(100, 200, 10, 1)
    assert TransformerBlock(np.uint8(100), rng=0).up.weight.shape == (400, 100)
    assert PatchEmbed(96, np.uint8(12)).projection.weight.shape == (768, 432)
    assert F.unfold(np.ones((3, 96, 96)), np.uint8(16)).shape == (36, 768)
    assert collisions(np.arange(200), np.int8(100)).expected_pairs == 199
    rows = [Partition(np.int16(20000), 4, by).rows_of(3) for by in ("range", "hash")]
    assert [len(found) for found in rows] == [5000, 5000] and min(map(np.min, rows)) >= 0
