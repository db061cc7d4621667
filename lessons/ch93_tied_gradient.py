# %% [markdown]
# # 11. Two gradients for one table
#
# Chapter 4 tied the table that reads to the table that scores, and saw its gradient come in two
# parts. Here we take the parts to pieces: what the scoring side sends, by hand and to the last
# digit; what the reading side sends; why they add; and what becomes of two promises made for lookup
# tables, that the gradient is sparse and that a padding row stays still.

# %%
import numpy as np

from scratch_embed import SGD, Embedding, Tensor, kernels, plot, sizes
from scratch_embed.functional import cross_entropy, lookup, project, tanh
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import Loss, gradient
from scratch_embed.layers import TiedHead
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    quiz,
    save_figure,
    say,
    verdict,
    worked,
)
from scratch_embed.ops.cross_entropy import cross_entropy_backward, cross_entropy_forward
from scratch_embed.ops.lookup import lookup_backward, lookup_forward
from scratch_embed.ops.onehot import one_hot
from scratch_embed.ops.project import project_backward, project_forward
from scratch_embed.ops.softmax import softmax_forward

begin()


def numeric(loss, tensor: Tensor) -> np.ndarray:
    """The slope of `loss()` by every entry of the tensor, found by nudging it."""
    return gradient(Loss(loss, (), 1.0), tensor)


# %% [markdown]
# ## The scoring side, by hand
# Three tokens, two columns. The final state is $h = [0.5, 0.8]$, and the next token is number 1
# (counted from 0). First the logits $z_j = h \cdot e_j$.

# %%
E = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
h, true = np.array([0.5, 0.8]), 1
z = np.array([worked.dot(f"z[{j}]", h, row) for j, row in enumerate(E)])
ours, saved = project_forward(h, E)
check("002-ex2-partials", E * h, printed="0.05; 0.16; 0.15; 0.32; 0.25; 0.48")
check("002-ex2-logits", ours, printed="0.21; 0.47; 0.73")

# %% [markdown]
# The text also allows a bias, $z = h W_{out}^\top + b$, and then, tying, writes $z = h E^\top$
# without a word about $b$. Tying does not remove it. A bias is one number for each token, the table
# has no part in it, and BERT keeps one beside its tied table.

# %%
biased = TiedHead(Embedding.from_pretrained(0.1 * E), bias=True)
biased.bias.data[:] = [0.3, 0.0, -0.1]
with_bias = biased(h).numpy()
erratum(
    "002-s3-logit",
    np.allclose(ours, z) and np.allclose(with_bias - 0.1 * z, biased.bias.numpy()),
    shown={
        "z, no bias": ours,
        "by how much a tied head with a bias misses h . e": with_bias - 0.1 * z,
        "numbers in that bias, V = 3": biased.bias.size,
    },
    because="the logit is the bare dot product only when the bias is dropped, which the text does "
    "without saying so; BERT ties and keeps it (output_bias in run_pretraining.py)",
)

# %% [markdown]
# Softmax, then its derivative. For the loss $L = -\ln p_t$,
#
# $$\frac{\partial L}{\partial z_j} = p_j - [j = t],$$
#
# because $L = \ln\sum_j e^{z_j} - z_t$: the first term has slope $p_j$, the second $-1$ at $t$.

# %%
exps = np.exp(z)
p = worked.softmax("z", z)
check("002-ex2-exp", [*exps, exps.sum()], printed="1.234; 1.600; 2.075; 4.909")
check("002-ex2-softmax", p, printed="0.251; 0.326; 0.423")
dz = worked.difference("dL/dz = p - onehot(1)", p, one_hot([true], 3)[0])
loss, loss_saved = cross_entropy_forward(z[None], np.array([true]))
check("002-ex2-dz", cross_entropy_backward(np.ones(()), loss_saved)[0],
      printed="0.251; -0.674; 0.423")  # fmt: skip

logits = Tensor(z[None], requires_grad=True, name="z")
cross_entropy(logits, [true]).backward()
slope = numeric(lambda: cross_entropy(logits, [true]), logits)
compare("dz", hand=dz[None], ours=logits.grad, numeric=slope)

rng = np.random.default_rng(11)
many = Tensor(rng.normal(size=(40, 30)) * 3, requires_grad=True, name="many logits")
targets = rng.integers(30, size=40)
cross_entropy(many, targets, reduction="sum").backward()
formula = softmax_forward(many.numpy())[0] - one_hot(targets, 30)
apart = numeric(lambda: cross_entropy(many, targets, reduction="sum"), many) - formula
check(
    "002-s3-dz",
    np.abs(apart).max() < 1e-8 and np.abs(many.grad - formula).max() < 1e-12,
    shown={
        "slopes compared": formula.size,
        "formula and finite difference differ by at most": np.abs(apart).max(),
        "formula and backward differ by at most": np.abs(many.grad - formula).max(),
    },
)

# %% [markdown]
# Now the table. Row $j$ enters the loss through $z_j = h \cdot e_j$ alone, so its gradient is
# $dz_j$ times $h$. All three rows get the same vector, in three amounts.

# %%
dE_out = np.array([worked.scale(f"dE[{j}]", dz[j], h) for j in range(3)])
check("002-ex2-grad-e0", dE_out[0], printed="0.126; 0.201")
check("002-ex2-grad-e1", dE_out[1], printed="-0.337; -0.539")
erratum(
    "002-ex2-grad-e2",
    dE_out[2],
    printed="0.212; 0.338",
    because="0.422731 * 0.5 is 0.211365; the page multiplied the rounded 0.423 and rounded again",
)
dh, dE_ours = project_backward(dz, saved)
table = Tensor(E, requires_grad=True, name="E")


def scoring(weight: Tensor):
    return cross_entropy(project(h[None], weight), [true])


compare("dE, scoring", hand=dE_out, ours=dE_ours, numeric=numeric(lambda: scoring(table), table))

# %% [markdown]
# ## They cancel
# Add the three rows. The amounts $p_j - [j = t]$ sum to $1 - 1 = 0$, so the rows sum to zero in
# every column. What the true row gains in the direction of $h$, the others give. The rounded rows
# of the page miss zero by 0.001, and that is how one notices the wrong digit.

# %%
total = worked.sum("sum of the rows", *dE_out)
rounded = np.array([[0.126, 0.201], [-0.337, -0.539], [0.212, 0.338]]).sum(axis=0)
states = rng.normal(size=(40, 8))
of_many = project_backward(formula, project_forward(states, rng.normal(size=(30, 8)))[1])[1]
check(
    "002-ex2-sum-zero",
    np.abs(total).max() < 1e-15 and np.abs(of_many.sum(axis=0)).max() < 1e-12,
    shown={
        "sum of our rows": np.abs(total).max(),
        "sum of the printed rows, first column": rounded[0],
        "largest column sum, 40 positions and 30 rows": np.abs(of_many.sum(axis=0)).max(),
        "largest entry among those": np.abs(of_many).max(),
    },
)

# %% [markdown]
# Which way does the true row move? Descent **subtracts** the gradient, and $dz_1$ is negative, so
# row 1 gains $0.674\,h$ for a step of size 1.

# %%
after = worked.difference("e_1 - dE[1]", E[1], dE_out[1])
worked.dot("new z[1]", h, after)
stepped = Tensor(E.copy(), requires_grad=True, name="E")
scoring(stepped).backward()
SGD([stepped], lr=1.0).step()
new_z = stepped.numpy() @ h
erratum(
    "002-ex2-interpretation",
    new_z[1] > z[1] and new_z[0] < z[0] and new_z[2] < z[2],
    shown={"z before": z, "z after one step of size 1": new_z,
           "p of the true token, before and after": [p[1], softmax_forward(new_z)[0][1]]},
    because="the page begins by saying that alignment is to be reduced, doubts itself in mid "
    "sentence, and ends with the right answer: the step raises it, from 0.47 to 1.07",
)  # fmt: skip

# %% [markdown]
# ## The reading side
# Where did $h$ come from? Say that token 2 was read, and the body of the model is one matrix:
# $h = e_2 W$ with $W = \mathrm{diag}(1, 4/3)$. That gives the very $h$ above. Then the loss also
# pulls at $h$, $dh = \sum_j dz_j\, e_j$, and through $W$ at row 2.

# %%
W = np.diag([1.0, 4 / 3])
h_again = worked.matmul("h", E[2:], W)[0]
mixture = [worked.scale(f"dz[{j}] e_{j}", dz[j], E[j]) for j in range(3)]
dh_hand = worked.sum("dh", *mixture)
de2 = worked.matmul("read part of dE[2]: dh W.T", dh_hand[None], W.T)[0]
dE_in = np.zeros_like(E)
dE_in[2] = de2
whole = worked.sum("dE[2], read + scored", dE_in[2], dE_out[2])

both = Tensor(E.copy(), requires_grad=True, name="E")


def tied_loss() -> Tensor:
    return cross_entropy(project(lookup(both, [2]) @ W, both), [true])


tied_loss().backward()
compare("dh", hand=dh_hand, ours=dh)
compare("h = e_2 W", hand=h_again, ours=h)
slopes = numeric(tied_loss, both)
for j in range(3):
    compare(f"dE[{j}], tied", hand=dE_in[j] + dE_out[j], ours=both.grad[j], numeric=slopes[j])

# %% [markdown]
# Now one that can be done in the head. The lecture that this example comes from ended in three
# problems, and the page has lost them. In their places stand problems of our own, here and in
# lesson 12. The first: two tokens, and nothing between reading and scoring, so $h$ is the row read.

# %%
P1 = Tensor(np.array([[2.0, 0.0], [2.0, 4.0]]), requires_grad=True, name="E")


def first_problem() -> Tensor:
    return cross_entropy(project(lookup(P1, [0]), P1), [1])


first_problem().backward()
rows_of_p1 = {
    "[1, 0]": np.allclose(P1.grad[0], [1, 0]),
    "[0, -2]": np.allclose(P1.grad[0], [0, -2]),
    "[1, -2]": np.allclose(P1.grad[0], [1, -2]),
    "[0.5, -1]": np.allclose(P1.grad[0], [0.5, -1]),
}
(row_of_p1,) = (text for text, is_so in rows_of_p1.items() if is_so)
quiz(
    "own-p1-tied",
    "In place of Problem 1: E has the rows e_0 = [2, 0] and e_1 = [2, 4] and is tied. Token 0 is "
    "read, h = e_0, and token 1 comes next. What is the gradient of row 0?",
    row_of_p1,
    options=list(rows_of_p1),
    because="both logits are 4, so p = [0.5, 0.5] and dz = [0.5, -0.5]. Row 0 was scored, which "
    "sends 0.5 h, and it was read, which sends dh. The two add; either alone is half the story",
)
p1_dz = worked.softmax("z", P1.numpy() @ P1.numpy()[0]) - one_hot([1], 2)[0]
p1_scored = worked.scale("scored: dz[0] h", p1_dz[0], P1.numpy()[0])
p1_read = worked.sum("read: dh = dz[0] e_0 + dz[1] e_1", *(p1_dz[:, None] * P1.numpy()))
p1_row = worked.sum("dE[0]", p1_scored, p1_read)
compare("problem 1, dE[0]", hand=p1_row, ours=P1.grad[0], numeric=numeric(first_problem, P1)[0])

# %% [markdown]
# The text writes the reading side with $h_k = e_t$, and the scoring side with $h_n$. Two things
# have one letter: $h_k$ is the state **before** the first layer, $h_n$ the state after the last.
# Before the layers the step back is the identity, even when a position is added. To get there, the
# gradient passes all layers.

# %%
body = np.tanh(rng.normal(size=(2, 2)))
entering = lookup_forward(E, np.array([2]))[0]
leaving = np.tanh(entering @ body)
shift = Tensor(np.zeros(2), requires_grad=True, name="position")
row = Tensor(E[2], requires_grad=True, name="e_2")
arriving = rng.normal(size=2)
(row + shift + np.array([0.05, -0.05])).backward(arriving)
erratum(
    "002-s3-input-identity",
    np.array_equal(entering[0], E[2])
    and not np.allclose(leaving[0], E[2])
    and np.array_equal(row.grad, arriving),
    shown={
        "first state - e_2": np.abs(entering[0] - E[2]).max(),
        "last state - e_2, one layer": np.abs(leaving[0] - E[2]).max(),
        "gradient at e_2 - gradient at e_2 + position": np.abs(row.grad - arriving).max(),
    },
    because="h_k = e_t is the state that enters the first layer (and without positions); the h of "
    "the logits is the one that leaves the last, for which it does not hold",
)

# %% [markdown]
# ## Why the parts add: a proof, and its conditions
# Let $f(A, B)$ be the loss of a model that reads with $A$ and scores with $B$, and $a$, $b$ its
# gradients by the two. The tied model's loss is $g(E) = f(E, E)$. Nudge $E$ by a small $\Delta$:
# both arguments move, and to first order
#
# $$g(E + \Delta) - g(E) = a \cdot \Delta + b \cdot \Delta = (a + b) \cdot \Delta,$$
#
# so the gradient of $g$ is the sum of the two. Nothing was used about what lies between.
#
# What must hold for $f(E, E)$ to make sense? The two tables must have one **shape**: the same
# vocabulary in the same order, and a final state as wide as a row. A model whose last layer has
# another width cannot tie without one more matrix.

# %%
ids, targets = np.array([[1, 4, 1], [6, 2, 4]]), np.array([[4, 1, 2], [2, 4, 0]])
numbers = rng.normal(size=(8, 4)) * 0.7
mix = Tensor(rng.normal(size=(4, 4)) * 0.6, requires_grad=True, name="W")


def f(reads, writes) -> Tensor:
    """Mean cross-entropy of a model with one layer between reading and scoring."""
    return cross_entropy(project(tanh(lookup(reads, ids) @ mix), writes), targets)


def leaf(array: np.ndarray, name: str) -> Tensor:
    return Tensor(array.copy(), requires_grad=True, name=name)


A, B, one = leaf(numbers, "A"), leaf(numbers, "B"), leaf(numbers, "E")
f(A, B).backward()
f(one, one).backward()
slope_A, slope_B = numeric(lambda: f(A, B), A), numeric(lambda: f(A, B), B)
slope_one = numeric(lambda: f(one, one), one)
for v, note in ((1, "read twice"), (6, "read once"), (7, "never read")):
    worked.sum(f"dE[{v}] = read + scored", A.grad[v], B.grad[v])
    compare(f"dE[{v}], {note}", hand=A.grad[v] + B.grad[v], ours=one.grad[v], numeric=slope_one[v])
check(
    "002-s3-sum-rule",
    np.allclose(slope_A + slope_B, slope_one, atol=1e-9)
    and np.allclose(A.grad + B.grad, one.grad, atol=1e-12),
    shown={
        "slope by A + slope by B - slope by both": np.abs(slope_A + slope_B - slope_one).max(),
        "the same of the gradients": np.abs(A.grad + B.grad - one.grad).max(),
        "|read part|": np.linalg.norm(A.grad),
        "|scored part|": np.linalg.norm(B.grad),
    },
)
print(gradcheck(f, one, one, name="tied").raise_if_wrong())

# %% [markdown]
# For the second lost problem, take the model with eight rows once more, tied. Its gradient has a
# row for each token. Add up all eight of them.

# %%
sums_of_rows = {name: grad.sum(axis=0) for name, grad in
                {"read": A.grad, "scored": B.grad, "tied": one.grad}.items()}  # fmt: skip
what_is_left = {
    "zero, for the rows cancel": np.allclose(sums_of_rows["tied"], 0),
    "the sum of the reading part alone":
        np.allclose(sums_of_rows["tied"], sums_of_rows["read"]) and sums_of_rows["read"].any(),
    "the sum of the scoring part alone":
        np.allclose(sums_of_rows["tied"], sums_of_rows["scored"]),
    "twice the sum of the reading part":
        np.allclose(sums_of_rows["tied"], 2 * sums_of_rows["read"]),
}  # fmt: skip
(left_over,) = (text for text, is_so in what_is_left.items() if is_so)
quiz(
    "own-p2-row-sum",
    "In place of Problem 2: the rows of a tied gradient are added up. What comes out?",
    left_over,
    options=list(what_is_left),
    because="the rows that scoring sends cancel, at every position, since dz sums to 0. Nothing "
    "makes those of reading cancel: each is what arrived at a position",
)
for name, of_rows in sums_of_rows.items():
    print(f"  sum of all rows, {name:<7} {(of_rows.round(6) + 0.0).tolist()}")

# %% [markdown]
# A bug worth planting: hand the head the bare array instead of the tensor. The numbers are shared,
# the loss is right, and the scoring part of the gradient is lost. gradcheck moves the numbers, so
# it notices, and says why.

# %%
forgot = gradcheck(lambda E: f(E, E.numpy()), one, name="head given the bare array")
print(f"  passed: {forgot.passed}")
for cause in forgot.causes:
    say(f"{cause.name}: {cause.sentence}")

# %% [markdown]
# And equivalence? An untied model with equal tables has the tied model's loss, for as long as its
# tables are equal. Give both tables the **sum** at every step, and it stays the tied model for
# ever. Give each its own part, as training does, and the two go apart at the first step.


# %%
def steps(count: int, share: bool, lr: float = 0.5) -> np.ndarray:
    """(2, V, D): two tables trained from equal starts; with `share`, both follow the sum."""
    A, B = leaf(numbers, "A"), leaf(numbers, "B")
    for _ in range(count):
        A.grad = B.grad = None
        f(A, B).backward()
        if share:
            A.grad = B.grad = A.grad + B.grad
        SGD([A, B], lr).step()
    return np.stack([A.numpy(), B.numpy()])


single = leaf(numbers, "E")
for _ in range(25):
    single.grad = None
    f(single, single).backward()
    SGD([single], 0.5).step()
together, alone = steps(25, share=True), steps(25, share=False)
try:
    project_forward(np.zeros((1, 6)), numbers)
    refused = ""
except ValueError as error:
    refused = str(error)
say(f"a state of 6 numbers for rows of 4: {refused}")
erratum(
    "002-obj-prove",
    np.allclose(together, single.numpy(), atol=1e-9)
    and np.abs(alone[0] - alone[1]).max() > 0.01
    and bool(refused),
    shown={
        "25 steps, both given the sum: from the tied table": np.abs(together - single.data).max(),
        "25 steps, each given its part: from each other": np.abs(alone[0] - alone[1]).max(),
        "shape of a state that a (8, 4) table cannot score": "(1, 6)",
    },
    because="a proof of equivalence with its conditions is promised, and only the sum of gradients "
    "shown; it needs tables of one shape (so a final state as wide as a row), equal values to "
    "begin with, and the sum for both",
)

# %% [markdown]
# That is a change of dynamics, not of bookkeeping. A small step of size $\eta$ lowers the untied
# loss by $\eta(|a|^2 + |b|^2)$, and the tied one by $\eta |a + b|^2$, which is
# $\eta(|a|^2 + |b|^2 + 2 a \cdot b)$. Parts that agree speed each other up.

# %%
eta, a, b = 1e-6, A.grad, B.grad
fall_untied = (f(A, B).item() - f(numbers - eta * a, numbers - eta * b).item()) / eta
moved = numbers - eta * (a + b)
fall_tied = (f(A, B).item() - f(moved, moved).item()) / eta
compare("fall per step size, untied", hand=(a * a + b * b).sum(), numeric=fall_untied, rtol=1e-4)
compare("fall per step size, tied", hand=((a + b) ** 2).sum(), numeric=fall_tied, rtol=1e-4)
unread = np.setdiff1d(np.arange(8), ids)
check(
    "002-pit2-two-sources",
    np.allclose(a + b, one.grad) and np.linalg.norm(a) > 0.01 and np.linalg.norm(b) > 0.01
    and np.abs(single.numpy() - numbers)[unread].min() > 0
    and not np.abs(alone[0] - numbers)[unread].any(),
    shown={
        "|read part|": np.linalg.norm(a),
        "|scored part|": np.linalg.norm(b),
        "2 a.b, by which the tied step differs": 2 * (a * b).sum(),
        "never read rows, moved in 25 untied steps": np.abs(alone[0] - numbers)[unread].max(),
        "the same, tied": np.abs(single.numpy() - numbers)[unread].max(),
    },
)  # fmt: skip

# %% [markdown]
# ## E or its transpose
# Is it $W_{out} = E$ or $W_{out} = E^\top$? Shapes decide. With $z = h W_{out}^\top$ and $h$ of
# length $D$, $W_{out}$ is $(V, D)$, which is the shape of $E$. The transpose is in the formula
# already.

# %%
scored = project_forward(h, E)[0]
try:
    project_forward(h, E.T)
    complaint = ""
except ValueError as error:
    complaint = str(error)
say(f"W_out = E.T: {complaint}")
erratum(
    "002-sum-wout",
    scored.shape == (3,) and bool(complaint),
    shown={
        "shape of E": str(E.shape),
        "shape of h W_out.T with W_out = E": str(scored.shape),
        "shape of E transpose, which does not fit h": str(E.T.shape),
    },
    because="the summary says W_out is E transposed, the section before it says E; with "
    "z = h W_out^T only E has the shape for it",
)

# %% [markdown]
# What one shared table saves, in numbers and as a share of the model:

# %%
llama2 = sizes.MODELS["Llama 2 7B"]
saved_params = worked.product("V D", llama2.num_embeddings, llama2.embedding_dim)
share = worked.quotient("of all numbers", saved_params, sizes.llama_params())
check("002-s3-savings", saved_params, printed="131 M")
check("002-s3-savings-share", share, printed="~2 %")
differences = {
    name: sizes.llama_params(V, D, 2, 4 * D) - sizes.llama_params(V, D, 2, 4 * D, tied=True)
    for name, (V, D) in {"V = 1000, D = 64": (1000, 64), "V = 777, D = 32": (777, 32)}.items()
}
check(
    "002-sum-savings",
    list(differences.values()) == [1000 * 64, 777 * 32],
    shown={f"untied minus tied, {name}": count for name, count in differences.items()},
)

# %% [markdown]
# ## Sparse, until it is tied
# For one position and one lookup, exactly one row gets a gradient, and it is what arrived.

# %%
out, one_saved = lookup_forward(numbers, np.array(5))
arriving = rng.normal(size=4)
one_row = lookup_backward(arriving, one_saved)
worked.scatter_add("dE", [5], arriving[None], num_rows=8)
compare("dE[5], one lookup", hand=arriving, ours=one_row[5])
check(
    "002-s4-one-row",
    np.array_equal(one_row[5], arriving) and np.flatnonzero(one_row.any(axis=1)).tolist() == [5],
    shown={"rows with a gradient": np.flatnonzero(one_row.any(axis=1)), "of": len(one_row)},
)
touched = set(np.flatnonzero(one_row.any(axis=1)).tolist())
sequence = {5, 2, 7}
meanings = {
    "all rows, in proportion": touched == set(range(8)),
    "row t alone": touched == {5},
    "rows t - 1, t and t + 1": touched == {4, 5, 6},
    "all rows of the sequence's tokens": touched == sequence,
}
quiz(
    "002-q3",
    "One position k holds token t. Which rows of E get a gradient from that position's lookup?",
    answer=next(text for text, so in meanings.items() if so),
    options=list(meanings),
    because="the lookup copies row t, so what arrives goes to row t; the sequence's other rows get "
    "theirs from their own positions",
    printed="B",
)

# %% [markdown]
# The page goes on with its question 5; the fourth is lost. Ours is about several positions, and
# what becomes of an id that stands at two of them.

# %%
six_ids, six_gradients = np.array([1, 4, 1, 6, 2, 4]), np.arange(1.0, 7.0)[:, None]
of_six = lookup_backward(six_gradients, lookup_forward(np.zeros((8, 1)), six_ids)[1])
quiz(
    "own-q4-repeats",
    "In place of Q4: the ids 1, 4, 1, 6, 2, 4 are looked up in a table of eight rows and one "
    "column, and the gradients 1, 2, 3, 4, 5, 6 arrive, in this order. What is the gradient of "
    "row 4?",
    of_six[4, 0],
    tolerance=0,
    because="id 4 is second and last, so 2 and 6 arrive, and they add: a changed row changes both "
    f"places. The last alone would be 6, the mean 4. {np.count_nonzero(of_six)} of the 8 rows have "
    "a gradient, for 6 positions hold that many different ids",
)
worked.scatter_add("dE", six_ids, six_gradients, num_rows=8)

# %% [markdown]
# A training batch is larger: $B$ = 512 sequences of $S$ = 2,048 tokens. How many rows does it
# touch? Not more than there are, whatever $B\,S$ says. To count, we draw that many tokens by Zipf's
# law, in which word $r$ comes with probability proportional to $1/r$. Each row is hit a number of
# times; one multinomial draw gives all the numbers.

# %%
positions = worked.product("B S", 512, 2048)
check("002-s4-bs", positions, printed="1 M")


def hits(num_rows: int, tokens: int, seed: int = 0) -> np.ndarray:
    """How often each row is looked up by a batch of Zipf-distributed tokens."""
    weights = 1 / np.arange(1, num_rows + 1)
    return np.random.default_rng(seed).multinomial(tokens, weights / weights.sum())


def expected_rows(num_rows: int, tokens: int) -> float:
    """The mean number of rows hit: sum of 1 - (1 - p)^tokens."""
    weights = 1 / np.arange(1, num_rows + 1)
    return float(-np.expm1(tokens * np.log1p(-weights / weights.sum())).sum())


large, larger, few = hits(32_000, positions), hits(100_000, positions), hits(32_000, 4 * 128)
for name, count in {"V =  32,000, 512 x 2,048": large, "V = 100,000, 512 x 2,048": larger,
                    "V =  32,000,   4 x   128": few}.items():  # fmt: skip
    reached = np.count_nonzero(count)
    print(f"  {name}: {reached:>6,} rows touched, {reached / len(count):6.1%}, "
          f"{expected_rows(len(count), count.sum()):>8,.0f} expected")  # fmt: skip
erratum(
    "002-s4-only-bs-rows",
    np.count_nonzero(large) <= len(large) < positions and np.count_nonzero(few) < 4 * 128,
    shown={
        "B S": positions,
        "rows in the table": len(large),
        "rows touched": np.count_nonzero(large),
        "rows touched by 4 x 128 tokens": np.count_nonzero(few),
    },
    because="it is at most the smaller of B S and V, and less where tokens repeat: here B S is 33 "
    "times V",
)
check(
    "002-s4-most-updated",
    np.count_nonzero(large) > 0.9 * len(large) and np.count_nonzero(larger) > 0.6 * len(larger)
    and large.max() > 1000 * np.median(large),
    shown={
        "share of 32,000 rows touched": np.count_nonzero(large) / len(large),
        "share of 100,000 rows touched": np.count_nonzero(larger) / len(larger),
        "hits of the most frequent row": large.max(),
        "hits of the median row": np.median(large),
    },
)  # fmt: skip
erratum(
    "002-s4-extremely-sparse",
    np.count_nonzero(large) > 0.9 * len(large) and np.count_nonzero(few) < 0.05 * len(few),
    shown={
        "rows without gradient, 512 x 2,048 tokens": np.mean(large == 0),
        "rows without gradient, 4 x 128 tokens": np.mean(few == 0),
        "rows without gradient, tied": np.mean(~one.grad.any(axis=1)),
    },
    because="sparse for one position and for small batches; at the size in the same paragraph "
    "nearly every row is touched, and in a tied table every row is scored",
)

# %% [markdown]
# Tied, the count is simply $V$. In numbers, for the model with eight rows: the lookup reaches those
# that were read, and the projection reaches all.

# %%
sparse_reads = Embedding.from_pretrained(numbers.copy(), freeze=False, sparse=True)
sparse_loss = cross_entropy(project(tanh(sparse_reads(ids) @ mix), numbers), targets)
sparse_loss.backward()
kept_apart = sparse_reads.weight.grad
print(f"  untied: {kept_apart!r}"[:100])
compare("rows that were read, as RowGrad", hand=kernels.gather(A.grad, kept_apart.rows),
        ours=kept_apart.values)  # fmt: skip
erratum(
    "001-math-sparse-gradient",
    kept_apart.rows.tolist() == np.unique(ids).tolist()
    and np.count_nonzero(one.grad.any(axis=1)) == len(one),
    shown={
        "rows in the batch": np.unique(ids).size,
        "rows with a gradient, untied": len(kept_apart.rows),
        "rows with a gradient, tied": np.count_nonzero(one.grad.any(axis=1)),
        "rows of the table": len(one),
    },
    because="true untied. The same page recommends tying, and a tied head scores every row",
)

# %% [markdown]
# ## A padding row does not stay still
# `padding_idx=0` promises a row of zeros that learns nothing. It can promise that for lookups only.
# The head scores row 0 too, like any other. A row of zeros has the logit 0 for every $h$, which is
# no low score, and so it collects $p_0\,h$ from every position.

# %%
padded, answers = np.array([[0, 3, 0, 5]]), np.array([[3, 0, 5, 1]])


def padding_norms(tied: bool, mask: bool = False) -> tuple[float, float, float]:
    """Norm of the padding row at the start, of its gradient, and of the row 50 steps later."""
    embed = Embedding(8, 4, padding_idx=0, rng=3, init=0.5, dtype=np.float64)
    head = embed.weight if tied else Embedding(8, 4, rng=4, init=0.5, dtype=np.float64).weight
    bias = np.array([-np.inf if mask else 0.0] + [0.0] * 7)  # a logit of -inf has probability 0
    optimizer = SGD({embed.weight, head}, lr=0.1)
    at_start, gradient_norm = float(np.linalg.norm(embed.weight.data[0])), None
    for _ in range(50):
        optimizer.zero_grad()
        hidden = tanh(embed(padded) @ mix.data)
        cross_entropy(project(hidden, head, bias), answers, ignore_index=0).backward()
        if gradient_norm is None:
            gradient_norm = float(np.linalg.norm(embed.weight.grad[0]))
        optimizer.step()
    return at_start, gradient_norm, float(np.linalg.norm(embed.weight.data[0]))


table_of = {"untied": padding_norms(tied=False), "tied": padding_norms(tied=True),
            "tied, masked": padding_norms(tied=True, mask=True)}  # fmt: skip
print("  padding row      at the start   its first gradient   after 50 steps")
for name, norms in table_of.items():
    print(f"  {name:<16} {norms[0]:12.4f} {norms[1]:20.4f} {norms[2]:16.4f}")
taken_over = Embedding.from_pretrained(rng.normal(size=(8, 4)) * 0.4, freeze=False, padding_idx=0)
erratum(
    "001-code-padding-tied",
    table_of["untied"][1:] == (0.0, 0.0) and table_of["tied"][1] > 1e-3
    and table_of["tied"][2] > 1e-2 and table_of["tied, masked"][1:] == (0.0, 0.0),
    shown={
        "gradient of the padding row, untied": table_of["untied"][1],
        "gradient of the padding row, tied": table_of["tied"][1],
        "norm of the row after 50 tied steps": table_of["tied"][2],
        "the same with the padding's logit masked": table_of["tied, masked"][2],
        "norm at the start, where the table took over the head's array":
            np.linalg.norm(taken_over.weight.data[0]),
    },
    because="padding_idx stops the lookup's gradient; the head's arrives all the same, although "
    "padded targets were skipped (ignore_index). Take the padding's logit out instead",
)  # fmt: skip

# %% [markdown]
# The cure in the last line gives the padding token a logit of $-\infty$. Then $p_0 = 0$, so its
# gradient is exactly zero, and the model never predicts padding either. Setting `grad[0] = 0`
# before each step would keep the row still but leave it a probability of its own.
#
# ## Pictures
# The two parts and their sum, for the model with eight rows. On the left, rows 0, 3, 5 and 7 were
# never read. In the middle every row has its share, and each column sums to zero. (Each panel has a
# colour scale of its own.)

# %%
fig, axes = plot.figure(1, 3, size=(13, 4.8))
for ax, part, title in zip(axes, (A.grad, B.grad, one.grad), (
        "from reading", "from scoring", "their sum: the tied gradient")):  # fmt: skip
    plot.heatmap(ax, 100 * part, digits=1, xlabel="column", ylabel="row of E", title=title,
                 label="gradient, hundredths")  # fmt: skip
save_figure(fig, "ch11_two_parts.png")

# %% [markdown]
# And how many rows a batch touches, as it grows. Notice how early the curves leave the line of a
# batch without repeats, for frequent words repeat, and how long the last rare rows take.

# %%
counts = 2 ** np.arange(4, 22)
fig, ax = plot.figure(size=(7.5, 4.6))
shares = {f"untied, V = {V:,}": [expected_rows(V, n) / V for n in counts]
          for V in (32_000, 100_000)}  # fmt: skip
shares["no token twice, V = 32,000"] = np.minimum(counts / 32_000, 1)
shares["tied, any V"] = np.ones(len(counts))
plot.lines(ax, counts, shares, logx=True, xlabel="tokens in the batch, B S",
           ylabel="share of rows with a gradient", title="Sparse for small batches")  # fmt: skip
ax.axvline(positions, color="grey", lw=0.8, ls=":")
ax.text(positions * 0.9, 0.05, "512 x 2,048", ha="right", fontsize=9)
save_figure(fig, "ch11_rows_touched.png")

# %% [markdown]
# ## What to remember
# - Scoring sends $(p_j - [j = t])\,h$ to every row, and these sum to zero. Reading sends what
#   arrives to the rows that were read.
# - Tied, the two add, because both arguments move together.
# - A tied gradient is dense, and reaches the padding row.

# %%
verdict()
