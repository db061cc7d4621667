"""What a tape keeps: ids are copied, and what backward needs is watched for writes."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable
from scratch_embed import functional as F
from scratch_embed.watch import ENTRIES, has_changed, keep, watching, wrote

WRITTEN = "has been written to since forward"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def leaf(data, name: str | None = None) -> Tensor:
    return Tensor(np.array(data, np.float64), requires_grad=True, name=name)


# ---- ids are copied ------------------------------------------------------------------------------

KEEPS_IDS = {
    "lookup": lambda E, ids: F.lookup(E, ids),
    "sparse lookup": lambda E, ids: F.lookup(E, ids, sparse=True),
    "lookup by frequency": lambda E, ids: F.lookup(E, ids, scale_grad_by_freq=True),
    "lookup by a Tensor": lambda E, ids: F.lookup(E, Tensor(ids)),
    "bag": lambda E, ids: F.embedding_bag(E, ids, offsets=np.array([0, 1, 4])),
    "bag, maximum": lambda E, ids: F.embedding_bag(E, ids.reshape(2, 2), mode="max"),
    "getitem": lambda E, ids: E[ids],
    "getitem, in a tuple": lambda E, ids: E[ids, ::2],
    "getitem, a Tensor in a tuple": lambda E, ids: E[Tensor(ids), 1],
    "targets": lambda E, ids: F.cross_entropy(E[:4], ids % 3),
    "own targets": lambda E, ids: F.tied_cross_entropy(E[:4], E, ids),
}


@pytest.mark.parametrize("use", KEEPS_IDS.values(), ids=KEEPS_IDS)
def test_a_buffer_of_ids_may_be_filled_anew(use, rng):
    buffer, E = np.array([4, 1, 1, 0]), leaf(rng.standard_normal((5, 3)))
    out = use(E, buffer)
    cotangent = rng.standard_normal(out.shape)
    out.backward(cotangent)
    expected, E.grad = np.asarray(E.grad), None

    out = use(E, buffer)
    buffer[:] = [2, 2, 3, 2]
    out.backward(cotangent)
    np.testing.assert_array_equal(np.asarray(E.grad), expected)


@pytest.mark.parametrize("kind", [list, deque])
def test_a_list_of_positions_may_be_changed(kind):
    a, where = leaf([1.0, 2.0, 3.0]), kind([0, 2])
    out = a[where]
    where[0] = where[1] = 1
    out.sum().backward()
    assert a.grad.tolist() == [1, 0, 1]


# ---- a write is noticed, or it does no harm ------------------------------------------------------


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape)


E, IDS = numbers(5, 3), np.array([4, 1, 1])
CALLS = {
    "add": ((numbers(2, 3), numbers(3)), {}),
    "attention": ((numbers(4, 2), numbers(3, 2), numbers(3, 5)), {}),
    "cbow": ((numbers(2, 3, 4), numbers(2, 4), numbers(2, 5, 4)), {}),
    "concatenate": ((numbers(2, 3), numbers(1, 3)), {}),
    "cross_entropy": ((numbers(3, 5), IDS), {}),
    "div": ((numbers(2, 3), numbers(3)), {}),
    "dropout": ((numbers(2, 3), 0.5, 0), {}),
    "embedding_bag": ((E, IDS, numbers(3)), {"offsets": [0, 1, 3], "mode": "sum"}),
    "exp": ((numbers(2, 3),), {}),
    "fold": ((numbers(4, 4), (4, 4), 2), {}),
    "getitem": ((numbers(4, 3), IDS % 3), {}),
    "layer_norm": ((numbers(2, 3), numbers(3), numbers(3)), {}),
    "log": ((numbers(2, 3),), {}),
    "log_sigmoid": ((numbers(2, 3),), {}),
    "log_softmax": ((numbers(2, 3),), {}),
    "lookup": ((E, IDS), {}),
    "matmul": ((numbers(2, 3), numbers(3, 4)), {}),
    "mean": ((numbers(2, 3),), {}),
    "mul": ((numbers(2, 3), numbers(3)), {}),
    "neg": ((numbers(2, 3),), {}),
    "onehot_product": ((numbers(2, 5), E), {}),
    "power": ((numbers(2, 3), 3), {}),
    "project": ((numbers(2, 3), E, numbers(5)), {}),
    "relu": ((numbers(2, 3),), {}),
    "reshape": ((numbers(2, 3), (3, 2)), {}),
    "rms_norm": ((numbers(2, 3), numbers(3)), {}),
    "rotary": ((numbers(2, 4),), {}),
    "sgns": ((numbers(2, 4), numbers(2, 4), numbers(2, 5, 4)), {}),
    "sigmoid": ((numbers(2, 3),), {}),
    "softmax": ((numbers(2, 3),), {}),
    "sqrt": ((numbers(2, 3),), {}),
    "sub": ((numbers(2, 3), numbers(3)), {}),
    "sum": ((numbers(2, 3),), {}),
    "tanh": ((numbers(2, 3),), {}),
    "tied_cross_entropy": ((numbers(3, 3), E, IDS), {}),
    "transpose": ((numbers(2, 3), (1, 0)), {}),
    "unfold": ((numbers(4, 4), 2), {}),
}
KEEPS_NOTHING = {
    "add", "concatenate", "fold", "getitem", "lookup", "mean", "neg", "relu", "reshape", "sub",
    "sum", "transpose", "unfold",
}  # fmt: skip


def test_every_operation_is_called_below():
    assert sorted(CALLS) == F.__all__


def write_to(op: str, learning: set[int], place: int) -> tuple[bool, bool]:
    """Write to one input, or at place -1 to the output: was it noticed, were the gradients hurt?"""
    given, options = CALLS[op]

    def start() -> tuple[list, Tensor]:
        inputs = [
            Tensor(value.copy(), requires_grad=i in learning) if is_floats(value) else value
            for i, value in enumerate(given)
        ]
        return inputs, getattr(F, op)(*inputs, **options)

    def gradients(inputs) -> list[np.ndarray]:
        return [inputs[i].grad for i in sorted(learning)]

    inputs, out = start()
    cotangent = np.random.default_rng(1).standard_normal(out.shape)
    out.backward(cotangent)
    right = gradients(inputs)
    inputs, out = start()
    written = out.data if place < 0 else inputs[place].data
    written *= 2
    try:
        out.backward(cotangent)
    except RuntimeError as error:
        assert str(error).startswith(f"{op} kept ") and WRITTEN in str(error)
        assert gradients(inputs) == [None] * len(learning)
        written /= 2
        with watching(0):  # it was noticed: what would have come out?
            inputs, out = start()
            (out.data if place < 0 else inputs[place].data)[...] *= 2
            out.backward(cotangent)
        return True, not all(map(np.array_equal, gradients(inputs), right))
    return False, not all(map(np.array_equal, gradients(inputs), right))


def is_floats(value) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def subsets(op: str) -> list[set[int]]:
    places = [i for i, value in enumerate(CALLS[op][0]) if is_floats(value)]
    return [set(places), *({i} for i in places if len(places) > 1)]


@pytest.mark.parametrize(
    ("op", "learning"), [(op, learning) for op in CALLS for learning in subsets(op)]
)
def test_a_write_between_forward_and_backward_is_noticed_or_does_no_harm(op, learning):
    places = [-1, *(i for i, value in enumerate(CALLS[op][0]) if is_floats(value))]
    told = {place: write_to(op, learning, place) for place in places}
    assert [place for place, (noticed, hurt) in told.items() if hurt and not noticed] == []
    if op in KEEPS_NOTHING:
        assert not any(noticed for noticed, _ in told.values())


@pytest.mark.parametrize("op", ["mul", "matmul", "div", "project", "onehot_product", "layer_norm"])
def test_no_false_alarm_when_only_one_input_learns(op):
    """Of a product with fixed data the gradient does not read the weight, so it may have moved."""
    for learning in subsets(op):
        for place in learning if len(learning) == 1 else ():
            noticed, hurt = write_to(op, learning, place)
            assert noticed == hurt


def scaled(**options):
    """k x y, where `k` may be left to its default."""
    return differentiable(
        lambda x, y, k=2.0: (k * x * y, (x, y, k)),
        lambda dout, saved: (dout * saved[2] * saved[1], dout * saved[2] * saved[0]),
        name="scaled",
        **options,
    )


@pytest.mark.parametrize("reads", [((1,), (0,)), ((1,), (0,), ()), [[1], [0], []]])
@pytest.mark.parametrize("rest", [(), (3.0,)])
def test_reads_of_an_operation_of_ones_own(reads, rest):
    x, y = leaf([1.0, 2.0]), Tensor(np.array([5.0, 7.0]))
    out = scaled(reads=reads)(x, y, *rest)
    x.data *= 0
    if len(reads) == 2 and rest:  # nothing is told of the third argument
        with pytest.raises(RuntimeError, match="scaled kept its input 0"):
            out.sum().backward()
    else:
        out.sum().backward()
        assert x.grad.tolist() == [5 * (*rest, 2)[0], 7 * (*rest, 2)[0]]

    out = scaled(reads=reads)(x, y, *rest)
    y.data *= 0
    with pytest.raises(RuntimeError, match="scaled kept its input 1"):
        out.sum().backward()


def test_reads_that_are_no_places_are_refused():
    with pytest.raises(TypeError, match=r"reads is \(1, 0\); give a tuple of places for each"):
        scaled(reads=(1, 0))
    with pytest.raises(TypeError, match="reads is 'xy'; give a tuple"):
        scaled(reads="xy")
    for place in (-1, 2, "y", True, 0.5, None):  # none of them would ever be found written to
        with pytest.raises(ValueError, match=rf"reads\[1\] holds {place!r}; .* from 0 to 1"):
            scaled(reads=((1,), (place,)))


def test_the_message_names_the_operation_the_tensor_and_the_way_out():
    h, table = leaf([[1.0, 1.0]]), leaf([[1.0, 2.0], [3.0, 4.0]], name="table")
    out = h @ table
    table.data[1, 1] = 5
    with pytest.raises(
        RuntimeError, match=r"matmul kept its input 1, table, of shape \(2, 2\).*run forward again"
    ):
        out.sum().backward()
    out = h @ table
    table.data = table.data - 1  # the way out that it names: the tape holds the old array
    out.sum().backward()
    assert h.grad.tolist() == [[3, 8]]

    square = F.exp(leaf([1.0], name="a"))
    square.data += 1
    with pytest.raises(RuntimeError, match="exp kept an array of shape .* its output"):
        square.backward()


@pytest.mark.parametrize("write", [lambda x: x.sort(), lambda x: x.__setitem__(-1, np.nan)])
def test_every_bit_of_a_small_array_counts(write):
    x = leaf(np.linspace(1, -1, ENTRIES))
    out = (x**2).sum()
    write(x.data)
    with pytest.raises(RuntimeError, match="power kept its input 0"):
        out.backward()


def test_a_large_array_is_sampled_and_watching_looks_at_all_of_it():
    x = leaf(np.ones((500, 64)))

    def write(where, entries=ENTRIES) -> bool:
        with watching(entries):
            out = (x**2).sum()
            x.data[where] += 1
            try:
                out.backward()
            except RuntimeError:
                return True
            return False

    assert write(...)
    assert all(write((slice(None), column)) for column in range(64))
    assert write(np.s_[100:200])
    unseen = [row for row in range(0, 500, 7) if not write((row, 3))]
    assert unseen  # as the docstring says: one number of 32,000 is mostly not remembered
    assert all(write((row, 3), math.inf) for row in unseen)
    assert not write(..., 0)


@pytest.mark.parametrize("columns", [2, 3, 6, 7, 9, 15, 30, 64, 105, 768])
def test_a_sample_holds_numbers_of_every_column(columns):
    for rows in (1100, 4096):
        for table in orders(np.zeros((rows, columns))).values():
            if table.flags.writeable:
                kept = keep(table)
                for column in range(columns):
                    table[:, column] += 1
                    assert has_changed(kept)
                    table[:, column] -= 1
                assert not has_changed(kept)


def orders(array: np.ndarray) -> dict[str, np.ndarray]:
    strided = np.zeros((*array.shape, 2))[..., 0]
    strided[...] = array
    return {
        "C": array,
        "Fortran": np.asfortranarray(array),
        "strided": strided,
        "backwards": array[::-1],
        "broadcast": np.broadcast_to(array[:1], array.shape),
    }


@pytest.mark.parametrize("size", [0, 1, 33, 1023, 1024, 1025, 1600, 2047, 2048, 2049, 5000, 40_000])
def test_what_has_not_changed_has_not_changed(size, rng):
    """In any order in memory, and on both sides of the size from which on there is a sample."""
    for columns in (1, 4, 25, 64):
        for array in orders(rng.standard_normal((-(-size // columns), columns))).values():
            kept = keep(array)
            assert not has_changed(kept)
            array = np.require(array, requirements="W") if array.flags.writeable else array.copy()
            kept = keep(array)
            array += 1
            assert has_changed(kept) == (array.size > 0)


# ---- a forward of one's own only borrows its arrays ----------------------------------------------


def relu_in_place(say=lambda array: None):
    def forward(x):
        np.maximum(x, 0, out=x)
        say(x)
        return x, (x > 0,)

    return differentiable(forward, lambda dout, saved: dout * saved[0], name="relu_in_place")


@pytest.mark.parametrize(
    "given", [leaf([1.0, -2.0], "w"), leaf([1.0, -2.0]) * 1.0, np.array([1.0, -2.0])]
)
def test_an_own_forward_that_writes_to_what_it_was_given_is_told(given):
    told = r"forward of relu_in_place wrote to its argument 0, an array of shape \(2,\) that others"
    with pytest.raises(RuntimeError, match=told):
        relu_in_place()(given)


def test_a_write_that_is_meant_may_be_said_or_not_looked_for():
    for say, entries in ((wrote, ENTRIES), (lambda array: None, 0)):
        with watching(entries):
            assert relu_in_place(say)(leaf([1.0, -2.0])).data.tolist() == [1, 0]
