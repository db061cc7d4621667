"""Tensor: operators, no_grad, what makes an operation, and what wrong use is told."""

from __future__ import annotations

import inspect
import operator
import pickle
import re
import threading
from array import array
from contextlib import nullcontext

import numpy as np
import pytest

from scratch_embed import RowGrad, Tensor, differentiable, no_grad
from scratch_embed import functional as F
from scratch_embed.tensor import lean


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def leaf(data, dtype=np.float64) -> Tensor:
    return Tensor(np.array(data, dtype), requires_grad=True)


# ---- operators ----------------------------------------------------------------------------------

BINARY = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "@": lambda a, b: a @ b,
}
OTHERS = {
    "Tensor": Tensor([[3.0, 4.0], [5.0, 6.0]]),
    "array": np.array([[3.0, 4.0], [5.0, 6.0]]),
    "list": [[3.0, 4.0], [5.0, 6.0]],
    "int": 3,
    "float": 2.5,
    "NumPy number": np.float64(2.5),
}


NO_PRODUCT = {("@", kind) for kind in ("int", "float", "NumPy number")}  # nor has NumPy one


@pytest.mark.parametrize(
    ("symbol", "kind"), [(s, k) for s in BINARY for k in OTHERS if (s, k) not in NO_PRODUCT]
)
def test_operators_take_arrays_and_numbers_on_both_sides(symbol, kind):
    operate, other, plain = BINARY[symbol], OTHERS[kind], np.asarray(OTHERS[kind])
    x = np.array([[1.0, 2.0], [7.0, 8.0]])
    t = leaf(x)
    for result, expected in (
        (operate(t, other), operate(x, plain)),
        (operate(other, t), operate(plain, x)),
    ):
        assert isinstance(result, Tensor)
        np.testing.assert_array_equal(result.data, expected)
        result.sum().backward()  # and each remembers enough to go back
    assert t.grad.shape == (2, 2)


def test_the_other_side_of_minus_and_divide_by_hand():
    a, b = leaf([2.0]), leaf([4.0])
    (10 - a).backward()
    (8 / b).backward()
    assert (a.grad, b.grad) == (-1, -0.5)  # d(8/b)/db = -8/16


@pytest.mark.parametrize(
    "operate",
    [
        lambda t: t + 1,
        lambda t: 2.5 * t,
        lambda t: 1 / (t - 0.5),
        lambda t: t**2,
        lambda t: t.mean(axis=0),
        lambda t: t.sum() * 3,
        lambda t: F.softmax(t)[0],
        lambda t: F.log_sigmoid(F.relu(-t)),
        lambda t: F.cross_entropy(t, [0, 1]),
        lambda t: F.lookup(t, [1, 1], scale_grad_by_freq=True),
        lambda t: F.lookup(t, [1, 1], sparse=True),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(operate, dtype):
    t = leaf([[1.0, 2.0], [3.0, 4.0]], dtype)
    out = operate(t)
    out.backward(np.ones(out.shape))  # float64, whatever the tensor holds
    assert out.dtype == dtype
    assert t.grad.dtype == dtype


def test_a_gradient_has_the_dtype_of_its_tensor():
    t = leaf([1.0, 2.0], np.float32)
    (t * np.array([3.0, 4.0])).sum().backward()  # float64 by NumPy's rules
    assert t.grad.dtype == np.float32
    E = leaf([[1.0], [2.0]], np.float32)
    (F.lookup(E, [1], sparse=True) * np.array([3.0])).sum().backward()
    assert E.grad.dtype == np.float32


def test_moves_take_axes_apart_or_together(rng):
    t = Tensor(rng.standard_normal((2, 3, 4)))
    for moved in (t.transpose(2, 0, 1), t.transpose((2, 0, 1)), t.transpose([2, 0, 1])):
        np.testing.assert_array_equal(moved.data, t.data.transpose(2, 0, 1))
    for moved in (t.reshape(6, 4), t.reshape((6, 4)), t.reshape([6, 4]), t.reshape(-1, 4)):
        np.testing.assert_array_equal(moved.data, t.data.reshape(6, 4))
    for turned in (t.T, t.transpose(), t.transpose(None)):
        np.testing.assert_array_equal(turned.data, t.data.T)
    assert Tensor([1.0, 2.0]).transpose(0).data.tolist() == [1, 2]  # its only axis
    with pytest.raises(TypeError, match="integer"):  # as NumPy does
        t.transpose((2, 0, 1), 1)


def test_detach_ends_the_way_back_and_shares_the_numbers():
    a = Tensor(np.array([1.0, 2.0]), requires_grad=True, name="a")
    apart = (a * 3).detach()
    assert (apart.requires_grad, apart.node, a.detach().name) == (False, None, "a")
    assert a.detach().data is a.data
    (a * apart).sum().backward()
    assert a.grad.tolist() == [3, 6]  # and not 6 a


def test_repr_tells_name_and_origin():
    a = Tensor([1.0], requires_grad=True, name="a")
    assert repr(a) == "Tensor([1.], name='a', requires_grad=True)"
    assert repr(a * 2) == "Tensor([2.], from=mul)"


def test_repr_leaves_out_the_middle_of_more_than_200_numbers():
    assert "..." not in repr(Tensor(np.arange(200.0)))
    assert "198., 199., 200." in repr(Tensor(np.arange(201.0))).replace("...,", "")
    assert len(repr(Tensor(np.arange(201.0)))) < 100


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (4, 1), (4, 3), (2, 1, 3)])
def test_broadcasting_is_undone(shape, rng):
    """A stretched operand gets the sum over the places that it was stretched to."""
    small, large = leaf(rng.standard_normal(shape)), leaf(rng.standard_normal((2, 4, 3)))
    cotangent = rng.standard_normal((2, 4, 3))
    (small * large).backward(cotangent)

    copies = np.broadcast_to(np.arange(small.size).reshape(shape), (2, 4, 3))
    parts = (cotangent * large.data).reshape(-1)
    by_place = np.bincount(copies.reshape(-1), weights=parts, minlength=small.size).reshape(shape)
    np.testing.assert_allclose(small.grad, by_place, rtol=1e-12)
    np.testing.assert_allclose(large.grad, cotangent * small.data)


# ---- no_grad ------------------------------------------------------------------------------------


def test_no_grad_writes_nothing_and_ends():
    a = leaf([1.0])
    with no_grad():
        silent = a * 2
        with no_grad():
            pass
        still_silent = a * 2
    assert not silent.requires_grad
    assert still_silent.node is None
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert (a * 2).requires_grad


def test_no_grad_holds_for_its_own_thread():
    a, seen = leaf([1.0]), []
    with no_grad():
        other = threading.Thread(target=lambda: seen.append((a * 2).requires_grad))
        other.start()
        other.join()
        assert not (a * 2).requires_grad
    assert seen == [True]


# ---- wrong use ----------------------------------------------------------------------------------


def pair(backward, forward=lambda a, b: (a * b, (a, b)), **options):
    return differentiable(forward, backward, name="pair", **options)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_of_numpy_is_an_array_like_any_other():
    """Its * is a product of matrices, which was forward's once, and backward's not."""
    x, factors = leaf(np.ones((2, 2))), np.arange(4.0).reshape(2, 2)
    (x * np.matrix(factors)).sum().backward()
    assert x.grad.tolist() == factors.tolist()


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda a: (a * 2).backward(), ValueError, r"shape \(2, 3\) needs a gradient"),
        (lambda a: a.backward(np.ones(3)), ValueError, r"\(3,\) .* \(2, 3\)"),
        (lambda a: Tensor(a.data).sum().backward(), RuntimeError, "requires no gradient"),
        (lambda a: pair(lambda d, s: d)(a, a).sum().backward(), ValueError, "1 gradients for 2"),
        (lambda a: pair(lambda d, s: (d,) * 3)(a, 2).sum().backward(), ValueError, "3 grad.* 2 in"),
        (lambda a: pair(lambda d, s: d[0])(a, 2).sum().backward(), ValueError,
         r"pair .*\(3,\) for input 0.*\(2, 3\)"),
        (lambda a: pair(lambda d, s: RowGrad([0], np.ones((1, 3)), (5, 3)))(a, 2).sum().backward(),
         ValueError, r"\(5, 3\) for input 0"),
        (lambda a: pair(None, lambda a, b: a * b)(a, a), TypeError,
         r"forward of pair returned a ndarray; it must return \(out, saved\)"),
        (lambda a: pair(None, lambda a, b: (a, b, ()))(a, a), TypeError,
         "forward of pair returned 3 things; it must return"),
        (lambda a: pair(None, lambda a, b: (Tensor(a), ()))(a, a), TypeError,
         "out of forward of pair is a Tensor; pass its array"),
        (lambda a: pair(None, lambda a, b: (None, ()))(a, a), TypeError,
         "out of forward of pair is not an array of numbers"),
        (lambda a: pair(None, lambda a, b: (a.astype("f2"), ()))(a, a), TypeError,
         r"out of forward of pair is float16; .* write out\.astype"),
        (lambda a: pair(lambda d, s: {"a": d})(a, 2).sum().backward(), ValueError,
         "gradient that backward of pair returned is a dict, and must be an array"),
        (lambda a: pair(lambda d, s: np.ma.array(d))(a, 2).sum().backward(), TypeError,
         "gradient that backward of pair returned is a masked"),
        (lambda a: F.lookup(a, ids=Tensor([0])), TypeError, "lookup: ids is .* by position"),
        (lambda a: F.embedding_bag(a, [0, 1], offsets=Tensor([0, 2])), TypeError,
         r"embedding_bag: offsets is a Tensor.* pass t\.numpy\(\)"),
        (lambda a: a**a, TypeError, "exponent"),
        (lambda a: Tensor(a), TypeError, "pass its array"),
        (lambda a: Tensor([1, 2], requires_grad=True), TypeError, "int64.*floating"),
        (lambda a: Tensor("abc"), TypeError, "not an array of numbers"),
        (lambda a: Tensor(None), TypeError, "not an array of numbers"),
        (lambda a: Tensor([1.0], "name"), TypeError, "requires_grad is 'name'"),
        (lambda a: Tensor(np.array([1, None])), TypeError, "not an array of numbers.*object"),
        (lambda a: Tensor(np.array("2026", "M8")), TypeError, "not an array of numbers.*datetime"),
        (lambda a: Tensor(np.ones(2, np.float16)), TypeError, r"float16.*astype\(np.float32\)"),
        (lambda a: Tensor(np.ma.array([1.0], mask=[1])), TypeError, r"data is a masked.*filled\("),
        (lambda a: a * np.ma.array(np.ones((2, 3)), mask=True), TypeError, "mul: b is a masked"),
        (lambda a: (a * 2).backward(np.ma.ones((2, 3))), TypeError, "grad is a masked"),
        (lambda a: F.cross_entropy(a, targets=np.ma.array([0, 1], mask=[0, 1])), TypeError,
         "cross_entropy: targets is a masked"),
        (lambda a: F.concatenate([a, a]), TypeError, r"list of Tensors.*concatenate\(a, b\)"),
        (lambda a: F.concatenate(a, [a]), TypeError, r"t\.numpy\(\)"),
        (lambda a: np.ones(2) * [a, a], TypeError, r"t\.numpy\(\)"),
        (lambda a: a.detach().retain_grad(), RuntimeError, "requires no gradient"),
        (lambda a: Tensor([[1.0], [1.0, 2.0]]), ValueError, r"ragged.*data\[1\] 2"),
    ],
)  # fmt: skip
def test_wrong_use_is_named(use, error, words):
    with pytest.raises(error, match=words):
        use(leaf(np.ones((2, 3))))


def test_gradients_that_nobody_wants_may_be_left_out():
    a = leaf([2.0, 3.0])
    pair(lambda d, s: (d * s[1], None))(a, np.array([5.0, 7.0])).sum().backward()
    assert a.grad.tolist() == [5, 7]
    pair(lambda d, s: [d * s[1], d * s[0]])(a, leaf([5.0, 7.0])).sum().backward()  # a list will do
    assert a.grad.tolist() == [10, 14]


def test_differentiable_takes_whatever_can_be_called():
    class Scale:
        def __call__(self, x):
            return 2 * x, ()

    x = leaf([1.0])
    doubled = differentiable(Scale(), lambda dout, saved: 2 * dout)(x)
    doubled.backward()
    assert doubled.node.name == "Scale" and x.grad.tolist() == [2.0]


def test_differentiable_keeps_both_halves_and_the_docstring():
    def halve_forward(x, by=2):
        """out = x / by"""
        return x / by, (by,)

    halve = differentiable(halve_forward, lambda dout, saved: dout / saved[0])
    assert (halve.__name__, halve.__doc__) == ("halve", "out = x / by")
    assert halve.forward is halve_forward
    x = leaf([3.0])
    halve(x, by=4).backward()
    assert x.grad == 0.25


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_are_arrays_where_only_arrays_can_be_meant(kind):
    assert F.softmax(kind([1.0, 1.0])).data.tolist() == [0.5, 0.5]
    assert F.cross_entropy(kind([[0.0, 0.0]]), kind([1])).item() == pytest.approx(np.log(2))
    assert F.add(kind([1, 2]), kind([3, 4])).data.tolist() == [4, 6]  # not [1, 2, 3, 4]
    assert F.mul(kind([1, 2]), 2).data.tolist() == [2, 4]
    a, factors = leaf([1.0, 2.0]), [3.0, 4.0]
    out = a * (factors if kind is list else tuple(factors))
    factors[0] = 100.0
    out.sum().backward()
    assert a.grad.tolist() == [3, 4]


def test_arrays_to_join_are_given_one_by_one():
    Z = np.zeros((2, 3))
    for several in ([Z, Z], (Z, Z), [F.exp(Z), Z]):
        with pytest.raises(TypeError, match=r"pass them one by one, as concatenate\(a, b\)"):
            F.concatenate(several)
    with pytest.raises(TypeError, match=r"a list of Tensors.*join them first, as concatenate"):
        F.mean([F.exp(Z), Z])  # which takes one array
    assert F.concatenate([1.0, 2.0], np.ones(1)).shape == (3,)


@pytest.mark.parametrize("name", F.__all__)
def test_an_operation_can_be_sent_to_another_process(name):
    assert pickle.loads(pickle.dumps(getattr(F, name))) is getattr(F, name)


def test_the_signature_is_that_of_a_function_on_tensors():
    signature = inspect.signature(F.lookup)
    forward = inspect.signature(F.lookup.forward)
    assert list(signature.parameters) == list(forward.parameters)
    assert signature.parameters["weight"].annotation == "Tensor | np.ndarray"
    assert signature.parameters["padding_idx"] == forward.parameters["padding_idx"]
    offsets = inspect.signature(F.embedding_bag).parameters["offsets"]
    assert offsets.annotation == "np.ndarray | None"  # given by name, where no Tensor may stand
    assert F.lookup.__annotations__["weight"] == "Tensor | np.ndarray"
    for name in F.__all__:
        operation = getattr(F, name)
        assert inspect.signature(operation).return_annotation == "Tensor"
        assert operation.__annotations__["return"] == "Tensor"
    compiled = differentiable(max, None, name="max")  # of a builtin nobody knows the signature
    assert str(inspect.signature(compiled)) == "(*arrays) -> 'Tensor'"


def test_a_complex_gradient_is_the_derivative_and_not_its_conjugate():
    z = Tensor([1 + 2j], requires_grad=True)
    (z * z).sum().backward()
    assert z.grad.tolist() == [2 + 4j]


def test_sums_and_means_drop_their_axis_unless_it_is_to_stay():
    t = Tensor(np.arange(6.0).reshape(2, 3))
    for reduce in (t.sum, t.mean):
        assert reduce().shape == () and reduce(axis=1).shape == (2,)
        assert reduce(axis=1, keepdims=True).shape == (2, 1)


IN_PLACE = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "@": operator.imatmul, "**": operator.ipow,
}  # fmt: skip


@pytest.mark.parametrize("sign", IN_PLACE)
def test_a_weight_is_not_changed_by_a_new_tensor_of_its_name(sign):
    other = 2.0 if sign == "**" else np.full((2, 2), 2.0)
    weight = leaf(np.ones((2, 2)))
    weight.name = "table"
    way_out = re.escape(f"does not change table: write `w.data {sign}= x`")
    for how in (nullcontext, no_grad):
        with how(), pytest.raises(TypeError, match=way_out):
            IN_PLACE[sign](weight, other)
    frozen = Tensor(np.ones((2, 2)), name="table")  # as a layer has it that does not learn
    with pytest.raises(TypeError, match=way_out):
        IN_PLACE[sign](frozen, other)
    plain, computed = Tensor(np.ones((2, 2))), weight * 1.0
    for left in (plain, computed):  # as Python has it, x = x + y
        assert IN_PLACE[sign](left, other) is not left and (left.numpy() == 1).all()


@pytest.mark.parametrize("over", [Tensor.sum, Tensor.mean])
def test_several_axes_are_one_tuple(over):
    x = Tensor(np.ones((2, 3, 4)))
    assert over(x, (1, 2)).shape == (2,) and over(x, 1, True).shape == (2, 1, 4)
    with pytest.raises(TypeError, match="keepdims is 2; it must be True or False"):
        over(x, 1, 2)


class Foreign:
    """An array of another library: it knows how to become one of NumPy's."""

    def __init__(self, numbers):
        self.numbers = np.array(numbers, float)

    def __array__(self, dtype=None, copy=None):
        return self.numbers

    def __setitem__(self, at, number):
        self.numbers[at] = number


@pytest.mark.parametrize("made", [Foreign, lambda numbers: array("d", numbers)])
def test_what_another_library_has_for_an_array_is_one(made):
    """Also when it is filled anew between forward and backward."""
    x, c = Tensor(np.ones(3), requires_grad=True), made([1, 2, 3])
    (x * c).sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    loss = (x * c).sum()
    c[0] = 100
    with pytest.raises(RuntimeError, match="it has been written to since forward"):
        loss.backward()


@pytest.mark.parametrize("broadcasts", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (12,), (), (5, 3, 4, 2), (2, 4)])
def test_a_gradient_of_another_shape_is_refused_however_many_numbers_it_has(shape, broadcasts):
    op = differentiable(
        lambda x: (2 * x, 0), lambda g, _: np.ones(shape), name="two", broadcasts=broadcasts
    )
    x = Tensor(np.ones((3, 4)), requires_grad=True)
    with pytest.raises(ValueError, match=r"backward of two returned a gradient of shape"):
        op(x).sum().backward()


def test_a_list_that_was_given_may_be_used_again():
    E, shape = Tensor(np.ones((3, 2)), requires_grad=True), [2, 3]
    view = F.reshape(E, shape)
    shape[:] = [6, 1]
    assert pickle.loads(pickle.dumps(view)).shape == (2, 3)


@pytest.mark.parametrize("block", [no_grad, lean])
def test_blocks_in_generators_may_end_in_any_order(block):
    def batches():
        with block():
            yield from range(2)

    for _ in zip(batches(), batches()):  # the second ends first
        pass
    x = Tensor(np.ones(2), requires_grad=True)
    y = x * 2
    assert y.requires_grad and y.node.inputs[0] is x
    z = y * 3
    assert z.node.inputs[0] is y  # which a lean tape lets go


def test_no_grad_stands_before_a_function_with_brackets_and_without():
    x = Tensor([1.0, 2.0], requires_grad=True)

    def doubled(t):
        return 2 * t

    assert not no_grad(doubled)(x).requires_grad and not no_grad()(doubled)(x).requires_grad
    assert doubled(x).requires_grad and no_grad(doubled).__name__ == "doubled"


def test_an_exponent_that_is_a_tensor_is_called_one():
    t = Tensor([1.0, 2.0], requires_grad=True)
    for base in (t, np.ones(2)):
        with pytest.raises(TypeError, match=r"exponent is an array, or a Tensor; power takes"):
            base**t
