"""A model that learns a step at a time: each step whole, and told where it cannot be taken."""

from __future__ import annotations

import signal
from contextlib import nullcontext

import numpy as np
import pytest

from scratch_embed import SGD, Tensor
from scratch_embed.layers import Dropout
from scratch_embed.layers.layer import Layer
from scratch_embed.learning import Learning


class Two(Layer):
    def __init__(self):
        self.a = Tensor(np.arange(2.0), requires_grad=True)
        self.b = Tensor(np.arange(2.0, 4.0), requires_grad=True)
        self.drop = Dropout(0.5, rng=0)

    def loss(self, rng=None) -> Tensor:
        return (self.a**2).sum() + (self.b**2).sum()


def begun(rule=SGD, lr=0.1) -> Learning:
    model = Two()
    return Learning(model, rule([model.a, model.b], lr=lr), np.random.default_rng(0), model.loss)


SPOILED = {
    "an option": (lambda state: state["optimizer"]["options"][0].update(lr=-1), "lr is -1"),
    "how many generators": (
        lambda state: state["rngs of layers"].append(state["rng"]),
        "of 3 generators, and here are 2",
    ),
    "kind of generator": (
        lambda state: state.update({"rngs of layers": [{"bit_generator": "MT19937"}]}),
        "of a generator MT19937, and here is a PCG64",
    ),
    "no step": (lambda state: state.pop("step"), "lacks step: it is not"),
    "another's state": (dict.clear, "lacks model, optimizer, rng, rngs of layers, step: it is not"),
    "half a step": (lambda state: state.update(step=2.5), r"state\['step'\]"),
    "a step before the first": (lambda state: state.update(step=-1), r"state\['step'\]"),
}  # fmt: skip


@pytest.mark.parametrize(("spoil", "said"), SPOILED.values(), ids=SPOILED)
def test_a_training_takes_over_all_of_a_state_or_nothing(spoil, said):
    trained, fresh = begun(), begun()
    trained.take()
    state = trained.state_dict()
    spoil(state)
    with pytest.raises((ValueError, TypeError, KeyError), match=said):
        fresh.load_state_dict(state)
    assert fresh.model.a.data.tolist() == [0, 1] and fresh.step == 0
    assert fresh.rng.bit_generator.state == np.random.default_rng(0).bit_generator.state
    fresh.load_state_dict(trained.state_dict())
    assert fresh.model.a.data.tolist() == trained.model.a.data.tolist() and fresh.step == 1


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize("stops", [True, False])
def test_ctrl_c_in_the_midst_of_a_step_waits_for_its_end(stops):
    class Interrupted(SGD):
        def _follow(self, w, g, **options):
            super()._follow(w, g, **options)
            if stops:
                signal.raise_signal(signal.SIGINT)

    learning = begun(Interrupted, lr=0.5)
    with pytest.raises(KeyboardInterrupt) if stops else nullcontext():
        learning.take()
    assert learning.step == 1
    assert not learning.model.a.data.any() and not learning.model.b.data.any()


def test_ctrl_c_as_a_block_begins_leaves_numpys_warnings_on(monkeypatch):
    """So it happens to np.errstate: what it has set holds, and what would end it never begins."""

    class Interrupted(np.errstate):
        def __enter__(self):
            super().__enter__()
            raise KeyboardInterrupt

    before = np.geterr()
    monkeypatch.setattr(np, "errstate", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        begun().take()
    after = np.geterr()
    np.seterr(**before)
    assert after == before != dict.fromkeys(before, "ignore")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2"])
def test_whatever_signal_saves_or_ends_a_program_finds_a_whole_step(name):
    if not hasattr(signal, name):
        pytest.skip(f"this system has no {name}")
    number, seen = getattr(signal, name), []

    class Interrupted(SGD):
        def _follow(self, w, g, **options):
            super()._follow(w, g, **options)
            signal.raise_signal(number)

    learning = begun(Interrupted, lr=0.5)

    def end(*_):
        seen.append((learning.step, learning.model.a.data.any(), learning.model.b.data.any()))
        raise SystemExit

    before = signal.signal(number, end)
    try:
        with pytest.raises(SystemExit):
            learning.take()
        assert signal.getsignal(number) is end
    finally:
        signal.signal(number, before)
    assert seen == [(1, False, False)] * 2  # of a and of b, and nobody's is lost


def test_a_seed_is_a_generator_too():
    model = Two()
    learning = Learning(model, SGD(model.parameters(), lr=0.1), 0, model.loss)
    assert learning.rng.bit_generator.state == np.random.default_rng(0).bit_generator.state


def test_gradients_may_be_shortened_to_nothing_and_a_rate_is_a_function():
    model = Two()
    rule = SGD(model.parameters(), lr=0.1)
    Learning(model, rule, 0, model.loss, longest=0).take()
    assert model.a.data.tolist() == [0, 1]
    for more, error in (({"longest": -1}, ValueError), ({"rate": 0.1}, TypeError)):
        with pytest.raises(error, match=f"{next(iter(more))} is"):
            Learning(model, rule, 0, model.loss, **more)


def test_before_the_first_step_no_rate_is_to_blame():
    model = Two()
    model.a.data[0] = np.nan
    learning = Learning(model, SGD(model.parameters(), lr=1e-9), 0, model.loss)
    with pytest.raises(FloatingPointError, match="before the first step .* look for nan"):
        learning.take()


def test_a_loss_that_is_no_number_is_told_with_the_rates_of_all_groups():
    model = Two()
    rule = SGD([{"params": [model.a], "lr": 1e200}, {"params": [model.b], "lr": 0.5}], lr=1.0)
    learning = Learning(model, rule, np.random.default_rng(0), model.loss)
    with pytest.raises(FloatingPointError, match=r"after 1 steps .* the rate 0\.5 or 1e\+200"):
        learning.take()
        learning.take()


def test_a_loss_that_is_not_of_these_weights_or_was_gone_back_from_is_told():
    model, other = Two(), Two()
    rule = SGD(model.parameters(), lr=0.1)

    def closure(rng):
        loss = model.loss()
        loss.backward()
        return loss

    cases = [
        (other.loss, ValueError, "without any weight that the optimiser moves"),
        (closure, ValueError, "loss has called backward"),
        (lambda rng: 0.5, TypeError, "gave a float; it must give a Tensor of one number"),
        (lambda rng: model.a * 2, TypeError, r"gave a Tensor of shape \(2,\)"),
    ]
    for loss, error, said in cases:
        learning = Learning(model, rule, 0, loss)
        with pytest.raises(error, match=said):
            learning.take()
        assert learning.step == 0 and model.a.data.tolist() == [0, 1]


def test_a_buffer_that_a_loss_fills_twice_is_told():
    """The first product needs it as it was; a gradient of other numbers would be wrong."""
    model, buffer = Two(), np.ones(2)

    def loss(rng):
        first = (model.a * buffer).sum()
        buffer[:] = 100
        return first + (model.b * buffer).sum()

    learning = Learning(model, SGD(model.parameters(), lr=1.0), np.random.default_rng(0), loss)
    with pytest.raises(RuntimeError, match="mul kept its input 1"):
        learning.take()
    assert model.a.data.tolist() == [0, 1]


def test_the_loss_before_the_step_is_told_also_where_it_is_a_view_of_a_weight():
    for view in (lambda w: w, lambda w: w.reshape(())):
        model = Layer()
        model.w = Tensor(np.array([5.0]), requires_grad=True)
        optimizer = SGD(model.parameters(), lr=1.0)
        learning = Learning(model, optimizer, 0, lambda rng, m=model, view=view: view(m.w))
        assert (learning.take(), model.w.data.tolist()) == (5.0, [4.0])


def test_a_weight_that_no_checkpoint_would_hold_is_refused():
    model, heat = Two(), Tensor(np.array(1.0), requires_grad=True, name="temperature")
    with pytest.raises(ValueError, match="optimizer also moves temperature, which is no weight"):
        Learning(model, SGD([*model.parameters(), heat], lr=0.1), 0, model.loss)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_step_that_was_broken_off_has_drawn_nothing(error):
    model, drawn = Two(), []

    def loss(rng):
        drawn.append(rng.random())
        if len(drawn) == 2:
            raise error
        return model.loss(rng)

    learning = Learning(model, SGD(model.parameters(), lr=0.1), 0, loss)
    learning.take()
    with pytest.raises(error):
        learning.take()
    learning.take()
    assert drawn[2] == drawn[1] != drawn[0] and learning.step == 2


@pytest.mark.parametrize(
    ("kind", "place", "at"),
    [("PCG64", "inc", 0), ("MT19937", "pos", 10**9), ("MT19937", "pos", -5),
     ("MT19937", "pos", 625), ("Philox", "buffer_pos", 5), ("Philox", "buffer_pos", -(10**9))],
)  # fmt: skip
def test_a_generator_that_would_draw_from_beyond_its_numbers_is_refused(kind, place, at):
    model = Two()
    rng = np.random.Generator(getattr(np.random, kind)(1))
    learning = Learning(model, SGD([model.a, model.b], lr=0.1), rng, model.loss)
    state = learning.state_dict()
    learning.load_state_dict(state)
    (state["rng"] if place == "buffer_pos" else state["rng"]["state"])[place] = at
    with pytest.raises((ValueError, TypeError), match="one number" if place == "inc" else place):
        learning.load_state_dict(state)


def test_a_loss_that_spawns_generators_is_refused_before_its_step():
    """How often it did is not in the state of a generator: resumed, the same would be drawn."""
    model = Two()

    def loss(rng):
        return model.loss() * rng.spawn(1)[0].random()

    learning = Learning(model, SGD([model.a, model.b], lr=0.1), 0, loss)
    with pytest.raises(ValueError, match=r"spawns from a generator.*default_rng\(rng.integers"):
        learning.take()
    assert learning.step == 0 and model.a.data.tolist() == [0, 1]
