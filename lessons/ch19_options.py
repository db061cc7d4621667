# %% [markdown]
# # 19. Three options of an embedding layer
#
# **Question.** What do `padding_idx`, `max_norm` and `scale_grad_by_freq` do, forward and backward?
#
# **Afterwards** you can write each in three lines, and know which of them changes your table
# behind your back.
#
# **Time** 15 minutes. **Needs** lessons 0, 1. **Exercises** `padding_and_max_norm`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## Sentences of different length
# A batch is a rectangle, and sentences are not. Short ones are filled up with a token that means
# nothing, the padding. It needs an id like any other, and so it has a row.

# %%
words = ["<pad>", "the", "cat", "sat", "down"]
E = np.array([[0.0, 0.0], [0.6, 0.2], [1.2, 0.9], [-0.4, 0.7], [0.3, -0.5]])
batch = np.array([[1, 2, 3, 4], [1, 2, 0, 0]])  # the cat sat down; the cat <pad> <pad>
show("E", E, rows=words)
show("batch", batch)
PAD = 0

# %% [markdown]
# ## padding_idx: a row that does not learn
# The padding's places go through the model like all others, and a gradient comes back to them. If
# nobody stops it, row 0 learns from noise. The option leaves it out of the scatter-add:


# %%
def lookup_backward(g, ids, V, padding_idx=None):
    dE = np.zeros((V, g.shape[-1]))
    for row, gradient in zip(ids.ravel(), g.reshape(-1, g.shape[-1])):
        if row != padding_idx:
            dE[row] += gradient
    return dE


rng = np.random.default_rng(19)
g = rng.normal(size=(2, 4, 2)).round(2)
q = guess(
    "Nudge a number in the padding's row, and the loss of this batch moves. Is a gradient of 0 for "
    "it then the true slope?",
    ["yes", "no: it is a decision not to learn"],
)


def loss(E):
    return (E[batch] * g).sum()


slope = worked.nudge("E", loss, E, (PAD, 0))

# %%
nudged = slopes(loss, E)
plain, padded = lookup_backward(g, batch, 5), lookup_backward(g, batch, 5, PAD)
beside("dE", rows=words, plain=plain, padding_idx=padded, nudged=nudged, wrong="padding_idx")
q.answer(
    "yes" if slope == 0 else "no: it is a decision not to learn",
    because="the nudge says otherwise for row 0, and agrees on all the others",
)

# %% [markdown]
# So `padding_idx` gives a wrong gradient on purpose: the row is taken as a constant. Two things it
# does **not** do. It does not keep padded places out of the loss: that is `ignore_index` of the
# cross-entropy. And in a tied model it does not stop the scoring side (lesson 13). The package:

# %%
from scratch_embed import Tensor
from scratch_embed.functional import lookup

table = Tensor(E, requires_grad=True, name="E")
lookup(table, batch, padding_idx=PAD).backward(g)
compare("dE", by_hand=padded, code=table.grad)

# %% [markdown]
# ## max_norm: rows with a leash
# Rows can grow (lesson 15 shows what a long one does to attention). With `max_norm` = 1 a row that
# is longer is shortened to length 1 **when it is looked up**, in the table itself.


# %%
def renorm(E, ids, max_norm):
    for row in np.unique(ids):
        length = np.sqrt((E[row] ** 2).sum())
        if length > max_norm:
            E[row] *= max_norm / length  # written into the table
    return E


q_moves = guess("We look up 'the' and 'cat' with max_norm = 1. How many rows of the table change?")
lengths = [worked.norm(f"|{word}|", row) for word, row in zip(words[1:3], E[1:3])]
leashed = renorm(E.copy(), np.array([1, 2]), 1.0)
show("after", leashed.round(4), rows=words)
q_moves.answer(
    int(np.any(leashed != E, axis=1).sum()),
    because="only 'cat' is longer than 1; 'down' and 'sat' were not even looked at",
)

# %% [markdown]
# A lookup that writes: the one operation of this course whose forward changes its input. And the
# backward? The row that came out was scaled by $c = 1/|e|$. One could send the gradient through the
# scaling; the usual layer does not, and treats the shortened row as if it had always been there.

# %%
q_back = guess(
    "With the shortening counted as part of the function, what is the slope along the row itself?",
    ["0: along the row nothing changes", "the same as without", "larger than without"],
)


def leashed_loss(row, g_row):
    return (row / np.sqrt((row**2).sum()) * g_row).sum()


g_cat = np.array([1.0, 0.5])
true_slopes = slopes(lambda row: leashed_loss(row, g_cat), E[2])
along = worked.dot("slopes . cat", true_slopes, E[2])
q_back.answer(
    "0: along the row nothing changes" if abs(along) < 1e-6 else "the same as without",
    because="a longer row is shortened to the same length 1; what is left of the sum is the "
    "rounding of nudges",
)
show("gradients", np.array([g_cat, true_slopes]), rows=["as the layer gives it", "true slopes"])

# %% [markdown]
# The layer's version lets the row be pulled outwards, and cuts it back at the next lookup. It
# works, and it is cheap. Only do not call it the derivative.
#
# ## scale_grad_by_freq: every word one vote
# In a batch "the" may stand a hundred times, and its row collects a hundred gradients. This option
# divides each by how often the id stands in the batch: the row gets the **mean** of its gradients
# instead of their sum.


# %%
def by_frequency(g, ids, V):
    counts = np.bincount(ids.ravel(), minlength=V)
    dE = np.zeros((V, g.shape[-1]))
    for row, gradient in zip(ids.ravel(), g.reshape(-1, g.shape[-1])):
        dE[row] += gradient / counts[row]
    return dE


q_freq = guess("How many of the five rows get another gradient than before, in this batch?")
scaled = by_frequency(g, batch, 5)
show("scaled", scaled, rows=words)
worked.scale("dE[cat]", 0.5, plain[2], why="'cat' stands twice")
q_freq.answer(
    int(np.any(np.abs(scaled - plain) > 1e-12, axis=1).sum()),
    because="<pad>, the and cat stand twice in the batch, the other two once",
)
table = Tensor(E, requires_grad=True, name="E")
lookup(table, batch, scale_grad_by_freq=True).backward(g)
compare("dE", by_hand=scaled, code=table.grad)

# %% [markdown]
# It counts within the batch only, so a rare word that stands once in one batch of a thousand is
# still trained a thousandth as often. What it changes is how far a frequent row moves in one step.
# The picture: the length of each row's gradient in a batch whose words follow Zipf's law.

# %%
from scratch_embed import plot


def _zipf_batch(V=60, N=2000):
    weights = 1 / np.arange(1, V + 1)
    ids = rng.choice(V, size=N, p=weights / weights.sum())
    arriving = rng.normal(size=(N, 2)) + [0.3, 0.0]  # a pull that all share, and noise
    return ids, arriving


def _draw():
    ids, arriving = _zipf_batch()
    figure, ax = plot.figure(size=(8, 4))
    for name, dE, marker, colour in (
        ("summed", lookup_backward(arriving, ids, 60), "o", plot.CYCLE[0]),
        ("scale_grad_by_freq", by_frequency(arriving, ids, 60), "s", plot.CYCLE[1]),
    ):
        length = np.linalg.norm(dE, axis=1)
        ax.loglog(np.arange(1, 61), length, marker, ms=5, color=colour, label=name)
    ax.set(xlabel="rank of the word", ylabel="length of its row's gradient")
    ax.set_title("One batch of 2,000 words")
    ax.legend(frameon=False)
    return figure


save_figure(_draw(), "ch19_frequency.png")

# %% [markdown]
# ## What did we learn?
# - `padding_idx`: the row gets no gradient, though the true slope is not 0. A decision.
# - `max_norm`: a lookup that shortens rows in the table, and a gradient that does not know of it.
# - `scale_grad_by_freq`: the mean of a row's gradients in the batch instead of their sum.
#
# Write two of them: `python -m lessons exercise padding_and_max_norm`. Lesson 20 never makes the
# gradients of the rows that nobody read.
