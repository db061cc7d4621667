# %% [markdown]
# # Lab: are opposites pushed apart?
#
# Lesson 6 says that words with the same contexts end close together. "Hot" and "cold" have the same
# contexts, and mean the opposite.
#
# **Question.** In a real text, how far from each other do the rows of opposites lie?
#
# **Guess.** Near: who writes "the left side" also writes "the right side".
#
# **Control.** The same words, each with the opposite of another one.
#
# **Baseline.** Two words drawn at random. The text is the standard text of this course, or
# `--text FILE`; each seed reads another half of it. Rows are counts of neighbours as PPMI, without
# any training.
#
# **Threshold.** Opposites have to be among each other's ten nearest of 1,000 words at least 0.2
# more often than the control, for every seed. The list below was written before the first run (its
# pairs true/false, left/right, min/max and upper/lower were known to be near from an earlier look),
# and a pair counts if both words are among the 1,000.

# %%
from functools import cache

import numpy as np

from scratch_embed import geometry, plot
from scratch_embed.lesson import across, begin, lab_text, save_figure
from scratch_embed.look.terminal import width, wrap
from scratch_embed.text import corpus
from scratch_embed.text.ppmi import cooccurrence, ppmi

begin()
LIST = """true false, left right, first last, min max, upper lower, before after, start end,
open close, read write, old new, more less, input output, row column, positive negative, even odd,
add remove, small large, above below, start stop, same different, high low, short long, begin end,
up down, success failure, public private, import export, always never, inner outer,
minimum maximum, good bad, encode decode"""
V, NEAREST = 1000, 10

raw = lab_text()
text = corpus.words(raw)
known = corpus.Vocabulary.from_tokens(text, max_size=V + 1)
ids = known.encode(text)
ids = ids[ids > 0] - 1  # without the rare words
pairs = [[known.index.get(word, 0) - 1 for word in pair.split()] for pair in LIST.split(",")]
pairs = np.array([pair for pair in pairs if min(pair) >= 0])
if len(pairs) < 8:
    raise SystemExit(
        f"{len(pairs)} of the pairs, true/false to encode/decode, are among the {V:,} most "
        "frequent words of the text; this takes 8"
    )
print(f"  {len(ids):,} words of text; {len(pairs)} of the pairs are among the {V:,} words")


# %% [markdown]
# A half of the text is a random choice of stretches of 1,000 words. For each pair: are the two
# among each other's ten nearest?


# %%
@cache
def table(seed, window):
    stretches = np.array_split(ids, len(ids) // 1000)
    chosen = np.random.default_rng(seed).permutation(len(stretches))[: len(stretches) // 2]
    half = np.concatenate([stretches[i] for i in chosen])
    cosines = geometry.cosines(ppmi(cooccurrence(half, V, window)) + 1e-12)
    np.fill_diagonal(cosines, -np.inf)
    return cosines


def share(seed, window, way):
    """The share of pairs whose words are among each other's ten nearest."""
    cosines, rng = table(seed, window), np.random.default_rng([seed, 1])
    a, b = {
        "opposites": pairs.T,
        "another's opposite": (pairs[:, 0], np.roll(pairs[:, 1], 1)),
        "two random words": rng.choice(V, (2, 300)),
    }[way]
    rank = np.argsort(np.argsort(-cosines, axis=1), axis=1)
    return float(np.mean((rank[a, b] < NEAREST) & (rank[b, a] < NEAREST)))


ways = {name: {"way": name} for name in ("opposites", "another's opposite", "two random words")}
results = across(share, ways, budgets=(2, 5), unit="share, by window")
results.show()
for other in list(ways)[1:]:
    results.claim("opposites", "above", other, by=0.2)

# %%
cosines = table(0, results.longest)
nearest = cosines.argmax(axis=1)
firsts = [(a, b) for a, b in pairs if nearest[a] == b and nearest[b] == a]
words = known.tokens[1:]
told = ", ".join(f"{words[a]}/{words[b]}" for a, b in firsts)
print("\n".join(wrap(f"each other's first neighbour: {told}", width(), "  ")))

figure, ax = plot.figure(size=(7.5, 4))
bins = np.linspace(0, 1, 26)
rng = np.random.default_rng(0)
strangers = rng.choice(V, (2, 2000))
strangers = strangers[:, strangers[0] != strangers[1]]
for name, values, colour in (
    ("two random words", cosines[tuple(strangers)], "grey"),
    ("opposites", cosines[tuple(pairs.T)], plot.PALETTE["vermillion"]),
):
    weights = np.full(len(values), 1 / len(values))
    ax.hist(values, bins, weights=weights, alpha=0.7, color=colour, label=name)
ax.set(xlabel="cosine of their lists of neighbours", ylabel="share of pairs")
ax.set_title("Opposites keep the same company")
ax.legend(frameon=False)
save_figure(figure, "lab_antonyms.png")
