"""Operations: for every shape, also empty ones, every layout, single and double precision."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from tests.properties import draw
from tests.properties.draw import numbers, same_bits

ENTRYWISE = {
    "neg": F.neg, "exp": F.exp, "tanh": F.tanh, "sigmoid": F.sigmoid, "relu": F.relu,
    "log_sigmoid": F.log_sigmoid, "cube": lambda x: F.power(x, 3),
    "log": lambda x: F.log(x * x + 0.5), "sqrt": lambda x: F.sqrt(x * x + 0.5),
}  # fmt: skip


def attend(x):
    return F.attention(x, x, x, causal=True)


ALONG_THE_LAST = {
    "softmax": F.softmax, "log_softmax": F.log_softmax, "layer_norm": lambda x: F.layer_norm(x),
    "rms_norm": lambda x: F.rms_norm(x),
    "attention": attend,
}  # fmt: skip
BETWEEN = [F.add, F.sub, F.mul, lambda a, b: F.div(a, b * b + 0.5)]


@st.composite
def shapes(draw_, least: int = 0, most: int = 3, smallest: int = 0):
    return tuple(draw_(st.lists(st.integers(smallest, 4), min_size=least, max_size=most)))


@st.composite
def operands(draw_):
    """Two shapes that broadcast."""
    whole = draw_(shapes())

    def less():
        part = [1 if draw_(st.booleans()) else n for n in whole]
        return tuple(part[draw_(st.integers(0, len(part))) :])

    return (whole, less()) if draw_(st.booleans()) else (less(), whole)


# Each of the following draws (function, shapes of its arguments).


@st.composite
def entrywise(draw_):
    return draw_(st.sampled_from(list(ENTRYWISE.values()))), [draw_(shapes())]


@st.composite
def along_the_last(draw_):
    *batch, rows, width = draw_(shapes(least=2, smallest=1))
    fn = draw_(st.sampled_from(list(ALONG_THE_LAST.values())))
    rows = rows if fn is attend else draw_(st.integers(0, rows))
    return fn, [(*batch, rows, width)]


@st.composite
def between(draw_):
    return draw_(st.sampled_from(BETWEEN)), list(draw_(operands()))


@st.composite
def products(draw_):
    n, k, m = (draw_(st.integers(0, 4)) for _ in range(3))
    batch = draw_(shapes(most=1))
    one = draw_(st.sampled_from([(*batch, n, k), (n, k), (k,)]))
    return F.matmul, [one, draw_(st.sampled_from([(*batch, k, m), (k, m), (k,)]))]


@st.composite
def moves(draw_):
    shape = draw_(shapes(least=1))
    axes = tuple(draw_(st.permutations(range(len(shape)))))
    axis, keep = draw_(st.integers(-len(shape), len(shape) - 1)), draw_(st.booleans())
    ways = [
        (lambda x: F.transpose(x, axes), [shape]),
        (lambda x: F.reshape(x, (int(np.prod(shape)),)), [shape]),
        (lambda x: F.sum(x, axis=axis, keepdims=keep), [shape]),
        (lambda a, b: F.concatenate(a, b, axis=axis), [shape, shape]),
        (lambda x: x[::-1], [shape]),
    ]
    return draw_(st.sampled_from(ways))


@st.composite
def table_reads(draw_):
    V, D = draw_(st.integers(1, 6)), draw_(st.integers(0, 4))
    ids, sparse = draw_(draw.ids_of(V, most=12)), draw_(st.booleans())
    offsets = np.array([0, ids.size // 2, ids.size // 2, ids.size])  # the second bag is empty
    mode = draw_(st.sampled_from(["sum", "mean", "max"]))
    bag = {"offsets": offsets, "mode": mode, "sparse": sparse}
    ways = [
        (lambda E: F.lookup(E, ids, sparse=sparse), [(V, D)]),
        (lambda E: F.embedding_bag(E, ids.reshape(-1), **bag), [(V, D)]),
        (F.project, [(*ids.shape, D), (V, D)]),
        (lambda E: F.project(F.tanh(F.lookup(E, ids)), E), [(V, D)]),
    ]
    return draw_(st.sampled_from(ways))


@st.composite
def losses(draw_):
    V, D, K = draw_(st.integers(1, 6)), draw_(st.integers(0, 4)), draw_(st.integers(0, 3))
    targets = draw_(draw.ids_of(V, most=12)).reshape(-1)
    N, how = targets.size, {"reduction": draw_(st.sampled_from(["sum", "none"]))}
    smooth = draw_(st.sampled_from([0.0, 0.1]))
    ways = [
        (lambda z: F.cross_entropy(z, targets, label_smoothing=smooth, **how), [(N, V)]),
        (
            lambda h, E: F.tied_cross_entropy(h, E, targets, reduction="sum", chunk=2),
            [(N, D), (V, D)],
        ),
        (F.sgns, [(N, D), (N, D), (N, K, D)]),
    ]
    return draw_(st.sampled_from(ways))


CALLS = st.one_of(
    entrywise(), along_the_last(), between(), products(), moves(), table_reads(), losses()
)


def run(fn, arrays, cotangent=None):
    """The output, and the gradients that a cotangent sends back."""
    tensors = [Tensor(array, requires_grad=True) for array in arrays]
    for tensor, array in zip(tensors, arrays):
        tensor.data = array  # where and as it lies
    out = fn(*tensors)
    out.backward(numbers(7, out.shape, out.dtype) if cotangent is None else cotangent)
    return out.data, [np.asarray(tensor.grad) for tensor in tensors]


def close(one, other, dtype) -> bool:
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    return np.allclose(
        one, other, rtol=tolerance, atol=tolerance * (1 + np.abs(other).max(initial=0))
    )


@given(st.data(), CALLS, draw.seeds, st.sampled_from(draw.FLOATS))
def test_shape_and_dtype_come_out_as_they_went_in_and_memory_does_not_matter(
    data, call, seed, dtype
):
    fn, shapes_ = call
    arrays = [numbers(seed + k, shape, dtype) for k, shape in enumerate(shapes_)]
    views = [data.draw(draw.laid_out(array)) for array in arrays]
    kept = [view.copy() for view in views]
    out, grads = run(fn, arrays)
    assert out.dtype == dtype
    assert [grad.shape for grad in grads] == shapes_ and all(g.dtype == dtype for g in grads)
    turned = data.draw(draw.laid_out(numbers(7, out.shape, dtype)))
    seen, seen_grads = run(fn, views, turned)
    assert close(seen, out, dtype)
    assert all(close(a, b, dtype) for a, b in zip(seen_grads, grads))
    assert all(same_bits(view, before) for view, before in zip(views, kept))


@given(CALLS, draw.seeds)
def test_backward_is_the_derivative(call, seed):
    fn, shapes_ = call
    tensors = [
        Tensor(numbers(seed + k, shape), requires_grad=True, name="xyz"[k])
        for k, shape in enumerate(shapes_)
    ]
    report = gradcheck(fn, *tensors, mode="directional", seed=seed % 1000)
    assert report.agrees, str(report)
