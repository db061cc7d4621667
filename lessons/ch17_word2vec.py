# %% [markdown]
# # 17. word2vec: rows from the company that words keep
#
# **Question.** Can rows be learned from raw text alone, without a model behind them, and what does
# each pair of words send to its rows?
#
# **Afterwards** you can write skip-gram with negative sampling, forward and backward, and explain
# CBOW as the same thing with a mean in front.
#
# **Time** 20 minutes. **Needs** lessons 0, 12. **Exercises** `negative_sampling`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## Who stands beside whom
# "You shall know a word by the company it keeps", wrote the linguist J. R. Firth in 1957. So take a
# text, and list every pair of words that stand near each other: a centre, and a word of its
# surroundings.

# %%
words = ["the", "cat", "sat", "on", "mat"]
text = np.array([0, 1, 2, 3, 0, 4])  # the cat sat on the mat


def pairs(ids, window):
    found = []
    for n, center in enumerate(ids):
        for m in range(max(0, n - window), min(len(ids), n + window + 1)):
            if m != n:
                found.append((center, ids[m]))
    return found


q = guess("A text of 6 words, one neighbour on each side: how many pairs are there?")
found = pairs(text, window=1)
print("  " + "  ".join(f"{words[c]}-{words[o]}" for c, o in found[:6]) + "  ...")
q.answer(len(found), because="every word has two neighbours, but the first and the last have one")

# %% [markdown]
# ## A game of true or false
# Every word gets two rows: one in $C$ for when it is the centre, one in $O$ for when it stands
# around. The score of a pair is the dot product of the two. True pairs should score high.
#
# High compared to what? A softmax over all words would do (lesson 12), and cost a product with the
# whole table for every pair. **Negative sampling** plays a cheaper game: for each true pair, draw
# $K$ words by chance, and tell the true one from the false. For a score $s$,
# $\sigma(s) = 1/(1 + e^{-s})$ is the probability that we call the pair true.

# %%
C = np.array([[0.1, 0.0], [1.0, 0.0], [0.2, 0.5], [-0.3, 0.2], [0.4, -0.6]])
O = np.array([[0.3, 0.1], [0.0, 0.9], [2.0, 1.0], [-1.0, 3.0], [0.5, 0.5]])
show("C", C, rows=words)
show("O", O, rows=words)


def sigmoid(s):
    return 1 / (1 + np.exp(-s))


def loss(C, O, center, around, negatives):
    true = -np.log(sigmoid(C[center] @ O[around]))
    false = -np.log(sigmoid(-(O[negatives] @ C[center]))).sum()
    return true + false


# %% [markdown]
# One example by hand: the centre is "cat", the true neighbour "sat", and chance drew "on".

# %%
center, around, negatives = 1, 2, np.array([3])
positive = worked.dot("cat . sat", C[1], O[2])
p_true = worked.sigmoid("cat . sat", positive)
negative = worked.dot("cat . on", C[1], O[3])
p_false = worked.sigmoid("cat . on", negative)
total = worked.line(
    "loss", f"-ln {p_true:.6g} - ln(1 - {p_false:.6g})", -np.log(p_true) - np.log(1 - p_false)
)
compare("loss", by_hand=total, code=loss(C, O, center, around, negatives))

# %% [markdown]
# ## The way back
# The slope of $-\ln \sigma(s)$ is $\sigma(s) - 1$: what was said minus what was true. For a false
# pair the truth is 0, and the slope of $-\ln \sigma(-s)$ is $\sigma(s)$. So each pair has an
# **error** $e$, and a dot product passes it on as always: to each side, $e$ times the other side.

# %%
q = guess("How many rows of the two tables, C and O, does this one example touch?")
e = worked.line("error of the true pair", f"{p_true:.6g} - 1", p_true - 1)
f = worked.line("error of the false pair", f"{p_false:.6g} - 0", p_false)
to_sat = worked.scale("dO[sat]", e, C[1])
to_on = worked.scale("dO[on]", f, C[1])
to_cat = worked.sum("dC[cat]", e * O[2], f * O[3], why="the centre was in both scores")
q.answer(3, because="one centre, one true neighbour, one false: of a million rows, three move")

# %%
slope = worked.nudge("C", lambda C: loss(C, O, center, around, negatives), C, (1, 1))
compare(
    "dC[cat]", by_hand=to_cat, nudged=slopes(lambda C: loss(C, O, center, around, negatives), C)[1]
)

# %% [markdown]
# In code, for one example. Chance may draw a word twice, or draw the true one: a row that was used
# twice collects twice, so each use is added on its own.


# %%
def backward(C, O, center, around, negatives):
    dC, dO = np.zeros_like(C), np.zeros_like(O)
    uses = [(around, 1.0), *((n, 0.0) for n in negatives)]
    for word, truth in uses:
        error = sigmoid(C[center] @ O[word]) - truth
        dC[center] += error * O[word]
        dO[word] += error * C[center]
    return dC, dO


def all_at_once(C, O, center, around, negatives):
    dO = np.zeros_like(O)
    ids = np.array([around, *negatives])
    errors = sigmoid(O[ids] @ C[center]) - (np.arange(len(ids)) == 0)
    dO[ids] += errors[:, None] * C[center]  # shorter. Right?
    return dO


# %%
drawn = np.array([3, 3, 0])  # chance drew "on" twice
options = ["yes", "no: 'on' gets only one of its two errors", "no: 'sat' and 'on' are mixed up"]
q = guess("Now chance drew 'on', 'on' and 'the'. Is the short version right?", options)
nudged = slopes(lambda O: loss(C, O, 1, 2, drawn), O)
loop, short = backward(C, O, 1, 2, drawn)[1], all_at_once(C, O, 1, 2, drawn)
beside("dO", rows=words, loop=loop, short=short, nudged=nudged, wrong="short")
q.answer(
    options[1] if np.allclose(2 * short[3], loop[3]) else options[0],
    because="it is the lesson 0 mistake again: dO[ids] += writes a row once",
)

# %% [markdown]
# The package's operation takes the rows that were looked up, many examples at a time:

# %%
from scratch_embed import Tensor
from scratch_embed.functional import lookup, sgns

centers, outs = Tensor(C, requires_grad=True), Tensor(O, requires_grad=True)
sgns(lookup(centers, [1]), lookup(outs, [2]), lookup(outs, drawn[None])).backward()
dC, dO = backward(C, O, 1, 2, drawn)
compare("dC", by_hand=dC, code=centers.grad)
compare("dO", by_hand=dO, code=outs.grad, nudged=nudged)

# %% [markdown]
# ## CBOW: ask the other way round
# Skip-gram asks the centre for its neighbours. CBOW asks the neighbours for the centre: take the
# mean of their rows, and play the same game with it. A mean of $L$ rows passes to each of them a
# share of $1/L$. Here "cat" and "on" stand around "sat", and chance drew "mat".

# %%
neighbours = np.array([1, 3])  # cat, on: around "sat"
h = (C[1] + C[3]) / 2


def cbow_loss(C):
    h = C[neighbours].mean(axis=0)
    return -np.log(sigmoid(h @ O[2])) - np.log(sigmoid(-(h @ O[4])))


dh = worked.sum("dh", (sigmoid(h @ O[2]) - 1) * O[2], sigmoid(h @ O[4]) * O[4])
share = worked.scale("to each neighbour", 0.5, dh)
by_nudge = slopes(cbow_loss, C)
beside(
    "dC",
    rows=words,
    shared=np.outer(np.isin(range(5), neighbours), share),
    whole=np.outer(np.isin(range(5), neighbours), dh),
    nudged=by_nudge,
    wrong="whole",
)

# %% [markdown]
# ## On a text with something in it
# A toy language of 60 words in 6 classes: which class comes next depends on the class of the word
# before. The classes are written nowhere. Do the rows find them? We count, for each word, whether
# its nearest other word is of its own class. Guessing would be right in 15 % of cases: 9 of the
# other 59 words.

# %%
from scratch_embed import geometry
from scratch_embed.text import word2vec


def _language(rng, length=12_000, classes=6, each=10):
    kind, ids = 0, []
    for _ in range(length):  # class k is mostly followed by class k + 1, the last by class 0
        kind = (kind + 1) % classes if rng.random() < 0.8 else rng.integers(classes)
        ids.append(kind * each + rng.integers(each))
    return np.array(ids)


ids = _language(np.random.default_rng(17))
kinds = np.arange(60) // 10
before = np.random.default_rng(0).normal(size=(60, 16))
settings = {"window": 1, "epochs": 4, "lr": 0.2, "subsample_at": None, "batch_size": 16, "rng": 17}
run = word2vec.train(ids, 60, 16, **settings)
shuffled = word2vec.train(np.random.default_rng(1).permutation(ids), 60, 16, **settings)

# %%
q = guess("And the same text with its words shuffled: what share now?", unit=" %")
tables = {"random rows": before, "trained": run.vectors, "trained, shuffled": shuffled.vectors}
for name, table in tables.items():
    share = geometry.neighbour_accuracy(table, kinds, measure="cosine")
    print(f"  {name:<18} {share:4.0%} stand nearest to one of their own class")
q.answer(
    100 * geometry.neighbour_accuracy(shuffled.vectors, kinds, measure="cosine"),
    tolerance=12,
    because="the order of the words was all there was to learn from",
)

# %%
from scratch_embed import plot


def _draw(tables):
    figure, axes = plot.figure(1, 2, size=(10, 4.2))
    for ax, name in zip(axes, ("random rows", "trained")):
        view = geometry.pca(geometry.unit_rows(tables[name]), 2).coords
        for kind in range(6):
            of_kind = view[kinds == kind]
            look = {"marker": plot.MARKERS[kind], "color": plot.CYCLE[kind]}
            ax.scatter(*of_kind.T, label=f"class {kind}", **look)
        ax.set(title=name, xlabel="first component", ylabel="second component")
    axes[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


save_figure(_draw(tables), "ch17_classes.png")

# %% [markdown]
# ## What did we learn?
# - A pair sends (what was said minus what was true) times the other side's row, to each side.
# - Negative sampling makes it cheap: $K + 2$ rows a pair, whatever the vocabulary.
# - The rows know which words keep the same company, and nothing else.
#
# Write it: `python -m lessons exercise negative_sampling`. Should such rows learn on, in a task of
# few labels? See the lab `frozen_or_tuned`. Lesson 18 gets rows of the same kind without any
# training, by counting, and asks whether king - man + woman is queen.
