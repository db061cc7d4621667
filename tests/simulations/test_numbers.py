"""What the simulations show, beside values that were computed by hand or by another way."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from scratch_embed import geometry, images, plot, sizes
from scratch_embed.simulations import (
    Scene,
    addition,
    arena,
    load,
    lookup,
    patches,
    scale,
    table_size,
    there_and_back,
    tied,
    tokenizer,
)
from tests.simulations.conftest import TEXT, small


def heights(ax) -> list[float]:
    return [bar.get_height() for bar in ax.patches]


# ---- lookup --------------------------------------------------------------------------------------


def test_lookup_shows_the_row_of_the_table_and_the_words_lie_in_their_groups():
    scene = Scene(load("lookup"), word="dog", other="the")
    bars = scene.figure.axes[1]
    np.testing.assert_array_equal(heights(bars), [*lookup.table()[2], *lookup.table()[0]])
    order = geometry.cosines(lookup.table())
    at = {word: i for i, word in enumerate(lookup.WORDS)}
    inside = [("cat", "dog"), ("cat", "kitten"), ("house", "building")]
    across = [("cat", "house"), ("cat", "the"), ("house", "the"), ("dog", "building")]
    cosine = [[order[at[a], at[b]] for a, b in pairs] for pairs in (inside, across)]
    assert min(cosine[0]) > 0.95
    assert max(cosine[1]) < 0.8
    with pytest.raises(ValueError, match="read-only"):
        lookup.table()[0, 0] = 1


def test_nothing_is_copied_before_the_row_is_fetched():
    scene = Scene(load("lookup"), step="its row")
    assert heights(scene.figure.axes[1]) == [0] * 16 and scene.numbers["row"] == "?"
    scene.move(step="the copy")
    assert heights(scene.figure.axes[1]) == [*lookup.table()[1], *[0] * 8]


# ---- there and back ------------------------------------------------------------------------------


def test_gradients_that_meet_are_added_and_in_one_line_all_but_the_last_are_lost():
    scene = Scene(load("there_and_back"), step=6)
    dE = np.zeros((6, 3))
    dE[1] = [-0.4 + 0.2, 0.8 + 0.6, 0.3 + 0.4]
    dE[2] = [0.9, -0.5, 0.1]
    cells = scene.artists.cells
    np.testing.assert_allclose(cells[3].mesh.get_array(), dE)
    np.testing.assert_array_equal(cells[1].mesh.get_array(), there_and_back.E[[1, 2, 1]])
    assert scene.numbers['dE["cat"], column 1'] == "+0.80 +0.60 = 1.40"
    assert [arrow.get_alpha() for arrow in scene.artists.arrows] == [1] * 6
    scene.move(way=there_and_back.KEPT)
    dE[1] = [0.2, 0.6, 0.4]
    np.testing.assert_array_equal(cells[3].mesh.get_array(), dE)
    assert scene.numbers['dE["cat"], column 1'] == "+0.60 alone, +0.80 lost = 0.60"
    assert [arrow.get_alpha() for arrow in scene.artists.arrows[3:]] == [0.2, 1, 1]


def test_nothing_has_happened_at_step_0_and_a_gradient_goes_home_a_step():
    scene = Scene(load("there_and_back"), step=0)
    assert not any(arrow.get_visible() for arrow in scene.artists.arrows)
    assert scene.artists.cells[1].mesh.get_array().mask.all()
    scene.move(step=4)
    assert [arrow.get_visible() for arrow in scene.artists.arrows] == [True] * 4 + [False] * 2
    assert scene.numbers["rows of dE that are 0"] == "5"


# ---- table size ----------------------------------------------------------------------------------


def test_table_size_by_hand():
    # 32,000 * 4,096 = 131,072,000; * 2 bytes = 262,144,000 = 250 * 2^20
    assert table_size.size() == (131_072_000, 262.144, 250.0)
    assert table_size.size(1000, 64, "float32") == (64_000, 0.256, 256_000 / 2**20)
    scene = Scene(load("table_size"))
    assert scene.numbers["memory"] == "250.00 MiB = 262.14 MB in float16"
    bars = scene.figure.axes[1].patches
    models = [m for name, m in sizes.MODELS.items() if "ViT" not in name]
    held = [250.0, *(sizes.mib(2 * m.params) for m in models)]
    assert [bar.get_width() for bar in bars] == pytest.approx(held)
    for model in models:  # each can be dialled in
        scene.move(num_embeddings=model.num_embeddings, embedding_dim=model.embedding_dim)


# ---- addition ------------------------------------------------------------------------------------


def test_addition_by_hand_and_only_the_position_moves_with_the_slider():
    # 0.50 - 0.18 + 0.02, -0.60 + 0.10 - 0.02, 0.10 - 0.15 - 0.02, 0.40 + 0.42 + 0.02
    scene, seen = Scene(load("addition")), []
    assert heights(scene.figure.axes[3]) == pytest.approx([0.34, -0.52, -0.07, 0.84])
    for at in range(8):
        scene.move(at=at)
        seen.append([heights(ax) for ax in scene.figure.axes[:4]])
    token, position, segment, total = (np.array(bars) for bars in zip(*seen, strict=True))
    assert np.ptp(token, axis=0).max() == np.ptp(segment, axis=0).max() == 0
    assert len(np.unique(position, axis=0)) == len(np.unique(total, axis=0)) == 8
    np.testing.assert_allclose(total, token + position + segment)
    scene.move(token=False, position=False, segment=False)
    assert heights(scene.figure.axes[3]) == [0] * 4 and "0" in scene.numbers["most like"]
    assert np.sum(list(addition.parts(token=False).values()), axis=0)[0] == pytest.approx(-0.16)


# ---- patches -------------------------------------------------------------------------------------


def test_a_patch_is_the_square_that_holds_the_pixel():
    patch = patches.patch_at(32, row=70, column=100)
    square = patches.picture()[:, 64:96, 96:128]  # the third row of seven, the fourth column
    assert (patch.index, patch.count) == (2 * 7 + 3, 49)
    np.testing.assert_array_equal(patch.flat, square.ravel())
    assert patch.variance == pytest.approx(np.mean([channel.var() for channel in square]))
    assert patch.projected.shape == (768,)
    photo = images.photograph()  # 600 x 512, halved: pixel (0, 0) is the mean of four
    np.testing.assert_allclose(patches.picture()[:, 0, 0], photo[:, 16:18, 64:66].mean(axis=(1, 2)))
    assert patches.patch_at(16, 24, 200).variance < patches.patch_at(16, 24, 104).variance / 100
    with pytest.raises(ValueError, match="row is 224; the picture has pixels 0 to 223"):
        patches.patch_at(16, 224, 0)


# ---- tied ----------------------------------------------------------------------------------------


def test_tied_logits_and_counts_by_hand():
    both, one = tied.view(tied=False), tied.view(tied=True)
    assert one.logits[1] == pytest.approx(0.6 * 0.8 - 0.1 * 0.2 + 0.3 * 0.4)  # cat, 0.58
    assert (one.params, both.params) == (131_072_000, 262_144_000)
    assert one.scoring is tied.TABLE and not np.array_equal(both.scoring, tied.TABLE)
    scene = Scene(load("tied"), tied=True)
    assert scene.numbers["parameters"] == "131,072,000 (1 matrix)"
    scene.move(h0=-1.0, h1=0.5, h2=0.0)
    assert heights(scene.figure.axes[3])[1] == pytest.approx(-1 * 0.8 + 0.5 * -0.2)
    assert scene.move(h0=0.0, h1=0.0)["highest"] == "none: h is 0"
    assert scene.move(tied=True, h0=0.0, h1=-0.6, h2=-0.6)["highest"] == "the and cat"


# ---- scale ---------------------------------------------------------------------------------------


def test_scale_by_hand():
    # sin^2 + cos^2 = 1 for each of 256 pairs: length 16. Tokens: 512 squares of mean 1/512
    now = scale.readout()
    assert now.position == pytest.approx(16) and now.token == pytest.approx(1, abs=0.01)
    equal = scale.readout(scale=16.0)
    assert equal.token == pytest.approx(equal.position, rel=0.01)
    # the token rows are nearly at right angles: (D / 2) / (factor^2 + D / 2)
    for factor in (1.0, 16.0, 100.0):
        expected = 256 / (factor**2 + 256)
        assert scale.readout(factor).tokens_alike == pytest.approx(expected, abs=0.02)
    assert scale.readout(1000.0).positions_alike > 0.999
    factors = np.array(scale.FACTORS)
    assert (factors[0], factors[-1], len(factors)) == (0.01, 1000.0, 51)
    np.testing.assert_allclose(factors, np.geomspace(0.01, 1000, 51), rtol=0.013)


def test_alike_is_the_mean_over_all_pairs():
    rng = np.random.default_rng(0)
    tokens, places = rng.standard_normal((3, 5)), rng.standard_normal((4, 5))
    x = 1.7 * tokens[:, None] + places
    of_tokens = [geometry.cosine(x[i, p], x[j, p]) for p in range(4) for i in range(3)
                 for j in range(i)]  # fmt: skip
    of_places = [geometry.cosine(x[i, p], x[i, q]) for i in range(3) for p in range(4)
                 for q in range(p)]  # fmt: skip
    assert scale.alike(tokens, places, 1.7) == pytest.approx((np.mean(of_tokens),
                                                              np.mean(of_places)))  # fmt: skip


# ---- tokenizer -----------------------------------------------------------------------------------


def test_the_pieces_and_their_counts_by_hand():
    learned = tokenizer.learn("ab ab ab c", (1, 5, 6))
    assert [len(bpe) for bpe in learned.tokenizers.values()] == [5, 5, 6]  # 4 letters, 1 unknown
    assert learned.tokenizers[6].pieces("ab") == ["ab"]
    assert learned.counts[6][learned.tokenizers[6].index["ab"]] == 3
    assert learned.counts[5][learned.tokenizers[5].encode("ab c")].tolist() == [3, 3, 3, 1]


def test_counts_are_those_of_the_whole_text():
    for V, bpe in small().tokenizers.items():
        np.testing.assert_array_equal(
            small().counts[V], np.bincount(bpe.encode(TEXT), minlength=len(bpe))
        )


def test_any_word_may_be_typed_and_every_letter_of_it_stands_in_a_piece():
    scene = Scene(load("tokenizer"), text=" unhappily typed: " + "x" * 150)
    letters = "".join(t.get_text() for t in scene.artists[1])
    assert letters.startswith("·unhappily·") and len(letters) == 168
    for wrong in ("", "two\nlines", "x" * 201):
        with pytest.raises(ValueError, match="text is .*one line of text, up to 200"):
            scene.move(text=wrong)


@pytest.mark.parametrize("count, colour", [(0, "vermillion"), (19, "vermillion"), (20, "yellow"),
                                           (199, "yellow"), (200, "sky blue")])  # fmt: skip
def test_frequent_pieces_are_blue_and_rare_ones_red(count, colour):
    assert tokenizer.shade(count) == colour


# ---- arena ---------------------------------------------------------------------------------------


def test_arena_draws_what_is_stored_and_explains_the_bar():
    held = arena.scores()
    scene = Scene(load("arena"), task="pictures", strategy="patches of 8")
    seeds = held["scores"]["pictures"]
    assert all(len(found) == arena.SEEDS for task in held["scores"].values()
               for found in task.values())  # fmt: skip
    bars = scene.figure.axes[0].patches
    assert [b.get_width() for b in bars] == pytest.approx([np.median(s) for s in seeds.values()])
    chosen = [to_hex(bar.get_facecolor()).upper() == plot.PALETTE["vermillion"] for bar in bars]
    assert chosen == [name == "patches of 8" for name in seeds]
    assert scene.numbers["place"] == "1 of 6"


def test_arena_measures_what_it_stores():
    kept = arena.scores()["scores"]["pictures"]["characters"][0]  # fonts differ from version to
    assert arena.score("pictures", "characters", 0) == pytest.approx(kept, abs=0.1)  # version


def test_of_plain_text_pieces_gain_nothing_and_elsewhere_they_do():
    """As the words beside the arena say."""
    gains = {task: np.array(by["pieces"]) for task, by in arena.scores()["scores"].items()}
    for task, gain in gains.items():
        assert (gain < 0).all() if task in ("equal tokens", "equal work") else (gain > 0).all()


def test_a_score_of_0_has_no_minus():
    scene = Scene(load("tied"))
    numbers = scene.move(tied=True, word="the", h0=0.0, h1=0.1, h2=0.3)
    assert numbers["logit"] == "+0.00" and numbers["cosine of h and the row"] == "+0.000"
    assert "-0.00" not in [text.get_text() for ax in scene.figure.axes for text in ax.texts]
