"""trace: the same gradients as backward, told step by step, and nothing told before it is known."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scratch_embed import Embedding, RowGrad, Tensor
from scratch_embed import functional as F
from scratch_embed.functional import concatenate, cross_entropy, exp, lookup, tanh
from scratch_embed.models import NextToken
from scratch_embed.tensor import differentiable, tape
from scratch_embed.trace import trace
from scratch_embed.trace.arrays import NOT_YET, lines
from scratch_embed.trace.names import Same
from scratch_embed.trace.text import ordinal, page
from scratch_embed.trace.walk import formula

IDS, TARGETS = np.array([1, 7, 1, 3]), np.array([7, 1, 3, 1])


def tied_model(num_embeddings: int = 12) -> NextToken:
    return NextToken(num_embeddings, 3, tied=True, body=True, rng=0)


def leaf(*shape: int, name: str | None = None, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True, name=name)


def scaled_and_broadcast() -> Tensor:
    x, row, s = leaf(4, 3, name="x"), leaf(3, name="row", seed=1), leaf(name="s", seed=2)
    y = tanh(x * row + s)
    return (y * y / (exp(x) + 1)).mean() + y[np.array([0, 0, 2])].sum()


def two_tables() -> Tensor:
    table, pos = leaf(9, 4, name="E"), leaf(4, 4, name="P", seed=3)
    both = concatenate(lookup(table, IDS), lookup(pos, np.arange(4)), axis=-1)
    return cross_entropy(both @ leaf(8, 9, name="U", seed=4), TARGETS)


def sparse_table() -> Tensor:
    layer = Embedding(50, 3, sparse=True, rng=0, dtype=np.float64)
    return (layer(IDS) * layer(TARGETS)).sum()


GRAPHS = {
    "tied": lambda: tied_model().loss(IDS, TARGETS),
    "broadcast": scaled_and_broadcast,
    "two tables": two_tables,
    "sparse": sparse_table,
    "float32": lambda: NextToken(9, 3, tied=True, body=True, dtype=np.float32).loss(IDS, TARGETS),
}


def leaves(loss: Tensor) -> dict[str, Tensor]:
    found, stack = {}, [loss]
    while stack:
        tensor = stack.pop()
        if tensor.node is None and tensor.requires_grad:
            found[tensor.name] = tensor
        stack += [t for t in (tensor.node.inputs if tensor.node else ()) if isinstance(t, Tensor)]
    return found


def same_bits(a, b) -> bool:
    if isinstance(a, RowGrad) or isinstance(b, RowGrad):
        return type(a) is type(b) and same_bits(a.rows, b.rows) and same_bits(a.values, b.values)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_have_the_bits_of_backward_and_grad_is_left_alone(name):
    loss = GRAPHS[name]()
    tensors = leaves(loss)
    assert tensors
    for tensor in tensors.values():
        tensor.grad = np.full(tensor.shape, 7.0)
    walk = trace(loss)
    for tensor in tensors.values():
        assert np.array_equal(tensor.grad, np.full(tensor.shape, 7.0))
        tensor.grad = None
    loss.backward()
    assert list(walk.gradients) == walk.leaves and set(walk.leaves) == set(tensors)
    for key, tensor in tensors.items():
        assert same_bits(walk.gradients[key], tensor.grad), key


def test_a_wrong_order_would_be_noticed(monkeypatch):
    """The planted bug: a computed table, A @ B, passes on before its second part is there."""
    a, b = leaf(9, 2, name="A"), leaf(2, 4, name="B", seed=1)
    table = a @ b
    loss = cross_entropy(lookup(table, IDS) @ table.T, TARGETS)
    loss.backward()
    assert same_bits(trace(loss).gradients["A"], a.grad)

    def too_early(root):
        order = [tensor for tensor in tape(root) if tensor is not table]
        return [*order[:3], table, *order[3:]]

    monkeypatch.setattr("scratch_embed.trace.tape", too_early)
    assert not np.allclose(trace(loss).gradients["A"], a.grad)


def test_a_given_cotangent_is_passed_through():
    x = leaf(3, 2, name="x")
    y = tanh(x) * x
    cotangent = np.random.default_rng(5).normal(size=(3, 2))
    walk = trace(y, cotangent)
    y.backward(cotangent)
    assert walk.loss == "y" and same_bits(walk.gradients["x"], x.grad)
    with pytest.raises(ValueError, match="needs a gradient of that shape"):
        trace(y)


def test_a_table_used_twice_collects_two_parts_that_add_up():
    walk = trace(tied_model().loss(IDS, TARGETS))
    parts = [part for step in walk.backward for part in step.parts if part.parent == "E"]
    assert [(p.number, p.of) for p in parts] == [(1, 2), (2, 2)]
    assert same_bits(parts[0].total, parts[0].value)
    assert same_bits(parts[1].total, parts[0].value + parts[1].value)
    assert same_bits(parts[1].total, walk.gradients["E"])
    projection, reading = (np.flatnonzero(np.abs(p.value).sum(axis=1)) for p in parts)
    assert len(projection) == 12 and reading.tolist() == [1, 3, 7]
    assert walk.touched["E"].tolist() == [1, 3, 7]


def test_every_tensor_passes_on_its_whole_gradient():
    walk = trace(scaled_and_broadcast())
    collected: dict = {}
    for step in walk.backward:
        if step.name != walk.loss:
            assert same_bits(step.incoming, collected[step.name].total)
            assert collected[step.name].number == collected[step.name].of
        collected.update((part.parent, part) for part in step.parts)


def test_forward_steps_name_inputs_formula_and_what_was_saved():
    model = tied_model()
    h = model.embed(IDS)
    loss = cross_entropy(tanh(h @ model.body) @ model.head.T, TARGETS)
    walk = trace(loss, h=h)
    assert [s.name for s in walk.forward] == ["h", "matmul_1", "tanh_1", "E.T", "logits", "loss"]
    first, second = walk.forward[:2]
    assert first.expression == "lookup(E, IDS)" and first.formula.startswith("out[n] = weight[ids")
    assert [(i.parameter, i.name) for i in first.inputs] == [("weight", "E"), ("ids", "IDS")]
    assert first.saved["num_rows"] == 12 and same_bits(first.out, h.numpy())
    assert isinstance(second.saved["a"], Same) and second.saved["a"].name == "h"
    assert walk.backward[-1].rule.startswith("dweight[v] = sum of dout[n]")
    assert list(walk.sources) == ["E", "IDS", "W", "TARGETS"] and walk.leaves == ["E", "W"]


def test_names_are_unique_and_nameless_leaves_are_counted():
    one, two = leaf(2, name="w"), leaf(2, name="w", seed=1)
    walk = trace((one * two * leaf(2, seed=2) * leaf(2, seed=3)).sum())
    assert walk.leaves == ["w", "w_2", "leaf_1", "leaf_2"]
    assert [s.expression for s in walk.forward[:2]] == ["mul(w, w_2)", "mul(mul_1, leaf_1)"]
    assert trace(one * Tensor(2.0), np.ones(2)).forward[0].expression == "mul(w, b)"
    assert trace(one**3, np.ones(2)).forward[0].expression == "power(w, 3)"
    odd = Tensor(1.0, requires_grad=True, name="mul_1")
    assert [s.name for s in trace(odd * odd * odd).forward] == ["mul_2", "loss"]


def test_the_numbers_are_those_of_the_moment_even_if_the_table_changes_afterwards():
    model = tied_model()
    loss = model.loss(IDS, TARGETS)
    before = model.embed.weight.data.copy()
    walk = trace(loss)
    told = str(walk)
    model.embed.weight.data[:] = 12345.0
    assert same_bits(walk.sources["E"], before) and str(walk) == told and "12345" not in told
    with pytest.raises(ValueError, match="read-only"):
        walk.sources["E"][0] = 1


def test_a_gradient_not_yet_computed_is_absent_and_never_0():
    x, unused = leaf(2, name="x"), leaf(2, name="unused", seed=1)
    keep = differentiable(lambda a, b: (a * 1.0, ()), lambda dout, saved: (dout, None), name="keep")
    y = keep(x, unused)
    walk = trace(y.sum(), y=y)
    for step in range(len(walk.forward) + 1):
        state = walk.state(step)
        assert not state.gradients and ("y" in state.values) == (step >= 1)
    assert list(walk.state(3).gradients) == ["loss", "y"]
    assert f"{NOT_YET}: dx, dunused" in walk.text(3)
    assert "unused" not in walk.gradients and "no gradient: dunused" in walk.text(4)
    assert "dunused: no gradient reaches it" in str(walk) and "has no docstring" in str(walk)


def test_the_running_sum_is_told_and_what_is_still_missing():
    a = Tensor(3.0, requires_grad=True, name="a")
    b = a * a
    walk = trace(b * a, b=b)
    first, second = walk.text(3), walk.text(4)
    assert "da = 9, part 1 of 3" in first and "da has 1 of 3 parts, waiting for its second" in first
    assert "da = 9, part 2 of 3" in second and "da = 18, sum of 2 parts so far" in second
    assert "da = 27, sum of 3 parts so far" in second and "waiting" not in second
    assert walk.gradients["a"] == 27.0


def test_a_large_table_shows_only_the_rows_that_were_touched():
    walk = trace(NextToken(5000, 3, body=True, rng=0).loss(np.array([4000, 17]), np.array([1, 2])))
    page = walk.text(1)
    assert "[17]" in page and "[4000]" in page and "... " in page
    shown = [line for line in page.splitlines() if line.strip().startswith("[")]
    assert len(shown) < 8
    last = walk.text(len(walk))
    assert "17 rows, all 0" in last and "999 rows, all 0" in last
    for columns in (40, 80):
        pages = [walk.text(step, columns) for step in range(len(walk) + 1)]
        assert max(len(line) for page in pages for line in page.splitlines()) <= columns


def test_a_sparse_gradient_stays_sparse_and_says_so():
    table = Embedding(10**6, 2, sparse=True, rng=0, dtype=np.float64)
    walk = trace(table(np.array([5, 5, 999_999])).sum())
    assert isinstance(walk.gradients["leaf_1" if table.weight.name is None else table.weight.name],
                      RowGrad)  # fmt: skip
    assert "999,998 rows not stored, all 0" in walk.text(len(walk))


@pytest.mark.parametrize("columns", [20, 33, 80])
def test_arrays_fit_their_columns_and_only_zero_reads_0(columns):
    rng = np.random.default_rng(0)
    for shape in [(), (0, 3), (4,), (500,), (3, 768), (50, 3), (2, 3, 4), (20, 30, 2)]:
        for scale in (1.0, 1e-6, 1e6):
            whole = scale * rng.normal(size=shape)
            told = lines(whole, columns=columns)
            assert told and max(map(len, told)) <= columns
            numbers = re.findall(r"-?\d+\.[\de+-]*", " ".join(told))
            assert set(numbers) <= {f"{x:.4g}" for x in whole.flat}
    assert lines(np.array([1e-30, 0.0])) == ["[1e-30, 0]"]
    stored = RowGrad([123_456], np.ones((1, 2)), (10**6, 2))
    told = lines(stored, columns=columns)
    assert max(map(len, told)) <= columns and set(re.findall(r"\d[\d,]+", told[-1])) <= {"999,999"}
    assert lines(np.array([[1.5, 2.0]])) == ["[0]  1.5    2"]


@pytest.mark.parametrize("columns", [30, 46, 72])
def test_the_chosen_entry_is_always_seen(columns):
    rng = np.random.default_rng(0)
    for _ in range(60):
        rows, wide = rng.integers(1, 12), rng.integers(1, 40)
        array = rng.normal(size=(rows, wide)) * 10.0 ** rng.integers(-6, 5, size=(rows, wide))
        i, j = int(rng.integers(rows)), int(rng.integers(wide))
        for told in (lines(array, columns=columns, most=3, chosen=(i, j)),
                     lines(array[i], columns=columns, chosen=(j,))):  # fmt: skip
            assert f">{array[i, j]:.4g}<" in " ".join(told) and max(map(len, told)) <= columns


def test_a_low_screen_still_names_what_backward_needs():
    rng = np.random.default_rng(0)
    h = Tensor(rng.normal(size=(3, 4)), requires_grad=True, name="h")
    W = Tensor(rng.normal(size=(4, 6)), requires_grad=True, name="W")
    walk = trace((h @ W).sum())
    assert "needs       h (3, 4), W (4, 6)" in page(walk, len(walk), 60, rows=10)


def test_a_long_chain_is_walked_without_recursion_and_told_by_its_ends():
    x = Tensor(1.0, requires_grad=True, name="x")
    y = x
    for _ in range(5_000):
        y = y + 0.5
    walk = trace(y)
    assert len(walk) == 10_000 and walk.gradients["x"] == 1.0
    told = str(walk)
    assert "steps left out" in told and len(told) < 100_000
    with pytest.raises(ValueError, match="5,001 boxes"):
        walk.figure()


def test_wrong_use_is_told():
    x = leaf(2, name="x")
    with pytest.raises(TypeError, match="loss is a ndarray, not a Tensor"):
        trace(np.ones(3))
    with pytest.raises(TypeError, match="h is a int"):
        trace(x.sum(), h=3)
    with pytest.raises(RuntimeError, match="requires no gradient"):
        trace(Tensor(1.0) * 2)
    with pytest.raises(IndexError, match=r"step is 5; this trace has steps 0 .* to 2"):
        trace(x.sum()).text(5)
    for step in ("1", 1.5):
        with pytest.raises(TypeError, match=f"step is {step!r}; it must be a whole number"):
            trace(x.sum()).entry(step)
    alone = trace(Tensor(2.0, requires_grad=True, name="w"))
    assert len(alone) == 0 and alone.gradients == {"w": 1.0} and "dw = 1" in str(alone)


def test_a_name_that_a_terminal_would_obey_is_made_harmless(tmp_path):
    x = Tensor([1.0, 2.0], requires_grad=True, name="\x1b[2Jred\ud800")
    walk = trace((x * x).sum())
    assert "\x1b" not in str(walk) and "\ufffd[2Jred\ufffd" in str(walk)
    assert walk.html(tmp_path / "walk.html").exists()


def test_a_sum_of_nothing_is_told():
    walk = trace(Tensor(np.ones((2, 0)), requires_grad=True).sum())
    assert " = 0" in str(walk) and "=  =" not in str(walk)


def in_place(E):
    E.data[...] -= 0.5 * E.grad


def anew(E):
    E.data = E.data - 0.5 * E.grad


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step_by_hand", [in_place, anew])
def test_after_a_step_by_hand_nothing_false_is_told(step_by_hand, dtype):
    """A lookup saves no numbers of its table, so that backward does not notice."""
    E = Tensor(np.arange(6, dtype=dtype).reshape(3, 2) / 10, requires_grad=True, name="E")
    ids = np.array([1, 2, 1])
    loss = (tanh(lookup(E, ids)) * np.arange(1, 7, dtype=dtype).reshape(3, 2)).sum()
    loss.backward()
    assert "agrees" in trace(loss).entry(8, (0, (1, 0))).text()
    step_by_hand(E)
    with pytest.raises(RuntimeError, match=r"lookup\(E, ids\) gives other numbers than it did"):
        trace(loss)


def test_no_operation_of_the_package_has_a_rule_that_ends_before_it_begins():
    for name in dir(F):
        operation = getattr(F, name)
        for half in (getattr(operation, "forward", None), getattr(operation, "backward", None)):
            assert half is None or not formula(half).rstrip().endswith((":", ",")), name


def test_uses_are_counted_as_people_count():
    told = " ".join(ordinal(n) for n in (2, 5, 6, 11, 12, 13, 20, 21, 22, 23, 24, 101, 111, 112))
    assert told == "second fifth 6th 11th 12th 13th 20th 21st 22nd 23rd 24th 101st 111th 112th"


def test_the_call_tells_the_options_that_were_given():
    x = leaf(2, 2, name="x")
    for y, told in ((F.softmax(x, axis=0), "softmax(x, axis=0)"), (F.softmax(x), "softmax(x)"),
                    (F.layer_norm(x, eps=0.1), "layer_norm(x, eps=0.1)"),
                    (F.layer_norm(x, eps=1e-5), "layer_norm(x)"),
                    (F.attention(x, x, x, causal=True), "attention(x, x, x, causal=True)"),
                    (F.attention(x, x, x, mask=np.eye(2) > 0), "mask=array (2, 2))")):  # fmt: skip
        assert trace(y.sum()).forward[0].expression.endswith(told)


def test_a_name_of_the_rule_that_a_tensor_has_as_well_is_told_apart():
    z = leaf(1, 3, name="z")
    p = F.softmax(z)
    walk = trace(cross_entropy(p, [0]))
    note = "p here is made inside cross_entropy: the tensor p is another"
    assert note in walk.entry(3, (0, (0, 0))).text()
    assert note not in trace(cross_entropy(z, [0])).entry(2, (0, (0, 0))).text()
    h = F.softmax(z) @ leaf(3, 2)
    walk = trace(F.tied_cross_entropy(h, leaf(4, 2), [1]), h=h, logits=z)
    told = walk.entry(len(walk.forward) + 1, (1, (0, 0))).text()
    assert "logits here is made inside tied_cross_entropy" in told


def test_an_ignored_position_that_is_no_number_counts_nothing():
    z = Tensor([[1.0, 2.0], [np.nan, np.nan]], requires_grad=True)
    walk = trace(cross_entropy(z, [0, -1], ignore_index=-1))
    assert walk.entry(2, (0, (1, 0))).lines[0].value == 0
