# %% [markdown]
# # 1. The token table: its size, and who learns
#
# **Question.** A table has a row for every token. What does that cost, and which rows ever learn?
#
# **Afterwards** you can weigh the table of any model, say what one training step moves in it, and
# predict which of its rows will be of no use.
#
# **Time** 20 minutes. **Needs** lessons 0 and 12. **Exercises** `sparse_sgd`.

# %%
from itertools import pairwise

import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, options, save_figure, show, worked
from scratch_embed.lesson.play.here import play

begin()

# %% [markdown]
# ## Rows times columns
# $V$ rows of $D$ numbers are $V \cdot D$ numbers. Four models whose sizes are published:


# %%
def table_size(V, D, bytes_each=2):  # two bytes a number: FP16
    return V * D, V * D * bytes_each


models = {
    "GPT-2 small": (50_257, 768),
    "BERT-base": (30_522, 768),
    "Llama 2 7B": (32_000, 4096),
    "Llama 3 8B": (128_256, 4096),
}
print(f"  {'':<12}  {'V':>7}  {'D':>5}  {'numbers':>12}")
for name, (V, D) in models.items():
    print(f"  {name:<12}  {V:>7,}  {D:>5,}  {table_size(V, D)[0]:>12,}")

# %% [markdown]
# GPT-2 small is more than its table: it has a table of 1,024 positions, twelve layers, and a last
# normalisation. All of that together, against one table of another model:

# %%
from scratch_embed.sizes import layer_params

answers = ["all of GPT-2 small", "the token table of Llama 2 7B alone"]
q = guess("Which holds more numbers?", answers)
layers = worked.product("twelve layers", 12, layer_params(768))
parts = table_size(50_257, 768)[0], 1024 * 768, layers, 2 * 768
whole = worked.sum("all of GPT-2 small", *parts, why="tokens, positions, layers, normalisation")
llama2 = worked.product("the table of Llama 2", 32_000, 4096)
q.answer(answers[llama2 > whole], because="4,096 columns are a lot, for each of 32,000 rows")

# %% [markdown]
# How many bytes is that? Each number takes two in FP16. A megabyte is a million bytes; but many
# tools divide by $2^{20} = 1{,}048{,}576$ and still write MB. The name of that unit is MiB.

# %%
q = guess("How large is the table of Llama 2 in FP16, to the nearest MB (a million bytes)?")
num_bytes = worked.product("bytes", llama2, 2)
megabytes = worked.quotient("MB", num_bytes, 10**6)
q.answer(
    round(megabytes),
    tolerance=0,
    because=f"divided by 2^20 it is {num_bytes / 2**20:.0f}, and those are MiB",
    slips={250: "That is in MiB. Both are right; without the unit neither is."},
)

# %% [markdown]
# Llama 3 has four times the rows of Llama 2, and so four times the bytes: about one gigabyte. Is it
# the vocabulary, then, that makes tables expensive? Double one factor, then the other:

# %%
compare("numbers", twice_V=table_size(64_000, 4096)[0], twice_D=table_size(32_000, 8192)[0])
play("table_size")

# %% [markdown]
# Both weigh the same. Model makers changed $V$ more: it cuts a text into fewer tokens (lesson 7).
#
# The table is there once, however much is read. What grows with the batch are the rows that come
# out of the lookup, $B \cdot T \cdot D$ numbers. And a model that reads and scores with one table
# (lesson 4) pays for one. GPT-2 does so; Llama 2 7B and Llama 3 8B keep two.
#
# ## One step
# Before training, the rows are drawn at random, for instance from a bell curve of width 0.02. They
# know nothing of each other: "cat" is no closer to "dog" than to "on". Here is a small table, drawn
# wider so that we can read it. We read four tokens.

# %%
words = ["the", "cat", "dog", "sat", "house", "on"]
rng = np.random.default_rng(0)
E = rng.normal(0, 0.5, size=(6, 3)).round(2)
V, D = E.shape
ids = np.array([4, 1, 0, 1])  # house cat the cat
show("E", E, rows=words)

# %% [markdown]
# For once we give the four rows a task together. Their sum stands for the whole text, and the loss
# is half its squared length. The slope of half a square $s^2 / 2$ is $s$, so every row that went
# into the sum gets all of the sum as its gradient.


# %%
def loss(E):
    s = E[ids].sum(axis=0)
    return 0.5 * (s * s).sum()


q = guess("After one step of learning, how many of the six rows will have moved?")
s = E[ids].sum(axis=0)
show("s", s)
dE = worked.scatter_add("dE", ids, np.tile(s, (4, 1)), num_rows=V)

# %%
slope = worked.nudge("E", loss, E, (1, 0))

# %% [markdown]
# Often one hears that each row trains by itself. Then the gradient of "cat" would depend on the row
# of "cat" and on nothing else: half a square of its own for every reading.


# %%
def each_by_itself(E, ids):
    dE = np.zeros_like(E)
    for row in ids:
        dE[row] += E[row]
    return dE


nudged = slopes(loss, E)
alone = each_by_itself(E, ids)
beside("dE", rows=words[:3], alone=alone[:3], sum=dE[:3], nudged=nudged[:3], wrong="alone")

# %% [markdown]
# So rows are independent in one sense only. *When* a row moves depends on its own token. *Where* it
# moves depends on everything else in the calculation. Now the step of plain SGD:


# %%
def sgd_step(E, dE, eta):
    return E - eta * dE


after = sgd_step(E, dE, eta=0.1)
show("moved by", after - E, rows=words)
print(f"  loss before {loss(E):.4f}, after {loss(after):.4f}")
q.answer(
    int((after != E).any(axis=1).sum()),
    because="three different tokens were read; one of them twice, and it moved twice as far",
    slips={4: "Four were read, but 'cat' twice: it is one row.", 6: "Zero gradients move nothing."},
)

# %% [markdown]
# The package does the same with a layer and an optimiser:

# %%
from scratch_embed import SGD, Embedding

layer = Embedding.from_pretrained(E.copy(), freeze=False)
total = layer(ids).sum(axis=0)
(0.5 * (total * total).sum()).backward()
compare("dE", by_hand=dE, code=layer.weight.grad, nudged=nudged)
SGD([layer.weight], lr=0.1).step()
compare("E after the step", by_hand=after, code=layer.weight.numpy())

# %% [markdown]
# (That unread rows stand still holds for plain SGD. Momentum and Adam remember earlier gradients
# and go on moving a row after it was read; weight decay shrinks all rows. And Adam divides by the
# size of recent gradients, row by row, so a reading moves a rare row further: lesson 20.)
#
# ## How far do a few steps carry?
# A token that stands in the text five times gets at most five steps. Suppose each takes its row a
# tenth of the way to where it should be.

# %%
q = guess("After five such steps, what share of the way is still left, in percent?")
left = worked.product("left", *[0.9] * 5)
q.answer(
    100 * left,
    tolerance=1.5,
    because="each step covers a tenth of what is left, not of the whole",
    slips={50: "Five tenths of the whole way: but each step is a tenth of what is left."},
)

# %% [markdown]
# ## Who is read? A real text
# Without `--text FILE`, the text is the documentation of NumPy, which is installed with this
# package. We cut it into words and give each its own row, the most frequent first.

# %%
from scratch_embed.text import corpus

text = corpus.read_text(options.text) if options.text else corpus.python_text(("numpy",))
tokens = corpus.words(text)
vocabulary = corpus.Vocabulary.from_tokens(tokens, max_size=20_000)
if len(tokens) < 20_000 or len(vocabulary) <= 100:
    found = f"{len(tokens):,} words, {len(vocabulary) - 1:,} different"
    raise SystemExit(f"the text has {found}; this takes 20,000, and 100 different")
text_ids = vocabulary.encode(tokens)
counts = vocabulary.counts[1:]  # row 0 is for words without a row of their own
print(f"  {len(tokens):,} words, {len(counts):,} different")
print("  the most frequent:", " ".join(vocabulary.tokens[1:9]))
print("  the rarest:       ", " ".join(vocabulary.tokens[-5:]))

# %%
q_half = guess("How many different words make up half of the text?")
q_rare = guess("And what share of the rows occurs five times or less?", unit=" percent")
half = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2)) + 1
for rank in (1, 10, 100, len(counts) // 4):
    print(f"  rank {rank:>5,}: {counts[rank - 1]:,} times")
few = "a few words do nearly all the work in any language" if half < len(counts) / 10 else ""
zipf = "word number r occurs roughly 1/r as often as the first: Zipf's law"
q_half.answer(half, tolerance=40, because=few)
rare = round(100 * np.mean(counts <= 5))
q_rare.answer(rare, tolerance=10, because=zipf if 1 / 4 < 10 * counts[9] / counts[0] < 4 else "")

# %% [markdown]
# ## Who learns?
# Now we train, with the two gradients of lesson 12. The model sees a word and guesses which of the
# 100 commonest words comes next: a row of $E$, times a small matrix $W$, and a softmax. Of
# the places where one of these comes next we read the first half once, and keep the other to test.

# %%
C, D, N = 100, 16, 64  # classes to choose from, columns, words in a batch
now, follows = text_ids[:-1], text_ids[1:] - 1
places = np.flatnonzero((now > 0) & (follows >= 0) & (follows < C))
read, kept = np.array_split(places, 2)
batches = np.random.default_rng(1).permutation(read)[: len(read) // N * N].reshape(-1, N)


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def train_step(E, W, ids, targets, eta):
    h = E[ids]
    dz = softmax(h @ W.T)
    dz[np.arange(len(ids)), targets] -= 1  # softmax minus one-hot
    dW, dh = dz.T @ h, dz @ W
    W -= eta * dW
    np.subtract.at(E, ids, eta * dh)  # scatter-add, with a minus


# %%
first = vocabulary.tokens[1]
q = guess(
    f"'{first}' is read {np.sum(now[batches] == 1):,} times. How many updates does its row get?"
)
V, updates = len(vocabulary), np.zeros(len(vocabulary), dtype=int)
for at in batches:
    updates[np.unique(now[at])] += 1
q.answer(
    updates[1],
    tolerance=0.1 * len(batches),
    because=f"a row takes one step for a batch, however often it stands there, and there are "
    f"{len(batches):,} batches",
    slips={int(np.sum(now[batches] == 1)): "Several of them may stand in one batch."},
)


# %%
def learn(eta):
    rng = np.random.default_rng(2)
    E, W = rng.normal(0, 1 / np.sqrt(D), size=(V, D)), np.zeros((C, D))
    start = E.copy()
    for at in batches:
        train_step(E, W, now[at], follows[at], eta)
    return E, W, start


E, W, start = learn(eta=0.05)
moved = np.linalg.norm(E - start, axis=1)

# %% [markdown]
# Every row began with a length of about 1. Is a row that was read any good? On the other half of
# the places, we compare its guess with one that ignores the word and always answers with the shares
# of the 100 words in what was read. The gain is how many nats less it loses. As a control, we put
# the random start back into the trained model.

# %%
shares = (np.bincount(follows[read], minlength=C) + 1) / (len(read) + C)


def gain(E, W):
    z = E[now[kept]] @ W.T
    z -= z.max(axis=1, keepdims=True)  # so that no ln is of 0
    log_p = z[range(len(z)), follows[kept]] - np.log(np.exp(z).sum(axis=1))
    return log_p - np.log(shares[follows[kept]])


with np.errstate(all="ignore"):  # of another text a step may be too long
    gains = gain(start, W), gain(E, W), gain(*learn(eta=0.2)[:2])
once = gains[1][(updates == 1)[now[kept]]]
if not once.size or not np.isfinite(gains).all():
    missing = "steps of these sizes fit it" if once.size else "kept word was read just once"
    raise SystemExit(f"this text will not do: no {missing}")
q = guess("Is a row with a single update better than ignoring the word?", ["better", "worse"])
print("  updates         rows   moved   gain at start   gain   eta = 0.2")
for low, high in pairwise([0, 1, 2, 6, 21, 101, 501, len(batches) + 1]):
    rows = (updates >= low) & (updates < high)
    if not rows[now[kept]].any():
        continue
    a, b, c = (each[rows[now[kept]]].mean() for each in gains)
    name = f"{low:,} to {high - 1:,}" if high - low > 1 else f"{low}"
    far = np.median(moved[rows])
    print(f"  {name:<13} {rows.sum():>6,} {far:>7.2f} {a:>15.2f} {b:>6.2f} {c:>11.2f}")
little = "the model has learned to trust rows, and one step moved this one only a little"
q.answer("better" if once.mean() > 0 else "worse", because={"worse": little})

# %% [markdown]
# Read the table from the top. Rows that were never read lie exactly where chance put them. (All but
# row 0, of no word, stand for words of the text, at places that were not read. In large models such
# rows are known as glitch tokens.) A row with one update has hardly moved, and is hardly better
# than its start. With a hundred it has been carried far, and more updates add little.
#
# The last column has larger steps. In natural text rare rows gain more by them, frequent rows less:
# updates say how often a row was pushed, and $\eta$ how far. No single step size suits both.

# %%
from scratch_embed import plot


def _draw():
    figure, (left, right) = plot.figure(1, 2, size=(11, 4.2))
    left.loglog(np.arange(1, V), counts, ".", ms=3, color=plot.PALETTE["blue"])
    left.set(title="Few words are read often", xlabel="rank of the word", ylabel="times it occurs")
    seen = updates > 0
    right.semilogx(updates[seen], moved[seen], ".", ms=3, alpha=0.4, color=plot.PALETTE["blue"])
    right.set(title="Only those move far", xlabel="updates of the row", ylabel="way from its start")
    for word in ("the", "shape", "sorted", "matrices"):
        if word in vocabulary.index and updates[row := vocabulary.index[word]]:
            right.plot(updates[row], moved[row], "D", color=plot.PALETTE["vermillion"])
            right.annotate(f"   {word}", (updates[row], moved[row]), weight="bold")
    return figure


save_figure(_draw(), "ch01_real_text.png")

# %% [markdown]
# ## What did we learn?
# - A table costs $V \cdot D$ numbers, read or not; MB and MiB differ by 5 percent: name the unit.
# - A step moves the rows that were read. When is the row's affair; where to depends on all.
# - In real text most rows are hardly ever read, and stay close to noise.
#
# Write the step that touches only the rows that were read: `python -m lessons exercise sparse_sgd`.
# Lesson 7 shows what to do about rare words: cut them into pieces that are not rare.
