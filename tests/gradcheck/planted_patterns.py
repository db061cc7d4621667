"""More wrong backwards: those that are told by which entries of dout reach which of the input.

They belong to `planted.MUTANTS`, and stand there once this file is imported.
"""

from __future__ import annotations

import numpy as np

from scratch_embed.tensor import differentiable
from tests.gradcheck.planted import MUTANTS, D, Mutant, V, leaf, own, plant

# ---- right for something else --------------------------------------------------------------------


def _window_sums(x, w):
    return np.convolve(x, w[::-1], "valid"), (x, w)


def _kernel_turned_round(dout, saved):
    x, w = saved
    return np.convolve(dout, w[::-1]), np.convolve(x, dout[::-1], "valid")


own("kernel turned round", "another input", _window_sums, _kernel_turned_round, (7,), (3,))


def _scaled(x, gamma):
    y = x - x.mean(axis=-1, keepdims=True)
    return y * gamma, (y, gamma)


def _scale_left_out(dout, saved):
    return dout - dout.mean(axis=-1, keepdims=True), (dout * saved[0]).sum(axis=0)


own("scale left out", "another input", _scaled, _scale_left_out, (3, 4), (4,))
own("mask forgotten by backward", "another input", lambda x, mask: (x * mask, mask),
    lambda g, mask: g, (3, 3), given=(np.eye(3, dtype=bool),))  # fmt: skip
own("running sums of the other axis", "wrong axis", lambda x: (np.cumsum(x, 1), ()),
    lambda g, s: np.cumsum(g[::-1], 0)[::-1], (3, 5))  # fmt: skip


# ---- by its pattern ------------------------------------------------------------------------------


def _softmax(x):
    e = np.exp(x)
    return (e / e.sum(axis=-1, keepdims=True),) * 2


def _norm(x):
    n = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / n, (x, n)


own("sum over the batch", "samples mixed", _softmax,
    lambda g, p: p * (g - (g * p).sum(axis=0)), (4, 3))  # fmt: skip
own("norm as a constant", "coupling ignored", _norm, lambda g, s: g / s[1], (4, 3))
own("norm not squared", "coupling wrong", _norm,
    lambda g, s: (g - s[0] * (g * s[0]).sum(-1, keepdims=True)) / s[1], (4, 3))  # fmt: skip


def _border_lost(dout, saved):
    x, w = saved
    dx = np.convolve(dout, w)
    dx[-1] = 0
    return dx, np.convolve(x, dout[::-1], "valid")


own("border lost", "entries left out", _window_sums, _border_lost, (7,), (3,))


def _windows(x):
    return np.stack([x[:, n : n + 3] for n in range(4)], axis=1), x.shape


def _windows_assigned(dout, shape):
    dx = np.zeros(shape)
    for n in range(4):
        dx[:, n : n + 3] = dout[:, n]
    return dx


def _taken(x, places):
    return np.take_along_axis(x, places, 1), (x.shape, places)


def _put(dout, saved):
    shape, places = saved
    dx = np.zeros(shape)
    np.put_along_axis(dx, places, dout, 1)
    return dx


own("windows that overlap assigned", "overwritten", _windows, _windows_assigned, (2, 6))
own("put along an axis", "overwritten", _taken, _put, (3, 6),
    given=(np.array([[0, 0], [1, 2], [3, 3]]),))  # fmt: skip

PAIRS = np.array([0, 0, 2, 1, 4, 4]).reshape(3, 2)


def _pair_sums(E, pairs):
    return E[pairs].sum(axis=1), (E.shape, pairs)


def _second_of_pair(dout, saved):
    shape, pairs = saved
    dE = np.zeros(shape)
    np.add.at(dE, pairs[:, 1], dout)
    return dE


def _second_with_minus(dout, saved):
    shape, pairs = saved
    dE = np.zeros(shape)
    np.add.at(dE, pairs[:, 0], dout)
    np.subtract.at(dE, pairs[:, 1], dout)
    return dE


MASK = np.array([[1.0, 1, 0], [1, 1, 1], [1, 0, 0]])
BAGS = np.array([[0, 1, 1], [2, 0, 0], [4, 1, 1]])


def _mean_of_bags(E, ids, mask):
    return (E[ids] * mask[..., None]).sum(1) / mask.sum(1)[:, None], (E.shape, ids, mask)


def _padding_counted(dout, saved):
    shape, ids, mask = saved
    dE = np.zeros(shape)
    np.add.at(dE, ids, dout[:, None] * mask[..., None] / ids.shape[1])
    return dE


own("only the second of a pair", "missing path", _pair_sums, _second_of_pair, (V, D),
    given=(PAIRS,))  # fmt: skip
own("the second of a pair with minus", "missing path", _pair_sums, _second_with_minus, (V, D),
    given=(PAIRS,))  # fmt: skip
own("padding counted in a mean", "wrong weights", _mean_of_bags, _padding_counted, (V, D),
    given=(BAGS, MASK))  # fmt: skip



def _some_at_zero(rng):
    def backward(dout, x):
        return dout * np.where(x, np.sign(x), 2)

    size = differentiable(lambda x: (abs(x), x), backward, name="size")
    x = leaf(rng, 4, 3)
    x.data[1, :2] = 0
    return size, [x]


MUTANTS.append(Mutant("more than both slopes", "beyond a kink", _some_at_zero))

# ---- state ---------------------------------------------------------------------------------------


class _Layer:
    """Keeps its last input in itself, so two uses in one step share it."""

    def forward(self, x):
        self.x = x
        return x * x, ()

    def backward(self, dout, saved):
        return 2 * self.x * dout


def _used_twice(x):
    layer = _Layer()
    op = differentiable(layer.forward, layer.backward, name="mine")
    return op(x) + op(x * 2.0)


def _keeps_its_answer(x):
    kept = {}

    def backward(dout, saved):
        return kept.setdefault("dx", 2 * dout)

    return differentiable(lambda a: (2 * a, ()), backward, name="mine")(x)


plant("first answer kept", "dout ignored", _keeps_its_answer, (4, 3))
plant("a layer that is used twice", "state outside", _used_twice, (4, 3))

# ---- what nothing fits ---------------------------------------------------------------------------

own("product for sum", "local derivative", lambda x: ((x * x).sum(), x),
    lambda g, x: g * x * np.abs(x), (4, 3))  # fmt: skip
