"""Each operation by its two halves: values worked out by hand, and lookups held to plain loops."""

from __future__ import annotations

import re
import sys
from fractions import Fraction

import numpy as np
import pytest

from scratch_embed import functional as F
from scratch_embed import kernels
from scratch_embed.ops.cross_entropy import cross_entropy_backward, cross_entropy_forward
from scratch_embed.ops.lookup import lookup_backward, lookup_forward
from scratch_embed.ops.onehot import one_hot, onehot_product_backward, onehot_product_forward
from scratch_embed.ops.reduce import unbroadcast
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.rows import RowGrad

LN2, LN3 = np.log(2), np.log(3)
TABLE = [[1, 2], [3, 4], [5, 6]]

# operation, inputs, options, out, dout, gradients: all by hand
BY_HAND = [
    ("add", ([1, 2], [10, 20]), {}, [11, 22], [1, 3], ([1, 3], [1, 3])),
    ("sub", ([1, 2], [10, 20]), {}, [-9, -18], [1, 3], ([1, 3], [-1, -3])),
    ("mul", ([2, 3], [5, 7]), {}, [10, 21], [1, 10], ([5, 70], [2, 30])),
    ("div", ([6, 8], [2, 4]), {}, [3, 2], [1, 2], ([0.5, 0.5], [-1.5, -1])),  # -6/4, -2*8/16
    ("neg", ([1, -2],), {}, [-1, 2], [3, 4], ([-3, -4],)),
    ("power", ([2, 3],), {"exponent": 3}, [8, 27], [1, 2], ([12, 54],)),  # 3*4, 2*3*9
    ("power", ([0, 2],), {"exponent": 0}, [1, 1], [1, 1], ([0, 0],)),
    ("power", ([4.0],), {"exponent": Fraction(1, 2)}, [2], [1], ([0.25],)),
    ("power", ([2.0],), {"exponent": np.int8(-128)}, [2**-128], [2**120], ([-0.25],)),
    ("exp", ([0, LN2],), {}, [1, 2], [5, 3], ([5, 6],)),
    ("log", ([1, 2],), {}, [0, LN2], [5, 3], ([5, 1.5],)),
    ("sqrt", ([4, 9],), {}, [2, 3], [1, 6], ([0.25, 1],)),
    ("tanh", ([0, LN2],), {}, [0, 0.6], [1, 1], ([1, 0.64],)),  # (2 - 1/2) / (2 + 1/2)
    ("sigmoid", ([0, LN3],), {}, [0.5, 0.75], [1, 16], ([0.25, 3],)),  # 16 * 3/4 * 1/4
    ("log_sigmoid", ([0, LN3],), {}, [-LN2, LN3 - 2 * LN2], [1, 1], ([0.5, 0.25],)),
    ("relu", ([-1, 0, 2],), {}, [0, 0, 2], [5, 6, 7], ([0, 0, 7],)),
    ("sum", (TABLE,), {"axis": 0}, [9, 12], [1, 2], ([[1, 2], [1, 2], [1, 2]],)),
    ("mean", (TABLE,), {"axis": -1}, [1.5, 3.5, 5.5], [2, 4, 6], ([[1, 1], [2, 2], [3, 3]],)),
    ("mean", (TABLE,), {}, 3.5, 12, ([[2, 2], [2, 2], [2, 2]],)),
    ("reshape", (TABLE,), {"shape": (6,)}, [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1],
     ([[6, 5], [4, 3], [2, 1]],)),
    ("transpose", (TABLE,), {}, [[1, 3, 5], [2, 4, 6]], [[1, 2, 3], [4, 5, 6]],
     ([[1, 4], [2, 5], [3, 6]],)),
    ("getitem", ([5, 6, 7],), {"index": [0, 2, 0]}, [5, 7, 5], [1, 2, 10], ([11, 0, 2],)),
    ("concatenate", ([1], [2, 3]), {}, [1, 2, 3], [4, 5, 6], ([4], [5, 6])),
    ("matmul", ([[1, 2]], [[3], [4]]), {}, [[11]], [[10]], ([[30, 40]], [[10], [20]])),
    ("lookup", (TABLE,), {"ids": [2, 0, 2]}, [[5, 6], [1, 2], [5, 6]],
     [[1, 2], [3, 4], [10, 20]], ([[3, 4], [0, 0], [11, 22]],)),
    ("onehot_product", ([0.5, 0, 0.5], TABLE), {}, [3, 4], [1, 10],
     ([21, 43, 65], [[0.5, 5], [0, 0], [0.5, 5]])),
    ("softmax", ([0, LN3],), {}, [0.25, 0.75], [16, 0], ([3, -3],)),  # p (dout - 4)
    ("log_softmax", ([0, LN3],), {}, [-2 * LN2, LN3 - 2 * LN2], [4, 0], ([3, -3],)),
    ("cross_entropy", ([[0, LN3], [0, LN3], [7, 7]],), {"targets": [1, 0, -1], "ignore_index": -1},
     2 * LN2 - LN3 / 2, 8, ([[1, -1], [-3, 3], [0, 0]],)),  # 8/2 (p - one-hot), ignored: 0
]  # fmt: skip


def halves(name: str):
    operation = getattr(F, name)
    return operation.forward, operation.backward


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case[0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_gradients_by_hand(case, dtype):
    name, inputs, options, expected, dout, expected_grads = case
    forward, backward = halves(name)
    out, saved = forward(*(np.array(x, dtype) for x in inputs), **options)
    grads = backward(np.array(dout, dtype), saved)
    grads = grads if isinstance(grads, tuple) else (grads,)

    close = {"rtol": 8 * np.finfo(dtype).eps, "atol": 8 * np.finfo(dtype).eps}
    np.testing.assert_allclose(out, expected, **close)
    assert len(grads) == len(inputs)
    for grad, by_hand in zip(grads, expected_grads):
        np.testing.assert_allclose(grad, by_hand, **close)
    assert {np.asarray(array).dtype for array in (out, *grads)} == {np.dtype(dtype)}


def test_every_basic_operation_has_values_by_hand():
    basic = {
        "arithmetic", "cross_entropy", "elementwise", "lookup", "matmul", "onehot", "reduce",
        "shape", "softmax",
    }  # fmt: skip
    homes = {name: halves(name)[0].__module__.split(".")[-1] for name in F.__all__}
    assert {case[0] for case in BY_HAND} == {name for name in F.__all__ if homes[name] in basic}


@pytest.mark.parametrize("name", F.__all__)
def test_every_operation_says_what_it_raises_or_its_file_does_for_all_in_it(name):
    forward = halves(name)[0]
    said = forward.__doc__ + sys.modules[forward.__module__].__doc__
    assert re.search(r"\braise|refused", said, re.IGNORECASE), name


def test_a_whole_step_by_hand():
    """h = [0.5, 0.8] scores three rows, of which row 1 is the true one.

    e^0.21 + e^0.47 + e^0.73 = 1.233678 + 1.599994 + 2.075081 = 4.908753
    """
    h = np.array([0.5, 0.8])
    table = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    logits = table @ h
    assert logits == pytest.approx([0.05 + 0.16, 0.15 + 0.32, 0.25 + 0.48])
    assert softmax_forward(logits)[0] == pytest.approx([0.251322, 0.325947, 0.422731], abs=1e-6)

    _, saved = cross_entropy_forward(logits, np.array(1))
    dlogits = cross_entropy_backward(np.array(1.0), saved)
    rows = np.outer(dlogits, h)  # the gradient of row j is dz_j h
    by_hand = [[0.125661, 0.201058], [-0.337026, -0.539242], [0.211365, 0.338185]]
    np.testing.assert_allclose(rows, by_hand, atol=1e-6)
    assert np.abs(rows.sum(axis=0)).max() < 1e-15  # what the true row gains, the others give


# ---- lookup, over every pattern of ids ----------------------------------------------------------

V, D = 6, 3
PATTERNS = {
    "unique": [4, 1, 3],
    "repeated": [4, 1, 4, 4, 1],
    "all equal": [2, 2, 2, 2],
    "reversed": [5, 4, 3, 2, 1, 0],
    "first and last": [0, 5, 0, 5],
    "padding": [0, 3, 0, 0, 3],
    "only padding": [0, 0],
    "2-D": [[1, 5, 1], [1, 0, 2]],
    "a single id": 3,
    "empty": np.empty(0, np.int64),
    "empty 2-D": np.empty((2, 0), np.int64),
}


@pytest.fixture(params=PATTERNS, ids=str)
def batch(request):
    """A table, ids in one pattern, and a random cotangent for the rows that come out."""
    rng = np.random.default_rng(1)
    ids = np.array(PATTERNS[request.param])
    return rng.standard_normal((V, D)), ids, rng.standard_normal((*ids.shape, D))


def scatter_by_loop(ids, dout, divide=lambda count: 1, skip=None):
    """dE[v] = sum of dout[n] over n with ids[n] = v, as slowly and plainly as it can be said."""
    total = [[0.0] * D for _ in range(V)]
    flat = ids.reshape(-1).tolist()
    for v, row in zip(flat, dout.reshape(-1, D).tolist()):
        if v != skip:
            for d in range(D):
                total[v][d] += row[d] / divide(flat.count(v))
    return np.array(total)


def test_lookup_gathers_and_scatters(batch):
    table, ids, dout = batch
    out, saved = lookup_forward(table, ids)
    assert out.shape == (*ids.shape, D)
    assert all(np.array_equal(out[n], table[ids[n]]) for n in np.ndindex(ids.shape))
    np.testing.assert_allclose(lookup_backward(dout, saved), scatter_by_loop(ids, dout), rtol=1e-14)


def test_lookup_equals_the_onehot_product_forward_and_backward(batch):
    table, ids, dout = batch
    out, saved = lookup_forward(table, ids)
    product, saved_product = onehot_product_forward(one_hot(ids, V), table)
    np.testing.assert_array_equal(product, out)

    donehot, dtable = onehot_product_backward(dout, saved_product)
    np.testing.assert_allclose(dtable, lookup_backward(dout, saved), rtol=1e-14, atol=1e-15)
    # What the lookup cannot say: how the loss would change if n had taken a little of row v.
    for n in np.ndindex(ids.shape):
        for v in range(V):
            assert donehot[(*n, v)] == pytest.approx(float(dout[n] @ table[v]), rel=1e-12)


def test_lookup_is_linear_so_whole_steps_give_the_gradient_to_the_last_bit(batch):
    """With whole numbers nothing is rounded: L(E + 1) - L(E) and backward agree by ==."""
    table, ids, dout = batch
    table, dout = np.rint(8 * table), np.rint(8 * dout)
    grad = lookup_backward(dout, lookup_forward(table, ids)[1])
    for entry in np.ndindex(table.shape):
        nudged = table.copy()
        nudged[entry] += 1
        change = (lookup_forward(nudged, ids)[0] - lookup_forward(table, ids)[0]) * dout
        assert change.sum() == grad[entry]


def test_padding_row_gets_no_gradient(batch):
    table, ids, dout = batch
    for padding_idx in (0, -V):  # counted from either end
        out, saved = lookup_forward(table, ids, padding_idx=padding_idx)
        np.testing.assert_array_equal(out, lookup_forward(table, ids)[0])  # the rows are the same
        grad = lookup_backward(dout, saved)
        assert not grad[0].any()
        np.testing.assert_allclose(grad, scatter_by_loop(ids, dout, skip=0), rtol=1e-14)


def test_scale_grad_by_freq_divides_by_the_count_in_the_batch(batch):
    table, ids, dout = batch
    _, saved = lookup_forward(table, ids, scale_grad_by_freq=True)
    by_loop = scatter_by_loop(ids, dout, divide=lambda count: count)
    np.testing.assert_allclose(lookup_backward(dout, saved), by_loop, rtol=1e-13)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 0}, {"scale_grad_by_freq": True}])
def test_sparse_answers_the_same_bits_by_row(batch, options):
    table, ids, dout = batch
    dense = lookup_backward(dout, lookup_forward(table, ids, **options)[1])
    sparse = lookup_backward(dout, lookup_forward(table, ids, sparse=True, **options)[1])
    assert isinstance(sparse, RowGrad)
    named = set(ids.reshape(-1).tolist()) - {options.get("padding_idx")}
    assert sparse.rows.tolist() == sorted(named)
    assert sparse.to_dense().tobytes() == dense.tobytes()


# ---- at the edges -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (4, 1), (4, 3), (2, 1, 1), (2, 4, 3)])
def test_unbroadcast_is_the_transpose_of_broadcasting(shape):
    """<broadcast(x), g> = <x, unbroadcast(g)> for all x and g is what 'transpose' means."""
    rng = np.random.default_rng(2)
    x, g = rng.standard_normal(shape), rng.standard_normal((2, 4, 3))
    back = unbroadcast(g, shape)
    assert back.shape == shape
    assert np.vdot(np.broadcast_to(x, g.shape), g) == pytest.approx(np.vdot(x, back))


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (0, -1, 1), (-1, -3, -2)])
def test_transpose_is_undone_by_its_backward(axes):
    x = np.random.default_rng(3).standard_normal((3, 3, 3))  # a cube, where a mistake would fit
    forward, backward = halves("transpose")
    out, saved = forward(x, axes)
    np.testing.assert_array_equal(backward(out, saved), x)


@pytest.mark.parametrize(
    ("shape", "axis", "out"),
    [((0, 3), 1, (0,)), ((3, 0), 0, (0,)), ((0, 0), 1, (0,)), ((2, 0, 3), 0, (0, 3))],
)
def test_where_no_mean_is_asked_for_the_answer_is_empty(shape, axis, out):
    forward, backward = halves("mean")
    mean, saved = forward(np.ones(shape), axis)
    assert mean.shape == out
    assert backward(mean, saved).shape == shape


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -80), (np.float64, -700)])
def test_a_small_chance_keeps_all_its_digits(dtype, lowest):
    """sigmoid(a) = e^a / (1 + e^a): also the slope of log_sigmoid at -a, and the error of sgns."""
    a = np.linspace(lowest, -1, 50).astype(dtype)
    expected = np.exp(a.astype(np.longdouble)) / (1 + np.exp(a.astype(np.longdouble)))
    close = {"rtol": 4 * np.finfo(dtype).eps}
    np.testing.assert_allclose(halves("sigmoid")[0](a)[0], expected, **close)
    np.testing.assert_allclose(halves("log_sigmoid")[1](np.ones_like(a), (-a,)), expected, **close)
    c, o, u = a[:, None], -np.ones((len(a), 1), dtype), np.zeros((len(a), 1, 1), dtype)
    forward, backward = halves("sgns")
    _, dcontext, _ = backward(dtype(1), forward(c, o, u)[1])
    np.testing.assert_allclose(dcontext, -expected[:, None] * c, **close)


@np.errstate(over="raise", divide="raise", invalid="raise")
def test_large_numbers_stay_finite():
    z = np.array([-1000.0, 0.0, 1000.0])
    assert halves("sigmoid")[0](z)[0].tolist() == [0, 0.5, 1]
    assert halves("log_sigmoid")[0](z)[0] == pytest.approx([-1000, -LN2, 0])
    assert halves("softmax")[0](z)[0].tolist() == [0, 0, 1]
    assert halves("log_softmax")[0](z)[0].tolist() == [-2000, -1000, 0]
    assert cross_entropy_forward(z, 0)[0] == 2000


def test_an_ignored_target_may_be_impossible():
    """A logit of -inf takes the padding token out; 0 * -inf must not turn the loss into NaN."""
    logits = np.array([[-np.inf, 1.0, 2.0], [-np.inf, 0.5, 0.5]])
    loss, saved = cross_entropy_forward(logits, np.array([0, 2]), ignore_index=0)
    assert loss == pytest.approx(np.log(2))
    expected = [[0, 0, 0], [0, 0.5, -0.5]]
    assert np.allclose(cross_entropy_backward(np.ones(()), saved), expected)


def test_cross_entropy_sum_counts_positions_and_mean_divides_by_those_kept():
    rng = np.random.default_rng(4)
    logits, targets = rng.standard_normal((2, 5, 7)), rng.integers(1, 7, (2, 5))
    targets[0, :3] = 0
    total, _ = cross_entropy_forward(logits, targets, ignore_index=0, reduction="sum")
    mean, saved = cross_entropy_forward(logits, targets, ignore_index=0)
    assert mean == pytest.approx(total / 7)
    by_loop = [
        np.log(np.exp(logits[n]).sum()) - logits[n][targets[n]]
        for n in np.ndindex(2, 5)
        if targets[n] != 0
    ]
    assert total == pytest.approx(sum(by_loop))
    grad = cross_entropy_backward(np.array(1.0), saved)
    assert not grad[0, :3].any()
    np.testing.assert_allclose(grad.sum(axis=-1), 0, atol=1e-16)


Z = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("name", "args", "error", "words"),
    [
        ("lookup", (Z, [0, 2]), IndexError, r"ids\[1\] = 2 .*0\.\.1"),
        ("lookup", (Z, [0, -1]), IndexError, r"ids\[1\] = -1 is negative"),
        ("lookup", (Z, [0.5]), TypeError, r"ids\[0\] = 0\.5"),
        ("lookup", (Z, [True]), TypeError, r"boolean"),
        ("lookup", (np.zeros((0, 3)), [0]), IndexError, "no rows"),
        ("lookup", (np.zeros(3), [0]), ValueError, r"2-D.*\(3,\)"),
        ("lookup", (np.float64(3), [0]), ValueError, r"2-D.*\(\)"),
        ("lookup", (Z, [0], 2), ValueError, r"padding_idx is 2; .*-2\.\.1"),
        ("lookup", (Z, [0], 0.5), TypeError, r"padding_idx is 0\.5"),
        ("onehot_product", (Z, Z), ValueError, r"\(2, 3\)"),
        ("power", (Z, np.ones(3)), TypeError, "exponent"),
        ("power", (Z, "2"), TypeError, "exponent is of type str"),
        ("exp", (["a"],), TypeError, "not an array of numbers"),
        ("fold", (Z, 4, 2), ValueError, r"images have shape \(4,\)"),
        ("sum", (Z, 2), ValueError, "axis 2 is out of bounds"),
        ("add", (Z, np.ones(2)), ValueError, r"broadcast.*\(2,3\) \(2,\)"),
        ("getitem", (Z, 5), IndexError, "index 5 is out of bounds"),
        ("mean", (np.zeros((0, 3)),), ValueError, r"empty array of shape \(0, 3\)"),
        ("mean", (np.zeros((0, 3)), 0), ValueError, "along axis 0 there are no numbers"),
        ("cross_entropy", (Z, [0]), ValueError, r"targets \(1,\).*\(2, 3\)"),
        ("cross_entropy", (Z, [0, 3]), IndexError, r"targets\[1\] = 3 .*0\.\.2"),
        ("cross_entropy", (Z, [0, -100]), IndexError, r"targets\[1\] = -100"),
        ("cross_entropy", (Z, np.array([True, False])), TypeError, "boolean"),
        ("cross_entropy", (Z, [0.0, 1.0]), TypeError, r"targets\[0\] = 0\.0"),
    ],
)
def test_bad_input_is_named(name, args, error, words):
    with pytest.raises(error, match=words):
        halves(name)[0](*args)


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("shape", [(2, 3), (100, 200)])
def test_an_axis_is_looked_at_whatever_the_size(name, shape):
    """NumPy does so for small arrays; of large ones True was the axis 1."""
    op, x = getattr(F, name), np.ones(shape)
    for axis in (True, False, [0, 1], np.array([0, 1]), {0}, 1.0):
        with pytest.raises(TypeError, match="it must be a whole number, a tuple of them, or None"):
            op(x, axis)
    for axis, out in ((np.int64(1), shape[:1]), ((-1, 0), ()), ((), shape)):
        assert op(x, axis).shape == out
    with pytest.raises(ValueError, match="axis 0 is out of bounds for array of dimension 0"):
        op(np.float64(2), 0)


def test_an_axis_to_join_along_must_be_there():
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        F.concatenate(Z, Z, axis=3)
    with pytest.raises(TypeError, match="axis is None"):
        F.concatenate(Z, Z, axis=None)


def test_ids_that_another_thread_fills_anew_meanwhile_are_read_once(monkeypatch):
    """Between the look at the ids and the copy of the rows, in a compiled loop, that crashed."""
    weight, ids, gather = np.arange(12.0).reshape(4, 3), np.array([1, 3, 1]), kernels.gather

    def filled_meanwhile(table, given, *rest):
        ids[:] = 10**12
        return gather(table, given, *rest)

    monkeypatch.setattr(kernels, "gather", filled_meanwhile)
    out, saved = lookup_forward(weight, ids)
    assert np.array_equal(out, weight[[1, 3, 1]]) and saved.ids.tolist() == [1, 3, 1]
