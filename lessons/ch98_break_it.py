# %% [markdown]
# # 16. Break it
#
# A part is understood when one can say what happens without it. We train a small language model,
# and then damage its embedding in seven ways, one at a time: untie the table, make it narrow,
# shuffle its rows, zero it, blow up one row, drop the positions, and lose repeated ids. Before
# each, guess what you will see. After each, the reason.

# %%
import numpy as np

from scratch_embed import SGD, Adam, Embedding, Tensor, geometry, no_grad, plot
from scratch_embed.functional import cross_entropy, lookup, project, tanh
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import Loss, gradient
from scratch_embed.layers import PositionEmbedding, SelfAttention
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    options,
    quiz,
    save_figure,
    say,
    verdict,
    worked,
)
from scratch_embed.lesson.look import terminal
from scratch_embed.models import NextToken, train
from scratch_embed.ops.lookup import lookup_forward
from scratch_embed.ops.renorm import renorm_
from scratch_embed.tensor import differentiable
from scratch_embed.text import toy

begin()

# %% [markdown]
# ## The healthy model
# A hundred words in ten hidden classes, met as unequally often as real words. After a word of one
# class most often comes a word of a certain other. The model reads a row, passes it through one
# matrix and a tanh, and scores with the same table. It learns from 8,000 tokens, and we measure it
# on 4,000 that it never saw. A model that knows nothing pays $\ln 100 = 4.61$ nats a token.

# %%
corpus = toy.zipf_classes(12_000, 100)
tokens, unseen = corpus.tokens[:8000], corpus.tokens[8000:]
STEPS = 200 if options.quick else 300
CHANCE = float(np.log(100))


def trained(width: int = 16, tied: bool = True) -> NextToken:
    """A fresh model after STEPS steps."""
    model = NextToken(100, width, tied=tied, body=True, rng=0)
    train(model, tokens, Adam(model.parameters(), lr=0.02), STEPS, batch_size=64, rng=0)
    return model


def measure(model: NextToken) -> float:
    """Held-out loss in nats per token."""
    with no_grad():
        return model.loss(unseen[:-1], unseen[1:]).item()


model = trained()
E = model.embed.weight
healthy_table, healthy = E.numpy().copy(), measure(model)
frequent = np.argsort(-np.bincount(tokens, minlength=100))[:50]


def friends(table: np.ndarray, classes: np.ndarray = corpus.classes) -> float:
    """How many of the 50 most frequent words have a nearest row of their own class."""
    near = geometry.cosines(table[frequent])
    np.fill_diagonal(near, -np.inf)
    return float(np.mean(classes[frequent] == classes[frequent[near.argmax(axis=1)]]))


print(f"  held-out loss {healthy:.3f}, chance {CHANCE:.3f}")
print(f"  nearest row is of the same class: {friends(healthy_table):.0%}")
after = {"healthy": healthy}

# %% [markdown]
# ## 1. Untie it
# Give the head a copy of the table. What changes at once? And after the next hundred steps?

# %%
cut = trained()
cut.head = Tensor(cut.embed.weight.numpy().copy(), requires_grad=True, name="U")
at_the_cut = measure(cut)
never_read = np.setdiff1d(np.arange(100), tokens[:-1])
train(cut, tokens, Adam(cut.parameters(), lr=0.02), 100, batch_size=64, rng=1)
go_on = trained()
train(go_on, tokens, Adam(go_on.parameters(), lr=0.02), 100, batch_size=64, rng=1)
reads, writes = cut.embed.weight.numpy(), cut.head.numpy()
same_token = np.mean([geometry.cosine(a, b) for a, b in zip(reads[frequent], writes[frequent])])
after["untied"] = measure(cut)
print(f"  numbers in the tables    {E.size:,} -> {reads.size + writes.size:,}")
print(f"  loss at the cut          {healthy:.6f} -> {at_the_cut:.6f}")
print(f"  a hundred steps later    tied {measure(go_on):.3f}, untied {after['untied']:.3f}")
print(f"  cosine of a token's two rows by then: {same_token:.3f}")

# %% [markdown]
# At the cut: nothing. The copy holds the same numbers. But each copy now gets one of the two
# gradients, so they drift apart, and the vector that a token is read with is no longer the one it
# is scored with. Nothing complains. If this happens by accident (an optimiser that writes
# `E = E - step` instead of `E -= step`), only a test for shared memory will tell.
#
# Replace the head by rows of its own, and the damage shows:

# %%
cut.head = Embedding(100, 16, rng=9, init="1/sqrt(d)", dtype=np.float64).weight
after["foreign head"] = measure(cut)
print(f"  loss with a foreign head: {after['foreign head']:.3f}")

# %% [markdown]
# ## 2. Make it narrow
# How few columns will do? Train anew with one, two, four, eight.

# %%
by_width = {width: measure(trained(width)) for width in (1, 2, 4, 8)} | {16: healthy}
for width, loss in by_width.items():
    print(f"  D = {width:<2}  held-out loss {loss:.3f}")
after["one column"] = by_width[1]
contexts, narrow = np.arange(100), trained(2)
with no_grad():
    rank = np.linalg.matrix_rank(model(contexts).numpy())
    rank_of_two = np.linalg.matrix_rank(narrow(contexts).numpy())
say(f"rank of all logits, 100 contexts by 100 words: D = 16: {rank}, D = 2: {rank_of_two}")

# %% [markdown]
# The logits of all contexts form a matrix $H E^\top$, and its rank is at most $D$. With one column
# all words stand in one line, and a context can only say "more to this end" or "more to that". Ten
# classes do not fit.
#
# ## 3. Shuffle the rows
# Same rows, same lengths, same angles; only the names are exchanged.

# %%
order = np.random.default_rng(1).permutation(100)
E.data = healthy_table[order]
after["shuffled"] = measure(model)
spectrum = [np.linalg.svd(t, compute_uv=False) for t in (healthy_table, E.numpy())]
print(f"  singular values moved by {np.abs(spectrum[0] - spectrum[1]).max():.1e}")
print(f"  loss {healthy:.3f} -> {after['shuffled']:.3f}, worse than chance ({CHANCE:.3f})")
print(f"  nearest row is of the same class: {friends(E.numpy()):.0%}")

# %% [markdown]
# It is worse than knowing nothing: the model is as sure as before, of the wrong words. The geometry
# is whole, and the loss is not, for an id is a name, and the names were exchanged. So exchange them
# in the text too, and all is well. The tied head moved along with the table by itself.

# %%
renamed = np.argsort(order)[unseen]  # row order[i] is now row i
with no_grad():
    restored = model.loss(renamed[:-1], renamed[1:]).item()
compare("loss, shuffled table and renamed ids", hand=healthy, ours=restored)
E.data = healthy_table.copy()

# %% [markdown]
# ## 4. Zero it
# All logits are 0, all chances even, the loss exactly $\ln V$. Will it learn again?

# %%
E.data = np.zeros_like(healthy_table)
after["zeroed"] = measure(model)
compare("loss of a zero table", hand=CHANCE, ours=after["zeroed"])
batch = tokens[:64], tokens[1:65]
E.grad = None
model.loss(*batch).backward()
slope = gradient(Loss(lambda: model.loss(*batch), (), 1.0), E, [(0, 0), (3, 5), (7, 2)])
compare("three entries of its gradient", hand=np.zeros(3), ours=E.grad[[0, 3, 7], [0, 5, 2]],
        numeric=slope)  # fmt: skip


def learn_from(start: np.ndarray, tied: bool = True) -> np.ndarray:
    """The losses of STEPS steps of a model whose reading table starts like this."""
    fresh = NextToken(100, 16, tied=tied, body=True, rng=0)
    fresh.embed.weight.data = start.copy()
    return train(fresh, tokens, Adam(fresh.parameters(), lr=0.02), STEPS, 64, rng=0).losses


noise = np.random.default_rng(2).standard_normal((100, 16))
zero = np.zeros((100, 16))
curves = {
    "tied, all zero": learn_from(zero),
    "tied, std 0.0001": learn_from(1e-4 * noise),
    "tied, std 0.25": learn_from(0.25 * noise),
    "untied, reading table zero": learn_from(zero, tied=False),
}
print(terminal.table(["start", "first loss", "mean of the last 30"],
                     [[name, f"{losses[0]:.4f}", f"{losses[-30:].mean():.4f}"]
                      for name, losses in curves.items()], right=[1, 2]))  # fmt: skip
E.data = healthy_table.copy()

# %% [markdown]
# A tied zero table never learns. What the projection would send to row $j$ is an amount times $h$,
# and $h$ is zero; what the lookup would send is a mixture of rows, and the rows are zero. Each end
# waits for the other. A ten-thousandth of noise is enough to wake them. With two tables, a zero
# table is no trouble: the other one is not zero. (Neither is it, tied, with a position added to the
# rows.)
#
# ## 5. Blow up one row
# Twenty times as long, in the same direction. How often will that word be predicted?

# %%
word = int(frequent[4])
contexts, followers = unseen[:-1], unseen[1:]
with no_grad():
    before = model(contexts).numpy()
E.data[word] *= 20
with no_grad():
    blown = model(contexts).numpy()
after["one row x 20"] = blow = measure(model)
elsewhere = contexts != word  # where the row is not read, only scored
compare("logit of the blown row", hand=20 * before[elsewhere, word], ours=blown[elsewhere, word])
hurts = {
    "hardly at all: it is one word of a hundred": blow < healthy + 0.5,
    "much, but less than knowing nothing would": healthy + 0.5 <= blow < CHANCE,
    "more than knowing nothing, but less than exchanging all names did":
        CHANCE <= blow < after["shuffled"],
    "more than anything that we have done so far":
        blow > max(loss for name, loss in after.items() if name != "one row x 20"),
}  # fmt: skip
(how_much,) = (text for text, is_so in hurts.items() if is_so)
quiz(
    "own-ch16-one-row",
    "The shuffled table cost more than knowing nothing. Now one row of a hundred is twenty times "
    "as long, and the others are as they were. How much does that cost?",
    how_much,
    options=list(hurts),
    because=f"the loss is {blow:.1f}, against {after['shuffled']:.2f} for the shuffled table and "
    f"{CHANCE:.2f} for even chances. The row is scored in every context, and where it is wrong "
    "by a logit of 100, that costs 100 nats",
)
was, now = np.mean(before.argmax(axis=1) == word), np.mean(blown.argmax(axis=1) == word)
positive = np.mean(before[:, word] > 0)
print(f"  loss {healthy:.3f} -> {after['one row x 20']:.2f}")
say(f"predicted first: {was:.1%} of the contexts -> {now:.1%}; its logit was positive in "
    f"{positive:.1%}")  # fmt: skip
worst = np.argmax(blown[:, word] - blown[np.arange(len(followers)), followers])
print(f"  one of them: logit {before[worst, word]:.2f} -> {blown[worst, word]:.1f}")

# %% [markdown]
# A length multiplies a score, and a score has a sign. Where the logit was positive it is twenty
# times as large, and mostly beats all others; where it was negative the word is never said again.
# That is why one long row does not win everywhere, and why it is so expensive where it does. The
# remedy is to bound the length. `max_norm` does that to rows when they are read; here we do it to
# the whole table, with the longest healthy row as bound.

# %%
bound = float(np.linalg.norm(healthy_table, axis=1).max())
renorm_(E.data, np.arange(100), bound, 2.0)
mended = measure(model)
print(f"  rows longer than {bound:.2f} shortened to it: loss {mended:.3f}")
E.data = healthy_table.copy()

# %% [markdown]
# ## 6. Drop the positions
# Our model looks at one word, so order means nothing to it. Give another one five tokens and the
# task to say which was the **first**. It has attention, which takes a weighted mean of what it
# sees, and a mean has no order. Without positions it can only know which tokens were there.
#
# How well can one do without the order? If the first four tokens are $a, b, b, c$, the first was
# $b$ with probability one half. Over all ten thousand foursomes that costs on average:

# %%
LETTERS, LENGTH = 10, 5
foursomes = np.stack(np.meshgrid(*[np.arange(LETTERS)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
shares = (foursomes == foursomes[:, :1]).mean(axis=1)  # of the first token among the four
floor = float(-np.log(shares).mean())
worked.quotient("share of b in a, b, b, c", 2, 4)
print(f"  least possible loss without the order: {floor:.3f} nats")


class FirstToken:
    """Attention over five rows, read off at the last; with or without positions added."""

    def __init__(self, positions: bool, width: int = 16):
        options = {"dtype": np.float64, "rng": np.random.default_rng(0)}
        self.token = Embedding(LETTERS, width, init=1.0, **options)
        self.position = PositionEmbedding(LENGTH, width, init=1.0, **options) if positions else None
        self.attention = SelfAttention(width, **options)

    def parameters(self) -> list[Tensor]:
        parts = [self.token, self.attention, *([self.position] if self.position else [])]
        return [tensor for part in parts for tensor in part.parameters()]

    def __call__(self, ids) -> Tensor:
        rows = self.token(ids)
        rows = rows + self.position(LENGTH) if self.position else rows
        return project(self.attention(rows)[:, -1], self.token.weight)  # tied


def learn_first(positions: bool) -> tuple[FirstToken, np.ndarray]:
    """The trained model and its losses."""
    rng = np.random.default_rng(0)
    learner = FirstToken(positions)
    optimizer, losses = Adam(learner.parameters(), lr=0.01), []
    for _ in range(200):
        ids = rng.integers(LETTERS, size=(64, LENGTH))
        optimizer.zero_grad()
        loss = cross_entropy(learner(ids), ids[:, 0])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return learner, np.array(losses)


(ordered, with_order), (orderless, without_order) = learn_first(True), learn_first(False)
seen = np.random.default_rng(5).integers(LETTERS, size=(400, LENGTH))
turned = seen[:, [3, 2, 1, 0, 4]]


def first_loss(learner: FirstToken) -> float:
    with no_grad():
        return cross_entropy(learner(seen), seen[:, 0]).item()


with no_grad():
    unmoved = np.abs(orderless(seen).numpy() - orderless(turned).numpy()).max()
    moved = np.abs(ordered(seen).numpy() - ordered(turned).numpy()).max()
kept = first_loss(ordered)
ordered.position.weight.data[:] = 0
dropped = first_loss(ordered)
say(f"trained with positions: {kept:.3f}; when they are taken away later: {dropped:.2f}")
say(f"trained without positions: {first_loss(orderless):.3f}; least possible: {floor:.3f}")
say(f"largest change of a logit when the first four tokens are turned round: with positions "
    f"{moved:.2f}, without {unmoved:.1e}")  # fmt: skip

# %% [markdown]
# Without positions the logits do not change when the tokens do, so no training can bring the loss
# below the floor that we counted. (It ends above it, near ln 5 = 1.61: this small model does not
# even tell the last token from the four before it.) Taking the positions from a model that has
# learned to rely on them is worse still.
#
# ## 7. Lose repeated ids
# The commonest bug of home-made embeddings. Backward must add up all that arrives for a row.
# NumPy's `dE[ids] += g` looks as if it did, and keeps only the last.


# %%
def careless_backward(dout: np.ndarray, saved) -> np.ndarray:
    """What `dE[ids] += dout` does: of the gradients for one row, the last one stays."""
    dweight = np.zeros((saved.num_rows, dout.shape[-1]), dout.dtype)
    dweight[saved.ids] += dout
    return dweight


careless = differentiable(lookup_forward, careless_backward, name="careless_lookup")
ids, arriving = np.array([1, 2, 1]), np.array([[1.0, 0.5], [3.0, -1.0], [0.2, 0.1]])
small, small_broken = (Tensor(np.zeros((3, 2)), requires_grad=True, name="E") for _ in range(2))
lookup(small, ids).backward(arriving)
careless(small_broken, ids).backward(arriving)
wrong_rows = np.flatnonzero((small.grad != small_broken.grad).any(axis=1)).tolist()
rows_lost = {
    "row 1": wrong_rows == [1],
    "rows 1 and 2": wrong_rows == [1, 2],
    "rows 0, 1 and 2": wrong_rows == [0, 1, 2],
    "none, for all three gradients arrive": not wrong_rows,
}
(row_lost,) = (text for text, is_so in rows_lost.items() if is_so)
quiz(
    "own-ch16-repeats",
    "The ids 1, 2, 1 are looked up in a table of three rows. In which rows does the gradient of "
    "dE[ids] += g differ from the right one?",
    row_lost,
    options=list(rows_lost),
    because="only an id that stands twice has anything to lose. Row 2 was read once and is right, "
    "row 0 never and stays 0; so a test without repeated ids finds nothing",
)
right = worked.scatter_add("dE", ids, arriving, num_rows=3)
numeric = gradient(Loss(lambda: lookup(small, ids), (), arriving), small)
compare("dE[1], right", hand=right[1], ours=small.grad[1], numeric=numeric[1])
print(f"  careless dE[1] = {small_broken.grad[1].tolist()}: the first gradient is gone")

found = gradcheck(lambda E: careless(E, ids), small, name="careless_lookup")
print(f"  gradcheck passed: {found.passed}")
for cause in found.causes:
    say(f"{cause.name}: {cause.sentence}")

# %% [markdown]
# Does a training run notice? The careless model goes its way, no error, and the loss falls.
# Frequent words suffer most: of the 256 positions of a batch, only as many count as there are
# different words. Untied, with plain gradient descent, so that nothing hides it:


# %%
class Careless(NextToken):
    """NextToken whose lookup loses repeated ids."""

    def __call__(self, ids) -> Tensor:
        return tanh(careless(self.embed.weight, ids) @ self.body) @ self.head.T


def descend(kind: type[NextToken]) -> tuple[np.ndarray, float]:
    """The losses of STEPS steps, and the held-out loss after them."""
    learner = kind(100, 16, tied=False, body=True, rng=0)
    run = train(learner, tokens, SGD(learner.parameters(), lr=1.0), STEPS, batch_size=256, rng=0)
    return run.losses, measure(learner)


(fine_curve, fine), (careless_curve, poor) = descend(NextToken), descend(Careless)
different = np.mean([np.unique(tokens[k : k + 256]).size for k in range(0, 7680, 256)])
after["repeats lost"] = poor
say(f"of 256 positions {different:.0f} words are different: {1 - different / 256:.0%} of the "
    "gradients are lost")  # fmt: skip
early = fine_curve[50:100].mean(), careless_curve[50:100].mean()
print(terminal.table(["loss", "right", "careless"],
                     [["in steps 50 to 100", f"{early[0]:.3f}", f"{early[1]:.3f}"],
                      [f"held out, after {STEPS} steps", f"{fine:.3f}", f"{poor:.3f}"]],
                     right=[1, 2]))  # fmt: skip

# %% [markdown]
# It learns about half as fast, and then comes close. Nobody would suspect a bug in such a curve.
# One call of gradcheck with a repeated id finds it.

# %% [markdown]
# ## The damage in one table
# Before you look: of all that was done, what could slip through a look at the held-out loss?

# %%
costs = {
    "the table untied, and trained on for a hundred steps": after["untied"] - healthy,
    "four columns instead of sixteen": by_width[4] - healthy,
    "the table zeroed": after["zeroed"] - healthy,
    "one row twenty times as long": after["one row x 20"] - healthy,
    "a head of foreign rows": after["foreign head"] - healthy,
}
quiz(
    "own-ch16-quietest",
    "Which of these costs the least held-out loss?",
    min(costs, key=costs.get),
    options=list(costs),
    because=f"{min(costs.values()):.3f} nats; the next one costs {sorted(costs.values())[1]:.2f}. "
    f"And yet the vectors with which a token is read and scored have parted: their cosine is "
    f"{same_token:.2f}",
)
bar = min(4, (terminal.width() - 28) / 12)  # marks for a nat: four, or fewer where it is narrow
for name, loss in after.items():
    print(f"  {name:<16} {loss:7.3f}  {'#' * round(min(loss, 12) * bar)}".rstrip())
print(f"  {'chance':<16} {CHANCE:7.3f}")
check(
    "004-break-it",
    abs(at_the_cut - healthy) < 1e-12
    and same_token < 0.999
    and by_width[1] > by_width[4] > by_width[16]
    and after["shuffled"] > CHANCE
    and abs(restored - healthy) < 1e-9
    and np.ptp(curves["tied, all zero"]) < 1e-12
    and curves["tied, std 0.0001"][-30:].mean() < CHANCE - 1
    and after["one row x 20"] > 2 * healthy
    and unmoved < 1e-9
    and first_loss(orderless) > 0.95 * floor > 5 * kept
    and early[1] > early[0] + 0.1
    and poor > fine
    and not found.passed,
    shown={
        "healthy": healthy,
        "untied, at the cut": at_the_cut,
        "one column": by_width[1],
        "rows shuffled": after["shuffled"],
        "rows shuffled, ids renamed": restored,
        "zeroed, after training on": curves["tied, all zero"][-1],
        "one row twenty times as long": after["one row x 20"],
        "first token, with positions": kept,
        "first token, without": first_loss(orderless),
        "repeated ids kept, steps 50 to 100": early[0],
        "repeated ids lost, steps 50 to 100": early[1],
    },
)

# %% [markdown]
# On the left, every kind of damage beside the line of chance. On the right, the starts (means over
# ten steps): the zero table is the flat line, and a breath of noise is enough to leave it.

# %%
fig, axes = plot.figure(1, 2, size=(14, 4.8))
plot.bars(axes[0], [name.replace(" ", "\n", 1) for name in after], list(after.values()),
          ylabel="held-out loss, nats", title="What each damage costs", fmt="{:.2f}")  # fmt: skip
for text in axes[0].texts:
    text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
axes[0].axhline(CHANCE, color=plot.PALETTE["vermillion"], ls="--", lw=1.2, zorder=0)
axes[0].text(-0.4, CHANCE * 1.06, "chance, ln 100", fontsize=9, color=plot.PALETTE["vermillion"])


def smooth(losses: np.ndarray) -> np.ndarray:
    """Means over ten steps."""
    return np.convolve(losses, np.ones(10) / 10, "valid")


plot.lines(axes[1], np.arange(10, 151), {name: smooth(y[:150]) for name, y in curves.items()},
           xlabel="step", ylabel="loss, nats", title="Starting from (nearly) nothing")  # fmt: skip
save_figure(fig, "ch16_damage.png")

# %% [markdown]
# Left: without positions the curve cannot pass the dotted line. Right: losing repeats costs speed,
# and the ends of the curves hardly differ.

# %%
fig, axes = plot.figure(1, 2, size=(12, 4.4))
plot.lines(axes[0], np.arange(10, 201),
           {"with positions": smooth(with_order), "without": smooth(without_order)},
           xlabel="step", ylabel="loss, nats", title="Which token was the first?")  # fmt: skip
axes[0].axhline(floor, color="grey", ls=":", lw=1)
axes[0].text(200, floor - 0.2, "least possible without the order", ha="right", fontsize=9)
plot.lines(axes[1], np.arange(10, STEPS + 1),
           {"right": smooth(fine_curve), "repeats lost": smooth(careless_curve)},
           xlabel="step", ylabel="loss, nats", title="Repeated ids kept and lost")  # fmt: skip
save_figure(fig, "ch16_order_and_repeats.png")

# %% [markdown]
# ## What to remember
# - Three kinds of damage make no noise: a broken tie, lost repeats, a zero table that waits. Test
#   for shared memory, run gradcheck with repeated ids, and look at the first losses.
# - Geometry without the right names is worth less than nothing.
# - Length multiplies, sign decides.

# %%
verdict()
