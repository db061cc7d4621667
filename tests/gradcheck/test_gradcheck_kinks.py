"""Several kinks in one operation: each output may take a side, and nothing else is excused."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.beside import wrong_aside
from scratch_embed.gradcheck.data import holding
from scratch_embed.gradcheck.numeric import stream
from scratch_embed.gradcheck.point import Point
from scratch_embed.layers import Embedding, LayerNorm, Linear, TransformerBlock
from tests.gradcheck import planted


def leaf(data: np.ndarray) -> Tensor:
    return Tensor(data, requires_grad=True, name="x")


def relu_of_product(backward):
    """relu(x @ W) in one operation: at x = 0 each output is on a kink."""

    def forward(x, W):
        z = x @ W
        return np.where(z.real > 0, z, 0), (x, W, z)

    def both(g, saved):
        x, W, z = saved
        dz = backward(g, z)
        return dz @ W.T, x.T @ dz

    return differentiable(forward, both, name="relu_of_product")


@pytest.mark.parametrize("seed", range(3))
def test_where_an_operation_meets_several_kinks_each_output_may_take_a_side(seed):
    x = leaf(np.zeros((2, 3)))
    W = leaf(np.random.default_rng(seed).standard_normal((3, 4)))
    for at_zero in (0, 1, 0.5):

        def right(g, z, at_zero=at_zero):
            return g * np.where(z == 0, at_zero, z > 0)

        assert gradcheck(relu_of_product(right), x, W, seed=seed).passed
    for wrong in (lambda g, z: 3 * g, lambda g, z: -g, lambda g, z: g[::-1]):
        assert not gradcheck(relu_of_product(wrong), x, W, seed=seed).passed
    bags = [[0, 1], [2, 3], [3, 1], [3, 0]]
    table = leaf(np.zeros((4, 3)))
    assert gradcheck(lambda E: F.embedding_bag(E, bags, mode="max"), table, seed=seed).passed


def test_what_cannot_be_run_again_alone_has_no_kinks():
    """A Generator has moved on: another mask makes slopes that jump at every step."""
    x = leaf(np.random.default_rng(1).standard_normal((3, 4)))
    right = F.dropout.backward
    for wrong, cause in (
        (lambda g, s: g * 1.0, "dout passed on"),
        (lambda g, s: -right(g, s), "wrong sign"),
        (lambda g, s: 0.5 * right(g, s), "constant factor"),
    ):
        dropout = planted.broken("dropout", wrong)
        report = gradcheck(lambda x, f=dropout: f(x, 0.5, np.random.default_rng(0)), x)
        assert [(c.name, c.op) for c in report.causes] == [(cause, "dropout")]


# ---- a direction that comes to a kink ------------------------------------------------------------


def pool(share: float):
    """The largest of each pair, and to it `share` of what arrives; of equal ones to the first."""

    def forward(x):
        k = x.argmax(-1)[..., None]
        return np.take_along_axis(x, k, -1)[..., 0], (k, x.shape)

    def backward(dout, saved):
        k, shape = saved
        dx = np.zeros(shape)
        np.put_along_axis(dx, k, share * dout[..., None], -1)
        return dx

    return differentiable(forward, backward, name="pool")


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
@pytest.mark.parametrize("seed", range(3))
def test_a_kink_on_the_way_hides_no_wrong_gradient(mode, seed):
    rng = np.random.default_rng(seed)
    x = leaf(rng.integers(0, 3, (3, 4, 2)).astype(float))
    W = leaf(rng.standard_normal((4, 2)))
    for share, passed in ((1, True), (-1, False), (10, False), (0.5, False), (0, False)):
        op = pool(share)
        assert gradcheck(lambda x, W, op=op: op(x) @ W, x, W, mode=mode).passed == passed


@pytest.mark.parametrize("lost", [0, 1])
def test_a_row_of_zeros_before_relu_hides_no_lost_id(lost):
    """Of 300 ids in a table of 500 rows, of which few are nudged one by one."""

    def backward(dout, saved):
        shape, ids = saved
        dE = np.zeros(shape)
        np.add.at(dE, ids[: len(ids) - lost], dout[: len(ids) - lost])
        return dE

    lookup = differentiable(lambda E, ids: (E[ids], (E.shape, ids)), backward, name="lookup")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        E, ids = rng.standard_normal((500, 8)), rng.integers(1, 500, 300)
        E[0], ids[5] = 0, 0
        report = gradcheck(lambda E, ids=ids: F.relu(lookup(E, ids)), leaf(E))
        assert report.passed == (not lost), report


# ---- ties ----------------------------------------------------------------------------------------


def largest(pays):
    return differentiable(lambda x: (x.max(-1), x), pays, name="largest")


def shared(share: float):
    return lambda g, x: g[:, None] * (x == x.max(-1, keepdims=True)) * share


def evenly(g, x):
    most = x == x.max(-1, keepdims=True)
    return g[:, None] * most / most.sum(-1, keepdims=True)


def first_and_half(g, x):
    dx = shared(0.5)(g, x)
    dx[np.arange(len(x)), x.argmax(-1)] = g
    return dx


@pytest.mark.parametrize(
    ("pays", "passed"), [(evenly, True), (shared(0.5), False), (shared(0.0), False)]
)
def test_three_that_share_are_paid_once_also_where_each_half_is_a_mean_of_slopes(pays, passed):
    report = gradcheck(largest(pays), leaf(np.array([[1.0, 1.0, 1.0, 0.0]])))
    assert (report.passed, report.cause) == (passed, None if passed else "ties")


def test_a_share_that_is_right_at_these_ties_alone():
    report = gradcheck(largest(shared(1 / 3)), leaf(np.array([[1.0, 1.0, 1.0, 0.0]])))
    assert not report.passed and "a little beside this point" in report.problems[0]


def test_a_lost_gradient_of_which_each_entry_is_excused_by_a_kink_behind():
    """Equal rows are centred to 0, where a leaky relu has its kink."""
    centred = differentiable(lambda x: (x - x.mean(0), ()), lambda g, saved: 0 * g, name="centred")
    leaky = differentiable(
        lambda x: (np.maximum(x, 0.1 * x), x),
        lambda g, x: g * np.where(x > 0, 1, 0.1),
        name="leaky",
    )
    x = leaf(np.tile([1.9, -0.5, -1.1], (2, 1)))
    for mode in ("elementwise", "directional"):
        report = gradcheck(lambda x: leaky(centred(x)), x, mode=mode)
        assert not report.passed and "centred" in str(report)


def test_of_two_that_share_one_is_paid_in_full_and_the_other_not():
    x = leaf(np.array([[1.0, 1.0, 0.3, 0.0], [2.0, 2.0, -1.0, 0.5]]))
    assert gradcheck(largest(first_and_half), x).cause == "ties"


@pytest.mark.parametrize(
    ("first", "second", "passed"),
    [
        (np.greater_equal, np.greater, True),
        (np.greater_equal, np.greater_equal, False),  # paid twice
        (np.greater, np.greater, False),  # not at all
    ],
)
def test_two_inputs_that_are_equal_are_paid_once_together(first, second, passed):
    def backward(g, saved):
        a, b = saved
        return g * first(a, b), g * second(b, a)

    maximum = differentiable(lambda a, b: (np.maximum(a, b), (a, b)), backward, name="maximum")
    a, b = leaf(np.array([1.0, 2.0, 0.5])), leaf(np.array([1.0, -1.0, 3.0]))
    a.name, b.name = "a", "b"
    report = gradcheck(maximum, a, b)
    assert (report.passed, report.cause) == (passed, None if passed else "ties")
    if not passed:
        assert report.worst.parameter == "a and b" and report.worst.index is None
        assert "a and b where those move together that share a kink" in str(report)


@pytest.mark.parametrize(
    "fn", [lambda x: F.relu(largest(shared(1.0))(x)), lambda x: largest(shared(1.0))(x)]
)
def test_one_lone_kink_does_not_hide_ties_that_are_paid_twice(fn):
    x = leaf(np.array([[2.0, 2.0, 1.0], [0.0, -1.0, -3.0]]))
    assert gradcheck(fn, x).cause == "ties"


def test_two_equal_sizes_of_opposite_sign_are_paid_once():
    def pays(share):
        def backward(g, x):
            largest = abs(x) == abs(x).max(-1)[:, None]
            return share ** (largest.sum() - 1) * np.sign(x) * largest * g[:, None]

        return backward

    for share, cause in ((1.0, "ties"), (0.5, None)):
        size = differentiable(lambda x: (abs(x).max(-1), x), pays(share), name="size")
        assert gradcheck(size, leaf(np.array([[2.0, -2.0, 1.0]]))).cause == cause


def test_two_kinks_that_cancel_are_not_taken_for_one():
    """clip pays nothing at either bound: moved up, one number begins to count, and one ceases."""
    clip = differentiable(
        lambda x: (np.clip(x, -1, 1), x), lambda g, x: g * (abs(x) < 1), name="clip"
    )
    assert gradcheck(lambda x: clip(x).sum(), leaf(np.array([1.0, -1.0, 0.5]))).passed


@pytest.mark.parametrize("f", [F.log, F.sqrt, lambda x: F.exp(x * 2000.0)])
def test_what_comes_together_is_measured_by_steps_that_suit(f):
    def backward(g, saved):
        a, b = saved
        return g * (a >= b), g * (a < b)

    maximum = differentiable(lambda a, b: (np.maximum(a, b), (a, b)), backward, name="maximum")
    a, b = leaf(np.array([1e-3, 2e-3])), leaf(np.array([1e-3, 1e-3]))
    assert gradcheck(lambda a, b: f(maximum(a, b)), a, b).passed


def test_kinks_that_are_gone_from_the_whole_are_no_hidden_path():
    """relu(x) - relu(-x) is x, whose slope is 1 at 0 too, and both relus pay 0 there."""
    report = gradcheck(lambda x: F.relu(x) - F.relu(-x), leaf(np.array([0.0, 1.0, -2.0])))
    assert (report.cause, {cause.op for cause in report.causes}) == ("kinks that cancel", {"relu"})

    def by_itself(x):
        y = F.relu(F.relu(x))
        y.data[...] *= x.data.sum()
        return y

    report = gradcheck(by_itself, leaf(np.array([0.0, 1.0, -2.0])))
    assert report.cause == "in-place output" and not report.passed


def test_kinks_that_are_gone_are_no_hidden_path_beside_an_option_either():
    def by_itself(E):
        x = F.lookup(E, [0, 1, 1, 2], scale_grad_by_freq=True)
        return F.relu(x) - F.relu(-x)

    report = gradcheck(by_itself, leaf(np.array([[0.0, 2.0], [1.0, -2.0], [0.5, 0.0]])))
    assert report.cause == "kinks that cancel" and not report.passed


@pytest.mark.parametrize("by_count", [True, False])
@pytest.mark.parametrize("seed", [2, 3, 5])
def test_a_padding_row_of_zeros_before_norms_and_relus_raises_no_alarm(by_count, seed):
    """What is left out of its gradient is 1e9 times as large as the rest; all relus are at 0."""
    table = Embedding(
        3, 2, padding_idx=0, scale_grad_by_freq=by_count, dtype=np.float64, rng=seed, init=0.5
    )
    block = TransformerBlock(2, 2, causal=True, dtype=np.float64, rng=seed)
    norm, head = LayerNorm(2, dtype=np.float64), Linear(2, 3, dtype=np.float64, rng=seed)
    layers = table, block, norm, head

    def loss(*_):
        scores = head(norm(block(table([[0, 1, 1]]))))
        return F.cross_entropy(scores, [[1, 2, 0]], label_smoothing=0.1)

    weights = [weight for layer in layers for weight in layer.parameters()]
    report = gradcheck(loss, *weights, max_entries=40, seed=seed)
    assert report.agrees and not report.causes


@pytest.mark.parametrize("option", ["padding_idx", "scale_grad_by_freq"])
def test_an_option_of_rows_to_which_nothing_arrives_at_a_kink_raises_no_alarm_beside_it(option):
    """At 0 relu takes its side of 0, so that the option leaves nothing out; beside it, it does."""
    E = np.random.default_rng(0).standard_normal((5, 3))
    E[0] = 0
    options = {"padding_idx": 0} if option == "padding_idx" else {"scale_grad_by_freq": True}
    ids = [[0, 1, 2], [3, 4, 0]]

    wrong = differentiable(F.relu.forward, lambda g, saved: 2 * g * ~saved[0], name="wrong_relu")
    for relu, right in ((F.relu, True), (wrong, False)):

        def fn(E, b, relu=relu):
            return relu(F.lookup(E, ids, **options) + b)

        assert gradcheck(fn, leaf(E), leaf(np.zeros(3))).passed is right


@pytest.mark.parametrize("mode", ["elementwise", "directional"])
def test_a_tied_table_that_a_nudge_takes_beyond_its_max_norm_is_put_back(mode):
    """Forward has cut nothing; a step of its own does, and writes to what the tape has kept."""
    table = Embedding.from_pretrained(np.array([[0.6, 0.8 - 1e-9], [0.3, 0.1]]), freeze=False,
                                      max_norm=1.0)  # fmt: skip
    before = table.weight.data.copy()

    def loss(*_):
        return F.cross_entropy(F.project(F.tanh(table([0, 1, 1])), table.weight), [1, 0, 0])

    report = gradcheck(loss, table.weight, mode=mode)
    assert not report.problems and not report.causes
    assert np.array_equal(table.weight.data, before)


def test_what_rounding_has_lost_beside_a_kink_is_not_called_wrong():
    """1 + exp(-36) is the next number after 1: ln of it goes in steps, and its slope is 2e-16."""
    x = leaf(np.random.default_rng(0).uniform(-37, -35, 8))
    with holding([x]):
        assert wrong_aside(Point(lambda x: F.log(F.exp(x) + 1), (x,), stream(0))) == []
