"""A lean tape: the same gradients, and nothing in memory that no backward reads."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from scratch_embed import Tensor
from scratch_embed.functional import lookup, relu
from scratch_embed.tensor import lean
from scratch_embed.trace import trace
from scratch_embed.training.transformer import Transformer


def test_it_lets_go_of_what_no_backward_reads():
    """Control: without it the same sum is kept. In both x goes twice into what is kept."""
    for is_lean in (False, True):
        x, total = Tensor(np.arange(3.0), requires_grad=True), 0.0
        kept = []
        with lean() if is_lean else np.errstate():
            shifted = x + 1.0
            kept.append(weakref.ref(shifted.data))  # a sum: nobody's backward reads it
            positive = relu(shifted)
            kept.append(weakref.ref(positive.data))  # a factor: backward of the product reads it
            total = (positive * positive + shifted).sum()
        del shifted, positive
        gc.collect()
        assert [array() is None for array in kept] == [is_lean, False]
        total.backward()
        assert x.grad.tolist() == [3.0, 5.0, 7.0]  # 2 (x + 1) + 1


@pytest.mark.parametrize("seed", range(3))
def test_the_gradients_have_the_same_bits(seed):
    """Of a whole model, and of its hidden states for a random cotangent, with ids that repeat."""
    rng = np.random.default_rng(seed)
    ids, targets = rng.integers(0, 7, (2, 3, 6))
    cotangent = rng.standard_normal((3, 6, 8)).astype(np.float32)

    def gradients():
        model = Transformer(7, 8, max_len=6, num_blocks=2, num_heads=2, rng=seed)
        model.hidden(ids).backward(cotangent)
        model.loss(ids, targets).backward()
        return {name: weight.grad for name, weight in model.named_parameters()}

    usual = gradients()
    with lean():
        found = gradients()
    assert usual.keys() == found.keys()
    for name, grad in found.items():
        np.testing.assert_array_equal(grad, usual[name], err_msg=name)
        assert np.abs(grad).max() > 0


def test_a_tensor_on_both_kinds_of_tape_gets_the_sum():
    E = Tensor(np.ones((3, 2)), requires_grad=True)
    rows = lookup(E, [2, 0, 2])
    half = rows * 0.5
    with lean():
        loss = (half + rows).sum()
    loss.backward()
    assert E.grad.tolist() == [[1.5, 1.5], [0.0, 0.0], [3.0, 3.0]]


def test_a_gradient_in_between_is_retained_when_it_is_asked_for_in_time():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with lean():
        asked, late = x * 3.0, x * 5.0
        asked.retain_grad()
        loss = (asked + late).sum()
    with pytest.raises(RuntimeError, match="before the tensor is used"):
        late.retain_grad()
    loss.backward()
    assert asked.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [8.0, 8.0]


def test_what_was_not_kept_says_so_and_a_write_is_noticed():
    x, factor = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
    with lean():
        shifted = x + 1.0
        loss = (shifted * factor).sum()
    with pytest.raises(AttributeError, match=r"shape \(2,\) were not kept.*outside lean"):
        trace(loss)
    factor.data[0] = 9.0
    with pytest.raises(RuntimeError, match="mul kept its input 1"):
        loss.backward()
    with pytest.raises(KeyError), lean():
        raise KeyError  # and it ends with its block
    y = x + 1.0
    assert (y * 2.0).node.inputs[0] is y


@pytest.mark.parametrize("shape", [(2,), (2, 1)])
def test_what_no_gradient_reads_may_be_written_to_here_too(shape):
    x, c = Tensor([1.0, 2.0], requires_grad=True), np.array([2.0, 3.0]).reshape(shape)
    with lean():
        h = x * 1.0
        out = h.reshape(shape) * c  # dh reads c alone
    h.data *= 0
    out.sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]


@pytest.mark.parametrize("is_lean", [False, True])
@pytest.mark.parametrize("view", [lambda E: E.T, lambda E: E.reshape(3, 2)])
def test_a_weight_that_was_written_to_is_named_through_a_view(is_lean, view):
    """Without lean too: the error is the same."""
    E = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True, name="E")
    with lean() if is_lean else np.errstate():
        a = view(E)
        h = Tensor(np.ones((1, a.shape[0])), requires_grad=True)
        loss = (h @ a).sum()
    E.data *= 2
    with pytest.raises(RuntimeError, match=r"matmul kept its input 1, E, of shape .* written to"):
        loss.backward()


def test_what_computed_a_name_is_not_taken_for_a_view_of_it():
    E = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True, name="E")
    with lean():
        a = (2.0 * E).T
        loss = (Tensor(np.ones((1, 3)), requires_grad=True) @ a).sum()
    a.data *= 2
    with pytest.raises(RuntimeError, match=r"matmul kept its input 1 of shape \(3, 2\)"):
        loss.backward()
