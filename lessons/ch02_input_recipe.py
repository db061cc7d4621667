# %% [markdown]
# # 2. The input recipe
#
# A row of the token table says what a token is. It does not say where the token stands, nor to
# which sentence it belongs. Transformers get all of that from more tables: they look up one row in
# each, and add.
#
# This lesson shows first what goes wrong without positions. Then it adds three rows by hand, sends
# a gradient back through the sum, builds BERT's input and GPT's, and asks the two questions that
# adding raises. Why not keep the parts separate? And how can a sum be taken apart again?

# %%
from functools import partial

import numpy as np

from scratch_embed import SGD, Adam, Embedding, Tensor, geometry, no_grad, plot
from scratch_embed.functional import concatenate, cross_entropy, dropout, lookup
from scratch_embed.gradcheck import gradcheck
from scratch_embed.gradcheck.numeric import Loss, gradient
from scratch_embed.layers import (
    BERTInput,
    GPTInput,
    LayerNorm,
    Linear,
    PositionEmbedding,
    ScaledEmbedding,
    SelfAttention,
)
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
    verdict,
    worked,
)
from scratch_embed.ops.rotary import rotary_forward
from scratch_embed.sizes import MODELS, body_macs, layer_params, table_params

begin()

# %% [markdown]
# ## Attention cannot see order
# Attention lets every token ask every other, and mixes the answers. The mixture is a sum, and a sum
# does not care about order. So take any attention with random weights, read two sentences that
# differ in nothing but order, and average what comes out.

# %%
words = ["dog", "bites", "man"]
sentence = {"dog bites man": [0, 1, 2], "man bites dog": [2, 1, 0]}
first, second = sentence.values()
E = Embedding(3, 16, rng=0, dtype=np.float64)
look, look_back = (
    SelfAttention(16, causal=causal, rng=1, dtype=np.float64) for causal in (False, True)
)
place = PositionEmbedding(3, 16, rng=2, init=1.0, dtype=np.float64)


def apart(read) -> float:
    """How far apart a reader's two averages stand."""
    return geometry.euclidean(*(read(ids).numpy().mean(axis=0) for ids in sentence.values()))


blind = apart(lambda ids: look(E(ids)))
seeing = apart(lambda ids: look(E(ids) + place(3)))
masked = apart(lambda ids: look_back(E(ids)))
moved = np.abs(look(E(first)).numpy()[::-1] - look(E(second)).numpy()).max()
check(
    "000-ch2-order-blind",
    blind < 1e-12 and moved < 1e-12 and seeing > 0.1 and masked > 0.1,
    shown={
        "distance of the two averages, no positions": blind,
        "reversed in, reversed out: largest difference": moved,
        "distance with a position row added": seeing,
        "distance with a causal mask alone": masked,
    },
)

# %% [markdown]
# The difference is rounding. Token by token, each word gets the very answer that it got in the
# other order. The last number is a footnote: a causal mask, where each token sees only what came
# before, lets some order through by itself.
#
# The cure is to add a row for each place. Who bites? A small model reads "X bites Y" and must name
# X. Without positions it knows both names and can only guess between them. With them, it learns.

# %%
NAMES, BITES = 8, 8


def stories(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` sentences "X bites Y" of two different names, and X."""
    biter = rng.integers(NAMES, size=count)
    bitten = (biter + rng.integers(1, NAMES, size=count)) % NAMES
    return np.stack([biter, np.full(count, BITES), bitten], axis=1), biter


def learn(next_loss, parts: list, opt, steps: int, label: str) -> list[float]:
    """Take a step down each of `next_loss()`, the loss of a new batch. Returns the losses."""
    opt = opt([p for part in parts for p in part.parameters()])
    losses = []
    for _ in progress(range(steps), label):
        opt.zero_grad()
        loss = next_loss()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def who_bites(with_positions: bool) -> float:
    """Share of new sentences whose biter is named after 200 steps."""
    rng = np.random.default_rng(0)
    rows = GPTInput(NAMES + 1, 16, 3, p=0.0, rng=rng, init=0.3, position_init=0.3)
    source = rows if with_positions else rows.token
    mix, answer = SelfAttention(16, rng=rng), Linear(16, NAMES, rng=rng)

    def model(ids) -> Tensor:
        return answer(mix(source(ids)).mean(axis=-2))

    def next_loss() -> Tensor:
        ids, biter = stories(rng, 64)
        return cross_entropy(model(ids), biter)

    learn(next_loss, [source, mix, answer], partial(Adam, lr=0.01), 200, "who bites")
    ids, biter = stories(rng, 1000)
    return float((model(ids).numpy().argmax(-1) == biter).mean())


knows = {positions: who_bites(positions) for positions in (False, True)}
print(f"  biter named: {knows[False]:.1%} without positions, {knows[True]:.1%} with them")

broad = Embedding(3, 64, rng=0, dtype=np.float64)
broad_look = SelfAttention(64, rng=1, dtype=np.float64)
repeated = E([1, 1, 1]).numpy()
reasons = {
    "Its rows have too few columns": apart(lambda ids: broad_look(broad(ids))) > 1e-12,
    "An id gives the same row wherever it stands": bool(np.ptp(repeated, axis=0).max() == 0),
    "Its rows are random until they are trained": knows[False] > 0.6,
}
quiz(
    "004-quiz-position",
    "Why can the rows of the token table not tell where a token stands?",
    answer=next(reason for reason, is_so in reasons.items() if is_so),
    options=list(reasons),
    because="a lookup sees the id alone, and attention sums what it is given; more columns or more "
    "training change neither. So a row for the place is added to the token's, or the place enters "
    "inside attention, as rotary positions do",
)

# %% [markdown]
# ## Three rows by hand
# Now the recipe. Our tables have four columns. The token table has six rows, the position table
# eight, and the segment table two, for sentence A and sentence B. "cat" has id 2, stands at
# position 3 and belongs to segment 0.
#
# The text prints the sum of the three rows and no longer the rows. The three below are ours, made
# to give its sum. The numbering is the text's own, and changes as one reads on: an id means nothing
# without the table it belongs to.

# %%
cat, where, kind = 2, 3, 0
rng = np.random.default_rng(5)
tokens, places, kinds = (rng.normal(0, 0.3, (n, 4)).round(2) for n in (6, 8, 2))
tokens[cat] = [0.50, -0.60, 0.10, 0.40]
places[where] = [-0.18, 0.10, -0.15, 0.42]
kinds[:] = [0.02, -0.02, -0.02, 0.02], [-0.03, 0.01, 0.04, 0.02]

rows = [worked.lookup("token row", tokens, [cat])[0],
        worked.lookup("position row", places, [where])[0],
        worked.lookup("segment row", kinds, [kind])[0]]  # fmt: skip
total = worked.sum("input", *rows)
check("000-ch2-hand-sum", total, printed="[0.34, -0.52, -0.07, 0.84]")
ids_of_cat = {"the opening": 3782, "chapter 0": 1, "chapter 2": cat, "chapter 4": 1}
in_one_table = Embedding(6000, 4, rng=0)(list(ids_of_cat.values())).numpy()
different = len(np.unique(in_one_table, axis=0))
erratum(
    "000-ch2-cat-id",
    different > 1,
    shown={**ids_of_cat, "different rows that these ids fetch from one table": different},
    because="one text, three ids for one word: each example has a vocabulary of its own, and does "
    "not say so",
)

# %% [markdown]
# The same by the layer. `BERTInput` holds the three tables; `.sum` looks up and adds, for a whole
# batch of sentences at once. A position row does not depend on the sentence, so one set of position
# rows is added to every sentence of the batch. NumPy calls that broadcasting: $(T, D)$ is added to
# $(B, T, D)$.

# %%
bundle = BERTInput(6, 4, max_len=8, rng=0, dtype=np.float64)
for table, values in ((bundle.token, tokens), (bundle.position, places), (bundle.segment, kinds)):
    table.weight.data[...] = values
ids = np.array([[0, 4, 1, 2], [2, 5, 2, 3]])  # "cat" at position 3 of the first sentence
segments = np.array([[0, 0, 0, 0], [0, 0, 1, 1]])
added = bundle.sum(ids, segments)
one_by_one = np.array(
    [[tokens[i] + places[t] + kinds[s] for t, (i, s) in enumerate(zip(*line))]
     for line in zip(ids, segments)]
)  # fmt: skip
compare("input of cat", hand=total, ours=added.numpy()[0, 3])
check(
    "000-ch2-hand-lookup",
    np.array_equal(added.numpy(), one_by_one) and np.array_equal(rows[0], tokens[cat]),
    shown={"shape of the batch": added.shape, "rows looked up": 3 * ids.size,
           "largest difference, layer and one by one": np.abs(added.numpy() - one_by_one).max()},
)  # fmt: skip
three = {name: p.shape for name, p in bundle.named_parameters() if p.ndim == 2}
check("003-bert-bundle", f"{len(three)} tables", printed="3 tables")

# %% [markdown]
# Switch the parts on and off, and slide "cat" through the eight positions. The token's part never
# moves. Without the position the sum points almost where the token row points; with the position
# alone, nothing of "cat" is left.


# %%
def mixture(at: int, token=True, position=True, segment=True) -> np.ndarray:
    """The sum for "cat" at a position, of the parts that are switched on."""
    return token * tokens[cat] + position * places[at] + segment * kinds[kind]


likeness = {
    "all three": geometry.cosine(mixture(3), tokens[cat]),
    "no position": geometry.cosine(mixture(3, position=False), tokens[cat]),
    "position alone": geometry.cosine(mixture(3, token=False, segment=False), tokens[cat]),
}
slide = np.array([mixture(at) for at in range(8)])
token_part = np.array([slide[at] - mixture(at, token=False) for at in range(8)])
check(
    "000-ch2-toggle-position-off",
    likeness["no position"] > 0.95 and likeness["position alone"] < 0.5,
    shown={f"cosine with cat, {parts}": cosine for parts, cosine in likeness.items()},
)
check(
    "000-ch2-token-bars-fixed",
    np.ptp(token_part, axis=0).max() < 1e-15 and geometry.distances(slide)[0, 1:].min() > 0.1,
    shown={"most that a token bar moves": np.ptp(token_part, axis=0).max(),
           "least that the sum moves from position 0": geometry.distances(slide)[0, 1:].min()},
)  # fmt: skip
check(
    "000-ch2-addition-widget",
    np.allclose(mixture(where), total) and len({mixture(at).tobytes() for at in range(8)}) == 8,
    shown={"sum at position 3, all on": mixture(where),
           "different sums over positions 0 to 7": len({row.tobytes() for row in slide}),
           "sum with everything off": mixture(where, False, False, False)},
)  # fmt: skip

# %% [markdown]
# ## The way back through a sum
# A sum hands its gradient on to each of its parts, unchanged. What arrives at a place therefore
# goes three ways: to the row of its token, of its position, of its segment. Each table then adds up
# what its rows receive. A position's row is read once by every sentence, so its gradient is the
# sum **over the batch**. A segment's row is read at every place of that segment.

# %%
arriving = np.random.default_rng(1).normal(size=added.shape).round(1)
dtokens = worked.scatter_add("dE_token", ids, arriving.reshape(-1, 4), num_rows=6)
dplace = worked.sum("dE_position[3], over both sentences", *arriving[:, 3])
dkinds = worked.scatter_add("dE_segment", segments, arriving.reshape(-1, 4), num_rows=2)

added.backward(arriving)
token, position, segment = (part.weight for part in (bundle.token, bundle.position, bundle.segment))
L = Loss(lambda *_: bundle.sum(ids, segments), (token, position, segment), arriving)
compare("dE_token[cat]", hand=dtokens[2], ours=token.grad[2], numeric=gradient(L, token)[2])
slopes = gradient(L, position)
compare("dE_position[3]", hand=dplace, ours=position.grad[3], numeric=slopes[3])
compare("row 7, not read", hand=np.zeros(4), ours=position.grad[7], numeric=slopes[7])
compare("dE_segment[1]", hand=dkinds[1], ours=segment.grad[1], numeric=gradient(L, segment)[1])

# %% [markdown]
# ## What BERT does after adding
# BERT does not hand the sum on as it is. It normalises each vector (mean 0, standard deviation 1),
# stretches it by a learned `gamma`, shifts it by a learned `beta`, and, while training, drops a
# tenth of the numbers. Here is the first step for "cat", with gamma 1 and beta 0:

# %%
mean = worked.mean("mean", total)
centred = worked.difference("centred", total, np.full(4, mean))
std = worked.quotient("std", worked.norm("|centred|", centred), 4**0.5)
normed = worked.scale("normalised", 1 / std, centred)
compare("LayerNorm of cat", hand=normed, ours=bundle.eval()(ids, segments).numpy()[0, 3])

# %% [markdown]
# Backward, LayerNorm takes two parts away from what arrives: its mean, and its part along the
# normalised vector $n$. Shifting or stretching the input would have changed nothing, so no gradient
# may ask for it. What is left is divided by the standard deviation:
#
# $$dx = (g - \mathrm{mean}(g) - \mathrm{mean}(g n)\, n) / \mathrm{std}$$
#
# Here $g$ is the gradient that arrived at "cat" above, and the mean of $g n$ is a quarter of the
# product below. The four numbers of $dx$ are in the closing table.

# %%
g = arriving[0, 3]
along = worked.dot("g . normalised", g, normed) / 4
hand = (g - worked.mean("mean of g", g) - along * normed) / std
x = Tensor(total, requires_grad=True, name="x")
norm = LayerNorm(4, eps=1e-12, dtype=np.float64)
norm(x).backward(g)
compare("d x, through LayerNorm", hand=hand, ours=x.grad, numeric=gradient(Loss(norm, (x,), g), x))

# %% [markdown]
# Dropout keeps each number with probability 0.9, multiplies what it keeps by 1/0.9, so that the
# mean stays, and lets the gradient through at the same places only.

# %%
DROP = 3  # the seed of what is dropped
dropped = Tensor(normed, requires_grad=True)
thinned = dropout(dropped, 0.1, rng=DROP)
kept = thinned.numpy() != 0
thinned.backward(g)
compare("dropout 0.1, train", hand=worked.scale("kept / 0.9", 1 / 0.9, normed) * kept,
        ours=thinned.numpy())  # fmt: skip
L = Loss(partial(dropout, p=0.1, rng=DROP), (dropped,), g)
compare(
    "d x, through dropout", hand=g * kept / 0.9, ours=dropped.grad, numeric=gradient(L, dropped)
)

# %% [markdown]
# And the whole layer at once, in `eval()`, where dropout does nothing:

# %%
whole = gradcheck(lambda *_: bundle(ids, segments), *bundle.parameters(), name="BERTInput, eval")
print(whole.raise_if_wrong())

# %% [markdown]
# So the formula "input = three rows added" is one step short. What the class returns is another
# vector, of another length, and two more arrays of numbers are learned on the way.

# %%
after = bundle(ids, segments).numpy()
erratum(
    "000-ch2-bert-recipe",
    np.array_equal(added.numpy(), one_by_one) and np.abs(after - one_by_one).max() > 0.1,
    shown={"norm of the sum for cat": np.linalg.norm(total),
           "norm after LayerNorm, sqrt(4)": np.linalg.norm(after[0, 3]),
           "numbers learned by LayerNorm": bundle.norm.gamma.size + bundle.norm.beta.size},
    because="the sum is what the tables give; LayerNorm and dropout follow in the same class, and "
    "what enters the stack is their result",
)  # fmt: skip

# %% [markdown]
# ## BERT at its real size
# BERT-base knows 30,522 tokens, 512 positions and 2 segments, in 768 columns. We build it with
# random numbers, count, and read two sentences of 128 tokens.

# %%
config = MODELS["BERT-base"]
V, D, max_len = config.num_embeddings, config.embedding_dim, config.max_len
bert = BERTInput(V, D, max_len, rng=0)
tables = [bert.token.weight, bert.position.weight, bert.segment.weight]
bert_files = "bert_config.json of google-research/bert: vocab_size, max_position_embeddings, "
reference("000-ch2-bert-shapes", [len(t.data) for t in tables], printed="30,522; 512; 2",
          source=bert_files + "type_vocab_size")  # fmt: skip
reference(
    "000-ch2-hf-shapes",
    [t.shape for t in tables],
    printed="(30522, 768); (512, 768); (2, 768)",
    source=bert_files + "type_vocab_size, hidden_size; the model is bert-base-uncased",
)

numbers = [worked.product(t.name, *t.shape) for t in tables]
check("000-ch2-bert-products", numbers, printed="23,440,896; 393,216; 1,536")
without_norm = worked.sum("three tables", *numbers)
check("000-ch2-bert-total", without_norm, printed="23,835,648")
with_norm = worked.sum("with gamma and beta", without_norm, D, D)
compare("numbers to learn", hand=with_norm, ours=bert.num_parameters())
share = worked.quotient("the token table's share", numbers[0], without_norm)
check("000-ch2-bert-share", share, printed="98.3 %")

# %%
ids128 = np.random.default_rng(1).integers(V, size=(2, 128))
train, out = bert.train()(ids128).numpy(), bert.eval()(ids128).numpy()
check("000-ch2-bert-class-shape", out.shape, printed="(2, 128, 768)")
check("000-ch2-bert-dropout", (train == 0).mean(), printed="0.1")
survivors = train != 0
print(
    f"  eval:  std {out.std(axis=-1).mean():.4f}, norm {np.linalg.norm(out[0, 0]):.2f} = sqrt(768)"
    f", zeros {(out == 0).sum()}, same again: {np.array_equal(out, bert(ids128).numpy())}"
)
print(f"  train: zeros {(train == 0).mean():.2%}, survivors times "
      f"{np.median(train[survivors] / out[survivors]):.4f} = 1/0.9")  # fmt: skip
read = [0, 1, 47, max_len - 1]
shown_rows = bert.position(max_len).numpy()[read]
check(
    "000-ch2-position-range",
    np.array_equal(shown_rows, tables[1].data[read]) and max(read) == len(tables[1].data) - 1,
    shown={"positions read": read, "rows of the table": len(tables[1].data)},
)

# %% [markdown]
# ## GPT's two, Llama's one
# GPT-2 and GPT-3 read one stream of text and need no segments: two tables. Llama has no position
# table at all. It turns queries and keys by an angle that grows with the position, inside
# attention; that is called rotary position embedding, RoPE.

# %%
gpt = GPTInput(50, 8, max_len=16, p=0.0, rng=0, dtype=np.float64)
gpt_tables = [name for name, p in gpt.named_parameters()]
gpt_ids = np.array([[3, 1, 4], [1, 5, 9]])
sum_of_two = gpt.token.weight.data[gpt_ids] + gpt.position.weight.data[:3]
compare("GPT, sum of two", hand=sum_of_two, ours=gpt(gpt_ids).numpy())
reference(
    "000-ch2-gpt-recipe",
    len(gpt_tables) == 2 and np.array_equal(gpt(gpt_ids).numpy(), sum_of_two)
    and MODELS["GPT-2 small"].positions == MODELS["GPT-3 175B"].positions == "learned",
    shown={"tables": ", ".join(gpt_tables)},
    source="model.py of openai/gpt-2, wte and wpe; Brown et al. 2020 build GPT-3 on that model",
)  # fmt: skip
published = {name: MODELS[name].positions for name in ("Llama 2 7B", "Llama 3 8B")}
guessed = [model.positions for name, model in MODELS.items() if name.startswith("GPT-4")]
erratum(
    "000-ch2-gpt4-rope",
    set(published.values()) == {"rotary"} and set(guessed) == {None},
    shown={**published, "GPT-4": "not published"},
    because="true of Llama; nobody outside knows how GPT-4 tells positions apart",
)

# %% [markdown]
# Two things make rotary positions what they are. They are computed, so there is nothing to learn;
# and a score depends on how far apart two tokens stand, not on where. Turn a query at position 5
# and a key at 2, or both a hundred places later: the same score.

# %%
plain, turning = (SelfAttention(16, rotary=rotary, rng=0) for rotary in (False, True))
q, k = np.random.default_rng(3).normal(size=(2, 1, 16))
scores = [(rotary_forward(q, [m])[0] @ rotary_forward(k, [n])[0].T).item()
          for m, n in ((5, 2), (105, 102), (5, 3))]  # fmt: skip
check(
    "002-s5-rope-no-table",
    turning.num_parameters() == plain.num_parameters() and np.isclose(scores[0], scores[1])
    and not np.isclose(scores[0], scores[2]),
    shown={"numbers to learn, with and without": [turning.num_parameters(), plain.num_parameters()],
           "score, 5 and 2": scores[0], "score, 105 and 102": scores[1],
           "score, 5 and 3": scores[2]},
)  # fmt: skip

# %% [markdown]
# ## Past the end of the table
# A learned table has a last row. What about one token more? There is no row for it, and it matters
# who asks. Our layer refuses. A plain slice `P[0:n]` comes out short without a word, and a negative
# index wraps round to the end.


# %%
def refusal(call) -> str:
    """What a call says when it refuses; empty when it does not."""
    try:
        call()
    except (ValueError, IndexError) as error:
        return str(error)
    return ""


P = PositionEmbedding(512, 4, rng=0)
inputs = np.random.default_rng(2).normal(size=(512, 4)).astype(np.float32)
said = refusal(lambda: P(513))
print(f"  {said}")
check(
    "000-ch2-pos-beyond-max",
    not refusal(lambda: P(512)) and "512" in said,
    shown={"rows for 512 positions": len(P(512).data), "for 513": "refused"},
)
erratum(
    "002-s5-no-extrapolation",
    bool(said) and len(P.weight.data[:513]) == 512
    and np.array_equal(P.weight.data[-1], P.weight.data[511]),
    shown={"asked for 513, the layer": "refuses",
           "rows of P[0:513] in NumPy": len(P.weight.data[:513]), "P[-1] is row": 511},
    because="that there is no row is right, but nothing about it is undefined: an index past the "
    "end is an error, a slice is silently short, a negative index wraps",
)  # fmt: skip
n = 6
erratum(
    "002-s5-add-slice",
    np.array_equal((inputs[:n] + P(n)).numpy(), inputs[:n] + P.weight.data[0:n])
    and bool(refusal(lambda: PositionEmbedding(n, 4)(n + 1))),
    shown={"rows in P[0:6]": len(P.weight.data[0:n]), "first": 0, "last": n - 1},
    because="the sum is right, and counts positions from 0; the same section numbers tokens 1..V. "
    "Counted from 0, as in the slice, the last of L rows is L - 1",
)  # fmt: skip
last_row = refusal(lambda: lookup(P.weight, [512]))
P.past_end = "clamp"
erratum(
    "002-q5-reuse-row",
    bool(last_row) and np.array_equal(P(1024).numpy()[-1], P.weight.data[511]),
    shown={"P[512]": "no such row", "the row to reuse": 511},
    because="a table of L_max rows ends at L_max - 1; the row that can be reused is that one",
)

# %% [markdown]
# There are ways out: stretch the table over the longer text, reuse the last row, or compute
# positions instead of learning them. How good are they? The task is to name the token three places
# back, one of eight. Every model is trained on texts of 16 tokens until it makes no mistakes. Then,
# with no further training, it reads longer texts, and we count right answers past place 16. Mere
# guessing is right once in eight, 12.5 %.

# %%
LETTERS, BACK, TRAINED = 8, 3, 16
LENGTHS = (32, 64, 128)
STEPS = {"rotary": 120, "sinusoids": 220, "learned": 180}


def three_back(rng: np.random.Generator, length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    ids = rng.integers(LETTERS, size=(count, length))
    return ids, ids[:, :-BACK]


def reader(kind: str):
    """A trained model with one layer of attention: (model, its input layer)."""
    rng = np.random.default_rng(0)
    width = 32
    source = {
        "rotary": lambda: Embedding(LETTERS, width, rng=rng, init="1/sqrt(d)"),
        "sinusoids": lambda: ScaledEmbedding(LETTERS, width, scale="sqrt(d/2)", rng=rng),
        "learned": lambda: GPTInput(LETTERS, width, TRAINED, p=0.0, rng=rng, init=0.18,
                                    position_init=0.18),
    }[kind]()  # fmt: skip
    mix = SelfAttention(width, causal=True, rotary=kind == "rotary", rng=rng)
    answer = Linear(width, LETTERS, rng=rng)

    def model(ids) -> Tensor:
        return answer(mix(source(ids)))[:, BACK:]

    def next_loss() -> Tensor:
        ids, targets = three_back(rng, TRAINED, 16)
        return cross_entropy(model(ids), targets)

    learn(next_loss, [source, mix, answer], partial(Adam, lr=0.01),
          STEPS[kind], f"{kind} positions")  # fmt: skip
    return model, source


def right(model, length: int) -> float:
    """Share of right answers; of a text longer than 16, past place 16."""
    ids, targets = three_back(np.random.default_rng(9), length, 8)
    with no_grad():
        hits = model(ids).numpy().argmax(-1) == targets
    return float(hits[:, TRAINED - BACK if length > TRAINED else 0 :].mean())


curves = {}
for scheme in ("rotary", "learned") if options.quick else STEPS:
    model, source = reader(scheme)
    known = right(model, TRAINED)
    if scheme != "learned":
        curves[scheme] = [known, *(right(model, length) for length in LENGTHS)]
        continue
    for way, name in (("interpolate", "learned, stretched"), ("clamp", "learned, last row reused")):
        source.position.past_end = way
        curves[name] = [known, *(right(model, length) for length in LENGTHS)]
print(f"  {'length of the text':<26}" + "".join(f"{n:>8}" for n in (TRAINED, *LENGTHS)))
for name, curve in curves.items():
    print(f"  {name:<26}" + "".join(f"{hit:8.1%}" for hit in curve))
erratum(
    "002-q5-rope",
    min(curve[0] for curve in curves.values()) > 0.99 and curves["rotary"][3] < 0.95,
    shown={f"rotary, right at length {n}": hit
           for n, hit in zip((TRAINED, *LENGTHS), curves["rotary"])},
    because="rotary positions can be computed for any length, and fade the latest here; but they "
    "fade. Position interpolation and YaRN exist because long texts need more than that",
)  # fmt: skip

late = look.weights(np.random.default_rng(0).normal(size=(20, 16)))[..., TRAINED:]
outcome = {
    "It goes on as well as before": max(curves[name][1] for name in curves if "," in name) > 0.9,
    "There is no row for the later positions": bool(said),
    "The layer interpolates by itself": not said,
    "Attention leaves those tokens out": bool((late == 0).all()),
}
quiz(
    "002-q5",
    "A model has learned positions and reads text twice as long as its table. What happens?",
    answer=next(text for text, happens in outcome.items() if happens),
    options=list(outcome),
    because="a table of 512 rows, asked for 513, refuses. The ways out must be chosen, and here "
    "they run without knowing: the added rows were never trained",
    printed="B",
)

fig, ax = plot.figure(size=(9, 4.2))
plot.lines(ax, (TRAINED, *LENGTHS), curves, logx=True, marker="o",
           xlabel="length of the text, tokens", ylabel="right answers past place 16",
           title="Trained on 16 tokens, then read on: name the token three back")  # fmt: skip
ax.axhline(1 / LETTERS, color="grey", lw=1)
ax.annotate("guessing", (TRAINED, 1 / LETTERS), xytext=(0, 4), textcoords="offset points")
ax.set_xticks((TRAINED, *LENGTHS), (TRAINED, *LENGTHS))
ax.minorticks_off()
ax.set_ylim(0, 1.05)
ax.legend(fontsize=10, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
save_figure(fig, "ch02_past_the_end.png")

# %% [markdown]
# ## Why add, and not keep apart?
# Three rows side by side would keep everything apart, in $3D$ columns. The rest of the model would
# have to be three times as wide. Square matrices then grow nine times, not three; only what passes
# between layers triples.

# %%
wide = concatenate(*(Tensor(row) for row in rows), axis=-1)
check(
    "000-ch2-concat-3d",
    wide.size == 3 * total.size,
    shown={"columns of one row": total.size, "columns of three side by side": wide.size},
)
narrow_layer, wide_layer = layer_params(D), layer_params(3 * D)
erratum(
    "000-ch2-concat-triples-model",
    worked.quotient("weights of a layer, 3D to D", wide_layer, narrow_layer),
    printed="3x",
    because="weights grow with the square of the width; so do multiply-adds, "
    f"{body_macs(128, 3 * D, 12) / body_macs(128, D, 12):.1f} times at 128 tokens. Only the "
    f"vectors themselves triple, and one projection back to D would cost "
    f"{table_params(3 * D, D):,} weights in all",
)

# %% [markdown]
# So put one projection $W$ behind the three, back to $D$ columns. Cut $W$ into three blocks and
# multiply out:
# $$[a; b; c]\, W = a W_1 + b W_2 + c W_3.$$
# That is again a sum of three rows. Multiply the token table by $W_1$, the position table by $W_2$
# and the segment table by $W_3$, look up in the results, and the projection is gone.
# Concatenate-and-project is adding with other tables; and since the tables are learned anyway,
# adding alone can be everything it can be. The gradients say the same: $a$ receives $g W_1^\top$
# either way.

# %%
W = np.random.default_rng(4).normal(size=(12, 4)).round(1)
blocks = W[:4], W[4:8], W[8:]
beside = [Tensor(row, requires_grad=True) for row in rows]
projected = concatenate(*beside, axis=-1) @ W
products = [worked.matmul(f"part {i + 1}", row[None], block)[0]
            for i, (row, block) in enumerate(zip(rows, blocks))]  # fmt: skip
sum_of_products = worked.sum("[a; b; c] W", *products)
projected.backward(g)
L = Loss(lambda *parts: concatenate(*parts, axis=-1) @ W, tuple(beside), g)
compare("concatenate, project", hand=sum_of_products, ours=projected.numpy())
compare("d a", hand=g @ blocks[0].T, ours=beside[0].grad, numeric=gradient(L, beside[0]))

folded = [table @ block for table, block in zip((tokens, places, kinds), blocks)]
other = BERTInput(6, 4, max_len=8, dtype=np.float64)
for table, values in zip((other.token, other.position, other.segment), folded):
    table.weight.data[...] = values
side_by_side = np.concatenate(
    [tokens[ids], np.broadcast_to(places[:4], (2, 4, 4)), kinds[segments]], axis=-1
)
gap = np.abs(other.sum(ids, segments).numpy() - side_by_side @ W).max()
check(
    "000-ch2-concat-vs-sum",
    gap < 1e-12 and np.allclose(beside[0].grad, g @ blocks[0].T),
    shown={"largest difference, folded tables and projection": gap,
           "columns handed on, added": added.shape[-1],
           "columns handed on, side by side": side_by_side.shape[-1]},
)  # fmt: skip

# %% [markdown]
# ## Can a sum be taken apart?
# Two numbers cannot be recovered from their sum. Two rows can, if they come from known tables: 200
# tokens and 50 positions make 10,000 sums, and all of them are different, even in one column. What
# harms is noise. So we add noise of 0.5 to each number of the sum, look for the nearest of the
# 10,000, and see whether token and position are found again. Beside it stands the rival at the same
# width: half of the columns for the token, the other half for the position.

# %%
WIDTHS = (1, 2, 4, 8, 16, 32, 64)


def recovered(token_rows, position_rows, noise: float, rng, trials: int = 200) -> float:
    """Share of blurred sums whose nearest clean sum is their own."""
    sums = (token_rows[:, None] + position_rows).reshape(-1, token_rows.shape[1])
    true = rng.integers(len(sums), size=trials)
    seen = sums[true] + noise * rng.normal(size=(trials, sums.shape[1]))
    nearest = ((sums**2).sum(axis=1) - 2 * seen @ sums.T).argmin(axis=1)
    return float((nearest == true).mean())


rng = np.random.default_rng(0)
found: dict = {"added, no noise": [], "added": [], "side by side, same width": []}
for width in WIDTHS:
    t, p = rng.normal(size=(200, width)), rng.normal(size=(50, width))
    left = np.arange(width) < (width + 1) // 2  # the token's half
    found["added, no noise"].append(recovered(t, p, 0.0, rng))
    found["added"].append(recovered(t, p, 0.5, rng))
    halves = t * left * 2**0.5, p * ~left * 2**0.5  # as long as the rows that are added
    found["side by side, same width"].append(recovered(*halves, 0.5, rng))
print(f"  {'columns':<26}" + "".join(f"{width:>8}" for width in WIDTHS))
for name, curve in found.items():
    print(f"  {name:<26}" + "".join(f"{hit:8.1%}" for hit in curve))
at = dict(zip(WIDTHS, found["added"]))
halved = dict(zip(WIDTHS, found["side by side, same width"]))
check(
    "000-ch2-addition-sufficient",
    min(found["added, no noise"]) == 1 and at[1] < 0.1 and at[64] > 0.99
    and at[8] > halved[8],
    shown={"found without noise, d = 1": found["added, no noise"][0],
           **{f"found, noise 0.5, d = {width}": at[width] for width in (1, 8, 16, 64)},
           "side by side, d = 8 and 16": [halved[8], halved[16]]},
)  # fmt: skip

# %% [markdown]
# One column is hopeless, sixteen are enough. And where the two ways differ clearly, adding is the
# better one: each row has all the columns to stand out in, not half of them.
#
# ## Do the two tables avoid each other?
# It is said that trained position rows and token rows are nearly orthogonal, and that this shows
# how training keeps them apart. But *any* two random rows are nearly orthogonal when there are many
# columns: the size of their cosine is about $\sqrt{2 / (\pi D)}$. The claim needs that to compare
# with. So we train the two tables, on the barest task that needs both: read a sum, name its token
# and its position.

# %%
NUM_TOKENS, NUM_PLACES = 40, 24


def mean_cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Mean size of the cosine of a row of one table with a row of the other."""
    return float(np.abs(geometry.unit_rows(a) @ geometry.unit_rows(b).T).mean())


def disentangle(width: int) -> tuple[GPTInput, GPTInput, Linear, Linear, float]:
    """Input layer before and after training, both heads, and the loss of the last ten steps."""
    start = {"p": 0.0, "init": width**-0.5, "position_init": width**-0.5, "dtype": np.float64}
    before, source = (GPTInput(NUM_TOKENS, width, NUM_PLACES, rng=0, **start) for _ in range(2))
    rng = np.random.default_rng(1)
    name_token, name_place = (
        Linear(width, count, bias=False, rng=rng, dtype=np.float64)
        for count in (NUM_TOKENS, NUM_PLACES)
    )

    def next_loss() -> Tensor:
        ids = rng.integers(NUM_TOKENS, size=(16, NUM_PLACES))
        return naming_loss(source, name_token, name_place, ids)

    losses = learn(next_loss, [source, name_token, name_place], partial(SGD, lr=3.0),
                   80 if options.quick else 160, f"{width} columns")  # fmt: skip
    return before, source, name_token, name_place, float(np.mean(losses[-10:]))


def naming_loss(source, name_token, name_place, ids) -> Tensor:
    """Cross-entropy of naming each token, plus that of naming each position."""
    seen, here = source(ids), np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
    return cross_entropy(name_token(seen), ids) + cross_entropy(name_place(seen), here)


widths = (8, 16, 32, 64)
runs = {width: disentangle(width) for width in widths}
rng = np.random.default_rng(2)
chance = {width: mean_cosine(*rng.normal(size=(2, 200, width))) for width in (*widths, 256, 768)}
formula = {width: (2 / (np.pi * width)) ** 0.5 for width in chance}
size_of = {
    moment: [mean_cosine(run[which].token.weight.data, run[which].position.weight.data)
             for run in runs.values()]
    for which, moment in enumerate(("before training", "after training"))
}  # fmt: skip
for i, width in enumerate(widths):
    sizes = "   ".join(f"{moment} {size[i]:.3f}" for moment, size in size_of.items())
    print(
        f"  D = {width:<4} loss {runs[width][-1]:.3f}   random rows {chance[width]:.3f}   {sizes}"
    )
gain = [chance[width] / size for width, size in zip(widths, size_of["after training"])]
erratum(
    "000-ch2-near-orthogonal",
    chance[768] < 0.03 and chance[8] / chance[64] > max(gain) > 1,
    shown={"mean |cosine| of random rows, d = 768": chance[768], "by the formula": formula[768],
           "random rows, d = 8 to 64": [chance[8], chance[64]],
           "trained, d = 8 to 64": [size_of["after training"][0], size_of["after training"][-1]]},
    because="random rows in 768 columns already have it: a small cosine shows nothing by itself. "
    f"Training does push the tables apart here, to {min(gain):.1f} to {max(gain):.1f} times below "
    f"random rows; going from 8 to 64 columns alone makes {chance[8] / chance[64]:.1f}",
)  # fmt: skip

# %% [markdown]
# ## Dimensions or directions?
# The text says that some dimensions come to carry position and others identity. Take the table of
# 16 columns and ask of each column what share of its variance is the token's. Then turn the whole
# space by a random rotation, tables and heads together. Every logit stays what it was, so the model
# is the same; but the columns are different ones. If columns had been given roles, the trained ones
# would stand out among the turned ones. The purest directions are those, in any turned space, in
# which the token's share is least and most.


# %%
def column_shares(t: np.ndarray, p: np.ndarray) -> np.ndarray:
    """For each column, token variance / (token variance + position variance)."""
    return t.var(axis=0) / (t.var(axis=0) + p.var(axis=0))


def direction_shares(t: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The same for the directions in which the two differ most, smallest share first."""
    sizes, axes = np.linalg.eigh(np.cov(t.T) + np.cov(p.T))
    level = axes / sizes**0.5  # in these axes, token and position variance add up to 1
    return np.linalg.eigvalsh(level.T @ np.cov(t.T) @ level)


before, after16, name_token, name_place, _ = runs[16]
start, end = ([layer.token.weight.data, layer.position.weight.data] for layer in (before, after16))
ids = np.random.default_rng(3).integers(NUM_TOKENS, size=(16, NUM_PLACES))
loss = naming_loss(after16, name_token, name_place, ids).item()
turns = np.linalg.qr(np.random.default_rng(4).normal(size=(400, 16, 16)))[0]
spreads = [column_shares(*(table @ turn for table in end)).std() for turn in turns]
trained_spread = column_shares(*end).std()
shares = {"before training": direction_shares(*start), "after training": direction_shares(*end)}
whole = [after16.token, after16.position, name_token, name_place]
for part in whole:
    part.weight.data = part.weight.data @ turns[0]
turned_loss = naming_loss(after16, name_token, name_place, ids).item()
for part in whole:
    part.weight.data = part.weight.data @ turns[0].T
beaten = float(np.mean([spread < trained_spread for spread in spreads]))
erratum(
    "000-ch2-dims-specialise",
    abs(loss - turned_loss) < 1e-10 and 0.025 < beaten < 0.975
    and np.ptp(shares["after training"]) > np.ptp(shares["before training"]),
    shown={"loss": loss, "loss, turned": turned_loss, "spread of the column shares": trained_spread,
           "turned spaces with less": beaten,
           "purest directions before": shares["before training"][[0, -1]],
           "purest directions after": shares["after training"][[0, -1]]},
    because="directions take roles, columns do not: a turned space works as well, and its columns "
    "look as mixed as the trained ones",
)  # fmt: skip

# %% [markdown]
# ## Pictures
# Left, the three parts of "cat" at position 3 and their sum; right, the same sum slid through eight
# positions. Below, what width does for a sum, and what chance does for cosines: the trained tables
# lie a little below the line of random rows, and the line itself falls much faster.

# %%
fig, axes = plot.figure(1, 2, size=(11, 4.2))
plot.bars(axes[0], list("0123"), {**dict(zip(("token", "position", "segment"), rows)),
          "sum": total}, xlabel="column", ylabel="value",
          title="'cat' at position 3, sentence A")  # fmt: skip
axes[0].axhline(0, color="black", lw=0.8)
plot.heatmap(axes[1], slide, cols=list("0123"), highlight=[3], xlabel="column",
             ylabel="position of 'cat'", title="The sum, slid through the positions")  # fmt: skip
save_figure(fig, "ch02_recipe.png")

fig, axes = plot.figure(1, 3, size=(15, 4.2))
plot.lines(axes[0], WIDTHS, found, logx=True, marker="o", xlabel="columns D",
           ylabel="sums whose parts are found again",
           title="200 tokens plus 50 positions, noise 0.5")  # fmt: skip
axes[0].set_xticks(WIDTHS, WIDTHS)
plot.lines(axes[1], list(chance), {"random rows": list(chance.values()),
           "sqrt(2 / (pi D))": list(formula.values())}, logx=True, logy=True, xlabel="columns D",
           ylabel="mean |cosine|", title="Token rows against position rows")  # fmt: skip
axes[1].plot(widths, size_of["after training"], "D", color=plot.PALETTE["green"],
             label="after training")  # fmt: skip
axes[1].set_xticks(list(chance), list(chance))
axes[1].set_yticks([0.02, 0.05, 0.1, 0.2, 0.3], ["0.02", "0.05", "0.1", "0.2", "0.3"])
axes[1].legend(fontsize=10)
plot.lines(axes[2], np.arange(1, 17), {
    "directions, after training": shares["after training"],
    "directions, before": shares["before training"],
    "columns, after training": np.sort(column_shares(*end)),
}, marker="o", xlabel="rank", ylabel="share of variance that is the token's",
    title="Directions take roles, columns do not")  # fmt: skip
for ax in axes[:2]:
    ax.minorticks_off()
save_figure(fig, "ch02_sums_apart.png")

# %% [markdown]
# ## What did we learn?

# %%
meaning = {"token": "what the token is", "position": "where it stands",
           "segment": "which sentence it belongs to"}  # fmt: skip
carried = ", ".join(meaning[name.split(".")[0]] for name in three)
quiz(
    "000-ch2-quiz",
    "Which three things does BERT add up at its input?",
    answer=carried,
    options=["what the token is, how often it occurs, where it stands",
             "what the token is, where it stands, which sentence it belongs to",
             "what the token is, what stands before it, what follows it"],
    because="one table for each, and the layer has these three and no other",
)  # fmt: skip
verdict()
