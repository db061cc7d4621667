"""The package's own writes between forward and backward are noticed exactly."""

from __future__ import annotations

import threading
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

from scratch_embed import SGD, Adagrad, Adam, AdamW, Embedding, LazyAdam, RowAdagrad, Tensor, watch
from scratch_embed import functional as F
from scratch_embed.tensor import differentiable, lean, no_grad
from scratch_embed.watch import has_changed, keep, watching, wrote

WRITTEN = "has been written to since forward"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def leaf(data, name: str | None = None) -> Tensor:
    return Tensor(np.array(data, np.float64), requires_grad=True, name=name)


STEPS = [(kind, False) for kind in (SGD, Adagrad, RowAdagrad, Adam, AdamW, LazyAdam)]


STEPS += [(kind, True) for kind in (SGD, Adagrad, RowAdagrad, LazyAdam)]


@pytest.mark.parametrize(("kind", "sparse"), STEPS)
def test_an_optimisers_step_is_noticed_though_it_moves_one_row_of_many(kind, sparse):
    table = leaf(np.ones((4000, 2)), name="table")
    optimizer = kind([table], lr=0.1)
    loss = (Tensor(np.ones((1, 2)), requires_grad=True) @ table.T).sum()
    loss.backward()
    table.grad = None
    F.lookup(table, [17], sparse=sparse).sum().backward()
    with watching(0):
        loss = (Tensor(np.ones((1, 2)), requires_grad=True) @ table.T).sum()
        optimizer.step()
        assert table.data[17, 0] != 1
        with pytest.raises(RuntimeError, match=f"matmul kept its input 1, table, .*{WRITTEN}"):
            loss.backward()  # through the view table.T


def test_a_second_backward_after_a_step_is_told():
    weight = leaf([[1.0, 2.0]], name="weight")
    loss = (F.tanh(weight) * weight).sum()
    loss.backward()
    SGD([weight], lr=0.1).step()
    with pytest.raises(RuntimeError, match="mul kept its input 1, weight"):
        loss.backward()


def test_a_step_between_two_backwards_of_a_lookup_or_a_linear_model_is_right_and_said(rng):
    table, loss = leaf(rng.standard_normal((5, 2))), None
    loss = F.lookup(table, [1, 1]).sum()
    for said in (nullcontext(), pytest.warns(RuntimeWarning, match="took a weight as it was")):
        table.grad = None
        with said:
            loss.backward()
        assert table.grad.tolist() == [[0, 0], [2, 2], [0, 0], [0, 0], [0, 0]]
        SGD([table], lr=0.1).step()
    x, y, w = rng.standard_normal((8, 3)), rng.standard_normal((8, 1)), leaf(np.zeros((3, 1)))
    loss = ((x @ w - y) ** 2).sum()
    for said in (nullcontext(), pytest.warns(RuntimeWarning, match="took a weight as it was")):
        w.grad = None
        with said:
            loss.backward()  # where forward was, w was 0
        np.testing.assert_allclose(w.grad, -2 * x.T @ y)
        SGD([w], lr=0.1).step()


def test_what_was_made_of_a_weight_before_its_step_is_said(rng):
    """Made once and used in every step, or carried on from one to the next: torch raises there."""
    table = leaf(rng.standard_normal((5, 2)))
    table.name = "E"
    scaled, carried, rule = table * 2.0, 0.0, SGD([table], lr=0.1)
    for said in (nullcontext(), pytest.warns(RuntimeWarning, match="mul took E as it was before")):
        with said:
            F.lookup(scaled, [1]).sum().backward()
        rule.step()
    for said in (nullcontext(), pytest.warns(RuntimeWarning, match="lookup took E as it was")):
        carried = F.lookup(table, [1]) + carried * 0.5
        with said:
            carried.sum().backward()
        rule.step()
    turned = table.T
    rule.step()
    with warnings.catch_warnings():  # detached, a view, another tensor's step: nothing to say
        warnings.simplefilter("error")
        (turned * 1.0).sum().backward()
        (F.lookup(table, [1]) + carried.detach()).sum().backward()
        loss = F.lookup(table, [1]).sum()
        other = leaf(np.ones(2))
        other.grad = np.ones(2)
        SGD([other], lr=0.1).step()
        loss.backward()


@pytest.mark.parametrize("view", [lambda E: E.T, lambda E: E[1:], lambda E: E.reshape(10).T])
def test_what_was_made_of_a_view_of_a_weight_before_its_step_is_said(view):
    table = leaf(np.ones((5, 2)), name="E")
    loss = F.exp(view(table)).sum()
    loss.backward()
    SGD([table], lr=0.1).step()
    with pytest.warns(RuntimeWarning, match="exp took E as it was before") as said:
        loss.backward()
    assert len(said) == 1


@pytest.mark.parametrize(
    "views", [lambda E: E.T, lambda E: E.T.reshape(2, 5, 1), lambda E: E[1:].T[:, 1:]]
)
def test_of_views_made_once_under_lean_nothing_is_said(views):
    """Each has the numbers of now, also where nobody holds the array of the one before it."""
    table = leaf(np.ones((5, 2)), name="E")
    with lean():
        once = views(table)
        copied = table.T.reshape(10)
    for _ in range(2):
        with lean(), warnings.catch_warnings():
            warnings.simplefilter("error")
            (once * 2.0).sum().backward()
        SGD([table], lr=0.1).step()
    with lean(), pytest.warns(RuntimeWarning, match="reshape took E as it was before"):
        copied.sum().backward()


def test_max_norm_is_noticed_when_it_shrinks_a_row():
    layer = Embedding(4000, 2, max_norm=1.0, rng=0)
    layer.weight.data[:] = 0.1
    layer.weight.data[17] = 5
    h = leaf([[1.0, 1.0]])
    with watching(0):
        out = (h @ layer.weight.T).sum()
        layer([3])
        out.backward()
        layer([17])
        with pytest.raises(RuntimeError, match=WRITTEN):
            out.backward()


def test_a_write_counts_for_the_array_and_not_for_the_next_one_in_its_place():
    for _ in range(50):
        x = leaf(np.ones(1000))
        out = (x * x).sum()
        out.backward()
        wrote(x.data)
        with pytest.raises(RuntimeError, match=WRITTEN):
            out.backward()
        del x, out


def test_nothing_is_remembered_without_a_tape_and_each_thread_watches_for_itself():
    x, seen = leaf([1.0]), []
    with no_grad():
        assert (x * x).node is None
    with watching(0):
        assert not has_changed(keep(np.ones(3))) and keep(np.ones(3))[1] == 0
        other = threading.Thread(target=lambda: seen.append(keep(np.ones(3))[1]))
        other.start()
        other.join()
    assert seen == [1] and keep(np.ones(3))[1] == 1
    with pytest.raises(ValueError, match="entries is -1"), watching(-1):
        pass


def test_whatever_saved_is_its_arrays_are_watched():
    kinds = {
        "array": (lambda a: a, lambda s: s),
        "list": (lambda a: [a], lambda s: s[0]),
        "dict": (lambda a: {"a": a}, lambda s: s["a"]),
        "nested": (lambda a: (1, (a, 2)), lambda s: s[1][0]),
    }
    for pack, unpack in kinds.values():
        cube = differentiable(
            lambda a, pack=pack: (a**3, pack(a)),
            lambda dout, saved, unpack=unpack: dout * 3 * unpack(saved) ** 2,
            name="cube",
        )
        a = leaf([2.0])
        out = cube(a)
        a.data[0] = 1
        with pytest.raises(RuntimeError, match="cube kept its input 0"):
            out.backward()


def test_a_backward_that_writes_to_what_it_borrowed_is_told():
    def double_backward(dout, saved):
        dout *= 2
        return dout

    double = differentiable(lambda a: (2 * a, ()), double_backward, name="double")
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    out = double(a * 1) + b * 1  # add hands one array to both
    with pytest.raises(RuntimeError, match="handed to backward of double .* only borrows dout"):
        out.backward(np.ones(2))
    assert a.grad is None and b.grad is None


def test_a_workspace_that_is_handed_back_and_written_to_again_is_told():
    workspace = np.empty(3)

    def scale_backward(dout, saved):
        return np.multiply(dout, saved[0], out=workspace)

    scale = differentiable(lambda x, by: (x * by, (by,)), scale_backward, name="scale")
    a, b = leaf(np.ones(3)), leaf(np.ones(3))
    with pytest.raises(RuntimeError, match="may not write again to what it has handed back"):
        (scale(a, 2.0) + scale(b, 3.0)).sum().backward()
    assert a.grad is None and b.grad is None


def test_a_step_of_one_part_of_a_buffer_says_nothing_of_another():
    """Of weights that lie in one array: only what shares memory has been written to."""
    flat = np.ones(9000)
    A, B, both = (
        Tensor(part, requires_grad=True) for part in (flat[:4000], flat[4000:], flat[3000:5000])
    )
    losses = [(x * x).sum() for x in (A, B, both)]
    losses[0].backward()
    SGD([A], lr=0.1).step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses[1].backward()
    for loss in (losses[0], losses[2]):
        with pytest.raises(RuntimeError, match="it has been written to since forward"):
            loss.backward()


def test_of_very_many_parts_all_count_for_one(monkeypatch):
    monkeypatch.setattr(watch, "PARTS", 10)
    flat = np.ones(35 * 2000)
    parts = [Tensor(part, requires_grad=True) for part in flat.reshape(35, 2000)]
    losses = [(x * x).sum() for x in parts]
    for loss in losses:
        loss.backward()
    for x in parts:
        SGD([x], lr=1e-12).step()
    for loss in losses:
        with pytest.raises(RuntimeError, match="it has been written to since forward"):
            loss.backward()
