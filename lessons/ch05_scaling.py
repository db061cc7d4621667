# %% [markdown]
# # 5. Scaling
#
# A token's row and a position's row are added. If one is sixteen times as long as the other, who is
# heard? The first Transformer multiplied its token rows by $\sqrt{D}$ before adding. This lesson
# measures both lengths, follows one small example by hand, looks closely at a vector that is called
# a sinusoid and is none, finds the factor that really balances the two, and trains models to see
# what the factor is worth.

# %%
from inspect import signature

import numpy as np

from scratch_embed import SGD, Adam, Embedding, Tensor, geometry, plot
from scratch_embed.functional import cross_entropy
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import Loss, gradient
from scratch_embed.layers import LayerNorm, Linear, ScaledEmbedding, TiedHead
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    progress,
    quiz,
    reference,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.positions import angles, sinusoidal
from scratch_embed.simulations import scale as balance
from scratch_embed.simulations.controls import defaults
from scratch_embed.sizes import MODELS

begin()

# %% [markdown]
# ## How long is a token row?
# Fill a row with $D$ random numbers of standard deviation $\sigma$. Each square is $\sigma^2$ on
# average, so the squared length is about $D \sigma^2$ and the length $\sqrt{D}\,\sigma$. With
# $\sigma = 1/\sqrt{D}$ that is 1, in any width.

# %%
D = 512
root = worked.root("sqrt(D)", D)
check("000-ch5-sqrt512", root, printed="22.6")
std = worked.quotient("std of an element, 1/sqrt(D)", 1, root)
check("000-ch5-element-std", [std, std], printed="0.044; 0.0442")
at_002 = worked.quotient("d where 1/sqrt(d) = 0.02", 1, 0.02**2)
erratum(
    "000-ch5-opening-scales",
    std,
    printed="0.02",
    because=f"1/sqrt(512) is {std:.4f}; 1/sqrt(d) is 0.02 only at d = {at_002:,.0f}. The 0.02 "
    "belongs to GPT-2 and BERT, not to the first Transformer",
)

# %%
tokens = Embedding(4000, D, rng=0, init="1/sqrt(d)", dtype=np.float64).weight.numpy()
lengths = geometry.norms(tokens)
check("000-ch5-token-norm", lengths.mean(), printed="1.0")
check(
    "000-ch5-hand-unscaled",
    abs(lengths.mean() - (D * std**2) ** 0.5) < 0.01 and lengths.std() < 0.05,
    shown={"sqrt(d std^2)": (D * std**2) ** 0.5, "mean length of 4,000 rows": lengths.mean(),
           "their spread": lengths.std()},
)  # fmt: skip
measured = {(d, sigma): geometry.norms(Embedding(1000, d, rng=1, init=sigma).weight.numpy()).mean()
            for d in (64, 512, 2048) for sigma in (0.02, 0.1, 1.0)}  # fmt: skip
ratios = [length / (d**0.5 * sigma) for (d, sigma), length in measured.items()]
for (d, sigma), length in measured.items():
    print(f"  d = {d:<5} sigma = {sigma:<5} sqrt(d) sigma = {d**0.5 * sigma:7.3f}   "
          f"measured {length:7.3f}")  # fmt: skip
check(
    "003-norm-sqrt-d-sigma",
    all(0.99 < ratio < 1.01 for ratio in ratios),
    shown={"measured over sqrt(d) sigma, smallest": min(ratios), "largest": max(ratios)},
)

# %% [markdown]
# One word of caution about notation. $N(0, s)$ is read in two ways: $s$ is the variance (in most
# of mathematics) or the standard deviation (in most code). A lecture writes $N(0, 1/\sqrt{D})$ and
# wants length 1. That needs the second reading; with the first the rows come out
# $D^{1/4}$ times as long. Writing $N(0, 1/D)$, or naming the standard deviation, leaves no doubt.

# %%
rng = np.random.default_rng(2)


def mean_square(std_: float, d: int, rows: int = 4000) -> float:
    """Mean squared length of rows of d numbers of this standard deviation."""
    return float((rng.normal(0, std_, (rows, d)) ** 2).sum(axis=1).mean())


as_std, as_variance = mean_square(D**-0.5, D), mean_square(D**-0.25, D)
erratum(
    "002-sum-unit-norm",
    as_variance,
    printed="1",
    because=f"with 1/sqrt(d) as the variance, as it is written, the mean square is sqrt(d) = "
    f"{root:.1f}; with it as the standard deviation it is {as_std:.2f}. Write N(0, 1/d)",
)
erratum(
    "002-s2-init-notation",
    abs(as_std - 1) < 0.02 and abs(as_variance / root - 1) < 0.02
    and abs(768**-0.5 - 0.02) > 0.01,
    shown={"d = 512, as standard deviation: mean square": as_std, "as variance": as_variance,
           "1/sqrt(512)": D**-0.5, "1/sqrt(768)": 768**-0.5},
    because="the two readings differ by sqrt(d), and the two choices are not one: 0.02 is no "
    "1/sqrt(d) at either width",
)  # fmt: skip
e64 = rng.normal(0, 1 / 8, 64)
stretch = {}
for name, spread in (("std", 64**-0.5), ("variance", 64**-0.25)):
    images = rng.normal(0, spread, (100, 64, 64)) @ e64  # of one vector, by 100 matrices
    stretch[name] = geometry.norms(images).mean() / np.linalg.norm(e64)
erratum(
    "002-ex3-wq-init",
    abs(stretch["std"] - 1) < 0.05 and abs(stretch["variance"] - 64**0.25) < 0.15,
    shown={f"|W e| / |e|, 1/sqrt(64) as {name}": ratio for name, ratio in stretch.items()},
    because="the same notation for a matrix: it keeps lengths when 1/sqrt(d) is the standard "
    "deviation, and stretches them by d^(1/4) when it is the variance",
)

# %% [markdown]
# ## How long is a position row?
# The first Transformer did not learn its positions. Each pair of columns is a clock hand, and each
# pair has a speed of its own:
# $$PE_{p, 2i} = \sin(p / 10000^{2i/D}), \qquad PE_{p, 2i+1} = \cos(p / 10000^{2i/D}).$$
# A sine and a cosine of one angle have squares that add up to 1. With $D/2$ pairs, every row has
# squared length $D/2$, whatever the position.

# %%
PE = sinusoidal(5000, D)
pairs = worked.quotient("pairs, and squared length", D, 2)
pos_length = worked.root("length of a position row", pairs)
squares = (PE**2).sum(axis=1)
check("000-ch5-pos-norm", [squares[7], squares[7] ** 0.5], printed="256; 16.0")
check(
    "000-ch5-hand-position",
    np.allclose(squares, pairs) and np.isclose(pos_length, 16),
    shown={"smallest squared length of 5,000 rows": squares.min(), "largest": squares.max(),
           "length": pos_length},
)  # fmt: skip
layer = ScaledEmbedding(100, D, rng=0)
check("000-ch5-max-len", len(layer.positions), printed="5000")
check("002-s5-fixed", layer.num_parameters() - layer.token.weight.size, printed="0")
ratio = worked.quotient("position to token", pos_length, 1.0)
check("000-ch5-ratio", ratio, printed="16 :1")
at_start = balance.readout(**defaults(balance.CONTROLS))  # the simulation, as it opens
check("000-ch5-widget-readout", [at_start.token, at_start.position], printed="1.0 : 16.0")

# %% [markdown]
# An odd $D$ leaves one sine without its cosine. Nothing breaks, but the lengths are no longer quite
# equal: $(D - 1)/2 + \sin^2$ of the last, slowest hand. And the layer's gradient is right there
# too:

# %%
odd = sinusoidal(8, 5)
slow = angles(np.arange(8), 5)[:, 2]
compare("odd D = 5, squared length", hand=2 + np.sin(slow) ** 2, ours=(odd**2).sum(axis=1))
odd_layer = ScaledEmbedding(6, 5, max_len=8, rng=0, dtype=np.float64)
print(gradcheck(lambda E: odd_layer([[1, 2, 1], [5, 1, 0]]), odd_layer.token.weight,
                name="ScaledEmbedding, D = 5").raise_if_wrong())  # fmt: skip

# %% [markdown]
# ## Four columns by hand
# $D = 4$, so the standard deviation is $1/\sqrt{4}$. A token row $e$, a position row $p$:

# %%
e, p = np.array([0.3, -0.5, 0.2, 0.4]), np.array([0.84, 0.54, 0.91, -0.42])
check("000-ch5-std-d4", worked.quotient("1/sqrt(4)", 1, 4**0.5), printed="0.5")
e_length = worked.norm("|e|", e)
check("000-ch5-e-norm", [e @ e, e_length], printed="0.54; 0.735")
p_length = worked.norm("|p|", p)
check("000-ch5-p-squares", p**2, printed="0.71; 0.29; 0.83; 0.18")
erratum(
    "000-ch5-p-norm",
    [p @ p, p_length],
    printed="2.01; 1.418",
    because="each square was rounded before adding; the squares themselves sum to 2.0017",
)
added = worked.sum("e + p", e, p)
check("000-ch5-combined-unscaled", added, printed="1.14; 0.04; 1.11; -0.02")
doubled = worked.scale("sqrt(4) e", 4**0.5, e)
check("000-ch5-scaled-e", doubled, printed="0.6; -1.0; 0.4; 0.8")
balanced = worked.sum("2 e + p", doubled, p)
check("000-ch5-combined-scaled", balanced, printed="1.44; -0.46; 1.31; 0.38")

# %% [markdown]
# In the second column $-0.5$ and $0.54$ leave $0.04$, and the text sees the token being swamped.
# But those two numbers are of one size. They cancel because their signs differ, and would have
# added up to 1.04 had they agreed. In four columns the position is hardly twice as long as the
# token; the flood needs width.

# %%
imbalance = p_length / e_length
erratum(
    "000-ch5-dominated",
    abs(abs(e[1]) / abs(p[1]) - 1) < 0.1 and imbalance < 2 and ratio / imbalance > 8,
    shown={"size of -0.5 over 0.54": abs(e[1] / p[1]), "with equal signs": abs(e[1]) + abs(p[1]),
           "|p| : |e| here": imbalance, "expected at d = 4": (4 / 2) ** 0.5,
           "expected at d = 512": ratio},
    because="0.04 comes from opposite signs of two equal sizes, which scaling does not prevent; "
    "position leads 1.9 to 1 in this example, and 16 to 1 only in 512 columns",
)  # fmt: skip

# %% [markdown]
# ## A vector recognised
# Is $p$ a sinusoidal row at $D = 4$? The second pair of columns turns a hundred times slower than
# the first, so at position 1 it has barely moved:

# %%
true = sinusoidal(5000, 4)
for position in (1, 2):
    fast, slower = angles(position, 4)
    print(f"  position {position}: [sin {fast:g}, cos {fast:g}, sin {slower:g}, cos {slower:g}] = "
          f"{np.round(true[position], 4).tolist()}")  # fmt: skip
erratum(
    "000-ch5-p-not-real-encoding",
    true[1],
    printed="[0.84, 0.54, 0.91, -0.42]",
    because="the printed vector is [sin 1, cos 1, sin 2, cos 2]: the fast pair of position 1, and "
    "the fast pair of position 2",
)
two_pairs = np.concatenate([true[1, :2], true[2, :2]])
compare("the printed vector", hand=two_pairs.round(2), ours=p)
miss = np.abs(true - p).max(axis=1)
print(f"  nearest of 5,000 true rows: position {miss.argmin()}, off by {miss.min():.3f}")

# %% [markdown]
# Nor is it the row of some later position. The fast hand makes exactly a hundred turns to one of
# the slow hand, so a slow hand at 2 means position 200, give or take whole turns, and there the
# fast hand does not stand at 1. To the printed digits none of 5,000 rows agrees. For the arithmetic
# above it does not matter: $p$ has the length of a position row, $\sqrt{4/2} = 1.414$.

# %% [markdown]
# ## The fix, and what it fixes
# Multiply every token row by $\sqrt{D}$. Its elements then have standard deviation 1 and its length
# is $\sqrt{D}$. The text says that this matches the position rows. Their length is $\sqrt{D/2}$. So
# the factor overshoots, by $\sqrt{2}$ in every width: the token leads now. The factor that makes
# both equal is $\sqrt{D/2}$. The lecture note's word, "comparable", is the right one.

# %%
scaled = ScaledEmbedding(4000, D, rng=0, dtype=np.float64)
token_part = geometry.norms(scaled.token.weight.data * scaled.scale)
worked.product("length after scaling", round(float(lengths.mean()), 4), root)
check(
    "000-ch5-hand-scaled",
    abs(token_part.mean() / root - 1) < 0.005,
    shown={"mean length, scaled": token_part.mean(), "sqrt(512)": root,
           "std of an element": (scaled.token.weight.data * scaled.scale).std()},
)  # fmt: skip
lead = worked.quotient("token to position", token_part.mean(), pos_length)
erratum(
    "000-ch5-after-scaling-matches",
    abs(lead - 2**0.5) < 0.01,
    shown={"scaled token": token_part.mean(), "position": pos_length, "ratio": lead},
    because="sqrt(512) is 22.6 and the position row has 16: comparable, not equal. The two match "
    "at a factor of sqrt(d/2)",
)
usual = signature(ScaledEmbedding).parameters["scale"].default
check(
    "003-scale-factor",
    usual == "sqrt(d)" and bool(np.isclose(scaled.scale, root)) and 0.5 < lead < 2,
    shown={"factor of the layer at d = 512": scaled.scale, "token to position": lead},
)  # fmt: skip
wave = np.linalg.norm(sinusoidal(1, 2048)[0])
quiz(
    "own-ch5-equal-lengths",
    "A model has d = 2,048 columns and token rows of length 1. Which factor makes them exactly as "
    "long as sinusoidal position rows?",
    answer=wave,
    because=f"2,048 columns are 1,024 pairs, each of squared length 1, so a position row has the "
    f"length sqrt(d/2) = {wave:.0f}; sqrt(d) = {2048**0.5:.1f} is too much",
)

# %% [markdown]
# The factor presumes rows of length 1. A table from a library usually starts at $N(0, 1)$, with
# rows of length $\sqrt{D}$ before any scaling, and the printed class leaves it so. Now the token
# shouts, twice as badly as the position did. And the class never gets as far, because a function
# that it calls is not there.

# %%
default = ScaledEmbedding(300, D, rng=0, init="N(0,1)")
loud = geometry.norms(default.token.weight.data * default.scale).mean()
erratum(
    "000-ch5-class-init",
    30 < loud / pos_length < 34,
    shown={"rows as they start": loud / default.scale, "times sqrt(512)": loud,
           "position rows": pos_length, "token to position": loud / pos_length},
    because="rows from N(0, 1) have length 22.6 already; sqrt(d) balances rows from N(0, 1/d)",
)  # fmt: skip


class AsPrinted:
    """The printed class, as far as it bears on its positions."""

    def __init__(self, max_len: int, dim: int):
        self.pos_embed = self._sinusoidal(max_len, dim)


try:
    AsPrinted(8, 4)
    complaint = ""
except AttributeError as error:
    complaint = str(error)
erratum(
    "000-ch5-class-undefined-helper",
    "_sinusoidal" in complaint,
    shown={"on construction": complaint},
    because="the helper is called and never written. `positions.sinusoidal` above is one. (In the "
    "original library the table should also be a buffer, to move along with the model)",
)

# %% [markdown]
# ## The way back
# Out goes $s E[id] + PE$. A gradient $g$ that arrives is multiplied by $s$ on its way to the table.
# So a step of size $\eta$ moves the row by $\eta s g$, and what the model *sees* of the row, $s$
# times it, by $\eta s^2 g$. Scaling by $\sqrt{D}$ is also a $D$ times larger learning rate for the
# token part. Keep that in mind for the experiment below.

# %%
small = ScaledEmbedding(4, 4, max_len=3, rng=0, dtype=np.float64)
small.token.weight.data[1] = e
ids = np.array([1, 3, 1])
arriving = np.random.default_rng(3).normal(size=(3, 4)).round(1)
out = small(ids)
compare("2 e + PE[0]", hand=2 * e + true[0], ours=out.numpy()[0])
summed = worked.scatter_add("sum of g", ids, arriving, num_rows=4)
dE = worked.scale("dE[1] = sqrt(4) sum of g", small.scale, summed[1])
out.backward(arriving)
weight = small.token.weight
slopes = gradient(Loss(lambda _: small(ids), (weight,), arriving), weight)
compare("dE[1]", hand=dE, ours=weight.grad[1], numeric=slopes[1])
compare("dE[0], not read", hand=np.zeros(4), ours=weight.grad[0], numeric=slopes[0])
SGD([weight], lr=0.1).step()
seen = small.scale * weight.data[1]
compare("seen of the row after a step", hand=2 * e - 0.1 * 2**2 * summed[1], ours=seen)
s = Tensor(np.array(2.0), requires_grad=True, name="s")
rows = Tensor(small.token.weight.data[ids])
(rows * s).backward(arriving)
compare("ds, a learned factor", hand=(rows.numpy() * arriving).sum(), ours=s.grad,
        numeric=gradient(Loss(lambda s: rows * s, (s,), arriving), s))  # fmt: skip

# %% [markdown]
# A thought at this point: why multiply at every lookup? The factor could be moved into the table,
# once, before training. We do so in 64 columns, and let both tables take one step from the same
# gradient.

# %%
upstream = np.random.default_rng(6).normal(size=(1, 64))


def one_step(optimizer: type, inside: bool) -> tuple[np.ndarray, float]:
    """(the sum before the step, how far the step moved it); inside: the factor is in the table."""
    layer = ScaledEmbedding(8, 64, scale="none" if inside else "sqrt(d)", rng=0, dtype=np.float64)
    if inside:
        layer.token.weight.data *= 64**0.5
    sums = layer([3])
    sums.backward(upstream)
    optimizer([layer.token.weight], lr=0.01).step()
    return sums.numpy(), float(np.linalg.norm(layer([3]).numpy() - sums.numpy()))


(sum_outside, step), (sum_inside, small_step) = (one_step(SGD, inside) for inside in (False, True))
alike, slower = np.allclose(sum_outside, sum_inside), step / small_step
with_adam = one_step(Adam, False)[1] / one_step(Adam, True)[1]
fates = {
    "nothing: it computes the same sums and learns in the same steps":
        alike and np.isclose(slower, 1),
    "it starts with the same sums, and its tokens learn sqrt(d) times more slowly":
        alike and np.isclose(slower, 64**0.5),
    "it starts with the same sums, and its tokens learn d times more slowly":
        alike and np.isclose(slower, 64),
    "it starts with other sums": not alike,
}  # fmt: skip
quiz(
    "own-ch5-factor-in-table",
    "The factor sqrt(d) is moved into the table: its rows start sqrt(d) times as long, and nothing "
    "is multiplied any more. What changes for the model, with SGD at the same learning rate?",
    answer=next(fate for fate, is_so in fates.items() if is_so),
    options=list(fates),
    because=f"the same numbers come out, but one step moves them {small_step:.3f} instead of "
    f"{step:.2f}. That is {slower:.0f} = d times less: the gradient lost the factor on its way to "
    f"the row, and the row on its way to the model. (With Adam, whose steps do not grow with the "
    f"gradient, {with_adam:.0f} times)",
)

# %% [markdown]
# ## Turning the knob
# What does the sum tell, at each factor? Two cosines answer. Take *two tokens at one position*:
# near 1 means that tokens look alike. Take *one token at two positions*: near 1 means that
# positions look alike. For random tokens the first is about $(D/2) / (s^2 + D/2)$.

# %%
factors = np.geomspace(0.1, 1000, 41)
some, spots = tokens[:16], PE[np.arange(16) * 31]
same_spot, same_token = [], []
pair = ~np.eye(16, dtype=bool)


def pair_cosines(factor: float) -> tuple[float, float]:
    """Mean cosine of (different tokens, one position) and of (one token, different positions)."""
    grid = geometry.unit_rows((factor * some[:, None] + spots).reshape(-1, D)).reshape(16, 16, D)
    tokens_differ = np.einsum("ipd,jpd->pij", grid, grid)[:, pair].mean()
    places_differ = np.einsum("ipd,iqd->ipq", grid, grid)[:, pair].mean()
    return float(tokens_differ), float(places_differ)


sweep = np.array([pair_cosines(factor) for factor in factors])
at = {factor: pair_cosines(factor) for factor in (1.0, 16.0, root, 1000.0)}
for factor, (alike, lost) in at.items():
    print(f"  factor {factor:7.1f}   token : position = {factor * lengths.mean() / 16:6.2f} : 1"
          f"   tokens alike {alike:.3f}   positions alike {lost:.3f}")  # fmt: skip
formula = (D / 2) / (factors**2 + D / 2)
equal = pos_length / lengths.mean()
compare("two tokens, factor 1", hand=(D / 2) / (1 + D / 2), ours=at[1.0][0], atol=1e-3)
erratum(
    "000-ch5-widget-sweep",
    at[1.0][0] > 0.99 and at[1000.0][1] > 0.99 and abs(equal - (D / 2) ** 0.5) < 0.1
    and root / equal > 1.4,
    shown={"tokens alike at factor 1": at[1.0][0], "positions alike at 1000": at[1000.0][1],
           "equal bars at factor": equal, "sqrt(d)": root,
           "tokens alike at 16 and at 22.6": [at[16.0][0], at[root][0]]},
    because="both ends are as the text says; the bars are equal at sqrt(d/2) = 16, and at sqrt(d) "
    "the token's is 1.41 times as high",
)  # fmt: skip

# %% [markdown]
# BERT normalises after adding. That fixes the length of the sum, and does nothing about the shares
# in it: at factor 1 tokens look as much alike after LayerNorm as before.

# %%
norm = LayerNorm(D, dtype=np.float64)
crowd = some + PE[100]
before, after = (geometry.cosines(x)[pair].mean() for x in (crowd, norm(crowd).numpy()))
print(f"  tokens alike at factor 1: {before:.4f} as added, {after:.4f} after LayerNorm")

# %% [markdown]
# ## What is it worth in training?
# "A model that can barely distinguish tokens" is a strong claim. Let us see. A linear reader gets
# token plus position, 32 tokens at 64 positions in 64 columns, and must name the token. Rows and
# reader are trained for 50 steps, with the factors 1, $\sqrt{D/2}$ and $\sqrt{D}$, and with a
# factor that starts at 1 and is learned itself.
#
# Comparing at one learning rate would be unfair: we just saw that the factor is a learning rate in
# disguise. So each gets the whole range, and is judged at its best.

# %%
TOKENS, SPOTS, WIDTH, STEPS = 32, 64, 64, 50
waves = sinusoidal(SPOTS, WIDTH)
RATES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
if options.quick:
    RATES = (0.2, 2.0, 5.0, 10.0, 20.0)


def train(factor: float, lr: float, learned: bool = False) -> tuple[float, float, float]:
    """(loss over the last five steps, share of right names, factor at the end)."""
    rng = np.random.default_rng(0)
    rows = Embedding(TOKENS, WIDTH, rng=rng, init="1/sqrt(d)", dtype=np.float64)
    reader = Linear(WIDTH, TOKENS, bias=False, rng=rng, dtype=np.float64)
    scale = Tensor(np.array(float(factor)), requires_grad=learned)
    opt = SGD([*rows.parameters(), *reader.parameters(), *[scale] * learned], lr=lr)
    losses = []
    for _ in range(STEPS):
        ids, spots = rng.integers(TOKENS, size=128), rng.integers(SPOTS, size=128)
        opt.zero_grad()
        loss = cross_entropy(reader(rows(ids) * scale + waves[spots]), ids)
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if not losses[-1] < 1000:  # the steps are too long, and grow without end
            return np.inf, 0.0, np.nan
    every = rows.weight.data[:, None] * scale.data + waves
    named = reader(every).numpy().argmax(-1) == np.arange(TOKENS)[:, None]
    return float(np.mean(losses[-5:])), float(named.mean()), float(scale.data)


CONTENDERS = {
    "factor 1": (1.0, False),
    "sqrt(d/2)": ((WIDTH / 2) ** 0.5, False),
    "sqrt(d)": (WIDTH**0.5, False),
    "learned, from 1": (1.0, True),
}
jobs = [(name, lr) for name in CONTENDERS for lr in RATES]
runs = {(name, lr): train(CONTENDERS[name][0], lr, CONTENDERS[name][1])
        for name, lr in progress(jobs, "factors and learning rates")}  # fmt: skip
best = {name: min(RATES, key=lambda lr, name=name: runs[name, lr][0]) for name in CONTENDERS}

# %% [markdown]
# Before you see the results, a guess about the last of the four.

# %%
_, _, reached = runs["learned, from 1", 0.2]
places = {
    "below 1: rows and reader grow, so the factor can shrink": reached < 0.9,
    "still about 1: rows and reader do the learning": 0.9 <= reached <= 1.1,
    f"between 1 and the paper's sqrt(d), here {WIDTH**0.5:.0f}": 1.1 < reached < WIDTH**0.5,
    f"beyond {WIDTH**0.5:.0f}: the louder the token, the better": reached >= WIDTH**0.5,
}
quiz(
    "own-ch5-learned-factor",
    "At the small learning rate of 0.2, the learned factor starts at 1. Where is it after 50 "
    "steps?",
    answer=next(place for place, is_so in places.items() if is_so),
    options=list(places),
    because=f"it is {reached:.2f}. A longer token is easier to hear, so the loss pulls the factor "
    f"up; meanwhile steps are lost: the loss is {runs['learned, from 1', 0.2][0]:.2f}, and "
    f"{runs['sqrt(d)', 0.2][0]:.2f} where the factor was sqrt(d) from the start",
)

# %% [markdown]
# Now all four, at that one rate and each at its own best rate:

# %%
print(f"  guessing costs ln 32 = {np.log(TOKENS):.2f} nats")
for name in CONTENDERS:
    (loss, named, end), (tuned, sure, _) = runs[name, 0.2], runs[name, best[name]]
    print(f"  {name:<16} lr 0.2: loss {loss:.4f}, right {named:.0%}, factor {end:.2f}   "
          f"best lr {best[name]:g}: loss {tuned:.5f}, right {sure:.0%}")  # fmt: skip

# %% [markdown]
# At one small rate the gap is enormous. With the rate tuned for both, the model without scaling
# names every token too. A gap in the loss stays, much smaller. And a factor that may be learned
# grows by itself to where the others stand; what it loses is the time it takes.

# %%
plain, full, grown = ({lr: runs[name, lr] for lr in RATES}
                      for name in ("factor 1", "sqrt(d)", "learned, from 1"))  # fmt: skip
same_rate = plain[0.2][0] / full[0.2][0]
both_tuned = plain[best["factor 1"]][0] / full[best["sqrt(d)"]][0]
erratum(
    "000-ch5-scaling-helps",
    plain[best["factor 1"]][1] > 0.99 and 1 < both_tuned < same_rate,
    shown={"lr 0.2: right, factor 1": plain[0.2][1], "lr 0.2: right, sqrt(d)": full[0.2][1],
           "lr 0.2: loss, 1 over sqrt(d)": same_rate,
           "tuned: right, factor 1": plain[best["factor 1"]][1],
           "tuned: loss, factor 1": plain[best["factor 1"]][0],
           "tuned: loss, sqrt(d)": full[best["sqrt(d)"]][0]},
    because="unscaled rows are learned too, with a learning rate that suits them. Part of the gain "
    f"is that rate: the losses differ {same_rate:.0f} times at one rate and {both_tuned:.0f} times "
    "when both are tuned",
)  # fmt: skip
check(
    "003-learn-scale-later",
    grown[0.2][2] > 2 and full[0.2][0] < grown[0.2][0] < plain[0.2][0],
    shown={"learned factor after 50 steps": grown[0.2][2], "loss, learned": grown[0.2][0],
           "loss, sqrt(d) from the start": full[0.2][0], "loss, factor 1": plain[0.2][0]},
)  # fmt: skip

# %% [markdown]
# ## Who scales?
# Six published models, as their code has it.

# %%
SCALES = {
    "Original Transformer": (True, "sinusoidal", "Vaswani et al. 2017, sections 3.4 and 3.5"),
    "BERT-base": (False, "learned", "modeling.py of google-research/bert, embedding_postprocessor"),
    "GPT-2 small": (False, "learned", "src/model.py of openai/gpt-2, wte plus wpe"),
    "Llama 2 7B": (False, "RoPE", "llama/model.py of meta-llama/llama, apply_rotary_emb"),
    "Gemma 7B": (True, "RoPE", "gemma/model.py of google/gemma_pytorch: hidden_size ** 0.5"),
    "T5-base": (False, "relative bias", "Raffel et al. 2020, section 2.1; config.json of t5-base"),
}  # fmt: skip
IN_MODELS = {"RoPE": "rotary"}
agreeing = [MODELS[name].positions == IN_MODELS.get(kind, kind)
            for name, (_, kind, _) in SCALES.items() if name in MODELS]  # fmt: skip
print(f"  {sum(agreeing)} of {len(agreeing)} position types agree with scratch_embed.sizes.MODELS")


def facts(name: str) -> dict:
    """The arguments of `reference` about one model."""
    scales, kind, source = SCALES[name]
    return {"value": [scales, kind], "source": source}


reference("000-ch5-arch-original-transformer", **facts("Original Transformer"),
          printed="Yes; sinusoidal")  # fmt: skip
reference("000-ch5-arch-bert", **facts("BERT-base"), printed="No; learned")
reference("000-ch5-arch-gpt-2", **facts("GPT-2 small"), printed="No; learned")
reference("000-ch5-arch-llama", **facts("Llama 2 7B"), printed="No; RoPE")
reference("000-ch5-arch-gemma", **facts("Gemma 7B"), printed="Yes; RoPE")
reference("000-ch5-arch-t5", **facts("T5-base"), printed="No; relative bias")

# %% [markdown]
# Gemma adds no positions, and scales. So the rule "only with fixed sinusoids" does not hold in the
# text's own table. A likelier reason is tying: Gemma scores tokens with the same rows. For scores
# of ordinary size the rows must be short; for the stream of vectors inside the model they should
# have elements of size 1. One table cannot be both, and a factor on one side can.

# %%
gemma = MODELS["Gemma 7B"]
wide = gemma.embedding_dim
table = Embedding(1000, wide, rng=0, init="1/sqrt(d)")
h = np.random.default_rng(5).normal(size=(20, wide)).astype(np.float32)
logits = TiedHead(table)(h).numpy().std()
big = Embedding.from_pretrained(table.weight.data * wide**0.5).weight.data
loud_logits = (h @ big.T).std()
breaking = [name for name, (scales, kind, _) in SCALES.items() if scales and kind != "sinusoidal"]
erratum(
    "000-ch5-only-fixed-needs-scaling",
    breaking == ["Gemma 7B"] and bool(gemma.tied) and logits < 1.2 and loud_logits > 50,
    shown={"scales without sinusoids": ", ".join(breaking), "its head is tied": gemma.tied,
           "std of the scores, rows of length 1": logits,
           "std of a row's elements, times sqrt(d)": (table.weight.data * wide**0.5).std(),
           "std of the scores, had the rows that size": loud_logits},
    because="the same table lists Gemma, which has rotary positions and scales. With a tied head, "
    "short rows give scores of size 1, and the factor gives the stream elements of size 1",
)  # fmt: skip

# %% [markdown]
# ## Pictures
# First the true sinusoids: fast hands on the left, slow ones on the right, where after 64 positions
# the sines are still near 0 and the cosines near 1. A row's likeness to another depends on nothing
# but their distance; that is what makes these rows positions. Then the two cosines over the factor,
# and the losses over the learning rate.

# %%
fig, axes = plot.figure(1, 2, size=(12, 4.2))
plot.heatmap(axes[0], sinusoidal(64, 64), values=False, xlabel="column", ylabel="position",
             title="Sinusoids: 64 positions, D = 64", label="value")  # fmt: skip
gaps = np.arange(0, 101)
plot.lines(axes[1], gaps, {
    f"from position {start}": PE[start + gaps] @ PE[start] / pos_length**2 for start in (0, 1000)
}, xlabel="distance in positions", ylabel="cosine",
    title="Likeness of two position rows, D = 512")  # fmt: skip
save_figure(fig, "ch05_sinusoids.png")

fig, axes = plot.figure(1, 2, size=(13, 4.4))
plot.lines(axes[0], factors, {"two tokens, one position": sweep[:, 0],
           "one token, two positions": sweep[:, 1]}, logx=True, xlabel="scale factor s",
           ylabel="mean cosine", title="What the sum still tells apart, d = 512")  # fmt: skip
axes[0].plot(factors[::4], formula[::4], "k.", ms=7, label="(d/2) / (s^2 + d/2)")
axes[0].legend(fontsize=10, loc="lower left")
for factor, text, side in ((equal, "sqrt(d/2)", "right"), (root, "sqrt(d)", "left")):
    axes[0].axvline(factor, color="grey", lw=1)
    axes[0].annotate(f" {text} ", (factor, 0.02), ha=side, fontsize=10)
curves = {name: [min(runs[name, lr][0], 10) for lr in RATES] for name in CONTENDERS}
plot.lines(axes[1], RATES, curves, logx=True, logy=True, marker="o", xlabel="learning rate",
           ylabel="loss after 50 steps, nats",
           title="Each factor at each learning rate")  # fmt: skip
axes[1].axhline(np.log(TOKENS), color="grey", lw=1)
axes[1].annotate("guessing", (1.0, np.log(TOKENS)), va="bottom", fontsize=10)
save_figure(fig, "ch05_scale.png")

# %% [markdown]
# In the last picture the curve of factor 1 is much the curve of $\sqrt{D}$, pushed to the right:
# the factor moves the learning rate that suits it. But it breaks off before it comes as far down.
# Points at the upper edge are runs that flew apart.
#
# ## What did we learn?

# %%
scores = (some * root) @ (some * root).T
reasons = {
    "It makes token rows exactly as long as position rows": abs(lead - 1) < 0.01,
    "It lifts rows of length 1 to the size of position rows": 1 / ratio < 0.1 and 0.5 < lead < 2,
    "It keeps attention's scores at a variance of 1": bool(abs(scores[pair].std() - 1) < 0.1),
    "It keeps the gradient of the table from growing": small.scale <= 1,
}  # fmt: skip
quiz(
    "000-ch5-quiz",
    "Why did the first Transformer multiply its token rows by the root of d?",
    answer=next(reason for reason, holds in reasons.items() if holds),
    options=list(reasons),
    because="length 1 against 16 becomes 22.6 against 16. Not equal, and the gradient grows by the "
    "same factor; the root of d that tames attention's scores divides, and stands elsewhere",
)
verdict()
