"""What every layer shares: its weights are found, named, frozen, saved and loaded."""

from __future__ import annotations

import random
import warnings
from collections import ChainMap, UserDict, UserList, deque
from contextlib import nullcontext
from itertools import chain
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from scratch_embed import SGD, Embedding, Tensor, layers, no_grad
from scratch_embed.layers.layer import Layer


def test_weights_are_named_by_their_paths_and_counted_once():
    block = layers.TransformerBlock(4, rng=0)
    names = [tensor.name for tensor in block.parameters()]
    assert names[:4] == ["norm1.gamma", "norm1.beta", "attention.query.weight",
                         "attention.key.weight"]  # fmt: skip
    assert len(set(names)) == len(names)

    class Tied(Layer):
        def __init__(self):
            self.input = layers.GPTInput(6, 4, max_len=3, rng=0)
            self.head = layers.TiedHead(self.input.token)
            self.name_weights()

    model = Tied()
    assert [t.name for t in model.parameters()] == ["input.token.weight", "input.position.weight"]
    paths = [path for path, _ in model.named_parameters()]
    assert paths == ["input.token.weight", "input.position.weight"]
    assert model.num_parameters() == 6 * 4 + 3 * 4


def test_the_weights_of_the_recipes_are_named():
    def names(model):
        return [tensor.name for tensor in model.parameters()]

    bert = ["token.weight", "position.weight", "segment.weight", "norm.gamma", "norm.beta"]
    assert names(layers.BERTInput(6, 4)) == bert
    assert names(layers.GPTInput(6, 4)) == ["token.weight", "position.weight"]
    patch = "patches.projection."
    vit = [patch + "weight", patch + "bias", "cls.weight", "position.weight"]
    assert names(layers.ViTInput(4, 2, 1, 3)) == vit
    assert names(layers.ScaledEmbedding(6, 4)) == ["token.weight"]


class Model(Layer):
    """Weights and parts in every kind of container, and some that are none of its own."""

    def __init__(self):
        self.blocks = [layers.Linear(2, 2, rng=0), (layers.Dropout(0.5), layers.RMSNorm(2))]
        self.heads = {
            "small": layers.Linear(2, 3, bias=False, rng=0),
            7: {"deep": [Embedding(3, 2)]},
        }
        self.scales = [layers.layer.weight(np.ones(2), np.float32, "a"), None, "text", 3]
        self.tied = self.blocks[0].weight
        self.again = self.blocks[1][1]
        self.computed = self.tied * 2.0
        self.blocks[1][0].owner = self  # a circle
        self.blocks.append(self.blocks)  # another one
        self.name_weights()


def test_weights_and_parts_in_containers_are_found_once():
    model = Model()
    paths = [
        "blocks.0.weight",
        "blocks.0.bias",
        "blocks.1.1.gamma",
        "heads.small.weight",
        "heads.7.deep.0.weight",
        "scales.0",
    ]
    assert [path for path, _ in model.named_parameters()] == paths
    assert [tensor.name for tensor in model.parameters()] == paths
    assert model.num_parameters() == 4 + 2 + 2 + 6 + 6 + 2
    dropout = model.blocks[1][0]
    assert model.eval() is model
    assert not dropout.training and not model.heads["small"].training and not model.training
    assert model.heads[7]["deep"][0].train().training and not dropout.training
    model.train()
    assert dropout.training and model.training
    assert len(dropout.parameters()) == len(paths)  # through its owner


def test_every_weight_of_a_list_takes_a_step():
    model = Model()
    before = [tensor.data.copy() for tensor in model.parameters()]
    for tensor in model.parameters():
        tensor.grad = np.ones_like(tensor.data)
    SGD(model.parameters(), lr=0.5).step()
    for tensor, was in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(tensor.data, was - np.float32(0.5))  # one step, not two


def test_parts_nested_deeper_than_python_recurses():
    chain = layers.Linear(1, 1, bias=False)
    for _ in range(5000):
        outer = Layer()
        outer.inner = chain
        chain = outer
    assert len(chain.parameters()) == 1
    assert not chain.eval().inner.training


def object_array(parts):
    array = np.empty(len(parts), object)
    array[:] = parts
    return array


def space(parts):
    return SimpleNamespace(first=parts[0])


ONCE = [zip, enumerate, iter, reversed, chain, lambda p: iter(tuple(p)), lambda p: map(abs, p)]


@pytest.mark.parametrize("once", [*ONCE, lambda p: (x for x in p), lambda p: iter({0: p}.items())])
def test_layers_that_are_met_once_are_told(once):
    model = Layer()
    model.blocks = once([layers.Linear(2, 2, rng=0)])
    with pytest.raises(TypeError, match="blocks is a .*: what it makes is met once.*make a list"):
        model.name_weights()


def by_name(parts):
    return dict(enumerate(parts))


HELD = {
    **{kind.__name__: kind for kind in (set, frozenset, deque, space, object_array)},
    "views": lambda parts: by_name(parts).values(),
    "keys": lambda parts: dict.fromkeys(parts).keys(),
    "items": lambda parts: by_name(parts).items(),
    "proxy": lambda parts: MappingProxyType(by_name(parts)),
    "chain of maps": lambda parts: ChainMap({}, by_name(parts)),
    "dict of one's own": lambda parts: UserDict(by_name(parts)),
    "list of one's own": UserList,
    "behind a number": lambda parts: deque([2, *parts]),
    "behind a name": lambda parts: SimpleNamespace(width=2, parts=parts),
    "in a list": lambda parts: deque([parts]),
    "keys of a dict": lambda parts: UserDict(dict.fromkeys(parts)),
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_layers_held_where_nobody_looks_are_told(held):
    outer = Layer()
    outer.parts = held([layers.Linear(1, 1)])
    with pytest.raises(TypeError, match="parts is a .* of layers.*put them in a list"):
        outer.parameters()
    outer.parts = held([1, 2])
    assert outer.parameters() == []


def test_weights_in_slots_and_on_the_class_are_found():
    class Slotted(Layer):
        __slots__ = ("inner", "unset", "w")
        shared = Tensor(np.ones(2), requires_grad=True)

        def __init__(self):
            self.w = Tensor(np.zeros(3), requires_grad=True)
            self.inner = layers.Dropout(0.5, rng=1)
            self.other = layers.Linear(1, 1, bias=False)
            self.name_weights()

    model = Slotted()
    names = [name for name, _ in model.named_parameters()]
    assert sorted(names) == ["other.weight", "shared", "w"] and len(model.generators()) == 1
    assert not model.eval().inner.training
    model.load_state_dict({name: array + 1 for name, array in model.state_dict().items()})
    assert model.w.data.tolist() == [1, 1, 1] and Slotted.shared.data.tolist() == [2, 2]


def test_a_layer_that_is_a_key_is_told():
    outer = Layer()
    outer.parts = {layers.Linear(1, 1): "first"}
    with pytest.raises(TypeError, match="Linear is a key of a dict, where it would neither"):
        outer.parameters()


def test_a_container_that_holds_itself_is_looked_into_once():
    outer = Layer()
    outer.parts = deque([1])
    outer.parts.append(outer.parts)
    assert outer.parameters() == []


def test_an_embedding_is_a_layer():
    embed = Embedding(5, 3, rng=0)
    assert isinstance(embed, Layer)
    assert [(path, t is embed.weight) for path, t in embed.named_parameters()] == [("weight", True)]
    assert embed.weight.name == "weight" and embed.num_parameters() == 15
    assert embed.eval() is embed and not embed.training and embed.train().training


def test_a_mask_is_not_loaded_from_a_state():
    with pytest.raises(TypeError, match="weight is a masked array"):
        layers.Embedding(1, 2).load_state_dict({"weight": np.ma.ones((1, 2))})


def test_generators_are_found_wherever_they_are_held():
    class Mine(Layer):
        def __init__(self):
            self.rngs = {"a": [np.random.default_rng(0), np.random.default_rng(1)]}
            self.drop, self.again = layers.Dropout(0.5, rng=2), self.rngs["a"][0]

    assert len(Mine().generators()) == 3


NO_WEIGHTS = {
    "an array": lambda w: np.zeros(w.shape, np.float32),
    "a tensor that does not learn": lambda w: Tensor(w.data),
    "one that was computed": lambda w: w * 0.02,
}


@pytest.mark.parametrize("made", NO_WEIGHTS.values(), ids=NO_WEIGHTS)
def test_what_would_not_be_learned_takes_no_weights_place(made):
    layer = layers.Linear(3, 2, rng=0)
    before = layer.weight
    with pytest.raises(TypeError, match=r"layer\.weight\.data\[\.\.\.\] = array for other numbers"):
        layer.weight = made(before)
    assert layer.weight is before and list(layer.state_dict()) == ["weight", "bias"]
    layer.bias = None  # one does without it
    with pytest.warns(UserWarning, match="weight is another Tensor from now on"):
        layer.weight = Tensor(np.ones((2, 3)), requires_grad=True)
    assert layer.parameters() == [layer.weight]
    frozen = layers.Embedding.from_pretrained(np.zeros((3, 2), np.float32))
    with pytest.raises(TypeError, match="weight is saved with the layer, and a ndarray in its"):
        frozen.weight = np.ones((3, 2), np.float32)
    with pytest.raises(AttributeError, match=r"for w in layer\.parameters\(\): w\.req"):
        layer.requires_grad = False
    layer.last = before * 2  # what was computed may be looked at later, and be another one then
    layer.last = before * 3


def test_a_head_is_tied_by_hand_without_a_warning_and_untied_with_one():
    """Whoever has the old table goes on with it: the optimiser too."""
    embed, head = layers.Embedding(5, 4, rng=0), layers.Linear(4, 5, bias=False, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        head.weight = embed.weight
        head.weight = embed.weight
    assert head.weight is embed.weight
    with pytest.warns(UserWarning, match="a layer that shares the old one, and an optimiser"):
        embed.weight = Tensor(np.ones((5, 4)), requires_grad=True)
    assert head.weight is not embed.weight


def test_a_table_of_another_size_is_told_by_its_own():
    embed = layers.Embedding(5, 3, rng=0)
    embed.weight.data = np.zeros((6, 2), np.float32)
    assert embed.num_embeddings == 6 and repr(embed) == "Embedding(6, 2)"


def test_what_a_layer_keeps_of_its_outputs_is_no_weight():
    class Remembers(Layer):
        def __init__(self):
            self.e = layers.Embedding(5, 4, rng=0)
            self.last = self.state = None

        def __call__(self, ids):
            self.last = self.e(ids)
            self.state = self.last.detach()

    for how in (nullcontext, no_grad):
        model = Remembers()
        with how():
            model([0, 1])
        assert list(model.state_dict()) == ["e.weight"]
        model.state = np.zeros((2, 4))  # a new sequence, whose state is no part of the model
    with no_grad():
        scaled = model.e.weight * 0.5
    scaled.requires_grad = True
    with pytest.warns(UserWarning, match="weight is another Tensor from now on"):
        model.e.weight = scaled
    assert model.parameters() == [scaled]
    scaled.requires_grad = False  # frozen, and a weight still
    assert model.parameters() == [scaled]


def test_a_state_that_is_computed_anew_is_saved_as_ever():
    class Centred(Layer):
        def __init__(self):
            self.mean = Tensor(np.zeros(2))

        def __call__(self, x, keep=Tensor.detach):
            self.mean = keep(self.mean * 0.5 + x.mean(axis=0) * 0.5)

    model, x = Centred(), Tensor(np.ones((3, 2)), requires_grad=True)
    for _ in range(2):
        model(x)
    with no_grad():
        model(x, keep=lambda mean: mean)
    again = Centred()
    again.load_state_dict(model.state_dict())
    assert again.mean.data.tolist() == [0.875, 0.875]
    with pytest.raises(TypeError, match=r"mean is saved .* a Tensor with a way back .*\.detach"):
        model(x, keep=lambda mean: mean)
    with pytest.raises(TypeError, match="mean is saved with the layer, and a ndarray in its place"):
        model.mean = np.zeros(2)


def test_what_stands_in_a_list_or_dict_in_a_weights_place_is_saved_or_told():
    class Recurrent(Layer):
        def __init__(self):
            self.tables = {"user": Tensor(np.ones((3, 2)), requires_grad=True)}
            self.states = [Tensor(np.zeros(2))]
            self.name_weights()

    model, again = Recurrent(), Recurrent()
    model.states[0] = (model.tables["user"] * 2).sum(axis=0).detach()
    again.load_state_dict(model.state_dict())
    assert again.states[0].data.tolist() == [6, 6] and len(model.parameters()) == 2
    model.tables["user"].requires_grad = False  # frozen where it stands
    assert len(model.state_dict()) == 2
    model.states[0] = None
    assert list(model.state_dict()) == ["tables.user"]
    for place, wrong in (("user", np.ones((3, 2))), ("user", model.tables["user"] * 0.5)):
        model.tables[place] = wrong
        with pytest.raises(TypeError, match=r"tables\.user is a weight, and a .* no weight"):
            model.parameters()


def test_a_part_remembers_its_weights_in_a_whole_that_was_not_named():
    class Part(Layer):
        def __init__(self):
            self.states = [Tensor(np.zeros(2))]
            self.name_weights()

    class Whole(Layer):
        def __init__(self):
            self.part = Part()

    whole = Whole()
    whole.part.states[0] = (whole.part.states[0] * 2).detach()
    assert list(whole.state_dict()) == ["part.states.0"]


def test_states_that_begin_as_one_are_saved_when_they_have_parted():
    class Recurrent(Layer):
        def __init__(self):
            self.states = [Tensor(np.zeros(2))] * 2
            self.cell = self.hidden = Tensor(np.zeros(2))
            self.name_weights()

    model = Recurrent()
    assert list(model.state_dict()) == ["states.0", "cell"]
    model.states = [(state + k).detach() for k, state in enumerate(model.states)]
    model.hidden = (model.cell + 1).detach()
    assert list(model.state_dict()) == ["states.0", "states.1", "cell", "hidden"]
    saved = model.state_dict()
    assert saved["states.1"].tolist() == saved["hidden"].tolist() == [1, 1]
    with pytest.raises(KeyError, match=r"states\.1 had numbers of its own when it was saved"):
        Recurrent().load_state_dict(saved)
    model.hidden = None
    with pytest.raises(KeyError, match="holds hidden, which Recurrent has not"):
        model.load_state_dict(saved)


def test_a_state_may_begin_as_a_weight_that_stands_elsewhere():
    class Recurrent(Layer):
        def __init__(self):
            self.begin = Tensor(np.zeros(2), requires_grad=True)
            self.states = [self.begin] * 2
            self.name_weights()

    model = Recurrent()
    model.states = [(state * 2).detach() for state in model.states]
    assert list(model.state_dict()) == ["begin"]


def test_a_part_that_has_no_weights_may_take_the_place_of_one_that_has():
    class Quantised(Layer):
        def __init__(self, table):
            self.weight = (table.weight.data * 127).astype(np.int8)
            self.name_weights()

    class Model(Layer):
        def __init__(self):
            self.token, self.out = layers.Embedding(5, 3, rng=0), layers.Linear(3, 5, rng=1)
            self.name_weights()

    model = Model()
    model.token = Quantised(model.token)
    assert list(model.state_dict()) == ["out.weight", "out.bias"]


def test_a_layer_may_take_the_place_of_a_weight():
    class Model(Layer):
        def __init__(self):
            self.position = Tensor(np.zeros((8, 4)), requires_grad=True)
            self.name_weights()

    model = Model()
    model.position = None
    model.position = layers.PositionEmbedding(8, 4, rng=0)
    assert list(model.state_dict()) == ["position.weight"]
    with pytest.raises(TypeError, match=r"Model does not say what it computes: .*__call__"):
        model(np.zeros((2, 4)))


def test_a_number_too_large_for_the_weights_is_loaded_by_nobody():
    layer = layers.Linear(3, 2, rng=0)
    before = layer.state_dict()
    state = {path: array.astype(np.float64) + 1 for path, array in before.items()}
    state["bias"][1] = 1e300
    said = r"bias\[1\] is 1e\+300 in the state, too much for float32"
    with warnings.catch_warnings(), pytest.raises(ValueError, match=said):
        warnings.simplefilter("error")
        layer.load_state_dict(state)
    assert all((array == before[path]).all() for path, array in layer.state_dict().items())
    state["bias"][1] = np.inf  # was no number before either
    layer.load_state_dict(state)
    assert np.isinf(layer.bias.data[1])


def test_one_array_in_the_place_of_a_list_of_weights_is_refused():
    class Many(Layer):
        def __init__(self):
            self.ws = [Tensor(np.ones(2), requires_grad=True) for _ in range(2)]
            self.name_weights()

    many = Many()
    for wrong in (np.ones((2, 2)), Tensor(np.ones((2, 2)), requires_grad=True)):
        with pytest.raises(TypeError, match=r"ws holds weights or layers, and a \w+ in its place"):
            many.ws = wrong
    many.ws = [Tensor(np.zeros(2), requires_grad=True), many.ws[1]]
    assert len(many.parameters()) == 2


@pytest.mark.parametrize("state", [None, [1, 2], "weight"])
def test_a_state_that_is_no_dict_is_told(state):
    with pytest.raises(TypeError, match="it must be a dict"):
        layers.Linear(2, 3, rng=0).load_state_dict(state)


def test_keys_that_are_no_text_are_told():
    layer = layers.Linear(2, 3, rng=0)
    with pytest.raises(KeyError, match="holds 0, which Linear has not"):
        layer.load_state_dict({**layer.state_dict(), 0: np.ones(2)})


@pytest.mark.parametrize("kind", [np.random.RandomState, random.Random])
def test_a_generator_whose_place_would_not_be_saved_is_told(kind):
    class Mine(Layer):
        def __init__(self):
            self.parts = {"draws": kind(0)}

    with pytest.raises(TypeError, match=rf"parts\.draws is a {kind.__name__}, whose place no"):
        Mine().generators()


def test_what_a_layer_is_asked_for_elsewhere_is_told():
    layer = layers.Linear(2, 3, rng=0)
    with pytest.raises(AttributeError, match=r"Linear has no forward: write layer\(x\)"):
        layer.forward(np.ones(2))
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wheight'"):
        layer.wheight  # noqa: B018


def test_what_is_wrong_in_a_property_of_a_layer_is_told_and_not_the_property():
    class Mine(Layer):
        norm = property(lambda self: self.wheight)

    with pytest.raises(AttributeError, match="no attribute 'wheight'"):
        Mine().norm  # noqa: B018


@pytest.mark.parametrize("positions", [np.arange(3), [0, 1], [[0], [1, 2]], Tensor([0, 1])])
def test_a_table_of_positions_is_asked_for_a_number_of_them(positions):
    with pytest.raises(TypeError, match=r"the number of positions, as ids.shape\[-1\]"):
        layers.PositionEmbedding(8, 4, rng=0)(positions)
