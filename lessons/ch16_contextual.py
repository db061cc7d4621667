# %% [markdown]
# # 16. One row, many meanings
#
# **Question.** "bank" has one row in the table. How can it mean one thing beside a river and
# another beside money, and what does its row learn from both?
#
# **Afterwards** you can follow a token from its row to its state in a sentence and back, and say
# what may be renumbered in a model without changing anything.
#
# **Time** 15 minutes. **Needs** lessons 0, 12, 15. **Exercise** `contextual_row`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## Three words, two sentences
# "river" points right, "money" points up, and "bank" lies halfway between the two.

# %%
words = ["river", "money", "bank"]
E = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
sentences = np.array([[0, 2], [1, 2]])  # river bank; money bank
show("E", E, rows=words)


def lookup(E, ids):
    return E[ids]


q = guess("How far apart are the two rows of 'bank', read in the two sentences?")
rows = lookup(E, sentences)
apart = worked.distance("bank, bank", rows[0, 1], rows[1, 1])
q.answer(apart, tolerance=1e-9, because="a lookup sees the id and nothing else: the row is static")

# %% [markdown]
# Whatever is done to each token by itself (a matrix, a tanh, a norm, a hundred layers of them) the
# two stay the same to the last bit: same input, same output. Only an operation that mixes tokens
# can part them.
#
# ## Attention parts them
# In its barest form: no matrices, no scale. Scores, softmax, a mixture of rows.


# %%
def softmax(z):
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def attend(x):
    weights = softmax(x @ np.swapaxes(x, -1, -2))
    return weights @ x


# %%
def _state_by_hand(first):
    x = E[[first, 2]]
    scores = worked.matmul("score", x[1:], x.T)[0]
    w = worked.softmax("scores", scores)
    told = f'"bank" after "{words[first]}"'
    return worked.sum("state", w[0] * x[0], w[1] * x[1], why=told)


by_river = _state_by_hand(0)

# %%
q = guess(
    "The other sentence swaps river for money. What will the state of 'bank' be?",
    [
        "the same",
        "the first one with its two numbers swapped",
        "something else",
    ],
)
by_money = _state_by_hand(1)
q.answer(
    "the first one with its two numbers swapped"
    if np.allclose(by_money, by_river[::-1])
    else "something else",
    because="money is river mirrored, and bank lies on the mirror",
)

# %%
states = attend(rows)
compare("states of bank", by_hand=[by_river, by_money], code=states[:, 1])
worked.distance("state, state", states[0, 1], states[1, 1])

# %% [markdown]
# So one row, and two states: the row is the word's starting point, the state (a contextual vector)
# is what the sentence makes of it. "The embedding of a word" may mean either; say which.
#
# ## The way back: a compromise
# Both sentences send a gradient to the row of "bank". It is read twice, so it collects twice, and
# it cannot please both. In each sentence it even plays three roles at once: it asks, it is looked
# at, and it is mixed in.

# %%
g = np.array([[[0.3, -0.2], [1.0, 0.0]], [[-0.1, 0.4], [0.0, -1.0]]])


def loss(E, which=(0, 1)):
    states = attend(lookup(E, sentences))
    return sum((states[s] * g[s]).sum() for s in which)


slope = worked.nudge("E", loss, E, (2, 0))

# %%
alone = [slopes(lambda E, s=s: loss(E, [s]), E) for s in (0, 1)]
both = slopes(loss, E)
show("one by one", np.array([a[2] for a in alone]), rows=["river bank asks", "money bank asks"])
total = worked.sum("dE[bank]", alone[0][2], alone[1][2], why="the row collects from both")
compare("dE[bank]", by_hand=total, nudged=both[2])

# %% [markdown]
# The package, for the whole table. The tempting mistake is to write each sentence's gradient into
# the row instead of adding it:

# %%
from scratch_embed import Tensor
from scratch_embed.functional import attention
from scratch_embed.functional import lookup as ours

table = Tensor(E, requires_grad=True, name="E")
x = ours(table, sentences)
attention(x, x, x, scale=1.0).backward(g)
last = np.where(np.any(alone[1] != 0, axis=1)[:, None], alone[1], alone[0])
beside("dE", rows=words, code=table.grad, last_sentence=last, nudged=both, wrong="last_sentence")

# %% [markdown]
# ## What is in the row, then?
# Let us train a model that has to tell the banks apart. Twelve words of water and twelve of money
# stand before "bank", and what comes after "bank" depends on which: shore or vault. The table has
# one row for "bank".

# %%
from scratch_embed import Embedding, geometry
from scratch_embed.functional import cross_entropy, project
from scratch_embed.layers import SelfAttention
from scratch_embed.optim import Adam

WATER, MONEY, BANK, SHORE, VAULT = range(12), range(12, 24), 24, 25, 26


def _batch(rng, size=64):
    first = rng.integers(24, size=size)
    return np.stack([first, np.full(size, BANK)], axis=1), np.where(first < 12, SHORE, VAULT)


def _train(seed, steps=150):
    rng = np.random.default_rng(seed)
    table = Embedding(27, 8, rng=rng, init=0.3, dtype=np.float64)
    mix = SelfAttention(8, dtype=np.float64, rng=rng)
    optimizer = Adam([*table.parameters(), *mix.parameters()], lr=0.02)
    for _ in range(steps):
        ids, following = _batch(rng)
        optimizer.zero_grad()
        logits = project(mix(table(ids))[:, 1], table.weight)
        cross_entropy(logits, following).backward()
        optimizer.step()
    return table, mix


q = guess(
    "After training, what will the states of 'bank' do that its row cannot?",
    ["fall into two groups", "all be alike", "scatter at random"],
)
table, mix = _train(16)
ids = np.array([[first, BANK] for first in range(24)])
found = mix(table(ids)).numpy()[:, 1]
kind = np.arange(24) < 12
likeness = geometry.cosines(found - found.mean(axis=0))
within, across = likeness[np.ix_(kind, kind)].mean(), likeness[np.ix_(kind, ~kind)].mean()
print(f"  states less their mean: cosine {within:.2f} within a kind, {across:.2f} across")
q.answer(
    "fall into two groups" if within > 0.5 and across < 0 else "scatter at random",
    because="attention mixed in a neighbour of one kind or the other, and the task needs to know",
)

# %%
from scratch_embed import plot


def _draw(found, row):
    view = geometry.pca(np.concatenate([found, row[None]]), 2).coords
    figure, ax = plot.figure(size=(6.4, 4.4))
    for name, chosen, marker, colour in (
        ("after a water word", kind, "o", "blue"),
        ("after a money word", ~kind, "s", "vermillion"),
    ):
        ax.scatter(*view[:-1][chosen].T, marker=marker, c=plot.PALETTE[colour], label=name)
    ax.scatter(*view[-1], marker="*", s=200, c=plot.PALETTE["black"], label="the row itself")
    ax.set(xlabel="first principal component", ylabel="second principal component")
    ax.set_title("One row of 'bank', and its states in 24 sentences")
    ax.legend(frameon=False)
    return figure


save_figure(_draw(found, table.weight.numpy()[BANK]), "ch16_states.png")

# %% [markdown]
# ## The numbers on the rows mean nothing
# One more thing follows from a row being only a starting point that is found by its number. Deal
# all ids anew: token $i$ becomes $\pi(i)$, everywhere, and its row moves along. Does anything
# change?

# %%
q = guess(
    "All ids and all rows are permuted together. What happens to the loss?",
    ["it stays, to the last bit or nearly", "it changes a little", "the model is broken"],
)
rng = np.random.default_rng(3)
pi = rng.permutation(27)
inputs, following = _batch(rng)


def model_loss(E, inputs, following):
    logits = project(mix(E[inputs])[:, 1], E)
    return cross_entropy(logits, following).item()


E_old = table.weight.numpy()
E_new = np.empty_like(E_old)
E_new[pi] = E_old
before = model_loss(E_old, inputs, following)
after = model_loss(E_new, pi[inputs], pi[following])
forgot = model_loss(E_new, pi[inputs], following)
print(f"  loss before {before:.6f}, all dealt anew {after:.6f}, targets forgotten {forgot:.3f}")
q.answer(
    "it stays, to the last bit or nearly" if abs(after - before) < 1e-9 else "it changes a little",
    because="an id is only ever used to find a row; the word 'everywhere' carries the weight, as "
    "the last figure shows",
)

# %% [markdown]
# ## What did we learn?
# - A row is static; a state is made of it by whatever mixes tokens.
# - The row collects the gradients of all its uses: it is a compromise.
# - Ids may be dealt anew, if rows, inputs and targets all go along.
#
# Write a state and its way back: `python -m lessons exercise contextual_row`. How well do states
# tell two words apart that share a row, in a real text? The lab `one_row_many_states` measures it.
# Where next: lesson 17 learns rows from nothing but the company that words keep.
