# %% [markdown]
# # 5. Scaling: who is heard in a sum?
#
# **Question.** A token's row and a position's row are added. What if one is many times as long as
# the other, and why did the first Transformer multiply its token rows by $\sqrt{D}$?
#
# **Afterwards** you can write its positions and its scaled lookup with both ways, say which factor
# balances the two, and why a factor is also a learning rate.
#
# **Time** 15 minutes. **Needs** lessons 0, 2.
# **Exercises** `sinusoids`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## Positions that nobody learns
# The first Transformer (Vaswani et al., 2017) computed its position rows. Think of a row as a set
# of clocks. Each pair of columns is the hand of one clock: the sine and the cosine of its angle.
# The first hand turns by 1 (in radians) from place to place, the next more slowly, the last hardly
# at all. At place $t$, hand $i$ stands at the angle $t / 10000^{2i/D}$.
#
# So there is a row for every place, however late. Whether a model can use rows that it never saw in
# training is another question: the lab `past_the_end` says half of the time, and less far out.


# %%
def sinusoids(L, D):
    angle = np.arange(L)[:, None] / 10000 ** (np.arange(0, D, 2) / D)
    PE = np.zeros((L, D))
    PE[:, 0::2] = np.sin(angle)
    PE[:, 1::2] = np.cos(angle)
    return PE


show("PE", sinusoids(4, 4), rows=[f"place {t}" for t in range(4)])

# %% [markdown]
# In four columns there are two hands. The second is a hundred times slower: from place to place its
# sine grows by 0.01. Here is a wider table, and two rows of it beside two rows of a fresh token
# table: random numbers of standard deviation $1/\sqrt{D}$, as in the first Transformer's code.

# %%
from scratch_embed import plot


def _draw(PE, E):
    figure, axes = plot.figure(1, 2, size=(11, 4.2))
    plot.heatmap(axes[0], PE, values=False, xlabel="column", ylabel="place", bar=False)
    axes[0].set_title("64 position rows, D = 64")
    rows = {"position, place 5": PE[5], "token": E[0]}
    plot.lines(axes[1], range(64), rows, xlabel="column", ylabel="value")
    axes[1].set_title("two rows that shall be added")
    return figure


E_64 = np.random.default_rng(0).normal(0, 64**-0.5, (10, 64))
save_figure(_draw(sinusoids(64, 64), E_64), "ch05_sinusoids.png")

# %% [markdown]
# ## How long is a row?
# Length means the root of the sum of squares. Here is that of place 3, in four columns:

# %%
length = worked.norm("|PE[3]|", sinusoids(4, 4)[3])

# %%
q = guess("How long is a position row in 512 columns?")
D = 512
PE = sinusoids(5000, D)
pairs = worked.quotient("pairs of columns", D, 2)
p_length = worked.root("length", pairs, why="sin^2 + cos^2 = 1, for each pair")
lengths = np.linalg.norm(PE, axis=1)
print(f"  5,000 rows: shortest {lengths.min():.4f}, longest {lengths.max():.4f}")
q.answer(lengths[7], because="every pair adds 1 to the sum of squares, at every place")

# %% [markdown]
# And a random row, of $D$ numbers with standard deviation $\sigma$? Each square is $\sigma^2$ on
# average. So the squared length is about $D \sigma^2$, and with $\sigma = 1/\sqrt{D}$ that is 1.
# (Some write $N(0, 1/\sqrt{D})$ for this. Then say that you mean the standard deviation: taken as a
# variance, it makes rows that are $D^{1/4}$ times as long.)

# %%
rng = np.random.default_rng(5)
E = rng.normal(0, D**-0.5, (4000, D))
lengths = np.linalg.norm(E, axis=1)
print(
    f"  4,000 rows: mean length {lengths.mean():.4f}, half of them within "
    f"{np.quantile(lengths, 0.25):.2f} to {np.quantile(lengths, 0.75):.2f}"
)
ratio = worked.quotient("position to token", p_length, round(lengths.mean(), 2))

# %% [markdown]
# So when training begins, the position speaks 16 times as loud as the token. Take two different
# tokens, both at place 100. Compare the sums by the cosine: 1 means the same direction, 0 means
# nothing in common.

# %%
q = guess("Two different tokens at one place: what is the cosine of their two sums?")


def cosine(a, b):
    return a @ b / np.sqrt(a @ a * (b @ b))


print(f"  of the two token rows alone: {cosine(E[1], E[2]):.3f}")
alike = cosine(E[1] + PE[100], E[2] + PE[100])
q.answer(alike, tolerance=0.01, because="256 of the 257 parts of the squared length are shared")

# %% [markdown]
# ## In four columns, by hand
# Take a token row $e$ and the position row of place 1, first as they are, then with $e$ doubled:
# $\sqrt{4} = 2$.

# %%
e, p = np.array([0.3, -0.5, 0.2, 0.4]), sinusoids(4, 4)[1].round(2)
e_norm, p_norm = worked.norm("|e|", e), worked.norm("|p|", p)
worked.sum("e + p", e, p)
worked.sum("2e + p", worked.scale("2e", 2.0, e), p)

# %% [markdown]
# Look at column 1: $-0.5 + 0.54 = 0.04$. It looks as if the token had been drowned. But these two
# are of one size. Their signs differ, so they cancel, and with equal signs they would make 1.04.
# In four columns the position is only twice as long as the token. Drowning takes width.
#
# Now that you know the clocks: here is a row, rounded to two digits, that is sometimes given as an
# example of a position row in four columns.

# %%
candidate = np.array([0.84, 0.54, 0.91, -0.42])
options = ["yes, place 1", "yes, a later place", "no, none of them"]
q = guess("Is [0.84, 0.54, 0.91, -0.42] one of the first 5,000 rows?", options)
off = np.abs(sinusoids(5000, 4) - candidate).max(axis=1)
nearest = int(off.argmin())
print(f"  the nearest is place {nearest}, and one column is off by {off[nearest]:.4f}")
hands = np.array([np.sin(1), np.cos(1), np.sin(2), np.cos(2)])
compare("it is made of", candidate=candidate, sin1_cos1_sin2_cos2=hands.round(2))
q.answer(
    options[2 if off[nearest] > 0.005 else min(nearest, 2) - 1],
    because="it is the fast hand at place 1 and the fast hand at place 2; the second hand of one "
    "row must be the slow one",
)

# %% [markdown]
# ## Which factor?
# Multiply each token row by a factor $s$ before the sum. The paper took $s = \sqrt{D}$.

# %%
options = {"D/2": D / 2, "sqrt(D)": D**0.5, "sqrt(D/2)": (D / 2) ** 0.5}
q = guess("Which factor makes token rows just as long as position rows?", list(options))
for name, s in options.items():
    worked.quotient(f"{name}: token to position", round(s * lengths.mean(), 2), p_length)
q.answer(
    min(options, key=lambda name: abs(options[name] * lengths.mean() - p_length)),
    because="rows of length 1 must come to sqrt(D/2); the paper's factor makes the token the "
    "louder one, by sqrt(2) in any width",
)

# %% [markdown]
# So $\sqrt{D}$ makes the two comparable, not equal. It gives the elements of a token row a standard
# deviation of 1, which is a round number. And it presumes rows of length 1. Library tables often
# start at $N(0, 1)$, with rows of length $\sqrt{D}$ already. Multiplied once more they are
# 512 long, 32 times as long as the position rows, and now nobody hears the place.
#
# Turn the knob from end to end, and ask for two cosines: of two tokens at one place (1: tokens
# cannot be told apart), and of one token at two places (1: places cannot be told apart).

# %%
factors = np.geomspace(0.3, 300, 31)
places = PE[np.arange(8) * 31]
two_tokens, two_places = [], []
for s in factors:
    two_tokens.append(np.mean([cosine(s * E[1] + p, s * E[2] + p) for p in places]))
    sums = s * E[1] + places
    two_places.append(np.mean([cosine(sums[t], sums[t + 1]) for t in range(7)]))


def _draw_knob():
    figure, ax = plot.figure(size=(7.5, 4))
    curves = {"two tokens, one place": two_tokens, "one token, two places": two_places}
    plot.lines(ax, factors, curves, logx=True, xlabel="factor s", ylabel="cosine of the two sums")
    ax.set_title("what a sum tells apart, D = 512")
    for name, s in list(options.items())[1:]:
        ax.axvline(s, color="grey", lw=1, ls=":")
        side = "left" if name == "sqrt(D)" else "right"
        ax.annotate(f" {name} ", (s, 0.02), ha=side, fontsize=10)
    return figure


save_figure(_draw_knob(), "ch05_scale.png")
play("scale")

# %% [markdown]
# ## The way back
# The forward has a factor, so the backward has it too. Positions are constants and get nothing.


# %%
def scaled_lookup(ids, E, s, PE):
    return s * E[ids] + PE[: len(ids)]


def scaled_lookup_backward(g, ids, s, V):
    dE = np.zeros((V, g.shape[1]))
    np.add.at(dE, ids, s * g)
    return dE


table = np.array([[0.1, 0.2, -0.3, 0.4], e, [-0.2, 0.5, 0.1, 0.3]])
ids, s, PE_4 = np.array([1, 2, 1]), 2.0, sinusoids(3, 4)
g = np.array([[0.5, -1.0, 0.2, 0.3], [0.1, 0.4, -0.6, 0.2], [0.7, 0.5, 0.4, -0.1]])


def loss(table):
    return (scaled_lookup(ids, table, s, PE_4) * g).sum()


slope = worked.nudge("E", loss, table, (1, 0))
collected = worked.sum("both uses of row 1", g[0], g[2])
worked.scale("dE[1]", s, collected)

# %% [markdown]
# The tempting version forgets the factor on the way back. All signs and shapes are right, and every
# step is $s$ times too short.

# %%
dE, nudged = scaled_lookup_backward(g, ids, s, 3), slopes(loss, table)
without = scaled_lookup_backward(g, ids, 1.0, 3)
names = ["row 0", "row 1", "row 2"]
beside("dE", rows=names, with_s=dE, without_s=without, nudged=nudged, wrong="without_s")

# %%
from scratch_embed.layers import ScaledEmbedding

layer = ScaledEmbedding(3, 4, max_len=3, scale="sqrt(d)", dtype=np.float64)
layer.token.weight.data[...] = table
out = layer(ids)
out.backward(g)
compare("out", by_hand=scaled_lookup(ids, table, s, PE_4), layer=out.numpy())
compare("dE", by_hand=dE, layer=layer.token.weight.grad, nudged=nudged)

# %% [markdown]
# ## A learning rate in disguise
# Why multiply at every lookup? One could multiply the table once, before training begins, and have
# no factor at all. The very same sums come out. Then both tables take one step of gradient descent
# with the same $g$ and the same learning rate $\eta$.

# %%
options = ["no: it moves equally far", "yes, s times less", "yes, s * s times less"]
q = guess("Does what the model sees of a row move less with the factor in the table?", options)
eta, G = 0.1, g[:1]
with_factor = s * (table - eta * scaled_lookup_backward(G, ids[:1], s, 3))
in_table = s * table - eta * scaled_lookup_backward(G, ids[:1], 1.0, 3)
moved = worked.scale("factor outside", -eta * s * s, G[0], why="the gradient times s, the row too")
moved_less = worked.scale("factor in table", -eta, G[0])
compare("outside", by_hand=moved, code=with_factor[1] - s * table[1])
compare("in table", by_hand=moved_less, code=in_table[1] - s * table[1])
times = worked.quotient("times as far, column 0", moved[0], moved_less[0])
q.answer(
    options[[1.0, s, s * s].index(round(times, 9))],
    because="the gradient is multiplied by s on its way to the row, and the row on its way out",
)

# %% [markdown]
# So the paper's $\sqrt{D}$ also makes the learning rate of the token part $D$ times as large: 512
# times. Whoever compares a model with the factor to one without, at one learning rate, compares two
# learning rates. An optimiser whose steps do not grow with the gradient, such as Adam, keeps one of
# the two factors:

# %%
from scratch_embed import Adam, Tensor

moves = []
for start, factor in ((table, s), (s * table, 1.0)):
    weight = Tensor(start.copy(), requires_grad=True)
    weight.grad = scaled_lookup_backward(G, ids[:1], factor, 3)
    Adam([weight], lr=eta).step()
    moves.append(factor * (weight.data - start)[1, 0])
times = worked.quotient("Adam: times as far, column 0", *moves)

# %% [markdown]
# And which factor is best? A small model that must name token and place was tried with each, in the
# lab `which_factor`. At one small learning rate for all, $\sqrt{D}$ wins. Once each gets the best
# rate for itself, no factor at all wins: it bears larger steps. Balance at the start is one thing
# among several, and training moves the lengths anyway.
#
# ## Who scales?
# The first Transformer does. GPT-2 and BERT do not: their positions are learned and start about
# as small as the tokens. Llama does not: it adds no positions at all. Gemma adds none either, and
# scales all the same. So loud positions are not the only reason to scale. A table that also scores
# (lesson 4) must have short rows there, and may want longer ones at the input; the factor gives
# both.
#
# ## What did we learn?
# - Sinusoids have the length $\sqrt{D/2}$, random rows $\sigma\sqrt{D}$. The longer one is heard.
# - $\sqrt{D/2}$ makes the two equal, $\sqrt{D}$ comparable, for rows of length 1 and no others.
# - A factor $s$ also multiplies the gradient: the row, as the model sees it, moves $s^2$ times.
#
# Write the clocks: `python -m lessons exercise sinusoids`. LayerNorm is the other way to deal with
# lengths: lesson 14.
