# %% [markdown]
# # 12. Cross-entropy: how surprised is the model?
#
# **Question.** A model gives every word a score. How do the scores become one number that says how
# wrong it was, and what does this number ask of each score?
#
# **Afterwards** you can write softmax, the loss and its gradient so that no score is too large for
# them, and carry the gradient on into the table that made the scores.
#
# **Time** 20 minutes. **Needs** lessons 0 and 10.
# **Exercises** `softmax_backward`, `cross_entropy`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## Scores
# A model has read "the cat" and is to say the next word. It knows four words, and gives each a
# score, also called a **logit**. A score can be any number; higher means more likely.

# %%
words = ["sat", "ran", "mat", "the"]
z = np.array([1.0, 2.0, -1.0, 0.0])
show("z", z, columns=words)

# %% [markdown]
# ## Softmax: from scores to probabilities
# Probabilities are positive, and their sum is 1. The exponential function makes any number
# positive; dividing by the sum does the rest.


# %%
def plain_softmax(z):
    e = np.exp(z)
    return e / e.sum()


p = worked.softmax("z", z)

# %% [markdown]
# A score that is 1 higher makes a word $e = 2.718$ times as likely: compare "ran" with "sat", and
# "sat" with "the". What if all the scores are higher?

# %%
options = ["they stay as they are", "the largest grows", "they come closer together"]
q = guess("Add 5 to each of the four scores. What happens to the probabilities?", options)
raised = plain_softmax(z + 5)
show("before", p, columns=words)
show("after", raised, columns=words)
q.answer(
    options[0] if np.allclose(raised, p) else options[1 if raised.max() > p.max() else 2],
    because="each exponential is e^5 times as large, and so is their sum. Only differences of "
    "scores count",
)

# %% [markdown]
# ## Large scores
# Nothing keeps a score small. Take two words with the scores 1000 and 999. Their difference is 1,
# so on paper the probabilities are 0.731 and 0.269.

# %%
options = ["[0.731 0.269]", "[1 0]", "[nan nan]"]
q = guess("What does plain_softmax([1000, 999]) return?", options)
large = np.array([1000.0, 999.0])
with np.errstate(over="ignore", invalid="ignore"):
    worked.line("e^1000", "np.exp(1000.0)", np.exp(1000.0))
    broken = plain_softmax(large)
show("plain", broken)
q.answer(
    options[2] if np.isnan(broken).any() else options[1] if broken.max() == 1 else options[0],
    because="the largest float64 is about 1.8e308. Beyond it stands inf, and inf / inf is nan",
)

# %% [markdown]
# Most models compute in float32, where a score of 89 is enough: the largest float32 is 3.4028e38.
# The natural logarithm ln undoes the exponential, so it says how far a score may go:

# %%
worked.line("largest score", "ln(3.4028e38)", np.log(float(np.finfo(np.float32).max)))

# %% [markdown]
# Adding the same number to all scores changes nothing. So we may take the largest away: then no
# exponent is above 0, and no exponential above 1. This softmax takes many rows of scores at once.


# %%
def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


show("softmax", softmax(large))
compare("softmax of z", plain=p, mended=softmax(z))

# %% [markdown]
# ## The loss: a surprise
# The text goes on with "sat", to which the model gave less than a quarter. How bad is that? If the
# word had been certain, not at all. The less likely the word, the greater the surprise. We measure
# it as $-\ln p$; its unit is the **nat**.

# %%
for share in (1, 1 / 2, 1 / 4, 1 / 100):
    worked.line(f"surprise at p = {share:g}", f"-ln {share:g}", 0 - np.log(share))

# %% [markdown]
# Half as likely is always 0.693 more. The probability of a text is the product of those of its
# words, each after the words before it, so their surprises add up. The mean surprise is called the
# **cross-entropy loss**. For our one word:

# %%
sat = 0
loss_now = worked.cross_entropy("loss", z, sat)

# %% [markdown]
# Before training a model knows nothing. It would be honest to give all words the same score.

# %%
q = guess("GPT-2 knows 50,257 words. What is its loss if it gives all of them the same score?")
nothing = -np.log(softmax(np.zeros(50_257))[0])
worked.line("loss", "-ln(1 / 50,257) = ln 50,257", nothing)
q.answer(
    nothing,
    because="each word has the probability 1 / V, so the loss is ln V",
    slips={np.log2(50_257): "That is the logarithm to base 2: right in bits, but we count nats."},
)

# %% [markdown]
# This is the first number to look at when a training starts. If it is far above $\ln V$, the model
# begins by being sure of wrong things.
#
# ## The loss without the probability
# One trap is left. A model can be so sure of a wrong word that the right one gets a probability too
# small for any float. Say the scores are 0 and 1000, and the first word is the true one.

# %%
sure = np.array([0.0, 1000.0])
with np.errstate(divide="ignore"):
    worked.line("-ln p", f"-ln {softmax(sure)[0]:g}", -np.log(softmax(sure)[0]))

# %% [markdown]
# An infinite loss, from finite scores. The way out is not to make $p$ at all, but softmax and
# logarithm in one. The logarithm of a quotient is a difference, and that of $e^z$ is $z$:
#
# $$\ln p_t = \ln(e^{z_t} / \sum_j e^{z_j}) = z_t - \ln\sum_j e^{z_j}$$


# %%
def log_softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


worked.line("-ln p", "ln(e^0 + e^1000) - 0", -log_softmax(sure)[0])
compare("loss of 'sat'", in_two_steps=loss_now, in_one=-log_softmax(z)[sat])

# %% [markdown]
# ## The gradient
# The loss is $L = \ln\sum_j e^{z_j} - z_t$, with t the true word. Which way should each score move?

# %%
q = guess("Nudge the score of 'sat', whose p is 0.2369. What is the slope of the loss?")


def loss(z):
    return -log_softmax(z)[sat]


slope = worked.nudge("z", loss, z, sat)
q.answer(
    slope,
    because="it is p - 1. A higher score makes the true word less of a surprise",
    slips={p[sat]: "The term -z_t is missing: -1 more.", 1 - p[sat]: "The size is right."},
)

# %% [markdown]
# On paper: the slope of $\ln\sum_j e^{z_j}$ for $z_j$ is $e^{z_j}$ divided by the sum, and that is
# $p_j$. The term $-z_t$ gives $-1$ for the true word and nothing for the others. Together: **what
# was said, minus what was true**, $p - \text{onehot}$. The slopes add up to 0: what the true word
# gains, the others give. It is tempting to forget the second part.

# %%
onehot = np.array([1.0, 0.0, 0.0, 0.0])
beside("dz", rows=words, p=p, p_minus_onehot=p - onehot, nudged=slopes(loss, z), wrong="p")
play("step_curve")

# %% [markdown]
# Our nudge was 0.0001 long. A long one cuts the corner of a curved loss, a very short one moves
# only its last digits: that picture has both. The gradient, too, must be done in one step. In two,
# we meet $-1/p$ after the first, and for the sure model with its scores 0 and 1000 that is
# infinite. The second goes back through softmax. Raise $z_j$ by a small s: $e^{z_j}$ grows by s
# times itself, and the sum by $s p_j$ times itself. So $p_j$ gains $s p_j$, and every $p_i$, also
# this one, loses $s p_j p_i$. A change of $p_i$ counts $dp_i$ times:
#
# $$dz_j = p_j\,dp_j - \sum_i p_j\,p_i\,dp_i = p_j\,(dp_j - \sum_i p_i\,dp_i)$$


# %%
def in_two_steps(z, t):
    p = softmax(z)
    dp = np.zeros_like(z)
    dp[t] = -1 / p[t]  # the slope of -ln p
    return p * (dp - (p * dp).sum())  # how softmax passes it on


compare("dz", by_hand=p - onehot, in_two_steps=in_two_steps(z, sat))
with np.errstate(all="ignore"):
    show("the sure model in two steps", in_two_steps(sure, 0))
show("the sure model in one", softmax(sure) - [1, 0])

# %%
from scratch_embed import plot

figure, axes = plot.figure(1, 2, size=(11, 4))
share = np.linspace(0.005, 1, 200)
plot.lines(axes[0], share, -np.log(share), xlabel="p of the true word", ylabel="loss, nats")
axes[0].plot(p[sat], loss_now, "o", color=plot.PALETTE["vermillion"])
axes[0].annotate("'sat'", (p[sat], loss_now), xytext=(8, 4), textcoords="offset points")
axes[0].set_title("Surprise: -ln p")
plot.bars(axes[1], words, {"p": p, "p - onehot": p - onehot}, title="Said, and asked to change")
axes[1].axhline(0, color="black", lw=0.8)
save_figure(figure, "ch12_surprise.png")
play("softmax_gradient")

# %% [markdown]
# ## Many places, and some that do not count
# Scores come from somewhere. A model hands out a vector for each place of the text, a row of $h$,
# and the score of a word is the dot product of that vector with the word's row in a table $E$. For
# all of them that is one product, the projection $z = h E^\top$. (A nudge has an h of its own.)

# %%
E = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-2.0, 1.0]])
h = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 1.0]])
places = ["the cat", "the dog", "(filler)"]
show("E", E, rows=words)
show("h", h, rows=places)
scores = h @ E.T
show("scores", scores, rows=places, columns=words)

# %% [markdown]
# The first place is the one that we know. After "the dog" comes "ran". The third place stands there
# only because texts that are computed together, in a batch, must be equally long: what it says does
# not matter. Its target is no id, by custom -100 (`IGNORE` below). The loss is the others' mean.


# %%
IGNORE = -100
targets = np.array([0, 1, IGNORE])


def cross_entropy(z, targets):
    kept = np.flatnonzero(targets != IGNORE)
    return -log_softmax(z)[kept, targets[kept]].mean()


def cross_entropy_backward(z, targets):
    kept = np.flatnonzero(targets != IGNORE)
    dz = np.zeros_like(z)
    dz[kept] = softmax(z[kept])
    dz[kept, targets[kept]] -= 1
    return dz / len(kept)  # the loss is a mean over the places that count


# %%
mean = worked.mean("loss", -log_softmax(scores)[[0, 1], targets[:2]])
compare("loss", by_hand=mean, code=cross_entropy(scores, targets))

# %% [markdown]
# Two mistakes are easy here: to forget the mean, and to divide by all places. Both gradients point
# the right way, so the model learns, but its steps grow with the batch, or shrink with the filler.

# %%
dz = cross_entropy_backward(scores, targets)
nudged = slopes(lambda z: cross_entropy(z, targets), scores)
wrong = {"no_mean": dz * 2, "all_places": dz * 2 / 3}
beside("dz", rows=places, **wrong, right=dz, nudged=nudged, wrong=list(wrong))

# %% [markdown]
# ## On into the table
# $z = h E^\top$ is the product of lesson 10 with the table turned on its side, and has two
# gradients as well: the score `z[n, v]` is made of `h[n]` and `E[v]`, and passes its slope to both.


# %%
def project_backward(dz, h, E):
    dh = dz @ E  # each place collects from all words
    dE = dz.T @ h  # each word collects from all places
    return dh, dE


def loss_of(h, E):
    return cross_entropy(h @ E.T, targets)


# %% [markdown]
# A lookup sends a gradient to the rows that were read, and to no other.

# %%
q = guess("How many of the four rows of E does the loss reach through the scores?")
first = worked.outer("to row", dz[0], h[0], why="what the rows get from 'the cat'")
second = worked.outer("to row", dz[1], h[1], why="and from 'the dog'")
dh, dE = project_backward(dz, h, E)
show("dE", dE, rows=words)
q.answer(
    int(dE.any(axis=1).sum()),
    because="every word was scored at every place, and the sum that divides p holds every score",
    slips={2: "Those are the true words. The others were scored too, and have to give."},
)
hand = first + second
compare("dE", by_hand=hand, code=dE, nudged=slopes(lambda E: loss_of(h, E), E))
compare("dh", code=dh, nudged=slopes(lambda h: loss_of(h, E), h))

# %% [markdown]
# Now one step of learning, $E \leftarrow E - \eta\,dE$ with $\eta = 0.5$. A place that counts pulls
# the row of its true word, whose slope is negative, towards its vector, and pushes all others away.

# %%
after = E - 0.5 * dE
for n, word in enumerate(["sat", "ran"]):
    before, now = softmax(scores)[n, n], softmax(h @ after.T)[n, n]
    print(f"  p of '{word}' after '{places[n]}': {before:.3f}, after the step {now:.3f}")
print(f"  loss: {loss_of(h, E):.3f}, after the step {loss_of(h, after):.3f}")

# %% [markdown]
# ## The same in the package
# `project` makes the scores, and `cross_entropy` goes from them to the loss in one step.

# %%
from scratch_embed import Tensor, functional

hidden, table = Tensor(h, requires_grad=True), Tensor(E, requires_grad=True)
total = functional.cross_entropy(functional.project(hidden, table), targets, ignore_index=IGNORE)
total.backward()
compare("loss", by_hand=mean, code=total.numpy())
compare("dE", by_hand=hand, code=table.grad)
compare("dh", by_hand=dh, code=hidden.grad)

# %% [markdown]
# ## What did we learn?
# - Softmax turns scores into probabilities. Only differences count, so subtract the largest first.
# - The loss is the surprise $-\ln p$ of the true word. Knowing nothing and saying so costs $\ln V$.
# - Its gradient is what was said minus what was true, divided by the places that count. Through the
#   scores it reaches every row of the table.
#
# Now write it yourself: `python -m lessons exercise cross_entropy`. Lesson 4 lets one table do both
# jobs: the lookup on the way in, the scores on the way out.
