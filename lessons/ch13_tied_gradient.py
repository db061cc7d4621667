# %% [markdown]
# # 13. Two gradients for one table
#
# **Question.** A tied table reads a word and scores the next one. What does each job send back, and
# where do the two gradients meet?
#
# **Afterwards** you can work out both parts by hand, and see at a glance which one a broken model
# has lost.
#
# **Time** 15 minutes. **Needs** lessons 0, 11, 12, 4. **Exercises** `tied_table`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## A model small enough for paper
# Three words, two columns. The model reads one word, "the", multiplies its row by a matrix $W$, and
# scores the result, $h$, against every row of the same table. The word that comes next is "sat".

# %%
words = ["cat", "sat", "the"]
E = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
W = np.array([[1.0, 0.0], [0.0, 4 / 3]])
read, target = 2, 1  # "the" is read, "sat" comes next
show("E", E, rows=words)
show("W", W)


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


def loss(E):
    h = E[read] @ W  # the first use of E: a row is read
    z = h @ E.T  # the second: every row is scored
    return -np.log(softmax(z)[target])


print(f"  loss {loss(E):.4f}")

# %% [markdown]
# ## Forward, line by line

# %%
h = worked.matmul("h", E[[read]], W)[0]
z = np.array([worked.dot(f"z[{word}]", h, row) for word, row in zip(words, E)])
p = worked.softmax("z", z)
one_hot = np.eye(3)[target]
dz = worked.difference(
    "dz", p, one_hot, why="the slope of the loss for each score, p - onehot as in lesson 12"
)

# %% [markdown]
# ## The scoring side
# A row $e_j$ was scored in one place only, $z_j = h \cdot e_j$. Nudge $e_j$, and $z_j$ moves by $h$
# times the nudge. So the scoring side sends $dz_j\,h$ to row $j$.

# %%
q_row = guess("Which row does the scoring side move towards h, in a step of learning?", words)
q_sum = guess("Add up what it sends to the three rows, column by column. What is the sum?")
scored = worked.outer("scored", dz, h)
towards = -scored @ h > 0
q_row.answer(
    words[int(towards.argmax())],
    because="dz is negative for the true word alone. The other rows are pushed away from h",
)
total = worked.sum("sum of the rows", *scored)
q_sum.answer(
    round(float(np.abs(total).max()), 12),
    tolerance=1e-9,
    because="dz adds up to 0, for p adds up to 1, and a 1 is subtracted. What 'sat' gains along "
    "h, the others lose (a number like -3e-17 is a zero with a rounding error)",
)

# %% [markdown]
# ## The reading side
# The row of "the" was also read. It became $h$, and $h$ went into all three scores. So what comes
# back to $h$ is a mixture of rows, $dh = \sum_j dz_j\,e_j$, and through $W$ it goes on to the row.

# %%
dh = worked.sum("dh = sum of dz[j] E[j]", *(dz[:, None] * E))
read_part = np.zeros_like(E)
read_part[read] = worked.matmul("dh W^T", dh[None], W.T, why="and the row of 'the' gets")[0]

# %% [markdown]
# ## Both
# Row "the" has two gradients now, row "cat" and row "sat" have one each. Which will a nudge find?

# %%
NAMES = ["the scored part", "the read part", "their sum"]
q = guess("Nudge the two numbers in row 'the'. What will the slopes be?", NAMES)
slope = worked.nudge("E", loss, E, (2, 0))

# %%
nudged = slopes(loss, E)
parts = {"scored": scored, "read": read_part, "sum": scored + read_part}
beside("dE", rows=words, **parts, nudged=nudged, wrong=["scored", "read"])
near = [np.abs(part[2] - nudged[2]).max() for part in parts.values()]
q.answer(
    NAMES[int(np.argmin(near))],
    because="the row stands in two places of the loss, and a nudge moves both",
)

# %% [markdown]
# The scored part alone is right for the two rows that nobody read. The read part alone is a
# lookup's gradient: zeros nearly everywhere. A model that loses one of them still learns something,
# and that is what makes the mistake hard to see.
#
# The whole backward in bare NumPy is five lines and a return. Mind the two `+=`. The function below
# it has only one:


# %%
def backward(E, h, p):
    dE = np.zeros_like(E)
    dz = p - np.eye(len(E))[target]  # a row of np.eye is one-hot
    dE += np.outer(dz, h)  # every row was scored: row j gets dz[j] * h
    dh = dz @ E
    dE[read] += dh @ W.T  # one row was read
    return dE


def with_assignment(E, h, p):
    dE = np.zeros_like(E)
    dz = p - np.eye(len(E))[target]
    dE += np.outer(dz, h)
    dE[read] = dz @ E @ W.T  # "the gradient of the row is ...". Is it?
    return dE


beside(
    "dE",
    rows=words,
    added=backward(E, h, p),
    set=with_assignment(E, h, p),
    nudged=nudged,
    wrong="set",
)

# %% [markdown]
# ## Why they add, always
# Give the two jobs a table each for a moment: read from $A$, score with $B$. The loss is then
# $f(A, B)$, and the tied loss is $f(E, E)$. Nudge $E$, and both arguments move. If the nudge is
# small, the changes add up, whatever lies between. We can watch it: nudge $A$ alone, then $B$.


# %%
def two_tables(A, B):
    return -np.log(softmax(A[read] @ W @ B.T)[target])


by_A = slopes(lambda A: two_tables(A, E), E)
by_B = slopes(lambda B: two_tables(E, B), E)
compare("read part", by_hand=read_part, nudging_A=by_A)
compare("scored part", by_hand=scored, nudging_B=by_B)
compare("A + B", sum_of_both=by_A + by_B, nudging_E=nudged)

# %% [markdown]
# The package gets the same, without knowing that the table is tied: both operations add to the
# `.grad` of one tensor.

# %%
from scratch_embed import Tensor
from scratch_embed.functional import cross_entropy, lookup, project

table = Tensor(E, requires_grad=True, name="E")
hidden = lookup(table, [read]) @ W
cross_entropy(project(hidden, table), [target]).backward()
compare("dE", by_hand=backward(E, h, p), code=table.grad, nudged=nudged)

# %% [markdown]
# ## Two promises that tying breaks
# A lookup's gradient is sparse: a batch touches the rows that it reads and no others. And the row
# of the padding, the filler of lesson 12, stays still. Both were promises of a table that is only
# read.

# %%
rng = np.random.default_rng(13)
V, D, PAD = 1000, 16, 0
big = Tensor(rng.normal(size=(V, D)) * 0.1, requires_grad=True, name="E")
batch = rng.integers(1, V, size=(4, 10))  # 40 words, none of them the padding
following = rng.integers(1, V, size=(4, 10))
q_touched = guess("A batch of 40 words, a tied table of 1,000 rows. How many rows get a gradient?")
q_pad = guess(
    "Nobody reads the padding row, and it is never the next word. Does it move?",
    ["it stays still", "it moves"],
)
cross_entropy(project(lookup(big, batch), big), following).backward()
touched = np.any(big.grad != 0, axis=1)
untied = len(np.unique(batch))
print(f"  rows touched: {untied} by the lookup alone, {touched.sum():,} with the scoring side")
q_touched.answer(int(touched.sum()), because="every row is scored at every place")
worked.norm(f"|dE[padding]|, first 4 of {D} columns", big.grad[PAD][:4])
q_pad.answer(
    "it moves" if touched[PAD] else "it stays still",
    because="its score is pushed down like that of any wrong word",
)

# %% [markdown]
# So it saves nothing here to update only the rows that have a gradient: they all have one. And a
# tied padding row has to be left out of the scores if it must not move. The picture shows the
# batch: reading sends much to a few rows; scoring sends much to the words that came next, and a
# little to every other row.

# %%
from scratch_embed import plot


def _parts(ids, following):
    """|gradient| of each row: from reading alone, and from scoring alone."""
    reads, scores = (Tensor(big.data, requires_grad=True) for _ in range(2))
    cross_entropy(project(lookup(reads, ids), scores), following).backward()
    return [np.linalg.norm(t.grad, axis=1) for t in (reads, scores)]


def _draw(read_norms, scored_norms, most=120):
    figure, ax = plot.figure(size=(9, 4))
    rows = np.arange(most)
    was_read = read_norms[:most] > 0
    blue, red = plot.PALETTE["blue"], plot.PALETTE["vermillion"]
    ax.semilogy(rows, scored_norms[:most], "o", ms=4, color=blue, label="scored: every row")
    ax.semilogy(rows[was_read], read_norms[:most][was_read], "D", color=red, label="read: a few")
    ax.set(xlabel="row of the table", ylabel="length of its gradient")
    ax.set_title(f"What a batch of 40 words sends to the first {most} rows of a tied table")
    ax.legend(frameon=False, loc="center right")
    return figure


read_norms, scored_norms = _parts(batch, following)
save_figure(_draw(read_norms, scored_norms), "ch13_two_parts.png")
play("tape")
share = np.median(scored_norms[scored_norms > 0]) / np.median(read_norms[read_norms > 0])
print(f"  the median scored row gets {share:.3f} times what the median read row gets")

# %% [markdown]
# ## What did we learn?
# - Scoring sends $dz_j\,h$ to every row; reading sends $dh\,W^\top$ to the rows that were read.
# - One table, two uses: the parts add. Either alone is wrong, and looks almost right.
# - A tied gradient is not sparse: every row is scored, and even a padding row moves.
#
# Write it yourself: `python -m lessons exercise tied_table`. That was the first path. Lesson 1 asks
# what becomes of the rows that are seldom read; `python -m lessons` shows the whole map.
