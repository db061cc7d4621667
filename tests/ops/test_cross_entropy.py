"""Cross-entropy's options: reduction, class weights, label smoothing, each with ignored targets."""

from __future__ import annotations

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed import functional as F
from scratch_embed.ops.cross_entropy import cross_entropy_backward, cross_entropy_forward
from tests.wrong_backward import caught, leaf

LN2, LN3 = np.log(2), np.log(3)
LOGITS = np.array([[0.0, LN3], [0.0, LN3], [7.0, 7.0]])  # p = (1/4, 3/4) twice, (1/2, 1/2)


def losses_by_loop(logits, targets, weight, smoothing, ignore_index):
    """(losses (N,), what the mean divides by), said as plainly as PyTorch's page says it."""
    num_classes = logits.shape[1]
    losses, divisor = np.zeros(len(targets)), 0.0
    for n, target in enumerate(targets):
        if target == ignore_index:
            continue
        log_p = logits[n] - np.log(np.exp(logits[n]).sum())
        for v in range(num_classes):
            truth = (1 - smoothing) * (v == target) + smoothing / num_classes
            losses[n] -= weight[v] * truth * log_p[v]
        divisor += weight[target]
    return losses, divisor


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignore_index", [None, 2, -100])
def test_every_combination_equals_plain_loops(smoothing, weighted, ignore_index):
    rng = np.random.default_rng(0)
    logits, targets = rng.standard_normal((6, 4)), np.array([1, 3, 2, 2, 0, 1])
    if ignore_index == -100:
        targets[4] = -100
    weight = rng.uniform(0, 3, 4) if weighted else None
    options = {"weight": weight, "label_smoothing": smoothing, "ignore_index": ignore_index}
    each = np.ones(4) if weight is None else weight
    losses, divisor = losses_by_loop(logits, targets, each, smoothing, ignore_index)

    def loss(reduction):
        return cross_entropy_forward(logits, targets, reduction=reduction, **options)[0]

    np.testing.assert_allclose(loss("none"), losses, rtol=1e-13)
    assert loss("sum") == pytest.approx(losses.sum(), rel=1e-13)
    assert loss("mean") == pytest.approx(losses.sum() / divisor, rel=1e-13)


def test_weights_of_sequences_are_those_of_their_flat_batch():
    rng = np.random.default_rng(0)
    logits, targets = rng.standard_normal((2, 3, 4)), rng.integers(4, size=(2, 3))
    weight = np.array([1, 0, 5, 1])
    loss, saved = cross_entropy_forward(logits, targets, weight=weight)
    flat, saved_flat = cross_entropy_forward(logits.reshape(6, 4), targets.ravel(), weight=weight)
    assert loss == flat
    grad, grad_flat = (cross_entropy_backward(np.array(8.0), kept) for kept in (saved, saved_flat))
    assert np.array_equal(grad.reshape(6, 4), grad_flat)


def test_weights_of_half_precision_have_room_for_their_sum():
    logits = np.zeros((200_000, 3), np.float32)  # of ln 3 each, whatever they weigh
    weight, targets = np.array([1, 0.75, 0.5], np.float16), np.arange(200_000) % 3
    loss, _ = cross_entropy_forward(logits, targets, weight=weight)
    assert loss.dtype == np.float32 and loss == pytest.approx(np.log(3), rel=1e-5)


def test_weights_by_hand():
    """Losses ln 4/3 times 3, ln 4 times 1; the third is ignored; the mean divides by 3 + 1."""
    loss, saved = cross_entropy_forward(LOGITS, [1, 0, -1], ignore_index=-1, weight=[1, 3])
    assert loss == pytest.approx((3 * (2 * LN2 - LN3) + 2 * LN2) / 4)
    grad = cross_entropy_backward(np.array(8.0), saved)  # 8 / 4 w (p - one-hot)
    np.testing.assert_allclose(grad, [[1.5, -1.5], [-1.5, 1.5], [0, 0]], atol=1e-15)


@pytest.mark.parametrize("scale", [2.0**-1070, 1e-60, 1e-45, 1e38, 1e300])
def test_of_weights_in_a_mean_only_the_ratios_count(scale):
    logits, weight = LOGITS.astype(np.float32), np.array([1.0, 3.0])
    loss, saved = cross_entropy_forward(logits, [1, 0, 0], weight=weight)
    far, kept = cross_entropy_forward(logits, [1, 0, 0], weight=weight * scale)
    assert far == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(
        cross_entropy_backward(np.float32(1), kept),
        cross_entropy_backward(np.float32(1), saved),
        rtol=1e-6,
    )


def test_smoothing_by_hand():
    """The truth (0.1, 0.9): the loss 0.1 ln 4 + 0.9 ln 4/3, its gradient p - truth."""
    loss, saved = cross_entropy_forward(LOGITS[:1], [1], label_smoothing=0.2)
    assert loss == pytest.approx(0.1 * 2 * LN2 + 0.9 * (2 * LN2 - LN3))
    grad = cross_entropy_backward(np.array(1.0), saved)
    np.testing.assert_allclose(grad, [[0.15, -0.15]], atol=1e-15)


def test_single_losses_and_a_gradient_for_each():
    loss, saved = cross_entropy_forward(LOGITS, [1, 0, 0], ignore_index=1, reduction="none")
    np.testing.assert_allclose(loss, [0, 2 * LN2, LN2])
    grad = cross_entropy_backward(np.array([5.0, 4.0, 2.0]), saved)
    np.testing.assert_allclose(grad, [[0, 0], [-3, 3], [-1, 1]], atol=1e-15)
    batch = LOGITS[:2].reshape(1, 2, 2)
    assert cross_entropy_forward(batch, [[1, 0]], reduction="none")[0].shape == (1, 2)
    assert cross_entropy_forward(LOGITS[0], 1, reduction="none")[0] == pytest.approx(2 * LN2 - LN3)


def test_smoothing_alone_is_a_distribution_so_the_best_logits_are_its_logarithm():
    truth = np.full(4, 0.1 / 4) + 0.9 * np.eye(4)[2]
    _, saved = cross_entropy_forward(np.log(truth), np.array(2), label_smoothing=0.1)
    np.testing.assert_allclose(cross_entropy_backward(np.array(1.0), saved), 0, atol=1e-15)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_class_that_weighs_nothing_does_not_hide_a_run_that_diverged(reduction, smoothing):
    """Loss and gradient are NaN together; of a class masked by -inf the loss stays a number."""
    how = {"weight": [1.0, 0.0], "reduction": reduction, "label_smoothing": smoothing}
    for diverged in ([np.nan, np.nan], [np.inf, 0.0]):
        with np.errstate(invalid="ignore"):  # infinity less infinity
            loss, saved = cross_entropy_forward(np.array([[0.0, 1.0], diverged]), [0, 1], **how)
        dz = cross_entropy_backward(np.ones_like(loss), saved)
        assert np.isnan(np.sum(loss)) and np.isnan(dz[1]).all() and np.isfinite(dz[0]).all()
    loss, _ = cross_entropy_forward(np.array([[0.0, 1.0], [0.0, -np.inf]]), [0, 1], **how)
    assert np.isfinite(loss).all()


def test_what_is_impossible_or_rubbish_does_not_spread():
    """A class taken out by -inf and by a weight of 0; an ignored position of NaN."""
    logits = np.array([[-np.inf, 0.0, LN3], [-np.inf, 0.0, LN3], [np.nan] * 3])
    for smoothing in (0.0, 0.1):
        loss, saved = cross_entropy_forward(
            logits, [2, 0, 1], weight=[0, 1, 1], ignore_index=1, label_smoothing=smoothing
        )
        assert np.isfinite(loss)
        grad = cross_entropy_backward(np.array(1.0), saved)
        assert np.isfinite(grad).all() and not grad[2].any() and not grad[:, 0].any()


def test_float32_stays_float32():
    z = Tensor(LOGITS.astype(np.float32), requires_grad=True)
    for reduction in ("mean", "sum", "none"):
        loss = F.cross_entropy(
            z, [1, 0, 1], weight=[1.0, 2.0], label_smoothing=0.1, reduction=reduction
        )
        loss.backward(np.ones(loss.shape))
        assert loss.dtype == z.grad.dtype == np.float32


def unweighted(dout, saved):
    return cross_entropy_backward(dout, saved._replace(hit=np.ones_like(saved.hit)))


def unsmoothed(dout, saved):
    return cross_entropy_backward(dout, saved._replace(spread=None))


def summed(dout, saved):
    return cross_entropy_backward(np.full_like(dout, dout.sum()), saved)


def counted_by_all(dout, saved):
    return cross_entropy_backward(dout, saved._replace(scale=np.full(4, 1 / 4)))


@pytest.mark.parametrize(
    ("wrong", "options"),
    [
        (unweighted, {"weight": [1.0, 2.0, 0.5]}),
        (unsmoothed, {"label_smoothing": 0.2}),
        (summed, {"reduction": "none"}),
        (counted_by_all, {"ignore_index": 0}),
        (counted_by_all, {"weight": [1.0, 2.0, 0.5]}),
    ],
)
def test_planted_bugs_are_caught(wrong, options):
    args = leaf(4, 3), np.array([1, 2, 1, 0])
    assert caught(cross_entropy_forward, wrong, *args, **options)
    assert not caught(cross_entropy_forward, cross_entropy_backward, *args, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight": [1, 2]}, r"weight \(2,\) does not fit logits \(2, 3\).*\(3,\)"),
        ({"weight": [1, 2, -3]}, r"weight\[2\] = -3\.0; .*not negative"),
        ({"weight": [1, np.nan, 0]}, r"weight\[1\] = nan"),
        ({"weight": [1, 0, 1]}, "all 2 have classes that weigh 0"),
        ({"label_smoothing": 1.5}, r"label_smoothing is 1\.5; .*0\.\.1"),
        ({"label_smoothing": -0.1}, r"label_smoothing is -0\.1"),
        ({"label_smoothing": True}, "label_smoothing is True"),
        ({"reduction": "batchmean"}, "'mean', 'sum' or 'none'"),
    ],
)
def test_bad_options_are_explained(options, words):
    with pytest.raises(ValueError, match=words):
        F.cross_entropy(np.zeros((2, 3)), [1, 1], **options)


@pytest.mark.parametrize("given", ["sum", [1, 0], np.array([0.5, 0.5]), True, 1.0], ids=repr)
def test_what_is_no_index_is_not_taken_for_one_that_no_target_has(given):
    with pytest.raises(TypeError, match="ignore_index is .* a whole number, or None"):
        F.cross_entropy(np.zeros((2, 2)), [0, 1], ignore_index=given)
    with pytest.raises(TypeError, match="takes 2 positional arguments"):  # elsewhere it is weights
        F.cross_entropy(np.zeros((2, 2)), [0, 1], given)


def test_options_that_leave_nothing_or_do_not_exist_are_named():
    with pytest.raises(IndexError, match=r"targets\[1\] = -100 .*0..1.*say ignore_index=-100"):
        F.cross_entropy(LOGITS, [0, -100, 1])
    with pytest.raises(IndexError, match=r"targets\[2\] = -7 .*only ignore_index=-100"):
        F.cross_entropy(LOGITS, [0, -100, -7], ignore_index=-100)
    with pytest.raises(ValueError, match="all 2 are ignored"):
        F.cross_entropy(np.zeros((2, 2)), [1, 1], ignore_index=1)
    with pytest.raises(ValueError, match="'max'.*'mean', 'sum' or 'none'"):
        F.cross_entropy(np.zeros((2, 2)), [0, 1], reduction="max")
    with pytest.raises(TypeError, match="weight is a Tensor, and no gradient goes there"):
        F.cross_entropy(np.zeros((2, 2)), [0, 1], weight=F.exp([1.0, 1.0]))


def test_targets_past_the_last_class_and_one_hot_ones_are_told():
    with pytest.raises(IndexError, match=r"targets\[2\] = 2 is too large.*0\.\.1, the 2 classes"):
        F.cross_entropy(np.zeros((3, 2)), [0, 1, 2])
    with pytest.raises(TypeError, match=r"one-hot rows that is targets\.argmax\(axis=-1\)"):
        F.cross_entropy(np.zeros((3, 2)), np.eye(2)[[0, 1, 1]])
    with pytest.raises(TypeError, match=r"targets\.astype\(np\.int64\)"):
        F.cross_entropy(np.zeros((3, 2)), [0.0, 1.0, 1.0])


@pytest.mark.parametrize("targets", [[True, 2], [2, np.False_], [True, False]])
def test_true_and_false_are_no_targets(targets):
    with pytest.raises(TypeError, match=r"targets\[[01]\] = (True|False) is a boolean"):
        F.cross_entropy(np.zeros((2, 3)), targets)


def test_a_single_number_is_no_logits_and_no_classes_are_no_choice():
    for smoothing in (0.0, 0.1):
        with pytest.raises(ValueError, match=r"logits have shape \(0, 0\)"):
            none = np.zeros((0, 0)), np.zeros(0, int)
            F.cross_entropy(*none, reduction="sum", label_smoothing=smoothing)
    with pytest.raises(ValueError, match=r"targets \(\) do not fit logits \(\)"):
        F.cross_entropy(3.0, 0)


def test_targets_and_weights_that_are_no_rectangle_are_told():
    logits = np.zeros((2, 3))
    with pytest.raises(ValueError, match=r"targets is ragged.*targets\[1\] 2"):
        cross_entropy_forward(logits, [[1], [1, 2]])
    with pytest.raises(ValueError, match="weight is ragged"):
        cross_entropy_forward(logits, [0, 1], weight=[[1.0], [1.0, 2.0], 1.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [[1e-38, 1, 1], [1e-45, 1e38, 1], [1e-30, 3, 3e38]])
def test_a_class_that_counts_next_to_nothing_beside_others_has_a_mean(dtype, weight):
    """All targets are of it, so that its weight cancels."""
    logits = np.random.default_rng(0).normal(size=(4, 3)).astype(dtype)
    plain, given = (Tensor(logits, requires_grad=True) for _ in range(2))
    F.cross_entropy(plain, [0] * 4).backward()
    loss = F.cross_entropy(given, [0] * 4, weight=np.array(weight, dtype))
    loss.backward()
    np.testing.assert_allclose(loss.item(), F.cross_entropy(logits, [0] * 4).item(), rtol=1e-6)
    np.testing.assert_allclose(given.grad, plain.grad, rtol=1e-5, atol=1e-7)
