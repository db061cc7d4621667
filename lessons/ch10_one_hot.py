# %% [markdown]
# # 10. One-hot: a lookup is a matrix product
#
# **Question.** Reading a row needs no arithmetic. Yet it can be written as a product of two
# matrices. What does the product know that the lookup hides?
#
# **Afterwards** you can write a lookup and its way back as matrix products, say what they cost, and
# calculate which other word would have been better.
#
# **Time** 15 minutes. **Needs** lesson 0.
# **Exercises** `one_hot`.

# %%
import numpy as np

from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## A choice, written as a vector
# In lesson 0 an id chose a row. Here is a smaller table, three words and two columns, and four ids
# (0, 2, 0, 1) that spell "the dog the cat".

# %%
words = ["the", "cat", "dog"]
E = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
V, D = E.shape
ids = np.array([0, 2, 0, 1])
places = ["the", "dog", "the", "cat"]  # what stands at each place of the text
show("E", E, rows=words)

# %% [markdown]
# A choice of one in three can also be written as three numbers: a 1 for the chosen word, a 0 for
# each of the others. This is the **one-hot code** of an id. A text becomes a matrix, with one code
# in each row.


# %%
def one_hot(ids, V):
    codes = np.zeros((len(ids), V))
    for n, row in enumerate(ids):
        codes[n, row] = 1
    return codes


codes = one_hot(ids, V)
show("codes", codes, rows=places, columns=words)

# %% [markdown]
# Such codes say which word it is, and nothing more about it. Any two of them are equally far apart,
# so no word is more like "cat" than any other. That is why a model wants rows.

# %%
worked.distance("cat, the", codes[3], codes[0])
worked.distance("cat, dog", codes[3], codes[1])

# %% [markdown]
# ## The code times the table
# Now multiply a code by the table. Each number of the code says how much of a row we take. Of dog's
# code that is nothing of row 0, nothing of row 1, and all of row 2:

# %%
dog = worked.onehot_product("dog", 2, E)

# %% [markdown]
# For all four places at once this is a matrix product, `codes @ E`. Written as a loop:


# %%
def onehot_product(codes, E):
    N, V = codes.shape
    out = np.zeros((N, E.shape[1]))
    for n in range(N):
        for v in range(V):
            out[n] += codes[n, v] * E[v]  # a whole row, times 0 or times 1
    return out


# %% [markdown]
# No computer stores 0.1 exactly, and sums of such numbers get rounded.

# %%
options = ["to the last bit", "up to a rounding error", "no: a row that is read twice gets mixed"]
q = guess("Does the product give the very numbers of the lookup E[ids]?", options)

# %%
product, rows = onehot_product(codes, E), E[ids]
show("product", product, rows=places)
compare("rows", lookup=rows, loop=product, product=codes @ E)
close = np.allclose(product, rows)
q.answer(
    options[0] if np.array_equal(product, rows) else options[1] if close else options[2],
    because="1 * x = x, 0 * x = 0 and x + 0 = x are exact in floating point",
)

# %% [markdown]
# So a lookup *is* a matrix product, and what is known of matrix products holds for lookups too.
#
# ## What it costs
# Each place multiplies the whole table, and nearly all of it by zero. GPT-2, a language model of
# 2019, has a table of $V = 50{,}257$ rows and $D = 768$ columns. For a single id:

# %%
worked.product("multiplications V D", 50_257, 768)
worked.product("of these by a one", 1, 768)

# %% [markdown]
# A lookup multiplies nothing at all. And the code has to lie somewhere before it is multiplied.

# %%
q = guess("At 4 bytes a number, how many times as large as its row is the code of a GPT-2 word?")
code_bytes = worked.product("bytes of a code", 50_257, 4)
row_bytes = worked.product("bytes of a row", 768, 4)
ratio = worked.quotient("code / row", code_bytes, row_bytes)
q.answer(
    ratio,
    tolerance=0.5,
    because="the four bytes stand above and below and cancel, so it is V / D",
    slips={4 * ratio: "Both have four bytes a number.", 50_257: "The row has 768 numbers, not 1."},
)

# %% [markdown]
# This is sometimes told as "rows compress a word 65 times". But nobody stores codes. What is stored
# is the id, and 2 bytes hold any id below $256^2 = 65{,}536$. Beside an id, a row is large:

# %%
worked.quotient("bytes of a row / bytes of an id", row_bytes, 2)

# %% [markdown]
# So the product proves something, and the lookup does the work.
#
# ## Where the two part
# They are equal as long as all numbers are finite. Suppose training went wrong, and one number in
# the row of "dog" became infinite.

# %%
broken = E.copy()
broken[2] = [np.inf, 0.6]
q = guess("How many of the four rows of the product does this spoil?")
with np.errstate(invalid="ignore"):
    spoilt = onehot_product(codes, broken)
show("product", spoilt, rows=places)
show("lookup", broken[ids], rows=places)
q.answer(
    int((~np.isfinite(spoilt)).any(axis=1).sum()),
    because="0 times infinity is not 0 but nan (not a number), and every place multiplies every "
    "row. The lookup spoils only the place that asked for 'dog'",
    slips={1: "That is the lookup. The product multiplies dog's row everywhere, if only by 0."},
)

# %% [markdown]
# ## Backward: two inputs, two gradients
# As in lesson 0 a gradient $g$ arrives, with a row for each place, and the loss that goes with it
# is the sum of the output times $g$. A product has two inputs, so we can nudge two things: a number
# of the table, or a number of a code.

# %%
g = np.array([[0.4, -0.1], [1.0, -0.2], [0.1, 0.3], [-0.5, 0.7]])
show("g", g, rows=places)


def loss(codes, E):
    return (onehot_product(codes, E) * g).sum()


# %% [markdown]
# **The table.** `E[v]` reaches place n with the weight `codes[n, v]`, so it collects
# `codes[n, v] * g[n]` from every place n. That is the product $\text{codes}^\top g$. The ones in
# the column of a word pick the places where it stands:

# %%
dE = worked.matmul("dE", codes.T, g, why="codes^T g")

# %% [markdown]
# Row "the" collected from both its places. We have met this sum before: it is scatter-add, here
# with nothing but a matrix product.

# %%
scattered = worked.scatter_add("dE", ids, g, num_rows=V, of="g")
compare("dE", scatter_add=scattered, product=dE)

# %% [markdown]
# **The codes.** Most of their numbers are zeros. Do these have a slope?

# %%
options = ["yes: what is multiplied by 0 cannot matter", "no: it has a slope like any other"]
q = guess("Place 3 reads 'cat', so codes[3, dog] is 0. Is its slope 0 as well?", options)
slope = worked.nudge("codes", lambda codes: loss(codes, E), codes, (3, 2))
q.answer(
    options[0] if slope == 0 else options[1],
    because="the number is 0, but nudged to h it lets h times the row of 'dog' in",
)

# %% [markdown]
# That gives its size, too: h times `E[dog]` meets `g[3]`, so the slope is the dot product of the
# two. For all places and words together it is $g\,E^\top$.

# %%
by_hand = worked.dot("g[3] . E[dog]", g[3], E[2])
compare("slope of codes[3, dog]", by_hand=by_hand, nudged=slope)


# %% [markdown]
# Both gradients as code, two lines. Beside them stands the tempting idea that only the ones count:
# multiply by the codes once more, as by a mask.


# %%
def onehot_product_backward(g, codes, E):
    dcodes = g @ E.T  # every place against every row
    dE = codes.T @ g
    return dcodes, dE


def masked(g, codes, E):
    return codes * (g @ E.T)  # "what is 0 was not used, so it has no slope"


# %%
from scratch_embed.gradcheck import slopes

dcodes, dE = onehot_product_backward(g, codes, E)
nudged = slopes(lambda codes: loss(codes, E), codes)
few = masked(g, codes, E)
beside("dcodes", rows=places, masked=few, all=dcodes, nudged=nudged, wrong="masked")
compare("dE", by_hand=dE, nudged=slopes(lambda E: loss(codes, E), E))

# %% [markdown]
# The package has both halves too. A `lookup` can give only the second gradient: an id has no slope,
# since between row 1 and row 2 there is nothing to nudge it to.

# %%
from scratch_embed import Tensor, functional

choice, table = Tensor(codes, requires_grad=True), Tensor(E, requires_grad=True)
functional.onehot_product(choice, table).backward(g)
compare("dcodes", by_hand=dcodes, code=choice.grad)
compare("dE", by_hand=dE, code=table.grad)

# %%
from scratch_embed import plot

figure, axes = plot.figure(1, 3, size=(12, 3.6))
titles = "codes: a 1 in each row", "times the table E", "is four rows of it"
plot.heatmap(axes[0], codes, places, words, digits=0, bar=False, title=titles[0])
plot.heatmap(axes[1], E, words, bar=False, xlabel="column", title=titles[1])
plot.heatmap(axes[2], product, places, bar=False, xlabel="column", title=titles[2])
save_figure(figure, "ch10_product.png")

# %% [markdown]
# ## A mixture of rows
# Nothing in the product asks for ones and zeros. With other weights it mixes rows.

# %%
options = ["a vector that is no row of E", "the row of 'cat'", "the row of 'dog'"]
q = guess(
    "Take half of 'the' and half of 'dog', the weights [0.5, 0, 0.5]. What comes out?", options
)
mixture = worked.sum("mixture", 0.5 * E[0], 0.5 * E[2])
compare("mixture", by_hand=mixture, product=np.array([0.5, 0, 0.5]) @ E)
(same,) = np.flatnonzero(np.isclose(E, mixture).all(axis=1))
q.answer(options[same], because="in this table row 1 lies halfway between its neighbours")

# %% [markdown]
# Two different choices, one vector. Codes have $V$ numbers and rows only $D$: several mixtures must
# fall together, and behind the table no one can tell them apart.
#
# ## Which other word would have been better?
# `dcodes` holds a number for every word at every place, also for words that do not stand there. It
# can be read as a **price list**: take a share away from the word that is there, give it to word v,
# and the loss begins to change by the difference of the two prices.
#
# Let us try it. A model reads "the", the row [0.1, 0.2]. Its loss is the squared distance to a
# vector that it would have liked better, [0.25, 0.35]. The gradient that arrives at the row is:

# %%
wanted = np.array([0.25, 0.35])


def miss(code):
    return ((code @ E - wanted) ** 2).sum()


the, cat, dog = one_hot([0, 1, 2], V)
g = worked.scale("g", 2, the @ E - wanted, why="row - wanted, twice: the slope of x^2 is 2 x")
prices = worked.matmul("price", E, g[:, None], why="g E^T, a number for each word")[:, 0]
promised = prices - prices[0]
show("promised", promised, columns=words)

# %% [markdown]
# One product has priced all the words. Is that how to read it? We walk from "the" towards "dog": a
# share t of the code moves over. At the start of the walk, the slope must be the promise.

# %%
slope = worked.nudge("t", lambda t: miss((1 - t[0]) * the + t[0] * dog), [0.0], 0)
compare("promise for dog", by_hand=promised[2], nudged=slope)

# %% [markdown]
# The list promises twice as much for "dog" as for "cat". Now put each word in, and see.

# %%
q = guess("With which of the three words is the loss lowest?", words)
came = np.array([miss(code) - miss(the) for code in (the, cat, dog)])
for word, said, was in zip(words, promised, came):
    print(f"  {word}   promised {said:+.2f}   came {was:+.2f}")
q.answer(
    words[came.argmin()],
    because="'dog' lies in the right direction, but too far out. A slope holds for a small step, "
    "and a swap is a large one",
)

# %%
share = np.linspace(0, 1, 51)
way = {
    "the loss": [miss((1 - t) * the + t * dog) for t in share],
    "what the price promises": miss(the) + promised[2] * share,
}
figure, ax = plot.figure(size=(7.5, 4))
plot.lines(
    ax,
    share,
    way,
    xlabel="share of 'dog' in the mixture",
    ylabel="loss",
    title="From 'the' to 'dog', with 'cat' halfway",
)
ax.set_ylim(-0.1)
for t, word, code in zip((0, 0.5, 1), words, (the, cat, dog)):
    ax.plot(t, miss(code), "o", color="black")
    ax.annotate(word, (t, miss(code)), xytext=(0, 8), textcoords="offset points", ha="center")
save_figure(figure, "ch10_promises.png")

# %% [markdown]
# A better mixture lies between two words, but a text cannot hold a mixture. So the list is good for
# choosing candidates, and each of them has to be tried. The cost is one product for all $V$ words
# instead of $V$ runs of the model. HotFlip (Ebrahimi and others, 2018) finds in this way the letter
# or the word that fools a classifier.
#
# ## What did we learn?
# - `one_hot(ids) @ E` is the lookup, bit for bit, at $V$ times the work: a proof, not a program.
# - Its gradients are $\text{codes}^\top g$, which is scatter-add, and $g\,E^\top$, a price for
#   every word at every place.
# - Prices are slopes: they hold for small steps, and can promise too much for large ones.
#
# Now write it yourself: `python -m lessons exercise one_hot`. Then lesson 11: how `backward` finds
# its order.
