# %% [markdown]
# # Lab: told and untold
#
# Lesson 6 shows two tables with clusters. One was told the groups of its words, the other read a
# text. Their maps look alike.
#
# **Question.** When the groups are dealt at random, who makes them: the one that is told, or the
# one that reads? And what if the words exchange their roles in the text, and the reader learns
# anew?
#
# **Guess.** The told one makes any groups. The reader makes those of its text, whichever words
# they are of, and none if the text is shuffled.
#
# **Control.** The same words, as often, in a shuffled order: the reader is trained again on it.
#
# **Baseline.** The random start of the table.
#
# **Threshold.** Who makes groups must put at least 0.5 more of all words next to one of their group
# than the baseline, for every seed; the shuffled reader must stay within 0.15 of the baseline.

# %%
import numpy as np

from scratch_embed import Adam, geometry, plot
from scratch_embed.lesson import across, begin, save_figure
from scratch_embed.look.numbers import at_most
from scratch_embed.models import NextToken, train
from scratch_embed.simulations import space
from scratch_embed.text import toy

begin()
V, GROUPS, D = 64, 16, 8


# %% [markdown]
# Every seed has a text, groups and a start of its own. One budget is one step: of the simulation,
# or of training on 128 pairs of words. The score is the share of words whose nearest other word is
# of their own group.


# %%
def told(seed, steps, dealt):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(GROUPS), V // GROUPS)  # word by word, as a dictionary would
    groups = rng.permutation(groups) if dealt else groups
    start = rng.standard_normal((V, D))
    return geometry.neighbour_accuracy(space.settle(start, groups, steps, rng=rng)[-1], groups)


def untold(seed, steps, text):
    rng = np.random.default_rng(seed)
    corpus = toy.zipf_classes(12_000, V, GROUPS, exponent=0.5, rng=rng)
    tokens, groups = corpus.tokens, corpus.classes
    if text == "roles exchanged":
        new = rng.permutation(V)  # word w plays the part of word new[w]
        tokens, groups = np.argsort(new)[tokens], groups[new]
    elif text == "shuffled":
        tokens = rng.permutation(tokens)
    model = NextToken(V, D, rng=seed, init=0.1)  # the same start for every text
    if text != "nothing read":
        train(model, tokens, Adam(model.parameters(), lr=0.02), steps, batch_size=128, rng=rng)
    return geometry.neighbour_accuracy(model.embed.weight.numpy(), groups)


def run(seed, steps, how, what):
    return float(how(seed, steps, what))


ways = {
    "told": {"how": told, "what": False},
    "told dealt groups": {"how": told, "what": True},
    "reads": {"how": untold, "what": "in order"},
    "reads, roles exchanged": {"how": untold, "what": "roles exchanged"},
    "reads, shuffled": {"how": untold, "what": "shuffled"},
    "random start": {"how": untold, "what": "nothing read"},
}
results = across(run, ways, budgets=(100, 300, 600), unit="share", quick_budgets=(300,))
results.show()
for way in list(ways)[:4]:
    results.claim(way, "above", "random start", by=0.5)
apart = np.abs(results.final("reads, shuffled") - results.final("random start"))
results.conclude(
    f"The shuffled reader is within {at_most(apart.max())} of the random start",
    bool(apart.max() < 0.15),
)

# %%
figure, ax = plot.figure(size=(8.5, 4))
medians = [float(np.median(results.final(way))) for way in ways]
labels = [way.replace(", ", ",\n").replace("dealt ", "\ndealt ") for way in ways]
plot.bars(ax, labels, medians, ylabel="next to one of their group", fmt="{:.2f}")
for x, way in enumerate(ways):
    ax.vlines(x, results.final(way).min(), results.final(way).max(), color="black", lw=2)
ax.set_title("Groups that are made: median and range over the seeds")
save_figure(figure, "lab_clusters.png")
