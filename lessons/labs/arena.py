# %% [markdown]
# # Lab: which way of cutting a text makes the best rows?
#
# Lesson 8 trains six strategies for seconds, from one seed. Here they meet again with several seeds
# and growing budgets, counted in two ways.
#
# **Question.** Words, pieces, characters, patches: does one of them save the most bits for a
# character of unseen text, whatever the budget? And is the order the same in five scripts?
#
# **Guess.** Whole words lead in one language while the budget is small; characters lead where five
# alphabets share the rows.
#
# **Control.** The characters of a shuffled text: with nothing to learn from the context, no model
# may beat counting.
#
# **Baseline.** Counting alone (unigram shares), for each strategy with its own vocabulary.
#
# **Threshold.** 0.05 bits for a character, for every seed at the largest budget.

# %%
from functools import cache

import numpy as np

from scratch_embed import contest, plot
from scratch_embed.lesson import across, begin, save_figure
from scratch_embed.text import corpus

begin()
LETTERS, UNSEEN, STEP = 300_000, 6_000, 0.05
raw = corpus.python_text(("topics",))


@cache
def texts(seed, kind):
    """(known, unseen) of one seed: another tenth is unseen, and the paragraphs stand shuffled."""
    rng = np.random.default_rng(seed)
    paragraphs = raw.split("\n\n")
    text = "\n".join(paragraphs[i] for i in rng.permutation(len(paragraphs)))
    known, unseen = contest.split(text, LETTERS)
    unseen = unseen[:UNSEEN]
    if kind == "shuffled":
        known, unseen = ("".join(rng.permutation(list(part))) for part in (known, unseen))
    if kind == "scripts":  # each script is known and is unseen
        known, unseen = contest.in_scripts(known), contest.in_scripts(unseen)
    return known, unseen


@cache
def vocabulary(seed, kind, strategy):
    """The cut of a strategy, made once a text."""
    return contest.contestant(strategy, texts(seed, kind)[0], 0).cut


def trained(seed, tokens, strategy, kind="text"):
    """Bits for each unseen character after so many tokens; counting alone when tokens is 0."""
    known, unseen = texts(seed, kind)
    player = contest.contestant(strategy, known, seed, vocabulary(seed, kind, strategy))
    if not tokens:
        return player.unigram_bits(known, unseen)
    player.learn(known, tokens, seed + 1000)
    return player.bits(unseen)


# %% [markdown]
# ## As many tokens for each

# %%
BASES = {"words": "words", "pieces": "pieces", "characters": "characters"}
ways = {name: {"strategy": name} for name in contest.STRATEGIES}
ways |= {f"counting {name}": {"strategy": name, "count": True} for name in BASES}
ways["shuffled text"] = {"strategy": "characters", "kind": "shuffled"}
ways["counting shuffled"] = {"strategy": "characters", "kind": "shuffled", "count": True}


def equal_tokens(seed, budget, strategy, kind="text", count=False):
    return trained(seed, 0 if count else budget, strategy, kind)


budgets, quick = (10_000, 80_000), (3_000,)
tokens = across(equal_tokens, ways, budgets=budgets, quick_budgets=quick, unit="bits a character")
tokens.show()
for name in ("words", "pieces", "characters"):
    tokens.claim(name, "below", f"counting {name}", by=STEP)
tokens.claim("words", "below", "pieces", by=STEP)
tokens.claim("words", "below", "characters", by=STEP)
tokens.claim("words", "below", "words, tied", by=STEP)
tokens.claim("characters", "below", "patches of 8", by=STEP)
control = tokens.final("counting shuffled") - tokens.final("shuffled text")
tokens.conclude(
    f"On the shuffled text learning saves {control.min():.3f} to {control.max():.3f} bits",
    bool((control < STEP).all()),
)

# %% [markdown]
# ## As many multiply-adds for each
# The budget is what characters would spend on so many tokens.


# %%
@cache
def cost(strategy):
    """Multiply-adds of one prediction."""
    known, _ = texts(0, "text")
    return contest.contestant(strategy, known, 0, vocabulary(0, "text", strategy)).cost


def equal_work(seed, budget, strategy):
    return trained(
        seed, max(contest.BATCH, budget * cost("characters") // cost(strategy)), strategy
    )


six = {name: {"strategy": name} for name in contest.STRATEGIES}
work = across(equal_work, six, budgets=budgets, quick_budgets=quick, unit="bits a character")
work.show()
work.claim("words", "below", "pieces", by=STEP)
work.claim("words", "below", "characters", by=STEP)

# %% [markdown]
# ## Five scripts, as many tokens for each

# %%
scripts = across(
    equal_tokens,
    {name: {"strategy": name, "kind": "scripts"} for name in ("words", "pieces", "characters")},
    budgets=budgets,
    quick_budgets=quick,
    unit="bits a character",
)
scripts.show()
scripts.claim("characters", "below", "words", by=STEP)
scripts.claim("pieces", "below", "words", by=STEP)

# %%
figure, axes = plot.figure(1, 3, size=(14, 4.2))
panels = {"Equal tokens": tokens, "Equal multiply-adds": work, "Five scripts": scripts}
for ax, (title, results) in zip(axes, panels.items()):
    names = [name for name in contest.STRATEGIES if name in results.scores]
    median = [float(np.median(results.final(name))) for name in names]
    low = [m - results.final(name).min() for m, name in zip(median, names)]
    high = [results.final(name).max() - m for m, name in zip(median, names)]
    ax.barh(names, median, xerr=[low, high], color=plot.PALETTE["blue"], capsize=3)
    ax.invert_yaxis()
    ax.set(title=title, xlabel="bits for a character: median and range")
save_figure(figure, "lab_arena.png")
