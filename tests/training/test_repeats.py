"""Several seeds, several ways: all ways on the same seeds, also after Ctrl-C."""

from __future__ import annotations

import signal

import numpy as np

from scratch_embed.training.repeats import dots, repeat, table


def test_every_way_is_measured_with_every_seed():
    found, whole = repeat(["a", "b"], [3, 4], lambda way, seed: seed + (way == "b") / 2)
    assert found == {"a": [3, 4], "b": [3.5, 4.5]} and whole
    assert table(found).splitlines()[1].split() == ["a", "3.500", "3.000", "4.000"]


def test_a_seed_that_was_broken_off_is_left_out():
    def score(way, seed):
        if (way, seed) == ("a", 4):
            signal.raise_signal(signal.SIGINT)
        return float(seed)

    found, whole = repeat(["a", "b"], [3, 4], score)
    assert found == {"a": [3.0], "b": [3.0]} and not whole


def test_the_picture_has_a_dot_for_every_seed():
    ax = dots({"a": [0.1, 0.2, 0.3], "b, c": [0.4]}, "Title", "share").axes[0]
    heights = [dot.get_offsets()[:, 1].tolist() for dot in ax.collections[::2]]
    np.testing.assert_allclose(np.concatenate(heights), [0.1, 0.2, 0.3, 0.4])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b,\nc"]
