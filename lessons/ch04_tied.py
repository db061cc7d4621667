# %% [markdown]
# # 4. Tied: one table that reads and writes
#
# **Question.** A language model reads words with a table and scores the next word with another of
# the same shape. May the two be one?
#
# **Afterwards** you can score words with the table that read them, say what that saves, start such
# a model without a loss of hundreds, and notice when the tie has broken.
#
# **Time** 20 minutes. **Needs** lessons 0, 10, 11 and 12.
# **Exercises** `tied_logits`.

# %%
import numpy as np

from scratch_embed.lesson import begin, beside, compare, guess, play, save_figure, show, worked

begin()

# %% [markdown]
# ## Which word does the model mean?
# A language model ends as it begins, at its vocabulary, the words that it knows. It read some of
# them and calculated with their rows, and what came of it is one vector $h$, its state. Now it
# needs a score for each word: the logits of lesson 12. A score can be a dot product, so we need a
# row for each word. A table with a row for each word exists already: the one that the words were
# read with.

# %%
words = ["the", "cat", "sat", "on"]
E = np.array([[0.5, 0.3, -0.1], [0.8, -0.2, 0.4], [0.1, 0.9, 0.3], [-0.3, 0.5, 0.6]])
h = np.array([0.6, 0.1, 0.3])
show("E", E, rows=words)
show("h", h)


def project_forward(h, E):
    return h @ E.T  # z[j] = h . E[j], one score for each row


# %% [markdown]
# By hand, a word at a time. The last one is yours.

# %%
z = [worked.dot(f"z[{word}]", h, row) for word, row in zip(words[:3], E)]
q = guess("What is the logit of 'on'?")
z = [*z[:3], worked.dot("z[on]", h, E[3])]
q.answer(
    z[3],
    tolerance=0.005,
    because="what -0.3 takes away, 0.6 gives back",
    slips={0.41: "-0.3 is negative."},
)
compare("z", by_hand=z, project_forward=project_forward(h, E))

# %% [markdown]
# The highest score has "cat". Softmax makes probabilities of the scores, and keeps their order, so
# "cat" is the word that the model finds most likely.
#
# Is it because the row of "cat" points most nearly where $h$ points? The angle between two vectors
# is measured by the cosine: their dot product, divided by both lengths. (The length of $a$ is its
# distance from 0, the root of the sum of its squares, and is written $|a|$.)

# %%
for word, row in zip(words[:2], E):
    worked.cosine(f"cos(h, {word})", h, row)
double_the = E * [[2], [1], [1], [1]]
q = guess("We double the row of 'the'. It points where it did. Which word scores highest?", words)
worked.dot("z[the], twice as long", h, double_the[0])
best = words[int(project_forward(h, double_the).argmax())]
q.answer(best, because="a logit is |h| |E[j]| cos: direction and length together")

# %% [markdown]
# So a long row shouts. We shall meet that again, much louder.
#
# And rows that lie close? Say a fifth word, "kitten", has the row [0.86, -0.12, 0.4]. From one row
# to another the logit changes by $h \cdot (e_i - e_j)$, where $e_i$ is row i of $E$. A cosine is at
# most 1, so that is at most $|h|$ times the distance of the two rows.

# %%
kitten = E[1] + [0.06, 0.08, 0.0]
worked.distance("cat, kitten", E[1], kitten)
length = worked.norm("|h|", h)
q = guess("For any h of this length: how far apart can 'cat' and 'kitten' score, at most?")
change = worked.dot("z[kitten] - z[cat]", h, kitten - E[1])
q.answer(
    0.1 * length,
    because=f"the length of h times the distance. Our own h makes less of it, {change:.3f}",
)

# %% [markdown]
# Near rows cannot have far scores. A table that reads "kitten" much like "cat" will, when it
# writes, expect "kitten" wherever it expects "cat". With a table for each job that need not be.
#
# ## The whole model in three lines
# Here is the smallest model with something between reading and writing: one matrix $W$ makes a
# state of each row that was read. It is called with the table twice, once to read, once to write.
# After "the", "cat" and "the" its targets are "cat", "sat" and "cat".


# %%
def model(reads, writes, W, ids):
    x = reads[ids]  # lesson 0: fetch rows
    states = x @ W  # think
    return project_forward(states, writes)  # score every word


def mean_loss(z, targets):  # lesson 12: ln(sum of exp(z)) - z of the target
    top = z.max(axis=1, keepdims=True)
    log_sum = top[:, 0] + np.log(np.exp(z - top).sum(axis=1))
    return (log_sum - z[np.arange(len(z)), targets]).mean()


W = np.array([[0.2, 0.9, 0.1], [-0.7, 0.3, 0.5], [0.4, 0.1, -0.6]])
ids, targets = np.array([0, 1, 0]), np.array([1, 2, 1])
show("W", W)
print("  read", [words[id] for id in ids], " next", [words[id] for id in targets])
show("logits", model(E, E, W, ids), rows=["the", "cat", "the"], columns=words)

# %% [markdown]
# A row for each place, a column for each word. In come ids $(N,)$, out come logits $(N, V)$.
#
# To use `E` for both is called **weight tying** (Press & Wolf, 2017; Inan, Khosravi & Socher,
# 2017). What does it change for learning? In lesson 0 a row that nobody read got no gradient. "on"
# is neither read nor a target here.

# %%
options = ["zero, as in lesson 0", "not zero"]
q = guess("The slope of the loss for E[on, 1], when E both reads and writes?", options)


def tied_loss(E):
    return mean_loss(model(E, E, W, ids), targets)


slope = worked.nudge("E", tied_loss, E, (3, 1))
q.answer(
    options[int(abs(slope) > 1e-6)],
    because="'on' was scored at every place, like all words: p - onehot sends it a part of h",
)

# %% [markdown]
# A tied row learns from both jobs: as a word that is read, and as an answer that is right or wrong.
# Lesson 13 takes the two gradients apart. Here they come as one sum.

# %%
from scratch_embed import Tensor
from scratch_embed.functional import cross_entropy, lookup, project
from scratch_embed.gradcheck import slopes


def package_loss(table):
    return cross_entropy(project(lookup(table, ids) @ W, table), targets)


table, alone = Tensor(E, requires_grad=True), Tensor(E, requires_grad=True)
package_loss(table).backward()
cross_entropy(project(lookup(alone, ids) @ W, E), targets).backward()  # writes with bare numbers
ways = {"tied": table.grad, "reading_alone": alone.grad, "nudged": slopes(tied_loss, E)}
column_1 = {way: dE[:, 1] for way, dE in ways.items()}
beside("dE", rows=words, **column_1, wrong="reading_alone")

# %% [markdown]
# (Column 1; the others tell the same.) "Reading alone" is a mistake that is easily made: the head,
# the end that scores, was handed the numbers of the table, not the `Tensor`. The loss is right to
# the last digit, and one part of the gradient is missing.
#
# ## The tie
# In code, tying is one assignment. The head does not hold a copy of the table. It holds the table.
# The package's head is called `TiedHead`.

# %%
import copy

from scratch_embed import SGD, Embedding
from scratch_embed.layers import TiedHead

embed = Embedding(*E.shape, rng=0, init=0.02)
head = TiedHead(embed)
compare("logits", by_hand=z, layer=TiedHead(Embedding.from_pretrained(E))(h).numpy())
print(
    "  one tensor:",
    head.weight is embed.weight,
    "  parameters of both:",
    len({id(t) for t in [*embed.parameters(), *head.parameters()]}),
)

# %% [markdown]
# (Some heads add a bias, a learned number for each word, to its score. Tying leaves that alone, for
# the table has no part in it: BERT ties, and keeps a bias.)
#
# A tie can break without a word, and then the model has two tables that start out equal. Guess for
# each of these whether the two ends are still one.

# %%
options = ["all", "all but a", "all but b", "all but c", "all but d"]
q = guess(
    "a: a step of learning. b: embed.weight.data = new numbers. c: deepcopy of the pair. "
    "d: deepcopy of the head. Which leave the two ends tied?",
    options,
)


def still_one(embed, head):
    before = head.weight.numpy()[1, 0]
    embed.weight.data[1, 0] += 1  # write at one end, look at the other
    return bool(head.weight.numpy()[1, 0] == before + 1)


cross_entropy(head(embed([1, 2])), [2, 3]).backward()
SGD([*embed.parameters(), *head.parameters()], lr=0.1).step()
survives = [still_one(embed, head)]
embed.weight.data = embed.weight.data - 0.5
survives += [still_one(embed, head), still_one(*copy.deepcopy((embed, head)))]
survives += [still_one(embed, copy.deepcopy(head))]
print("  still one:  ", "  ".join(f"{way} {one}" for way, one in zip("abcd", survives)))
q.answer(
    options[0 if all(survives) else 1 + survives.index(False)],
    because="both ends hold one Tensor, so whatever happens inside it happens to both. A copy of "
    "one end brings a Tensor of its own",
)

# %% [markdown]
# With bare arrays one has to be more careful, for a name is not an array:

# %%
reads = writes = E.copy()
reads -= 0.1
print("  after reads -= 0.1          one array:", reads is writes)
reads = reads - 0.1
print("  after reads = reads - 0.1   one array:", reads is writes)
play("tied")

# %% [markdown]
# ## What it saves
# One table of $V \times D$ numbers, whatever the model. Llama 2 7B has 32,000 words and 4,096
# columns, and keeps two tables.

# %%
from scratch_embed import sizes

q = guess("How many million numbers would Llama 2 7B save by tying?")
one = worked.product("one table", 32_000, 4096)
worked.product("two tables", 2, one)
saved = worked.product("saved, in bytes, at 2 bytes a number", one, 2)
worked.quotient("saved, in MiB of 2^20 bytes", saved, 2**20)
q.answer(one / 1e6, tolerance=2, because="V times D; 262 million become 131")

# %% [markdown]
# Does that matter? The layers in between grow with $D^2$ times their number, the table with $D$. So
# one table is a large share of a small model, and a small share of a large one. The numbers of one
# table, of the whole model, and the share:

# %%
totals = {**sizes.RELEASED, "GPT-3 175B": sizes.gpt2_params(50_257, 12_288, 2048, 96)}
share = {name: sizes.MODELS[name].params / total for name, total in totals.items()}
for name in sorted(share, key=share.get, reverse=True):
    tied = "tied" if sizes.MODELS[name].tied else "two tables"
    table, total = sizes.MODELS[name].params / 1e6, totals[name] / 1e6
    print(f"  {name:<13} {tied:<10} {table:8,.1f} of {total:9,.1f} million: {share[name]:6.2%}")

# %% [markdown]
# In this list, a table that is a fifth of the model or more is shared. Further down both occur, and
# there is no line: Gemma 7B ties, and Mistral 7B does not. (Nobody outside has seen the weights of
# GPT-3; it was built on GPT-2, which ties.)
#
# ## A start at hundreds of nats
# A fresh table is often drawn from the normal distribution $N(0, 1)$: numbers about as large as 1,
# of either sign. For a lookup alone that may do. Tied, it is a trap. Take the size of GPT-2 small,
# 50,257 rows of 768, with nothing between reading and writing. A model that knows nothing and says
# so gives each word the same chance, and its loss is $\ln 50257 = 10.8$ nats.

# %%
q = guess("The true next word is a random one. What is the first loss, in nats, about?")
V, D, N = 50_257, 768, 32
rng = np.random.default_rng(0)
rows = rng.standard_normal((V, D), dtype=np.float32)
read, wanted = rng.integers(V, size=(2, N))
logits = project_forward(rows[read], rows).astype(np.float64)
own, others = logits[np.arange(N), read], np.delete(logits[0], read[0])
true = logits[np.arange(N), wanted]
print(f"  mean logit of the word just read {own.mean():.1f}, of the true word {true.mean():.1f}")
q.answer(
    mean_loss(logits, wanted),
    tolerance=200,
    because="the loss is the gap between the two. e . e sums 768 squares of about 1 each, so the "
    "word just read gets about 768. With any other row the products have either sign, and most of "
    "them cancel. So the model is as sure as can be that the same word comes again",
    slips={10.8: "That is the loss of equal chances, and these logits are far from equal."},
)

# %% [markdown]
# More than seventy times the loss of a model that knows nothing. The cure is short rows: draw every
# number $s$ times as large (its standard deviation is then $s$, and no longer 1). Each row is $s$
# times as long, and a logit multiplies two rows: it is $s^2$ times as large.

# %%
q = guess("With s = 0.02: how large is the logit of a word with itself?")
for s in (1, 0.1, 0.02):
    loss = mean_loss(s**2 * logits, wanted)
    print(f"  s = {s:<5} own logit {s**2 * own.mean():8.3f}   loss {loss:7.2f}")
worked.line("ln V", f"ln({V})", float(np.log(V)))
q.answer(0.02**2 * own.mean(), tolerance=0.05, because="0.02 squared is 0.0004, times 774")
echo = float(np.mean(logits.argmax(axis=1) == read))
print(f"  places where the word just read has the highest logit, for every s: {echo:.0%}")

# %% [markdown]
# Short rows mend the loss. They do not mend the echo: a common factor does not change which logit
# is the largest. Layers in between do that. In a real model, $h$ is not the row that was read.

# %%
from scratch_embed import plot

figure, axes = plot.figure(1, 2, size=(11, 4))
for ax, s in zip(axes, (1, 0.02)):
    ax.hist(s**2 * others, bins=60, color=plot.PALETTE["blue"])
    ax.axvline(s**2 * own[0], color=plot.PALETTE["vermillion"], lw=2)
    ax.set(
        yscale="log",
        ylabel="words",
        xlabel="logit",
        title=f"s = {s}: loss {mean_loss(s**2 * logits, wanted):.1f} nats",
    )
    ax.text(s**2 * own[0] * 0.97, 800, "the word\njust read", ha="right")
    ax.text(s**2 * 150, 20, "all other words", color=plot.PALETTE["blue"])
save_figure(figure, "ch04_echo.png")

# %% [markdown]
# The two pictures are one, and only the axis differs. On the left $e^{768}$ leaves nothing for
# anybody else. On the right $e^{0.3}$ is hardly more than $e^0$.
#
# `TiedHead` warns of the left one when it is made. Does a tied model predict better than one with
# two tables? That has to be measured: `python -m lessons lab tied_or_untied`.
#
# ## What did we learn?
# - Tied, the table that reads also scores: $z = h E^\top$. It saves $V \times D$ numbers.
# - Every row is scored everywhere, so every row learns, even one that nobody reads.
# - Draw short rows, or the first loss is about $D$ instead of $\ln V$. Check that the ends are one.
#
# Now write the projection and its two products: `python -m lessons exercise tied_logits`. Then
# lesson 13 takes the gradient of the tied table apart.
