"""What stands around a step: RMSProp as published, the length of a gradient, the step size."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scratch_embed import SGD, Adam, RMSProp, RowGrad, Tensor
from scratch_embed.functional import lookup
from scratch_embed.optim import clip_grad_norm, warmup_cosine


def published(gradients, w, lr, alpha, eps, momentum, forget=True):
    """RMSProp number by number, as it is written down. forget=False is a mistake: Adagrad's sum."""
    w, mean, velocity = w.copy(), np.zeros_like(w), np.zeros_like(w)
    for g in gradients:
        for k in np.ndindex(w.shape):
            keep, add = (alpha, 1 - alpha) if forget else (1.0, 1.0)
            mean[k] = keep * mean[k] + add * g[k] ** 2
            velocity[k] = momentum * velocity[k] + g[k] / (np.sqrt(mean[k]) + eps)
            w[k] -= lr * velocity[k]
    return w


@pytest.mark.parametrize("seed", range(20))
def test_rmsprop_takes_the_published_steps(seed):
    rng = np.random.default_rng(seed)
    options = {
        "lr": 10 ** rng.uniform(-4, -1),
        "alpha": rng.uniform(0.5, 0.999),
        "eps": 10 ** rng.uniform(-10, -2),
        "momentum": rng.choice([0.0, rng.uniform(0, 0.99)]),
    }
    start = rng.standard_normal((3, 2))
    gradients = rng.standard_normal((5, 3, 2)) * 10 ** rng.uniform(-3, 3, (3, 2))
    w = Tensor(start.copy(), requires_grad=True)
    optimizer = RMSProp([w], **options)
    for g in gradients:
        w.grad = g
        optimizer.step()
    np.testing.assert_allclose(w.data, published(gradients, start, **options), rtol=1e-9)
    assert not np.allclose(w.data, published(gradients, start, **options, forget=False))


def test_rmsprop_refuses_a_row_gradient():
    E = Tensor(np.zeros((4, 2)), requires_grad=True, name="E")
    E.grad = RowGrad([1], np.ones((1, 2)), (4, 2))
    with pytest.raises(TypeError, match="RMSProp moves every row .* use Adagrad"):
        RMSProp([E]).step()


# ---- clipping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_all_gradients_are_shortened_together(sparse):
    rng = np.random.default_rng(3)
    E = Tensor(rng.standard_normal((6, 3)), requires_grad=True)
    W = Tensor(rng.standard_normal((3, 3)), requires_grad=True)
    unused = Tensor(np.zeros(2), requires_grad=True)
    ids, cotangent = np.array([2, 4, 2, 2]), rng.standard_normal((4, 3))
    (lookup(E, ids, sparse=sparse) @ W).backward(cotangent)
    before = [np.asarray(E.grad), W.grad.copy()]
    length = np.linalg.norm(np.concatenate([g.ravel() for g in before]))

    assert clip_grad_norm([unused], 1.0) == 0.0 and unused.grad is None
    assert clip_grad_norm([E, W, unused], 2 * length) == pytest.approx(length)
    np.testing.assert_array_equal(np.asarray(E.grad), before[0])
    assert clip_grad_norm([E, W, unused], length / 4) == pytest.approx(length)
    assert isinstance(E.grad, RowGrad) == sparse and unused.grad is None
    for now, then in zip((E.grad, W.grad), before):
        np.testing.assert_allclose(np.asarray(now), then / 4)


def test_a_row_that_is_used_twice_counts_as_its_sum():
    """Counted use by use the length would be sqrt(1 + 1), and of the sum it is 2."""
    E = Tensor(np.zeros((3, 1)), requires_grad=True)
    lookup(E, np.array([1, 1]), sparse=True).backward(np.ones((2, 1)))
    assert clip_grad_norm([E], 1.0) == 2.0
    assert E.grad.values.tolist() == [[1.0]]


def test_a_shared_gradient_is_not_written_to():
    g = np.array([3.0, 4.0])
    w = Tensor(np.zeros(2), requires_grad=True)
    w.grad = g
    clip_grad_norm([w], 1.0)
    assert g.tolist() == [3.0, 4.0] and w.grad.dtype == np.float64


def test_a_tied_table_that_comes_twice_counts_once():
    """Counted twice the length would be 7.07, and what is left a fiftieth."""
    E = Tensor(np.zeros(2), requires_grad=True)
    E.grad = np.array([3, 4])  # whole numbers: a factor of 1/5 among them is 0
    assert clip_grad_norm(iter([E, E]), 1.0) == 5.0
    np.testing.assert_allclose(E.grad, [0.6, 0.8])


def test_params_that_no_optimiser_would_take_are_refused():
    E = Tensor(np.zeros((2, 1)), requires_grad=True)
    for params, words in ((E, r"\[tensor\]"), ([{"params": [E]}], r"params\[0\] is a dict")):
        with pytest.raises(TypeError, match=words):
            clip_grad_norm(params, 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, np.finfo(float).max])
def test_a_length_that_is_not_finite_is_told_and_nothing_changes(bad):
    a, b = (Tensor(np.ones(2), requires_grad=True, name=name) for name in "ab")
    a.grad, b.grad = np.array([1.0, 1.0]), np.array([bad, bad])
    with np.errstate(over="ignore"), pytest.raises(FloatingPointError, match="gradient of b"):
        clip_grad_norm([a, b], 0.5)
    assert a.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_a_length_whose_square_is_none_is_clipped_all_the_same(scale):
    x = Tensor(np.ones(2), requires_grad=True)
    x.grad = np.array([3.0, 4.0]) * scale
    assert clip_grad_norm([x], scale) == pytest.approx(5 * scale)
    np.testing.assert_allclose(x.grad / scale, [0.6, 0.8])


@pytest.mark.parametrize("bound", [-1.0, np.nan, "1", None])
def test_a_bound_is_a_number(bound):
    with pytest.raises((TypeError, ValueError), match="max_norm is"):
        clip_grad_norm([Tensor(np.ones(2), requires_grad=True)], bound)


# ---- step sizes ----------------------------------------------------------------------------------


def test_up_in_a_line_and_down_in_half_a_cosine():
    sizes = [warmup_cosine(step, 100, 2.0, warmup=10, floor=0.5) for step in range(120)]
    np.testing.assert_allclose(np.diff(sizes[:10]), 0.2)
    assert sizes[9] == sizes[10] == 2.0 and sizes[55] == pytest.approx(1.25)
    assert all(before >= after for before, after in itertools.pairwise(sizes[10:]))
    assert sizes[100:] == [0.5] * 20


def test_without_warm_up_it_begins_at_the_top_and_a_warm_up_may_be_all():
    assert warmup_cosine(0, 10, 1.0) == 1.0
    assert [warmup_cosine(step, 10, 1.0, warmup=10) for step in (9, 10, 11)] == [1.0, 0.0, 0.0]
    assert warmup_cosine(np.uint8(255), 300, 1.0, warmup=299) == warmup_cosine(255, 300, 1.0, 299)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 10, 1.0), "step is -1"),
        ((0, 0, 1.0), "steps is 0"),
        ((0, 5, 1.0, 6), "warmup is 6; there are only 5 steps"),
        ((0.5, 5, 1.0), "step is 0.5"),
    ],
)
def test_counts_are_whole_numbers(arguments, words):
    with pytest.raises(ValueError, match=words):
        warmup_cosine(*arguments)


def test_a_single_number_that_was_moved_by_hand_can_be_moved_by_a_rule():
    w = Tensor(1.0, requires_grad=True)
    w.data = w.data - 0.5  # np.float64, and no array
    (w * w).backward()
    SGD([w], lr=0.1).step()
    assert float(w.data) == 0.4


def test_an_iterator_that_an_optimiser_has_used_up_is_told():
    w = Tensor(np.ones(3), requires_grad=True)
    params = filter(lambda p: p.requires_grad, [w])
    SGD(params, lr=0.1)
    with pytest.raises(ValueError, match="params is empty: give a list, or optimizer.params"):
        clip_grad_norm(params, 1.0)


def paused(make, saved: bool) -> list[float]:
    """Momentum is off for a step in which one of two weights has no gradient, and on again."""
    one, other = (Tensor([1.0], requires_grad=True) for _ in range(2))
    optimizer = make([one, other])

    def step(*grads):
        for weight, grad in zip((one, other), grads):
            weight.grad = None if grad is None else np.array([grad])
        optimizer.step()

    step(1.0, 1.0)
    optimizer.momentum = 0.0
    step(1.0, None)
    if saved:
        state = optimizer.state_dict()
        optimizer = make([one, other])
        optimizer.load_state_dict(state)
    optimizer.momentum = 0.5
    step(1.0, 1.0)
    return [one.data[0], other.data[0]]


@pytest.mark.parametrize("rule", [SGD, RMSProp])
def test_a_momentum_that_is_off_and_on_again_is_resumed_to_the_same_bits(rule):
    def make(params):
        return rule(params, lr=0.1, momentum=0.5)

    assert paused(make, saved=True) == paused(make, saved=False)


@pytest.mark.parametrize("name", ["V", "exp_avg_sq"])
def test_a_misspelt_state_array_is_told_beside_the_count_of_steps(name):
    w = Tensor(np.ones(2), requires_grad=True)
    optimizer = Adam([w], lr=0.1)
    optimizer.state[0].update({"t": 100, "m": np.ones(2), name: np.ones(2)})
    w.grad = np.ones(2)
    with pytest.raises(KeyError, match=f"state holds '{name}', which Adam would not use"):
        optimizer.step()
    assert w.data.tolist() == [1, 1] and name in optimizer.state[0]


def test_a_factor_too_small_for_single_precision_does_not_make_zeros():
    w = Tensor(np.zeros(2, np.float32), requires_grad=True)
    w.grad = np.array([3e30, 4e30], np.float32)
    assert clip_grad_norm([w], 1e-10) == pytest.approx(5e30)
    np.testing.assert_allclose(w.grad, [6e-11, 8e-11], rtol=1e-6)
    assert w.grad.dtype == np.float32


def test_a_masked_gradient_is_not_measured():
    x = Tensor(np.ones(3), requires_grad=True)
    x.grad = np.ma.array([3.0, 4.0, 100.0], mask=[0, 0, 1])
    with pytest.raises(TypeError, match="a gradient is a masked array"):
        clip_grad_norm([x], 1000.0)
