# %% [markdown]
# # 10. A lookup is a matrix product that nobody carries out
#
# Write the id of a token as a vector of zeros with a single one in it, multiply by the table, and
# out comes a row. So an embedding layer is a linear map after all, of a very special input. This
# lesson proves it forward and backward, counts what the proof would cost as an implementation,
# shows where the two stop being equal, and then puts the one-hot to work: filled with other
# numbers than ones and zeros it can mix rows, and its gradient tells which other word would have
# been better.

# %%
import re

import numpy as np

from scratch_embed import Adam, Embedding, Tensor, geometry, plot, sizes
from scratch_embed.functional import cross_entropy, lookup, onehot_product, softmax, tanh
from scratch_embed.gradcheck import gradcheck
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    quiz,
    reference,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.lesson.claims import ledger
from scratch_embed.models import NextToken, train
from scratch_embed.ops.lookup import lookup_backward, lookup_forward
from scratch_embed.ops.onehot import one_hot, onehot_product_backward, onehot_product_forward
from scratch_embed.text import toy
from scratch_embed.text.published import IDS

begin()

# %% [markdown]
# ## By hand
# Three tokens, two columns. The one-hot code of id 1 is $h = [0, 1, 0]$, and $h\,E$ adds up the
# rows of $E$, each times an entry of $h$: nothing of row 0, all of row 1, nothing of row 2.

# %%
E = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
h = one_hot(np.array([1]), 3)
product = worked.onehot_product("h E", 1, E)
entries = worked.matmul("h E", h, E)
check("002-ex1-onehot", entries[0], printed="[0.3, 0.4]")
compare("h E and row 1", hand=product, ours=lookup_forward(E, 1)[0])

# %% [markdown]
# That example asks for "token 2" and answers with row 1, while the line above it says that ids
# start at 0. One of the two has to give. Everything in this package counts from 0, as Python
# does, so token 2 is the third row.

# %%
erratum(
    "002-ex1-token2",
    lookup_forward(E, 2)[0],
    printed="[0.3, 0.4]",
    because="counted from 0, token 2 is the third row; the printed row is the second one",
)


def error_of(ids, table: np.ndarray = E) -> str:
    """The message with which a lookup refuses these ids, or "" when it answers."""
    try:
        lookup_forward(table, ids)
    except IndexError as error:
        return str(error)
    return ""


V = len(E)
allowed = [t for t in range(-V, 2 * V) if not error_of(t)]
print(f"  id {V}: {error_of(V)}")
erratum(
    "002-s1-index-base",
    allowed != list(range(1, V + 1)),
    shown={"smallest id": min(allowed), "largest id": max(allowed), "rows": V},
    because="the text numbers tokens 1 to V; rows of an array are numbered 0 to V - 1, and its own "
    "examples do so too",
)
check(
    "001-math-index-range",
    allowed == list(range(V)),
    shown={"rows": V, "smallest id": min(allowed), "largest id": max(allowed)},
)

# %% [markdown]
# A text is several ids, so several codes: a matrix with a single 1 in each row. Its product with
# the table is the rows, one below the other.

# %%
ids = np.array([2, 0, 2, 1])
codes = one_hot(ids, V)
stacked = worked.matmul("X", codes, E)
rows = worked.lookup("E[2, 0, 2, 1]", E, ids)
check(
    "002-s1-onehot",
    np.array_equal(stacked, rows) and np.array_equal(codes.sum(axis=1), np.ones(len(ids))),
    shown={"largest difference": np.abs(stacked - rows).max(), "ones in each code": codes.sum(1)},
)
check(
    "002-s1-stack-shape",
    stacked.shape == (len(ids), E.shape[1]),
    shown={"n": len(ids), "d": E.shape[1], "shape": stacked.shape},
)

layer = Embedding(32_000, 48, rng=0)
for T in (1, 7, 512):
    print(f"  T = {T:>3}: ids {(T,)} -> vectors {layer(np.arange(T)).shape}")
check(
    "001-math-output-shape",
    all(layer(np.arange(T)).shape == (T, 48) for T in (1, 7, 512)),
    shown={"T": [1, 7, 512], "d": layer.embedding_dim},
)

# %% [markdown]
# In the large table: ask for id 42, and search all 32,000 rows for the one that came out.

# %%
answer = layer(42).numpy()
found = np.flatnonzero((layer.weight.numpy() == answer).all(axis=1))
check("001-intro-row42", found, printed="42")

# %% [markdown]
# ## One equation, two programs
# The product is right at any size, to the last bit: $1 \cdot x = x$, $0 \cdot x = 0$ and
# $x + 0 = x$ are exact in floating point. First every row of a table of 300; then GPT-2's
# 50,257 ids; then both programs side by side on a batch.

# %%
rng = np.random.default_rng(0)
some = rng.standard_normal((300, 16), dtype=np.float32)
every = np.arange(len(some))
by_product = onehot_product_forward(one_hot(every, len(some), np.float32), some)[0]
check(
    "003-onehot-identity",
    by_product.tobytes() == some.tobytes(),
    shown={"rows compared": len(some), "numbers that differ": np.sum(by_product != some)},
)

gpt2 = sizes.MODELS["GPT-2 small"]
tall = rng.standard_normal((gpt2.num_embeddings, 16), dtype=np.float32)
few = np.array([0, 262, 3797, gpt2.num_embeddings - 1])
by_product = one_hot(few, len(tall), np.float32) @ tall
check(
    "004-onehot-equals-lookup",
    np.array_equal(by_product, lookup_forward(tall, few)[0]),
    shown={"ids": few, "numbers that differ": np.sum(by_product != tall[few])},
)

table = rng.standard_normal((5000, 64))
batch = rng.integers(5000, size=200)
gathered = lookup(table, batch).numpy()
multiplied = onehot_product(one_hot(batch, 5000), table).numpy()
check(
    "003-gather-not-matmul",
    np.array_equal(gathered, multiplied),
    shown={
        "largest difference": np.abs(gathered - multiplied).max(),
        "numbers that a gather copies": gathered.size,
        "multiplications in the product": multiplied.size * len(table),
        "zeros and ones to hold first": len(batch) * len(table),
    },
)

# %% [markdown]
# ## Counted, not estimated
# How much arithmetic is it? We give both programs numbers that count: every multiplication of a
# `Counted` adds one to a tally. Doubling the rows or the columns shows how the cost grows.


# %%
class Counted:
    """A number that counts how often numbers of its kind are multiplied and added."""

    multiplications = additions = 0

    def __init__(self, value: float):
        self.value = value

    def __mul__(self, other: "Counted") -> "Counted":
        Counted.multiplications += 1
        return Counted(self.value * other.value)

    def __add__(self, other: "Counted") -> "Counted":
        Counted.additions += 1
        return Counted(self.value + other.value)


def cost(program, num_rows: int, dim: int) -> int:
    """Multiplications that `program` needs for one id in a table of this size."""
    Counted.multiplications = Counted.additions = 0
    counted = np.array([Counted(x) for x in rng.random(num_rows * dim)], dtype=object)
    program(counted.reshape(num_rows, dim), 3)
    return Counted.multiplications


def as_product(table: np.ndarray, id: int) -> np.ndarray:
    code = np.array([Counted(x) for x in one_hot(id, len(table))], dtype=object)
    return onehot_product_forward(code, table)[0]


def as_lookup(table: np.ndarray, id: int) -> np.ndarray:
    return table[id]


product_costs = {size: cost(as_product, *size) for size in [(50, 8), (100, 8), (50, 16)]}
lookup_costs = {size: cost(as_lookup, *size) for size in product_costs}
for (num_rows, dim), count in product_costs.items():
    in_lookup = lookup_costs[num_rows, dim]
    print(f"  V = {num_rows:>3}, D = {dim:>2}: {count} multiplications, {in_lookup} in a lookup")
one_token = worked.product("V D at GPT-2's size", gpt2.num_embeddings, gpt2.embedding_dim)
check(
    "004-lookup-cost",
    all(count == v * d for (v, d), count in product_costs.items())
    and not any(lookup_costs.values()),
    shown={
        "twice the rows": product_costs[100, 8] / product_costs[50, 8],
        "twice the columns": product_costs[50, 16] / product_costs[50, 8],
        "multiplications in a lookup": sum(lookup_costs.values()),
        "numbers a lookup copies, GPT-2": gpt2.embedding_dim,
        "multiplications in the product, GPT-2": one_token,
    },
)

# %% [markdown]
# ## Where they part
# Exact equality needs finite numbers. Zero times infinity is not zero but NaN, so in the product
# one broken row spoils every answer, also those that never asked for it (and a negative zero
# loses its sign). A lookup does no arithmetic: it hands over whatever lies in the row it was sent
# to, and touches no other.

# %%
odd = np.array([[1.0, -0.0], [np.inf, 5e-324], [2.0, 3.0]])
with np.errstate(invalid="ignore"):
    spoilt = one_hot([0, 1, 2], 3) @ odd
read = lookup_forward(odd, [0, 1, 2])[0]
print(f"  one-hot product:\n{spoilt}\n  lookup:\n{read}")
check(
    "001-intro-no-arithmetic",
    read.tobytes() == odd.tobytes() and bool(np.isnan(spoilt).any()),
    shown={
        "bits that a lookup changed": np.sum(np.unpackbits(read.view(np.uint8) ^
                                                           odd.view(np.uint8))),
        "NaN from the product": np.isnan(spoilt).sum(),
    },
)  # fmt: skip

# %% [markdown]
# ## What a one-hot code weighs
# One of the sources weighs it: a vocabulary of 50,000, four bytes for each number.

# %%
dense = worked.product("bytes of a code, V = 50,000", 50_000, 4)
check("004-onehot-200kb", dense, printed="200 KB")

gpt2_ids = {text: id for text, (id,) in IDS["r50k_base"].items() if text != "cat"}
vocabulary_file = "encoder.json of openai/gpt-2; all but the first begin with a space"
cat_code = one_hot(gpt2_ids[" cat"], 50_000)
check("004-onehot-position", np.flatnonzero(cat_code), printed="3,797")

# %% [markdown]
# The source takes "cat" and "kitten"; any other id makes the point. Two different codes have no 1
# in the same place, so their product is 0, whatever the words mean.

# %%
others = np.array([id for id in gpt2_ids.values() if id != gpt2_ids[" cat"]])
products = one_hot(others, 50_000) @ cat_code
print(f"  code of ' cat' times the codes of {others.tolist()}: {products.tolist()}")
check("004-onehot-dot", products.max(), printed="0")

onehot_bytes = worked.product("a one-hot code, bytes", gpt2.num_embeddings, 4)
row_bytes = worked.product("a row, bytes", gpt2.embedding_dim, 4)
erratum(
    "004-table-onehot-kb",
    onehot_bytes,
    printed="200 KB",
    because="50,257 codes of 4 bytes are 201 KB (196 KiB); 200 is the figure of a rounded V",
)
check("004-table-embedding-kb", row_bytes, printed="3 KB")

# %% [markdown]
# How much smaller is the row, then? The source says it in one number. Divide for yourself first.

# %%
quiz(
    "own-ch10-compression",
    "GPT-2's one-hot code has 50,257 numbers and its row has 768, of four bytes each. How many "
    "times as large as the row is the code?",
    onehot_bytes / row_bytes,
    tolerance=0.5,
    because="the four bytes cancel, and V / D is left. Who divides the printed 200 KB by the "
    f"printed 3 KB gets {200 / 3:.1f}: round last",
)
erratum(
    "004-recap-67x",
    worked.quotient("compression", onehot_bytes, row_bytes),
    printed="67 x",
    because="67 is 200 / 3, a quotient of two rounded numbers; V / D = 50,257 / 768 is 65.4",
)

# %% [markdown]
# Does that compression lose anything? Not what the row was looked up for: any table whose rows
# differ gives the id back, even one of two columns. But then 65 is no achievement of embeddings.
# A one-hot code of four-byte numbers is a bad way to write down 15.6 bits, and nobody stores it.

# %%
two_columns = rng.standard_normal((gpt2.num_embeddings, 2), dtype=np.float32)
distinct = len(np.unique(two_columns, axis=0))
bits = np.log2(gpt2.num_embeddings)
erratum(
    "004-recap-lossless",
    distinct == gpt2.num_embeddings and np.ceil(bits) / 8 < row_bytes,
    shown={
        "rows that differ, of 50,257, with 2 columns": distinct,
        "bits in an id": bits,
        "bytes of the id as it is stored (uint16)": np.dtype(np.uint16).itemsize,
        "bytes of a row of 768": row_bytes,
    },
    because="nothing is lost, but the comparison is with something nobody stores: an id takes 2 "
    "bytes, and beside it a row is 1,536 times larger, not 65 times smaller",
)

# %% [markdown]
# Of a single id nothing is lost. Of several that are added up, something may be. Take the small
# table again, and add two codes, or the two rows that belong to them.

# %%
two_and_two = [[0, 2], [1, 1]]
sums_of_codes = np.stack([one_hot(pair, V).sum(axis=0) for pair in two_and_two])
sums_of_rows = np.stack([E[pair].sum(axis=0) for pair in two_and_two])
losses_of_rows = {
    "which id a single row belongs to": len(np.unique(E, axis=0)) < V,
    "the order of the ids in a sentence": np.array_equal(E[[0, 2]], E[[2, 0]]),
    "which ids were added up, once their rows are added":
        np.allclose(*sums_of_rows) and not np.array_equal(*sums_of_codes),
    "nothing: from sums of rows one can compute the sums of codes":
        np.linalg.matrix_rank(E) == V,
}  # fmt: skip
(lost_by_rows,) = (text for text, is_so in losses_of_rows.items() if is_so)
quiz(
    "own-ch10-lossless",
    "The small table turns codes of three numbers into rows of two: [0.1, 0.2], [0.3, 0.4] and "
    "[0.5, 0.6]. All rows differ. What can the rows no longer tell?",
    lost_by_rows,
    options=list(losses_of_rows),
    because=f"codes of V ids are independent; of rows at most D are, here "
    f"{np.linalg.matrix_rank(E)} of {V}. So different sums of codes can give one sum of rows",
)
for pair, of_codes in zip(two_and_two, sums_of_codes):
    worked.sum(f"ids {pair}, codes add up to {of_codes.astype(int).tolist()}, rows", *E[pair])

# %% [markdown]
# Another source draws a line at a vocabulary of 1,000, above which one-hots were impractical.
# Nothing happens at 1,000. All costs grow in proportion, and a code of 1,000 numbers is shorter
# than a single row of a large model.

# %%
llama = sizes.MODELS["Llama 2 7B"]
costs = {V: one_hot(0, V, np.float32).nbytes for V in (500, 1000, 2000, 4000)}
print("  V: bytes of a code   " + "   ".join(f"{V:,}: {size:,}" for V, size in costs.items()))
erratum(
    "001-alt-onehot",
    costs[1000] < llama.embedding_dim * 4 and costs[2000] / costs[1000] == 2,
    shown={
        "bytes of a code, V = 1,000": costs[1000],
        "bytes of a row of Llama 2 7B": llama.embedding_dim * 4,
        "growth from 500 to 1,000": costs[1000] / costs[500],
        "growth from 1,000 to 2,000": costs[2000] / costs[1000],
    },
    because="there is no threshold at 1,000, it is a matter of taste: cost is linear in V",
)

# %% [markdown]
# ## Six rows of a sentence
# The same source looks up "The cat sat on the mat" and shows eight numbers of each row. The ids
# are facts of GPT-2's vocabulary, which no calculation gives, so we hold them against its file.

# %%
picture = {
    "The": [0.12, -0.34, 0.78, 0.01, -0.56, 0.23, -0.89, 0.45],
    "cat": [0.67, 0.15, -0.42, 0.88, 0.03, -0.71, 0.29, -0.14],
    "sat": [0.55, 0.08, -0.39, 0.81, 0.11, -0.63, 0.34, -0.22],
    "on": [-0.23, 0.91, 0.05, -0.67, 0.44, 0.18, -0.52, 0.76],
    "the": [0.11, -0.31, 0.75, -0.02, -0.53, 0.21, -0.85, 0.42],
    "mat": [0.61, 0.19, -0.45, 0.83, 0.07, -0.68, 0.31, -0.18],
}
shown_rows = np.array(list(picture.values()))
place = {word: n for n, word in enumerate(picture)}
sentence = [place[word] for word in ("The", "cat", "sat", "on", "the", "mat")]
check("004-lookup-count", len(lookup_forward(shown_rows, sentence)[0]), printed="6")
reference("004-lookup-id-The-cap", gpt2_ids["The"], printed="464", source=vocabulary_file)
reference("004-lookup-id-cat", gpt2_ids[" cat"], printed="3797", source=vocabulary_file)
reference("004-lookup-id-on", gpt2_ids[" on"], printed="319", source=vocabulary_file)
reference("004-lookup-id-the", gpt2_ids[" the"], printed="262", source=vocabulary_file)
reference("004-lookup-id-mat", gpt2_ids[" mat"], printed="2603", source=vocabulary_file)
of_3290 = next(token for token, id in gpt2_ids.items() if id == 3290)
erratum(
    "004-lookup-id-sat",
    gpt2_ids[" sat"],
    printed="3290",
    because=f"' sat' is 3332 in {vocabulary_file}; 3290 is '{of_3290}', whose row it may be: it is "
    "drawn close to 'cat'",
)

# %% [markdown]
# How alike are the printed rows? "sat" and "mat" are marked as similar to "cat", and by the
# numbers they are.

# %%
cosines = geometry.cosines(shown_rows)
for word in ("sat", "mat"):
    worked.cosine(f"cat, {word}", shown_rows[place["cat"]], shown_rows[place[word]])
like_cat = cosines[place["cat"]]
marked, unmarked = [place["sat"], place["mat"]], [place["The"], place["on"], place["the"]]
check(
    "004-lookup-similar-tags",
    like_cat[marked].min() > 0.9 and like_cat[unmarked].max() < 0.5,
    shown={word: like_cat[place[word]] for word in picture if word != "cat"},
)
check(
    "004-lookup-The-the",
    geometry.neighbours(shown_rows, place["The"], k=1).rows[0] == place["the"],
    shown={
        "cosine The, the": cosines[place["The"], place["the"]],
        "distance": geometry.euclidean(shown_rows[place["The"]], shown_rows[place["the"]]),
    },
)
widest = max(model.embedding_dim for model in sizes.MODELS.values())
erratum(
    "004-lookup-dims",
    [widest, shown_rows.shape[1]],
    printed="768-4096; 8",
    because="the picture has 8, but real models do not stop at 4,096: GPT-3, in the same source's "
    "own table, has 12,288",
)

# %% [markdown]
# Its last comparison sets 0.0 (one-hot) against 0.85 (embedding) for "cat" and "kitten", without
# showing a row of "kitten". The zero follows. The 0.85 we cannot recompute, but we can say what
# such a number would mean: in 768 columns chance alone never comes near it.

# %%
random_rows = rng.standard_normal((200, gpt2.embedding_dim))
chance = geometry.cosines(random_rows)[np.triu_indices(200, 1)]
unit = geometry.unit_rows(random_rows[:2])
sideways = unit[1] - (unit[1] @ unit[0]) * unit[0]
sideways /= np.linalg.norm(sideways)
mixed = 0.85 * unit[0] + np.sqrt(1 - 0.85**2) * sideways  # a row with that cosine, to look at
check(
    "004-table-similarity",
    products.max() == 0 and np.abs(chance).max() < 0.25 and like_cat[marked].min() > 0.85,
    shown={
        "one-hot cosine": geometry.cosine(cat_code, one_hot(others[0], 50_000)),
        "widest of 19,900 random pairs": np.abs(chance).max(),
        "least alike of the marked pairs": like_cat[marked].min(),
        "angle of a cosine of 0.85, degrees": np.degrees(np.arccos(unit[0] @ mixed)),
    },
)

# %% [markdown]
# ## Backward, twice
# A product has two inputs, and so two gradients. With $g$ the gradient that arrives at the output:
#
# - for the table, $\text{onehot}^\top g$. The ones of a column pick the arriving gradients of that
#   id and add them up. That is the scatter-add.
# - for the one-hot, $g\,E^\top$: the arriving gradient times every row of the table. A lookup has
#   no such thing, since ids have no derivative. It will be of use below.

# %%
arriving = rng.normal(size=(len(ids), 2)).round(2)
dE = worked.scatter_add("dE", ids, arriving, num_rows=V)
transposed = worked.matmul("onehot^T g", codes.T, arriving)
donehot = worked.matmul("g E^T", arriving, E.T)

step = 2.0**-10  # the loss is linear in each of the two, so any step gives the exact slope


def slopes(loss, at: np.ndarray) -> np.ndarray:
    """Central differences of a number-valued function of an array, entry by entry."""
    out = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        nudge = np.zeros_like(at)
        nudge[index] = step
        out[index] = (loss(at + nudge) - loss(at - nudge)) / (2 * step)
    return out


numeric_E = slopes(lambda at: float(((codes @ at) * arriving).sum()), E)
numeric_codes = slopes(lambda at: float(((at @ E) * arriving).sum()), codes)
_, saved = onehot_product_forward(codes, E)
ours_codes, ours_E = onehot_product_backward(arriving, saved)
compare("dE, scatter-add", hand=dE, ours=lookup_backward(arriving, lookup_forward(E, ids)[1]),
        numeric=numeric_E)  # fmt: skip
compare("dE, onehot^T g", hand=transposed, ours=ours_E, numeric=numeric_E)
compare("d onehot, g E^T", hand=donehot, ours=ours_codes, numeric=numeric_codes)

# %%
codes_tensor = Tensor(codes, requires_grad=True, name="onehot")
E_tensor = Tensor(E, requires_grad=True, name="E")
print(gradcheck(onehot_product, codes_tensor, E_tensor, name="onehot_product").raise_if_wrong())

# %% [markdown]
# ## A mixture of rows
# Nothing in $p\,E$ insists on a single 1. With the weights $p = \text{softmax}(s)$ it is a mixture
# of all rows, and it has a derivative with respect to $s$. By hand, with $g$ arriving:
# $c = g\,E^\top$ says how much the loss wants of each row; a softmax answers with
# $ds_j = p_j\,(c_j - \sum_k p_k c_k)$, the wish for row $j$ less the average wish.

# %%
s = np.array([0.5, -0.2, 0.1])
p = worked.softmax("s", s)
mixture = worked.sum("p E", *(p[:, None] * E))
g = np.array([1.0, -2.0])
wish = worked.matmul("g E^T", g[None], E.T)[0]
average = worked.dot("average wish", p, wish)
ds = p * (wish - average)
s_tensor = Tensor(s, requires_grad=True, name="s")
onehot_product(softmax(s_tensor), E).backward(g)
numeric_s = slopes(lambda at: float(np.exp(at) / np.exp(at).sum() @ E @ g), s)
compare("ds, soft mixture", hand=ds, ours=s_tensor.grad, numeric=numeric_s, rtol=1e-5)

# %% [markdown]
# With that one can search a table by gradient descent. Somebody hands us a noisy row and asks
# which one it was. We start from equal weights and follow the slope of the squared distance. The
# weights run to a corner: the soft choice becomes a hard one, and the id comes out.

# %%
vocabulary = rng.standard_normal((20, 16))
secret = 13
heard = vocabulary[secret] + 0.3 * rng.standard_normal(16)
scores = Tensor(np.zeros(20), requires_grad=True, name="scores")
optimizer = Adam([scores], lr=0.1)
weights = []
for _ in range(200):
    optimizer.zero_grad()
    shares = softmax(scores)
    ((onehot_product(shares, vocabulary) - heard) ** 2).sum().backward()
    optimizer.step()
    weights.append(shares.numpy())
weights = np.array(weights)
print(f"  heaviest row {weights[-1].argmax()} with weight {weights[-1].max():.3f}; "
      f"it was row {secret}, and started at {weights[0, secret]:.3f}")  # fmt: skip
compare("row found", hand=np.float64(secret), ours=np.float64(weights[-1].argmax()))

# %% [markdown]
# ## Which other word would have been better?
# Back to $g\,E^\top$. Take a trained model, a word, and its loss. Replacing the word by another,
# row $v$, changes the loss by about $c_v - c_{id}$: a straight line through the present point.
# That costs one backward pass for all $V$ candidates; trying them costs $V$ forward passes.
# Ebrahimi et al. 2018 (HotFlip) attack classifiers with it. How good is the line? We try all.

# %%
corpus = toy.zipf_classes()
num_words = len(corpus.classes)
model = NextToken(num_words, 16, body=True, rng=1, init=0.3)
steps = 300 if options.quick else 600
train(model, corpus.tokens, Adam(model.parameters(), lr=0.01), steps, batch_size=128, rng=2)

word, target = int(corpus.tokens[1000]), int(corpus.tokens[1001])
for parameter in model.parameters():
    parameter.grad = None  # backward adds, and training has left its last gradient
code = Tensor(one_hot([word], num_words), requires_grad=True, name="onehot")
hidden = tanh(onehot_product(code, model.embed.weight) @ model.body)
cross_entropy(hidden @ model.head.T, [target]).backward()
predicted = code.grad[0] - code.grad[0, word]

every = np.arange(num_words)
log_p = model(every).numpy()
log_p = log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))
actual = -log_p[:, target] + log_p[word, target]
agreement = np.corrcoef(predicted, actual)[0, 1]
best = np.argsort(predicted)[:10]
rank_of_best = np.argsort(np.argsort(actual))[best]
print(f"  word {word} before word {target}: correlation of line and truth {agreement:.2f}")
print(f"  of the ten words the line likes best, {np.sum(rank_of_best < 40)} are among the 40 best")


def loss_between(v: int, share: float) -> float:
    """The loss with the one-hot moved a small share of the way from `word` to `v`."""
    x = (1 - share) * one_hot(word, num_words) + share * one_hot(v, num_words)
    return cross_entropy((tanh(onehot_product(x[None], model.embed.weight) @ model.body))
                         @ model.head.T, [target]).item()  # fmt: skip


v = int(best[0])
slope = (loss_between(v, 1e-5) - loss_between(v, -1e-5)) / 2e-5
by_hand = model.embed.weight.grad[word] @ (model.embed.weight.numpy()[v] -
                                           model.embed.weight.numpy()[word])  # fmt: skip
compare("slope towards the best word", hand=by_hand, ours=predicted[v], numeric=slope)

# %% [markdown]
# ## Why rows and not codes
# The weight of a code is not the reason; it need never be stored. The reason is what can be
# *learned*. Give the trained rows of that model a new task: tell the hidden class of a word. Half
# of the words come with the answer, the other half are the test. The same linear classifier is
# trained on rows and on one-hot codes.


# %%
def fit(inputs: np.ndarray, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Class of every word by softmax regression, trained on the words `known`."""
    weight = Tensor(np.zeros((inputs.shape[1], labels.max() + 1)), requires_grad=True, name="W")
    optimizer = Adam([weight], lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        cross_entropy(Tensor(inputs[known]) @ weight, labels[known]).backward()
        optimizer.step()
    return (inputs @ weight.numpy()).argmax(axis=1)


often = np.flatnonzero(np.bincount(corpus.tokens, minlength=num_words) >= 10)
labels = corpus.classes[often]
known = np.arange(len(often)) % 2 == 0
trained_rows = geometry.centre(model.embed.weight.numpy())[often]
all_codes = one_hot(np.arange(len(often)), len(often))
random_start = rng.standard_normal(trained_rows.shape)
scored = {"rows": trained_rows, "one-hot codes": all_codes, "random rows": random_start}
right = {name: fit(inputs, labels, known) == labels for name, inputs in scored.items()}
accuracy = {name: {"seen words": r[known].mean(), "new words": r[~known].mean()}
            for name, r in right.items()}  # fmt: skip
for name, shares in accuracy.items():
    print(f"  {name:<14}" + ", ".join(f"{k} {x:.0%}" for k, x in shares.items()))

apart = geometry.distances(all_codes)
carried = {name: shares["new words"] for name, shares in accuracy.items()}
reasons = {
    "rows know something of their words before any training": carried["random rows"]
    > 2 * carried["one-hot codes"],
    "what is learned about one word carries over to words like it": carried["rows"]
    > 2 * max(carried["one-hot codes"], carried["random rows"]),
    "one-hot codes of different words cannot be told apart": apart[0, 1:].min() == 0,
}
quiz(
    "004-deeper-reason",
    "Beyond memory, why do networks learn better from embedding rows than from one-hot codes?",
    answer=next(reason for reason, is_so in reasons.items() if is_so),
    options=list(reasons),
    because=f"on words without a label trained rows reach {carried['rows']:.0%}, codes "
    f"{carried['one-hot codes']:.0%} and random rows {carried['random rows']:.0%}: every code is "
    "equally far from every other, so nothing carries over",
)

# %% [markdown]
# ## Pictures
# First the product. Then two uses of it: the weights of the mixture while it looks for its row,
# and every possible swap of one word, as the line guessed it and as it came out. The cloud leans
# to the right, so the line knows something: the words it likes cost least. But it promises more
# than they keep. Few words really lower the loss (below the grey line), and a bad one costs far
# more than the line says, for a swap is no small step.

# %%
fig, axes = plot.figure(1, 3, size=(12, 3.6))
cells = {"rows": [f"id {t}" for t in ids], "xlabel": "column"}
plot.heatmap(axes[0], codes, title="one-hot codes", digits=0, rows=cells["rows"], xlabel="row of E")
plot.heatmap(axes[1], E, title="times the table E", rows=["0", "1", "2"], xlabel="column",
             ylabel="row")  # fmt: skip
plot.heatmap(axes[2], stacked, title="is four rows of it", **cells)
save_figure(fig, "ch10_product.png")

fig, axes = plot.figure(1, 2, size=(11, 4.4))
plot.lines(
    axes[0],
    np.arange(1, len(weights) + 1),
    {
        f"row {secret}, the secret": weights[:, secret],
        "heaviest other row": np.delete(weights, secret, axis=1).max(axis=1),
    },
    xlabel="step",
    ylabel="weight in the mixture",
    title="A soft choice hardens",
)
axes[1].axhline(0, color="grey", lw=0.8)
axes[1].scatter(predicted, actual, s=14, alpha=0.6, color=plot.PALETTE["blue"],
                label="another word")  # fmt: skip
axes[1].scatter([0], [0], s=70, color=plot.PALETTE["vermillion"], marker="*", zorder=3,
                label="the word itself")  # fmt: skip
axes[1].set(xlabel="change of the loss along the line, nats", ylabel="change by trying it, nats",
            title=f"Every other word, guessed and tried (r = {agreement:.2f})")  # fmt: skip
axes[1].legend(frameon=True)
save_figure(fig, "ch10_mixture_and_swaps.png")

# %% [markdown]
# ## What did we learn?
# One of the sources asks five questions, of which three have survived. We ask its first, and
# check its explanation of option C: $E$ times the code of a token is no V-dimensional vector. It
# is no product at all unless the table is square, and then it reads a column.


# %%
def or_refused(calculate, table: np.ndarray, t: int):
    """The result of a calculation, or None where its shapes do not fit."""
    try:
        return calculate(table, t)
    except ValueError:
        return None


calculations = {
    "E[t, :], the row t": lambda E, t: E[t, :],
    "E[:, t], the column t": lambda E, t: E[:, t],
    "E times one_hot(t)": lambda E, t: E @ one_hot(t, len(E)),
    "softmax(E[t, :])": lambda E, t: np.exp(E[t]) / np.exp(E[t]).sum(),
}
results = {name: or_refused(f, E, 1) for name, f in calculations.items()}
equal = [name for name, r in results.items() if r is not None and np.array_equal(r, product)]
quiz(
    "002-q1",
    "How is the embedding of token t computed from the matrix E?",
    answer=equal[0],
    options=list(calculations),
    because="it is the only one that equals one_hot(t) times E",
    printed="A",
)
square = rng.standard_normal((4, 4))
as_c = or_refused(calculations["E times one_hot(t)"], square, 2)
erratum(
    "002-q1-option-c",
    results["E times one_hot(t)"] is None and np.array_equal(as_c, square[:, 2]),
    shown={"V and d": E.shape, "answered for V = 3, d = 2": results["E times one_hot(t)"]
           is not None, "equals a column when V = d = 4": np.array_equal(as_c, square[:, 2])},
    because="(V, d) times (V,) is not defined unless V = d; then it reads a column, of length d",
)  # fmt: skip
matches = [re.fullmatch(r"002-q(\d)", claim.id) for claim in ledger.load()]
numbers = sorted(int(match[1]) for match in matches if match)
missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
erratum(
    "002-q-numbering",
    len(missing) > 0,
    shown={"questions there": numbers, "questions missing": missing},
    because="the numbering has gaps: two questions and three problems were lost from the text",
)

# %% [markdown]
# What they asked, the page does not say. So the questions in their places are our own: here one
# for the second, on cost, and in lessons 11 and 12 those for the fourth and the three problems.

# %%
cost_of_three = {
    "product": cost(lambda table, _: [as_product(table, id) for id in (7, 3, 7)], 50, 8),
    "lookup": cost(lambda table, _: [as_lookup(table, id) for id in (7, 3, 7)], 50, 8),
}
quiz(
    "own-q2-cost",
    "In place of Q2: the ids 7, 3, 7 and a table of 50 rows and 8 columns. How many "
    "multiplications does the product with the three one-hot codes take?",
    cost_of_three["product"],
    tolerance=0,
    because=f"3 x 50 x 8, counted as above: a product multiplies by its zeros too, and does the "
    f"repeated id twice. Only {3 * 8} of them are by a one. The lookup took "
    f"{cost_of_three['lookup']}; it copies these {3 * 8} numbers",
)
verdict()
