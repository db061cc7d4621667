# %% [markdown]
# # 24. Six rows on two machines
#
# **Question.** A table has outgrown its machine, so its rows are dealt out to several. How does a
# lookup find them, and how does each gradient find its way back?
#
# **Afterwards** you can write both halves of such a lookup, and say which sums may be taken where.
#
# **Time** 20 minutes. **Needs** lessons 0, 20. **Exercises** `route_ids`.

# %%
import numpy as np

from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## Who owns which row
# Six words, six rows, two machines. The rows on one machine are called a **shard**. Deal them out
# in turns: row i goes to shard i mod 2, and lies there at place i // 2. To find a row, its number
# is enough.

# %%
V, D, S = 6, 2, 2
words = ["the", "cat", "sat", "on", "a", "mat"]
E = np.array([[0.5, 0.1], [0.2, -0.3], [0.9, 0.4], [-0.6, 0.8], [0.3, 0.3], [-0.2, -0.7]])


def owner(ids):
    return ids % S


def place(ids):
    return ids // S


shards = [E[s::S].copy() for s in range(S)]
for s in range(S):
    show(f"shard {s}", shards[s], rows=words[s::S])
cat = worked.line("owner of cat, row 1", "1 mod 2", int(owner(np.array(1))))
a_place = worked.line("place of a, row 4", "4 // 2", int(place(np.array(4))))

# %% [markdown]
# The batch is shared out as well. Each machine is also a **worker**: it reads some sentences, and
# needs rows from both shards. Worker 0 has "cat a cat the", worker 1 has "a cat".

# %%
ids = [np.array([1, 4, 1, 0]), np.array([4, 1])]
for w in range(2):
    show(f"ids of worker {w}", ids[w], columns=[words[i] for i in ids[w]])
q_travel = guess("How many rows have to travel from the shards to worker 0?")

# %% [markdown]
# ## All to all
# Each worker names a row once, however often it reads it, and sorts what it wants by owner. Then it
# cuts the list: a piece for each shard. So every worker sends a piece to every shard, at the same
# time; that is an **all-to-all**. The answers go the same ways back.


# %%
def wanted_by(ids):
    distinct = np.unique(ids)  # each once
    order = np.argsort(owner(distinct), kind="stable")  # shard 0's first
    return distinct[order]


def pieces(wanted):
    return [wanted[owner(wanted) == s] for s in range(S)]


for w in range(2):
    wanted = wanted_by(ids[w])
    print(f"  worker {w} wants rows {wanted}, owners {owner(wanted)}")
    for s, piece in enumerate(pieces(wanted)):
        print(f"    to shard {s}: rows {piece}, which lie at places {place(piece)}")
because = "cat, a and the: cat stands twice, and its row is sent once"
q_travel.answer(len(wanted_by(ids[0])), because)

# %% [markdown]
# A shard looks up the places that it is asked for, as in lesson 0. What it sends to worker 0:

# %%
for s, piece in enumerate(pieces(wanted_by(ids[0]))):
    worked.lookup(f"from_{s}", shards[s], place(piece))

# %% [markdown]
# What comes back stands in the order of the owners. The batch has another order, and "cat" twice.
# So the worker remembers where in the list each id stood, and reads from there.


# %%
def answers(ids, shards):
    asked = enumerate(pieces(wanted_by(ids)))
    return np.concatenate([shards[s][place(piece)] for s, piece in asked])


def fetch(ids, shards):
    where = {row: n for n, row in enumerate(wanted_by(ids))}
    return answers(ids, shards)[[where[row] for row in ids]]


def forgetful(ids, shards):
    where = np.searchsorted(np.unique(ids), ids)  # as if by number
    return answers(ids, shards)[where]


places = [words[i] for i in ids[0]]
ways = {"right": fetch(ids[0], shards), "forgotten": forgetful(ids[0], shards)}
beside("rows", rows=places, **ways, one_machine=E[ids[0]], wrong="forgotten")
print(f"  the same bits as E[ids]: {all(np.array_equal(fetch(i, shards), E[i]) for i in ids)}")

# %% [markdown]
# Nothing was calculated on the way, only copied. So it is exact, whatever the number of shards.
#
# ## The way back
# Each of the six places wants its vector to be at some point, and the loss is the mean over **all
# six** of half the squared distance. The gradient of a place is then its difference, divided by 6.

# %%
points = [
    np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5], [0.0, 0.0]]),
    np.array([[2.0, 1.0], [0.5, -1.0]]),
]
N = sum(map(len, ids))


def loss(E):
    return sum(((E[i] - p) ** 2).sum() / 2 for i, p in zip(ids, points)) / N


g = [(fetch(i, shards) - p) / N for i, p in zip(ids, points)]
for w in range(2):
    show(f"g at worker {w}", g[w].round(4), rows=[words[i] for i in ids[w]])
q_arrive = guess("Three places read 'cat'. How many gradient rows for it arrive at its shard?")

# %% [markdown]
# A worker first sums what belongs to the same row: the row-sparse gradient of lesson 20. Then it
# cuts it by owner, and each shard gets one piece, with each row at most once.


# %%
def send_back(ids, g):
    wanted = wanted_by(ids)
    where = {row: n for n, row in enumerate(wanted)}
    sums = np.zeros((len(wanted), D))
    for n, row in enumerate(ids):
        sums[where[row]] += g[n]  # equal rows meet here, before they travel
    return wanted, sums


sent = [send_back(i, gi) for i, gi in zip(ids, g)]
from_0 = worked.sum("cat, from worker 0", g[0][0], g[0][2], why="two places, one row to send")
at_shard = worked.sum("cat, at shard 1", from_0, g[1][1], why="and worker 1 sent its only one")
because = "one from each worker that read it; worker 0 has summed its two places"
q_arrive.answer(sum(int(1 in wanted) for wanted, _ in sent), because)

# %% [markdown]
# The shard adds the pieces, in the order of the workers, so that every run gives the same bits.
# Within a piece all rows differ, so here NumPy's short `+=` is right.


# %%
def collect(sent, s):
    d = np.zeros_like(shards[s])
    for wanted, sums in sent:
        mine = owner(wanted) == s
        d[place(wanted[mine])] += sums[mine]
    return d


def whole(parts):
    table = np.zeros((V, D))
    for s in range(S):
        table[s::S] = parts[s]
    return table


# %% [markdown]
# Tempting: lay the pieces of all workers together first, and add once. Each of them names a row
# once. Do they, together?


# %%
def together(sent, s):
    wanted = np.concatenate([wanted for wanted, _ in sent])
    sums = np.concatenate([sums for _, sums in sent])
    mine = owner(wanted) == s
    d = np.zeros_like(shards[s])
    d[place(wanted[mine])] += sums[mine]
    return d


from scratch_embed.gradcheck import slopes

slope = worked.nudge("E", loss, E, (1, 0))

# %%
dE = whole([collect(sent, s) for s in range(S)])
laid_together = whole([together(sent, s) for s in range(S)])
nudged = slopes(loss, E)
read, names = [0, 1, 4], ["the", "cat", "a"]
ways = {"piece_by_piece": dE[read], "together": laid_together[read], "nudged": nudged[read]}
beside("dE of the rows that were read", rows=names, **ways, wrong="together")
print(f"  of the others: {dE[[2, 3, 5]].any() or nudged[[2, 3, 5]].any() or 'zero'}")

# %% [markdown]
# "cat" and "a" were sent by both workers, and lost one of two sums. It is the bug of lesson 0, one
# floor higher: rows that are distinct at each worker are not distinct together.
#
# One machine that reads all six places finds the same gradient:

# %%
flat_ids, one = np.concatenate(ids), np.zeros((V, D))
np.add.at(one, flat_ids, np.concatenate(g))
compare("dE[cat]", by_hand=at_shard, shards=dE[1], one_machine=one[1], nudged=nudged[1])
print(f"  the same bits as on one machine: {np.array_equal(dE, one)}")

# %% [markdown]
# (These bits agree because worker 1 reads each word once. Longer sums depend on their order in the
# last digit, and here they are grouped by worker. A single worker has the order of one machine.)
#
# ## A mean of means
# Workers like to take the mean loss of their own places. Worker 0 then divides by 4 and worker 1 by
# 2, and the shard takes the mean of the two.

# %%
options = ["yes", "no: places of worker 1 count too much", "no: places of worker 0 do"]
q = guess("Is that the gradient of the mean over all six places?", options)
averaged = [send_back(i, gi * N / len(i) / 2) for i, gi in zip(ids, g)]
mean_of_means = whole([collect(averaged, s) for s in range(S)])
weights = worked.quotient("weight of a place, worker 0", 1, 2 * len(ids[0]))
weights_1 = worked.quotient("weight of a place, worker 1", 1, 2 * len(ids[1]))
ways = {"sum_of_all": dE[read], "mean_of_means": mean_of_means[read], "nudged": nudged[read]}
beside("dE", rows=names, **ways, wrong="mean_of_means")
because = "1/4 instead of 1/6: workers with few places speak louder"
q.answer(options[1] if weights_1 > 1 / N > weights else options[0], because)

# %% [markdown]
# It is right when all workers have equally many places. So it is right in every test with full
# batches, and wrong at the end of the text. Divide by the number of places of **all** workers, and
# then only add.
#
# ## The step, and rows that are stale
# The gradients are now where the rows are, so the step is taken there: `shard -= eta * d`. What an
# optimiser remembers of a row lies beside it, and never travels.
#
# Then come the next rows. What if worker 1 asked for them a little early, before the step?


# %%
def gradient(seen):
    """dE in shards; seen[w] are the shards as worker w has read them."""
    g = [(fetch(i, s) - p) / N for i, p, s in zip(ids, points, seen)]
    sent = [send_back(i, gi) for i, gi in zip(ids, g)]
    return [collect(sent, s) for s in range(S)]


eta = 1.0
after = [shard - eta * d for shard, d in zip(shards, gradient([shards, shards]))]
q = guess(
    "Worker 1 calculates step 2 with rows from before step 1. Which gradients are wrong?",
    ["of all rows that are read", "of the rows that worker 1 reads", "none"],
)

# %%
in_step, stale = whole(gradient([after, after])), whole(gradient([after, shards]))
now = slopes(loss, whole(after))
ways = {"in_step": in_step[read], "stale": stale[read], "nudged": now[read]}
beside("dE in step 2", rows=names, **ways, wrong="stale")
wrong = np.flatnonzero((np.abs(stale - now) > 1e-6).any(axis=1))
q.answer(
    "of the rows that worker 1 reads" if set(wrong) == set(ids[1]) else "of all rows that are read",
    because=f"{' and '.join(words[i] for i in wrong)}; old rows give old differences",
)

# %% [markdown]
# So workers wait: rows for step 2 are sent when every worker has sent its gradients of step 1. That
# is training **in step**. With a bound of k one relaxes it on purpose: rows may miss gradients of
# the last k steps, and nobody waits for the slowest at every step.

# %%
from scratch_embed import plot


def _draw():
    figure, axes = plot.figure(2, 3, size=(8.6, 5.4))
    colours = ["blue", "vermillion"]
    look = {"cols": ["0", "1"], "bar": False, "limit": 1.0, "digits": 1}
    for k in range(2):
        wanted = wanted_by(ids[k])
        came, there = [words[i] for i in wanted], [words[i] for i in ids[k]]
        plot.heatmap(axes[k, 0], shards[k], rows=words[k::S], title=f"shard {k}", **look)
        plot.heatmap(axes[k, 1], E[wanted], rows=came, title=f"came to worker {k}", **look)
        plot.heatmap(axes[k, 2], E[ids[k]], rows=there, title="in its order", **look)
        for n, row in enumerate(wanted):
            s = int(owner(row))
            plot.flow(axes[s, 0], int(place(row)), axes[k, 1], n, colours[s])
        for n, row in enumerate(ids[k]):
            at = int(np.flatnonzero(wanted == row)[0])
            plot.flow(axes[k, 1], at, axes[k, 2], n, colours[int(owner(row))])
    figure.get_layout_engine().set(wspace=0.3, hspace=0.1)
    return figure


save_figure(_draw(), "ch24_all_to_all.png")

# %% [markdown]
# ## The package
# `ShardedEmbedding` is used as an `Embedding` is. Its optimiser is made where the rows are, so it
# is given as a function that makes one; and the table takes its step itself.

# %%
from scratch_embed import SGD, Embedding
from scratch_embed.sharding import ShardedEmbedding

one_table = Embedding(V, D, sparse=True, rng=24, dtype=np.float64)
optimizer = SGD([one_table.weight], lr=eta)
layer = ShardedEmbedding(V, D, S, lambda p: SGD(p, lr=eta), rng=24, dtype=np.float64)
hand = [one_table.weight.data[s::S].copy() for s in range(S)]  # both drew the rows from 24

for step in range(2):
    for table in (one_table, layer):
        difference = table(flat_ids) - np.concatenate(points)
        ((difference * difference).sum() / (2 * N)).backward()
    optimizer.step()
    optimizer.zero_grad()
    layer.step()
    hand = [shard - eta * d for shard, d in zip(hand, gradient([hand, hand]))]
travelled = layer.traffic["rows"] + layer.traffic["gradients"]

# %%
compare("E after two steps", by_hand=whole(hand), code=layer.table())
same = np.array_equal(layer.table(), one_table.weight.data)
print(f"  the same bits as an Embedding on one machine: {same}")
way = worked.product("bytes of the rows of a step", 3, D, 8, why="one way: the, cat, a")
all_ways = worked.product("two steps, there and back", 2, 2, way)
print(f"  and the layer has counted {travelled}")

# %% [markdown]
# ## What did we learn?
# - A row's number tells its owner. Each distinct row travels once there, its gradient once back.
# - Equal rows are summed at the worker, then at the shard, piece by piece; nobody averages.
# - The step is taken where the rows live, and rows from before it give gradients of the past.
#
# Write it: `python -m lessons exercise route_ids`. How many bytes travel in real batches, and which
# shard is the busiest: `python -m lessons lab bytes_and_busy_shards`. Several machines in earnest:
# `scratch_embed/cluster.py`. That was the last lesson of the path.
