"""Lookup, table size, addition, scale: hand values, moved controls, refused values."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.text import Text

from scratch_embed import geometry, plot, sizes
from scratch_embed.simulations import addition, lookup, scale, table_size
from scratch_embed.simulations.controls import check_values, defaults

SIMULATIONS = [lookup, table_size, addition, scale]
MOVES = [(s, control) for s in SIMULATIONS for control in s.CONTROLS]


def named(value) -> str:
    return getattr(value, "__name__", getattr(value, "name", "")).split(".")[-1]


def drawn(simulation, **values):
    figure, _ = plot.figure(size=(12, 4.8))
    simulation.draw(figure, **values)
    return figure


def heights(ax) -> list[float]:
    return [bar.get_height() for bar in ax.patches]


def artists(figure) -> tuple[list, list[str]]:
    """All numbers of bars, dots and curves, and all texts."""
    numbers = []
    for ax in figure.axes:
        numbers += [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in ax.patches]
        numbers += [np.ma.getdata(dots.get_offsets()).tolist() for dots in ax.collections]
        numbers += [np.asarray(line.get_xydata()).tolist() for line in ax.lines]
    return numbers, sorted(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("simulation", SIMULATIONS, ids=named)
def test_it_opens_on_its_defaults_and_draws_the_same_again_into_the_same_figure(simulation):
    check_values(simulation.CONTROLS, defaults(simulation.CONTROLS))
    figure = drawn(simulation)
    first = artists(figure)
    simulation.draw(figure, **defaults(simulation.CONTROLS))
    assert artists(figure) == first and len(first[0]) > 4
    assert all(ax.get_title() for ax in figure.axes)


@pytest.mark.parametrize("simulation, control", MOVES, ids=named)
def test_moving_a_control_moves_numbers_and_texts(simulation, control):
    before = artists(drawn(simulation))
    for value in {control.values[0], control.values[-1]} - {control.default}:
        after = artists(drawn(simulation, **{control.name: value}))
        assert after[0] != before[0] and after[1] != before[1]


@pytest.mark.parametrize("simulation, control", MOVES, ids=named)
def test_a_wrong_value_is_refused_and_the_range_named(simulation, control):
    figure = drawn(simulation)
    before = artists(figure)
    with pytest.raises(ValueError, match=f"{control.name} is -3; choose one of ") as refused:
        simulation.draw(figure, **{control.name: -3})
    assert {str(control.values[0]), str(control.values[-1])} <= set(
        str(refused.value).split("of ", 1)[1].split(", ")
    )
    assert artists(figure) == before  # nothing is drawn by halves
    with pytest.raises(TypeError, match=f"'speed' is not a control; there are .*{control.name}"):
        simulation.draw(figure, speed=1)


def test_lookup_by_hand():
    # cat - dog = (0.04, -0.03, -0.07), squares 0.0016 + 0.0009 + 0.0049 = 0.0074, root 0.0860
    rows, words = drawn(lookup).axes
    assert heights(rows) == [0.72, -0.41, 0.15, 0.68, -0.38, 0.22]
    assert rows.get_title().startswith("Distance 0.0860")
    marked = [dots.get_offsets()[0] for dots in words.collections[-2:]]  # dog, then cat
    assert np.linalg.norm(marked[1] - marked[0]) == pytest.approx(0.0074**0.5, rel=0.05)
    assert len(heights(drawn(lookup, other="cat").axes[0])) == 3


def test_lookup_in_a_table_of_ones_own():
    table = np.random.default_rng(0).standard_normal((4, 8))
    words = ["oak", "elm", "ash", "fir"]
    figure, _ = plot.figure()
    lookup.draw(figure, table, words, word="ash")
    np.testing.assert_array_equal(heights(figure.axes[0]), [*table[2], *table[3]])
    with pytest.raises(ValueError, match="word is 'cat'; choose one of oak, elm, ash, fir"):
        lookup.draw(figure, table, words, word="cat")
    for wrong in (table[:3], table[:, :1], table[0]):
        with pytest.raises(ValueError, match=r"table has shape .* for 4 words; it must be \(4, D"):
            lookup.draw(figure, wrong, words)


def test_table_size_by_hand():
    # 32,000 * 4,096 = 131,072,000; * 2 bytes = 262,144,000 = 250 * 2^20
    assert table_size.size() == (131_072_000, 262.144, 250.0)
    assert table_size.size(1000, 64, "float32") == (64_000, 0.256, 256_000 / 2**20)
    title = drawn(table_size)._suptitle.get_text()
    assert title == ("32,000 x 4,096 = 131,072,000 numbers\n262.14 MB = 250.00 MiB in float16")
    rows, columns = table_size.CONTROLS[0].values, table_size.CONTROLS[1].values
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (1000, 256_000, 64, 12_288)


def test_table_size_shows_every_language_model_in_order_and_can_dial_each_in():
    bars = drawn(table_size, num_embeddings=1000, embedding_dim=64).axes[1].patches
    models = [m for name, m in sizes.MODELS.items() if "ViT" not in name]
    held = sorted(sizes.mib(2 * m.params) for m in models)
    assert [bar.get_width() for bar in bars][1:] == pytest.approx(held)
    for model in models:
        drawn(table_size, num_embeddings=model.num_embeddings, embedding_dim=model.embedding_dim)


def test_addition_by_hand():
    # 0.50 - 0.18 + 0.02, -0.60 + 0.10 - 0.02, 0.10 - 0.15 - 0.02, 0.40 + 0.42 + 0.02
    *_, total = drawn(addition).axes
    assert heights(total) == pytest.approx([0.34, -0.52, -0.07, 0.84])
    assert heights(drawn(addition, token=False, position=False, segment=False).axes[3]) == [0] * 4


def test_only_the_position_moves_with_the_slider():
    seen = [[heights(ax) for ax in drawn(addition, at=at).axes] for at in range(8)]
    token, position, segment, total = (np.array(bars) for bars in zip(*seen, strict=True))
    assert np.ptp(token, axis=0).max() == np.ptp(segment, axis=0).max() == 0
    assert len(np.unique(position, axis=0)) == len(np.unique(total, axis=0)) == 8
    np.testing.assert_allclose(total, token + position + segment)


def test_scale_by_hand():
    # sin^2 + cos^2 = 1 for each of 256 pairs: length 16. Tokens: 512 squares of mean 1/512
    now = scale.readout()
    assert now.position == pytest.approx(16) and now.token == pytest.approx(1, abs=0.01)
    assert drawn(scale).axes[0].get_title() == "token : position = 1.0 : 16.0"
    equal = scale.readout(scale=16.0)
    assert equal.token == pytest.approx(equal.position, rel=0.01)
    # the token rows are nearly at right angles: (D / 2) / (factor^2 + D / 2)
    for factor in (1.0, 16.0, 100.0):
        expected = 256 / (factor**2 + 256)
        assert scale.readout(factor).tokens_alike == pytest.approx(expected, abs=0.02)
    assert scale.readout(1000.0).positions_alike > 0.999


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


def test_the_scale_goes_in_even_steps_from_a_hundredth_to_a_thousand():
    factors = np.array(scale.FACTORS)
    assert (factors[0], factors[-1], len(factors)) == (0.01, 1000.0, 51)
    np.testing.assert_allclose(factors, np.geomspace(0.01, 1000, 51), rtol=0.013)
