"""A backward that reads what forward left elsewhere is right till forward runs on other numbers."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import differentiable
from scratch_embed.gradcheck import gradcheck
from tests.gradcheck.leaves import of


class Sine:
    """As one writes a layer: forward keeps its input for backward, in itself."""

    def forward(self, x):
        self.x = x.copy()
        return np.sin(x), ()

    def backward(self, dout, saved):
        return dout * np.cos(self.x)


BUFFER = np.empty((2, 3))


def fills_one_buffer(x):
    np.cos(x, out=BUFFER)
    return np.sin(x), BUFFER


def makes_its_own(x):
    return np.sin(x), np.cos(x)


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_backward_that_reads_what_the_last_forward_left_behind_is_seen(mode):
    """Right as long as it is used once; of two batches of one step the first is wrong."""
    layer = Sine()
    pairs = [(layer.forward, layer.backward), (fills_one_buffer, lambda dout, saved: dout * saved)]
    for forward, backward in pairs:
        sine = differentiable(forward, backward, name="sine")
        report = gradcheck(sine, of([0.3, -1.2, 2.0], [0.1, 1.0, 0.7]), mode=mode)
        assert not report.passed and report.cause == "state outside"
        told = " ".join(str(report).split())
        assert "backward of sine answers otherwise once sine has run on other numbers" in told
        assert "amiss: backward of sine is right until sine runs again" in told
    sine = differentiable(makes_its_own, lambda dout, saved: dout * saved, name="sine")
    assert gradcheck(sine, of([0.3, -1.2, 2.0], [0.1, 1.0, 0.7]), mode=mode).passed
