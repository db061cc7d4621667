# %% [markdown]
# # 7. Subwords: which strings get a row
#
# **Question.** A row for every word leaves most rows untrained, a row for every letter says almost
# nothing. Which strings should get a row?
#
# **Afterwards** you can write a byte pair tokenizer, say what a piece's row learns from, and choose
# a size of vocabulary knowing what it costs.
#
# **Time** 25 minutes. **Needs** lessons 0, 1, 12. **Exercises** `bpe_merge`, `bpe_train`.

# %%
import re
from itertools import pairwise

import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, options, save_figure, show, worked
from scratch_embed.lesson.play.here import play

begin()

# %% [markdown]
# ## Join what stands together often
# Byte pair encoding starts from single characters. It counts all pairs of neighbours, joins the
# most frequent pair into a new token, and counts again. Here are counting and joining:


# %%
def count_pairs(words):
    counts = {}
    for word in words:
        for pair in pairwise(word):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(word, pair):
    out = []
    for token in word:
        if out and (out[-1], token) == pair:
            out[-1] += token
        else:
            out.append(token)
    return out


text = "the cat sat on the mat the cat"
print("  " + " ".join(text.replace(" ", "\u00b7")))

# %% [markdown]
# A dot stands for a space, which is a character like any other for now.

# %%
pairs = ["t h", "h e", "a t", "e \u00b7"]
q = guess("Which pair stands there most often?", pairs)
first = worked.merge_pair("first", list(text))
counts = count_pairs([list(text)])
q.answer(" ".join(max(counts, key=counts.get)), because="in cat, sat, mat and cat")

# %% [markdown]
# Repeat this, and you have a vocabulary: the characters, and one token for each merge. The merges
# are kept in the order in which they were learned.


# %%
def learn_merges(words, num_merges, order=list):
    merges = []
    for _ in range(num_merges):
        counts = count_pairs(words)
        pair = max(order(counts), key=counts.get)  # of several, the first
        words = [merge(word, pair) for word in words]
        merges.append(pair)
    return merges, words


def _print(name, tokens, joint):
    print(f"  {name:<20}", "   ".join(joint.join(t).replace(" ", "\u00b7") for t in tokens))


q = guess("After how many merges is 'the' a single token?")
merges, (tokens,) = learn_merges([list(text)], 4)
_print("merges", merges, "+")
q.answer(1 + merges.index(("th", "e")), because="a frequent word is whole quickly")

# %% [markdown]
# Two things in this list should worry you. First, **ties**: four pairs stood there three times at
# the second merge, t+h, h+e, e+space and at+space. Our rule takes the first in the text. Take the
# one that sorts first, and you get another tokenizer. So a program that trains one states its rule.

# %%
_print("first in the text", merges, "+")
_print("first when sorted", learn_merges([list(text)], 4, order=sorted)[0], "+")

# %% [markdown]
# Second, **spaces**: the fourth merge glues "the" to the space behind it. A few merges more, and
# half a sentence is one token. So real tokenizers first cut the text into words, each with the
# space before it, and merge inside words only.

# %%
words = [list(word) for word in re.findall(r" ?\S+", text)]
merges, words = learn_merges(words, 6)
_print("merges", merges, "+")
_print("words", words, " ")


# %% [markdown]
# ## A new word
# To cut a word that was not in the text, do to it what was done to the text: all merges, in order.


# %%
def encode(word, merges):
    tokens = list(word)
    for pair in merges:
        tokens = merge(tokens, pair)
    return tokens


q = guess("Into how many tokens is 'that' cut, without a space before it?")
print(f"  that -> {' | '.join(encode('that', merges))}")
q.answer(len(encode("that", merges)), because="th and at are tokens, and nobody ever joined them")

# %% [markdown]
# The package's tokenizer learns the same merges, and gives each token a row number:

# %%
from scratch_embed.text import bpe, corpus

tokenizer = bpe.train(text, 6, boundaries=True)
by_hand = [tokenizer.index[t] for word in (" that", " mat") for t in encode(word, merges)]
compare("ids of ' that mat'", by_hand=by_hand, code=tokenizer.encode(" that mat"))

# %% [markdown]
# ## Characters nobody has seen
# Our alphabet has the characters of eight words. An ä is not among them, and neither is an emoji.
# Such a character gets the row "unknown", and what it was is lost. The way out: start not from
# characters but from the 256 bytes. Every text is bytes.

# %%
q = guess("How many bytes is the one character \U0001f600, in UTF-8?")
by_bytes = bpe.train(text, 6, unit="byte", boundaries=True)
strange = "the c\u00e4t \U0001f600"
for name, each in (("characters", tokenizer), ("bytes", by_bytes)):
    ids = each.encode(strange)
    print(f"  {name}: {len(ids)} tokens, back as {each.decode(ids)}")
q.answer(len("\U0001f600".encode()), because="and four tokens, until a tokenizer merges them")

# %% [markdown]
# With bytes no text is unknown, however small the vocabulary. GPT-2 starts so; Llama 2 starts from
# characters and falls back on bytes.
#
# ## What a piece's row learns from
# Say a word is the mean of its pieces. (A transformer reads them one after another, and lets
# attention put them together; the mean is the simplest way.) Three words, cut as grammar would:

# %%
pieces = ["un", "happi", "ness", "sad"]
bags = [[0, 1, 2], [3, 2], [3]]  # un-happi-ness, sad-ness, sad
names = ["unhappiness", "sadness", "sad"]
E = np.array([[0.2, -0.5, 0.1], [0.9, 0.3, -0.4], [0.0, 0.6, 0.3], [-0.8, 0.2, 0.5]])
g = np.array([[0.9, -0.3, 0.6], [0.5, 0.8, -0.2], [-0.5, 0.1, 0.7]])  # arrives at the three words


def pool(E, bags):
    return np.stack([E[bag].mean(axis=0) for bag in bags])


show("words", pool(E, bags), rows=names)
show("g", g, rows=names)
q = guess("What is the slope for E[ness], column 0?")
slope = worked.nudge("E", lambda E: (pool(E, bags) * g).sum(), E, (2, 0))
worked.sum("dE[ness, 0]", g[0, 0] / 3, g[1, 0] / 2, why="a third of g[0], half of g[1]")
slips = {1.4: "That is 0.9 + 0.5. But a word is the mean of its pieces, so each gets a share."}
q.answer(slope, because="one piece of three in one word, one of two in the other", slips=slips)


# %%
def pool_backward(g, bags, V):
    dE = np.zeros((V, g.shape[1]))
    for n, bag in enumerate(bags):
        for row in bag:
            dE[row] += g[n] / len(bag)
    return dE


# Tempting: each piece gets all of its word's gradient, as if the word were the sum of its pieces.
nudged = slopes(lambda E: (pool(E, bags) * g).sum(), E)
flat, owner = np.concatenate(bags), [0, 0, 0, 1, 1, 2]
whole_g, dE = np.zeros_like(E), pool_backward(g, bags, 4)
np.add.at(whole_g, flat, g[owner])
beside("dE", rows=pieces, whole_g=whole_g, shares=dE, nudged=nudged, wrong="whole_g")

# %%
from scratch_embed import Tensor
from scratch_embed.functional import embedding_bag

table = Tensor(E, requires_grad=True)
embedding_bag(table, flat, offsets=[0, 3, 5, 6], mode="mean").backward(g)
compare("dE", by_hand=dE, code=table.grad, nudged=nudged)

# %% [markdown]
# ## Does it help rare words?
# So the row of "ness" is trained by every word that ends so. To measure what that is worth we must
# know the truth, so we make up a language. It has 1,200 words: each a stem (of 150) and an ending
# (of 8). After a word comes, four times out of five, the follower that fits its *ending*. We read
# 6,000 words, a few of them often and most hardly ever, and train twice with the steps of lesson 1:
# with a row for each word, and with rows for stems and endings, whose sum is the word. A word
# counts as understood when its likeliest follower is the right one.
#
# The control is a language in which the follower belongs to the whole word, drawn at random.

# %%
STEMS, ENDINGS, READ, N, D = 150, 8, 6000, 16, 16
V = STEMS * ENDINGS


def train(pieces, read, said, rng):
    E = rng.normal(0, D**-0.5, size=(pieces.max() + 1, D))
    W = rng.normal(0, D**-0.5, size=(ENDINGS, D))
    for at in np.arange(READ).reshape(-1, N):
        rows = pieces[read[at]]  # (N, 1) or (N, 2)
        h = E[rows].sum(axis=1)
        p = np.exp(h @ W.T)
        p /= p.sum(axis=1, keepdims=True)
        dz = (p - np.eye(ENDINGS)[said[at]]) / N  # softmax, minus one-hot
        dW, dh = dz.T @ h, dz @ W
        W -= dW
        np.subtract.at(E, rows, dh[:, None, :])  # a sum: all of dh for each
    return (E[pieces].sum(axis=1) @ W.T).argmax(axis=1)


# %%
def _understood(seed, regular):
    rng = np.random.default_rng(seed)
    stem, ending = np.divmod(rng.permutation(V), ENDINGS)
    right = rng.permutation(ENDINGS)[ending] if regular else rng.integers(ENDINGS, size=V)
    chance = 1 / np.arange(1, V + 1)  # Zipf's law
    read = rng.choice(V, size=READ, p=chance / chance.sum())
    said = np.where(rng.random(READ) < 0.8, right[read], rng.integers(ENDINGS, size=READ))
    as_wholes, in_pieces = np.arange(V)[:, None], np.column_stack([stem, STEMS + ending])
    updates = np.bincount(np.concatenate([np.unique(b) for b in read.reshape(-1, N)]), minlength=V)
    return updates, *(train(p, read, said, rng) == right for p in (as_wholes, in_pieces))


q = guess("Of the words never read: what share is understood in pieces, in percent?")
both = ["wholes", "pieces"]
q_control = guess("In the control, words read two or three times: who understands more?", both)
runs = {regular: [_understood(seed, regular) for seed in range(5)] for regular in (True, False)}
groups = {"never": (0, 0), "1": (1, 1), "2-3": (2, 3), "4-10": (4, 10), "11 or more": (11, READ)}


def _percent(regular, way, low, high):
    shares = [run[way][(run[0] >= low) & (run[0] <= high)].mean() for run in runs[regular]]
    return round(100 * np.mean(shares))


ways = [(True, 1), (True, 2), (False, 1), (False, 2)]
result = np.array([[_percent(*way, *group) for way in ways] for group in groups.values()])
print("  percent understood, mean of five languages each; 12.5 by chance")
show("updates", result, rows=groups, columns=["wholes", "pieces", "control: w.", "pieces"])
q.answer(result[0, 1], tolerance=5, because="their endings were read hundreds of times, elsewhere")
winner = both[int(result[2, 3] > result[2, 2])]
q_control.answer(winner, because="what a piece learned from other words is only noise here")

# %% [markdown]
# In the first language pieces win by far, since a piece means the same in every word. In the second
# they lose. Real language lies between: "unhappily" is regular, "understand" is not about standing.
# How much is gained in English, `python -m lessons lab wholes_and_pieces` measures: less than here.
# And "un" adds nothing, it turns a meaning round: what that takes, the lab `un_as_a_meaning` asks.
#
# ## How large a vocabulary?
# Now a real text: without `--text FILE`, the documentation of NumPy. One training serves all
# sizes: stop it early and you have a smaller vocabulary.

# %%
pages = corpus.read_text(options.text) if options.text else corpus.python_text(("numpy",))
kept = pages[-len(pages) // 6 :][:60_000]  # not trained on
if len(pages) < 50_000:
    raise SystemExit(f"the text has {len(pages):,} characters; this takes 50,000")
if not any(word.strip().isalpha() for word in bpe.split_words(kept)):
    raise SystemExit("there is no word of letters at the end of the text; this takes one")
pages = pages[: -len(kept)][:300_000]
full = bpe.train(pages, 5000, boundaries=True, min_count=2, progress=False)
if len(full.merges) <= 1000:
    raise SystemExit(f"in this text {len(full.merges):,} pairs were merged; it takes above 1,000")
stops = (200, 1000, 3000, len(full.merges))
cuts = [bpe.BPE(full.merges[:m], full.alphabet, boundaries=True) for m in stops]


def tokens_per_word(cut, text):
    words = [w for w in bpe.split_words(text) if w.strip().isalpha()]
    return np.mean([len(cut.pieces(word)) for word in words])


# %%
answers = ["less by more than half", "less, but not by half", "no less"]
q_less = guess("From 1,000 merges to the last, tokens per word on text kept aside get ...", answers)
q_row = guess("And the median row of the largest table: how many updates, in one pass?")
per_word = [tokens_per_word(cut, kept) for cut in cuts]
updates = [corpus.batches_read(cut.encode(pages), len(cut), 512) for cut in cuts]
print("  rows V   tokens per word   median updates   rows with 5 or fewer")
for cut, per, row in zip(cuts, per_word, updates):
    print(f"  {len(cut):>6,} {per:>17.2f} {np.median(row):>16,.0f} {np.mean(row <= 5):>22.0%}")
right = answers[np.digitize(per_word[3] / per_word[1], [0.5, 1])]
why = "frequent words are whole long before; later merges are rarer"
q_less.answer(right, because=why if right == answers[1] else "")
q_row.answer(np.median(updates[3]), tolerance=1, because="late merges join rare pairs")

# %% [markdown]
# Two pulls, then. More rows make a text shorter, and each token dearer: table and head grow, and
# rare rows are back; pieces make them fewer, they do not end them. Fewer rows are read more often,
# and need more steps for a text. Makers of models took 30,000 (BERT) to 256,000 rows (Gemma).
#
# Where a word is cut is up to the counts, not to grammar: for GPT-4 it is un, h, appiness. Here is
# one sentence at our four sizes. The colour says how often the row of a piece was trained.

# %%
from scratch_embed import plot
from scratch_embed.simulations import tokenizer as explorer


def _draw():
    sentence = " unhappily, the transformers tokenize words that nobody has seen"
    figure, ax = plot.figure(size=(12, 3.4))
    for y, (cut, row) in enumerate(zip(cuts, updates)):
        parts = cut.pieces(sentence)
        explorer.draw_line(ax, parts, row[cut.encode(sentence)], y=y)
        ax.text(len(sentence) + 1, y, f"{len(parts)} pieces", va="center")
    ax.set(xlim=(0, len(sentence) + 9), xticks=[], ylabel="rows V of the table", yticks=range(4))
    ax.set_yticklabels([f"{len(cut):,}" for cut in cuts])
    ax.set(title="More rows: fewer pieces, and less training for each", ylim=(3.6, -0.6))
    ax.spines[:].set_visible(False)
    explorer.legend(ax, loc="upper center", bbox_to_anchor=(0.45, -0.02))
    return figure


save_figure(_draw(), "ch07_pieces.png")
play("tokenizer")

# %% [markdown]
# ## What did we learn?
# - Count pairs, join the most frequent, repeat; cut a new word by the same merges in order.
# - A piece's row gathers gradients from all words that hold it. That helps where pieces keep their
#   meaning, and hurts where they do not.
# - Size is a trade: shorter texts against a larger table with more rows that nobody reads.
#
# Write it: `python -m lessons exercise bpe_merge`, then `bpe_train`. Lesson 2 shows what else is
# added to a token's row before the first layer.
