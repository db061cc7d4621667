# %% [markdown]
# # Lab: does what is learned about one word carry over to others?
#
# Lesson 10 shows that all one-hot codes are equally far apart, and says that a model wants rows for
# this reason. Not because codes are large: nobody stores them.
#
# **Question.** Half of the words come with a label, their hidden class. A linear classifier learns
# from them. How many of the other half does it get right, when its input is a trained row, and when
# it is a one-hot code?
#
# **Guess.** From rows most of them, from codes no more than by chance.
#
# **Control.** Rows that were trained in the same way, on the same text in shuffled order; and rows
# that are random. Both have the form of rows, and no knowledge.
#
# **Baseline.** Always say the class that is most frequent among the labelled words.
#
# **Threshold.** Trained rows have to exceed codes, both controls and the baseline by 0.2 for every
# seed. For codes against the baseline no difference above 0.2 is expected.

# %%
import numpy as np

from scratch_embed import Adam, Tensor, geometry, plot
from scratch_embed.functional import cross_entropy
from scratch_embed.lesson import across, begin, save_figure
from scratch_embed.models import NextToken, train
from scratch_embed.ops.onehot import one_hot
from scratch_embed.text import toy

begin()
V = 400


# %%
def rows_of(tokens, steps, rng):
    """The centred table of a next-word model, trained on these tokens."""
    model = NextToken(V, 16, rng=rng, init=0.3)
    optimizer = Adam(model.parameters(), lr=0.01)
    train(model, tokens, optimizer, steps, batch_size=128, rng=rng)
    return geometry.centre(model.embed.weight.numpy())


def classify(inputs, labels, known):
    """The class of every word; a linear classifier learns it from those in `known`."""
    start = np.zeros((inputs.shape[1], labels.max() + 1))
    weight = Tensor(start, requires_grad=True)
    optimizer = Adam([weight], lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        cross_entropy(Tensor(inputs[known]) @ weight, labels[known]).backward()
        optimizer.step()
    return (inputs @ weight.numpy()).argmax(axis=1)


def on_new_words(seed, steps, way):
    """The share of unlabelled words that get their right class."""
    rng = np.random.default_rng(seed)
    corpus = toy.zipf_classes(rng=rng)
    often = np.flatnonzero(np.bincount(corpus.tokens, minlength=V) >= 10)
    labels = corpus.classes[often]
    known = rng.permutation(len(often)) < len(often) // 2
    if way == "majority":
        said = np.bincount(labels[known]).argmax()
        return float((labels[~known] == said).mean())
    if way == "trained rows":
        inputs = rows_of(corpus.tokens, steps, rng)[often]
    elif way == "shuffled text":
        inputs = rows_of(rng.permutation(corpus.tokens), steps, rng)[often]
    elif way == "random rows":
        inputs = rng.standard_normal((len(often), 16))
    else:
        inputs = one_hot(np.arange(len(often)), len(often))
    return float((classify(inputs, labels, known) == labels)[~known].mean())


names = ("trained rows", "shuffled text", "random rows", "codes", "majority")
ways = {name: {"way": name} for name in names}
results = across(on_new_words, ways, budgets=(300, 1200), unit="share right")
results.show()
for other in names[1:]:
    results.claim("trained rows", "above", other, by=0.2)
gap = results.final("codes") - results.final("majority")
results.conclude(
    f"Codes differ from the majority by {gap.min():+.2f} to {gap.max():+.2f}",
    bool((gap < 0.2).all()),
)

# %%
finals = {name: results.final(name) for name in names}
figure, ax = plot.figure(size=(8, 4))
for x, values in enumerate(finals.values()):
    ax.plot([x, x], [values.min(), values.max()], color=plot.PALETTE["blue"], lw=2)
    ax.plot(x, np.median(values), "o", color=plot.PALETTE["blue"])
ax.set_xticks(range(len(names)), names)
ax.set(ylabel="right class", ylim=(0, 1), title="Words without a label: median and range of seeds")
save_figure(figure, "lab_rows_or_codes.png")
