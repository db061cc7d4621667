# %% [markdown]
# # 6. The space of rows: what is near, and who put it there
#
# **Question.** A row is a point. After training, points that lie close together mean something to
# the model. What moved them there, how much room do they need, and what does a picture show of it?
#
# **Afterwards** you can measure nearness in two ways, make clusters by a gradient, tell groups that
# were ordered from groups that were found, and distrust a map of two dimensions.
#
# **Time** 25 minutes. **Needs** lessons 0, 12, 4. **Exercise** `nearest_rows`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## Two ways to say near
# Three rows, as points in the plane: two animals and a colour.

# %%
words = ["cat", "dog", "red"]
E = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 2.0]])
show("E", E, rows=words)


def distance(a, b):
    return np.sqrt(((a - b) ** 2).sum())


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


# %% [markdown]
# Distance asks how far it is from point to point. The cosine asks for the angle between two arrows
# that start at zero: 1 for the same direction, 0 for a right angle, -1 for opposite ones.

# %%
q_near = guess("By distance and by cosine: who is nearest to 'cat'?", ["dog", "red"])
q_longer = guess("Make the row of 'dog' three times as long. What is its cosine with 'cat' then?")
worked.distance("cat, dog", E[0], E[1])
worked.distance("cat, red", E[0], E[2])
worked.cosine("cos(cat, red)", E[0], E[2])
worked.cosine("cos(cat, dog)", E[0], E[1])

# %%
nearer = distance(E[0], E[2]) < distance(E[0], E[1]) and cosine(E[0], E[2]) > cosine(E[0], E[1])
q_near.answer("red" if nearer else "dog", because="near, and in the very same direction")
q_longer.answer(cosine(E[0], 3 * E[1]), because="length stands above and below, and cancels")

# %% [markdown]
# ## Pull and push
# To a person, "cat" belongs to "dog". Suppose somebody tells us the groups. Then a loss can ask for
# clusters: friends shall be near, strangers far. For each pair of one group it counts half the
# squared distance; for each pair of two groups, minus half its logarithm, which is large where
# strangers meet.


# %%
def loss(E, groups):
    total = 0.0
    for i in range(len(E)):
        for j in range(i):
            square = ((E[i] - E[j]) ** 2).sum()
            friends = groups[i] == groups[j]
            total += square / 2 if friends else -np.log(square) / 2
    return total


groups = ["animal", "animal", "colour"]
print(f"  loss {loss(E, groups):.4f}")

# %% [markdown]
# Its slope for $E_i$ is $E_i - E_j$ from each friend, and $-(E_i - E_j) / |E_i - E_j|^2$ from each
# stranger. A step goes against the slope: towards friends, away from strangers, and hardest from
# those who are close. By hand for "cat":

# %%
friend = worked.difference("from dog", E[0], E[1], why="a friend: the difference")
gap = worked.difference("cat - red", E[0], E[2])
stranger = worked.scale("from red", -1 / (gap @ gap), gap, why="a stranger: over the square, minus")
cat = worked.sum("dE[cat]", friend, stranger)
worked.nudge("E", lambda E: loss(E, groups), E, (0, 1))

# %% [markdown]
# A pair is one term of the loss, and both of its rows are in it. So every pair has to send its
# slope to both, with opposite signs. The tempting version visits each pair once, and moves one.


# %%
def backward(E, groups):
    dE = np.zeros_like(E)
    for i in range(len(E)):
        for j in range(i):
            gap = E[i] - E[j]
            slope = gap if groups[i] == groups[j] else -gap / (gap @ gap)
            dE[i] += slope
            dE[j] -= slope
    return dE


def one_sided(E, groups):
    dE = np.zeros_like(E)
    for i in range(len(E)):
        for j in range(i):
            gap = E[i] - E[j]
            dE[i] += gap if groups[i] == groups[j] else -gap / (gap @ gap)
    return dE


# %%
q = guess("Add up the slopes of all three words. How long is the sum?")
nudged = slopes(lambda E: loss(E, groups), E)
both, one = backward(E, groups), one_sided(E, groups)
beside("dE", rows=words, both=both, one_sided=one, nudged=nudged, wrong="one_sided")
compare("dE[cat]", by_hand=cat, code=both[0])
q.answer(
    float(np.linalg.norm(both.sum(axis=0)).round(12)),
    tolerance=1e-9,
    because="each pair pulls its two ends equally, so the crowd as a whole stays where it is",
)

# %% [markdown]
# ## A crowd of 24 words
# Four groups of six words, rows of length 1 in eight columns, at random. Each step goes against the
# slope and sets the length back to 1, so that strangers cannot simply fly off.

# %%
from scratch_embed.simulations import space

vocabulary, kinds = space.words_of("Grammar")
kinds = np.array(kinds)
V, D = len(vocabulary), 8
rng = np.random.default_rng(6)


def unit(E):
    return E / np.sqrt((E**2).sum(axis=1, keepdims=True))


def settle(E, groups, steps=15, eta=0.02):
    for _ in range(steps):
        E = unit(E - eta * backward(E, groups))
    return E


def own_group(E, groups):
    """The share of words whose nearest other word is of their own group."""
    apart = ((E[:, None] - E[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)  # not the word itself
    return (groups[apart.argmin(axis=1)] == groups).mean()


start = unit(rng.normal(size=(V, D)))
told = settle(start, kinds)
shares = own_group(start, kinds), own_group(told, kinds)
print("  next to a word of their group: {:.2f} at random, {:.2f} after 15 steps".format(*shares))

# %% [markdown]
# Nouns with nouns, verbs with verbs. Is that discovery? Here is a control. Deal out the names of
# the groups at random, so that "house" may be a verb and "seven" too, and run it again.

# %%
dealt = rng.permutation(kinds)
q = guess("With dealt groups: what share of words ends next to one of its dealt group?")
obedient = settle(start, dealt)
print("  dealt 'verbs':", ", ".join(w for w, g in zip(vocabulary, dealt) if g == "verbs"))
because = "it is told the new groups and makes them, obediently"
q.answer(own_group(obedient, dealt), tolerance=0.02, because=because)

# %% [markdown]
# ## A model that is told nothing
# A language model has no such loss. It reads a word and predicts the next one: logits
# $E_{id}\,U^\top$, softmax, cross-entropy. We make up a text of the same 24 words, in which the
# group of a word decides which group comes next. The groups stand neither in text nor loss.

# %%
from scratch_embed import Adam
from scratch_embed.models import NextToken, train
from scratch_embed.text import toy

corpus = toy.zipf_classes(12_000, V, 4, exponent=0.5)
found_in = corpus.classes  # the truth, for us to check; the model never sees it
members = [iter(np.flatnonzero(kinds == kind)) for kind in dict.fromkeys(kinds)]
spelled = [vocabulary[next(members[c])] for c in found_in]  # a word of its group for each id
print("  the text begins:", " ".join(spelled[i] for i in corpus.tokens[:9]))


def learn(tokens, D, steps=300):
    model = NextToken(V, D, rng=0, init=0.1)
    optimizer = Adam(model.parameters(), lr=0.02)
    train(model, tokens, optimizer, steps, batch_size=128)
    return model.embed.weight.numpy()


options = ["most, and most", "most, and as many as by chance", "in both as many as by chance"]
q = guess("How many words end next to one of their group? And with the text shuffled?", options)
untold = learn(corpus.tokens, D)
no_order = learn(rng.permutation(corpus.tokens), D)
in_order, shuffled = own_group(untold, found_in), own_group(no_order, found_in)
print(f"  text in order {in_order:.2f}, shuffled {shuffled:.2f}, by chance {5 / 23:.2f}")
q.answer(
    options[0 if shuffled > 0.5 else 1 if in_order > 0.5 else 2],
    because="the groups come from the order of the text: without it, nothing speaks for them",
)

# %% [markdown]
# Why? Take all the places where one word is read. The mean slope of its row there is
# $U^\top (p - f)$, where $p$ are the model's shares for the next word and $f$ the true shares of
# its followers (lesson 12). So all that a row learns of its word is what follows it. Two words with
# the same followers are told the same wherever they meet, and end close together. Friends here have
# nearly the same followers, strangers have not:

# %%
counts = np.zeros((V, V))
np.add.at(counts, (corpus.tokens[:-1], corpus.tokens[1:]), 1)
alike, friends = unit(counts) @ unit(counts).T, found_in[:, None] == found_in
inside, across = alike[friends & ~np.eye(V, dtype=bool)].mean(), alike[~friends].mean()
print(f"  mean cosine of two lists of followers: friends {inside:.2f}, strangers {across:.2f}")

# %% [markdown]
# ## How many columns?
# What limits a small $D$? There is a hard limit, and a soft one. The hard one: how many points can
# all be equally far from each other?

# %%
q = guess("How many points can be equally far from each other in the plane?")
spans = {n: np.linalg.matrix_rank(np.eye(n) - 1 / n) for n in (2, 3, 4, 5)}  # all sqrt(2) apart
print("  points: dimensions that they span ", {n: int(rank) for n, rank in spans.items()})
q.answer(
    max(n for n, rank in spans.items() if rank <= 2),
    because="a triangle; each further point needs one dimension more",
)

# %% [markdown]
# Any number of groups fits on a circle, though, with smaller gaps. So the soft limit is noise.
# Below, sixteen groups have settled in $D$ columns (the package's simulation pulls and pushes as we
# did), and then every number is disturbed a little.

# %%
q = guess("Sixteen groups in D = 2: what share of words is still next to a friend, undisturbed?")
noise, shares = 0.15, {}
print("   D  undisturbed  disturbed  smallest gap")
for columns in (2, 3, 8, 32):
    run = space.simulate("Mixed", dim=columns)
    table, names = run.tables[-1], np.array(run.groups)
    disturbed = own_group(table + noise * rng.normal(size=table.shape), names)
    centres = np.array([table[names == name].mean(axis=0) for name in dict.fromkeys(names)])
    gaps = np.sqrt(((centres[:, None] - centres[None]) ** 2).sum(axis=2))
    shares[columns] = own_group(table, names)
    line = columns, shares[columns], disturbed, gaps[gaps > 0].min()
    print("  {:>2}  {:>11.2f}  {:>9.2f}  {:>12.2f}".format(*line))
q.answer(shares[2], tolerance=0.02, because="no overlap is forced; what is missing is margin")
play("space")

# %% [markdown]
# ## What a picture hides
# A screen has two dimensions. The usual map, PCA, looks for the direction $u$ in which the points
# spread most, then for the next at a right angle. Start with any direction; multiply it by
# $X^\top X$, with $X$ the centred points, and it turns towards the widest one.


# %%
def widest(X, rounds=50):
    u = np.ones(X.shape[1])
    for _ in range(rounds):
        u = X.T @ (X @ u)
        u = u / np.sqrt(u @ u)
    return u


def pca(E, k):
    X, axes = E - E.mean(axis=0), []
    for _ in range(k):
        axes.append(widest(X))
        X = X - np.outer(X @ axes[-1], axes[-1])  # take that direction out
    return (E - E.mean(axis=0)) @ np.array(axes).T


# %% [markdown]
# One round by hand, for three points on a slanting line:

# %%
X = np.array([[-2.0, -1.0], [0.0, 0.0], [2.0, 1.0]])
along = worked.matmul("X u", X, np.array([[1.0], [1.0]]))
turned = worked.matmul("X^T (X u)", X.T, along)[:, 0]
u = worked.scale("u", 1 / worked.norm("length", turned), turned)
compare("u", one_round=u, fifty=widest(X))

# %% [markdown]
# On a line one round is enough. The package has PCA too, by another way. An axis may point to
# either side, so distances are compared:

# %%
from scratch_embed import geometry

views = pca(untold, 2), geometry.pca(untold, 2).coords
by_hand, code = (geometry.distances(view) for view in views)
compare("distances", by_hand=by_hand, code=code)

# %% [markdown]
# Now two groups in three columns. In the first two they are the same points; the third column tells
# them apart, by a little.

# %%
cross = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
sides = np.repeat([0.5, -0.5], 4)
both_groups = np.column_stack([np.vstack([cross, cross]), sides])
q = guess("How far apart are the two groups on the map of two dimensions?")
worked.distance("in truth", both_groups[0], both_groups[4])
flat = pca(both_groups, 2)
on_map = float(distance(flat[0], flat[4]).round(6))
q.answer(on_map, because="PCA keeps what spreads widely, and knows nothing of what matters")

# %% [markdown]
# So two points that are far apart on the map are far apart in truth, but two that are close may be
# anything. Here are the tables of this lesson on such maps; colours show the true groups. On the
# left these were ordered, in the middle the dealt ones were, and only on the right were they found.

# %%
from scratch_embed import plot


def _map(ax, table, names, title):
    view = geometry.pca(table, 2)
    for i, name in enumerate(dict.fromkeys(kinds)):
        x, y = view.coords[names == name].T
        ax.scatter(x, y, s=55, color=plot.CYCLE[i], marker=plot.MARKERS[i], edgecolor="black")
        ax.scatter([], [], color=plot.CYCLE[i], marker=plot.MARKERS[i], label=name)
    ax.set(xticks=[], yticks=[], title=f"{title}\n{view.share.sum():.0%} of the variance")


figure, axes = plot.figure(1, 3, size=(12, 4.2))
_map(axes[0], told, kinds, "told the groups")
_map(axes[1], obedient, kinds, "told dealt groups")
_map(axes[2], untold, np.array(list(dict.fromkeys(kinds)))[found_in], "told nothing: next words")
axes[2].legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
save_figure(figure, "ch06_told_and_untold.png")

# %% [markdown]
# ## What did we learn?
# - Distance sees lengths, the cosine does not. Pulls and pushes are slopes, and each has two ends.
# - A loss that is told groups makes any groups. A language model finds those of the contexts.
# - Few columns leave little margin; a map of two shows only what spreads most.
#
# Write: `python -m lessons exercise nearest_rows`. Where next: lesson 17, lab `chance_and_cosines`.
