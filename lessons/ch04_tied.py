# %% [markdown]
# # 4. One table, two jobs
#
# A language model ends as it begins, at its vocabulary. It reads an id and fetches a row; at the
# end it holds a vector $h$ and wants a score for every token. Scoring takes one row for each token,
# and a table of that shape exists already. May we use it again?
#
# That is weight tying (Press & Wolf 2017; Inan, Khosravi & Socher 2017). This lesson scores by
# hand, ties, counts what is saved, follows both gradients, breaks the start of training and mends
# it, and then trains tied and untied models side by side.

# %%
import tracemalloc
import warnings

import numpy as np

from scratch_embed import SGD, Adam, Embedding, Tensor, geometry, plot, sizes
from scratch_embed.functional import cross_entropy, lookup, project, tanh
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import Loss, gradient
from scratch_embed.layers import TiedHead
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    progress,
    quiz,
    reference,
    save_figure,
    show_trace,
    verdict,
    worked,
)
from scratch_embed.models import NextToken, train
from scratch_embed.ops.norm import layer_norm_forward
from scratch_embed.ops.onehot import one_hot
from scratch_embed.ops.project import project_forward
from scratch_embed.ops.softmax import softmax_forward
from scratch_embed.simulations import tied as switch
from scratch_embed.sizes import MODELS
from scratch_embed.text import toy

begin()


def numeric(loss, tensor: Tensor) -> np.ndarray:
    """The slope of `loss()` by every entry of the tensor, found by nudging it."""
    return gradient(Loss(loss, (), 1.0), tensor)


# %% [markdown]
# ## Which token does the hidden state mean?
# Four tokens, three columns. The model has read something, and its last layer says
# $h = [0.6, 0.1, 0.3]$. The score of a token, its **logit**, is the dot product of $h$ with the
# token's row: $z_j = h \cdot e_j$.

# %%
words = ["the", "cat", "sat", "on"]
E = np.array([[0.5, 0.3, -0.1], [0.8, -0.2, 0.4], [0.1, 0.9, 0.3], [-0.3, 0.5, 0.6]])
h = np.array([0.6, 0.1, 0.3])
by_hand = np.array([worked.dot(f"z[{word}]", h, row) for word, row in zip(words, E)])

logits, saved = project_forward(h, E)
check("000-ch4-logits-the", logits[0], printed="0.30")
check("000-ch4-logits-cat", logits[1], printed="0.58")
check("000-ch4-logits-sat", logits[2], printed="0.24")
check("000-ch4-logits-on", logits[3], printed="0.05")
check("000-ch4-argmax", f"token {logits.argmax()}", printed="token 1")

# %% [markdown]
# All four at once are one product, $z = h E^\top$: from $D$ numbers to $V$. A transpose, and
# nothing else, turns the table that reads into the table that scores.

# %%
shape = {"shape of h": str(h.shape), "of W_out": str(E.shape), "of the logits": str(logits.shape)}
one_by_one = np.einsum("d,vd->v", h, E)  # the sum over d of h[d] E[v, d]
by_layer = TiedHead(Embedding.from_pretrained(E))(h).numpy()
both_ways = {"sums over d of h[d] E[v, d]": one_by_one, "by the layer": by_layer}
check("000-ch4-logits-shape", logits.shape == E.shape[:1] and h.shape == E.shape[1:], shown=shape)
check("001-math-tied-logits", np.allclose(by_layer, h @ E.T, rtol=1e-14), shown=shape)
check("003-tie-logit", np.allclose(by_hand, logits, rtol=1e-14), shown={"by hand": by_hand})
check("004-tied-logits", np.allclose(one_by_one, by_layer, rtol=1e-14), shown=both_ways)

# %% [markdown]
# Is "cat" the row that points most nearly where $h$ points? The cosine says so.

# %%
cosines = [worked.cosine(f"cos(h, {word})", h, row) for word, row in zip(words, E)]
check("000-ch4-most-similar", words[int(np.argmax(cosines))], printed="cat")

# %% [markdown]
# But the logit is no cosine. It is the cosine times both lengths, $|h|\,|e_j|\cos$, and a row can
# win by being long. We double the row of "the", which turns it in no direction at all:

# %%
longer = E * np.array([[2], [1], [1], [1]])
worked.dot("z[the], twice as long", h, longer[0])
print("  cosines stay:  ", ", ".join(f"{geometry.cosine(h, row):.3f}" for row in longer))
print(f"  highest logit:  {words[int(np.argmax(h @ longer.T))]}")

rng = np.random.default_rng(4)
wins = {name: [] for name in ("dot", "angle", "distance")}
for _ in range(500):
    table, state = rng.normal(size=(20, 6)), rng.normal(size=6)
    predicted = softmax_forward(table @ state)[0].argmax()
    wins["dot"].append(predicted == (table @ state).argmax())
    wins["angle"].append(predicted == (table @ state / np.linalg.norm(table, axis=1)).argmax())
    wins["distance"].append(predicted == np.linalg.norm(table - state, axis=1).argmin())
meanings = {
    "its row makes the smallest angle with h": np.mean(wins["angle"]),
    "its row lies nearest to h": np.mean(wins["distance"]),
    "h reaches further along its row than along others: direction and length together":
        np.mean(wins["dot"]),
}  # fmt: skip
print("  how often each reading names the predicted token, in 500 random tables:")
for reading, share in meanings.items():
    print(f"    {share:6.1%}  {reading}")
quiz(
    "004-geometric-meaning",
    "What does it mean, in pictures, that token j is predicted with high probability?",
    answer=max(meanings, key=meanings.get),
    options=list(meanings),
    because="z_j = |h| |e_j| cos(h, e_j), and softmax keeps the order of the logits; angle or "
    "distance alone name another token in a good part of random tables",
)

# %% [markdown]
# ## Neighbours are predicted together
# What happens to the score when we go from one row to a close one? It changes by
# $h \cdot (e_i - e_j)$, and by Cauchy and Schwarz that is at most $|h|\,|e_i - e_j|$. Near rows
# cannot have far scores.

# %%
gap = worked.difference("cat - the", E[1], E[0])
change = worked.dot("z[cat] - z[the]", h, gap)
limit = worked.product("|h| |cat - the|", worked.norm("|h|", h), worked.norm("|cat - the|", gap))

table, states = rng.normal(size=(60, 8)), rng.normal(size=(200, 8))
scores = states @ table.T
differences = np.abs(scores[:, :, None] - scores[:, None, :])
allowed = np.linalg.norm(states, axis=1)[:, None, None] * geometry.distances(table)[None]
used = (differences / np.where(allowed > 0, allowed, np.inf)).max()
check(
    "000-ch4-close-rows-close-logits",
    abs(change) <= limit and used <= 1,
    shown={"|z[cat] - z[the]|": abs(change), "allowed": limit,
           "pairs of random rows tried": differences.size,
           "largest share of the allowed difference that was used": used},
)  # fmt: skip

# %% [markdown]
# So a tied model that has learned to put "kitten" beside "cat" must, wherever it expects the one,
# give some chance to the other. We shall see it in a trained model below.
#
# ## The tie
# In code, tying is one assignment. The head does not hold a copy of the table. It holds the table.

# %%
vocab_size, d_model = 2000, 64
tracemalloc.start()
embed = Embedding(vocab_size, d_model, rng=0, init=0.02)
with_table = tracemalloc.get_traced_memory()[0]
head = TiedHead(embed)
added = tracemalloc.get_traced_memory()[0] - with_table
tracemalloc.stop()


def address(tensor: Tensor) -> int:
    """Where in memory the first number lies: what PyTorch calls data_ptr()."""
    return tensor.numpy().__array_interface__["data"][0]


print(f"  embed.weight at {address(embed.weight):#x}, head.weight at {address(head.weight):#x}")
check("000-ch4-same-pointer", address(embed.weight) == address(head.weight), printed="True")
shared = np.shares_memory(embed.weight.numpy(), head.weight.numpy())
check(
    "000-ch4-demo-memory",
    shared and added < embed.weight.numpy().nbytes / 100,
    shown={"bytes of our table, (2000, 64) in float32": embed.weight.numpy().nbytes,
           "bytes that the head added": added,
           "MiB of the page's own table, (32000, 4096) in float32":
               sizes.mib(sizes.table_bytes(32_000, 4096, "float32"))},
)  # fmt: skip

# %% [markdown]
# How is such a tie broken by accident? In NumPy, `W = E` is a second name for one array,
# `E -= step` changes that array in place, and `E = E - step` makes a new one and moves only the
# name. An optimiser must therefore work in place. Ours does, so after a step both ends still agree.

# %%
first = np.ones((2, 2))
alias, copied = first, first.copy()
first -= 0.5
kept = np.shares_memory(first, alias)
first = first - 0.5
print(f"  W = E            after `E -= step`    shared: {kept}")
print(f"  W = E            after `E = E - step` shared: {np.shares_memory(first, alias)}")
print(f"  W = E.copy()     from the start       shared: {np.shares_memory(copied, alias)}")

optimizer = SGD([*embed.parameters(), *head.parameters()], lr=1.0)
cross_entropy(head(embed([3, 5])), [5, 9]).backward()
before = head.weight.numpy()[5].copy()
optimizer.step()
moved = np.abs(head.weight.numpy()[5] - before).max()
print(f"  tensors the optimiser holds: {len(optimizer.params)} (given twice, stepped once)")
print(f"  row 5 of the head moved by {moved:.3g}; it still is row 5 of the table: "
      f"{np.array_equal(head.weight.numpy()[5], embed.weight.numpy()[5])}")  # fmt: skip

# %% [markdown]
# ## Two paths back
# The loss now reaches the table on two ways. Let us first stand at the end: the true next word is
# "sat", and $h$ is given. With $p$ = softmax($z$) the loss is $-\ln p_{sat}$, its gradient by $z$
# is $p$ minus the one-hot code of "sat", each row of the table gets its part of that times $h$, and
# $h$ gets the mixture of rows.

# %%
p = worked.softmax("z", by_hand)
worked.cross_entropy("loss", by_hand, 2)
dz = p - one_hot([2], 4)[0]
dE_hand = np.outer(dz, h)
for j, word in enumerate(words):
    worked.scale(f"dE[{word}]", dz[j], h)
dh_hand = dz @ E

end, table = Tensor(h, requires_grad=True, name="h"), Tensor(E, requires_grad=True, name="E")


def end_loss() -> Tensor:
    return cross_entropy(project(end, table).reshape(1, 4), [2])


end_loss().backward()
compare("dE, the end alone", hand=dE_hand, ours=table.grad, numeric=numeric(end_loss, table))
compare("dh", hand=dh_hand, ours=end.grad, numeric=numeric(end_loss, end))

# %% [markdown]
# In a whole model $h$ itself was made from rows of the same table. Here is the smallest that has
# something in between: seven tokens, five positions, and $h = \tanh(e\,W)$. Token 1 is read twice.
#
# To see the two paths apart, give them two names. `reads` and `writes` are two tensors around the
# same numbers; their gradients are the two parts. `both` is one tensor used at both ends.

# %%
rng = np.random.default_rng(40)
ids, targets = np.array([1, 4, 1, 2, 6]), np.array([4, 1, 2, 6, 0])
numbers, square = rng.normal(size=(7, 4)).round(2), rng.normal(size=(4, 4)).round(2)
W = Tensor(square, requires_grad=True, name="W")


def lm_loss(reads: Tensor, writes: Tensor) -> Tensor:
    """Mean cross-entropy of a model that reads with one table and scores with another."""
    return cross_entropy(project(tanh(lookup(reads, ids) @ W), writes), targets)


reads, writes, both = (Tensor(numbers, requires_grad=True, name=n) for n in ("in", "out", "E"))
lm_loss(reads, writes).backward()
lm_loss(both, both).backward()

print("  row   from the lookup                    from the projection                sum")
for v in range(7):
    parts = (" ".join(f"{x:+.4f}" for x in t.grad[v]) for t in (reads, writes, both))
    print(f"  {v}     " + "    ".join(parts))

worked.sum("dE[1]", reads.grad[1], writes.grad[1])
for v, note in ((1, "read twice"), (2, "read once"), (3, "never read")):
    compare(
        f"dE[{v}], {note}",
        hand=reads.grad[v] + writes.grad[v],
        ours=both.grad[v],
        numeric=numeric(lambda: lm_loss(both, both), both)[v],
    )

# %% [markdown]
# Rows 0, 3 and 5 were never read, so the lookup sends them zero. The projection sends every row
# something: every row was scored. That is how an output loss changes the vectors with which the
# model reads. (Add up the seven rows that the projection sends: they come to zero. Chapter 11 says
# why.)

# %%
unread = np.setdiff1d(np.arange(7), ids)
check(
    "000-ch4-gradient-flows-both",
    np.allclose(reads.grad + writes.grad, both.grad)
    and not reads.grad[unread].any()
    and (np.abs(both.grad).max(axis=1) > 0).all(),
    shown={"|part from the lookup|": np.linalg.norm(reads.grad),
           "|part from the projection|": np.linalg.norm(writes.grad),
           "rows that the lookup reaches": np.count_nonzero(reads.grad.any(axis=1)),
           "rows that the projection reaches": np.count_nonzero(writes.grad.any(axis=1))},
)  # fmt: skip
print(gradcheck(lm_loss, both, both, name="tied").raise_if_wrong())

# %% [markdown]
# The same model on the four words of the beginning, for walking through. With
# `python -m lessons 4 --trace` each Enter is one step; watch E wait for its second part.

# %%
tied_table = Tensor(E.copy(), requires_grad=True, name="E")
small_W = Tensor(square[:3, :3], requires_grad=True, name="W")
hidden = tanh(lookup(tied_table, [0, 1, 1]) @ small_W)
tied_logits = project(hidden, tied_table)
walk = show_trace(cross_entropy(tied_logits, [1, 2, 0]), h=hidden, logits=tied_logits)

# %% [markdown]
# ## Does one step help both jobs?
# The step follows the sum of two gradients. If they point the same way, both jobs gain. Nothing
# makes them. Let $a$ be the lookup's part and $b$ the projection's. To first order the step
# $-(a+b)$ changes the loss through the reading end by $-a \cdot(a+b)$, and that is a rise whenever
# $a \cdot b < -|a|^2$. First a thousand random starts of the little model:


# %%
def two_parts(table, square, ids, codes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lookup's and the projection's part of dE, and dW."""
    hidden = np.tanh(table[ids] @ square)
    dz = (softmax_forward(hidden @ table.T)[0] - codes) / len(ids)
    dbefore = (dz @ table) * (1 - hidden**2)
    return one_hot(ids, len(table)).T @ (dbefore @ square.T), dz.T @ hidden, table[ids].T @ dbefore


def judge(a: np.ndarray, b: np.ndarray) -> tuple[float, bool, bool]:
    """Cosine of the two parts; does the step -(a + b) harm reading, does it harm scoring?"""
    return geometry.cosine(a.ravel(), b.ravel()), (a * (a + b)).sum() < 0, (b * (a + b)).sum() < 0


a, b, _ = two_parts(numbers, square, ids, one_hot(targets, 7))
compare("lookup's part of dE[1], in NumPy", hand=a[1], ours=reads.grad[1])
compare("projection's part of dE[1]", hand=b[1], ours=writes.grad[1])

rng = np.random.default_rng(0)
starts = np.array([
    judge(*two_parts(rng.normal(size=(7, 4)), rng.normal(size=(4, 4)), rng.integers(7, size=5),
                     one_hot(rng.integers(7, size=5), 7))[:2])
    for _ in range(1000)
])  # fmt: skip
print(f"  random starts: cosine {starts[:, 0].mean():+.2f} on average, below 0 in "
      f"{np.mean(starts[:, 0] < 0):.0%};\n  the step harms reading in {starts[:, 1].mean():.1%}, "
      f"scoring in {starts[:, 2].mean():.1%}")  # fmt: skip

# %% [markdown]
# At a random start, then, the text is nearly always right. Now let the same kind of model learn:
# twelve words, two columns, 400 full steps. A narrow table must compromise. At a minimum of the
# loss $a + b = 0$: the parts need not be gone there, they may pull against each other.

# %%
cramped = toy.zipf_classes(301, 12, 4, rng=np.random.default_rng(2))
pairs = cramped.tokens[:-1], one_hot(cramped.tokens[1:], 12)
rng = np.random.default_rng(2)
learning, mixing = rng.normal(size=(12, 2)), rng.normal(size=(2, 2))
along = []
for _ in range(400):
    a, b, dW = two_parts(learning, mixing, *pairs)
    along.append(judge(a, b))
    learning -= a + b
    mixing -= dW
along = np.array(along)
erratum(
    "000-ch4-one-update-improves-both",
    along[:, 1].mean() > 0.05 and along[100:, 0].mean() < -0.2,
    shown={
        "cosine of the two parts in the table above":
            geometry.cosine(reads.grad.ravel(), writes.grad.ravel()),
        "random starts where the step harms one of the jobs":
            np.mean(starts[:, 1:].any(axis=1)),
        "cosine while learning, first step": along[0, 0],
        "cosine while learning, mean after step 100": along[100:, 0].mean(),
        "steps of learning that harm reading": along[:, 1].mean(),
        "steps of learning that harm scoring": along[:, 2].mean(),
    },
    because="the step follows the sum of two parts, and a small one lowers the loss; that each job "
    "gains is common at the start and not so later, when the parts pull against each other",
)  # fmt: skip

# %% [markdown]
# ## What is saved
# Llama 2 7B has $V$ = 32,000 and $D$ = 4,096, and keeps two tables. Suppose it tied them.

# %%
llama2, llama3, gpt2 = MODELS["Llama 2 7B"], MODELS["Llama 3 8B"], MODELS["GPT-2 small"]
one = worked.product("one table", llama2.num_embeddings, llama2.embedding_dim)
two = worked.product("two tables", 2, one)
check("000-ch4-savings-one", one, printed="131 M")
check("000-ch4-savings-untied-total", two, printed="262 M")
saved = worked.sum("saved, all of Llama 2", sizes.llama_params(), -sizes.llama_params(tied=True))
check("000-ch4-savings-131m", saved, printed="131 M")
tied_bytes = sizes.table_bytes(llama2.num_embeddings, llama2.embedding_dim, "float16")
erratum(
    "000-ch4-savings-fp16",
    [2 * tied_bytes, tied_bytes],
    printed="~500 MB; ~250 MB",
    because="they are exactly 500 and 250 MiB, units of 2^20 bytes; in megabytes, of 10^6, 524 "
    "and 262",
)

# %% [markdown]
# The saving is $V D$ whatever the model, so it halves what the vocabulary costs. For Llama 3 the
# text rounds the vocabulary to 128,000 here and counts 128,256 elsewhere.

# %%
pair = [NextToken(400, 16, tied=tied) for tied in (True, False)]
counts = [sum(t.size for t in model.parameters()) for model in pair]
check(
    "001-intro-tying-halves",
    2 * counts[0] == counts[1],
    shown={"numbers, V = 400, D = 16, tied": counts[0], "untied": counts[1]},
)
rounded = worked.product("V rounded", 128_000, llama3.embedding_dim)
check("000-ch4-llama3-savings", rounded, printed="524 M")
released = sizes.RELEASED["Llama 3 8B"]  # with two tables
layers = sizes.llama_params(1, 4096, 32, 14_336, kv_dim=1024) - 2 * 4096
erratum(
    "000-ch4-llama3-vocab-consistency",
    worked.quotient("rows of each table", released - layers, 2 * 4096),
    printed="128,000",
    because="the published weights leave room for 128,256 rows, which the text itself has in two "
    "other chapters; a table holds 525.3 M numbers",
)
check("004-gpt2-38m", gpt2.params, printed="38.6 M")
check("004-gpt2-exact", gpt2.num_embeddings * gpt2.embedding_dim, printed="38,597,376")
quiz(
    "003-tie-51m",
    "How many numbers does a table for 50,000 tokens with 1,024 columns hold? An untied head "
    "doubles them.",
    answer=sizes.table_params(50_000, 1024),
    printed="51,200,000",
    because="V times D; tying saves exactly one such table",
)
untied_gpt2 = sizes.gpt2_params() + gpt2.params
quiz(
    "004-recap-untie",
    "GPT-2 small ties. How many numbers would it gain by untying?",
    answer=untied_gpt2 - sizes.gpt2_params(),
    because=f"one more table of 50,257 by 768, {gpt2.params / sizes.gpt2_params():.0%} on top of "
    "124,439,808; what gets lost is that a token is read and scored with the same vector",
)

# %% [markdown]
# The same table weighs more in a small model: layers grow with $D^2$, the table with $D$.

# %%
shares = {
    "GPT-2 small": gpt2.params / sizes.gpt2_params(),
    "Llama 3.2 1B": MODELS["Llama 3.2 1B"].params
    / sizes.llama_params(128_256, 2048, 16, 8192, kv_dim=512, tied=True),
    "Llama 3 8B": llama3.params / sizes.llama_params(128_256, 4096, 32, 14_336, kv_dim=1024),
    "Llama 2 7B": llama2.params / sizes.llama_params(),
    "GPT-3 175B": MODELS["GPT-3 175B"].params / sizes.gpt2_params(50_257, 12_288, 2048, 96),
}
check(
    "000-ch4-small-benefit-more",
    shares["GPT-2 small"] > shares["Llama 2 7B"] > shares["GPT-3 175B"]
    and shares["Llama 3.2 1B"] > shares["Llama 3 8B"],
    shown={f"one table of {name}, share of all numbers": f"{s:.2%}" for name, s in shares.items()},
)


# %% [markdown]
# ## The picture with a switch
# Tied or not: two pictures of the same four words. An untied head has rows of its own, so the same
# $h$ may mean another word.

# %%
for on in (False, True):
    view = switch.view(on)
    print(f"  {view.label:<26} h means {words[int(view.logits.argmax())]!r}")
check("000-ch4-widget", switch.view(tied=False).label, printed="262M params (2 matrices)")
compare("logits, tied", hand=by_hand, ours=switch.view(tied=True).logits)

fig, _ = plot.figure(size=(12, 8))
fig.clear()
for part, on in zip(fig.subfigures(2, 1), (False, True)):
    switch.draw(part, tied=on)
save_figure(fig, "ch04_switch.png")

# %% [markdown]
# ## Who ties
# Configurations of published models, each with its source.

# %%
for name, model in MODELS.items():
    if model.tied is not None:
        print(f"  {name:<14} {'tied' if model.tied else 'two tables'}")
reference("000-ch4-ties-gpt-2", gpt2.tied, printed="Yes", source=gpt2.source)
bert, gemma, mistral = MODELS["BERT-base"], MODELS["Gemma 7B"], MODELS["Mistral 7B"]
reference("000-ch4-ties-bert", bert.tied, printed="Yes", source=bert.source)
reference("000-ch4-ties-llama2-7b", llama2.tied, printed="No", source=llama2.source)
reference("000-ch4-ties-gemma", gemma.tied, printed="Yes", source=gemma.source)
reference("000-ch4-ties-mistral", mistral.tied, printed="No", source=mistral.source)
t5, t5_later = MODELS["T5-base"], MODELS["T5 v1.1 base"]

# %% [markdown]
# Need one believe configurations? The size of the released weights says the same: take the layers
# away, and see how many tables are left. The authors of the Transformer rounded theirs.

# %%
# all numbers of the released weights; together the widths of the feed-forward matrices
RELEASED = {t5: (222_903_552, 2 * 3072), t5_later: (247_577_856, 3 * 2048)}
left = {model: (total - 12 * 768 * (12 * 768 + 2 * wide + 5) - 2 * 768 - 2 * 32 * 12) / model.params
        for model, (total, wide) in RELEASED.items()}  # fmt: skip
erratum(
    "000-ch4-ties-t5",
    left[t5] == 1 and left[t5_later] == 2,
    shown={"tables in T5 (2020)": left[t5], "tables in T5 v1.1": left[t5_later]},
    because="true of the first T5 only; from version 1.1 on embedding and classifier share nothing",
)
# six layers in each half, of 12 d^2 and 16 d^2 numbers; 37,000 tokens
original = [(total - 6 * 28 * d * d) / (37_000 * d) for d, total in ((512, 65e6), (1024, 213e6))]
print("  tables of the first Transformers, base and big:", " ".join(f"{n:.2f}" for n in original))
reference(
    "003-tie-original",
    "shares" if [round(n) for n in original] == [1, 1] else "separate",
    printed="shares",
    source="Vaswani et al. 2017, table 3 (65 and 213 million numbers); section 3.4 says that both "
    "embeddings and the linear layer before the softmax have one matrix",
)

# %% [markdown]
# Why does Llama 3 8B not tie? The text blames its vocabulary together with grouped queries (GQA:
# several queries share a key and a value). But grouping narrows the key and value matrices inside a
# layer, and the head never sees it. Llama 3.2 1B has the same vocabulary, groups its queries, and
# ties.

# %%
# name: (query heads, key and value heads); num_attention_heads and num_key_value_heads in the
# config.json of each model
HEADS = {"Llama 2 7B": (32, 32), "Llama 3 8B": (32, 8), "Llama 3.2 1B": (32, 8),
         "Mistral 7B": (32, 8), "Gemma 2B": (8, 1), "Gemma 7B": (16, 16)}  # fmt: skip
for name, (queries, keys) in HEADS.items():
    print(f"  {name:<13} {'grouped' if keys < queries else 'not grouped':<12} "
          f"{'tied' if MODELS[name].tied else 'two tables'}")  # fmt: skip
small = MODELS["Llama 3.2 1B"]
saved_by_tying = [
    sizes.llama_params(128_256, 2048, 16, 8192, kv_dim=kv)
    - sizes.llama_params(128_256, 2048, 16, 8192, kv_dim=kv, tied=True)
    for kv in (512, 2048)
]
erratum(
    "000-ch4-ties-llama3-8b",
    not llama3.tied and small.tied and small.num_embeddings == llama3.num_embeddings
    and HEADS["Llama 3.2 1B"] == HEADS["Llama 3 8B"]
    and saved_by_tying[0] == saved_by_tying[1],
    shown={"Llama 3 8B ties": str(llama3.tied),
           "Llama 3.2 1B, same vocabulary and heads, ties": str(small.tied),
           "saved by tying, grouped": saved_by_tying[0],
           "saved by tying, not grouped": saved_by_tying[1]},
    because="that it does not tie is right, the reason is not: grouped queries and tying do not "
    "touch, and smaller siblings combine all three",
)  # fmt: skip

# %% [markdown]
# ## A bad start at the size of GPT-2
# A default table draws its numbers from $N(0, 1)$. For a lookup that is a matter of taste. Tied, it
# is a trap: with rows of 768 such numbers, $e \cdot e$ is about 768.
#
# We build it: 50,257 rows of 768 columns, 154 MB. The head warns us. To measure the first loss we
# need a softmax over 50,257 logits. We take 64 random positions and 4,096 rows at a time, keep a
# running maximum and a running sum of exponentials, and never hold more than 64 x 4,096 logits.
#
# Rows of standard deviation $s$ instead of 1 are $s$ times as long, and $e_i \cdot e_j$ has two of
# them: every logit is $s^2$ times what it was. So one table does for several starts.

# %%
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    embed = Embedding(gpt2.num_embeddings, gpt2.embedding_dim, rng=0)
    head = TiedHead(embed)
print(f"  warning: {heard[0].message}")
rows = embed.weight.numpy()
learned = {id(t): t for t in [*embed.parameters(), *head.parameters()]}
check("004-tied-class-params", sum(t.size for t in learned.values()), printed="38,597,376")


def score_in_chunks(h, targets, table, scales=(1.0,), chunk: int = 4096):
    """Cross-entropies (S, N) of scale * (h @ table.T), and the best id of each position (N,).

    h (N, D), targets (N,), table (V, D), scales (S,). At any time (N, chunk) logits are in memory.
    The sum of exponentials is relative to the largest logit so far, and rescaled when that grows.
    """
    scales = np.asarray(scales, table.dtype)[:, None]
    top, total = np.full(len(h), -np.inf, table.dtype), np.zeros((len(scales), len(h)))
    best = np.zeros(len(h), dtype=np.int64)
    for start in range(0, len(table), chunk):
        z = h @ table[start : start + chunk].T
        highest = z.max(axis=1)
        best = np.where(highest > top, start + z.argmax(axis=1), best)
        new_top = np.maximum(top, highest)
        here = [np.exp(scale * (z - new_top[:, None])).sum(axis=1) for scale in scales]
        total, top = total * np.exp(scales * (top - new_top)) + here, new_top
    target_logits = np.einsum("nd,nd->n", h, table[targets])
    return np.log(total) + scales * (top - target_logits), best


rng = np.random.default_rng(41)
read, wanted = rng.integers(len(rows), size=(2, 64))
part, few = rows[:300].astype(np.float64), read % 300
whole = cross_entropy(project(lookup(part, few), part), wanted % 300).item()
compare("first loss, 300 rows, in chunks of 100", ours=whole,
        hand=score_in_chunks(part[few], wanted % 300, part, chunk=100)[0].mean())  # fmt: skip

stds = {"N(0,1)": 1.0, "std 0.02": 0.02, "1/sqrt(d)": gpt2.embedding_dim**-0.5}
squares = [std**2 for std in stds.values()]
losses, guessed = score_in_chunks(rows[read], wanted, rows, squares)
echo, first = np.mean(guessed == read), dict(zip(stds, losses.mean(axis=1)))
for name, row in zip(stds, losses):
    print(f"  {name:<10} first loss {row.mean():7.2f} nats, "
          f"give or take {row.std() / 8:.2f} for the 64 positions drawn")  # fmt: skip
print(f"  even chances, ln V    {np.log(len(rows)):7.2f}")
print(f"  positions where the best logit is the token just read: {echo:.0%}")

# %% [markdown]
# Seventy times the loss of a model that knows nothing. What does it believe so firmly? That the
# next token is the present one: $e_i \cdot e_i$ is about 768, and every other logit is drawn from a
# bell curve of width $\sqrt{768} = 28$. This is a table with its head and no layers in between, so
# nothing could turn the one into the other. Short rows mend the loss. They do not mend the echo,
# for a common factor does not change which logit is the largest.

# %%
tiny = Embedding(11, 4, rng=0, init=0.02)
shape_of_logits = TiedHead(tiny)(tiny(np.zeros((2, 3), np.int64))).shape
erratum(
    "004-class-predicts-itself",
    echo == 1.0 and first["N(0,1)"] > 500 and shape_of_logits == (2, 3, 11),
    shown={"logits for ids (2, 3), V = 11": str(shape_of_logits),
           "positions that predict their own input": echo,
           "first loss with the class as printed": first["N(0,1)"],
           "first loss with std 0.02": first["std 0.02"]},
    because="the class is shown as a model, and its shapes are right; but without layers h is the "
    "row just read, and no row is as like it as itself",
)  # fmt: skip

# %% [markdown]
# A real GPT-2 has layers, which take the echo away, and normalises $h$ before the head. That leaves
# the trouble: $|h|$ is then $\sqrt{768}$, and the logits still have a width of 28. The cure is the
# same, short rows.

# %%
states = rng.standard_normal((64, gpt2.embedding_dim)).astype(np.float32)
states, _ = layer_norm_forward(states, np.ones(768, np.float32), np.zeros(768, np.float32))
normed = score_in_chunks(states, wanted, rows, list(stds.values()))[0].mean(axis=1)
small_first = {
    str(init): NextToken(1000, 64, tied=True, rng=0, init=init).loss(read % 1000, wanted % 1000)
    for init in ("N(0,1)", "1/sqrt(d)", 0.02)
}
inherited = np.random.default_rng(0).uniform(-1, 1, 100_000).std() * gpt2.embedding_dim**-0.5
erratum(
    "000-ch4-tied-default-init",
    first["N(0,1)"] > 60 * np.log(len(rows)) and abs(first["std 0.02"] - np.log(len(rows))) < 0.1
    and small_first["N(0,1)"].item() > 8 * np.log(1000),
    shown={
        **{f"GPT-2 size, {name}": loss for name, loss in first.items()},
        **{f"the same after a LayerNorm, {name}": loss for name, loss in zip(stds, normed)},
        **{f"V = 1000, d = 64, {name}": loss.item() for name, loss in small_first.items()},
        "std a table inherits from a linear layer, d = 768": inherited,
    },
    because="the class ties a table with default rows, which nobody would want: the first loss is "
    "about d instead of ln V. Draw rows with std 0.02 or 1/sqrt(d), or let the table take "
    "the head's array, whose uniform start has std 1/sqrt(3d)",
)  # fmt: skip
del embed, head, rows, learned

# %% [markdown]
# What does such a start cost in training? Both models below are the same but for the width of their
# first rows, and both get 150 steps of the same size.

# %%
corpus = toy.zipf_classes(num_tokens=6000, num_words=100)
curves = {}
for init in ("N(0,1)", "1/sqrt(d)"):
    model = NextToken(100, 16, tied=True, body=True, rng=0, init=init)
    run = train(model, corpus.tokens, Adam(model.parameters(), lr=0.02), 150, 64, rng=0)
    curves[f"rows from {init}"] = run.losses
    print(f"  {init:<10} loss at the start {run.losses[0]:6.2f}, "
          f"mean of the last 30 steps {run.losses[-30:].mean():.2f}")  # fmt: skip

# %% [markdown]
# ## The class, and what its forward forgets
# The class of the text takes ids **and** a hidden state, embeds the ids, and answers with the
# logits of the hidden state. Here it is in our layers.


# %%
class TiedLM:
    """The rows of the ids are fetched, and dropped."""

    def __init__(self, vocab_size: int, d_model: int):
        self.embed = Embedding(vocab_size, d_model, rng=0, init=0.02)
        self.lm_head = TiedHead(self.embed)

    def forward(self, token_ids, hidden) -> Tensor:
        x = self.embed(token_ids)  # noqa: F841  never used: that is the point
        return self.lm_head(hidden)


model = TiedLM(50, 8)
hidden = rng.standard_normal((2, 3, 8)).astype(np.float32)
some, other = rng.integers(50, size=(2, 2, 3))
out, out_other = model.forward(some, hidden), model.forward(other, hidden)
cross_entropy(out, some).backward()
skeleton_grad = model.embed.weight.grad.copy()
model.embed.weight.grad = None
cross_entropy(model.lm_head(hidden), some).backward()
erratum(
    "000-ch4-tiedlm-forward",
    out.shape == (2, 3, 50)
    and np.array_equal(out.numpy(), out_other.numpy())
    and np.array_equal(skeleton_grad, model.embed.weight.grad),
    shown={"shape of the logits, B = 2, T = 3, V = 50": str(out.shape),
           "logits that change with other ids": np.count_nonzero(out.numpy() != out_other.numpy()),
           "gradient that the lookup adds": np.abs(skeleton_grad - model.embed.weight.grad).max()},
    because="the shape is right, but x is computed and dropped: the ids have no say in the logits, "
    "and of the two paths back only the head's is there",
)  # fmt: skip

# %% [markdown]
# With something between reading and writing it becomes a model: ids (B, T) in, (B, T, V) out.

# %%
lm = NextToken(50, 8, tied=True, body=True, rng=0, init=0.02)
answers = [lm(some), lm(other)]
check(
    "001-code-lm-class",
    answers[0].shape == (2, 3, 50) and lm.head is lm.embed.weight
    and not np.array_equal(answers[0].numpy(), answers[1].numpy()),
    shown={"shape for B = 2, T = 3, V = 50": str(answers[0].shape),
           "head and embedding are one tensor": str(lm.head is lm.embed.weight)},
)  # fmt: skip

# %% [markdown]
# ## Side by side
# Does tying make a better model? It halves the numbers and forces one geometry on two jobs. The
# first guards against overfitting, the second may be asking too much. Whether it pays, one has to
# measure. A hundred words in ten hidden classes, 4,000 tokens to learn from, 4,000 kept aside. Each
# model may stop at its own best moment.

# %%
WIDTHS, SEEDS, CHECKS = (4, 8, 16), (1,) if options.quick else (1, 2), 3 if options.quick else 6
texts = {seed: toy.zipf_classes(8000, 100, rng=np.random.default_rng(seed)) for seed in SEEDS}


def held_out(tied: bool, width: int, seed: int) -> tuple[list[float], NextToken]:
    """Loss on the unseen half after every 50 steps, and the trained model."""
    tokens = texts[seed].tokens
    model = NextToken(100, width, tied=tied, body=True, rng=seed)
    optimizer, losses = Adam(model.parameters(), lr=0.02), []
    for part in range(CHECKS):
        train(model, tokens[:4000], optimizer, steps=50, batch_size=64, rng=part)
        losses.append(model.loss(tokens[4000:-1], tokens[4001:]).item())
    return losses, model


runs = [(tied, width, seed) for width in WIDTHS for tied in (True, False) for seed in SEEDS]
results = {run: held_out(*run) for run in progress(runs, "tied and untied")}
best = {
    (tied, width): np.mean([min(results[tied, width, seed][0]) for seed in SEEDS])
    for tied in (True, False) for width in WIDTHS
}  # fmt: skip
print("  best held-out loss, nats   tied  (numbers)   untied  (numbers)")
for width in WIDTHS:
    print(f"    D = {width:<2}                  {best[True, width]:.3f}  {100 * width:>8,}"
          f"    {best[False, width]:.3f}  {200 * width:>9,}")  # fmt: skip

# %% [markdown]
# In these short runs the narrow model does better with two tables, and the wide one a little
# better with one. Compare also down a diagonal, where the numbers are as many: for the price of two
# tables, one may be twice as wide.
#
# And can untied tables really disagree? Take the similarity of each pair of tokens in the one table
# and in the other, and correlate. One array agrees with itself. Two arrays need not, and do not
# even point the same way: the cosine of a token's two vectors is small.


# %%
def agreement_of(model: NextToken, common: np.ndarray) -> tuple[float, float]:
    """Correlation of all pairwise cosines in the two tables; mean cosine of a token's two rows."""
    reads, writes = model.embed.weight.numpy()[common], model.head.numpy()[common]
    pairs = np.triu_indices(len(common), k=1)
    both = np.corrcoef(geometry.cosines(reads)[pairs], geometry.cosines(writes)[pairs])[0, 1]
    return both, float(np.mean([geometry.cosine(a, b) for a, b in zip(reads, writes)]))


common = np.argsort(-np.bincount(texts[1].tokens[:4000], minlength=100))[:40]
tied_16, untied_16 = results[True, 16, 1][1], results[False, 16, 1][1]
one_map, two_maps = agreement_of(tied_16, common), agreement_of(untied_16, common)
check(
    "003-tie-aligned",
    one_map[0] > 0.999 and two_maps[0] < 0.8 and abs(two_maps[1]) < 0.3,
    shown={"correlation of similarities, tied": one_map[0],
           "correlation of similarities, untied": two_maps[0],
           "mean cosine of a token's two rows, tied": one_map[1],
           "mean cosine of a token's two rows, untied": two_maps[1]},
)  # fmt: skip
gain = {width: best[False, width] - best[True, width] for width in WIDTHS}
erratum(
    "000-ch4-tying-regularises",
    two_maps[0] < 0.8 and min(gain.values()) < 0,
    shown={
        **{f"gain by tying, D = {width}, nats": g for width, g in gain.items()},
        "tied D = 8 against untied D = 4, as many numbers": best[False, 4] - best[True, 8],
        "tied D = 16 against untied D = 8, as many numbers": best[False, 8] - best[True, 16],
        "correlation of similarities, untied": two_maps[0],
    },
    because="that untied tables disagree is so; that one table generalises better is a tendency "
    "that depends on size: here it hurts the narrowest model",
)
rivals = [MODELS[n] for n in ("Llama 2 7B", "Llama 2 70B", "Llama 3 8B", "Mistral 7B", "Gemma 7B")]
reference(
    "000-ch4-larger-untied-better",
    sum(not model.tied for model in rivals) > sum(model.tied for model in rivals),
    shown={"models of 7B and more in our list with two tables": sum(not m.tied for m in rivals),
           "with one": sum(m.tied for m in rivals)},
    source="Chung, Fevry, Tsai, Johnson & Ruder, Rethinking Embedding Coupling in Pre-trained "
    "Language Models, ICLR 2021, who report gains from decoupling; our toy is no evidence for "
    "large models",
)  # fmt: skip

# %% [markdown]
# And the promise from above: in the tied model, are neighbours predicted together? For each common
# word take its nearest row and a random one. Over all contexts, the logits of neighbours should
# rise and fall together.

# %%
table = tied_16.embed.weight.numpy()
logits_everywhere = tied_16(common).numpy()
rise_and_fall = np.corrcoef(logits_everywhere.T)
nearest = {int(v): int(geometry.neighbours(table, v, k=1).rows[0]) for v in common}
near = np.mean([rise_and_fall[a, b] for a, b in nearest.items()])
strangers = rng.integers(100, size=2000).reshape(2, -1)
far = np.mean(rise_and_fall[tuple(strangers[:, strangers[0] != strangers[1]])])
classmates = np.mean([texts[1].classes[a] == texts[1].classes[b] for a, b in nearest.items()])
check(
    "004-predict-either",
    near > 0.8 and far < 0.3,
    shown={"correlation of logits, word and nearest row": near,
           "correlation of logits, two random words": far,
           "nearest rows of the same hidden class": classmates},
)  # fmt: skip

# %% [markdown]
# On the left, the cost of a bad start: long rows begin above even chances and are behind for a
# hundred steps. On the right, the runs side by side (means over the seeds). With four columns the
# untied line lies below, with sixteen the tied one.

# %%
fig, axes = plot.figure(1, 2, size=(12, 4.6))
plot.lines(axes[0], np.arange(1, 151), curves, xlabel="step", ylabel="loss, nats",
           title="A tied model with long and with short first rows")  # fmt: skip
axes[0].axhline(np.log(100), color="grey", lw=0.8, ls=":")
axes[0].text(150, np.log(100) * 1.04, "even chances, ln 100", ha="right", fontsize=9)
steps = 50 * np.arange(1, CHECKS + 1)
mean_curves = {
    f"{'tied' if tied else 'untied'}, D = {width}":
        np.mean([results[tied, width, seed][0] for seed in SEEDS], axis=0)
    for width in (4, 16) for tied in (True, False)
}  # fmt: skip
plot.lines(axes[1], steps, mean_curves, xlabel="step", ylabel="held-out loss, nats",
           title="Tied and untied, on text they never saw", marker="o")  # fmt: skip
save_figure(fig, "ch04_side_by_side.png")

# %% [markdown]
# ## What did we learn?

# %%
rows_alike = one_map[0] > 0.999 and two_maps[0] < 0.8
achieves = {
    "it makes the softmax cheaper to compute":
        sizes.head_macs(*pair[0].head.shape) < sizes.head_macs(*pair[1].head.shape),
    "it saves one table of V by D, and reads and scores with one geometry":
        counts[1] - counts[0] == 400 * 16 and rows_alike,
    "it always lowers the held-out loss": min(gain.values()) > 0,
    "it keeps the rows of unseen tokens still": not both.grad[unread].any(),
}  # fmt: skip
quiz(
    "000-ch4-quiz",
    "What does tying achieve?",
    answer=next(text for text, so in achieves.items() if so),
    options=list(achieves),
    because="the head costs V D multiply-adds either way, the narrow model above got worse, and "
    "every row gets a gradient because every row is scored",
)
helped = {
    "a row learns from every position, also where its token is not read":
        np.count_nonzero(both.grad.any(axis=1)) > np.count_nonzero(reads.grad.any(axis=1)),
    "the two gradients always point the same way": np.all(along[:, 0] > 0),
    "the logits no longer depend on the length of a row": np.allclose(h @ longer.T, h @ E.T),
}  # fmt: skip
quiz(
    "004-why-tying",
    "Besides saving memory, why can tying help?",
    answer=next(text for text, so in helped.items() if so),
    options=list(helped),
    because="the projection sends a gradient to every row at every position, so a rare token's "
    "vector is trained as a possible answer even when it is never read",
)
verdict()
