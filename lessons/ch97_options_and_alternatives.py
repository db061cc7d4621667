# %% [markdown]
# # 15. Options, and other ways to get a vector
#
# Embedding layers come with switches: a padding row, a largest norm, gradients divided by counts.
# Each of them makes backward answer something that is *not* the derivative of the loss, on
# purpose. We set each beside the true derivative. Then come the alternatives: hashing instead of
# a vocabulary, vectors from a file, characters, and tables of things that are not words at all.

# %%
import math
import sys
import tempfile
from pathlib import Path

import numpy as np

from scratch_embed import SGD, Adam, Embedding, LazyAdam, RowGrad, Tensor, geometry, plot, sizes
from scratch_embed.functional import cross_entropy, lookup
from scratch_embed.gradcheck import gradcheck
from scratch_embed.hashing import collisions
from scratch_embed.layers import HashEmbedding, PositionEmbedding
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    progress,
    quiz,
    save_figure,
    say,
    verdict,
    worked,
)
from scratch_embed.lesson.claims.snippets import undefined_names
from scratch_embed.lesson.look.terminal import table as columns
from scratch_embed.ops.lookup import lookup_backward, lookup_forward
from scratch_embed.ops.renorm import renorm_
from scratch_embed.text import bpe, corpus, ppmi, toy
from scratch_embed.text.docstrings import source_files
from scratch_embed.text.vectors import read_vectors, write_vectors

begin()

# %% [markdown]
# ## The code of a reference page
# A page that many read shows the layer in two libraries. Its shapes first: four ids, then a batch
# of sizes B and T, and these shapes hold for any. But does the page give B and T a value? Below are
# its statements up to the batch. We run them with a stand-in for each import that does whatever it
# is asked. Where Python meets a name that nobody has made, we note it, stand in for it too, and run
# again. The compiler's table of names, which runs nothing, should list the same ones.

# %%
PAGE = """
vocab_size = 32000
d_model = 768
embed = nn.Embedding(vocab_size, d_model)
token_ids = torch.tensor([0, 42, 1337, 5])
vectors = embed(token_ids)
ids = torch.randint(0, vocab_size, (B, T))
x = embed(ids)
"""
stops, unbound = undefined_names(PAGE, imported=["torch", "nn"])
embed = Embedding.from_pretrained(np.zeros((32_000, 768), np.float32))
d_model = embed.embedding_dim
check(
    "001-code-basic-shape",
    embed([0, 42, 1337, 5]).shape == (4, d_model),
    shown={"shape": embed([0, 42, 1337, 5]).shape, "d_model": d_model},
)
batches = {(B, T): embed(np.zeros((B, T), np.int64)).shape for B, T in [(1, 1), (2, 5), (8, 3)]}
erratum(
    "001-code-batch-shape",
    len(stops) > 0
    and set(stops) == unbound
    and all(shape == (*size, d_model) for size, shape in batches.items()),
    shown={"Python stops at": stops[:1], "and then at": stops[1:],
           "read and never made, by the compiler": len(unbound),
           "(2, 5) gives": batches[2, 5]},
    because="the shape is right for any B and T, but the snippet stops with a NameError: neither "
    "was given a value",
)  # fmt: skip
tables = {name: sizes.MODELS[name].params for name in ("Llama 3 8B", "GPT-4 (estimate, D = 4096)")}
for name, size in tables.items():
    print(f"  {name}: {size:,} numbers in the table")
check(
    "001-intro-hundreds-millions",
    all(2e8 <= size < 1e9 for size in tables.values()),
    shown=tables,
)

# %% [markdown]
# Its second half is NumPy: index forward, and backward two loops that add each arriving gradient
# to the row it came from. We write the loops out, and set our compiled scatter-add beside them.

# %%
rng = np.random.default_rng(0)
V, d = 20, 5
table = rng.standard_normal((V, d))
ids = rng.integers(V, size=(3, 7))
rows, saved = lookup_forward(table, ids)
check(
    "001-code-numpy-forward",
    rows.shape == (*ids.shape, d) and np.array_equal(rows, table[ids]),
    shown={"B, T, d": (*ids.shape, d), "shape": rows.shape},
)


def in_two_loops(ids: np.ndarray, arriving: np.ndarray, num_rows: int) -> np.ndarray:
    """grad[ids[b, t]] += arriving[b, t], as one would write it first."""
    grad = np.zeros((num_rows, arriving.shape[-1]))
    for b, line in enumerate(ids):
        for t, id in enumerate(line):
            grad[id] += arriving[b, t]
    return grad


def slopes(loss, at: np.ndarray) -> np.ndarray:
    """Central differences of a number-valued function of an array, entry by entry."""
    out, h = np.zeros_like(at), 1e-5
    for index in np.ndindex(at.shape):
        nudge = np.zeros_like(at)
        nudge[index] = h
        out[index] = (loss(at + nudge) - loss(at - nudge)) / (2 * h)
    return out


arriving = rng.standard_normal((3, 7, d))
looped, ours = in_two_loops(ids, arriving, V), lookup_backward(arriving, saved)
compare("dE, two loops", hand=looped, ours=ours,
        numeric=slopes(lambda E: float((E[ids] * arriving).sum()), table))  # fmt: skip
one_line = np.zeros((V, d))
np.add.at(one_line, ids, arriving)
check(
    "001-code-numpy-backward",
    looped.shape == (V, d) and np.allclose(looped, one_line, atol=1e-12),
    shown={"shape": looped.shape, "ids": ids.size, "different ids": len(np.unique(ids)),
           "largest difference from np.add.at": np.abs(looped - one_line).max()},
)  # fmt: skip

# %% [markdown]
# The page calls that answer a sparse gradient. Most of its *content* may be zero, but it is stored
# in full. At the size of a real table the difference matters: a `RowGrad` holds the rows that were
# named, and nothing else.

# %%
big = Embedding.from_pretrained(np.zeros((32_000, 256), np.float32), freeze=False, sparse=True)
big([[7, 7, 30_000]]).sum().backward()
named = big.weight.grad
dense_bytes = worked.product("bytes of a dense gradient, V d 4", 32_000, 256, 4)
erratum(
    "001-code-backward-sparse-word",
    isinstance(ours, np.ndarray) and ours.size == V * d and isinstance(named, RowGrad),
    shown={"bytes, dense": dense_bytes, "bytes, rows only": named.nbytes,
           "rows named": named.rows, "rows held by the dense one": V},
    because="sparse in content, not in storage: it allocates all V rows at every step",
)  # fmt: skip

# %% [markdown]
# ## padding_idx
# Sentences of a batch differ in length, so short ones are filled up with a padding id. Its row
# should mean nothing: it starts at zero, and backward leaves it out. The true derivative of the
# loss does not leave it out.

# %%
layer = Embedding(6, 2, padding_idx=0, dtype=np.float64, rng=1)
padded = np.array([[0, 3, 0, 5]])
arriving = rng.normal(size=(1, 4, 2)).round(2)
truth = worked.scatter_add("the true dE", padded.reshape(-1), arriving.reshape(-1, 2), 6)
layer(padded).backward(arriving)
numeric = slopes(lambda E: float((E[padded] * arriving).sum()), layer.weight.numpy().copy())
compare("true dE, row 0", hand=truth[0], ours=lookup_backward(arriving, lookup_forward(
        layer.weight.numpy(), padded)[1])[0], numeric=numeric[0])  # fmt: skip
compare("with padding_idx, rows 1-5", hand=truth[1:], ours=layer.weight.grad[1:],
        numeric=numeric[1:])  # fmt: skip
with_padding = layer.weight.grad.copy()
before = layer.weight.numpy().copy()
SGD([layer.weight], lr=0.5).step()
moved = np.abs(layer.weight.numpy() - before).max(axis=1)
check(
    "001-code-padding-zero",
    not before[0].any() and moved[0] == 0 and (moved[[3, 5]] > 0).all(),
    shown={"row 0": before[0], "its true derivative": truth[0], "it moved by": moved[0],
           "row 3 moved by": moved[3]},
)  # fmt: skip

# %% [markdown]
# The page's comment says that this ignores the padding *in the loss*. It does not. If padding
# stands among the targets, the loss counts it, with or without a padding row. To skip it is the
# business of the loss, and is called `ignore_index`: another option, of another function.

# %%
targets = np.array([[3, 0, 5, 0]])
logits = Tensor(rng.standard_normal((1, 4, 6)), requires_grad=True, name="logits")
counted = cross_entropy(logits, targets).item()
skipping = cross_entropy(logits, targets, ignore_index=0)
skipping.backward()
shares = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(axis=-1, keepdims=True)
terms = -np.log(np.take_along_axis(shares, targets[..., None], axis=-1))[0, :, 0]
all_four = worked.mean("loss of all four", terms)
of_two = worked.mean("loss of the two that are words", terms[targets[0] != 0])
compare("loss, padding counted", hand=all_four, ours=counted)
compare("loss, ignore_index=0", hand=of_two, ours=skipping.item())

head = rng.standard_normal((2, 6))
outputs = {}
for padding_idx in (None, 0):
    frozen = Embedding.from_pretrained(before, freeze=False, padding_idx=padding_idx)
    outputs[padding_idx] = cross_entropy(frozen(padded) @ head, targets).item()
erratum(
    "001-code-padding-label",
    outputs[None] == outputs[0] and counted != skipping.item(),
    shown={"loss without padding_idx": outputs[None], "with padding_idx=0": outputs[0],
           "another model, padding counted": counted, "with ignore_index=0": skipping.item()},
    because="padding_idx freezes a row of the input table and leaves the loss as it is; skipping "
    "padded targets is ignore_index of the cross-entropy",
)  # fmt: skip

# %% [markdown]
# Two options, then, that stop two different things. Here is "3, 5, 2" and a padding; each is to
# tell the next. Count before the table below does: the positions whose loss is counted, and the
# rows that get a gradient through the lookup.

# %%
sentence, following = np.array([3, 5, 2, 0]), np.array([5, 2, 0, 0])


def counted_and_learning(padding_idx, ignore_index) -> tuple[int, list[int]]:
    """How many positions the loss counts, and the rows of the table that get a gradient."""
    reads = Embedding(6, 2, padding_idx=padding_idx, dtype=np.float64, rng=2)
    logits = Tensor(reads(sentence).numpy() @ head, requires_grad=True, name="logits")
    cross_entropy(logits, following, ignore_index=ignore_index).backward()
    cross_entropy(reads(sentence) @ head, following, ignore_index=ignore_index).backward()
    rows = np.flatnonzero(reads.weight.grad.any(axis=1))
    return np.count_nonzero(logits.grad.any(axis=1)), rows.tolist()


stopped = {switches: counted_and_learning(*switches)
           for switches in ((None, None), (0, None), (None, 0), (0, 0))}  # fmt: skip
effects = {
    "4 positions count, and rows 0, 2, 3 and 5 learn": (4, [0, 2, 3, 5]),
    "4 positions count, and rows 2, 3 and 5 learn": (4, [2, 3, 5]),
    "2 positions count, and rows 2, 3 and 5 learn": (2, [2, 3, 5]),
    "2 positions count, and rows 3 and 5 learn": (2, [3, 5]),
}
(by_padding_idx,) = (text for text, effect in effects.items() if effect == stopped[0, None])
quiz(
    "own-ch15-padding-idx",
    "The ids 3, 5, 2, 0 are to tell 5, 2, 0, 0, and 0 is the padding. The head has rows of its "
    "own. With padding_idx=0 and no ignore_index: what counts, and what learns?",
    by_padding_idx,
    options=list(effects),
    because="padding_idx takes one row out of backward and no position out of the loss: id 2 is "
    "still taught to tell the padding",
)
quiz(
    "own-ch15-ignore-index",
    "And ignore_index=0 without padding_idx: how many of the table's 6 rows get no gradient?",
    6 - len(stopped[None, 0][1]),
    tolerance=0,
    because=f"rows 1 and 4 are not read. The ids 2 and 0 stand where the target is a padding, so "
    f"their positions are skipped, and {stopped[None, 0][0]} positions are left, of the ids "
    f"{stopped[None, 0][1]}. (With attention the padding would be reached from other positions.)",
)
print(columns(["padding_idx", "ignore_index", "positions that count", "rows that learn"],
              [[*map(str, switches), str(count), ", ".join(map(str, rows))]
               for switches, (count, rows) in stopped.items()]))  # fmt: skip

# %% [markdown]
# Nor is the row fixed for good. `padding_idx` guards the way through the lookup. A head that
# shares the table scores the padding row at every position, and sends it a gradient: the share
# $p_0$ that it was given there, times the state $h$. The sentence once more, with the padded
# targets ignored:


# %%
def first_gradient_and_end(tie: bool, steps: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the table in step 1, and the padding row after all steps."""
    table = Embedding(6, 2, padding_idx=0, dtype=np.float64, rng=2)
    head = table.weight
    if not tie:
        head = Tensor(table.weight.numpy().copy(), requires_grad=True, name="head")
    optimizer = SGD({id(t): t for t in (table.weight, head)}.values(), lr=0.5)
    for step in range(steps):
        optimizer.zero_grad()
        cross_entropy(table(sentence) @ head.T, following, ignore_index=0).backward()
        if step == 0:
            first = table.weight.grad.copy()
        optimizer.step()
    return first, table.weight.numpy()[0]


at_start = Embedding(6, 2, padding_idx=0, dtype=np.float64, rng=2).weight.numpy()
states = at_start[sentence[:2]]  # where the target is a word
scores = np.exp(states @ at_start.T)
to_padding = scores[:, 0] / scores.sum(axis=1)
by_head = worked.sum("row 0 is sent", *(to_padding[:, None] * states / 2))


def tied_loss(row_0: np.ndarray) -> float:
    """The loss with another padding row in the head; the lookup does not answer for that row."""
    head = np.concatenate([row_0[None], at_start[1:]])
    return cross_entropy(states @ head.T, following[:2]).item()


tied_first, tied_end = first_gradient_and_end(tie=True)
_, untied_end = first_gradient_and_end(tie=False)
compare("padding row, by a tied head", hand=by_head, ours=tied_first[0],
        numeric=slopes(tied_loss, at_start[0].copy()))  # fmt: skip
erratum(
    "003-padding",
    np.linalg.norm(tied_end) > 0.01 and not untied_end.any(),
    shown={"norm of the padding row after 20 steps, head of its own": np.linalg.norm(untied_end),
           "the same, tied head": np.linalg.norm(tied_end)},
    because="the row stays fixed only against lookups; a tied head moves it at every step",
)  # fmt: skip

# %% [markdown]
# ## scale_grad_by_freq
# Divide what a row has collected by how often it was looked up: the mean of the arriving gradients
# instead of their sum. With the sum of all entries as loss, every arriving gradient is a 1.

# %%
batch = np.array([1, 1, 2])
true_layer = Embedding(4, 2, dtype=np.float64, rng=3)
mean_layer = Embedding.from_pretrained(true_layer.weight.numpy(), freeze=False,
                                       scale_grad_by_freq=True)  # fmt: skip
for each in (true_layer, mean_layer):
    each(batch).sum().backward()
summed = worked.scatter_add("true dE", batch, np.ones((3, 2)), 4)
halved = worked.scale("row 1, used twice", 1 / 2, summed[1])
by_nudging = slopes(lambda E: float(E[batch].sum()), true_layer.weight.numpy().copy())
compare("true dE, rows 1, 2", hand=summed[1:3], ours=true_layer.weight.grad[1:3],
        numeric=by_nudging[1:3])  # fmt: skip
compare("divided by counts", hand=np.stack([halved, summed[2]]), ours=mean_layer.weight.grad[1:3])

# %% [markdown]
# A lecture says why one would want it: frequent words dominate learning. But the count is that of
# the batch. Read a text of 1,000 times word 1 and once word 2, in batches of several sizes. Scaled
# by frequency in the text, both words would always collect the same. They do only when the whole
# text is one batch; else they collect one for each batch they stand in, and with one word to a
# batch nothing is scaled at all.

# %%
one_text = np.random.default_rng(0).permutation([1] * 1000 + [2])
collected = {}
for batch_size in (1, 10, 100, len(one_text)):
    mean_layer.weight.grad = None
    for at in range(0, len(one_text), batch_size):
        mean_layer(one_text[at : at + batch_size]).sum().backward()
    collected[batch_size] = mean_layer.weight.grad[1:3, 0]
holding = {n: corpus.batches_read(one_text, 4, n)[1:3] for n in collected}
erratum(
    "003-scale-grad-by-freq",
    all(np.allclose(collected[n], holding[n]) for n in collected)
    and collected[1][0] == 1000 * collected[1][1],
    shown={f"rows 1 and 2 collect, {n} to a batch": got for n, got in collected.items()},
    because="it divides by the count inside the mini-batch, which says little of how frequent a "
    "word is in the text",
)  # fmt: skip

# %% [markdown]
# ## max_norm
# Rows that are too long are shrunk, before the lookup, in place: the table itself is edited, and
# only where it is looked up.

# %%
long = Embedding.from_pretrained(np.full((4, 3), 2.0), freeze=False, max_norm=1.0)
worked.norm("row [2, 2, 2]", np.full(3, 2.0))
long([1, 2]).sum().backward()
lengths = geometry.norms(long.weight.numpy())
quiz(
    "own-ch15-max-norm",
    "The table has four rows, each [2, 2, 2], and max_norm=1. The ids 1 and 2 were looked up. How "
    "many rows of the table are longer than 1 now?",
    np.count_nonzero(lengths > 1 + 1e-9),
    tolerance=0,
    because="the rows looked up were shrunk in the table itself; the two others wait for a lookup "
    "of their own",
)
erratum(
    "003-max-norm",
    np.allclose(lengths[1:3], 1) and lengths[0] > 3,
    shown={"norms of the rows looked up": lengths[1:3], "of the others": lengths[[0, 3]]},
    because="no constraint on the table: rows that are not looked up stay as long as they are, and "
    "looking a row up changes it",
)

# %% [markdown]
# What is its gradient? Ours, like PyTorch's, is the derivative at the *shrunk* row: the edit came
# before, and the tape has not seen it. Were the shrinking a part of the function,
# $y = w\,/\,|w|$, its derivative at the long row would be
# $\frac{1}{|w|}\left(g - \frac{w\,(w \cdot g)}{|w|^2}\right)$: shorter, and without the part along
# the row. Neither is wrong; they answer different questions.

# %%
w = np.array([[2.0, 1.0, -2.0]])  # of norm 3
g = np.array([1.0, 2.0, 0.5])
along = worked.dot("w . g", w[0], g)
through = (g - w[0] * along / 9) / 3
as_edit = Embedding.from_pretrained(w.copy(), freeze=False, max_norm=1.0)
as_edit(0).backward(g)


def shrink_and_score(at: np.ndarray) -> float:
    at = at.copy()
    renorm_(at, [0], max_norm=1.0)
    return float(at[0] @ g)


compare("edit first, then derive", hand=g, ours=as_edit.weight.grad[0],
        numeric=slopes(lambda at: float(at[0] @ g), w / 3)[0])  # fmt: skip
compare("derive through it all", hand=through, numeric=slopes(shrink_and_score, w)[0])

# %% [markdown]
# ## Which optimiser?
# A page says that sparse gradients *need* special handling. Plain gradient descent does not: dense
# or by rows, the same bits. Adam does something else. It remembers: a row that was looked up once
# goes on moving while others are read. By hand, for an id that is seen in step 1 with gradient 1
# and never again, $m$ and $v$ only fade:

# %%
steps, b1, b2 = 100, 0.9, 0.999
m, v, hand_path = 0.0, 0.0, []
for t in range(1, steps + 1):
    gradient = 1.0 if t == 1 else 0.0
    m, v = b1 * m + (1 - b1) * gradient, b2 * v + (1 - b2) * gradient**2
    hand_path.append(m / (1 - b1**t) / (math.sqrt(v / (1 - b2**t)) + 1e-8))
    if t <= 3:
        print(f"  step {t}: m = {m:.6g}, v = {v:.6g}, the row moves by {hand_path[-1]:.4f} lr")


def path(optimizer_class, sparse: bool) -> np.ndarray:
    """Where row 1 stands after each step, in units of lr, when only the first step reads it."""
    layer = Embedding.from_pretrained(np.zeros((3, 1)), freeze=False, sparse=sparse)
    optimizer = optimizer_class([layer.weight], lr=0.01)
    places = []
    for step in range(steps):
        optimizer.zero_grad()
        layer([1, 2] if step == 0 else [2]).sum().backward()
        optimizer.step()
        places.append(-layer.weight.numpy()[1, 0] / 0.01)
    return np.array(places)


dense, lazy = path(Adam, sparse=False), path(LazyAdam, sparse=True)
compare("Adam, steps 1-4, in lr", hand=np.cumsum(hand_path)[:4], ours=dense[:4])
compare("LazyAdam, steps 1-4, in lr", hand=np.full(4, hand_path[0]), ours=lazy[:4])
ends_of_row = {
    "Adam at about 3 lr, LazyAdam at 1 lr":
        abs(dense[-1] - 3) < 0.5 and abs(lazy[-1] - 1) < 0.1,
    "Adam at about 6 lr, LazyAdam at 1 lr":
        abs(dense[-1] - 6) < 0.5 and abs(lazy[-1] - 1) < 0.1,
    "both at about 6 lr: they differ in speed only":
        abs(dense[-1] - 6) < 0.5 and abs(lazy[-1] - 6) < 0.5,
    "Adam at about 100 lr, LazyAdam at 1 lr":
        abs(dense[-1] - 100) < 10 and abs(lazy[-1] - 1) < 0.1,
}  # fmt: skip
(end_of_row,) = (text for text, is_so in ends_of_row.items() if is_so)
quiz(
    "own-ch15-lazy-adam",
    "A row gets the gradient 1 in step 1 and never again. How far from its start is it after 100 "
    "steps?",
    end_of_row,
    options=list(ends_of_row),
    because="dense Adam goes on with m, which loses a tenth at each step, and divides by a v that "
    f"hardly fades: step 100 still moves it, by {dense[-1] - dense[-2]:.0e} lr. LazyAdam leaves "
    "rows alone that the gradient does not name",
)
print(f"  after {steps} steps: Adam has moved the row by {dense[-1]:.2f} lr, LazyAdam by "
      f"{lazy[-1]:.2f} lr")  # fmt: skip

# %%
start = rng.standard_normal((50, 4))
ends = {}
for sparse in (False, True):
    layer = Embedding.from_pretrained(start.copy(), freeze=False, sparse=sparse)
    optimizer = SGD([layer.weight], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (layer([5, 7, 5]) ** 2).sum().backward()
        optimizer.step()
    ends[sparse] = layer.weight.numpy()
try:
    Adam([layer.weight], lr=0.1).step()
    refusal = ""
except TypeError as error:
    refusal = str(error)
say(f"Adam, given rows: {refusal}")
erratum(
    "001-math-sparse-optimiser",
    ends[False].tobytes() == ends[True].tobytes() and dense[-1] > 5 and lazy[-1] < 1.01,
    shown={
        "bits that differ, SGD dense and by rows": int((ends[False] != ends[True]).sum()),
        "first step of Adam and LazyAdam, lr": [dense[0], lazy[0]],
        "second step of Adam, lr": dense[1] - dense[0],
        "Adam after 100 steps, lr": dense[-1],
        "LazyAdam after 100 steps, lr": lazy[-1],
    },
    because="no need: a dense gradient trains under every optimiser, and SGD gives the same bits. "
    "Rows save work; with Adam they also make another algorithm, without coasting",
)

# %% [markdown]
# ## Hashing
# No vocabulary at all: a fixed function turns any token into one of $m$ buckets, and the bucket
# has the row. Tokens that share a bucket share everything. How many do is the old question of
# balls in urns, and the count agrees with it.

# %%
tokens = np.arange(100_000) * 7919 + 13
found = {m: collisions(tokens, m) for m in (10_000, 50_000, 100_000, 500_000, 2_000_000)}
sharing = found[100_000].sharing / found[100_000].num_tokens
shares_expected = {
    "hardly any: there is a bucket for each": sharing < 0.05,
    "about 37 %, or 1/e": abs(sharing - math.exp(-1)) < 0.02,
    "about 50 %": abs(sharing - 0.5) < 0.02,
    "about 63 %, or 1 - 1/e": abs(sharing - (1 - math.exp(-1))) < 0.02,
}
(share_expected,) = (text for text, is_so in shares_expected.items() if is_so)
quiz(
    "own-ch15-collisions",
    "100,000 tokens are hashed into 100,000 buckets. How many of them share theirs with another?",
    share_expected,
    options=list(shares_expected),
    because="a token is alone if all the others miss its bucket, with the chance (1 - 1/m)^(n - 1) "
    f"= {(1 - 1 / 100_000) ** 99_999:.4f}, nearly 1/e; all the others share",
)
print(found[100_000])
ratios = [c.sharing / c.expected_sharing for c in found.values()]
check(
    "001-alt-hashing-collisions",
    found[100_000].sharing > 0 and max(abs(r - 1) for r in ratios) < 0.05,
    shown={f"share one, m = {m:,}": c.sharing / c.num_tokens for m, c in found.items()},
)
buckets = HashEmbedding(10_000, 768)
words_100k = {f"token{n}": n for n in range(100_000)}
dictionary = sys.getsizeof(words_100k) + sum(map(sys.getsizeof, words_100k))
erratum(
    "001-alt-hashing-storage",
    buckets.weight.size == 10_000 * 768 and buckets.weight.size * 4 > dictionary,
    shown={"numbers in 10,000 buckets of 768": buckets.weight.size,
           "bytes of these": buckets.weight.data.nbytes,
           "bytes of the dictionary that is saved, 100,000 tokens": dictionary},
    because="no dictionary is stored, but the rows of the buckets are, and they weigh more",
)  # fmt: skip

# %% [markdown]
# What do collisions cost? Three hundred tokens, each with a random label to learn by heart. With
# one hash, tokens in one bucket must share an answer. With two hashes the row is a sum of two, and
# it seldom happens that both coincide.

# %%
some_words = [f"name{n}" for n in range(300)]
answers = np.random.default_rng(4).integers(2, size=300)


def learned_by_heart(num_buckets: int, num_hashes: int) -> float:
    layer = HashEmbedding(num_buckets, 2, num_hashes=num_hashes, rng=0, init=0.01)
    optimizer = Adam([layer.weight], lr=0.1)
    for _ in range(30 if options.quick else 60):
        optimizer.zero_grad()
        logits = layer(some_words)
        cross_entropy(logits, answers).backward()
        optimizer.step()
    return float((logits.numpy().argmax(axis=1) == answers).mean())


for m in (100, 300, 1000):
    one, two = learned_by_heart(m, 1), learned_by_heart(m, 2)
    print(f"  {m:>5} buckets: {one:.0%} learned with one hash, {two:.0%} with two")

# %% [markdown]
# ## Vectors from a file
# Vectors travel in two text formats, word2vec's (with a first line "V D") and GloVe's (without).
# We take vectors counted from the made-up language, write both, and read them back: the same bits.
# A broken file is refused, with the number of its line.

# %%
language = toy.zipf_classes()
num_words = len(language.classes)
together = ppmi.cooccurrence(language.tokens, num_words, window=1)
vectors = ppmi.svd_vectors(ppmi.ppmi(together), 16).astype(np.float32)
spelled = [f"word{n}" for n in range(num_words)]
broken = {
    "a number is missing": "cat 0.1 0.2 0.3\ndog 0.1 0.2\n",
    "not a number": "cat 0.1 0.2 0.3\ndog 0.1 zwei 0.3\n",
    "NaN": "cat 0.1 nan 0.3\n",
    "a word twice": "cat 0.1 0.2 0.3\ncat 0.4 0.5 0.6\n",
    "cut short": "3 2\ncat 0.1 0.2\ndog 0.3 0.4\n",
}
with tempfile.TemporaryDirectory() as folder:
    for name, header in (("word2vec", True), ("GloVe", False)):
        file = Path(folder) / f"{name}.txt"
        write_vectors(file, spelled, vectors, header=header)
        back = read_vectors(file)
        first = file.read_text(encoding="utf-8").split("\n")[0]
        print(f"  {name:<8} first line {first[:24]!r}, {back.vectors.shape} read back")
        compare(f"{name} format, the same bits", ours=back.vectors, hand=vectors, rtol=0, atol=0)
    for what, content in broken.items():
        file = Path(folder) / "broken.txt"
        file.write_text(content, encoding="utf-8")
        try:
            read_vectors(file)
            print(f"  {what}: was accepted")
        except ValueError as error:
            say(f"{what}: {str(error).replace(str(file), file.name)}")

# %% [markdown]
# Vectors from a file are fixed, says the page. They are if one freezes them. Here is a task with
# few labels: tell the class of a word, with 60 words labelled. The same classifier on frozen
# vectors, on vectors that may change, and on random ones.

# %%
frequent = np.flatnonzero(np.bincount(language.tokens, minlength=num_words) >= 10)
labelled, test = frequent[:60], frequent[60:]


def classify(array: np.ndarray, freeze: bool) -> tuple[float, float]:
    """Share of unlabelled words told right, and how far the labelled rows have moved."""
    layer = Embedding.from_pretrained(array.copy(), freeze=freeze)
    weight = Tensor(np.zeros((array.shape[1], 10)), requires_grad=True, name="W")
    optimizer = Adam([weight] if freeze else [weight, layer.weight], lr=0.03)
    for _ in range(100):
        optimizer.zero_grad()
        cross_entropy(layer(labelled) @ weight, language.classes[labelled]).backward()
        optimizer.step()
    told = (layer(test).numpy() @ weight.numpy()).argmax(axis=1)
    away = np.linalg.norm(layer.weight.numpy() - array, axis=1)
    return float((told == language.classes[test]).mean()), float(away.max())


given = vectors.astype(np.float64)
frozen_right, frozen_moved = classify(given, freeze=True)
tuned_right, tuned_moved = classify(given, freeze=False)
random_right, _ = classify(rng.standard_normal(given.shape), freeze=False)
print(f"  told right: frozen {frozen_right:.0%}, fine-tuned {tuned_right:.0%}, random rows "
      f"{random_right:.0%}")  # fmt: skip
erratum(
    "001-alt-pretrained",
    frozen_moved == 0 < tuned_moved and frozen_right > 2 * random_right,
    shown={"largest move of a row, frozen": frozen_moved, "largest move, fine-tuned": tuned_moved,
           "right with frozen vectors": frozen_right, "right after fine-tuning": tuned_right,
           "right with random rows": random_right},
    because="fixed only if one freezes them; the same table, handed to the optimiser, moves",
)  # fmt: skip

# %% [markdown]
# Fine-tuning is no gift either: only rows of labelled words move. The others stay behind, in the
# space the classifier has left.
#
# ## Characters
# A table of characters has a hundred rows, and knows every word. The price is length, and
# attention pays for it squared.

# %%
if options.text is not None:
    source, text = options.text.name, corpus.read_text(options.text)
else:
    source = "Python's documentation"
    text = corpus.python_text(("topics",) if source_files("topics") else ("argparse",))
text = text[:20_000]
if len(corpus.words(text)) < 100:
    raise SystemExit(
        f"the beginning of {source} has {len(corpus.words(text)):,} words; to set characters, "
        "pieces and words side by side takes at least 100. Give a longer text."
    )
pieces = bpe.train(text, 200 if options.quick else 400, boundaries=True, progress=False)
lengths = {"characters": len(text), "pieces": len(pieces.encode(text)),
           "words": len(corpus.words(text))}  # fmt: skip
rows_needed = {"characters": len(set(text)), "pieces": len(pieces),
               "words": len(set(corpus.words(text)))}  # fmt: skip
for unit in lengths:
    print(f"  {unit:<11} {lengths[unit]:>6,} tokens, {rows_needed[unit]:>5,} rows in the table")
longer = worked.quotient("characters for each word", lengths["characters"], lengths["words"])
much, some = (3, 1.5) if options.text is None else (1, 1)  # words of another text may be short
if options.text is not None:
    say(f"How much longer depends on the text: of {source} we ask only that characters take more.")
check(
    "001-alt-characters",
    longer > much and lengths["characters"] / lengths["pieces"] > some,
    shown={"characters for each word": longer,
           "characters for each piece": lengths["characters"] / lengths["pieces"],
           "attention scores, characters against words": longer**2},
)  # fmt: skip

# %% [markdown]
# ## A table of people and a table of films
# Nothing says that ids are words. Give each user a row and each item a row, and let their dot
# product be the rating: two embedding layers, trained on the ratings that are known, guess those
# that are not. Half of 60 x 40 ratings are hidden.

# %%
rng = np.random.default_rng(5)
taste, style = rng.standard_normal((60, 3)), rng.standard_normal((40, 3))
ratings = taste @ style.T + 0.1 * rng.standard_normal((60, 40))
known = rng.random(ratings.shape) < 0.5
people, films = np.nonzero(known)
users, items = (Embedding(n, 3, dtype=np.float64, rng=rng, init=0.3) for n in (60, 40))

# %% [markdown]
# The gradient of user 0's row, by hand: each of the user's ratings pulls by its error times the
# item's row. That is a lookup, a product, and a scatter-add.

# %%
n = len(people)


def rating_loss() -> Tensor:
    guess = (users(people) * items(films)).sum(axis=-1)
    return ((guess - ratings[people, films]) ** 2).sum() / n


rating_loss().backward()
mine = films[people == 0]
errors = items.weight.numpy()[mine] @ users.weight.numpy()[0] - ratings[0, mine]
pulls = 2 / n * errors[:, None] * items.weight.numpy()[mine]
hand_row = worked.sum("d user 0", *pulls[:3]) + pulls[3:].sum(axis=0)
print(f"  and {len(pulls) - 3} more, together {hand_row.round(5).tolist()}")
report = gradcheck(lambda a, b: (lookup(a, people) * lookup(b, films)).sum(axis=-1),
                   users.weight, items.weight, max_entries=40, name="ratings")  # fmt: skip
report.raise_if_wrong()
at_0 = users.weight.numpy()[0].copy()
compare("d user 0", hand=hand_row, ours=users.weight.grad[0], numeric=slopes(
        lambda row: float(((items.weight.numpy()[mine] @ row - ratings[0, mine]) ** 2).sum() / n),
        at_0))  # fmt: skip
optimizer = Adam([users.weight, items.weight], lr=0.03)
for _ in progress(range(200 if options.quick else 400), "ratings"):
    optimizer.zero_grad()
    rating_loss().backward()
    optimizer.step()
guesses = users.weight.numpy() @ items.weight.numpy().T


def rmse(guess: np.ndarray) -> float:
    """Root of the mean squared error on the hidden ratings."""
    return float(np.sqrt(((guess - ratings)[~known] ** 2).mean()))


check(
    "001-uses-recommender",
    rmse(guesses) < 0.3 * rmse(np.full_like(ratings, ratings[known].mean())),
    shown={"hidden ratings": int((~known).sum()), "error of two tables": rmse(guesses),
           "error of the mean rating": rmse(np.full_like(ratings, ratings[known].mean())),
           "noise in the ratings": 0.1},
)  # fmt: skip

# %% [markdown]
# ## A table of places
# Reinforcement learning has tables too. On a 4 x 4 board the state is one of 16 ids; give each a
# row of four numbers, the worth of going up, down, left and right, and learning by trial and error
# (Watkins 1989) is a lookup and an update of the row that was read. A screen of pixels has no id:
# there would be more rows than anything.

# %%
moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]


def step_on_board(state: int, action: int) -> int:
    row, col = divmod(state, 4)
    down, right = moves[action]
    return min(max(row + down, 0), 3) * 4 + min(max(col + right, 0), 3)


worth = Embedding.from_pretrained(np.zeros((16, 4)), freeze=False, sparse=True)
optimizer = SGD([worth.weight], lr=0.5)
rng = np.random.default_rng(6)
for _ in range(150 if options.quick else 300):
    state = 0
    while state != 15:
        q = worth.weight.numpy()[state]
        action = rng.integers(4) if rng.random() < 0.3 else int(rng.choice(np.flatnonzero(
            q == q.max())))  # fmt: skip
        after = step_on_board(state, action)
        goal = -1 + (0 if after == 15 else worth.weight.numpy()[after].max())
        optimizer.zero_grad()
        error = np.zeros(4)
        error[action] = q[action] - goal
        worth(state).backward(error)  # the gradient of half the squared error
        optimizer.step()
        state = after
state, walked = 0, 0
while state != 15 and walked < 100:
    state = step_on_board(state, int(worth.weight.numpy()[state].argmax()))
    walked += 1
shortest = abs(15 // 4 - 0 // 4) + abs(15 % 4 - 0 % 4)
pieces_of_chess = Embedding(13, 8, rng=0)  # six kinds in two colours, and an empty square
check(
    "001-uses-rl",
    walked == shortest and pieces_of_chess(np.zeros((8, 8), np.int64)).shape == (8, 8, 8),
    shown={"rows in the table": worth.num_embeddings, "steps it takes": walked,
           "steps that it must take": shortest, "worth of the start, best move": worth.weight.numpy(
           )[0].max(), "digits in the number of 84 x 84 grey screens": math.floor(
           84 * 84 * math.log10(256)) + 1},
)  # fmt: skip

# %% [markdown]
# ## Past the last position
# A learned table of positions ends. What then? NumPy itself would say little: a slice past the end
# is silently shorter, a negative index counts from the other side. Ours refuses, unless one has
# asked for one of two ways out, for neither of which anything was trained: to stretch the table,
# mixing neighbours, or to give every later place the last row.

# %%
positions = PositionEmbedding(6, 4, rng=0)
learned = positions.weight.numpy()
print(f"  table[4:9] has {len(learned[4:9])} rows instead of 5")
try:
    positions(9)
except ValueError as error:
    say(str(error))
stretched = PositionEmbedding(6, 4, past_end="interpolate")
reused = PositionEmbedding(6, 4, past_end="clamp")
stretched.weight.data[:] = reused.weight.data[:] = learned
by_hand = worked.sum("place 1 of 11 is halfway between rows 0 and 1", 0.5 * learned[0],
                     0.5 * learned[1])  # fmt: skip
longer_table = stretched(11).numpy()
compare("stretched from 6 to 11, place 1", hand=by_hand, ours=longer_table[1])
compare("rows 0 and 5 stay the ends", hand=learned[[0, 5]], ours=longer_table[[0, 10]])
compare("reused, places 6 to 10", hand=np.tile(learned[5], (5, 1)), ours=reused(11).numpy()[6:])
different = {how: len(np.unique(layer(11).numpy().round(6), axis=0))
             for how, layer in (("stretched", stretched), ("reused", reused))}  # fmt: skip
print(f"  different rows among 11 places: {different}")
wide = Tensor(learned.astype(np.float64), requires_grad=True, name="positions")
stretched.weight = wide
print(gradcheck(lambda table: stretched(11), wide, name="stretched").raise_if_wrong())

# %% [markdown]
# ## Pictures
# The three options, as what they do to one gradient. Then a row that Adam goes on moving after its
# only visit; tokens that share a bucket, counted and expected; and ratings guessed by two tables
# against the truth, on those that were hidden.

# %%
read = np.array([0, 1, 1, 1, 2, 0])
arriving = np.random.default_rng(7).normal(size=(6, 3)).round(1)
variants = {"the derivative": {}, "padding_idx=0": {"padding_idx": 0},
            "scale_grad_by_freq": {"scale_grad_by_freq": True}}  # fmt: skip
fig, axes = plot.figure(1, 3, size=(12.5, 3.6))
for ax, (title, switches) in zip(axes, variants.items()):
    gradient = lookup_backward(arriving, lookup_forward(np.zeros((4, 3)), read, **switches)[1])
    names = [f"row {v}, read {np.sum(read == v)}x" for v in range(4)]
    plot.heatmap(ax, gradient, rows=names, digits=1, title=title, xlabel="column")
    ax.images[0].set_clim(-1.5, 1.5)  # one scale for the three
save_figure(fig, "ch15_options.png")

fig, axes = plot.figure(1, 3, size=(14, 4.2))
plot.lines(
    axes[0], np.arange(1, 41), {"Adam": dense[:40], "LazyAdam": lazy[:40]}, xlabel="step",
    ylabel="distance from the start, in lr", title="A row that is read in step 1 only",
)  # fmt: skip
axes[0].set_ylim(0)
plot.lines(axes[1], list(found), {
    "counted": [c.sharing / c.num_tokens for c in found.values()],
    "expected": [c.expected_sharing / c.num_tokens for c in found.values()],
}, logx=True, marker="o", xlabel="buckets", ylabel="share of tokens that share a bucket",
    title="100,000 tokens, hashed")  # fmt: skip
axes[2].scatter(ratings[~known], guesses[~known], s=6, alpha=0.5, color=plot.PALETTE["blue"])
ends = [ratings.min(), ratings.max()]
axes[2].plot(ends, ends, color=plot.PALETTE["vermillion"], lw=1.2)
axes[2].set(xlabel="true rating", ylabel="guess", title="Hidden ratings, guessed by two tables")
save_figure(fig, "ch15_alternatives.png")
verdict()
