# %% [markdown]
# # 14. Vectors from the company that words keep
#
# A table of rows has to learn from something. word2vec learns from the plainest thing there is:
# which words stand near which. This lesson writes out its loss and its gradients by hand, trains
# it on languages whose truth is known and on real text, and looks hard at its most famous result,
# king - man + woman = queen. Beside it stand two ways that only count.

# %%
from inspect import signature

import numpy as np

from scratch_embed import Adam, Embedding, Tensor, geometry, plot
from scratch_embed.functional import cbow, lookup, sgns
from scratch_embed.gradcheck import gradcheck
from scratch_embed.layers import SelfAttention
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    progress,
    quiz,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.models import NextToken, train
from scratch_embed.ops.sgns import cbow_backward, cbow_forward, sgns_backward, sgns_forward
from scratch_embed.text import bpe, corpus, ppmi, toy, word2vec
from scratch_embed.text.docstrings import SOURCES, source_files

begin()

# %% [markdown]
# ## Who stands beside whom
# Slide a window over "the cat sat on the mat". *Skip-gram* makes an example of each word in the
# middle and each of its neighbours: given the middle, guess the neighbour. *CBOW* makes one
# example of each place: given all its neighbours together, guess the middle.

# %%
tokens = ["the", "cat", "sat", "on", "the", "mat"]
names = list(dict.fromkeys(tokens))
ids = np.array([names.index(token) for token in tokens])
centers, contexts = word2vec.pairs(ids, window=1)
around = word2vec.windows(ids, window=1)
print("  skip-gram: " + ", ".join(f"{names[c]} -> {names[o]}" for c, o in zip(centers, contexts)))
bags = [" + ".join(names[o] for o in row[there]) + f" -> {names[c]}" for c, row, there in
        zip(*around)]  # fmt: skip
print("  CBOW:      " + ", ".join(bags))
compare("examples, skip-gram and CBOW", hand=[2 * (len(ids) - 1), len(ids)],
        ours=[len(centers), len(around.centers)])  # fmt: skip

# %% [markdown]
# ## Skip-gram by hand
# Every word has two rows: one in a table $W$ for its turns in the middle, one in a table $U$ for
# its turns as a neighbour. The score of a pair is the dot product of the two. Guessing among all
# words would need all scores, so word2vec asks an easier question: *is this pair from the text?*
# The true neighbour should get a yes, $K$ words drawn by chance a no.
#
# $$L = -\ln \sigma(c \cdot o) - \sum_k \ln \sigma(-c \cdot u_k), \qquad
# \sigma(x) = \frac{1}{1 + e^{-x}}$$
#
# Here "cat" is in the middle, "sat" beside it, and chance drew "on" and "mat".

# %%
cat, sat = np.array([0.5, 0.2]), np.array([0.4, -0.1])
drawn = np.array([[-0.3, 0.6], [0.2, 0.1]])
true_score = worked.dot("cat . sat", cat, sat)
drawn_scores = [worked.dot(f"cat . {w}", cat, u) for w, u in zip(("on", "mat"), drawn)]
yes = worked.sigmoid("cat . sat", true_score)
yeses = [worked.sigmoid(f"cat . {w}", s) for w, s in zip(("on", "mat"), drawn_scores)]
hand_loss = worked.sum("L", -np.log(yes), *(-np.log(1 - p) for p in yeses))

# %% [markdown]
# The slope of $-\ln \sigma(x)$ is $\sigma(x) - 1$, and that of $-\ln \sigma(-x)$ is $\sigma(x)$:
# both times *what was said less what was true*. Call it the error $e$ of a pair. Each pair pulls
# its two rows by $e$ times the other row, and the middle collects from all.

# %%
e, f = yes - 1, np.array(yeses)
print(f"  errors: sat {e:.6f}, on {f[0]:.6f}, mat {f[1]:.6f}")
dcat = worked.sum("dcat", e * sat, f[0] * drawn[0], f[1] * drawn[1])
dsat = worked.scale("dsat", e, cat)
ddrawn = np.stack([worked.scale("don", f[0], cat), worked.scale("dmat", f[1], cat)])


def slopes(loss, at: np.ndarray) -> np.ndarray:
    """Central differences of a number-valued function of an array, entry by entry."""
    out, h = np.zeros_like(at), 1e-5
    for index in np.ndindex(at.shape):
        nudge = np.zeros_like(at)
        nudge[index] = h
        out[index] = (loss(at + nudge) - loss(at - nudge)) / (2 * h)
    return out


def loss_of(c=cat, o=sat, u=drawn) -> float:
    return float(sgns_forward(c[None], o[None], u[None])[0])


_, saved = sgns_forward(cat[None], sat[None], drawn[None])
dc, do, du = (gradient[0] for gradient in sgns_backward(1.0, saved))
compare("L", hand=hand_loss, ours=loss_of())
compare("dcat, in the middle", hand=dcat, ours=dc, numeric=slopes(lambda x: loss_of(c=x), cat))
compare("dsat, the neighbour", hand=dsat, ours=do, numeric=slopes(lambda x: loss_of(o=x), sat))
compare("don, dmat, by chance", hand=ddrawn, ours=du, numeric=slopes(lambda x: loss_of(u=x), drawn))

# %% [markdown]
# In training the rows come from tables, by lookup, and go back by scatter-add. Here one word is
# drawn twice, is a true neighbour elsewhere, and two places share their middle.

# %%
rng = np.random.default_rng(0)
W = Tensor(rng.normal(size=(5, 3)), requires_grad=True, name="W")
U = Tensor(rng.normal(size=(5, 3)), requires_grad=True, name="U")
middle, near, chance = np.array([1, 1, 4]), np.array([2, 0, 2]), np.array([[3, 3], [2, 4], [0, 1]])
report = gradcheck(
    lambda W, U: sgns(lookup(W, middle), lookup(U, near), lookup(U, chance)), W, U, name="skip-gram"
)
print(report.raise_if_wrong())

# %% [markdown]
# ## CBOW by hand
# The words around are averaged first; the mean $h$ then plays the part of the middle. The loss is
# the same function, so $h$ gets the same gradient as "cat" did, and each of the two words around
# is sent half of it, for each is half of the mean.

# %%
before, after = np.array([0.7, -0.4]), np.array([0.3, 0.8])
mean = worked.scale("h", 0.5, worked.sum("before + after", before, after))
dh = worked.sum("dh", e * sat, f[0] * drawn[0], f[1] * drawn[1])  # h is the row that "cat" was
half = worked.scale("d of each word around", 0.5, dh)
window = np.stack([before, after])[None]
_, saved = cbow_forward(window, sat[None], drawn[None])
around_it = cbow_backward(1.0, saved)[0][0]
by_nudging = slopes(lambda x: float(cbow_forward(x, sat[None], drawn[None])[0]), window)[0]
compare("h, the mean", hand=mean, ours=saved.sgns.center[0])
compare("d of words around", hand=np.stack([half, half]), ours=around_it, numeric=by_nudging)

shown = np.array([[0, 2], [0, 3], [1, 1]])
there = np.array([[True, True], [True, False], [True, True]])  # the second window is cut short
report = gradcheck(
    lambda W, U: cbow(lookup(W, shown), lookup(U, near), lookup(U, chance), present=there),
    W, U, name="CBOW",
)  # fmt: skip
print(report.raise_if_wrong())

# %% [markdown]
# ## Training
# The language is made up: 400 words of 10 hidden classes, and words of one class keep the same
# company. The last sixth of the text is held back. All rows of $U$ start at zero, so all scores
# do, and the first loss is known before any text is read: $(K + 1) \ln 2$.

# %%
language = toy.zipf_classes()
num_words = len(language.classes)
seen, unseen = language.tokens[:10_000], language.tokens[10_000:]
setting = {"window": 1, "epochs": 2 if options.quick else 6, "lr": 0.1, "batch_size": 64,
           "subsample_at": None}  # fmt: skip
runs = {
    model: word2vec.train(seen, num_words, 16, model=model, **setting,
                          progress=lambda epochs, name=model: progress(epochs, name))
    for model in word2vec.MODELS
}  # fmt: skip
start = worked.product("(K + 1) ln 2", 6, float(np.log(2)))
firsts = [run.losses[0] for run in runs.values()]
compare("first loss of both", hand=np.full(2, start), ours=firsts, rtol=1e-5)


def told_apart(scores_true: np.ndarray, scores_other: np.ndarray) -> float:
    """Share of examples where the true word scores higher than one drawn by chance."""
    return float((scores_true > scores_other).mean())


noise = word2vec.Negatives(np.bincount(seen, minlength=num_words))
centers, contexts = word2vec.pairs(unseen, 1)
others = noise.draw_others(contexts, 1, np.random.default_rng(5))[:, 0]
vectors, outputs, _ = runs["skip-gram"]
finds_context = told_apart((vectors[centers] * outputs[contexts]).sum(1),
                           (vectors[centers] * outputs[others]).sum(1))  # fmt: skip

around = word2vec.windows(unseen, 1)
others = noise.draw_others(around.centers, 1, np.random.default_rng(6))[:, 0]
vectors, outputs, _ = runs["cbow"]
means = (vectors[around.contexts] * around.present[..., None]).sum(1)
finds_centre = told_apart((means * outputs[around.centers]).sum(1),
                          (means * outputs[others]).sum(1))  # fmt: skip

often = np.flatnonzero(np.bincount(seen, minlength=num_words) > 20)
classes = language.classes[often]
found = {
    name: geometry.neighbour_accuracy(run.vectors[often], classes, measure="cosine")
    for name, run in runs.items()
}
check(
    "004-skipgram-cbow",
    finds_context > 0.6 and finds_centre > 0.6 and min(found.values()) > 0.5,
    shown={
        "skip-gram: true neighbour beats a chance word, held-out text": finds_context,
        "CBOW: true middle beats a chance word, held-out text": finds_centre,
        "nearest word is of the same class, skip-gram": found["skip-gram"],
        "nearest word is of the same class, CBOW": found["cbow"],
        "by chance": np.mean(classes[:, None] == classes[None, :]),
    },
)

# %% [markdown]
# Nobody told either of them of classes. That is the side effect for which they are trained: the
# guessing game is thrown away afterwards, and $W$ is kept.
#
# ## Counting instead
# A score of skip-gram only depends on how often two words meet, so one might as well count. GloVe
# (Pennington et al. 2014) says it plainly: find rows $w_i$, $c_j$ and biases such that
# $w_i \cdot c_j + b_i + b'_j$ is the logarithm of the count $X_{ij}$, with rare pairs weighing
# less. That is a factorisation of a matrix. We write a court of eight couples, where each word is
# followed by a word for its role and one for its sex, count, and factorise with the tape.

# %%
couples = [
    ("king", "queen"), ("man", "woman"), ("prince", "princess"), ("boy", "girl"),
    ("uncle", "aunt"), ("actor", "actress"), ("duke", "duchess"), ("waiter", "waitress"),
]  # fmt: skip
sexes = [("he", "his", "himself"), ("she", "her", "herself")]
roles = {couple[0]: [f"{couple[0]}-{thing}" for thing in ("home", "work", "food")]
         for couple in couples}  # fmt: skip
court = ["the", *(w for c in couples for w in c), *sexes[0], *sexes[1],
         *(w for role in roles.values() for w in role)]  # fmt: skip
row = {word: n for n, word in enumerate(court)}
pairs_of_rows = np.array([[row[a], row[b]] for a, b in couples])


def court_text(sentences: int, rng: np.random.Generator) -> np.ndarray:
    """the NOUN ROLE SEX, or the NOUN SEX ROLE: "the queen king-home her" """
    out = []
    for _ in range(sentences):
        couple, sex = couples[rng.integers(8)], rng.integers(2)
        rest = [roles[couple[0]][rng.integers(3)], sexes[sex][rng.integers(3)]]
        out += ["the", couple[sex], *(rest if rng.random() < 0.5 else rest[::-1])]
    return np.array([row[word] for word in out])


text = court_text(3000, np.random.default_rng(1))
counts = ppmi.cooccurrence(text, len(court), window=1)
i, j = np.nonzero(counts)
log_counts = np.log(counts[i, j])
weight = np.minimum(1, (counts[i, j] / 100) ** 0.75)  # GloVe's f, with 100 for the frequent end

rng = np.random.default_rng(2)
rows_i, rows_j = (Embedding(len(court), 4, dtype=np.float64, rng=rng, init=0.1) for _ in range(2))
bias_i, bias_j = (Embedding(len(court), 1, dtype=np.float64, rng=rng, init=0.0) for _ in range(2))


def glove_error() -> Tensor:
    """w_i . c_j + b_i + b'_j - ln X_ij for every pair that was met."""
    scores = (rows_i(i) * rows_j(j)).sum(axis=-1)
    return scores + bias_i(i).reshape(-1) + bias_j(j).reshape(-1) - log_counts


tables = [layer.weight for layer in (rows_i, rows_j, bias_i, bias_j)]
optimizer = Adam(tables, lr=0.05)
for _ in range(300):
    optimizer.zero_grad()
    errors = glove_error()
    (errors * errors * weight).sum().backward()
    optimizer.step()
centred = log_counts - np.average(log_counts, weights=weight)
explained = 1 - (weight * glove_error().numpy() ** 2).sum() / (weight * centred**2).sum()

# %% [markdown]
# Levy and Goldberg (2014) found that skip-gram does the same without saying so. Its best scores are
# $\text{PMI} - \ln K$, where $\text{PMI} = \ln \frac{P(u,v)}{P(u)\,P(v)}$ says how much more often
# than chance two words meet. We train skip-gram on the court, and hold its scores against counts.

# %%
run = word2vec.train(text, len(court), 16, window=1, epochs=3 if options.quick else 6, lr=0.1,
                     batch_size=64, subsample_at=None, power=1.0, dtype=np.float64)  # fmt: skip
share = counts / counts.sum()
by_chance = np.outer(share.sum(axis=1), share.sum(axis=0))
pmi = np.log(share[i, j] / by_chance[i, j]) - np.log(5)
scores = (run.vectors @ run.outputs.T)[i, j]
agreement = float(np.corrcoef(scores, pmi)[0, 1])
check(
    "001-hist-glove",
    explained > 0.9 and agreement > 0.8,
    shown={
        "pairs that meet": len(i),
        "share of ln X that 4 columns and the biases explain": explained,
        "correlation of skip-gram's scores and PMI - ln 5": agreement,
        "mean difference of the two": float(np.mean(scores - pmi)),
    },
)

# %% [markdown]
# Third, without any descent: keep what is positive of the PMI, and let an SVD factorise it.

# %%
positive = ppmi.ppmi(counts)
by_svd = ppmi.svd_vectors(positive, 16)
couple = worked.dot("king . queen, from counts alone", by_svd[row["king"]], by_svd[row["queen"]])
print(f"  king . uncle: {by_svd[row['king']] @ by_svd[row['uncle']]:.4f}")

# %% [markdown]
# ## King and queen, as drawn
# One of the sources draws words in two dimensions. Its coordinates are lost, so here are some
# that fit what it says: royalty to the right, women on top, and others about.

# %%
drawn_words = {
    "man": (1, 1), "woman": (1, 2), "king": (3, 1), "queen": (3, 2),
    "prince": (2.3, 0.3), "cat": (-2, 0.4), "dog": (-2.2, 0.1), "runs": (0, -2),
}  # fmt: skip
points = np.array(list(drawn_words.values()), dtype=float)
at = {word: n for n, word in enumerate(drawn_words)}
man, woman, king, queen = (points[at[w]] for w in ("man", "woman", "king", "queen"))
query = worked.difference("king - man", king, man) + woman
worked.sum("king - man + woman", king - man, woman)
nearest = geometry.analogy(points, at["king"], at["man"], at["woman"], k=1, exclude=False)
check("004-king-queen", list(drawn_words)[nearest.rows[0]], printed="queen")
compare("queen - king and woman - man", hand=queen - king, ours=woman - man)

# %% [markdown]
# ## King and queen, in fifty dimensions
# An exact parallelogram is a drawing. Suppose that words are made of directions, one for royalty
# and one for being a woman, and of something of their own: random rows in 50 columns, with noise.
# The sum then never hits "queen". Is it nearest to it, at least? That depends on how long the
# woman's direction is. If it is short, the nearest word is *king*, the word we started from. The
# published scores leave the three input words out of the search; then the answer is "queen".

# %%


def share_of_answers(gender: float, draws: int = 300, noise: float = 0.35) -> dict[str, float]:
    """How often king - man + woman is nearest to king, and to queen, of `draws` random tables."""
    rng = np.random.default_rng(7)
    tally = {"king": 0, "queen": 0, "queen, inputs left out": 0, "exactly queen": 0}
    for _ in range(draws):
        base, royal, female = rng.standard_normal((3, 50))
        man, king, woman = base, base + royal, base + gender * female
        four = np.stack([man, woman, king, king + gender * female])
        others = rng.standard_normal((20, 50))
        table = np.concatenate([four + noise * rng.standard_normal((4, 50)), others])
        every = geometry.analogy(table, 2, 0, 1, k=1, exclude=False).rows[0]
        tally["king"] += every == 2
        tally["queen"] += every == 3
        tally["queen, inputs left out"] += geometry.analogy(table, 2, 0, 1, k=1).rows[0] == 3
        tally["exactly queen"] += bool(np.allclose(table[2] - table[0] + table[1], table[3]))
    return {answer: count / draws for answer, count in tally.items()}


strengths = [0.1, 0.3, 0.5, 0.7, 1.0]
draws = 60 if options.quick else 300
shares = {g: share_of_answers(g, draws) for g in progress(strengths, "drawing")}
for g, tally in shares.items():
    print(f"  direction {g:.1f} long: " + ", ".join(f"{k} {x:.0%}" for k, x in tally.items()))
weak = shares[0.3]
erratum(
    "001-intro-king-queen",
    weak["king"] > 0.5 and weak["queen, inputs left out"] > 0.9 and weak["exactly queen"] == 0,
    shown={
        "draws": draws,
        "nearest is king, weak direction": weak["king"],
        "nearest is queen, inputs left out": weak["queen, inputs left out"],
        "the equation holds": weak["exactly queen"],
    },
    because="it is no equation: the sum lands near queen, often nearer to king, and the published "
    "answers come from leaving the three input words out of the search",
)

# %% [markdown]
# ## King and queen, learned
# Did the court learn its parallelograms? Every couple is asked about every other one:
# $A - a + b$ should be $B$. All three methods found them, from nothing but company. Here the two
# directions are all there is, so the inputs need not even be left out.


# %%
class Analogies:
    """What comes of A - a + b for all pairs (a, A), (b, B) of a list: shares of the questions."""

    def __init__(self, table: np.ndarray, pairs: np.ndarray):
        unit = geometry.unit_rows(table)
        first, second = np.nonzero(~np.eye(len(pairs), dtype=bool))
        a, A = pairs[first].T
        b, self.B = pairs[second].T
        self.inputs = np.stack([A, a, b], axis=1)
        self.cosines = geometry.unit_rows(unit[A] - unit[a] + unit[b]) @ unit.T
        every = self.cosines.argmax(axis=1)
        self.right_of_all = float((every == self.B).mean())
        self.input_wins = float((every[:, None] == self.inputs).any(axis=1).mean())
        np.put_along_axis(self.cosines, self.inputs, -np.inf, axis=1)
        self.right = float((self.cosines.argmax(axis=1) == self.B).mean())
        answers = np.take_along_axis(self.cosines, self.B[:, None], axis=1)
        ranks = (self.cosines > answers).sum(axis=1) + 1
        self.mean_reciprocal_rank = float((1 / ranks).mean())

    def __str__(self) -> str:
        return (
            f"right {self.right:.0%}; with the inputs in the race {self.right_of_all:.0%}, "
            f"and an input wins {self.input_wins:.0%}"
        )


same_way = Analogies(run.vectors, pairs_of_rows)
cbow_run = word2vec.train(text, len(court), 16, model="cbow", window=1, epochs=3, lr=0.1,
                          batch_size=64, subsample_at=None)  # fmt: skip
for name, table in {"skip-gram": run.vectors, "CBOW": cbow_run.vectors, "SVD": by_svd}.items():
    print(f"  court, {name:<10} {Analogies(table, pairs_of_rows)}")
one = geometry.analogy(geometry.unit_rows(run.vectors), row["queen"], row["king"], row["man"], k=1)
print(f"  queen - king + man = {court[one.rows[0]]}")
compare("cosine of that answer", hand=one.values[0], ours=same_way.cosines[0, one.rows[0]])

# %% [markdown]
# ## Real text
# The documentation that comes with Python knows no kings. (A text of your own may: `--text FILE`.)
# It has *row* and *rows*, *value* and *values*: the same kind of couple. The pairs are found by
# their spelling, so some are verbs. Only the most frequent words take part.

# %%
if options.text is not None:
    source, raw = options.text.name, corpus.read_text(options.text)
else:
    brief = options.quick and bool(source_files("topics"))
    source = "pydoc's topics" if brief else "Python's documentation"
    raw = corpus.python_text(("topics",) if brief else SOURCES)
spoken = corpus.words(raw)
vocabulary = corpus.Vocabulary.from_tokens(spoken, max_size=500 if options.quick else 1000)
ids = vocabulary.encode(spoken)
ids = ids[ids > 0] - 1  # rarer words are left out, and with them row 0
known = vocabulary.tokens[1:]
plurals = np.array([
    (n, known.index(word + "s")) for n, word in enumerate(known)
    if len(word) > 2 and not word.endswith("s") and word + "s" in known
][:40])  # fmt: skip
if len(ids) < 5000 or len(plurals) < 4:
    raise SystemExit(
        f"{source} has {len(ids):,} words that are frequent enough and {len(plurals)} pairs such "
        "as row, rows; this needs 5,000 and 4. Give a longer text, in English."
    )
print(f"  {source}: {len(ids):,} words, {len(plurals)} pairs, "
      f"{', '.join(f'{known[a]} {known[A]}' for a, A in plurals[:3])} ...")  # fmt: skip

learned = word2vec.train(
    ids, len(known), 50, window=4, lr=0.1, batch_size=512 if len(ids) > 200_000 else 128,
    epochs=max(3, (150_000 if options.quick else 300_000) // len(ids)),  # short texts more often
    subsample_at=1e-4 if len(ids) < 200_000 else 3e-5,
    progress=lambda epochs: progress(epochs, "skip-gram on real text"),
)  # fmt: skip
counted = ppmi.svd_vectors(ppmi.ppmi(ppmi.cooccurrence(ids, len(known), 4), alpha=0.75), 50)
reader = NextToken(len(known), 50, rng=0, init=0.001, dtype=np.float32)  # a small start
optimizer, rank_after = Adam(reader.parameters(), lr=0.01), {}
for stage in progress(range(4), "next-token model"):
    each = 30 if options.quick else 100
    train(reader, ids, optimizer, each, batch_size=256, rng=stage)
    rank_after[(stage + 1) * each] = geometry.effective_rank(
        geometry.centre(reader.embed.weight.numpy())
    )
real = {"skip-gram": learned.vectors, "PPMI and SVD": counted,
        "next-token": reader.embed.weight.numpy()}  # fmt: skip
answers = {name: Analogies(table, plurals) for name, table in real.items()}
for name, answer in answers.items():
    print(f"  {name:<13} {answer}")
for word in [known[a] for a, _ in plurals[:6]]:
    near = geometry.neighbours(learned.vectors, known.index(word), k=4)
    print(f"  {word:<10} " + ", ".join(f"{known[n]} {x:.2f}" for n, x in zip(*near)))

# %% [markdown]
# Two things to notice. The famous arithmetic works for some pairs and fails for most, with this
# little text. And with the inputs left in the race it often answers with one of them, because the
# plural's direction is short beside the words themselves, as in the draws above.
#
# ## How many directions are in use?
# The claim is that trained tables have an effective rank far below their width. It can be
# measured: the singular values say how much of the table lies along each direction, and the
# exponential of their entropy says how many directions that amounts to (Roy and Vetterli 2007).
# Our language model started from rows of almost no length, so what it holds now, it has learned.
# The null model is a random table of the same shape. (The SVD's columns are scaled by the roots of
# the singular values, as usual, which evens them out; its rank says little about the language.)

# %%
tables = {"skip-gram, 10 classes": runs["skip-gram"].vectors, **real}
tables = {name: geometry.centre(table) for name, table in tables.items()}
ranks = {name: geometry.effective_rank(table) for name, table in tables.items()}
rng = np.random.default_rng(3)
nulls = {name: geometry.effective_rank(rng.standard_normal(table.shape))
         for name, table in tables.items()}  # fmt: skip
for name, table in tables.items():
    most = np.searchsorted(geometry.energy(table), 0.9) + 1
    print(f"  {name:<22} {len(table):>4} x {table.shape[1]}: effective rank {ranks[name]:.1f}, "
          f"random {nulls[name]:.1f}; 90 % of the energy in {most}")  # fmt: skip
print("  next-token, " + ", ".join(f"{rank:.0f} after {n} steps" for n, rank in rank_after.items()))
if options.text is not None:
    print("  judged by the language of 10 classes; the ranks of your text are only shown")
most_in_use = 0.6 * 50 < ranks["next-token"] < 0.98 * 50
erratum(
    "002-s6-low-rank",
    ranks["skip-gram, 10 classes"] < 0.75 * nulls["skip-gram, 10 classes"]
    and (options.text is not None or ranks["skip-gram"] < nulls["skip-gram"] and most_in_use),
    shown={
        "skip-gram, language of 10 classes, of 16": ranks["skip-gram, 10 classes"],
        "skip-gram, real text, of 50": ranks["skip-gram"],
        "next-token model, real text, of 50": ranks["next-token"],
        "a random table of that shape": nulls["next-token"],
    },
    because="below random, yes, and far below it where the language is simple; but a model of real "
    "text uses most of its 50 columns. (And the V of the formula U S V^T is not the vocabulary.)",
)

# %% [markdown]
# ## Paris, London, Berlin
# In a trained GPT, says another source, "Paris" lies near "London" and "Berlin" *because* they
# stand in similar contexts. No GPT is at hand, but the *because* can be tested on the smallest
# model: let it read about cities and fruits, then let "paris" be written about as a fruit.

# %%
cities, fruits = ["paris", "london", "berlin", "rome"], ["apple", "pear", "plum", "cherry"]
said_of = {"city": ["airport", "mayor", "street", "museum"],
           "fruit": ["juice", "tree", "jam", "pie"]}  # fmt: skip
openings = {"city": ["in", "near"], "fruit": ["eat", "peel"]}
speech = [*cities, *fruits, *said_of["city"], *said_of["fruit"], *openings["city"],
          *openings["fruit"]]  # fmt: skip


def travel_text(cities: list[str], fruits: list[str], rng: np.random.Generator) -> np.ndarray:
    """Sentences of three words, such as "near london airport" and "peel pear pie"."""
    out = []
    for _ in range(1500):
        kind, subjects = [("city", cities), ("fruit", fruits)][rng.integers(2)]
        out += [rng.choice(openings[kind]), rng.choice(subjects), rng.choice(said_of[kind])]
    return np.array([speech.index(word) for word in out])


def nearest_to_paris(text: np.ndarray) -> list[str]:
    model = NextToken(len(speech), 12, tied=True, body=True, rng=4, init=0.3)
    train(model, text, Adam(model.parameters(), lr=0.02), 300, batch_size=64, rng=5)
    table = geometry.centre(model.embed.weight.numpy())[: len(cities) + len(fruits)]
    return [speech[n] for n in geometry.neighbours(table, speech.index("paris"), k=3).rows]


as_city = nearest_to_paris(travel_text(cities, fruits, np.random.default_rng(6)))
as_fruit = nearest_to_paris(travel_text(cities[1:], [*fruits, "paris"], np.random.default_rng(6)))
print(f"  written about as a city:  {', '.join(as_city)}")
print(f"  written about as a fruit: {', '.join(as_fruit)}")
check(
    "001-intro-paris",
    set(as_city) == set(cities[1:]) and set(as_fruit) <= set(fruits),
    shown={
        "cities among its 3 nearest, in a city's contexts": len(set(as_city) & set(cities)),
        "cities among its 3 nearest, in a fruit's contexts": len(set(as_fruit) & set(cities)),
    },
)

# %% [markdown]
# ## Two kinds of vectors
# A language model's table is trained by another game: guess the *next* word, from all before. One
# source sets four properties side by side. We measure each.
#
# 1. Signal: skip-gram learns from both sides, next-token from the right side only.
# 2. Context: word2vec has one vector for a word. So has the table of a language model; but after
#    one layer of attention the same word has another state in another sentence.
# 3. Grain: an unseen word has no row of its own, but it has pieces.
# 4. Analogies: stronger in word2vec than in the raw table of a model that predicts the next word.

# %%
sentence_1, sentence_2 = text[:4], text[4:8].copy()
sentence_2[1] = sentence_1[1]  # the same noun, in other company
attend = SelfAttention(16, rng=0, dtype=np.float64)
static = [run.vectors[s] for s in (sentence_1, sentence_2)]
states = [attend(Tensor(rows)).numpy() for rows in static]
row_moved = float(np.abs(static[0][1] - static[1][1]).max())
state_moved = float(np.linalg.norm(states[0][1] - states[1][1]) / np.linalg.norm(states[0][1]))

centers, contexts = word2vec.pairs(np.arange(100), 2)
to_the_left = float((contexts < centers).mean())
plain = raw if options.text is None else corpus.python_text(  # it has all letters of the word
    ("topics",) if source_files("topics") else ("argparse",))  # fmt: skip
pieces = bpe.train(plain[:50_000], 150, boundaries=True, progress=False)
unseen_word = "columnwiseish"
in_pieces = pieces.pieces(unseen_word)
mean_of = {name: answer.mean_reciprocal_rank for name, answer in answers.items()}
if options.text is not None:
    print("  the analogies of your text are shown, not judged: it may be too short")
check(
    "004-w2v-table",
    abs(to_the_left - 0.5) < 0.05
    and row_moved == 0 < state_moved
    and vocabulary.encode([unseen_word])[0] == 0
    and "".join(in_pieces) == unseen_word
    and (options.text is not None or mean_of["next-token"] <= mean_of["skip-gram"]),
    shown={
        "contexts to the left, skip-gram": to_the_left,
        "change of a word's vector in another sentence": row_moved,
        "change of its state after attention, relative": state_moved,
        f"row of '{unseen_word}' (0 is unknown)": vocabulary.encode([unseen_word])[0],
        "its pieces": " ".join(in_pieces),
        "analogies right, skip-gram": answers["skip-gram"].right,
        "analogies right, next-token table": answers["next-token"].right,
        "mean 1 / rank, skip-gram": mean_of["skip-gram"],
        "mean 1 / rank, next-token table": mean_of["next-token"],
    },
)

# %% [markdown]
# ## Pictures
# Top: the drawing, and what happens to its arithmetic when the woman's direction is short. Bottom:
# singular and plural in real text (a line joins the two; parallel lines would be a perfect
# analogy), and how much of each table lies in its first directions. The dotted line is a table
# without any structure.

# %%
fig, axes = plot.figure(2, 2, size=(12, 9))
kinds = ["people" if w in ("man", "woman") else "court" if w in ("king", "queen", "prince") else
         "animals" if w in ("cat", "dog") else "verbs" for w in drawn_words]  # fmt: skip
plot.scatter_labels(axes[0, 0], points, list(drawn_words), groups=kinds, title="As drawn",
                    xlabel="royalty", ylabel="woman")  # fmt: skip
for start_at, end in ((man, woman), (king, queen)):
    arrow = {"arrowstyle": "-|>", "lw": 1.6, "ls": "--", "color": plot.PALETTE["vermillion"]}
    axes[0, 0].annotate("", end, start_at, arrowprops={**arrow, "shrinkA": 6, "shrinkB": 6})
series = {k: [shares[g][k] for g in strengths] for k in ("king", "queen", "queen, inputs left out")}
plot.lines(
    axes[0, 1], strengths, series, xlabel="length of the woman's direction (royalty: 1)",
    ylabel="share of draws", title="Who is nearest to king - man + woman?", marker="o",
)  # fmt: skip

chosen = plurals[:6].reshape(-1)
view = geometry.pca(geometry.unit_rows(learned.vectors[chosen]), 2).coords
above = [known[n] if k % 2 == 0 else "" for k, n in enumerate(chosen)]  # the plurals go below
plot.scatter_labels(axes[1, 0], view, above,
                    groups=["singular", "plural"] * (len(chosen) // 2),
                    xlabel="first principal component", ylabel="second principal component",
                    title="Singular and plural, skip-gram on real text")  # fmt: skip
for one_end, other_end, n in zip(view[::2], view[1::2], chosen[1::2]):
    axes[1, 0].plot(*np.stack([one_end, other_end]).T, color="grey", lw=0.8, zorder=1)
    axes[1, 0].annotate(known[n], other_end, (0, -17), textcoords="offset points", ha="center")
axes[1, 0].margins(0.15)
curves = {name: geometry.energy(tables[name]) for name in real}
curves["random"] = geometry.energy(rng.standard_normal(learned.vectors.shape))
plot.lines(axes[1, 1], np.arange(1, 51), curves, xlabel="directions, largest first",
           ylabel="share of the energy", title=f"Energy curves, {len(known)} x 50")  # fmt: skip
save_figure(fig, "ch14_word2vec.png")

# %% [markdown]
# ## What did we learn?

# %%
differences = {
    "word2vec is trained with labels, a language model without":
        "labels" in signature(word2vec.train).parameters,
    "a language model computes each word's state from its neighbours, word2vec only looks it up":
    row_moved == 0 and state_moved > 0,
    "word2vec's rows change while it is used": row_moved > 0,
}  # fmt: skip
quiz(
    "004-recap-w2v-vs-lm",
    "Both learn from raw text. What makes a language model's vectors depend on the sentence?",
    answer=next(answer for answer, is_so in differences.items() if is_so),
    options=list(differences),
    because=f"in two sentences the word2vec row differs by {row_moved:g}, the state after one "
    f"layer of attention by {state_moved:.0%}",
)
verdict()
