"""Options and alternatives: the reference page and the lecture note."""

import numpy as np

from scratch_embed import SGD, Adam, Embedding, LazyAdam, RowGrad, Tensor, hashing, sizes
from scratch_embed.functional import cross_entropy, lookup, project
from scratch_embed.layers import HashEmbedding, Linear
from scratch_embed.lesson.claims import corrected, given, measured, reproduced, undecided
from scratch_embed.ops.lookup import lookup_backward, lookup_forward

rng = np.random.default_rng(15)
V, D = 20, 5
table, ids = rng.normal(size=(V, D)), rng.integers(V, size=(3, 7))
arriving = rng.normal(size=(3, 7, D))
_, saved = lookup_forward(table, ids)

# ---- the code of the reference page --------------------------------------------------------------

embed = Embedding(2000, 768, rng=0)
reproduced("001-code-basic-shape", lambda i: embed(i).shape == (4, 768), [0, 42, 1337, 5],
           counter=[0, 42])  # fmt: skip
reproduced("001-code-numpy-forward", lambda f: np.array_equal(f(table, ids), table[ids]),
           lambda t, i: lookup_forward(t, i)[0], counter=lambda t, i: t[i[::-1]])  # fmt: skip


def in_two_loops(arriving):
    grad = np.zeros((V, D))
    for b, line in enumerate(ids):
        for t, id in enumerate(line):
            grad[id] += arriving[b, t]
    return grad


def overwriting(arriving):
    grad = np.zeros((V, D))
    grad[ids] += arriving
    return grad


by_loops = in_two_loops(arriving)
reproduced(
    "001-code-numpy-backward",
    lambda f: np.allclose(f(arriving), by_loops),
    lambda g: lookup_backward(g, saved),
    counter=overwriting,
)
corrected(
    "001-code-backward-sparse-word",
    lambda sparse: isinstance(lookup_backward(
        arriving, lookup_forward(table, ids, sparse=sparse)[1]), RowGrad),
    False,
    counter=True,
    because="sparse in content, not in storage: the page's function allocates all V rows each time",
)  # fmt: skip


def names_left_open(source, known):
    """Whether running a snippet stops at a name that nobody gave a value."""
    try:
        exec(source, dict(known))  # noqa: S102 - the two lines below, spelled out here
    except NameError:
        return True
    return False


SNIPPET = "ids = np.zeros((B, T), int); out = embed(ids)"
corrected(
    "001-code-batch-shape",
    lambda known: not names_left_open(SNIPPET, known),
    {"np": np, "embed": embed},
    counter={"np": np, "embed": embed, "B": 2, "T": 5},
    because="the shape is right for any B and T, but the snippet stops with a NameError: neither "
    "was given a value",
)
reproduced(
    "001-intro-hundreds-millions",
    lambda name: 1e8 <= sizes.MODELS[name].params < 1e9,
    "Llama 3 8B",
    counter="GPT-2 small",
)

# ---- padding_idx ---------------------------------------------------------------------------------


def padding_row_moves(padding_idx, tied=False, steps=5):
    layer = Embedding(6, 2, padding_idx=padding_idx, dtype=np.float64, rng=1, init=0.5)
    before = layer.weight.numpy()[0].copy()
    head = layer.weight if tied else Tensor(rng.normal(size=(6, 2)), requires_grad=True)
    optimizer = SGD([layer.weight], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        hidden = layer([[0, 3, 0, 5]])
        cross_entropy(project(hidden, head), [[3, 5, 5, 3]]).backward()
        optimizer.step()
    return bool(np.abs(layer.weight.numpy()[0] - before).max() > 0)


reproduced("001-code-padding-zero",
           lambda p: "zeros; not updated" if not padding_row_moves(p) else "updated",
           0, counter=None)  # fmt: skip
corrected(
    "003-padding",
    lambda tied: "fixed" if not padding_row_moves(0, tied) else "moves",
    True,
    counter=False,
    because="the row stays fixed only against lookups; a tied head moves it at every step",
)


def padding_is_ignored(**options):
    logits, targets = np.arange(24.0).reshape(1, 4, 6) % 5, np.array([[3, 0, 5, 0]])
    whole = cross_entropy(Tensor(logits), targets, **options).item()
    return np.isclose(whole, cross_entropy(Tensor(logits[:, ::2]), targets[:, ::2]).item())


corrected(
    "001-code-padding-label",
    lambda options: "ignored in loss" if padding_is_ignored(**options) else "counted",
    {},
    counter={"ignore_index": 0},
    because="padding_idx freezes a row of the input table and leaves the loss as it is; skipping "
    "padded targets is ignore_index of the cross-entropy",
)

# ---- scale_grad_by_freq, max_norm, the optimiser -------------------------------------------------

given("003-scale-grad-by-freq", "an option's name. It divides by the count in the mini-batch, "
      "which says little of how frequent a word is in the text")  # fmt: skip
given("003-max-norm", "an option's name. Only rows that are looked up are shrunk, in the table")


def same_as_dense(make, sparse):
    """Whether training by rows ends where dense training ends."""
    ends = []
    for rows in (False, sparse):
        weight = Tensor(table.copy(), requires_grad=True)
        optimizer = make[rows]([weight], lr=0.1)
        for batch in ids:
            optimizer.zero_grad()
            lookup(weight, batch, sparse=rows).backward(arriving[0])
            optimizer.step()
        ends.append(weight.data)
    return bool(np.allclose(*ends))


corrected(
    "001-math-sparse-optimiser",
    lambda make: not same_as_dense(make, True),
    {False: SGD, True: SGD},
    counter={False: Adam, True: LazyAdam},
    because="no need: a dense gradient trains under every optimiser, and SGD by rows ends in the "
    "same place. Rows save work; only Adam becomes another algorithm by it",
)

# ---- hashing, pretrained rows, characters --------------------------------------------------------


def shares(num_buckets):
    return hashing.collisions([f"token{n}" for n in range(10_000)], num_buckets).sharing


reproduced("001-alt-hashing-collisions", lambda m: shares(m) > 1000, 10_000, counter=2**24)
corrected(
    "001-alt-hashing-storage",
    lambda layer: "no storage" if layer.weight.size == 0 else "storage",
    HashEmbedding(10_000, 64, rng=0),
    counter=type("Nothing", (), {"weight": np.zeros(0)})(),
    because="no dictionary is stored, but the rows of the buckets are, and they weigh more",
)


def moves(freeze):
    """Whether a step on a layer and its head changes the rows that were handed over."""
    layer = Embedding.from_pretrained(table.copy(), freeze=freeze)
    head = Linear(table.shape[1], 1, rng=0, dtype=np.float64)
    head(layer([1])).sum().backward()
    SGD([*layer.parameters(), *head.parameters()], lr=0.1).step()
    return not np.array_equal(layer.weight.numpy(), table)


corrected(
    "001-alt-pretrained",
    lambda freeze: "fixed" if not moves(freeze) else "moves",
    False,
    counter=True,
    because="fixed only if one freezes them; the same table, handed to the optimiser, moves. "
    "Which is better depends on how many labels there are (lab `frozen_or_tuned`)",
)
SENTENCE = "Every word is a token, and every token has a row of its own."
reproduced(
    "001-alt-characters",
    lambda cut: len(cut(SENTENCE)) > 3 * len(SENTENCE.split()),
    list,
    counter=str.split,
)

undecided(
    "001-alt-long-range",
    "words lie further apart by as much as the sequence is longer, as shown above. What that costs "
    "depends on how a model mixes places; no two models that differ in nothing else were trained",
)

# ---- tables of other things ----------------------------------------------------------------------


def error_of_two_tables(seed, steps=300):
    """Error on hidden ratings, over that of the mean rating: 60 users, 40 items, three tastes."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(size=(60, 3)) @ rng.normal(size=(40, 3)).T
    known = rng.random(ratings.shape) < 0.5
    users, items = (Tensor(rng.normal(size=(n, 3)) * 0.3, requires_grad=True) for n in (60, 40))
    optimizer = Adam([users, items], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        gap = (users @ items.T - ratings) * known
        (gap * gap).sum().backward()
        optimizer.step()
    off = (users.data @ items.data.T - ratings)[~known]
    return float(np.sqrt(np.mean(off**2)) / ratings[~known].std())


trained, untrained = ([error_of_two_tables(s, n) for s in range(3)] for n in (300, 0))
measured(
    "001-uses-recommender",
    lambda errors: max(errors) < 0.3,
    trained,
    counter=untrained,
    because=f"on made-up tastes the two tables guess hidden ratings with {max(trained):.0%} of the "
    "error of the mean rating at the most, three seeds",
)
undecided("001-uses-rl", "a remark on practice: what has a number gets a row, what has none (a "
          "screen of pixels) a network; nothing in it is a figure")  # fmt: skip
