"""Optimisers: steps worked out by hand, and what a RowGrad may and may not move."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from scratch_embed import (
    SGD,
    Adagrad,
    Adam,
    AdamW,
    Embedding,
    LazyAdam,
    RMSProp,
    RowAdagrad,
    RowGrad,
    Tensor,
    kernels,
)
from scratch_embed.kernels import tables
from scratch_embed.optim import Optimizer

HALVES = {"lr": 0.1, "betas": (0.5, 0.5)}  # with these m' and v' are (g1 + 2 g2) / 3 at step 2

# Each starts at w = 1 and is given two gradients; w after each, by hand.
BY_HAND = {
    "SGD": (SGD, {"lr": 0.1}, (0.5, 1), (0.95, 0.85)),
    # v = 0.5, then 0.9 * 0.5 + 1 = 1.45
    "SGD momentum": (SGD, {"lr": 0.1, "momentum": 0.9}, (0.5, 1), (0.95, 0.805)),
    # v as before; g + 0.9 v = 0.95, then 1 + 0.9 * 1.45 = 2.305
    "SGD nesterov": (
        SGD,
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        (0.5, 1),
        (0.905, 0.6745),
    ),
    # g = 0.5 + 0.1 * 1, then 1 + 0.1 * 0.94
    "SGD decay": (SGD, {"lr": 0.1, "weight_decay": 0.1}, (0.5, 1), (0.94, 0.8306)),
    # s = 9, then 25: steps 0.1 * 3/3 and 0.1 * 4/5
    "Adagrad": (Adagrad, {"lr": 0.1}, (3, 4), (0.9, 0.82)),
    # the same, for both columns of a row have the same gradient
    "RowAdagrad": (RowAdagrad, {"lr": 0.1}, (3, 4), (0.9, 0.82)),
    # m' = 5, then 7/3; v' = 25, then (25 + 2) / 3 = 9
    "Adam": (Adam, HALVES, (5, 1), (0.9, 0.9 - 0.7 / 9)),
    # g = 4 + 1 * 1 = 5, then 0.1 + 1 * 0.9 = 1: the decay passes through m and v
    "Adam decay": (Adam, HALVES | {"weight_decay": 1.0}, (4, 0.1), (0.9, 0.9 - 0.7 / 9)),
    # 0.9 * 1 - 0.1, then 0.9 * 0.8 - 0.7/9: the decay stands beside the step
    "AdamW": (AdamW, HALVES | {"weight_decay": 1.0}, (5, 1), (0.8, 0.72 - 0.7 / 9)),
    "LazyAdam": (LazyAdam, HALVES, (5, 1), (0.9, 0.9 - 0.7 / 9)),
}
ROW_WISE = {
    "SGD": {"lr": 0.1},
    "Adagrad": {"lr": 0.1},
    "RowAdagrad": {"lr": 0.1},
    "LazyAdam": {"lr": 0.01},
}
MAKERS = {make.__name__: make for make in (SGD, Adagrad, RowAdagrad, LazyAdam, Adam, AdamW)}


def leaf(data, dtype=np.float64) -> Tensor:
    return Tensor(np.array(data, dtype), requires_grad=True)


@pytest.mark.parametrize("case", BY_HAND.values(), ids=BY_HAND)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_steps_by_hand(case, dtype):
    make, options, grads, expected = case
    w = leaf([[1.0, 1.0]], dtype)
    table = w.data
    optimizer = make([w], **options)
    for grad, value in zip(grads, expected):
        w.grad = np.full((1, 2), grad, dtype)
        optimizer.step()
        np.testing.assert_allclose(w.data, value, rtol=4e-7 if dtype == np.float32 else 1e-8)
        np.testing.assert_array_equal(w.grad, np.full((1, 2), grad, dtype))  # read, not used up
    assert w.data is table  # in place
    assert w.dtype == dtype


def batches(steps: int = 6):
    """Ids of tables of 8 rows, with repeats; row 7 never comes and row 0 comes once, first."""
    rng = np.random.default_rng(0)
    for step in range(steps):
        ids = np.append(rng.integers(1, 7, 4), 0 if step == 0 else 1)
        yield np.append(ids, ids[:2]), rng.standard_normal((7, 3))


def train(name: str, sparse: bool, dtype=np.float64) -> list[np.ndarray]:
    """The table before the first step and after each."""
    embed = Embedding(8, 3, sparse=sparse, dtype=dtype, rng=1)
    optimizer = MAKERS[name](embed.parameters(), **ROW_WISE.get(name, {"lr": 0.01}))
    tables = [embed.weight.data.copy()]
    for ids, cotangent in batches():
        optimizer.zero_grad()
        embed(ids).backward(cotangent)
        optimizer.step()
        tables.append(embed.weight.data.copy())
    return tables


@pytest.mark.parametrize("name", ROW_WISE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_a_row_gradient_does_not_name_keep_every_bit(name, dtype):
    tables = train(name, sparse=True, dtype=dtype)
    for (ids, _), before, after in zip(batches(), tables, tables[1:]):
        idle = np.setdiff1d(np.arange(8), ids)
        assert before[idle].tobytes() == after[idle].tobytes()
        assert (before[ids] != after[ids]).all()
    assert tables[-1].dtype == dtype


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "RowAdagrad"])
def test_following_a_row_gradient_is_the_same_algorithm(name):
    for dense, sparse in zip(train(name, sparse=False), train(name, sparse=True)):
        np.testing.assert_allclose(sparse, dense, rtol=1e-15)


def test_lazy_adam_is_adam_on_the_rows_of_each_batch():
    tables = train("LazyAdam", sparse=True)
    w, m, v = (table.tolist() for table in (tables[0], np.zeros((8, 3)), np.zeros((8, 3))))
    for t, (ids, cotangent) in enumerate(batches(), start=1):
        for row in set(ids.tolist()):
            for d in range(3):
                g = cotangent[ids == row, d].sum()
                m[row][d] = 0.9 * m[row][d] + 0.1 * g
                v[row][d] = 0.999 * v[row][d] + 0.001 * g * g
                m_hat, v_hat = m[row][d] / (1 - 0.9**t), v[row][d] / (1 - 0.999**t)
                w[row][d] -= 0.01 * m_hat / (v_hat**0.5 + 1e-8)
        np.testing.assert_allclose(tables[t], w, rtol=1e-12)


def test_lazy_adam_puts_eps_where_adam_does_and_not_where_sparse_adam_does():
    """By formula: Kingma & Ba's step for a tiny gradient, and the step with eps beside sqrt(v)."""
    g, b1, b2, eps = 1e-6, 0.9, 0.999, 1e-8
    w = leaf([[0.0], [0.0]])
    w.grad = RowGrad([1], np.array([[g]]), (2, 1))
    LazyAdam([w], lr=1.0).step()
    assert w.data[1, 0] == pytest.approx(-g / (g + eps), rel=1e-12)  # -0.990

    # the other form by its own formula, and ours with the eps that stands for its eps
    rng, optimizer = np.random.default_rng(0), LazyAdam([w], lr=0.1)
    x, m, v = w.data[1, 0], 0.0, 0.0
    for t in range(1, 6):
        g = 1e-6 * rng.standard_normal()
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        x -= 0.1 * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(v) + eps)
        optimizer.eps = eps / np.sqrt(1 - b2**t)
        w.grad = RowGrad([1], np.array([[g]]), (2, 1))
        optimizer.step()
        assert w.data[1, 0] == pytest.approx(x, rel=1e-12)
    first = np.sqrt(1 - b2) * 1e-6 / (np.sqrt(1 - b2) * 1e-6 + eps)
    assert (round(1e-6 / (1e-6 + eps), 3), round(first, 3)) == (0.99, 0.76)  # as the docstring says


def test_lazy_adam_takes_adams_step_when_every_row_is_named():
    tables = []
    for make, sparse in ((Adam, False), (LazyAdam, False), (LazyAdam, True)):
        w, rng = leaf(np.ones((4, 3)), np.float32), np.random.default_rng(0)
        optimizer = make([w], lr=0.1)
        for _ in range(3):
            w.grad = rng.standard_normal((4, 3)).astype(np.float32)
            w.grad = RowGrad(np.arange(4), w.grad, (4, 3)) if sparse else w.grad
            optimizer.step()
        tables.append(w.data.tobytes())
    assert tables[0] == tables[1] == tables[2]


def plain_step(name: str, w, state: dict, rows, g, t: int) -> None:
    """The rule on the named rows in NumPy, as slow and as plain as it goes."""
    number = w.dtype.type
    if name == "SGD":
        w[rows] -= number(0.1) * g
    elif name == "Adagrad":
        state["sum"][rows] += g * g
        w[rows] -= number(0.1) * g / (np.sqrt(state["sum"][rows]) + number(1e-10))
    else:
        m, v = state["m"], state["v"]
        m[rows] = number(0.9) * m[rows] + number(1 - 0.9) * g
        v[rows] = number(0.999) * v[rows] + number(1 - 0.999) * g * g
        step = m[rows] / number(1 - 0.9**t)
        root = np.sqrt(v[rows] / number(1 - 0.999**t)) + number(1e-8)
        w[rows] -= number(0.01) * step / root


@pytest.mark.parametrize("name", ["SGD", "Adagrad", "LazyAdam"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_compiled_steps_equal_numpy_to_the_last_bit(name, dtype, threads, monkeypatch):
    """Parts of 50 numbers, so that threads really share the rows; and a row with many hits."""
    monkeypatch.setattr("scratch_embed.kernels.threads.PART", 50)
    before = kernels.get_num_threads()
    rng = np.random.default_rng(0)
    embed = Embedding(40, 5, sparse=True, dtype=dtype, rng=1)
    w, state = embed.weight.data.copy(), {k: np.zeros((40, 5), dtype) for k in ("sum", "m", "v")}
    optimizer = MAKERS[name](embed.parameters(), **ROW_WISE[name])
    try:
        kernels.set_num_threads(threads)
        for t in range(1, 5):
            ids = np.concatenate([rng.integers(0, 40, 60), np.full(30, t)])
            cotangent = rng.standard_normal((90, 5)).astype(dtype)
            optimizer.zero_grad()
            embed(ids).backward(cotangent)
            optimizer.step()
            eager = RowGrad(ids, cotangent, (40, 5))
            plain_step(name, w, state, eager.rows, eager.values, t)
            np.testing.assert_array_equal(embed.weight.data, w)
            np.testing.assert_array_equal(embed.weight.grad.values, eager.values)  # not used up
    finally:
        kernels.set_num_threads(before)


@pytest.mark.parametrize("name", ["Adagrad", "RowAdagrad", "LazyAdam"])
def test_zero_divided_by_zero_is_no_number_as_in_a_dense_step_and_no_error_half_way(name):
    """Without eps a gradient of zero at the first step is 0 / 0."""
    ends, dense = [], np.array([[0.0, 0], [0, 0], [4, 0]])
    for grad in (RowGrad([1, 2], dense[1:], (3, 2)), dense):
        w = leaf(np.ones((3, 2)))
        w.grad = grad
        with np.errstate(all="ignore"):
            MAKERS[name]([w], lr=0.5, eps=0.0).step()
        ends.append(w.data[1:])
    np.testing.assert_array_equal(*ends)
    assert np.isnan(ends[0][0]).all() and ends[0][1, 0] < 1


def test_a_row_hit_very_often_is_summed_in_double_precision(monkeypatch):
    monkeypatch.setattr(tables, "LONG", 100)
    embed = Embedding(3, 1, sparse=True, rng=0)
    embed.weight.data[:] = 0
    embed(np.full(200_000, 1)).backward(np.full((200_000, 1), 0.1, np.float32))
    SGD(embed.parameters(), lr=1.0).step()
    assert embed.weight.data[1, 0] == np.float32(-200_000 * float(np.float32(0.1)))


def test_row_wise_adagrad_keeps_one_number_a_row():
    w = leaf(np.zeros((3, 2)))
    optimizer = RowAdagrad([w], lr=1.0)
    w.grad = RowGrad([2], np.array([[1.0, 7.0]]), (3, 2))
    optimizer.step()
    assert optimizer.state[0]["sum"].tolist() == [0, 0, 25]  # (1 + 49) / 2
    np.testing.assert_allclose(w.data, [[0, 0], [0, 0], [-0.2, -1.4]])


def test_adam_moves_a_row_that_was_not_looked_up_and_lazy_adam_does_not():
    """After one gradient of 1 it coasts: m' = 0.09 / 0.19, v' = 0.000999 / 0.001999."""
    moved = {}
    for make in (Adam, LazyAdam):
        w = leaf(np.zeros((2, 1)))
        optimizer = make([w], lr=1.0)
        for row in (0, 1):
            grad = RowGrad([row], np.ones((1, 1)), (2, 1))
            w.grad = grad if make is LazyAdam else grad.to_dense()
            before = w.data[0, 0]
            optimizer.step()
        moved[make] = before - w.data[0, 0]
    assert moved[Adam] == pytest.approx(0.473684 / 0.706930, abs=1e-5)
    assert moved[LazyAdam] == 0


def test_zero_grad_forgets_and_steps_without_gradient_do_nothing():
    w, idle, frozen = leaf([1.0]), leaf([1.0]), Tensor([1.0])
    optimizer = Adam([w, idle, frozen], lr=0.1)
    w.grad, frozen.grad = np.ones(1), np.ones(1)
    optimizer.step()
    assert (idle.data, frozen.data) == (1, 1)
    optimizer.zero_grad()
    assert w.grad is None
    before = w.data.copy()
    with pytest.warns(RuntimeWarning, match="no parameter has a gradient, so none moves"):
        optimizer.step()
    assert w.data == before


def test_a_tied_table_takes_one_step():
    w = leaf([1.0])
    optimizer = SGD([w, w], lr=0.1)
    w.grad = np.ones(1)
    optimizer.step()
    assert w.data == 0.9


def test_learning_rate_may_be_changed_between_steps():
    w = leaf([1.0])
    optimizer = SGD(iter([w]), lr=0.1)
    w.grad = np.ones(1)
    optimizer.lr = 0.25
    optimizer.step()
    assert w.data == 0.75


def step_with(make, grad, **options):
    w = leaf(np.ones((4, 3)))
    w.grad = grad
    make([w], lr=0.1, **options).step()


def swapped_step():
    """Bytes in another order: compiled code would take them for other numbers."""
    table = Tensor(np.ones((4, 3), ">f8"), requires_grad=True, name="E")
    table.grad = ROW
    SGD([table], lr=0.1).step()


def read_only_step():
    w = leaf(np.ones((4, 3)))
    w.data.flags.writeable = False
    w.grad = ROW
    SGD([w], lr=0.1).step()


def wrong_state():
    w = leaf(np.ones((4, 3)))
    w.grad = ROW
    optimizer = Adagrad([w])
    optimizer.state[0]["sum"] = np.zeros((2, 3))
    optimizer.step()


ROW = RowGrad([1], np.ones((1, 3)), (4, 3))


DEFAULTS = {  # as PyTorch's; SGD has no lr of its own
    SGD: {"momentum": 0.0, "weight_decay": 0.0, "nesterov": False},
    Adagrad: {"lr": 0.01, "eps": 1e-10},
    RowAdagrad: {"lr": 0.01, "eps": 1e-10},
    RMSProp: {"lr": 0.01, "alpha": 0.99, "eps": 1e-8, "momentum": 0.0},
    Adam: {"lr": 0.001, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0},
    AdamW: {"lr": 0.001, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01},
    LazyAdam: {"lr": 0.001, "betas": (0.9, 0.999), "eps": 1e-8},
}


@pytest.mark.parametrize("kind", DEFAULTS, ids=lambda kind: kind.__name__)
def test_what_an_optimiser_does_when_nothing_else_is_asked_for(kind):
    given = inspect.signature(kind).parameters
    found = {n: p.default for n, p in given.items() if p.default is not inspect.Parameter.empty}
    assert found == DEFAULTS[kind]
    (group,) = kind([leaf([1.0])], **({"lr": 0.1} if kind is SGD else {})).param_groups
    assert {name: group[name] for name in found} == found


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda: step_with(SGD, ROW, momentum=0.9), TypeError, "SGD without momentum"),
        (lambda: step_with(SGD, ROW, weight_decay=0.1), TypeError, "SGD without momentum"),
        (lambda: step_with(Adam, ROW), TypeError, "Adam moves every row.*LazyAdam"),
        (lambda: step_with(AdamW, ROW), TypeError, "AdamW moves every row.*LazyAdam"),
        (lambda: step_with(Optimizer, np.ones((4, 3))), TypeError, "use SGD"),
        (lambda: swapped_step(), TypeError, "E has dtype >f8.*byte order"),
        (lambda: read_only_step(), ValueError, "read-only"),
        (lambda: wrong_state(), ValueError, r"state\['sum'\] has shape \(2, 3\)"),
        (lambda: step_with(SGD, np.ma.ones((4, 3))), TypeError, r"\.grad is a masked array"),
        (lambda: step_with(SGD, np.ones(3)), ValueError, r"\(3,\).*\(4, 3\)"),
        (lambda: step_with(Adam, RowGrad([1], np.ones((1, 3)), (5, 3))), ValueError, r"\(5, 3\)"),
        (lambda: SGD([], lr=0.1), ValueError, "params is empty"),
        (lambda: SGD(leaf([1.0]), lr=0.1), TypeError, r"\[tensor\]"),
        (lambda: SGD([np.ones(3)], lr=0.1), TypeError, r"params\[0\] is a ndarray"),
        (lambda: SGD([leaf([1.0]), leaf([1.0]) * 2], lr=0.1), ValueError, r"params\[1\].*by mul"),
        (lambda: SGD([Tensor([1, 2])], lr=0.1), TypeError, r"params\[0\] is int64; a step needs"),
        (lambda: SGD([leaf([1.0])], lr=-0.1), ValueError, r"lr is -0\.1"),
        (lambda: SGD([leaf([1.0])], lr=float("nan")), ValueError, "lr is nan"),
        (lambda: SGD([leaf([1.0])], lr=0.1, momentum=1.0), ValueError, r"momentum is 1\.0"),
        (lambda: RMSProp([leaf([1.0])], alpha=1.0), ValueError, r"alpha is 1\.0"),
        (lambda: RMSProp([leaf([1.0])], momentum=1.0), ValueError, r"momentum is 1\.0"),
        (lambda: Adam([leaf([1.0])], betas=(0.9, 1.0)), ValueError, r"betas\[1\] is 1\.0"),
    ],
)
def test_wrong_use_is_named(use, error, words):
    with pytest.raises(error, match=words):
        use()


def test_steps_counted_in_a_byte_go_on_past_its_end():
    """np.uint8(255) + 1 is 0, and 1 - b1^0 divides by 0."""
    ends = []
    for t in (255, np.uint8(255)):
        w = Tensor(np.ones(2), requires_grad=True)
        optimizer = Adam([w], lr=0.1)
        optimizer.state[0].update(m=np.ones(2), v=np.ones(2), t=t)
        w.grad = np.ones(2)
        optimizer.step()
        ends.append((optimizer.state[0]["t"], w.data.tolist()))
    assert ends[0] == ends[1] and ends[0][0] == 256


def test_a_parameter_of_another_precision_is_told_before_a_state_is_made():
    """Of float16: the zeros that were put into the state barred the way back."""
    w = Tensor(np.ones(2, np.float32), requires_grad=True, name="w")
    optimizer = Adam([w], lr=0.1)
    w.data, w.grad = w.data.astype(np.float16), np.ones(2, np.float16)
    with pytest.raises(TypeError, match="the parameter of w is float16; a rule moves"):
        optimizer.step()
    w.data, w.grad = w.data.astype(np.float32), w.grad.astype(np.float32)
    optimizer.step()
    np.testing.assert_allclose(w.data, 0.9, rtol=1e-6)
