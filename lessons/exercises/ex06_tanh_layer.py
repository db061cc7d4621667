"""A layer and its way back: a matrix product, then tanh.

Two steps forward, and so two steps back, in the other order: first through tanh, then through the
product. Each step needs only its own slope and the gradient that arrives.
"""

import numpy as np

LESSON = 11
LEVEL = "easy"
HINTS = """
The tape of `out = tanh(x @ W)` has two lines, a = x @ W and out = tanh(a). Backward reads them from
the last: first da, then dx and dW.

The slope of tanh at a is 1 - tanh(a)^2, and tanh(a) is `out`: da = dout * (1 - out**2).

For a = x @ W the gradients are dx = da @ W.T and dW = x.T @ da. It is da that goes in, not dout.
"""


def tanh_layer(x, W):
    """out = tanh(x @ W)                                            (N, D), (D, H) -> (N, H)

    The product may be of any size: tanh comes to 1 and to -1.

    >>> tanh_layer(np.array([[1.0, 2.0]]), np.array([[0.5], [0.25]])).round(4).tolist()
    [[0.7616]]
    """
    return np.tanh(x @ W)


def tanh_layer_backward(dout, x, W, out):
    """Gradients of out = tanh(x @ W)             -> dx (N, D), dW (D, H)

    dout (N, H) arrives; x (N, D), W (D, H) and out (N, H) are those of the forward.

    Returns (dx, dW).

    tanh(0.549306) is 0.5, and there tanh has the slope 1 - 0.25 = 0.75, so da = 7.5:

    >>> x, W = np.array([[1.0, 2.0]]), np.array([[2.549306], [-1.0]])
    >>> dx, dW = tanh_layer_backward(np.array([[10.0]]), x, W, np.tanh(x @ W))
    >>> dx.round(4).tolist()
    [[19.1198, -7.5]]
    >>> dW.round(4).tolist()
    [[7.5], [15.0]]
    """
    da = dout * (1 - out**2)
    return da @ W.T, x.T @ da


def check(trial):
    for rng, (N, D, H) in zip(trial.rounds(4), ((2, 3, 4), (3, 2, 2), (1, 4, 3), (3, 3, 3))):
        x, W = rng.standard_normal((N, D)), rng.standard_normal((D, H))
        out = np.tanh(x @ W)
        trial.same("tanh_layer", x=x, W=W)
        trial.gradients(
            "tanh_layer_backward",
            forward=lambda x, W: np.tanh(x @ W),
            backward=lambda dout, x=x, W=W, out=out: trial.yours.tanh_layer_backward(
                dout, x, W, out
            ),
            mistakes=_mistakes(x, W, out),
            x=x,
            W=W,
        )
    far = {"x": np.array([[800.0], [-800.0]]), "W": np.ones((1, 1))}
    trial.same("tanh_layer", mistakes=LARGE, **far)
    trial.same("tanh_layer_backward", dout=np.ones((2, 1)), out=np.array([[1.0], [-1.0]]), **far)


def _overflowing(x, W):
    with np.errstate(all="ignore"):
        up, down = np.exp(x @ W), np.exp(-(x @ W))
        return (up - down) / (up + down)


LARGE = {
    ("tanh_layer lets e^a overflow, and inf / inf is nan: np.tanh takes any size", r"\bexp\("):
        _overflowing,
}  # fmt: skip


def _mistakes(x, W, out):
    def with_slope(slope):
        return lambda dout: ((dout * slope) @ W.T, x.T @ (dout * slope))

    right, line = 1 - out**2, r"\bdout\b"  # where dout is used first
    return {
        ("tanh_layer_backward leaves out tanh: dout does not pass through its slope", line):
            with_slope(1),
        ("tanh_layer_backward takes 1 - out for the slope of tanh, which is 1 - out^2", line):
            with_slope(1 - out),
        ("tanh_layer_backward takes the slope of tanh at out, and not at x @ W", line):
            with_slope(1 - np.tanh(out) ** 2),
        "tanh_layer_backward sends dout through tanh for dx, and not for dW":
            lambda dout: ((dout * right) @ W.T, x.T @ dout),
        "tanh_layer_backward sends dout through tanh for dW, and not for dx":
            lambda dout: (dout @ W.T, x.T @ (dout * right)),
    }  # fmt: skip
