# %% [markdown]
# # 94. Long rows, and who gets the attention
#
# Attention compares tokens by dot products, and a dot product knows two things about a row: where
# it points, and how long it is. So a row that has grown long must matter more. How much, to whom,
# and in which direction is easily got wrong. This lesson does it by hand, then asks twenty thousand
# random draws, then takes the length away with LayerNorm and RMSNorm, forward and backward.

# %%
import numpy as np

from scratch_embed import SGD, Tensor, geometry, plot
from scratch_embed.functional import attention, layer_norm, rms_norm
from scratch_embed.gradcheck import gradcheck
from scratch_embed.layers import LayerNorm, RMSNorm
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    quiz,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.models import NextToken, train
from scratch_embed.ops.attention import attention_backward, attention_forward
from scratch_embed.ops.norm import layer_norm_backward, layer_norm_forward, rms_norm_forward
from scratch_embed.text import toy

begin()

# %% [markdown]
# ## Three tokens of different length
# Tokens a, b and c have rows of length 2.0, 0.5 and 1.0. Query and key are $q = W_Q e$ and
# $k = W_K e$; the score of query $i$ at key $j$ is $q_i \cdot k_j / \sqrt{d}$. Make a row $t$ times
# as long, and its query, its key and every score they enter are $t$ times as large. From b to a
# that is a factor of four.

# %%
length = {"a": 2.0, "b": 0.5, "c": 1.0}
ratio = worked.quotient("scores with a, over scores with b in its place", length["a"], length["b"])
check("002-ex3-ratio", ratio, printed="~4x")

# %% [markdown]
# How long is a query? The text estimates $|q| \approx |W|_F\, |e|$, with the Frobenius norm, the
# root of the sum of all squares. For $d = 64$ and entries of standard deviation $1/8$ that norm
# is 8. But an entry of $q$ is a sum of 64 products, of variance $64 \cdot |e|^2/64 \cdot 1/64$, and
# 64 such entries have together the variance $|e|^2$: the query is about as long as the row.

# %%
d = 64
rng = np.random.default_rng(0)
row = geometry.unit_rows(rng.standard_normal((1, d)))[0] * length["a"]
matrices = rng.standard_normal((500, d, d)) / 8
queries = np.linalg.norm(matrices @ row, axis=1)
frobenius = np.linalg.norm(matrices, axis=(1, 2))
doubled = np.linalg.norm(matrices @ (2 * row), axis=1)
erratum(
    "002-ex3-frobenius",
    queries.max() < 0.25 * (frobenius * length["a"]).min() and np.allclose(doubled, 2 * queries),
    shown={
        "mean |W e|, |e| = 2": queries.mean(),
        "mean |W|_F |e|": (frobenius * length["a"]).mean(),
        "ratio": (frobenius * length["a"]).mean() / queries.mean(),
        "sqrt(d)": d**0.5,
        "|W (2 e)| / |W e|": (doubled / queries).mean(),
    },
    because="the product of norms is an upper bound, reached only if W stretches one direction "
    "alone and e lies along it; for a random W it is too large by sqrt(d). That |q| grows in "
    "proportion to |e| stays true",
)

# %% [markdown]
# ## Rows and columns
# Write the scores as a table, a row for each query and a column for each key. The length of a
# token's query multiplies its row; the length of its key multiplies its column. By hand, in two
# dimensions, with $W_Q = W_K = 1$ and no scale: a points right, b up and a little left, c up and
# right.

# %%
E = np.array([[2.0, 0.0], [-0.3, 0.4], [0.6, 0.8]])
names = ["a", "b", "c"]
print("  lengths:", geometry.norms(E))
scores = worked.matmul("score", E, E.T)
weights = np.stack([worked.softmax(f"row {name}", row) for name, row in zip(names, scores)])
ours, saved = attention_forward(E, E, E, scale=1.0)
compare("attention weights", hand=weights, ours=saved.weights)

# %% [markdown]
# Look down column a. The query of b points away from a, and gives it the smallest of its three
# weights; that of c points its way, and gives it the largest. The length of a made its scores large
# *in size*. The sign comes from the directions.
#
# The text compares score(a, j) with score(b, j), two rows, and concludes that a is attended to.
# But a row is divided by its own sum. Make only the query of a four times as long: nobody else's
# weights move by a bit; the row of a grows sharper, that is all. Make only its key as long,
# and every row changes.


# %%
def entropy(weights: np.ndarray) -> np.ndarray:
    """Of each row, in nats: log T when all weights are equal, 0 when one has them all."""
    return -(weights * np.log(np.maximum(weights, 1e-300))).sum(axis=-1)


longer = E * np.array([[4.0], [1.0], [1.0]])
_, by_query = attention_forward(longer, E, E, scale=1.0)
_, by_key = attention_forward(E, longer, E, scale=1.0)
erratum(
    "002-ex3-row-vs-column",
    np.array_equal(by_query.weights[1:], saved.weights[1:])
    and entropy(by_query.weights)[0] < entropy(saved.weights)[0]
    and by_key.weights[1, 0] < saved.weights[1, 0]
    and by_key.weights[2, 0] > saved.weights[2, 0],
    shown={
        "weights of b and c that move when a's query is 4 times as long":
            np.sum(by_query.weights[1:] != saved.weights[1:]),
        "entropy of a's own row, before": entropy(saved.weights)[0],
        "and after": entropy(by_query.weights)[0],
        "weight c gives a, before": saved.weights[2, 0],
        "when a's key is 4 times as long": by_key.weights[2, 0],
        "weight b gives a, before": saved.weights[1, 0],
        "when a's key is 4 times as long, for b": by_key.weights[1, 0],
    },
    because="comparing rows a and b compares two queries, each with a softmax of its own: a long "
    "query is decided. How much attention a token receives is a matter of its column, its key",
)  # fmt: skip

# %% [markdown]
# ## Does the long token win?
# Twenty thousand draws: three random directions with the lengths 2.0, 0.5 and 1.0, at $d = 64$,
# seen through random $W_Q$ and $W_K$ with entries of standard deviation $1/8$, scores divided by
# $\sqrt{64}$. We ask a query of length 1 whom it looks at.


# %%
def draws(stretch: float = 1.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(scores, weights) over a, b, c: 20 pairs of matrices, 1000 draws each, (20000, 3)."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(20):
        to_query, to_key = rng.standard_normal((2, d, d)) / d**0.5
        directions = rng.standard_normal((1000, 4, d))
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        tokens = stretch * directions * np.array([2.0, 0.5, 1.0, 1.0])[:, None]
        keys, query = tokens[:, :3] @ to_key.T, tokens[:, 3] @ to_query.T
        found.append(np.einsum("nd,nkd->nk", query, keys) / d**0.5)
    scores = np.concatenate(found)
    exps = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores, exps / exps.sum(axis=1, keepdims=True)


scores, weights = draws()
largest, smallest = weights.argmax(axis=1) == 0, weights.argmin(axis=1) == 0
positive = scores[:, 0] > 0
sizes = dict(zip(names, np.abs(scores).mean(axis=0), strict=True))
_, stretched = draws(stretch=10.0)
gets = {name: stretched[stretched.argmax(axis=1) == j, j].mean() for j, name in enumerate(names)}
erratum(
    "002-ex3-dominates",
    abs(sizes["a"] / sizes["b"] - ratio) < 0.2
    and abs(largest.mean() - smallest.mean()) < 0.02
    and largest[positive].mean() > 0.7
    and largest[~positive].mean() < 0.1
    and np.abs(weights - 1 / 3).max() < 0.1,
    shown={
        "mean size of the scores, a over b": sizes["a"] / sizes["b"],
        "a gets the largest weight": largest.mean(),
        "a gets the smallest weight": smallest.mean(),
        "largest, where query . key is positive": largest[positive].mean(),
        "largest, where it is negative": largest[~positive].mean(),
        "all weights lie between": [weights.min(), weights.max()],
        "rows 10 times as long: weight of a where it is on top": gets["a"],
        "weight of b where it is on top": gets["b"],
    },
    because="length makes a score large in size and leaves its sign alone, so a is picked about as "
    "often as it is shunned; and at these lengths all weights are near 1/3, nobody dominates",
)

# %% [markdown]
# ## The gradient of a long row
# Attention also sends gradients back. With weights $w$, values $v$ and an arriving gradient $g$:
# $\partial w = g\, v^\top$, then the softmax turns it into
# $\partial s = w\,(\partial w - \sum_j w_j\, \partial w_j)$, then $\partial q = \partial s\, k$ and
# $\partial k = \partial s^\top q$. A long query sends long gradients to the keys it met.

# %%
g = np.random.default_rng(4).normal(size=(3, 2)).round(2)
dw = g @ E.T
ds = saved.weights * (dw - (saved.weights * dw).sum(axis=1, keepdims=True))
print("  rows of ds sum to zero:", ds.sum(axis=1).round(15))
dq_hand, dk_hand, dv_hand = ds @ E, ds.T @ E, saved.weights.T @ g
dq, dk, dv = attention_backward(g, saved)


def numeric_gradient(f, at: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central differences of the number f(at), entry by entry."""
    out = np.empty_like(at)
    for index in np.ndindex(at.shape):
        nudge = np.zeros_like(at)
        nudge[index] = h
        out[index] = (f(at + nudge) - f(at - nudge)) / (2 * h)
    return out


def answer(q, k, v) -> float:
    return float((attention_forward(q, k, v, scale=1.0)[0] * g).sum())


compare("dq", hand=dq_hand, ours=dq, numeric=numeric_gradient(lambda x: answer(x, E, E), E))
compare("dk", hand=dk_hand, ours=dk, numeric=numeric_gradient(lambda x: answer(E, x, E), E))
compare("dv", hand=dv_hand, ours=dv, numeric=numeric_gradient(lambda x: answer(E, E, x), E))
rows = Tensor(E, requires_grad=True, name="E")
attention(rows, rows, rows, scale=1.0).backward(g)  # one table in three roles: three gradients
compare("dE, all three roles", hand=dq_hand + dk_hand + dv_hand, ours=rows.grad,
        numeric=numeric_gradient(lambda x: answer(x, x, x), E))  # fmt: skip
print(gradcheck(lambda E: attention(E, E, E, scale=1.0), rows, name="attention").raise_if_wrong())

# %% [markdown]
# ## One outlier among eight
# Does a single huge row pull all queries to it? Take eight random rows, make row 0 thirty times as
# long, and count the other queries whose weight on it is above 0.9. In the first sort of table,
# rows point anywhere. In the second, all rows share a direction, as in many trained tables.


# %%
def outlier_table(shared: float, rng: np.random.Generator, stretch: float = 30.0) -> np.ndarray:
    """Eight rows of about length 1, of which `shared` (0..1) is one common direction."""
    rows = shared * rng.standard_normal(d) + (1 - shared**2) ** 0.5 * rng.standard_normal((8, d))
    rows /= d**0.5
    rows[0] *= stretch
    return rows


def attend(rows: np.ndarray, rng: np.random.Generator, head: int = 16) -> np.ndarray:
    """Weights (8, 8) through random matrices to a head of 16 columns."""
    to_query, to_key = rng.standard_normal((2, head, d)) / d**0.5
    _, saved = attention_forward(rows @ to_query.T, rows @ to_key.T, rows)
    return saved.weights


def captured(shared: float, times: int = 400, norm=None) -> np.ndarray:
    """For each draw, how many of the seven other queries give row 0 more than 0.9."""
    rng, counts = np.random.default_rng(5), np.empty(times, dtype=int)
    for n in range(times):
        rows = outlier_table(shared, rng)
        rows = rows / d**-0.5 if norm is None else norm(rows).numpy()  # entries of size about 1
        counts[n] = np.sum(attend(rows, rng)[1:, 0] > 0.9)
    return counts


times = 150 if options.quick else 400
norm = LayerNorm(d, dtype=np.float64)
apart, alike = captured(0.0, times), captured(0.9, times)
normed = captured(0.9, times, norm)
erratum(
    "002-pit3-collapse",
    2.5 < apart.mean() < 4.5
    and np.mean(apart == 7) < 0.1
    and np.mean((alike <= 1) | (alike >= 6)) > 0.6
    and normed.mean() < 0.3,
    shown={
        "queries captured of 7, rows pointing anywhere": apart.mean(),
        "draws in which it takes all 7": np.mean(apart == 7),
        "queries captured, rows sharing a direction": alike.mean(),
        "draws with none or one": np.mean(alike <= 1),
        "draws with six or all": np.mean(alike >= 6),
        "queries captured after LayerNorm": normed.mean(),
    },
    because="about half of the queries have a positive product with the long key and are captured; "
    "the others are driven from it. Where all rows share a direction they decide together, so "
    "it is nearly all or nearly none. LayerNorm ends both",
)

# %% [markdown]
# ## Why small numbers at the start?
# A softmax that is sure of itself has hardly a gradient. That is the reason given for starting
# with small rows. Ten times longer rows make a hundred times larger scores, and attention is
# saturated at the first step. But nearly every model since GPT-2 normalises before attention, and
# then the scale of the table cannot be felt at all.

# %%
rng = np.random.default_rng(6)
sixteen = rng.standard_normal((16, d))
to_query, to_key = rng.standard_normal((2, d, d)) / d**0.5


def mean_entropy(scale: float, normalise: bool) -> float:
    rows = scale * sixteen
    rows = norm(rows).numpy() if normalise else rows
    _, saved = attention_forward(rows @ to_query.T, rows @ to_key.T, rows)
    return float(entropy(saved.weights).mean())


bare = {t: mean_entropy(t, False) for t in (0.1, 1, 10, 30)}
kept = {t: mean_entropy(t, True) for t in (0.1, 1, 10, 30)}
print(f"  equal weights would have entropy log 16 = {np.log(16):.3f}")
for t, found in bare.items():
    print(f"  rows x{t:<4} entropy {found:.3f}   with LayerNorm first {kept[t]:.3f}")
erratum(
    "002-s2-small-init-softmax",
    bare[0.1] > 0.99 * np.log(16) and bare[30] < 0.1 and np.ptp(list(kept.values())) < 0.01,
    shown={
        "entropy, rows x0.1": bare[0.1],
        "x1": bare[1],
        "x10": bare[10],
        "x30": bare[30],
        "with LayerNorm first, x0.1": kept[0.1],
        "with LayerNorm first, x30": kept[30],
    },
    because="true only where nothing normalises between table and attention; with a norm before "
    "attention, as in GPT-2 and since, the scale of the table cancels",
)

# %% [markdown]
# ## LayerNorm by hand
# Take away the mean of a vector's numbers, divide by their standard deviation:
# $\hat x = (x - \mu) / \sqrt{\sigma^2 + \epsilon}$, then stretch each place by a learned $\gamma$
# and add a learned $\beta$. Four numbers, with $\gamma = (1, 2, 1, 1)$, $\beta = 0$ and no
# $\epsilon$:

# %%
x, gamma, beta = np.array([1.0, 2.0, 4.0, 5.0]), np.array([1.0, 2.0, 1.0, 1.0]), np.zeros(4)
mu = worked.mean("mean", x)
centred = worked.difference("x - mean", x, np.full(4, mu))
variance = worked.mean("variance", centred**2)
x_hat = worked.scale("x_hat", variance**-0.5, centred)
out, saved_norm = layer_norm_forward(x, gamma, beta, eps=0.0)
compare("LayerNorm(x)", hand=gamma * x_hat + beta, ours=out)

# %% [markdown]
# Backward, let $g = \gamma \cdot \partial out$. Mean and deviation depend on every number, and what
# they cost is two means:
# $\partial x = (g - \mathrm{mean}(g) - \hat x\, \mathrm{mean}(g\, \hat x)) / \sqrt{\sigma^2}$.
# The two parts taken away are what the layer cannot feel: moving all numbers together, and
# stretching them.

# %%
arriving = np.random.default_rng(7).normal(size=4).round(2)
g = gamma * arriving
mean_g = worked.mean("mean of g", g)
mean_gx = worked.mean("mean of g x_hat", g * x_hat)
dx_hand = (g - mean_g - x_hat * mean_gx) * variance**-0.5
dx, dgamma, dbeta = layer_norm_backward(arriving, saved_norm)


def after_norm(x, gamma, beta) -> float:
    return float((layer_norm_forward(x, gamma, beta, eps=0.0)[0] * arriving).sum())


compare("LayerNorm dx", hand=dx_hand, ours=dx,
        numeric=numeric_gradient(lambda v: after_norm(v, gamma, beta), x))  # fmt: skip
compare("LayerNorm dgamma", hand=arriving * x_hat, ours=dgamma,
        numeric=numeric_gradient(lambda v: after_norm(x, v, beta), gamma))  # fmt: skip
compare("LayerNorm dbeta", hand=arriving, ours=dbeta,
        numeric=numeric_gradient(lambda v: after_norm(x, gamma, v), beta))  # fmt: skip
worked.sum("sum of dx: moving all together changes nothing", dx)
worked.dot("dx . (x - mean): nor does stretching", dx, centred)

# %% [markdown]
# RMSNorm leaves the mean where it is and divides by the root of the mean square. One thing less to
# compute, one less to feel:
# $\partial x = (g - \hat x\, \mathrm{mean}(g\, \hat x)) / \mathrm{rms}$.

# %%
rms = worked.mean("mean square", x**2) ** 0.5
r_hat = worked.scale("x / rms", 1 / rms, x)
r_out, r_saved = rms_norm_forward(x, gamma, eps=0.0)
compare("RMSNorm(x)", hand=gamma * r_hat, ours=r_out)
mean_gr = worked.mean("mean of g x_hat", g * r_hat)
v = Tensor(x, requires_grad=True, name="x")
stretch = Tensor(gamma, requires_grad=True, name="gamma")
rms_norm(v, stretch, eps=0.0).backward(arriving)
compare(
    "RMSNorm dx",
    hand=(g - r_hat * mean_gr) / rms,
    ours=v.grad,
    numeric=numeric_gradient(
        lambda u: float((rms_norm_forward(u, gamma, eps=0.0)[0] * arriving).sum()), x
    ),
)
compare(
    "RMSNorm dgamma",
    hand=arriving * r_hat,
    ours=stretch.grad,
    numeric=numeric_gradient(
        lambda u: float((rms_norm_forward(x, u, eps=0.0)[0] * arriving).sum()), gamma
    ),
)
print(gradcheck(layer_norm, v, stretch, Tensor(beta, requires_grad=True, name="beta"),
                name="layer_norm").raise_if_wrong())  # fmt: skip

# %% [markdown]
# What each of the two cannot feel, we can now say before computing. The lecture has lost its third
# problem; this one, in its place, is our own.

# %%
flipped = 10 - 2 * x
by_layer = [layer_norm_forward(v, np.ones(4), beta, eps=0.0)[0] for v in (x, flipped)]
by_rms = [rms_norm_forward(v, np.ones(4), eps=0.0)[0] for v in (x, flipped)]
same_layer, turned_layer = (np.allclose(by_layer[1], sign * by_layer[0]) for sign in (1, -1))
same_rms, turned_rms = (np.allclose(by_rms[1], sign * by_rms[0]) for sign in (1, -1))
after_flip = {
    "both answer as they did for x": same_layer and same_rms,
    "LayerNorm answers as for x, RMSNorm does not": same_layer and not same_rms,
    "both turn their answer for x round, to its negative": turned_layer and turned_rms,
    "LayerNorm turns its answer for x round, RMSNorm gives another one":
        turned_layer and not (same_rms or turned_rms),
}  # fmt: skip
(after_the_flip,) = (text for text, is_so in after_flip.items() if is_so)
quiz(
    "own-p3-norms",
    "In place of Problem 3: x = [1, 2, 4, 5] becomes 10 - 2 x = [8, 6, 2, 0]. What do LayerNorm "
    "and RMSNorm answer now (gamma 1, beta 0, no epsilon)?",
    after_the_flip,
    options=list(after_flip),
    because="LayerNorm takes the mean away, and the 10 with it, and divides by a deviation, which "
    "takes the 2 but never a sign. RMSNorm keeps the mean, so it feels the 10",
)
for name, (of_x, of_flipped) in {"LayerNorm": by_layer, "RMSNorm": by_rms}.items():
    print(f"  {name:>9} of x         {of_x.round(3).tolist()}")
    print(f"  {name:>9} of 10 - 2 x  {of_flipped.round(3).tolist()}")

# %% [markdown]
# How long is a vector after the norm? Its $d$ numbers have mean square 1, so its length is
# $\sqrt{d}$, and not 1. At $d = 64$ that is 8, for rows of any length: 2.0, 0.5 and 1.0 all
# come out alike.

# %%
lengths = np.array(list(length.values()))
abc = geometry.unit_rows(np.random.default_rng(8).standard_normal((3, d))) * lengths[:, None]
norms_layer = geometry.norms(LayerNorm(d, dtype=np.float64)(abc).numpy())
norms_rms = geometry.norms(RMSNorm(d, dtype=np.float64)(abc).numpy())
print("  lengths before", geometry.norms(abc).round(3))
print("  after LayerNorm", norms_layer.round(3), " after RMSNorm", norms_rms.round(3))
erratum(
    "002-ex3-layernorm-one",
    norms_layer.mean(),
    printed="~1",
    because="each of the d numbers gets unit variance, so the norm is sqrt(d), 8 at d = 64; what "
    "matters is that it is the same for all rows",
)

# %% [markdown]
# A norm also changes how rows learn. Its output does not change when a row is stretched. What does
# that make of the gradient?

# %%
target = np.random.default_rng(9).standard_normal((1, d))
slopes = {}
for t in (1.0, 2.0, 20.0):
    row = Tensor(t * abc[:1], requires_grad=True)
    layer_norm(row, np.ones(d), np.zeros(d), eps=0.0).backward(target)
    slopes[t] = float(np.linalg.norm(row.grad))
quiz(
    "own-ch12-slow-rows",
    "A row goes through a LayerNorm into the loss. Make the row 20 times as long and leave all "
    "else: by what factor (2, 0.5, ...) does the length of its gradient change?",
    slopes[20.0] / slopes[1.0],
    because="the output is the same, and to turn a row 20 times as long by the same angle takes a "
    "step 20 times as long; so a step of fixed length changes the loss by a twentieth",
)
worked.quotient("gradient of the row, over that of the row twice as long", slopes[1.0], slopes[2.0])
worked.quotient("and twenty times as long", slopes[1.0], slopes[20.0])

# %% [markdown]
# The gradient of a row twice as long is half as long. Long rows become slow rows.
#
# ## Where long rows come from
# Nobody sets a row's length; training does. A row that predicts well is pushed further along its
# direction at every visit, because longer means surer. Where the next word is certain (a text that
# goes round in a circle of 50 words) that never ends: each doubling of the steps adds about as
# much again. Where it is not (a Zipf text), the length settles, but the rows seen often have grown
# far longer than the others. `max_norm=1` shrinks a row to that length whenever it is looked up.

# %%
corpus = toy.zipf_classes()
steps = 400 if options.quick else 800
by_rank = np.argsort(-np.bincount(corpus.tokens))


def row_lengths(tokens: np.ndarray, stops: list[int], max_norm: float | None = None) -> np.ndarray:
    """The lengths of all rows when so many steps have been taken, (stops, V)."""
    model = NextToken(int(tokens.max()) + 1, 16, rng=0, init=0.1)
    model.embed.max_norm = max_norm
    optimizer, found = SGD(model.parameters(), lr=2.0), []
    for more in np.diff([0, *stops]):
        train(model, tokens, optimizer, int(more), batch_size=64, rng=int(more))
        model.embed(tokens)  # a last lookup, for rows that moved in the last step
        found.append(geometry.norms(model.embed.weight.numpy()))
    return np.stack(found)


circle = np.tile(np.random.default_rng(0).permutation(50), 20)
stops = [100, 200, 400, 800]
certain = row_lengths(circle, stops).mean(axis=1)
print("  rows of the circle, mean length after", dict(zip(stops, certain.round(2).tolist())))
free = row_lengths(corpus.tokens, [steps])[0, by_rank]
bounded = row_lengths(corpus.tokens, [steps], max_norm=1.0)[0, by_rank]
check(
    "003-max-norm-why",
    np.diff(certain).min() > 0.1
    and free[:10].mean() > 2 * free[-100:].mean()
    and bounded.max() <= 1.0 + 1e-9,
    shown={
        "length at the start, about": 0.1 * 16**0.5,
        "next word certain, after 400 steps": certain[-2],
        "after 800": certain[-1],
        "Zipf text, 10 most frequent words": free[:10].mean(),
        "100 rarest words": free[-100:].mean(),
        "longest row": free.max(),
        "longest row with max_norm=1": bounded.max(),
    },
)

# %% [markdown]
# ## Pictures
# Left, what a row's length does to the weight it is given: one key grows, and the query that
# points its way is captured while the one that points away is lost. With a norm first, the lines
# are flat. Right, the outlier among eight, before and after: column 0 is all or nothing, and row 0,
# the long query, has made up its mind. Below, how long rows become.

# %%
stretches = np.geomspace(0.1, 10, 41)
cue = np.array([0.9, -0.3, 0.5, 0.2])
key = np.random.default_rng(10).standard_normal((4, 4))


def weight_of_growing_key(query: np.ndarray, normalise: bool) -> list[float]:
    """The weight that a query gives key 0 while that key grows."""
    found = []
    for t in stretches:
        keys = key * np.array([[t], [1], [1], [1]])
        keys = rms_norm_forward(keys, np.ones(4))[0] if normalise else keys
        found.append(attention_forward(query[None], keys, keys)[1].weights[0, 0])
    return found


toward = cue if cue @ key[0] > 0 else -cue
curves = {
    "query points its way": weight_of_growing_key(toward, False),
    "query points away": weight_of_growing_key(-toward, False),
    "its way, RMSNorm first": weight_of_growing_key(toward, True),
    "away, RMSNorm first": weight_of_growing_key(-toward, True),
}
fig, axes = plot.figure(1, 3, size=(15, 4.4))
plot.lines(axes[0], stretches, curves, logx=True, xlabel="length of the key, times",
           ylabel="weight it is given", title="One key grows")  # fmt: skip
axes[0].set_ylim(0, 1)
rng = np.random.default_rng(12)
rows = outlier_table(0.0, rng) * d**0.5
state = rng.bit_generator.state
before = attend(rows, rng)
rng.bit_generator.state = state  # the same matrices again
after = attend(norm(rows).numpy(), rng)
for ax, (title, w) in zip(
    axes[1:], {"Row 0 is 30 times as long": before, "The same after LayerNorm": after}.items()
):
    plot.heatmap(ax, w, xlabel="key", ylabel="query", title=title, label="weight")
save_figure(fig, "ch12_long_rows.png")

fig, ax = plot.figure(size=(7, 4))
for i, (name, found) in enumerate({"as it is": free, "max_norm = 1": bounded}.items()):
    ax.plot(np.arange(1, len(found) + 1), found, plot.MARKERS[i], color=plot.CYCLE[i], ms=4,
            label=name)  # fmt: skip
ax.set(xscale="log", ylim=(0, None), title="Frequent words grow long rows",
       xlabel="rank of the word by frequency", ylabel="length of its row")  # fmt: skip
ax.legend()
save_figure(fig, "ch12_row_lengths.png")

# %% [markdown]
# ## What did we learn?

# %%
grown = {name: curve[-1] - curve[0] for name, curve in curves.items()}
outcomes = {
    "every query gives it more weight":
        grown["query points its way"] > 0 and grown["query points away"] > 0,
    "queries that point its way give it more, those that point away less":
        grown["query points its way"] > 0 > grown["query points away"],
    "nothing, since softmax divides by the sum": max(map(abs, grown.values())) < 1e-6,
    "only its own row of the attention table changes": grown["query points its way"] == 0,
}  # fmt: skip
quiz(
    "002-s6-norm-matters",
    "Before attention, without any norm, the key of one token becomes longer and longer. What "
    "happens to the attention it receives?",
    answer=next(outcome for outcome, is_so in outcomes.items() if is_so),
    options=list(outcomes),
    because=f"the weight went from {curves['query points its way'][0]:.2f} to "
    f"{curves['query points its way'][-1]:.2f} for the one query, and from "
    f"{curves['query points away'][0]:.2f} to {curves['query points away'][-1]:.2f} for the other; "
    f"with RMSNorm first it moved by {abs(grown['its way, RMSNorm first']):.3f}",
)
verdict()
