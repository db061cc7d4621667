# %% [markdown]
# # 9. The cheat sheet
#
# **Question.** What of all this belongs on one page on the wall, and is every line of it right?
#
# **Afterwards** you can work out any line of the page again, with a pencil and a nudge.
#
# **Time** 15 minutes. **Needs** lessons 0, 2, 3, 5, 7, 12, 13, 14.
# **Exercises** `tied_model`, `tied_table`, `unfold_fold`.

# %%
import numpy as np

from scratch_embed.gradcheck import slopes
from scratch_embed.lesson import begin, beside, compare, guess, save_figure, show, worked

begin()

# %% [markdown]
# ## A line is pinned when it is proved
# A page of formulas is only worth its wall when they are right. So each line below is computed
# twice or three times on small numbers first, and then pinned. The numbers: a table of four rows,
# three ids, and a gradient that arrives.

# %%
E = np.array([[0.5, -0.2], [0.1, 0.9], [-0.7, 0.3], [0.4, 0.6]])
ids = np.array([1, 2, 1])
g = np.array([[0.3, -1.0], [0.5, 0.2], [2.0, 0.4]])
show("E", E)
show("g", g, rows=[f"id {i}" for i in ids])
pinned = []


def pin(name, forward, backward):
    pinned.append((name, forward, backward))
    print(f"  pinned  {name}: {forward}, {backward}")


# %% [markdown]
# ## Forward and backward
# **Lookup** (lesson 0). Rows are read; gradients are added to the rows they came from.


# %%
def lookup_back(g, ids, V):
    dE = np.zeros((V, g.shape[1]))
    np.add.at(dE, ids, g)
    return dE


def read_loss(E):
    return (E[ids] * g).sum()


from scratch_embed import Tensor
from scratch_embed.functional import cross_entropy, lookup, project

table = Tensor(E, requires_grad=True)
lookup(table, ids).backward(g)
dE, nudged = lookup_back(g, ids, len(E)), slopes(read_loss, E)
slope = worked.nudge("E", read_loss, E, (1, 0), why="row 1 was read twice: 0.3 + 2")
compare("dE", by_hand=dE, code=table.grad, nudged=nudged)
pin("lookup", "E[ids]", "dE[ids[n]] += g[n]")

# %% [markdown]
# **Position rows** (lesson 2) are added to every text of a batch, so they collect from every text.
# **A factor** (lesson 5) comes back as the same factor.

# %%
positions, batch_g = np.array([[0.1, 0.2], [0.3, -0.1]]), np.array([g[:2], g[1:], g[::2]])
by_hand = batch_g.sum(axis=0)
compare("dP", by_hand=by_hand, nudged=slopes(lambda p: (p * batch_g).sum(), positions))
pin("positions", "x[b, t] + P[t]", "dP[t] = sum over b of g[b, t]")
compare("dx", by_hand=3 * g, nudged=slopes(lambda x: (3 * x * g).sum(), E[ids]))
pin("factor", "c x", "dx = c g")

# %% [markdown]
# **Scores and cross-entropy** (lessons 12, 13). The scores are $z = hE^\top$. Softmax minus one-hot
# goes back into the scores; from there one product leads to $h$ and one to $E$.


# %%
def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cross_entropy_back(z, targets):
    return (softmax(z) - np.eye(z.shape[1])[targets]) / len(targets)


def scores_back(dz, h, E):
    return dz @ E, dz.T @ h  # dh, dE


targets = np.array([2, 1, 3])


def loss_of_scores(z):
    return -np.log(softmax(z)[np.arange(3), targets]).mean()


z = E[ids] @ E.T
dz = cross_entropy_back(z, targets)
compare("dz", by_hand=dz, nudged=slopes(loss_of_scores, z))
pin("cross-entropy", "mean of -log p[target]", "dz = (p - onehot) / N")
dh, scored = scores_back(dz, E[ids], E)
compare("dh", by_hand=dh, nudged=slopes(lambda h: loss_of_scores(h @ E.T), E[ids]))
pin("scores", "z = h E^T", "dh = dz E,  dE = dz^T h")

# %% [markdown]
# **A tied table** reads and scores. The batch above read rows 1, 2, 1 and scored with the same
# table.

# %%
q = guess("How many of its four rows get a gradient?")
read = lookup_back(dh, ids, len(E))
tied = slopes(lambda E: loss_of_scores(E[ids] @ E.T), E)
parts = {"read": read[:, 0], "scored": scored[:, 0]}
beside("dE[:, 0]", rows=range(4), **parts, nudged=tied[:, 0], wrong=list(parts))
q.answer(
    int(np.any(tied != 0, axis=1).sum()),
    because="every row was scored at every place",
    slips={2: "Those are the rows that were read.", 3: "That is how many ids there are."},
)
table = Tensor(E, requires_grad=True)
cross_entropy(project(lookup(table, ids), table), targets).backward()
compare("dE", their_sum=read + scored, code=table.grad, nudged=tied)
pin("tied table", "h = E[ids], z = h E^T", "dE = the read part + dz^T h")

# %% [markdown]
# **LayerNorm** (lesson 14), with three ways back, and **patches** (lesson 3), where every pixel
# lies in exactly one patch: what was unfolded is folded.


# %%
def normalise(x):
    c = x - x.mean(axis=-1, keepdims=True)
    s = np.sqrt((c**2).mean(axis=-1, keepdims=True))
    return c / s, s


def norm_back(g, n, s):
    through_mean = g.mean(axis=-1, keepdims=True)
    through_deviation = n * (g * n).mean(axis=-1, keepdims=True)
    return (g - through_mean - through_deviation) / s


def unfold(image, P):
    C, H, W = image.shape
    blocks = image.reshape(C, H // P, P, W // P, P).transpose(1, 3, 0, 2, 4)
    return blocks.reshape(-1, C * P * P)


def fold(rows, shape, P):
    C, H, W = shape
    blocks = rows.reshape(H // P, W // P, C, P, P)
    return blocks.transpose(2, 0, 3, 1, 4).reshape(shape)


# %%
rng = np.random.default_rng(9)
x, gx = rng.normal(size=(2, 5)), rng.normal(size=(2, 5))
n, s = normalise(x)
nudged = slopes(lambda x: (normalise(x)[0] * gx).sum(), x)
compare("dx, LayerNorm", by_hand=norm_back(gx, n, s), nudged=nudged)
pin("LayerNorm", "n = (x - mean) / s", "dx = (g - mean(g) - n mean(g n)) / s")

image, W = rng.normal(size=(3, 4, 4)), rng.normal(size=(5, 12))
gp = rng.normal(size=(4, 5))
nudged = slopes(lambda image: (unfold(image, 2) @ W.T * gp).sum(), image)
compare("d image", by_hand=fold(gp @ W, image.shape, 2), nudged=nudged)
pin("patches", "unfold(x) W^T", "dx = fold(g W),  dW = g^T unfold(x)")

# %% [markdown]
# ## What it costs
# Rows times columns, and two bytes a number in float16. Build the parts of BERT's input and of
# ViT's, count, and hold it against the formula.

# %%
from scratch_embed import layers, sizes

bert = layers.BERTInput(1000, 32, max_len=64, rng=0)
vit = layers.ViTInput(32, 16, embedding_dim=32, rng=0)
for weight in (*bert.parameters(), *vit.parameters()):
    print(f"  {weight.name:<26} {weight.shape}")
by_formula = (1000 + 64 + 2) * 32 + 2 * 32
compare("numbers, BERT", formula=by_formula, built=bert.num_parameters())
by_formula = 32 * (3 * 16 * 16 + 1) + 32 + (4 + 1) * 32
compare("numbers, ViT", formula=by_formula, built=vit.num_parameters())

# %%
q = guess(
    "V = 100,000, D = 2,048, a tied head, learned positions for 4,096 places. How many million "
    "numbers do the embeddings of this model hold?"
)
tokens = worked.product("tokens, and head", 100_000, 2048)
places = worked.product("positions", 4096, 2048)
total = worked.sum("in all", tokens, places)
q.answer(
    total / 1e6,
    tolerance=0.5,
    because="V D + T D: a tied head is the same table, learned positions are another",
    slips={
        (2 * tokens + places) / 1e6: "The tied head was counted as a second table.",
        tokens / 1e6: "Learned positions are a table too.",
    },
)

# %%
NAMES = ["GPT-2 small", "BERT-base", "GPT-3 175B", "Llama 2 7B", "Llama 3 8B", "Gemma 7B"]
models = {name: sizes.MODELS[name] for name in [*NAMES, "ViT-B/16"]}
heads = ["model", "V", "D", "numbers", "float16", "tied", "positions"]
costs = []
for name, m in models.items():
    mib = sizes.mib(sizes.table_bytes(m.num_embeddings, m.embedding_dim, "float16"))
    is_tied = {True: "yes", False: "no", None: "-"}[m.tied]
    size = [f"{m.num_embeddings:,}", f"{m.embedding_dim:,}", f"{m.params / 1e6:.1f} M"]
    costs.append([name, *size, f"{mib:,.1f} MiB", is_tied, m.positions])
for line in [heads, *costs]:
    print("  {:<12} {:>8} {:>7} {:>9} {:>12}  {:<5} {}".format(*line))

# %% [markdown]
# ViT's $V$ is the length of a patch, $3 \cdot 16 \cdot 16$. And of two models of about one size
# Gemma ties and Llama does not: the page must not make a law of it.
#
# ## What to choose
# Rules of thumb, and one that can be calculated: how to scale token rows so that they stand beside
# the positions as equals. Not "times $\sqrt{D}$" by heart: measure both, and divide.


# %%
def factor(rows, positions):
    length = [np.linalg.norm(x, axis=1).mean() for x in (rows, positions)]
    return length[1] / length[0]


def choose(languages=1, numbers=1e8, detail="usual"):
    """numbers: how many the whole model holds."""
    rows = 32_000 if languages == 1 else 128_000  # Llama 2, Llama 3
    tie = "yes" if numbers < 1e9 else "try both"
    P = {"fine": 8, "usual": 16, "coarse": 32}[detail]
    return {"V": rows, "tie": tie, "P": P, "patches": (224 // P) ** 2}


print(f"  {choose()}\n  {choose(languages=30, numbers=8e9, detail='fine')}")

# %%
from scratch_embed.positions import sinusoidal

waves = sinusoidal(512, 64)
unit = rng.normal(size=(2000, 64)) / np.sqrt(64)  # rows of length 1
options = ["times 8, the root of D", "times 5.7, the root of D / 2", "not at all"]
q = guess("D = 64, rows of length 1, sinusoids for positions. Scale the rows?", options)
c = factor(unit, waves)
print(f"  length of a sinusoid {np.linalg.norm(waves, axis=1).mean():.4f}, factor {c:.3f}")
q.answer(
    options[int(np.argmin(np.abs(np.array([np.sqrt(64), np.sqrt(32), 1]) - c)))],
    because="a sine and its cosine have squares that add up to 1, and there are D / 2 such pairs",
    slips={options[0]: "That makes the rows longer than the positions, by the root of 2."},
)
plain = rng.normal(size=(2000, 64))  # N(0, 1), what a plain layer starts with
print(f"  rows drawn from N(0, 1): factor {factor(plain, waves):.3f}; they are long already")

# %% [markdown]
# ## How to write it
# Six snippets. Each is text, run here by itself, in an empty namespace; what it leaves in `out` is
# printed beside it.

# %%
CODE = {
    "look up": "from scratch_embed import Embedding\nout = Embedding(32_000, 768, rng=0)([42, 7])",
    "tie": "from scratch_embed.layers import Embedding, TiedHead\n"
    "table = Embedding(1000, 64, rng=0, init=0.02)\nout = TiedHead(table)(table([42, 7]))",
    "scale": "from scratch_embed.layers import ScaledEmbedding\n"
    "out = ScaledEmbedding(1000, 64, scale=5.7, rng=0)([42, 7])",
    "cut a picture": "import numpy as np\nfrom scratch_embed.layers import PatchEmbed\n"
    "out = PatchEmbed(224, 16, embedding_dim=768, rng=0)(np.zeros((3, 224, 224)))",
    "add three rows": "from scratch_embed.layers import BERTInput\n"
    "out = BERTInput(1000, 64, rng=0)([[5, 3, 8]], segments=[[0, 0, 1]])",
    "cut words": "from scratch_embed.text import bpe\n"
    "out = bpe.train('low lower lowest', 6).encode('slow')",
}
made = {}
for name, source in CODE.items():
    names = {}
    exec(source, names)  # noqa: S102 - to see that it runs is the point
    made[name] = str(getattr(names["out"], "shape", names["out"]))
    print(f"  {name}\n    {source.splitlines()[-1]}\n    # {made[name]}")

# %% [markdown]
# ## The page
# Everything that was pinned, with the numbers as they were computed above.

# %%
from scratch_embed import plot

_by_detail = [choose(detail=name) for name in ("usual", "coarse", "fine")]
choices = [
    ("rows V", f"{choose()['V']:,} for one language, {choose(languages=30)['V']:,} for many"),
    (
        "tie the head",
        f"{choose()['tie']} below 1 billion numbers; above, {choose(numbers=8e9)['tie']}",
    ),
    ("scale the rows", f"measure: |position| / |row|. Length 1, sinusoids: {c:.1f} at D = 64"),
    ("patch side P", ", ".join(f"{way['P']}: {way['patches']} tokens" for way in _by_detail)),
]


def _block(ax, top, title, lines, at, font="DejaVu Sans"):
    """A title and lines, in columns that begin at `at`; returns where the next block begins."""
    ax.text(0, top, title, fontsize=15, weight="bold", color=plot.PALETTE["blue"], va="top")
    entries = np.cumsum([bool(line[0]) for line in lines])  # an entry may have many lines
    for n, line in enumerate(lines):
        y = top - 0.048 - 0.0385 * n
        if entries[n] % 2:
            ax.axhspan(y - 0.029, y + 0.0095, color="0.95", lw=0)
        ax.text(at[0], y, line[0], fontsize=11, weight="bold", va="top")
        for x, text in zip(at[1:], line[1:]):
            ax.text(x, y, text, fontsize=11 if "Mono" not in font else 10, family=font, va="top")
    return top - 0.076 - 0.0385 * len(lines)


def _sheet():
    figure, (left, right) = plot.figure(1, 2, size=(17, 9.5), title="Embeddings on one page\n")
    for ax in (left, right):
        ax.set_axis_off()
        ax.set(xlim=(0, 1), ylim=(0, 1))
    top = _block(left, 1.0, "Forward, backward", pinned, (0.01, 0.2, 0.52))
    shown = [[line[k] for k in (0, 1, 2, 3, 5, 6)] for line in [heads, *costs]]
    top = _block(left, top, "What it costs", shown, (0.01, 0.25, 0.4, 0.53, 0.7, 0.8))
    _block(left, top, "What to choose", choices, (0.01, 0.25))
    lines = []
    for name, source in CODE.items():
        lines += zip([name] + 9 * [""], [*source.splitlines(), f"# {made[name]}"])
    _block(right, 1.0, "How to write it", lines, (0.01, 0.2), font="DejaVu Sans Mono")
    return figure


save_figure(_sheet(), "ch09_cheat_sheet.png")

# %% [markdown]
# ## What did we learn?
# - Every backward is its forward read from behind; where a number went to several places, its
#   gradients come back from all of them and add.
# - A table costs V times D numbers, a tied head costs none, and learned positions are a table.
# - A rule to remember is better replaced by something to measure: divide the two lengths.
#
# Now put it all together and train it: `python -m lessons exercise tied_model`. Last comes lesson
# 23: how fast the loops behind the page can be.
