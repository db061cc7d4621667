# %% [markdown]
# # Lab: do pieces help the rare words of a real text?
#
# In lesson 7 pieces win in a made-up language in which a piece means the same in every word, and
# lose where it means nothing. English lies between. Here are its words, and a task: from a word
# guess which of the 100 commonest words comes next.
#
# **Question.** A row for each word, or the mean of the rows of its pieces (byte pairs, at most
# 1,000 merges)? Or both, added? What is the loss after words that were read one to three times, and
# after words that were read a hundred times and more?
#
# **Guess.** After rare words pieces lose less, after frequent ones wholes do; both together are
# best everywhere.
#
# **Control.** Scrambled pieces: each word gets the pieces of another word. They are rows that are
# read often, and say nothing about the word.
#
# **Baseline.** Ignore the word, and answer with the shares of the 100 words.
#
# **Threshold.** 0.05 nats, for every seed. Each way is scored at the better of two learning rates,
# so none of them suffers from a rate that suits another. A seed decides which half of the text is
# read (block by block), in what order, and from what start.

# %%
from functools import cache

import numpy as np

from scratch_embed import plot
from scratch_embed.lesson import across, begin, lab_text, options, save_figure
from scratch_embed.text import bpe, corpus

begin()
C, D, N, BLOCK, MOST = 100, 16, 128, 500, 8
text = lab_text("numpy")
tokens = corpus.words(text)[: 40_000 if options.quick else 160_000]
vocabulary = corpus.Vocabulary.from_tokens(tokens, max_size=20_000)
V, ids = len(vocabulary), vocabulary.encode(tokens)
now, follows = ids[:-1], ids[1:] - 1
places = np.flatnonzero((now > 0) & (follows >= 0) & (follows < C))

tokenizer = bpe.train(" ".join(tokens), 1000, boundaries=True, progress=False)
cut = [[0], *(tokenizer.encode(" " + word) for word in vocabulary.tokens[1:])]
pieces_of = np.full((V, MOST), len(tokenizer))  # filled up with a row that stays zero
for word, pieces in enumerate(cut):
    pieces_of[word, : len(pieces)] = pieces[:MOST]  # of very long words the first pieces only
mean = np.mean([len(pieces) for pieces in cut[1:]])
print(f"  {V:,} words, {len(tokenizer):,} rows for pieces, {mean:.1f} pieces for a word")


# %%
def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def trained(bags, batches, rng, eta):
    """The function words -> (N, C) probabilities; a word is the mean of the rows in its bag."""
    E = rng.normal(0, D**-0.5, size=(bags.max() + 1, D))
    E[-1], W = 0, np.zeros((C, D))
    share = 1 / (bags < len(E) - 1).sum(axis=1, keepdims=True)

    def read(words):
        return E[bags[words]].sum(axis=1) * share[words]

    for at in batches:
        h = read(now[at])
        dz = softmax(h @ W.T)
        dz[np.arange(N), follows[at]] -= 1
        dW, dh = dz.T @ h, (dz @ W) * share[now[at]]
        W -= eta * dW
        np.subtract.at(E, bags[now[at]], eta * dh[:, None, :])
        E[-1] = 0
    return lambda words: softmax(read(words) @ W.T)


def bags_of(way, rng):
    """(V, K) rows of each word; the last row of the table is the one that stays zero."""
    wholes = np.arange(V)[:, None]
    if way == "wholes":
        return np.column_stack([wholes, np.full(V, V)])
    if way == "both":
        return np.column_stack([wholes, V + pieces_of])
    if way == "scrambled pieces":
        return pieces_of[np.append(0, 1 + rng.permutation(V - 1))]
    return pieces_of


# %%
@cache
def losses(seed, passes, way):
    """How often the words of the kept places were read in a pass, and the loss at each rate."""
    rng = np.random.default_rng(seed)
    is_read = (rng.random(len(now) // BLOCK + 1) < 0.5)[places // BLOCK]
    read, kept = places[is_read], places[~is_read]
    times = np.bincount(now[read], minlength=V)[now[kept]]
    if way == "ignore the word":
        shares = (np.bincount(follows[read], minlength=C) + 1) / (len(read) + C)
        return times, [-np.log(shares[follows[kept]])]
    bags = bags_of(way, rng)
    order = np.concatenate([rng.permutation(read)[: len(read) // N * N] for _ in range(passes)])
    found = []
    for eta in (0.05, 0.2):
        model = trained(bags, order.reshape(-1, N), np.random.default_rng(seed + 1), eta)
        with np.errstate(divide="ignore"):  # a rate too large may leave a word no chance at all
            found.append(-np.log(model(now[kept])[np.arange(len(kept)), follows[kept]]))
    return times, found


def loss_after(seed, passes, way, low, high):
    """Nats of the next word after words that were read low to high times, at the better rate."""
    times, found = losses(seed, passes, way)
    here = (times >= low) & (times <= high)
    if not here.any():
        raise SystemExit(f"of the half that is kept no word was read {low:,} times in the other")
    return float(min(loss[here].mean() for loss in found))


names = ("wholes", "pieces", "both", "scrambled pieces", "ignore the word")
rare, frequent = (
    across(
        loss_after,
        {way: {"way": way, "low": low, "high": high} for way in names},
        budgets=(1, 3),
        unit="nats",
    )
    for low, high in ((1, 3), (100, 10**9))
)

# %%
print("  after words read one to three times; passes over the text")
rare.show()
rare.claim("pieces", "below", "scrambled pieces", by=0.05)
rare.claim("pieces", "below", "ignore the word", by=0.05)
rare.claim("pieces", "below", "wholes", by=0.05)
rare.claim("both", "below", "wholes", by=0.05)
once = rare.scores["wholes"][1] - rare.scores["pieces"][1]
rare.conclude(
    f"After one pass pieces lose {once.min():.2f} to {once.max():.2f} nats less than wholes",
    bool((once > 0).all()),
)

# %%
print("  after words read a hundred times and more")
frequent.show()
frequent.claim("wholes", "below", "pieces", by=0.05)
frequent.claim("both", "below", "pieces", by=0.05)

# %%
figure, axes = plot.figure(1, 2, size=(11, 3.8))
for ax, results, title in zip(axes, (rare, frequent), ("read 1 to 3 times", "100 times and more")):
    budgets = list(results.scores["wholes"])
    for shift, budget in enumerate(budgets):
        for x, way in enumerate(names):
            values = results.scores[way][budget]
            colour = plot.PALETTE[("blue", "vermillion")[shift]]
            label = f"passes: {budget}" if x == 0 else None
            ax.plot([x + 0.2 * shift] * 2, [values.min(), values.max()], color=colour, lw=2)
            ax.plot(x + 0.2 * shift, np.median(values), "o", color=colour, label=label)
    ax.set_xticks(range(len(names)), [name.replace(" ", "\n") for name in names])
    ax.set(ylabel="nats", title=f"Next word after words {title}")
    ax.legend(frameon=False)
save_figure(figure, "lab_wholes_and_pieces.png")

# %% [markdown]
# Pieces do carry something about a word: scrambled, they are worth less than ignoring it. But the
# guess was too bold. After a single pass pieces are ahead on rare words; after three, rows of whole
# words have caught up. After frequent words the four ways
# lie close together. A made-up language, in which endings decide everything, shows how pieces can
# help, and not how much.
