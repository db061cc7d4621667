"""What is read off a Tensor: its numbers, comparisons, truth, and what NumPy makes of it."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest

from scratch_embed import Tensor, differentiable, no_grad
from scratch_embed import functional as F
from scratch_embed.tensor import habits

NUMBERS = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.fixture
def t() -> Tensor:
    return Tensor(NUMBERS.copy(), requires_grad=True, name="t")


def test_its_numbers(t):
    assert (t.shape, t.ndim, t.size, len(t), t.dtype) == ((2, 2), 2, 4, 2, np.float64)
    assert t.numpy() is t.data
    assert t[1, 0].item() == float(t.detach()[1, 0]) == 3.0 and int(t[1, 0]) == 3
    assert f"{t.sum():.2f} {t[0]}" == "10.00 Tensor([1., 2.], from=getitem)"
    with pytest.raises(ValueError, match="scalar"):
        float(t)


def test_rows_one_after_another_are_on_the_tape(t):
    first, second = t
    assert (first.data.tolist(), second.data.tolist()) == ([1, 2], [3, 4])
    sum(row.sum() * n for n, row in enumerate(t, start=1)).backward()
    assert t.grad.tolist() == [[1, 1], [2, 2]]
    with pytest.raises(TypeError, match=r"shape \(\) holds one number"):
        list(Tensor(3.0))  # and not an empty list


def test_an_index_may_hold_tensors(t):
    at = t[Tensor([1, 0, 1]), [Tensor(0), Tensor(1), Tensor(0)]]
    assert at.data.tolist() == [3, 2, 3]
    at.sum().backward()
    assert t.grad.tolist() == [[0, 1], [2, 0]]


# ---- comparisons and truth -----------------------------------------------------------------------

COMPARISONS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@pytest.mark.parametrize("compare", COMPARISONS.values(), ids=COMPARISONS)
def test_a_comparison_is_that_of_the_numbers(compare, t):
    other = np.array([2.0, 2.0])
    for left, right, plain in (
        (t, 2, (NUMBERS, 2)),
        (2, t, (2, NUMBERS)),
        (t, other, (NUMBERS, other)),
        (other, t, (other, NUMBERS)),
        (t, Tensor(other), (NUMBERS, other)),
        (np.float64(2), t, (2, NUMBERS)),
    ):
        result = compare(left, right)
        assert type(result) is np.ndarray and result.dtype == bool
        np.testing.assert_array_equal(result, compare(*plain))


def test_a_tensor_is_itself_in_a_dict_whatever_its_numbers(t):
    same = Tensor(NUMBERS.copy())
    names = {t: "t", same: "same"}
    assert (names[t], names[same], len({t, same, t})) == ("t", "same", 2)
    before = hash(t)
    t.data[:] = 0
    assert hash(t) == before and names[t] == "t"


def test_in_looks_for_a_number(t):
    assert 1.0 in t and Tensor(4.0) in t
    assert 5.0 not in t


def test_the_truth_of_one_number_is_its_own_and_of_more_is_not_clear(t):
    assert not Tensor([0.0]) and not Tensor(0) and Tensor([[2.0]])
    with pytest.raises(ValueError, match=r"shape \(2, 2\) .*t\.numpy\(\)\.any\(\)"):
        bool(t)
    with pytest.raises(ValueError, match=r"shape \(0,\)"):
        bool(Tensor([]))


# ---- NumPy ---------------------------------------------------------------------------------------

DETACHING = {
    "concatenate": (lambda t: np.concatenate([t * 2.0, t]), r"np\.concatenate .*functional\.conc"),
    "stack": (lambda t: np.stack([t, t]), "np.stack .*scratch_embed.functional"),
    "sum": (lambda t: np.sum(t), r"np\.sum .* t\.sum\(\)"),
    "mean": (lambda t: np.mean(t, axis=0), r"t\.mean"),
    "norm": (lambda t: np.linalg.norm(t), r"np\.linalg\.norm"),
    "einsum": (lambda t: np.einsum("ij->i", t), "np.einsum"),
    "where": (lambda t: np.where(NUMBERS > 2, t, 0.0), "np.where"),
    "split": (lambda t: np.split(t, 2), "np.split"),
    "exp": (lambda t: np.exp(t), r"np\.exp .*functional\.exp\(t\)"),
    "reduce": (lambda t: np.add.reduce(t), r"np\.add\.reduce"),
    "array": (lambda t: np.array(t), r"t\.numpy\(\)"),
    "asarray": (lambda t: np.asarray(t, np.float32), r"t\.numpy\(\)"),
    "array of several": (lambda t: np.array([t, t]), r"t\.numpy\(\)"),
    "times a list": (lambda t: np.ones(2) * [t, t], r"t\.numpy\(\)"),
    "added at": (lambda t: np.add.at(np.zeros((2, 2)), [0, 1], t), r"np\.add\.at"),
    "copied into": (lambda t: np.copyto(np.zeros((2, 2)), t), r"np\.copyto .*t\.numpy\(\)"),
    "put": (lambda t: np.put(np.zeros(4), [0, 1, 2, 3], v=t), "np.put"),
    "assigned": (lambda t: np.zeros((2, 2)).__setitem__(..., t), r"t\.numpy\(\)"),
}


@pytest.mark.parametrize(("use", "words"), DETACHING.values(), ids=DETACHING)
def test_numpy_does_not_take_numbers_off_the_tape(use, words, t):
    for tensor in (t, t * 1.0):
        with pytest.raises(TypeError, match=words):
            use(tensor)


@pytest.mark.parametrize(("use", "words"), DETACHING.values(), ids=DETACHING)
def test_numpy_reads_a_tensor_that_requires_no_gradient(use, words, t):
    with no_grad():
        silent = t * 1.0
    for tensor in (Tensor(NUMBERS), t.detach(), silent):
        np.testing.assert_array_equal(use(tensor), use(NUMBERS))


def test_a_tensor_is_not_written_to_entry_by_entry(t):
    for write in (lambda: t.__setitem__(0, 5.0), lambda: t.__setitem__((0, 1), t[1, 0])):
        with pytest.raises(TypeError, match=r"write t\.data\[index\] = x"):
            write()
    np.testing.assert_array_equal(t.data, NUMBERS)


def by_math(t):
    return math.exp(t[0, 0])


def into_an_array(t):
    np.zeros(2)[0] = t[0, 0]


@pytest.mark.parametrize("take", [by_math, into_an_array, lambda t: float(t.sum())])
def test_a_number_that_leaves_the_tape_is_told_once_a_gradient_is_asked_for(take, t):
    with pytest.warns(RuntimeWarning, match=r"no way back: write t\.item\(\)"):
        take(t)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        take(t.detach())
        assert t[0, 0].item() == NUMBERS[0, 0] and f"{t[0, 0]:.1f}" == f"{NUMBERS[0, 0]:.1f}"


def test_an_array_that_is_added_to_in_place_stays_as_it_was(t):
    total = np.ones((2, 2))
    with pytest.raises(TypeError, match=r"np\.add .*t\.numpy\(\)"):
        total += t
    assert (total == 1).all()
    total += t.detach()
    np.testing.assert_array_equal(total, NUMBERS + 1)


READING = {
    "shape": np.shape,
    "argmax": lambda t: np.argmax(t, axis=1),
    "argsort": np.argsort,
    "allclose": lambda t: np.allclose(t, NUMBERS),
    "array_equal": lambda t: np.array_equal(t, NUMBERS),
    "isnan": np.isnan,
    "zeros_like": np.zeros_like,
    "full_like": lambda t: np.full_like(t, 7),
    "array2string": np.array2string,
}


@pytest.mark.parametrize("use", READING.values(), ids=READING)
def test_what_has_no_derivative_anyway_may_be_asked_of_numpy(use, t):
    np.testing.assert_array_equal(use(t), use(NUMBERS))


UFUNCS = {
    "add": (np.add, lambda a, b: a + b),
    "subtract": (np.subtract, lambda a, b: a - b),
    "multiply": (np.multiply, lambda a, b: a * b),
    "divide": (np.divide, lambda a, b: a / b),
    "matmul": (np.matmul, lambda a, b: a @ b),
}


@pytest.mark.parametrize(("ufunc", "operate"), UFUNCS.values(), ids=UFUNCS)
def test_ufuncs_of_the_operators_are_the_operators(ufunc, operate, t):
    for use in (ufunc, operate):
        t.grad = None
        (use(NUMBERS, t) + use(t, NUMBERS)).backward(NUMBERS)
        if use is ufunc:
            once = t.grad
    np.testing.assert_array_equal(t.grad, once)
    assert isinstance(np.negative(t), Tensor) and isinstance(np.power(t, 2), Tensor)


def test_the_operation_that_an_error_names_is_there():
    a = Tensor(NUMBERS, requires_grad=True)
    F.concatenate(a * 2.0, a).sum().backward()
    assert a.grad.tolist() == [[3, 3], [3, 3]]


def test_jupyter_shows_one_axis_and_two_as_a_table():
    for shape, is_table in (
        ((), False),
        ((1,), True),
        ((3,), True),
        ((2, 3), True),
        ((0, 3), False),
        ((2, 3, 4), False),
    ):
        assert ("<table" in Tensor(np.ones(shape))._repr_html_()) == is_table


@pytest.mark.parametrize("name", [5, b"E", ["E"]])
def test_a_name_that_is_no_text_is_told_at_once(name):
    for named in (
        lambda: Tensor(np.ones(2), name=name),
        lambda: differentiable(lambda x: (x, None), lambda dout, _: dout, name=name),
    ):
        with pytest.raises(TypeError, match="name is .*; it must be text"):
            named()
    assert Tensor(np.ones(2), name=np.str_("E")).name == "E"


@pytest.mark.parametrize(
    "use, error, words",
    [
        (lambda t: t.view(2, 1), AttributeError, r"has no view: write t\.reshape"),
        (lambda t: t.max(), AttributeError, r"write t\.numpy\(\)\.max\(\), where the"),
        (lambda t: t.exp(), AttributeError, r"write functional\.exp\(t\)"),
        (lambda t: t.wheight, AttributeError, "'Tensor' object has no attribute 'wheight'"),
        (lambda t: t.clone(), AttributeError, r"Tensor has no clone: write t \* 1\.0"),
        (lambda t: t.numel(), AttributeError, r"Tensor has no numel: write t\.size"),
        (lambda t: t.sum(dim=0), TypeError, "sum takes no dim: write axis=0"),
        (lambda t: t.mean(0, keepdim=True), TypeError, "mean takes no keepdim: write keepdims=Tr"),
        (lambda t: t.sum(axes=0), TypeError, "unexpected keyword argument 'axes'"),
        (lambda t: F.softmax(t, dim=-1), TypeError, "softmax takes no dim: write axis=-1"),
        (lambda t: F.embedding(t, [0]), AttributeError, r"write lookup\(weight, ids\)"),
        (lambda t: F.lokup(t, [0]), AttributeError, "'functional' object has no attribute 'lokup'"),
        (lambda t: 2**t, TypeError, r"write functional\.exp\(t \* log\(number\)\)"),
        (lambda t: abs(t), TypeError, r"write relu\(t\) \+ relu\(-t\)"),
    ],
)
def test_a_habit_from_elsewhere_is_told_what_to_write_here(use, error, words, t):
    with pytest.raises(error, match=words):
        use(t)
    assert not hasattr(t, "view")


def test_a_list_in_the_place_of_the_data_is_told(t):
    t.data = [[1.0, 2.0]]
    for use in (lambda: (t * t).sum().backward(), lambda: t == 1, lambda: t > 1, t.numpy, t.item,
                lambda: print(t)):  # fmt: skip
        with pytest.raises(TypeError, match=r"\.data is a list, and has to be an array"):
            use()


def test_what_a_habit_is_told_to_write_is_there():
    for told in habits.INSTEAD.values():
        for name in re.findall(r"functional\.(\w+)", told):
            assert callable(getattr(F, name))
        for name in re.findall(r"^t\.(\w+)", told):
            assert hasattr(Tensor([1.0]), name)
    for told in habits.OF_FUNCTIONAL.values():
        for name in re.findall(r"^(\w+)\(", told):
            assert callable(getattr(F, name))


def test_shapes_that_do_not_fit_and_axes_that_are_not_all_are_told():
    a = Tensor(np.ones((2, 3)))
    for b, said in (
        (np.ones((2, 3)), r"a has 3 columns, and b 2 rows"),
        (np.ones(2), r"a has 3 columns, and b 2 rows"),
        (np.ones((4, 3, 2)), None),
        (np.float64(2.0), "a number is no matrix"),
    ):
        if said is None:
            assert (a @ b).shape == (4, 2, 2)
            continue
        with pytest.raises(ValueError, match=said):
            a @ b
    with pytest.raises(ValueError, match="the axes before the last two do not broadcast"):
        Tensor(np.ones((2, 2, 3))) @ np.ones((4, 3, 2))
    with pytest.raises(ValueError, match=r"axes is \(0, 1\), and a tensor of shape .* has 3"):
        Tensor(np.ones((2, 3, 4))).transpose(0, 1)
