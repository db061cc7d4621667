"""Rotary positions: what they refuse, and the edges. What they do stands in test_positions."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed.ops.rotary import rotary_forward


def test_no_positions_give_no_vectors():
    for layout in ("interleaved", "concatenated"):
        assert F.rotary(np.ones((0, 4)), layout=layout).shape == (0, 4)
        assert F.rotary(np.ones((2, 0, 4)), [], layout=layout).shape == (2, 0, 4)


def test_positions_of_a_batch_and_one_position_for_all():
    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    out, _ = rotary_forward(x, [[0, 1, 2], [5, 6, 7]])
    np.testing.assert_array_equal(out[1], rotary_forward(x[1], [5, 6, 7])[0])
    np.testing.assert_array_equal(rotary_forward(x, [4])[0], rotary_forward(x, [4, 4, 4])[0])


@pytest.mark.parametrize(
    ("shape", "options", "words"),
    [
        ((2, 0), {}, r"x has shape \(2, 0\); .*an even D"),
        ((2, 3), {}, r"x has shape \(2, 3\); .*an even D"),
        ((4,), {}, r"x has shape \(4,\)"),
        ((2, 4), {"positions": [0, 1, 2]}, r"positions \(3,\) do not fit x \(2, 4\).*\(2,\)"),
        ((2, 4), {"positions": []}, r"positions \(0,\) do not fit"),
        ((2, 4), {"positions": [[0, 1]]}, r"positions \(1, 2\) do not fit"),
        ((2, 3, 4), {"positions": [[0, 1, 2]] * 4}, r"positions \(4, 3\) do not fit x \(2, 3, 4\)"),
        ((2, 4), {"layout": "halves"}, "layout is 'halves'"),
        ((2, 4), {"base": 0}, "base is 0"),
    ],
)
def test_bad_input_is_explained(shape, options, words):
    with pytest.raises(ValueError, match=words):
        F.rotary(np.ones(shape), **options)
