# %% [markdown]
# # 22. Break it
#
# **Question.** A model with a broken embedding still runs, and its loss may well fall as it should.
# How does one notice?
#
# **Afterwards** you know seven ways to damage an embedding, what each looks like, and which
# question finds it.
#
# **Time** 15 minutes. **Needs** lessons 0, 4, 13. **Exercise** `diagnose`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## The healthy model
# The smallest tied model with a body: read a row, mix it with a matrix and a tanh, score every row.
# Forward and backward in bare NumPy, so that each part can be broken by hand.


# %%
def forward(E, W, ids, targets):
    x = E[ids]
    h = np.tanh(x @ W)
    z = h @ E.T
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(ids)), targets]).mean()
    return loss, (x, h, p)


def backward(E, W, ids, targets, saved):
    x, h, p = saved
    dz = p.copy()
    dz[np.arange(len(ids)), targets] -= 1
    dz /= len(ids)
    dE = dz.T @ h  # every row was scored
    da = (dz @ E) * (1 - h**2)
    np.add.at(dE, ids, da @ W.T)  # some rows were read
    return dE, x.T @ da


# %% [markdown]
# The text is made up: 30 words, each mostly followed by one other, and some words far more frequent
# than others. A model that has learned anything must beat two numbers: the loss of a guess among
# all words, $\ln 30$, and the loss of knowing the frequencies alone.

# %%
V, D = 30, 12
rng = np.random.default_rng(22)
follows = rng.permutation(V)


def _text(length, rng):
    often = 1 / np.arange(1, V + 1)
    ids = [0]
    for _ in range(length):
        jump = rng.choice(V, p=often / often.sum())
        ids.append(int(follows[ids[-1]]) if rng.random() < 0.6 else int(jump))
    return np.array(ids)


text = _text(6000, rng)
shares = np.bincount(text, minlength=V) / len(text)
show("share of the 6 most frequent", np.sort(shares)[::-1][:6].round(3))
uniform = worked.line("a guess among all", "ln 30", np.log(V))
unigram = worked.line("frequencies alone", "- sum of p ln p", -(shares * np.log(shares)).sum())


def _start(seed, std=0.1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(V, D)) * std, rng.normal(size=(D, D)) / np.sqrt(D)


# %% [markdown]
# ## One question finds most of it
# Before any training: is the backward the derivative? One entry by hand, then all. Here is the most
# common damage beside the healthy code: `dE[ids] += ...` for the rows that were read.


# %%
def loses_repeats(E, W, ids, targets, saved):
    x, h, p = saved
    dz = p.copy()
    dz[np.arange(len(ids)), targets] -= 1
    dz /= len(ids)
    dE = dz.T @ h
    da = (dz @ E) * (1 - h**2)
    dE[ids] += da @ W.T  # one for each row, not one for each id
    return dE, x.T @ da


E, W = _start(0, std=0.5)
ids, targets = np.array([0, 3, 0, 7, 3]), np.array([3, 0, 7, 1, 0])
loss, saved = forward(E, W, ids, targets)
q_rows = guess("The ids read are 0, 3, 0, 7, 3. How many rows of dE will be wrong?")
slope = worked.nudge("E", lambda E: forward(E, W, ids, targets)[0], E, (0, 0))

# %%
nudged = slopes(lambda E: forward(E, W, ids, targets)[0], E)
right, wrong = (f(E, W, ids, targets, saved)[0] for f in (backward, loses_repeats))
rows = [0, 1, 3, 7]
beside(
    "dE",
    rows=[f"row {r}" for r in rows],
    healthy=right[rows, :2],
    damaged=wrong[rows, :2],
    nudged=nudged[rows, :2],
    wrong="damaged",
)
q_rows.answer(
    int(np.any(np.abs(right - wrong) > 1e-12, axis=1).sum()),
    because="only rows that were read more than once can lose anything",
)

# %% [markdown]
# Rows 0 and 3 were read twice, and are wrong; rows 1 and 7 are right. A test with five different
# ids would have passed.
#
# ## Seven kinds of damage
# Three are wrong gradients. The other four are honest derivatives of something one did not want.


# %%
def loses_scoring(E, W, ids, targets, saved):
    dE, dW = backward(E, W, ids, targets, saved)
    _, h, p = saved
    dz = (p - np.eye(V)[targets]) / len(ids)
    return dE - dz.T @ h, dW  # as if the head held a copy of the table


def forgets_the_one(E, W, ids, targets, saved):
    x, h, p = saved
    return backward(E, W, ids, targets, (x, h, p + np.eye(V)[targets]))


def _train(back, seed, std=0.1, steps=400, lr=1.0, narrow=False, each=lambda E: E):
    E, W = _start(seed, std)
    keep = np.arange(D) < (1 if narrow else D)  # a narrow table uses one column
    E = E * keep
    rng = np.random.default_rng(seed + 100)
    for _ in range(steps):
        at = rng.integers(len(text) - 1, size=64)
        _, saved = forward(E, W, text[at], text[at + 1])
        dE, dW = back(E, W, text[at], text[at + 1], saved)
        E, W = each(E - lr * dE * keep), W - lr * dW
    return forward(E, W, text[:-1], text[1:])[0], (E, W)


def _one_long_row(E):
    E = E.copy()
    E[5] *= 40 / np.linalg.norm(E[5])
    return E


damages = {
    "healthy": {"back": backward},
    "repeats lost": {"back": loses_repeats},
    "scoring part lost": {"back": loses_scoring},
    "the -1 forgotten": {"back": forgets_the_one},
    "all rows start at 0": {"back": backward, "std": 0.0},
    "one column": {"back": backward, "narrow": True},
    "one row of length 40": {"back": backward, "each": _one_long_row},
}
options = list(damages)[1:]
q = guess(
    "Which damage leaves the lowest loss, so is the hardest to see in a training curve?", options
)

# %%
seeds = range(3)
found = {name: np.array([_train(seed=s, **how)[0] for s in seeds]) for name, how in damages.items()}
with np.errstate(all="ignore"):
    print(f"  {'loss at the end, nats':<24} {'median':>7}   3 seeds")
for name, losses in found.items():
    spread = f"{losses.min():.3f} to {losses.max():.3f}"
    print(f"  {name:<24} {np.median(losses):7.3f}   {spread}")
medians = {name: np.median(found[name]) for name in options}
q.answer(
    min(medians, key=medians.get),
    because="it is wrong by a little, at every step, and descent gets nearly there all the same",
)

# %% [markdown]
# The seventh needs no training: take the healthy table and shuffle its rows, as happens when a
# tokenizer is exchanged and the table is not.

# %%
q = guess(
    "Healthy weights, rows shuffled. Is the loss above or below that of a plain guess, ln 30?",
    ["below", "above"],
)
healthy, (E, W) = _train(seed=0, **damages["healthy"])
shuffled = forward(E[np.random.default_rng(1).permutation(V)], W, text[:-1], text[1:])[0]
print(f"  healthy {healthy:.3f}, shuffled {shuffled:.3f}, a plain guess {uniform:.3f}")
q.answer(
    "above" if shuffled > uniform else "below",
    because="the model is sure of itself, and sure of the wrong word",
)

# %% [markdown]
# ## Which question finds which?
# Three questions, cheapest first: does a nudge agree with the backward? Does the loss beat the
# frequencies? Does it come near what this text allows?

# %%
E, W = _start(0, std=0.5)
loss, saved = forward(E, W, ids, targets)


def _finds(name):
    how = damages[name]
    agrees = np.allclose(how["back"](E, W, ids, targets, saved)[0], nudged, atol=1e-7)
    low = found[name].max()
    return agrees, low < unigram, low < found["healthy"].max() + 0.05


yes = {True: "yes", False: "NO"}
print(f"  {'':<22} {'nudge agrees':>12} {'beats frequencies':>18} {'as good as healthy':>19}")
for name in damages:
    answers = [yes[bool(answer)] for answer in _finds(name)]
    print(f"  {name:<22} {answers[0]:>12} {answers[1]:>18} {answers[2]:>19}")
caught = [name for name in damages if not _finds(name)[0]]
compare("wrong gradients found by the nudge", by_design=3, found=len(caught))

# %% [markdown]
# A nudge finds every wrong gradient, before a single step of training. It says nothing about the
# others, whose gradients are right; there only a baseline helps.

# %%
from scratch_embed import plot


def _draw():
    figure, ax = plot.figure(size=(9.5, 4))
    names = list(found)
    for word, colour, some in (
        ("agrees", "blue", [n for n in names if n not in caught]),
        ("disagrees", "vermillion", caught),
    ):
        middle = [np.median(found[n]) for n in some]
        at = [-names.index(n) for n in some]
        drawn = ax.barh(at, middle, color=plot.PALETTE[colour], label=f"the nudge {word}")
        ax.bar_label(drawn, fmt="%.2f", label_type="center", color="white")
    ax.set_yticks(-np.arange(len(names)), names)
    sides = {"frequencies alone ": (unigram, "right"), " a plain guess": (uniform, "left")}
    for name, (level, side) in sides.items():
        ax.axvline(level, color="black", lw=1, ls="--")
        ax.text(level, 0.6, name, fontsize=9, ha=side)
    ax.set_xlim(0, 1.25 * uniform)
    ax.set(xlabel="loss at the end, nats: the median of three seeds")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


save_figure(_draw(), "ch22_damage.png")
play("break_it")

# %% [markdown]
# ## What did we learn?
# - Two of the three wrong gradients still train, one of them as well as the right one. The loss
#   curve is no test.
# - A nudge with repeated ids finds every wrong gradient at once.
# - A right gradient of the wrong thing is found by a healthy twin. The frequencies find only what
#   learned nothing else.
#
# The lab `break_it` asks again on words that were not read, with more seeds and longer training:
# lost repeats cost nothing there that could be told from chance, and none of the others comes back
# to the healthy model.
#
# Find the damage from its report: `python -m lessons exercise diagnose`. Where next: lesson 8
# compares healthy models, and lesson 23 makes the loops fast.
