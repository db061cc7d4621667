# %% [markdown]
# # 13. One row, many meanings
#
# The table gives every token one row, the same in every sentence. And yet "bank" means one thing
# beside a river and another beside money. This lesson follows a token from its id to its row, and
# from its row to what attention makes of it. On the way: why the numbers of ids mean nothing, and
# exactly what must move if all of them are dealt anew.

# %%
import numpy as np

from scratch_embed import SGD, Embedding, Tensor, geometry, plot, sizes
from scratch_embed.functional import attention, cross_entropy, lookup, onehot_product, project
from scratch_embed.gradcheck import gradcheck
from scratch_embed.layers import HashEmbedding, SelfAttention, TiedHead, TransformerBlock
from scratch_embed.layers.layer import Layer
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
from scratch_embed.models import NextToken, train
from scratch_embed.ops.onehot import one_hot
from scratch_embed.optim import Adam
from scratch_embed.positions import sinusoidal
from scratch_embed.text import toy

begin()

# %% [markdown]
# ## From id to row
# A tokenizer hands over 57, 12, 908. The layer reads rows 57, 12 and 908. To be sure, we look for
# each vector that came out among all rows of the table, and ask in which row it stands.

# %%
V, D = 1000, 8
layer = Embedding(V, D, rng=0, dtype=np.float64)
table = layer.weight.numpy()
ids = np.array([57, 12, 908])
out = layer(ids).numpy()
came_from = [int(np.flatnonzero((table == row).all(axis=1))[0]) for row in out]
check("003-ids", came_from, printed="57, 12, 908")

# %% [markdown]
# Four things are easily mixed up, so let us hold each in hand. The id is a whole number. The matrix
# is the whole table. The embedding is the row of one token: a part of the table, and it changes
# when the table does. A vector is any list of numbers of that shape, wherever it comes from.

# %%
things = {"id": ids[0], "matrix": table, "embedding": table[ids[0]], "vector": out[0] + out[1]}
kinds = set()
for name, thing in things.items():
    inside = np.shares_memory(thing, table)
    kinds.add((np.shape(thing), inside))
    print(f"  {name:<10} shape {np.shape(thing)!s:<10} part of the table: {inside}")
check("003-three-objects", len(kinds), printed="4")

# %% [markdown]
# A sequence of $n$ ids becomes a matrix of $n$ rows and $d_{model}$ columns; a batch of sequences
# keeps its own axes in front.

# %%
shapes = {n: layer(np.arange(n)).shape for n in (0, 1, 5, 300)}
batch = layer(np.zeros((4, 7), dtype=int)).shape
check(
    "003-sequence-shape",
    all(shape == (n, D) for n, shape in shapes.items()) and batch == (4, 7, D),
    shown={f"length {n}": shape for n, shape in shapes.items()} | {"4 sequences of 7": batch},
)

# %% [markdown]
# ## More than a lookup
# "It is just a lookup table" is true and says too little. Write ids as one-hot codes and the same
# layer is a linear map $c \mapsto c^\top E$, defined for every code: also for one that is 0.3 of
# token 57 and 0.7 of token 12. A lookup has no answer to that. And because the map is linear, the
# code has a gradient, $E\,g$: how would the loss change with a little more of any other token?
# Soft prompts and relaxed token choice live on this.

# %%
mixture = 0.3 * one_hot([57], V)[0] + 0.7 * one_hot([12], V)[0]
blend = worked.sum("0.3 E[57] + 0.7 E[12]", 0.3 * table[57], 0.7 * table[12])
c = Tensor(mixture[None], requires_grad=True, name="code")
mixed = onehot_product(c, layer.weight)
g = np.random.default_rng(1).normal(size=(1, D)).round(2)
mixed.backward(g)
h = 2.0**-10
nudged = [(((mixture + h * code) @ table - mixture @ table) @ g[0]) / h for code in one_hot(ids, V)]
compare("a mixture of two rows", hand=blend, ours=mixed.numpy()[0])
compare("d code[57, 12, 908]", hand=table[ids] @ g[0], ours=c.grad[0, ids], numeric=nudged)
check(
    "003-lookup-incomplete",
    np.allclose(mixed.numpy()[0], blend)
    and np.allclose(one_hot(ids, V) @ table, out)
    and not np.allclose(table[57 + 12], table[57] + table[12]),
    shown={
        "distance of the map at the mixture from the mixture of rows":
            geometry.euclidean(mixed.numpy()[0], blend),
        "distance of E[57 + 12] from E[57] + E[12]":
            geometry.euclidean(table[69], table[57] + table[12]),
    },
)  # fmt: skip

# %% [markdown]
# ## Numbers without order
# 57 is not larger in meaning than 12. If ids carried any order, rows with near ids would be nearer
# to each other. In this table they are not, and training does not change that: nothing ever
# computes with an id.

# %%
pairs = np.triu_indices(200, 1)
id_gap = np.abs(pairs[0] - pairs[1]).astype(float)
row_gap = geometry.distances(table[:200])[pairs]
agreement = geometry.rank_correlation(id_gap, row_gap)
swapped = table.copy()
swapped[[57, 12]] = table[[12, 57]]  # the two tokens trade numbers, and take their rows along
relabelled = lookup(swapped, np.array([12, 57, 908])).numpy()
check(
    "003-ids-no-order",
    abs(agreement) < 0.05 and np.array_equal(relabelled, out),
    shown={
        "rank correlation of id gap and row distance": agreement,
        "pairs": len(id_gap),
        "numbers that differ when 57 and 12 trade ids and rows": np.sum(relabelled != out),
    },
)

# %% [markdown]
# ## All ids dealt anew
# So would a model still work if *all* ids were permuted, consistently, everywhere? Yes, says the
# text, and the word to weigh is "everywhere". We build a model with all the places where an id may
# hide: a table $E$ with a padding row, attention, a head $U$ with a bias $b$, targets of which the
# padding is ignored. A permutation $\pi$ gives token $i$ the number $\pi(i)$. Then everything
# moves:
#
# - inputs and targets: $\pi(id)$
# - rows of the table, rows of the head, entries of its bias: $E'_{\pi(i)} = E_i$ and so on
# - the special numbers: `padding_idx`, `ignore_index`
# - what the optimiser remembers about each row


# %%
num, dim, pad = 50, 12, 0
rng = np.random.default_rng(2)
body = SelfAttention(dim, causal=True, dtype=np.float64, rng=3)
weights = {
    "E": rng.standard_normal((num, dim)),
    "U": rng.standard_normal((num, dim)) * 0.5,
    "b": rng.standard_normal(num),
}
inputs = rng.integers(1, num, size=(12, 8))
goals = rng.integers(1, num, size=(12, 8))
inputs[:, :2] = goals[:, :2] = pad  # short sequences, filled up at the front
pi = rng.permutation(num)


def moved(array: np.ndarray) -> np.ndarray:
    """Row i goes to row pi(i)."""
    out = np.empty_like(array)
    out[pi] = array
    return out


def setting(stay: tuple[str, ...] = ()) -> dict:
    """Everything dealt anew, but for what is named in `stay`."""
    new = {name: w if name in stay else moved(w) for name, w in weights.items()}
    new["inputs"] = inputs if "inputs" in stay else pi[inputs]
    new["goals"] = goals if "goals" in stay else pi[goals]
    new["padding_idx"] = pad if "padding_idx" in stay else int(pi[pad])
    new["ignore_index"] = pad if "ignore_index" in stay else int(pi[pad])
    return new


def evaluate(s: dict) -> tuple[float, dict[str, np.ndarray]]:
    """Loss, and the gradient of each weight."""
    leaves = {n: Tensor(s[n].copy(), requires_grad=True, name=n) for n in weights}
    hidden = body(lookup(leaves["E"], s["inputs"], padding_idx=s["padding_idx"]))
    logits = project(hidden, leaves["U"], leaves["b"])
    loss = cross_entropy(logits, s["goals"], ignore_index=s["ignore_index"])
    loss.backward()
    return loss.item(), {n: leaf.grad for n, leaf in leaves.items()}


original = weights | {"inputs": inputs, "goals": goals, "padding_idx": pad, "ignore_index": pad}
loss, gradients = evaluate(original)
new_loss, new_gradients = evaluate(setting())
wrong = {}
for part in ("inputs", "goals", "E", "U", "b", "padding_idx", "ignore_index"):
    other_loss, other = evaluate(setting(stay=(part,)))
    off = max(np.abs(other[n] - moved(gradients[n])).max() for n in weights)
    wrong[part] = (other_loss, off)
parts = {
    "the rows of the table": "E",
    "the rows of the head": "U",
    "the bias of the head": "b",
    "padding_idx": "padding_idx",
    "ignore_index": "ignore_index",
}
quiet = [told for told, part in parts.items() if abs(wrong[part][0] - loss) < 1e-9]
quiz(
    "own-ch13-quiet-mistake",
    "All ids are dealt anew, inputs and targets too, and one thing on the list is forgotten. Which "
    "mistake does the loss not show, though training goes wrong from the first step on?",
    answer=quiet[0] if len(quiet) == 1 and wrong[parts[quiet[0]]][1] > 1e-3 else None,
    options=list(parts),
    because="padding_idx has no part in the forward pass: it says which row gets no gradient. The "
    f"loss stays {wrong['padding_idx'][0]:.4f}, and a gradient is off by "
    f"{wrong['padding_idx'][1]:.3f}",
)
for name, gradient in gradients.items():
    compare(f"d{name}, dealt anew", hand=moved(gradient), ours=new_gradients[name])
print(f"  loss {loss:.6f}, everything moved {new_loss:.6f}")
for part, (other_loss, off) in wrong.items():
    print(f"  {part + ' stays':<20} loss {other_loss:.4f}   largest error of a gradient {off:.3f}")

# %% [markdown]
# Every one of them is needed. Note `padding_idx`: the loss is the same without moving it, and only
# the gradient tells that the wrong row is frozen. The optimiser's memory is needed too: five steps
# of Adam on both models, then the numbers are dealt anew in the middle of training, once with its
# moments and once without.


# %%
def adam_run(deal_at: int | None, with_memory: bool = True, steps: int = 10) -> np.ndarray:
    """E after training, in the old numbering."""
    tensors = {n: Tensor(w.copy(), requires_grad=True, name=n) for n, w in weights.items()}
    adam, now, new = Adam(list(tensors.values()), lr=0.05), original, False
    for step in range(steps):
        if step == deal_at:
            for tensor, state in zip(adam.params, adam.state, strict=True):
                tensor.data[...] = moved(tensor.data)
                for moment in ("m", "v") if with_memory else ():
                    state[moment][...] = moved(state[moment])
            now, new = setting(), True
        hidden = body(lookup(tensors["E"], now["inputs"], padding_idx=now["padding_idx"]))
        logits = project(hidden, tensors["U"], tensors["b"])
        adam.zero_grad()
        cross_entropy(logits, now["goals"], ignore_index=now["ignore_index"]).backward()
        adam.step()
    return tensors["E"].data[pi] if new else tensors["E"].data


remembered = np.abs(adam_run(deal_at=5) - adam_run(deal_at=None)).max()
forgotten = np.abs(adam_run(deal_at=5, with_memory=False) - adam_run(deal_at=None)).max()
print(f"  Adam, its moments dealt too: differs by {remembered:.1e}; not: by {forgotten:.3f}")

# %% [markdown]
# And one thing may not happen at all: that something computes with the number itself. A hashed
# table does (lesson 15), so it cannot be dealt anew by moving rows. So does an argmax among equal
# logits, which takes the smallest number.

# %%
hashed = HashEmbedding(16, dim, rng=0, dtype=np.float64)
ordinary = Embedding(num, dim, rng=0, dtype=np.float64)
hash_off = np.abs(hashed(pi[inputs]).numpy() - hashed(inputs).numpy()).max()
dealt = lookup(moved(ordinary.weight.numpy()), pi[inputs]).numpy()
lookup_off = np.abs(dealt - ordinary(inputs).numpy()).max()
tie = np.zeros(num)
tie[[3, 4]] = 1.0
deals = (np.random.default_rng(n).permutation(num) for n in range(100))
kept = sum(deal[3] < deal[4] for deal in deals)
print(f"  of tied 3 and 4, argmax takes {np.argmax(tie)}; in {100 - kept} of 100 deals the other")
erratum(
    "003-permute",
    abs(new_loss - loss) < 1e-9
    and all(off > 1e-3 for _, off in wrong.values())
    and remembered < 1e-9
    and forgotten > 1e-3
    and lookup_off == 0
    and hash_off > 0.1,
    shown={
        "loss before": loss,
        "everything moved": new_loss,
        "table rows stay": wrong["E"][0],
        "head rows stay": wrong["U"][0],
        "head bias stays": wrong["b"][0],
        "targets stay": wrong["goals"][0],
        "ignore_index stays": wrong["ignore_index"][0],
        "padding_idx stays: error of a gradient": wrong["padding_idx"][1],
        "Adam's moments stay: error after 5 more steps": forgotten,
        "a hashed table: error of its rows": hash_off,
    },
    because="yes, if 'everywhere' means the rows of the table and of the head, its bias, inputs "
    "and targets, padding_idx and ignore_index, and the optimiser's moments, and if nothing "
    "computes with the number itself, as hashing does",
)

# %% [markdown]
# ## Bank, by hand
# Two sentences, and attention in its barest form: no matrices, no scale, two dimensions. "river"
# points right, "money" up, and "bank" halfway between. Same row, two neighbours, two answers.

# %%
words = ["river", "money", "bank"]
E2 = np.array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
sentences = np.array([[0, 2], [1, 2]])  # river bank; money bank
states = {}
for pair in sentences:
    rows = E2[pair]
    name = " ".join(words[i] for i in pair)
    scores = worked.matmul("score of bank", rows[1:], rows.T)[0]
    w = worked.softmax(f'weights of "bank" in "{name}"', scores)
    states[name] = worked.sum(f'state of "bank" in "{name}"', w[0] * rows[0], w[1] * rows[1])
    print()

E_tensor = Tensor(E2, requires_grad=True, name="E")
x = lookup(E_tensor, sentences)
contextual = attention(x, x, x, scale=1.0)
ours = contextual.numpy()[:, 1]
compare("bank in two contexts", hand=np.stack(list(states.values())), ours=ours)
report = gradcheck(lambda E: attention(*(lookup(E, sentences),) * 3, scale=1.0), E_tensor,
                   name="attention over two sentences")  # fmt: skip
print(report.raise_if_wrong())

# %% [markdown]
# On the way back both sentences speak to the one row. Backward runs through each alone, and the
# row of "bank" collects the sum: the static row is a compromise of all its uses.

# %%
g = np.random.default_rng(4).normal(size=(2, 2, 2)).round(2)
contextual.backward(g)
alone = []
for n, pair in enumerate(sentences):
    E_alone = Tensor(E2, requires_grad=True)
    y = lookup(E_alone, pair)
    attention(y, y, y, scale=1.0).backward(g[n])
    alone.append(E_alone.grad[2])


def total(E: np.ndarray) -> float:
    y = E[sentences]
    return float((attention(y, y, y, scale=1.0).numpy() * g).sum())


numeric = np.zeros(2)
for j in range(2):
    nudge = np.zeros_like(E2)
    nudge[2, j] = 1e-6
    numeric[j] = (total(E2 + nudge) - total(E2 - nudge)) / 2e-6
compare("dE[bank], both sentences", hand=worked.sum("dE[bank]", *alone), ours=E_tensor.grad[2],
        numeric=numeric)  # fmt: skip

# %% [markdown]
# The same in sentences of three words, with a random attention layer of sixteen columns. It has
# learned nothing, and already the two states differ, because different rows were mixed in. Without
# attention, whatever layers follow, they are the same to the last bit.

# %%
vocabulary = ["the", "river", "money", "bank"]
index = {word: i for i, word in enumerate(vocabulary)}
two = np.array([[index[w] for w in s.split()] for s in ("the river bank", "the money bank")])
small = Embedding(len(vocabulary), 16, rng=5, dtype=np.float64)
rows = small(two)
attend = SelfAttention(16, causal=True, dtype=np.float64, rng=6)
mixed_states = attend(rows).numpy()[:, -1]
unmixed = np.tanh(rows.numpy() @ np.random.default_rng(7).standard_normal((16, 16)))[:, -1]
apart = {
    "rows": geometry.euclidean(*rows.numpy()[:, -1]),
    "states": geometry.euclidean(*mixed_states),
}
check(
    "004-static-then-contextual",
    np.array_equal(unmixed[0], unmixed[1]) and apart["rows"] == 0 and apart["states"] > 0.1,
    shown={
        "distance of the two rows of bank": apart["rows"],
        "distance after a layer without attention": geometry.euclidean(*unmixed),
        "distance after attention": apart["states"],
        "cosine of the two states": geometry.cosine(*mixed_states),
    },
)

# %% [markdown]
# ## A model that has to tell them apart
# Differing is not yet knowing. So we train one Transformer block on three-word sentences in which
# the last word depends on the sense: "river bank floods", "savings bank lends", and the like for
# bat and spring. Beside it stands a model that sees the present word only.

# %%
SENSES = {
    "bank": (("river muddy grassy", "floods erodes slopes"),
             ("savings city private", "lends pays charges")),
    "bat": (("flying hungry blind", "hunts squeaks sleeps"),
            ("wooden heavy broken", "cracks swings splinters")),
    "spring": (("mountain cold hidden", "bubbles flows freezes"),
               ("coiled steel rusty", "stretches snaps bends")),
}  # fmt: skip
lines, senses = [], []
for noun, kinds in SENSES.items():
    for sense, (cues, verbs) in enumerate(kinds):
        lines += [(cue, noun, verb) for cue in cues.split() for verb in verbs.split()]
        senses += [sense] * 9
senses = np.array(senses)
lexicon = sorted({word for line in lines for word in line})
number = {word: i for i, word in enumerate(lexicon)}
text = np.array([[number[word] for word in line] for line in lines])  # (54, 3)


class Reader(Layer):
    """Table, one causal Transformer block with rotary positions, head."""

    def __init__(self, rng: int = 0):
        self.embed = Embedding(len(lexicon), 16, rng=rng, init=0.5, dtype=np.float64)
        self.block = TransformerBlock(16, causal=True, rotary=True, rng=rng, dtype=np.float64)
        self.head = Embedding(len(lexicon), 16, rng=rng + 1, init="1/sqrt(d)", dtype=np.float64)

    def states(self, ids) -> Tensor:
        return self.block(self.embed(ids))

    def loss(self, sentences) -> Tensor:
        logits = project(self.states(sentences[:, :-1]), self.head.weight)
        return cross_entropy(logits, sentences[:, 1:])


reader = Reader()
adam = Adam(reader.parameters(), lr=0.01)
losses = []
for _ in progress(range(150 if options.quick else 250), "reading"):
    adam.zero_grad()
    step_loss = reader.loss(text)
    step_loss.backward()
    adam.step()
    losses.append(step_loss.item())

pairs_only = NextToken(len(lexicon), 16, rng=0, init=0.5)
optimizer = Adam(pairs_only.parameters(), lr=0.02)
for _ in range(150):
    optimizer.zero_grad()
    pairs_only.loss(text[:, :-1], text[:, 1:]).backward()
    optimizer.step()


def right_sense(logits: np.ndarray) -> float:
    """Probability mass, at the noun, on the three verbs of the sense that the cue gave."""
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    own = [np.unique(text[(text[:, 1] == t[1]) & (senses == s), 2]) for t, s in zip(text, senses)]
    return float(np.mean([p[n, verbs].sum() for n, verbs in enumerate(own)]))


state = reader.states(text[:, :-1]).numpy()[:, 1]  # at the noun
row = reader.embed(text[:, 1]).numpy()
by_state = right_sense(state @ reader.head.weight.numpy().T)
by_row = right_sense(pairs_only(text[:, 1]).numpy())
label = [f"{lexicon[t[1]]} {s}" for t, s in zip(text, senses, strict=True)]
distinct = len(np.unique(row, axis=0))
chances = {
    "nearly 1: it learns the 54 sentences by heart": by_row > 0.9,
    "about 1/2: after a noun both senses are as likely": abs(by_row - 0.5) < 0.05,
    "about 1/3: one of three verbs is right": abs(by_row - 1 / 3) < 0.05,
}
quiz(
    "own-ch13-row-alone",
    "The second model goes from the row of the present word straight to the next word. Which share "
    "of its bets, at the noun, goes to the three verbs of the right sense?",
    answer=next(chance for chance, is_so in chances.items() if is_so),
    options=list(chances),
    because=f"{by_row:.3f}: 54 sentences, but only {distinct} different rows at the noun. The "
    "word that tells the sense stands in front of it, where this model does not look, and training "
    "cannot change that",
)
erratum(
    "001-intro-entire-meaning",
    by_state > 0.95 and abs(by_row - 0.5) < 0.05 and distinct == len(SENSES),
    shown={
        "different rows of the three nouns": distinct,
        "different states at them": len(np.unique(state.round(9), axis=0)),
        "probability of the right sense, from the row alone": by_row,
        "from the state": by_state,
        "nearest state of the same noun and sense": geometry.neighbour_accuracy(state, label),
    },
    because="the row is all that is known about a token before its context is read; which sense is "
    "meant stands in the states, and the weights that make them are knowledge too",
)
reader_fig = geometry.pca(state, 2)

# %% [markdown]
# ## What is in the row, then?
# Says one text: the row is everything the network knows of a token. Says another: mostly grammar
# and frequency, and meaning comes with the layers. In our toy we can ask. A next-token model on a
# Zipf text: do its rows tell a word's class, that is, what may follow it? Do they tell how common
# the word is? And the sense of "bank", above? The first two yes, the third never. How a large
# model divides its knowledge is an empirical matter which no toy settles.

# %%
corpus = toy.zipf_classes()
lm = NextToken(len(corpus.classes), 16, rng=1, init=0.1)
run = train(lm, corpus.tokens, SGD(lm.parameters(), lr=1.0),
            400 if options.quick else 800, batch_size=64, rng=2)  # fmt: skip
counts = np.bincount(corpus.tokens, minlength=len(corpus.classes))
seen = run.updates > 20
found = lm.embed.weight.numpy()
classes_read = geometry.neighbour_accuracy(found[seen], corpus.classes[seen], "cosine")
frequency_read = geometry.rank_correlation(geometry.norms(found), counts.astype(float))
check(
    "004-raw-table-syntactic",
    classes_read > 0.5 and frequency_read > 0.5 and abs(by_row - 0.5) < 0.05 and by_state > 0.95,
    shown={
        "words compared": seen.sum(),
        "nearest row has the same class": classes_read,
        "chance": 0.1,
        "rank correlation of row length and frequency": frequency_read,
        "right sense from a row": by_row,
        "right sense from a state": by_state,
    },
)
depths = {name: m.num_layers for name, m in sizes.MODELS.items() if m.num_layers}
deep = [name for name, layers in depths.items() if layers >= 96]
print("  layers:", ", ".join(f"{name} {layers}" for name, layers in depths.items()))
erratum(
    "004-96-layers",
    deep == ["GPT-3 175B"] and np.median(list(depths.values())) <= 96 / 4,
    shown={"models listed": len(depths), "with 96 layers or more": len(deep),
           "median": np.median(list(depths.values())), "GPT-2 small": depths["GPT-2 small"]},
    because="96 layers is GPT-3; the next deepest listed has "
    f"{sorted(depths.values())[-2]}, and most have a quarter of 96 or less",
)  # fmt: skip

# %% [markdown]
# ## States of whole sentences
# A network has a state for each token. For one vector a sentence, something has to choose or to
# mix. CLIP's text tower is said to pool its tokens; what it does is to take the state at the
# end-of-text token, found as the highest id of the sentence. In a causal model that is the only
# state that has seen everything.

# %%
vocab_with_end = 60
tower = TransformerBlock(16, causal=True, dtype=np.float64, rng=8)
clip_table = Embedding(vocab_with_end, 16, rng=9, dtype=np.float64)
END = vocab_with_end - 1
sentence = np.array([4, 17, 8, 23, END])
tower_states = tower(clip_table(sentence)).numpy()
picked = tower_states[sentence.argmax()]
pooled = tower_states.mean(axis=0)
changed = sentence.copy()
changed[3] = 30
reach = np.abs(tower(clip_table(changed)).numpy() - tower_states).max(axis=1)
erratum(
    "001-uses-clip",
    np.array_equal(picked, tower_states[-1])
    and geometry.euclidean(picked, pooled) > 0.1
    and (reach[:3] == 0).all() and reach[-1] > 0,
    shown={
        "place of the highest id": sentence.argmax(),
        "its distance from the mean state": geometry.euclidean(picked, pooled),
        "states before word 3 that notice a change of word 3": np.sum(reach[:3] > 0),
        "change of the end state": reach[-1],
    },
    because="CLIP takes the state of the end-of-text token, not an average: in openai/CLIP, "
    "model.py, encode_text indexes with text.argmax(dim=-1)",
)  # fmt: skip

# %% [markdown]
# And does BERT give better sentence similarity than GPT-2, as a question of one text supposes?
# BERT's attention goes both ways: even the first state has seen the last word, where a causal one
# has not. But untrained for the purpose, its averaged states did worse than averaged GloVe vectors
# on the standard similarity tasks (Spearman correlation with human judgements, times 100).
#
# That text's models have different tokenizers. Let us give two blocks the same one, the same table
# and the same weights; one looks both ways, the other only back. A tokenizer decides which rows are
# read. What does it decide about the states?

# %%
both_ways = TransformerBlock(16, causal=False, dtype=np.float64, rng=8)
twins = [block(clip_table(sentence)).numpy() for block in (tower, both_ways)]
same_weights = all(
    np.array_equal(a.data, b.data) for a, b in zip(tower.parameters(), both_ways.parameters())
)
parted = np.abs(twins[0] - twins[1]).max(axis=1) > 1e-9
twice = [block(block(clip_table(sentence))).numpy() for block in (tower, both_ways)]
differ_at = {
    "none: ids, rows and weights are the same": not parted.any(),
    "all tokens but the first": not parted[0] and parted[1:].all(),
    "all tokens but the last": parted[:-1].all() and not parted[-1],
    "every token": parted.all(),
}
quiz(
    "own-ch13-same-tokenizer",
    "Two blocks with equal weights get the same ids and rows; one attends to both sides, the other "
    "only back. At which tokens do their states differ?",
    answer=next(place for place, is_so in differ_at.items() if is_so and same_weights),
    options=list(differ_at),
    because="the last token sees the whole sentence in either. But after a second pass "
    f"through the block the last states are {geometry.euclidean(twice[0][-1], twice[1][-1]):.2f} "
    "apart too, for now they mix states that differ. Equal tokens do not make equal sentences",
)

# %%
PUBLISHED = {  # STS12, 13, 14, 15, 16, STS benchmark, SICK-R
    "GloVe, averaged": [55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76],
    "BERT, averaged": [38.78, 57.98, 57.98, 63.15, 61.06, 46.35, 58.40],
    "BERT, CLS": [20.16, 30.01, 20.09, 36.88, 38.08, 16.50, 42.63],
}
averages = {name: float(np.mean(row)) for name, row in PUBLISHED.items()}
first_moves = {
    name: np.abs(block(clip_table(changed)).numpy() - block(clip_table(sentence)).numpy())[0].max()
    for name, block in {"causal": tower, "both ways": both_ways}.items()
}
erratum(
    "004-recap-bert-vs-gpt2",
    averages["BERT, CLS"] < averages["BERT, averaged"] < averages["GloVe, averaged"]
    and first_moves["causal"] == 0 < first_moves["both ways"],
    shown={f"{name}, mean of 7 tasks": average for name, average in averages.items()}
    | {"first state notices word 3, causal": first_moves["causal"],
       "first state notices word 3, both ways": first_moves["both ways"]},
    because="the premise does not hold for raw vectors: Reimers and Gurevych (2019, table 1) found "
    "BERT's averaged or CLS vectors below averaged GloVe; they become good when trained for it. "
    "What holds is that attention in both directions lets every state see the whole sentence",
)  # fmt: skip

# %% [markdown]
# ## What the page only links to
# The lecture note points at a notebook with six sections, and at five short videos; none came with
# it. Here are the six, each as a calculation, and below the five as pictures.

# %%
padded = Embedding(10, 4, padding_idx=0, rng=0, dtype=np.float64)
padded([0, 3, 0, 5]).sum().backward()
tied = Embedding(10, 4, rng=0, dtype=np.float64)
head = TiedHead(tied)
cross_entropy(head(tied([1, 2])), np.array([2, 3])).backward()
walk = {
    "token id to vector": came_from == ids.tolist(),
    "sequence lookup and output shape": layer(ids).shape == (3, D),
    "padding rows and gradient flow": bool(
        not padded.weight.grad[0].any() and padded.weight.grad[[3, 5]].all()
    ),
    "vocabulary size and parameter count": layer.weight.size == sizes.table_params(V, D),
    "weight tying and shared geometry": bool(
        head.weight is tied.weight and tied.weight.grad.any(axis=1).all()
    ),
    "static rows versus contextual states": not np.allclose(*mixed_states),
}
check("003-companion-code", len(walk) == 6 and all(walk.values()), shown=walk)


# %%
def id_to_vector(ax) -> None:
    plot.heatmap(ax, table[55:60, :6], rows=[str(i) for i in range(55, 60)], highlight=[2],
                 values=False, xlabel="column", ylabel="id",
                 title="1. Id 57 fetches row 57")  # fmt: skip


def arrow(ax, end, start, color: str, **style) -> None:
    """An arrow from start to end."""
    style = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0} | style
    ax.annotate("", end, start, arrowprops=style)


def beside(ax, text: str, point, by=(6, 4)) -> None:
    """Text a few points beside a point."""
    ax.annotate(text, point, xytext=by, textcoords="offset points")


def tying_geometry(ax) -> None:
    hidden = np.array([1.2, 0.5])
    logits = E2 @ hidden
    for i, (word, row) in enumerate(zip(words, E2, strict=True)):
        arrow(ax, row, (0, 0), plot.CYCLE[i])
        beside(ax, f"{word}: h . E = {logits[i]:.1f}", row)
    arrow(ax, hidden, (0, 0), "black", ls="--")
    beside(ax, "h", hidden, by=(5, -12))
    ax.set(xlim=(-0.2, 3.4), ylim=(-0.2, 2.5), title="2. Tied: the logit is an alignment",
           xlabel="column 0", ylabel="column 1")  # fmt: skip


def static_and_contextual(ax) -> None:
    for i, (word, row) in enumerate(zip(words, E2, strict=True)):
        ax.plot(*row, "os^"[i], color=plot.CYCLE[i], ms=9)
        beside(ax, word, row, by=(7, 5))
    for i, (name, end) in enumerate(states.items()):
        arrow(ax, end, E2[2], plot.CYCLE[i])
        beside(ax, f'in "{name}"', end, by=(9, 3))
    ax.set(xlim=(-0.2, 2.7), ylim=(-0.2, 2.4), title="3. One row, two states",
           xlabel="column 0", ylabel="column 1")  # fmt: skip


def bundle_and_scaling(ax) -> None:
    tokens = Embedding(200, 64, rng=0, init="1/sqrt(d)", dtype=np.float64).weight.numpy()
    kinds = {"token": tokens, "token x sqrt(d)": 8 * tokens, "position": sinusoidal(200, 64)}
    kinds["sum"] = kinds["token x sqrt(d)"] + kinds["position"]
    plot.bars(ax, list(kinds), [geometry.norms(k).mean() for k in kinds.values()], fmt="{:.1f}",
              ylabel="mean length of a row", title="4. Tables added, d = 64")  # fmt: skip


def one_hot_identity(ax) -> None:
    code = one_hot([2], 6)
    side = np.concatenate([code.T, np.full((6, 1), np.nan), table[:6, :4]], axis=1)
    plot.heatmap(ax, side, cols=["code", "", "0", "1", "2", "3"], highlight=[2], ylabel="id",
                 title="5. Code times table is row 2")  # fmt: skip


def senses_apart(ax) -> None:
    for i, name in enumerate(dict.fromkeys(label)):
        chosen = [n for n, other in enumerate(label) if other == name]
        ax.plot(*reader_fig.coords[chosen].T, plot.MARKERS[i], color=plot.CYCLE[i], ms=8,
                label=name)  # fmt: skip
    ax.set(xlabel="first principal component", ylabel="second principal component",
           title="Trained: 3 nouns, 2 senses each")  # fmt: skip
    ax.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


videos = [id_to_vector, tying_geometry, static_and_contextual, bundle_and_scaling, one_hot_identity]
fig, axes = plot.figure(2, 3, size=(16, 8.6))
for ax, panel in zip(axes.flat, [*videos, senses_apart], strict=True):
    panel(ax)
save_figure(fig, "ch13_five_stories.png")

# %% [markdown]
# Do the pictures tell the truth? We measure them: the colours of the cells, the ends of the arrows
# and the heights of the bars, as they were drawn.

# %%


def arrows(ax) -> np.ndarray:
    """Where the arrows of a panel end, and where they start."""
    heads = [text for text in ax.texts if text.arrow_patch is not None]
    return np.array([(text.xy, text.get_position()) for text in heads])


cells = axes.flat[0].images[0].get_array()
*row_ends, state_drawn = arrows(axes.flat[1])[:, 0]
logits_told = [float(text.get_text().split("=")[1]) for text in axes.flat[1].texts
               if "=" in text.get_text()]  # fmt: skip
ends, starts = arrows(axes.flat[2]).swapaxes(0, 1)
token_bar, scaled_bar, position_bar, _ = (bar.get_height() for bar in axes.flat[3].patches)
picture = axes.flat[4].images[0].get_array().filled(0)  # the gap beside the code is masked
measured = {
    "1. row 57 as drawn is the row looked up": np.array_equal(cells[2], layer([57]).numpy()[0, :6]),
    "2. logits told = products of the arrows": np.allclose(
        logits_told, row_ends @ state_drawn, atol=0.05
    ),
    "3. one start, two ends": np.ptp(starts, axis=0).max() == 0 < np.ptp(ends, axis=0).max(),
    "4. bars 2 and 1, ratio": scaled_bar / token_bar,
    "4. bars 2 and 3, ratio": scaled_bar / position_bar,
    "5. code times table = framed row": np.allclose(picture[:, 0] @ picture[:, 2:], picture[2, 2:]),
}
check(
    "003-videos",
    all(measured.values()) and bool(np.isclose(scaled_bar / token_bar, np.sqrt(64)))
    and abs(scaled_bar / position_bar - np.sqrt(2)) < 0.03,
    shown=measured,
)  # fmt: skip

# %% [markdown]
# ## The reading list
# Nine entries, with numbers that jump: those in between were lost. Two of the nine are never cited.
# An arXiv number begins with year and month; an ACL Anthology number names conference and year.

# %%
READING = {  # number: (what, year or identifier that holds it)
    1: ("Vaswani et al., Attention Is All You Need, NIPS", 2017),
    3: ("Devlin et al., BERT", "N19-1423"),
    5: ("PyTorch documentation, torch.nn.Embedding, as of", 2025),
    6: ("Bengio et al., A Neural Probabilistic Language Model, JMLR 3", 2003),
    7: ("Press and Wolf, Using the Output Embedding", "1608.05859"),
    8: ("Harris, Distributional Structure, Word 10", 1954),
    9: ("Mikolov et al., Efficient Estimation of Word Representations", "1301.3781"),
    11: ("Peters et al., Deep Contextualized Word Representations", "1802.05365"),
    16: ("Sennrich, Haddow and Birch, Subword Units", "1508.07909"),
}
CITED = {1, 3, 5, 6, 7, 11, 16}  # numbers that the text of the note refers to


def year(source: int | str) -> int:
    """1608.05859 -> 2016, N19-1423 -> 2019, 1954 -> 1954."""
    if isinstance(source, int):
        return source
    digits = source[1:3] if source[0].isalpha() else source[:2]
    return 2000 + int(digits)


years = [year(source) for _, source in READING.values()]
reference(
    "003-ref-list",
    years,
    printed="2017; 2019; 2025; 2003; 2016; 1954; 2013; 2018; 2015",
    source="; ".join(f"{what}: {source}" for what, source in READING.values()),
)
uncited = sorted(set(READING) - CITED)
missing = sorted(set(range(1, max(READING) + 1)) - set(READING))
erratum(
    "003-ref-gaps",
    len(uncited) > 0 and len(missing) > 0,
    shown={"entries": len(READING), "never cited": uncited, "numbers missing": missing},
    because="nine entries stand in the list, but the numbers run to 16 and two of the nine are "
    "never cited: the list was cut out of a longer one",
)
dates = {  # preprint, proceedings
    "Press and Wolf": ("1608.05859", "E17-2025"),
    "Sennrich et al.": ("1508.07909", "P16-1162"),
}
for name, (preprint, proceedings) in dates.items():
    print(f"  {name}: arXiv {preprint} {year(preprint)}, {proceedings} {year(proceedings)}")
preprint, proceedings = dates["Press and Wolf"]
erratum(
    "003-ref-press-wolf",
    year(proceedings),
    printed="2016",
    because=f"{year(preprint)} is the preprint (arXiv {preprint}); the paper appeared at EACL "
    f"({proceedings}), the year that other texts print",
)
preprint, proceedings = dates["Sennrich et al."]
erratum(
    "003-ref-sennrich",
    year(proceedings),
    printed="2015",
    because=f"{year(preprint)} is the preprint (arXiv {preprint}); the paper appeared at ACL "
    f"({proceedings}), the year that another text prints",
)

# %% [markdown]
# ## What did we learn?

# %%
explanations = {
    "the table holds one row for each of its meanings":
        len(np.unique(rows.numpy()[:, -1], axis=0)) > 1,
    "the lookup chooses the row by looking at the neighbours": apart["rows"] > 0,
    "layers after the table mix its neighbours into its state":
        apart["rows"] == 0 and apart["states"] > 0,
    "each use of the word changes its row while the sentence is read":
        not np.array_equal(rows.numpy(), small(two).numpy()),
}  # fmt: skip
quiz(
    "003-bank",
    'How can "bank" have one row in the table, and mean different things in two sentences?',
    answer=next(text for text, is_so in explanations.items() if is_so),
    options=list(explanations),
    because=f"its two rows are {apart['rows']:.1f} apart, its two states after one attention layer "
    f"{apart['states']:.2f}; trained, the state knows the sense with probability {by_state:.3f}, "
    f"the row with {by_row:.3f}",
)
verdict()
