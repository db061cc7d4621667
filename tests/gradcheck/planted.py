"""Wrong backwards of every kind: what gradcheck must catch, and what it must call them.

Each is a mistake that somebody has made. `build(rng)` gives a function and the tensors to check it
with; `cause` is the name that `Report.cause` must answer.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from scratch_embed import functional as F
from scratch_embed.ops.elementwise import sigmoid_forward
from scratch_embed.tensor import Tensor, differentiable

IDS = np.array([[4, 1, 1], [0, 4, 4]])  # 4 three times, 1 twice, 0 once; 2, 3 and 5 never
TARGETS = np.array([4, 1, 1, 0])
V, D = 6, 3


class Mutant(NamedTuple):
    name: str
    cause: str
    build: Callable[[np.random.Generator], tuple[Callable[..., Tensor], list[Tensor]]]


MUTANTS: list[Mutant] = []


def leaf(rng, *shape: int, name: str = "x") -> Tensor:
    return Tensor(rng.standard_normal(shape), requires_grad=True, name=name)


def broken(op: str, backward, **options):
    """The operation `op` of the package with another backward."""
    return differentiable(getattr(F, op).forward, backward, name=op, **options)


def plant(name: str, cause: str, fn, *shapes: tuple[int, ...], names: str = "xyz"):
    """A mutant of a function of arrays of these shapes."""

    def build(rng):
        return fn, [leaf(rng, *shape, name=n) for shape, n in zip(shapes, names)]

    MUTANTS.append(Mutant(name, cause, build))


# ---- lookup --------------------------------------------------------------------------------------


def plant_lookup(name: str, cause: str, fill: Callable, **options):
    """A lookup whose backward fills dE by `fill(dE, ids, dout)`, with a tanh behind it."""

    def backward(dout, saved):
        dE = np.zeros((saved.num_rows, dout.shape[-1]))
        fill(dE, saved.ids.reshape(-1), dout.reshape(-1, dout.shape[-1]))
        return dE

    op = broken("lookup", backward)
    plant(name, cause, lambda E: F.tanh(op(E, IDS, **options)), (V, D), names="E")


def add_at(dE, ids, dout):
    np.add.at(dE, ids, dout)


def scattering(change):
    """Scatter what `change` makes of the ids and their gradients."""
    return lambda dE, ids, dout: np.add.at(dE, *change(ids, dout))


plant_lookup("lost by +=", "overwritten", lambda dE, ids, g: dE.__setitem__(ids, dE[ids] + g))
plant_lookup("assigned", "overwritten", lambda dE, ids, g: dE.__setitem__(ids, g))


def _by_part(axis):
    """A loop over sequences, or over time steps, that loses repeats within each."""

    def fill(dE, ids, g):
        for some, arriving in zip(
            np.moveaxis(ids.reshape(IDS.shape), axis, 0),
            np.moveaxis(g.reshape(*IDS.shape, -1), axis, 0),
        ):
            dE[some] += arriving

    return fill


plant_lookup("repeats lost within a sequence", "overwritten", _by_part(0))
plant_lookup(
    "rolled along time", "shifted ids",
    scattering(lambda i, g: (i, np.roll(g.reshape(*IDS.shape, -1), 1, axis=1).reshape(g.shape))),
)  # fmt: skip
plant_lookup("first use kept", "overwritten", lambda dE, ids, g: dE.__setitem__(ids[::-1], g[::-1]))
plant_lookup("ids reversed", "reversed scatter", scattering(lambda i, g: (i[::-1], g)))
plant_lookup("ids up by one", "shifted ids", scattering(lambda i, g: ((i + 1) % V, g)))
plant_lookup("ids down by one", "shifted ids", scattering(lambda i, g: (np.maximum(i - 1, 0), g)))
plant_lookup("neighbour's dout", "shifted ids", scattering(lambda i, g: (i, np.roll(g, 1, 0))))
plant_lookup("last left out", "missed position", scattering(lambda i, g: (i[:-1], g[:-1])))
plant_lookup(
    "middle left out", "missed position",
    scattering(lambda i, g: (np.delete(i, 2), np.delete(g, 2, axis=0))),
)  # fmt: skip
plant_lookup("first left out", "missed position", scattering(lambda i, g: (i[1:], g[1:])))
plant_lookup(
    "batch and time exchanged", "swapped axes",
    scattering(lambda i, g: (i.reshape(IDS.shape).T.reshape(-1), g)),
)  # fmt: skip
plant_lookup(
    "mean over repeats", "averaged repeats",
    scattering(lambda i, g: (i, g / np.bincount(i)[i][:, None])),
)  # fmt: skip
plant_lookup("row 0 skipped", "row dropped", scattering(lambda i, g: (i[i != 0], g[i != 0])))
plant_lookup("minus", "wrong sign", scattering(lambda i, g: (i, -g)))
plant_lookup("doubled", "constant factor", scattering(lambda i, g: (i, 2 * g)))
plant_lookup("ones for dout", "dout ignored", scattering(lambda i, g: (i, np.ones_like(g))))
plant_lookup("zeros", "missing path", lambda dE, ids, g: None)
plant_lookup("columns reversed", "dout out of order", scattering(lambda i, g: (i, g[:, ::-1])))
plant_lookup("padding row paid", "option ignored", add_at, padding_idx=4)
plant_lookup("counts not divided", "option ignored", add_at, scale_grad_by_freq=True)


def _tiny_leak(dE, ids, dout):
    add_at(dE, ids, dout)
    dE[5] = 1e-3


def _kept_buffer():
    buffer = np.zeros((V, D))

    def backward(dout, saved):
        np.add.at(buffer, saved.ids, dout)
        return buffer.copy()

    op = broken("lookup", backward)
    return lambda E: op(E, IDS)


def _build_stale(rng):
    return _kept_buffer(), [leaf(rng, V, D, name="E")]


plant_lookup("unused row paid", "leak", _tiny_leak)
MUTANTS.append(Mutant("buffer never zeroed", "stale gradient", _build_stale))

# ---- tied tables ---------------------------------------------------------------------------------


def _tied(E, lookup=F.lookup, project=F.project):
    return F.cross_entropy(project(F.tanh(lookup(E, IDS)), E), IDS[:, ::-1])


_half = broken("project", lambda g, s: (F.project.backward(g, s)[0], None))
_first = broken("lookup", lambda g, s: None)

plant("head detached", "missing path",
      lambda E: _tied(E, project=lambda h, E: F.project(h, E.data)), (V, D))  # fmt: skip
plant("lookup detached", "missing path",
      lambda E: _tied(E, lookup=lambda E, ids: F.lookup(E.data, ids)), (V, D))  # fmt: skip
plant("head without dweight", "missing path", lambda E: _tied(E, project=_half), (V, D))
plant("lookup without dweight", "missing path", lambda E: _tied(E, lookup=_first), (V, D))
plant("all off the tape", "missing path", lambda E: Tensor(np.tanh(E.data)), (V, D))

# ---- products ------------------------------------------------------------------------------------

plant("matmul untransposed", "transposed",
      broken("matmul", lambda g, s: (g @ s.b, s.a.T @ g)), (3, 3), (3, 3))  # fmt: skip
plant("matmul dW transposed", "transposed",
      broken("matmul", lambda g, s: (g @ s.b.T, g.T @ s.a)), (4, 3), (3, 3))  # fmt: skip
plant("matmul dW of another shape", "transposed",
      broken("matmul", lambda g, s: (g @ s.b.T, g.T @ s.a)), (4, 3), (3, 2))  # fmt: skip
plant("matmul answers exchanged", "exchanged gradients",
      broken("matmul", lambda g, s: (s.a.T @ g, g @ s.b.T)), (3, 3), (3, 3))  # fmt: skip
plant("project dh untransposed", "transposed",
      broken("project", lambda g, s: (g @ s.weight.T, g.T @ s.h)), (4, 3), (3, 3))  # fmt: skip
plant("project dweight transposed", "transposed",
      broken("project", lambda g, s: (g @ s.weight, s.h.T @ g)), (4, 3), (3, 3))  # fmt: skip
plant("project bias not summed", "broadcast not summed",
      broken("project", lambda g, s: (*F.project.backward(g, s)[:2], g[0])),
      (4, 3), (5, 3), (5,))  # fmt: skip
plant("project bias summed along the wrong axis", "wrong axis",
      broken("project", lambda g, s: (*F.project.backward(g, s)[:2], g.sum(axis=1))),
      (4, 3), (4, 3), (4,))  # fmt: skip
plant("matmul dW of the last sample", "sample dropped",
      broken("matmul", lambda g, s: (g @ s.b.T, s.a[-1:].T @ g[-1:])), (4, 3), (3, 2))  # fmt: skip
plant("matmul dW without the first sample", "sample dropped",
      broken("matmul", lambda g, s: (g @ s.b.T, s.a[1:].T @ g[1:])), (4, 3), (3, 2))  # fmt: skip
plant("project bias averaged", "broadcast not summed",
      broken("project", lambda g, s: (*F.project.backward(g, s)[:2], g.mean(axis=0))),
      (4, 3), (5, 3), (5,))  # fmt: skip
plant("one-hot untransposed", "transposed",
      broken("onehot_product", lambda g, s: (g @ s.weight, s.onehot.T @ g)),
      (4, 3), (3, 3))  # fmt: skip
plant("one-hot takes no dweight", "missing path",
      broken("onehot_product", lambda g, s: (g @ s.weight.T, None)), (4, 3), (3, 3))  # fmt: skip

# ---- from scores to a loss -----------------------------------------------------------------------


def _entropy(backward, **options):
    op = broken("cross_entropy", backward)
    return lambda z: op(z, TARGETS, **options)


def _all_positions(g, s):
    real = F.cross_entropy.backward(g, s._replace(scale=np.full(4, s.scale.max())))
    return real


plant("p instead of p - 1", "no shift by the target",
      _entropy(lambda g, s: g * s.scale[:, None] * np.exp(s.log_p)), (4, 5))  # fmt: skip
plant("loss not divided by N", "missing mean factor",
      _entropy(lambda g, s: 4 * F.cross_entropy.backward(g, s)), (4, 5))  # fmt: skip
plant("1 - p", "wrong sign", _entropy(lambda g, s: -F.cross_entropy.backward(g, s)), (4, 5))
plant("ignored positions paid", "leak", _entropy(_all_positions, ignore_index=0), (4, 5))
plant("loss forgets dout", "dout ignored",
      _entropy(lambda g, s: F.cross_entropy.backward(np.ones(()), s)), (4, 5))  # fmt: skip
plant("softmax p (1 - p)", "softmax diagonal",
      broken("softmax", lambda g, s: g * s[0] * (1 - s[0])), (4, 5))  # fmt: skip
plant("log-softmax without p", "softmax diagonal",
      broken("log_softmax", lambda g, s: g), (4, 5))  # fmt: skip


def _sgns(change):
    return broken("sgns", lambda g, s: change(g, s, *F.sgns.backward(g, s)))


def _without_label(g, s, dcenter, dcontext, dnegatives):
    e = g * sigmoid_forward(s.positive_score)[0][:, None]
    f = F.sgns.backward(g, s._replace(context=np.zeros_like(s.context)))[0]
    return e * s.context + f, e * s.center, dnegatives


_SGNS = (4, 3), (4, 3), (4, 2, 3)
plant("sgns s instead of s - 1", "no shift by the target", _sgns(_without_label), *_SGNS)
plant("sgns pushes negatives up", "wrong sign", _sgns(lambda g, s, a, b, c: (a, b, -c)), *_SGNS)
plant("sgns exchanged", "exchanged gradients", _sgns(lambda g, s, a, b, c: (b, a, c)), *_SGNS)
plant("sgns negatives left out", "missing path", _sgns(lambda g, s, a, b, c: (a, b, None)), *_SGNS)
plant("cbow without its mean", "missing mean factor",
      broken("cbow", lambda g, s: (2 * F.cbow.backward(g, s)[0], *F.cbow.backward(g, s)[1:])),
      (4, 2, 3), (4, 3), (4, 2, 3))  # fmt: skip

# ---- arithmetic, reductions, moves ---------------------------------------------------------------

plant("sub with a plus", "wrong sign", broken("sub", lambda g, s: (g, g)), (4, 3), (4, 3))
plant("mul by itself", "exchanged gradients",
      broken("mul", lambda g, s: (g * s[0], g * s[1])), (4, 3), (4, 3))  # fmt: skip
plant("div not squared", "wrong slope",
      broken("div", lambda g, s: (g / s[1], -g * s[0] / s[1])), (4, 3), (4, 3))  # fmt: skip
plant("add of another shape", "broadcast not summed",
      broken("add", lambda g, s: (g, g)), (4, 3), (3,))  # fmt: skip
plant("add keeps one copy", "broadcast not summed",
      broken("add", lambda g, s: (g, g[-1])), (4, 3), (3,))  # fmt: skip
plant("mul keeps one copy", "broadcast not summed",
      broken("mul", lambda g, s: (g * s[1], (g * s[0])[:1])), (4, 3), (1, 3))  # fmt: skip
plant("mean without 1/n", "missing mean factor",
      lambda x: broken("mean", F.sum.backward)(x, axis=0), (4, 3))  # fmt: skip
plant("sum with 1/n", "constant factor",
      lambda x: broken("sum", F.mean.backward)(x, axis=0), (4, 3))  # fmt: skip
plant("exponent forgotten", "constant factor",
      lambda x: broken("power", lambda g, s: g * s[0] ** 2)(x, 3), (4, 3))  # fmt: skip
plant("transpose not undone", "transposed",
      lambda x: broken("transpose", lambda g, s: g.transpose(s[0]))(x, (1, 2, 0)),
      (3, 3, 3))  # fmt: skip
plant("reshape column by column", "transposed",
      lambda x: broken("reshape", lambda g, s: g.reshape(s[0], order="F"))(x, (2, 6)),
      (4, 3))  # fmt: skip


def _index_overwrites(g, s):
    out = np.zeros(s[0])
    out[s[1]] = g
    return out


plant("index loses repeats", "overwritten",
      lambda x: broken("getitem", _index_overwrites)(x, [1, 1, 2]), (4, 3))  # fmt: skip
plant("parts exchanged", "exchanged gradients",
      broken("concatenate", lambda g, s: F.concatenate.backward(g, s)[::-1]),
      (4, 3), (4, 3))  # fmt: skip


def _stack(a, b):
    return np.stack([a, b], axis=1), ()


for _name, _cause, _backward in (
    ("stack undone along the first axis", "wrong axis", lambda g, s: (g[0], g[1])),
    ("stack undone along the last axis", "wrong axis", lambda g, s: (g[..., 0], g[..., 1])),
    ("stack undone in the wrong order", "exchanged gradients", lambda g, s: (g[:, 1], g[:, 0])),
):
    plant(_name, _cause, differentiable(_stack, _backward, "stack"), (2, 2), (2, 2))
plant("first of a stack exchanged", "exchanged gradients",
      differentiable(lambda a, b: (np.stack([a, b]), ()), lambda g, s: (g[1], g[0]), "stack"),
      (4, 3), (4, 3))  # fmt: skip


def _one_row_less(g, s):
    return g * s[0] * (np.arange(4) != 2)[:, None]


plant("a row of numbers forgotten", "row dropped", broken("exp", _one_row_less), (4, 3))
plant("unfold by reshape", "misplaced",
      lambda x: broken("unfold", lambda g, s: g.reshape(s.shape))(x, 2), (2, 4, 6))  # fmt: skip
plant("fold by reshape", "misplaced",
      lambda x: broken("fold", lambda g, s: g.reshape(6, 4))(x, (4, 6), 2), (6, 4))  # fmt: skip
plant("turned on, not back", "transposed",
      broken("rotary", lambda g, s: F.rotary.backward(g, s._replace(sin=-s.sin))),
      (3, 4))  # fmt: skip

# ---- entry by entry ------------------------------------------------------------------------------

plant("tanh without the square", "wrong slope",
      broken("tanh", lambda g, s: g * (1 - s[0])), (4, 3))  # fmt: skip
plant("exp handed on", "dout passed on", broken("exp", lambda g, s: g), (4, 3))
plant("relu lets all through", "leak", broken("relu", lambda g, s: g), (4, 3))
plant("exp answers NaN", "not a number",
      lambda x: broken("exp", lambda g, s: g * s[0] * np.nan)(F.tanh(x)), (4, 5))  # fmt: skip
plant("infinity in one column", "not a number",
      broken("exp", lambda g, s: np.where(np.arange(5) == 3, np.inf, g * s[0])),
      (4, 5))  # fmt: skip
plant("relu guided", "dout cut off",
      broken("relu", lambda g, s: np.where(s[0], 0, np.maximum(g, 0))), (3, 2))  # fmt: skip
plant("relu of the gradient", "dout cut off",
      broken("relu", lambda g, s: np.maximum(g, 0)), (4, 3))  # fmt: skip
plant("sigmoid half off", "constant factor",
      broken("sigmoid", lambda g, s: 0.5 * F.sigmoid.backward(g, s)), (4, 3))  # fmt: skip
plant("dropout forgets its mask", "leak",
      lambda x: broken("dropout", lambda g, s: g / (1 - s.p))(x, 0.4, 3), (4, 5))  # fmt: skip
plant("dropout forgets its scale", "constant factor",
      lambda x: broken("dropout", lambda g, s: g * s.kept)(x, 0.4, 3), (4, 5))  # fmt: skip

# ---- layers of a model ---------------------------------------------------------------------------


def _norm(change):
    return broken("layer_norm", lambda g, s: change(g, s, *F.layer_norm.backward(g, s)))


_NORM = (4, 5), (5,), (5,)
plant("norm takes its mean for constant", "statistics held constant",
      _norm(lambda g, s, dx, dgamma, dbeta: (g * s.gamma * s.inverse, dgamma, dbeta)),
      *_NORM)  # fmt: skip


def _through_statistics(name: str, change):
    """LayerNorm whose dx is inverse (h - change(h, x_hat)), h = g gamma."""

    def wrong(g, s, dx, dgamma, dbeta):
        h = g * s.gamma
        return s.inverse * (h - change(h, s.x_hat)), dgamma, dbeta

    plant(name, "statistics wrong", _norm(wrong), *_NORM)


def _mean(a):
    return a.mean(axis=-1, keepdims=True)


_through_statistics("norm's mean taken twice", lambda h, x: 2 * _mean(h) + x * _mean(h * x))
_through_statistics("norm's sum for a mean", lambda h, x: 5 * _mean(h) + x * _mean(h * x))
_through_statistics("norm without variance", lambda h, x: _mean(h))
_through_statistics("norm without mean", lambda h, x: x * _mean(h * x))
_through_statistics("norm's variance doubled", lambda h, x: _mean(h) + 2 * x * _mean(h * x))
plant("norm beta not summed", "broadcast not summed",
      _norm(lambda g, s, dx, dgamma, dbeta: (dx, dgamma, g[0])), *_NORM)  # fmt: skip
plant("norm beta of another shape", "broadcast not summed",
      _norm(lambda g, s, dx, dgamma, dbeta: (dx, dgamma, g)), *_NORM)  # fmt: skip
plant("rms taken for constant", "statistics held constant",
      broken("rms_norm", lambda g, s: (g * s.gamma * s.inverse, F.rms_norm.backward(g, s)[1])),
      (4, 5), (5,))  # fmt: skip


def _attend(change):
    return broken("attention", lambda g, s: change(g, s, *F.attention.backward(g, s)))


_QKV = (3, 4), (3, 4), (3, 4)
plant("attention without its scale", "constant factor",
      _attend(lambda g, s, dq, dk, dv: (dq / s.scale, dk / s.scale, dv)), *_QKV)  # fmt: skip
plant("attention exchanges k and v", "exchanged gradients",
      _attend(lambda g, s, dq, dk, dv: (dq, dv, dk)), *_QKV)  # fmt: skip
plant("attention values untransposed", "transposed",
      _attend(lambda g, s, dq, dk, dv: (dq, dk, s.weights @ g)), *_QKV)  # fmt: skip


def _bag_overwrites(g, s):
    out = np.zeros((s.num_rows, g.shape[1]))
    out[s.ids] = g[s.bags]
    return out


def _bag_sums(g, s):
    return F.embedding_bag.backward(g, s._replace(factors=None))


def _bag_by_bag(g, s):
    out = np.zeros((s.num_rows, g.shape[1]))
    for bag in range(len(g)):
        out[s.ids[s.bags == bag]] += g[bag]
    return out


plant("bag loses repeats within a bag", "overwritten",
      lambda E: broken("embedding_bag", _bag_by_bag)(E, IDS, mode="sum"), (V, D))  # fmt: skip
plant("bag loses repeats", "overwritten",
      lambda E: broken("embedding_bag", _bag_overwrites)(E, IDS, mode="sum"), (V, D))  # fmt: skip
plant("bag mean without 1/n", "missing mean factor",
      lambda E: broken("embedding_bag", _bag_sums)(E, IDS, mode="mean"), (V, D))  # fmt: skip

# ---- not the numbers, but the way ----------------------------------------------------------------


def _in_place_forward(a):
    a *= 0.5
    return a.copy(), ()


def _writes_into_dout(g, s):
    g *= 1 - s[0] * s[0]
    return g


def _eats_what_was_saved(g, s):
    s[0][...] *= 0.5
    return g * s[0] * 2


def _saves_an_object(x):
    return np.exp(x), SimpleNamespace(p=np.exp(x))


def _writes_into_an_object(g, s):
    s.p *= g
    return s.p


def _sorts_saved_ids(g, s):
    dE = F.lookup.backward(g, s)
    s.ids.sort()
    return dE


def _in_memory_order(g, s):
    return g.ravel(order="K").reshape(g.shape) * s[0]


def _workspace(x):
    buffer = np.empty((4, 3))
    double = differentiable(
        lambda a: (2 * a, ()), lambda g, s: np.multiply(g, 2, out=buffer), "double"
    )
    return F.tanh(double(x)) + double(x)


def _closes_over(x):
    factor = x.data.copy()
    return differentiable(lambda a: (a * factor, ()), lambda g, s: g * factor, "mine")(x)


plant("backward sorts what was saved", "in-place gradient",
      lambda E: broken("lookup", _sorts_saved_ids)(E, IDS.copy()), (V, D))  # fmt: skip
plant("dout read in the order of memory", "memory order",
      lambda x: F.transpose(broken("exp", _in_memory_order)(x), (1, 0)), (4, 4))  # fmt: skip
plant("workspace handed back", "workspace handed back", _workspace, (4, 3))
plant("array closed over", "missing path", _closes_over, (4, 3))
plant("detached through a float", "missing path", lambda x: x * float(x.data.sum()), (4, 3))

_noise = np.random.default_rng(5)

plant("forward writes into x", "in-place input",
      differentiable(_in_place_forward, lambda g, s: 0.5 * g, "halve"), (4, 3))  # fmt: skip
plant("backward writes into dout", "in-place gradient",
      lambda x, y: broken("tanh", _writes_into_dout)(x) + y, (4, 3), (4, 3))  # fmt: skip
plant("backward eats what was saved", "in-place gradient",
      broken("exp", _eats_what_was_saved), (4, 3))  # fmt: skip
plant("backward writes into a saved object", "in-place gradient",
      differentiable(_saves_an_object, _writes_into_an_object, "exp"), (4, 3))  # fmt: skip
plant("random backward", "not deterministic",
      broken("exp", lambda g, s: g * s[0] * _noise.random()), (4, 3))  # fmt: skip

# ---- more than one way through one operation -----------------------------------------------------


def own(name: str, cause: str, forward, backward, *shapes, given=()):
    """A learner's own pair, which is handed the arrays in `given` after its tensors."""
    op = differentiable(forward, backward, name="mine")
    plant(name, cause, lambda *tensors: op(*tensors, *given), *shapes)


def _residual(x):
    t = np.tanh(x)
    return x + t, 1 - t * t


own("residual forgotten", "residual", _residual, lambda g, slope: g * slope, (4, 3))
own("residual paid twice", "residual", _residual, lambda g, slope: g * (2 + slope), (4, 3))


def _recurrent(x, u):
    h = [np.zeros(x.shape[1:])]
    for now in x:
        h.append(np.tanh(now + h[-1] @ u))
    return np.stack(h[1:]), (u, np.stack(h))


def _nothing_through_time(dout, saved):
    _, h = saved
    dx = dout * (1 - h[1:] ** 2)
    return dx, np.einsum("tnd,tne->de", h[:-1], dx)


own("nothing through time", "missing path", _recurrent, _nothing_through_time, (4, 2, 3), (3, 3))

ONE, OTHER = np.array([4, 1, 4, 0]), np.array([3, 3, 2, 1])


def _two_hashes(E, one, other):
    return E[one] + E[other], (E.shape, one, other)


def _one_hash(dout, saved):
    shape, one, _ = saved
    dE = np.zeros(shape)
    np.add.at(dE, one, dout)
    return dE


own("second hash unpaid", "missing path", _two_hashes, _one_hash, (V, D), given=(ONE, OTHER))

BAGS = np.array([0, 1, 1, 1, 2, 2])


def _bag_means(E, ids):
    sums = np.zeros((3, E.shape[1]), E.dtype)
    np.add.at(sums, BAGS, E[ids])
    return sums / np.bincount(BAGS)[:, None], (E.shape, ids)


def _counting(counts):
    """The backward of a mean over bags that divides by these counts."""

    def backward(dout, saved):
        shape, ids = saved
        dE = np.zeros(shape)
        np.add.at(dE, ids, (dout / np.array(counts)[:, None])[BAGS])
        return dE

    return backward


for _name, _counts in (("the next bag", [3, 2, 1]), ("all and one", [2, 4, 3]), ("all", [2, 2, 2])):
    own(f"bag counts of {_name}", "wrong weights", _bag_means, _counting(_counts), (V, D),
        given=(IDS.reshape(-1),))  # fmt: skip

own("dout squared", "dout not linear", lambda x: (np.sin(x), x), lambda g, x: g * g * np.cos(x),
    (4, 3))  # fmt: skip
own("dout clipped", "dout not linear", lambda x: (np.sin(x), x),
    lambda g, x: np.clip(g, -0.5, 0.5) * np.cos(x), (4, 3))  # fmt: skip
own("half of 6,000 entries", "constant factor", lambda x: (x * x, x), lambda g, x: g * x, (100, 60))
