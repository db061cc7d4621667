"""Dense steps: in blocks of rows, all or none, and what a NaN does."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from scratch_embed import SGD, Adagrad, Adam, AdamW, LazyAdam, RMSProp, RowAdagrad, RowGrad, Tensor
from scratch_embed.disk import create_table
from scratch_embed.kernels import steps
from scratch_embed.optim import optimizer

RULES = {
    "SGD": lambda p: SGD(p, lr=0.1),
    "momentum": lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "nesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adagrad": lambda p: Adagrad(p, lr=0.1),
    "RowAdagrad": lambda p: RowAdagrad(p, lr=0.1),
    "Adam": lambda p: Adam(p, lr=0.1),
    "Adam decay": lambda p: Adam(p, lr=0.1, weight_decay=0.1),
    "AdamW": lambda p: AdamW(p, lr=0.1, weight_decay=0.1),
    "LazyAdam": lambda p: LazyAdam(p, lr=0.1),
    "RMSProp": lambda p: RMSProp(p, lr=0.1, momentum=0.5),
}


def table(rows: int = 40, columns: int = 3, dtype=np.float64) -> Tensor:
    data = np.random.default_rng(0).standard_normal((rows, columns)).astype(dtype)
    return Tensor(data, requires_grad=True, name="E")


def train(rule, w: Tensor, steps: int = 3) -> np.ndarray:
    optimizer, rng = rule([w]), np.random.default_rng(1)
    for _ in range(steps):
        w.grad = rng.standard_normal(w.shape).astype(w.dtype)
        optimizer.step()
    return np.array(w.data)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16])
def test_the_square_of_a_gradient_in_a_small_dtype_does_not_wrap_round(rule, dtype):
    """16 * 16 is 0 in int8, and 300 * 300 infinite in float16."""
    grad = np.array([[16, -100], [100, 3]]) * {np.int64: 2**40, np.float16: 4}.get(dtype, 1)
    ends = []
    for given in (grad.astype(dtype), grad.astype(np.float64)):
        w = table(2, 2)
        w.grad = given
        rule([w]).step()
        ends.append(w.data.tobytes())
    assert ends[0] == ends[1]


# ---- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_do_not_show(rule, dtype, monkeypatch):
    whole = train(rule, table(dtype=dtype))
    for size in (1, 100, 999):  # bytes: single rows, and blocks that do not divide the table
        monkeypatch.setattr(optimizer, "BLOCK", size)
        assert train(rule, table(dtype=dtype)).tobytes() == whole.tobytes()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_step_needs_little_room_beside_the_table(rule):
    """Formulas over the whole table at once took up to six times its size."""
    w = table(4_000, 250, np.float32)
    adam, w.grad = rule([w]), np.ones(w.shape, np.float32)
    adam.step()  # the state is made
    tracemalloc.start()
    adam.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * w.data.nbytes


@pytest.mark.parametrize("rule", [RULES[name] for name in ("momentum", "Adagrad", "Adam", "AdamW")])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3, 4)])
def test_parameters_of_any_shape_move_like_the_numbers_in_them(rule, shape):
    w = Tensor(np.ones(shape), requires_grad=True)
    single = Tensor(np.ones(1), requires_grad=True)
    for tensor in (w, single):
        optimizer = rule([tensor])
        for g in (0.5, -2.0):
            tensor.grad = np.full(tensor.shape, g)
            optimizer.step()
    np.testing.assert_array_equal(w.data, np.full(shape, single.data[0]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["SGD", "Adagrad", "RowAdagrad", "LazyAdam"])
def test_a_table_without_columns_takes_its_steps(name):
    """Its rows have no mean: RowAdagrad divided by zero, with a warning and without."""
    for grad in (np.zeros((3, 0)), RowGrad([1], np.zeros((1, 0)), (3, 0))):
        E = Tensor(np.zeros((3, 0)), requires_grad=True)
        optimizer, E.grad = RULES[name]([E]), grad
        optimizer.step()
        assert all(np.isfinite(array).all() for array in optimizer.state[0].values())


@pytest.mark.parametrize("rule", [RULES[name] for name in ("momentum", "Adagrad", "Adam", "AdamW")])
def test_a_single_number_follows_the_gradient_that_backward_leaves(rule):
    """Added up over two uses, NumPy makes it a number and no array."""
    s, same = Tensor(np.array(2.0), requires_grad=True), Tensor(np.array([2.0]), requires_grad=True)
    for tensor in (s, same):
        optimizer = rule([tensor])
        for _ in range(2):
            optimizer.zero_grad()
            (tensor * np.ones(3) * tensor).sum().backward()
            optimizer.step()
    assert s.data.shape == () and s.data == same.data[0] != 2


@pytest.mark.parametrize("name", ["momentum", "RowAdagrad", "Adam"])
def test_a_table_that_is_not_contiguous_moves_in_place(name):
    wide = np.zeros((40, 8))
    wide[:, 1:4] = table().data
    w = Tensor(wide[:, 1:4], requires_grad=True)
    assert train(RULES[name], w).tobytes() == train(RULES[name], table()).tobytes()
    np.testing.assert_array_equal(wide[:, 1:4], w.data)
    assert not wide[:, [0, 4, 5, 6, 7]].any()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_loop_for_large_tables_does_not_show(rule, dtype, monkeypatch):
    """Nor do strides, threads and a state in another order."""
    plain = train(rule, table(40, 13, dtype))
    monkeypatch.setattr(steps, "MANY", 520)
    monkeypatch.setattr(steps, "is_interpreted", lambda: False)
    monkeypatch.setattr("scratch_embed.kernels.threads.PART", 50)
    for order in (np.ascontiguousarray, np.asfortranarray, lambda array: array[::-1][::-1]):
        w = table(40, 13, dtype)
        w.data = order(w.data)
        assert train(rule, w).tobytes() == plain.tobytes()


def begun(optimizer, **state):
    """With a state of the first parameter, after no step."""
    optimizer.state[0].update(state, t=0)
    return optimizer


def in_blocks(rule, w: Tensor, monkeypatch) -> bool:
    """Whether a dense step goes over w in blocks."""
    optimizer, asked = rule([w]), []
    monkeypatch.setattr(optimizer, "_follow", lambda *_, **__: asked.append(1))
    w.grad = np.ones_like(w.data)
    optimizer.step()
    return bool(asked)


@pytest.mark.parametrize("name", RULES)
def test_rules_that_are_the_same_row_by_row_take_the_compiled_loop(name, monkeypatch):
    monkeypatch.setattr(steps, "MANY", 520)
    monkeypatch.setattr(steps, "is_interpreted", lambda: False)
    looped = name in ("SGD", "Adagrad", "Adam", "AdamW", "LazyAdam")
    assert in_blocks(RULES[name], table(40, 13), monkeypatch) != looped


def test_small_tables_stay_in_blocks_and_all_where_numpy_raises_or_numba_is_missing(monkeypatch):
    monkeypatch.setattr(steps, "is_interpreted", lambda: False)
    monkeypatch.setattr(steps, "run", lambda *_: None)
    for shape, blocks in (((2**17, 8), False), ((2**17 - 1, 8), True), ((2**18, 4), True)):
        assert in_blocks(RULES["Adam"], table(*shape, np.float32), monkeypatch) == blocks
    with np.errstate(over="raise"):
        assert in_blocks(RULES["Adam"], table(2**17, 8, np.float32), monkeypatch)
    wider = {"m": np.zeros((2**17, 8)), "v": np.zeros((2**17, 8))}
    for w, blocks in ((table(2**17, 8), False), (table(2**17, 8, np.float32), True)):
        assert in_blocks(lambda p: begun(Adam(p, lr=0.1), **wider), w, monkeypatch) == blocks
    monkeypatch.setattr(steps, "is_interpreted", lambda: True)
    assert in_blocks(RULES["Adam"], table(2**17, 8, np.float32), monkeypatch)


def test_table_and_state_on_disk_follow_a_dense_gradient(tmp_path):
    names, first = ("w", "m", "v"), table(dtype=np.float32)
    w, m, v = (create_table(tmp_path / f"{name}.npy", 40, 3, std=0) for name in names)
    w[:] = first.data
    rule, rng = Adam([Tensor(w, requires_grad=True)], lr=0.1), np.random.default_rng(1)
    rule.state[0].update(m=m, v=v)
    rule.params[0].grad = np.ones(w.shape, np.float32)
    with pytest.raises(KeyError, match="holds 'm' and no 't', how many steps there are in it"):
        rule.step()
    rule.state[0]["t"] = 0
    for _ in range(3):
        rule.params[0].grad = rng.standard_normal(w.shape).astype(np.float32)
        rule.step()
    assert np.array_equal(w, train(RULES["Adam"], first))
    assert m.any() and v.any()


@pytest.mark.parametrize("view", [np.s_[:], np.s_[::-1]])
def test_a_gradient_that_is_the_parameter_itself_is_read_before_it_changes(view, monkeypatch):
    monkeypatch.setattr(optimizer, "BLOCK", 100)
    for rule in RULES.values():
        copied, shared = table(), table()
        for w, grad in ((copied, copied.data[view].copy()), (shared, shared.data[view])):
            w.grad = grad
            rule([w]).step()
        np.testing.assert_array_equal(copied.data, shared.data)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_parameter_with_its_bytes_in_another_order_moves_like_any_other(rule):
    """And goes on from what was saved."""
    moved = []
    for dtype in (">f8", "<f8"):
        w = table(dtype=dtype)
        first, second = rule([w]), rule([w])
        for each in (first, second):
            w.grad = np.ones(w.shape)
            each.step()
            second.load_state_dict(first.state_dict())
        moved.append(w.data)
    np.testing.assert_array_equal(*moved)


# ---- all or none ---------------------------------------------------------------------------------


def bad_shape(w):
    w.grad = np.ones(3)


def bad_row_shape(w):
    w.grad = RowGrad([1], np.ones((1, 3)), (41, 3))


def bad_kind(w):
    w.grad = [1.0]


def bad_dtype(w):
    w.grad = np.ones((40, 3), complex)


def bad_array(w):
    w.data.flags.writeable = False


BAD = {
    "shape": (bad_shape, ValueError, r"gradient of b of shape \(3,\) for a tensor of shape \(40"),
    "row shape": (bad_row_shape, ValueError, r"gradient of b of shape \(41, 3\)"),
    "list": (bad_kind, TypeError, "gradient of b is a list"),
    "complex": (bad_dtype, TypeError, "gradient of b is complex128"),
    "read-only": (bad_array, ValueError, "array of b is read-only"),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_gradient_is_refused_before_any_parameter_moves(rule, bad):
    spoil, error, words = bad
    a, b = table(), table()
    a.name, b.name = "a", "b"
    a.grad, b.grad = np.ones(a.shape), np.ones(b.shape)
    optimizer, before = rule([a, b]), a.data.tobytes()
    spoil(b)
    with pytest.raises(error, match=words):
        optimizer.step()
    assert a.data.tobytes() == before
    assert not any(np.any(value) for value in optimizer.state[0].values())


def test_other_refusals_come_before_anything_moves_too():
    a, b = table(), table()
    a.grad, b.grad = np.ones(a.shape), RowGrad([1], np.ones((1, 3)), b.shape)
    wrong, frozen = np.zeros((2, 3)), np.zeros(b.shape)
    frozen.flags.writeable = False
    half = Tensor(np.ones((3, 2)), requires_grad=True, name="half")
    half.grad = RowGrad.of_batch(np.array([0, 1]), np.ones((2, 2), np.float16), (3, 2))
    cases = [
        (Adam([a, b]), {}, TypeError, "LazyAdam"),
        (Adagrad([a, b]), {"sum": wrong}, ValueError, r"state\['sum'\] has shape \(2, 3\)"),
        (Adagrad([a, b]), {"sum": np.zeros(b.shape, int)}, TypeError, "is of int64; it must be"),
        (Adagrad([a, b]), {"sum": np.zeros(b.shape, complex)}, TypeError, "is of complex128"),
        (Adagrad([a, b]), {"sum": np.zeros(b.shape, "f2")}, TypeError, "is of float16; it must be"),
        (Adagrad([a, b]), {"sum": [0.0]}, TypeError, "is of list; it must be an array of float64"),
        (LazyAdam([a, b]), {"sum": frozen}, KeyError, "would not use; it keeps 'm', 'v'"),
        (LazyAdam([a, b]), {"v": frozen, "t": 0}, ValueError, r"state\['v'\] is read-only"),
        (RowAdagrad([a, Tensor(np.ones(3), True)]), {}, ValueError, r"tables \(V, D\)"),
        (SGD([a, half], lr=0.1), {}, TypeError, r"half\.grad has dtype .*float16"),
    ]
    for rule, state, error, words in cases:
        last, before = rule.params[-1], a.data.tobytes()
        last.grad = np.ones(3) if last.ndim == 1 else last.grad
        rule.state[-1].update(state)
        with pytest.raises(error, match=words):
            rule.step()
        assert a.data.tobytes() == before


def test_complex_parameters_are_for_sgd():
    w = Tensor(np.array([1 + 2j]), requires_grad=True)
    w.grad = np.array([1j])
    SGD([w], lr=0.5).step()
    assert w.data[0] == 1 + 1.5j
    for rule in (Adagrad, Adam, AdamW, LazyAdam):
        with pytest.raises(TypeError, match="no size for a complex number"):
            rule([w]).step()


# ---- not a number --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_nan_spoils_the_entry_it_belongs_to_and_no_other(rule, bad):
    sound, spoiled = table(), table()
    for w in (sound, spoiled):
        w.grad = np.ones(w.shape)
        w.grad[5, 1] = bad if w is spoiled else 1
        with np.errstate(invalid="ignore"):
            rule([w]).step()
    same = sound.data == spoiled.data
    assert not same[5, 1] and not np.isfinite(spoiled.data[5, 1])
    assert same[np.arange(40) != 5].all()
    assert rule is RULES["RowAdagrad"] or same[5, [0, 2]].all()
