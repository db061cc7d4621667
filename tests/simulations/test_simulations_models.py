"""Patches, tied tables, tokenizer and arena: hand values, and controls that move the picture."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_hex

from scratch_embed import images, plot
from scratch_embed.simulations import arena, patches, tied, tokenizer
from scratch_embed.simulations.controls import check_values, defaults

TEXT = "low low low lower lower newest newest newest newest widest widest widest " * 3
LEARNED = tokenizer.learn(TEXT, (12, 16, 20))
SCORES = {"read": {"words": 0.5, "squares": 0.25}, "see": {"words": 0.125, "squares": 0.75}}
STRATEGIES = {
    "words": arena.Strategy(rows=1000, dim=8, matrices=2, length=10),
    "squares": arena.Strategy(rows=12, dim=8, matrices=1, length=16, patches=True),
}
# name -> (draw, controls, a value other than the default for each control)
SIMULATIONS = {
    "patches": (patches.draw, patches.CONTROLS, {"patch_size": 32, "row": 100, "column": 200}),
    "tied": (tied.draw, tied.CONTROLS, {"tied": True, "word": "sat"}),
    "tokenizer": (partial(tokenizer.draw, trained=LEARNED), tokenizer.controls((12, 16, 20)),
                  {"text": " network", "num_embeddings": 12}),
    "arena": (partial(arena.draw, scores=SCORES, strategies=STRATEGIES), arena.controls(SCORES),
              {"task": "see", "strategy": "squares"}),
}  # fmt: skip


def artists(figure) -> list:
    """Everything that a moved control may change: curves, bars and frames, colours, words."""
    found = []
    for ax in figure.axes:
        found += [list(line.get_ydata()) for line in ax.lines]
        found += [(p.get_x(), p.get_y(), p.get_width(), p.get_height(), p.get_facecolor())
                  for p in ax.patches if hasattr(p, "get_width")]  # fmt: skip
        found += [text.get_text() for text in ax.texts] + [ax.get_title()]
    return found


@pytest.mark.parametrize("name", SIMULATIONS)
def test_defaults_draw_and_every_control_changes_the_artists(name):
    draw, controls, moved = SIMULATIONS[name]
    check_values(controls, defaults(controls))
    assert moved.keys() == {control.name for control in controls}
    figure, _ = plot.figure()
    draw(figure)
    before, panels = artists(figure), len(figure.axes)
    for control, value in moved.items():
        draw(figure, **{control: value})
        assert artists(figure) != before, control
    draw(figure)
    assert artists(figure) == before and len(figure.axes) == panels  # nothing was kept


@pytest.mark.parametrize(
    "name, wrong, words",
    [
        ("patches", {"patch_size": 15}, "patch_size is 15; choose one of 4, 8, 16, 32"),
        ("patches", {"row": 224}, r"row is 224; choose one of 0, 1, 2, \.\.\., 223"),
        ("tied", {"word": "dog"}, "word is 'dog'; choose one of the, cat, sat, on"),
        ("tokenizer", {"num_embeddings": 13}, "num_embeddings is 13; choose one of 12, 16, 20"),
        ("tokenizer", {"own_text": ""}, "own_text is empty; give at least one character"),
        ("arena", {"task": "smell"}, "task is 'smell'; choose one of read, see"),
    ],
)
def test_a_wrong_value_is_refused_with_the_range(name, wrong, words):
    figure, _ = plot.figure()
    with pytest.raises(ValueError, match=words):
        SIMULATIONS[name][0](figure, **wrong)


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


def test_tied_logits_and_counts_by_hand():
    both, one = tied.view(tied=False), tied.view(tied=True)
    assert one.logits[1] == pytest.approx(0.6 * 0.8 - 0.1 * 0.2 + 0.3 * 0.4)  # cat, 0.58
    assert (one.params, both.params) == (131_072_000, 262_144_000)
    assert one.scoring is tied.TABLE and not np.array_equal(both.scoring, tied.TABLE)
    np.testing.assert_allclose(both.logits, tied.HIDDEN @ both.scoring.T)
    figure, _ = plot.figure()
    tied.draw(figure, tied=True, word="cat")
    assert "131M params (1 matrix)" in figure.get_suptitle()
    assert [bar.get_height() for bar in figure.axes[2].patches] == pytest.approx([*one.logits])


def test_the_pieces_and_their_counts_by_hand():
    learned = tokenizer.learn("ab ab ab c", (1, 5, 6))
    assert [len(bpe) for bpe in learned.tokenizers.values()] == [5, 5, 6]  # 4 letters, 1 unknown
    assert learned.tokenizers[6].pieces("ab") == ["ab"]
    assert learned.counts[6][learned.tokenizers[6].index["ab"]] == 3
    assert learned.counts[5][learned.tokenizers[5].encode("ab c")].tolist() == [3, 3, 3, 1]
    figure, _ = plot.figure()
    tokenizer.draw(figure, learned, own_text="ab c", num_embeddings=5)
    assert figure.axes[0].get_title() == "Tokens: 4     total frequency: 10     V = 5"
    assert [bar.get_height() for bar in figure.axes[1].patches[:4]] == [3, 3, 3, 1]


@pytest.mark.parametrize("count, colour", [(0, "vermillion"), (19, "vermillion"), (20, "yellow"),
                                           (199, "yellow"), (200, "sky blue")])  # fmt: skip
def test_frequent_pieces_are_blue_and_rare_ones_red(count, colour):
    assert tokenizer.shade(count) == colour


def test_a_larger_vocabulary_gives_fewer_pieces_and_each_is_met_less():
    text = "lowest newest"
    cuts = {V: LEARNED.tokenizers[V].encode(text) for V in LEARNED.tokenizers}
    lengths = [len(ids) for ids in cuts.values()]
    assert lengths == sorted(lengths, reverse=True) and lengths[0] > lengths[-1]
    means = [LEARNED.counts[V][ids].mean() for V, ids in cuts.items()]
    assert means[0] > means[-1]


def test_arena_draws_the_scores_it_is_given_and_computes_the_cost():
    words, squares = STRATEGIES.values()
    assert (words.params, squares.params) == (16_000, 96)
    # 12 layers of 12 n d d + 2 n n d, and n V d; the picture has a CLS token that is not projected
    assert words.work == 12 * (12 * 10 * 64 + 2 * 100 * 8) + 10 * 1000 * 8
    assert squares.work == 12 * (12 * 17 * 64 + 2 * 289 * 8) + 16 * 12 * 8
    figure, _ = plot.figure()
    arena.draw(figure, SCORES, STRATEGIES, task="see", strategy="squares")
    scores, numbers, work = ([bar.get_width() for bar in ax.patches] for ax in figure.axes)
    assert (scores, numbers) == ([12.5, 75.0], [16_000, 96])
    assert work == [words.work, squares.work]
    assert figure.axes[0].get_title().endswith("best: squares")
    chosen = [to_hex(bar.get_facecolor()).upper() for bar in figure.axes[0].patches]
    assert chosen[1] == plot.PALETTE["vermillion"] != chosen[0]


def test_arena_refuses_scores_that_cannot_be_compared():
    with pytest.raises(ValueError, match="needs a task with a strategy"):
        arena.controls({})
    with pytest.raises(ValueError, match=r"scores\['b'\] is of y; scores\['a'\] is of x"):
        arena.controls({"a": {"x": 1.0}, "b": {"y": 1.0}})
