# %% [markdown]
# # 18. Counting instead, and king - man + woman
#
# **Question.** Could one count instead of train? And is king - man + woman really queen?
#
# **Afterwards** you can make word vectors from counts alone, say what skip-gram's scores stand for,
# and ask an analogy without fooling yourself.
#
# **Time** 20 minutes. **Needs** lessons 12, 17. **Exercises** `ppmi`.

# %%
import itertools

import numpy as np

from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## Who meets whom, in numbers
# Skip-gram looks at pairs, one at a time. All that it can learn from them is how often each pair
# came. So let us write the text down as a table of counts, $X$: how often does word $j$ stand
# beside word $i$?

# %%
words = ["the", "cat", "dog", "purrs", "barks"]
sentences = ["the cat purrs"] * 4 + ["the dog barks"] * 3 + ["the cat barks"]
text = [[words.index(w) for w in s.split()] for s in sentences]


def count_neighbours(text, V):
    X = np.zeros((V, V))
    for sentence in text:
        for a, b in itertools.pairwise(sentence):
            X[a, b] += 1  # a scatter-add, of ones
            X[b, a] += 1
    return X


X = count_neighbours(text, len(words))
show("X", X, rows=words, columns=words)

# %% [markdown]
# "the" meets "cat" most often. But "the" meets everybody: it is simply frequent. What we want to
# know is who meets **more often than by chance**. If words met by chance, the pair $i, j$ would
# have the share $P(i)\,P(j)$ of all pairs. The logarithm of how much more it has is called PMI,
# pointwise mutual information:
#
# $$\text{PMI}(i, j) = \ln \frac{P(i, j)}{P(i)\,P(j)}$$

# %%
q = guess("Which pair will have the larger PMI?", ["the, cat", "cat, purrs", "they are equal"])
total = X.sum()
P = X.sum(axis=1) / total
chance = worked.product("P(cat) P(purrs)", P[1], P[3], why="by chance")
pmi_purrs = worked.line(
    "PMI(cat, purrs)", f"ln({X[1, 3] / total:.6g} / {chance:.6g})", np.log(X[1, 3] / total / chance)
)
chance = worked.product("P(the) P(cat)", P[0], P[1])
pmi_the = worked.line(
    "PMI(the, cat)", f"ln({X[0, 1] / total:.6g} / {chance:.6g})", np.log(X[0, 1] / total / chance)
)
q.answer(
    "cat, purrs" if pmi_purrs > pmi_the + 1e-9 else "the, cat",
    because="'purrs' is rare, and yet it is always beside the cat",
)

# %% [markdown]
# A pair that never meets would have the logarithm of 0. Usually one keeps what is positive (PPMI).
# Each row of that table is a vector already, as wide as the vocabulary. To make it short, keep the
# few directions in which rows differ most: a singular value decomposition, `np.linalg.svd`.


# %%
def ppmi(X):
    P = X.sum(axis=1) / X.sum()
    with np.errstate(divide="ignore"):
        pmi = np.log(X / X.sum() / np.outer(P, P))
    return np.maximum(pmi, 0)


def short_rows(M, D):
    U, S, _ = np.linalg.svd(M)
    return U[:, :D] * np.sqrt(S[:D])


from scratch_embed.text import ppmi as package

compare("PPMI", by_hand=ppmi(X), code=package.ppmi(X))
E = short_rows(ppmi(X), 2)
show("E, by counting", E.round(3), rows=words)

# %% [markdown]
# `S` holds the singular values: how far the rows spread in each direction, the widest first. A
# table that was learned has them too. How many of its directions carry what it knows?

# %%
play("spectrum")

# %% [markdown]
# ## What skip-gram's scores stand for
# Levy and Goldberg showed in 2014 that the two are one. For a pair that comes $X_{ij}$ times, with
# $K$ false words drawn by frequency for each true one, the loss of its score $s$ is
#
# $$-X_{ij} \ln \sigma(s) - K\,X_i\,P(j) \ln \sigma(-s)$$
#
# where $X_i$ is the sum of row $i$. At which $s$ is it smallest? Where its slope is 0. Nudge.


# %%
def pair_loss(s, i, j, K):
    sigma = 1 / (1 + np.exp(-s[0]))
    true, false = X[i, j], K * X[i].sum() * P[j]
    return -true * np.log(sigma) - false * np.log(1 - sigma)


K = 5
best = pmi_purrs - np.log(K)
q = guess("At s = PMI - ln K, what is the slope of the loss?")
slope = worked.nudge("s", lambda s: pair_loss(s, 1, 3, K), np.array([best]), 0)
off = worked.nudge("s", lambda s: pair_loss(s, 1, 3, K), np.array([best + 0.5]), 0)
q.answer(
    round(slope, 6),
    tolerance=1e-4,
    because="there the true and the false examples pull equally: skip-gram factorises PMI - ln K",
)

# %% [markdown]
# The slope by formula is the two pulls: $K X_i P(j)\,\sigma - X_{ij}(1 - \sigma)$. Forgetting that
# false words are drawn $K$ times is the tempting mistake; it would put the best score at PMI.


# %%
def pull(s, i, j, K):
    sigma = 1 / (1 + np.exp(-s))
    return K * X[i].sum() * P[j] * sigma - X[i, j] * (1 - sigma)


beside(
    "slope",
    with_K=[pull(best + 0.5, 1, 3, K)],
    K_forgotten=[pull(best + 0.5, 1, 3, 1)],
    nudged=[off],
    wrong="K_forgotten",
)

# %% [markdown]
# ## King, queen, and the small print
# The famous sum: take the row of king, subtract man, add woman; which row is nearest? Here are
# words in the plane, drawn so that royalty is to the right and women are on top.

# %%
at = {
    "man": (1.0, 1.0),
    "woman": (1.0, 2.0),
    "king": (3.0, 1.0),
    "queen": (3.0, 2.0),
    "prince": (2.3, 0.3),
    "cat": (-2.0, 0.4),
    "runs": (0.0, -2.0),
}
names, points = list(at), np.array(list(at.values()))
sought = worked.sum("king - man + woman", points[2], -points[0], points[1])
nearest = names[int(np.linalg.norm(points - sought, axis=1).argmin())]
print(f"  nearest: {nearest}")

# %% [markdown]
# Of course: we drew it so. A fair question uses rows that nobody arranged. Let rows be random in 50
# columns, plus a direction for royalty and one for being a woman, plus noise of their own. How
# often is queen the nearest of 1,000 words?

# %%
q = guess(
    "Search among all words, with nothing left out. Which word is nearest to the sum, mostly?",
    ["queen", "king", "some other word"],
)


def _court(seed, woman_length, V=1000, D=50):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(V, D))
    woman = rng.normal(size=D) * woman_length
    royal = rng.normal(size=D)
    man = rng.normal(size=D)
    rows[0], rows[1] = man, man + woman + 0.5 * rng.normal(size=D)
    rows[2] = man + royal + 0.5 * rng.normal(size=D)
    rows[3] = man + royal + woman + 0.5 * rng.normal(size=D)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _found(seed, woman_length, leave_out):
    rows = _court(seed, woman_length)
    scores = rows @ (rows[2] - rows[0] + rows[1])
    if leave_out:
        scores[:3] = -np.inf  # man, woman and king may not be the answer
    return int(scores.argmax())


lengths, seeds = (0.2, 0.5, 1.0), range(40)
for leave_out in (False, True):
    told = "inputs left out" if leave_out else "nothing left out"
    for length in lengths:
        found = [_found(seed, length, leave_out) for seed in seeds]
        queen, king = np.mean(np.equal(found, 3)), np.mean(np.equal(found, 2))
        print(f"  {told}, woman's direction {length}: queen {queen:4.0%}, king {king:4.0%}")
honest = [_found(seed, 0.5, False) for seed in seeds]
most = np.bincount(honest).argmax()
q.answer(
    {3: "queen", 2: "king"}.get(int(most), "some other word"),
    because="subtracting and adding moves less far than king and queen are apart, so the sum stays "
    "near where it began (woman's direction 0.5)",
)
play("analogy")

# %% [markdown]
# That is the small print of published scores: the three input words are left out of the search.
# Then the question is only whether queen beats all the others, and it does even where the woman's
# direction is tiny. Ask both ways, and say which.
#
# ## Real text
# Python's own documentation knows no kings, but it has *row* and *rows*, *value* and *values*. We
# count on a part of it (`--text FILE` takes yours), take 50 directions, and ask: row is to rows as
# value is to ...?

# %%
from scratch_embed import geometry, plot
from scratch_embed.lesson import options as run_options
from scratch_embed.text import corpus

raw = corpus.read_text(run_options.text) if run_options.text else corpus.python_text(("topics",))
spoken = corpus.words(raw)
vocabulary = corpus.Vocabulary.from_tokens(spoken, max_size=500)
known = vocabulary.tokens[1:]
ids = vocabulary.encode(spoken)
ids = ids[ids > 0] - 1
couples = [
    (n, known.index(w + "s"))
    for n, w in enumerate(known)
    if len(w) > 2 and not w.endswith("s") and w + "s" in known
][:20]
if len(known) < 100 or len(couples) < 8:
    of = f" among the {len(known)} most frequent" if len(known) < len(set(spoken)) else ""
    raise SystemExit(
        f"the text has {len(set(spoken)):,} different words, and{of} {len(couples)} couples such "
        "as row and rows; this takes 100, and 8 of them"
    )
table = package.svd_vectors(package.ppmi(package.cooccurrence(ids, len(known), 4)), 50)


def _share(leave_out, shift=0):
    """How often a's step to A leads from b to B, or to the plural of the couple `shift` behind."""
    plurals = [B for _, B in couples]
    hits = [
        geometry.analogy(table, A, a, b, k=1, exclude=leave_out).rows[0] == B
        for a, A in couples
        for (b, _), B in zip(couples, plurals[shift:] + plurals[:shift])
        if a != b
    ]
    return float(np.mean(hits))


def _told(alone, without, of_another):
    found = without * len(couples) * (len(couples) - 1)
    if found < 8 or without < 3 * max(of_another, 1 / len(known)):
        return "no more than chance finds: of a direction this text tells nothing"
    if alone < without:
        return "real directions are there, and they are short against everything else"
    return ""


# %%
q = guess("With the inputs left out, what share of these plurals is found?", unit=" %")
print("  " + ", ".join(f"{known[a]} {known[A]}" for a, A in couples[:4]) + " ...")
alone, without = _share(False), _share(True)
of_another = _share(True, shift=1)  # the control: how often the plural of the next couple comes out
print(f"  nothing left out {alone:.1%}, inputs left out {without:.1%}")
print(f"  another couple's plural {of_another:.1%}, chance {1 / len(known):.1%}")
q.answer(100 * without, tolerance=5, because=_told(alone, without, of_another))

# %% [markdown]
# The picture shows, for each couple, the step from one to many. If the arithmetic were exact, all
# arrows would be parallel and equally long.


# %%
def _draw(count=8):
    from matplotlib.patheffects import withStroke

    chosen = couples[:count]
    view = geometry.pca(table[[n for pair in chosen for n in pair]], 2).coords
    figure, ax = plot.figure(size=(9, 5.5))
    for start, end in zip(view[::2], view[1::2]):
        arrow = {"arrowstyle": "-|>", "color": plot.PALETTE["vermillion"], "lw": 1}
        ax.annotate("", end, start, arrowprops=arrow)
    plot.scatter_labels(
        ax,
        view,
        [known[n] for pair in chosen for n in pair],
        ["one", "many"] * count,
        xlabel="first principal component",
        ylabel="second principal component",
        title="From one to many, in rows made by counting",
    )
    for word in ax.texts:  # an arrow that passes goes behind it
        word.set_path_effects([withStroke(linewidth=3, foreground="white")])
    return figure


save_figure(_draw(), "ch18_plurals.png")

# %% [markdown]
# ## What did we learn?
# - Skip-gram factorises PMI - ln K; counting and an SVD give rows of the same kind. Which rows are
#   better, at equal words read, depends on who judges: `python -m lessons lab equal_words`.
# - PMI asks who meets more often than by chance, not who meets often.
# - An analogy with the inputs left out answers an easier question. Say which was asked.
#
# Write it: `python -m lessons exercise ppmi`. Lesson 19 turns to the options of an embedding layer.
