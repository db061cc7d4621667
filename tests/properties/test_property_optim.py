"""Optimisers: a step does not see how its numbers lie in memory, or how they were handed over."""

from __future__ import annotations

import copy

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scratch_embed import SGD, Adagrad, Adam, AdamW, LazyAdam, RMSProp, RowAdagrad, RowGrad, Tensor
from scratch_embed.optim import optimizer
from tests.properties import draw
from tests.properties.draw import changed, numbers, same_bits

RATES = st.floats(0, 10)
BELOW_ONE = st.floats(0, 0.999)


@st.composite
def rules(draw_, by_row: bool = False):
    """A rule with options anywhere in their ranges; by_row, one that takes a RowGrad."""
    lr, eps, beta = draw_(RATES), draw_(st.floats(1e-12, 1)), draw_(BELOW_ONE)
    decay, betas = draw_(st.floats(0, 0.5)), (draw_(BELOW_ONE), draw_(BELOW_ONE))
    rows = [
        lambda p: SGD(p, lr),
        lambda p: Adagrad(p, lr, eps),
        lambda p: RowAdagrad(p, lr, eps),
        lambda p: LazyAdam(p, lr, betas, eps),
    ]
    dense = [
        lambda p: SGD(p, lr, momentum=beta, weight_decay=decay, nesterov=beta > 0),
        lambda p: Adam(p, lr, betas, eps, decay),
        lambda p: AdamW(p, lr, betas, eps, decay),
        lambda p: RMSProp(p, lr, eps=eps, momentum=beta),
    ]
    return draw_(st.sampled_from(rows if by_row else rows + dense))


@given(st.data(), draw.tables(st.sampled_from(draw.FLOATS)), rules(by_row=True), draw.seeds)
def test_a_row_gradient_takes_the_steps_of_its_dense_twin(data, table, rule, seed):
    """Rows that are not named stay to the bit; the others agree to rounding."""
    sparse, dense = (Tensor(table.copy(), requires_grad=True) for _ in range(2))
    one, other = rule([sparse]), rule([dense])
    for step in range(2):
        ids = data.draw(draw.ids_of(len(table))).reshape(-1)
        values = numbers(seed + step, (len(ids), table.shape[1]), table.dtype)
        before = sparse.data.copy()
        sparse.grad = RowGrad(ids, values, table.shape)
        dense.grad = sparse.grad.to_dense()
        if isinstance(one, LazyAdam):  # dense names every row, so hand it all of them here too
            sparse.grad = RowGrad(np.arange(len(table)), dense.grad, table.shape)
        one.step()
        other.step()
        others = np.setdiff1d(np.arange(len(table)), sparse.grad.rows)
        assert same_bits(sparse.data[others], before[others])
        tolerance = 1e-4 if table.dtype == np.float32 else 1e-11
        scale = 1 + np.abs(dense.data)
        assert (np.abs(sparse.data - dense.data) <= tolerance * scale * (1 + one.lr)).all()


@given(st.data(), draw.tables(st.sampled_from(draw.FLOATS)), rules(), draw.seeds)
def test_steps_do_not_depend_on_memory_or_blocks(data, table, rule, seed):
    view, plain = Tensor(table, requires_grad=True), Tensor(table.copy(), requires_grad=True)
    view.data = table  # as from_pretrained keeps an array of the caller's
    one, other = rule([view]), rule([plain])
    for step in range(2):
        plain.grad = numbers(seed + step, table.shape, table.dtype)
        view.grad = data.draw(draw.laid_out(plain.grad))
        with changed(optimizer, BLOCK=data.draw(st.sampled_from([1, 50, 120_000]))):
            one.step()
        other.step()
    assert np.array_equal(view.data, plain.data, equal_nan=True)


@given(draw.tables(st.sampled_from(draw.FLOATS)), rules(), draw.seeds, st.integers(0, 2))
def test_a_restored_optimiser_goes_on_with_the_same_bits(table, rule, seed, steps):
    whole, resumed = (Tensor(table.copy(), requires_grad=True) for _ in range(2))
    one, other = rule([whole]), None
    for step in range(steps + 2):
        if step == steps:
            saved = copy.deepcopy(one.state_dict())
            resumed.data[...] = whole.data
            other = rule([resumed])
            other.load_state_dict(saved)
        for tensor, optimiser in ((whole, one), (resumed, other)):
            if optimiser:
                tensor.grad = numbers(seed + step, table.shape, table.dtype)
                optimiser.step()
    assert same_bits(whole.data, resumed.data)


@given(draw.tables(st.sampled_from(draw.FLOATS), least_rows=1), rules(), st.sampled_from(
    [np.ones(3), "text", None, 1.0, np.ones((1, 1, 1)), np.full((2, 2), 1j)]))  # fmt: skip
def test_a_gradient_that_does_not_fit_moves_nothing(table, rule, wrong):
    first, second = (Tensor(table.copy(), requires_grad=True) for _ in range(2))
    optimiser = rule([first, second])
    first.grad, second.grad = np.ones(table.shape, table.dtype), wrong
    try:
        optimiser.step()
    except (TypeError, ValueError):
        assert same_bits(first.data, table) and same_bits(second.data, table)
    else:
        assert wrong is None
