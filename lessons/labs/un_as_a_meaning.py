# %% [markdown]
# # Lab: can the row of "un" mean "not"?
#
# A word is put together from its pieces (lesson 7). But "un" is no meaning that could be added: it
# turns happy to the bad and hurt to the good. Suppose that scores are a straight line on the sum of
# rows, happy above 0 and hurt below. Then "un" would have to be so far below 0 that it turns happy,
# and so far above that it turns hurt.
#
# So take a language of 120 stems, half of them good and half bad, and "un-", which turns each. All
# bare stems are trained, and 60 of them with "un-" as well.
#
# **Question.** Of the other 60 words with "un-", never seen, how many are told right? Ways to put
# the two pieces together: their sum; the sum, then an MLP (a layer with a bend, and a line);
# attention, where the stem asks stem and prefix, with one head or with two; attention with one
# head, then the same MLP.
#
# **Guess.** The sum fails. Whatever bends can do it, attention or not. One head gives a mixture
# of two fixed values, with weights above 0, so it fails as the sum does; two heads can choose.
#
# **Control.** A prefix without a meaning, whose words are good or bad at random: no way may know
# unseen words of that kind. And one that changes nothing, on which the sum must succeed: then it
# was not the unseen words that were too much for it.
#
# **Baseline.** Say what most trained words with that prefix are.
#
# **Threshold.** A way composes when it exceeds the baseline, and itself in the control, by 0.3 for
# every seed. A way fails when it stays within 0.1 above the baseline. Rate and sizes were chosen
# with other seeds, by the trained words alone.

# %%
from functools import cache

import numpy as np

from scratch_embed import Adam, Embedding, plot
from scratch_embed.functional import concatenate, cross_entropy, relu
from scratch_embed.layers import Linear, SelfAttention
from scratch_embed.layers.layer import Layer
from scratch_embed.lesson import across, begin, options, save_figure

begin()
STEMS, D, BLANK, PREFIX = 120, 16, 0, 1  # of the prefix table's rows that of the blank stays zero


# %%
class Reader(Layer):
    """Scores for bad and good                         words (N, 2), prefix and stem -> (N, 2)

    heads : of attention, in which the stem asks both pieces; with 0, the pieces are added.
    bend : whether a layer with a relu follows.
    """

    def __init__(self, heads, bend, rng):
        self.stems = Embedding(STEMS, D, rng=rng, init="1/sqrt(d)")
        self.prefixes = Embedding(2, D, padding_idx=BLANK, rng=rng, init="1/sqrt(d)")
        self.mix = SelfAttention(D, heads, rng=rng) if heads else None
        self.up = Linear(D, D, rng=rng) if bend else None
        self.out = Linear(D, 2, rng=rng)

    def __call__(self, words):
        rows = concatenate(self.prefixes(words[:, :1]), self.stems(words[:, 1:]), axis=1)
        if self.mix:
            there = np.column_stack([words[:, 0] != BLANK, np.ones(len(words), bool)])
            h = self.mix(rows, real=there)[:, 1]
        else:
            h = rows.sum(axis=1)
        return self.out(relu(self.up(h)) if self.up else h)


READERS = {
    "sum": {"heads": 0, "bend": False},
    "sum, MLP": {"heads": 0, "bend": True},
    "one head": {"heads": 1, "bend": False},
    "two heads": {"heads": 2, "bend": False},
    "one head, MLP": {"heads": 1, "bend": True},
}
bare, long = (np.column_stack([np.full(STEMS, p), np.arange(STEMS)]) for p in (BLANK, PREFIX))


def fit(reader, weights, words, labels, steps):
    """Train these weights of the reader, with all words in every step."""
    optimizer = Adam(weights, lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(reader(words), labels).backward()
        optimizer.step()
    return reader


def language(seed, prefix, known):
    """(is each stem good, is it so with the prefix, was it trained with the prefix), (STEMS,)"""
    rng = np.random.default_rng([seed, 1])
    good = rng.permutation(np.arange(STEMS) % 2)
    meaning = {"turns": 1 - good, "keeps": good, "random": rng.permutation(good)}
    return good, meaning[prefix], rng.permutation(STEMS) < known


@cache
def stems_alone(seed):
    """(STEMS, D) rows from which a straight line can tell which stem is good."""
    reader = Reader(**READERS["sum"], rng=np.random.default_rng([seed, 2]))
    good, _, _ = language(seed, "turns", 0)
    return fit(reader, reader.parameters(), bare, good, 100).stems.weight.numpy()


@cache
def told(seed, steps, way, prefix, known, stems):
    """The shares of all trained words, and of the unseen words with the prefix, told right.

    stems : their rows are learned "together" with the prefix, or "first", from bare stems alone,
        and then kept; or learned first and not kept, "free".
    """
    good, prefixed, seen = language(seed, prefix, known)
    reader = Reader(**READERS[way], rng=np.random.default_rng(seed))
    weights = reader.parameters()
    if stems != "together":
        reader.stems.weight.data[...] = stems_alone(seed)
    if stems == "first":
        weights = [weight for weight in weights if weight is not reader.stems.weight]
    words, labels = np.concatenate([bare, long[seen]]), np.concatenate([good, prefixed[seen]])
    fit(reader, weights, words, labels, steps)

    def right(words, labels):
        return float((reader(words).numpy().argmax(axis=1) == labels).mean())

    return right(words, labels), right(long[~seen], prefixed[~seen])


def on_trained_words(seed, steps, way):
    return told(seed, steps, way, "turns", STEMS // 2, "together")[0]


def on_new_words(seed, steps, way, prefix="turns", known=STEMS // 2, stems="together"):
    if way == "majority":
        _, prefixed, seen = language(seed, prefix, known)
        return float((prefixed[~seen] == np.bincount(prefixed[seen]).argmax()).mean())
    return told(seed, steps, way, prefix, known, stems)[1]


# %% [markdown]
# First the rows of the stems are learned together with all else.

# %%
MAJORITY = {"majority": {"way": "majority"}}
ALONE = {way: {"way": way} for way in READERS}
BUDGETS = {"budgets": (100, 300), "quick_budgets": (50,), "unit": "share right"}
together = across(on_new_words, ALONE | MAJORITY, **BUDGETS)
trained = across(on_trained_words, ALONE, **BUDGETS)
print("  unseen words")
together.show()


def fails(results, way):
    gap = results.final(way) - results.final("majority")
    results.conclude(
        f"{way} fails: above the majority by {gap.min():+.2f} to {gap.max():+.2f}",
        bool((gap < 0.1).all()),
    )


for way in ("sum", "one head"):
    fails(together, way)
for way in ("sum, MLP", "two heads", "one head, MLP"):
    together.claim(way, "above", "majority", by=0.3)
print("  trained words")
trained.show()

# %% [markdown]
# The guess was wrong. With an MLP the trained words are told right, and the unseen ones by luck:
# able to compose, the model learns by heart. The row of a stem that comes with "un-" may go where
# it suits both of its words, and nothing asks the row of another stem to go there too.
#
# So, asked after that run, and with the same thresholds: what if the rows of the stems are there
# before, and are kept? They are learned from bare stems with a straight line. Now a stem that comes
# with "un-" looks like one that does not. Tried with other seeds (1000 to 1002), then run with
# these.

# %%
first = across(
    on_new_words,
    {way: {"way": way, "stems": "first"} for way in READERS}
    | MAJORITY
    | {
        "sum, prefix keeps": {"way": "sum", "stems": "first", "prefix": "keeps"},
        "sum, MLP, random": {"way": "sum, MLP", "stems": "first", "prefix": "random"},
        "one head, MLP, random": {"way": "one head, MLP", "stems": "first", "prefix": "random"},
        "sum, MLP, not kept": {"way": "sum, MLP", "stems": "free"},
        "sum, MLP, together": {"way": "sum, MLP"},
    },
    **BUDGETS,
)
first.show()
for way in ("sum", "one head"):
    fails(first, way)
for way in ("sum, MLP", "two heads", "one head, MLP"):
    first.claim(way, "above", "majority", by=0.3)
for way in ("sum, MLP", "one head, MLP"):
    first.claim(way, "above", f"{way}, random", by=0.3)
first.claim("sum, prefix keeps", "above", "majority", by=0.3)
first.claim("sum, MLP", "above", "sum, MLP, not kept", by=0.1)
first.claim("sum, MLP", "above", "sum, MLP, together", by=0.3)

# %% [markdown]
# How many words with "un-" does it take until the piece has its meaning? Here the budget is their
# number, and the steps are always the same.

# %%
STEPS = 50 if options.quick else 100


def from_few(seed, known, way, stems="first"):
    return on_new_words(seed, STEPS, way=way, known=known, stems=stems)


FEW = {way: {"way": way} for way in ("sum, MLP", "two heads", "one head, MLP", "majority")}
FEW["sum, MLP, together"] = {"way": "sum, MLP", "stems": "together"}
few = across(from_few, FEW, budgets=(2, 5, 15, 60), quick_budgets=(60,), unit="share right")
few.show()

# %% [markdown]
# In full size "un" can mean "not", on conditions. Something must bend: a straight line on the sum,
# and one head of attention alone, do not even fit the trained words. Attention is not what it
# takes: with the stems' rows there before, an MLP on the sum does it in every run, two heads alone
# in most. Without those rows only two heads do it, in most runs; an MLP would rather learn by
# heart. And a handful of stems with the prefix is seldom enough.

# %%
figure, axes = plot.figure(1, 2, size=(12, 4.2))
for y, way in enumerate(first.scores):
    found = first.final(way)
    axes[0].plot(found, [y] * len(found), "o", color=plot.PALETTE["blue"], alpha=0.6)
axes[0].set_yticks(range(len(first.scores)), list(first.scores))
axes[0].set(xlim=(-0.03, 1.03), title="Unseen words with a prefix, stems first")
axes[0].set_xlabel("share right (a dot a seed)")
axes[0].axvline(0.5, color="grey", lw=1, ls=":")
axes[0].invert_yaxis()
means = {way: [values.mean() for values in at.values()] for way, at in few.scores.items()}
budgets = list(few.scores["majority"])
plot.lines(axes[1], budgets, means, logx=True, marker="o", ylabel="share right, mean of seeds")
axes[1].set_xticks(budgets, budgets)
axes[1].minorticks_off()
axes[1].set(xlabel='trained words with "un-"', ylim=(-0.03, 1.4), title="How many it takes")
axes[1].set_yticks(np.arange(6) / 5)
axes[1].legend(loc="upper left", ncols=2, frameon=False, fontsize=10)
save_figure(figure, "lab_un_as_a_meaning.png")
