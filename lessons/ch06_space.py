# %% [markdown]
# # 6. The space that words live in
#
# A row of a table is a point. After training, points that lie close together mean something to
# the model, and nobody put them there: they moved. This lesson watches them move, twice. First in
# a simulation that tells every word its group, because that can be taken apart by hand. Then in a
# real next-token model that is told nothing. In between we ask what the number of dimensions is
# good for.

# %%
import math
from itertools import pairwise

import numpy as np

from scratch_embed import SGD, Tensor, geometry, plot, sizes
from scratch_embed.functional import sqrt
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    progress,
    quiz,
    reference,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.models import NextToken, train
from scratch_embed.optim import Adam
from scratch_embed.simulations import space
from scratch_embed.text import toy

begin()

# %% [markdown]
# ## Two ways to say near
# Distance asks how far it is from one point to the other. The cosine asks only for the angle
# between the two arrows, whatever their lengths: $\cos(a, b) = a \cdot b\, /\, (|a|\,|b|)$.
# Take cat and dog from lesson 0.

# %%
cat, dog = np.array([0.72, -0.41, 0.15]), np.array([0.68, -0.38, 0.22])
along = worked.dot("cat . dog", cat, dog)
lengths = worked.norm("|cat|", cat), worked.norm("|dog|", dog)
alike = worked.cosine("cos(cat, dog)", cat, dog)
check(
    "002-s6-cosine-formula",
    math.isclose(alike, along / (lengths[0] * lengths[1]))
    and math.isclose(alike, geometry.cosine(cat, dog))
    and math.isclose(alike, geometry.cosine(3 * cat, 0.1 * dog)),
    shown={"cos(cat, dog)": alike, "cos(3 cat, 0.1 dog)": geometry.cosine(3 * cat, 0.1 * dog)},
)

# %% [markdown]
# Lengths cancel, so the slope of the cosine has no part along the arrow itself: with $\hat a$ and
# $\hat b$ the two arrows at length 1, it is $(\hat b - \cos(a, b)\, \hat a) / |a|$. We check that
# against our tape, and against finite differences.


# %%
def numeric_slope(f, at: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central differences of the number f(at), entry by entry."""
    out = np.empty_like(at)
    for index in np.ndindex(at.shape):
        nudge = np.zeros_like(at)
        nudge[index] = h
        out[index] = (f(at + nudge) - f(at - nudge)) / (2 * h)
    return out


by_hand = (dog / lengths[1] - alike * cat / lengths[0]) / lengths[0]
a = Tensor(cat, requires_grad=True)
((a * dog).sum() / (sqrt((a * a).sum()) * lengths[1])).backward()
compare("d cos / d cat", hand=by_hand, ours=a.grad,
        numeric=numeric_slope(lambda x: geometry.cosine(x, dog), cat))  # fmt: skip
worked.dot("slope . cat: no part along cat", by_hand, cat)

# %% [markdown]
# What cosine do two words have that have nothing to do with each other? Random rows of 768 numbers
# are nearly at right angles: the cosines scatter about 0 with a standard deviation
# of $1/\sqrt{768} = 0.036$, and their mean size is four fifths of that. But trained
# tables often share a direction that all rows have in common. With it, strangers look related,
# until the mean row is taken away.

# %%
rng = np.random.default_rng(0)
rows = rng.standard_normal((400, 768))
offset = rng.standard_normal(768)  # about as long as the rows themselves
pairs = np.triu_indices(400, 1)
plain = geometry.cosines(rows)[pairs]
shifted = geometry.cosines(rows + offset)[pairs]
centred = geometry.cosines(geometry.centre(rows + offset))[pairs]
erratum(
    "002-s6-unrelated-zero",
    abs(plain.mean()) < 0.01 and shifted.mean() > 0.4 and abs(centred.mean()) < 0.01,
    shown={
        "mean cosine, random rows": plain.mean(),
        "mean size of it": np.abs(plain).mean(),
        "mean cosine, rows with a shared offset": shifted.mean(),
        "the same with the mean row taken away": centred.mean(),
    },
    because="only a centred table has strangers at 0; an offset shared by all rows, as trained "
    "tables often have, lifts every cosine",
)

# %% [markdown]
# ## Pull and push
# The explorer keeps a row for each word of a theme. Words of one group pull at each other in
# proportion to their distance; words of different groups push each other away, harder when near.
# Three words in the plane, two of one group, are enough to do it by hand: words 0 and 1 of one
# group at (0, 0) and (2, 0), and word 2 of another at (0, 1). Word $i$ is moved by word $j$ along
# $E_j - E_i$: times $1 / k$ if they are friends, and times $-0.5 / k' / (|E_i - E_j|^2 + 0.01)$ if
# not. Here $k = 2/3$ and $k' = 4/3$ are the friends and the strangers that a word has on average.

# %%
trio, trio_groups = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), ["pet", "pet", "color"]
own, other = 2 / 3, 4 / 3  # partners a word has on average: 2 of 6 pairs are own, 4 are other
pull = worked.scale("pull of word 1 on word 0", 1 / own, trio[1] - trio[0])
push = worked.scale("push of word 2 on word 0", -0.5 / other / (1 + space.SOFT), trio[2] - trio[0])
force = worked.sum("force on word 0", pull, push)
compare(
    "force on word 0",
    hand=force,
    ours=space.forces(trio, trio_groups)[0],
    numeric=-numeric_slope(lambda t: space.energy(t, trio_groups), trio)[0],
)
compare(
    "forces on all three",
    ours=space.forces(trio, trio_groups),
    numeric=-numeric_slope(lambda t: space.energy(t, trio_groups), trio),
)

# %% [markdown]
# The forces are the slope of one energy, so this is gradient descent, as in training. Each step
# moves a tenth of the force and of a little noise, and sets every row back to length 1. From a
# random start, five hundred steps:

# %%
mixed = space.simulate("Mixed", dim=8)
steps = range(len(mixed.tables))
check("000-ch6-steps", f"{steps[0]} / {steps[-1]}", printed="0 / 500")
check(
    "000-ch6-clusters-emerge",
    mixed.accuracy(0) < 0.2 and mixed.accuracy(500) > 0.95,
    shown={
        "words": len(mixed.words),
        "groups": len(set(mixed.groups)),
        "nearest word of one's own group, step 0": mixed.accuracy(0),
        "step 10": mixed.accuracy(10),
        "step 500": mixed.accuracy(500),
    },
)
fig, _ = plot.figure(size=(11, 5.4))
space.draw(fig, theme="Mixed", dim=8, step=10, word="piano")
save_figure(fig, "ch06_explorer_step_10.png")

# %% [markdown]
# In the picture, step 10 looks like a crowd. In the eight dimensions where the words live, nearly
# every one of them has already found its group: the curve says so.
#
# ## What does dimension 2 do to it?
# Set the dimension to 2 and words get into trouble, even with two groups only. The reason is worth
# seeing. Rows of length 1 in the plane lie on a circle, and on a circle nobody can walk around
# anybody: a color between two animals pushes both away, and all three stay. One dimension more,
# and there is always a way round.

# %%
fig, _ = plot.figure(size=(11, 5.4))
space.draw(fig, theme="Animals & Colors", dim=2, step=500, word="cat")
save_figure(fig, "ch06_explorer_trapped.png")


def runs_of_groups(run: space.Run) -> int:
    """Walking once around the circle, how often the group changes."""
    order = np.argsort(np.arctan2(run.tables[-1][:, 1], run.tables[-1][:, 0]))
    around = np.array(run.groups)[order]
    return int(np.sum(around != np.roll(around, 1)))


def together(run: space.Run) -> float:
    """The lowest cosine between two words of one group."""
    cosines, groups = geometry.cosines(run.tables[-1]), np.array(run.groups)
    return float(cosines[groups[:, None] == groups[None, :]].min())


seeds = range(4 if options.quick else 10)
plane = [space.simulate("Animals & Colors", dim=2, seed=seed) for seed in seeds]
solid = [space.simulate("Animals & Colors", dim=3, seed=seed) for seed in seeds]
changes = [runs_of_groups(run) for run in plane]
print("  changes of group around the circle, by random start (2 is perfect):", changes)
free_plane = sum(together(run) > 0.5 for run in plane)
free_solid = sum(together(run) > 0.5 for run in solid)
print(f"  groups came together: {free_plane} of {len(seeds)} in 2-D, {free_solid} in 3-D")

# %% [markdown]
# So is the plane too small? The text says that it has not directions enough to part all groups,
# and that some must overlap. Not so: any number of groups fits on a circle, side by side. The
# simulation itself parts the sixteen groups of the Mixed theme in the plane. What shrinks is the
# room between them. Sixteen points on a circle are $2 \sin(\pi/16) = 0.39$ apart at best. Nor can
# more than $D + 1$ points all be equally far from each other: the $m$ points of such a figure
# span $m - 1$ dimensions, which the rank of their Gram matrix tells.
#
# A small gap shows as soon as rows are not exact. Add noise of 0.15 to each number, and ask again
# for every word's nearest neighbour.

# %%
sixteen = 16
gap = worked.product("gap of 16 on a circle", 2, math.sin(math.pi / sixteen))
equidistant = geometry.centre(np.eye(sixteen))  # sixteen points, any two sqrt(2) apart
spanned = int(np.linalg.matrix_rank(equidistant @ equidistant.T))


def with_noise(run: space.Run, noise: float = 0.15, times: int = 10) -> float:
    """Mean neighbour accuracy of the final rows, each number disturbed by N(0, noise^2)."""
    rng, table = np.random.default_rng(1), run.tables[-1]
    noisy = (table + noise * rng.standard_normal(table.shape) for _ in range(times))
    return float(np.mean([geometry.neighbour_accuracy(t, run.groups) for t in noisy]))


def smallest_gap(run: space.Run) -> float:
    """The smallest distance between the centres of two groups, at the end."""
    groups = np.array(run.groups)
    centres = np.stack([run.tables[-1][groups == g].mean(axis=0) for g in dict.fromkeys(groups)])
    return float(geometry.distances(centres)[np.triu_indices(len(centres), 1)].min())


dims = [2, 4, 8, 32] if options.quick else [2, 3, 4, 8, 16, 32]
by_dim = [space.simulate("Mixed", dim=d) for d in dims]
exact = [run.accuracy(500) for run in by_dim]
noisy = [with_noise(run) for run in by_dim]
gaps = [smallest_gap(run) for run in by_dim]
unbounded = space.simulate("Mixed", dim=2, unit=False)
for d, *numbers in zip(dims, exact, noisy, gaps, strict=True):
    print("  D = {:>2}  exact {:.2f}  with noise {:.2f}  smallest gap {:.2f}".format(d, *numbers))
in_8d, in_2d_unbounded = noisy[dims.index(8)], with_noise(unbounded)
erratum(
    "000-ch6-dim2-cannot-separate",
    exact[0] == 1.0 and noisy[0] < 0.8 and in_8d > 0.98 and in_2d_unbounded > 0.98,
    shown={
        "16 groups in 2-D, neighbour accuracy": exact[0],
        "with noise 0.15": noisy[0],
        "with noise 0.15 in 8-D": in_8d,
        "with noise 0.15 in 2-D, length not held at 1": in_2d_unbounded,
        "best gap on a circle": gap,
        "dimensions that 16 equidistant points span": spanned,
    },
    because="no overlap is forced: any number of groups fits on a circle, and without a bound on "
    "the length there is room for noise too; what the plane lacks is margin, equal spacing beyond "
    "3 groups, and a way around one another",
)

# %% [markdown]
# At 32 dimensions there is room to spare. Draw directions at random, without any training: the
# mean size of a cosine is $\Gamma(D/2) / (\sqrt{\pi}\, \Gamma((D+1)/2))$, which is 0.64 in the
# plane and 0.14 here. Every one of 64 words has a direction of its own. That the trained words of
# one group share theirs is what the pull was for.

# %%


def expected_cosine(dim: int) -> float:
    """Mean |cos| of two random directions in D dimensions."""
    return math.exp(math.lgamma(dim / 2) - math.lgamma((dim + 1) / 2)) / math.sqrt(math.pi)


def crowding(dim: int) -> tuple[float, float]:
    """Mean |cos| over pairs of 64 random rows; mean over rows of the cosine to the nearest row."""
    cosines = geometry.cosines(np.random.default_rng(0).standard_normal((64, dim)))
    off = cosines - 2 * np.eye(64)
    return float(np.abs(cosines[np.triu_indices(64, 1)]).mean()), float(off.max(axis=1).mean())


in_plane, in_32 = crowding(2), crowding(32)
check(
    "000-ch6-dim32-corner",
    abs(in_32[0] - expected_cosine(32)) < 0.01
    and in_32[1] < 0.6
    and in_plane[1] > 0.99
    and gaps[-1] > 3 * gaps[0],
    shown={
        "mean |cos| of random rows, 32-D": in_32[0],
        "by the formula": expected_cosine(32),
        "mean cosine to the nearest of 63 others, 32-D": in_32[1],
        "to the nearest of 63 others, 2-D": in_plane[1],
        "smallest gap between trained groups, 32-D": gaps[-1],
        "smallest gap between trained groups, 2-D": gaps[0],
    },
)

# %% [markdown]
# ## Nobody told it
# Now a real model. It reads a made-up text over the same 64 words, and predicts each next word
# from the present one with a table $E$ and a head $U$, nothing else. In the text, words of one
# group are followed by words of the same other groups, some words are frequent and most are rare.
# The groups themselves appear nowhere: not in the text, not in the loss.

# %%
words, groups = mixed.words, np.array(mixed.groups)
names = list(dict.fromkeys(mixed.groups))
corpus = toy.zipf_classes(12_000, len(words), len(names), exponent=0.7)
truth = corpus.classes
members = {c: iter(np.flatnonzero(groups == names[c])) for c in range(len(names))}
spelled = [words[next(members[c])] for c in truth]  # id -> one of its group's words
print("  the text begins:", " ".join(spelled[i] for i in corpus.tokens[:10]))


STEPS = 200 if options.quick else 300


def learn(tokens: np.ndarray, dim: int = 16, steps: int = STEPS, seed: int = 0):
    """A next-token model trained on the text, and its history."""
    model = NextToken(len(words), dim, rng=seed, init=0.1)
    run = train(model, tokens, Adam(model.parameters(), lr=0.02), steps, batch_size=128, rng=seed)
    return model, run


def same_and_other(table: np.ndarray) -> tuple[float, float]:
    """Mean cosine between two words of one group, and between words of two groups."""
    cosines = geometry.cosines(table)
    same, itself = truth[:, None] == truth[None, :], np.eye(len(truth), dtype=bool)
    return float(cosines[same & ~itself].mean()), float(cosines[~same].mean())


lm, history = learn(corpus.tokens)
E = lm.embed.weight.numpy()
before, after = same_and_other(history.start), same_and_other(E)
check(
    "002-s2-emergent",
    before[0] - before[1] < 0.1 and after[0] - after[1] > 0.4,
    shown={
        "loss before, nats": history.losses[:5].mean(),
        "loss after, nats": history.losses[-50:].mean(),
        "mean cosine within a group, before": before[0],
        "across groups, before": before[1],
        "within, after": after[0],
        "across, after": after[1],
    },
)
purity = {"before": geometry.neighbour_accuracy(history.start, truth),
          "after": geometry.neighbour_accuracy(E, truth)}  # fmt: skip
check(
    "001-intro-similar-vectors",
    purity["after"] > 0.9 and purity["before"] < 0.2,
    shown={
        "nearest row of one's own group, before": purity["before"],
        "after": purity["after"],
        "chance: 3 friends among 63 other words": 3 / 63,
    },
)

# %% [markdown]
# The groups are a side effect. To see of what, shuffle the text: the same words, equally often, but
# now in an order that says nothing. The model still learns (how frequent each word is), and the
# groups are gone.

# %%
shuffled = np.random.default_rng(1).permutation(corpus.tokens)
without, without_run = learn(shuffled)
found = geometry.neighbour_accuracy(without.embed.weight.numpy(), truth)
check(
    "004-side-effect",
    found < 0.2 and without_run.losses[-50:].mean() < without_run.losses[:5].mean() - 0.05,
    shown={
        "neighbour accuracy, text in order": geometry.neighbour_accuracy(E, truth),
        "neighbour accuracy, same words shuffled": found,
        "loss on the shuffled text, start": without_run.losses[:5].mean(),
        "and end": without_run.losses[-50:].mean(),
    },
)

# %% [markdown]
# ## Why do rows of one group move together?
# The gradient of a row is written down quickly. For one pair (id, next) the loss is
# $-\log p_{next}$ with $p = \mathrm{softmax}(U E_{id})$, so
# $\partial L / \partial E_{id} = U^\top (p - e_{next})$, and a batch takes the mean. What a row is
# told depends on where it is and on what came after it, and on nothing else. Two words with the
# same followers that start close together are told the same.

# %%
start, _ = learn(corpus.tokens, steps=0)
now, after_it = corpus.tokens[:3000], corpus.tokens[1:3001]
start.loss(now, after_it).backward()
told = start.embed.weight.grad
E0, U0 = start.embed.weight.numpy(), start.head.numpy()
id_ = int(np.bincount(now).argmax())
followers = np.bincount(after_it[now == id_], minlength=len(words))
p = worked.softmax(f"U E[{spelled[id_]}]", U0 @ E0[id_])
by_hand = (followers.sum() * p - followers) @ U0 / len(now)


def loss_at(row: np.ndarray) -> float:
    moved, model = E0.copy(), NextToken(len(words), 16, rng=0, init=0.1)
    moved[id_] = row
    model.embed.weight.data[:], model.head.data[:] = moved, U0
    return model.loss(now, after_it).item()


compare(f"dE[{spelled[id_]}]", hand=by_hand, ours=told[id_],
        numeric=numeric_slope(loss_at, E0[id_].copy(), h=1e-4))  # fmt: skip
directions = same_and_other(told)
check(
    "000-ch6-similar-context",
    directions[0] > directions[1] + 0.3 and after[0] > after[1] + 0.3,
    shown={
        "cosine of first gradients, same contexts": directions[0],
        "first gradients, other contexts": directions[1],
        "cosine of trained rows, same contexts": after[0],
        "trained rows, other contexts": after[1],
    },
)

# %% [markdown]
# ## Is the explorer like training?
# The text says that pull and push come out about like real training. The pictures below do look
# alike. But ask both for something absurd: deal the group names out at random. The explorer is
# told the new groups and makes them, obediently. The model is told nothing, and finds what is
# in the text.

# %%
dealt = np.random.default_rng(2).permutation(groups)
random_start = np.random.default_rng(0).standard_normal((len(words), 8))
obedient = space.settle(random_start, dealt)[-1]
dealt_truth = np.random.default_rng(2).permutation(truth)
erratum(
    "000-ch6-sim-mimics-lm",
    geometry.neighbour_accuracy(obedient, dealt) > 0.95
    and geometry.neighbour_accuracy(E, dealt_truth) < 0.2
    and geometry.neighbour_accuracy(E, truth) > 0.9,
    shown={
        "explorer, random groups": geometry.neighbour_accuracy(obedient, dealt),
        "model, random groups": geometry.neighbour_accuracy(E, dealt_truth),
        "model, groups in the text": geometry.neighbour_accuracy(E, truth),
    },
    because="the picture is alike, the cause is not: the explorer groups whatever it is told to, "
    "and training sees no groups, only which word came next",
)

order = np.argsort([words.index(word) for word in spelled])  # the model's rows, in theme order
fig, axes = plot.figure(1, 2, size=(12, 5.2))
tables = {"Explorer: told the groups": mixed.tables[-1], "Next-token model: told nothing": E[order]}
for ax, (title, table) in zip(axes, tables.items(), strict=True):
    view = geometry.pca(table, 2)
    for i, name in enumerate(names):
        ax.scatter(*view.coords[groups == name].T, s=45, color=plot.CYCLE[i % 8], edgecolor="black",
                   marker=plot.MARKERS[(i + i // 8) % 8], linewidth=0.5, label=name)  # fmt: skip
    ax.set(xlabel="first principal component", ylabel="second principal component")
    ax.set_title(f"{title}\n({view.share.sum():.0%} of the variance)")
axes[1].legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
save_figure(fig, "ch06_told_and_untold.png")

# %% [markdown]
# ## Opposites attract
# Synonyms close together, antonyms pushed apart, says the text. Look where "hot" and "cold" occur:
# the hot water, the cold water; a hot day, a cold day. Count, for each word, which words stand
# beside it. The two have the very same neighbours; "piano" has others. And what shares its
# contexts gets the same gradients, as we just saw.

# %%
sentences = [line.split() for line in toy.CONTEXTS]
vocabulary = sorted({word for line in sentences for word in line})
index = {word: i for i, word in enumerate(vocabulary)}
counts = np.zeros((len(vocabulary), len(vocabulary)))
for line in sentences:
    for left, right in pairwise(line):
        counts[index[left], index[right]] += 1
        counts[index[right], index[left]] += 1
hot, cold, piano = (index[word] for word in ("hot", "cold", "piano"))
opposite = worked.cosine("cos(hot, cold) of the counts", counts[hot], counts[cold])
unrelated = worked.cosine("cos(hot, piano) of the counts", counts[hot], counts[piano])

ids = [index[a] for line in sentences for a in line[:-1]]
nexts = [index[b] for line in sentences for b in line[1:]]
small = NextToken(len(vocabulary), 8, rng=0, init=0.1)
optimizer = SGD(small.parameters(), lr=1.0)
for _ in range(150):
    optimizer.zero_grad()
    small.loss(ids, nexts).backward()
    optimizer.step()
learned = geometry.cosines(small.embed.weight.numpy())
erratum(
    "000-ch6-antonyms-apart",
    opposite > 0.99 and learned[hot, cold] > 0.9,
    shown={"cos(hot, cold), counts": opposite, "cos(hot, cold), trained": learned[hot, cold]},
    because="opposites are said of the same things, in the same places; prediction puts them "
    "together, and another of these texts says so",
)
check(
    "002-s6-antonyms",
    learned[hot, cold] > 0.9 and learned[hot, cold] > learned[hot, piano] + 0.5,
    shown={"cos(hot, cold), trained": learned[hot, cold],
           "cos(hot, piano), trained": learned[hot, piano],
           "cos(hot, piano), counts": unrelated},
)  # fmt: skip

# %% [markdown]
# ## Three things to notice
# The list of the text was lost, so here is ours, measured.
#
# 1. **Groups come first, order within them later.** Long before the energy has settled, every
#    word has found its group.
# 2. **Frequent words settle first.** In the model, the words read most often point in their final
#    direction while the rare ones are still on their way.
# 3. **The picture hides what the space holds.** Two principal components show a crowd where
#    sixteen dimensions keep all groups apart.

# %%
accuracies = np.array([mixed.accuracy(step) for step in range(101)])
energies = np.array([space.energy(table, mixed.groups) for table in mixed.tables])
grouped_at = int(np.argmax(accuracies == 1.0))
floor = energies[-100:].mean()
settled_at = int(np.argmax(energies < floor + 0.01 * (energies[0] - floor)))

watched = NextToken(len(words), 16, rng=0, init=0.1)
adam = Adam(watched.parameters(), lr=0.02)
snapshots = []
for part in progress(range(30), "training"):
    train(watched, corpus.tokens, adam, steps=10, batch_size=64, rng=part)
    snapshots.append(watched.embed.weight.numpy().copy())
toward = geometry.unit_rows(snapshots[-1])
settled = np.array([(geometry.unit_rows(table) * toward).sum(axis=1) for table in snapshots])
rank = np.argsort(-np.bincount(corpus.tokens, minlength=len(words)))
often, seldom = rank[:16], rank[-16:]
at = 2  # after 30 steps
flat = geometry.neighbour_accuracy(geometry.pca(E, 2).coords, truth)
check(
    "000-ch6-three-things",
    0 < grouped_at < settled_at
    and settled[at, often].mean() > settled[at, seldom].mean() + 0.05
    and flat < geometry.neighbour_accuracy(E, truth) - 0.1,
    shown={
        "1. step at which every word has its group": grouped_at,
        "1. step at which the energy is within 1 % of its end": settled_at,
        "2. cosine to the final row after 30 steps, frequent words": settled[at, often].mean(),
        "2. rare words": settled[at, seldom].mean(),
        "3. neighbour accuracy in 16 dimensions": geometry.neighbour_accuracy(E, truth),
        "3. in the picture": flat,
    },
)

# %% [markdown]
# ## What a column means
# A row can be read; can a column? Turn the whole space by a random rotation $Q$: every row of $E$
# and of $U$ becomes another list of numbers, and all dot products, all logits, the loss and every
# step of plain gradient descent stay what they were. So nothing but chance decided what column 3
# is about. That ends where something works entry by entry: a tanh between reading and writing, or
# Adam, which has a step size for each entry. Those can prefer axes.

# %%
Q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((16, 16)))
U = lm.head.numpy()
ids, nexts = corpus.tokens[:2000], corpus.tokens[1:2001]


def turned(optimizer, turn: np.ndarray, body: bool = False) -> tuple[float, np.ndarray]:
    """Loss of the turned model, and its table after a step, turned back."""
    model = NextToken(len(words), 16, body=body)
    model.embed.weight.data[:], model.head.data[:] = E @ turn, U @ turn
    if body:
        model.body.data[:] = np.eye(16)  # so that tanh works on the turned entries
    loss = model.loss(ids, nexts)
    loss.backward()
    optimizer(model.parameters()).step()
    return loss.item(), model.embed.weight.numpy() @ turn.T


def sgd(parameters) -> SGD:
    return SGD(parameters, lr=1.0)


def adam_step(parameters) -> Adam:
    return Adam(parameters, lr=0.01)


as_is, as_turned = turned(sgd, np.eye(16)), turned(sgd, Q)
adam_is, adam_turned = turned(adam_step, np.eye(16)), turned(adam_step, Q)
tanh_is, tanh_turned = turned(sgd, np.eye(16), body=True), turned(sgd, Q, body=True)
columns = np.abs(np.corrcoef(E.T, (E @ Q).T)[:16, 16:])
check(
    "004-not-interpretable",
    math.isclose(as_is[0], as_turned[0], rel_tol=1e-9)
    and np.allclose(as_is[1], as_turned[1])
    and np.diag(columns).max() < 0.8
    and not np.allclose(adam_is[1], adam_turned[1], atol=1e-3)
    and abs(tanh_is[0] - tanh_turned[0]) > 1e-3,
    shown={
        "loss": as_is[0],
        "loss, space turned": as_turned[0],
        "largest correlation of a column with its successor": np.diag(columns).max(),
        "difference after an SGD step": np.abs(as_is[1] - as_turned[1]).max(),
        "difference after an Adam step": np.abs(adam_is[1] - adam_turned[1]).max(),
        "loss with tanh": tanh_is[0],
        "loss with tanh, space turned": tanh_turned[0],
    },
)

# %% [markdown]
# ## How many dimensions?
# The same model with tables of 2 to 32 columns. A model that knew how the text was made could on
# average reach the entropy of that recipe, and none can do better on new text. More columns come
# closer, and each doubling buys less, while the table grows in proportion.

# %%
popularity = 1 / np.arange(1, len(words) + 1) ** 0.7  # as the text was drawn
inside = [popularity[truth == c] / popularity[truth == c].sum() for c in range(len(names))]
within = np.array([-(p * np.log(p)).sum() for p in inside])  # which word, once the group is known
recipe = corpus.transition @ within - (corpus.transition * np.log(corpus.transition)).sum(axis=1)
print(f"  the entropy of the recipe: {recipe.mean():.3f}")
losses = {}
for d in progress(dims, "dimensions"):
    model, run = (lm, history) if d == 16 else learn(corpus.tokens, dim=d)
    losses[d] = run.losses[-50:].mean()
    found = geometry.neighbour_accuracy(model.embed.weight.numpy(), truth)
    size = model.embed.weight.size
    print(f"  D = {d:>2}   loss {losses[d]:.3f}   neighbour accuracy {found:.2f}   table {size:,}")
check(
    "004-capacity-tradeoff",
    losses[2] - losses[8] > 5 * (losses[8] - losses[32]) > 0,
    shown={
        "loss, D = 2": losses[2],
        "loss, D = 8": losses[8],
        "loss, D = 32": losses[32],
        "GPT-2's table at D = 768": sizes.table_params(50257, 768),
        "at D = 4096": sizes.table_params(50257, 4096),
    },
)

fig, axes = plot.figure(1, 2, size=(11, 4.2))
plot.lines(axes[0], dims, {"rows exact": exact, "noise 0.15 on every number": noisy}, logx=True,
           marker="o", xlabel="dimensions", ylabel="nearest word is of the same group",
           title="Explorer, 16 groups: a question of margin")  # fmt: skip
plot.lines(axes[1], dims, list(losses.values()), logx=True, marker="o", xlabel="dimensions",
           ylabel="loss at the end, nats",
           title="Next-token model: each doubling buys less")  # fmt: skip
for ax in axes:
    ax.set_xticks(dims, dims)
    ax.minorticks_off()
axes[0].set_ylim(0, 1.05)
save_figure(fig, "ch06_dimensions.png")

# %% [markdown]
# What do published models choose?

# %%
gpt2, llama2 = sizes.MODELS["GPT-2 small"], sizes.MODELS["Llama 2 7B"]
reference(
    "000-ch6-high-d-needed",
    [gpt2.embedding_dim, llama2.embedding_dim],
    printed="768; 4096",
    source=f"{gpt2.source}; {llama2.source}",
)
widest = max(
    (model.embedding_dim, name) for name, model in sizes.MODELS.items() if "estimate" not in name
)
erratum(
    "004-takeaway-dims",
    widest[0],
    printed="768-4096",
    because=f"{widest[1]}, in the text's own table, is wider, and so is Llama 2 70B",
)

# %% [markdown]
# ## What did we learn?

# %%
shares = {
    d: sizes.table_params(50257, d) / sizes.gpt2_params(50257, d, 1024, 12) for d in (64, 768, 8192)
}
totals = {d: sizes.human(sizes.gpt2_params(50257, d, 1024, 12)) for d in shares}
table = sizes.human(sizes.table_params(50257, 768))
balanced = [d for d, share in shares.items() if 0.1 < share < 0.5]
answers = {
    64: f"64 would do: the table then holds {shares[64]:.0%} of all parameters",
    768: f"768 leaves the layers {1 - shares[768]:.0%} of {totals[768]}, beside a table of {table}",
    8192: f"8192 is better still: the same model, and the table takes {shares[8192]:.0%} of it",
}
quiz(
    "004-recap-768",
    "GPT-2 small has 50,257 tokens and 12 layers. Why 768 columns, rather than 64 or 8192?",
    answer=answers[balanced[0]],
    options=list(answers.values()),
    because=f"at 64 the layers are starved (of {totals[64]} in all, most are the table's); "
    f"8192 makes the model {totals[8192]}, not GPT-2 small any more, for gains that shrink",
)

upper = np.triu_indices(len(words), 1)
counts = np.bincount(corpus.tokens, minlength=len(words)).astype(float)
norms = geometry.norms(E)
numbers = np.arange(len(words))
candidates = {
    "compare cosines with what people (here: the true groups) call similar": geometry.cosines(E),
    "compare how close the ids are": -np.abs(np.subtract.outer(numbers, numbers)),
    "compare how often the words occur": -np.abs(np.subtract.outer(counts, counts)),
    "compare the lengths of the rows": -np.abs(np.subtract.outer(norms, norms)),
}  # fmt: skip
same = (truth[:, None] == truth[None, :]).astype(float)
scores = {name: geometry.rank_correlation(c[upper].astype(float), same[upper])
          for name, c in candidates.items()}  # fmt: skip
for name, score in scores.items():
    print(f"  rank correlation with the truth {score:+.2f}: {name}")
quiz(
    "004-quiz-measure-similarity",
    "How would you measure whether a trained table holds similarity of meaning?",
    answer=max(scores, key=scores.get),
    options=list(scores),
    because="rank correlation of cosines with judgements, nearest neighbours of the right kind, "
    "and analogies, each beside what chance would give; ids, counts and lengths tell nothing here",
)
verdict()
