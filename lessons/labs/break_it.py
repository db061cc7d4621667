# %% [markdown]
# # Lab: seven ways to break it
#
# Lesson 22 damages a small tied model in seven ways, and looks at the loss on the text that it
# learned from, with three seeds. How much of that stands on a text that was not read, with more
# seeds, and when training goes on?
#
# **Question.** Which damage costs anything, and which is mended by training longer?
#
# **Guess.** All seven cost. Lost repeats cost little, and less the longer one trains: each step is
# wrong by a little only. The others never come near the healthy model.
#
# **Control.** The healthy model, untouched: the same start, the same batches, as many steps.
#
# **Baseline.** The frequencies alone, from the text that was read; and a plain guess among all
# words.
#
# **Threshold.** A damage "breaks" the model if the held-out loss is above that of the healthy one
# by more than 0.05 nats, for every seed at the longest budget. A damaged model has still "learned
# something" if it is below the frequencies by more than 0.05 nats. A damage is mended by time if
# its distance to the healthy model at the longest budget is less than half of that at the shortest.

# %%
from functools import cache

import numpy as np

from scratch_embed import plot
from scratch_embed.lesson import across, begin, save_figure
from scratch_embed.lesson.claims import values_of
from scratch_embed.look.terminal import width, wrap

begin()
lesson = values_of("ch22_break_it")
MOST = 20.0  # nats: a loss above it counts as this much, so that it can be drawn
told = ", ".join(list(lesson.damages)[1:])
print("\n".join(wrap(f"damages: {told} and rows shuffled", width(), "  ")))


# %% [markdown]
# Model, damages and training are the lesson's own. A seed decides the start, the batches and the
# 3,000 words that are held out: new ones of the same language.


# %%
@cache
def held_out(seed):
    return lesson._text(3000, np.random.default_rng([seed, 1]))


@cache
def trained(seed, steps, damage):
    with np.errstate(all="ignore"):  # some of these go wrong
        return lesson._train(seed=seed, steps=steps, **lesson.damages[damage])[1]


def loss(seed, steps, way):
    """Nats a word on the words that are held out."""
    words = held_out(seed)
    if way == "a plain guess":
        return float(np.log(lesson.V))
    if way == "frequencies alone":
        return float(-np.log(lesson.shares[words[1:]]).mean())
    E, W = trained(seed, steps, "healthy" if way == "rows shuffled" else way)
    if way == "rows shuffled":
        E = np.random.default_rng([seed, 2]).permutation(E)
    with np.errstate(all="ignore"):
        found = lesson.forward(E, W, words[:-1], words[1:])[0]
    return float(min(found, MOST)) if np.isfinite(found) else MOST


damages = [*list(lesson.damages)[1:], "rows shuffled"]
names = ["healthy", *damages, "frequencies alone", "a plain guess"]
results = across(
    loss, {name: {"way": name} for name in names}, budgets=(400, 1600, 4800), unit="nats"
)
results.show()

# %%
for damage in damages:
    results.claim(damage, "above", "healthy", by=0.05)

# %%
for damage in ("healthy", *damages):
    results.claim(damage, "below", "frequencies alone", by=0.05)
results.claim("rows shuffled", "above", "a plain guess", by=0.05)

# %%
shortest = min(results.scores["healthy"])
for damage in damages[:-1] if results.longest > shortest else ():
    at_first = results.scores[damage][shortest] - results.scores["healthy"][shortest]
    at_last = results.final(damage) - results.final("healthy")
    results.conclude(
        f"{damage}: mended by time, from {np.median(at_first):.3f} to {np.median(at_last):.3f} "
        "nats above the healthy",
        bool((at_last < at_first / 2).all()),
    )

# %%
figure, ax = plot.figure(size=(9, 4.4))
budgets = list(results.scores["healthy"])
for i, name in enumerate(names[:-2]):
    for k, steps in enumerate(budgets):
        each = results.scores[name][steps]
        where = np.full(len(each), i + 0.22 * (k - (len(budgets) - 1) / 2))
        label = f"{steps:,} steps" if i == 0 else None
        ax.scatter(where, each, s=26, marker=plot.MARKERS[k], color=plot.CYCLE[k], label=label)
for name, style in (("frequencies alone", "--"), ("a plain guess", ":")):
    level = np.median(results.final(name))
    ax.axhline(level, color="black", lw=1, ls=style, label=name)
labels = [name.replace("all rows start", "all rows\nstart").replace("part lost", "\npart lost")
          .replace("one row of", "one row of\n").replace("forgotten", "\nforgotten")
          .replace("rows shuffled", "rows\nshuffled") for name in names[:-2]]  # fmt: skip
ax.set_xticks(range(len(labels)), labels, fontsize=9)
ax.set(ylabel="held-out loss, nats", title="Seven ways to break it: a mark for each seed")
ax.legend(frameon=False, fontsize=9, loc="upper left")
save_figure(figure, "lab_break_it.png")
