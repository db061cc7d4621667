# %% [markdown]
# # Lab: how far can a price list be trusted?
#
# Lesson 10 calculates $g\,E^\top$, a price for every word at a place of a text, and warns that
# prices are slopes, while a swap of words is a large step. How large is the mistake in a model that
# has learned something?
#
# **Question.** A trained model reads a word and is to say the next one. We may put another word in
# its place and try ten candidates. How much of the loss do we save when the price list picks them?
#
# **Guess.** Most of what there is to save: the list is rough, but ten tries forgive a lot.
#
# **Control.** The price list of another place, for another next word: as good a list, of no use
# here.
#
# **Baseline.** Ten words at random, and the ten most frequent words. The bound: try all 400.
#
# **Threshold.** The price list has to save 0.1 nats more than the control and than both baselines,
# for every seed.

# %%
from functools import cache

import numpy as np

from scratch_embed import Adam, Tensor, plot
from scratch_embed.functional import cross_entropy, onehot_product, tanh
from scratch_embed.lesson import across, begin, save_figure
from scratch_embed.models import NextToken, train
from scratch_embed.ops.onehot import one_hot
from scratch_embed.ops.softmax import log_softmax_forward
from scratch_embed.text import toy

begin()
V, PLACES, TRIES = 400, 60, 10


# %% [markdown]
# For 60 places at once: what the list promises for each word, and what comes of it.


# %%
@cache
def places(seed, steps):
    """(promised, came), both (PLACES, V): the change of the loss for each word put in."""
    rng = np.random.default_rng(seed)
    tokens = toy.zipf_classes(num_words=V, rng=rng).tokens
    model = NextToken(V, 16, body=True, rng=rng, init=0.3)
    optimizer = Adam(model.parameters(), lr=0.01)
    train(model, tokens, optimizer, steps, batch_size=128, rng=rng)

    at = rng.choice(len(tokens) - 1, PLACES, replace=False)
    words, targets = tokens[at], tokens[at + 1]
    codes = Tensor(one_hot(words, V), requires_grad=True)
    hidden = tanh(onehot_product(codes, model.embed.weight) @ model.body)
    cross_entropy(hidden @ model.head.T, targets, reduction="sum").backward()
    log_p, _ = log_softmax_forward(model(np.arange(V)).numpy())

    here = np.arange(PLACES)
    promised = codes.grad - codes.grad[here, words][:, None]
    came = (log_p[words, targets] - log_p[:, targets]).T
    return promised, came


def saved(seed, steps, way):
    """By how many nats the loss falls with the best of ten candidates, the mean over places."""
    promised, came = places(seed, steps)
    rng = np.random.default_rng([seed, 1])
    order = {
        "price list": promised,
        "another place's": np.roll(promised, 1, axis=0),
        "random": rng.random(came.shape),
        "frequent": np.broadcast_to(np.arange(V), came.shape),  # word 0 is the most frequent
        "all": came,
    }[way]
    candidates = np.argsort(order, axis=1)[:, :TRIES]
    best = np.take_along_axis(came, candidates, axis=1).min(axis=1)
    return float(-np.minimum(best, 0).mean())


ways = {
    name: {"way": name} for name in ("price list", "another place's", "random", "frequent", "all")
}
results = across(saved, ways, budgets=(300, 1200), unit="nats saved")
results.show()
for other in ("another place's", "random", "frequent"):
    results.claim("price list", "above", other, by=0.1)
share = results.final("price list") / results.final("all")
results.conclude(
    f"Ten tries from the list save {share.min():.0%} to {share.max():.0%} of what all {V} would",
    bool((share > 0.5).all()),
)

# %% [markdown]
# And word by word? The correlation of promise and truth over all 400 words, at each of the places:
# the worst place, the median one, the best.


# %%
def correlation(seed, steps, quantile):
    promised, came = places(seed, steps)
    each = [np.corrcoef(p, c)[0, 1] for p, c in zip(promised, came)]
    return float(np.quantile(each, quantile))


spread = {
    "worst place": {"quantile": 0},
    "median place": {"quantile": 0.5},
    "best place": {"quantile": 1},
}
agreement = across(correlation, spread, budgets=(300, 1200), unit="correlation")
agreement.show()
middle, worst = agreement.final("median place"), agreement.final("worst place")
agreement.conclude(
    f"At the median place promise and truth correlate by {middle.min():.2f} to "
    f"{middle.max():.2f}, at the worst by {worst.min():.2f} to {worst.max():.2f}",
    bool((middle > 0).all()),
)

# %%
promised, came = places(0, results.longest)
each = np.array([np.corrcoef(p, c)[0, 1] for p, c in zip(promised, came)])
typical = int(np.argsort(each)[PLACES // 2])
figure, axes = plot.figure(1, 2, size=(11, 4.2))
medians = [float(np.median(results.final(way))) for way in ways]
labels = [name.replace(" ", "\n") for name in ways]
plot.bars(axes[0], labels, medians, ylabel="nats saved", title="Best of ten: median and range")
for x, way in enumerate(ways):
    axes[0].vlines(x, results.final(way).min(), results.final(way).max(), color="black", lw=2)
axes[1].axhline(0, color="grey", lw=0.8)
axes[1].scatter(promised[typical], came[typical], s=12, alpha=0.6, color=plot.PALETTE["blue"])
axes[1].set(
    xlabel="promised change of the loss, nats",
    ylabel="what came of it, nats",
    title=f"Every word at the median place (correlation {each[typical]:.2f})",
)
save_figure(figure, "lab_swaps.png")
