# %% [markdown]
# # Lab: one row, many states
#
# Lesson 16 shows on a made-up language that "bank" has one row, and a state of its own in every
# sentence. What about a real text, where nobody says which word matters?
#
# Real words have senses that nobody has marked in our text. But two words can be made one: write
# "file" wherever "file" or "list" stands. The new word has one row and two senses, and we know
# which is meant where. (Gale, Church and Yarowsky did so in 1992, and Schütze: pseudowords.)
#
# **Question.** A small causal model learns to say the next word of such a text. Does the state at
# the new word tell which of the two stood there, on lines that were never read?
#
# **Guess.** Better than the majority, and far from always: eleven words and a model of one block.
#
# **Control.** A probe that learns from shuffled answers; and a state made from another line's
# words. A model that was never trained, and the mean of the rows of the words before, without any
# attention, say what the training and the attention are good for.
#
# **Baseline.** The commoner of the two words. The row itself has to end there: it is one row.
#
# **Threshold.** Mean share of right answers for ten new words, held-out lines, a linear probe. The
# state has to be 0.10 above the majority, and the two shuffled controls within 0.05 of it, for
# every seed. Training, or attention, is said to help where it adds 0.03. Each seed joins other
# words: twenty of the 40th to the 240th commonest, neighbours in frequency with each other.

# %%
from functools import cache

import numpy as np

from scratch_embed import Adam, Embedding, plot
from scratch_embed.functional import cross_entropy
from scratch_embed.layers import Linear, TransformerBlock
from scratch_embed.lesson import across, begin, lab_text, options, save_figure
from scratch_embed.look.numbers import at_most
from scratch_embed.tensor import no_grad
from scratch_embed.text import corpus

begin()
V, D, T, JOINED = 1000, 32, 12, 10
FIRST = 3  # a new word counts if at least three words stand before it on its line
FIT, TEST = (200, 100) if options.quick else (800, 400)  # places of a word, at most
raw = lab_text()
tokens = corpus.words(raw)
known = corpus.Vocabulary.from_tokens(tokens, max_size=V)
ids = known.encode(tokens)
ids = ids[: len(ids) // T * T].reshape(-1, T)
print(f"  {len(ids):,} lines of {T} words")


# %%
@cache
def joined(seed):
    """The pairs (JOINED, 2), the lines with the second of each written as the first, held out."""
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.choice(np.arange(40, 240), 2 * JOINED, replace=False)).reshape(-1, 2)
    becomes = np.arange(V)
    becomes[pairs[:, 1]] = pairs[:, 0]
    return pairs, becomes[ids], rng.random(len(ids)) < 0.2


@cache
def model(seed, steps):
    """The table, and the block that makes states of its rows, after learning next words."""
    rng = np.random.default_rng([seed, 1])
    table = Embedding(V, D, rng=rng, init="1/sqrt(d)")
    block = TransformerBlock(D, num_heads=2, causal=True, rotary=True, rng=rng)
    head = Linear(D, V, bias=False, rng=rng)
    optimizer = Adam([p for part in (table, block, head) for p in part.parameters()], lr=0.01)
    _, lines, held_out = joined(seed)
    read = lines[~held_out]
    for _ in range(steps):
        batch = read[rng.integers(len(read), size=64)]
        optimizer.zero_grad()
        cross_entropy(head(block(table(batch[:, :-1]))), batch[:, 1:]).backward()
        optimizer.step()
    return table, block


# %% [markdown]
# The probe is one linear function of what it is shown, fitted by least squares to +1 and -1, with a
# constant and a little ridge, every column brought to one scale. All ways use the same places.


# %%
def right(shown, answers, fit, test):
    """The share of right answers at `test` of a probe that learned from those at `fit`."""
    spread = shown[fit].std(axis=0)
    X = (shown - shown[fit].mean(axis=0)) / np.where(spread > 1e-6, spread, 1)
    X = np.column_stack([X, np.ones(len(X))])
    ridge = 1e-2 * len(fit) * np.eye(X.shape[1])
    weights = np.linalg.solve(X[fit].T @ X[fit] + ridge, X[fit].T @ answers[fit])
    return np.mean((X[test] @ weights > 0) == (answers[test] > 0))


def vectors(way, table, block, lines, at):
    """(N, D) what the probe is shown of the word at place `at` of each line."""
    here = np.arange(len(lines))
    if way == "the row itself":
        return table(lines[here, at]).numpy()
    rows = table(lines).numpy()
    if way == "mean of rows before":
        before = np.arange(T) < at[:, None]
        return (rows * before[:, :, None]).sum(axis=1) / at[:, None]
    return block(rows).numpy()[here, at]


@cache
def standing(seed, word):
    """All lines that hold a word, and its place there."""
    return np.nonzero(joined(seed)[1] == word)


def places(seed, first, second, rng):
    """Where a new word stands: the lines, the places, the answers, +1 or -1; which to fit, test."""
    _, lines, held_out = joined(seed)
    n, at = standing(seed, first)
    chosen = rng.permutation(np.flatnonzero(at >= FIRST))
    fit, test = chosen[~held_out[n[chosen]]][:FIT], chosen[held_out[n[chosen]]][:TEST]
    n, at = n[np.append(fit, test)], at[np.append(fit, test)]
    answers = np.where(ids[n, at] == second, 1.0, -1.0)
    return lines[n], at, answers, np.arange(len(fit)), np.arange(len(fit), len(n))


def accuracy(seed, steps, way):
    """The share of right answers on held-out lines, the mean over the new words."""
    rng = np.random.default_rng([seed, 2])
    table, block = model(seed, 0 if way == "state, untrained" else steps)
    found = []
    for first, second in joined(seed)[0]:
        lines, at, answers, fit, test = places(seed, first, second, rng)
        if way == "majority":
            found.append(np.mean((answers[test] > 0) == (answers[fit].sum() >= 0)))
            continue
        if way == "state, other line":
            other = rng.permutation(test)  # its words all along the line; the word stays in place
            lines[test] = np.where(np.arange(T) == at[test, None], first, lines[other])
        if way == "answers shuffled":
            answers[fit] = rng.permutation(answers[fit])
        with no_grad():
            shown = vectors(way, table, block, lines, at).astype(np.float64)
        found.append(right(shown, answers, fit, test))
    return float(np.mean(found))


names = ("state", "majority", "the row itself", "mean of rows before", "state, untrained",
         "answers shuffled", "state, other line")  # fmt: skip
ways = {name: {"way": name} for name in names}
results = across(accuracy, ways, budgets=(150, 450), quick_budgets=(30,), unit="right, by steps")
results.show()
for below in ("majority", "answers shuffled"):
    results.claim("state", "above", below, by=0.1)
row = np.abs(results.final("the row itself") - results.final("majority"))
results.conclude("The row itself answers as the majority does", bool(row.max() < 0.01))
for control in ("answers shuffled", "state, other line"):
    apart = np.abs(results.final(control) - results.final("majority")).max()
    results.conclude(f"'{control}' is within {at_most(apart)} of the majority", bool(apart < 0.05))
for other in ("state, untrained", "mean of rows before"):
    results.claim("state", "above", other, by=0.03)

# %%
figure, ax = plot.figure(size=(9, 4))
for i, steps in enumerate(results.scores["state"]):
    for x, way in enumerate(ways):
        each = results.scores[way][steps]
        where = np.full(len(each), x + 0.2 * i - 0.1)
        label = f"after {steps} steps, a mark for each seed" if x == 0 else None
        ax.scatter(where, each, s=28, marker=plot.MARKERS[i], color=plot.CYCLE[i], label=label)
labels = [way.replace(", ", ",\n").replace(" before", "\nbefore") for way in ways]
ax.set_xticks(range(len(ways)), labels)
ax.set(ylabel="share of right answers", ylim=(0.4, 0.9))
ax.set_title("Which of two words stood here? On lines that were never read")
ax.legend(frameon=False)
save_figure(figure, "lab_one_row_many_states.png")
