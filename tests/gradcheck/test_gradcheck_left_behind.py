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


class Tanh:
    """As one writes who would not compute the slope twice."""

    slope = None

    def forward(self, x):
        return np.tanh(x), np.tanh(x)

    def backward(self, dout, out):
        if self.slope is None:
            self.slope = 1 - out**2
        return dout * self.slope


def kept_by_shape(dout, out, known={}):  # noqa: B006  that is the mistake
    return dout * known.setdefault(dout.shape, 1 - out**2)


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_slope_that_is_kept_from_the_first_call_is_of_other_numbers(mode):
    """Right of the first batch, and of no other: gradcheck begins with another one."""
    layer = Tanh()
    for forward, backward in ((layer.forward, layer.backward), (layer.forward, kept_by_shape)):
        tanh = differentiable(forward, backward, name="tanh")
        report = gradcheck(tanh, of([0.3, -2.0]), mode=mode)
        assert not report.passed and report.causes[0].op == "tanh"
    right = differentiable(layer.forward, lambda dout, out: dout * (1 - out**2), name="tanh")
    assert gradcheck(right, of([0.3, -2.0]), mode=mode).passed
