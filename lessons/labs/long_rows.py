# %% [markdown]
# # Lab: is a frequent word's row longer?
#
# A frequent word is pulled in every batch, a rare one now and then. One often reads that frequent
# words have long rows.
#
# **Question.** Does the length of a row rise with the count of its word? Early, and at the end? In
# the table that reads and in the one that writes, for skip-gram and for a model of the next word?
#
# **Guess.** Longer, early on, because frequent rows have gone further from the start. At the end it
# is what a row has to say that counts, and the relation weakens or turns round.
#
# **Control.** A made-up text in which all words are equally frequent. Each row is held against the
# count that its word would have by Zipf's law: no relation can be there. A twin of the text follows
# that law; another twin follows it and is endless: as much is read, and nothing twice.
#
# **Baseline.** The random start.
#
# **Threshold.** The rank correlation of length and count has to be 0.3 above that of the random
# start, for every seed. In the control none may be beyond 3.5 / sqrt(V), 0.2 for 300 words (by
# chance once in two thousand). It is the end if from 16 passes to 64 no correlation on the real
# text moves by more than 0.1. (That much was written before the first run. In it the order turned
# round, and the endless text was added with a threshold of its own: reading again is what turns it
# if at the last the endless text is 0.3 above its twin, for every seed. At first the control took
# the counts of the twin itself; they tell the classes a little, and so can the lengths.)

# %%
from functools import cache

import numpy as np

from scratch_embed import Adam, geometry, plot
from scratch_embed.lesson import across, begin, lab_text, options, save_figure
from scratch_embed.look.numbers import at_most
from scratch_embed.models import NextToken, train
from scratch_embed.text import corpus, toy, word2vec, word2vec_fast

begin()
D, BATCH, MODELS, TABLES = 16, 256, ("skip-gram", "next word"), ("input", "output")
V, N, PASSES = 300, 16_000, (1, 4, 16, 64)
TEXTS = ("real", "thinned", "made up", "endless", "all equal")
if options.quick:
    V, N, PASSES, TEXTS = 100, 1_000, (1, 64), ("real", "all equal")

raw = lab_text("numpy")
spoken = corpus.words(raw)
ids = corpus.Vocabulary.from_tokens(spoken, max_size=V + 1).encode(spoken)
ids = ids[ids > 0] - 1  # without the rare words
print(f"  {len(ids):,} words of text, {V} different ones; a seed reads {N:,} of them")


# %% [markdown]
# A seed chooses stretches of the real text. "Thinned" leaves out words of which there are many, as
# word2vec does (its subsampling, at 0.001); rows are held against the counts before that.


# %%
@cache
def text(seed, kind):
    """(the ids to read, the counts (V,) that rows are held against)."""
    rng = np.random.default_rng(seed)
    if kind in ("real", "thinned"):
        stretches = np.array_split(ids, len(ids) // 500)
        read = np.concatenate([stretches[i] for i in rng.permutation(len(stretches))])[:N]
        counts = np.bincount(read, minlength=V)
        return word2vec.subsample(read, counts, 1e-3, rng) if kind == "thinned" else read, counts
    if kind == "all equal":
        return toy.zipf_classes(N, V, exponent=0, rng=rng).tokens, N / np.arange(1, V + 1)
    length = N * PASSES[-1] if kind == "endless" else N
    read = toy.zipf_classes(length, V, rng=rng).tokens
    return read, np.bincount(read, minlength=V)


def part(seed, kind, first, last):
    """The stretch that is read from one pass to another: the whole text, unless it is endless."""
    read = text(seed, kind)[0]
    return read[first * N : last * N] if kind == "endless" else read


@cache
def skip_gram(seed, kind, passes):
    """Its two tables, trained anew for so many passes, with a rate that falls to the end."""
    settings = {"window": 2, "lr": 0.1, "subsample_at": None, "rng": seed}
    epochs = 1 if kind == "endless" else passes
    run = word2vec_fast.train(part(seed, kind, 0, passes), V, D, epochs=epochs, **settings)
    return {"input": run.vectors, "output": run.outputs}


@cache
def next_words(seed, kind):
    """{passes: the two tables of a model of the next word}, looked at while one run goes on."""
    found, done, rng = {}, 0, np.random.default_rng(seed)
    model = NextToken(V, D, rng=rng, dtype=np.float32)
    optimizer = Adam(model.parameters(), lr=0.01)
    length = len(part(seed, kind, 0, 1))
    for passes in PASSES:
        steps = (passes - done) * length // BATCH
        train(model, part(seed, kind, done, passes), optimizer, steps, BATCH, rng)
        done, tables = passes, (model.embed.weight.numpy(), model.head.numpy())
        found[passes] = {name: table.copy() for name, table in zip(TABLES, tables)}
    return found


def tables(seed, kind, passes, model):
    """{"input": rows, "output": rows} of either model."""
    return skip_gram(seed, kind, passes) if model == MODELS[0] else next_words(seed, kind)[passes]


def relation(seed, passes, model, kind, table):
    """Rank correlation of the lengths of the rows and the counts of their words."""
    _, counts = text(seed, kind)
    if table == "start":
        rows = NextToken(V, D, rng=seed).embed.weight.numpy()
    else:
        rows = tables(seed, kind, passes, model)[table]
    return round(geometry.rank_correlation(geometry.norms(rows), np.asarray(counts, float)), 2)


# %%
found = {}
for model in MODELS:
    ways = {f"{kind}, {t}": {"kind": kind, "table": t} for kind in TEXTS for t in TABLES}
    ways["random start"] = {"kind": "real", "table": "start"}
    ways = {name: {"model": model, **way} for name, way in ways.items()}
    found[model] = results = across(relation, ways, budgets=PASSES, quick_budgets=PASSES)
    print(f"\n  {model}: correlation of length and count, by passes over the text")
    results.show()
    early = results.scores["real, input"][1] - results.scores["random start"][1]
    results.conclude(
        f"After one pass real, input is {early.min():.2f} to {early.max():.2f} above random start",
        bool(early.min() > 0.3),
    )
    for name in ways:
        if name.startswith(("real", "thinned")):
            results.claim(name, "below", "random start", by=0.3)
    for table in TABLES:
        if "endless" in TEXTS:
            results.claim(f"endless, {table}", "above", f"made up, {table}", by=0.3)
    control = np.abs([list(results.scores[f"all equal, {t}"].values()) for t in TABLES])
    results.conclude(
        f"Where all words are equally frequent it is within {at_most(control.max())} of 0",
        bool(control.max() < 3.5 / np.sqrt(V)),
    )
    late = [np.abs(np.subtract(*list(results.scores[f"real, {t}"].values())[-2:])) for t in TABLES]
    results.conclude(
        f"It is settled: from {PASSES[-2]} to {PASSES[-1]} passes it moves by "
        f"{at_most(np.max(late))} at most",
        bool(np.max(late) < 0.1),
    )

# %% [markdown]
# ## And later?
# Skip-gram is compiled, and can go on for longer. (This was added last; its threshold is the one
# above, 0.1.)

# %%
ways = {t: {"model": "skip-gram", "kind": "real", "table": t} for t in TABLES}
LATER = (16, 64) if options.quick else (64, 256)
later = across(relation, ways, seeds=3, budgets=LATER, quick_budgets=LATER)
later.show()
moved = [np.abs(later.final(t) - later.scores[t][LATER[0]]) for t in TABLES]
later.conclude(
    f"It is settled: from {LATER[0]} to {LATER[1]} passes it moves by "
    f"{at_most(np.max(moved))} at most",
    bool(np.max(moved) < 0.1),
)

# %%
figure, axes = plot.figure(2, 3, size=(12, 7))
for row, model in zip(axes, MODELS):
    for name, colour in (
        ("real, input", "blue"),
        ("real, output", "vermillion"),
        ("all equal, input", "green"),
    ):
        at = found[model].scores[name]
        low, middle, high = np.array([np.quantile(at[p], (0, 0.5, 1)) for p in PASSES]).T
        row[0].fill_between(PASSES, low, high, alpha=0.2, color=plot.PALETTE[colour])
        row[0].plot(PASSES, middle, "o-", color=plot.PALETTE[colour], label=name)
    row[0].axhline(0, color="grey", lw=0.8)
    row[0].set_xscale("log", base=2)
    row[0].set_xticks(PASSES, PASSES)
    row[0].set(xlabel="passes over the text", ylabel="rank correlation", ylim=(-1, 1))
    row[0].set_title(f"{model}: length and count")
    row[0].legend(frameon=False)
    _, counts = text(0, "real")
    for ax, passes in zip(row[1:], (PASSES[0], PASSES[-1])):
        for table, colour in zip(TABLES, ("blue", "vermillion")):
            norms = geometry.norms(tables(0, "real", passes, model)[table])
            ax.scatter(counts, norms, s=10, alpha=0.6, color=plot.PALETTE[colour], label=table)
        ax.set_xscale("log")
        ax.set(xlabel="count of the word", ylabel="length of its row")
        ax.set_title(f"{model}, real text, {passes} pass{'es' * (passes > 1)}")
        ax.legend(frameon=False)
save_figure(figure, "lab_long_rows.png")

# %% [markdown]
# So it is true early, and of the rows that read. With more reading the order turns round, in both
# tables of both models, thinned or not: after 64 passes the rare words have the longer rows, and
# there skip-gram stays. The threshold was written for "longer"; what is claimed in its place is
# "shorter", by as much, and other seeds (100 to 104) bear it out.
#
# Reading the same words again is one reason, and not the whole: on a text that never comes back,
# the rows that skip-gram reads with hold out; its other table, and the model of the next word, turn
# there as well. What this does not show: where the next-word model ends, other optimisers (here
# plain descent for skip-gram, Adam for the next word), weight decay, and larger vocabularies.
