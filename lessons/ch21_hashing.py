# %% [markdown]
# # 21. More words than rows: hashing
#
# **Question.** What if there are more things than one can afford rows, or nobody knows them all
# beforehand? And what becomes of two that must share a row?
#
# **Afterwards** you can hash anything into a table, say how many will collide, and untangle most
# of it with a second hash.
#
# **Time** 15 minutes. **Needs** lessons 0, 10. **Exercise** `hashed_rows`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## Anything can be looked up
# A table does not care what its rows stand for: words, users, films, squares of a chess board. It
# only wants a number from 0 to $V - 1$. For words a vocabulary deals the numbers out. For the web
# addresses that visitors of a shop come from, there is no list, and new ones come every day.
#
# So calculate the number from the thing itself: a **hash** mixes its letters into a large number,
# and the remainder by $V$ is the row. This one is called FNV-1a; it is a multiplication a letter.


# %%
def mixed(text):
    h = 2166136261
    for byte in text.encode():
        h = ((h ^ byte) * 16777619) % 2**32
    return h


def hash_of(text, V):
    return mixed(text) % V


names = ["news.org", "maps.com", "shop.net", "mail.com", "blog.io", "wiki.org"]
V, D = 8, 2
rows_of = np.array([hash_of(name, V) for name in names])
show("row", rows_of, columns=names)

# %% [markdown]
# Nothing was stored but the table itself, and a name never seen before has a row at once. The
# price: six names, eight rows, and nobody promises that no two meet.

# %%
q = guess(
    "Six names thrown into eight rows by chance: how many of them will share a row with another, "
    "on average?"
)


def _sharing(V, names=6, draws=20_000, seed=21):
    thrown = np.random.default_rng(seed).integers(V, size=(draws, names))
    same = (thrown[:, :, None] == thrown[:, None, :]).sum(axis=2) > 1
    return same.sum(axis=1).mean()


alone = worked.line("P(a name is alone)", "(1 - 1/8)^5", (1 - 1 / 8) ** 5)
expected = worked.line("names that share", f"6 * (1 - {alone:.4f})", 6 * (1 - alone))
print(
    f"  20,000 draws: {_sharing(8):.3f} on average; here: "
    f"{sum(list(rows_of).count(r) > 1 for r in rows_of)}"
)
q.answer(expected, tolerance=0.5, because="with 8 rows there is far less room than one thinks")

# %% [markdown]
# ## What sharing does to a gradient
# Two names in one row are, for the table, one name. What the one learns the other must unlearn. Let
# us see it on numbers: every name wants to be at a place of its own.

# %%
rng = np.random.default_rng(21)
wanted = rng.normal(size=(6, D)).round(1)
E = np.zeros((V, D))
show("wanted", wanted, rows=names)


def loss(E):
    return ((E[rows_of] - wanted) ** 2).sum() / 2


def backward(E):
    dE = np.zeros_like(E)
    for row, difference in zip(rows_of, E[rows_of] - wanted):
        dE[row] += difference  # names that share a row pull at it together
    return dE


# %%
shared = [r for r in range(V) if list(rows_of).count(r) > 1]
row = shared[0] if shared else int(rows_of[0])
slope = worked.nudge("E", loss, E, (row, 0))
lost = np.zeros_like(E)
lost[rows_of] = E[rows_of] - wanted  # the last name wins
beside(
    "dE",
    rows=[f"row {r}" for r in range(V)],
    added=backward(E),
    last_wins=lost,
    nudged=slopes(loss, E),
    wrong="last_wins" if shared else (),
)

# %% [markdown]
# Where does descent end? Where the pulls cancel: in the **mean** of what its names want.

# %%
q = guess(
    "Names that share a row: what is left of the loss after any amount of training?",
    ["nothing, in the end", "the spread of what they want around their mean"],
)
for _ in range(200):
    E = E - 0.3 * backward(E)
together = [n for n in range(6) if rows_of[n] == row]
mean = worked.scale(
    f"mean of {', '.join(names[n] for n in together)}",
    1 / len(together),
    wanted[together].sum(axis=0),
)
compare(f"E[{row}]", by_hand=mean, trained=E[row])
spread = (
    sum(
        ((wanted[rows_of == r] - wanted[rows_of == r].mean(axis=0)) ** 2).sum()
        for r in set(rows_of)
    )
    / 2
)
compare("loss", spread_around_means=spread, trained=loss(E))
q.answer(
    "the spread of what they want around their mean" if loss(E) > 1e-6 else "nothing, in the end",
    because="one row cannot be in two places",
)

# %% [markdown]
# ## A second hash
# Give every name two rows, by two different hashes, and add them. Two names that share the first
# are unlikely to share the second too, so they can be told apart after all, if the hashes have
# nothing to do with each other. The large number has 32 bits, and the first row is made of the last
# three. So make the second of others, those from the 17th on.


# %%
def two_rows(name, V):
    return hash_of(name, V), (mixed(name) >> 16) % V


# %% [markdown]
# Would it not be easier to put a word in front of the name and hash once more? Look at the
# multiplication: the last three bits of a product depend on the last three bits of its factors
# alone, so the last three of the hash know nothing of all others.

# %%
q_front = guess(
    "2,000 names, eight rows. If the second row is the hash of 'second ' + name, how many of the "
    "64 (first row, second row) come up?",
    ["all of them", "far fewer"],
)
many = [f"site{n}.net" for n in range(2_000)]
met = {
    "other bits": len({two_rows(name, V) for name in many}),
    "a word in front": len({(hash_of(name, V), hash_of("second " + name, V)) for name in many}),
}
print("  " + ", ".join(f"{how}: {number} of 64" for how, number in met.items()))
q_front.answer(
    "far fewer" if met["a word in front"] < 0.5 * met["other bits"] else "all of them",
    because="both see the same last bits of the same letters, so one row nearly settles the other",
)

# %% [markdown]
# Now the way back. The gradient goes to both rows: a lookup twice, a scatter-add twice.

# %%
pair = np.array([two_rows(name, V) for name in names])


def loss2(E):
    return ((E[pair[:, 0]] + E[pair[:, 1]] - wanted) ** 2).sum() / 2


def backward2(E):
    dE = np.zeros_like(E)
    difference = E[pair].sum(axis=1) - wanted
    for n in range(len(pair)):
        for row in pair[n]:
            dE[row] += difference[n]
    return dE


E2 = rng.normal(size=(V, D)) * 0.1
compare("dE", by_hand=backward2(E2), nudged=slopes(loss2, E2))
q = guess("The same eight rows, but two a name: how many pairs of rows can a name have?")
q.answer(V * (V + 1) // 2, because="8 times 9 halves: the order of a pair does not matter")

# %%
for _ in range(2000):
    E2 = E2 - 0.2 * backward2(E2)
print(f"  loss after training: one hash {loss(E):.4f}, two hashes {loss2(E2):.6f}")

# %% [markdown]
# The package has it as a layer, with strings or numbers for ids:

# %%
from scratch_embed import hashing
from scratch_embed.layers import HashEmbedding

layer = HashEmbedding(V, D, rng=0)
print("  rows of three names", layer(["news.org", "maps.com", "never seen"]).shape)
for buckets in (1_000, 10_000, 100_000):
    found = hashing.collisions([f"site {n}" for n in range(10_000)], buckets)
    print(f"  10,000 names in {buckets:>7,} rows: {found.sharing:6,} share one")

# %% [markdown]
# The picture: how much room must a table have? Each curve is the share of names that share a row.

# %%
from scratch_embed import plot


def _draw():
    room = np.geomspace(0.25, 32, 30)  # rows for each name
    n = 10_000
    one = 1 - (1 - 1 / (room * n)) ** (n - 1)
    both = 1 - (1 - 2 / (room * n) ** 2) ** (n - 1)
    figure, ax = plot.figure(size=(7.5, 4.2))
    plot.lines(
        ax,
        room,
        {"one row a name": one, "both of two rows": both},
        logx=True,
        logy=True,
        xlabel="rows for each name",
        ylabel="share of names",
        title="10,000 names: how many cannot be told from some other",
    )
    ax.axvline(1, color="grey", lw=0.8, ls=":")
    return figure


save_figure(_draw(), "ch21_collisions.png")
play("collisions")

# %% [markdown]
# ## What did we learn?
# - A hash finds a row for anything, without a list, and lets things collide.
# - Things that share a row end in the mean of what they want.
# - Two hashes tell nearly all apart with the same table.
#
# (Is that better than a row for each frequent word, and one for all others? See
# `python -m lessons lab hashing_or_a_table`.)
#
# Write it: `python -m lessons exercise hashed_rows`. Where next: lesson 22 breaks a healthy model
# in seven ways, to see what one sees.
