# %% [markdown]
# # Lab: four ways to make rows, at equal words read
#
# Lessons 17 and 18 make rows by skip-gram, by CBOW and by counting; the language models of other
# lessons make rows by guessing the next word. Which way learns most from a text?
#
# **Question.** All read the same words, as many of them. Whose rows know most: of the hidden
# classes of a made-up text, and of the company that words keep in a part of a real text which
# nobody has read? And in which do analogies work (row is to rows as value is to values)?
#
# **Guess.** Counting, by far, while little is read. Skip-gram comes near it after some passes, then
# CBOW. Guessing the next word looks to one side only, and stays behind; better where its second
# table, which knows what stands before, is put beside the first.
#
# **Control.** The same words, shuffled: each way learns once more.
#
# **Baseline.** A random table.
#
# **Threshold.** A way has learned if it is 0.1 above both random rows and its own shuffled self,
# for every seed at the longest budget; it is ahead of another if it is 0.05 above. In analogies,
# which are hard, 2 % is enough for both. The learning rate of each is the best of three, for each
# budget, on a seed that decides nothing. (All that was written before the first run. After it two
# questions were added. A second judge of the real text looks to one side only, as guessing the next
# word does. And do rows use few directions? They do if their effective rank, over that of random
# rows, is below 0.7 for every seed. On the made-up text 0.1 is asked now to be ahead: what passed
# at 0.05, skip-gram above counting, did so by 0.053, and fell with other seeds.)

# %%
from functools import cache

import numpy as np

from scratch_embed import Adam, geometry, plot
from scratch_embed.lesson import across, begin, lab_text, options, save_figure
from scratch_embed.models import NextToken, train
from scratch_embed.text import corpus, ppmi, toy, word2vec

begin()
V, D, WINDOW, N, TUNING = 150 if options.quick else 300, 16, 2, 24_000, 1000
BUDGETS, QUICK = (6_000, 24_000, 96_000), (6_000,)
RATES = {  # None: nothing to tune
    "skip-gram": (0.02, 0.06, 0.2),
    "CBOW": (0.06, 0.2, 0.4),  # larger: each neighbour gets a share of a step
    "counting": (None,),
    "next word": (0.01, 0.03, 0.1),
}

raw = lab_text("numpy")
spoken = corpus.words(raw)
vocabulary = corpus.Vocabulary.from_tokens(spoken, max_size=V + 1)
ids = vocabulary.encode(spoken)
ids = ids[ids > 0] - 1  # without the rare words
known = list(vocabulary.tokens[1:])
one = [n for n, w in enumerate(known) if len(w) > 2 and w[-1] != "s" and w + "s" in known]
couples = np.array([(n, known.index(known[n] + "s")) for n in one])
if len(couples) < 4:
    raise SystemExit(
        f"{len(couples)} of the {V:,} most frequent words of the text stand there with an s as "
        "well, as rows does; this takes 4"
    )
print(f"  {len(ids):,} words of text, {V} different ones, {len(couples)} of them with a plural")


# %% [markdown]
# ## Texts and judges
# A word that is read twice counts as two. A text has 24,000 words: of a budget of 96,000 each is
# read four times. Counting reads them once; to count everything four times would change nothing.


# %%
@cache
def text(seed, kind):
    """(the words to read (N,), what judges: the classes, or the part that nobody reads)."""
    rng = np.random.default_rng(seed)
    if kind == "made up":
        made = toy.zipf_classes(N, V, rng=rng)
        return made.tokens, made.classes
    stretches = np.array_split(ids, len(ids) // 500)
    mixed = np.concatenate([stretches[i] for i in rng.permutation(len(stretches))])
    return mixed[:N], mixed[N:]


PAIRS = np.triu_indices(V, 1)


@cache
def company(seed, sides):
    """For each pair of words, how alike their company is in the part that nobody reads."""
    unread = text(seed, "real")[1]
    counts = ppmi.cooccurrence(unread, V, WINDOW)
    if sides == 1:  # counts[u, v]: how often v comes right after u
        counts = np.bincount(unread[:-1] * V + unread[1:], minlength=V * V).reshape(V, V)
    return geometry.cosines(ppmi.ppmi(counts) + 1e-12)[PAIRS]


def classes_found(table, seed):
    """Share of words whose nearest other word is of their class."""
    return round(geometry.neighbour_accuracy(table, text(seed, "made up")[1], "cosine"), 3)


def company_known(table, seed, sides=2):
    """Rank correlation of the cosines of all pairs with how alike the company is."""
    alike = geometry.cosines(table)[PAIRS]
    return round(geometry.rank_correlation(alike, company(seed, sides)), 3)


def followers_known(table, seed):
    """The same, with the company that comes next."""
    return company_known(table, seed, sides=1)


def plurals_found(table, seed):
    """Percent of analogies whose answer is the nearest row, the three inputs left out."""
    rows = geometry.unit_rows(table)
    first, second = np.nonzero(~np.eye(len(couples), dtype=bool))
    (a, A), (b, B) = couples[first].T, couples[second].T
    scores = (rows[A] - rows[a] + rows[b]) @ rows.T
    scores[np.arange(len(a)), [a, A, b]] = -np.inf
    return round(100 * float(np.mean(scores.argmax(axis=1) == B)), 1)


def directions_used(table, seed):
    """The effective rank of the rows about their mean, over that of random rows as wide."""
    random = np.random.default_rng([seed, 3]).normal(size=table.shape)
    ranks = [geometry.effective_rank(geometry.centre(rows)) for rows in (table, random)]
    return round(ranks[0] / ranks[1], 3)


# %% [markdown]
# ## The four ways


# %%
def learn(way, read, words, rate, seed):
    """The tables that a way makes of so many words."""
    part, passes = read[:words], max(1, words // N)
    if way == "counting":
        return (ppmi.svd_vectors(ppmi.ppmi(ppmi.cooccurrence(part, V, WINDOW)), D),)
    if way == "next word":
        model = NextToken(V, D, rng=seed, dtype=np.float32)
        train(model, part, Adam(model.parameters(), lr=rate), words // 100, 100, rng=seed)
        return model.embed.weight.numpy(), model.head.numpy()
    settings = {"window": WINDOW, "batch_size": 64, "subsample_at": None, "epochs": passes}
    return word2vec.train(part, V, D, model=way.lower(), lr=rate, rng=seed, **settings)[:2]


@cache
def tables(seed, kind, way, words, rate, shuffled):
    read = text(seed, kind)[0]
    read = np.random.default_rng([seed, 1]).permutation(read) if shuffled else read
    return learn(way, read, words, rate, seed)


@cache
def best_rate(kind, way, words):
    """The rate that does best on the seed for tuning."""
    judge = classes_found if kind == "made up" else company_known

    def score(rate):
        return judge(tables(TUNING, kind, way, words, rate, False)[0], TUNING)

    return max(RATES[way], key=score) if len(RATES[way]) > 1 else RATES[way][0]


def run(seed, words, judge, way, shuffled=False, both=False):
    kind = "made up" if judge is classes_found else "real"
    if way == "random":
        return judge(np.random.default_rng([seed, 2]).normal(size=(V, D)), seed)
    made = tables(seed, kind, way, words, best_rate(kind, way, words), shuffled)
    return judge(np.hstack([geometry.unit_rows(t) for t in made]) if both else made[0], seed)


# %%
ways = {way: {"way": way} for way in RATES}
ways["next word, both"] = {"way": "next word", "both": True}
ways |= {f"{way}, shuffled": {"way": way, "shuffled": True} for way in RATES}
ways["random rows"] = {"way": "random"}


RIVALS = (
    ("counting", "skip-gram"),
    ("skip-gram", "CBOW"),
    ("skip-gram", "next word"),
    ("next word, both", "next word"),
)


def judged(judge, title, learned=0.1, ahead=0.05):
    """Run all ways under one judge, and say which have learned and which is ahead."""
    print(f"\n  {title}, by words read")
    settings = {name: {"judge": judge, **way} for name, way in ways.items()}
    results = across(run, settings, budgets=BUDGETS, quick_budgets=QUICK)
    results.show()
    for way in RATES:
        floor = np.maximum(results.final(f"{way}, shuffled"), results.final("random rows"))
        gain = results.final(way) - floor
        results.conclude(
            f"{way} is {gain.min():.2f} to {gain.max():.2f} above random rows and shuffled text",
            bool(gain.min() > learned),
        )
    for pair in RIVALS:
        better, worse = sorted(pair, key=lambda way: -np.median(results.final(way)))
        results.claim(better, "above", worse, by=ahead)
    return results


classes = judged(classes_found, "a made-up text: next to one of their class", ahead=0.1)

# %%
alike = judged(company_known, "a real text: agreement with the company in the unread part")

# %%
followers = judged(followers_known, "a real text: agreement with what follows in the unread part")

# %%
plurals = judged(plurals_found, "a real text: % of analogies of plurals", learned=2, ahead=2)

# %%
print("\n  a real text: directions used, a share of those of random rows, by words read")
four = {way: {"judge": directions_used, "way": way} for way in RATES}
directions = across(run, four, budgets=BUDGETS, quick_budgets=QUICK)
directions.show()
for way in RATES:
    used = directions.final(way)
    directions.conclude(
        f"{way} uses few directions ({used.min():.2f} to {used.max():.2f})", bool(used.max() < 0.7)
    )

# %%
figure, axes = plot.figure(2, 2, size=(11, 7.5))
panels = {
    "Made-up text: share next to their class": classes,
    "Real text: agreement with unread company": alike,
    "Real text: agreement with unread followers": followers,
    "Real text: % of analogies of plurals found": plurals,
}
for ax, (title, results) in zip(axes.flat, panels.items()):
    for k, way in enumerate([*list(ways)[:5], "random rows"]):
        at = results.scores[way]
        low, middle, high = np.array([np.quantile(x, (0, 0.5, 1)) for x in at.values()]).T
        beside = np.array(list(at)) * 1.07 ** (k - 2.5)  # so that no range hides another
        ax.vlines(beside, low, high, color=plot.CYCLE[k], alpha=0.6)
        ax.plot(beside, middle, label=way, color=plot.CYCLE[k], marker=plot.MARKERS[k])
    ax.set_xscale("log")
    ax.set_xticks(list(at), [f"{words:,}" for words in at])
    ax.minorticks_off()
    ax.set(xlabel="words read", ylabel="median and range", title=title)
axes[0, 0].legend(frameon=False)
save_figure(figure, "lab_equal_words.png")

# %% [markdown]
# There is no best way without a judge. Who asks for the company on both sides finds skip-gram far
# ahead of guessing the next word; who asks for what follows finds the next-word model in front, by
# too little for a claim. Counting is quick on a real text, where its judge counts too; on the
# made-up one it is the last, and in some runs by little. Two tables side by side know more of the
# made-up text while little has been read, and less of the real one. Other seeds (100 to 104) bear
# out every claim that is made here.
#
# All learn what the order of the words can teach, and of shuffled words nothing. With so few words
# no way masters analogies. And at the end rows use nearly all of their 16 columns, though those of
# skip-gram and CBOW begin in a few. What this does not show: longer texts, wider rows, and
# subsampling, which is off so that all read every word. These are an option away where skip-gram
# and CBOW are trained at full size: `scratch-embed word2vec FILE`, `--model cbow` or not.
