# %% [markdown]
# # Lab: the parts of a tied gradient
#
# **Question.** A tied table gets two gradients, one for reading and one for writing, and takes one
# step along their sum. Do the two help each other, or do they pull against each other?
#
# **Guess.** Unrelated in a fresh table. While the model learns they help, for a word should be read
# where it is written. In a narrow table they end up against each other.
#
# **Control.** A model with two tables, trained alike. Each part has a table of its own, so nothing
# makes the one point where the other does.
#
# **Baseline.** Chance: the cosine of two random arrays of $V \times D$ numbers is about
# $1 / \sqrt{VD}$, up or down. For losses: a table that stays as it was drawn.
#
# **Threshold.** The parts help where their cosine is above 0.1 for every seed, and hinder where it
# is below -0.1. A loss is lower when it is lower by more than 0.01 nats for every seed.

# %%
from functools import cache

import numpy as np

from scratch_embed import Tensor, geometry, plot
from scratch_embed.functional import cross_entropy, lookup, tanh
from scratch_embed.lesson import across, begin, save_figure
from scratch_embed.text import toy

begin()
SEEDS, V, RATES = range(5), 100, (0.5, 1.0, 2.0, 4.0)
MOMENTS = {"seeds": SEEDS, "budgets": (0, 20, 1000), "quick_budgets": (0, 20, 60)}  # steps

# %% [markdown]
# ## The two parts
# The model reads a row, passes it through one matrix $W$ and a bend (tanh), and scores every word.
# To tell the parts from each other, the table enters under two names, as in lesson 13.


# %%
def parts(reads, writes, W, ids, targets):
    """The loss, the part from reading, the part from writing, and dW."""
    reads, writes, W = (Tensor(array, requires_grad=True) for array in (reads, writes, W))
    loss = cross_entropy(tanh(lookup(reads, ids) @ W) @ writes.T, targets)
    loss.backward()
    return loss.item(), reads.grad, writes.grad, W.grad


@cache
def pairs_of(seed):
    """Pairs of neighbours (ids, targets) to learn from, to choose by, and to judge by."""
    tokens = toy.zipf_classes(10_000, V, rng=np.random.default_rng(seed)).tokens
    return [(part[:-1], part[1:]) for part in np.split(tokens, [4000, 6000])]


def start(seed, width, tied=True):
    rng = np.random.default_rng(seed)
    reads, writes = rng.normal(size=(2, V, width)) * width**-0.5
    return reads, reads if tied else writes, rng.normal(size=(width, width)) * width**-0.5


def learn(seed, steps, model, rate=1.0, use=(1, 1)):
    """Plain descent, in place, 256 random pairs a step. use: how much of each part to take."""
    (ids, targets), rng = pairs_of(seed)[0], np.random.default_rng([seed, 1])
    reads, writes, W = model
    for _ in range(steps):
        at = rng.integers(len(ids), size=256)
        _, a, b, dW = parts(*model, ids[at], targets[at])
        reads -= rate * use[0] * a
        writes -= rate * use[1] * b  # the same array, when tied: it moves by both
        W -= rate * dW


@cache
def learned(seed, steps, width, tied=True):
    """A model after so many steps of rate 1, to be looked at only."""
    model = start(seed, width, tied)
    learn(seed, steps, model)
    return model


# %% [markdown]
# ## Do they point the same way?
# The cosine of the two parts, over the whole text, after so many steps; rounded to 0.01.


# %%
def cosine_of_parts(seed, budget, width, tied=True):
    _, a, b, _ = parts(*learned(seed, budget, width, tied), *pairs_of(seed)[0])
    return round(geometry.cosine(a.ravel(), b.ravel()), 2)


tied_ways = {f"tied, D = {width}": {"width": width} for width in (2, 8, 32)}
apart = {f"two, D = {width}": {"width": width, "tied": False} for width in (2, 8, 32)}
cosines = across(cosine_of_parts, tied_ways | apart, unit="cosine", **MOMENTS)
cosines.show()
print("  chance, up or down:", ", ".join(f"D = {D}: {(V * D) ** -0.5:.2f}" for D in (2, 8, 32)))
for way in [*tied_ways, *apart]:
    for steps, at in cosines.scores[way].items():
        if at.min() > 0.1 or at.max() < -0.1:
            told = "help" if at.min() > 0.1 else "hinder"
            cosines.conclude(f"{way}, after {steps:,} steps: the parts {told} each other", True)

# %% [markdown]
# ## Does each job gain?
# One step of rate 1 along the sum of the parts, over the whole text. Let only the reading end take
# it, then only the writing end. By how many nats does the loss fall? The smaller of the two, in
# thousandths of a nat; below zero one job is harmed.


# %%
def smaller_gain(seed, budget, width):
    (E, _, W), pairs = learned(seed, budget, width), pairs_of(seed)[0]
    before, a, b, _ = parts(E, E, W, *pairs)
    moved = E - (a + b)
    gains = before - parts(moved, E, W, *pairs)[0], before - parts(E, moved, W, *pairs)[0]
    return round(1000 * min(gains), 2)


gains = across(smaller_gain, tied_ways, unit="0.001 nats", **MOMENTS)
gains.show()
for way in tied_ways:
    every = np.array(list(gains.scores[way].values()))
    told = f"{way}: both jobs gain in {(every > 0).sum()} of {every.size} looks"
    gains.conclude(told, bool((every > 0).all()))

# %% [markdown]
# ## Are both needed?
# Take only one of the parts, and leave the other out. $W$ learns in every case. Of four rates each
# way takes the one that is best on a stretch of text of its own; the score is on a third stretch.


# %%
def unseen_loss(seed, budget, tied=True, use=(1, 1)):
    found = []
    for rate in RATES:
        model = start(seed, 16, tied)
        learn(seed, budget, model, rate, use)
        found.append([parts(*model, *pairs)[0] for pairs in pairs_of(seed)[1:]])
    return min(found)[1]


only = {
    "both parts": {},
    "reading's part": {"use": (1, 0)},
    "writing's part": {"use": (0, 1)},
    "neither": {"use": (0, 0)},
    "two tables": {"tied": False},
}
BUDGETS = {"seeds": SEEDS, "budgets": (100, 1000), "quick_budgets": (40,)}
losses = across(unseen_loss, only, unit="nats", **BUDGETS)
losses.show()
for way in ("reading's part", "neither"):
    losses.claim("both parts", "below", way, by=0.01)
losses.claim("both parts", "below", "writing's part")  # by how much, other seeds leave open


# %%
def _bars(values):
    """Medians of values (points, seeds), and how far the range goes below and above them."""
    middle = np.median(values, axis=1)
    return middle, np.abs([values.min(axis=1) - middle, values.max(axis=1) - middle])


figure, (left, right) = plot.figure(1, 2, size=(11, 4.4))
for k, (way, scores) in enumerate(cosines.scores.items()):
    middle, bars = _bars(np.array(list(scores.values())))
    look = {"color": plot.CYCLE[k], "marker": plot.MARKERS[k], "ls": "", "capsize": 3}
    left.errorbar(np.arange(len(middle)) + 0.08 * k, middle, bars, label=way, **look)
left.axhline(0, color="black", lw=0.8)
left.set_xticks(np.arange(len(middle)) + 0.2, [f"{steps:,} steps" for steps in scores])
left.set(ylabel="cosine of the two parts", ylim=(-0.8, 0.6), title="Do they point the same way?")
left.legend(ncols=2, fontsize=9, loc="lower left")
shown = [way for way in only if way != "neither"]  # it stays near the unigram, far to the right
middle, bars = _bars(np.array([losses.final(way) for way in shown]))
right.errorbar(middle, shown, xerr=bars, color=plot.CYCLE[0], marker="o", ls="", capsize=4)
right.invert_yaxis()
right.set(xlabel="loss on unseen text, nats", title="With one part, or both")
save_figure(figure, "lab_parts_of_a_tied_gradient.png")

# %% [markdown]
# One thing must not be read into a late cosine. At a minimum of the loss the sum of the parts is
# zero, so there they are exactly opposed, in any tied model. Only before that can they help or
# hinder each other.
