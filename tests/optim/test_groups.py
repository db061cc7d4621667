"""Groups of parameters with options of their own, and options that are refused."""

from __future__ import annotations

import re
import warnings
from functools import partial

import numpy as np
import pytest

from scratch_embed import SGD, Adagrad, Adam, AdamW, Embedding, LazyAdam, RowAdagrad, Tensor

NAN, INF = float("nan"), float("inf")


def leaf(data=(1.0,), name: str | None = None) -> Tensor:
    return Tensor(np.array(data, np.float64), requires_grad=True, name=name)


def step(optimizer, *grads: float) -> None:
    for param, grad in zip(optimizer.params, grads):
        param.grad = np.full(param.shape, grad)
    optimizer.step()


# ---- groups --------------------------------------------------------------------------------------


def test_each_group_steps_by_its_own_options():
    a, b, c = leaf(), leaf(), leaf()
    groups = [
        {"params": [a], "lr": 0.5, "momentum": 0.9},
        {"params": [b], "weight_decay": 0.1},
        {"params": (c,)},
    ]
    optimizer = SGD(groups, lr=0.1)
    step(optimizer, 1, 1, 1)
    np.testing.assert_allclose([a.data[0], b.data[0], c.data[0]], [0.5, 0.89, 0.9])
    step(optimizer, 1, 1, 1)  # a: v = 0.9 + 1;  b: g = 1 + 0.1 * 0.89
    np.testing.assert_allclose([a.data[0], b.data[0], c.data[0]], [-0.45, 0.7811, 0.8])


def test_adam_without_decay_on_biases_is_one_optimiser():
    """g = 5 for both; with b1 = b2 = 0.5 the first step is lr, and the decay 0.1 * 1 beside it."""
    w, b = leaf(), leaf()
    groups = [{"params": [w]}, {"params": [b], "weight_decay": 0.0, "betas": [0.0, 0.0]}]
    optimizer = AdamW(groups, lr=0.1, betas=(0.5, 0.5), weight_decay=1.0)
    step(optimizer, 5, 5)
    np.testing.assert_allclose([w.data[0], b.data[0]], [0.8, 0.9])
    step(optimizer, 1, -1)  # b forgets at once: m' = -1, v' = 1
    np.testing.assert_allclose([w.data[0], b.data[0]], [0.72 - 0.7 / 9, 1.0])


def test_a_group_knows_every_option_and_a_change_counts_from_the_next_step():
    a, b = leaf(), leaf()
    optimizer = SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.5]
    assert set(optimizer.param_groups[0]) == {
        "params", "lr", "momentum", "weight_decay", "nesterov"
    }  # fmt: skip
    for group in optimizer.param_groups:  # as schedulers do
        group["lr"] *= 0.5
    step(optimizer, 1, 1)
    assert (a.data[0], b.data[0]) == (0.875, 0.75)


def test_an_option_that_all_groups_share_can_be_read_and_set_at_once():
    optimizer = SGD([{"params": [leaf()]}, {"params": [leaf()], "lr": 0.5}], lr=0.25)
    with pytest.raises(ValueError, match=r"the groups differ in lr: \[0\.25, 0\.5\]"):
        assert optimizer.lr
    with pytest.raises(ValueError, match=r"take that of one group, optimizer\.param_groups\[0\]"):
        optimizer.lr = 0.125  # which would be the end of what they were given
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.5]
    optimizer.param_groups[1]["lr"] = 0.25
    optimizer.lr = 0.125
    assert optimizer.lr == 0.125
    assert [group["lr"] for group in optimizer.param_groups] == [0.125, 0.125]
    with pytest.raises(ValueError, match="lr is nan"):
        optimizer.lr = NAN
    assert optimizer.lr == 0.125


def test_the_callers_list_of_groups_is_not_changed():
    group = {"params": [leaf()], "lr": 0.5}
    optimizer = SGD([group], lr=0.1)
    optimizer.lr = 2.0
    assert group.keys() == {"params", "lr"} and group["lr"] == 0.5


GROUP_ERRORS = {
    "an unknown option": (
        lambda: SGD([{"params": [leaf()], "beta": 1}], lr=0.1),
        ValueError, "params[0] has an option 'beta'; those of SGD are lr, momentum",
    ),
    "an option of another rule": (
        lambda: LazyAdam([{"params": [leaf()], "weight_decay": 0.1}]),
        ValueError, "option 'weight_decay'; those of LazyAdam are lr, betas, eps",
    ),
    "a group without params": (
        lambda: SGD([{"params": [leaf()]}, {"lr": 0.1}], lr=0.1),
        ValueError, "params[1] has no 'params'",
    ),
    "a Tensor beside groups": (
        lambda: SGD([{"params": [leaf()]}, leaf()], lr=0.1),
        TypeError, "params[1] is a Tensor beside groups",
    ),
    "an array in a group": (
        lambda: SGD([{"params": [leaf(), np.ones(2)]}], lr=0.1),
        TypeError, "params[0]['params'][1] is a ndarray, not a Tensor",
    ),
    "a set, whose order is chance": (
        lambda: SGD({leaf(), leaf()}, lr=0.1), TypeError, "params is a set, which has no order",
    ),
    "a set in a group": (
        lambda: SGD([{"params": {leaf()}}], lr=0.1),
        TypeError, "params[0]['params'] is a set, which has no order",
    ),
    "a number in a group": (
        lambda: SGD([{"params": 5}], lr=0.1), TypeError, "params[0]['params'] is a int; pass",
    ),
    "empty groups": (lambda: SGD([{"params": []}], lr=0.1), ValueError, "params is empty"),
    "a layer": (lambda: SGD(Embedding(3, 2), lr=0.1), TypeError, "params is a Embedding"),
    "a bad option in a group": (
        lambda: Adam([{"params": [leaf()], "eps": -1.0}]), ValueError, "eps is -1.0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GROUP_ERRORS.values(), ids=GROUP_ERRORS)
def test_wrong_groups_are_named(case):
    use, error, words = case
    with pytest.raises(error, match=re.escape(words)):
        use()


def test_groups_that_were_changed_by_mistake_are_told_before_anything_moves():
    a, b = leaf(), leaf()
    optimizer = SGD([a], lr=0.1)
    a.grad = np.ones(1)
    for change, words in (
        ({"momentun": 0.9}, "a group has an option 'momentun'; those of SGD are lr, momentum"),
        ({"params": (a, b)}, "make a new one"),
        ({"params": (b,)}, "make a new one"),
    ):
        group = dict(optimizer.param_groups[0])
        optimizer.param_groups[0].update(change)
        with pytest.raises(ValueError, match=words):
            optimizer.step()
        optimizer.param_groups[0].clear()
        optimizer.param_groups[0].update(group)
    assert (a.data[0], b.data[0]) == (1, 1)


def test_a_parameter_in_two_groups_is_refused():
    shared = leaf(name="E")
    with pytest.raises(ValueError, match="E is in group 0 and in group 1"):
        SGD([{"params": [shared]}, {"params": [leaf(), shared]}], lr=0.1)


def test_two_tensors_over_one_array_are_warned_of():
    whole = np.zeros((4, 2))
    table, head = leaf(name="table.weight"), leaf()
    table.data, head.data = whole, whole[1:].T
    with pytest.warns(RuntimeWarning, match="table.weight and parameter 1 are two Tensors over"):
        Adam([{"params": [table]}, {"params": [head]}])
    head.data, table.data = whole[:, :1], whole[:, 1:]  # of one array, but no number is of both
    with warnings.catch_warnings(action="error"):
        Adam([table, head])


# ---- options out of range ------------------------------------------------------------------------

NOT_A_SIZE = [-1, -1e-9, NAN, INF, 10**400]
NOT_A_NUMBER = ["0.1", None, True, 1j, [0.1], np.ones(1)]
OPTIONS = [
    (SGD, "lr"), (SGD, "weight_decay"), (Adagrad, "lr"), (Adagrad, "eps"), (RowAdagrad, "eps"),
    (Adam, "lr"), (Adam, "eps"), (Adam, "weight_decay"), (AdamW, "weight_decay"), (LazyAdam, "eps"),
]  # fmt: skip


@pytest.mark.parametrize("value", NOT_A_SIZE)
@pytest.mark.parametrize(("make", "name"), OPTIONS)
def test_sizes_are_finite_and_not_negative(make, name, value):
    with pytest.raises(ValueError, match=re.escape(f"{name} is {value!r}; it must be finite")):
        make([leaf()], **{"lr": 0.1, name: value})


@pytest.mark.parametrize("value", NOT_A_NUMBER, ids=repr)
@pytest.mark.parametrize(("make", "name"), [(SGD, "momentum"), (Adam, "lr"), (Adagrad, "eps")])
def test_what_is_no_number_is_refused(make, name, value):
    with pytest.raises(TypeError, match=f"{name} is .*; it must be a number"):
        make([leaf()], **{"lr": 0.1, name: value})


@pytest.mark.parametrize("make", [Adam, AdamW, LazyAdam])
@pytest.mark.parametrize(
    ("betas", "words"),
    [
        ((0.9,), "betas is (0.9,); it must be two numbers"),
        ((0.9, 0.99, 0.999), "betas is (0.9, 0.99, 0.999); it must be two numbers"),
        (0.9, "betas is 0.9; it must be two numbers"),
        ((0.9, 1.0), "betas[1] is 1.0; it must be in [0, 1)"),
        ((-0.1, 0.9), "betas[0] is -0.1; it must be in [0, 1)"),
        ((NAN, 0.9), "betas[0] is nan; it must be in [0, 1)"),
    ],
)
def test_betas_are_two_numbers_below_one(make, betas, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        make([leaf()], betas=betas)


@pytest.mark.parametrize("momentum", [1.0, -0.1, NAN, INF])
def test_momentum_lies_in_zero_to_one(momentum):
    with pytest.raises(
        ValueError, match=re.escape(f"momentum is {momentum}; it must be in [0, 1)")
    ):
        SGD([leaf()], lr=0.1, momentum=momentum)


def test_nesterov_wants_a_momentum_and_a_bool():
    with pytest.raises(ValueError, match="momentum is 0"):
        SGD([leaf()], lr=0.1, nesterov=True)
    with pytest.raises(TypeError, match="nesterov is 1"):
        SGD([leaf()], lr=0.1, momentum=0.9, nesterov=1)
    plain, ahead = SGD([leaf()], lr=0.1), SGD([leaf()], lr=0.1, momentum=0.9, nesterov=True)
    plain.nesterov, ahead.momentum = True, 0.0
    saved = SGD([leaf()], lr=0.1).state_dict()
    saved["options"][0]["nesterov"] = True
    other = SGD([leaf()], lr=0.1)
    for use in (plain.step, ahead.step, lambda: other.load_state_dict(saved)):
        with pytest.raises(ValueError, match="momentum is 0"):
            use()
    assert not other.nesterov


def test_a_schedule_that_goes_astray_is_stopped_before_anything_moves():
    a, b = leaf(), leaf()
    optimizer = SGD([{"params": [a]}, {"params": [b]}], lr=0.1)
    optimizer.param_groups[1]["lr"] = NAN
    with pytest.raises(ValueError, match="lr is nan"):
        step(optimizer, 1, 1)
    assert (a.data[0], b.data[0]) == (1, 1)


def test_numbers_of_numpy_are_numbers():
    w = leaf()
    w.data = w.data.astype(np.float32)
    optimizer = SGD([w], lr=np.float64(0.5), momentum=np.float32(0.5))
    step(optimizer, 1)
    assert w.data[0] == 0.5 and w.dtype == np.float32


@pytest.mark.parametrize("rule", [RowAdagrad, LazyAdam, partial(SGD, momentum=0.5)])
def test_a_refused_step_leaves_no_state_behind(rule):
    first, second = (Tensor(np.ones((2, 3)), requires_grad=True) for _ in range(2))
    optimizer = rule([first, second], lr=0.1)
    first.grad, second.grad = np.ones((2, 3)), np.ones((3, 2))
    with pytest.raises(ValueError, match=r"gradient of shape \(3, 2\)"):
        optimizer.step()
    assert optimizer.state == [{}, {}]
    assert (first.data == 1).all()


def test_a_state_goes_on_with_the_rule_that_saved_it():
    """Adam and AdamW have the same options and arrays, and take other steps."""
    first, second = (rule([leaf()], lr=0.1) for rule in (Adam, AdamW))
    for one, other in ((first, second), (second, first)):
        decay = one.weight_decay
        with pytest.raises(ValueError, match=f"the state is of {type(other).__name__}; this is"):
            one.load_state_dict(other.state_dict())
        assert one.weight_decay == decay
        one.load_state_dict(one.state_dict())
        old = one.state_dict()
        del old["rule"]  # as version 0.1 saved it
        one.load_state_dict(old)


def test_an_option_that_a_rule_does_not_have_is_refused_as_an_attribute_too():
    """It would be taken without a word, and change nothing."""
    for rule, name in ((Adagrad, "weight_decay"), (SGD, "rate"), (SGD, "Lr"), (Adam, "momentum")):
        optimizer = rule([leaf()], lr=0.1)
        with pytest.raises(AttributeError, match=f"has no option '{name}'; those of .* are lr"):
            setattr(optimizer, name, 0.1)
    with pytest.raises(AttributeError, match="LazyAdam has no option 'weight_decay'"):
        LazyAdam([leaf()]).weight_decay  # noqa: B018

    class Mine(SGD):
        def __init__(self, params, momentum):
            self.learning_rate = 1  # a rule of one's own may keep what it likes
            super().__init__(params, lr=0.1, momentum=momentum)

    assert Mine([leaf()], 0.5).learning_rate == 1


def test_a_tensor_in_the_place_of_an_array_is_told_where_it_is_met():
    table = leaf(name="table")
    table.grad = np.ones(1)
    optimizer = SGD([table], lr=0.1)
    table.data = table - 0.1 * table.grad
    for use in (optimizer.step, lambda: SGD([table], lr=0.1)):
        with pytest.raises(TypeError, match=r"table\.data is a Tensor.*table\.data = t\.numpy\(\)"):
            use()
    table.data = np.ma.array([1.0], mask=[True])
    with pytest.raises(TypeError, match=r"table\.data is a masked array"):
        optimizer.step()
    layer = Embedding(3, 2, rng=0)
    layer.weight.data = Tensor(layer.weight.data)
    with pytest.raises(TypeError, match=r"weight\.data is a Tensor, and has to be an array"):
        layer.state_dict()
