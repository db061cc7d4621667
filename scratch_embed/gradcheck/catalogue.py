"""One case for every operation and layer of the package, so that none goes unchecked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from scratch_embed import functional as F
from scratch_embed import layers
from scratch_embed.layers import layer
from scratch_embed.ops.onehot import one_hot
from scratch_embed.tensor import Tensor, tape

IDS = np.array([[4, 1, 1], [0, 4, 4]])  # rows 2, 3 and 5 of six are never looked up
ONCE, TWICE = np.array([4, 1, 0]), np.array([4, 1, 4])


class Case(NamedTuple):
    name: str  # of the operation in `functional`, or of a layer
    fn: Callable[..., Tensor]
    tensors: list[Tensor]
    options: str = ""  # of a layer; those of an operation are read from the tape


class Draw:
    """Fresh inputs, each a leaf Tensor that requires a gradient."""

    def __init__(self, rng: np.random.Generator):
        self.rng = rng

    def real(self, *shape: int, name: str = "x") -> Tensor:
        return Tensor(self.rng.standard_normal(shape), requires_grad=True, name=name)

    def positive(self, *shape: int, name: str = "x") -> Tensor:
        return Tensor(self.rng.uniform(0.5, 2.0, shape), requires_grad=True, name=name)

    def away_from_zero(self, *shape: int) -> Tensor:  # for functions with a kink at 0
        sign = np.where(self.rng.random(shape) < 0.5, -1.0, 1.0)
        return Tensor(sign * self.rng.uniform(0.1, 2.0, shape), requires_grad=True, name="x")

    def table(self) -> Tensor:
        return self.real(6, 3, name="E")


def cases(rng: np.random.Generator | int = 0) -> list[Case]:
    """Fresh inputs for every case, drawn from `rng`."""
    draw = Draw(np.random.default_rng(rng))
    groups = (_numbers, _moves, _tables, _bags, _vectors, _losses, _lookup_layers, _model_layers)
    return [case for group in groups for case in group(draw)]


def _numbers(draw: Draw) -> list[Case]:
    a, b = draw.real(4, 3, name="a"), draw.real(3, name="b")  # b is stretched over the rows of a
    return [
        Case("add", F.add, [a, b]),
        Case("sub", F.sub, [a, b]),
        Case("mul", F.mul, [a, b]),
        Case("div", F.div, [a, draw.positive(3, name="b")]),
        Case("neg", F.neg, [a]),
        Case("power", lambda x: F.power(x, 3), [a]),
        Case("exp", F.exp, [a]),
        Case("log", F.log, [draw.positive(4, 3)]),
        Case("sqrt", F.sqrt, [draw.positive(4, 3)]),
        Case("tanh", F.tanh, [a]),
        Case("sigmoid", F.sigmoid, [a]),
        Case("log_sigmoid", F.log_sigmoid, [draw.away_from_zero(4, 3)]),
        Case("relu", F.relu, [draw.away_from_zero(4, 3)]),
        Case("sum", lambda x: F.sum(x, axis=1), [draw.real(2, 4, 3)]),
        Case("mean", lambda x: F.mean(x, axis=(0, 2)), [draw.real(2, 4, 3)]),
        Case("matmul", F.matmul, [draw.real(2, 4, 3, name="a"), draw.real(3, 5, name="b")]),
    ]


def _moves(draw: Draw) -> list[Case]:
    a, b = draw.real(4, 3, name="a"), draw.real(4, 2, name="b")
    image = (2, 2, 4, 6)  # two pictures of two channels, 4 x 6
    return [
        Case("reshape", lambda x: F.reshape(x, (6, 4)), [draw.real(2, 4, 3)]),
        Case("transpose", lambda x: F.transpose(x, (2, 0, 1)), [draw.real(2, 4, 3)]),
        Case("getitem", lambda x: F.getitem(x, (slice(1, 3), [0, 2, 2])), [draw.real(4, 3)]),
        Case("concatenate", lambda a, b: F.concatenate(a, b, axis=1), [a, b]),
        Case("unfold", lambda x: F.unfold(x, 2), [draw.real(*image, name="images")]),
        Case("unfold", lambda x: F.unfold(x, 3), [draw.real(3, 6, name="grey")]),
        Case("fold", lambda x: F.fold(x, image, 2), [draw.real(2, 6, 8, name="patches")]),
    ]


def _tables(draw: Draw) -> list[Case]:
    mixed = one_hot(IDS, 6) + 0.1 * draw.rng.random((2, 3, 6))
    soft = Tensor(mixed, requires_grad=True, name="onehot")
    h, bias = draw.real(2, 4, 3, name="h"), draw.real(6, name="bias")
    return [
        Case("lookup", lambda E: F.lookup(E, IDS), [draw.table()]),
        Case("lookup", lambda E: F.lookup(E, IDS, sparse=True), [draw.table()]),
        Case("lookup", lambda E: F.lookup(E, ONCE) * F.lookup(E, TWICE), [draw.table()]),
        Case("lookup", lambda E: F.lookup(E, IDS, padding_idx=1), [draw.table()]),
        Case("lookup", lambda E: F.lookup(E, IDS, scale_grad_by_freq=True), [draw.table()]),
        Case("onehot_product", F.onehot_product, [soft, draw.table()]),
        Case("project", F.project, [h, draw.table()]),
        Case("project", F.project, [draw.real(3, name="h"), draw.table(), bias]),
        Case("project", lambda E: F.project(F.lookup(E, IDS), E), [draw.table()]),  # tied
    ]


def _bags(draw: Draw) -> list[Case]:
    ids, offsets = IDS.reshape(-1), np.array([0, 3, 3, 6])  # bags 4 1 1, none, 0 4 4
    factors = draw.real(6, name="per_sample_weights")

    def bag(**options) -> Case:
        return Case(
            "embedding_bag", lambda E: F.embedding_bag(E, ids, offsets=offsets, **options),
            [draw.table()],
        )  # fmt: skip

    return [
        bag(mode="sum"),
        bag(mode="mean", sparse=True),
        bag(mode="max"),
        bag(mode="mean", scale_grad_by_freq=True),
        Case("embedding_bag", lambda E: F.embedding_bag(E, IDS, mode="mean"), [draw.table()]),
        Case(
            "embedding_bag",
            lambda E, w: F.embedding_bag(E, ids, w, offsets=offsets, mode="sum"),
            [draw.table(), factors],
        ),
    ]


def _vectors(draw: Draw) -> list[Case]:
    gamma, beta = draw.real(5, name="gamma"), draw.real(5, name="beta")
    wide = draw.real(3, 5, name="wide")
    q, k, v = draw.real(2, 3, 4, name="q"), draw.real(2, 5, 4, name="k"), draw.real(5, 2, name="v")
    x = draw.real(3, 4)
    real = np.array([[True, True, True, True, False], [True, False, False, False, False]])
    added = np.where(real[:, None, :], draw.rng.standard_normal((2, 3, 5)), -np.inf)
    return [
        Case("layer_norm", F.layer_norm, [draw.real(2, 3, 5), gamma, beta]),
        Case("layer_norm", F.layer_norm, [draw.real(3, 5)]),  # without gamma and beta
        Case("layer_norm", lambda x, b: F.layer_norm(x, None, b), [draw.real(2, 3, 5), wide]),
        Case("rms_norm", F.rms_norm, [draw.real(2, 3, 5), gamma]),
        Case("rms_norm", F.rms_norm, [draw.real(2, 3, 5), wide]),  # over two axes
        Case("dropout", lambda x: F.dropout(x, 0.4, 3), [draw.real(4, 5)]),  # 3 is a seed
        Case("attention", F.attention, [q, k, v]),
        Case("attention", lambda *t: F.attention(*t, mask=real[:, None, :]), [q, k, v]),
        Case("attention", lambda *t: F.attention(*t, mask=added), [q, k, v]),
        Case("attention", lambda x: F.attention(x, x, x, causal=True), [x]),
        Case("rotary", F.rotary, [draw.real(2, 3, 4)]),
        Case("rotary", lambda x: F.rotary(x, [2, 0, 7], layout="concatenated"), [x]),
    ]


def _losses(draw: Draw) -> list[Case]:
    targets = np.array([4, 1, 1, 0])
    vectors = [draw.real(4, 3, name="center"), draw.real(4, 3, name="context")]
    contexts, negatives = draw.real(4, 2, 3, name="contexts"), draw.real(4, 2, 3, name="negatives")
    present = np.array([[True, True], [True, False], [False, True], [True, True]])
    weights = np.array([0.5, 2.0, 1.0, 0.0, 3.0])  # of classes

    def cross_entropy(**options) -> Case:
        return Case(
            "cross_entropy", lambda z: F.cross_entropy(z, targets, ignore_index=0, **options),
            [draw.real(4, 5, name="logits")],
        )  # fmt: skip

    return [
        Case("softmax", F.softmax, [draw.real(4, 5)]),
        Case("softmax", lambda x: F.softmax(x, axis=1), [draw.real(2, 3, 4)]),
        Case("log_softmax", F.log_softmax, [draw.real(4, 5)]),
        Case("log_softmax", lambda x: F.log_softmax(x, axis=0), [draw.real(3, 4)]),
        cross_entropy(),
        cross_entropy(reduction="none"),
        cross_entropy(weight=weights),
        cross_entropy(label_smoothing=0.1),
        cross_entropy(weight=weights, label_smoothing=0.3, reduction="none"),
        Case(
            "tied_cross_entropy",
            lambda h, E: F.tied_cross_entropy(h, E, targets, ignore_index=0, chunk=2),
            [vectors[0], draw.table()],
        ),
        Case(
            "tied_cross_entropy",
            lambda E: F.tied_cross_entropy(F.lookup(E, IDS), E, IDS, reduction="sum"),
            [draw.table()],
        ),
        Case("sgns", F.sgns, [*vectors, negatives]),
        Case("cbow", F.cbow, [contexts, vectors[0], negatives]),
        Case("cbow", lambda *t: F.cbow(*t, present=present), [contexts, vectors[0], negatives]),
    ]


def _lookup_layers(draw: Draw) -> list[Case]:
    options = {"rng": draw.rng, "dtype": np.float64}
    offsets = np.array([0, 3, 3, 6])
    embedding = layers.Embedding(6, 3, **options)
    bag = layers.EmbeddingBag(6, 3, mode="mean", **options)
    by_freq = layers.EmbeddingBag(6, 3, "sum", max_norm=9.0, scale_grad_by_freq=True, **options)
    hashed = layers.HashEmbedding(4, 3, num_hashes=2, signed=True, **options)
    learned = layers.PositionEmbedding(3, 2, past_end="interpolate", **options)
    clamped = layers.PositionEmbedding(3, 2, past_end="clamp", **options)
    scaled = layers.ScaledEmbedding(6, 3, max_len=4, scale="sqrt(d/2)", **options)
    small = layers.Embedding(6, 3, init="1/sqrt(d)", **options)
    head = layers.TiedHead(small, bias=True)
    return [
        _layer_case(embedding, lambda: embedding(IDS)),
        _layer_case(bag, lambda: bag(IDS.reshape(-1), offsets)),
        _layer_case(by_freq, lambda: by_freq(IDS), options="scale_grad_by_freq"),
        _layer_case(hashed, lambda: hashed([["cat", "dog"], ["cat", "house"]])),
        _layer_case(learned, lambda: learned(5), options="past_end=interpolate"),
        _layer_case(clamped, lambda: clamped(5), options="past_end=clamp"),
        _layer_case(scaled, lambda: scaled(IDS)),
        _layer_case(head, lambda: head(small(IDS))),
    ]


def _model_layers(draw: Draw) -> list[Case]:
    options = {"rng": draw.rng, "dtype": np.float64}
    x, images = draw.real(2, 3, 4), draw.real(2, 1, 4, 4, name="images")
    real = np.array([[True, True, False], [True, True, True]])
    linear = layers.Linear(4, 3, **options)
    dropout = layers.Dropout(0.5, rng=1).eval()
    patch = layers.PatchEmbed(4, 2, 1, 3, **options)
    bert = layers.BERTInput(6, 4, max_len=3, p=0.0, init=0.5, **options)
    gpt = layers.GPTInput(6, 3, max_len=3, p=0.0, **options)
    vit = layers.ViTInput(4, 2, 1, 3, **options)
    attend = layers.SelfAttention(4, num_heads=2, bias=True, **options)
    block = layers.TransformerBlock(4, 2, mlp_ratio=1, causal=True, rotary=True, **options)
    norms = [
        layers.LayerNorm(4, dtype=np.float64),
        layers.LayerNorm((3, 4), bias=False, dtype=np.float64),
        layers.RMSNorm(4, dtype=np.float64),
        layers.RMSNorm(4, elementwise_affine=False),
    ]
    return [
        _layer_case(linear, lambda: linear(x), x),
        *(_layer_case(norm, lambda norm=norm: norm(x), x) for norm in norms),
        _layer_case(dropout, lambda: dropout(x), x),
        _layer_case(patch, lambda: patch(images), images),
        _layer_case(bert, lambda: bert(IDS, IDS % 2)),
        _layer_case(gpt, lambda: gpt(IDS)),
        _layer_case(vit, lambda: vit(images), images),
        _layer_case(attend, lambda: attend(x, real), x),
        _layer_case(block, lambda: block(x), x),
    ]


def _layer_case(
    part: layer.Layer, run: Callable[[], Tensor], *inputs: Tensor, options: str = ""
) -> Case:
    """The layer's own weights are nudged, and its inputs if they are given."""
    tensors = [*inputs, *part.parameters()]
    return Case(type(part).__name__, lambda *_: F.tanh(run()), tensors, options)


def titles(chosen: list[Case]) -> Iterator[str]:
    """What to call each case: its operation and what sets it apart from others of that name.

    One after the other, for the options are read from a run of the operation.
    """
    for place, case in enumerate(chosen):
        alike = [other for other in chosen if other.name == case.name]
        own = sum(other.name == case.name for other in chosen[:place])
        names = [" ".join([other.name, *_options(other)]) for other in alike]
        if names.count(names[own]) > 1:
            shapes = [", ".join(str(t.shape) for t in other.tensors) for other in alike]
            names = [f"{name} of {shape}" for name, shape in zip(names, shapes)]
        again = names[: own + 1].count(names[own])  # nothing that can be seen sets them apart
        yield f"{names[own]}, {again}" if names.count(names[own]) > 1 else names[own]


def _options(case: Case) -> list[str]:
    """The keywords that its operation was called with, and the operations beside it."""
    if case.name not in F.__all__:
        return [case.options] if case.options else []
    nodes = [tensor.node for tensor in tape(case.fn(*case.tensors)) if tensor.node]
    own = next(node for node in nodes if node.name == case.name)
    arrays = {key: value for key, value in own.options.items() if isinstance(value, np.ndarray)}
    given = [f"{key}={value}" for key, value in own.options.items() if key not in arrays]
    given += [f"{key} ({value.dtype})" for key, value in arrays.items()]
    beside = [f"with {node.name}" for node in reversed(nodes) if node is not own]
    return [", ".join([*given, *beside])] if given or beside else []
