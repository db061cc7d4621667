# %% [markdown]
# # 0. Lookup: from integers to vectors
#
# **Question.** How does an integer become a vector, and how does a gradient find its way back to
# the right row?
#
# **Afterwards** you can write both halves of an embedding layer, and check that they are right.
#
# **Time** 15 minutes. **Needs** matrices, and a little NumPy.
# **Exercises** `lookup_forward`, `finite_differences`, `lookup_backward`, `repeated_ids`.

# %%
import numpy as np

from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## An id is a name, not a quantity
# A tokenizer cuts a text into words and gives each word a number, its id. Suppose "cat" is number
# 3782 and "dog" is number 5291. We can calculate with such numbers, but what for?

# %%
worked.sum("cat + dog", 3782, 5291)

# %% [markdown]
# Word number 9,073 is some other word. It has nothing to do with cats or dogs. The numbers were
# handed out in some order, and their sums, gaps and sizes mean nothing.
#
# A network needs numbers that do mean something: numbers that are close when two words are alike.
# So each word gets a row of such numbers, its **embedding**, and the rows make up a table. Ours has
# six words, so the ids are 0 to 5.

# %%
words = ["the", "cat", "dog", "sat", "house", "on"]
E = np.array(
    [
        [-0.12, 0.05, 0.88],
        [0.72, -0.41, 0.15],
        [0.68, -0.38, 0.22],
        [-0.55, 0.62, -0.03],
        [0.31, 0.15, -0.72],
        [-0.08, 0.11, 0.79],
    ]
)
V, D = E.shape
show("E", E, rows=words)

# %% [markdown]
# This table $E$ has $V = 6$ rows, one for each word, and $D = 3$ columns. A real one has 50,000
# rows of 768 numbers. Here we chose the numbers ourselves; in a model they begin at random, and
# training finds them.
#
# ## Forward: read rows
# The whole operation is this function. In come ids, out come rows: the way forward. We read "cat,
# dog, cat", that is the ids 1, 2, 1.


# %%
def lookup_forward(E, ids):
    return E[ids]  # row ids[0], then row ids[1], ...


ids = np.array([1, 2, 1])  # cat, dog, cat
rows = lookup_forward(E, ids)
show("rows", rows, rows=["cat", "dog", "cat"])

# %% [markdown]
# Nothing was multiplied, nothing was added. Row 1 was read twice, so it stands there twice. (The
# numbers on the left are no ids now: they count the places of the text.)
#
# Now the vectors can be compared. The distance of two rows: take their difference, square its
# numbers, add them up, take the root.

# %%
q = guess("By how many times is 'cat' closer to 'dog' than to 'the', in this table?")
cat_dog = worked.distance("cat, dog", E[1], E[2])
cat_the = worked.distance("cat, the", E[1], E[0])
ratio = worked.quotient("how many times as far", cat_the, cat_dog)
q.answer(ratio, tolerance=2, because="rows 1 and 2 differ by a few hundredths in every column")
play("lookup")

# %% [markdown]
# The package has an embedding layer for this. A layer is an operation together with the numbers
# that it learns, here the table. Ids of any shape may go in: the rows come out in the same shape,
# with one axis of length $D$ more. A line with a bar compares two ways to the same numbers.

# %%
from scratch_embed import Embedding

layer = Embedding.from_pretrained(E)
compare("rows", by_hand=rows, layer=layer(ids).numpy())
print("  ids", np.array([[1, 2], [0, 5]]).shape, "-> rows", layer([[1, 2], [0, 5]]).shape)

# %% [markdown]
# ## Backward: where does the complaint go?
# A model computes a loss from the rows: one number that says how bad its answer is. To learn, it
# must know for every number in $E$: if I nudge it up, does the loss rise or fall, and how fast?
# These slopes are the gradient of the loss. It has one entry for each entry of $E$, and is called
# $dE$. To calculate it, one goes back, from the loss to the table.
#
# Everything behind the lookup can be left out of the story. All that reaches the lookup is a
# gradient for each row that it handed out. We make one up and call it $g$. The loss that goes with
# it is the sum of `rows` times $g$, entry by entry: its slope for each entry of `rows` is just $g$.

# %%
g = np.array([[-0.4, 0.8, 0.3], [0.9, -0.5, 0.1], [0.2, 0.6, 0.4]])
show("g", g, rows=["cat", "dog", "cat again"])


def loss(E):
    return (lookup_forward(E, ids) * g).sum()


# %% [markdown]
# Look at the table again, and think before you go on.

# %%
q_rows = guess(
    "We read cat, dog, cat. How many of the six rows of E can change the loss at all?",
)
q_cat = guess("g[0] and g[2] both belong to 'cat'. What is the slope for E[cat], column 1?")

# %% [markdown]
# We need no theory to find out. Nudge one number of $E$ up by $h$ and down by $h$, look at the loss
# $L$ both times, and divide the difference by $2h$ (a finite difference, in books). Here is the
# number in row "cat", column 1:

# %%
slope = worked.nudge("E", loss, E, (1, 1))
q_cat.answer(
    slope,
    because="the number stands in two places of the output, and both count: 0.8 + 0.6",
    slips={
        0.8: "That is g[0] alone.",
        0.6: "That is g[2] alone, the last one.",
        0.7: "That is the mean, but nothing divides.",
    },
)

# %% [markdown]
# The same for all 18 numbers, with a function that nudges each in turn:

# %%
from scratch_embed.gradcheck import slopes

nudged = slopes(loss, E)
show("slopes", nudged.round(6), rows=words)
q_rows.answer(
    int(np.any(nudged != 0, axis=1).sum()),
    because="cat and dog. The other rows are nowhere in the loss",
)

# %% [markdown]
# So the rule of the way back: **each gradient is added to the row that its vector came from.** As
# a loop it is three lines. It is called scatter-add, and it is the lookup run in reverse: the one
# reads row `ids[n]` into place n, the other adds place n to row `ids[n]`.


# %%
def lookup_backward(g, ids, V):
    dE = np.zeros((V, g.shape[1]))
    for n, row in enumerate(ids):
        dE[row] += g[n]  # a row that was read twice collects twice
    return dE


dE = worked.scatter_add("dE", ids, g, num_rows=V, of="g")

# %% [markdown]
# ## The tempting one-liner
# NumPy can index with a whole array, so why write a loop?


# %%
def without_loop(g, ids, V):
    dE = np.zeros((V, g.shape[1]))
    dE[ids] += g  # looks the same. Is it?
    return dE


options = [
    "yes",
    "no: a row that stands twice in ids gets only its last gradient",
    "no: the rows get mixed up",
]
q = guess("Does this do the same as the loop?", options)

# %% [markdown]
# Both results stand below, beside the nudged slopes, which know nothing of either.

# %%
loop, fast = lookup_backward(g, ids, V), without_loop(g, ids, V)
beside("dE", rows=words, loop=loop, without_loop=fast, nudged=nudged, wrong="without_loop")
last_only = np.array_equal(fast[1], g[2])
q.answer(
    options[1] if last_only else options[0],
    because="NumPy reads all rows, adds, and writes all rows back; the second write of row 1 "
    "covers the first",
)

# %% [markdown]
# This is the classic bug of home-made embeddings. The shapes are right, the loss falls, and a word
# that is read twice learns from its last place alone. A test in which no id comes twice never sees
# it.
#
# NumPy has a slow but correct form, `np.add.at(dE, ids, g)`. The package has a fast one. There the
# table is a `Tensor`, an array that remembers how it was used. `lookup(table, ids).backward(g)`
# goes back to the table and leaves its gradient in `table.grad`. Inside, the package calls what
# arrives `dout` (the slope for each entry of the output): our $g$ is the `dout` of a lookup.

# %%
from scratch_embed import Tensor
from scratch_embed.functional import lookup

table = Tensor(E, requires_grad=True, name="E")
lookup(table, ids).backward(g)
compare("dE[cat]", by_hand=dE[1], code=table.grad[1], nudged=nudged[1])
compare("dE[dog]", by_hand=dE[2], code=table.grad[2], nudged=nudged[2])
compare("dE[the]", by_hand=dE[0], code=table.grad[0], nudged=nudged[0])

# %% [markdown]
# How `backward` finds its way through many steps is lesson 11.
#
# Here is all of it in one picture: reading above, the way back below. Follow the two arrows that
# meet in the row of "cat".

# %%
from scratch_embed import plot


def _draw(E, rows, g, dE):
    places, columns = ["cat", "dog", "cat"], ["0", "1", "2"]
    figure, axes = plot.figure(2, 2, size=(8, 7.2))
    titles = [["E, a row for each word", "rows = E[ids]"], ["g, as it arrives", "dE = scatter-add"]]
    names = [[words, places], [places, words]]
    for i, pair in enumerate([[E, rows], [g, dE]]):
        for j, array in enumerate(pair):
            plot.heatmap(
                axes[i, j],
                array,
                rows=names[i][j],
                cols=columns,
                bar=False,
                limit=1.4,
                title=titles[i][j],
            )
    for n, row in enumerate(ids):
        colour = ["blue", "green", "vermillion"][n]
        plot.flow(axes[0, 0], row, axes[0, 1], n, colour)
        plot.flow(axes[1, 0], n, axes[1, 1], row, colour)
    figure.get_layout_engine().set(wspace=0.25, hspace=0.08)
    return figure


save_figure(_draw(E, rows, g, dE), "ch00_table_and_gradient.png")
play("there_and_back")

# %% [markdown]
# ## One step of learning
# To make the loss smaller, move every number a little against its slope:
# $E \leftarrow E - \eta\,dE$, with a small step size $\eta$ (eta), the learning rate. Here
# it is 0.1.

# %%
q = guess("After one step on cat, dog, cat, how many rows of E are exactly what they were before?")
eta = 0.1
after = E - eta * dE
show("moved by", after - E, rows=words)
print(f"  loss before {loss(E):.4f}, after {loss(after):.4f}")
q.answer(
    int((after == E).all(axis=1).sum()),
    because="all but cat and dog. Their gradient is zero, not small",
)

# %% [markdown]
# ## What did we learn?
# - An embedding layer reads rows of a table. Forward is `E[ids]` and nothing else.
# - Backward adds each gradient to the row it came from; rows read twice collect twice.
# - Rows that nobody read get exactly zero, and do not learn. Most words are rare: lesson 1.
#
# Now write both halves yourself: `python -m lessons exercise lookup_forward`, then
# `lookup_backward`. Lesson 10 shows the same operation as a matrix product.
