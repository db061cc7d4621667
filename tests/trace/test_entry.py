"""One entry worked out: rule, local derivatives and nudge say what backward says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scratch_embed import Embedding, Tensor
from scratch_embed import functional as F
from scratch_embed.layers import Linear
from scratch_embed.models import NextToken
from scratch_embed.tensor import differentiable
from scratch_embed.trace import replay, slopes, trace
from scratch_embed.trace.choice import Choice, first, moved
from scratch_embed.trace.forwards import forward_entry
from scratch_embed.trace.nudge import AGREES, DIFFERS
from scratch_embed.trace.rule import in_names

IDS = np.array([[1, 3, 1], [0, 1, 4]])  # row 1 is read three times


def leaf(*shape: int, seed: int = 0, positive: bool = False) -> Tensor:
    data = np.random.default_rng(seed).normal(size=shape)
    return Tensor(np.abs(data) + 0.5 if positive else data, requires_grad=True)


ONE = {name: getattr(F, name) for name in ("exp", "tanh", "sigmoid", "log_sigmoid", "relu", "neg")}
MAKE = {
    **{name: (lambda f=f: f(leaf(2, 3))) for name, f in ONE.items()},
    "log": lambda: F.log(leaf(2, 3, positive=True)),
    "sqrt": lambda: F.sqrt(leaf(2, 3, positive=True)),
    "power": lambda: leaf(2, 3) ** 3,
    "add": lambda: leaf(2, 3) + leaf(3, seed=1),
    "sub": lambda: leaf(2, 1) - leaf(3, seed=1),
    "mul": lambda: leaf(2, 3) * leaf(2, 1, seed=1),
    "scaled": lambda: leaf(2, 3) * 0.5,
    "div": lambda: leaf(2, 3) / leaf(3, seed=1, positive=True),
    "sum": lambda: leaf(2, 3, 4).sum(axis=(0, -1), keepdims=True),
    "mean": lambda: leaf(2, 3).mean(axis=0),
    "lookup": lambda: F.lookup(leaf(5, 2), IDS),
    "project": lambda: F.project(leaf(2, 3, 4), leaf(5, 4, seed=1), leaf(5, seed=2)),
    "matmul": lambda: leaf(2, 3, 4) @ leaf(4, 2, seed=1),
    "matmul stacked": lambda: leaf(2, 3, 4) @ leaf(2, 4, 2, seed=1),
    "matmul vector": lambda: leaf(3, 4) @ leaf(4, seed=1),
    "softmax": lambda: F.softmax(leaf(3, 4), axis=0),
    "log_softmax": lambda: F.log_softmax(leaf(3, 4)),
    "cross_entropy": lambda: F.cross_entropy(leaf(2, 3, 5), IDS),
    "cross_entropy none": lambda: F.cross_entropy(leaf(2, 3, 5), IDS, reduction="none"),
    "cross_entropy smooth": lambda: F.cross_entropy(leaf(2, 3, 5), IDS, label_smoothing=0.1),
    "cross_entropy weighted": lambda: F.cross_entropy(
        leaf(2, 3, 5), IDS, weight=np.array([1, 2, 0, 1, 0.5])
    ),
    "cross_entropy ignoring": lambda: F.cross_entropy(leaf(2, 3, 5), IDS, ignore_index=1),
    "layer_norm": lambda: F.layer_norm(leaf(2, 4), leaf(4, seed=1), leaf(4, seed=2)),
    "layer_norm bare": lambda: F.layer_norm(leaf(2, 4)),
    "rms_norm": lambda: F.rms_norm(leaf(2, 4), leaf(4, seed=1)),
    "dropout": lambda: F.dropout(leaf(3, 4), 0.5, np.random.default_rng(0)),
    "attention": lambda: F.attention(leaf(3, 2), leaf(3, 2, seed=1), leaf(3, 2, seed=2)),
    "attention masked": lambda: F.attention(
        leaf(2, 1, 3, 2), leaf(2, 3, 2, seed=1), leaf(2, 2, 3, 1, seed=2), causal=True, scale=1
    ),
    "rotary": lambda: F.rotary(leaf(2, 3, 4)),
    "rotary concatenated": lambda: F.rotary(
        leaf(2, 3, 4), np.array([[1], [4]]), layout="concatenated"
    ),
    "bag": lambda: F.embedding_bag(leaf(5, 2), IDS, mode="mean"),
    "bag sum": lambda: F.embedding_bag(leaf(5, 2), IDS.ravel(), offsets=[0, 4, 4, 6]),
    "bag max": lambda: F.embedding_bag(leaf(5, 2), IDS, mode="max", padding_idx=0),
    "bag weighted": lambda: F.embedding_bag(
        leaf(5, 2), IDS, leaf(2, 3, seed=1), mode="sum", padding_idx=0
    ),
    "one_hot": lambda: F.onehot_product(leaf(2, 3, 5), leaf(5, 2, seed=1)),
    "sgns": lambda: F.sgns(*(leaf(*s, seed=k) for k, s in enumerate([(2, 3), (2, 3), (2, 4, 3)]))),
    "cbow": lambda: F.cbow(leaf(2, 3, 2), leaf(2, 2, seed=1), leaf(2, 4, 2, seed=2), IDS != 0),
    "tied": lambda: F.tied_cross_entropy(leaf(2, 3, 4), leaf(5, 4, seed=1), IDS, ignore_index=0),
    "reshape": lambda: leaf(2, 3).reshape(3, 2),
    "transpose": lambda: leaf(2, 3).T,
    "getitem": lambda: leaf(4, 3)[np.array([0, 0, 2])],
    "concatenate": lambda: F.concatenate(leaf(2, 3), leaf(1, 3, seed=1)),
    "unfold": lambda: F.unfold(leaf(1, 1, 4, 4), 2),
}


def worked_out(stage: str) -> float | None:
    """What a stage with its numbers put in comes to; None where it has names in it."""
    known = {"s": lambda x: 1 / (1 + np.exp(-x)), "ln": np.log, "sqrt": np.sqrt, "e": np.e}
    known |= {"tanh": np.tanh, "max": max}
    stage = re.sub(r"\b(ln|sqrt|tanh) (\S+)", r"\1(\2)", stage.partition(", as ")[0])
    stage = re.sub(r"(?<=[\d)]) ?(?=\()|(?<=[\d)]) (?=\d)", "*", stage.replace("^", "**"))
    try:
        return float(eval(stage, {"__builtins__": {}}, known))  # of our own making
    except (NameError, SyntaxError, TypeError):
        return None


def every_line(lines):
    for line in lines:
        yield line
        yield from every_line(line.parts)


def check_numbers(working) -> int:
    """The numbers of each line come to its value, as far as four digits tell."""
    count = 0
    for line in every_line(working.lines):
        for stage in line.stages:
            value = worked_out(stage)
            if value is not None and isinstance(line.value, float):
                count += 1
                assert value == pytest.approx(line.value, rel=5e-3, abs=5e-3), line
    return count


def every_entry(walk):
    for step in range(len(walk.forward) + 1, len(walk) + 1):
        for place, part in enumerate(walk.steps[step - 1].parts):
            for index in np.ndindex(part.value.shape):
                yield part, index, walk.entry(step, (place, index))


@pytest.mark.parametrize("name", MAKE)
def test_rule_nudge_and_backward_agree_at_every_entry(name):
    out = MAKE[name]()
    walk = trace(out, np.random.default_rng(9).normal(size=out.shape))
    grads = {k: np.asarray(g) for k, g in walk.gradients.items()}
    count = 0
    for part, index, working in every_entry(walk):
        count += 1
        assert working.value == grads[part.parent][index]  # each leaf is used once
        assert working.lines[0].value == pytest.approx(working.value, rel=1e-5, abs=1e-9)
        verdicts = [line.value for line in working.lines if line.value in (AGREES, DIFFERS)]
        assert verdicts == [AGREES], working.text()
        assert check_numbers(working) >= 2
        for line in working.text(everything=True, columns=80).splitlines():
            assert len(line) <= 80
    assert count == sum(grad.size for grad in grads.values())


@pytest.mark.parametrize("rule", slopes.RULES)
def test_a_wrong_rule_is_noticed(rule, monkeypatch):
    """The planted bug: each rule in turn is 1 percent off."""
    right = slopes.RULES[rule]

    def wrong(at, place, index):
        found = right(at, place, index)
        return found and found._replace(values=found.values * 1.01)

    monkeypatch.setitem(slopes.RULES, rule, wrong)
    noticed = 0
    for make in MAKE.values():
        out = make()
        walk = trace(out, np.random.default_rng(9).normal(size=out.shape))
        if any(at.node.backward is rule for at in walk.forward):
            for _, _, working in every_entry(walk):
                told = working.lines[0].value
                noticed += abs(told - working.value) > 1e-5 * abs(working.value)
    assert noticed


@pytest.mark.parametrize("name", ["attention", "attention masked", "sgns", "cbow", "tied"])
def test_what_a_long_rule_opens_into_adds_up(name):
    out = MAKE[name]()
    walk = trace(out, np.random.default_rng(9).normal(size=out.shape))
    for _, _, working in every_entry(walk):
        line = working.lines[0]
        if "more)" not in line.stages[0] and any(part.parts for part in line.parts):
            pairs = zip(line.parts[::2], line.parts[1::2])
            told = sum(local.value * arrived.value for local, arrived in pairs)
            assert told == pytest.approx(line.value)
    assert not any("measured" in w.text(everything=True) for _, _, w in every_entry(walk))


def test_a_learners_own_wrong_backward_is_told():
    def forward(a):
        return a * a, (a,)

    def backward(dout, saved):
        return dout * saved[0]  # lost a factor of 2

    x = leaf(3)
    walk = trace(differentiable(forward, backward, name="square")(x), np.ones(3))
    told = walk.text(2)
    assert "DIFFERS" in told and "return dout * saved[0]" in told and "test_entry.py" in told
    assert walk.entry(2).lines[0].value == pytest.approx(2 * walk.entry(2).value, rel=1e-4)


def test_what_differs_is_written_with_as_many_digits_as_it_takes():
    square = differentiable(
        lambda x: (x * x, x), lambda dout, x: dout * 2.000006 * x, name="square"
    )
    told = trace(square(Tensor([1.0, 2.0], requires_grad=True, name="x")).sum()).text(4)
    assert "nudge = 8e-05 / 2e-05 = 4\n" in told and "backward made 4.00001: DIFFERS" in told


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_before_a_wrong_one_are_told_from_it(dtype):
    """What reaches them is off, and what they make of it is right; a second wrong one is told."""
    cubed = differentiable(lambda x: (x**3, x), lambda dout, x: dout * x**2, "cubed")
    halved = differentiable(lambda x: (x / 2, ()), lambda dout, saved: dout, "halved")
    rng = np.random.default_rng(0)
    E, W, R = (rng.standard_normal(shape).astype(dtype) for shape in ((4, 3), (3, 2), (3, 2)))
    E, W = (Tensor(array, requires_grad=True, name=name) for array, name in ((E, "E"), (W, "W")))
    walk = trace((cubed(F.tanh(halved(F.lookup(E, [1, 2, 1])) @ W)) * R).sum())
    said = {}
    for part, index, working in every_entry(walk):
        if part.value[index]:
            op = next(at.op for at in walk.backward if any(p is part for p in at.parts))
            names = [line.name for line in working.lines]
            said.setdefault(op, set()).add(working.lines[names.index("nudge") + 1].value)
    astray = {f"{DIFFERS}, as what arrives does: this step is right"}
    assert said == {
        "sum": {AGREES}, "mul": {AGREES}, "cubed": {DIFFERS}, "tanh": astray, "matmul": astray,
        "halved": {DIFFERS}, "lookup": astray,
    }  # fmt: skip


def test_an_option_that_holds_a_row_still_differs_on_purpose():
    E = leaf(5, 2)
    walk = trace(F.lookup(E, np.array([1, 2]), padding_idx=1), np.ones((2, 2)))
    assert "differs on purpose: padding_idx" in walk.entry(2, (0, (1, 0))).text()
    assert "agrees" in walk.entry(2, (0, (2, 0))).text()


def test_what_an_option_makes_of_a_derivative_is_not_called_one():
    E = leaf(5, 2)
    walk = trace(F.lookup(E, np.array([1, 2, 1]), padding_idx=1).sum())
    told = walk.entry(len(walk), (0, (1, 0))).text(everything=True)
    assert "moves with this entry, and padding_idx keeps its gradient at 0" in told
    assert "nothing in" in walk.entry(len(walk), (0, (0, 0))).text()
    bags = np.array([[1, 2], [1, 0]])
    for y in (F.lookup(E, [1, 2, 1], scale_grad_by_freq=True),
              F.embedding_bag(E, bags, mode="sum", scale_grad_by_freq=True)):  # fmt: skip
        walk = trace((y * y).sum())
        twice, once = (walk.entry(len(walk), (0, (k, 0))).text(everything=True) for k in (1, 2))
        assert "∂" not in twice and "by scale_grad_by_freq, the factor of d" in twice
        assert "∂" in once and "factor" not in once


def test_a_part_is_nudged_in_its_own_use_and_the_sum_is_told():
    model = NextToken(5, 3, tied=True, body=True, rng=0)
    walk = trace(model.loss(IDS, IDS[::-1]))
    told = [w.text() for part, index, w in every_entry(walk) if part.parent == "E"]
    assert len(told) == 30 and all("this use of it alone was nudged" in text for text in told)
    assert all("agrees" in text for text in told)
    parts = [(p, i, w) for p, i, w in every_entry(walk) if p.parent == "E" and p.number == 2]
    for _, index, working in parts:
        assert working.lines[1].value == pytest.approx(walk.gradients["E"][index])


def test_names_are_those_of_the_learner():
    class Model:
        def __init__(self):
            self.U = leaf(5, 2)
            self.body = leaf(2, 2, seed=1)

        def __call__(self, ids):
            return F.tanh(F.lookup(self.U, ids) @ self.body)

    model = Model()
    hidden = model(IDS)
    scores = F.project(hidden, model.U)
    surprise = F.cross_entropy(scores, IDS)
    walk = trace(surprise)
    assert [s.expression for s in walk.forward][-2:] == ["project(hidden, U)",
                                                         "cross_entropy(scores, IDS)"]  # fmt: skip
    assert walk.loss == "surprise" and walk.leaves == ["U", "body"]
    made = walk.forward_of["scores"]
    assert in_names("dh = dout @ weight,   dweight = dout.T @ h", made) == (
        "dhidden = dscores @ U,   dU = dscores.T @ hidden"
    )
    assert "dhidden[" in walk.text(len(walk.forward) + 2)


def test_a_large_batch_answers_by_the_entry():
    """4,096 ids and a table of 50,000 rows: no more numbers are made than the entry needs."""
    rng = np.random.default_rng(0)
    E = Tensor(rng.normal(size=(50_000, 64)).astype(np.float32), requires_grad=True)
    ids = rng.integers(50_000, size=4096)
    W = Tensor(rng.normal(size=(64, 10)).astype(np.float32), requires_grad=True)
    loss = F.cross_entropy(F.lookup(E, ids) @ W, ids % 10)
    walk = trace(loss)
    last = len(walk)
    working = walk.entry(last, (0, (int(ids[0]), 5)))
    uses = int((ids == ids[0]).sum())
    assert len(working.lines[0].parts) == min(uses, 5) and "agrees" in working.text()
    weights = walk.entry(last - 1, (1, (3, 3)))
    assert "(4,092 more)" in weights.text() and "agrees" in weights.text()
    assert walk.text(last).count("\n") < 60


def test_a_kink_within_a_nudge_is_no_mistake():
    x = Tensor([3e-6, -0.5], requires_grad=True)
    working = trace(F.relu(x).sum()).entry(4, (0, (0,)))
    assert "agrees" in working.text() and "+ 1e-06" in working.text()


def test_names_of_a_layer_say_whose_and_a_bare_array_keeps_its_own():
    E = np.random.default_rng(0).normal(size=(5, 4))
    table, out = Embedding(5, 4, rng=0, dtype=np.float64), Linear(4, 4, rng=0, dtype=np.float64)
    loss = F.cross_entropy(F.project(out(table(IDS)), table.weight), IDS)
    walk = trace(loss)
    assert walk.leaves == ["table.weight", "out.weight", "bias"]
    assert walk.forward[-1].expression == "cross_entropy(logits, IDS)"
    alone = Tensor(E, requires_grad=True)
    walk = trace(F.project(F.lookup(alone, IDS), E).sum())
    assert walk.forward[1].expression == "project(lookup_1, E)"
    batch, gamma = E[:2], np.ones(4)
    tensors = [Tensor(a, requires_grad=True) for a in (batch, gamma)]
    assert trace(F.layer_norm(*tensors).sum()).leaves == ["batch", "gamma"]
    q = np.ones(3)  # so "q" would be taken for this
    walk = trace((F.attention(alone * 2.0, alone * 3.0, E) * q[0]).sum())
    assert [s.name for s in walk.forward[:2]] == ["mul_1", "k"]


def test_a_sum_of_exponentials_beyond_any_float_is_a_power_of_e():
    h, E = Tensor([[30.0, 2.0]], requires_grad=True), Tensor([[30.0, 2.0], [1.0, 3.0]])
    told = trace(F.tied_cross_entropy(h, E, [0])).entry(2).text(everything=True)
    assert "e^904 / e^904" in told and "e^36 / e^904" in told
    told = trace(F.attention(h, Tensor(0.9 * E.data), E, scale=1.0)[0, 0]).entry(1)
    told = told.text(everything=True)
    assert "e^813.6 / e^813.6" in told


def test_a_slope_that_only_looks_like_one_stays_in_the_product():
    x = Tensor([[4.0, 2.0]], requires_grad=True)
    scale = np.array([[1.0004, 1.0]])
    walk = trace((x * scale * 3.0).sum())
    stages = [walk.entry(6, (0, (0, column))).lines[0].stages for column in (0, 1)]
    assert stages[0] == ("dmul_1[0,0]*scale[0,0]", "3*1", "3.001")
    assert stages[1] == ("dmul_1[0,1]*scale[0,1]", "3")


def test_products_count_as_work(monkeypatch):
    """The tied loss reads few numbers and multiplies many: 6 h of 4, a table of 5 rows, 3 times."""
    walk = trace(MAKE["tied"]())
    assert replay.products(walk.forward[0]) == 3 * 24 * 5
    monkeypatch.setattr("scratch_embed.trace.nudge.LARGE", replay.STEP + 100)
    assert "agrees" in walk.entry(2).text()
    monkeypatch.setattr(replay, "PRODUCTS", 1)
    assert "no nudge" in walk.entry(2).text()


def test_arrows_go_through_rows_that_matter_and_on_to_the_next_part():
    h, E = leaf(3, 2), leaf(50, 2, seed=1)
    walk = trace(F.project(h, F.lookup(E, np.array([40, 7]))).sum())
    step = len(walk)
    begin = first(walk, step)
    assert begin.index[0] in (7, 40)
    other = moved(walk, step, Choice(0, (7, 0)), "down")
    assert other == Choice(0, (40, 0)) and moved(walk, step, other, "up") == Choice(0, (7, 0))
    assert moved(walk, step, other, "right").index == (40, 1)
    assert moved(walk, step, other, "left") == other
    two = step - 1  # project hands back dh and the gradient of the rows
    assert moved(walk, two, Choice(0, (2, 1)), "down").part == 1
    assert moved(walk, two, Choice(1, (0, 0)), "up").part == 0
    with pytest.raises(IndexError, match="part is 7"):
        walk.entry(step, (7, (0, 0)))
    with pytest.raises(IndexError, match=r"index is \(50, 0\)"):
        walk.entry(step, (0, (50, 0)))
    for entry in ((40, 0), 0, (0, (1.5, 0)), (0, (40, 0), 1)):
        with pytest.raises(TypeError, match=r"it is \(part, index\), as \(0, \(1, 2\)\)"):
            walk.text(step, entry=entry)


@pytest.mark.parametrize("name", MAKE)
def test_every_operation_has_a_forward_by_hand(name):
    out = MAKE[name]()
    at = trace(out, np.ones(out.shape)).forward[-1]
    told = 0
    for index in np.ndindex(out.shape):
        working = forward_entry(at, index)
        told += len(working.lines[0].stages) > 1
        check_numbers(working)
    assert told >= out.size / 2  # a zero of relu, or of a bag without ids, is told as it is


def test_forward_entries_are_worked_out_too():
    x, y = leaf(2, 3), leaf(3, 2, seed=1)
    z = x @ y
    p = F.softmax(z)
    loss = -F.log(p).mean()
    walk = trace(loss)
    told = [walk.entry(k).lines[0] for k in range(1, len(walk.forward) + 1)]
    assert told[0].stages[0].startswith("x[") and "*y[" in told[0].stages[0]
    for line, at in zip(told, walk.forward):
        assert line.value == pytest.approx(at.out[first(walk, at.number).index])
    assert "/ sum of e^z[" in told[1].stages[0]
