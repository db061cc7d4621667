# %% [markdown]
# # 2. The input recipe
#
# **Question.** One vector goes into a transformer for each token. How does it come to say what the
# token is, where it stands, and which sentence it belongs to?
#
# **Afterwards** you can build the inputs of BERT and GPT from bare tables, send a gradient back to
# each table, and say why rows are added and not put side by side.
#
# **Time** 20 minutes. **Needs** lessons 0, 10, 12.
# **Exercises** `input_embedding`, `bag_mean`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## A lookup cannot see order
# Here are six words, and a row of four numbers for each. The numbers are made up.

# %%
words = ["the", "dog", "cat", "bites", "sat", "man"]
E = np.array(
    [
        [0.10, 0.20, -0.30, 0.10],
        [0.60, -0.40, 0.20, 0.30],
        [0.50, -0.60, 0.10, 0.40],
        [-0.70, 0.30, 0.60, -0.20],
        [-0.50, 0.40, 0.50, 0.10],
        [0.20, -0.10, 0.70, -0.60],
    ]
)
show("E", E, rows=words)

# %% [markdown]
# A transformer reads all rows of a sentence at once and lets them mix. Lesson 15 looks into the
# mixing. For now one line will do: each row asks all rows "how alike are we?", by dot products. A
# softmax makes shares of the answers, and the row takes that share of each.


# %%
def mix(rows):
    alike = np.exp(rows @ rows.T)
    return alike / alike.sum(axis=1, keepdims=True) @ rows


dog_bites_man, man_bites_dog = [1, 3, 5], [5, 3, 1]
options = ["the same three vectors, in reverse", "other vectors"]
q = guess("Mix 'dog bites man', then 'man bites dog'. What comes out the second time?", options)
first, second = mix(E[dog_bites_man]), mix(E[man_bites_dog])
show("dog bites man", first, rows=["dog", "bites", "man"])
show("man bites dog", second, rows=["man", "bites", "dog"])
q.answer(
    options[0 if np.allclose(first, second[::-1]) else 1],
    because="the same rows went in, and a sum has no order. 'dog' cannot know if it bit",
)

# %% [markdown]
# The plain mean of the rows, called a bag of words, is blind in the same way. More columns or more
# training would not help: a lookup is given the id and nothing else. So give each place a row as
# well, in a second table $P$ (for position), and add it. "dog" in place 0 is then another vector
# than "dog" in place 2.

# %%
P = np.random.default_rng(5).normal(0, 0.3, (8, 4)).round(2)
P[3] = [-0.18, 0.10, -0.15, 0.42]
show("P", P, rows=[f"place {t}" for t in range(8)])
first, second = mix(E[dog_bites_man] + P[:3]), mix(E[man_bites_dog] + P[:3])
show("dog", np.array([first[0], second[2]]), rows=["bites", "is bitten"])

# %% [markdown]
# ## Three rows, one sum
# BERT reads two sentences at a time, A and B, so it has a third table $S$ with two rows, the
# segments. Take the word "cat" (row 2), at place 3, in sentence A (segment 0).

# %%
S = np.array([[0.02, -0.02, -0.02, 0.02], [-0.03, 0.01, 0.04, 0.02]])
token, place, segment = E[2], P[3], S[0]
total = worked.sum("input", token, place, segment, why="column by column")

# %% [markdown]
# The picture shows the three parts and their sum; and what becomes of the sum when "cat" moves
# through the eight places. Its own part never changes.

# %%
from scratch_embed import plot


def _draw(parts, slide):
    figure, axes = plot.figure(1, 2, size=(11, 4.2))
    plot.bars(axes[0], list("0123"), parts, xlabel="column", ylabel="value")
    axes[0].set_title("'cat' at place 3 of sentence A")
    axes[0].axhline(0, color="black", lw=0.8)
    places = [str(t) for t in range(8)]
    plot.heatmap(axes[1], slide, rows=places, cols=list("0123"), highlight=[3], bar=False)
    axes[1].set(title="the sum, with 'cat' at each place", xlabel="column", ylabel="place")
    return figure


parts = {"token": token, "place": place, "segment": segment, "sum": total}
save_figure(_draw(parts, token + P + segment), "ch02_recipe.png")
play("addition")

# %% [markdown]
# ## The whole batch at once
# Ids come as an array of $B$ sentences with $T$ places. The operation is one line. Its shapes:


# %%
def add_rows(ids, segments, E, P, S):
    T = ids.shape[1]
    return E[ids] + P[:T] + S[segments]  # (B, T, D) + (T, D) + (B, T, D)


ids = np.array([[0, 1, 3, 2], [0, 2, 3, 5]])  # the dog bites cat, the cat bites man
segments = np.array([[0, 0, 0, 0], [0, 0, 1, 1]])
options = ["NumPy refuses", "each sentence gets all 4 rows", "each sentence gets 2 of the 4 rows"]
q = guess("P[:4] is (4, 4), the rest is (2, 4, 4). What happens in the sum?", options)
try:
    x = add_rows(ids, segments, E, P, S)
    place_part = x - E[ids] - S[segments]
    met = options[1 if np.allclose(place_part, [P[:4], P[:4]]) else 2]
except ValueError:
    met = options[0]
print(f"  out comes {x.shape}")
q.answer(met, because="NumPy uses an array again along an axis that it lacks: broadcasting")
compare("input of cat", by_hand=total, code=x[0, 3])

# %% [markdown]
# ## The way back
# Make up a gradient $g$ for each of the eight vectors, and a loss that has it, as in lesson 0.

# %%
g = np.random.default_rng(1).normal(size=x.shape).round(1)


def loss(E, P, S):
    return (add_rows(ids, segments, E, P, S) * g).sum()


print(f"  arrives at place 3, sentence 0: g[0, 3] = {g[0, 3]}")
print(f"  arrives at place 3, sentence 1: g[1, 3] = {g[1, 3]}")
q = guess("What is the slope of the loss for P[3], column 2?")
slope = worked.nudge("P", lambda P: loss(E, P, S), P, (3, 2))
worked.sum("dP[3]", g[0, 3], g[1, 3], why="both sentences used the row")
q.answer(
    round(slope, 6),
    because="a sum hands its gradient to each part unchanged, and row 3 was a part of two sums",
    slips={
        round(float(g[0, 3, 2]), 6): "That is the first sentence alone.",
        round(float(g[1, 3, 2]), 6): "That is the second sentence alone.",
        round(float(g[:, 3, 2].mean()), 6): "That is the mean, but the forward divided nothing.",
    },
)

# %% [markdown]
# So nothing happens to the gradient in the sum. All the work is to collect it, for each table by
# its own ids: token rows by `ids`, segment rows by `segments`, as scatter-add. A place's row is
# collected from all sentences. **What the forward repeated, the backward sums.**


# %%
def add_rows_backward(g, ids, segments):
    dE, dP, dS = np.zeros_like(E), np.zeros_like(P), np.zeros_like(S)
    np.add.at(dE, ids, g)
    np.add.at(dS, segments, g)
    dP[: ids.shape[1]] = g.sum(axis=0)  # later places were not used: 0
    return dE, dP, dS


dE, dP, dS = add_rows_backward(g, ids, segments)

# %% [markdown]
# Two tempting ways to get the shape $(T, D)$ right: take the mean over the batch, or write
# `dP[places] += g` with the place of every token, which keeps the last sentence only (lesson 0).


# %%
def without_sum(g):
    places = np.broadcast_to(np.arange(4), g.shape[:2])
    dP = np.zeros(g.shape[1:])
    dP[places] += g
    return dP


nudged = slopes(lambda P: loss(E, P, S), P)
ways = {"summed": dP, "mean": g.mean(axis=0), "no_sum": without_sum(g), "nudged": nudged}
ways = {name: way[2:4] for name, way in ways.items()}  # two of the places are enough to see it
beside("dP", rows=["place 2", "place 3"], **ways, wrong=["mean", "no_sum"])

# %% [markdown]
# With $B = 1$ all three are equal, so a test with one sentence finds nothing. The mean makes
# positions learn $B$ times too slowly, and nobody sees it. Now the other two tables:

# %%
compare("dE", by_hand=dE, nudged=slopes(lambda E: loss(E, P, S), E))
compare("dS", by_hand=dS, nudged=slopes(lambda S: loss(E, P, S), S))
print(f"  dS[0] collects from {(segments == 0).sum()} places, dS[1] from {(segments == 1).sum()}")

# %% [markdown]
# ## BERT's input, and GPT's
# BERT normalises each vector after the sum: subtract the mean of its four numbers, divide by their
# standard deviation. That is LayerNorm. (A learned scale and shift for each column follow; they
# start at 1 and 0. Lesson 14 goes back through it.) In training, a tenth of the numbers is then set
# to zero at random, which is called dropout.


# %%
def bert_input(ids, segments, E, P, S):
    x = add_rows(ids, segments, E, P, S)
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True))


def gpt_input(ids, E, P):
    return E[ids] + P[: ids.shape[1]]  # no segments, no norm here


mean = worked.mean("mean", total)
centred = worked.difference("centred", total, np.full(4, mean))
deviation = worked.root("deviation", (centred**2).mean())
normal = worked.scale("normalised", 1 / deviation, centred)

# %% [markdown]
# The package has both as layers. We put our tables in, and switch dropout off with `eval()`:

# %%
from scratch_embed.layers import BERTInput, GPTInput

bert = BERTInput(6, 4, max_len=8, dtype=np.float64).eval()
gpt = GPTInput(6, 4, max_len=8, dtype=np.float64).eval()
for name, table in {"token": E, "position": P}.items():
    getattr(bert, name).weight.data[...] = getattr(gpt, name).weight.data[...] = table
bert.segment.weight.data[...] = S
by_hand = bert_input(ids, segments, E, P, S)
compare("cat in BERT", by_hand=normal, bare=by_hand[0, 3], layer=bert(ids, segments).numpy()[0, 3])
compare("all of BERT", by_hand=by_hand, layer=bert(ids, segments).numpy())
compare("all of GPT", by_hand=gpt_input(ids, E, P), layer=gpt(ids).numpy())
bert.sum(ids, segments).backward(g)
for name, table in {"token": dE, "position": dP, "segment": dS}.items():
    compare(f"gradient of {name}", by_hand=table, layer=getattr(bert, name).weight.grad)

# %% [markdown]
# ## Where the numbers sit
# BERT-base knows 30,522 tokens, 512 places and 2 segments, in 768 columns.

# %%
q = guess("How many per cent of the numbers in the three tables are the token table's?")
sizes = [
    worked.product(name, rows, 768)
    for name, rows in (("token", 30_522), ("place", 512), ("segment", 2))
]
all_three = worked.sum("all three", *sizes)
share = worked.quotient("the token table's share", sizes[0], all_three)
q.answer(100 * share, tolerance=1, because="there are 60 times as many tokens as places")

# %% [markdown]
# 512 places also means: no 513th. NumPy hands out a shorter array there, so a layer must check. (A
# longer table is no help while its last rows are never trained: see the lab `past_the_end`.)

# %%
print(f"  rows in P[:9]: {len(P[:9])}")
try:
    bert(np.zeros((1, 9), int))
except ValueError as error:
    print("  " + str(error).split(". ")[0])

# %% [markdown]
# ## Why add? Side by side would mix nothing up
# Put the three rows side by side, $[a; b; c]$, and nothing can get confused. But the vector is
# three times as wide, and a square matrix behind it has nine times the numbers, not three. So one
# would put a projection behind it: a matrix $W$ with $3D$ rows, back to $D$ columns.

# %%
W = np.random.default_rng(4).normal(size=(12, 4)).round(1)
options = ["yes, for every W", "only if W's three blocks are equal", "no"]
q = guess(
    "Side by side, times W. Are there other tables E, P, S whose plain sum gives the same?", options
)
ours = np.concatenate([token, place, segment]) @ W
worked.dot("a W1, column 0", token, W[:4, 0])
of_token, of_place, of_segment = token @ W[:4], place @ W[4:8], segment @ W[8:]
by_parts = worked.sum("sum", of_token, of_place, of_segment, why="the rows of W fall in 3 blocks")
compare("[a; b; c] W", side_by_side=ours, sum_of_three=by_parts)

# %% [markdown]
# A product with $W$ takes the first four numbers times the first four rows of $W$, and so on, and
# adds: $[a; b; c]\, W = a W_1 + b W_2 + c W_3$. So multiply the whole tables by their blocks,
# once, and add rows of the new tables:

# %%
wide = np.concatenate([E[ids], np.broadcast_to(P[:4], x.shape), S[segments]], axis=-1)
added = add_rows(ids, segments, E @ W[:4], P @ W[4:8], S @ W[8:])
compare("the whole batch", side_by_side=wide @ W, added=added)
q.answer(options[0 if np.allclose(wide @ W, added) else 2], because="E W1, P W2 and S W3 are such")

# %% [markdown]
# Whatever concatenate-and-project can do, adding can do, since the tables are learned anyway.
#
# ## Can a sum be taken apart again?
# Of two numbers, one cannot tell the parts from the sum. Of two rows from known tables one can: 200
# tokens and 50 places make 10,000 sums, all different. What hurts is noise. We blur each sum and
# look for the nearest of the 10,000. The rival has the same width, but gives half of the columns to
# the token and the other half to the place, at the same length.


# %%
def recovered(E, P, rng, noise=0.5, trials=200):
    sums = (E[:, None] + P).reshape(-1, E.shape[1])
    true = rng.integers(len(sums), size=trials)
    blurred = sums[true] + noise * rng.normal(size=(trials, E.shape[1]))
    squared_distance = (sums**2).sum(axis=1) - 2 * blurred @ sums.T
    return np.mean(squared_distance.argmin(axis=1) == true)


rng = np.random.default_rng(0)
q = guess("At D = 8: in how many of 100 sums are both parts found again, when added?")
widths, found = [2, 4, 8, 16, 32, 64], {"added": [], "half and half": []}
for D in widths:
    many_E, many_P = rng.normal(size=(200, D)), rng.normal(size=(50, D))
    half = np.arange(D) < D // 2
    found["added"].append(recovered(many_E, many_P, rng))
    found["half and half"].append(recovered(many_E * half * 2**0.5, many_P * ~half * 2**0.5, rng))
show("found", np.array(list(found.values())), rows=list(found), columns=widths)
q.answer(100 * found["added"][2], tolerance=15, because="many sums have a neighbour nearby")

# %% [markdown]
# Width decides. And adding does not come off worse: each row has all columns to stand out in.
# Trained tables share the columns as well, and do not divide them up: see the lab `column_roles`.

# %%
figure, ax = plot.figure(size=(7, 4))
plot.lines(ax, widths, found, logx=True, marker="o", xlabel="columns D", ylabel="both parts found")
ax.set_xticks(widths, widths)
ax.minorticks_off()
ax.set_title("200 tokens, 50 places, noise 0.5")
save_figure(figure, "ch02_taken_apart.png")

# %% [markdown]
# ## What did we learn?
# - The input is a sum of rows: what, where, and (in BERT) in which sentence. Then BERT normalises.
# - Backward hands $g$ to every table. Rows that served all sentences collect from all: a sum.
# - Adding is concatenate-and-project with other tables, and wide rows can be told apart again.
#
# Write it, both ways: `python -m lessons exercise input_embedding`. Then lesson 5: what if the
# rows of one table are far longer than those of the other?
