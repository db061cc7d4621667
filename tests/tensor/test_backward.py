"""Backward: gradients arrive in the right order, add up, and never share memory."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
from contextlib import nullcontext

import numpy as np
import pytest

from scratch_embed import SGD, RowGrad, Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.tensor import lean


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def leaf(data, dtype=np.float64) -> Tensor:
    return Tensor(np.array(data, dtype), requires_grad=True)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copy_of_what_was_computed_goes_on_with_a_tape_of_its_own(copied):
    """Also in another process, where lines are counted anew."""
    E = leaf([[1.0, 2.0], [3.0, 4.0]])
    h = F.tanh(F.lookup(E, [0, 1, 1]))
    h.node = h.node._replace(line=h.node.line + 10**9)  # as if much had been computed there before
    mine, half = copied((E, h))
    (half * half + half).sum().backward()
    (h * h + h).backward(np.ones(h.shape))
    assert E.grad is None and half is not h  # a line of the future, as it would have stayed
    h.node = h.node._replace(line=h.node.line - 10**9)
    (h * h + h).sum().backward()
    assert mine.grad.tolist() == E.grad.tolist() and mine.grad.all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
@pytest.mark.parametrize("how", [nullcontext, lean])
def test_a_copy_knows_of_an_optimisers_step_that_came_before_it(how, copied):
    """Of a table too large for all of its numbers to be remembered."""
    E, W = leaf(np.ones((5000, 4))), leaf(np.ones((5000, 4)))
    with how():
        loss = (E * W).sum()
    E.grad = RowGrad([17], np.ones((1, 4)), E.shape)
    before = copied(loss)
    SGD([E], lr=1.0).step()
    with pytest.raises(RuntimeError, match="it has been written to since forward"):
        copied(loss).backward()
    before.backward()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copy_of_numbers_that_lie_in_another_order_is_no_alarm(copied):
    given = np.arange(6000.0).reshape(3000, 2)
    for x in (given[::2], given.T, np.broadcast_to(given[0], (1000, 2)), given[:, ::-1]):
        E = leaf(np.ones(x.shape))
        mine, loss = copied((E, (E * x).sum()))
        loss.backward()
        assert (mine.grad == x).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_view_is_copied_as_a_view(copied):
    """A head that is tied by E.T reads, in the copy too, the table that learns."""
    E = leaf([[1.0, 2.0], [3.0, 4.0]])
    views = [E.T, E.T[1:], F.reshape(E, (4,))]
    mine, *others = copied([E, *views])
    mine.data += 1
    for other, view in zip(others, views):
        assert other.numpy().tolist() == (view.numpy() + 1).tolist()
    others[0].sum().backward()
    assert mine.grad.tolist() == [[1, 1], [1, 1]] and E.data[0, 0] == 1


@pytest.mark.parametrize("how", [nullcontext, lean])
def test_a_view_of_what_was_computed_is_copied_with_its_numbers(how):
    with how():
        held = F.reshape(F.tanh(leaf([[0.5, 1.0]])), (2,))
    assert copy.deepcopy(held).numpy().tolist() == held.numpy().tolist()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_what_a_lean_tape_has_let_go_is_copied_without_its_numbers(copied):
    E = leaf([[1.0, 2.0], [3.0, 4.0]])
    with lean():
        out = F.exp(F.lookup(E, [0, 1]) * 2.0)
    mine, there = copied((E, out))
    for tensor in (out, there):
        tensor.sum().backward()
    assert mine.grad.tolist() == E.grad.tolist() and E.grad.all()


@pytest.mark.parametrize("how", [nullcontext, lean])
def test_a_copy_of_a_chain_of_any_length_is_made_without_recursion(how):
    """Such as a model that keeps its last state, copied as the best one so far."""
    E = leaf([0.5, 0.25])
    with how():
        state = E
        for _ in range(3000):
            state = state + E * 0.001
    mine, there = copy.deepcopy((E, state))
    for tensor in (there, state):
        tensor.sum().backward()
    assert mine.grad.tolist() == E.grad.tolist() and mine is not E
    assert E.grad == pytest.approx([4, 4])


class Slow(Tensor):
    """A kind of weight that somebody has made."""

    def __init__(self, data, rate: float):
        super().__init__(data, requires_grad=True)
        self.rate = rate


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copy_has_the_attributes_of_its_class(copied):
    weight = copied(Slow([1.0, 2.0], rate=0.25))
    assert (weight.rate, weight.requires_grad, weight.numpy().tolist()) == (0.25, True, [1, 2])


# ---- accumulation -------------------------------------------------------------------------------


def test_used_twice_adds_up():
    a = leaf([1.0, 2.0, 3.0])
    (a * a + a).sum().backward()
    assert a.grad.tolist() == [3, 5, 7]  # 2a + 1


def test_diamond():
    """b = a + a, c = b + b: c = 4a. Passing a gradient on before it is complete gives 2 or 6."""
    a = leaf(1.0)
    b = a + a
    c = b + b
    c.backward()
    assert a.grad == 4


def test_a_long_way_round_arrives_before_the_gradient_is_passed_on():
    a = leaf(2.0)
    b = a * 3
    short, long = b * 1, b
    for _ in range(10):
        long = long * 1
    (short + long + b).backward()
    assert a.grad == 9


def test_a_table_used_as_input_and_as_head_gets_the_sum_of_both(rng):
    """logits = E[ids] E^T: the lookup sends R E into the rows of ids, the head R^T E[ids]."""
    table, ids = rng.standard_normal((5, 3)), [4, 1, 1]
    cotangent = rng.standard_normal((3, 5))
    E = leaf(table)
    (F.lookup(E, ids) @ E.T).backward(cotangent)

    by_lookup = np.zeros((5, 3))
    for n, v in enumerate(ids):
        by_lookup[v] += cotangent[n] @ table
    by_head = cotangent.T @ table[ids]
    np.testing.assert_allclose(E.grad, by_lookup + by_head, rtol=1e-12)
    assert np.abs(by_lookup).max() > 0.1 < np.abs(by_head).max()  # neither could have been left out


def test_backward_twice_adds_the_same_again():
    a = leaf([1.0, 2.0])
    loss = (a**2).sum()
    loss.backward()
    once = a.grad.copy()
    loss.backward()
    np.testing.assert_array_equal(a.grad, 2 * once)
    a.grad = None
    loss.backward()
    np.testing.assert_array_equal(a.grad, once)


def test_threads_that_add_to_one_leaf_lose_nothing():
    w, x = leaf(np.zeros(200_000)), np.arange(200_000.0)  # NumPy lets other threads run meanwhile
    rounds, threads = 25, 8
    together = threading.Barrier(threads)

    def work():
        together.wait()
        for _ in range(rounds):
            (w * x).sum().backward()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    np.testing.assert_array_equal(w.grad, rounds * threads * x)


def test_a_tensor_on_the_way_may_retain_its_gradient():
    a = leaf([1.0, 2.0])
    h = a * 3
    h.retain_grad()
    out = (h * h).sum() + h[0]
    for times in (1, 2):  # it adds up, as in a leaf
        out.backward()
        assert h.grad.tolist() == [times * 7, times * 12]  # 2 h, and 1 for h[0]
        assert a.grad.tolist() == [times * 21, times * 36]
    h.grad[:] = 0
    assert a.grad.tolist() == [42, 72]
    passed_on = a + 0
    passed_on.retain_grad()
    a.grad = None
    passed_on.backward(np.ones(2))
    assert not np.shares_memory(passed_on.grad, a.grad)


def test_an_error_on_the_way_changes_no_gradient():
    def fails(dout, saved):
        raise KeyError("stop")

    stop = differentiable(lambda x: (x, ()), fails, name="stop")
    a, b, loss = leaf([1.0]), leaf([2.0]), None
    loss = (stop(a * 1) + b).sum()
    with pytest.raises(KeyError):
        loss.backward()
    assert a.grad is None and b.grad is None


@pytest.mark.parametrize("old", [np.zeros(5), np.zeros(1), RowGrad([0], np.ones((1, 2)), (3, 2))])
def test_a_grad_that_nothing_can_be_added_to_changes_no_gradient(old):
    a, b = leaf([1.0, 2.0, 3.0]), leaf([4.0, 5.0, 6.0])
    for first, second in ((a, b), (b, a)):
        first.grad, second.grad = old, None
        with pytest.raises(ValueError, match=r"\.grad of a leaf has shape .*\.grad = None"):
            (a * b).sum().backward()
        assert second.grad is None and first.grad is old


def test_whole_numbers_get_no_gradient_however_it_was_asked_for():
    x = Tensor([1, 2, 3])
    x.requires_grad = True
    with pytest.raises(TypeError, match="a tensor of int64 cannot require a gradient"):
        (x * 0.5).sum().backward()
    y = leaf([1.5])
    rounded = differentiable(lambda x: (np.rint(x).astype(int), ()), lambda dout, _: dout, "mine")
    with pytest.raises(TypeError, match=r"^mine answered in int64, .* there with \.detach\(\)"):
        (rounded(y) * 0.5).sum().backward()
    assert x.grad is None and y.grad is None


def test_ids_that_an_operation_of_ones_own_chose_need_no_gradient(rng):
    """Such as the nearest row, or the likeliest class."""
    argmax = differentiable(lambda x: (x.argmax(-1), ()), lambda dout, saved: None)
    x, E = leaf(rng.standard_normal((6, 3))), leaf(rng.standard_normal((3, 2)))
    R, ids = rng.standard_normal((6, 2)), x.data.argmax(-1)
    ((F.lookup(E, argmax(x)) * R).sum() + F.cross_entropy(x, argmax(x))).backward()
    wanted = np.zeros((3, 2))
    np.add.at(wanted, ids, R)
    np.testing.assert_allclose(E.grad, wanted, rtol=1e-14)
    p = np.exp(x.data) / np.exp(x.data).sum(-1, keepdims=True)
    np.testing.assert_allclose(x.grad, (p - np.eye(3)[ids]) / 6, rtol=1e-12)


def test_a_chain_of_100_000_operations():
    a = leaf(1.0)
    out = a
    for _ in range(100_000):
        out = out + 1e-5
    out.backward()
    assert a.grad == 1
    assert out.item() == pytest.approx(2)
    del out
    gc.collect()  # a chain is also taken down without recursion


def test_row_gradients_and_dense_ones_meet(rng):
    table, R, S = rng.standard_normal((5, 2)), rng.standard_normal((3, 2)), rng.standard_normal(2)
    ids = [3, 0, 3]

    def gradient(sparse: bool, *uses: str):
        E = leaf(table)
        parts = {
            "lookup": lambda: (F.lookup(E, ids, sparse=sparse) * R).sum(),
            "again": lambda: (F.lookup(E, [4, 3, 4], sparse=sparse) * R).sum(),
            "dense": lambda: (E * S).sum(),
        }
        total = 0
        for use in uses:
            total = parts[use]() + total
        total.backward()
        return E.grad

    both = gradient(True, "lookup", "again")
    assert isinstance(both, RowGrad)
    assert both.rows.tolist() == [0, 3, 4]
    for uses in (("lookup", "again"), ("lookup", "dense"), ("dense", "lookup", "again")):
        sparse, dense = gradient(True, *uses), gradient(False, *uses)
        np.testing.assert_allclose(np.asarray(sparse), dense, rtol=1e-14)


def test_row_gradients_accumulate_over_backwards():
    E = leaf(np.zeros((4, 2)))
    F.lookup(E, [1], sparse=True).sum().backward()
    F.lookup(E, [3, 1], sparse=True).sum().backward()
    assert isinstance(E.grad, RowGrad)
    assert E.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]
    E.sum().backward()
    assert E.grad.tolist() == [[1, 1], [3, 3], [1, 1], [2, 2]]


def test_row_gradient_of_a_computed_table_flows_on(rng):
    E, dense = leaf(rng.standard_normal((4, 2))), None
    for sparse in (False, True):
        E.grad = None
        (F.lookup(F.tanh(E), [1, 3, 1], sparse=sparse) ** 2).sum().backward()
        dense = E.grad if dense is None else dense
    np.testing.assert_array_equal(E.grad, dense)


# ---- gradients never share memory ---------------------------------------------------------------

SHARING = {
    "what was saved, handed back": differentiable(
        lambda a, b: ((a * b).sum(), (a, b)), lambda dout, saved: saved[::-1], name="dot"
    ),
    "add": lambda a, b: a + b,
    "add a moved one": lambda a, b: a + b.T.T,
    "add reshaped": lambda a, b: (a.reshape(6) + b.reshape(6)).reshape(2, 3),
    "one array, returned twice": differentiable(
        lambda a, b: (2 * a + 2 * b, ()), lambda dout, saved: (2 * dout,) * 2, name="twice"
    ),
}


def test_a_leaf_shares_its_gradient_with_no_rows_that_are_summed_later(rng):
    """The one array of a backward goes to a leaf, and on to the rows of a table."""
    twice = SHARING["one array, returned twice"]
    E, W, seed = leaf(np.ones((3, 2))), leaf(np.ones((2, 2))), rng.standard_normal((2, 2))
    twice(W, F.lookup(E, [0, 2], sparse=True)).backward(seed)
    W.grad *= 0
    assert E.grad.values.tolist() == (2 * seed).tolist()


def test_the_gradient_of_a_single_number_is_an_array():
    x = leaf(2.0)
    (x * x * x).backward()
    (x * x).backward()
    assert isinstance(x.grad, np.ndarray) and x.grad == 16


@pytest.mark.parametrize("combine", SHARING.values(), ids=SHARING)
def test_two_leaves_never_share_a_gradient(combine, rng):
    a, b = leaf(np.ones((2, 3))), leaf(np.ones((2, 3)))
    out = combine(a, b)
    seed = rng.standard_normal(out.shape)
    given = seed.copy()
    out.backward(seed)
    assert not np.shares_memory(a.grad, b.grad)
    assert not any(np.shares_memory(a.grad, other) for other in (seed, a.data, b.data))
    before = b.grad.copy()
    a.grad *= 0  # also: it can be written to
    np.testing.assert_array_equal(b.grad, before)
    np.testing.assert_array_equal(seed, given)


def test_a_frozen_seed_is_not_copied_and_any_other_is():
    """The gradient of a sparse lookup is summed from the seed when it is asked for."""
    table, ids, seed = leaf(np.zeros((3, 2))), np.array([1, 1]), np.ones((2, 2))
    read_only_view = seed[:]
    read_only_view.flags.writeable = False  # but seed can still be written to
    for given in (seed, read_only_view):
        table.grad = None
        F.lookup(table, ids, sparse=True).backward(given)
        seed[:] = 100
        assert table.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0]]
        seed[:] = 1
    seed.flags.writeable = False
    table.grad = None
    F.lookup(table, ids, sparse=True).backward(seed)
    assert np.shares_memory(table.grad.grouped()[0], seed)
    a = leaf([1.0, 2.0])
    frozen = np.array([3.0, 4.0])
    frozen.flags.writeable = False
    a.backward(frozen)
    assert a.grad.flags.writeable and not np.shares_memory(a.grad, frozen)


@pytest.mark.parametrize("pass_on", [lambda a: a, lambda a: a.T.T, lambda a: a + 0])
def test_a_gradient_never_shares_the_seed(pass_on):
    a, seed = leaf([1.0, 2.0]), np.array([3.0, 4.0])
    pass_on(a).backward(seed)
    a.grad += 1
    assert seed.tolist() == [3, 4]
    pass_on(a).backward(seed)
    assert a.grad.tolist() == [7, 9]


@pytest.mark.parametrize(("reduce", "share"), [(Tensor.sum, 1), (Tensor.mean, 1 / 6)])
def test_the_gradient_of_a_sum_and_of_a_mean_can_be_written_to(reduce, share):
    a = leaf(np.ones((2, 3)))
    reduce(a).backward()
    a.grad[0] = 5
    assert a.grad.tolist() == [[5] * 3, [share] * 3]


def test_a_selective_backward_is_told_which_inputs_want_a_gradient():
    asked = []

    def forward(a, b, scale):
        return a * b * scale, (a, b, scale)

    def backward(dout, saved, needs=(True, True)):
        a, b, scale = saved
        asked.append(list(needs))
        return (dout * b * scale if needs[0] else None, dout * a * scale if needs[1] else None)

    product = differentiable(forward, backward, selective=True)
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    product(a, b.numpy(), 2).sum().backward()
    product(a, b, 2).sum().backward()
    assert asked == [[True, False, False], [True, True, False]]
    assert a.grad.tolist() == [12, 16] and b.grad.tolist() == [2, 4]


def test_a_product_that_nobody_asked_for_is_left_out():
    rng = np.random.default_rng(0)
    h, weight, dout = (rng.standard_normal(shape) for shape in ((2, 3, 4), (5, 4), (2, 3, 5)))
    both = leaf(h), leaf(weight)
    F.project(*both).backward(dout)
    for position in (0, 1):
        given = [h, weight]
        given[position] = leaf(given[position])
        out = F.project(*given)
        out.backward(dout)
        np.testing.assert_array_equal(given[position].grad, both[position].grad)
        (other,) = {0, 1} - {position}
        needs = [place == position for place in (0, 1)]
        assert out.node.backward(dout, out.node.saved, needs)[other] is None


@pytest.mark.parametrize("spoiled", [0, 1])
def test_where_one_gradient_cannot_be_added_to_none_is(spoiled):
    leaves = [Tensor([1.0, 2.0], requires_grad=True) for _ in range(2)]
    (leaves[0] * leaves[1]).sum().backward()
    leaves[spoiled].grad = np.array(["a", "b"])  # in its shape, and no numbers
    other = leaves[1 - spoiled].grad.copy()
    with pytest.raises(TypeError):
        (leaves[0] * leaves[1]).sum().backward()
    assert leaves[1 - spoiled].grad.tolist() == other.tolist()


def test_the_gradient_of_a_single_number_that_was_stretched_is_an_array():
    x = Tensor(2.0, requires_grad=True)
    (x * np.ones(3)).sum().backward()
    assert isinstance(x.grad, np.ndarray) and x.grad.shape == () and x.grad == 3


def test_what_comes_while_gradients_are_set_leaves_none_of_them_set(monkeypatch):
    leaves = [leaf([1.0]) for _ in range(5)]
    F.concatenate(*leaves).sum().backward()
    tape = sys.modules["scratch_embed.tensor.tape"]  # the package has a function of this name
    loss, setting = F.concatenate(*leaves).sum(), tape._set

    def interrupted(found, grads):
        monkeypatch.setattr(tape, "_set", setting)
        setting(found[:3], grads[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(tape, "_set", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
    assert [each.grad.tolist() for each in leaves] == [[1.0]] * 5


def test_a_tape_too_long_for_a_pickle_is_told_and_a_wide_one_is_pickled():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(100):
        y = y * 1.01
    again = pickle.loads(pickle.dumps({"state": [y]}))["state"][0]
    again.sum().backward()
    assert np.array_equal(again.data, y.data)
    y = y * 1.01
    for held in (y, {"state": [y.sum()]}):
        with pytest.raises(RecursionError, match=r"lines behind one another, and 100 at most"):
            pickle.dumps(held)
    assert np.array_equal(pickle.loads(pickle.dumps(y.detach())).data, y.data)
    wide = sum((x * k for k in range(1, 60)), Tensor(0.0))  # a product and a sum each
    assert pickle.loads(pickle.dumps(wide)).data.tolist() == wide.data.tolist()


def test_the_way_back_of_what_was_computed_is_not_cut_by_a_flag():
    """Of a weight the flag freezes it; here the weights before it would get nothing."""
    w = Tensor([1.0, 2.0], requires_grad=True)
    h = w * 2
    h.requires_grad = False
    with pytest.raises(RuntimeError, match=r"computed, by mul.*t\.detach\(\)"):
        h * w
    (h.detach() * w).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    w.requires_grad = False
    assert not (w * 2).requires_grad


@pytest.mark.parametrize(
    "loss", [lambda y: y.sum(), lambda y: y.mean(), lambda y: (y * [1.0, 2.0, 3.0]).sum()]
)
def test_a_backward_that_writes_to_dout_is_told_so_behind_a_sum_as_well(loss):
    def backward(dout, x):
        dout *= x > 0
        return dout

    relu = differentiable(lambda x: (np.maximum(x, 0), x), backward)
    with pytest.raises((ValueError, RuntimeError), match="a backward only borrows dout"):
        loss(relu(Tensor([1.0, -2.0, 3.0], requires_grad=True))).backward()
