"""Positions: sinusoids, rotation, learned tables and what lies past their end."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed.layers import PositionEmbedding, ScaledEmbedding
from scratch_embed.ops.rotary import rotary_backward, rotary_forward
from scratch_embed.positions import angles, interpolate, sinusoidal
from tests.wrong_backward import caught, leaf


def test_the_formula_entry_by_entry():
    table = sinusoidal(7, 6)
    for p in range(7):
        for i in range(3):
            angle = p / 10000 ** (2 * i / 6)
            assert table[p, 2 * i] == pytest.approx(np.sin(angle), abs=1e-15)
            assert table[p, 2 * i + 1] == pytest.approx(np.cos(angle), abs=1e-15)


def test_every_row_of_an_even_table_has_the_norm_sqrt_of_half_of_d():
    np.testing.assert_allclose(np.linalg.norm(sinusoidal(100, 512), axis=1), 16)


@pytest.mark.parametrize("dim", [1, 2, 5, 8])
def test_both_layouts_hold_the_same_columns(dim):
    order = [*range(0, dim, 2), *range(1, dim, 2)]
    both = sinusoidal(9, dim, base=100.0, layout="concatenated")
    assert np.array_equal(sinusoidal(9, dim, base=100.0)[:, order], both)


def test_a_shift_turns_each_pair_by_a_fixed_angle():
    """PE[p + k] is a rotation of PE[p] that depends on k alone (Vaswani et al. 2017, 3.5)."""
    table, k = sinusoidal(50, 8), 7
    for i in range(4):
        angle = k / 10000 ** (2 * i / 8)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        pair = table[:, 2 * i : 2 * i + 2]
        np.testing.assert_allclose(pair[k:], pair[:-k] @ turn.T, atol=1e-12)


def test_rotary_by_hand():
    x = np.array([[1.0, 2.0, 5.0, 7.0]])
    quarter = np.pi / 2  # with base 1 every pair turns alike: (a, b) -> (-b, a)
    out, saved = rotary_forward(x, [quarter], base=1.0)
    np.testing.assert_allclose(out, [[-2, 1, -7, 5]])
    np.testing.assert_allclose(rotary_backward(out, saved), x)  # the rotation back
    out, _ = rotary_forward(x, [quarter], base=1.0, layout="concatenated")
    np.testing.assert_allclose(out, [[-5, -7, 1, 2]])


def test_rotary_scores_depend_on_the_distance_alone():
    q, k = np.random.default_rng(0).standard_normal((2, 1, 8))

    def score(m, n):
        return float((rotary_forward(q, [m])[0] @ rotary_forward(k, [n])[0].T)[0, 0])

    assert score(3, 10) == pytest.approx(score(103, 110))
    assert score(3, 10) != pytest.approx(score(3, 11))
    assert np.linalg.norm(rotary_forward(q, [99])[0]) == pytest.approx(np.linalg.norm(q))


@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
def test_planted_bugs_in_rotary_are_caught(layout):
    def forwards(dout, saved):
        return rotary_backward(dout, saved._replace(sin=-saved.sin))

    assert caught(rotary_forward, forwards, leaf(2, 3, 4), layout=layout)
    assert caught(rotary_forward, lambda d, s: d, leaf(2, 3, 4), layout=layout)


def test_interpolation_keeps_the_ends_and_mixes_between():
    table = np.random.default_rng(0).standard_normal((5, 3))
    assert np.array_equal(interpolate(table, 5), table)
    longer = interpolate(table, 9)
    np.testing.assert_allclose(longer[::2], table)
    np.testing.assert_allclose(longer[1], (table[0] + table[1]) / 2)
    assert np.array_equal(interpolate(table, 1), table[:1])
    assert np.array_equal(interpolate(table[:1], 3), table[[0, 0, 0]])
    assert interpolate(table.astype(np.float32), 7).dtype == np.float32


def test_a_learned_table_and_its_end():
    layer = PositionEmbedding(4, 3, rng=0)
    assert np.array_equal(layer(3).data, layer.weight.data[:3]) and layer(0).shape == (0, 3)
    with pytest.raises(ValueError, match="has 6 positions, and the table holds 4: position 4"):
        layer(6)
    clamped, stretched = (PositionEmbedding(4, 3, how, rng=0) for how in ("clamp", "interpolate"))
    assert np.array_equal(clamped(6).data, layer.weight.data[[0, 1, 2, 3, 3, 3]])
    np.testing.assert_allclose(stretched(7).data[::2], layer.weight.data, rtol=1e-6)
    assert np.array_equal(stretched(3).data, layer.weight.data[:3])
    clamped(6).backward(np.ones((6, 3)))
    assert clamped.weight.grad.tolist() == [[1] * 3, [1] * 3, [1] * 3, [3] * 3]
    dout = np.random.default_rng(1).standard_normal((7, 3))
    stretched(7).backward(dout)
    np.testing.assert_allclose(stretched.weight.grad, interpolate(np.eye(4), 7).T @ dout, rtol=1e-6)


def test_scaled_tokens_beside_sinusoids():
    layer = ScaledEmbedding(2000, 512, max_len=10, rng=0)  # rows of norm 1, times sqrt(512)
    tokens = np.linalg.norm(layer.token.weight.data, axis=1).mean() * layer.scale
    assert tokens == pytest.approx(22.63, abs=0.05)
    assert np.linalg.norm(layer.positions[3]) == pytest.approx(16, abs=1e-4)
    ids = np.array([[5, 6], [5, 5]])
    expected = layer.token.weight.data[ids] * np.float32(512**0.5) + layer.positions[:2]
    np.testing.assert_allclose(layer(ids).data, expected, rtol=1e-6)
    assert layer(ids).dtype == np.float32
    assert ScaledEmbedding(5, 8, scale="sqrt(d/2)").scale == 2
    assert ScaledEmbedding(5, 8, scale="none").scale == 1
    assert ScaledEmbedding(5, 3, scale=0.5, max_len=None)(2).shape == (3,)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: sinusoidal(0, 4), "max_len is 0"),
        (lambda: sinusoidal(3, 4.0), "dim is 4.0"),
        (lambda: sinusoidal(3, 4, base=0), "base is 0"),
        (lambda: sinusoidal(3, 4, layout="halves"), "layout is 'halves'"),
        (lambda: angles([0], 4, base="x"), "base is 'x'"),
        (lambda: angles([0], -4), "dim is -4"),
        (lambda: interpolate(np.ones(3), 4), r"table has shape \(3,\)"),
        (lambda: F.rotary(np.ones((2, 3))), "even D"),
        (lambda: F.rotary(np.ones((2, 4)), [1, 2, 3]), r"positions \(3,\) do not fit"),
        (lambda: PositionEmbedding(4, 3, "wrap"), "past_end is 'wrap'"),
        (lambda: PositionEmbedding(4, 3)(-1), "length is -1"),
        (lambda: ScaledEmbedding(5, 4, scale="sqrt"), "scale is 'sqrt'"),
        (lambda: ScaledEmbedding(5, 4, scale=np.inf), "scale is inf"),
        (lambda: ScaledEmbedding(5, 4, max_len=2)([1, 2, 3]), "3 positions.*holds 2"),
        (lambda: ScaledEmbedding(5, 4)(1), "single id"),
    ],
)
def test_bad_input_is_explained(use, words):
    with pytest.raises(ValueError, match=words):
        use()
