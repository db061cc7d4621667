"""The two gradients of a tied table: lecture 18-02, sections 3 and 4, and the reference page."""

import numpy as np

from scratch_embed import SGD, Embedding, Tensor, sizes
from scratch_embed.functional import cross_entropy, lookup, project, tanh
from scratch_embed.gradcheck import slopes
from scratch_embed.lesson.claims import corrected, given, reproduced, values_of
from scratch_embed.ops.cross_entropy import cross_entropy_forward
from scratch_embed.ops.lookup import lookup_backward, lookup_forward
from scratch_embed.ops.project import project_forward

lesson = values_of("ch13_tied_gradient")
E, h, p, dz, scored = lesson.E, lesson.h, lesson.p, lesson.dz, lesson.scored
other = np.array([0.5, 0.9])  # another final state

# ---- example 2 of the lecture: one position, three rows ------------------------------------------


def softmax(z):
    e = np.exp(z)
    return e / e.sum()


def error(h, true=1):
    return softmax(E @ h) - np.eye(3)[true]


reproduced("002-ex2-partials", lambda h: E * h, h, counter=other)
reproduced("002-ex2-logits", lambda h: E @ h, h, counter=other)
reproduced("002-ex2-exp", lambda h: [*np.exp(E @ h), np.exp(E @ h).sum()], h, counter=other)
reproduced("002-ex2-softmax", lambda h: softmax(E @ h), h, counter=other)
reproduced("002-ex2-dz", error, h, 1, counter=(h, 2))
reproduced("002-ex2-grad-e0", lambda h, t: error(h, t)[0] * h, h, 1, counter=(other, 1))
reproduced("002-ex2-grad-e1", lambda h, t: error(h, t)[1] * h, h, 1, counter=(h, 2))
corrected(
    "002-ex2-grad-e2",
    lambda dz2: dz2 * h,
    dz[2],
    counter=0.4231,  # what would have to be multiplied to come to what is printed
    because="0.422731 * 0.5 is 0.211365; a rounded factor was multiplied, and rounded again",
)
reproduced(
    "002-ex2-sum-zero",
    lambda rows: bool(np.abs(rows.sum(axis=0)).max() < 1e-12),
    scored,
    counter=np.round([[0.126, 0.201], [-0.337, -0.539], [0.212, 0.338]], 3),  # as printed
)


def logit_after_a_step(rows, lr=1.0):
    return ((E - lr * rows) @ h)[1]


reproduced(  # the page doubts itself in mid sentence, and ends with this
    "002-ex2-interpretation",
    lambda rows: bool(logit_after_a_step(rows) > (E @ h)[1]),
    scored,
    counter=-scored,  # a step up the gradient
)

# ---- section 3: tying ----------------------------------------------------------------------------

given("002-s3-logit", "a definition: z = h E^T. BERT ties and keeps a bias beside it")
given("002-s3-input-identity", "a definition: h_k stands for the state that enters the layers")
rng = np.random.default_rng(11)
logits, true = rng.normal(size=(6, 5)) * 3, rng.integers(5, size=6)


def slope_is(formula):
    measured = slopes(lambda z: cross_entropy_forward(z, true, reduction="sum")[0], logits)
    return bool(np.abs(measured - formula).max() < 1e-6)


shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
reproduced("002-s3-dz", slope_is, shares - np.eye(5)[true], counter=shares)

numbers, mix = rng.normal(size=(8, 4)) * 0.7, rng.normal(size=(4, 4)) * 0.6
ids, targets = np.array([[1, 4, 1], [6, 2, 4]]), np.array([[4, 1, 2], [2, 4, 0]])


def leaf(array):
    return Tensor(array.copy(), requires_grad=True)


def f(reads, writes):
    """Mean cross-entropy of a model with one layer between reading and scoring."""
    return cross_entropy(project(tanh(lookup(reads, ids) @ mix), writes), targets)


A, B, one = leaf(numbers), leaf(numbers), leaf(numbers)
f(A, B).backward()
f(one, one).backward()


def is_the_tied_gradient(*parts):
    return bool(np.allclose(sum(parts), one.grad, atol=1e-12))


reproduced("002-s3-sum-rule", is_the_tied_gradient, A.grad, B.grad, counter=(A.grad,))
reproduced("002-pit2-two-sources", is_the_tied_gradient, A.grad, B.grad, counter=(B.grad,))


def trained(share, steps=25):
    """How far two tables that begin equal get from a tied one; with `share` both get the sum."""
    A, B, one = leaf(numbers), leaf(numbers), leaf(numbers)
    for _ in range(steps):
        A.grad = B.grad = one.grad = None
        f(A, B).backward()
        f(one, one).backward()
        if share:
            A.grad = B.grad = A.grad + B.grad
        SGD([A, B, one], 0.5).step()
    return max(np.abs(A.data - one.data).max(), np.abs(B.data - one.data).max())


corrected(
    "002-obj-prove",
    lambda share: bool(trained(share) < 1e-9),  # "tied and untied are the same model"
    False,
    counter=True,
    because="only the sum of gradients is shown; equivalence needs tables of one shape, equal "
    "values to begin with, and the sum of both parts for both tables at every step",
)

llama2 = sizes.MODELS["Llama 2 7B"]
V, D = llama2.num_embeddings, llama2.embedding_dim
reproduced("002-s3-savings", lambda V, D: V * D, V, D, counter=(V, 2048))
reproduced("002-s3-savings-share", lambda V: V * D / sizes.llama_params(), V, counter=4 * V)


def saving(V, D, tied):
    return sizes.llama_params(V, D, 2, 4 * D) - sizes.llama_params(V, D, 2, 4 * D, tied=tied)


reproduced("002-sum-savings", lambda tied: saving(777, 32, tied) == 777 * 32, True, counter=False)


def scores(weight):
    try:
        return project_forward(h, weight)[0].shape == (3,)
    except ValueError:
        return False


corrected(
    "002-sum-wout",
    lambda weight: scores(weight.T),
    E,
    counter=E.T,
    because="the summary says W_out is E transposed, the section before it says E; with "
    "z = h W_out^T only E has the shape for it",
)

# ---- section 4: which rows get a gradient --------------------------------------------------------


def rows_with_gradient(ids, V=8):
    _, saved = lookup_forward(numbers, np.asarray(ids))
    dE = lookup_backward(rng.normal(size=(*np.shape(ids), 4)), saved)
    return np.flatnonzero(dE.any(axis=1)).tolist()


reproduced("002-s4-one-row", lambda ids: rows_with_gradient(ids) == [5], 5, counter=[5, 2])
reproduced(
    "002-q3",
    lambda ids: "B" if rows_with_gradient(ids) == [5] else "D",
    5,
    counter=[5, 2, 7],
)
reproduced("002-s4-bs", lambda B, S: B * S, 512, 2048, counter=(512, 512))


def hits(V, tokens, seed=0):
    """How often each row is looked up by a batch whose words follow Zipf's law."""
    weights = 1 / np.arange(1, V + 1)
    return np.random.default_rng(seed).multinomial(tokens, weights / weights.sum())


large, small = hits(32_000, 512 * 2048), hits(32_000, 4 * 128)
distinct = np.bincount(np.arange(500), minlength=32_000)  # 500 tokens, none twice
corrected(
    "002-s4-only-bs-rows",
    lambda hit: np.count_nonzero(hit) == hit.sum(),
    large,
    counter=distinct,
    because="at most the smaller of B S and V, and fewer where tokens repeat: here B S is 33 times "
    f"V, and {np.count_nonzero(large):,} of 32,000 rows are touched",
)
reproduced(
    "002-s4-most-updated",
    lambda hit: bool(np.mean(hit > 0) > 0.5 and hit.max() > 1000 * max(np.median(hit), 1)),
    large,
    counter=small,
)
corrected(
    "002-s4-extremely-sparse",
    lambda hit: bool(np.mean(hit == 0) > 0.9),
    large,
    counter=small,
    because="true of small batches; at the size in the same paragraph nearly every row is touched, "
    "and in a tied table every row is scored",
)
reproduced(  # of the lookup alone; a tied head, which the same page recommends, scores every row
    "001-math-sparse-gradient",
    lambda grad: np.flatnonzero(grad.any(axis=1)).tolist() == np.unique(ids).tolist(),
    A.grad,
    counter=one.grad,
)


def padding_row_after(tied, steps=20):
    embed = Embedding(8, 4, padding_idx=0, rng=3, init=0.5, dtype=np.float64)
    head = embed.weight if tied else Embedding(8, 4, rng=4, init=0.5, dtype=np.float64).weight
    optimizer = SGD(list({id(t): t for t in (embed.weight, head)}.values()), lr=0.1)
    padded, answers = np.array([[0, 3, 0, 5]]), np.array([[3, 0, 5, 1]])
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(project(tanh(embed(padded) @ mix), head), answers, ignore_index=0).backward()
        optimizer.step()
    return embed.weight.data[0]


corrected(
    "001-code-padding-tied",
    lambda tied: "updated" if padding_row_after(tied).any() else "not updated",
    True,
    counter=False,
    because="padding_idx stops the lookup's gradient; the head's arrives all the same, although "
    "padded targets were skipped (ignore_index). Mask the padding's logit instead",
)
