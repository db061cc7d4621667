# %% [markdown]
# # Lab: does chance explain cosines?
#
# Two rows of a trained table have a cosine of 0.6. Are their words related? Random rows of $D$
# columns have cosines of about $1/\sqrt{D}$, which is 0.14 for 50 columns, and 0.6 is far more. But
# that is the chance of rows that point anywhere. The rows of a trained table share a mean, and
# prefer some directions.
#
# **Question.** Whose chance is the right one to compare with?
#
# **Guess.** Against random rows nearly every pair looks related. Against random rows with the same
# mean and the same spread few do, and true relatives are among them. Without the mean row the first
# baseline is better, and not yet good.
#
# **Control.** A random table with the mean of the trained one; and one with its mean, its singular
# values and their directions, so that nothing is left to chance but which word has which row.
#
# **Baseline.** Random rows. The text is the standard text of this course, or `--text FILE`;
# skip-gram with $D = 50$ reads half of it, another half for each seed. Relatives are a word and its
# plural, strangers a word and the plural of another.
#
# **Threshold.** Each chance sets a bar that one in a hundred of its own pairs exceeds. An honest
# bar lets at most 5 % of the strangers pass, and at least 30 points more of the relatives, for
# every seed. The bar of random rows is called dishonest if it lets at least 20 % of the strangers
# pass. The mean is to blame if taking it away at least halves what that bar lets pass.

# %%
from functools import cache

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.lesson import across, begin, lab_text, save_figure
from scratch_embed.look.numbers import at_most
from scratch_embed.text import corpus, word2vec_fast

begin()
V, D = 1000, 50
raw = lab_text()
text = corpus.words(raw)
known = corpus.Vocabulary.from_tokens(text, max_size=V + 1)
ids = known.encode(text)
ids = ids[ids > 0] - 1  # without the rare words
relatives = [
    (known.index[word] - 1, known.index[word + "s"] - 1)
    for word in known.tokens[1:]
    if len(word) > 3 and word + "s" in known.index
]
if len(relatives) < 8:
    raise SystemExit(
        f"{len(relatives)} of the {V:,} most frequent words of the text stand there with an s as "
        "well, as rows does; this takes 8"
    )
one, many = np.array(relatives).T
shown = ", ".join(f"{known.tokens[1 + a]}/{known.tokens[1 + b]}" for a, b in relatives[:3])
print(f"  {len(ids):,} words of text; {len(one)} plurals: {shown} ...")

# %% [markdown]
# The three kinds of chance. The last keeps everything of the table $E = \bar E + U S W^\top$ but
# $U$, in which the words stand.


# %%
@cache
def table(seed, passes):
    stretches = np.array_split(ids, len(ids) // 1000)
    chosen = np.random.default_rng(seed).permutation(len(stretches))[: len(stretches) // 2]
    half = np.concatenate([stretches[i] for i in chosen])
    trained = word2vec_fast.train(half, V, D, epochs=passes, rng=seed)
    return trained.vectors.astype(np.float64)


def by_chance(E, keeps, rng):
    """A random table of the size of E that keeps "nothing", its "mean", or its "spread" as well."""
    drawn = rng.standard_normal(E.shape)
    mean, rest = E.mean(axis=0), geometry.centre(E)
    if keeps == "nothing":
        return drawn
    if keeps == "mean":
        return mean + drawn * np.sqrt((rest**2).mean())
    S, Wt = np.linalg.svd(rest, full_matrices=False)[1:]
    U = np.linalg.svd(geometry.centre(drawn), full_matrices=False)[0]
    return mean + U * S @ Wt


tables = {
    "trained": None,
    "random rows": "nothing",
    "same mean": "mean",
    "same mean and spread": "spread",
}
pairs = np.triu_indices(V, 1)


@cache
def cosines_of(seed, passes, keeps, centred):
    """(V, V) of the trained table (keeps=None) or of a random one that keeps something of it."""
    E = table(seed, passes)
    if keeps is not None:
        E = by_chance(E, keeps, np.random.default_rng([seed, 1]))
    return geometry.cosines(geometry.centre(E) if centred else E)


def typical(seed, passes, keeps, centred):
    """The median cosine over all pairs."""
    return float(np.median(cosines_of(seed, passes, keeps, centred)[pairs]))


ways = {name: {"keeps": keeps, "centred": False} for name, keeps in tables.items()}
ways["trained, less its mean"] = {"keeps": None, "centred": True}
medians = across(typical, ways, budgets=(1, 5), unit="median cosine, by passes")
medians.show()
medians.claim("trained", "above", "random rows", by=0.1)
apart = np.abs(medians.final("trained") - medians.final("same mean and spread"))
medians.conclude(
    f"Chance with the same mean and spread comes within {at_most(apart.max(), 3)} of the trained "
    "table",
    bool(apart.max() < 0.05),
)
for passes in medians.scores["trained"]:
    share = (cosines_of(0, passes, None, False)[pairs] > 0.6).mean()
    print(f"  passes {passes}: {share:.1%} of all pairs are above 0.6 (the first seed)")

# %% [markdown]
# So how many pairs would each kind of chance call related? Each bar lets one in a hundred of its
# own pairs pass.


# %%
@cache
def bar(seed, passes, keeps, centred):
    return np.quantile(cosines_of(seed, passes, keeps, centred)[pairs], 0.99)


def passing(seed, passes, keeps, centred, who):
    """The share of relatives, or of strangers, whose cosine is above the bar."""
    found = cosines_of(seed, passes, None, centred)[one[:, None], many[None]]
    own = np.eye(len(one), dtype=bool)
    asked = found[own] if who == "relatives" else found[~own]
    return float((asked > bar(seed, passes, keeps, centred)).mean())


def passed(centred, names):
    """Who passes which bar, with the rows as they are or less their mean."""
    ways = {
        f"{who}: {name}": {"keeps": tables[name], "centred": centred, "who": who}
        for who in ("strangers", "relatives")
        for name in names
    }
    return across(passing, ways, budgets=(1, 5), unit="share that passes")


as_they_are = passed(False, list(tables)[1:])
as_they_are.show()
loose = as_they_are.final("strangers: random rows")
as_they_are.conclude(
    "The bar of random rows is dishonest, and lets at least 20% of the strangers pass "
    f"({loose.min():.0%} to {loose.max():.0%})",
    bool(loose.min() >= 0.2),
)


def honest(results, name):
    """Whether the bar of one kind of chance stops strangers, and not relatives."""
    strangers = results.final(f"strangers: {name}")
    relatives = results.final(f"relatives: {name}")
    more = relatives - strangers
    points = f"{100 * more.min():z.0f} to {100 * more.max():z.0f} points"
    return results.conclude(
        f"The bar of '{name}' is honest: {at_most(100 * strangers.max(), 1)}% of the strangers "
        f"pass at the most, and {points} more of the relatives",
        bool(strangers.max() <= 0.05 and more.min() >= 0.3),
    )


for name in list(tables)[2:]:
    honest(as_they_are, name)

# %% [markdown]
# The same, once the mean row has been taken from every row. A random table of the same mean is then
# a table of random rows, so two kinds of chance are left.

# %%
less_the_mean = passed(True, ("random rows", "same mean and spread"))
less_the_mean.show()
left = less_the_mean.final("strangers: random rows")
less_the_mean.conclude(
    f"Without the mean the bar of random rows lets {left.min():.1%} to {left.max():.1%} of the "
    "strangers pass, at most half as many as with it",
    bool((left <= loose / 2).all()),
)
for name in ("random rows", "same mean and spread"):
    honest(less_the_mean, name)

# %%
first, last = min(medians.scores["trained"]), medians.longest
figure, axes = plot.figure(1, 3, size=(12.5, 4))
bins = np.linspace(-0.6, 1, 41)
styles = {"random rows": ("black", ":"), "same mean": ("green", "-."),
          "same mean and spread": ("blue", "--")}  # fmt: skip
for ax, (passes, centred) in zip(axes, ((first, False), (last, False), (last, True))):
    own = cosines_of(0, passes, None, centred)
    counting = {"bins": bins, "density": True}
    ax.hist(own[pairs], **counting, color="lightgrey", label="trained, all pairs")
    for name, (colour, style) in styles.items():
        drawn = cosines_of(0, passes, tables[name], centred)[pairs]
        heights = np.histogram(drawn, **counting)[0]
        middles = (bins[1:] + bins[:-1]) / 2
        ax.plot(middles, heights, style, color=plot.PALETTE[colour], label=f"chance: {name}")
    ax.hist(own[one, many], **counting, histtype="step", lw=1.6,
            color=plot.PALETTE["vermillion"], label="trained, word and plural")  # fmt: skip
    kind = "less the mean row" if centred else "rows as they are"
    ax.set(xlabel="cosine", title=f"passes: {passes}, {kind}", yticks=[])
axes[0].set_ylabel("density")
axes[0].legend(frameon=False, fontsize=9, loc="upper left")
save_figure(figure, "lab_chance_and_cosines.png")
