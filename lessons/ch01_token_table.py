# %% [markdown]
# # 1. The token table
#
# The table of token rows is often the largest single array of a small language model. This lesson
# weighs it, fills it with random numbers, and then watches it learn. One thing decides how well a
# row learns: how often its token is read. We prove that by hand on six rows, measure it on a
# made-up language, and measure it again on real text.
#
# The real text is the documentation that came with your Python. To use your own, start the lesson
# with `--text FILE`.

# %%
from itertools import pairwise

import numpy as np

from scratch_embed import SGD, Adam, AdamW, Embedding, Tensor, geometry, plot, sizes
from scratch_embed.functional import log_sigmoid, lookup
from scratch_embed.lesson import (
    begin,
    check,
    compare,
    erratum,
    options,
    progress,
    quiz,
    save_figure,
    verdict,
    worked,
)
from scratch_embed.lesson.look.terminal import table as columns
from scratch_embed.models import NextToken, train
from scratch_embed.ops.onehot import one_hot
from scratch_embed.simulations import table_size
from scratch_embed.simulations.controls import defaults
from scratch_embed.sizes import MODELS, gpt2_params, layer_params, table_bytes, table_params
from scratch_embed.text import corpus, toy
from scratch_embed.text.bpe import BPE
from scratch_embed.text.bpe import train as train_bpe
from scratch_embed.text.docstrings import SOURCES, source_files
from scratch_embed.text.published import PIECES

begin()

# %% [markdown]
# ## Rows times columns
# A vocabulary of $V$ tokens and rows of $D$ numbers make a table of $V \cdot D$ numbers, and each
# number takes two bytes in FP16. Take Llama 2 7B:

# %%
llama2, llama3 = MODELS["Llama 2 7B"], MODELS["Llama 3 8B"]
params = worked.product("numbers, V D", llama2.num_embeddings, llama2.embedding_dim)
num_bytes = worked.product("bytes in FP16", params, 2)
worked.quotient("MiB", num_bytes, 2**20)
check("000-ch1-llama2-131m", params, printed="131 M")

layer = Embedding(300, 20)
halves = {d: Embedding(3, d).weight.numpy().astype(np.float16) for d in (20, 768, 4096)}
check(
    "000-ch1-formula-params",
    layer.weight.size == table_params(300, 20)
    and layer.weight.data.nbytes == table_bytes(300, 20, layer.weight.dtype),
    shown={"numbers held by a 300 by 20 layer": layer.weight.size,
           "bytes held, float32": layer.weight.data.nbytes},
)  # fmt: skip
check(
    "000-ch1-bytes-per-vector",
    all(table[0].nbytes == 2 * d == table_bytes(1, d) for d, table in halves.items()),
    shown={f"bytes of an FP16 row, d = {d:,}": table[0].nbytes for d, table in halves.items()},
)

# %% [markdown]
# All of GPT-2 small is less than that one table. Its parts: the token table, the position table,
# twelve layers, and the last normalisation.

# %%
gpt2 = MODELS["GPT-2 small"]
whole = worked.sum(
    "GPT-2 small",
    gpt2.params,
    table_params(gpt2.max_len, gpt2.embedding_dim),
    gpt2.num_layers * layer_params(gpt2.embedding_dim),
    2 * gpt2.embedding_dim,
)
check("000-ch1-gpt2-124m", whole, printed="124 M")
check(
    "000-ch1-table-bigger-than-gpt2",
    llama2.params > whole == gpt2_params(),
    shown={"one Llama 2 table": llama2.params, "all of GPT-2 small": whole},
)

# %% [markdown]
# ## Five tables
# The page says MB and counts in units of $2^{20}$ bytes, whose name is MiB. Read that way, seven of
# its ten figures hold and three do not.

# %%
bert, guess = MODELS["BERT-base"], MODELS["GPT-4 (estimate, D = 8192)"]
five = (gpt2, bert, llama2, llama3, guess)
fp16 = {model: table_bytes(model.num_embeddings, model.embedding_dim) for model in five}
for model, size in fp16.items():
    name = next(n for n, m in MODELS.items() if m is model)
    print(f"  {name:<28}{sizes.human(model.params):>8}{sizes.mib(size):10.2f} MiB"
          f"{sizes.mb(size):10.2f} MB")  # fmt: skip

check("000-ch1-table-gpt2-params", gpt2.params, printed="38.6 M")
erratum("000-ch1-table-gpt2-fp16", fp16[gpt2], printed="73 MiB",
        because="73.6 rounds to 74; the page rounds 44.7 up but cuts this one off")  # fmt: skip
check("000-ch1-table-bert-params", bert.params, printed="23.4 M")
check("000-ch1-table-bert-fp16", fp16[bert], printed="45 MiB")
check("000-ch1-table-llama2-params", llama2.params, printed="131.1 M")
check("000-ch1-table-llama2-fp16", fp16[llama2], printed="250 MiB")
erratum("000-ch1-table-llama3-params", llama3.params, printed="525.4 M",
        because="128,256 * 4,096 = 525,336,576")  # fmt: skip
erratum("000-ch1-table-llama3-fp16", fp16[llama3], printed="1,001 MiB",
        because="128,256 * 4,096 * 2 bytes are exactly 1,002 * 2^20")  # fmt: skip
check("000-ch1-table-gpt4-params", guess.params, printed="819.2 M")
check("000-ch1-table-gpt4-fp16", fp16[guess], printed="1,562 MiB")

# %% [markdown]
# Between Llama 2 and Llama 3 the vocabulary grew four times, and so did the table. Was it the
# vocabulary that cost so much? It was what changed. In the product $V \cdot D$ both factors
# weigh the same.

# %%
times = worked.quotient("V of Llama 3 / V of Llama 2", llama3.num_embeddings, llama2.num_embeddings)
check("000-ch1-llama3-quadruple-vocab", times, printed="4 x")
erratum(
    "000-ch1-llama3-250mb-to-1gb",
    [fp16[llama2], fp16[llama3]],
    printed="250 MB; 1 GB",
    because="250 counts units of 2^20 bytes and 1 counts 10^9: in one unit it is 262 MB to "
    "1,051 MB, or 250 MiB to 1,002 MiB",
)
wide = table_params(llama2.num_embeddings, 2 * llama2.embedding_dim)
tall = table_params(2 * llama2.num_embeddings, llama2.embedding_dim)
erratum(
    "000-ch1-vocab-dominant-driver",
    wide == tall == 2 * llama2.params,
    shown={"twice the vocabulary": tall, "twice the dimension": wide},
    because="V and D weigh the same in V * D; the vocabulary dominates only while D stays as it is",
)

opening = defaults(table_size.CONTROLS)
check(
    "000-ch1-explorer-defaults",
    [opening["num_embeddings"], opening["embedding_dim"]]
    == [llama2.num_embeddings, llama2.embedding_dim],
    shown={**opening, **table_size.size(**opening)._asdict()},
)

# %% [markdown]
# The table weighs the same whether a batch holds one token or a million. What grows with the
# batch is the stack of rows that comes out of the lookup.

# %%
layer = Embedding(1000, 64)
table_before, outputs = layer.weight.data.nbytes, []
for batch in (1, 32, 1024):
    outputs.append(layer(np.zeros((batch, 16), dtype=np.int64)).data.nbytes)
check(
    "000-ch1-fixed-memory",
    layer.weight.data.nbytes == table_before and outputs[2] == 1024 * outputs[0],
    shown={"bytes of the table, always": layer.weight.data.nbytes,
           "bytes handed on for batches of 1, 32, 1,024": outputs},
)  # fmt: skip
quiz(
    "000-ch1-quiz-memory",
    "50,000 rows of 2,048 numbers in FP16: how much memory? Name your unit, as in 12 MB or 12 MiB.",
    answer=table_bytes(50_000, 2_048),
    because="204,800,000 bytes are 204.8 MB or 195.3 MiB; without its unit either figure is half "
    "an answer",
)

# %% [markdown]
# A model reads with one table and scores the next token with another of the same shape. Using one
# array for both is called weight tying. It halves the bill; who does it is another matter. The
# size of the released weights tells: without the layers, one table is left, or two.

# %%
tied, untied = NextToken(400, 16, tied=True), NextToken(400, 16, tied=False)
count = [sum(p.size for p in model.parameters()) for model in (tied, untied)]
check(
    "000-ch1-tying-halves",
    2 * count[0] == count[1],
    shown={"numbers, tied": count[0], "numbers, untied": count[1]},
)
ONE_TABLE = {  # the numbers of each model, were it built with one table
    "GPT-2 small": gpt2_params(),
    "Llama 2 7B": sizes.llama_params(tied=True),
    "Llama 3 8B": sizes.llama_params(128_256, 4096, 32, 14_336, 1024, tied=True),
    "Llama 3.2 1B": sizes.llama_params(128_256, 2048, 16, 8192, 512, tied=True),
}
held = {name: 1 + (sizes.RELEASED[name] - one) / MODELS[name].params
        for name, one in ONE_TABLE.items()}  # fmt: skip
erratum(
    "000-ch1-tying-llama",
    held["GPT-2 small"] == held["Llama 3.2 1B"] == 1 and held["Llama 2 7B"] == 2
    and held["Llama 3 8B"] == 2,
    shown={f"tables in {name}": number for name, number in held.items()},
    because="Llama 2 7B and Llama 3 8B keep two tables (tie_word_embeddings is false in their "
    "config.json), and so does T5 from version 1.1 on; only the small Llama 3.2 models share",
)  # fmt: skip

# %% [markdown]
# ## A random start
# Before training every number is drawn from a bell curve around zero. How wide a bell? There are
# three habits, and they are far apart.

# %%
draws = {init: Embedding(1000, 512, rng=0, init=init).weight.numpy() for init in (
    0.02, "1/sqrt(d)", "N(0,1)")}  # fmt: skip
stds = {str(init): table.std() for init, table in draws.items()}
erratum(
    "000-ch1-init-std",
    abs(stds["0.02"] - 0.02) < 1e-3 and stds["1/sqrt(d)"] > 2 * 0.02 and stds["N(0,1)"] > 40 * 0.02,
    printed="0.02",
    shown={**{f"std of init={name}, d = 512": std for name, std in stds.items()},
           "d at which 1/sqrt(d) is 0.02": 0.02**-2},
    because="0.02 is one habit of three (GPT-2 and BERT have it), so name the one you mean: the "
    "library layer draws from N(0,1), and 1/sqrt(d) agrees with 0.02 at d = 2500 only",
)  # fmt: skip

# %% [markdown]
# Whatever the width, the rows know nothing of each other. In many columns two random rows are
# nearly at right angles. In three columns any angle is likely, and only chance decides which.

# %%
angles = {}
for d in (3, 512):
    cosines = geometry.cosines(Embedding(1000, d, rng=1, init=0.02).weight.numpy())
    angles[d] = cosines[np.triu_indices(1000, k=1)]
check(
    "000-ch1-random-start-unrelated",
    abs(angles[512].mean()) < 0.001 and np.abs(angles[512]).mean() < 0.05
    and np.abs(angles[3]).mean() > 0.4,
    shown={"mean cosine, d = 512": angles[512].mean(),
           "mean size of a cosine, d = 512": np.abs(angles[512]).mean(),
           "mean size of a cosine, d = 3": np.abs(angles[3]).mean()},
)  # fmt: skip

# %% [markdown]
# ## The way back, by hand
# Six rows, three columns. Read rows 1 and 2, and let the loss be the sum of all six numbers that
# came out. Each of them counts once, so each gets gradient 1. Rows that were not read get none.

# %%
words = ["the", "cat", "dog", "sat", "house", "on"]
E = Tensor(np.random.default_rng(0).normal(0, 0.02, (6, 3)), requires_grad=True, name="E")


def by_nudging(loss, tensor: Tensor, rows=None, h: float = 2.0**-16) -> np.ndarray:
    """(L(x + h) - L(x - h)) / 2h for every entry x of these rows: knows nothing of backward."""
    rows = range(len(tensor.data)) if rows is None else rows
    slopes = np.zeros((len(rows), tensor.shape[1]))
    for place, d in np.ndindex(slopes.shape):
        index = rows[place], d
        x = tensor.data[index]
        tensor.data[index] = x + h
        above = loss().item()
        tensor.data[index] = x - h
        slopes[place, d] = (above - loss().item()) / (2 * h)
        tensor.data[index] = x
    return slopes


ids = np.array([1, 2])
by_hand = worked.scatter_add("dE", ids, np.ones((2, 3)), num_rows=6)
lookup(E, ids).sum().backward()
numeric = by_nudging(lambda: lookup(E, ids).sum(), E)
for v in (0, 1, 2):
    compare(f"read cat, dog: dE[{words[v]}]", hand=by_hand[v], ours=E.grad[v], numeric=numeric[v])
check(
    "000-ch1-grad-demo",
    (E.grad[[0, 3]] == 0).all() and (E.grad[[1, 2]] == 1).all(),
    shown={"rows 0 and 3": E.grad[[0, 3]], "rows 1 and 2": E.grad[[1, 2]]},
)
check("000-ch1-unselected-zero-grad", np.abs(E.grad[[0, 3, 4, 5]]).max(), printed="0")

# %% [markdown]
# Read "cat" twice and its row collects two gradients. An assignment, or NumPy's
# `dE[ids] += g`, would keep only the last one.

# %%
ids = np.array([1, 1, 2])
by_hand = worked.scatter_add("dE", ids, np.ones((3, 3)), num_rows=6)
E.grad = None
lookup(E, ids).sum().backward()
numeric = by_nudging(lambda: lookup(E, ids).sum(), E)
compare("read cat, cat, dog: dE[cat]", hand=by_hand[1], ours=E.grad[1], numeric=numeric[1])
careless = np.zeros((6, 3))
careless[ids] += 1
check(
    "000-ch1-grad-duplicates",
    (E.grad[1] == 2).all() and (careless[1] == 1).all(),
    shown={"dE[cat]": E.grad[1], "what dE[ids] += g leaves": careless[1]},
)

# %% [markdown]
# Reading a row is the product of a one-hot code with the table, in the values and in the
# gradient. The check below has a random gradient at the output, because with ones a backward that
# hands rows to the wrong places can pass.

# %%
ids = np.array([4, 1, 0, 2, 1])
g = np.random.default_rng(1).normal(size=(5, 3))
E.grad = None
out = lookup(E, ids)
out.backward(g)
codes = one_hot(ids, 6)
compare("one-hot^T g, whole dE", hand=codes.T @ g, ours=E.grad,
        numeric=by_nudging(lambda: (lookup(E, ids) * g).sum(), E))  # fmt: skip
check(
    "000-ch1-onehot-product",
    np.array_equal(codes @ E.data, out.numpy()) and np.allclose(codes.T @ g, E.grad, atol=1e-15),
    shown={"largest difference, values": np.abs(codes @ E.data - out.numpy()).max(),
           "largest difference, gradient": np.abs(codes.T @ g - E.grad).max()},
)  # fmt: skip

# %% [markdown]
# So only rows that were read receive gradient. There is one exception to remember: where the table
# also does the scoring (that end of a model is called its head, and the table is then tied), every
# row takes part in every score, and every row gets gradient.

# %%
touched = {}
for is_tied in (False, True):
    model = NextToken(6, 3, tied=is_tied, rng=0)
    model.loss([1, 2], [2, 3]).backward()
    gradient = np.abs(model.embed.weight.grad).max(axis=1)
    touched["tied" if is_tied else "untied"] = np.flatnonzero(gradient)
check(
    "000-ch1-only-selected-rows",
    touched["untied"].tolist() == [1, 2] and len(touched["tied"]) == 6,
    shown={"rows with gradient after reading 1, 2": touched["untied"],
           "the same with a tied head": touched["tied"]},
)  # fmt: skip

# %% [markdown]
# ## The step
# Four tokens go in, four rows come out, four rows receive gradient, and SGD moves four rows.

# %%
ids, lr = np.array([4, 1, 0, 2]), 0.1
g = np.random.default_rng(2).normal(size=(4, 3)).round(2)
E.data[:] = np.random.default_rng(0).normal(0, 0.5, (6, 3)).round(2)
E.grad = None
before = E.data.copy()
lookup(E, ids, sparse=True).backward(g)
print(E.grad)
flow_gradient = E.grad.to_dense()
SGD([E], lr=lr).step()
step = worked.scale("lr dE[4]", lr, g[0])
compare("E[4] after the step", hand=worked.difference("E[4]", before[4], step), ours=E.data[4])
check(
    "000-ch1-flow-shape",
    all(Embedding(6, d)(ids).shape == (4, d) for d in (3, 16)),
    shown={"shape for d = 3": lookup(E, ids).shape},
)

# %% [markdown]
# That was plain SGD. Other optimisers remember: momentum keeps nine tenths of its last step, Adam
# keeps running means of the gradient and of its square, and AdamW also shrinks every number a
# little (weight decay). Below, row A is read in the first step and not in the second, row B the
# other way round, row C never, always with gradient 1. The table shows what the *second* step did
# to each, in units of the learning rate.

# %%
LR = 1e-3
second_step = {}
for name, make in {
    "SGD": lambda p: SGD(p, lr=LR),
    "momentum 0.9": lambda p: SGD(p, lr=LR, momentum=0.9),
    "Adam": lambda p: Adam(p, lr=LR),
    "AdamW": lambda p: AdamW(p, lr=LR, weight_decay=0.01),
}.items():
    rows = Tensor(np.ones((3, 1)), requires_grad=True)
    optimizer = make([rows])
    for gradient in ([[1.0], [0.0], [0.0]], [[0.0], [1.0], [0.0]]):
        at = rows.data.copy()
        rows.grad = np.array(gradient)
        optimizer.step()
    second_step[name] = (rows.data - at)[:, 0] / LR
    print(f"  {name:<14}" + "".join(f"  {r}: {x:+.3f}" for r, x in zip("ABC", second_step[name])))

changed = np.flatnonzero((E.data != before).any(axis=1))
erratum(
    "000-ch1-four-rows-touched",
    len(changed) == 4 and all(second_step[n][0] != 0 for n in ("momentum 0.9", "Adam"))
    and (second_step["AdamW"] != 0).all(),
    printed="only 4 rows",
    shown={"rows moved by SGD": changed,
           **{f"{n}: row not read, in lr": second_step[n][0] for n in ("momentum 0.9", "Adam")},
           "weight decay: row never read, in lr": second_step["AdamW"][2]},
    because="true of plain SGD; momentum and Adam go on moving a row after it was last read, and "
    "weight decay moves every row at every step",
)  # fmt: skip

# %% [markdown]
# One sentence of the text says that "cat" is id 1 and "dog" is id 5291. Those are two numberings:
# a table in which "cat" is row 1 has six rows. In either numbering the point stands.

# %%
big = Tensor(np.random.default_rng(3).normal(size=(6000, 3)), requires_grad=True)
dog_row = big.data[5291].tobytes()
lookup(big, [3782], sparse=True).sum().backward()
SGD([big], lr=0.1).step()
try:
    lookup(E, [5291])
    refusal = ""
except IndexError as error:
    refusal = str(error)
erratum(
    "000-ch1-row-5291-untouched",
    "5291" in refusal and big.data[5291].tobytes() == dog_row,
    shown={"row 5291 of the six-row table": refusal,
           "bytes of row 5291 changed by reading 3782": sum(
               a != b for a, b in zip(dog_row, big.data[5291].tobytes()))},
    because="two numberings in one sentence: cat 1 goes with dog 2, cat 3782 with dog 5291",
)  # fmt: skip

# %% [markdown]
# Do rows train independently? In *when* they move, yes. In *where* they go, no: what arrives at a
# row depends on other rows. Let a sentence be the sum of its rows and the loss half its
# squared length. Then the gradient of "cat" is the whole sum, with "dog" in it.

# %%
E.grad = None
ids = np.array([1, 2])


def half_square() -> Tensor:
    sentence = lookup(E, ids).sum(axis=0)
    return 0.5 * (sentence * sentence).sum()


half_square().backward()
hand = worked.sum("dE[cat] = E[cat] + E[dog]", E.data[1], E.data[2])
compare("half square: dE[cat]", hand=hand, ours=E.grad[1], numeric=by_nudging(half_square, E)[1])
first = E.grad[1].copy()
E.grad = None
E.data[2] += 1
half_square().backward()
erratum(
    "000-ch1-rows-independent",
    not np.allclose(first, E.grad[1]) and (E.grad[3] == 0).all(),
    shown={"dE[cat]": first, "dE[cat] after moving only 'dog'": E.grad[1]},
    because="independent in when a row moves, not in where to: its gradient depends on all other "
    "weights",
)

# %% [markdown]
# Adam divides each step by the size of recent gradients, number by number. A row that is read in
# every $k$-th step only has small recent gradients, so each of its few readings counts for more.
# How much more? About $\sqrt{k}$, until the gap outlasts the memory of some thousand steps.

# %%
gaps = np.array([1, 4, 10, 100, 1000])
rows = Tensor(np.zeros((len(gaps), 1)), requires_grad=True)
adam, steps = Adam([rows], lr=LR), 8_000
for step in range(1, steps + 1):
    rows.grad = (step % gaps == 0).astype(float)[:, None]
    adam.step()
    if step == steps // 2:
        halfway = rows.data.copy()
moved = (halfway - rows.data)[:, 0]
per_reading = moved * gaps / moved[0]
check(
    "000-ch1-adam-rare-vs-frequent",
    np.allclose(per_reading[:4], np.sqrt(gaps[:4]), rtol=0.05) and per_reading[4] < 0.9 * 1000**0.5,
    shown={f"a reading in every {k} steps moves a row by": x for k, x in zip(gaps, per_reading)}
    | {"sqrt(1000)": 1000**0.5},
)  # fmt: skip

# %% [markdown]
# ## Rare rows
# Now the consequence. A row that is read in five steps is moved five times. Suppose each step
# takes it a tenth of the way to where it should be: after five, $0.9^5 = 59$ % of the way is
# left. A row that is read a hundred times has arrived.

# %%
table = Tensor(np.zeros((2, 1)), requires_grad=True)
goal, updates = np.ones((2, 1)), np.zeros(2, dtype=int)
for step in range(100):
    ids = np.array([0, 1] if step % 20 == 0 else [1])  # row 0 is rare: 5 readings
    rows_read = lookup(table, ids, sparse=True)
    table.grad = None
    (0.5 * (rows_read - goal[ids]) ** 2).sum().backward()
    SGD([table], lr=0.1).step()
    updates[table.grad.rows] += 1
left = np.abs(goal - table.data)[:, 0]
compare("way left after 5 updates", hand=0.9**5, ours=left[0])
print(f"  way left: rare row {left[0]:.3f}, frequent row {left[1]:.6f}")
check("000-ch1-rare-five-updates", updates[0], printed="5")

# %% [markdown]
# At the other end the count saturates. However often a token stands in a batch, its row takes one
# step for that batch. Take a run of 300 billion tokens in steps of half a million: 600,000 steps.
# A token that occurs 5 million times misses a step with probability $e^{-5{,}000{,}000/600{,}000}$.

# %%
run_steps = round(300e9 / 0.5e6)


def expected_updates(occurrences: float, steps: int) -> float:
    """Steps whose batch holds the token at least once, occurrences falling at random (Poisson)."""
    return steps * -np.expm1(-occurrences / steps)


erratum(
    "000-ch1-frequent-five-million-updates",
    round(expected_updates(5e6, run_steps)) == 599_856,
    printed="5 million",
    shown={"expected updates": round(expected_updates(5e6, run_steps))},
    because="a row takes at most one step per batch: 5 million occurrences in 600,000 batches give "
    "599,856 updates",
)
long_text = toy.zipf_classes(40_000).tokens.reshape(-1, 8)  # one pass in batches of 8
commonest = np.bincount(long_text.ravel()).argmax()
hits = np.count_nonzero((long_text == commonest).any(axis=1))
check(
    "000-ch1-frequent-thousands",
    1000 <= hits <= len(long_text),
    shown={"occurrences of the commonest word": np.count_nonzero(long_text == commonest),
           "updates in one pass": hits, "batches in one pass": len(long_text)},
)  # fmt: skip

# %% [markdown]
# Does it show in a trained table? We let a next-token model read 12,000 words of a made-up
# language: 400 words, a few very common, most rare, as in real text.

# %%
made_up = toy.zipf_classes()
model = NextToken(len(made_up.classes), 16, rng=1, init=0.1)
run = train(
    model,
    made_up.tokens,
    SGD(model.parameters(), lr=1.0),
    steps=300 if options.quick else 600,
    batch_size=64,
    rng=2,
    progress=lambda steps: progress(steps, "next-token model"),
)
distance = run.moved(model.embed.weight.numpy())
never, seen = run.updates == 0, run.updates > 0
rare, frequent = seen & (run.updates <= 10), run.updates > 100
check(
    "000-ch1-rare-stays-near-init",
    distance[never].max(initial=0) == 0
    and np.median(distance[rare]) < 0.25 * np.median(distance[frequent]),
    shown={"median distance from the start, rows with 1-10 updates": np.median(distance[rare]),
           "more than 100 updates": np.median(distance[frequent]),
           "rows never read": never.sum(), "their distance": distance[never].max(initial=0),
           "correlation of log updates and distance":
               np.corrcoef(np.log(run.updates[seen]), distance[seen])[0, 1]},
)  # fmt: skip

# %% [markdown]
# ## On real text
# The first reading of the documentation takes some seconds, with a bar; after that it is kept.
# We cut the text into words, count them, and give each its own row.

# %%
if options.text is not None:
    source, text = options.text.name, corpus.read_text(options.text)
else:
    brief = options.quick and bool(source_files("topics"))
    source = "pydoc's topics" if brief else "Python's documentation"
    text = corpus.python_text(("topics",) if brief else SOURCES)
tokens = corpus.words(text)
vocabulary = corpus.Vocabulary.from_tokens(tokens, max_size=20_000)
if len(tokens) < 1000 or len(vocabulary) <= 100:
    raise SystemExit(
        f"{source} has {len(tokens):,} words, {len(vocabulary) - 1:,} of them different; to tell "
        "rare from frequent takes at least 1,000 words and 100 different ones. Give a longer text."
    )
counts = vocabulary.counts[1:]  # row 0 is for words beyond the 20,000 most frequent
common = np.searchsorted(np.cumsum(counts), counts.sum() / 2) + 1
print(f"  {source}: {len(tokens):,} words, {len(counts):,} different")
print(f"  half of all words are one of these {common:,}: {' '.join(vocabulary.tokens[1:9])} ...")
print(f"  words seen 5 times or less: {np.mean(counts <= 5):.0%} of the rows")
print(f"  slope of log count over log rank: {corpus.zipf_slope(counts, 5, 2000):.2f}")

# %% [markdown]
# A slope near $-1$ is Zipf's law: the word of rank $r$ occurs about $1/r$ as often as the
# first. No table of whole words escapes it.
#
# Now let the rows learn. Each word $i$ is shown its true next word $c$, and four words drawn from
# the text at random. The model raises the score $E_i \cdot U_c$ of the true one and lowers the
# others (negative sampling, Mikolov et al. 2013). This touches a few hundred rows per step, so
# the gradients are stored as rows, and a step costs the same however long the table is.

# %%
D, FALSE = 16, 4
SIGN = np.array([1] + [-1] * FALSE, dtype=np.float32)  # the first candidate is the true next word
rng = np.random.default_rng(0)
E = Embedding(len(vocabulary), D, sparse=True, rng=rng, init="1/sqrt(d)").weight
U = Embedding(len(vocabulary), D, sparse=True, rng=rng, init="1/sqrt(d)").weight
start = E.data.copy()


def pair_loss(E: Tensor, U: Tensor, words, candidates) -> Tensor:
    """Sum of -log sigmoid(+-E[word] . U[candidate]):   (B,), (B, 1 + FALSE) -> ()"""
    rows = lookup(E, words, sparse=True).reshape(len(words), 1, D)
    scores = (rows * lookup(U, candidates, sparse=True)).sum(axis=-1)
    return -log_sigmoid(scores * SIGN).sum()


ids = vocabulary.encode(tokens)
reading = ids[: min(len(ids) // 2, 200_000)]
batch = max(8, min(128, len(reading) // 200))
steps = (len(reading) - 1) // batch
places = rng.permutation(len(reading) - 1)[: steps * batch].reshape(steps, batch)  # one pass


def candidates(at: np.ndarray) -> np.ndarray:
    """The next word, and FALSE random words of the text:   (B,) -> (B, 1 + FALSE)"""
    drawn = rng.integers(len(reading), size=(len(at), FALSE))
    return np.column_stack([reading[at + 1], reading[drawn]])


# %% [markdown]
# First the gradient of one batch, by hand. With $\sigma(z) = 1 / (1 + e^{-z})$, and $y$ = 1 for the
# true word and 0 for the others, each reading of word $i$ sends it
# $\sum_k (\sigma(E_i \cdot U_k) - y_k)\, U_k$. A word that the batch holds several times collects
# as many such sums.

# %%
E64, U64 = (Tensor(t.data.astype(np.float64), requires_grad=True) for t in (E, U))
words_read, shown = reading[places[0]], candidates(places[0])
pair_loss(E64, U64, words_read, shown).backward()
print(E64.grad)
readings = np.bincount(words_read)
for word in (readings.argmax(), words_read[np.argmin(readings[words_read])]):
    here = words_read == word
    answers = U64.data[shown[here]]
    wrong = 1 / (1 + np.exp(-(answers @ E64.data[word]))) - (SIGN > 0)
    compare(
        f"d loss / dE[{vocabulary.tokens[word]}], read {here.sum()}x",
        hand=np.einsum("nk,nkd->d", wrong, answers),
        ours=E64.grad.to_dense()[word],
        numeric=by_nudging(lambda: pair_loss(E64, U64, words_read, shown), E64, rows=[word])[0],
    )

# %% [markdown]
# Then one pass over half of the text (at most 200,000 words), in random order, with plain SGD. The
# gradient itself tells which rows it touches, and we keep count.

# %%
updates, losses = np.zeros(len(vocabulary), dtype=int), np.zeros(steps)
most = np.bincount(reading).max() / len(reading) * batch  # readings of one word in a batch
optimizer = SGD([E, U], lr=min(0.1, 1 / most))  # the row takes their sum, which must not overshoot
for step, at in enumerate(progress(places, "reading")):
    optimizer.zero_grad()
    loss = pair_loss(E, U, reading[at], candidates(at))
    loss.backward()
    updates[E.grad.rows] += 1
    optimizer.step()
    losses[step] = loss.item() / batch

moved = np.linalg.norm(E.data - start, axis=1)
tenth = max(1, steps // 10)
print(f"  {steps:,} steps of {batch} words; loss {losses[:tenth].mean():.2f} -> "
      f"{losses[-tenth:].mean():.2f} nats")  # fmt: skip
print(f"  the last gradient: {E.grad.nbytes:,} bytes; as a full table {E.data.nbytes:,}")

lines, medians = [], []
for low, high in [(0, 0), (1, 1), (2, 5), (6, 20), (21, 100), (101, 500), (501, steps)]:
    inside = np.flatnonzero((updates >= low) & (updates <= high))
    if len(inside):
        spread = np.percentile(moved[inside], [10, 50, 90])
        medians.append((np.median(updates[inside]), spread[1]))
        example = vocabulary.tokens[inside[len(inside) // 2]][:20]
        name = str(low) if low == high else f"{low} to {high:,}"
        lines.append([name, f"{len(inside):,}", *(f"{x:.3f}" for x in spread), example])
header = ["updates", "rows", "10 % moved less", "median moved", "90 % moved less", "such as"]
print(columns(header, lines, right=[1, 2, 3, 4]))

# %% [markdown]
# Rows start with a length of about 1. A row with one update is still nearly where it started; one
# with hundreds has been carried away to a place of its own. And the rows of the first line? They
# have the very bits of the random start. They are in the vocabulary because the *whole* text was
# counted, while training read one part of it. The same happens to large models whose tokenizer was
# made from other text than they were trained on: their untrained rows are known as glitch tokens
# (Land and Bartolo 2024, "Fishing for Magikarp").

# %%
unread = updates == 0
changed = E.data[unread].view(np.uint8) != start[unread].view(np.uint8)
compare(f"bytes changed in {unread.sum():,} rows never read", hand=0, ours=changed.sum())
some = np.argsort(-updates, kind="stable")[[0, 10, 50]]
by_counting = [(reading[places] == word).any(axis=1).sum() for word in some]
compare("updates of three words", hand=by_counting, ours=updates[some])
print(f"  '{vocabulary.tokens[some[0]]}' stands in the part read "
      f"{np.count_nonzero(reading == some[0]):,} times, and took {updates[some[0]]:,} "
      f"of {steps:,} steps")  # fmt: skip

# %% [markdown]
# ## Do subwords help?
# Cut rare words into pieces that are common, and the pieces get the updates. Byte pair encoding
# (Sennrich et al. 2016; it has a lesson of its own later) starts from single letters and joins the
# most frequent pair, again and again. We train it on the first pages of NumPy's documentation and
# stop after 0, 300 and 1,000 merges, and when no pair is left that occurs twice. The more rows
# the table has, the fewer tokens the text needs:

# %%
pages = corpus.python_text(("numpy",))[:100_000]
full = train_bpe(pages, 10_000, boundaries=True, min_count=2, progress=False)
cuts = [BPE(full.merges[:m], full.alphabet, boundaries=True) for m in (0, 300, 1000)] + [full]
pieces = [cut.encode(pages) for cut in cuts]
check(
    "000-ch1-bigger-vocab-shorter",
    all(len(more) < len(fewer) for fewer, more in pairwise(pieces)),
    shown={f"tokens with V = {len(cut):,}": len(p) for cut, p in zip(cuts, pieces)},
)

# %% [markdown]
# Do subwords make sure that no token is rare? Look at the share of rows that occur 5 times or
# less. A table of moderate size is far better off than one of whole words. The largest has as
# many rare rows as whole words have: pairs that occur twice, and pieces that are used up in
# longer pieces.

# %%
words_seen = corpus.Vocabulary.from_tokens(corpus.words(pages)).counts[1:]
uses = [np.bincount(p, minlength=len(cut))[1:] for cut, p in zip(cuts, pieces)]  # without UNKNOWN
rare_words, *rare_pieces = (np.mean(n <= 5) for n in (words_seen, *uses))
erratum(
    "000-ch1-subword-no-rare",
    0 < rare_pieces[2] < 0.5 * rare_words and rare_pieces[3] > 0.5,
    shown={f"rare among {len(words_seen):,} whole words": f"{rare_words:.0%}"}
    | {f"rare among {len(n):,} pieces": f"{r:.0%}" for n, r in zip(uses[1:], rare_pieces[1:])}
    | {"pieces that never occur, in the largest table": np.count_nonzero(uses[3] == 0)},
    because="subwords make rare rows fewer, they do not end them: a large table of pieces has "
    "barely trained rows too",
)

# %% [markdown]
# The text gives two examples of words. Where a word is cut is up to the counts, not to grammar.

# %%
print(f"  by the pieces of NumPy's documentation: {'|'.join(full.pieces('unhappiness'))}")
erratum(
    "000-ch1-unhappiness-split",
    "|".join(PIECES["cl100k_base"]["unhappiness"]),
    printed="un|happiness",
    because="the vocabularies of GPT-2 and GPT-4 (cl100k_base) cut it in three, and chapter 7 of "
    "the same text cuts it in yet another way",
)
long_word = "pneumonoultramicroscopicsilicovolcanoconiosis"
erratum(
    "000-ch1-long-word",
    long_word not in full.index and len(full.pieces(long_word)) > 1,
    shown={"letters": len(long_word), "pieces": len(full.pieces(long_word)),
           "its pieces": "|".join(full.pieces(long_word))},
    because="a subword table has no row for a word this rare, so no row of its own takes five "
    "updates; the example belongs to tables of whole words",
)  # fmt: skip

# %% [markdown]
# ## Pictures
# Left, the word counts on a double logarithmic scale, and below them how many updates each row
# received: those of frequent words are capped by the number of steps. Right, every row as a dot:
# the fewer updates, the closer to the start.

# %%
fig, axes = plot.figure(1, 2, size=(11.5, 4.6))
ranks, frequencies = corpus.rank_frequency(counts)
read_rows = np.flatnonzero(updates[1:])
plot.lines(axes[0], ranks, {"occurrences in the text": frequencies}, logx=True, logy=True)
axes[0].plot(read_rows + 1, updates[1:][read_rows], ".", ms=2.5, color=plot.PALETTE["vermillion"],
             label=f"updates ({unread.sum():,} rows: none)")  # fmt: skip
axes[0].axhline(steps, color=plot.PALETTE["black"], ls=":", lw=1, label=f"{steps:,} steps")
axes[0].set(xlabel="rank of the word", ylabel="count", title=f"Words of {source[:40]}")
axes[0].legend(markerscale=4)
axes[1].plot(updates, moved, ".", ms=2.5, color=plot.PALETTE["sky blue"], label="one row")
axes[1].plot(*zip(*medians), "o-", color=plot.PALETTE["blue"], ms=5, label="median of each group")
axes[1].set_xscale("symlog", linthresh=1)
axes[1].set(xlabel="updates", ylabel="distance from the start", title="How far rows have moved")
axes[1].legend()
save_figure(fig, "ch01_real_text.png")

# %% [markdown]
# Left, the gradient of the six-row table after reading house, cat, the, dog: the rows of "sat" and
# "on" are exactly zero. Right, what the second step of four optimisers did to a row that was read
# before, one that was read now, and one that was never read.

# %%
fig, axes = plot.figure(1, 2, size=(11.5, 4.2))
plot.heatmap(axes[0], flow_gradient, rows=words, cols=["0", "1", "2"], highlight=[0, 1, 2, 4],
             xlabel="column", title="Gradient after reading ids 4, 1, 0, 2")  # fmt: skip
plot.heatmap(axes[1], np.column_stack(list(second_step.values())), cols=list(second_step),
             rows=["read before", "read now", "never read"],
             title="Change in one step, in learning rates")  # fmt: skip
save_figure(fig, "ch01_gradient_rows.png")

# %% [markdown]
# ## What did we learn?
# A table costs $V \cdot D$ numbers, whatever the batch. Backward adds each arriving gradient to the
# row it came from, and SGD moves those rows and no other. So a row learns as often as its token is
# read in different batches, and a row that is never read stays as random as it was.

# %%
verdict()
