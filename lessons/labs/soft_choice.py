# %% [markdown]
# # Lab: does a soft choice become a hard one?
#
# The weights of a mixture of rows (lesson 10) can be learned: weights = softmax(scores) (lesson
# 12), and the scores follow their slopes. Somebody says a word, we hear its row with some noise,
# and fit a mixture to what we heard. It is often said that the weights then run to a single word.
#
# **Question.** Of 40 words heard, in how many fits does one word end with more than 0.99 of the
# weight? And is the heaviest word the one that was said?
#
# **Guess.** Without noise in all fits. With noise in few: a mixture of several rows then comes
# nearer to what was heard than any row does.
#
# **Control.** No noise at all: one word is the best answer, and the fit has to find it. If it does
# not, descent is too slow, and the rest says nothing.
#
# **Baseline.** For naming the word: no mixture and no descent, only the row nearest to what was
# heard.
#
# **Threshold.** Without noise more than 0.9 of the fits have to be hard, with noise of 0.3 less
# than 0.5, for every seed. Fits that go on hardening at the longest budget would settle nothing:
# from the budget before it, the share may not rise by more than 0.1.

# %%
from functools import cache

import numpy as np

from scratch_embed import Adam, Tensor, geometry, plot
from scratch_embed.functional import onehot_product, softmax
from scratch_embed.lesson import across, begin, save_figure

begin()
V, D, HEARD = 20, 16, 40
BUDGETS = (250, 1000, 4000)


# %%
@cache
def draw(seed, noise):
    """(E, said, heard): a table, the words that were said, their rows with noise."""
    rng = np.random.default_rng(seed)
    E = rng.standard_normal((V, D))
    said = rng.integers(V, size=HEARD)
    return E, said, E[said] + noise * rng.standard_normal((HEARD, D))


@cache
def fitted(seed, steps, noise):
    """(HEARD, V) the weights after so many steps towards what was heard."""
    E, _, heard = draw(seed, noise)
    scores = Tensor(np.zeros((HEARD, V)), requires_grad=True)
    optimizer = Adam([scores], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        ((onehot_product(softmax(scores), E) - heard) ** 2).sum().backward()
        optimizer.step()
    return softmax(scores).numpy()


def hard(seed, steps, noise):
    """The share of fits in which one word holds more than 0.99 of the weight."""
    return float((fitted(seed, steps, noise).max(axis=1) > 0.99).mean())


levels = {f"noise {noise}": {"noise": noise} for noise in (0.0, 0.1, 0.3, 1.0)}
results = across(hard, levels, budgets=BUDGETS, quick_budgets=BUDGETS[:2], unit="share hard")
results.show()
last, before = (
    results.scores["noise 0.3"][budget]
    for budget in sorted(results.scores["noise 0.3"], reverse=True)[:2]
)
results.conclude("Without noise the choice hardens", bool((results.final("noise 0.0") > 0.9).all()))
results.conclude(
    "With noise 0.3 most choices stay mixtures, and have come to rest",
    bool((last < 0.5).all() and (last - before <= 0.1).all()),
)

# %% [markdown]
# Soft or hard, which word is the heaviest?


# %%
def named(seed, steps, way):
    """The share of words that were named as they were said, with noise 1."""
    E, said, heard = draw(seed, 1.0)
    if way == "nearest row":
        apart = geometry.distances(np.concatenate([heard, E]))[:HEARD, HEARD:]
        return float((apart.argmin(axis=1) == said).mean())
    return float((fitted(seed, steps, 1.0).argmax(axis=1) == said).mean())


ways = {way: {"way": way} for way in ("mixture", "nearest row")}
names = across(named, ways, budgets=BUDGETS, quick_budgets=BUDGETS[:2], unit="share right")
names.show()
names.claim("nearest row", "above", "mixture")

# %%
figure, ax = plot.figure(size=(8, 4))
for noise, marker, color in ((0.0, "o", "blue"), (0.3, "s", "vermillion"), (1.0, "^", "green")):
    heaviest = np.sort(fitted(0, results.longest, noise).max(axis=1))
    ax.plot(heaviest, marker, ms=4, color=plot.PALETTE[color], label=f"noise {noise}")
ax.set(
    xlabel="40 fits, in order",
    ylabel="weight of the heaviest word",
    ylim=(0, 1.05),
    title="What descent makes of a soft choice",
)
ax.legend(frameon=True)
save_figure(figure, "lab_soft_choice.png")
