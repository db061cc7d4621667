# %% [markdown]
# # 0. From integers to meaning
#
# A tokenizer turns text into whole numbers. A network turns vectors into other vectors. Between
# the two stands a table: one row of numbers for each token, and the token's id says which row to
# read. That is an embedding layer, all of it.
#
# This lesson reads rows by hand, measures how far apart they are, and then asks the question on
# which the other lessons rest: when the loss complains about a row, how does the complaint find
# its way back into the table?
#
# Every lesson tests the figures that a course on embeddings prints. A line that begins with
# "agrees" gives a computed number beside the printed one; "holds" is a statement that the numbers
# below it bear out; "corrected" says what is right instead, and why. The table at the very end
# sets what was worked out by hand beside what the code computed.

# %%
from pathlib import Path

import numpy as np

from scratch_embed import SGD, Embedding, Tensor, geometry, plot
from scratch_embed.functional import lookup, onehot_product
from scratch_embed.gradcheck import gradcheck
from scratch_embed.lesson import begin, check, compare, erratum, quiz, save_figure, verdict, worked
from scratch_embed.lesson.claims.ledger import beside
from scratch_embed.models import NextToken, train
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.ops.onehot import one_hot
from scratch_embed.text import toy

begin()

# %% [markdown]
# ## An id is a name, not a quantity
# Suppose "cat" is token 3782 and "dog" is token 5291. Arithmetic on the two gives a number, and
# the number means nothing.

# %%
cat_id, dog_id, next_id = 3782, 5291, 3783
check("000-ch0-id-sum", worked.sum("cat + dog", cat_id, dog_id), printed="9073")

# %% [markdown]
# Nor does the gap between two ids say anything. Written as one-hot codes (a 1 at the id, zeros
# elsewhere) any two different tokens are equally far apart, $\sqrt{2}$, neighbours in the
# numbering or not.

# %%
codes = one_hot(np.array([cat_id, next_id, dog_id]), 6000)
near, far = geometry.euclidean(codes[0], codes[1]), geometry.euclidean(codes[0], codes[2])
check(
    "000-ch0-id-no-distance",
    near == far and abs(cat_id - next_id) != abs(cat_id - dog_id),
    shown={
        "id gap 3782-3783": abs(cat_id - next_id),
        "id gap 3782-5291": abs(cat_id - dog_id),
        "one-hot distance, first pair": near,
        "one-hot distance, second pair": far,
    },
)

# %% [markdown]
# ## A table of six words
# Here is a trained table $E$ with $V = 6$ rows and $D = 3$ columns.

# %%
words = ["the", "cat", "dog", "sat", "house", "on"]
E = np.array(
    [
        [-0.12, 0.05, 0.88],
        [0.72, -0.41, 0.15],
        [0.68, -0.38, 0.22],
        [-0.55, 0.62, -0.03],
        [0.31, 0.15, -0.72],
        [-0.08, 0.11, 0.79],
    ]
)
check("000-ch0-param-count", worked.product("V D", *E.shape), printed="18")

# %% [markdown]
# Looking up "cat" (id 1 here; every small example has its own numbering) means: go to row 1, and
# read it. Nothing is multiplied, nothing added, and there is no bias and no activation. We can
# see that: what comes out are the very bits that lie in the table.

# %%
rows, saved = lookup_forward(E, np.array([1, 2]))
worked.lookup("E[cat, dog]", E, [1, 2])
check("000-ch0-lookup-cat", rows[0], printed="0.72; -0.41; 0.15")
check("000-ch0-lookup-dog", rows[1], printed="0.68; -0.38; 0.22")
check(
    "000-ch0-no-arithmetic",
    rows.tobytes() == E[1:3].tobytes(),
    shown={"bytes copied": rows.nbytes, "bits that differ from the table": np.sum(rows != E[1:3])},
)

# %% [markdown]
# ## Near and far
# Now the numbers can be compared. The Euclidean distance takes the difference of two rows,
# squares its entries, adds them, and takes the root.

# %%
the, cat, dog = E[0], E[1], E[2]
cat_dog = worked.distance("cat, dog", cat, dog)
cat_the = worked.distance("cat, the", cat, the)
check("000-ch0-dist-cat-dog", bool(np.isclose(cat_dog, geometry.euclidean(cat, dog))),
      shown={"distance": cat_dog, "its square": cat_dog**2})  # fmt: skip
check("000-ch0-dist-cat-the", bool(np.isclose(cat_the, geometry.euclidean(cat, the))),
      shown={"distance": cat_the, "its square": cat_the**2})  # fmt: skip
check("000-ch0-ratio", worked.quotient("how many times closer", cat_the, cat_dog), printed="14x")

# %% [markdown]
# The text says that "the" stands alone. In a drawing of other vectors it may; in the printed
# table it has a close neighbour, "on", almost as near as "cat" is to "dog". Function words keep
# company too.

# %%
to_on = geometry.euclidean(E[0], E[5])
nearest = geometry.neighbours(E, 0, k=1, measure="euclidean")
erratum(
    "000-ch0-nearest-neighbours",
    words[nearest.rows[0]] == "on" and to_on < 2 * cat_dog,
    shown={"the to on": to_on, "cat to dog": cat_dog, "cat to the": cat_the},
    because="in the printed table the nearest row to 'the' is 'on', almost as near as dog to cat",
)

# %% [markdown]
# ## The layer
# A layer is the table and the lookup together. Ids of any shape go in; the same shape with one
# more axis of length $D$ comes out.

# %%
layer = Embedding(6, 3, rng=0, init=0.02)
out = layer([1, 2, 0])
check("000-ch0-scratch-forward-shape", out.shape, printed="(3, 3)")
check("000-ch0-torch-weight-shape", layer.weight.shape, printed="[6, 3]")
same = np.array_equal(out.numpy(), layer.weight.numpy()[[1, 2, 0]])
check("000-ch0-torch-index-equality", same, printed="True")

# %% [markdown]
# How wide are the random numbers it starts from? Eighteen draws say little about a standard
# deviation, so we ask a larger table for the two starts that the text treats as one: the class
# that it writes itself (its "scratch class") multiplies by 0.02, and PyTorch's layer draws from
# $N(0, 1)$, the bell curve with mean 0 and standard deviation 1.

# %%
small = Embedding(2000, 50, rng=0, init=0.02).weight.numpy().std()
default = Embedding(2000, 50, rng=0).weight.numpy().std()
check("000-ch0-scratch-init-std", small, printed="0.02")
erratum(
    "000-ch0-torch-equivalent-init",
    40 < default / small < 60,
    shown={"std of the scratch class": small, "std of N(0,1)": default, "ratio": default / small},
    because="the two do the same lookup from different starts: PyTorch's rows are 50 times "
    "longer, which matters once tables are tied or scaled",
)

# %% [markdown]
# ## Is it a linear layer?
# The text says no; others call it a linear map. Both are right about different inputs. Take the
# one-hot code of an id as input, and the lookup is exactly a matrix product, $x = e_i^\top E$.
# Take the id itself, and it is not linear at all: row $1 + 2$ is not row 1 plus row 2. We work out
# one row by hand, and then look 200 ids up in a table of 5,000 rows and 64 columns, both ways.

# %%
rng = np.random.default_rng(0)
table = rng.standard_normal((5000, 64))
ids = rng.integers(5000, size=200)
gathered = lookup(table, ids).numpy()
multiplied = one_hot(ids, 5000) @ table
worked.onehot_product("e_cat E", 1, E)
check(
    "000-ch0-not-linear-layer",
    np.array_equal(gathered, multiplied) and not np.allclose(E[1] + E[2], E[1 + 2]),
    shown={
        "largest difference, lookup and one-hot product": np.abs(gathered - multiplied).max(),
        "multiplications, one-hot": multiplied.size * len(table),
        "numbers copied, lookup": gathered.size,
        "distance of E[1] + E[2] from E[3]": geometry.euclidean(E[1] + E[2], E[3]),
    },
)

# %% [markdown]
# Does no implementation multiply, as the text says? This package has one that does. To see that it
# is no lookup in disguise, give it a code that no lookup can read: half a 1 at one id, half at
# another. A product returns the mean of the two rows.

# %%
half = (one_hot(ids[:1], 5000) + one_hot(ids[1:2], 5000)) / 2
by_product, mixed = (onehot_product(code, table).numpy() for code in (one_hot(ids, 5000), half))
mean_row = (gathered[0] + gathered[1]) / 2
erratum(
    "000-ch0-no-implementation-onehot",
    np.array_equal(by_product, gathered) and np.allclose(mixed[0], mean_row),
    printed="none",
    shown={
        "largest difference from the lookup": np.abs(by_product - gathered).max(),
        "half a code each, distance from the mean of two rows":
            geometry.euclidean(mixed[0], mean_row),
        "from the first of the rows": geometry.euclidean(mixed[0], gathered[0]),
        "multiplications for each number": len(table),
    },
    because="some do: ours does, and the published BERT code has a switch use_one_hot_embeddings "
    "(google-research/bert, modeling.py); on hardware built for matrix products it can be faster",
)  # fmt: skip

# %% [markdown]
# ## The way back
# Let the loss be any function of the rows that came out. Nudge one entry of the table and ask how
# the loss changes: if its row was not looked up, not at all; if it was, by the gradient that
# arrived at that place of the output. So backward takes each arriving gradient and adds it to the
# row it came from. Look what happens when a row is looked up twice. We read cat, dog, cat, and let
# three made-up gradients arrive, values[0] for the first place and so on:

# %%
E_tensor = Tensor(E, requires_grad=True, name="E")
ids = np.array([1, 2, 1])  # cat, dog, cat
arriving = np.random.default_rng(1).normal(size=(3, 3)).round(2)
dE = worked.scatter_add("dE", ids, arriving, num_rows=6)
lookup(E_tensor, ids).backward(arriving)

# %% [markdown]
# Row "cat" collected two gradients, "dog" one, the others exactly zero. That is the scatter-add,
# the transpose of the gather. Written as matrices it is $\text{onehot}^\top\, g$, which gives the
# same answer at $V$ times the cost. A finite difference, which knows nothing of either and only
# nudges entries, agrees.

# %%
by_onehot = one_hot(ids, 6).T @ arriving
h = 2.0**-10  # a power of two; the loss is linear in E, so any step gives the exact slope


def loss(at: np.ndarray) -> float:
    return float((lookup_forward(at, ids)[0] * arriving).sum())


numeric = np.zeros_like(E)
for index in np.ndindex(E.shape):
    nudge = np.zeros_like(E)
    nudge[index] = h
    numeric[index] = (loss(E + nudge) - loss(E - nudge)) / (2 * h)

for row in (1, 2, 0):
    compare(f"dE[{words[row]}]", hand=dE[row], ours=E_tensor.grad[row], numeric=numeric[row])
compare("dE[cat], one-hot", hand=dE[1], ours=by_onehot[1], numeric=numeric[1])

# %% [markdown]
# The same check comes ready made, with a random gradient at the output, for any function of any
# tensors. In its table "uses" counts how often a row was read, and "noise" is how far rounding
# alone can push the two derivatives apart. It also checks the one-hot itself: its gradient,
# $g\,E^\top$, is something that a lookup hides.

# %%
print(gradcheck(lambda E: lookup(E, ids), E_tensor, name="lookup").raise_if_wrong())
onehots = Tensor(one_hot(ids, 6), requires_grad=True, name="onehot")
report = gradcheck(onehot_product, onehots, E_tensor, name="onehot_product").raise_if_wrong()

onehot_product(onehots, E_tensor).backward(arriving)
numeric = ((onehots.numpy() + h * one_hot([3], 6)) @ E - (onehots.numpy()) @ E)[0] @ arriving[0] / h
compare(
    "d onehot[0, sat]",
    hand=worked.dot("how a little 'sat' in place 0 would change the loss", arriving[0], E[3]),
    ours=onehots.grad[0, 3],
    numeric=numeric,
)

# %% [markdown]
# ## Rows learn
# Where did the numbers of a trained table come from? They start random, and gradient descent does
# the rest. We let a tiny model read sentences about pets and buildings, and predict each next
# word from the present one. Nobody tells it which words belong together.
#
# How alike two rows are, we measure by their cosine: 1 if they point the same way, 0 if they are
# at right angles, -1 if they point in opposite ways (chapter 6 works one out). The loss is
# $-\ln p$ of the word that really came next; with the natural logarithm its unit is the nat.

# %%
pets, places = ["cat", "dog", "kitten"], ["house", "building", "barn"]
doings = {"pet": ["sat", "slept", "ran"], "place": ["stood", "burned", "fell"]}
vocabulary = ["the", "on", *pets, *places, *doings["pet"], *doings["place"]]
index = {word: i for i, word in enumerate(vocabulary)}


def sentence(rng: np.random.Generator) -> list[int]:
    """the PET sat on the PLACE, or the PLACE stood on the PLACE"""
    subject, doing = [(pets, "pet"), (places, "place")][rng.integers(2)]
    words = ["the", rng.choice(subject), rng.choice(doings[doing]), "on", "the", rng.choice(places)]
    return [index[word] for word in words]


rng = np.random.default_rng(0)
sentences = np.concatenate([sentence(rng) for _ in range(600)])
model = NextToken(len(vocabulary), 8, rng=0, init=0.1)
before = geometry.cosines(model.embed.weight.numpy())
history = train(model, sentences, SGD(model.parameters(), lr=1.0), steps=600, batch_size=64, rng=0)
trained = model.embed.weight.numpy()
after = geometry.cosines(trained)


def likeness(table: np.ndarray, a: str, b: str) -> float:
    return float(table[index[a], index[b]])


pairs = {"cat, dog": ("cat", "dog"), "house, building": ("house", "building"),
         "cat, house": ("cat", "house"), "cat, the": ("cat", "the")}  # fmt: skip
for name, pair in pairs.items():
    print(f"  {name:<16} cosine {likeness(before, *pair):+.2f} -> {likeness(after, *pair):+.2f}")

check(
    "000-ch0-random-then-learned",
    history.losses[-50:].mean() < 0.6 * history.losses[:5].mean(),
    shown={
        "loss at the start, nats": history.losses[:5].mean(),
        "loss at the end, nats": history.losses[-50:].mean(),
        "cosine cat, dog before": likeness(before, "cat", "dog"),
        "cosine cat, dog after": likeness(after, "cat", "dog"),
    },
)
check(
    "000-ch0-widget-bars",
    likeness(after, "cat", "dog") > 0.9 and likeness(after, "cat", "the") < 0.5,
    shown={name: likeness(after, *pair) for name, pair in pairs.items()},
)

# %% [markdown]
# Eight columns are too many to draw, so we look at the table from its two widest sides (its
# principal components).

# %%
view = geometry.pca(trained, 2)
spread = geometry.distances(view.coords)


def apart(a: str, b: str) -> float:
    return float(spread[index[a], index[b]])


inside = max(apart("cat", "dog"), apart("cat", "kitten"), apart("house", "building"))
outside = min(apart(pet, place) for pet in pets for place in places)
check(
    "000-ch0-widget-clusters",
    inside < 0.5 * outside,
    shown={
        "widest pair inside a group": inside,
        "closest pair across groups": outside,
        "share of variance in the picture": view.share.sum(),
    },
)

# %% [markdown]
# The same in a vocabulary large enough to have strangers in it: 400 made-up words in 10 hidden
# classes, met as often as real words are (a few all the time, most rarely). After training, words
# of one class have become alike, and a word of another class is far away.

# %%
corpus = toy.zipf_classes()
lm = NextToken(len(corpus.classes), 16, rng=1, init=0.1)
run = train(lm, corpus.tokens, SGD(lm.parameters(), lr=1.0), steps=1200, batch_size=64, rng=2)
often = np.flatnonzero(run.updates > 20)
cosines = geometry.cosines(lm.embed.weight.numpy())[np.ix_(often, often)]
same = corpus.classes[often][:, None] == corpus.classes[often][None, :]
others = ~np.eye(len(often), dtype=bool)
check(
    "000-ch0-far-parliamentary",
    cosines[same & others].mean() > cosines[~same].mean() + 0.2,
    shown={
        "words compared": len(often),
        "mean cosine, same class": cosines[same & others].mean(),
        "mean cosine, other class": cosines[~same].mean(),
    },
)

# %% [markdown]
# ## Pictures

# %%
fig, axes = plot.figure(1, 2, size=(10, 4.2))
plot.heatmap(axes[0], E, rows=words, cols=["0", "1", "2"], highlight=[1, 2],
             title="E, with the rows of 'cat' and 'dog' looked up", xlabel="column")  # fmt: skip
plot.heatmap(axes[1], dE, rows=words, cols=["0", "1", "2"], highlight=[1, 2],
             title="dE after reading cat, dog, cat", xlabel="column")  # fmt: skip
save_figure(fig, "ch00_table_and_gradient.png")

groups = ["pets" if w in pets else "places" if w in places else "other words" for w in vocabulary]
fig, axes = plot.figure(1, 2, size=(11, 4.6))
shown = ["cat", "dog", "kitten", "the"]
plot.bars(axes[0], [str(i) for i in range(8)], {w: trained[index[w]] for w in shown},
          xlabel="column", ylabel="value", title="Rows of a trained table, D = 8")  # fmt: skip
plot.scatter_labels(axes[1], view.coords, vocabulary, groups=groups,
                    xlabel="first principal component", ylabel="second principal component",
                    title="The same table from its widest side")  # fmt: skip
save_figure(fig, "ch00_trained_rows.png")

# %% [markdown]
# ## What the course promises
# The ten-chapter text that these lessons recompute opens with three numbers. We count for
# ourselves: chapters and interactive pieces from the list of its claims, prerequisites from the
# line it prints above them.

# %%
text = [c for c in beside(Path(__file__)).values() if c.source == "ten-chapter text"]
chapters = {c.section for c in text if c.section.startswith("ch")}
check("000-hdr-chapters", len(chapters), printed="10")

named_pieces = [
    "Embedding Lookup", "Embedding Table Size Explorer", "Embedding Addition",
    "Patch Embedding Visualizer", "Tied vs Untied Embeddings", "Embedding Scale Balance",
    "Embedding Space Explorer", "Subword Tokenizer Explorer", "Embedding Strategy Arena",
]  # fmt: skip
erratum(
    "000-hdr-simulations",
    len(named_pieces),
    printed="12+",
    because="nine pieces are named, one in each of the chapters 0 to 8",
)
prerequisites = ["what a matrix is", "how neural networks process inputs"]
erratum(
    "000-hdr-assumed-knowledge",
    len(prerequisites),
    printed="0",
    because="the line above it asks for two things; a reader who has both can follow",
)

# %% [markdown]
# ## What did we learn?

# %%
halfway = (E[1] + E[3]) / 2  # where any formula "weight x id + bias" would have to put row 2
operations = {
    "it multiplies the id by a weight and adds a bias": np.allclose(E[2], halfway),
    "it reads one row of a table": np.array_equal(lookup_forward(E, 2)[0], E[2]),
    "it averages the rows of neighbouring ids": np.allclose(lookup_forward(E, 2)[0], halfway),
}
quiz(
    "000-ch0-quiz-operation",
    "What does an embedding layer do with an id?",
    answer=next(operation for operation, is_so in operations.items() if is_so),
    options=list(operations),
    because="what comes out has the same bits as the row; no weight and bias could put row 2 "
    "anywhere but halfway between rows 1 and 3",
)
verdict()
