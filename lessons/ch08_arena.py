# %% [markdown]
# # 8. The arena: comparing what is cut differently
#
# **Question.** Words, pieces, characters, patches: which makes the best rows, and how can one even
# compare models whose tokens are not of one size?
#
# **Afterwards** you can measure any two of them by one rule, beside a trivial baseline, and say
# what such a measurement does not show.
#
# **Time** 20 minutes. **Needs** lessons 3, 4, 7, 12. **Exercises** `bpe_merge`, `cross_entropy`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, options, save_figure, show, worked
from scratch_embed.lesson.play.here import play

begin()

# %% [markdown]
# ## One sentence, three cuts
# The same 23 characters (a dot stands for a space) as words, as pieces, and one by one.

# %%
sentence = " the cat sat on the mat"
cuts = {
    "words": [" the", " cat", " sat", " on", " the", " mat"],
    "pieces": [" the", " c", "at", " s", "at", " on", " the", " m", "at"],
    "characters": list(sentence),
}
for name, tokens in cuts.items():
    print(f"  {name:<10} {len(tokens):>2} | {'|'.join(tokens).replace(' ', chr(183))} |")

# %% [markdown]
# Say one model reads words and gives each right word a share of 1/10. Another reads characters and
# gives each right character a share of 1/2.

# %%
q = guess("Which of the two predicts the sentence better?", ["words", "characters"])
p_words, p_chars = np.full(6, 1 / 10), np.full(23, 1 / 2)
worked.line("loss of a word", "-ln(1/10)", -np.log(p_words[0]))
worked.line("loss of a character", "-ln(1/2)", -np.log(p_chars[0]))

# %% [markdown]
# The loss for a token is much smaller with characters, and means nothing: there are more of them.
# Sum up what the whole sentence costs, in bits ($-\log_2 p$), and divide by something that both
# have in common: its characters.


# %%
def bits_per_character(p, text):
    return -np.log2(p).sum() / len(text)


by_words = worked.line("words", "6 * log2(10) / 23", 6 * np.log2(10) / 23)
by_chars = worked.line("characters", "23 * log2(2) / 23", 23 * np.log2(2) / 23)
compare("bits, words", by_hand=by_words, code=bits_per_character(p_words, sentence))
compare("bits, characters", by_hand=by_chars, code=bits_per_character(p_chars, sentence))
q.answer(
    "words" if by_words < by_chars else "characters",
    because="it needs fewer bits for the same sentence; a character's loss is paid 23 times, a "
    "word's 6 times",
)

# %% [markdown]
# ## The gradient of that measure
# Scores $z$ for three tokens that cover four characters. Softmax minus one-hot, as ever; the
# question is by what to divide. The tempting way is the mean over tokens, as in every training.

# %%
z = np.array([[1.0, 0.2, -0.5], [0.1, 0.8, 0.0], [-0.3, 0.4, 0.9]])
targets, text = np.array([0, 2, 1]), " cat"


def loss(z):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return bits_per_character(p[np.arange(3), targets], text)


def backward(z, divide_by):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return (p - np.eye(3)[targets]) / divide_by


slope = worked.nudge("z", loss, z, (0, 0))

# %%
per_token, per_character = backward(z, 3), backward(z, 4 * np.log(2))
ways = {"per_token": per_token[:, 0], "per_character": per_character[:, 0]}
beside("dz[:, 0]", rows=range(3), **ways, nudged=slopes(loss, z)[:, 0], wrong="per_token")

# %% [markdown]
# (The $\ln 2$ turns nats into bits.) The two differ by a factor only, so training may use either;
# but a rate that suits the one is another rate for the other. That is a first thing to keep in mind
# when models are compared "at the same settings".
#
# ## The least that a model must beat
# Count the tokens of a known text, add 1 to each count so that none is 0, and divide: these shares
# know nothing of what came before. No trained model deserves praise for less.


# %%
def unigram_bits(counts, ids, text):
    p = (counts + 1) / (counts + 1).sum()
    return bits_per_character(p[ids], text)


counts = np.array([3, 1])
share = worked.line("share of token 0", "(3 + 1) / (4 + 2)", 4 / 6)
by_hand = worked.line("two of token 0", "2 * -log2(4/6) / 2", -np.log2(share))
compare("bits", by_hand=by_hand, code=unigram_bits(counts, np.array([0, 0]), "aa"))

# %% [markdown]
# Now a real text, letters and spaces only, a tenth of it kept aside. Each way has 500 rows or so; a
# word that has no row is spelt in characters, so that every way can write every text.

# %%
from scratch_embed import contest
from scratch_embed.text import corpus

raw = corpus.read_text(options.text) if options.text else corpus.python_text(("topics",))
try:
    known, unseen = contest.split(raw, 60_000)
except ValueError as problem:
    raise SystemExit(str(problem)) from None
unseen = unseen[:4000]
makers = (contest.words, contest.pieces, contest.characters)
vocabularies = {make.__name__: make(known) for make in makers}
for name, cut in vocabularies.items():
    cells = "|".join(cut.cut(unseen[:30])).replace(" ", "\u00b7")
    print(f"  {name:<10} |{cells}|")

# %%
q = guess("Which baseline needs the most bits for a character?", list(vocabularies))
base = {}
for name, cut in vocabularies.items():
    count = np.bincount(cut.encode(known), minlength=len(cut.tokens))
    base[name] = unigram_bits(count, cut.encode(unseen), unseen)
    print(f"  {name:<10} {len(cut.tokens):>4} rows, {base[name]:.3f} bits")
q.answer(
    max(base, key=base.get),
    because={
        "characters": "whoever writes in larger tokens has the spelling for nothing: part of the "
        "work was done when the vocabulary was made"
    },
)

# %% [markdown]
# So each strategy gets **its own** baseline beside it. A model of words that beats the baseline of
# characters has shown nothing yet.
#
# ## Six strategies
# Behind every strategy stands the same body: eight rows side by side, a hidden layer, scores for
# what comes next. Words come with a head of their own and tied to the table. And text can be
# *looked at*: sixteen characters drawn on a page of 32 by 32 pixels, the page cut into patches of 8
# (a letter each) or of 16 (four letters). Those write characters. Eight rows are eight words for
# the one and eight letters for the other: not everything can be made equal at once.
#
# What is a fair budget? Two answers first: each model sees **as many tokens**; or each may spend
# **as many multiply-adds**.

# %%
TOKENS = 12_000
players = {name: contest.contestant(name, known, rng=0) for name in contest.STRATEGIES}
for name, player in players.items():
    print(f"  {name:<14} {player.cost:>7,} multiply-adds for a prediction")
cheapest = min(player.cost for player in players.values())
q_order = guess(
    "Once with equal tokens, once with equal multiply-adds: is the order of the six the same?",
    ["the same", "another"],
)


# %%
def score(name, known, unseen, tokens):
    player = contest.contestant(name, known, rng=0)
    player.learn(known, tokens, rng=1)
    return player.bits(unseen), player.unigram_bits(known, unseen)


tokens_for = {name: TOKENS * cheapest // player.cost for name, player in players.items()}
equal = {name: score(name, known, unseen, TOKENS) for name in players}
work = {name: score(name, known, unseen, tokens_for[name]) for name in players}
for name in players:
    bits, counted = equal[name]
    told = f"{bits:.3f} and {work[name][0]:.3f} bits, counting alone {counted:.3f}"
    print(f"  {name:<14} {told}")
orders = [sorted(scores, key=lambda name: scores[name][0]) for scores in (equal, work)]
for name, order in zip(("equal tokens", "equal work"), orders):
    places = [str(order.index(player) + 1) for player in players]
    print(f"  places, {name:<12}  {'  '.join(places)}")
q_order.answer(
    "the same" if orders[0] == orders[1] else "another",
    because={
        "another": "a cheap token buys more of them; a ranking belongs to a budget, and to how it "
        "counts"
    },
)

# %% [markdown]
# ## Two more tasks
# **Five scripts.** The same text, a fifth of it in each of five alphabets: as many languages would
# share one vocabulary. **Pictures.** Letters in fonts that nobody trained on. The text strategies
# read a picture as typists drew them: a letter for each pixel's shade, a word for each row.

# %%
from scratch_embed import images

LETTERS = "ABCDEFGHIJKL"
drawn = images.letter_images(LETTERS, images.FONTS[:12], 8, copies=3, rng=3)
strange = images.letter_images(LETTERS, images.FONTS[12:20], 8, copies=2, rng=4)
print("\n".join("    " + row for row in contest.typewritten(drawn[0])[0].split(" ")))

# %%
mixed = contest.in_scripts(known + unseen)
parts = [mixed[k * len(mixed) // 5 : (k + 1) * len(mixed) // 5] for k in range(5)]
many = "".join(part[:-800] for part in parts), "".join(part[-800:] for part in parts)
scripts = {name: score(name, *many, TOKENS) for name in players}
sight = {name: contest.see(name, drawn, strange, 6, rng=0) for name in players}
chance = 1 / len(LETTERS)

# %% [markdown]
# All in one table: how much better than counting, in bits for a character (below 0: worse), and for
# pictures how much better than chance, in percent.

# %%
tasks = {
    "equal tokens": {n: b - a for n, (a, b) in equal.items()},
    "equal work": {n: b - a for n, (a, b) in work.items()},
    "five scripts": {n: b - a for n, (a, b) in scripts.items()},
    "pictures, %": {n: 100 * (s - chance) for n, s in sight.items()},
}
table = np.array([[scores[name] for scores in tasks.values()] for name in players])
show("gain", table.round(3), rows=list(players), columns=list(tasks))
winners = [list(players)[k] for k in table.argmax(axis=0)]
print("  most gained: " + "; ".join(winners))

# %%
from scratch_embed import plot


def _draw(table):
    figure, axes = plot.figure(1, 4, size=(14, 3.8))
    colours = [plot.PALETTE["vermillion" if "patch" in name else "blue"] for name in players]
    for k, (ax, task) in enumerate(zip(axes, tasks)):
        drawn = ax.barh(list(players), table[:, k], color=colours)
        ax.bar_label(drawn, fmt="%.0f" if "%" in task else "%.2f", padding=3, fontsize=9)
        ax.invert_yaxis()
        ax.axvline(0, color="black", lw=0.8)
        ax.margins(x=0.2)
        ax.set(title=task, xlabel="above chance" if "%" in task else "bits saved over counting")
        if k:
            ax.set_yticklabels([])
    return figure


save_figure(_draw(table), "ch08_arena.png")
play("arena")

# %% [markdown]
# Mind what is drawn. To gain most is not to need the fewest bits: characters gain most where their
# baseline is worst, and still need more bits than words. Neither number alone is "the score".
#
# ## What this does not show
# One seed, one rate for all, a few seconds. Which bars would change places with another seed? We do
# not know from this table, and a lead of a few hundredths may be luck. A model of this size says
# nothing about 32,000 rows and the text of the web. The lab `arena` asks again, with five seeds and
# growing budgets, and claims only what held each time.
#
# ## What did we learn?
# - Losses for a token cannot be compared between tokenizers; bits for each character can.
# - Every bar needs the trivial answer beside it, made with the same vocabulary.
# - "The best" belongs to a task and to a budget; one run ranks nothing that is close.
#
# Write the cut yourself: `python -m lessons exercise bpe_merge`. Lesson 9 puts what you learned on
# one page.
