# %% [markdown]
# # Hashing, or an honest table?
#
# **Question.** There is room for an eighth of the rows. Is it better to hash all words into them
# (once, or twice and add), or to give the frequent words a row each and all others a single one?
#
# **Guess.** Words follow Zipf's law, so the frequent eighth makes up most of the text: the honest
# table should be ahead of one hash, and two hashes may be ahead of both.
#
# **Control.** A table with a row for every word, and one hash into as many rows as there are words.
#
# **Baseline.** One row for all words: the mean of what they want.
#
# **Threshold.** A way is ahead when its error, weighted by how often words are read, is lower for
# every seed at the longest budget.

# %%
import numpy as np

from scratch_embed import plot
from scratch_embed.hashing import buckets
from scratch_embed.lesson import across, begin, save_figure, show

begin()

V, D, ROOM = 4096, 8, 512

# %% [markdown]
# Every word wants to be at a place of its own (numbers from a bell curve), and words are read by
# Zipf's law. The error of a table is the mean squared distance of rows from wishes, a word counting
# as often as it is read. Guessing the mean of all wishes leaves an error of about 1.


# %%
def rows_of(way, seed):
    """(V, K) the rows that each word adds up."""
    names = np.array([f"word{n}" for n in np.random.default_rng(seed).permutation(V)])
    if way == "one row":
        return np.zeros((V, 1), int)
    if way == "a table of all":
        return np.arange(V)[:, None]
    if way == "frequent words":
        return np.minimum(np.arange(V), ROOM - 1)[:, None]  # the last row is everybody else's
    room = V if way == "hash, no less room" else ROOM
    hashes = 2 if way == "two hashes" else 1
    return np.stack([buckets(names, room, seed=1000 * seed + k) for k in range(hashes)], axis=1)


def run(seed, budget, way):
    """The error after so many steps of descent on whole passes, each row at a step of its own."""
    rng = np.random.default_rng(seed)
    wanted, share = rng.normal(size=(V, D)), 1 / np.arange(1, V + 1)
    share /= share.sum()
    rows = rows_of(way, seed)
    read = np.bincount(rows.ravel(), np.repeat(share, rows.shape[1]))  # how often each row is
    E = np.zeros((len(read), D))
    for _ in range(budget):
        gap = (E[rows].sum(axis=1) - wanted) * share[:, None]
        step = np.zeros_like(E)
        for k in range(rows.shape[1]):
            np.add.at(step, rows[:, k], gap)
        E -= step / np.maximum(read, 1e-12)[:, None] / rows.shape[1]
    off = ((E[rows].sum(axis=1) - wanted) ** 2).mean(axis=1)
    return float((off * share).sum())


WAYS = (
    "a table of all",
    "hash, no less room",
    "frequent words",
    "one hash",
    "two hashes",
    "one row",
)
results = across(run, {way: {"way": way} for way in WAYS}, budgets=(20, 80), quick_budgets=(20,))
results.show()

# %%
results.claim("frequent words", "below", "one hash")
results.claim("two hashes", "below", "one hash")
results.claim("frequent words", "below", "two hashes")
results.claim("two hashes", "below", "one row")
share = 1 / np.arange(1, V + 1)
show("of the text", [share[: ROOM - 1].sum() / share.sum()], columns=["the frequent words' share"])

# %%
figure, ax = plot.figure(size=(8, 3.8))
finals = {way: results.final(way) for way in WAYS}
middle = [float(np.median(final)) for final in finals.values()]
plot.bars(
    ax,
    list(finals),
    middle,
    ylabel="error, weighted",
    fmt="{:.2f}",
    title=f"{V:,} words, room for {ROOM} rows",
)
ax.tick_params(axis="x", labelrotation=15)
save_figure(figure, "lab_hashing_or_a_table.png")

# %% [markdown]
# What this does not show: words whose wishes are alike (then sharing helps), names that come after
# training (an honest table has only its single row for them), and more than two hashes.
