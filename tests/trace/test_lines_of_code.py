"""Which lines of a backward a trace shows: those that ran, of the function itself."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed.trace import trace


def forward(x):
    if not x.size:
        return np.zeros(x.shape), (x,)
    out = x * x
    return out, (x,)


def early(dout, saved):
    (x,) = saved
    if not x.size:
        return np.zeros(x.shape)
    return dout * 2 * x


def helper(dout, saved):
    def twice(v):
        return 2 * v

    (x,) = saved
    return twice(dout * x)


def nested(dout, saved):
    (x,) = saved
    if len(x) == 1:
        return 2 * x * dout
    else:
        if x[0] > 100:
            return x * dout + x * dout
        return dout * x * 2


def tried(dout, saved):
    try:
        _one, _two = saved
        return None
    except ValueError:
        pass
    return 2 * saved[0] * dout


def either(dout, saved):
    (x,) = saved
    if x.sum() > 100:
        dx = dout * x + dout * x
    else:
        dx = dout * x * 2
    return dx


def looped(dout, saved):
    """More lines than are kept: nobody knows which ran, so both are shown."""
    (x,) = saved
    for _ in range(300):
        x = x + 0
    if x.sum() > 100:
        return x * dout + dout * x
    return x * dout * 2


def written(dout, saved):
    dx = np.empty_like(dout)
    np.multiply(dout, 2 * saved[0], out=dx)
    return dx


def listed(dout, saved):
    grads = []
    grads.append(dout * 2 * saved[0])
    return grads


@pytest.mark.parametrize(
    ("backward", "shown"),
    [
        (written, ["dx = np.empty_like(dout)", "np.multiply(dout, 2 * saved[0], out=dx)"]),
        (listed, ["grads = []", "grads.append(dout * 2 * saved[0])"]),
        (early, ["return dout * 2 * x"]),
        (helper, ["return twice(dout * x)"]),
        (nested, ["return dout * x * 2"]),
        (tried, ["return 2 * saved[0] * dout"]),
        (either, ["dx = dout * x * 2"]),
        (looped, ["return x * dout + dout * x", "return x * dout * 2"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_line_that_is_shown_is_one_that_ran(backward, shown):
    x = Tensor([1.0, 2.0], requires_grad=True)
    walk = trace(differentiable(forward, backward)(x).sum())

    def told(step: int) -> list[str]:
        lines = [line.stages[0] for line in walk.entry(step, (0, (1,))).lines]
        return [line.split("  ")[-1] for line in lines if "test_lines_of_code.py:" in line]

    assert told(4) == shown
    assert told(1) == ["out = x * x"]


def viewed(dout, saved):
    dx = np.zeros_like(dout)
    rows = dx.reshape(-1)
    flat = dx.reshape(-1)  # which nothing is written to
    for at, d in enumerate(dout):
        rows[at] += d * 2 * saved[0][at]
    return dx if flat.any() else rows


def on_one_line(dout, saved):
    dx = dout * 2 * saved[0]
    if dout.size > 100: dx[0] = 0
    return dx


def commented(dout, saved):
    dx = (dout  # what arrives
          * 2 * saved[0])  # times the slope  # fmt: skip
    return dx


@pytest.mark.parametrize(
    ("backward", "shown"),
    [
        (viewed, ["dx = np.zeros_like(dout)", "rows = dx.reshape(-1)",
                  "rows[at] += d * 2 * saved[0][at]"]),
        (on_one_line, ["dx = dout * 2 * saved[0]"]),
        (commented, ["dx = dout * 2 * saved[0]"]),
    ],
)  # fmt: skip
def test_views_are_followed_and_what_did_not_run_is_left_out(backward, shown):
    x = Tensor([1.0, 2.0], requires_grad=True)
    lines = trace(differentiable(forward, backward)(x).sum()).entry(4, (0, (1,))).lines
    told = [line.stages[0] for line in lines if "test_lines_of_code.py:" in line.stages[0]]
    assert [line.split("  ")[-1] for line in told] == shown


def test_of_swapped_gradients_the_line_that_made_what_is_handed_back():
    def swapped(dout, saved):
        a, b = saved
        da = dout * b
        db = dout * a
        return db, da

    product = differentiable(lambda a, b: (a * b, (a, b)), swapped)
    a, b = (Tensor(x, requires_grad=True) for x in ([1.0, 2.0], [3.0, 5.0]))
    walk = trace(product(a, b).sum())
    for part, line in ((0, "db = dout * a"), (1, "da = dout * b")):
        assert line in walk.entry(len(walk), (part, (1,))).text()


def test_of_a_power_the_line_of_its_own_exponent():
    x = Tensor([2.0, 3.0], requires_grad=True)
    for exponent, line in ((3, "return dout * exponent * a ** (exponent - 1)"), (0, "0 * dout")):
        text = trace((x**exponent).sum()).entry(4, (0, (1,))).text()
        assert line in text and text.count("arithmetic.py:") == 1


def running(x):
    x = np.asarray(x)
    return x.cumsum(axis=0), ()


def doubled(x):
    y = 2 * x
    return y.cumsum(axis=0), ()


def reshaped(x):
    y = np.cumsum(x, axis=0)
    return y.reshape(x.shape), ()


@pytest.mark.parametrize(
    ("forward", "shown"),
    [
        (running, ["return x.cumsum(axis=0), ()"]),
        (doubled, ["y = 2 * x", "return y.cumsum(axis=0), ()"]),
        (reshaped, ["y = np.cumsum(x, axis=0)"]),
    ],
)
def test_a_method_that_makes_the_output_is_shown_and_a_change_of_form_is_not(forward, shown):
    factor = 2 if forward is doubled else 1
    op = differentiable(forward, lambda dout, _: factor * dout[::-1].cumsum(axis=0)[::-1])
    lines = trace(op(Tensor([1.0, 2.0], requires_grad=True)).sum()).entry(1, (0, (1,))).lines
    told = [line.stages[0] for line in lines if "test_lines_of_code.py:" in line.stages[0]]
    assert [line.split("  ")[-1] for line in told] == shown


def test_of_a_transpose_and_a_reshape_the_line_that_does_it():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for op, line in ((x.T, "return a.transpose(axes)"), (x.reshape(4), "return a.reshape(shape)")):
        text = trace(op.sum()).entry(1, (0, (0,) * op.ndim)).text()
        assert line in text and "asarray" not in text
